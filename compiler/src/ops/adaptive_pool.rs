//! `adaptive_avg_pool2d(x, output_size = 7)` and its kin: pools to a given extent, whatever the argument's is.
//!
//! Cell `i` of `n` covers the elements from `⌊i · extent / n⌋` up to `⌈(i + 1) · extent / n⌉`, as in PyTorch. Cells
//! are of one size where `n` divides the extent; elsewhere their sizes differ by one and they may overlap.

use crate::diag::Code;
use super::global_pool::first_largest;
use super::sliding::positive;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::dim::product;
use crate::ir::prim::{MapOp, Prim, ReduceOp, Window};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&AVG1D), Item::Op(&AVG2D), Item::Op(&MAX1D), Item::Op(&MAX2D)];

const OUTPUT_SIZE: AttrDecl = AttrDecl::required(
    "output_size",
    AttrKind::Ints,
    "the extents of the result, one number for each spatial axis or one for all",
);

static AVG1D: Op = Op {
    name: "adaptive_avg_pool1d",
    signature: "(x: float[.., Length]) -> float[.., _]",
    attrs: &[OUTPUT_SIZE],
    doc: "The means of `output_size` cells that cover the last axis: cell `i` of `n` has the elements from `⌊i · extent / n⌋` \
          up to `⌈(i + 1) · extent / n⌉`.",
    torch: Some("torch.nn.functional.adaptive_avg_pool1d"),
    onnx: None,
    body: |b, args, attrs| means(b, args[0], attrs, 1),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 9]", Domain::Normal)],
            call: "adaptive_avg_pool1d(x, 3)",
            result: "f32[2, 3, 3]",
        },
        Example {
            inputs: &[("x", "f32[3, 5, B]", Domain::Normal)],
            call: "adaptive_avg_pool1d(x, 2)",
            result: "f32[3, 5, 2]",
        },
    ],
};

static AVG2D: Op = Op {
    name: "adaptive_avg_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[.., _, _]",
    attrs: &[OUTPUT_SIZE],
    doc: "The means of `output_size` cells that cover the last two axes, each as `adaptive_avg_pool1d` has them.",
    torch: Some("torch.nn.functional.adaptive_avg_pool2d"),
    onnx: None,
    body: |b, args, attrs| means(b, args[0], attrs, 2),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 8, 6]", Domain::Normal)],
            call: "adaptive_avg_pool2d(x, [4, 2])",
            result: "f32[2, 3, 4, 2]",
        },
        Example {
            inputs: &[("x", "f32[B, 7, 5]", Domain::Normal)],
            call: "adaptive_avg_pool2d(x, 3)",
            result: "f32[B, 3, 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 7, 5]", Domain::Normal)],
            call: "adaptive_avg_pool2d(x, 1)",
            result: "f32[B, 3, 1, 1]",
        },
    ],
};

static MAX1D: Op = Op {
    name: "adaptive_max_pool1d",
    signature: "(x: float[.., Length]) -> float[.., _]",
    attrs: &[OUTPUT_SIZE],
    doc: "The largest elements of `output_size` cells that cover the last axis, each as `adaptive_avg_pool1d` has them. The \
          gradient goes to the first largest.",
    torch: Some("torch.nn.functional.adaptive_max_pool1d"),
    onnx: None,
    body: |b, args, attrs| largest(b, args[0], attrs, 1),
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 7]", Domain::Normal)],
            call: "adaptive_max_pool1d(x, 3)",
            result: "f32[2, 3, 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 9]", Domain::Normal)],
            call: "adaptive_max_pool1d(x, 3)",
            result: "f32[B, 3]",
        },
    ],
};

static MAX2D: Op = Op {
    name: "adaptive_max_pool2d",
    signature: "(x: float[.., Height, Width]) -> float[.., _, _]",
    attrs: &[OUTPUT_SIZE],
    doc: "The largest elements of `output_size` cells that cover the last two axes, each as `adaptive_avg_pool1d` has them. \
          The gradient goes to the first largest.",
    torch: Some("torch.nn.functional.adaptive_max_pool2d"),
    onnx: None,
    body: |b, args, attrs| largest(b, args[0], attrs, 2),
    examples: &[
        Example {
            inputs: &[("x", "f32[B, 3, 7, 5]", Domain::Normal)],
            call: "adaptive_max_pool2d(x, [3, 5])",
            result: "f32[B, 3, 3, 5]",
        },
        Example {
            inputs: &[("x", "f32[2, 3, 6, 5]", Domain::Normal)],
            call: "adaptive_max_pool2d(x, 1)",
            result: "f32[2, 3, 1, 1]",
        },
    ],
};

fn means(b: &mut Builder<'_>, x: Value, attrs: &Attrs, rank: usize) -> Result<Vec<Value>, OpError> {
    let cells = positive(attrs, "output_size", rank)?;
    let (shape, first) = (b.shape(x), b.rank(x) - rank);
    if cells.iter().all(|&n| n == 1) {
        let axes: Vec<usize> = (first..shape.len()).collect();
        let sum = b.reduce_keep(ReduceOp::Sum, x, &axes)?;
        let count = b.extent(x, &product(&shape[first..]))?;
        return Ok(vec![b.div(sum, count)?]);
    }
    if let Some(windows) = even(&shape[first..], &cells) {
        let count: f64 = windows.iter().map(|w| w.stride as f64).product();
        let sum = b.prim(Prim::WindowReduce { op: ReduceOp::Sum, windows }, &[x])?;
        return Ok(vec![b.with(MapOp::Mul, sum, 1.0 / count)?]);
    }
    // A product of means over each axis, as the sizes of cells are.
    let mut y = x;
    for (k, &n) in cells.iter().enumerate().filter(|&(k, &n)| !shape[first + k].is(n)) {
        let weights = weights(b, x, &shape[first + k], n)?;
        let from: String = ('a'..'n').take(shape.len()).collect();
        let axis = &from[first + k..=first + k];
        y = b.contract(&format!("{from},o{axis}->{}", from.replace(axis, "o")), y, weights)?;
    }
    Ok(vec![y])
}

/// The weight of each element in each cell: `[cells, extent]`, of the type of `like`.
fn weights(b: &mut Builder<'_>, like: Value, extent: &Dim, cells: i64) -> Result<Value, OpError> {
    let shape = [Dim::from(cells), extent.clone()];
    let (cell, element) = (b.iota(&shape, 0)?, b.iota(&shape, 1)?);
    let (start, end) = bounds(b, cell, extent, cells)?;
    let (from, to) = (b.map(MapOp::Le, &[start, element])?, b.map(MapOp::Lt, &[element, end])?);
    let inside = b.map(MapOp::And, &[from, to])?;
    let count = b.sub(end, start)?;
    let count = b.convert(count, b.dtype(like))?;
    let (one, zero) = (b.constant(like, 1.0)?, b.constant(like, 0.0)?);
    let share = b.div(one, count)?;
    b.select(inside, share, zero)
}

/// The first element of each cell, and the one after its last.
fn bounds(b: &mut Builder<'_>, cell: Value, extent: &Dim, cells: i64) -> Result<(Value, Value), OpError> {
    let extent = b.extent_u32(extent)?;
    let scaled = b.mul(cell, extent)?;
    let start = b.with(MapOp::Div, scaled, cells as f64)?;
    let next = b.add(scaled, extent)?;
    let rounded = b.with(MapOp::Add, next, (cells - 1) as f64)?;
    Ok((start, b.with(MapOp::Div, rounded, cells as f64)?))
}

fn largest(b: &mut Builder<'_>, x: Value, attrs: &Attrs, rank: usize) -> Result<Vec<Value>, OpError> {
    let cells = positive(attrs, "output_size", rank)?;
    let (shape, first) = (b.shape(x), b.rank(x) - rank);
    if cells.iter().all(|&n| n == 1) {
        return Ok(vec![first_largest(b, x, first)?]);
    }
    if let Some(windows) = even(&shape[first..], &cells) {
        return Ok(vec![b.prim(Prim::WindowReduce { op: ReduceOp::Max, windows }, &[x])?]);
    }
    // Cells side by side, short ones filled up with their last element, which changes neither the largest nor the first.
    let (mut y, mut windows) = (x, vec![]);
    for (k, &n) in cells.iter().enumerate() {
        let Some(extent) = shape[first + k].as_const() else {
            let message = format!(
                "`{{callee}}` needs extents known at build time, but axis {} of {{0}} is {}",
                first + k,
                shape[first + k]
            );
            return Err(OpError::new(Code::NotSupported, message).arg(0));
        };
        let longest = (0..n).map(|i| ((i + 1) * extent + n - 1) / n - i * extent / n).max().unwrap_or(1);
        let place = b.iota(&[Dim::from(n * longest)], 0)?;
        let (cell, within) = (b.with(MapOp::Div, place, longest as f64)?, b.with(MapOp::Rem, place, longest as f64)?);
        let (start, end) = bounds(b, cell, &shape[first + k], n)?;
        let (at, last) = (b.add(start, within)?, b.with(MapOp::Sub, end, 1.0)?);
        let index = b.map(MapOp::Min, &[at, last])?;
        y = b.prim(Prim::Gather { axis: first + k }, &[y, index])?;
        windows.push(tile(longest));
    }
    Ok(vec![b.prim(Prim::WindowReduce { op: ReduceOp::Max, windows }, &[y])?])
}

/// The windows where all cells of each axis are of one size and no two overlap.
fn even(extents: &[Dim], cells: &[i64]) -> Option<Vec<Window>> {
    let window = |(extent, &n): (&Dim, &i64)| {
        let extent = extent.as_const().filter(|extent| extent % n == 0)?;
        Some(tile(extent / n))
    };
    extents.iter().zip(cells).map(window).collect()
}

fn tile(size: i64) -> Window {
    Window { size: size.into(), stride: size, dilation: 1, low: Dim::from(0), high: Dim::from(0), base: 1 }
}
