//! Elementwise arithmetic: functions of one number, of two that broadcast, and of several.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, moves, one};
use crate::ir::prim::MapOp;
use crate::ir::{Category, DType, Value};
use crate::oracle::Data;

pub(super) const OPERATORS: &[Operator] = &[
    computes("Abs", |n| one(absolute(n))),
    computes("Neg", |n| one(unary(n, MapOp::Neg))),
    computes("Sign", |n| one(sign(n))),
    computes("Exp", |n| one(unary(n, MapOp::Exp))),
    computes("Log", |n| one(unary(n, MapOp::Log))),
    computes("Sqrt", |n| one(unary(n, MapOp::Sqrt))),
    computes("Sin", |n| one(unary(n, MapOp::Sin))),
    computes("Cos", |n| one(unary(n, MapOp::Cos))),
    computes("Tan", |n| one(named(n, "tan"))),
    computes("Asin", |n| one(named(n, "asin"))),
    computes("Acos", |n| one(named(n, "acos"))),
    computes("Atan", |n| one(unary(n, MapOp::Atan))),
    computes("Sinh", |n| one(named(n, "sinh"))),
    computes("Cosh", |n| one(named(n, "cosh"))),
    computes("Tanh", |n| one(unary(n, MapOp::Tanh))),
    computes("Asinh", |n| one(asinh(n))),
    computes("Acosh", |n| one(acosh(n))),
    computes("Atanh", |n| one(atanh(n))),
    computes("Erf", |n| one(unary(n, MapOp::Erf))),
    computes("Floor", |n| one(unary(n, MapOp::Floor))),
    computes("Ceil", |n| one(unary(n, MapOp::Ceil))),
    computes("Round", |n| one(unary(n, MapOp::Round))),
    computes("Reciprocal", |n| one(reciprocal(n))),
    computes("Add", |n| one(binary(n, MapOp::Add))),
    computes("Sub", |n| one(binary(n, MapOp::Sub))),
    computes("Mul", |n| one(binary(n, MapOp::Mul))),
    computes("Div", |n| one(binary(n, MapOp::Div))),
    computes("Mod", |n| one(remainder(n))),
    computes("Pow", |n| one(power(n))),
    computes("Max", |n| one(fold(n, MapOp::Max))),
    computes("Min", |n| one(fold(n, MapOp::Min))),
    computes("Sum", |n| one(fold(n, MapOp::Add))),
    computes("Mean", |n| one(mean(n))),
    computes("Clip", |n| one(clip(n))),
    computes("BitwiseAnd", |n| one(binary(n, MapOp::And))),
    computes("BitwiseOr", |n| one(binary(n, MapOp::Or))),
    computes("BitwiseXor", |n| one(binary(n, MapOp::Xor))),
    computes("BitwiseNot", |n| one(unary(n, MapOp::Not))),
    computes("BitShift", |n| one(shift(n))),
    moves("Cast", |n| one(cast(n))),
    moves("CastLike", |n| one(cast_like(n))),
];

fn unary(n: &mut Node<'_>, op: MapOp) -> Made {
    let x = n.arg(0)?;
    Ok(n.b.unary(op, x)?)
}

/// An op of the model language.
pub(super) fn named(n: &mut Node<'_>, name: &str) -> Made {
    let x = n.arg(0)?;
    n.call(name, &[x], &[])
}

/// `sign(x) · ln(1 + |x| + x² / (1 + √(x² + 1)))`, accurate near zero.
fn asinh(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (size, sign, square) = (n.b.unary(MapOp::Abs, x)?, n.b.unary(MapOp::Sign, x)?, n.b.mul(x, x)?);
    let above = n.b.with(MapOp::Add, square, 1.0)?;
    let root = n.b.unary(MapOp::Sqrt, above)?;
    let under = n.b.with(MapOp::Add, root, 1.0)?;
    let rest = n.b.div(square, under)?;
    let sum = n.b.add(size, rest)?;
    let logarithm = n.b.unary(MapOp::Log1p, sum)?;
    Ok(n.b.mul(sign, logarithm)?)
}

/// `ln(x + √((x − 1)(x + 1)))`
fn acosh(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (less, more) = (n.b.with(MapOp::Sub, x, 1.0)?, n.b.with(MapOp::Add, x, 1.0)?);
    let product = n.b.mul(less, more)?;
    let root = n.b.unary(MapOp::Sqrt, product)?;
    let sum = n.b.add(x, root)?;
    Ok(n.b.unary(MapOp::Log, sum)?)
}

/// `(ln(1 + x) − ln(1 − x)) / 2`
fn atanh(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let negative = n.b.unary(MapOp::Neg, x)?;
    let (more, less) = (n.b.unary(MapOp::Log1p, x)?, n.b.unary(MapOp::Log1p, negative)?);
    let difference = n.b.sub(more, less)?;
    Ok(n.b.with(MapOp::Mul, difference, 0.5)?)
}

/// Unsigned numbers are what they are.
fn absolute(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    if n.b.dtype(x).category() == Category::Unsigned { Ok(x) } else { Ok(n.b.unary(MapOp::Abs, x)?) }
}

fn sign(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    if n.b.dtype(x).category() == Category::Unsigned {
        Ok(n.b.with(MapOp::Min, x, 1.0)?)
    } else {
        unary(n, MapOp::Sign)
    }
}

fn reciprocal(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let unit = n.b.constant(x, 1.0)?;
    Ok(n.b.div(unit, x)?)
}

fn binary(n: &mut Node<'_>, op: MapOp) -> Made {
    let [a, b] = pair(n)?;
    Ok(n.b.map(op, &[a, b])?)
}

/// Both arguments, broadcast against each other. Before version 7 the second one may begin at an axis.
pub(super) fn pair(n: &mut Node<'_>) -> Made<[Value; 2]> {
    let [a, mut b] = [n.arg(0)?, n.arg(1)?];
    if n.opset < 7
        && let Some(axis) = n.maybe_int("axis")
    {
        let (rank, mut shape) = (n.b.rank(a), n.b.shape(b));
        let after = rank.checked_sub(n.axis_of(axis, rank)? + shape.len());
        let after = after.ok_or_else(|| Failure::new("the second argument reaches beyond the first"))?;
        shape.extend(vec![1.into(); after]);
        b = n.b.reshape(b, &shape)?;
    }
    Ok([a, b])
}

/// With `fmod` the sign of the dividend, otherwise that of the divisor, as of Python's `%`.
fn remainder(n: &mut Node<'_>) -> Made {
    let [a, b] = pair(n)?;
    let dtype = n.b.dtype(a);
    let rest = n.b.map(MapOp::Rem, &[a, b])?;
    if n.flag("fmod") || dtype.category() == Category::Unsigned {
        return Ok(rest);
    }
    let (zero, sum) = (n.b.constant(rest, 0.0)?, n.b.add(rest, b)?);
    let differs = {
        let (rest, divisor) = (n.b.map(MapOp::Lt, &[rest, zero])?, n.b.map(MapOp::Lt, &[b, zero])?);
        n.b.map(MapOp::Xor, &[rest, divisor])?
    };
    let is_some = n.b.map(MapOp::Ne, &[rest, zero])?;
    let differs = n.b.map(MapOp::And, &[differs, is_some])?;
    Ok(n.b.select(differs, sum, rest)?)
}

/// The result has the type of the base.
fn power(n: &mut Node<'_>) -> Made {
    let [a, b] = pair(n)?;
    let dtype = n.b.dtype(a);
    if let Some(known) = n.known(1)
        && let Some(scalar) = known.uniform()
        && scalar.as_f64() == 2.0
    {
        let shape = n.b.common_shape(&[a, b])?;
        let squared = n.b.mul(a, a)?;
        return Ok(n.b.broadcast_to(squared, &shape)?);
    }
    match (dtype.is_float(), n.b.dtype(b).is_float()) {
        (false, false) => return integer_power(n, a, b),
        (false, true) => {
            let a = n.b.convert(a, n.b.dtype(b))?;
            let power = n.b.map(MapOp::Pow, &[a, b])?;
            return Ok(n.b.convert(power, dtype)?);
        }
        (true, _) => {}
    }
    let b = n.b.convert(b, dtype)?;
    Ok(n.b.map(MapOp::Pow, &[a, b])?)
}

/// By squaring, a factor for each bit of the exponent. With a negative one what is not 1 or −1 becomes a fraction, which is 0.
fn integer_power(n: &mut Node<'_>, a: Value, b: Value) -> Made {
    let shape = n.b.common_shape(&[a, b])?;
    let [whole, exponent] = [n.b.broadcast_to(a, &shape)?, n.b.broadcast_to(b, &shape)?];
    let mut base = whole;
    let unsigned = if n.b.dtype(exponent).is_wide() { DType::U64 } else { DType::U32 };
    let mut rest = n.b.convert(exponent, unsigned)?;
    let [zero, unit] = [n.b.constant(base, 0.0)?, n.b.constant(base, 1.0)?];
    let mut power = n.b.broadcast_to(unit, &shape)?;
    for _ in 0..bits_of_exponent(n)? {
        let (bit, multiplied) = (n.b.with(MapOp::And, rest, 1.0)?, n.b.mul(power, base)?);
        let is_set = n.b.with(MapOp::Eq, bit, 1.0)?;
        power = n.b.select(is_set, multiplied, power)?;
        base = n.b.mul(base, base)?;
        rest = n.b.with(MapOp::Shr, rest, 1.0)?;
    }
    if n.b.dtype(exponent).category() != Category::Signed {
        return Ok(power);
    }
    // Among the complement's bits the lowest says whether it is odd, too, so that the loop has the powers of ±1.
    let is_negative = n.b.with(MapOp::Lt, exponent, 0.0)?;
    let size = if n.b.dtype(whole).category() == Category::Signed { n.b.unary(MapOp::Abs, whole)? } else { whole };
    let is_unit = n.b.with(MapOp::Eq, size, 1.0)?;
    let fraction = n.b.select(is_unit, power, zero)?;
    Ok(n.b.select(is_negative, fraction, power)?)
}

/// How many bits an exponent has that are not known to be 0: those of a known one, otherwise all but a sign.
fn bits_of_exponent(n: &Node<'_>) -> Made<u32> {
    let ty = n.ty(1)?;
    if let Some(known) = n.known(1).filter(|known| !known.is_weight())
        && let Data::Int(_, exponents) = &known.tensor().data
    {
        let bits = |exponent: &i128| i128::BITS - exponent.unsigned_abs().leading_zeros();
        return Ok(exponents.iter().map(bits).max().unwrap_or(0));
    }
    let sign = u32::from(ty.dtype.category() == Category::Signed);
    Ok(ty.dtype.bits() - sign)
}

fn fold(n: &mut Node<'_>, op: MapOp) -> Made {
    let args = n.args()?;
    let (&first, others) = args.split_first().ok_or_else(|| Failure::new("it needs an argument"))?;
    others.iter().try_fold(first, |made, &next| Ok(n.b.map(op, &[made, next])?))
}

fn mean(n: &mut Node<'_>) -> Made {
    let sum = fold(n, MapOp::Add)?;
    let count = n.count() as f64;
    Ok(n.b.with(MapOp::Div, sum, count)?)
}

/// Where the bounds cross, the upper one holds. Before version 11 they are attributes.
fn clip(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let bound = |n: &mut Node<'_>, name: &str, k: usize| -> Made<Option<Value>> {
        match n.maybe_float(name) {
            Some(bound) => Ok(Some(n.b.constant(x, bound)?)),
            None => n.maybe(k),
        }
    };
    let (low, high) = (bound(n, "min", 1)?, bound(n, "max", 2)?);
    let x = low.map_or(Ok(x), |low| n.b.map(MapOp::Max, &[x, low]))?;
    Ok(high.map_or(Ok(x), |high| n.b.map(MapOp::Min, &[x, high]))?)
}

fn shift(n: &mut Node<'_>) -> Made {
    let op = match n.text("direction", "").as_str() {
        "LEFT" => MapOp::Shl,
        "RIGHT" => MapOp::Shr,
        other => return Err(Failure::new(format!("`direction` is LEFT or RIGHT, not `{other}`"))),
    };
    let [a, b] = pair(n)?;
    let (bits, dtype) = (n.ty(0)?.dtype.bits(), n.b.dtype(a));
    let unsigned = if dtype.is_wide() { DType::U64 } else { DType::U32 };
    let steps = n.b.convert(b, unsigned)?;
    // Negative numbers are shifted as their complements, so that their sign stays.
    let is_negative = match dtype.category() == Category::Signed && op == MapOp::Shr {
        true => Some(n.b.with(MapOp::Lt, a, 0.0)?),
        false => None,
    };
    let complement = |n: &mut Node<'_>, x: Value| -> Made {
        let Some(is_negative) = is_negative else { return Ok(x) };
        let other = n.b.unary(MapOp::Not, x)?;
        Ok(n.b.select(is_negative, other, x)?)
    };
    let positive = complement(n, a)?;
    let positive = n.b.convert(positive, unsigned)?;
    let shifted = n.b.map(op, &[positive, steps])?;
    // As many steps as an element has bits leave nothing of it.
    let (is_all, nothing) = (n.b.constant(steps, bits.into())?, n.b.constant(steps, 0.0)?);
    let is_all = n.b.map(MapOp::Le, &[is_all, steps])?;
    let shifted = n.b.select(is_all, nothing, shifted)?;
    let shifted = n.b.convert(shifted, dtype)?;
    complement(n, shifted)
}

fn cast(n: &mut Node<'_>) -> Made {
    let to = n.dtype("to")?.ok_or_else(|| Failure::new("it lacks `to`"))?;
    convert(n, to)
}

fn cast_like(n: &mut Node<'_>) -> Made {
    let to = n.ty(1)?.dtype;
    convert(n, to)
}

/// To another element type: floats are truncated to integers, integers keep their lowest bits.
fn convert(n: &mut Node<'_>, to: DType) -> Made {
    let x = n.arg(0)?;
    let from = n.b.dtype(x);
    if to.is_float() && to.bits() == 8 && n.int("saturate", 1) == 0 {
        return Err(Failure::new("float8 without `saturate` is not supported"));
    }
    match (from.is_float(), to.is_integer()) {
        // Integers of few bits are the lowest ones of those of more.
        (true, true) if to.bits() < 32 => {
            let wide = n.b.convert(x, DType::I32)?;
            Ok(n.b.convert(wide, to)?)
        }
        _ => Ok(n.b.convert(x, to)?),
    }
}
