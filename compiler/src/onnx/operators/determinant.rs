//! Determinants: of small matrices by their first rows, of larger ones by elimination.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::graph::{Memory, Repeat};
use crate::ir::prim::{ArgOp, MapOp, Prim};
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};
use crate::ops::{Builder, OpError};

pub(super) const OPERATORS: &[Operator] = &[computes("Det", |n| one(determinant(n)))];

/// The most rows of a matrix whose determinant is written out: 24 products.
const WRITTEN_OUT: i64 = 4;

fn determinant(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let shape = n.b.shape(x);
    let (Some([rows, columns]), true) = (shape.last_chunk::<2>(), n.b.dtype(x).is_float()) else {
        return Err(Failure::new("it takes matrices of floats"));
    };
    if rows != columns {
        return Err(Failure::new(format!("{} has no determinant", n.b.ty(x))));
    }
    match rows.as_const() {
        Some(0) => Ok(n.b.full(n.b.dtype(x), &shape[..shape.len() - 2], 1.0)?),
        Some(rows @ 1..=WRITTEN_OUT) => minor(n, x, 0, &(0..rows).collect::<Vec<i64>>()),
        _ => eliminated(n, x),
    }
}

/// The determinant of the rows from one on and these columns.
fn minor(n: &mut Node<'_>, x: Value, row: i64, columns: &[i64]) -> Made {
    let shape = n.b.shape(x);
    let rank = shape.len();
    let mut sum: Option<Value> = None;
    for (k, &column) in columns.iter().enumerate() {
        let line = n.b.slice(x, rank - 2, row.into(), 1.into())?;
        let cell = n.b.slice(line, rank - 1, column.into(), 1.into())?;
        let mut term = n.b.reshape(cell, &shape[..rank - 2])?;
        if columns.len() > 1 {
            let others: Vec<i64> = columns.iter().copied().filter(|&other| other != column).collect();
            let rest = minor(n, x, row + 1, &others)?;
            term = n.b.mul(term, rest)?;
        }
        sum = Some(match sum {
            None => term,
            Some(sum) if k % 2 == 1 => n.b.sub(sum, term)?,
            Some(sum) => n.b.add(sum, term)?,
        });
    }
    sum.ok_or_else(|| Failure::new("a matrix without elements"))
}

/// The product of the pivots of Gauss's elimination, of which a turn clears a column below the largest of its elements.
fn eliminated(n: &mut Node<'_>, x: Value) -> Made {
    let shape = n.b.shape(x);
    let (lead, count) = (crate::ir::dim::product(&shape[..shape.len() - 2]), shape[shape.len() - 1].clone());
    let rows = n.b.reshape(x, &[lead.clone(), count.clone(), count.clone()])?;
    let start = n.b.full(n.b.dtype(x), &[lead], 1.0)?;
    let mut body = Graph::default();
    let mut inputs = vec![];
    for (k, value) in [rows, start].into_iter().enumerate() {
        inputs.push(body.push(Kind::Input(k), vec![], Some(n.b.ty(value).clone()), n.b.span));
    }
    let turn = body.push(Kind::Counter(0), vec![], Some(Type::new(DType::U32, vec![])), n.b.span);
    body.outputs = turned(&mut n.b.inside(&mut body), inputs[0], inputs[1], turn)?;
    let repeat = Repeat { count, reverse: false, carried: 2, stacked: 0, memory: Memory::default(), body };
    let made = n.b.graph.repeat(repeat, vec![rows, start], n.b.span);
    Ok(n.b.reshape(made[1], &shape[..shape.len() - 2])?)
}

/// `[matrix, row, column]` and the product of the pivots so far, behind a turn.
fn turned(b: &mut Builder<'_>, x: Value, product: Value, turn: Value) -> Result<Vec<Value>, OpError> {
    let shape = b.shape(x);
    let (column, wide) = (&shape[..2], [shape[0].clone(), 1.into(), shape[2].clone()]);
    let [row, across] = [b.iota(column, 1)?, b.iota(&wide, 2)?];
    let (is_own, is_turn) = (b.map(MapOp::Eq, &[across, turn])?, b.map(MapOp::Eq, &[row, turn])?);
    let cleared = among(b, is_own, x, 2)?;
    let size = b.unary(MapOp::Abs, cleared)?;
    let (is_done, below) = (b.map(MapOp::Lt, &[row, turn])?, b.constant(size, -1.0)?);
    let size = b.select(is_done, below, size)?;
    let largest = b.prim(Prim::ArgReduce { op: ArgOp::Max, axis: 1 }, &[size])?;
    let at = b.reshape(largest, &[shape[0].clone(), 1.into()])?;
    let is_largest = b.map(MapOp::Eq, &[row, at])?;
    let [pivot, own] = [among(b, is_largest, cleared, 1)?, among(b, is_turn, cleared, 1)?];
    // The row of the largest element and that of the turn change places.
    let rows = |b: &mut Builder<'_>, is_row: Value| -> Result<[Value; 2], OpError> {
        let is_row = b.reshape(is_row, &[shape[0].clone(), shape[1].clone(), 1.into()])?;
        let taken = among(b, is_row, x, 1)?;
        Ok([is_row, b.reshape(taken, &wide)?])
    };
    let [[is_low, low], [is_high, high]] = [rows(b, is_largest)?, rows(b, is_turn)?];
    let moved = b.select(is_low, high, x)?;
    let moved = b.select(is_high, low, moved)?;
    let single = [shape[0].clone(), Dim::from(1)];
    let [wide_pivot, wide_own] = [b.reshape(pivot, &single)?, b.reshape(own, &single)?];
    let cleared = b.select(is_largest, wide_own, cleared)?;
    // Where nothing but zeros is left, nothing is to be cleared.
    let (zero, unit) = (b.constant(pivot, 0.0)?, b.constant(pivot, 1.0)?);
    let is_zero = b.map(MapOp::Eq, &[wide_pivot, zero])?;
    let over = b.select(is_zero, unit, wide_pivot)?;
    let factor = b.div(cleared, over)?;
    let is_below = b.map(MapOp::Lt, &[turn, row])?;
    let factor = b.select(is_below, factor, zero)?;
    let factor = b.reshape(factor, &[shape[0].clone(), shape[1].clone(), 1.into()])?;
    let less = b.mul(factor, low)?;
    let next = b.sub(moved, less)?;
    let negative = b.unary(MapOp::Neg, pivot)?;
    let stays = b.map(MapOp::Eq, &[largest, turn])?;
    let signed = b.select(stays, pivot, negative)?;
    Ok(vec![next, b.mul(product, signed)?])
}

/// The elements along an axis where a condition holds, of which there is one.
fn among(b: &mut Builder<'_>, condition: Value, x: Value, axis: usize) -> Result<Value, OpError> {
    let zero = b.constant(x, 0.0)?;
    let kept = b.select(condition, x, zero)?;
    b.sum(kept, &[axis])
}
