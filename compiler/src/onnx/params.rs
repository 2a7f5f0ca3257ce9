//! What a graph reads that the file knows: constants in, literals and parameters out.
//!
//! Always: a constant of one value is a literal; any other is a parameter, as nothing grows with the elements of weights, and so is
//! every initialiser of floats, whatever its elements are. Parameters have one type, that of the model: numbers of other types lie in
//! it exactly, integers of many bits as parts of 24.

use super::names::identifier;
use super::node::Made;
use super::operand::{Known, Operand};
use crate::ir::model::{Init, Param, ParamId};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Kind, Type, Value};
use crate::ops::Builder;
use crate::oracle::{Data, Tensor};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Where tensors go that a graph reads.
pub(super) enum Params {
    /// They become arguments of a graph that is evaluated at once.
    Inputs(Vec<Tensor>),
    /// They become parameters of a model.
    Model(Declared),
}

/// The parameters of a model so far.
pub(super) struct Declared {
    /// Their type.
    float: DType,
    /// As the model declares them.
    pub(super) params: Vec<Param>,
    /// What they are, in their order.
    pub(super) tensors: Vec<Rc<Known>>,
    /// The fields that they are.
    fields: Vec<String>,
    /// The values of those that have been read, by the address of what is known.
    read: BTreeMap<usize, (Rc<Known>, Value)>,
}

/// An f32 holds integers up to this one exactly.
const EXACT: i128 = 1 << 24;

impl Params {
    /// An operand as a value.
    pub(super) fn operand(&mut self, b: &mut Builder<'_>, operand: &Operand) -> Made {
        match operand {
            Operand::Value(value) => Ok(*value),
            Operand::Known(known) => self.known(b, known, false),
            Operand::Dims(shape, dims) => {
                let mut elements = vec![];
                for dim in dims {
                    let extent = b.extent_u32(dim)?;
                    let element = b.convert(extent, DType::I64)?;
                    elements.push(b.reshape(element, &[1.into()])?);
                }
                let all = b.prim(Prim::Concat { axis: 0 }, &elements)?;
                let shape: Vec<Dim> = shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
                Ok(b.reshape(all, &shape)?)
            }
        }
    }

    /// A known tensor as a value, which training changes if it is an initialiser of floats, and not `fixed`.
    pub(super) fn known(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, fixed: bool) -> Made {
        match self {
            Params::Inputs(inputs) => {
                inputs.push(known.tensor().clone());
                Ok(b.graph.push(Kind::Input(inputs.len() - 1), vec![], Some(known.ty.clone()), b.span))
            }
            Params::Model(declared) => {
                let address = Rc::as_ptr(known).addr();
                if let Some((_, value)) = declared.read.get(&address) {
                    return Ok(*value);
                }
                let value = declared.read(b, known, fixed)?;
                declared.read.insert(address, (known.clone(), value));
                Ok(value)
            }
        }
    }
}

impl Declared {
    /// None yet, of that type.
    pub(super) fn new(float: DType) -> Declared {
        Declared { float, params: vec![], tensors: vec![], fields: vec![], read: BTreeMap::new() }
    }

    fn read(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, fixed: bool) -> Made {
        let ty = &known.ty;
        if let Some(scalar) = known.uniform() {
            let scalar = b.prim(Prim::Const(scalar), &[])?;
            return Ok(b.broadcast_to(scalar, &ty.shape)?);
        }
        if ty.count().is(0) {
            return Ok(b.full(ty.dtype, &ty.shape, 0.0)?);
        }
        if ty.dtype.is_float() {
            let trained = !known.name.is_empty() && !fixed;
            let value = self.declare(b, known, trained);
            return Ok(b.convert(value, ty.dtype)?);
        }
        match &known.tensor().data {
            Data::Int(_, all) if all.iter().any(|n| n.abs() > EXACT) => self.in_parts(b, known, all),
            data => {
                let numbers = Tensor::new(known.tensor().shape.clone(), Data::Float(DType::F32, data.numbers()));
                let value = self.declare(b, &Rc::new(Known::named(&known.name, numbers)), false);
                Ok(b.convert(value, ty.dtype)?)
            }
        }
    }

    /// Integers of many bits.
    fn in_parts(&mut self, b: &mut Builder<'_>, known: &Known, numbers: &[i128]) -> Made {
        let mut whole = None;
        for first in [0, 24, 48] {
            let part = |n: &i128| (n.cast_unsigned() >> first & (EXACT as u128 - 1)) as f64;
            let part = Data::Float(DType::F32, numbers.iter().map(part).collect());
            let part =
                Known::named(&format!("{}.{first}", known.name), Tensor::new(known.tensor().shape.clone(), part));
            let value = self.declare(b, &Rc::new(part), false);
            let value = b.convert(value, DType::U64)?;
            let value = b.with(MapOp::Shl, value, f64::from(first))?;
            whole = Some(whole.map_or(Ok(value), |whole| b.map(MapOp::Or, &[whole, value]))?);
        }
        let Some(whole) = whole else { unreachable!("there are three parts") };
        Ok(b.convert(whole, known.ty.dtype)?)
    }

    /// A parameter of that name, or of a number where it has none.
    fn declare(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, trained: bool) -> Value {
        let id = ParamId(self.params.len() as u32);
        let name = if known.name.is_empty() { format!("constant_{}", id.0) } else { known.name.clone() };
        let ty = Type::new(self.float, known.ty.shape.clone());
        let field = identifier(&name, &self.fields);
        self.fields.push(field.clone());
        self.tensors.push(known.clone());
        self.params.push(Param {
            fields: vec![field],
            name,
            ty: ty.clone(),
            stack: vec![],
            init: Init::Zeros,
            trained,
            scales: None,
            offset: 0,
            span: b.span,
        });
        b.graph.push(Kind::Param(id), vec![], Some(ty), b.span)
    }
}
