//! Launches that a GPU runs as one dispatch, because beginning one takes it longer than what a small launch computes.
//!
//! In: a program whose kernels say how they are spread over workgroups. Out: the same launches, of which some are joined, and
//! have workgroups of one size then. Always: what is joined leaves most of a device idle by itself, and what one launch waits for
//! another one does not begin to wait for.

use super::carry::count;
use super::machine::GPU;
use super::neighbours::{AT_ONCE, at_once};
use super::workgroups::{THREAD_SIDE, extent, groups, largest, typical};
use crate::ir::Dim;
use crate::ir::joint::{self, Joined, Joint, Memory, conflict, group, written};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::plan::Pool;
use crate::ir::program::{Buffer, BufferId, Program, Role, Step};
use crate::ir::tile::{Tile, Tiles};
use crate::ir::workgroup::{ROW_BLOCK, RowGroup, Sides, Workgroup};
use std::collections::BTreeMap;

/// How far before a launch another one is looked for that may run beside it.
const WINDOW: usize = 8;

/// Joins launches.
pub(super) fn join(program: &mut Program) {
    let mut uses = vec![0; program.buffers.len()];
    count(&program.steps, &mut uses);
    list(&mut program.steps, &program.buffers, &uses);
}

fn list(steps: &mut Vec<Step>, buffers: &[Buffer], uses: &[usize]) {
    steps.iter_mut().flat_map(Step::bodies_mut).for_each(|body| list(body, buffers, uses));
    let mut done: Vec<Step> = Vec::with_capacity(steps.len());
    for step in steps.drain(..) {
        let before = near(&done).find(|&at| !can_pass(&done[at], &step, buffers));
        match before.and_then(|at| Some((at, after(&done[at], &step, buffers, uses)?))) {
            Some((at, joined)) => done[at] = joined,
            None => done.push(step),
        }
    }
    let levels = levels(&done, buffers);
    let mut all: Vec<(Step, usize)> = Vec::with_capacity(done.len());
    for (mut step, level) in done.into_iter().zip(levels) {
        while let Some((at, joined)) = join_with(&all, (&step, level), buffers) {
            all.remove(at);
            step = joined;
        }
        all.push((step, level));
    }
    steps.extend(all.into_iter().map(|(step, _)| step));
}

/// The last steps, the last one first.
fn near<T>(steps: &[T]) -> impl Iterator<Item = usize> {
    (steps.len().saturating_sub(WINDOW)..steps.len()).rev()
}

/// Whether a step may run before an earlier one.
fn can_pass(earlier: &Step, step: &Step, buffers: &[Buffer]) -> bool {
    let (Some(earlier), Some(own)) = (launches(earlier), launches(step)) else { return false };
    !earlier.iter().any(|a| own.iter().any(|b| conflict(*a, *b, buffers)))
}

/// An earlier step that a step can run beside, and both as one.
fn join_with(done: &[(Step, usize)], (step, level): (&Step, usize), buffers: &[Buffer]) -> Option<(usize, Step)> {
    // Neither waits for what the other one need not wait for.
    let mut before = near(done).filter(|at| done[*at].1 == level);
    before.find_map(|at| {
        let passes = done[at + 1..].iter().all(|(between, _)| can_pass(&done[at].0, between, buffers));
        Some((at, beside(&done[at].0, step, buffers).filter(|_| passes)?))
    })
}

/// How many steps each one waits for, one after the other.
fn levels(steps: &[Step], buffers: &[Buffer]) -> Vec<usize> {
    // The first levels of what may follow those that wrote and read some memory, and what is no launch.
    let (mut wrote, mut read): (BTreeMap<Memory, usize>, BTreeMap<Memory, usize>) = Default::default();
    let (mut least, mut next) = (0, 0);
    let of_step = |step: &Step| {
        let level = match launches(step) {
            Some(all) => {
                let touched = all.into_iter().flat_map(|(kernel, bound)| kernel.slots.iter().zip(bound));
                let touched: Vec<(Memory, bool)> =
                    touched.map(|(slot, buffer)| (Memory::of(*buffer, buffers), slot.write)).collect();
                let after = |known: &BTreeMap<Memory, usize>, memory: Memory| {
                    // Parts are noted as parts of any place, too.
                    let others = match memory {
                        Memory::Own(_) => vec![memory],
                        Memory::Part(pool, _) => vec![memory, Memory::Pool(pool)],
                        Memory::Pool(pool) => vec![memory, any_part(pool)],
                    };
                    others.iter().filter_map(|memory| known.get(memory)).max().copied().unwrap_or(least)
                };
                let waits = touched.iter().map(|&(memory, writes)| {
                    after(&wrote, memory).max(if writes { after(&read, memory) } else { least })
                });
                let level = waits.max().unwrap_or(least).max(least);
                for (memory, writes) in touched {
                    let known = if writes { &mut wrote } else { &mut read };
                    let any = if let Memory::Part(pool, _) = memory { any_part(pool) } else { memory };
                    for noted in [memory, any] {
                        let last = known.entry(noted).or_default();
                        *last = (level + 1).max(*last);
                    }
                }
                level
            }
            None => {
                least = next + 1;
                next
            }
        };
        next = next.max(level + 1);
        level
    };
    steps.iter().map(of_step).collect()
}

/// Any part of a pool.
fn any_part(pool: Pool) -> Memory {
    Memory::Part(pool, BufferId(usize::MAX))
}

/// The launches of a step that is nothing else.
fn launches(step: &Step) -> Option<Vec<Joined<'_>>> {
    match step {
        Step::Launch { .. } => step.launch().map(|launch| vec![launch]),
        Step::Joined { steps, joint: _ } => steps.iter().map(Step::launch).collect(),
        Step::Loop { .. } | Step::Branch { .. } | Step::Foreign { .. } | Step::Fused { .. } => None,
    }
}

/// A step and a launch that waits for it, where workgroups can go on with the rows that they have made, or can make all of the first
/// themselves.
fn after(first: &Step, second: &Step, buffers: &[Buffer], uses: &[usize]) -> Option<Step> {
    let (before, Step::Launch { kernel, buffers: bound }) = (launches(first)?, second) else { return None };
    let joined = |joint: Joint, all: &[Joined<'_>]| joint.error(all, buffers).is_none().then(|| as_one(joint, all));
    if matches!(first, Step::Launch { .. } | Step::Joined { joint: Joint::Rows, .. }) {
        let few = before.iter().map(|(kernel, _)| threads(kernel)).max() <= Some(GPU.busy);
        let kernels = with_rows(before[0].0, kernel);
        let with = |kernel: Kernel| joined(Joint::Rows, &[&before[..], &[(&kernel, bound)]].concat());
        if let Some(rows) = kernels.into_iter().filter(|_| few).find_map(with) {
            return Some(rows);
        }
    }
    let Step::Launch { kernel: row, buffers: of_row } = first else { return None };
    let each = whole(row, kernel)?;
    let both = [(&each, of_row.as_slice()), (kernel, bound.as_slice())];
    // What stays in workgroups is nowhere else.
    let is_own = |buffer: BufferId| buffers[buffer.0].role == Role::Scratch && uses[buffer.0] == 2;
    joint::kept(both[0], both[1]).into_iter().all(is_own).then(|| joined(Joint::Each, &both))?
}

/// Launches as one step.
fn as_one(joint: Joint, all: &[Joined<'_>]) -> Step {
    let launch = |&(kernel, buffers): &Joined<'_>| Step::Launch { kernel: kernel.clone(), buffers: buffers.to_vec() };
    Step::Joined { joint, steps: all.iter().map(launch).collect() }
}

/// A kernel whose workgroups have as many rows as the tiles of a product, and are as large: none where it does not pay that
/// they are so few.
fn with_rows(product: &Kernel, kernel: &Kernel) -> Vec<Kernel> {
    let Some(tile) = joint::tile(product) else { return vec![] };
    if let Some(group) = group(kernel) {
        let rows = if tile.rows == tile.invocations() { 1 } else { tile.rows };
        return with_group(kernel, RowGroup { invocations: tile.invocations(), rows, ..group }).into_iter().collect();
    }
    let (Some(sides), Some(terms)) = (Sides::of(kernel), kernel.terms().and_then(|terms| terms.as_const())) else {
        return vec![];
    };
    let columns = largest(kernel, &sides)[1];
    let of_slice = tile.rows / THREAD_SIDE * (columns / THREAD_SIDE);
    if terms > SHORT_SUM || of_slice == 0 || tile.invocations() % of_slice != 0 {
        return vec![];
    }
    let slices = tile.invocations() / of_slice;
    let of_depth = |depth: u32| {
        let own = Tile { rows: tile.rows, columns, depth, thread_tile: [THREAD_SIDE; 2], slices, block: None };
        with_tile(kernel, own)
    };
    [4, 2].map(|fours| of_depth(4 * slices.max(fours))).to_vec()
}

/// The most terms of a product that is made by the workgroups of another one: as few are over before a launch begins.
const SHORT_SUM: i64 = 32;

/// A row that each workgroup of a map makes as a whole, if they read what it sums sooner than another launch begins. It has a known
/// length: with one that a call chooses each of ever more workgroups would read ever more.
fn whole(row: &Kernel, map: &Kernel) -> Option<Kernel> {
    let (own, of_map) = (group(row)?, group(map)?);
    let Skeleton::Row { reduced, .. } = &row.skeleton else { return None };
    let turns = (groups_of(map) + GPU.processors - 1) / GPU.processors;
    let length = extent(row, reduced).as_const()?;
    let is_little = turns.saturating_mul(length) <= GPU.turn / i64::from(GPU.sector);
    // Of what each workgroup waits for it asks for all at once.
    let block = own.block.or((own.neighbours == 1 && own.turns.is_none()).then_some(AT_ONCE));
    let with = RowGroup { invocations: of_map.invocations, cooperative: true, block, ..own };
    with_group(row, with).filter(|_| is_little)
}

/// A launch beside an earlier one: both write different words of one buffer of the runtime's, which a device takes for a reason to
/// let one wait for the other.
fn beside(earlier: &Step, step: &Step, buffers: &[Buffer]) -> Option<Step> {
    let can = |step: &Step| matches!(step, Step::Launch { .. } | Step::Joined { joint: Joint::Beside, .. });
    let (first, own) = (launches(earlier)?, launches(step)?);
    let pools = |launches: &[Joined<'_>]| -> Vec<Pool> {
        let all = launches.iter().flat_map(|launch| written(*launch)).map(|buffer| buffers[buffer.0].role.pool());
        all.filter(|pool| *pool != Pool::Scratch).collect()
    };
    let others = pools(&own);
    if !(can(earlier) && can(step) && pools(&first).iter().any(|pool| others.contains(pool))) {
        return None;
    }
    let mut all: Vec<Joined<'_>> = first.into_iter().chain(own).collect();
    // The longest begin first.
    all.sort_by_key(|(kernel, _)| (matches!(kernel.skeleton, Skeleton::Row { .. }), -groups_of(kernel)));
    let of_tiles = all.iter().filter_map(|(kernel, _)| joint::tile(kernel)).map(|tile| tile.invocations()).max();
    let of_rows = all.iter().filter_map(|(kernel, _)| group(kernel)).map(|group| group.invocations).max();
    let invocations = of_tiles.or(of_rows)?;
    let of_size = |kernel: &Kernel| match group(kernel) {
        Some(group) => with_group(kernel, RowGroup { invocations, ..group }),
        None => Some(with_tile(kernel, larger(kernel, invocations)?)),
    };
    let kernels: Vec<Kernel> = all.iter().map(|(kernel, _)| of_size(kernel)).collect::<Option<_>>()?;
    let joined: Vec<Joined<'_>> = kernels.iter().zip(all.iter().map(|(_, buffers)| *buffers)).collect();
    let is_small = kernels.iter().map(threads).fold(0, i64::saturating_add) <= GPU.held;
    (is_small && Joint::Beside.error(&joined, buffers).is_none()).then(|| as_one(Joint::Beside, &joined))
}

/// The tile of a contraction, with more columns until its workgroup has so many invocations.
fn larger(kernel: &Kernel, invocations: u32) -> Option<Tile> {
    let (mut tile, sides) = (joint::tile(kernel)?, Sides::of(kernel)?);
    let most = largest(kernel, &sides)[1];
    while tile.invocations() < invocations && tile.columns < most {
        tile.columns *= 2;
    }
    Some(tile)
}

/// The kernel with other workgroups, whose sums are in blocks if they are long for so many invocations.
fn with_group(kernel: &Kernel, group: RowGroup) -> Option<Kernel> {
    let Skeleton::Row { reduced, .. } = &kernel.skeleton else { return None };
    let of_one = if group.cooperative { group.invocations * ROW_BLOCK } else { ROW_BLOCK };
    let is_long = extent(kernel, reduced).as_const().is_none_or(|length| length > of_one.into());
    let group = at_once(kernel, RowGroup { block: group.block.or(is_long.then_some(ROW_BLOCK)), ..group });
    let mut kernel = kernel.clone();
    kernel.schedule.workgroup = Some(Workgroup::Rows(group));
    Some(kernel)
}

fn with_tile(kernel: &Kernel, tile: Tile) -> Kernel {
    let mut kernel = kernel.clone();
    kernel.schedule.workgroup = Some(Workgroup::Tiles(Tiles::plain(tile)));
    kernel
}

/// The workgroups of rows, or of a contraction that has one tile.
fn groups_of(kernel: &Kernel) -> i64 {
    match (&kernel.skeleton, kernel.schedule.workgroup) {
        (Skeleton::Row { parallel, .. }, Some(Workgroup::Rows(group))) => {
            let items: Dim = extent(kernel, parallel);
            typical(&items.ceil_div(group.items().into()))
        }
        _ => match (joint::tile(kernel), Sides::of(kernel)) {
            (Some(tile), Some(sides)) => groups(kernel, &sides, [tile.rows, tile.columns]),
            _ => i64::MAX,
        },
    }
}

/// The invocations of all workgroups.
fn threads(kernel: &Kernel) -> i64 {
    groups_of(kernel).saturating_mul(joint::invocations(kernel).unwrap_or(0).into())
}
