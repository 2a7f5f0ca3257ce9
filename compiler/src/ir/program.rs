//! Programs: the kernels of a function in order, and the memory that they run on.

use super::dim::Dim;
use super::graph::Source;
use super::joint::Joint;
use super::kernel::Kernel;
use super::model::{Effect, ParamId, StateId};
use super::precision::Precision;
use super::ty::{DType, Type};
use std::collections::BTreeSet;

/// The number of a unique kernel of a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KernelId(pub usize);

/// The number of a buffer of a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BufferId(pub usize);

/// A tensor in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Buffer {
    /// What it is.
    pub role: Role,
    /// Its element type.
    pub dtype: DType,
    /// Its number of elements.
    pub len: Dim,
}

/// Whose memory a buffer is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Role {
    /// The k-th argument of the call, row-major.
    Argument(usize),
    /// A parameter stack, or part of the pool that the runtime supplies.
    Param(ParamId),
    /// A state stack of the session.
    State(StateId),
    /// What the runtime supplies.
    Source(Source),
    /// The k-th result of the call.
    Result(usize),
    /// A pool write. `Weights`, `State`, `Stored` and `Companion` share memory with what they replace.
    Effect(Effect),
    /// Memory of the plan.
    Scratch,
}

impl Role {
    /// The role whose memory this one shares: updates happen in place.
    pub fn shared(self) -> Role {
        match self {
            Role::Effect(Effect::Weights) => Role::Source(Source::Weights),
            Role::Effect(Effect::Companion(id)) => Role::Param(id),
            Role::Effect(Effect::State(k)) => Role::Source(Source::State(k)),
            Role::Effect(Effect::Stored(id)) => Role::State(id),
            other => other,
        }
    }
}

/// The kernels of one function in order.
#[derive(Clone, PartialEq, Debug)]
pub struct Program<K = Kernel> {
    /// The function's name.
    pub name: String,
    /// What products with parameters read; f32 in training.
    pub precision: Precision,
    /// The memory.
    pub buffers: Vec<Buffer>,
    /// The order.
    pub steps: Vec<Step<K>>,
}

/// A step of a program. `K` is the kernel itself until memory numbers the unique ones.
#[derive(Clone, PartialEq, Debug)]
pub enum Step<K = Kernel> {
    /// A kernel on buffers, one for each slot.
    Launch {
        /// What runs.
        kernel: K,
        /// On which memory.
        buffers: Vec<BufferId>,
    },
    /// Steps that run several times; `Atom::Loop(0)` inside is this loop's slice index.
    Loop {
        /// How many times.
        count: Dim,
        /// Whether the last slice comes first.
        reverse: bool,
        /// One iteration.
        body: Vec<Step<K>>,
    },
    /// Steps of which one case runs: that of the number in the selector's first word (u32 or bool), the last one where
    /// it is larger.
    Branch {
        /// One word.
        selector: BufferId,
        /// At least one.
        cases: Vec<Vec<Step<K>>>,
    },
    /// Steps that a CPU runs as one kernel, and a GPU one after the other.
    Fused {
        /// What a CPU runs.
        kernel: K,
        /// On which memory.
        buffers: Vec<BufferId>,
        /// What does the same.
        steps: Vec<Step<K>>,
    },
    /// Launches that a GPU runs as one dispatch, and a CPU one after the other.
    Joined {
        /// How its workgroups share them.
        joint: Joint,
        /// Launches alone.
        steps: Vec<Step<K>>,
    },
    /// A call of a function that the program supplies at run time.
    Foreign {
        /// Which of the model's foreign functions.
        function: usize,
        /// The buffers that it reads, each the whole of a value of that type.
        args: Vec<(BufferId, Type)>,
        /// The buffers that it fills.
        results: Vec<(BufferId, Type)>,
    },
}

impl<K> Step<K> {
    /// The kernel and its buffers, if it is a launch.
    pub fn launch(&self) -> Option<(&K, &[BufferId])> {
        let Step::Launch { kernel, buffers } = self else { return None };
        Some((kernel, buffers))
    }

    /// The lists of steps inside of this one.
    pub fn bodies(&self) -> Vec<&[Step<K>]> {
        match self {
            Step::Launch { .. } | Step::Foreign { .. } => vec![],
            Step::Loop { body, .. } => vec![body],
            Step::Branch { cases, .. } => cases.iter().map(Vec::as_slice).collect(),
            Step::Fused { steps, .. } | Step::Joined { steps, .. } => vec![steps],
        }
    }

    /// The same, to change them.
    pub fn bodies_mut(&mut self) -> Vec<&mut Vec<Step<K>>> {
        match self {
            Step::Launch { .. } | Step::Foreign { .. } => vec![],
            Step::Loop { body, .. } => vec![body],
            Step::Branch { cases, .. } => cases.iter_mut().collect(),
            Step::Fused { steps, .. } | Step::Joined { steps, .. } => vec![steps],
        }
    }

    /// Calls `see` with every buffer that the step itself names, without the steps inside of it.
    pub fn for_each_buffer(&mut self, see: &mut dyn FnMut(&mut BufferId)) {
        match self {
            Step::Launch { buffers, .. } | Step::Fused { buffers, .. } => buffers.iter_mut().for_each(see),
            Step::Loop { .. } | Step::Joined { .. } => {}
            Step::Branch { selector, .. } => see(selector),
            Step::Foreign { args, results, .. } => args.iter_mut().chain(results).for_each(|(buffer, _)| see(buffer)),
        }
    }

    /// Every buffer that the step itself names, without the steps inside of it.
    pub fn buffers(&self) -> Vec<BufferId> {
        match self {
            Step::Launch { buffers, .. } | Step::Fused { buffers, .. } => buffers.clone(),
            Step::Loop { .. } | Step::Joined { .. } => vec![],
            Step::Branch { selector, .. } => vec![*selector],
            Step::Foreign { args, results, .. } => args.iter().chain(results).map(|(buffer, _)| *buffer).collect(),
        }
    }
}

/// Calls `see` with every launch in steps, to change its kernel.
pub fn for_each_launch<K>(steps: &mut [Step<K>], see: &mut dyn FnMut(&mut K, &[BufferId])) {
    for step in steps {
        if let Step::Launch { kernel, buffers } = step {
            see(kernel, buffers);
        }
        step.bodies_mut().into_iter().for_each(|body| for_each_launch(body, see));
    }
}

/// Adds the buffers that a step and those inside of it write; `find` gives the kernel of a launch.
pub fn written<'s, K>(step: &'s Step<K>, find: &dyn Fn(&'s K) -> &'s Kernel, into: &mut BTreeSet<BufferId>) {
    match step {
        Step::Launch { kernel, buffers } | Step::Fused { kernel, buffers, .. } => {
            let slots = find(kernel).slots.iter().zip(buffers);
            into.extend(slots.filter(|(slot, _)| slot.write).map(|(_, buffer)| *buffer));
        }
        Step::Foreign { results, .. } => into.extend(results.iter().map(|(buffer, _)| *buffer)),
        Step::Loop { .. } | Step::Branch { .. } | Step::Joined { .. } => {}
    }
    step.bodies().into_iter().flatten().for_each(|step| written(step, find, into));
}
