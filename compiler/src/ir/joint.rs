//! Launches that are one dispatch of a GPU: how its workgroups run them.
//!
//! In: kernels that say how they are spread over workgroups, and their buffers. Out: what is wrong with running them so, if
//! something is. Always: no workgroup reads what another one of the same dispatch writes, since nothing orders these; all of a
//! workgroup run the same kernel at a time, and are as many in each.

use super::dim::{Dim, product};
use super::graph::Source;
use super::index::{Atom, Index, Ranges, is_nonnegative};
use super::kernel::{Expr, Kernel, Skeleton, Store};
use super::model::Effect;
use super::plan::Pool;
use super::program::{Buffer, BufferId, Role};
use super::tile::{Tile, Way};
use super::workgroup::{BUFFERS, RowArray, RowGroup, SHARED, Sides, Workgroup};
use std::collections::BTreeSet;

/// How launches share a dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Joint {
    /// Each workgroup runs one of the launches, none of which waits for another (horizontal fusion).
    Beside,
    /// Each workgroup runs all one after the other, each for the rows that it has made in those before (vertical fusion).
    Rows,
    /// Each workgroup makes the whole of the first, which is little, before its part of the second. What the second reads of that
    /// stays in the workgroup; what others read, the first workgroup stores.
    Each,
}

/// A kernel and its buffers.
pub type Joined<'k> = (&'k Kernel, &'k [BufferId]);

impl Joint {
    /// All of them, with their names in texts.
    pub const ALL: [(&'static str, Joint); 3] =
        [("beside", Joint::Beside), ("rows", Joint::Rows), ("each", Joint::Each)];

    /// What it is called in texts.
    pub fn name(self) -> &'static str {
        match self {
            Joint::Beside => "beside",
            Joint::Rows => "rows",
            Joint::Each => "each",
        }
    }

    /// What is wrong with running launches so, in this order, over these buffers.
    pub fn error(self, launches: &[Joined<'_>], all: &[Buffer]) -> Option<&'static str> {
        let [(first, _), rest @ ..] = launches else { return Some("no launches") };
        let wrong = |(kernel, _): &Joined<'_>| kernel.schedule.workgroup.and_then(|own| own.error(kernel)).is_some();
        if launches.iter().any(wrong) {
            return Some("workgroups that their kernels do not have");
        }
        let Some(invocations) = invocations(first) else { return Some("no workgroup of one kind") };
        if rest.is_empty() || rest.iter().any(|(kernel, _)| self::invocations(kernel) != Some(invocations)) {
            return Some("workgroups of different sizes");
        }
        if bytes(launches.iter().map(|(kernel, _)| *kernel)) > SHARED {
            return Some("more shared memory than a workgroup has");
        }
        if self.bound(launches, all) > BUFFERS {
            return Some("more buffers than an entry point binds");
        }
        match (self, launches) {
            (Joint::Beside, _) => {
                let mut pairs = (1..launches.len()).flat_map(|n| (0..n).map(move |m| [launches[m], launches[n]]));
                pairs.any(|[a, b]| conflict(a, b, all)).then_some("one that waits for another")
            }
            (Joint::Rows, _) => rows_error(launches, all),
            (Joint::Each, &[first, second]) => each_error(first, second, all),
            (Joint::Each, _) => Some("not two launches"),
        }
    }
}

impl Joint {
    /// How many buffers an entry point binds for launches. Those that workgroups make a whole row for see pools, where they touch
    /// many; others see each argument by itself, and so do all of a call that touch arguments or results, which a caller may lend.
    fn bound(self, launches: &[Joined<'_>], all: &[Buffer]) -> usize {
        let buffers: BTreeSet<BufferId> = launches.iter().flat_map(|(_, buffers)| *buffers).copied().collect();
        let is_any = |of: fn(Role) -> bool| buffers.iter().any(|buffer| of(all[buffer.0].role));
        let is_lent = is_any(|role| matches!(role, Role::Argument(_) | Role::Result(_)))
            && !is_any(|role| matches!(role, Role::Source(Source::Weights | Source::Gradients | Source::State(_))));
        let (Joint::Each, &[first, second], false) = (self, launches, is_lent) else { return buffers.len() };
        let kept = kept(first, second);
        let bound = buffers.into_iter().filter(|buffer| !kept.contains(buffer));
        let pools = bound.map(|buffer| match (all[buffer.0].role.pool(), Memory::of(buffer, all)) {
            (Pool::State(_), _) => Memory::Pool(Pool::State(0)),
            (Pool::Argument(_), _) => Memory::Pool(Pool::Argument(0)),
            (pool @ (Pool::Numbers | Pool::Groups | Pool::Gradients), _) => Memory::Pool(pool),
            (_, memory) => memory,
        });
        pools.collect::<BTreeSet<Memory>>().len()
    }
}

/// Whether one of two launches writes what the other one touches.
pub fn conflict(a: Joined<'_>, b: Joined<'_>, all: &[Buffer]) -> bool {
    let touches = |launch: Joined<'_>, other: BufferId| launch.1.iter().any(|own| meet(*own, other, all));
    written(a).any(|buffer| touches(b, buffer)) || written(b).any(|buffer| touches(a, buffer))
}

/// Whether two buffers may have words in common. Of what the runtime owns only gradients are told apart: the rest is read in
/// parts and as a whole, and changed in place.
fn meet(a: BufferId, b: BufferId, all: &[Buffer]) -> bool {
    let [own, other] = [a, b].map(|buffer| Memory::of(buffer, all));
    let is_part =
        |whole: Memory, part: Memory| matches!((whole, part), (Memory::Pool(p), Memory::Part(q, _)) if p == q);
    own == other || is_part(own, other) || is_part(other, own)
}

/// The memory of a buffer, as far as launches are told apart by it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Memory {
    /// Its own.
    Own(BufferId),
    /// A part of a pool of the runtime's.
    Part(Pool, BufferId),
    /// All of the pool.
    Pool(Pool),
}

impl Memory {
    /// That of a buffer.
    pub fn of(buffer: BufferId, all: &[Buffer]) -> Memory {
        let role = all[buffer.0].role;
        match (role, role.pool()) {
            (Role::Effect(Effect::Gradient(_)), pool) => Memory::Part(pool, buffer),
            (_, pool @ (Pool::Weights | Pool::Gradients | Pool::State(_) | Pool::Session)) => Memory::Pool(pool),
            _ => Memory::Own(buffer),
        }
    }
}

/// The buffers that a launch writes.
pub fn written<'k>((kernel, buffers): Joined<'k>) -> impl Iterator<Item = BufferId> + 'k {
    kernel.slots.iter().zip(buffers).filter(|(slot, _)| slot.write).map(|(_, buffer)| *buffer)
}

/// The buffers that a launch reads.
pub fn read<'k>((kernel, buffers): Joined<'k>) -> impl Iterator<Item = BufferId> + 'k {
    kernel.slots.iter().zip(buffers).filter(|(slot, _)| slot.read).map(|(_, buffer)| *buffer)
}

/// The invocations of a workgroup, if the kernel has one kind of them: rows, or the only tile of a contraction.
pub fn invocations(kernel: &Kernel) -> Option<u32> {
    tile(kernel).map(|tile| tile.invocations()).or_else(|| group(kernel).map(|group| group.invocations))
}

/// The tile of a contraction that has but one.
pub fn tile(kernel: &Kernel) -> Option<Tile> {
    let Workgroup::Tiles(tiles) = kernel.schedule.workgroup? else { return None };
    let mut ways = tiles.ways();
    match (ways.next(), ways.next()) {
        (Some(Way::Plain(tile)), None) => Some(tile),
        _ => None,
    }
}

/// The bytes of shared memory of a workgroup: tiles have their slabs in common, and rows the arrays through which their accumulators
/// pass, one for each type.
pub fn bytes<'k>(kernels: impl IntoIterator<Item = &'k Kernel>) -> u32 {
    let (mut arrays, mut slabs) = (BTreeSet::new(), 0u32);
    for kernel in kernels {
        match group(kernel) {
            Some(group) => arrays.extend(group.arrays(kernel)),
            None => slabs = slabs.max(kernel.schedule.workgroup.map_or(0, |workgroup| workgroup.bytes(kernel))),
        }
    }
    arrays.into_iter().map(RowArray::bytes).fold(slabs, u32::saturating_add)
}

/// How rows are spread over workgroups.
pub fn group(kernel: &Kernel) -> Option<RowGroup> {
    match (&kernel.skeleton, kernel.schedule.workgroup?) {
        (Skeleton::Row { .. }, Workgroup::Rows(group)) => Some(group),
        _ => None,
    }
}

/// What is wrong with launches whose workgroups go on with their rows.
fn rows_error(all: &[Joined<'_>], buffers: &[Buffer]) -> Option<&'static str> {
    let axes: Option<Vec<usize>> = all.iter().map(|(kernel, _)| row_axis(kernel)).collect();
    let Some(axes) = axes else { return Some("workgroups that do not have whole rows") };
    let rows = |(at, (kernel, _)): (usize, &Joined<'_>)| (kernel.axes[axes[at]].clone(), rows_of(kernel));
    let rows: BTreeSet<(Dim, Option<u32>)> = all.iter().enumerate().map(rows).collect();
    if rows.len() != 1 {
        return Some("workgroups with different rows");
    }
    let touching = |buffer: BufferId| (0..all.len()).filter(move |at| all[*at].1.contains(&buffer));
    let written: BTreeSet<BufferId> = all.iter().flat_map(|launch| written(*launch)).collect();
    let shared = || written.iter().copied().filter(|buffer| touching(*buffer).count() > 1);
    let is_alias = |own: BufferId, other: BufferId| own != other && meet(own, other, buffers);
    if written.iter().any(|own| all.iter().any(|(_, touched)| touched.iter().any(|other| is_alias(*own, *other)))) {
        return Some("memory that is seen in two ways");
    }
    let is_linked =
        |at: usize| shared().any(|buffer| touching(buffer).any(|other| other < at) && all[at].1.contains(&buffer));
    if !(1..all.len()).all(is_linked) {
        return Some("a launch that does not go on with what others have made");
    }
    let is_apart = |buffer: BufferId| {
        let slabs: BTreeSet<Option<Dim>> = touching(buffer).map(|at| slab(all[at], buffer, axes[at])).collect();
        slabs.len() == 1 && !slabs.contains(&None)
    };
    (!shared().all(is_apart)).then_some("rows that other workgroups make")
}

/// The axis of the rows of which workgroups have all columns each.
pub fn row_axis(kernel: &Kernel) -> Option<usize> {
    match &kernel.skeleton {
        Skeleton::Row { parallel, .. } => {
            let alone = group(kernel).is_some_and(|group| !group.cooperative && group.neighbours == 1);
            parallel.first().copied().filter(|_| alone && parallel.len() == 1)
        }
        Skeleton::Contract { .. } => {
            let (sides, tile) = (Sides::of(kernel)?, tile(kernel)?);
            let columns = product(sides.columns.iter().map(|&axis| &kernel.axes[axis])).as_const()?;
            let is_whole = columns <= tile.columns.into() && sides.batch.is_empty() && sides.rows.len() == 1;
            sides.rows.first().copied().filter(|_| is_whole)
        }
        Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => None,
    }
}

/// How many rows a workgroup has.
fn rows_of(kernel: &Kernel) -> Option<u32> {
    tile(kernel).map(|tile| tile.rows).or_else(|| group(kernel).map(|group| group.items()))
}

/// How far rows lie apart in a buffer, if all that a launch touches there lies between where its own row begins and the next one.
fn slab((kernel, buffers): Joined<'_>, buffer: BufferId, axis: usize) -> Option<Dim> {
    let of_buffer = |slot: usize| buffers[slot] == buffer;
    let loads = kernel.scalars.iter().filter_map(Expr::load).map(|load| (load.slot, load.index));
    let stores = stores(kernel).into_iter().map(|store| (store.slot, &store.index));
    let operands = match &kernel.skeleton {
        Skeleton::Contract { lhs, rhs, .. } => vec![lhs, rhs],
        _ => vec![],
    };
    // What may leave the data lies anywhere.
    if operands.iter().any(|operand| of_buffer(operand.slot) && !operand.windows.is_empty()) {
        return None;
    }
    let read = operands.into_iter().map(|operand| (operand.slot, &operand.index));
    let own = loads.chain(stores).chain(read).filter(|(slot, _)| of_buffer(*slot));
    let own: Vec<&Index> = own.map(|(_, index)| index).collect();
    let strides: BTreeSet<Option<Dim>> = own.iter().map(|index| index.stride(axis)).collect();
    let stride = strides.first().cloned().flatten().filter(|_| strides.len() == 1)?;
    let extent = |atom: &Atom| match atom {
        Atom::Axis(axis) => Some(kernel.axes[*axis].clone()),
        _ => None,
    };
    let is_inside = |index: &&Index| {
        let rest = index.plus(&Index::axis(axis).times(&-stride.clone()));
        Ranges(&extent).within(&rest, &stride)
    };
    (is_nonnegative(&stride) && own.iter().all(is_inside)).then_some(stride)
}

/// What a row or a contraction stores.
fn stores(kernel: &Kernel) -> Vec<&Store> {
    match &kernel.skeleton {
        Skeleton::Row { passes, stores, .. } => passes.iter().flat_map(|pass| &pass.stores).chain(stores).collect(),
        Skeleton::Contract { stores, .. } => stores.iter().collect(),
        Skeleton::Scatter { .. } | Skeleton::Attend(_) | Skeleton::Recur(_) => vec![],
    }
}

/// What is wrong with one row of which each workgroup of a map makes all.
fn each_error(first: Joined<'_>, second: Joined<'_>, all: &[Buffer]) -> Option<&'static str> {
    let Skeleton::Row { parallel, passes, stores, .. } = &first.0.skeleton else { return Some("no row") };
    let is_alone = parallel.is_empty() && group(first.0).is_some_and(|group| group.cooperative && group.rows == 1);
    if !is_alone || passes.is_empty() || passes.iter().any(|pass| !pass.stores.is_empty()) {
        return Some("no sums of a workgroup alone");
    }
    let is_word = |store: &Store| {
        let dtype = first.0.slots[store.slot].dtype;
        let is_only = all[first.1[store.slot].0].len.is(1) && store.index.terms.is_empty() && store.index.base.is(0);
        is_only && !dtype.is_stored() && !dtype.is_wide()
    };
    if !stores.iter().all(is_word) || written(first).any(|buffer| read(first).any(|read| read == buffer)) {
        return Some("results that are not words of their own");
    }
    let (is_map, is_never_empty) = match &second.0.skeleton {
        Skeleton::Row { parallel, reduced, .. } => {
            let elements = product(parallel.iter().map(|&axis| &second.0.axes[axis])).as_const();
            (reduced.is_empty(), elements.is_some_and(|count| count > 0))
        }
        _ => (false, false),
    };
    let touches = |other: BufferId| first.1.iter().any(|own| meet(*own, other, all));
    if !is_map || written(second).any(touches) {
        return Some("no map that leaves alone what is summed");
    }
    let kept = kept(first, second);
    if !is_never_empty && written(first).any(|buffer| !kept.contains(&buffer)) {
        return Some("results that no workgroup makes where the map has no elements");
    }
    kept.is_empty().then_some("sums that nobody reads")
}

/// The buffers of sums that stay in the workgroups: those that the second launch reads.
pub fn kept(first: Joined<'_>, second: Joined<'_>) -> BTreeSet<BufferId> {
    written(first).filter(|buffer| second.1.contains(buffer)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]
mod tests {
    use super::bytes;
    use crate::ir::program::{Program, for_each_launch};
    use crate::ir::verify::verify_programs;

    /// A step of training as schedule leaves it.
    const TEXT: &str = include_str!("../../tests/ir/schedule/joined.txt");

    /// What is wrong with that where a text is replaced by another one, once.
    fn wrong(from: &str, to: &str) -> String {
        let (_, text) = TEXT.split_once("\nbecomes\n").unwrap();
        assert!(text.contains(from), "{from}");
        let program: Program = text.replacen(from, to, 1).parse().unwrap_or_else(|why| panic!("{why}"));
        verify_programs(&[program]).err().unwrap_or_default().join("; ")
    }

    #[test]
    fn what_schedule_joins_is_right() {
        assert_eq!(wrong("joined", "joined"), "");
    }

    #[test]
    fn nothing_waits_for_what_is_beside_it() {
        let found = wrong("joined rows", "joined beside");
        assert!(found.contains("launches that are joined beside have one that waits for another"), "{found}");
    }

    #[test]
    fn workgroups_are_of_one_size() {
        let found = wrong("invocations=128 cooperative=true block=16", "invocations=64 cooperative=true block=16");
        assert!(found.contains("workgroups of different sizes"), "{found}");
    }

    #[test]
    fn workgroups_go_on_with_their_own_rows() {
        let found = wrong("invocations=128 rows=16", "invocations=128 rows=8");
        assert!(found.contains("workgroups with different rows"), "{found}");
        let found = wrong("v0 = load s0[10*i0 + i1]", "v0 = load s0[10*B - 10 - 10*i0 + i1]");
        assert!(found.contains("rows that other workgroups make"), "{found}");
        let found = wrong("lhs s0[10*i0 + i2]", "lhs s0[10*i2 + i0]");
        assert!(found.contains("rows that other workgroups make"), "{found}");
    }

    #[test]
    fn only_sums_of_one_workgroup_are_made_in_each() {
        let found = wrong("joined beside", "joined each");
        assert!(found.contains("not two launches"), "{found}");
        let found = wrong("joined each", "joined rows");
        assert!(found.contains("more buffers than an entry point binds"), "{found}");
        let found = wrong("joined rows", "joined each");
        assert!(found.contains("not two launches"), "{found}");
    }

    #[test]
    fn rows_share_the_arrays_of_their_types() {
        let row = |dtype: &str, op: &str| {
            format!(
                "launch row(b0, b1) {{ slot s0: {dtype}[500*B] read slot s1: u32[B] write axis i0: B axis i1: 500
                v0 = load s0[500*i0 + i1] v1 = accumulated {dtype}(0, 0) v2 = convert u32(v1)
                row parallel=[i0] reduced=[i1] {{ pass {{ {op} v0 }} store s1[i0] = v2 }}
                workgroup of=rows invocations=256 cooperative=true block=16 }}"
            )
        };
        let bytes = |rows: &[(&str, &str)]| {
            let mut kernels = vec![];
            for (dtype, op) in rows {
                let text = format!(
                    "program run {{ b0: {dtype}[500*B] argument index=0 b1: u32[B] result index=0 {} }}",
                    row(dtype, op)
                );
                let mut program: Program = text.parse().unwrap_or_else(|why| panic!("{why}"));
                for_each_launch(&mut program.steps, &mut |kernel, _| kernels.push(kernel.clone()));
            }
            bytes(&kernels)
        };
        assert_eq!(bytes(&[("f32", "sum")]), 1024);
        assert_eq!(bytes(&[("f32", "sum"), ("f32", "max")]), 1024);
        assert_eq!(bytes(&[("f32", "sum"), ("i32", "max"), ("u32", "max")]), 3 * 1024);
        assert_eq!(bytes(&[("i64", "max"), ("u64", "max"), ("f32", "sum")]), 3 * 1024);
    }
}
