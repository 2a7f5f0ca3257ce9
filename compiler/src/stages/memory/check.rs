//! The independent checker of the memory plan: runs a plan on labels instead of numbers.
//!
//! Every word carries the name of the buffer that wrote it last. A launch that reads a buffer must find its
//! own name on every word. Nothing of the planner is used: not its lifetimes, not its packing.

use crate::ir::Dim;
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
    /// The word of the scratch pool, or behind it of that of partial results.
    pub word: usize,
}

/// Runs a plan under a binding of the named dimensions.
pub fn check(plan: &Plan, kernels: &[Kernel], binding: &dyn Fn(&str) -> Option<i64>) -> Result<(), Clash> {
    let size = |dim: &Dim| dim.eval(binding).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let (scratch, partial) = (size(&plan.scratch), size(&plan.partial));
    let mut ranges = vec![];
    for (number, (place, buffer)) in plan.places.iter().zip(&plan.program.buffers).enumerate() {
        let (start, end) = match place.pool {
            Pool::Scratch => (0, scratch),
            Pool::Partial => (scratch, scratch + partial),
            Pool::Argument(_)
            | Pool::Weights
            | Pool::Gradients
            | Pool::State(_)
            | Pool::Session
            | Pool::Numbers
            | Pool::Groups => {
                ranges.push(None);
                continue;
            }
        };
        let first = start + size(&place.offset);
        let words = first..first + size(&buffer.dtype.words(&place.len));
        if words.end > end {
            return Err(Clash { reader: BufferId(number), found: None, word: words.end });
        }
        ranges.push(Some(words));
    }
    let mut run = Run { kernels, size: &size, ranges, words: vec![None; scratch + partial] };
    run.steps(&plan.program.steps)?;
    for (index, buffer) in plan.program.buffers.iter().enumerate() {
        if matches!(buffer.role, Role::Result(_) | Role::Effect(Effect::Updated)) {
            run.read(BufferId(index))?;
        }
    }
    Ok(())
}

struct Run<'a> {
    kernels: &'a [Kernel],
    size: &'a dyn Fn(&Dim) -> usize,
    ranges: Vec<Option<std::ops::Range<usize>>>,
    words: Vec<Option<BufferId>>,
}

impl Run<'_> {
    fn steps(&mut self, steps: &[Step<KernelId>]) -> Result<(), Clash> {
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
                Step::Fused { kernel, buffers, steps } => {
                    let before = self.words.clone();
                    self.steps(steps)?;
                    let after = std::mem::replace(&mut self.words, before);
                    self.launch(&self.kernels[kernel.0], buffers)?;
                    self.meet(&after);
                }
            }
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
