//! The scales of what is stored as integers, on the way to where they are multiplied with.
//!
//! In: scales, which have one index on each axis of what they scale that they do not vary with, and what is done to that. Out:
//! the scales of the result, or a factor for another tensor. Always: scales stay as few as they are, until they are a factor.

use crate::ir::pattern::Pattern;
use crate::ir::prim::{Cut, Prim};
use crate::ir::{Dim, Graph, Kind, Type, Value};
use proc_macro2::Span;

/// Scales of a tensor.
pub(super) struct Scaled<'g> {
    pub(super) graph: &'g mut Graph,
    pub(super) scales: Value,
    /// The extents of what they scale.
    pub(super) whole: &'g [Dim],
    pub(super) span: Span,
}

/// Whether the elements of the result are some of the first argument.
pub(super) fn moves(prim: &Prim) -> bool {
    let pads = matches!(prim, Prim::Pad { .. });
    matches!(prim, Prim::Gather { .. }) || matches!(prim.pattern(), Pattern::Movement) && !pads
}

/// For each axis of operand `k` of a product the axis of the other operand and that of the result on which it lies, if any.
pub(super) fn axes_of_product(prim: &Prim, k: usize) -> Option<[Vec<Option<usize>>; 2]> {
    if let Prim::Contract { lhs, rhs, out } = prim {
        let (own, other) = if k == 0 { (lhs, rhs) } else { (rhs, lhs) };
        let on = |labels: &[u8]| own.iter().map(|label| labels.iter().position(|l| l == label)).collect();
        return Some([on(other), on(out)]);
    }
    // Filters [G, O, I, …] of images [B, G, I, …] give [B, G, O, …].
    let Prim::Conv { windows } = prim else { return None };
    let of = |first: [Option<usize>; 3]| first.into_iter().chain(windows.iter().map(|_| None)).collect();
    (k == 1).then(|| [of([Some(1), None, Some(2)]), of([Some(1), Some(2), None])])
}

impl Scaled<'_> {
    fn shape(&self) -> Vec<Dim> {
        self.graph.ty(self.scales).shape.clone()
    }

    /// Whether they may vary with an axis.
    fn varies(&self, axis: usize) -> bool {
        !self.shape()[axis].is(1)
    }

    fn push(&mut self, prim: Prim, args: Vec<Value>, shape: Vec<Dim>) -> Value {
        let dtype = self.graph.ty(self.scales).dtype;
        self.graph.push(Kind::Prim(prim), args, Some(Type::new(dtype, shape)), self.span)
    }

    /// The scales of what a primitive that only moves makes of what they scale; none if those have no such form.
    pub(super) fn moved(mut self, prim: &Prim, index: Option<Value>) -> Option<Value> {
        let (own, scales) = (self.shape(), self.scales);
        match prim {
            Prim::Transpose(permutation) => {
                let shape = permutation.iter().map(|&axis| own[axis].clone()).collect();
                Some(self.push(prim.clone(), vec![scales], shape))
            }
            Prim::Slice(cuts) => {
                let whole = || Cut { start: 0.into(), len: 1.into(), step: 1 };
                let cuts: Vec<Cut> = cuts
                    .iter()
                    .enumerate()
                    .map(|(axis, cut)| if self.varies(axis) { cut.clone() } else { whole() })
                    .collect();
                let shape = cuts.iter().map(|cut| cut.len.clone()).collect();
                Some(self.push(Prim::Slice(cuts), vec![scales], shape))
            }
            Prim::Flip(axes) => {
                let axes = axes.iter().copied().filter(|&axis| self.varies(axis)).collect();
                Some(self.push(Prim::Flip(axes), vec![scales], own))
            }
            Prim::Broadcast { shape, axes } => {
                let mut kept: Vec<Dim> = shape.iter().map(|_| 1.into()).collect();
                axes.iter().zip(own).for_each(|(&axis, extent)| kept[axis] = extent);
                Some(self.push(Prim::Broadcast { shape: kept.clone(), axes: axes.clone() }, vec![scales], kept))
            }
            Prim::Reshape(shape) => {
                let kept = reshaped(self.whole, &own, shape)?;
                Some(self.push(Prim::Reshape(kept.clone()), vec![scales], kept))
            }
            Prim::Gather { axis } => {
                // An index outside gives NaN by its scale, which therefore has to vary with it.
                let index = index.filter(|_| self.varies(*axis))?;
                let positions = self.graph.ty(index).shape.clone();
                let mut shape = own;
                shape.splice(*axis..=*axis, positions);
                Some(self.push(prim.clone(), vec![scales, index], shape))
            }
            Prim::Const(_)
            | Prim::Extent(_)
            | Prim::Iota { .. }
            | Prim::Map(_)
            | Prim::Convert(_)
            | Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::WindowReduce { .. }
            | Prim::WindowArgMax { .. }
            | Prim::WindowTake { .. }
            | Prim::WindowPut { .. }
            | Prim::SetSlice(_)
            | Prim::Barrier
            | Prim::Pad { .. }
            | Prim::Concat { .. }
            | Prim::Contract { .. }
            | Prim::Conv { .. }
            | Prim::ScatterAdd { .. }
            | Prim::Attend(_) => None,
        }
    }

    /// The scales as a factor of a tensor of these extents, where `axes` says for each axis of theirs on which axis of it
    /// it lies; none if they vary with another.
    pub(super) fn spread(&mut self, axes: &[Option<usize>], shape: &[Dim]) -> Option<Value> {
        let varying: Vec<usize> = (0..axes.len()).filter(|&axis| self.varies(axis)).collect();
        let mut places = varying.iter().map(|&axis| axes[axis]).collect::<Option<Vec<usize>>>()?;
        let own = self.shape();
        let extents: Vec<Dim> = varying.iter().map(|&axis| own[axis].clone()).collect();
        let mut factor = self.push(Prim::Reshape(extents.clone()), vec![self.scales], extents.clone());
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by_key(|&k| places[k]);
        if !order.is_sorted() {
            let extents = order.iter().map(|&k| extents[k].clone()).collect();
            factor = self.push(Prim::Transpose(order), vec![factor], extents);
            places.sort_unstable();
        }
        Some(self.push(Prim::Broadcast { shape: shape.to_vec(), axes: places }, vec![factor], shape.to_vec()))
    }
}

/// The extents of scales after what they scale was reshaped: runs of axes that have as many elements before and after
/// correspond, and scales vary with all of a run or with none. None if they vary with a part of one.
fn reshaped(before: &[Dim], scales: &[Dim], after: &[Dim]) -> Option<Vec<Dim>> {
    let constant = |shape: &[Dim]| shape.iter().map(Dim::as_const).collect::<Option<Vec<i64>>>();
    let (before, scales, after) = (constant(before)?, constant(scales)?, constant(after)?);
    let (mut kept, mut old, mut new) = (vec![], 0, 0);
    while old < before.len() || new < after.len() {
        let (first_old, first_new) = (old, new);
        let (mut left, mut right) = (1, 1);
        loop {
            if left <= right && old < before.len() {
                left *= before[old];
                old += 1;
            } else if new < after.len() {
                right *= after[new];
                new += 1;
            } else {
                return None;
            }
            let ends = old == before.len() && new == after.len();
            if left == right && (new > first_new || ends) {
                break;
            }
        }
        let run = first_old..old;
        if run.clone().all(|axis| scales[axis] == 1) {
            kept.extend((first_new..new).map(|_| Dim::from(1)));
        } else if run.clone().all(|axis| scales[axis] == before[axis]) {
            kept.extend((first_new..new).map(|axis| Dim::from(after[axis])));
        } else {
            return None;
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests {
    use super::reshaped;
    use crate::ir::Dim;

    fn of(shape: &[i64]) -> Vec<Dim> {
        shape.iter().map(|&n| n.into()).collect()
    }

    #[test]
    fn scales_follow_whole_runs_of_axes() {
        let follow = |before: &[i64], scales: &[i64], after: &[i64]| reshaped(&of(before), &of(scales), &of(after));
        assert_eq!(follow(&[6, 4], &[6, 1], &[2, 3, 4]), Some(of(&[2, 3, 1])));
        assert_eq!(follow(&[6, 2, 2], &[6, 1, 1], &[1, 6, 4]), Some(of(&[1, 6, 1])));
        assert_eq!(follow(&[6, 4], &[6, 1], &[24]), None);
        assert_eq!(follow(&[6, 4], &[1, 1], &[24]), Some(of(&[1])));
        assert_eq!(follow(&[6, 4], &[6, 1], &[6, 4, 1]), Some(of(&[6, 1, 1])));
        assert_eq!(follow(&[1, 5], &[1, 1], &[5]), Some(of(&[1])));
        assert_eq!(follow(&[5, 1], &[5, 1], &[5]), Some(of(&[5])));
        assert_eq!(follow(&[1], &[1], &[]), Some(vec![]));
        assert_eq!(follow(&[4, 3, 2], &[4, 1, 1], &[4, 6]), Some(of(&[4, 1])));
        assert_eq!(follow(&[4, 3, 2], &[4, 1, 1], &[12, 2]), None);
    }
}
