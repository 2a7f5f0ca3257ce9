//! `slice(x, axis = 1, start = 2, end = 5)`, which `x[.., 2..5]` means.

use crate::diag::Code;
use super::{Attr, AttrDecl, AttrKind, Attrs, Domain, Example, Item, Op, OpError};
use crate::ir::Dim;
use crate::ir::prim::{Cut, Prim};

pub(super) const ITEMS: &[Item] = &[Item::Op(&SLICE)];

static SLICE: Op = Op {
    name: "slice",
    signature: "(x: any[...]) -> any[...]",
    attrs: &[
        AttrDecl::optional("start", AttrKind::Ints, "0", "the first element; negative counts from the end"),
        AttrDecl::optional("end", AttrKind::Ints, "", "one past the last element; negative counts from the end; to the end where absent"),
        AttrDecl::optional("axis", AttrKind::Ints, "0", "the cut axes; `start`, `end` and `step` then have one number for each, or one for all"),
        AttrDecl::optional("step", AttrKind::Ints, "1", "from one element to the next"),
    ],
    doc: "The elements from `start` up to `end`, which is left out, of one or several axes; `x[2..5, ..]` means it.",
    torch: Some("torch.narrow"),
    onnx: Some("Slice"),
    body: |b, args, attrs| {
        let axes = b.axes(args[0], attrs, "axis")?.unwrap_or_default();
        let shape = b.shape(args[0]);
        let mut cuts: Vec<Cut> =
            shape.iter().map(|d| Cut { start: Dim::from(0), len: d.clone(), step: 1 }).collect();
        for (k, &axis) in axes.iter().enumerate() {
            let at = |name: &'static str| nth(attrs, name, k, axes.len());
            let (start, end, step) = (at("start")?, at("end")?, at("step")?);
            cuts[axis] = cut(&shape[axis], axis, start.unwrap_or_default(), end, step)?;
        }
        Ok(vec![b.prim(Prim::Slice(cuts), args)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[5, 7]", Domain::Normal)], call: "slice(x, 1, 6, axis = 1)", result: "f32[5, 5]" },
        Example {
            inputs: &[("x", "f32[B, 9, 17]", Domain::Normal)],
            call: "slice(x, start = [1, 3], end = [9, -1], axis = [1, 2], step = [3, 1])",
            result: "f32[B, 3, 13]",
        },
    ],
};

/// The attribute's number for the k-th of `count` axes.
fn nth(attrs: &Attrs, name: &'static str, k: usize, count: usize) -> Result<Option<Dim>, OpError> {
    let list = match attrs.get(name) {
        Attr::Absent => return Ok(None),
        _ => attrs.dims(name).unwrap_or_default(),
    };
    match list.as_slice() {
        [one] => Ok(Some(one.clone())),
        all if all.len() == count => Ok(Some(all[k].clone())),
        all => {
            let message = format!("`{name}` has {} numbers for {count} axes", all.len());
            Err(OpError::new(Code::WrongAttribute, message).attr(name))
        }
    }
}

fn cut(extent: &Dim, axis: usize, start: Dim, end: Option<Dim>, step: Option<Dim>) -> Result<Cut, OpError> {
    let from_start = |d: Dim| if d.as_const().is_some_and(|n| n < 0) { d + extent.clone() } else { d };
    let (start, end) = (from_start(start), end.map_or(extent.clone(), from_start));
    let step = match step.map(|step| (step.as_const(), step)) {
        None => 1,
        Some((Some(n), _)) if n > 0 => n,
        Some((_, step)) => {
            return Err(OpError::new(Code::WrongAttribute, format!("`step` must be positive, not {step}")).attr("step"));
        }
    };
    // A difference that is negative for every binding; one that depends on the binding is checked at run time.
    let negative = |d: Dim| d.as_const().is_some_and(|n| n < 0);
    let len = end.clone() - start.clone();
    if negative(start.clone()) || negative(len.clone()) || negative(extent.clone() - end.clone()) {
        let message = format!("{start}..{end} is outside of axis {axis} of {{0}}, which is {extent}");
        return Err(OpError::new(Code::SliceOutOfRange, message).arg(0));
    }
    Ok(Cut { start, len: len.ceil_div(step), step })
}
