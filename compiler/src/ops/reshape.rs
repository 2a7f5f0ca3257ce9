//! `reshape(x, [B, -1])`.

use crate::diag::Code;
use super::axes::show;
use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::dim::product;
use crate::ir::{Dim, Type};

pub(super) const ITEMS: &[Item] = &[Item::Op(&RESHAPE)];

static RESHAPE: Op = Op {
    name: "reshape",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[AttrDecl::required("shape", AttrKind::Shape, "the extents of the result; one may be -1, which is what is left")],
    doc: "The same elements in row-major order under another shape.",
    torch: Some("torch.reshape"),
    onnx: Some("Reshape"),
    body: |b, args, attrs| {
        let shape = resolve(b.ty(args[0]), attrs.extents("shape"))?;
        Ok(vec![b.reshape(args[0], &shape)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "reshape(x, [7, 5])", result: "f32[7, 5]" },
        Example { inputs: &[("x", "f32[B, 6, 3]", Domain::Normal)], call: "reshape(x, [B, 2, -1])", result: "f32[B, 2, 9]" },
    ],
};

/// The shape with its -1 replaced.
fn resolve(from: &Type, shape: Vec<Dim>) -> Result<Vec<Dim>, OpError> {
    let count = from.count();
    let open: Vec<usize> = (0..shape.len()).filter(|&i| shape[i].is(-1)).collect();
    let mismatch = |to: &Dim| {
        let shown = show(&shape);
        OpError::new(
            Code::ReshapeCount,
            format!("`reshape` keeps the number of elements: {{0}} has {count}, {shown} has {to}"),
        )
        .attr("shape")
    };
    if open.len() > 1 {
        return Err(OpError::new(Code::WrongAttribute, format!("{} leaves two extents open", show(&shape))).attr("shape"));
    }
    if let Some(bad) = shape.iter().find(|d| !d.is(-1) && d.as_const().is_some_and(|n| n < 0)) {
        return Err(OpError::new(Code::WrongAttribute, format!("an extent cannot be {bad}")).attr("shape"));
    }
    // What the last, or the open, extent must be for the count to be right.
    let last = open.first().copied().or(shape.len().checked_sub(1));
    let fitting = last.and_then(|at| {
        let others = product(shape.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, d)| d));
        let mut fitting = shape.clone();
        fitting[at] = count.exact_div(&others).filter(|_| !others.is(0))?;
        Some(fitting)
    });
    match (open.is_empty(), fitting) {
        (true, _) if product(&shape) == count => Ok(shape),
        (true, Some(fitting)) => Err(mismatch(&product(&shape)).help(format!("write `{}`", show(&fitting)))),
        (true, None) => Err(mismatch(&product(&shape))),
        (false, Some(fitting)) => Ok(fitting),
        (false, None) => {
            let others = product(shape.iter().filter(|d| !d.is(-1)));
            let message = format!("`reshape` keeps the number of elements: {{0}} has {count}, which {others} does not divide");
            Err(OpError::new(Code::ReshapeCount, message).attr("shape"))
        }
    }
}
