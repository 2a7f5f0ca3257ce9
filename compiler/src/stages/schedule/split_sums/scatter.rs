//! Scatters in two stages.
//!
//! In: a scatter of floats. Out: one of which each part has some of the sources, and a row kernel that adds up what the parts give;
//! nothing where there are enough results to keep a GPU busy, each of which asks every source whether it belongs there, or few
//! sources. Always: sources that are beyond the last one belong to no result, and are not read.

use super::super::machine::GPU;
use super::super::workgroups::{extent, typical};
use super::cut::{apply, cut, masked};
use super::row::FEWEST;
use super::{Partial, Spread, Stages};
use crate::ir::DType;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, Kernel, Pass, Skeleton, Store};
use crate::ir::prim::{ReduceOp, Scalar};

/// The fewest sources of a part.
const SOURCES: i64 = 64;

/// The two stages of a scatter, where it is worth them.
pub(super) fn stages(kernel: &Kernel) -> Option<Stages> {
    let Skeleton::Scatter { outer, target, source, inner, index, store } = &kernel.skeleton else { return None };
    let results = [&outer[..], &[*target], inner].concat();
    let (count, sources) = (extent(kernel, &results).as_const()?, typical(&extent(kernel, source)));
    let wanted = (GPU.held / count.max(1)).min(sources / SOURCES);
    let dtype = kernel.dtypes()[store.value];
    if wanted < FEWEST || dtype != DType::F32 {
        return None;
    }
    let mut parts = kernel.clone();
    let cuts = cut(&mut parts, source, wanted, None);
    let of_parts: Vec<usize> = cuts.iter().map(|cut| cut.part).collect();
    let partial = Partial::of(dtype, &parts, &[&of_parts[..], &results].concat());
    let slot = parts.slots.len();
    parts.slots.push(partial.slot());
    let mut whole = Kernel { slots: parts.slots.clone(), axes: parts.axes.clone(), ..kernel.clone() };
    parts.slots[slot].read = false;
    apply(&mut parts, &cuts);
    // Beyond the last source there is the position of no result.
    let nowhere = Scalar::Int(DType::U32, u32::MAX.into());
    let index = masked(&mut parts, &cuts, vec![(*index, nowhere)]).remove(0);
    parts.name += "_parts";
    parts.skeleton = Skeleton::Scatter {
        outer: [&of_parts[..], outer].concat(),
        target: *target,
        source: source.clone(),
        inner: inner.clone(),
        index,
        store: Store { slot, index: partial.index.clone(), value: store.value },
    };
    whole.scalars = vec![partial.load(slot), Expr::Accumulated { pass: 0, slot: 0, dtype }];
    whole.name += "_sums";
    let sum = Accumulator { op: AccumulatorOp::Reduce(ReduceOp::Sum), value: 0 };
    whole.skeleton = Skeleton::Row {
        parallel: results,
        reduced: of_parts,
        passes: vec![Pass { accumulators: vec![sum], stores: vec![] }],
        stores: vec![Store { value: 1, ..store.clone() }],
    };
    Some(Stages { alone: None, parts, whole, partial: vec![partial], spread: [Spread::Usual; 2] })
}
