//! What the compiler hands over for the GPU: a static program, never changed at run time.
//!
//! Comes in: constants in generated code. Always holds: the numbers below are the contract between this file and the
//! compiler's WGSL printer. Binding 0 is the uniform `call`, one per dispatch: the indices of the surrounding repeats
//! (innermost first, four words), the named dimensions, the first words of the kernel's slots. Pool `p` is binding
//! `1 + 2 p` where an entry point only reads it and `2 + 2 p` where it writes it, so that one module declares both.

/// The role of a buffer. Hazards are tracked per buffer, so roles that do not depend on each other are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// The model's parameters, in the layout of every back end.
    Weights,
    /// Gradients, laid out as the parameters.
    Gradients,
    /// The states of the optimiser one after the other, each laid out as the parameters.
    State,
    /// The arguments of a call.
    Inputs,
    /// What a training step gets besides its arguments: random key, clip norm, the numbers of the optimiser.
    Numbers,
    /// The parameter group of each chunk of parameters.
    Groups,
    /// Everything that dies with the call or is read from it.
    Scratch,
}

impl Pool {
    /// Number of pools; with one buffer each they fit WebGPU's smallest limit of 8 storage buffers.
    pub const COUNT: usize = 7;

    /// Position in a table of all pools.
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name in labels and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weights => "parameters",
            Self::Gradients => "gradients",
            Self::State => "optimiser state",
            Self::Inputs => "arguments",
            Self::Numbers => "step numbers",
            Self::Groups => "parameter groups",
            Self::Scratch => "scratch",
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

/// Size of a pool under given values of the named dimensions.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The pool.
    pub pool: Pool,
    /// Its size in 4-byte words.
    pub words: fn(&[u32]) -> u64,
}

/// Where an argument or a result lies in its pool.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Name in messages.
    pub name: &'static str,
    /// First word.
    pub offset: fn(&[u32]) -> u64,
    /// Number of words.
    pub words: fn(&[u32]) -> u64,
}

/// How often an entry point runs and where its slots lie, under given values of the named dimensions.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    pub(super) groups: u64,
    pub(super) offsets: Vec<u32>,
}

impl Launch {
    /// Workgroups on a side of the grid; WGSL counts them as `x + 65535 y`.
    pub(super) const SIDE: u64 = 65_535;

    /// The number of workgroups and the first word of every slot.
    pub fn set(&mut self, groups: u64, offsets: &[u64]) {
        self.groups = groups;
        self.offsets.clear();
        // An offset beyond 32 bits belongs to a buffer that no device binds; its creation reports that.
        self.offsets.extend(offsets.iter().map(|&offset| offset as u32));
    }
}

/// One step of a plan.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Runs one entry point.
    Dispatch {
        /// Index into [`Program::entries`].
        entry: u16,
        /// Fills in a launch from the named dimensions.
        launch: fn(&[u32], &mut Launch),
    },
    /// Runs `body` `count` times.
    Repeat {
        /// Number of turns.
        count: u32,
        /// Whether the index runs from `count - 1` down to 0.
        reverse: bool,
        /// What is repeated.
        body: &'static [Command],
    },
}

/// One function of the model as a sequence of dispatches.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The function's name.
    pub name: &'static str,
    /// Every pool that the plan touches besides the parameters, with its size.
    pub pools: &'static [Size],
    /// Arguments, in order, in [`Pool::Inputs`].
    pub inputs: &'static [Span],
    /// Results, in order, in [`Pool::Scratch`].
    pub outputs: &'static [Span],
    /// Of a training step: where in [`Pool::Scratch`] the flag lies that says whether the update was made.
    pub updated: Option<fn(&[u32]) -> u64>,
    /// The dispatches.
    pub commands: &'static [Command],
}

/// What the program needs from a device; checked once, when a model is uploaded.
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
    /// The module's text, validated while it was printed.
    pub wgsl: &'static str,
    /// Its entry points.
    pub entries: &'static [Entry],
    /// Words of the `call` uniform: loop indices, named dimensions, slots.
    pub call: usize,
    /// Words of the parameter pool.
    pub weights: u64,
    /// What a device must offer.
    pub needs: Needs,
}
