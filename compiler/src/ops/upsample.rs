//! `upsample(x, scale_factor = 2, mode = "bilinear")`.

use crate::diag::Code;
use super::sliding::positive;
use super::{Attr, AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&UPSAMPLE)];

static UPSAMPLE: Op = Op {
    name: "upsample",
    signature: "(x: float[Batch, Channels, ..]) -> float[...]",
    attrs: &[
        AttrDecl::optional(
            "scale_factor",
            AttrKind::Ints,
            "",
            "how many times larger each axis after the second becomes",
        ),
        AttrDecl::optional(
            "mode",
            AttrKind::Word(&["nearest", "linear", "bilinear"]),
            "\"nearest\"",
            "the nearest element before, or means of two neighbours along one axis (linear) or two (bilinear)",
        ),
        AttrDecl::optional(
            "align_corners",
            AttrKind::Bool,
            "false",
            "whether the first and last elements, and not the borders, of both sides lie on each other",
        ),
        AttrDecl::optional("size", AttrKind::Ints, "", "the extents of the result, instead of a factor"),
    ],
    doc: "Resizes the axes after the second, with the coordinates of PyTorch's `interpolate`: element `i` of `n` lies at \
          `⌊i · extent / n⌋` (nearest), `(i + ½) · extent / n − ½` (linear), or `i · (extent − 1) / (n − 1)` where corners \
          are aligned.",
    torch: Some("torch.nn.functional.interpolate"),
    onnx: Some("Resize"),
    body: |b, args, attrs| {
        let rank = b.rank(args[0]) - 2;
        let mode = attrs.word("mode");
        if let Some((_, takes)) =
            [("linear", 1), ("bilinear", 2)].into_iter().find(|&(m, takes)| m == mode && takes != rank)
        {
            let message =
                format!("mode \"{mode}\" resizes {takes} axes after the second, but {{0}} is {}", b.ty(args[0]));
            return Err(OpError::new(Code::WrongRank, message).attr("mode"));
        }
        if mode == "nearest" && attrs.flag("align_corners") {
            let message = "`align_corners` says nothing about mode \"nearest\"";
            return Err(OpError::new(Code::WrongAttribute, message)
                .attr("align_corners")
                .help("write `mode = \"bilinear\"`"));
        }
        let mut y = args[0];
        for (k, change) in changes(attrs, rank)?.into_iter().enumerate() {
            y = match mode {
                "nearest" => nearest(b, y, 2 + k, change)?,
                _ => linear(b, y, 2 + k, change, attrs.flag("align_corners"))?,
            };
        }
        Ok(vec![y])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 3, 5]", Domain::Normal)],
            call: "upsample(x, 2)",
            result: "f32[2, 3, 6, 10]",
        },
        Example {
            inputs: &[("x", "f32[B, 2, 5]", Domain::Normal)],
            call: "upsample(x, size = 7)",
            result: "f32[B, 2, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 2, 3, 5]", Domain::Normal)],
            call: "upsample(x, scale_factor = [2, 3], mode = \"bilinear\")",
            result: "f32[B, 2, 6, 15]",
        },
        Example {
            inputs: &[("x", "f32[2, 3, 4, 3]", Domain::Normal)],
            call: "upsample(x, size = [7, 5], mode = \"bilinear\", align_corners = true)",
            result: "f32[2, 3, 7, 5]",
        },
        Example {
            inputs: &[("x", "f32[2, 3, B]", Domain::Normal)],
            call: "upsample(x, 2, \"linear\")",
            result: "f32[2, 3, 2 * B]",
        },
    ],
};

/// How an axis changes.
#[derive(Clone, Copy)]
enum Change {
    Times(i64),
    To(i64),
}

fn changes(attrs: &Attrs, rank: usize) -> Result<Vec<Change>, OpError> {
    let list = |name, make: fn(i64) -> Change| Ok(positive(attrs, name, rank)?.into_iter().map(make).collect());
    match (attrs.get("scale_factor"), attrs.get("size")) {
        (Attr::Absent, Attr::Absent) => {
            let message = "`{callee}` needs `scale_factor` or `size`";
            Err(OpError::new(Code::MissingAttribute, message).help("add `scale_factor = 2`"))
        }
        (_, Attr::Absent) => list("scale_factor", Change::Times),
        (Attr::Absent, _) => list("size", Change::To),
        (_, _) => {
            let message = "`scale_factor` and `size` both say how large the result is";
            Err(OpError::new(Code::DuplicateAttribute, message).attr("size"))
        }
    }
}

fn nearest(b: &mut Builder<'_>, x: Value, axis: usize, change: Change) -> Result<Value, OpError> {
    let mut shape = b.shape(x);
    match change {
        Change::Times(factor) => {
            // Each element stands `factor` times in a row.
            let (mut split, mut joined) = (shape.clone(), shape.clone());
            split.insert(axis + 1, Dim::from(factor));
            joined[axis] = shape[axis].clone() * Dim::from(factor);
            let axes = (0..split.len()).filter(|&a| a != axis + 1).collect();
            let repeated = b.prim(Prim::Broadcast { shape: split, axes }, &[x])?;
            b.reshape(repeated, &joined)
        }
        Change::To(size) => {
            let extent = b.extent_u32(&std::mem::take(&mut shape[axis]))?;
            let place = b.iota(&[Dim::from(size)], 0)?;
            let scaled = b.mul(place, extent)?;
            let index = b.with(MapOp::Div, scaled, size as f64)?;
            b.prim(Prim::Gather { axis }, &[x, index])
        }
    }
}

fn linear(b: &mut Builder<'_>, x: Value, axis: usize, change: Change, corners: bool) -> Result<Value, OpError> {
    let extent = b.shape(x)[axis].clone();
    let size = match change {
        Change::Times(factor) => extent.clone() * Dim::from(factor),
        Change::To(size) => Dim::from(size),
    };
    let at = coordinates(b, x, &extent, &size, change, corners)?;
    let (floor, last) = (b.unary(MapOp::Floor, at)?, b.extent_u32(&(extent - Dim::from(1)))?);
    let (before, weight) = (b.convert(floor, DType::U32)?, b.sub(at, floor)?);
    let before = b.map(MapOp::Min, &[before, last])?;
    let next = b.with(MapOp::Add, before, 1.0)?;
    let after = b.map(MapOp::Min, &[next, last])?;
    let one = b.constant(x, 1.0)?;
    let rest = b.sub(one, weight)?;
    let mut sum = None;
    for (index, weight) in [(before, rest), (after, weight)] {
        let elements = b.prim(Prim::Gather { axis }, &[x, index])?;
        let shape = b.shape(elements);
        let weight = b.prim(Prim::Broadcast { shape, axes: vec![axis] }, &[weight])?;
        let weighted = b.mul(elements, weight)?;
        sum = Some(match sum {
            Some(sum) => b.add(sum, weighted)?,
            None => weighted,
        });
    }
    Ok(sum.unwrap_or(x))
}

/// Where each element of the result lies between those of the argument, at least 0.
fn coordinates(
    b: &mut Builder<'_>,
    x: Value,
    extent: &Dim,
    size: &Dim,
    change: Change,
    corners: bool,
) -> Result<Value, OpError> {
    let place = b.iota(std::slice::from_ref(size), 0)?;
    let place = b.convert(place, b.dtype(x))?;
    if corners {
        if size.is(1) {
            return b.with(MapOp::Mul, place, 0.0);
        }
        let (from, to) = (b.extent(x, &(extent.clone() - Dim::from(1)))?, b.extent(x, &(size.clone() - Dim::from(1)))?);
        let scaled = b.mul(place, from)?;
        return b.div(scaled, to);
    }
    let middle = b.with(MapOp::Add, place, 0.5)?;
    let scaled = match change {
        Change::Times(factor) => b.with(MapOp::Div, middle, factor as f64)?,
        Change::To(size) => {
            let extent = b.extent(x, extent)?;
            let scaled = b.mul(middle, extent)?;
            b.with(MapOp::Div, scaled, size as f64)?
        }
    };
    let shifted = b.with(MapOp::Sub, scaled, 0.5)?;
    b.with(MapOp::Max, shifted, 0.0)
}
