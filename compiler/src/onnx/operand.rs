//! What a name of a file stands for while its graph is read.

use super::proto::TensorProto;
use super::{Failure, File, element};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Dim, Type, Value};
use crate::oracle::{Data, Tensor};
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// The most elements of a `Constant` node of floats that are numbers of a formula (bounds, scales, a matrix of colours); more are a
/// weight.
const OF_A_FORMULA: usize = 16;

/// The most integers of an initialiser that are computed with at build time wherever that is possible; more are a weight.
const OF_A_TABLE: usize = 1 << 12;

/// A value of an ONNX graph.
#[derive(Clone, Debug)]
pub(super) enum Operand {
    /// A node of the graph that is made.
    Value(Value),
    /// A tensor that is known at build time.
    Known(Rc<Known>),
    /// Numbers of which some depend on named dimensions: what operators make of shapes.
    Dims(Dims),
}

/// Numbers of which some depend on named dimensions.
#[derive(Clone, Debug)]
pub(super) struct Dims {
    /// Their type.
    pub(super) dtype: DType,
    /// The shape of the tensor.
    pub(super) shape: Vec<usize>,
    /// The numbers, row-major, each multiplied by `over`.
    pub(super) dims: Vec<Dim>,
    /// What they are divided by: 1 where they are integers.
    pub(super) over: i64,
}

/// What tells tensors from one another as long as there are some: where their elements are in memory, what type these have, and the
/// extents.
pub(super) type Identity = (usize, i32, Vec<i64>);

/// What is known of elements.
#[derive(Default, Debug)]
struct Elements {
    tensor: OnceCell<Tensor>,
    /// Whether what the program is depends on them.
    decides: Cell<bool>,
}

/// The elements that are bytes of a file, as they are, however many tensors name their place.
#[derive(Default, Debug)]
pub(super) struct Places(BTreeMap<Identity, Rc<Elements>>);

/// A tensor that is known at build time. That of an initialiser is decoded when its elements are asked for, as those of weights are
/// not while a graph is read.
#[derive(Debug)]
pub(super) struct Known {
    /// What the file calls it, where it is an initialiser or a constant that is as large as one; empty for what was computed.
    pub(super) name: String,
    /// Its type.
    pub(super) ty: Type,
    proto: TensorProto,
    elements: Rc<Elements>,
    /// What it is in the graph and what it was computed from, where weights were among that.
    made: Option<(Value, Vec<Rc<Known>>)>,
}

impl Known {
    /// An initialiser of a file.
    ///
    /// # Errors
    /// Where its elements are not what its type says.
    pub(super) fn initializer(proto: &TensorProto, places: &mut Places) -> Result<Known, Failure> {
        Known::of_file(proto, proto.name.clone(), places)
    }

    /// The tensor of a `Constant` node with a result of that name.
    ///
    /// # Errors
    /// As of [`Known::initializer`].
    pub(super) fn constant(proto: &TensorProto, name: &str, places: &mut Places) -> Result<Known, Failure> {
        let mut known = Known::of_file(proto, String::new(), places)?;
        if known.ty.dtype.is_float() && known.len() > OF_A_FORMULA || known.is_table() {
            known.name = name.to_owned();
        }
        Ok(known)
    }

    fn of_file(proto: &TensorProto, name: String, places: &mut Places) -> Result<Known, Failure> {
        let ty = element::checked(proto)?;
        let mut known = Known { name, ty, proto: proto.clone(), elements: Rc::default(), made: None };
        if known.is_raw() {
            known.elements = places.0.entry(known.identity()).or_default().clone();
        }
        Ok(known)
    }

    /// A tensor of that name.
    pub(super) fn named(name: &str, tensor: Tensor) -> Known {
        let shape: Vec<Dim> = tensor.shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
        let ty = Type::new(tensor.data.dtype(), shape);
        let elements = Rc::new(Elements { tensor: OnceCell::from(tensor), decides: Cell::new(false) });
        Known { name: name.to_owned(), ty, proto: TensorProto::default(), elements, made: None }
    }

    /// What a value of the graph is as long as the weights are those of the file.
    pub(super) fn of_weights(tensor: Tensor, value: Value, sources: Vec<Rc<Known>>) -> Known {
        let mut known = Known::named("", tensor);
        known.made = Some((value, sources));
        known
    }

    /// The value of the graph that it is, where weights are computed with.
    pub(super) fn value(&self) -> Option<Value> {
        self.made.as_ref().map(|(value, _)| *value)
    }

    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.ty.count().as_const().unwrap_or(0) as usize
    }

    /// Whether its elements are bytes of the file, as they are.
    pub(super) fn is_raw(&self) -> bool {
        !self.proto.raw_data.is_empty()
    }

    /// Whether it is large and lies in the file.
    fn is_table(&self) -> bool {
        self.len() > OF_A_TABLE && self.is_raw()
    }

    /// Whether it may be another one in another file, so that what reads it stays in the graph.
    pub(super) fn is_weight(&self) -> bool {
        // Integers of 8 bits are quantised floats, where others are indices and shapes.
        let is_number = self.ty.dtype.is_float() || self.ty.dtype.is_integer() && self.ty.dtype.bits() == 8;
        let is_named = !self.name.is_empty() && (is_number && self.ty.rank() > 0 || self.is_table());
        is_named || self.made.is_some()
    }

    /// Where its elements are in the file that it was read from, if that holds them as they are, no other tensor lies on them, and
    /// nothing but values depends on them.
    pub(super) fn place(&self, file: &File) -> Option<Range<usize>> {
        file.place(&self.proto.raw_data).filter(|_| !self.elements.decides.get())
    }

    /// What tells it from others.
    pub(super) fn identity(&self) -> Identity {
        let raw = &self.proto.raw_data;
        let address = if self.is_raw() { raw.as_ptr().addr() } else { std::ptr::from_ref(self).addr() };
        (address, self.proto.data_type, self.proto.dims.clone())
    }

    /// Its elements, on which no decision is to depend.
    pub(super) fn elements(&self) -> &Tensor {
        self.elements.tensor.get_or_init(|| match element::tensor(&self.proto) {
            Ok(tensor) => tensor,
            Err(why) => unreachable!("it was checked: {why}"),
        })
    }

    /// Its elements, on which the program depends from now on.
    pub(super) fn tensor(&self) -> &Tensor {
        let mut rest = vec![self];
        while let Some(known) = rest.pop() {
            if !known.elements.decides.replace(true) {
                rest.extend(known.made.iter().flat_map(|(_, sources)| sources.iter().map(Rc::as_ref)));
            }
        }
        self.elements()
    }

    /// The only element, if all are the same, which is then part of the program. Of weights nobody asks.
    pub(super) fn uniform(&self) -> Option<Scalar> {
        if self.is_weight() {
            return None;
        }
        let data = &self.elements().data;
        let first = (!data.is_empty()).then(|| data.element(0))?;
        let is_one = (1..data.len()).all(|at| data.element(at) == first);
        is_one.then(|| {
            self.elements.decides.set(true);
            first
        })
    }
}

impl Drop for Known {
    /// Node by node, as chains are as long as files say.
    fn drop(&mut self) {
        let mut rest = self.made.take().map_or(vec![], |(_, sources)| sources);
        while let Some(source) = rest.pop() {
            if let Some(mut known) = Rc::into_inner(source) {
                rest.extend(known.made.take().into_iter().flat_map(|(_, sources)| sources));
            }
        }
    }
}

impl Operand {
    /// A tensor without a name.
    pub(super) fn known(tensor: Tensor) -> Operand {
        Operand::Known(Rc::new(Known::named("", tensor)))
    }

    /// Integers as i64, known ones as a tensor.
    pub(super) fn dims(shape: Vec<usize>, dims: Vec<Dim>) -> Operand {
        Dims::integers(DType::I64, shape, dims).into()
    }

    /// The elements as integers.
    pub(super) fn as_dims(&self) -> Option<Vec<Dim>> {
        match self {
            Operand::Dims(Dims { dtype, dims, .. }) if !dtype.is_float() => Some(dims.clone()),
            Operand::Value(_) | Operand::Dims(_) => None,
            Operand::Known(known) if known.ty.dtype.is_float() => None,
            Operand::Known(known) => match &known.tensor().data {
                Data::Int(_, numbers) => numbers.iter().map(|&n| i64::try_from(n).ok().map(Dim::from)).collect(),
                Data::Bool(bits) => Some(bits.iter().map(|&bit| i64::from(bit).into()).collect()),
                Data::Float(..) => None,
            },
        }
    }
}

impl Dims {
    /// Integers as numbers of a type.
    pub(super) fn integers(dtype: DType, shape: Vec<usize>, dims: Vec<Dim>) -> Dims {
        Dims { dtype, shape, dims, over: 1 }
    }

    /// Others of the same type.
    pub(super) fn like(&self, shape: Vec<usize>, dims: Vec<Dim>) -> Operand {
        Dims { dtype: self.dtype, shape, dims, over: self.over }.into()
    }
}

impl From<Dims> for Operand {
    fn from(dims: Dims) -> Operand {
        let number = |dim: &Dim| dim.as_const().map(|n| n as f64 / dims.over as f64);
        let integer = |dim: &Dim| dim.as_const().map(i128::from);
        let data = match dims.dtype.is_float() {
            true => dims.dims.iter().map(number).collect::<Option<_>>().map(|all| Data::Float(dims.dtype, all)),
            false => dims.dims.iter().map(integer).collect::<Option<_>>().map(|all| Data::Int(dims.dtype, all)),
        };
        match data {
            Some(data) => Operand::known(Tensor::new(dims.shape, data)),
            None => Operand::Dims(dims),
        }
    }
}

impl From<Value> for Operand {
    fn from(value: Value) -> Operand {
        Operand::Value(value)
    }
}
