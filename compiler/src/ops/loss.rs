//! How losses are reduced: values per element and the attribute `reduction` in, the loss out.

use super::{AttrDecl, AttrKind, Attrs, Builder, OpError};
use crate::ir::Value;

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
