//! The independent checker of the memory plan: runs a plan on labels instead of numbers.
//!
//! Every word carries the name of the buffer that wrote it last. A launch that reads a buffer must find its
//! own name on every word, on a CPU and on a GPU. Nothing of the planner is used: not its lifetimes, not its packing.

use crate::ir::Dim;
use crate::ir::joint::{Joined, Joint, kept};
use crate::ir::kernel::Kernel;
use crate::ir::model::Effect;
use crate::ir::plan::{Plan, Pool};
use crate::ir::program::{BufferId, KernelId, Role, Step};

/// A word that a launch would read after something else was written there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clash {
    /// The buffer that is read.
    pub reader: BufferId,
    /// The buffer whose contents it would find; nothing was written where it is absent.
    pub found: Option<BufferId>,
    /// The word of the scratch pool, or of a GPU's banks one behind the other.
    pub word: usize,
}

/// Runs a plan under a binding of the named dimensions.
pub fn check(plan: &Plan, kernels: &[Kernel], binding: &dyn Fn(&str) -> Option<i64>) -> Result<(), Clash> {
    let size = |dim: &Dim| dim.eval(binding).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    [Side::Cpu, Side::Gpu].into_iter().try_for_each(|side| Run::new(plan, kernels, &size, side)?.all())
}

/// Whose launches run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Cpu,
    Gpu,
}

struct Run<'a> {
    plan: &'a Plan,
    kernels: &'a [Kernel],
    size: &'a dyn Fn(&Dim) -> usize,
    side: Side,
    ranges: Vec<Option<std::ops::Range<usize>>>,
    words: Vec<Option<BufferId>>,
}

impl<'a> Run<'a> {
    /// A run before its first step: the pools of scratch memory one behind the other, with nothing in them.
    fn new(
        plan: &'a Plan,
        kernels: &'a [Kernel],
        size: &'a dyn Fn(&Dim) -> usize,
        side: Side,
    ) -> Result<Run<'a>, Clash> {
        let places = if side == Side::Cpu { &plan.places } else { &plan.banked };
        let mut ranges = vec![];
        for (number, (place, buffer)) in places.iter().zip(&plan.program.buffers).enumerate() {
            let (before, own): (&[Dim], &Dim) = match place.pool {
                Pool::Scratch => (&[], &plan.scratch),
                Pool::Bank(k) => (&plan.banks[..k], &plan.banks[k]),
                Pool::Argument(_)
                | Pool::Weights
                | Pool::Gradients
                | Pool::State(_)
                | Pool::Session
                | Pool::Numbers
                | Pool::Groups
                | Pool::Outcome
                | Pool::Result(_) => {
                    ranges.push(None);
                    continue;
                }
            };
            let start = before.iter().map(size).sum::<usize>();
            let first = start + size(&place.offset);
            let words = first..first + size(&buffer.dtype.words(&place.len));
            if words.end > start + size(own) {
                return Err(Clash { reader: BufferId(number), found: None, word: words.end });
            }
            ranges.push(Some(words));
        }
        let words = size(&plan.scratch).max(plan.banks.iter().map(size).sum());
        Ok(Run { plan, kernels, size, side, ranges, words: vec![None; words] })
    }

    /// Runs all steps, and reads what is read after the last.
    fn all(mut self) -> Result<(), Clash> {
        self.steps(&self.plan.program.steps)?;
        for (index, buffer) in self.plan.program.buffers.iter().enumerate() {
            if matches!(buffer.role, Role::Result(_) | Role::Effect(Effect::Updated)) {
                self.read(BufferId(index))?;
            }
        }
        Ok(())
    }

    fn steps(&mut self, steps: &'a [Step<KernelId>]) -> Result<(), Clash> {
        for step in steps {
            match step {
                Step::Loop { count, body, .. } => {
                    for _ in 0..(self.size)(count) {
                        self.steps(body)?;
                    }
                }
                Step::Branch { selector, cases } => {
                    self.read(*selector)?;
                    let before = self.words.clone();
                    let mut after: Option<Vec<Option<BufferId>>> = None;
                    for case in cases {
                        self.words.clone_from(&before);
                        self.steps(case)?;
                        if let Some(after) = &after {
                            self.meet(after);
                        }
                        after = Some(self.words.clone());
                    }
                    self.words = after.unwrap_or(before);
                }
                Step::Foreign { args, results, .. } => {
                    for (arg, _) in args {
                        self.read(*arg)?;
                    }
                    for (result, _) in results {
                        self.write(*result)?;
                    }
                }
                Step::Launch { kernel, buffers } => self.launch(&self.kernels[kernel.0], buffers)?,
                Step::Fused { kernel, buffers, steps } => match self.side {
                    Side::Cpu => self.launch(&self.kernels[kernel.0], buffers)?,
                    Side::Gpu => self.steps(steps)?,
                },
                Step::Joined { joint, steps } => {
                    self.steps(steps)?;
                    if self.side == Side::Gpu {
                        self.joined(*joint, steps)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What the launches of a dispatch touch is there until the last of them is over; what stays in workgroups is nowhere.
    fn joined(&mut self, joint: Joint, steps: &'a [Step<KernelId>]) -> Result<(), Clash> {
        steps.iter().flat_map(Step::buffers).try_for_each(|buffer| self.read(buffer))?;
        let launches = steps.iter().filter_map(Step::launch);
        let launches: Vec<Joined<'a>> = launches.map(|(kernel, buffers)| (&self.kernels[kernel.0], buffers)).collect();
        if let (Joint::Each, &[first, second]) = (joint, launches.as_slice()) {
            let kept = kept(first, second).into_iter().filter_map(|buffer| self.ranges[buffer.0].clone());
            kept.for_each(|words| self.words[words].fill(None));
        }
        Ok(())
    }

    /// What holds afterwards is what holds after every way.
    fn meet(&mut self, other: &[Option<BufferId>]) {
        self.words.iter_mut().zip(other).filter(|(own, other)| own != other).for_each(|(own, _)| *own = None);
    }

    fn launch(&mut self, kernel: &Kernel, buffers: &[BufferId]) -> Result<(), Clash> {
        let bound = || kernel.slots.iter().zip(buffers);
        bound().filter(|(slot, _)| slot.read).try_for_each(|(_, buffer)| self.read(*buffer))?;
        bound().filter(|(slot, _)| slot.write).try_for_each(|(_, buffer)| self.write(*buffer))
    }

    fn write(&mut self, buffer: BufferId) -> Result<(), Clash> {
        let Some(range) = self.ranges[buffer.0].clone() else { return Ok(()) };
        let beyond = Clash { reader: buffer, found: None, word: self.words.len() };
        self.words.get_mut(range).ok_or(beyond)?.fill(Some(buffer));
        Ok(())
    }

    fn read(&self, buffer: BufferId) -> Result<(), Clash> {
        let Some(range) = self.ranges[buffer.0].clone() else { return Ok(()) };
        for word in range {
            let found = self.words.get(word).copied().flatten();
            if found != Some(buffer) {
                return Err(Clash { reader: buffer, found, word });
            }
        }
        Ok(())
    }
}
