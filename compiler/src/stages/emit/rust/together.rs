//! Derivatives of attention that are computed together: the cotangent of the queries, and those of keys and values.
//!
//! In: plans. Out: the same plans, in which one kernel stands for two that follow each other and read the same. Always: the
//! kernel is that of the keys with one accumulator more (2, over batch, shared, queries and features). Scores that are made
//! once serve all three; on a GPU, where workgroups would have to add to one another's sums, they stay apart.

use crate::ir::DType;
use crate::ir::attend::{Attend, Attention, Part};
use crate::ir::kernel::{BufferId, Expr, ExprId, Kernel, KernelId, Skeleton, Step, Store};
use crate::ir::plan::Plans;

/// The accumulator of the queries' cotangent.
const OF_QUERIES: usize = 2;

/// The plans with such kernels.
pub(super) fn together(plans: &Plans) -> Plans {
    let Plans { mut kernels, mut plans } = plans.clone();
    plans.iter_mut().for_each(|plan| steps(&mut plan.program.steps, &mut kernels));
    Plans { kernels, plans }
}

fn steps(list: &mut Vec<Step<KernelId>>, kernels: &mut Vec<Kernel>) {
    for at in (0..list.len()).rev() {
        match &mut list[at] {
            Step::Loop { body, .. } => steps(body, kernels),
            Step::Branch { cases, .. } => cases.iter_mut().for_each(|case| steps(case, kernels)),
            Step::Foreign { .. } => {}
            Step::Launch { .. } => {
                if let Some((kernel, buffers)) = pair(&list[at..], kernels) {
                    let known = kernels.iter().position(|other| *other == kernel);
                    let id = known.unwrap_or(kernels.len());
                    kernels.extend(known.is_none().then_some(kernel));
                    list.remove(at + 1);
                    list[at] = Step::Launch { kernel: KernelId(id), buffers };
                }
            }
        }
    }
}

/// One kernel for the first two steps, and what its slots are bound to.
fn pair(list: &[Step<KernelId>], kernels: &[Kernel]) -> Option<(Kernel, Vec<BufferId>)> {
    let [Step::Launch { kernel: first, buffers }, Step::Launch { kernel: second, buffers: others }, ..] = list else {
        return None;
    };
    let (first, second) = ((&kernels[first.0], buffers), (&kernels[second.0], others));
    join(first, second).or_else(|| join(second, first))
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
