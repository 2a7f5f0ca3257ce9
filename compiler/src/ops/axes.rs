//! Which axes an op works on: attributes `axis` and `axes` in, checked positions out.

use super::{AttrDecl, AttrKind, Attrs, Builder, OpError};
use crate::diag::Code;
use crate::ir::{Dim, Value};

/// The attributes of everything that reduces: none of the first two means all axes.
pub(super) const REDUCED: [AttrDecl; 3] = [
    AttrDecl::optional(
        "axis",
        AttrKind::Ints,
        "",
        "the reduced axis; negative counts from the end; all where none is given",
    ),
    AttrDecl::optional("axes", AttrKind::Ints, "", "several reduced axes"),
    AttrDecl::optional("keepdims", AttrKind::Bool, "false", "whether reduced axes stay with extent 1"),
];

/// An axis of `x` by its number, negative ones from the end.
fn position(b: &Builder<'_>, x: Value, axis: i64, name: &'static str) -> Result<usize, OpError> {
    let rank = b.rank(x) as i64;
    let from_start = if axis < 0 { axis + rank } else { axis };
    if (0..rank).contains(&from_start) {
        return Ok(from_start as usize);
    }
    let error = match rank {
        0 => OpError::new(Code::AxisOutOfRange, "{0} is a scalar and has no axes"),
        _ => OpError::new(Code::AxisOutOfRange, format!("axis {axis} is out of range for {{0}}, which is {}", b.ty(x)))
            .help(format!("use an axis from {} to {}", -rank, rank - 1)),
    };
    Err(error.attr(name))
}

impl Builder<'_> {
    /// The axis that an attribute names for `x`; negative counts from the end.
    pub fn axis(&self, x: Value, attrs: &Attrs, name: &'static str) -> Result<usize, OpError> {
        position(self, x, attrs.known(name), name)
    }

    /// The axes that an attribute names for `x`, in its order; `None` where it is absent.
    pub fn axes(&self, x: Value, attrs: &Attrs, name: &'static str) -> Result<Option<Vec<usize>>, OpError> {
        let Some(dims) = attrs.dims(name) else { return Ok(None) };
        let mut axes = vec![];
        for dim in &dims {
            let axis = dim.as_const().ok_or_else(|| {
                OpError::new(Code::WrongAttribute, format!("`{name}` must be known at build time, not {dim}"))
                    .attr(name)
            })?;
            let axis = position(self, x, axis, name)?;
            if axes.contains(&axis) {
                return Err(OpError::new(Code::WrongAttribute, format!("`{name}` names axis {axis} twice")).attr(name));
            }
            axes.push(axis);
        }
        Ok(Some(axes))
    }

    /// The axes of a reduction, ascending, by the attributes [`REDUCED`].
    pub(super) fn reduced(&self, x: Value, attrs: &Attrs) -> Result<Vec<usize>, OpError> {
        let mut axes = match (self.axes(x, attrs, "axis")?, self.axes(x, attrs, "axes")?) {
            (Some(_), Some(_)) => {
                let message = "`axis` and `axes` are two names for the same";
                return Err(OpError::new(Code::DuplicateAttribute, message).attr("axes"));
            }
            (Some(axes), None) | (None, Some(axes)) => axes,
            (None, None) => (0..self.rank(x)).collect(),
        };
        axes.sort_unstable();
        Ok(axes)
    }

    /// A reduced value, given with its reduced axes as extents of 1, in the form that `keepdims` asks for.
    pub(super) fn finish(&mut self, kept: Value, axes: &[usize], attrs: &Attrs) -> Result<Vec<Value>, OpError> {
        if attrs.flag("keepdims") {
            return Ok(vec![kept]);
        }
        let shape = self.shape(kept);
        let left: Vec<Dim> = (0..shape.len()).filter(|a| !axes.contains(a)).map(|a| shape[a].clone()).collect();
        Ok(vec![self.reshape(kept, &left)?])
    }
}

/// A shape as the user writes it: `[B, 5]`.
pub(super) fn show(shape: &[Dim]) -> String {
    format!("[{}]", shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "))
}
