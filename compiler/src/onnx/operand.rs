//! What a name of a file stands for while its graph is read.

use super::proto::TensorProto;
use super::{Failure, element};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Dim, Type, Value};
use crate::oracle::{Data, Tensor};
use std::cell::OnceCell;
use std::ops::Range;
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

/// A tensor that is known at build time. That of an initialiser is decoded when its elements are asked for, as those of weights are
/// not while a graph is read.
#[derive(Debug)]
pub struct Known {
    /// What the file calls it, where it is an initialiser; empty for what was computed.
    pub(super) name: String,
    /// Its type.
    pub(super) ty: Type,
    proto: TensorProto,
    tensor: OnceCell<Tensor>,
}

impl Known {
    /// An initialiser of a file.
    ///
    /// # Errors
    /// Where its elements are not what its type says.
    pub(super) fn initializer(proto: &TensorProto) -> Result<Known, Failure> {
        let ty = element::checked(proto)?;
        Ok(Known { name: proto.name.clone(), ty, proto: proto.clone(), tensor: OnceCell::new() })
    }

    /// A tensor of that name.
    pub(super) fn named(name: &str, tensor: Tensor) -> Known {
        let shape: Vec<Dim> = tensor.shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
        let ty = Type::new(tensor.data.dtype(), shape);
        Known { name: name.to_owned(), ty, proto: TensorProto::default(), tensor: OnceCell::from(tensor) }
    }

    /// Where its elements are in the bytes of the file that it was read from, if that holds floats as they are.
    pub(super) fn place(&self, file: &[u8]) -> Option<Range<usize>> {
        let raw = &self.proto.raw_data;
        let start = raw.as_ptr().addr().checked_sub(file.as_ptr().addr())?;
        let is_inside = !raw.is_empty() && start.checked_add(raw.len())? <= file.len();
        (is_inside && self.ty.dtype.is_float()).then(|| start..start + raw.len())
    }

    /// Its elements.
    pub fn tensor(&self) -> &Tensor {
        self.tensor.get_or_init(|| match element::tensor(&self.proto) {
            Ok(tensor) => tensor,
            Err(why) => unreachable!("it was checked: {why}"),
        })
    }

    /// The only element, if all are the same. Of weights nobody asks: what a program is does not depend on them.
    pub(super) fn uniform(&self) -> Option<Scalar> {
        if !self.name.is_empty() && self.ty.dtype.is_float() && self.ty.rank() > 0 {
            return None;
        }
        let data = &self.tensor().data;
        let first = (!data.is_empty()).then(|| data.element(0))?;
        (1..data.len()).all(|at| data.element(at) == first).then_some(first)
    }
}

impl Operand {
    /// A tensor without a name.
    pub(super) fn known(tensor: Tensor) -> Operand {
        Operand::Known(Rc::new(Known::named("", tensor)))
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
            Operand::Known(known) if known.ty.dtype.is_float() => None,
            Operand::Known(known) => match &known.tensor().data {
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
