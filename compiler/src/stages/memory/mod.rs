//! memory: gives every buffer a place in a pool.
//!
//! In: scheduled programs. Out: the unique kernels of the model and a plan for each function. Always: two
//! buffers share words only if their lifetimes are disjoint, for every value of the named dimensions.
//!
//! Scratch buffers whose sizes are multiples of one product of names (`64·B`, `10·B`) are packed among
//! themselves by their factors, so that the decision holds for every binding; the areas of different
//! products follow each other. A GPU runs other steps than a CPU and has plans of its own, whose scratch memory is spread over
//! several buffers.

mod banks;
mod check;
mod lifetime;

use crate::ir::Model;
use crate::ir::dim::Dim;
use crate::ir::graph::Source;
use crate::ir::kernel::Kernel;
use crate::ir::model::Effect;
use crate::ir::plan::{ALIGN, Place, Plan, Plans, Pool, RESULTS, are_bound_apart, number_offset};
use crate::ir::program::{BufferId, KernelId, Program, Role, Step};
use std::collections::BTreeMap;

pub use check::{Clash, check};
use lifetime::{Lifetime, Order, Side};

/// The memory plan of a model's programs.
pub fn memory(model: &Model, programs: Vec<Program>) -> Plans {
    let mut plans = Plans::default();
    for program in programs {
        let steps = number(program.steps, &mut plans.kernels);
        let program = Program { name: program.name, precision: program.precision, buffers: program.buffers, steps };
        let plan = place(model, program, &plans.kernels);
        plans.plans.push(plan);
    }
    plans
}

/// Replaces kernels by their numbers.
fn number(steps: Vec<Step>, kernels: &mut Vec<Kernel>) -> Vec<Step<KernelId>> {
    let mut numbered = vec![];
    for step in steps {
        numbered.push(match step {
            Step::Launch { kernel, buffers } => Step::Launch { kernel: unique(kernel, kernels), buffers },
            Step::Fused { kernel, buffers, steps } => {
                Step::Fused { kernel: unique(kernel, kernels), buffers, steps: number(steps, kernels) }
            }
            Step::Joined { joint, steps } => Step::Joined { joint, steps: number(steps, kernels) },
            Step::Loop { count, reverse, body } => Step::Loop { count, reverse, body: number(body, kernels) },
            Step::Foreign { function, args, results } => Step::Foreign { function, args, results },
            Step::Branch { selector, cases } => {
                Step::Branch { selector, cases: cases.into_iter().map(|case| number(case, kernels)).collect() }
            }
        });
    }
    numbered
}

/// The number of a kernel among those that are known.
fn unique(kernel: Kernel, kernels: &mut Vec<Kernel>) -> KernelId {
    let known = kernels.iter().position(|other| *other == kernel);
    KernelId(known.unwrap_or_else(|| {
        kernels.push(kernel);
        kernels.len() - 1
    }))
}

fn place(model: &Model, program: Program<KernelId>, kernels: &[Kernel]) -> Plan {
    let [cpu, both, gpu] = [Side::Cpu, Side::Both, Side::Gpu].map(|side| Order::of(&program, kernels, side));
    // What a GPU alone uses has no place on a CPU.
    let partial = &gpu.buffers() - &cpu.buffers();
    let lifetimes = both.lifetimes(&program);
    let (places, mut ends) = pools(model, &program, &lifetimes, &|buffer| {
        (!partial.contains(&buffer) && !lifetimes[buffer.0].is_never()).then_some(Pool::Scratch)
    });
    let scratch = ends.remove(&Pool::Scratch).unwrap_or_default();
    let lifetimes = gpu.lifetimes(&program);
    let apart = apart(&program, &gpu);
    let lies = |buffer: BufferId| {
        fixed(model, program.buffers[buffer.0].role).is_none() && !apart.iter().any(|(known, ..)| *known == buffer)
    };
    let banks = banks::banks(&program.buffers, &gpu, &lifetimes, &lies);
    let (mut banked, ends) =
        pools(model, &program, &lifetimes, &|buffer| banks.get(&buffer).map(|&bank| Pool::Bank(bank)));
    for (buffer, pool, word) in apart {
        banked[buffer.0] = Place { pool, offset: word.into(), len: program.buffers[buffer.0].len.clone() };
    }
    let banks = std::array::from_fn(|bank| ends.get(&Pool::Bank(bank)).cloned().unwrap_or_default());
    Plan { program, places, scratch, banked, banks }
}

/// What of the results lies apart from a GPU's scratch memory, in which pool, and at which word: what a training step came to,
/// or the results of a call, if no launch that touches one of them has too many buffers for a pool more.
fn apart(program: &Program<KernelId>, order: &Order) -> Vec<(BufferId, Pool, i64)> {
    let of = |role| program.buffers.iter().position(|buffer| buffer.role == role).map(BufferId);
    if let (Some(loss), Some(updated)) = (of(Role::Result(0)), of(Role::Effect(Effect::Updated))) {
        return vec![(loss, Pool::Outcome, 0), (updated, Pool::Outcome, 1)];
    }
    let fits = |result: BufferId| {
        let touching = order.uses.iter().filter(|uses| uses.iter().any(|(buffer, _)| *buffer == result));
        touching.into_iter().all(|uses| are_bound_apart(uses.iter().map(|(buffer, _)| *buffer)))
    };
    let results = (0..RESULTS).filter_map(|k| Some((of(Role::Result(k))?, Pool::Result(k), 0)));
    results.filter(|(result, ..)| !program.buffers[result.0].len.is(0) && fits(*result)).collect()
}

/// The place of each buffer, where `pool` tells that of scratch memory that has one, and the words of these pools.
fn pools(
    model: &Model,
    program: &Program<KernelId>,
    lifetimes: &[Lifetime],
    pool: &dyn Fn(BufferId) -> Option<Pool>,
) -> (Vec<Place>, BTreeMap<Pool, Dim>) {
    let mut areas: BTreeMap<(Pool, Dim), Vec<(BufferId, i64)>> = BTreeMap::new();
    let never = Place { pool: Pool::Scratch, offset: 0.into(), len: 0.into() };
    let mut places: Vec<Place> = vec![never; program.buffers.len()];
    for (index, buffer) in program.buffers.iter().enumerate() {
        if let Some((pool, offset)) = fixed(model, buffer.role) {
            places[index] = Place { pool, offset, len: buffer.len.clone() };
        } else if let Some(pool) = pool(BufferId(index)) {
            let (unit, factor) = unit(&buffer.dtype.words(&buffer.len));
            areas.entry((pool, unit)).or_default().push((BufferId(index), factor));
        }
    }
    let mut ends: BTreeMap<Pool, Dim> = BTreeMap::new();
    for ((pool, unit), buffers) in areas {
        let start = ends.entry(pool).or_default();
        let mut end = 0;
        for (id, factor, at) in pack(buffers, lifetimes) {
            end = end.max(at + factor);
            let offset = start.clone() + unit.clone() * Dim::from(at);
            places[id.0] = Place { pool, offset, len: program.buffers[id.0].len.clone() };
        }
        *start = start.clone() + unit * Dim::from(end);
    }
    (places, ends)
}

/// A size as a unit and a factor that keeps offsets aligned: `64·B` is (`B`, 64), `10·B` is (`⌈B / 64⌉`, 640). A unit of
/// names is rounded up where rounding the factor would waste more.
fn unit(len: &Dim) -> (Dim, i64) {
    let factor = len.terms().iter().fold(0, |gcd, (_, c)| common_divisor(gcd, c.abs()));
    if factor == 0 {
        return (Dim::from(1), 0);
    }
    let unit = len.exact_div(&Dim::from(factor)).unwrap_or_else(|| len.clone());
    let aligned = (factor + ALIGN - 1) / ALIGN * ALIGN;
    if unit.as_const().is_some() || aligned - factor <= factor / 16 {
        return (unit, aligned);
    }
    (unit.ceil_div(ALIGN), factor * ALIGN)
}

fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Packs buffers of one unit, the largest first, each at the lowest factor where nothing alive at the same
/// time lies.
fn pack(mut buffers: Vec<(BufferId, i64)>, lifetimes: &[Lifetime]) -> Vec<(BufferId, i64, i64)> {
    buffers.sort_by_key(|&(id, factor)| (-factor, id));
    // In the order of their places, so that what lies beyond a gap need not be looked at.
    let mut packed: Vec<(BufferId, i64, i64)> = vec![];
    for (id, factor) in buffers {
        let (life, mut at) = (&lifetimes[id.0], 0);
        for &(other, taken, start) in &packed {
            if at + factor <= start {
                break;
            }
            if at < start + taken && life.overlaps(&lifetimes[other.0]) {
                at = start + taken;
            }
        }
        packed.insert(packed.partition_point(|&(_, _, start)| start <= at), (id, factor, at));
    }
    packed
}

/// The place of a buffer whose memory the runtime owns; scratch has none yet.
fn fixed(model: &Model, role: Role) -> Option<(Pool, Dim)> {
    let offset = match role {
        Role::Param(p) | Role::Effect(Effect::Gradient(p) | Effect::Companion(p)) => {
            model.stored().words(&model.param(p).offset.into())
        }
        Role::State(id) | Role::Effect(Effect::Stored(id)) => model.state_offset(id),
        Role::Source(Source::Key(word)) => word.into(),
        Role::Source(Source::ClipNorm) => 2.into(),
        Role::Source(Source::SkipNonfinite) => 3.into(),
        Role::Source(Source::Number(k)) => number_offset(k).into(),
        Role::Argument(_)
        | Role::Source(Source::Weights | Source::Gradients | Source::State(_) | Source::Group)
        | Role::Effect(Effect::Weights | Effect::State(_)) => 0.into(),
        Role::Result(_) | Role::Scratch | Role::Effect(Effect::Updated) => return None,
    };
    Some((role.pool(), offset))
}
