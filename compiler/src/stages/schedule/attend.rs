//! Derivatives of attention that a CPU computes together: the cotangent of the queries, and those of keys and values.
//!
//! In: a program. Out: the same, in which one kernel stands for two that follow each other and read the same. Always: the
//! kernel is that of the keys with one accumulator more (2, over batch, shared, queries and features). Scores that are made
//! once serve all three; on a GPU, where workgroups would have to add to one another's sums, they stay apart.

use crate::ir::DType;
use crate::ir::attend::{Attend, Attention, OF_QUERIES, Part};
use crate::ir::kernel::{Expr, ExprId, Kernel, Skeleton, Store};
use crate::ir::program::{BufferId, Program, Step};

/// Fuses such kernels.
pub(super) fn fuse(program: &mut Program) {
    steps(&mut program.steps);
}

fn steps(list: &mut Vec<Step>) {
    for at in (0..list.len()).rev() {
        list[at].bodies_mut().into_iter().for_each(steps);
        if let Some((kernel, buffers)) = pair(&list[at..]) {
            let steps = list.drain(at..at + 2).collect();
            list.insert(at, Step::Fused { kernel, buffers, steps });
        }
    }
}

/// One kernel for the first two steps, and what its slots are bound to.
fn pair(list: &[Step]) -> Option<(Kernel, Vec<BufferId>)> {
    let [Step::Launch { kernel: first, buffers }, Step::Launch { kernel: second, buffers: others }, ..] = list else {
        return None;
    };
    join((first, buffers), (second, others)).or_else(|| join((second, others), (first, buffers)))
}

type Bound<'a> = (&'a Kernel, &'a Vec<BufferId>);

/// The kernel of the keys that also does what that of the queries does, if they read the same.
fn join((of_queries, queries_bound): Bound<'_>, (of_keys, bound): Bound<'_>) -> Option<(Kernel, Vec<BufferId>)> {
    let (Skeleton::Attend(queries), Skeleton::Attend(keys)) = (&of_queries.skeleton, &of_keys.skeleton) else {
        return None;
    };
    let parts = queries.attend.part == Part::Query && keys.attend.part == Part::Key;
    let like = Attend { part: Part::Key, ..queries.attend.clone() } == keys.attend;
    if !(parts && like && of_queries.axes == of_keys.axes && queries.lists() == keys.lists()) {
        return None;
    }
    let loads = |kernel: &Kernel, bound: &[BufferId], attention: &Attention| -> Vec<(BufferId, Expr)> {
        let load = |&id: &ExprId| {
            let mut load = kernel.scalars[id].clone();
            let Expr::Load { slot, .. } = &mut load else { unreachable!("attention reads by loads") };
            (bound[std::mem::take(slot)], load)
        };
        attention.reads.iter().chain(&attention.mask).map(load).collect()
    };
    let same = loads(of_queries, queries_bound, queries) == loads(of_keys, bound, keys);
    let written = |slot: usize| of_queries.slots[slot].write;
    let new = (0..queries_bound.len()).filter(|&slot| written(slot)).collect::<Vec<_>>();
    let plain = new.iter().all(|&slot| !of_queries.slots[slot].read && !bound.contains(&queries_bound[slot]));
    if !(same && plain) || of_keys.slots.iter().any(|slot| slot.read && slot.write) {
        return None;
    }
    let (mut kernel, mut bound, mut attention) = (of_keys.clone(), bound.clone(), keys.clone());
    let first = kernel.slots.len();
    kernel.slots.extend(new.iter().map(|&slot| of_queries.slots[slot].clone()));
    bound.extend(new.iter().map(|&slot| queries_bound[slot]));
    let value = kernel.scalars.len();
    kernel.scalars.push(Expr::Accumulated { pass: 0, slot: OF_QUERIES, dtype: DType::F32 });
    attention.stores.extend(queries.stores.iter().map(|store| {
        let Some(slot) = new.iter().position(|&slot| slot == store.slot) else { unreachable!("a store writes") };
        Store { slot: first + slot, index: store.index.clone(), value }
    }));
    kernel.skeleton = Skeleton::Attend(attention);
    Some((kernel, bound))
}
