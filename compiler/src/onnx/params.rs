//! What a graph reads that the file knows: constants in, literals and parameters out.
//!
//! Always: a tensor of one value is a literal; any other is a parameter, as nothing grows with the elements of weights. Parameters
//! have one type, that of the model: numbers of other types lie in it exactly, integers of many bits as two of 24.

use super::node::Made;
use super::operand::{Known, type_of, uniform};
use crate::ir::model::{Init, Param, ParamId};
use crate::ir::prim::Prim;
use crate::ir::{Category, DType, Dim, Kind, Type, Value};
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
    pub(super) tensors: Vec<Tensor>,
    /// The values of those that have been read, by the address of what is known.
    read: BTreeMap<usize, (Rc<Known>, Value)>,
}

/// What an f32 holds exactly: integers below this one.
const EXACT: i128 = 1 << 24;

impl Params {
    /// A known tensor as a value.
    pub(super) fn value(&mut self, b: &mut Builder<'_>, known: &Rc<Known>) -> Made {
        let tensor = &known.tensor;
        let ty = type_of(tensor);
        match self {
            Params::Inputs(inputs) => {
                inputs.push(tensor.clone());
                Ok(b.graph.push(Kind::Input(inputs.len() - 1), vec![], Some(ty), b.span))
            }
            Params::Model(declared) => {
                let address = Rc::as_ptr(known).addr();
                if let Some((_, value)) = declared.read.get(&address) {
                    return Ok(*value);
                }
                let value = declared.read(b, known, &ty)?;
                declared.read.insert(address, (known.clone(), value));
                Ok(value)
            }
        }
    }
}

impl Declared {
    /// None yet, of that type.
    pub(super) fn new(float: DType) -> Declared {
        Declared { float, params: vec![], tensors: vec![], read: BTreeMap::new() }
    }

    fn read(&mut self, b: &mut Builder<'_>, known: &Known, ty: &Type) -> Made {
        if let Some(scalar) = uniform(&known.tensor) {
            let scalar = b.prim(Prim::Const(scalar), &[])?;
            return Ok(b.broadcast_to(scalar, &ty.shape)?);
        }
        if known.tensor.data.is_empty() {
            return Ok(b.full(ty.dtype, &ty.shape, 0.0)?);
        }
        let is_large = |data: &Data| matches!(data, Data::Int(_, all) if all.iter().any(|n| n.abs() > EXACT));
        if !is_large(&known.tensor.data) {
            let numbers = known.tensor.data.numbers();
            let value = self.declare(b, &known.name, numbers, &known.tensor.shape, ty.dtype.is_float());
            return Ok(b.convert(value, ty.dtype)?);
        }
        self.large(b, known, ty)
    }

    /// Integers of many bits, from parts of 24.
    fn large(&mut self, b: &mut Builder<'_>, known: &Known, ty: &Type) -> Made {
        let Data::Int(dtype, numbers) = &known.tensor.data else { unreachable!("only integers are so large") };
        let mut sum = None;
        for part in [0, 24, 48] {
            let parts = numbers.iter().map(|n| (n.cast_unsigned() >> part & (EXACT as u128 - 1)) as f64).collect();
            let value = self.declare(b, &format!("{}.{part}", known.name), parts, &known.tensor.shape, false);
            let value = b.convert(value, DType::U64)?;
            let value = b.with(crate::ir::prim::MapOp::Shl, value, f64::from(part))?;
            sum = Some(match sum {
                Some(sum) => b.map(crate::ir::prim::MapOp::Or, &[sum, value])?,
                None => value,
            });
        }
        let Some(sum) = sum else { unreachable!("there are three parts") };
        let sum = if dtype.category() == Category::Signed { b.convert(sum, DType::I64)? } else { sum };
        Ok(b.convert(sum, ty.dtype)?)
    }

    /// A parameter of that name, which is made unique.
    fn declare(&mut self, b: &mut Builder<'_>, name: &str, numbers: Vec<f64>, shape: &[usize], trained: bool) -> Value {
        let float = self.float;
        let id = ParamId(self.params.len() as u32);
        let name = if name.is_empty() { format!("constant_{}", id.0) } else { name.to_owned() };
        let extents: Vec<Dim> = shape.iter().map(|&extent| Dim::from(extent as i64)).collect();
        let ty = Type::new(float, extents);
        self.tensors.push(Tensor::new(shape.to_vec(), Data::Float(float, numbers)));
        self.params.push(Param {
            fields: vec![name.clone()],
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
