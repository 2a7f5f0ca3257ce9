//! Reductions of rows in two stages.
//!
//! In: a row kernel. Out: one whose rows are parts of rows and which stores what it has reduced them to, and one that reduces
//! these and has the stores; nothing where there are enough rows to keep a GPU busy, where rows are short, or where a position
//! or a second pass asks for the whole row. Always: beyond the end of a row nothing is read, and what is reduced changes nothing.

use super::super::machine::GPU;
use super::super::workgroups::{extent, typical};
use super::cut::{Cut, apply, cut, cut_axis, cut_to, masked};
use super::{Partial, Spread, Stages};
use crate::ir::index::Atom;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, ExprId, Kernel, Pass, Skeleton, Store};
use crate::ir::neighbours::Fours;
use crate::ir::workgroup::{INVOCATIONS, ROW_BLOCK};
use crate::ir::{DType, Dim};

/// The fewest parts that are worth a second stage, which costs as much as starting it.
pub(super) const FEWEST: i64 = 4;

/// The most parts of a column, of which an invocation of the second stage adds up all: four blocks.
const COLUMN_PARTS: i64 = 4 * ROW_BLOCK as i64;

/// The most parts that are made, as many as have a block for each invocation of a workgroup.
const MOST_PARTS: i64 = (INVOCATIONS * ROW_BLOCK) as i64;

/// The most parts of columns that workgroups add up of which each has several columns beside each other: four blocks of an invocation.
const MERGED: i64 = 4 * MOST_PARTS / GPU.sector as i64;

/// The two stages of a row kernel, where it is worth them.
pub(super) fn stages(kernel: &Kernel) -> Option<Stages> {
    let Skeleton::Row { parallel, reduced, passes, stores } = &kernel.skeleton else { return None };
    let [Pass { accumulators, stores: inner }] = passes.as_slice() else { return None };
    let is_merged = |accumulator: &Accumulator| matches!(accumulator.op, AccumulatorOp::Reduce(_));
    let is_plain = |store: &Store| !store.index.any(&|atom| matches!(atom, Atom::Value(_)));
    let dtypes = kernel.dtypes();
    let fits = inner.is_empty()
        && !accumulators.is_empty()
        && accumulators.iter().all(is_merged)
        && stores.iter().all(is_plain)
        && !dtypes.contains(&DType::F64);
    let mut parts = kernel.clone();
    let Cuts { cuts, most, spread } = cuts(&mut parts, parallel, reduced).filter(|_| fits)?;
    let of_parts: Vec<usize> = cuts.iter().map(|cut| cut.part).collect();
    let items = [&of_parts[..], parallel].concat();
    let of = |accumulator: &Accumulator| {
        let partial = Partial::of(dtypes[accumulator.value], &parts, &items);
        Partial { len: most.clone().unwrap_or(partial.len), ..partial }
    };
    let partial: Vec<Partial> = accumulators.iter().map(of).collect();
    let first = parts.slots.len();
    parts.slots.extend(partial.iter().map(Partial::slot));
    let whole = Kernel { slots: parts.slots.clone(), axes: parts.axes.clone(), ..kernel.clone() };
    let whole = merged(whole, of_parts, &partial, first);
    apply(&mut parts, &cuts);
    let neutral = |of: &Accumulator| (of.value, of.op.neutral(dtypes[of.value]));
    let values = masked(&mut parts, &cuts, accumulators.iter().map(neutral).collect());
    let mut stored = vec![];
    for (slot, partial) in partial.iter().enumerate() {
        stored.push(Store { slot: first + slot, index: partial.index.clone(), value: parts.scalars.len() });
        parts.scalars.push(Expr::Accumulated { pass: 0, slot, dtype: partial.dtype });
    }
    let op = |(accumulator, value): (&Accumulator, ExprId)| Accumulator { op: accumulator.op, value };
    let accumulators = accumulators.iter().zip(values).map(op).collect();
    parts.name += "_parts";
    parts.skeleton = Skeleton::Row {
        parallel: items,
        reduced: reduced.clone(),
        passes: vec![Pass { accumulators, stores: vec![] }],
        stores: stored,
    };
    Some(Stages { alone: None, parts, whole, partial, spread })
}

/// How rows are cut.
struct Cuts {
    cuts: Vec<Cut>,
    /// The most partial results, where their number is not what a call allocates: memory must not shrink where rows are more.
    most: Option<Dim>,
    /// How workgroups have the parts of rows, and the rows of parts.
    spread: [Spread; 2],
}

/// Cuts the rows of a kernel, where that is worth a second stage.
fn cuts(kernel: &mut Kernel, parallel: &[usize], reduced: &[usize]) -> Option<Cuts> {
    let (rows, length) = (extent(kernel, parallel), extent(kernel, reduced));
    let is_beside = kernel.schedule.vector.is_some_and(|axis| parallel.contains(&axis));
    if let Some(rows) = rows.as_const() {
        let mut wanted = wanted(rows, &length, is_beside)?;
        if !is_beside {
            let cuts = cut(kernel, reduced, wanted, reduced.last().copied());
            return Some(Cuts { cuts, most: None, spread: [Spread::Usual; 2] });
        }
        // Where an invocation has several columns, those of more parts are as many as fill half of a GPU.
        if Fours::of(kernel, false).is_some_and(|fours| fours.has_any()) {
            wanted = (2 * wanted).min(MOST_PARTS);
        }
        let merged = if wanted <= MERGED { Spread::Beside } else { Spread::Usual };
        let spread = [Spread::Alone, merged];
        let ([axis], None) = (reduced, length.as_const()) else {
            return Some(Cuts { cuts: cut(kernel, reduced, wanted, None), most: None, spread });
        };
        // Of a length that a call knows there are no more parts than have half a block of terms each, and of a longer one these are
        // whole blocks, near to as many parts as are wanted.
        let block = i64::from(ROW_BLOCK);
        let half = block / 2 * wanted;
        let blocks = (length + Dim::from(half)).floor_div(&Dim::from(2 * half));
        let length = (blocks * Dim::from(block)).larger(&Dim::from(block / 2));
        let most = Some(Dim::from(rows * (wanted + wanted / 2 + 1)));
        return Some(Cuts { cuts: vec![cut_to(kernel, *axis, length)], most, spread });
    }
    // Of rows as many as a call has only columns of an unknown length are cut, into fewer parts the more there are.
    let longest = reduced.iter().copied().max_by_key(|&axis| typical(&kernel.axes[axis]));
    let axis = longest.filter(|_| is_beside && length.as_const().is_none())?;
    let parts = Dim::from(1) + Dim::from(GPU.held).floor_div(&(rows.clone() + Dim::from(GPU.held / COLUMN_PARTS)));
    Some(Cuts {
        cuts: vec![cut_axis(kernel, axis, &parts)],
        most: Some(rows + Dim::from(GPU.held)),
        spread: [Spread::Alone; 2],
    })
}

/// Whether there are few rows, which are long, so that several workgroups make the sums of each.
pub(super) fn is_worth_it(kernel: &Kernel, parallel: &[usize], reduced: &[usize]) -> bool {
    let (rows, length) = (extent(kernel, parallel), extent(kernel, reduced));
    let is_beside = kernel.schedule.vector.is_some_and(|axis| parallel.contains(&axis));
    rows.as_const().and_then(|rows| wanted(rows, &length, is_beside)).is_some()
}

/// How many parts of each row fill a GPU, where there are few rows: a workgroup has a part, or an invocation, where rows lie
/// beside each other.
fn wanted(rows: i64, length: &Dim, is_beside: bool) -> Option<i64> {
    let of_part = if is_beside { 1 } else { i64::from(INVOCATIONS) };
    let (is_long, most) = match length.as_const() {
        // An invocation of the first stage has a block of elements at least.
        Some(length) => (rows.saturating_mul(length) >= GPU.busy, length / (of_part * i64::from(ROW_BLOCK))),
        // A batch alone mostly is short, and parts may be empty; but columns that are not cut are read in short pieces.
        None => {
            let is_large = rows.saturating_mul(typical(length)) >= GPU.busy;
            (typical(length) >= MOST_PARTS || is_beside && is_large, MOST_PARTS)
        }
    };
    let wanted = (GPU.held / rows.max(1).saturating_mul(of_part)).min(most).min(MOST_PARTS);
    (is_long && wanted >= FEWEST).then_some(wanted)
}

/// The stage that reduces what the first one has stored to the slots from `first` on.
fn merged(mut kernel: Kernel, of_parts: Vec<usize>, partial: &[Partial], first: usize) -> Kernel {
    kernel.prepend(partial.iter().enumerate().map(|(slot, partial)| partial.load(first + slot)).collect());
    kernel.name += "_merged";
    if let Skeleton::Row { reduced, passes, .. } = &mut kernel.skeleton {
        *reduced = of_parts;
        let accumulators = passes.iter_mut().flat_map(|pass| &mut pass.accumulators);
        accumulators.enumerate().for_each(|(load, accumulator)| accumulator.value = load);
    }
    kernel
}
