//! Contractions in parts of their terms (split-K).
//!
//! In: a contraction. Out: one whose batch has the parts as further axes and which stores plain sums, and a row kernel that adds
//! these up and has the epilogue; nothing where its tiles keep a GPU busy, or a part would store more than it saves. Always:
//! beyond the last term both operands are zero, and neither is read.

use super::super::machine::GPU;
use super::super::workgroups::{extent, groups, largest, typical};
use super::cut::{Cut, cut};
use super::{Partial, Stages};
use crate::ir::DType;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, Kernel, Operand, Pass, Reach, Skeleton, Store};
use crate::ir::prim::ReduceOp;
use crate::ir::workgroup::{INVOCATIONS, Sides};

/// How many times the elements that a part writes, and that are read back, it loads at least.
const LOADED: i64 = 4;

/// The two stages of a contraction, where it is worth them.
pub(super) fn stages(kernel: &Kernel) -> Option<Stages> {
    let Skeleton::Contract { batch, m, n, k, lhs, rhs, stores } = &kernel.skeleton else { return None };
    let sides = Sides::of(kernel)?;
    let wanted = wanted(kernel, &sides, k)?;
    let dtype = kernel.product_dtype(lhs, rhs);
    if dtype != DType::F32 {
        return None;
    }
    let mut parts = kernel.clone();
    let cuts = cut(&mut parts, k, wanted);
    let of_parts: Vec<usize> = cuts.iter().map(|cut| cut.part).collect();
    let results = [sides.batch, sides.rows, sides.columns].concat();
    let partial = Partial::of(dtype, &parts, &[&of_parts[..], &results].concat());
    let slot = parts.slots.len();
    parts.slots.push(partial.slot());
    let mut whole = Kernel { slots: parts.slots.clone(), axes: parts.axes.clone(), ..kernel.clone() };
    whole.prepend(vec![partial.load(slot)]);
    parts.name += "_parts";
    parts.scalars = vec![Expr::Accumulated { pass: 0, slot: 0, dtype }];
    parts.skeleton = Skeleton::Contract {
        batch: [&of_parts[..], batch].concat(),
        m: m.clone(),
        n: n.clone(),
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
    Some(Stages { parts, whole, partial: vec![partial], alone: [false, false] })
}

/// How many parts keep a GPU busy, where there are too few of the largest tiles, and each is long enough. Of as many results as a
/// call has, nobody knows how much memory their parts would take.
fn wanted(kernel: &Kernel, sides: &Sides<'_>, k: &[usize]) -> Option<i64> {
    extent(kernel, &[sides.batch, sides.rows, sides.columns].concat()).as_const()?;
    let tile = largest(kernel, sides);
    let invocations = groups(kernel, sides, tile).saturating_mul(INVOCATIONS.into());
    let [rows, columns] = tile.map(i64::from);
    // A part writes a tile of sums, which are read back, and loads a row and a column of it for each term.
    let shortest = LOADED * 2 * rows * columns / (rows + columns);
    let wanted = (GPU.busy + invocations - 1) / invocations;
    let wanted = wanted.min(typical(&extent(kernel, k)) / shortest);
    (wanted >= 2).then_some(wanted)
}

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
