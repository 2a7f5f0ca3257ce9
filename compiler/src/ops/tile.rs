//! Repetition and rotation along axes: `tile(x, [2, 1])`, `repeat_interleave(x, 2, axis = 1)` and `roll(x, 1, axis = 0)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;
use crate::ir::prim::Prim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&TILE), Item::Op(&REPEAT_INTERLEAVE), Item::Op(&ROLL)];

static TILE: Op = Op {
    name: "tile",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::required("counts", AttrKind::Shape, "how often each axis repeats; new axes stand in front")],
    doc: "`x` laid side by side, as PyTorch's `repeat` and NumPy's `tile`.",
    torch: Some("torch.tile"),
    onnx: Some("Tile"),
    body: |b, args, attrs| {
        let (mut shape, mut counts) = (b.shape(args[0]), attrs.extents("counts"));
        let rank = shape.len().max(counts.len());
        shape.splice(..0, std::iter::repeat_n(Dim::from(1), rank - shape.len()));
        counts.splice(..0, std::iter::repeat_n(Dim::from(1), rank - counts.len()));
        if let Some(n) = counts.iter().find(|n| n.as_const().is_some_and(|n| n < 1)) {
            return Err(OpError::new(Code::WrongAttribute, format!("`counts` must be positive, not {n}")).attr("counts"));
        }
        // Each axis becomes two, of which the first repeats.
        let pairs: Vec<Dim> = counts.iter().zip(&shape).flat_map(|(n, d)| [n.clone(), d.clone()]).collect();
        let whole: Vec<Dim> = counts.iter().zip(&shape).map(|(n, d)| n.clone() * d.clone()).collect();
        let x = b.reshape(args[0], &shape)?;
        let axes = (0..rank).map(|a| 2 * a + 1).collect();
        let repeated = b.prim(Prim::Broadcast { shape: pairs, axes }, &[x])?;
        Ok(vec![b.reshape(repeated, &whole)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "tile(x, [2, 3])", result: "f32[10, 21]" },
        Example {
            inputs: &[("x", "f32[B, 7]", Domain::Normal)],
            call: "tile(x, [3, 2, 1])",
            result: "f32[3, 2 * B, 7]",
        },
    ],
};

static REPEAT_INTERLEAVE: Op = Op {
    name: "repeat_interleave",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[
        AttrDecl::required("count", AttrKind::Dim, "how often each element stands"),
        AttrDecl::required("axis", AttrKind::Int, "the axis that grows; negative counts from the end"),
    ],
    doc: "Each element of an axis several times in a row.",
    torch: Some("torch.repeat_interleave"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let count = attrs.extent("count");
        if count.as_const().is_some_and(|n| n < 1) {
            return Err(OpError::new(Code::WrongAttribute, format!("`count` must be positive, not {count}")).attr("count"));
        }
        let (mut spread, mut whole) = (b.shape(args[0]), b.shape(args[0]));
        whole[axis] = whole[axis].clone() * count.clone();
        spread.insert(axis + 1, count);
        let axes = (0..spread.len()).filter(|&a| a != axis + 1).collect();
        let repeated = b.prim(Prim::Broadcast { shape: spread, axes }, args)?;
        Ok(vec![b.reshape(repeated, &whole)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal)],
            call: "repeat_interleave(x, 3, axis = 1)",
            result: "f32[5, 21]",
        },
        Example {
            inputs: &[("x", "f32[B, 7]", Domain::Normal)],
            call: "repeat_interleave(x, 2, axis = 0)",
            result: "f32[2 * B, 7]",
        },
    ],
};

static ROLL: Op = Op {
    name: "roll",
    signature: "(x: any[..]) -> any[..]",
    attrs: &[
        AttrDecl::required("shift", AttrKind::Dim, "how far elements move; negative towards the front"),
        AttrDecl::required("axis", AttrKind::Int, "the axis along which they move; negative counts from the end"),
    ],
    doc: "Moves elements along an axis; those that leave at one end come back at the other.",
    torch: Some("torch.roll"),
    onnx: None,
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let (extent, shift) = (b.shape(args[0])[axis].clone(), attrs.extent("shift"));
        // By how many the last elements come to the front: the shift modulo the extent.
        let shift = match (extent.as_const(), shift.as_const()) {
            (Some(extent), Some(shift)) if extent > 0 => Dim::from(shift.rem_euclid(extent)),
            // ⌈n / extent⌉ · extent − n for n places to the front: nothing negative is divided.
            (_, Some(shift)) if shift < 0 => {
                let (forward, one) = (Dim::from(-shift), Dim::from(1));
                let turns = (forward.clone() + extent.clone() - one).floor_div(&extent);
                turns * extent.clone() - forward
            }
            _ => shift.clone() - shift.floor_div(&extent) * extent.clone(),
        };
        if shift.is(0) {
            return Ok(vec![args[0]]);
        }
        let rest = extent - shift.clone();
        let (back, front) = (b.slice(args[0], axis, rest.clone(), shift)?, b.slice(args[0], axis, Dim::from(0), rest)?);
        Ok(vec![b.prim(Prim::Concat { axis }, &[back, front])?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "roll(x, -9, axis = 1)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 7]", Domain::Normal)], call: "roll(x, 1, axis = 0)", result: "f32[B, 7]" },
    ],
};
