//! `concat(a, b, …, axis = 1)` and `stack(a, b, …, axis = 0)`.

use crate::diag::Code;
use super::squeeze::insertion;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::Prim;
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&CONCAT), Item::Op(&STACK)];

static CONCAT: Op = Op {
    name: "concat",
    signature: "(x: any[...]*) -> any[...]",
    attrs: &[AttrDecl::required("axis", AttrKind::Int, "the axis that grows; negative counts from the end")],
    doc: "Joins tensors along an axis; the other axes are equal.",
    torch: Some("torch.cat"),
    onnx: Some("Concat"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        must_agree(b, args, Some(axis))?;
        Ok(vec![b.prim(Prim::Concat { axis }, args)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 3]", Domain::Normal), ("z", "f32[5, 1]", Domain::Normal)],
            call: "concat(x, y, z, axis = 1)",
            result: "f32[5, 11]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal), ("y", "f32[B, 2, 17]", Domain::Normal)],
            call: "concat(x, y, axis = -2)",
            result: "f32[B, 7, 17]",
        },
        Example {
            inputs: &[("x", "bf16[B, 7]", Domain::Normal), ("y", "bf16[B, 4]", Domain::Normal)],
            call: "concat(x, y, axis = 1)",
            result: "bf16[B, 11]",
        },
    ],
};

static STACK: Op = Op {
    name: "stack",
    signature: "(x: any[...]*) -> any[...]",
    attrs: &[AttrDecl::optional("axis", AttrKind::Int, "0", "where the new axis stands in the result; negative counts from the end")],
    doc: "Joins tensors of one shape along a new axis.",
    torch: Some("torch.stack"),
    onnx: None,
    body: |b, args, attrs| {
        must_agree(b, args, None)?;
        let mut shape = b.shape(args[0]);
        let axis = insertion(shape.len(), attrs.known("axis"))?;
        shape.insert(axis, Dim::from(1));
        let parts = args.iter().map(|&x| b.reshape(x, &shape)).collect::<Result<Vec<_>, _>>()?;
        Ok(vec![b.prim(Prim::Concat { axis }, &parts)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Normal)],
            call: "stack(x, y)",
            result: "f32[2, 5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "stack(x, y, axis = -1)",
            result: "f32[B, 17, 2]",
        },
    ],
};

/// That all arguments have the shape of the first, but for one axis.
fn must_agree(b: &Builder<'_>, args: &[Value], except: Option<usize>) -> Result<(), OpError> {
    let first = b.ty(args[0]);
    for (i, &arg) in args.iter().enumerate().skip(1) {
        let other = b.ty(arg);
        let equal = |a: usize| except == Some(a) || first.shape[a] == other.shape[a];
        if other.rank() != first.rank() || !(0..first.rank()).all(equal) {
            let allowed = except.map_or("all axes must be equal".to_owned(), |a| format!("only axis {a} may differ"));
            let message = format!("{{0}} is {first}, but {{{i}}} is {other}: {allowed}");
            return Err(OpError::new(Code::ShapeMismatch, message).arg(i));
        }
    }
    Ok(())
}
