//! `pad(x, low = 1, high = 1, axis = [2, 3])`.

use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;
use crate::ir::prim::{Border, Prim, Scalar};

pub(super) const ITEMS: &[Item] = &[Item::Op(&PAD)];

static PAD: Op = Op {
    name: "pad",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[
        AttrDecl::optional("low", AttrKind::Ints, "0", "elements before the axes, one number for each or one for all; negative crops"),
        AttrDecl::optional("high", AttrKind::Ints, "0", "elements after the axes; negative crops"),
        AttrDecl::optional("axis", AttrKind::Ints, "", "the padded axes; all where absent"),
        AttrDecl::optional("value", AttrKind::Float, "0", "what the new elements are"),
    ],
    doc: "Surrounds axes with a value.",
    onnx: Some("Pad"),
    body: |b, args, attrs| {
        let rank = b.rank(args[0]);
        let axes = b.axes(args[0], attrs, "axis")?.unwrap_or_else(|| (0..rank).collect());
        let (low, high) = (borders(attrs, "low", axes.len())?, borders(attrs, "high", axes.len())?);
        let none = Border { low: Dim::from(0), high: Dim::from(0), interior: 0 };
        let mut all = vec![none; rank];
        for (k, &axis) in axes.iter().enumerate() {
            all[axis] = Border { low: low[k].clone(), high: high[k].clone(), interior: 0 };
            let left = b.shape(args[0])[axis].clone() + low[k].clone() + high[k].clone();
            if left.as_const().is_some_and(|n| n < 0) {
                let message = format!("cropping {} and {} leaves nothing of axis {axis} of {{0}}", low[k], high[k]);
                return Err(OpError::new("slice-out-of-range", message).arg(0));
            }
        }
        let value = Scalar::of(b.dtype(args[0]), attrs.float("value").unwrap_or(0.0));
        Ok(vec![b.prim(Prim::Pad { borders: all, value }, args)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "pad(x, 1, 2)", result: "f32[8, 10]" },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal)],
            call: "pad(x, low = [2, -1], high = [0, 3], axis = [1, 2], value = 1.5)",
            result: "f32[B, 7, 19]",
        },
    ],
};

fn borders(attrs: &Attrs, name: &'static str, count: usize) -> Result<Vec<Dim>, OpError> {
    let list = attrs.dims(name).unwrap_or_default();
    match list.as_slice() {
        [one] => Ok(vec![one.clone(); count]),
        all if all.len() == count => Ok(list),
        all => {
            let message = format!("`{name}` has {} numbers for {count} axes", all.len());
            Err(OpError::new("wrong-attribute", message).attr(name))
        }
    }
}
