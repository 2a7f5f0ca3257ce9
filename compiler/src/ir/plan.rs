//! The memory plan: every buffer of a program at an offset in a pool.

use super::dim::Dim;
use super::graph::Source;
use super::kernel::Kernel;
use super::model::Effect;
use super::program::{BufferId, KernelId, Program, Role, Step};
use super::workgroup::BUFFERS;
use std::collections::BTreeSet;

/// Buffers begin on multiples of this many words: one cache line, and the alignment that GPUs ask for.
pub const ALIGN: i64 = 64;

/// A pool: a range of memory on the CPU, a buffer on the GPU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pool {
    /// The k-th argument of the call, at the caller's place (CPU) or uploaded (GPU).
    Argument(usize),
    /// All parameters.
    Weights,
    /// All gradients, laid out as the parameters.
    Gradients,
    /// The k-th optimiser state, laid out as the parameters.
    State(usize),
    /// The states of the session.
    Session,
    /// The random key (2 words), the clip norm, the skip flag (words 0, 1, 2, 3), then 12 words of room, then
    /// the numbers: number k of group g is word 16 + k·GROUPS + g.
    Numbers,
    /// The parameter group of each chunk.
    Groups,
    /// Everything that dies with the call or is read from it (CPU): scratch, results, the updated flag.
    Scratch,
    /// The same on a GPU, where it is spread over several buffers.
    Bank(usize),
    /// What a training step came to, on a GPU: its loss, and whether it made its update, a word each. Several steps that are
    /// submitted at once have one each.
    Outcome,
    /// The k-th result of a call, on a GPU, where a caller may have it written into a buffer of its own.
    Result(usize),
}

/// How many buffers the scratch memory of a GPU is spread over. Each is as large as a device allows, and dispatches that share
/// none in which one of them writes may run beside each other.
pub const BANKS: usize = 4;

/// How many results of a call may have a pool of their own.
pub const RESULTS: usize = 4;

/// Whether an entry point of a GPU that touches these buffers can bind each by itself.
pub fn are_bound_apart(buffers: impl IntoIterator<Item = BufferId>) -> bool {
    buffers.into_iter().collect::<BTreeSet<_>>().len() <= BUFFERS
}

impl Role {
    /// The pool in which a buffer of that role lies.
    pub fn pool(self) -> Pool {
        match self {
            Role::Argument(k) => Pool::Argument(k),
            Role::Param(_) | Role::Effect(Effect::Weights | Effect::Companion(_)) => Pool::Weights,
            Role::State(_) | Role::Effect(Effect::Stored(_)) => Pool::Session,
            Role::Effect(Effect::Gradient(_)) => Pool::Gradients,
            Role::Effect(Effect::State(k)) => Pool::State(k),
            Role::Source(source) => match source {
                Source::Weights => Pool::Weights,
                Source::Gradients => Pool::Gradients,
                Source::State(k) => Pool::State(k),
                Source::Group => Pool::Groups,
                Source::Key(_) | Source::ClipNorm | Source::SkipNonfinite | Source::Number(_) => Pool::Numbers,
            },
            Role::Result(_) | Role::Scratch | Role::Effect(Effect::Updated) => Pool::Scratch,
        }
    }
}

/// Where a buffer lies.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    /// In which pool.
    pub pool: Pool,
    /// The first word.
    pub offset: Dim,
    /// How many elements.
    pub len: Dim,
}

/// A program with its memory.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The program.
    pub program: Program<KernelId>,
    /// One place for each buffer of the program, on a CPU. What only steps use of which a CPU runs one kernel, such as partial
    /// sums, has no words there.
    pub places: Vec<Place>,
    /// Words of the scratch pool.
    pub scratch: Dim,
    /// The places on a GPU, which differ in scratch memory alone.
    pub banked: Vec<Place>,
    /// Words of each bank.
    pub banks: [Dim; BANKS],
}

impl Plan {
    /// Where a buffer lies on a machine that runs all kernels: on a CPU, or, if it has none, on a GPU.
    pub fn place(&self, buffer: BufferId) -> &Place {
        let (own, banked) = (&self.places[buffer.0], &self.banked[buffer.0]);
        if own.len.is(0) { banked } else { own }
    }

    /// The number of the first step that writes parameters or optimiser states: the steps before it are the gradient
    /// alone. All steps where none does.
    pub fn update(&self, kernels: &[Kernel]) -> usize {
        let steps = &self.program.steps;
        steps.iter().position(|s| self.updates(s, kernels)).unwrap_or(steps.len())
    }

    /// Whether entry points of a GPU can see each argument through a view of its own: none that sees one has more buffers than it
    /// can bind.
    pub fn sees_arguments_apart(&self) -> bool {
        self.program.steps.iter().all(|step| self.sees_apart(step))
    }

    fn sees_apart(&self, step: &Step<KernelId>) -> bool {
        let is_argument = |buffer: &BufferId| matches!(self.program.buffers[buffer.0].role, Role::Argument(_));
        let is_apart = |buffers: Vec<BufferId>| !buffers.iter().any(is_argument) || are_bound_apart(buffers);
        match step {
            Step::Launch { buffers, .. } => is_apart(buffers.clone()),
            Step::Foreign { args, results, .. } => {
                is_apart(args.iter().chain(results).map(|(buffer, _)| *buffer).collect())
            }
            // What its launches have in common counts once.
            Step::Joined { steps, .. } => is_apart(steps.iter().flat_map(Step::buffers).collect()),
            Step::Loop { .. } | Step::Branch { .. } | Step::Fused { .. } => {
                step.bodies().into_iter().flatten().all(|step| self.sees_apart(step))
            }
        }
    }

    fn updates(&self, step: &Step<KernelId>, kernels: &[Kernel]) -> bool {
        match step {
            Step::Loop { .. }
            | Step::Branch { .. }
            | Step::Foreign { .. }
            | Step::Fused { .. }
            | Step::Joined { .. } => step.bodies().into_iter().flatten().any(|s| self.updates(s, kernels)),
            Step::Launch { kernel, buffers } => kernels[kernel.0].slots.iter().zip(buffers).any(|(slot, b)| {
                let role = self.program.buffers[b.0].role;
                slot.write && matches!(role, Role::Source(Source::Weights | Source::State(_)) | Role::Param(_))
            }),
        }
    }
}

/// The unique kernels of a model and the plans of its functions.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plans {
    /// In order of first use.
    pub kernels: Vec<Kernel>,
    /// One for each function.
    pub plans: Vec<Plan>,
}

/// The first word of a number in the pool of numbers.
pub fn number_offset(number: usize) -> usize {
    16 + number * super::graph::GROUPS
}
