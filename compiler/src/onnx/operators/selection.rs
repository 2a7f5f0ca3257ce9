//! What gives as many elements as a condition holds for, which must be known at build time.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::movement::pick;
use super::{Operator, moves, one};
use crate::ir::DType;
use crate::ir::prim::Scalar;
use crate::oracle::{Data, Tensor};

pub(super) const OPERATORS: &[Operator] = &[moves("Compress", |n| one(compress(n))), moves("NonZero", non_zero)];

/// The elements of an axis, or of all, for which the condition holds; those behind its end are left out.
fn compress(n: &mut Node<'_>) -> Made {
    let mut x = n.arg(0)?;
    let condition = n.known(1).ok_or_else(|| Failure::new("how many elements are kept is not known at build time"))?;
    let axis = match n.maybe_int("axis") {
        Some(axis) => n.axis_of(axis, n.b.rank(x))?,
        None => {
            x = n.b.reshape(x, &[n.b.ty(x).count()])?;
            0
        }
    };
    let kept = condition.tensor().data.numbers().into_iter().zip(0..).filter(|(holds, _)| *holds != 0.0);
    let kept: Vec<i64> = kept.map(|(_, at)| at).collect();
    let extent = n.b.shape(x)[axis].clone();
    if let (Some(last), Some(extent)) = (kept.last(), extent.as_const())
        && *last >= extent
    {
        return Err(Failure::new(format!("element {last} of {extent} is to be kept")));
    }
    pick(n, x, axis, &kept)
}

/// The indices of all elements that are not zero, a column for each.
fn non_zero(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let known = n.known(0).ok_or_else(|| Failure::new("how many elements are not zero is not known at build time"))?;
    let tensor = known.tensor();
    let is_zero = |x: Scalar| matches!(x, Scalar::Bool(false) | Scalar::Int(_, 0)) || x.as_f64() == 0.0;
    let places: Vec<usize> = (0..tensor.data.len()).filter(|&at| !is_zero(tensor.data.element(at))).collect();
    let rank = tensor.shape.len();
    n.room((places.len() * rank) as i64)?;
    let mut rows = vec![];
    let mut stride = tensor.data.len();
    for &extent in &tensor.shape {
        stride /= extent.max(1);
        rows.extend(places.iter().map(|at| (at / stride.max(1) % extent.max(1)) as i128));
    }
    Ok(vec![Operand::known(Tensor::new([rank, places.len()], Data::Int(DType::I64, rows)))])
}
