//! Products of matrices.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] =
    &[computes("MatMul", |n| one(product(n))), computes("Gemm", |n| one(gemm(n)))];

fn product(n: &mut Node<'_>) -> Made {
    let [a, b] = [n.arg(0)?, n.arg(1)?];
    matmul(n, a, b)
}

/// NumPy's product: vectors are rows on the left and columns on the right, leading axes broadcast.
pub(super) fn matmul(n: &mut Node<'_>, a: Value, b: Value) -> Made {
    let [mut a, mut b] = [a, b];
    let [is_row, is_column] = [n.b.rank(a) == 1, n.b.rank(b) == 1];
    if is_row {
        a = n.b.reshape(a, &[&[Dim::from(1)], &n.b.shape(a)[..]].concat())?;
    }
    if is_column {
        b = n.b.reshape(b, &[&n.b.shape(b)[..], &[Dim::from(1)]].concat())?;
    }
    let [left, right] = [n.b.shape(a), n.b.shape(b)];
    let (Some(left_lead), Some(right_lead)) = (left.len().checked_sub(2), right.len().checked_sub(2)) else {
        return Err(Failure::new("a scalar is no matrix"));
    };
    let made = match right_lead {
        // One matrix on the right: all rows are of one product.
        0 => contract(n, a, b, left_lead, 0)?,
        _ => {
            let lead = lead(n, &left[..left_lead], &right[..right_lead])?;
            let wide = [lead.clone(), left[left_lead..].to_vec()].concat();
            let a = n.b.broadcast_to(a, &wide)?;
            let wide = [lead.clone(), right[right_lead..].to_vec()].concat();
            let b = n.b.broadcast_to(b, &wide)?;
            contract(n, a, b, lead.len(), lead.len())?
        }
    };
    let mut shape = n.b.shape(made);
    let columns = shape.len() - 1;
    if is_column {
        shape.remove(columns);
    }
    if is_row {
        shape.remove(columns - 1);
    }
    Ok(n.b.reshape(made, &shape)?)
}

/// What leading axes broadcast to.
fn lead(n: &mut Node<'_>, a: &[Dim], b: &[Dim]) -> Made<Vec<Dim>> {
    let a = n.b.full(DType::Bool, a, 0.0)?;
    let b = n.b.full(DType::Bool, b, 0.0)?;
    Ok(n.b.common_shape(&[a, b])?)
}

fn contract(n: &mut Node<'_>, a: Value, b: Value, left: usize, right: usize) -> Made {
    if !n.b.dtype(a).is_float() {
        return integers(n, a, b);
    }
    let label = |k: usize| b'a' + k as u8;
    if left.max(right) > 20 {
        return Err(Failure::new("more than 22 axes"));
    }
    let lead: Vec<u8> = (0..left).map(label).collect();
    let shared: Vec<u8> = (0..right).map(label).collect();
    let lhs = [&lead[..], b"xy"].concat();
    let (rhs, out) = ([&shared[..], b"yz"].concat(), [&lead[..], b"xz"].concat());
    Ok(n.b.prim(Prim::Contract { lhs, rhs, out }, &[a, b])?)
}

/// Products of integers, which are added up as such. Only the left one may have leading axes of its own.
fn integers(n: &mut Node<'_>, a: Value, b: Value) -> Made {
    let [left, right] = [n.b.shape(a), n.b.shape(b)];
    let (rank, under) = (left.len(), right.len());
    let column = [&left[..], &[Dim::from(1)]].concat();
    let row = [&right[..under - 2], &[Dim::from(1)], &right[under - 2..]].concat();
    let [a, b] = [n.b.reshape(a, &column)?, n.b.reshape(b, &row)?];
    let products = n.b.mul(a, b)?;
    let dtype = n.b.dtype(a);
    let sum = n.b.sum(products, &[rank - 1])?;
    Ok(n.b.convert(sum, dtype)?)
}

/// `alpha · a · b + beta · c`, with either matrix transposed.
fn gemm(n: &mut Node<'_>) -> Made {
    let [a, b] = [n.arg(0)?, n.arg(1)?];
    if n.b.rank(a) != 2 || n.b.rank(b) != 2 {
        return Err(Failure::new("it takes matrices"));
    }
    let (alpha, beta) = (n.float("alpha", 1.0), n.float("beta", 1.0));
    let [a, b] = [turned(n, a, "transA")?, turned(n, b, "transB")?];
    let mut made = contract(n, a, b, 0, 0)?;
    if alpha != 1.0 {
        made = n.b.with(MapOp::Mul, made, alpha)?;
    }
    if let Some(mut c) = n.maybe(2)? {
        if beta != 1.0 {
            c = n.b.with(MapOp::Mul, c, beta)?;
        }
        made = n.b.add(made, c)?;
    }
    Ok(made)
}

/// A matrix, transposed if an attribute says so.
fn turned(n: &mut Node<'_>, x: Value, name: &str) -> Made {
    if n.flag(name) { Ok(n.b.transpose(x, &[1, 0])?) } else { Ok(x) }
}
