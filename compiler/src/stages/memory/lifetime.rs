//! From when to when each buffer of a program holds something that is still needed, and on which machines.

use crate::ir::kernel::Kernel;
use crate::ir::model::Effect;
use crate::ir::program::{BufferId, KernelId, Program, Role, Step};
use std::collections::BTreeSet;

/// A range of positions, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lifetime {
    first: usize,
    last: usize,
}

impl Lifetime {
    /// The lifetime of what is never used.
    const NEVER: Lifetime = Lifetime { first: usize::MAX, last: 0 };

    /// Whether nothing uses the buffer.
    pub(super) fn is_never(&self) -> bool {
        *self == Lifetime::NEVER
    }

    /// The last position.
    pub(super) fn last(&self) -> usize {
        self.last
    }

    /// Whether there is a position at which both are alive.
    pub(super) fn overlaps(&self, other: &Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Whose launches an order has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    /// Those of a CPU.
    Cpu,
    /// These, and those of the steps of which it runs one kernel, over the same memory.
    Both,
    /// Those of a GPU.
    Gpu,
}

/// The launches, choices and calls of a program in the order of the text.
#[derive(Default)]
pub(super) struct Order {
    /// The buffers of each, and whether it writes them.
    pub(super) uses: Vec<Vec<(BufferId, bool)>>,
    /// The loops, innermost first: their first position, and the one behind their last.
    loops: Vec<(usize, usize)>,
}

impl Order {
    /// That of one side.
    pub(super) fn of(program: &Program<KernelId>, kernels: &[Kernel], side: Side) -> Order {
        let mut order = Order::default();
        order.walk(&program.steps, kernels, side);
        order
    }

    /// The buffers.
    pub(super) fn buffers(&self) -> BTreeSet<BufferId> {
        self.uses.iter().flatten().map(|(buffer, _)| *buffer).collect()
    }

    /// The lifetime of every buffer.
    pub(super) fn lifetimes(&self, program: &Program<KernelId>) -> Vec<Lifetime> {
        let mut uses: Vec<Vec<usize>> = vec![vec![]; program.buffers.len()];
        for (position, used) in self.uses.iter().enumerate() {
            used.iter().for_each(|(buffer, _)| uses[buffer.0].push(position));
        }
        for (buffer, uses) in program.buffers.iter().zip(&mut uses) {
            // Results and flags are read after the last launch.
            if matches!(buffer.role, Role::Result(_) | Role::Effect(Effect::Updated)) {
                uses.push(self.uses.len());
            }
        }
        uses.iter().map(|uses| lifetime(uses, &self.loops)).collect()
    }

    fn walk(&mut self, steps: &[Step<KernelId>], kernels: &[Kernel], side: Side) {
        let of_kernel = |kernel: &KernelId, buffers: &[BufferId]| -> Vec<(BufferId, bool)> {
            let slots = kernels[kernel.0].slots.iter().zip(buffers);
            slots.map(|(slot, &buffer)| (buffer, slot.write)).collect()
        };
        for step in steps {
            match step {
                Step::Launch { kernel, buffers } => self.uses.push(of_kernel(kernel, buffers)),
                Step::Loop { body, .. } => {
                    let start = self.uses.len();
                    self.walk(body, kernels, side);
                    self.loops.push((start, self.uses.len()));
                }
                Step::Foreign { args, results, .. } => {
                    let read = args.iter().map(|(buffer, _)| (*buffer, false));
                    self.uses.push(read.chain(results.iter().map(|(buffer, _)| (*buffer, true))).collect());
                }
                // What stands for all of the steps uses its memory from the first of them to the last.
                Step::Fused { kernel, buffers, steps } => {
                    let (start, own) = (self.uses.len(), of_kernel(kernel, buffers));
                    if side == Side::Cpu {
                        self.uses.push(own);
                        continue;
                    }
                    self.walk(steps, kernels, side);
                    if side == Side::Both && self.uses.len() > start {
                        let end = self.uses.len() - 1;
                        self.uses[start].extend(&own);
                        self.uses[end].extend(own);
                    }
                }
                // Nothing orders the workgroups of a dispatch, so what its launches use is in use at once.
                Step::Joined { steps, joint: _ } => {
                    let start = self.uses.len();
                    self.walk(steps, kernels, side);
                    if side == Side::Gpu {
                        let uses = self.uses.drain(start..).flatten().collect();
                        self.uses.push(uses);
                    }
                }
                // The cases follow each other: what only one of them uses shares memory with what only another uses.
                Step::Branch { selector, cases } => {
                    self.uses.push(vec![(*selector, false)]);
                    cases.iter().for_each(|case| self.walk(case, kernels, side));
                }
            }
        }
    }
}

/// What is used inside of a loop and outside of it lives throughout the loop. Loops come innermost first.
fn lifetime(uses: &[usize], loops: &[(usize, usize)]) -> Lifetime {
    let (Some(&first), Some(&last)) = (uses.iter().min(), uses.iter().max()) else { return Lifetime::NEVER };
    let mut life = Lifetime { first, last };
    for &(start, end) in loops {
        let inside = uses.iter().any(|u| (start..end).contains(u));
        if inside && (life.first < start || life.last >= end) {
            life = Lifetime { first: life.first.min(start), last: life.last.max(end - 1) };
        }
    }
    life
}
