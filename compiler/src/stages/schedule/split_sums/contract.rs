//! Contractions in parts of their terms (split-K).
//!
//! In: a contraction. Out: one whose batch has the parts as further axes and which stores plain sums, and a row kernel that adds
//! these up and has the epilogue; nothing where its tiles keep a GPU busy, or a part would store more than it saves. Where a call says how
//! many results there are, it says whether there are parts: the contraction itself goes along, and that way which a call does not take
//! has an axis without positions. Always: beyond the last term both operands are zero, and neither is read.

use super::super::machine::GPU;
use super::super::workgroups::{self, MEDIUM, enough, extent, groups, largest, typical};
use super::cut::{Cut, cut_axis, even_cuts};
use super::{Partial, Spread, Stages};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, Kernel, Operand, Pass, Reach, Skeleton, Store};
use crate::ir::prim::ReduceOp;
use crate::ir::workgroup::{ROW_BLOCK, Sides};
use crate::ir::{DType, Dim};

/// How many times the elements that a part writes, and that are read back, it loads at least.
const LOADED: i64 = 4;

/// The two stages of a contraction, where it is worth them.
pub(super) fn stages(kernel: &Kernel) -> Option<Stages> {
    let Skeleton::Contract { k, lhs, rhs, stores, .. } = &kernel.skeleton else { return None };
    let sides = Sides::of(kernel)?;
    let dtype = kernel.product_dtype(lhs, rhs);
    if dtype != DType::F32 {
        return None;
    }
    let Cuts { cuts, by_call } = cuts(kernel, &sides, k)?;
    let mut parts = kernel.clone();
    let cuts: Vec<Cut> = cuts.into_iter().map(|(axis, count)| cut_axis(&mut parts, axis, &count)).collect();
    let of_parts: Vec<usize> = cuts.iter().map(|cut| cut.part).collect();
    let mut results = [&sides.batch[..], &sides.rows, &sides.columns].concat();
    let alone = by_call.as_ref().map(|ByCall { is_one, .. }| with_axis(kernel.clone(), is_one.clone()));
    let partial = Partial::of(dtype, &parts, &[&of_parts[..], &results].concat());
    let len = by_call.as_ref().map_or(partial.len, |by_call| by_call.held.into());
    let partial = Partial { len, ..partial };
    let spread = by_call.as_ref().map_or(Spread::Usual, |by_call| by_call.spread);
    if let Some(ByCall { is_one, .. }) = by_call {
        of_parts.iter().for_each(|&part| parts.axes[part] = parts.axes[part].clone() - is_one.clone());
        results.insert(0, parts.axes.len());
        parts.axes.push(Dim::from(1) - is_one);
    }
    let slot = parts.slots.len();
    parts.slots.push(partial.slot());
    let mut whole = Kernel { slots: parts.slots.clone(), axes: parts.axes.clone(), ..kernel.clone() };
    whole.prepend(vec![partial.load(slot)]);
    parts.name += "_parts";
    let (m, n) = if sides.swapped { (sides.columns, sides.rows) } else { (sides.rows, sides.columns) };
    parts.scalars = vec![Expr::Accumulated { pass: 0, slot: 0, dtype }];
    parts.skeleton = Skeleton::Contract {
        batch: [&of_parts[..], &sides.batch].concat(),
        m,
        n,
        k: k.clone(),
        lhs: part_of(lhs, &cuts),
        rhs: part_of(rhs, &cuts),
        stores: vec![Store { slot, index: partial.index.clone(), value: 0 }],
    };
    // The load stands before what the stores need.
    let stores = stores.iter().map(|store| Store { value: store.value + 1, ..store.clone() }).collect();
    let sum = Accumulator { op: AccumulatorOp::Reduce(ReduceOp::Sum), value: 0 };
    whole.name += "_sums";
    whole.skeleton = Skeleton::Row {
        parallel: results,
        reduced: of_parts,
        passes: vec![Pass { accumulators: vec![sum], stores: vec![] }],
        stores,
    };
    Some(Stages { alone, parts, whole, partial: vec![partial], spread: [Spread::Usual, spread] })
}

/// A contraction with one more axis, which all results vary with.
fn with_axis(mut kernel: Kernel, extent: Dim) -> Kernel {
    let axis = kernel.axes.len();
    kernel.axes.push(extent);
    if let Skeleton::Contract { batch, .. } = &mut kernel.skeleton {
        batch.insert(0, axis);
    }
    kernel
}

/// How the terms are cut.
struct Cuts {
    /// The axes, and into how many parts each.
    cuts: Vec<(usize, Dim)>,
    /// What else there is where a call says how many parts there are.
    by_call: Option<ByCall>,
}

/// Of parts whose number a call says.
struct ByCall {
    /// One where there is one part, and otherwise zero.
    is_one: Dim,
    /// The most partial results of all calls with several parts: memory must not shrink where results are more.
    held: i64,
    /// How workgroups have the results whose parts they add up: of more parts there are fewer.
    spread: Spread,
}

/// The axes to be cut, and into how many parts each, where there are too few of the largest tiles to keep a GPU busy, and each
/// part is long enough.
fn cuts(kernel: &Kernel, sides: &Sides, k: &[usize]) -> Option<Cuts> {
    let results = extent(kernel, &[&sides.batch[..], &sides.rows, &sides.columns].concat());
    if results.as_const().is_none() {
        return cuts_by_call(kernel, sides, k, &results);
    }
    let tile = largest(kernel, sides);
    if groups(kernel, sides, tile) >= enough(tile) {
        return None;
    }
    let smaller = tile.map(|side| side.min(MEDIUM));
    let best = [tile, smaller]
        .into_iter()
        .filter_map(|tile| balanced(kernel, sides, tile, k))
        .reduce(|best, other| if WORTH * other.0 > 100 * best.0 { other } else { best });
    let cuts = best.map(|(_, cuts)| cuts).filter(|cuts| !cuts.is_empty())?;
    Some(Cuts { cuts: cuts.into_iter().map(|(axis, count)| (axis, count.into())).collect(), by_call: None })
}

/// The same where a call says how many results there are: the fewer, the more parts, which may be one. Only long sums are cut, and only
/// where there usually are not very many.
fn cuts_by_call(kernel: &Kernel, sides: &Sides, k: &[usize], results: &Dim) -> Option<Cuts> {
    let (terms, &axis) = (extent(kernel, k).as_const()?, k.first()?);
    let tile = largest(kernel, sides).map(|side| side.min(MEDIUM));
    let full = ENOUGH * GPU.processors;
    if terms < LONG || groups(kernel, sides, tile) >= full {
        return None;
    }
    let most = (terms / shortest(tile)).min(kernel.axes[axis].as_const()?).max(1);
    let held = full * i64::from(tile[0]) * i64::from(tile[1]);
    // There is more than one part where results and `least` are no more than `held`, and so parts times results are at most twice
    // the difference.
    let least = (held / most).max(1);
    let more = Dim::from(held).floor_div(&(results.clone() + Dim::from(least)));
    let is_one = (Dim::from(1) - more.clone()).larger(&Dim::default());
    let spread = if most <= ALONE { Spread::Alone } else { Spread::Beside };
    let by_call = ByCall { is_one, held: 2 * (held - least).max(1), spread };
    Some(Cuts { cuts: vec![(axis, Dim::from(1) + more)], by_call: Some(by_call) })
}

/// The fewest terms of a part: it writes a tile of sums, which are read back, and loads a row and a column of it for each term.
fn shortest(tile: [u32; 2]) -> i64 {
    let [rows, columns] = tile.map(i64::from);
    LOADED * 2 * rows * columns / (rows + columns)
}

/// The fewest parts of which the multiprocessors have nearly the same number, two each or more; if there is no such number, that
/// with which the fewest of them wait for others. With it goes the percentage that works.
fn balanced(kernel: &Kernel, sides: &Sides, tile: [u32; 2], k: &[usize]) -> Option<(i64, Vec<(usize, i64)>)> {
    let tiles = groups(kernel, sides, tile);
    let most = (typical(&extent(kernel, k)) / shortest(tile)).min(ENOUGH * GPU.processors / tiles + 1);
    let used = |parts: i64| {
        let of_each = (tiles * parts + GPU.processors - 1) / GPU.processors;
        100 * tiles * parts / (of_each.max(workgroups::of_each(tile)) * GPU.processors)
    };
    let mut best: Option<(i64, Vec<(usize, i64)>)> = None;
    for parts in 1..=most {
        if best.as_ref().is_some_and(|best| best.0 >= EVEN.min(used(parts))) {
            continue;
        }
        if let Some(cuts) = even_cuts(&kernel.axes, k, parts) {
            best = Some((used(parts), cuts));
        }
    }
    best
}

/// The most parts that an invocation adds up alone, for results beside each other.
const ALONE: i64 = 4 * ROW_BLOCK as i64;
/// The fewest terms of sums in parts whose number a call knows.
const LONG: i64 = 2048;
/// Workgroups of a multiprocessor beyond which it hardly matters whether one has one more.
const ENOUGH: i64 = 8;
/// What a smaller tile makes in the time of a larger one, in percent.
const WORTH: i64 = 75;
/// The percentage of multiprocessors that are as busy as the busiest where they have nearly the same number of workgroups.
const EVEN: i64 = 90;

/// An operand of a part: what lies beyond the end of a cut axis is outside of a window.
fn part_of(operand: &Operand, cuts: &[Cut]) -> Operand {
    let mut operand = operand.clone();
    for cut in cuts {
        let stride = operand.index.stride(cut.axis).unwrap_or_default();
        operand.windows.iter_mut().for_each(|window| window.index = cut.applied(&window.index));
        let index = cut.applied(&operand.index);
        operand.index = match cut.is_exact {
            true => index,
            false => index.plus(&cut.position.times(&-stride.clone())),
        };
        if !cut.is_exact {
            let Cut { position, extent, .. } = cut;
            operand.windows.push(Reach { index: position.clone(), divisor: 1, extent: extent.clone(), stride });
        }
    }
    operand
}
