//! What a graph reads that the file knows: constants in, literals and parameters out.
//!
//! Always: a constant of one value is a literal; any other is a parameter, as nothing grows with the elements of weights, and so is
//! every weight, whatever its elements are. Parameters have one type, that of the model: numbers of other types lie in it exactly,
//! integers of many bits as parts of 24. No two have one name, and none a `*`, which stands for an index in names of the runtime.

use super::names::Names;
use super::node::Made;
use super::operand::{Identity, Known, Operand};
use super::{roll, symbolic};
use crate::ir::model::{Init, Param, ParamId, Turn};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Graph, Kind, Type, Value};
use crate::ops::Builder;
use crate::oracle::{Data, Tensor};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

/// Where tensors go that a graph reads.
pub(super) enum Params {
    /// They become inputs of a graph: one that is evaluated at once, or the body of a loop, which has others `before` them.
    Inputs { before: usize, known: Vec<Rc<Known>> },
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
    pub(super) tensors: Vec<Weight>,
    /// Those that have been read, weights apart from numbers of the program: two weights of one place are one parameter.
    read: BTreeMap<(Identity, bool), Read>,
}

/// What a parameter is.
#[derive(Clone, Debug)]
pub struct Weight {
    /// One tensor of the file, or one for each turn of a region that reads a stack of them.
    pub(super) turns: Vec<Rc<Known>>,
}

impl Weight {
    /// Its elements: those of a stack along an axis in front.
    pub fn elements(&self) -> Tensor {
        match self.turns.as_slice() {
            [only] => only.elements().clone(),
            all => Tensor::stack(&all.iter().map(|known| known.elements()).collect::<Vec<&Tensor>>()),
        }
    }

    /// Whether they are such.
    pub(super) fn is_of(&self, dtype: DType) -> bool {
        self.turns.iter().any(|known| known.ty.dtype == dtype)
    }
}

/// A known tensor that has been read.
struct Read {
    /// It keeps its address.
    _known: Rc<Known>,
    value: Value,
    /// The parameters that it is.
    params: Range<usize>,
}

/// An f32 holds integers up to this one exactly.
const EXACT: i128 = 1 << 24;

impl Params {
    /// Those of a graph that has so many other inputs before them.
    pub(super) fn inputs(before: usize) -> Params {
        Params::Inputs { before, known: vec![] }
    }

    /// What became inputs.
    pub(super) fn into_known(self) -> Vec<Rc<Known>> {
        match self {
            Params::Inputs { known, .. } => known,
            Params::Model(_) => vec![],
        }
    }

    /// An operand as a value.
    pub(super) fn operand(&mut self, b: &mut Builder<'_>, operand: &Operand) -> Made {
        match operand {
            Operand::Value(value) => Ok(*value),
            Operand::Known(known) => self.known(b, known, false),
            Operand::Dims(dims) => symbolic::value(b, dims),
        }
    }

    /// A known tensor as a value, which training changes if it is a weight of floats, and nothing reads it as `fixed`.
    pub(super) fn known(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, fixed: bool) -> Made {
        match self {
            Params::Inputs { before, known: inputs } => {
                let place = inputs.iter().position(|own| Rc::ptr_eq(own, known));
                let place = place.unwrap_or_else(|| {
                    inputs.push(known.clone());
                    inputs.len() - 1
                });
                Ok(b.graph.push(Kind::Input(*before + place), vec![], Some(known.ty.clone()), b.span))
            }
            Params::Model(declared) => match known.value() {
                Some(value) => Ok(value),
                None => declared.known(b, known, fixed),
            },
        }
    }
}

impl Declared {
    /// None yet, of that type.
    pub(super) fn new(float: DType) -> Declared {
        Declared { float, params: vec![], tensors: vec![], read: BTreeMap::new() }
    }

    fn known(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, fixed: bool) -> Made {
        let identity = (known.identity(), known.is_weight());
        if !self.read.contains_key(&identity) {
            let first = self.params.len();
            let value = self.read(b, known)?;
            let params = first..self.params.len();
            self.read.insert(identity.clone(), Read { _known: known.clone(), value, params });
        }
        let Some(read) = self.read.get(&identity) else { unreachable!("it was put there") };
        if fixed {
            self.params[read.params.clone()].iter_mut().for_each(|param| param.trained = false);
        }
        Ok(read.value)
    }

    fn read(&mut self, b: &mut Builder<'_>, known: &Rc<Known>) -> Made {
        let ty = &known.ty;
        if let Some(scalar) = known.uniform() {
            let scalar = b.prim(Prim::Const(scalar), &[])?;
            return Ok(b.broadcast_to(scalar, &ty.shape)?);
        }
        if ty.count().is(0) {
            return Ok(b.full(ty.dtype, &ty.shape, 0.0)?);
        }
        if ty.dtype.is_integer()
            && ty.dtype.bits() > 16
            && let Data::Int(_, numbers) = &known.elements().data
            && numbers.iter().any(|n| n.abs() > EXACT)
        {
            return self.in_parts(b, known, numbers);
        }
        let value = self.declare(b, known, &known.name, ty.dtype.is_float() && !known.name.is_empty());
        Ok(b.convert(value, ty.dtype)?)
    }

    /// Integers of many bits.
    fn in_parts(&mut self, b: &mut Builder<'_>, known: &Known, numbers: &[i128]) -> Made {
        let mut whole = None;
        for first in [0, 24, 48] {
            let part = |n: &i128| (n.cast_unsigned() >> first & (EXACT as u128 - 1)) as f64;
            let part = Data::Float(DType::F32, numbers.iter().map(part).collect());
            let part = Known::named(&known.name, Tensor::new(known.elements().shape.clone(), part));
            let name = if known.name.is_empty() { String::new() } else { format!("{}.{first}", known.name) };
            let value = self.declare(b, &Rc::new(part), &name, false);
            let value = b.convert(value, DType::U64)?;
            let value = b.with(MapOp::Shl, value, f64::from(first))?;
            whole = Some(whole.map_or(Ok(value), |whole| b.map(MapOp::Or, &[whole, value]))?);
        }
        let Some(whole) = whole else { unreachable!("there are three parts") };
        Ok(b.convert(whole, known.ty.dtype)?)
    }

    /// A parameter that is to have that name.
    fn declare(&mut self, b: &mut Builder<'_>, known: &Rc<Known>, name: &str, trained: bool) -> Value {
        let id = ParamId(self.params.len() as u32);
        let ty = Type::new(self.float, known.ty.shape.clone());
        self.tensors.push(Weight { turns: vec![known.clone()] });
        self.params.push(Param {
            fields: vec![],
            name: name.to_owned(),
            ty: ty.clone(),
            stack: vec![],
            turns: vec![],
            init: Init::Zeros,
            trained,
            scales: None,
            offset: 0,
            span: b.span,
        });
        b.graph.push(Kind::Param(id), vec![], Some(ty), b.span)
    }

    /// A graph without what none of its results needs, and with regions for layers that are alike; of the parameters those are left
    /// that it reads, and have names then.
    pub(super) fn finished(&mut self, graph: Graph) -> Graph {
        let (mut made, mut ids) = (pruned(graph), BTreeMap::new());
        made.nodes.iter_mut().for_each(|node| renumber(&mut node.kind, &mut ids));
        let mut old: Vec<(ParamId, ParamId)> = ids.into_iter().map(|(old, new)| (new, old)).collect();
        old.sort_unstable();
        self.params = old.iter().map(|(_, old)| self.params[old.0 as usize].clone()).collect();
        self.tensors = old.iter().map(|(_, old)| self.tensors[old.0 as usize].clone()).collect();
        name(&mut self.params, &self.tensors);
        let (made, stacks) = roll::rolled(made, &self.params);
        self.stack(&stacks);
        pruned(made)
    }

    /// Makes parameters of those that they consist of: one, or one for each turn.
    fn stack(&mut self, stacks: &[Vec<ParamId>]) {
        let turn = |id: &ParamId| {
            let Param { name, fields, .. } = &self.params[id.0 as usize];
            Turn { name: name.clone(), field: fields.concat() }
        };
        let stacked = |ids: &Vec<ParamId>| {
            let first = self.params[ids[0].0 as usize].clone();
            match ids.len() {
                1 => first,
                n => Param { name: "*".into(), stack: vec![n as i64], turns: ids.iter().map(turn).collect(), ..first },
            }
        };
        let params = stacks.iter().map(stacked).collect();
        let tensor = |id: &ParamId| self.tensors[id.0 as usize].turns.iter().cloned();
        self.tensors = stacks.iter().map(|ids| Weight { turns: ids.iter().flat_map(tensor).collect() }).collect();
        self.params = params;
    }
}

/// A graph without what none of its results needs.
fn pruned(graph: Graph) -> Graph {
    let mut live = vec![false; graph.nodes.len()];
    graph.outputs.iter().for_each(|output| live[output.0 as usize] = true);
    for value in graph.values().rev() {
        if live[value.0 as usize] {
            graph.node(value).args.iter().for_each(|arg| live[arg.0 as usize] = true);
        }
    }
    let (mut made, mut new) = (Graph::default(), vec![]);
    for (mut node, live) in graph.nodes.into_iter().zip(live) {
        // Arguments stay, as callers give them.
        if !live && !matches!(node.kind, Kind::Input(_)) {
            new.push(Value(u32::MAX));
            continue;
        }
        node.args.iter_mut().for_each(|arg| *arg = new[arg.0 as usize]);
        made.nodes.push(node);
        new.push(Value(made.nodes.len() as u32 - 1));
    }
    made.outputs = graph.outputs.iter().map(|output| new[output.0 as usize]).collect();
    made
}

/// Names parameters: first what the file calls so, then what has no name there or cannot keep it, so that no name of the file is
/// another one's.
fn name(params: &mut [Param], tensors: &[Weight]) {
    let (mut names, mut fields) = (Names::default(), Names::default());
    let is_own =
        |param: &Param, known: &Known| !param.name.is_empty() && param.name == known.name && !param.name.contains('*');
    let (own, others): (Vec<usize>, Vec<usize>) =
        (0..params.len()).partition(|&k| tensors[k].turns.iter().all(|known| is_own(&params[k], known)));
    for k in own.into_iter().chain(others) {
        let param = &mut params[k];
        let wanted = if param.name.is_empty() { format!("constant_{k}") } else { param.name.replace('*', "_") };
        param.name = names.unique(wanted);
        param.fields = vec![fields.identifier(&param.name)];
    }
}

/// Numbers parameters in the order in which they are met, in bodies too.
fn renumber(kind: &mut Kind, ids: &mut BTreeMap<ParamId, ParamId>) {
    if let Kind::Param(id) = kind {
        let next = ParamId(ids.len() as u32);
        *id = *ids.entry(*id).or_insert(next);
    }
    for body in kind.bodies_mut() {
        body.nodes.iter_mut().for_each(|node| renumber(&mut node.kind, ids));
    }
}
