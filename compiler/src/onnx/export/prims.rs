//! A primitive in, the nodes that compute it out: which family it is of.

use super::value::Made;
use super::writer::{Call, Writer};
use crate::ir::prim::{Prim, Scalar};

impl Writer<'_> {
    /// What a primitive gives.
    pub(super) fn prim(&mut self, call: Call<'_>, prim: &Prim) -> Made {
        let ty = call.ty();
        let name = match prim {
            Prim::Const(scalar) => return Made::uniform(self.constant(*scalar), ty),
            Prim::Extent(dim) => return Made::uniform(self.extent_scalar(dim), ty),
            Prim::Iota { shape, axis } => return self.iota(call, &shape[*axis], *axis),
            Prim::Map(op) => return self.map(call, *op),
            Prim::Convert(dtype) => return self.converted(call, *dtype),
            Prim::Barrier => return self.made[call.arg(0).0 as usize].clone(),
            Prim::Reshape(_) => return self.reshape(call),
            Prim::Broadcast { shape, axes } => return self.broadcast(call, shape, axes),
            Prim::Conv { windows } => return self.conv(call, windows),
            Prim::Reduce { op, axes } => self.reduce(call, *op, axes),
            Prim::ArgReduce { op, axis } => self.arg_reduce(call, *op, *axis),
            Prim::WindowReduce { op, windows } => return self.window_reduce(call, *op, windows),
            Prim::WindowArgMax { windows } => self.window_arg_max(call, windows),
            Prim::WindowTake { windows } => self.window_take(call, windows),
            Prim::WindowPut { windows, extents } => self.window_put(call, windows, extents),
            Prim::Transpose(permutation) => {
                let x = self.full(call, 0);
                self.transposed(&x, permutation)
            }
            Prim::Slice(cuts) => {
                let x = self.full(call, 0);
                self.sliced(&x, &call.arg_ty(0).shape, cuts)
            }
            Prim::SetSlice(cuts) => self.set_slice(call, cuts),
            Prim::Flip(axes) => {
                let x = self.full(call, 0);
                self.flipped(&x, axes)
            }
            Prim::Pad { borders, value } => {
                let x = self.full(call, 0);
                self.padded(&x, &call.arg_ty(0).shape, borders, *value)
            }
            Prim::Concat { axis } => {
                let args: Vec<String> = (0..call.node.args.len()).map(|k| self.full(call, k)).collect();
                self.joined(&args, *axis)
            }
            Prim::Contract { lhs, rhs, out } => self.contract(call, lhs, rhs, out),
            Prim::Gather { axis } => self.gather(call, *axis),
            Prim::ScatterAdd { axis, extent } => self.scatter_add(call, *axis, extent),
            Prim::Attend(_) => unreachable!("attention is written as its specification"),
        };
        Made::full(name, ty)
    }

    /// Zeros of a shape.
    pub(super) fn zeros(&mut self, ty: &crate::ir::Type) -> String {
        let (zero, shape) = (self.constant(Scalar::of(ty.dtype, 0.0)), self.shape(&ty.shape));
        self.op("Expand", &[&zero, &shape], vec![])
    }
}
