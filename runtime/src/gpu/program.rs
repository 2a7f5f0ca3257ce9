//! What the compiler hands over for the GPU: a static program, never changed at run time.
//!
//! Comes in: constants in generated code. Always holds: the numbers below are the contract between this file and the
//! compiler's WGSL printer. Binding 0 is the uniform `call`, one per dispatch: the indices of the surrounding repeats
//! (innermost first), the model's named dimensions, the first words of the kernel's slots. Pool `p` is
//! binding `1 + 2 p` where an entry point only reads it and `2 + 2 p` where it writes it, so that one module declares
//! both.
//!
//! A dispatch inside of a branch takes its workgroups from a record of six words in the pool of dispatches: the three
//! that the device reads, then the two that it has where its case runs, then the case. A branch has a record of its own
//! before those of its cases, whose first word becomes the number of the case that runs. Its choice gets these slots:
//! the selector, the number of the last case, the first word of the record of the branch around it (or 2³² − 1) and the
//! case in that, the first words of its own record and of the next one, and how many follow.

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
    /// Everything that dies with the call or is read from it.
    Scratch,
    /// The workgroups of the dispatches in branches.
    Dispatch,
}

impl Pool {
    /// Number of pools; with one buffer each they fit WebGPU's smallest limit of 8 storage buffers.
    pub const COUNT: usize = 8;

    /// Position in a table of all pools.
    pub const fn index(self) -> usize {
        self as usize
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
            Self::Scratch => "scratch memory",
            Self::Dispatch => "dispatches",
        }
    }
}

/// One WGSL entry point and the pools it touches. A pool that it both reads and writes is in `writes` only.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in the module.
    pub name: &'static str,
    /// Pools bound read-only.
    pub reads: &'static [Pool],
    /// Pools bound read-write.
    pub writes: &'static [Pool],
}

/// How often an entry point runs and where its slots lie, under given values of the named dimensions.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    pub(super) groups: u64,
    pub(super) offsets: Vec<u32>,
}

impl Launch {
    /// The most workgroups on a side of the grid, which WGSL counts along the first side first.
    pub(super) const SIDE: u64 = 65_535;

    /// The number of workgroups and the first word of every slot.
    pub fn set(&mut self, groups: u64, offsets: &[u64]) {
        self.groups = groups;
        self.offsets.clear();
        // An offset beyond 32 bits belongs to a buffer that no device binds; its creation reports that.
        self.offsets.extend(offsets.iter().map(|&offset| offset as u32));
    }

    /// The same for one of two ways to do the same, of which each has its number of workgroups and what one costs: no workgroups if
    /// the other way costs less.
    pub fn set_way(&mut self, way: usize, ways: [(u64, u64); 2], offsets: &[u64]) {
        let is_chosen = way == usize::from(cost(ways[1]) < cost(ways[0]));
        self.set(if is_chosen { ways[way].0 } else { 0 }, offsets);
    }
}

/// Multiprocessors of a large device.
const PROCESSORS: u64 = 132;

/// What so many workgroups cost a device, of which each costs a multiprocessor so much: as long as the busiest multiprocessor
/// takes, and a part of a workgroup's time to begin and to end.
const fn cost((groups, each): (u64, u64)) -> u64 {
    groups.div_ceil(PROCESSORS).saturating_mul(10).saturating_add(3).saturating_mul(each)
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
    /// The number of results.
    pub results: usize,
    /// Words of partial results, which lie behind the scratch memory that a CPU has as well; `None` if the number overflows.
    pub partial: fn(&[usize]) -> Option<usize>,
    /// The dispatches.
    pub commands: &'static [Command],
}

impl Plan {
    /// Words of scratch memory on a GPU, where a CPU needs `own`.
    pub(super) fn scratch(&self, own: Option<usize>, dims: &[usize]) -> Option<usize> {
        own?.checked_add((self.partial)(dims)?)
    }
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
    /// The text of the entry points that are the compiler's own, validated while it was printed.
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
