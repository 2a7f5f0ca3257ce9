//! How losses are reduced: values per element and the attribute `reduction` in, the loss out.

use super::{AttrDecl, AttrKind, Attrs, Builder, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;

/// The attribute of all losses.
pub(super) const REDUCTION: AttrDecl = AttrDecl::optional(
    "reduction",
    AttrKind::Word(&["mean", "sum", "none"]),
    "\"mean\"",
    "\"mean\" or \"sum\" over all elements, or \"none\"",
);

/// The loss from the loss of each element.
pub(super) fn reduce(b: &mut Builder<'_>, each: Value, attrs: &Attrs) -> Result<Vec<Value>, OpError> {
    let all: Vec<usize> = (0..b.rank(each)).collect();
    Ok(vec![match attrs.text("reduction") {
        Some("none") => each,
        Some("sum") => b.sum(each, &all)?,
        _ => b.mean(each, &all)?,
    }])
}

/// Of the error of each element the square of what is within `bound`, and the rest: a loss of both that grows linearly beyond
/// has a slope at an infinite error, too, because nothing infinite meets a slope of 0.
pub(super) fn square_and_rest(
    b: &mut Builder<'_>,
    input: Value,
    target: Value,
    bound: f64,
) -> Result<(Value, Value), OpError> {
    let error = b.sub(input, target)?;
    let size = b.unary(MapOp::Abs, error)?;
    let bound = b.constant(size, bound)?;
    let near = b.map(MapOp::Min, &[size, bound])?;
    Ok((b.mul(near, near)?, b.sub(size, near)?))
}
