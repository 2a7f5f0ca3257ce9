//! Elementwise functions of two arguments that broadcast as NumPy's do: `add(a, b)`, which `a + b` means, and so on.

use crate::diag::Code;
use super::axes::show;
use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Dim, Kind, Type, Value};

/// One op from each line: its name, element class, PyTorch's and ONNX's names, test domain of `b`, documentation and formula.
macro_rules! table {
    ($($item:ident = $name:literal $class:literal $torch:literal $onnx:expr, $domain:ident, $doc:literal, $body:expr;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(a: ", $class, "[...], b: ", $class, "[...]) -> ", $class, "[...]"),
            attrs: &[],
            doc: $doc,
            torch: Some($torch),
            onnx: $onnx,
            body: |b, args, _| {
                let formula: fn(&mut Builder<'_>, Value, Value) -> Result<Value, OpError> = $body;
                must_broadcast(b, args[0], args[1])?;
                Ok(vec![formula(b, args[0], args[1])?])
            },
            examples: &[
                Example {
                    inputs: &[("a", "f32[5, 7]", Domain::$domain), ("b", "f32[5, 7]", Domain::$domain)],
                    call: concat!($name, "(a, b)"),
                    result: "f32[5, 7]",
                },
                Example {
                    inputs: &[("a", "f32[B, 1, 17]", Domain::$domain), ("b", "f32[3, 1]", Domain::$domain)],
                    call: concat!($name, "(a, b)"),
                    result: "f32[B, 3, 17]",
                },
                Example {
                    inputs: &[("a", "bf16[B, 17]", Domain::$domain), ("b", "bf16[17]", Domain::$domain)],
                    call: concat!($name, "(a, b)"),
                    result: "bf16[B, 17]",
                },
            ],
        };)*
    };
}

table! {
    ADD = "add" "number" "torch.add" Some("Add"), Normal, "The sum `a + b`.",
        |b, x, y| b.add(x, y);
    SUB = "sub" "number" "torch.sub" Some("Sub"), Normal, "The difference `a − b`.",
        |b, x, y| b.sub(x, y);
    MUL = "mul" "number" "torch.mul" Some("Mul"), Normal, "The product `a · b`.",
        |b, x, y| b.mul(x, y);
    DIV = "div" "number" "torch.div" Some("Div"), Positive, "The quotient `a / b`; integers truncate, and give 0 where `b` is 0.",
        |b, x, y| b.div(x, y);
    REM = "rem" "number" "torch.fmod" None, Positive,
        "The remainder `a − b · trunc(a / b)` without an error, with the sign of `a`, as Rust's `%`; integers give 0 where \
         `b` is 0.",
        |b, x, y| b.map(MapOp::Rem, &[x, y]);
    POW = "pow" "float" "torch.pow" Some("Pow"), Positive, "The power `aᵇ`. A literal integer `b` up to 8 makes it products, so that any `a` is allowed.",
        power;
    MAXIMUM = "maximum" "number" "torch.maximum" Some("Max"), Normal, "The larger of two elements; NaN if either is.",
        |b, x, y| b.map(MapOp::Max, &[x, y]);
    MINIMUM = "minimum" "number" "torch.minimum" Some("Min"), Normal, "The smaller of two elements; NaN if either is.",
        |b, x, y| b.map(MapOp::Min, &[x, y]);
}

/// That two arguments of a call have a common shape.
///
/// # Errors
/// `broadcast-mismatch` that names both shapes, with the axis to insert where that is all that is missing; also where
/// each row would meet each.
pub(super) fn must_broadcast(b: &Builder<'_>, x: Value, y: Value) -> Result<(), OpError> {
    if let Ok(common) = b.common_shape(&[x, y]) {
        let (a, c) = (b.ty(x), b.ty(y));
        let (long, short) = if a.rank() > c.rank() { (0, 1) } else { (1, 0) };
        let types = [a, c];
        return match squared(&types[long].shape, &types[short].shape) {
            None => Ok(()),
            Some(axis) => Err(outer(types, (long, short), axis, &common)),
        };
    }
    let (from, to) = (b.ty(x), b.ty(y));
    let message = format!("{{0}} is {from} and {{1}} is {to}: shapes that do not broadcast");
    let error = OpError::new(Code::BroadcastMismatch, message).arg(1);
    // `[5, 7]` and `[5]` is the usual mistake: a value for each row, whose axis must be told to be the first.
    let prefix = |long: &[Dim], short: &[Dim]| short.len() < long.len() && long.starts_with(short);
    Err(match (prefix(&from.shape, &to.shape), prefix(&to.shape, &from.shape)) {
        (true, _) => error.help(reshaped(1, from.rank(), &to.shape)),
        (_, true) => error.help(reshaped(0, to.rank(), &from.shape)),
        (false, false) => error,
    })
}

/// The axis of extent 1 that a missing leading axis stretches to a named dimension that the longer shape has already:
/// `[B, 1]` and `[B]` would be `[B, B]`, which who takes a target from a prediction never means.
fn squared(long: &[Dim], short: &[Dim]) -> Option<usize> {
    let lead = long.len() - short.len();
    let again = |(axis, dim): &(usize, &Dim)| long[lead + axis].is(1) && dim.as_const().is_none() && long.contains(dim);
    short.iter().enumerate().filter(|_| lead > 0).find(again).map(|(axis, _)| lead + axis)
}

fn outer(types: [&Type; 2], (long, short): (usize, usize), axis: usize, common: &[Dim]) -> OpError {
    let [a, c] = types;
    let all = Type::new(a.dtype, common.to_vec());
    let message = format!("{{0}} is {a} and {{1}} is {c}, which broadcast to {all}");
    let mut squeezed = types[long].shape.clone();
    squeezed.remove(axis);
    let mut extended = vec![Dim::from(1); types[long].rank() - types[short].rank()];
    extended.extend(types[short].shape.iter().cloned());
    let each = format!("`reshape({{{short}}}, {})`", show(&extended));
    OpError::new(Code::BroadcastMismatch, message).arg(1).help(match squeezed == types[short].shape {
        true => format!("write `reshape({{{long}}}, {})`, or {each} if each is to meet each", show(&squeezed)),
        false => format!("if each is to meet each, write {each}"),
    })
}

fn reshaped(arg: usize, rank: usize, shape: &[Dim]) -> String {
    let mut shape = shape.to_vec();
    shape.resize(rank, Dim::from(1));
    format!("write `reshape({{{arg}}}, {})`", show(&shape))
}

fn power(b: &mut Builder<'_>, x: Value, y: Value) -> Result<Value, OpError> {
    let literal = match &b.graph.node(y).kind {
        Kind::Prim(Prim::Const(scalar)) if scalar.dtype().is_float() => Some(scalar.as_f64()),
        _ => None,
    };
    match literal.filter(|n| n.fract() == 0.0 && n.abs() <= 8.0) {
        None => b.map(MapOp::Pow, &[x, y]),
        Some(n) => {
            // The power of the inverse, not the inverse of the power: neither it nor its gradient leaves the floats before
            // the result does.
            let one = b.constant(x, 1.0)?;
            let base = if n < 0.0 { b.div(one, x)? } else { x };
            whole_power(b, base, n.abs() as u32)
        }
    }
}

/// `xⁿ` by squaring.
fn whole_power(b: &mut Builder<'_>, x: Value, n: u32) -> Result<Value, OpError> {
    match n {
        0 => {
            let (dtype, shape) = (b.dtype(x), b.shape(x));
            b.full(dtype, &shape, 1.0)
        }
        1 => Ok(x),
        _ => {
            let half = whole_power(b, x, n / 2)?;
            let square = b.mul(half, half)?;
            if n.is_multiple_of(2) { Ok(square) } else { b.mul(square, x) }
        }
    }
}
