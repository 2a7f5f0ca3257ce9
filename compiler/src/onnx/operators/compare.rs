//! Comparisons, logic, and what chooses by them.

use super::super::node::{Made, Node};
use super::arithmetic::pair;
use super::{Operator, computes, moves, one};
use crate::ir::DType;
use crate::ir::prim::MapOp;

pub(super) const OPERATORS: &[Operator] = &[
    computes("Equal", |n| one(compare(n, MapOp::Eq, false))),
    computes("Less", |n| one(compare(n, MapOp::Lt, false))),
    computes("LessOrEqual", |n| one(compare(n, MapOp::Le, false))),
    computes("Greater", |n| one(compare(n, MapOp::Lt, true))),
    computes("GreaterOrEqual", |n| one(compare(n, MapOp::Le, true))),
    moves("And", |n| one(compare(n, MapOp::And, false))),
    moves("Or", |n| one(compare(n, MapOp::Or, false))),
    moves("Xor", |n| one(compare(n, MapOp::Xor, false))),
    moves("Not", |n| one(not(n))),
    moves("Where", |n| one(choose(n))),
    computes("IsNaN", |n| one(is_nan(n))),
    computes("IsInf", |n| one(is_infinite(n))),
];

fn compare(n: &mut Node<'_>, op: MapOp, exchanged: bool) -> Made {
    let [a, b] = pair(n)?;
    let args = if exchanged { [b, a] } else { [a, b] };
    Ok(n.b.map(op, &args)?)
}

fn not(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    Ok(n.b.unary(MapOp::Not, x)?)
}

fn choose(n: &mut Node<'_>) -> Made {
    let [condition, a, b] = [n.arg(0)?, n.arg(1)?, n.arg(2)?];
    Ok(n.b.select(condition, a, b)?)
}

fn is_nan(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    Ok(n.b.map(MapOp::Ne, &[x, x])?)
}

fn is_infinite(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let mut found = None;
    for (name, infinity) in [("detect_positive", f64::INFINITY), ("detect_negative", f64::NEG_INFINITY)] {
        if n.int(name, 1) != 0 {
            let is = n.b.with(MapOp::Eq, x, infinity)?;
            found = Some(found.map_or(Ok(is), |other| n.b.map(MapOp::Or, &[other, is]))?);
        }
    }
    let shape = n.b.shape(x);
    Ok(found.map_or_else(|| n.b.full(DType::Bool, &shape, 0.0), Ok)?)
}
