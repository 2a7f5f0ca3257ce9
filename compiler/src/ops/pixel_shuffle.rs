//! `pixel_shuffle(x, 2)` and `pixel_unshuffle(x, 2)`: channels to places and back.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SHUFFLE), Item::Op(&UNSHUFFLE)];

static SHUFFLE: Op = Op {
    name: "pixel_shuffle",
    signature: "(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]",
    attrs: &[AttrDecl::required("upscale_factor", AttrKind::Int, "how many times higher and wider the result is")],
    doc: "`y[c, h · r + i, w · r + j] = x[(c · r + i) · r + j, h, w]` for `r = upscale_factor` (Shi et al. 2016).",
    torch: Some("torch.nn.functional.pixel_shuffle"),
    onnx: Some("DepthToSpace"),
    body: |b, args, attrs| {
        let r = Dim::from(attrs.positive("upscale_factor")?);
        let shape = b.shape(args[0]);
        let lead = shape.len() - 3;
        let (c, h, w) = (&shape[lead], &shape[lead + 1], &shape[lead + 2]);
        let Some(channels) = c.exact_div(&(r.clone() * r.clone())) else {
            let message = format!("{r} · {r} places do not divide the {c} channels of {{0}}");
            return Err(OpError::new(Code::NonDivisible, message).arg(0));
        };
        let split = [channels.clone(), r.clone(), r.clone(), h.clone(), w.clone()];
        let split = b.reshape(args[0], &[&shape[..lead], &split].concat())?;
        let order: Vec<usize> = (0..lead).chain([0, 3, 1, 4, 2].map(|a| lead + a)).collect();
        let moved = b.transpose(split, &order)?;
        let joined = [channels, h.clone() * r.clone(), w.clone() * r];
        Ok(vec![b.reshape(moved, &[&shape[..lead], &joined].concat())?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 12, 3, 5]", Domain::Normal)],
            call: "pixel_shuffle(x, 2)",
            result: "f32[2, 3, 6, 10]",
        },
        Example {
            inputs: &[("x", "f32[B, 9, 5, 7]", Domain::Normal)],
            call: "pixel_shuffle(x, 3)",
            result: "f32[B, 1, 15, 21]",
        },
    ],
};

static UNSHUFFLE: Op = Op {
    name: "pixel_unshuffle",
    signature: "(x: any[.., Channels, Height, Width]) -> any[.., _, _, _]",
    attrs: &[AttrDecl::required("downscale_factor", AttrKind::Int, "how many times lower and narrower the result is")],
    doc: "The inverse of `pixel_shuffle`: `y[(c · r + i) · r + j, h, w] = x[c, h · r + i, w · r + j]` for `r = downscale_factor`.",
    torch: Some("torch.nn.functional.pixel_unshuffle"),
    onnx: None,
    body: |b, args, attrs| {
        let r = Dim::from(attrs.positive("downscale_factor")?);
        let shape = b.shape(args[0]);
        let lead = shape.len() - 3;
        let mut cut = vec![];
        for axis in [lead + 1, lead + 2] {
            cut.push(shape[axis].exact_div(&r).ok_or_else(|| {
                let message = format!("{r} does not divide axis {axis} of {{0}}, which is {}", shape[axis]);
                OpError::new(Code::NonDivisible, message).arg(0)
            })?);
        }
        let (c, h, w) = (shape[lead].clone(), cut[0].clone(), cut[1].clone());
        let split = [c.clone(), h.clone(), r.clone(), w.clone(), r.clone()];
        let split = b.reshape(args[0], &[&shape[..lead], &split].concat())?;
        let order: Vec<usize> = (0..lead).chain([0, 2, 4, 1, 3].map(|a| lead + a)).collect();
        let moved = b.transpose(split, &order)?;
        Ok(vec![b.reshape(moved, &[&shape[..lead], &[c * r.clone() * r, h, w]].concat())?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[2, 3, 6, 10]", Domain::Normal)],
            call: "pixel_unshuffle(x, 2)",
            result: "f32[2, 12, 3, 5]",
        },
        Example {
            inputs: &[("x", "f32[B, 1, 9, 15]", Domain::Normal)],
            call: "pixel_unshuffle(x, 3)",
            result: "f32[B, 9, 3, 5]",
        },
    ],
};
