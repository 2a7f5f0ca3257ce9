//! What the compiler hands over for the GPU: a static program, never changed at run time.
//!
//! Comes in: constants in generated code. Always holds: the numbers below are the contract between this file and the
//! compiler's WGSL printer. Binding 0 is the uniform `call`, one per dispatch: the indices of the surrounding repeats
//! (innermost first), the model's named dimensions, the first words of the kernel's slots. Binding `1 + v` is view `v`: a part of
//! a pool that holds all slots which the entry point sees through that variable. Slots count words from where it begins.
//!
//! A dispatch inside of a branch takes its workgroups from a record of six words in the pool of dispatches: the three
//! that the device reads, then the two that it has where its case runs, then the case. A branch has a record of its own
//! before those of its cases, whose first word becomes the number of the case that runs. Its choice gets these slots:
//! the selector (view 0), the number of the last case, the first word of the record of the branch around it (or 2³² − 1) and the
//! case in that, the first words of its own record and of the next one, how many follow, and the pool of dispatches (view 1).

/// The role of a buffer. Hazards are tracked per buffer, so roles that do not depend on each other are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// The model's parameters, in the layout of every device.
    Weights,
    /// Gradients, laid out as the parameters.
    Gradients,
    /// The states of the optimiser one after the other, each laid out as the parameters; outside of training the states
    /// of the session.
    State,
    /// The arguments of a call one after the other.
    Inputs,
    /// What a training step gets besides its arguments: random key, clip norm, the numbers of the optimiser.
    Numbers,
    /// The parameter group of each chunk of parameters.
    Groups,
    /// The workgroups of the dispatches in branches.
    Dispatch,
    /// What a training step came to, a word each: its loss, and whether it made its update.
    Outcome,
    /// A part of what dies with the call or is read from it.
    Bank(usize),
    /// The k-th result of a call.
    Result(usize),
}

impl Pool {
    /// How many results may have a pool of their own.
    pub(super) const RESULTS: usize = 4;
    /// How many buffers scratch memory is spread over.
    pub const BANKS: usize = 4;
    /// Number of pools.
    pub(super) const COUNT: usize = 8 + Self::BANKS + Self::RESULTS;

    /// Position in a table of all pools.
    pub(super) const fn index(self) -> usize {
        match self {
            Self::Weights => 0,
            Self::Gradients => 1,
            Self::State => 2,
            Self::Inputs => 3,
            Self::Numbers => 4,
            Self::Groups => 5,
            Self::Dispatch => 6,
            Self::Outcome => 7,
            Self::Bank(bank) => 8 + bank,
            Self::Result(k) => 8 + Self::BANKS + k,
        }
    }

    /// The name in labels and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "parameters",
            Self::Gradients => "gradients",
            Self::State => "state",
            Self::Inputs => "arguments",
            Self::Numbers => "step numbers",
            Self::Groups => "parameter groups",
            Self::Dispatch => "dispatches",
            Self::Outcome => "outcomes",
            Self::Bank(_) => "scratch memory",
            Self::Result(_) => "results",
        }
    }
}

/// One WGSL entry point and the views it has.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in the module.
    pub name: &'static str,
    /// What its module begins with: nothing, or what enables cooperative matrices of halves.
    pub enables: &'static str,
    /// What it has in common with other ways to do the same.
    pub shared: &'static str,
    /// Its own text, which behind that of the program and what is shared is a module; nothing if it runs WGSL of the user.
    pub wgsl: &'static str,
    /// Whether it writes through each view.
    pub writes: &'static [bool],
}

/// How often an entry point runs and where its slots lie, under given values of the named dimensions.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// Whether the device makes products of halves.
    pub(super) halves: bool,
    pub(super) groups: u64,
    /// What the entry point is told behind the named dimensions: the first words of slots in their pools, and other numbers.
    pub(super) words: Vec<u64>,
    pub(super) slots: Vec<Slot>,
    /// How many words the turns of repeats go on, for all slots together.
    pub(super) strides: Vec<u64>,
}

/// One of several entry points that do the same.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// The number of workgroups.
    pub groups: u64,
    /// What a workgroup costs.
    pub cost: u64,
    /// Whether it is for devices that make products of halves alone.
    pub halves: bool,
}

/// A range of words that an entry point touches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub(super) view: usize,
    pub(super) pool: Pool,
    /// Which of the launch's words is its first word.
    pub(super) word: usize,
    /// How many words one turn of the repeats around touches.
    pub(super) len: u64,
    /// Those of the launch's strides that are its own, innermost first.
    pub(super) strides: (usize, usize),
}

impl Launch {
    /// The most workgroups on a side of the grid, which WGSL counts along the first side first.
    pub(super) const SIDE: u64 = 65_535;

    /// The number of workgroups, and no slots yet.
    pub fn set(&mut self, groups: u64) -> &mut Self {
        self.groups = groups;
        self.words.clear();
        self.slots.clear();
        self.strides.clear();
        self
    }

    /// The same for one of several ways to do the same: no workgroups if another way costs less.
    pub fn set_way(&mut self, way: usize, ways: &[Way]) -> &mut Self {
        let can = ways.iter().enumerate().filter(|(_, way)| self.halves || !way.halves);
        let best = can.min_by_key(|(_, way)| way.total());
        self.set(if best.is_some_and(|(best, _)| best == way) { ways[way].groups } else { 0 })
    }

    /// One more slot: which view and pool it is seen through, its first word there and how many it has.
    pub fn slot(&mut self, view: usize, pool: Pool, first: u64, len: u64) -> &mut Self {
        self.slice(view, pool, first, len, &[])
    }

    /// The same where each turn of the repeats around touches `len` words from where its number, times the stride of the repeat,
    /// goes on. Strides are those of the innermost repeat first.
    pub fn slice(&mut self, view: usize, pool: Pool, first: u64, len: u64, strides: &[u64]) -> &mut Self {
        let before = self.strides.len();
        self.strides.extend_from_slice(strides);
        let strides = (before, self.strides.len());
        self.slots.push(Slot { view, pool, word: self.words.len(), len, strides });
        self.number(first)
    }

    /// One more number that is no slot.
    pub fn number(&mut self, number: u64) -> &mut Self {
        self.words.push(number);
        self
    }
}

/// Multiprocessors of a large device.
const PROCESSORS: u64 = 132;

impl Way {
    /// What all workgroups cost a device: as long as the busiest multiprocessor takes, and a part of a workgroup's time to begin and
    /// to end.
    fn total(&self) -> u64 {
        self.groups.div_ceil(PROCESSORS).saturating_mul(10).saturating_add(3).saturating_mul(self.cost)
    }
}

/// Where the arguments and results of a foreign call lie, under given values of the named dimensions.
#[derive(Clone, Debug, Default)]
pub struct ForeignCall {
    pub(super) args: Vec<Operand>,
    pub(super) results: Vec<Operand>,
}

/// A tensor in a pool.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) pool: Pool,
    /// The first word.
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
}

impl Operand {
    fn new(pool: Pool, offset: u64, shape: &[u64]) -> Self {
        Self { pool, offset: offset as usize, shape: shape.iter().map(|&extent| extent as usize).collect() }
    }

    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }
}

impl ForeignCall {
    /// Adds an argument.
    pub fn arg(&mut self, pool: Pool, offset: u64, shape: &[u64]) {
        self.args.push(Operand::new(pool, offset, shape));
    }

    /// Adds a result.
    pub fn result(&mut self, pool: Pool, offset: u64, shape: &[u64]) {
        self.results.push(Operand::new(pool, offset, shape));
    }
}

/// One step of a plan.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Runs one entry point.
    Dispatch {
        /// Index into [`Program::entries`].
        entry: u16,
        /// Fills in a launch from the function's named dimensions.
        launch: fn(&[usize], &mut Launch),
    },
    /// Runs `body` several times.
    Repeat {
        /// Number of turns, from the function's named dimensions.
        count: fn(&[usize]) -> u64,
        /// Whether the index runs from the last turn's down to 0.
        reverse: bool,
        /// What is repeated.
        body: &'static [Command],
    },
    /// Calls a function that the program has supplied: ends the submission, and another one goes on.
    Foreign {
        /// Which of the model's foreign functions.
        function: u16,
        /// Its name.
        name: &'static str,
        /// Fills in where arguments and results lie.
        call: fn(&[usize], &mut ForeignCall),
    },
    /// Runs one of several cases.
    Branch {
        /// The entry point that chooses: index into [`Program::entries`].
        entry: u16,
        /// Fills in where the selector lies.
        launch: fn(&[usize], &mut Launch),
        /// The cases; the last one also stands for larger selectors.
        cases: &'static [&'static [Command]],
    },
}

/// One function of the model as a sequence of dispatches.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// For each named dimension of the function its position among those of the model.
    pub dims: &'static [usize],
    /// Where the results are afterwards; of a step the loss is the first.
    pub results: &'static [Found],
    /// Words of each bank of scratch memory; `None` if the number overflows.
    pub banks: [Words; Pool::BANKS],
    /// Whether each view of arguments is one of a single argument.
    pub arguments_apart: bool,
    /// The dispatches.
    pub commands: &'static [Command],
}

impl Plan {
    /// Whether the program's own functions are called in between.
    pub(super) fn has_foreign(&self) -> bool {
        has_foreign(self.commands)
    }
}

fn has_foreign(commands: &[Command]) -> bool {
    commands.iter().any(|command| match command {
        Command::Dispatch { .. } => false,
        Command::Repeat { body, .. } => has_foreign(body),
        Command::Foreign { .. } => true,
        Command::Branch { cases, .. } => cases.iter().any(|case| has_foreign(case)),
    })
}

/// How many words something has, under given values of the named dimensions.
type Words = fn(&[usize]) -> Option<usize>;

/// Where something lies, under given values of the named dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// In which pool.
    pub pool: Pool,
    /// The first word.
    pub offset: fn(&[usize]) -> u64,
}

/// The entry points that run WGSL of the user.
#[derive(Clone, Copy, Debug)]
pub struct Foreign {
    /// Their text; empty if there are none.
    pub wgsl: &'static str,
    /// The first of them among all entry points; they are the last ones.
    pub first: usize,
}

/// What the program needs from a device; checked once.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Most bytes of workgroup memory of one entry point.
    pub workgroup_bytes: u32,
    /// Most threads of one workgroup.
    pub workgroup_threads: u32,
}

/// Everything that the compiler printed for one model.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// What entry points that are the compiler's own have in common. With the text of one or of several of them it is a module,
    /// validated while it was printed.
    pub wgsl: &'static str,
    /// Those that run WGSL of the user.
    pub foreign: Foreign,
    /// All entry points.
    pub entries: &'static [Entry],
    /// How deep repeats are nested.
    pub loops: usize,
    /// The number of named dimensions of the model.
    pub dims: usize,
    /// Words of the `call` uniform: loop indices, named dimensions, slots.
    pub call: usize,
    /// What a device must offer.
    pub needs: Needs,
}
