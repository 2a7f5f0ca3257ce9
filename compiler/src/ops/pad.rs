//! `pad(x, low = 1, high = 1, axis = [2, 3], mode = "reflect")`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{Border, Prim, Scalar};
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&PAD)];

static PAD: Op = Op {
    name: "pad",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[
        AttrDecl::optional(
            "low",
            AttrKind::Ints,
            "0",
            "elements before the axes, one number for each or one for all; negative crops",
        ),
        AttrDecl::optional("high", AttrKind::Ints, "0", "elements after the axes; negative crops"),
        AttrDecl::optional("axis", AttrKind::Ints, "", "the padded axes; all where absent"),
        AttrDecl::optional("value", AttrKind::Float, "0", "what the new elements are in mode \"constant\""),
        AttrDecl::optional(
            "mode",
            AttrKind::Word(&["constant", "reflect", "replicate", "circular"]),
            "\"constant\"",
            "where new elements come from: `value`, the mirror image about the outermost element, that element, or the other end",
        ),
    ],
    doc: "Surrounds axes with a value, or with elements of `x` as PyTorch's modes of the same names do.",
    torch: Some("torch.nn.functional.pad"),
    onnx: Some("Pad"),
    body: |b, args, attrs| {
        let rank = b.rank(args[0]);
        let axes = b.axes(args[0], attrs, "axis")?.unwrap_or_else(|| (0..rank).collect());
        let (low, high) = (borders(attrs, "low", axes.len())?, borders(attrs, "high", axes.len())?);
        let mode = attrs.word("mode");
        if mode != "constant" {
            let mut y = args[0];
            for (k, &axis) in axes.iter().enumerate() {
                y = surround(b, y, axis, (&low[k], &high[k]), mode)?;
            }
            return Ok(vec![y]);
        }
        let none = Border { low: Dim::from(0), high: Dim::from(0), interior: 0 };
        let mut all = vec![none; rank];
        for (k, &axis) in axes.iter().enumerate() {
            all[axis] = Border { low: low[k].clone(), high: high[k].clone(), interior: 0 };
            let left = b.shape(args[0])[axis].clone() + low[k].clone() + high[k].clone();
            if left.as_const().is_some_and(|n| n < 0) {
                let message = format!("cropping {} and {} leaves nothing of axis {axis} of {{0}}", low[k], high[k]);
                return Err(OpError::new(Code::SliceOutOfRange, message).arg(0));
            }
        }
        let value = Scalar::of(b.dtype(args[0]), attrs.number("value"));
        Ok(vec![b.prim(Prim::Pad { borders: all, value }, args)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "pad(x, 1, 2)", result: "f32[8, 10]" },
        Example {
            inputs: &[("x", "f32[B, 5, 17]", Domain::Normal)],
            call: "pad(x, low = [2, -1], high = [0, 3], axis = [1, 2], value = 1.5)",
            result: "f32[B, 7, 19]",
        },
        Example {
            inputs: &[("x", "f32[B, 5, 7]", Domain::Normal)],
            call: "pad(x, low = [2, 1], high = [1, 3], axis = [1, 2], mode = \"reflect\")",
            result: "f32[B, 8, 11]",
        },
        Example {
            inputs: &[("x", "f32[3, 5, B]", Domain::Normal)],
            call: "pad(x, low = 2, high = 1, axis = [1, 2], mode = \"replicate\")",
            result: "f32[3, 8, B + 3]",
        },
        Example {
            inputs: &[("x", "f32[B, 5]", Domain::Normal)],
            call: "pad(x, low = 2, high = 4, axis = 1, mode = \"circular\")",
            result: "f32[B, 11]",
        },
    ],
};

/// An axis with elements of its own around it.
fn surround(
    b: &mut Builder<'_>,
    x: Value,
    axis: usize,
    (low, high): (&Dim, &Dim),
    mode: &str,
) -> Result<Value, OpError> {
    let extent = b.shape(x)[axis].clone();
    let own = if mode == "reflect" { 1 } else { 0 };
    for (name, size) in [("low", low), ("high", high)] {
        let Some(n) = size.as_const().filter(|&n| n >= 0) else {
            let message = format!("mode \"{mode}\" adds a number of elements known at build time, not {size}");
            return Err(OpError::new(Code::WrongAttribute, message).attr(name));
        };
        if let Some(most) = extent.as_const().map(|e| e - own).filter(|&most| mode != "replicate" && n > most) {
            let message =
                format!("axis {axis} of {{0}} has {extent} elements: mode \"{mode}\" adds at most {most}, not {n}");
            return Err(OpError::new(Code::WrongAttribute, message).attr(name).help(format!("write `{name} = {most}`")));
        }
    }
    let one = Dim::from(1);
    let (first, last) = (Dim::from(0), extent.clone() - one.clone());
    let parts = match mode {
        "reflect" => [(one, low), (last - high.clone(), high)],
        "circular" => [(extent.clone() - low.clone(), low), (first, high)],
        _ => [(first, low), (last, high)],
    };
    let mut whole = vec![];
    for (side, (start, size)) in parts.into_iter().enumerate() {
        if side == 1 {
            whole.push(x);
        }
        if size.is(0) {
            continue;
        }
        whole.push(match mode {
            "replicate" => {
                let end = b.slice(x, axis, start, Dim::from(1))?;
                let mut shape = b.shape(end);
                shape[axis] = size.clone();
                b.broadcast_to(end, &shape)?
            }
            "reflect" => {
                let part = b.slice(x, axis, start, size.clone())?;
                b.prim(Prim::Flip(vec![axis]), &[part])?
            }
            _ => b.slice(x, axis, start, size.clone())?,
        });
    }
    if whole.len() == 1 { Ok(x) } else { b.prim(Prim::Concat { axis }, &whole) }
}

fn borders(attrs: &Attrs, name: &'static str, count: usize) -> Result<Vec<Dim>, OpError> {
    let list = attrs.dims(name).unwrap_or_default();
    match list.as_slice() {
        [one] => Ok(vec![one.clone(); count]),
        all if all.len() == count => Ok(list),
        all => {
            let message = format!("`{name}` has {} numbers for {count} axes", all.len());
            Err(OpError::new(Code::WrongAttribute, message).attr(name))
        }
    }
}
