//! `gather(x, index, axis = 1)`: one element for each index.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Dim, Type, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&GATHER)];

static GATHER: Op = Op {
    name: "gather",
    signature: "(x: any[...], index: int[...]) -> any[...]",
    attrs: &[AttrDecl::required("axis", AttrKind::Int, "the indexed axis; negative counts from the end")],
    doc: "`result[i, j] = x[i, index[i, j]]` for axis 1, and so on, as PyTorch's: all other axes run along. An index \
          outside of the axis gives NaN, or 0 for integers, and gets no gradient. `take` picks whole slices.",
    torch: Some("torch.gather"),
    onnx: Some("GatherElements"),
    body: |b, args, attrs| {
        let axis = b.axis(args[0], attrs, "axis")?;
        Ok(vec![along(b, args[0], args[1], axis)?])
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

/// `x[index]` along an axis, while the other axes run along.
pub(super) fn along(b: &mut Builder<'_>, x: Value, index: Value, axis: usize) -> Result<Value, OpError> {
    let flat = flat_positions(b, x, index, axis)?;
    let elements = b.reshape(x, &[b.ty(x).count()])?;
    b.prim(Prim::Gather { axis: 0 }, &[elements, flat])
}

/// Where `x[index]` stands among all elements of `x`; far outside where the index is outside of its axis.
///
/// # Errors
/// `shape-mismatch` where the shapes differ in another axis.
pub(super) fn flat_positions(b: &mut Builder<'_>, x: Value, index: Value, axis: usize) -> Result<Value, OpError> {
    let (of, at) = (b.ty(x).clone(), b.ty(index).clone());
    let fits = |a: usize| a == axis || of.shape[a] == at.shape[a];
    if of.rank() != at.rank() || !(0..of.rank()).all(fits) {
        let message = format!("{{0}} is {of}, but {{1}} is {at}: only axis {axis} may differ");
        let error = OpError::new(Code::ShapeMismatch, message).arg(1);
        // One index for each row, as for `take_along_axis` of a column.
        let mut rows = of.shape.clone();
        rows.remove(axis);
        return Err(match rows == at.shape && axis + 1 == of.rank() {
            true => error.help(format!("write `{{callee}}({{0}}, unsqueeze({{1}}, {axis}), axis = {axis})[.., 0]`")),
            false => error,
        });
    }
    let position = b.index(index)?;
    among_all(b, &of, &at.shape, position, axis)
}

/// Where a position along an axis stands among all elements of a tensor of type `of`, while the other axes of a shape run along; far
/// outside where it is outside of its axis.
///
/// # Errors
/// None for positions of that shape.
pub(crate) fn among_all(
    b: &mut Builder<'_>,
    of: &Type,
    shape: &[Dim],
    position: Value,
    axis: usize,
) -> Result<Value, OpError> {
    let extent = b.extent_u32(&of.shape[axis])?;
    let inside = b.map(MapOp::Lt, &[position, extent])?;
    let mut flat = b.u32(0)?;
    for (a, stride) in of.strides().iter().enumerate() {
        let along = if a == axis { position } else { b.iota(shape, a)? };
        let stride = b.extent_u32(stride)?;
        let step = b.mul(along, stride)?;
        flat = b.add(flat, step)?;
    }
    // An index beyond its axis must not reach a neighbour's element.
    let outside = b.u32(u32::MAX)?;
    b.select(inside, flat, outside)
}
