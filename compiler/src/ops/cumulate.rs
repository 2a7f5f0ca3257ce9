//! Running reductions: `cumsum(x, axis)`, `cumprod`, `cummax` and `cummin`.
//!
//! An axis is cut into blocks. Within a block each element reduces the elements before it; the totals of the blocks
//! are accumulated in the same way, and what came before a block is combined with all of it. No sum is long, so that
//! the error grows with the logarithm of the extent, and nothing is sequential.

use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::kernel::AccumulatorOp;
use crate::ir::prim::{Border, MapOp, Prim, ReduceOp};
use crate::ir::{Dim, Value};

/// Elements in a block.
const BLOCK: i64 = 16;

/// How often blocks are blocked: of so many totals that are left, each reduces all before it.
const LEVELS: usize = 2;

static ATTRS: [AttrDecl; 3] = [
    AttrDecl::optional("axis", AttrKind::Int, "-1", "the axis along which it runs; negative counts from the end"),
    AttrDecl::optional("reverse", AttrKind::Bool, "false", "whether it runs from the last element to the first"),
    AttrDecl::optional("exclusive", AttrKind::Bool, "false", "whether an element's own value is left out"),
];

/// One op from each line: its name, ONNX name, reduction with the class of its result, test domain and documentation.
macro_rules! table {
    ($($item:ident = $name:literal $onnx:expr, $op:ident $result:literal, $domain:ident, $doc:literal;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(x: number[..]) -> ", $result, "[..]"),
            attrs: &ATTRS,
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: $onnx,
            body: |b, args, attrs| Ok(vec![accumulate(b, ReduceOp::$op, args[0], attrs)?]),
            examples: &[
                Example {
                    inputs: &[("x", "f32[2, 21, 3]", Domain::$domain)],
                    call: concat!($name, "(x, axis = 1)"),
                    result: "f32[2, 21, 3]",
                },
                Example {
                    inputs: &[("x", "f32[2, B]", Domain::$domain)],
                    call: concat!($name, "(x, reverse = true)"),
                    result: "f32[2, B]",
                },
                Example {
                    inputs: &[("x", "i32[B, 17]", Domain::Below(3))],
                    call: concat!($name, "(x, axis = 0, exclusive = true)"),
                    result: "i32[B, 17]",
                },
            ],
        };)*
    };
}

table! {
    CUMSUM = "cumsum" Some("CumSum"), Sum "wide", Normal, "The sum of each element and those before it along an axis; the exclusive one starts with 0.";
    CUMPROD = "cumprod" None, Prod "wide", Positive, "The product of each element and those before it along an axis; the exclusive one starts with 1.";
    CUMMAX = "cummax" None, Max "number", Normal, "The largest of each element and those before it along an axis; the exclusive one starts with the least number. Equal extremes share the derivative, where PyTorch gives it to the last.";
    CUMMIN = "cummin" None, Min "number", Normal, "The smallest of each element and those before it along an axis; the exclusive one starts with the largest number. Equal extremes share the derivative, where PyTorch gives it to the last.";
}

fn accumulate(b: &mut Builder<'_>, op: ReduceOp, x: Value, attrs: &Attrs) -> Result<Value, OpError> {
    let axis = b.axis(x, attrs, "axis")?;
    let last = b.rank(x) - 1;
    let mut order: Vec<usize> = (0..=last).collect();
    order.swap(axis, last);
    let turn =
        |b: &mut Builder<'_>, x| if attrs.flag("reverse") { b.prim(Prim::Flip(vec![last]), &[x]) } else { Ok(x) };
    let rows = b.transpose(x, &order)?;
    let mut y = turn(b, rows)?;
    y = prefix(b, op, y, LEVELS)?;
    if attrs.flag("exclusive") {
        y = shifted(b, op, y)?;
    }
    y = turn(b, y)?;
    b.transpose(y, &order)
}

/// Each element with all before it along the last axis.
fn prefix(b: &mut Builder<'_>, op: ReduceOp, x: Value, levels: usize) -> Result<Value, OpError> {
    let shape = b.shape(x);
    let (last, n) = (shape.len() - 1, shape[shape.len() - 1].clone());
    if levels == 0 || n.as_const().is_some_and(|n| n <= BLOCK) {
        return each_with_all_before(b, op, x);
    }
    let (count, width) = (n.ceil_div(BLOCK), Dim::from(BLOCK));
    let mut borders = vec![Border { low: Dim::from(0), high: Dim::from(0), interior: 0 }; shape.len()];
    borders[last].high = count.clone() * width.clone() - n.clone();
    let padded = match borders[last].high.is(0) {
        true => x,
        false => b.prim(Prim::Pad { borders, value: AccumulatorOp::Reduce(op).neutral(b.dtype(x)) }, &[x])?,
    };
    let mut cut = shape.clone();
    cut.splice(last.., [count.clone(), width.clone()]);
    let blocks = b.reshape(padded, &cut)?;
    let inside = each_with_all_before(b, op, blocks)?;
    let totals = b.reduce(op, blocks, &[last + 1])?;
    let running = prefix(b, op, totals, levels - 1)?;
    let before = shifted(b, op, running)?;
    cut[last + 1] = Dim::from(1);
    let before = b.reshape(before, &cut)?;
    let all = b.map(combination(op), &[before, inside])?;
    let mut joined = shape;
    joined[last] = count * width;
    let all = b.reshape(all, &joined)?;
    if joined[last] == n { Ok(all) } else { b.slice(all, last, Dim::from(0), n) }
}

fn combination(op: ReduceOp) -> MapOp {
    match op {
        ReduceOp::Sum => MapOp::Add,
        ReduceOp::Prod => MapOp::Mul,
        ReduceOp::Max => MapOp::Max,
        ReduceOp::Min => MapOp::Min,
    }
}

/// A reduction for each element of the last axis, over those up to it. Others are masked, not multiplied by 0: an
/// infinity must not reach the elements before it.
fn each_with_all_before(b: &mut Builder<'_>, op: ReduceOp, x: Value) -> Result<Value, OpError> {
    let mut square = b.shape(x);
    let (last, n) = (square.len() - 1, square[square.len() - 1].clone());
    square.push(n.clone());
    let axes = (0..=last + 1).filter(|&a| a != last).collect();
    let all = b.prim(Prim::Broadcast { shape: square, axes }, &[x])?;
    let (at, of) = (b.iota(&[n.clone(), n.clone()], 0)?, b.iota(&[n.clone(), n], 1)?);
    let (takes_part, none) = (b.map(MapOp::Le, &[of, at])?, b.prim(Prim::Const(AccumulatorOp::Reduce(op).neutral(b.dtype(x))), &[])?);
    let masked = b.select(takes_part, all, none)?;
    b.reduce(op, masked, &[last + 1])
}

/// One place towards the end of the last axis; the last element is dropped.
fn shifted(b: &mut Builder<'_>, op: ReduceOp, x: Value) -> Result<Value, OpError> {
    let mut borders = vec![Border { low: Dim::from(0), high: Dim::from(0), interior: 0 }; b.rank(x)];
    if let Some(last) = borders.last_mut() {
        *last = Border { low: Dim::from(1), high: Dim::from(-1), interior: 0 };
    }
    b.prim(Prim::Pad { borders, value: AccumulatorOp::Reduce(op).neutral(b.dtype(x)) }, &[x])
}
