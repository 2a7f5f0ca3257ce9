//! `squeeze(x, axis = …)` and `unsqueeze(x, axis)`: axes of extent 1.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&SQUEEZE), Item::Op(&UNSQUEEZE)];

static SQUEEZE: Op = Op {
    name: "squeeze",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Ints, "", "the axes to drop; where absent, every axis whose extent is 1")],
    doc: "Drops axes of extent 1.",
    torch: Some("torch.squeeze"),
    onnx: Some("Squeeze"),
    body: |b, args, attrs| {
        let shape = b.shape(args[0]);
        let axes = match b.axes(args[0], attrs, "axis")? {
            Some(axes) => axes,
            None => (0..shape.len()).filter(|&a| shape[a].is(1)).collect(),
        };
        if let Some(&a) = axes.iter().find(|&&a| !shape[a].is(1)) {
            let message = format!("axis {a} of {{0}} is {}: only an extent of 1 can be dropped", shape[a]);
            return Err(OpError::new(Code::ShapeMismatch, message).attr("axis"));
        }
        let kept: Vec<Dim> = (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a].clone()).collect();
        Ok(vec![b.reshape(args[0], &kept)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 1, 7, 1]", Domain::Normal)], call: "squeeze(x)", result: "f32[5, 7]" },
        Example { inputs: &[("x", "f32[B, 1, 17]", Domain::Normal)], call: "squeeze(x, axis = 1)", result: "f32[B, 17]" },
    ],
};

static UNSQUEEZE: Op = Op {
    name: "unsqueeze",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::required("axis", AttrKind::Int, "where the new axis stands in the result; negative counts from the end")],
    doc: "Inserts an axis of extent 1.",
    torch: Some("torch.unsqueeze"),
    onnx: Some("Unsqueeze"),
    body: |b, args, attrs| {
        let mut shape = b.shape(args[0]);
        let at = insertion(shape.len(), attrs.known("axis"))?;
        shape.insert(at, Dim::from(1));
        Ok(vec![b.reshape(args[0], &shape)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "unsqueeze(x, 1)", result: "f32[5, 1, 7]" },
        Example { inputs: &[("x", "f32[B, 17]", Domain::Normal)], call: "unsqueeze(x, -1)", result: "f32[B, 17, 1]" },
    ],
};

/// Where a new axis goes: a position in the result of rank `rank + 1`.
pub(super) fn insertion(rank: usize, axis: i64) -> Result<usize, OpError> {
    let places = rank as i64 + 1;
    let at = if axis < 0 { axis + places } else { axis };
    if (0..places).contains(&at) {
        return Ok(at as usize);
    }
    Err(OpError::new(Code::AxisOutOfRange, format!("a new axis cannot stand at {axis}: {{0}} has rank {rank}"))
        .attr("axis")
        .help(format!("use an axis from {} to {}", -places, places - 1)))
}
