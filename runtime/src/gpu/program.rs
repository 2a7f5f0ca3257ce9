//! What the compiler hands over for the GPU: a static program, never changed at run time.
//!
//! Comes in: constants in generated code. Always holds: the binding numbers below are the contract between this file
//! and the compiler's WGSL printer. Binding 0 is the uniform `call` (loop indices in words 0 to 3, the named
//! dimensions after them), selected by a dynamic offset; pool `p` is binding `1 + 2 p` where an entry only reads it and
//! `2 + 2 p` where it writes it, so that one module can declare both and an entry point uses one of them.

/// The role of a buffer. Hazards are tracked per buffer, so roles that do not depend on each other are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pool {
    /// The model's parameters, canonical layout.
    Parameters,
    /// Gradients, laid out as the parameters.
    Gradients,
    /// All slots of the optimiser, one after the other.
    Optimiser,
    /// State that a session carries from call to call.
    State,
    /// Arguments of a call.
    Inputs,
    /// Results of a call.
    Outputs,
    /// Small numbers of a step: rate, betas, step count, random key.
    Numbers,
    /// Intermediate values; separate numbers are separate buffers.
    Scratch(u8),
}

impl Pool {
    /// Scratch buffers that a program may use.
    pub const SCRATCH: usize = 8;
    /// Number of pools.
    pub const COUNT: usize = 7 + Self::SCRATCH;

    /// Position in a table of all pools.
    pub const fn index(self) -> usize {
        match self {
            Self::Parameters => 0,
            Self::Gradients => 1,
            Self::Optimiser => 2,
            Self::State => 3,
            Self::Inputs => 4,
            Self::Outputs => 5,
            Self::Numbers => 6,
            Self::Scratch(n) => 7 + n as usize,
        }
    }

    /// The name in labels and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::Optimiser => "optimiser state",
            Self::State => "session state",
            Self::Inputs => "inputs",
            Self::Outputs => "outputs",
            Self::Numbers => "step numbers",
            Self::Scratch(_) => "scratch",
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

/// One step of a plan.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    /// Runs one entry point over a grid of workgroups.
    Dispatch {
        /// Index into [`Program::entries`].
        entry: u16,
        /// Workgroups as a function of the named dimensions.
        groups: fn(&[u32]) -> [u32; 3],
    },
    /// Runs `body` `count` times; the index reaches the shader as the loop index of this nesting depth (at most 4).
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
    /// Every pool that the plan touches, with its size.
    pub pools: &'static [Size],
    /// Arguments, in order, in [`Pool::Inputs`].
    pub inputs: &'static [Span],
    /// Results, in order, in [`Pool::Outputs`].
    pub outputs: &'static [Span],
    /// The dispatches.
    pub commands: &'static [Command],
}

/// What the program needs from a device beyond WebGPU's defaults; checked once, when a model is uploaded.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// Most storage buffers of one entry point.
    pub storage_buffers: u32,
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
    /// Number of named dimensions of the model.
    pub dims: usize,
    /// Words of the parameter pool.
    pub parameters: u64,
    /// What a device must offer.
    pub needs: Needs,
}
