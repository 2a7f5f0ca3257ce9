//! Elementwise functions of one argument: `exp(x)`, `tanh(x)` and so on, one line each.

use super::{Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;
use std::f64::consts::{E, LOG2_E, LOG10_E};

/// One op from each line: its name, element class, ONNX name, test domain, documentation and formula.
macro_rules! table {
    ($($item:ident = $name:literal $class:literal $onnx:expr, $domain:ident, $doc:literal, $body:expr;)*) => {
        pub(super) const ITEMS: &[Item] = &[$(Item::Op(&$item)),*];

        $(static $item: Op = Op {
            name: $name,
            signature: concat!("(x: ", $class, "[..]) -> ", $class, "[..]"),
            attrs: &[],
            doc: $doc,
            torch: Some(concat!("torch.", $name)),
            onnx: $onnx,
            body: |b, args, _| {
                let formula: fn(&mut Builder<'_>, Value) -> Result<Value, OpError> = $body;
                Ok(vec![formula(b, args[0])?])
            },
            examples: &[
                Example {
                    inputs: &[("x", "f32[5, 7]", Domain::$domain)],
                    call: concat!($name, "(x)"),
                    result: "f32[5, 7]",
                },
                Example {
                    inputs: &[("x", "f32[B, 17]", Domain::$domain)],
                    call: concat!($name, "(x)"),
                    result: "f32[B, 17]",
                },
            ],
        };)*
    };
}

table! {
    NEG = "neg" "signed" Some("Neg"), Normal, "The negative `−x`.",
        |b, x| b.unary(MapOp::Neg, x);
    ABS = "abs" "signed" Some("Abs"), Normal, "The absolute value `|x|`; its derivative at 0 is 0.",
        |b, x| b.unary(MapOp::Abs, x);
    SIGN = "sign" "signed" Some("Sign"), Normal, "−1, 0 or 1 by the sign of `x`; its derivative is 0.",
        |b, x| b.unary(MapOp::Sign, x);
    EXP = "exp" "float" Some("Exp"), Normal, "The exponential `eˣ`.",
        |b, x| b.unary(MapOp::Exp, x);
    EXPM1 = "expm1" "float" None, Normal, "The exponential less one, `eˣ − 1`, accurate near zero.",
        |b, x| b.unary(MapOp::Expm1, x);
    LOG = "log" "float" Some("Log"), Positive, "The natural logarithm; NaN below zero.",
        |b, x| b.unary(MapOp::Log, x);
    LOG1P = "log1p" "float" None, Positive, "`ln(1 + x)`, accurate near zero.",
        |b, x| b.unary(MapOp::Log1p, x);
    SQRT = "sqrt" "float" Some("Sqrt"), Positive, "The square root; NaN below zero.",
        |b, x| b.unary(MapOp::Sqrt, x);
    RSQRT = "rsqrt" "float" None, Positive, "The reciprocal square root `1/√x`.",
        |b, x| b.unary(MapOp::Rsqrt, x);
    SQUARE = "square" "number" None, Normal, "The square `x²`.",
        |b, x| b.mul(x, x);
    RECIPROCAL = "reciprocal" "float" Some("Reciprocal"), Positive, "The reciprocal `1/x`.",
        |b, x| { let one = b.constant(x, 1.0)?; b.div(one, x) };
    SIN = "sin" "float" Some("Sin"), Normal, "The sine of `x` radians.",
        |b, x| b.unary(MapOp::Sin, x);
    COS = "cos" "float" Some("Cos"), Normal, "The cosine of `x` radians.",
        |b, x| b.unary(MapOp::Cos, x);
    TAN = "tan" "float" Some("Tan"), Unit, "The tangent of `x` radians.",
        |b, x| { let (sine, cosine) = (b.unary(MapOp::Sin, x)?, b.unary(MapOp::Cos, x)?); b.div(sine, cosine) };
    ASIN = "asin" "float" Some("Asin"), Unit, "The angle in radians, from −π/2 to π/2, whose sine is `x`; NaN outside of −1 to 1, as is its derivative at their ends.",
        asin;
    ACOS = "acos" "float" Some("Acos"), Unit, "The angle in radians, from 0 to π, whose cosine is `x`; NaN outside of −1 to 1, as is its derivative at their ends.",
        acos;
    ATAN = "atan" "float" Some("Atan"), Normal, "The angle in radians, from −π/2 to π/2, whose tangent is `x`.",
        |b, x| b.unary(MapOp::Atan, x);
    SINH = "sinh" "float" Some("Sinh"), Normal, "The hyperbolic sine `(eˣ − e⁻ˣ)/2`, accurate near zero.",
        sinh;
    COSH = "cosh" "float" Some("Cosh"), Normal, "The hyperbolic cosine `(eˣ + e⁻ˣ)/2`.",
        cosh;
    LOG2 = "log2" "float" None, Positive, "The logarithm to base 2; NaN below zero.",
        |b, x| { let log = b.unary(MapOp::Log, x)?; b.with(MapOp::Mul, log, LOG2_E) };
    LOG10 = "log10" "float" None, Positive, "The logarithm to base 10; NaN below zero.",
        |b, x| { let log = b.unary(MapOp::Log, x)?; b.with(MapOp::Mul, log, LOG10_E) };
    EXP2 = "exp2" "float" None, Normal, "The power `2ˣ`.",
        |b, x| { let two = b.constant(x, 2.0)?; b.map(MapOp::Pow, &[two, x]) };
    TANH = "tanh" "float" Some("Tanh"), Normal, "The hyperbolic tangent.",
        |b, x| b.unary(MapOp::Tanh, x);
    SIGMOID = "sigmoid" "float" Some("Sigmoid"), Normal, "The logistic function `1/(1 + e⁻ˣ)`.",
        |b, x| b.unary(MapOp::Sigmoid, x);
    ERF = "erf" "float" Some("Erf"), Normal, "The error function `2/√π · ∫₀ˣ e^(−t²) dt`.",
        |b, x| b.unary(MapOp::Erf, x);
    FLOOR = "floor" "float" Some("Floor"), Normal, "Rounded towards −∞; its derivative is 0.",
        |b, x| b.unary(MapOp::Floor, x);
    CEIL = "ceil" "float" Some("Ceil"), Normal, "Rounded towards +∞; its derivative is 0.",
        |b, x| b.unary(MapOp::Ceil, x);
    ROUND = "round" "float" Some("Round"), Normal, "Rounded to the nearest integer, ties to even; its derivative is 0.",
        |b, x| b.unary(MapOp::Round, x);
}

/// `atan(x/√((1 − x)(1 + x)))`: where the root is small, the factor that makes it so is exact.
fn asin(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let (less, more) = around_one(b, x)?;
    let square = b.mul(less, more)?;
    let root = b.unary(MapOp::Sqrt, square)?;
    let slope = b.div(x, root)?;
    b.unary(MapOp::Atan, slope)
}

/// `2·atan(√((1 − x)/(1 + x)))`, accurate near 1.
fn acos(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let (less, more) = around_one(b, x)?;
    let square = b.div(less, more)?;
    let slope = b.unary(MapOp::Sqrt, square)?;
    let half = b.unary(MapOp::Atan, slope)?;
    b.with(MapOp::Mul, half, 2.0)
}

/// `1 − x` and `1 + x`.
fn around_one(b: &mut Builder<'_>, x: Value) -> Result<(Value, Value), OpError> {
    let one = b.constant(x, 1.0)?;
    Ok((b.sub(one, x)?, b.add(one, x)?))
}

/// Beyond this `eˣ` may overflow where half of it does not.
const STEEP: f64 = 88.0;

/// `((eˣ − 1) − (e⁻ˣ − 1)) / 2`, of which near zero only the squares cancel.
fn sinh(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    hyperbolic(b, x, MapOp::Expm1, MapOp::Sub)
}

fn cosh(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    hyperbolic(b, x, MapOp::Exp, MapOp::Add)
}

/// Half of what `exp` gives at `x` and `−x`, combined; far from zero `e/2` times that of exponents less 1, which does not
/// overflow before the result does. The step has no derivative, so those of all orders stay right.
fn hyperbolic(b: &mut Builder<'_>, x: Value, exp: MapOp, combine: MapOp) -> Result<Value, OpError> {
    let (minus, size) = (b.unary(MapOp::Neg, x)?, b.unary(MapOp::Abs, x)?);
    let near = b.with(MapOp::Le, size, STEEP)?;
    let mut either = |then: f64, other: f64| {
        let (then, other) = (b.constant(x, then)?, b.constant(x, other)?);
        b.select(near, then, other)
    };
    let (less, factor) = (either(0.0, 1.0)?, either(0.5, E / 2.0)?);
    let (right, left) = (b.sub(x, less)?, b.sub(minus, less)?);
    let (right, left) = (b.unary(exp, right)?, b.unary(exp, left)?);
    let both = b.map(combine, &[right, left])?;
    b.mul(both, factor)
}
