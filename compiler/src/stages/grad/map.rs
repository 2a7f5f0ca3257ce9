//! The derivative of every elementwise operation, one line each.

use crate::ir::Value;
use crate::ir::prim::MapOp;
use crate::ops::{Builder, OpError};

/// The cotangent of argument `i` of `y = op(args)`, from the cotangent `g` of `y`; `None` where it is zero.
pub(super) fn pull_back(
    b: &mut Builder<'_>,
    op: MapOp,
    args: &[Value],
    y: Value,
    g: Value,
    i: usize,
) -> Result<Option<Value>, OpError> {
    use MapOp::*;
    let x = args[0];
    let zero = |b: &mut Builder<'_>| b.constant(g, 0.0);
    Ok(Some(match (op, i) {
        (Neg, _) => b.unary(Neg, g)?,
        (Abs, _) => scaled(b, g, Sign, x)?,
        (Exp, _) => b.mul(g, y)?,
        (Expm1, _) => {
            let slope = b.with(Add, y, 1.0)?;
            b.mul(g, slope)?
        }
        (Log, _) => b.div(g, x)?,
        (Log1p, _) => {
            let inverse = b.with(Add, x, 1.0)?;
            b.div(g, inverse)?
        }
        (Sqrt, _) => {
            let half = b.with(Mul, g, 0.5)?;
            b.div(half, y)?
        }
        (Rsqrt, _) => {
            let square = b.mul(y, y)?;
            let cube = b.mul(square, y)?;
            let slope = b.with(Mul, cube, -0.5)?;
            b.mul(g, slope)?
        }
        (Sin, _) => scaled(b, g, Cos, x)?,
        (Cos, _) => {
            let minus = b.unary(Neg, g)?;
            scaled(b, minus, Sin, x)?
        }
        (Atan, _) => {
            let square = b.mul(x, x)?;
            let slope = b.with(Add, square, 1.0)?;
            b.div(g, slope)?
        }
        (Tanh, _) => {
            let square = b.mul(y, y)?;
            let one = b.constant(g, 1.0)?;
            let slope = b.sub(one, square)?;
            b.mul(g, slope)?
        }
        (Sigmoid, _) => {
            let one = b.constant(g, 1.0)?;
            let rest = b.sub(one, y)?;
            let slope = b.mul(y, rest)?;
            b.mul(g, slope)?
        }
        (Erf, _) => {
            let minus = b.unary(Neg, x)?;
            let square = b.mul(x, minus)?;
            let bell = b.unary(Exp, square)?;
            let slope = b.with(Mul, bell, std::f64::consts::FRAC_2_SQRT_PI)?;
            b.mul(g, slope)?
        }
        (Add, _) | (Sub, 0) => g,
        (Sub, _) => b.unary(Neg, g)?,
        (Mul, i) => b.mul(g, args[1 - i])?,
        (MulAdd, 2) => g,
        (MulAdd, i) => b.mul(g, args[1 - i])?,
        (Div, 0) => b.div(g, args[1])?,
        (Div, _) => {
            let quotient = b.div(y, args[1])?;
            let product = b.mul(g, quotient)?;
            b.unary(Neg, product)?
        }
        (Rem, 0) => g,
        (Rem, _) => {
            // The whole quotient, which a division gives up to a rounding.
            let multiple = b.sub(x, y)?;
            let quotient = b.div(multiple, args[1])?;
            let whole = b.unary(Round, quotient)?;
            let product = b.mul(g, whole)?;
            b.unary(Neg, product)?
        }
        (Pow, 0) => {
            // b·aᵇ⁻¹; where b is 0 the power is constant, also at a = 0.
            let less = b.with(Sub, args[1], 1.0)?;
            let power = b.map(Pow, &[x, less])?;
            let slope = b.mul(args[1], power)?;
            let zero = zero(b)?;
            let constant = b.map(Eq, &[args[1], zero])?;
            let product = b.mul(g, slope)?;
            b.select(constant, zero, product)?
        }
        (Pow, _) => {
            // aᵇ·ln a; a power of 0 is 0 for every positive exponent.
            let log = b.unary(Log, x)?;
            let slope = b.mul(y, log)?;
            let zero = zero(b)?;
            let flat = b.map(Eq, &[x, zero])?;
            let product = b.mul(g, slope)?;
            b.select(flat, zero, product)?
        }
        // Equal arguments share, as in PyTorch and JAX.
        (Max, i) => extreme(b, g, args[1 - i], args[i])?,
        (Min, i) => extreme(b, g, args[i], args[1 - i])?,
        (Select, 0) => return Ok(None),
        (Select, 1) => {
            let zero = zero(b)?;
            b.select(x, g, zero)?
        }
        (Select, _) => {
            let zero = zero(b)?;
            b.select(x, zero, g)?
        }
        (Sign | Floor | Ceil | Round | Not | And | Or | Xor | Shl | Shr | Eq | Ne | Lt | Le | Threefry, _) => {
            return Ok(None);
        }
    }))
}

/// `g · op(x)`
fn scaled(b: &mut Builder<'_>, g: Value, op: MapOp, x: Value) -> Result<Value, OpError> {
    let slope = b.unary(op, x)?;
    b.mul(g, slope)
}

/// `g` where `below < above`, half of it where they are equal, 0 elsewhere.
fn extreme(b: &mut Builder<'_>, g: Value, below: Value, above: Value) -> Result<Value, OpError> {
    let zero = b.constant(g, 0.0)?;
    let half = b.with(MapOp::Mul, g, 0.5)?;
    let (wins, ties) = (b.map(MapOp::Lt, &[below, above])?, b.map(MapOp::Eq, &[below, above])?);
    let rest = b.select(ties, half, zero)?;
    b.select(wins, g, rest)
}
