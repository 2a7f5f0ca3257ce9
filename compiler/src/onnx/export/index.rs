//! Positions: their lists, what is read at them, and what is added there.

use super::attributes::{int, text};
use super::value::{Made, Thin};
use super::writer::{Call, Writer};
use crate::ir::dim::product;
use crate::ir::prim::{MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};

/// How many nodes back a position is looked at to see that it is inside.
const DEPTH: usize = 8;

/// Whether positions are known to be below an extent.
fn is_below(graph: &Graph, value: Value, extent: &Dim, depth: usize) -> bool {
    let node = graph.node(value);
    let Kind::Prim(prim) = &node.kind else { return false };
    let fits = |most: &Dim| most == extent || (extent.clone() - most.clone()).as_const().is_some_and(|rest| rest >= 0);
    let arg = |k: usize| depth > 0 && is_below(graph, node.args[k], extent, depth - 1);
    match prim {
        Prim::Const(Scalar::Int(_, number)) => fits(&Dim::from(*number as i64 + 1)),
        Prim::Iota { shape, axis } => fits(&shape[*axis]),
        Prim::ArgReduce { axis, .. } => fits(&graph.ty(node.args[0]).shape[*axis]),
        Prim::Reshape(_) | Prim::Transpose(_) | Prim::Broadcast { .. } | Prim::Slice(_) | Prim::Flip(_) => arg(0),
        Prim::Concat { .. } => (0..node.args.len()).all(arg),
        Prim::Map(MapOp::Min) => arg(0) || arg(1),
        Prim::Map(MapOp::Max) => arg(0) && arg(1),
        Prim::Map(MapOp::Select) => arg(1) && arg(2),
        Prim::Map(MapOp::Rem) => match super::maps::literal(graph, node.args[1]) {
            Some(Scalar::Int(_, by)) if by > 0 => fits(&Dim::from(by as i64)),
            _ => false,
        },
        _ => false,
    }
}

impl Writer<'_> {
    /// Numbers from a first one on, `step` apart.
    pub(super) fn range(&mut self, len: &Dim, first: &Dim, step: i64) -> String {
        let end = first.clone() + len.clone() * Dim::from(step);
        let (first, end, step) = (self.extent_scalar(first), self.extent_scalar(&end), self.number(step));
        self.op("Range", &[&first, &end, &step], vec![])
    }

    /// The position of each element along an axis.
    pub(super) fn iota(&mut self, call: Call<'_>, len: &Dim, axis: usize) -> Made {
        let ty = call.ty();
        let name = self.range(len, &Dim::from(0), 1);
        let name = self.behind(name, ty.rank() - axis - 1);
        let repeated = (0..ty.rank()).filter(|&other| other != axis && !ty.shape[other].is(1)).collect();
        Made::Tensor(Thin { name, rank: ty.rank() - axis, repeated })
    }

    /// A tensor with axes of one element behind its own.
    fn behind(&mut self, x: String, count: usize) -> String {
        if count == 0 {
            return x;
        }
        let axes: Vec<i64> = (1..=count).map(|axis| -(axis as i64)).rev().collect();
        let axes = self.list(&axes);
        self.op("Unsqueeze", &[&x, &axes], vec![])
    }

    /// A list along an axis of a shape.
    pub(super) fn along(&mut self, list: &str, axis: usize, shape: &[Dim]) -> String {
        let list = self.behind(list.into(), shape.len() - axis - 1);
        let shape = self.shape(shape);
        self.op("Expand", &[&list, &shape], vec![])
    }

    /// Reads at positions.
    pub(super) fn gather(&mut self, call: Call<'_>, axis: usize) -> String {
        let (data, index) = (call.arg_ty(0), call.arg_ty(1));
        let (x, at) = (self.full(call, 0), self.full(call, 1));
        let extent = &data.shape[axis];
        if is_below(call.graph, call.arg(1), extent, DEPTH) {
            return self.op("Gather", &[&x, &at], vec![int("axis", axis as i64)]);
        }
        let outside = Scalar::outside(data.dtype);
        if extent.is(0) {
            return self.filled(call.ty(), outside);
        }
        let (end, zero) = (self.extent(extent), self.number(0));
        let end = if index.rank() == 0 { self.op("Squeeze", &[&end], vec![]) } else { end };
        let is_inside = self.op("Less", &[&at, &end], vec![]);
        let at = self.op("Where", &[&is_inside, &at, &zero], vec![]);
        let read = self.op("Gather", &[&x, &at], vec![int("axis", axis as i64)]);
        let is_inside = self.behind(is_inside, data.rank() - axis - 1);
        if data.dtype == DType::Bool {
            return self.op("And", &[&is_inside, &read], vec![]);
        }
        let outside = self.constant(outside);
        self.op("Where", &[&is_inside, &read, &outside], vec![])
    }

    /// Adds at positions. What is outside goes to one more place, which is left out.
    pub(super) fn scatter_add(&mut self, call: Call<'_>, axis: usize, extent: &Dim) -> String {
        let (updates, index, to) = (call.arg_ty(0), call.arg_ty(1), call.ty());
        let end = axis + index.rank();
        let count = product(&index.shape);
        let flat = [&updates.shape[..axis], std::slice::from_ref(&count), &updates.shape[end..]].concat();
        let values = self.shaped(call, 0, &flat);
        let at = self.shaped(call, 1, &[count]);
        let last = self.extent(extent);
        let at = self.op("Min", &[&at, &last], vec![]);
        let at = self.along(&at, axis, &flat);
        let mut shape = to.shape.clone();
        shape[axis] = extent.clone() + Dim::from(1);
        let zeros = self.zeros(&Type::new(to.dtype, shape));
        let made = self.added(&zeros, &at, &values, axis, to.dtype);
        self.part(&made, axis, &0.into(), extent)
    }

    /// Adds values to a tensor, each at a position along an axis.
    pub(super) fn added(&mut self, to: &str, at: &str, values: &str, axis: usize, dtype: DType) -> String {
        let attributes = vec![int("axis", axis as i64), text("reduction", "add")];
        let made = self.op("ScatterElements", &[to, at, values], attributes);
        self.wrapped(made, dtype)
    }
}
