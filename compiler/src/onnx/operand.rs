//! What a name of a file stands for while its graph is read.

use crate::ir::{DType, Dim, Type, Value};
use crate::oracle::{Data, Tensor};
use std::rc::Rc;

/// A value of an ONNX graph.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A node of the graph that is made.
    Value(Value),
    /// A tensor that is known at build time.
    Known(Rc<Known>),
    /// Integers of which some are named dimensions, row-major: what operators make of shapes.
    Dims(Vec<usize>, Vec<Dim>),
}

/// A tensor that is known at build time.
#[derive(Debug)]
pub(super) struct Known {
    /// What the file calls it; empty for what was computed.
    pub(super) name: String,
    /// The tensor.
    pub(super) tensor: Tensor,
}

impl Operand {
    /// A tensor without a name.
    pub(super) fn known(tensor: Tensor) -> Operand {
        Operand::Known(Rc::new(Known { name: String::new(), tensor }))
    }

    /// Integers as i64, known ones as a tensor.
    pub(super) fn dims(shape: Vec<usize>, dims: Vec<Dim>) -> Operand {
        let numbers: Option<Vec<i128>> = dims.iter().map(|dim| dim.as_const().map(i128::from)).collect();
        match numbers {
            Some(numbers) => Operand::known(Tensor::new(shape, Data::Int(DType::I64, numbers))),
            None => Operand::Dims(shape, dims),
        }
    }

    /// The elements as integers.
    pub(super) fn as_dims(&self) -> Option<Vec<Dim>> {
        match self {
            Operand::Value(_) => None,
            Operand::Dims(_, dims) => Some(dims.clone()),
            Operand::Known(known) => match &known.tensor.data {
                Data::Int(_, numbers) => numbers.iter().map(|&n| i64::try_from(n).ok().map(Dim::from)).collect(),
                Data::Bool(bits) => Some(bits.iter().map(|&bit| i64::from(bit).into()).collect()),
                Data::Float(..) => None,
            },
        }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand::Value(value)
    }
}

/// The type of a tensor.
pub(super) fn type_of(tensor: &Tensor) -> Type {
    let shape: Vec<Dim> = tensor.shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
    Type::new(tensor.data.dtype(), shape)
}

/// The only element, if all are the same.
pub(super) fn uniform(tensor: &Tensor) -> Option<crate::ir::prim::Scalar> {
    let first = (!tensor.data.is_empty()).then(|| tensor.data.element(0))?;
    (1..tensor.data.len()).all(|at| tensor.data.element(at) == first).then_some(first)
}
