//! Reductions of axes.

use super::attributes::int;
use super::writer::{Call, Writer};
use crate::ir::prim::{ArgOp, ReduceOp, Scalar};
use crate::ir::{DType, Type};

/// What nothing gives.
pub(super) fn neutral(op: ReduceOp, dtype: DType) -> Scalar {
    let (least, greatest) = dtype.integers();
    match op {
        ReduceOp::Sum => Scalar::of(dtype, 0.0),
        ReduceOp::Prod => Scalar::of(dtype, 1.0),
        ReduceOp::Max if dtype.is_float() => Scalar::Float(dtype, f64::NEG_INFINITY),
        ReduceOp::Min if dtype.is_float() => Scalar::Float(dtype, f64::INFINITY),
        ReduceOp::Max => Scalar::Int(dtype, least),
        ReduceOp::Min => Scalar::Int(dtype, greatest),
    }
}

impl Writer<'_> {
    /// A reduction.
    pub(super) fn reduce(&mut self, call: Call<'_>, op: ReduceOp, axes: &[usize]) -> String {
        let from = call.arg_ty(0);
        if axes.iter().any(|&axis| from.shape[axis].is(0)) {
            let (value, shape) = (self.constant(neutral(op, from.dtype)), self.shape(&call.ty().shape));
            return self.op("Expand", &[&value, &shape], vec![]);
        }
        let x = self.full(call, 0);
        self.reduced(&x, from.dtype, op, axes)
    }

    /// A reduction of a tensor.
    pub(super) fn reduced(&mut self, x: &str, dtype: DType, op: ReduceOp, axes: &[usize]) -> String {
        let name = match op {
            ReduceOp::Sum => "ReduceSum",
            ReduceOp::Max => "ReduceMax",
            ReduceOp::Min => "ReduceMin",
            ReduceOp::Prod => "ReduceProd",
        };
        let is_extreme = matches!(op, ReduceOp::Max | ReduceOp::Min);
        let axes = self.list(&axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>());
        let x = if is_extreme { self.comparable(x, dtype) } else { x.into() };
        let made = self.op(name, &[&x, &axes], vec![int("keepdims", 0)]);
        if is_extreme { self.comparable(&made, dtype) } else { self.wrapped(made, dtype) }
    }

    /// Integers of 64 bits without a sign, and back from there, as integers that compare in the same way.
    pub(super) fn comparable(&mut self, x: &str, dtype: DType) -> String {
        if dtype != DType::U64 {
            return x.into();
        }
        let sign = self.number(i64::MIN);
        self.op("BitwiseXor", &[x, &sign], vec![])
    }

    /// The place of the first extreme.
    pub(super) fn arg_reduce(&mut self, call: Call<'_>, op: ArgOp, axis: usize) -> String {
        let (x, dtype) = (self.full(call, 0), call.arg_ty(0).dtype);
        let x = if dtype == DType::Bool { self.cast(&x, DType::I32) } else { self.comparable(&x, dtype) };
        let name = match op {
            ArgOp::Max => "ArgMax",
            ArgOp::Min => "ArgMin",
        };
        self.op(name, &[&x], vec![int("axis", axis as i64), int("keepdims", 0)])
    }

    /// A type's number as every element.
    pub(super) fn filled(&mut self, ty: &Type, scalar: Scalar) -> String {
        let (value, shape) = (self.constant(scalar), self.shape(&ty.shape));
        self.op("Expand", &[&value, &shape], vec![])
    }
}
