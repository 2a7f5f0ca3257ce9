//! Order along an axis: `argsort(x)`, `sort(x)` and `top_k(x, k = 5)`.
//!
//! An element's place is the number of elements that stand before it, counted by comparing it with all of them: work
//! that grows with the square of the extent, but none of it waits for another, so that axes of some thousand elements
//! sort quickly on every device.

use crate::diag::Code;
use super::finite::is_nan;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&ARGSORT), Item::Op(&SORT), Item::Op(&TOP_K)];

const AXIS: AttrDecl =
    AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis that is ordered; negative counts from the end");
const DESCENDING: AttrDecl =
    AttrDecl::optional("descending", AttrKind::Bool, "false", "whether the largest element comes first");

static ARGSORT: Op = Op {
    name: "argsort",
    signature: "(x: number[..]) -> u32[..]",
    attrs: &[AXIS, DESCENDING],
    doc: "The positions of the elements in ascending order; equal ones keep their order, and NaN counts as larger than \
          all numbers.",
    torch: Some("torch.argsort"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let extent = b.shape(args[0])[axis].clone();
        let x = b.barrier(args[0])?;
        let place = places(b, x, axis, attrs.flag("descending"))?;
        Ok(vec![positions(b, place, axis, &extent)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "argsort(x)", result: "u32[5, 7]" },
        Example {
            inputs: &[("x", "i32[B, 17, 3]", Domain::Below(5))],
            call: "argsort(x, axis = 1, descending = true)",
            result: "u32[B, 17, 3]",
        },
    ],
};

static SORT: Op = Op {
    name: "sort",
    signature: "(x: number[..]) -> number[..]",
    attrs: &[AXIS, DESCENDING],
    doc: "The elements in ascending order; NaN counts as larger than all numbers. `argsort` gives their positions.",
    torch: Some("torch.sort"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let extent = b.shape(args[0])[axis].clone();
        let x = b.barrier(args[0])?;
        let place = places(b, x, axis, attrs.flag("descending"))?;
        Ok(vec![ordered(b, x, place, axis, &extent)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal)],
            call: "sort(x, descending = true)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[3, B, 17]", Domain::Normal)],
            call: "sort(x, axis = 1)",
            result: "f32[3, B, 17]",
        },
    ],
};

static TOP_K: Op = Op {
    name: "top_k",
    signature: "(x: number[..]) -> (number[...], u32[...])",
    attrs: &[
        AttrDecl::required("k", AttrKind::Dim, "how many"),
        AXIS,
        AttrDecl::optional("largest", AttrKind::Bool, "true", "whether the largest are wanted, or the smallest"),
    ],
    doc: "The `k` largest elements of an axis in descending order, and their positions; of equal ones the first come \
          first.",
    torch: Some("torch.topk"),
    onnx: Some("TopK"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let (k, extent) = (attrs.extent("k"), b.shape(args[0])[axis].clone());
        let beyond = (extent.clone() - k.clone()).as_const().is_some_and(|left| left < 0);
        if beyond || k.as_const().is_some_and(|k| k < 1) {
            let message = format!("`k` is {k}, but axis {axis} of {{0}} has {extent} elements");
            return Err(OpError::new(Code::WrongAttribute, message).attr("k"));
        }
        let x = b.barrier(args[0])?;
        let place = places(b, x, axis, attrs.flag("largest"))?;
        Ok(vec![ordered(b, x, place, axis, &k)?, positions(b, place, axis, &k)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal)],
            call: "top_k(x, 3)",
            result: "(f32[5, 3], u32[5, 3])",
        },
        Example {
            inputs: &[("x", "f32[B, 17, 3]", Domain::Normal)],
            call: "top_k(x, 2, axis = 1, largest = false)",
            result: "(f32[B, 2, 3], u32[B, 2, 3])",
        },
    ],
};

/// The positions of the first `count` elements along an axis in their order.
fn positions(b: &mut Builder<'_>, place: Value, axis: usize, count: &Dim) -> Result<Value, OpError> {
    let position = b.iota(&b.shape(place), axis)?;
    ordered(b, position, place, axis, count)
}

/// The first `count` elements along an axis, from the place of each. A masked sum: the derivative flows back to where
/// an element came from, and no device needs to write to places that it computes.
fn ordered(b: &mut Builder<'_>, x: Value, place: Value, axis: usize, count: &Dim) -> Result<Value, OpError> {
    let (own, from) = (b.shape(x), b.rank(x));
    // `to` runs over the places, and the elements along a new last axis.
    let mut all = own.clone();
    all[axis] = count.clone();
    all.push(own[axis].clone());
    let mut turned: Vec<usize> = (0..from).filter(|&a| a != axis).collect();
    let axes: Vec<usize> = turned.iter().copied().chain([from]).collect();
    turned.push(axis);
    let mut spread = |x| {
        let rows = b.transpose(x, &turned)?;
        b.prim(Prim::Broadcast { shape: all.clone(), axes: axes.clone() }, &[rows])
    };
    let (x, place) = (spread(x)?, spread(place)?);
    let to = b.iota(&all, axis)?;
    let (here, zero) = (b.map(MapOp::Eq, &[place, to])?, b.constant(x, 0.0)?);
    let masked = b.select(here, x, zero)?;
    b.sum(masked, &[from])
}

/// The place of each element: how many others stand before it. The elements are behind a barrier: one that were rounded
/// differently as `own` and as `other` could be smaller than itself, and places be no permutation.
fn places(b: &mut Builder<'_>, x: Value, axis: usize, descending: bool) -> Result<Value, OpError> {
    let mut square = b.shape(x);
    let n = square[axis].clone();
    square.push(n.clone());
    let rank = square.len() - 1;
    // `own` runs along the axis, `other` along the new last one.
    let own = b.prim(Prim::Broadcast { shape: square.clone(), axes: (0..rank).collect() }, &[x])?;
    let mut turned: Vec<usize> = (0..rank).filter(|&a| a != axis).collect();
    let axes: Vec<usize> = turned.iter().copied().chain([rank]).collect();
    turned.push(axis);
    let rows = b.transpose(x, &turned)?;
    let other = b.prim(Prim::Broadcast { shape: square.clone(), axes }, &[rows])?;
    let (small, large) = if descending { (own, other) } else { (other, own) };
    let less = is_less(b, small, large)?;
    let more = is_less(b, large, small)?;
    let (at, of) = (b.iota(&square, axis)?, b.iota(&square, rank)?);
    let earlier = b.map(MapOp::Lt, &[of, at])?;
    let no_more = b.unary(MapOp::Not, more)?;
    // Of equal elements the earlier one stands before.
    let equal = b.map(MapOp::And, &[no_more, earlier])?;
    let before = b.map(MapOp::Or, &[less, equal])?;
    let ones = b.convert(before, DType::U32)?;
    b.sum(ones, &[rank])
}

/// Whether `x < y`, where NaN is larger than all numbers.
fn is_less(b: &mut Builder<'_>, x: Value, y: Value) -> Result<Value, OpError> {
    let less = b.map(MapOp::Lt, &[x, y])?;
    if !b.dtype(x).is_float() {
        return Ok(less);
    }
    let (first, second) = (is_nan(b, x)?, is_nan(b, y)?);
    let number = b.unary(MapOp::Not, first)?;
    let both = b.map(MapOp::And, &[number, second])?;
    // A comparison with NaN must not decide where it is not false by itself.
    let plain = b.unary(MapOp::Not, second)?;
    let plain = b.map(MapOp::And, &[number, plain])?;
    let plain = b.map(MapOp::And, &[less, plain])?;
    b.map(MapOp::Or, &[plain, both])
}
