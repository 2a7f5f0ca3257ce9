//! The slots of a kernel: every place that holds the number of one, and what changes these numbers.
//!
//! In: a kernel. Out: its slot numbers, to change them, or the kernel with two slots made one. Always: a field that holds a
//! slot is seen here, because the fields of a schedule and of a skeleton are all named.

use super::kernel::{Expr, Kernel, Skeleton, Slot};
use super::schedule::{Rows, Schedule};
use std::collections::BTreeSet;

impl Kernel {
    /// Calls `see` with every number of a slot, to change it.
    pub fn for_each_slot(&mut self, see: &mut dyn FnMut(&mut usize)) {
        let Kernel { name: _, slots: _, axes: _, scalars, skeleton, schedule } = self;
        for scalar in scalars {
            match scalar {
                Expr::Load { slot, .. } => see(slot),
                Expr::Const(_)
                | Expr::Extent(_)
                | Expr::Index(_)
                | Expr::Inside(_)
                | Expr::Map(..)
                | Expr::Convert(..)
                | Expr::Accumulated { .. } => {}
            }
        }
        match skeleton {
            Skeleton::Row { parallel: _, reduced: _, passes, stores } => {
                passes.iter_mut().flat_map(|pass| &mut pass.stores).chain(stores).for_each(|s| see(&mut s.slot));
            }
            Skeleton::Contract { batch: _, m: _, n: _, k: _, lhs, rhs, stores } => {
                [lhs, rhs].into_iter().for_each(|operand| see(&mut operand.slot));
                stores.iter_mut().for_each(|s| see(&mut s.slot));
            }
            Skeleton::Scatter { outer: _, target: _, source: _, inner: _, index: _, store } => see(&mut store.slot),
            Skeleton::Attend(attention) => attention.stores.iter_mut().for_each(|s| see(&mut s.slot)),
            Skeleton::Recur(own) => {
                let stored = own.stores.iter_mut().map(|s| &mut s.slot).chain(&mut own.addend);
                stored.chain([&mut own.state, &mut own.sums, &mut own.matrix]).for_each(&mut *see);
            }
        }
        let Schedule {
            vector: _,
            workgroup: _,
            streamed,
            algorithms: _,
            narrow: _,
            packed_once: _,
            plain_sources: _,
            rows,
        } = schedule;
        let Rows { threads, unroll: _, blocks: _, buffers: _, pipelined: _, prefetches: _ } = rows;
        let parts = threads.iter_mut().flat_map(|threads| &mut threads.slots).map(|(slot, _)| slot);
        streamed.iter_mut().chain(parts).for_each(see);
    }

    /// Drops the slots that nothing reads or writes, lets the others say which of both they are used for, and gives the numbers
    /// that they had.
    pub fn retain_used_slots(&mut self) -> Vec<usize> {
        let loads = self.scalars.iter().filter_map(Expr::load).map(|load| load.slot);
        let (mut read, mut written): (BTreeSet<usize>, BTreeSet<usize>) = (loads.collect(), BTreeSet::new());
        match &self.skeleton {
            Skeleton::Row { parallel: _, reduced: _, passes, stores } => {
                written.extend(passes.iter().flat_map(|pass| &pass.stores).chain(stores).map(|store| store.slot));
            }
            Skeleton::Contract { batch: _, m: _, n: _, k: _, lhs, rhs, stores } => {
                read.extend([lhs.slot, rhs.slot]);
                written.extend(stores.iter().map(|store| store.slot));
            }
            // These use their slots in ways that only they know.
            Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => {
                return (0..self.slots.len()).collect();
            }
        }
        let used: Vec<usize> = read.union(&written).copied().collect();
        let slots = used.iter().map(|&slot| {
            let (read, write) = (read.contains(&slot), written.contains(&slot));
            Slot { read, write, ..self.slots[slot].clone() }
        });
        self.slots = slots.collect();
        self.for_each_slot(&mut |slot| *slot = used.partition_point(|&other| other < *slot));
        used
    }

    /// Makes two slots of one memory one: `dropped` goes, and what named it names `kept`. Schedule chooses loops, and what goes
    /// past the caches, for the slots that are left.
    pub fn merge_slots(&mut self, kept: usize, dropped: usize) {
        let other = self.slots.remove(dropped);
        let kept = kept - usize::from(kept > dropped);
        self.slots[kept].read |= other.read;
        self.slots[kept].write |= other.write;
        self.for_each_slot(&mut |slot| match *slot {
            s if s == dropped => *slot = kept,
            s if s > dropped => *slot = s - 1,
            _ => {}
        });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
mod tests {
    use crate::ir::kernel::Kernel;
    use crate::ir::program::{Program, Step};

    /// A map that reads two slots, and writes two of which it streams the last.
    const TEXT: &str = "program run {
  b0: f32[B] argument index=0
  b1: f32[B] scratch
  b2: f32[B] scratch
  b3: f32[B] result index=0
  launch map(b0, b1, b2, b3) {
    slot s0: f32[B] read
    slot s1: f32[B] read
    slot s2: f32[B] write
    slot s3: f32[B] write
    axis i0: B
    v0 = load s0[i0]
    v1 = load s1[i0]
    v2 = mul(v0, v1)
    row parallel=[i0] reduced=[] {
      store s2[i0] = v1
      store s3[i0] = v2
    }
    schedule vector=i0 streamed=[3]
  }
}
";

    fn kernel() -> Kernel {
        let program: Program = TEXT.parse().unwrap_or_else(|why| panic!("{why}"));
        let Some(Step::Launch { kernel, .. }) = program.steps.into_iter().next() else { panic!("a launch") };
        kernel
    }

    fn numbers(kernel: &mut Kernel) -> Vec<usize> {
        let mut all = vec![];
        kernel.for_each_slot(&mut |slot| all.push(*slot));
        all
    }

    #[test]
    fn every_place_is_seen() {
        assert_eq!(numbers(&mut kernel()), [0, 1, 2, 3, 3], "loads, stores, what is streamed");
    }

    #[test]
    fn merging_renumbers_every_place() {
        let mut kernel = kernel();
        kernel.merge_slots(1, 2);
        assert_eq!(numbers(&mut kernel), [0, 1, 1, 2, 2]);
        assert!(kernel.slots[1].read && kernel.slots[1].write && kernel.slots.len() == 3);
    }

    #[test]
    fn the_slot_that_stays_may_be_the_later_one() {
        let mut kernel = kernel();
        kernel.merge_slots(2, 1);
        assert_eq!(numbers(&mut kernel), [0, 1, 1, 2, 2]);
    }
}
