//! Evenly spaced numbers: `arange(2, 10, step = 2)` and `linspace(0, 1, count = 5)`.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Attrs, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;
use crate::ir::Dim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&ARANGE), Item::Op(&LINSPACE)];

static ARANGE: Op = Op {
    name: "arange",
    signature: "() -> float[_]",
    attrs: &[
        AttrDecl::optional("start", AttrKind::Dim, "", "the first number; where it is the only one, the end instead"),
        AttrDecl::optional("end", AttrKind::Dim, "", "the numbers stay before it"),
        AttrDecl::optional("step", AttrKind::Int, "1", "from one number to the next; positive"),
    ],
    doc: "`start`, `start + step` … before `end`, as floats, and `arange(end)` from 0, as PyTorch's; `iota(n)` counts in \
          integers.",
    torch: Some("torch.arange"),
    onnx: Some("Range"),
    body: |b, _, attrs| {
        let (start, end) = bounds(attrs)?;
        let step = attrs.positive("step")?;
        let count = (end.clone() - start.clone()).ceil_div(step);
        if count.as_const().is_some_and(|n| n < 0) {
            let message = format!("{start}..{end} runs backwards");
            return Err(OpError::new(Code::WrongAttribute, message).attr("end"));
        }
        let index = b.iota(&[count], 0)?;
        let index = b.convert(index, b.float)?;
        let scaled = b.with(MapOp::Mul, index, step as f64)?;
        let start = b.extent(scaled, &start)?;
        Ok(vec![b.add(scaled, start)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[4]", Domain::Normal)],
            call: "add(x, arange(-2, 9, step = 3))",
            result: "f32[4]",
        },
        Example { inputs: &[("x", "f32[B]", Domain::Normal)], call: "add(x, arange(1, B + 1))", result: "f32[B]" },
        Example { inputs: &[("x", "f32[B]", Domain::Normal)], call: "add(x, arange(B))", result: "f32[B]" },
    ],
};

/// The first number and the one that all stay before; a single one is the end.
fn bounds(attrs: &Attrs) -> Result<(Dim, Dim), OpError> {
    match (attrs.dim("start"), attrs.dim("end")) {
        (Some(start), Some(end)) => Ok((start, end)),
        (Some(end), None) | (None, Some(end)) => Ok((Dim::from(0), end)),
        (None, None) => {
            let message = "`{callee}` needs `end`: the numbers stay before it";
            Err(OpError::new(Code::MissingAttribute, message).help("add `end = …`"))
        }
    }
}

static LINSPACE: Op = Op {
    name: "linspace",
    signature: "() -> float[_]",
    attrs: &[
        AttrDecl::required("start", AttrKind::Float, "the first number"),
        AttrDecl::required("end", AttrKind::Float, "the last number"),
        AttrDecl::required("count", AttrKind::Dim, "how many, at least 2"),
    ],
    doc: "`count` numbers from `start` to `end`, both included, equally far apart. The second half is counted from the \
          end, so that both ends are exact.",
    torch: Some("torch.linspace"),
    onnx: None,
    body: |b, _, attrs| {
        let (start, end) = (attrs.number("start"), attrs.number("end"));
        let count = attrs.extent("count");
        if count.as_const().is_some_and(|n| n < 2) {
            return Err(
                OpError::new(Code::WrongAttribute, format!("`count` must be at least 2, not {count}")).attr("count")
            );
        }
        let index = b.iota(std::slice::from_ref(&count), 0)?;
        let index = b.convert(index, b.float)?;
        let last = b.extent(index, &(count - Dim::from(1)))?;
        let (width, first, second) = (b.constant(index, end - start)?, b.constant(index, start)?, b.constant(index, end)?);
        let step = b.div(width, last)?;
        let (rise, behind) = (b.mul(index, step)?, b.sub(last, index)?);
        let fall = b.mul(behind, step)?;
        let (front, back) = (b.add(first, rise)?, b.sub(second, fall)?);
        let early = b.map(MapOp::Lt, &[index, behind])?;
        Ok(vec![b.select(early, front, back)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[7]", Domain::Normal)], call: "mul(x, linspace(-1, 2.5, 7))", result: "f32[7]" },
        Example {
            inputs: &[("x", "f32[B + 1]", Domain::Normal)],
            call: "mul(x, linspace(0, 1, count = B + 1))",
            result: "f32[B + 1]",
        },
    ],
};
