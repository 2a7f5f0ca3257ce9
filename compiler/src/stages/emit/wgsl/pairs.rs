//! Arithmetic of integers of 64 bits, which WGSL lacks: as pairs of words, the lower one first.
//!
//! Comes in: an operation and expressions of its arguments. Goes out: an expression. Always holds: what numbers with a sign and
//! without one have in common is one function.

use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::ty::DType;

/// Elementwise arithmetic; `dtype` is the type of the last argument.
pub(super) fn map(op: MapOp, dtype: DType, args: &[String]) -> String {
    let [a, b, c] = [0, 1, 2].map(|n| args.get(n).map_or("", String::as_str));
    match op {
        MapOp::Neg => format!("neg_64({a})"),
        MapOp::Abs | MapOp::Sign => format!("{}_{dtype}({a})", op.name()),
        MapOp::Not => format!("~{a}"),
        MapOp::Add | MapOp::Sub | MapOp::Mul => format!("{}_64({a}, {b})", op.name()),
        MapOp::Div | MapOp::Rem | MapOp::Max | MapOp::Min => format!("{}_{dtype}({a}, {b})", op.name()),
        MapOp::And => format!("{a} & {b}"),
        MapOp::Or => format!("{a} | {b}"),
        MapOp::Xor => format!("{a} ^ {b}"),
        MapOp::Shl => format!("shl_64({a}, {b}.x)"),
        MapOp::Shr => format!("shr_u64({a}, {b}.x)"),
        MapOp::Eq => format!("all({a} == {b})"),
        MapOp::Ne => format!("any({a} != {b})"),
        MapOp::Lt => format!("lt_{dtype}({a}, {b})"),
        MapOp::Le => format!("!lt_{dtype}({b}, {a})"),
        MapOp::Select => format!("select({c}, {b}, {a})"),
        MapOp::Exp
        | MapOp::Expm1
        | MapOp::Log
        | MapOp::Log1p
        | MapOp::Sqrt
        | MapOp::Rsqrt
        | MapOp::Sin
        | MapOp::Cos
        | MapOp::Atan
        | MapOp::Tanh
        | MapOp::Sigmoid
        | MapOp::Erf
        | MapOp::Floor
        | MapOp::Ceil
        | MapOp::Round
        | MapOp::Pow
        | MapOp::MulAdd
        | MapOp::Threefry => unreachable!("`{}` is not defined for {dtype}", op.name()),
    }
}

/// What the name of a reduction over a workgroup ends with.
pub(super) fn suffix(op: ReduceOp, dtype: DType) -> &'static str {
    match op {
        ReduceOp::Sum | ReduceOp::Prod => "64",
        ReduceOp::Max | ReduceOp::Min => dtype.name(),
    }
}

/// Two values of a reduction as one.
pub(super) fn combine(op: ReduceOp, dtype: DType, a: &str, b: &str) -> String {
    match op {
        ReduceOp::Sum => format!("add_64({a}, {b})"),
        ReduceOp::Prod => format!("mul_64({a}, {b})"),
        ReduceOp::Max => format!("max_{dtype}({a}, {b})"),
        ReduceOp::Min => format!("min_{dtype}({a}, {b})"),
    }
}
