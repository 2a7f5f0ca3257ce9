//! What a value of the graph is in a file.

use crate::ir::model::ParamId;
use crate::ir::{Dim, Type};

/// A tensor of the file that broadcasts to a value, as ONNX's elementwise operators do by themselves.
#[derive(Clone, Debug)]
pub(super) struct Thin {
    /// Its name.
    pub(super) name: String,
    /// Its axes are the last ones of the value.
    pub(super) rank: usize,
    /// The axes of the value along which it repeats, ascending.
    pub(super) repeated: Vec<usize>,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Made {
    /// A tensor.
    Tensor(Thin),
    /// The elements of a tensor of another shape.
    Shaped(String, Vec<Dim>),
    /// The part of a parameter's stack at these indices.
    Stack(ParamId, Vec<i64>),
    /// The results of a region.
    Many(Vec<Made>),
}

impl Made {
    /// A tensor of the value's own shape.
    pub(super) fn full(name: String, ty: &Type) -> Made {
        Made::Tensor(Thin { name, rank: ty.rank(), repeated: vec![] })
    }

    /// A scalar that is every element.
    pub(super) fn uniform(name: String, ty: &Type) -> Made {
        let repeated = (0..ty.rank()).filter(|&axis| !ty.shape[axis].is(1)).collect();
        Made::Tensor(Thin { name, rank: 0, repeated })
    }
}

impl Thin {
    /// Whether it is the value itself.
    pub(super) fn is_whole(&self, ty: &Type) -> bool {
        self.rank == ty.rank() && self.repeated.is_empty()
    }
}
