//! `gather(x, index, axis = 1)`: one element for each index.

use super::{AttrDecl, AttrKind, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Type};

pub(super) const ITEMS: &[Item] = &[Item::Op(&GATHER)];

static GATHER: Op = Op {
    name: "gather",
    signature: "(x: any[...], index: int[...]) -> any[...]",
    attrs: &[AttrDecl::required("axis", AttrKind::Int, "the indexed axis; negative counts from the end")],
    doc: "`result[i, j] = x[i, index[i, j]]` for axis 1, and so on, as PyTorch's: all other axes run along. An index \
          outside of the axis gives NaN, or 0 for integers, and gets no gradient. `take` picks whole slices.",
    onnx: Some("GatherElements"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        let (x, index) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
        let fits = |a: usize| a == axis || x.shape[a] == index.shape[a];
        if x.rank() != index.rank() || !(0..x.rank()).all(fits) {
            let message = format!("{{0}} is {x}, but {{1}} is {index}: only axis {axis} may differ");
            return Err(OpError::new("shape-mismatch", message).arg(1));
        }
        let position = b.convert(args[1], DType::U32)?;
        let extent = b.extent_u32(&x.shape[axis])?;
        let inside = b.map(MapOp::Lt, &[position, extent])?;
        let mut flat = b.u32(0)?;
        for (a, stride) in Type::strides(&x).iter().enumerate() {
            let at = if a == axis { position } else { b.iota(&index.shape, a)? };
            let stride = b.extent_u32(stride)?;
            let step = b.mul(at, stride)?;
            flat = b.add(flat, step)?;
        }
        // An index beyond its axis must not reach a neighbour's element.
        let outside = b.u32(u32::MAX)?;
        let flat = b.select(inside, flat, outside)?;
        let elements = b.reshape(args[0], &[x.count()])?;
        Ok(vec![b.prim(Prim::Gather { axis: 0 }, &[elements, flat])?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("i", "u32[5, 3]", Domain::Below(7))],
            call: "gather(x, i, axis = 1)",
            result: "f32[5, 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal), ("i", "i32[B, 2, 17]", Domain::Below(5))],
            call: "gather(x, i, axis = 1)",
            result: "f32[B, 2, 17]",
        },
    ],
};
