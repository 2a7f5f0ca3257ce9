//! From when to when each buffer of a program holds something that is still needed, and on which machines.

use crate::ir::model::Effect;
use crate::ir::program::{BufferId, Program, Role, Step};
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

    /// Whether there is a position at which both are alive.
    pub(super) fn overlaps(&self, other: &Lifetime) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// The lifetime of every buffer. Positions count launches and choices in the order of the
/// text.
pub(super) fn lifetimes<K>(program: &Program<K>) -> Vec<Lifetime> {
    let mut uses: Vec<Vec<usize>> = vec![vec![]; program.buffers.len()];
    let mut loops = vec![];
    let mut clock = 0;
    walk(&program.steps, &mut clock, &mut uses, &mut loops);
    for (buffer, uses) in program.buffers.iter().zip(&mut uses) {
        // Results and flags are read after the last launch.
        if matches!(buffer.role, Role::Result(_) | Role::Effect(Effect::Updated)) {
            uses.push(clock);
        }
    }
    uses.iter().map(|uses| lifetime(uses, &loops)).collect()
}

/// The buffers that only steps use of which a CPU runs one kernel.
pub(super) fn partial<K>(program: &Program<K>) -> BTreeSet<BufferId> {
    let (mut own, mut inside) = (BTreeSet::new(), BTreeSet::new());
    sides(&program.steps, &mut own, &mut inside);
    &inside - &own
}

/// Adds the buffers that a CPU uses, and those that the steps use which it does not run.
fn sides<K>(steps: &[Step<K>], own: &mut BTreeSet<BufferId>, inside: &mut BTreeSet<BufferId>) {
    for step in steps {
        own.extend(step.buffers());
        match step {
            Step::Fused { steps, .. } => all(steps, inside),
            Step::Launch { .. } | Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } => {
                step.bodies().into_iter().for_each(|body| sides(body, own, inside));
            }
        }
    }
}

/// Adds all buffers of steps.
fn all<K>(steps: &[Step<K>], into: &mut BTreeSet<BufferId>) {
    for step in steps {
        into.extend(step.buffers());
        step.bodies().into_iter().for_each(|body| all(body, into));
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

fn walk<K>(steps: &[Step<K>], clock: &mut usize, uses: &mut [Vec<usize>], loops: &mut Vec<(usize, usize)>) {
    for step in steps {
        match step {
            Step::Launch { buffers, .. } => {
                buffers.iter().for_each(|b| uses[b.0].push(*clock));
                *clock += 1;
            }
            Step::Loop { body, .. } => {
                let start = *clock;
                walk(body, clock, uses, loops);
                loops.push((start, *clock));
            }
            Step::Foreign { args, results, .. } => {
                args.iter().chain(results).for_each(|(b, _)| uses[b.0].push(*clock));
                *clock += 1;
            }
            // What stands for all of the steps uses its memory from the first of them to the last.
            Step::Fused { buffers, steps, .. } => {
                let start = *clock;
                walk(steps, clock, uses, loops);
                let end = clock.saturating_sub(1).max(start);
                buffers.iter().for_each(|b| uses[b.0].extend([start, end]));
            }
            // The cases follow each other: what only one of them uses shares memory with what only another uses.
            Step::Branch { selector, cases } => {
                uses[selector.0].push(*clock);
                *clock += 1;
                cases.iter().for_each(|case| walk(case, clock, uses, loops));
            }
        }
    }
}
