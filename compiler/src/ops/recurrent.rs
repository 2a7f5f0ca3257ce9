//! What recurrent layers share: parameters with PyTorch's names, and layers over time in both directions.
//!
//! Where sequences have lengths, the state of one that has ended stays as it is and its output is zero, as in PyTorch's packed
//! sequences; nothing that stands after the end has an effect. Between layers elements may be dropped in training.
//!
//! The products with a layer's input are made for all steps at once, outside of the region over time, of which a
//! step has the product with the state and one elementwise kernel. Between layers time comes first.

use super::dropout::{drop, probability};
use super::{AttrDecl, AttrKind, Attrs, Builder, LayerParam, OpError};
use crate::diag::Code;
use crate::ir::graph::{Memory, Repeat};
use crate::ir::model::Init;
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};

/// The attributes of the ops.
pub(super) const OP_ATTRS: &[AttrDecl] = &[LAYERS, BIDIRECTIONAL, BIAS, DROPOUT];

/// The attributes of the layers.
pub(super) const LAYER_ATTRS: &[AttrDecl] = &[
    AttrDecl::required("input", AttrKind::Int, "features of the argument"),
    AttrDecl::required("hidden", AttrKind::Int, "features of the state"),
    LAYERS,
    BIDIRECTIONAL,
    BIAS,
    DROPOUT,
];

const LAYERS: AttrDecl =
    AttrDecl::optional("layers", AttrKind::Int, "1", "layers, each over the output of the one before");
const BIDIRECTIONAL: AttrDecl =
    AttrDecl::optional("bidirectional", AttrKind::Bool, "false", "whether a second state runs backwards in time");
const BIAS: AttrDecl = AttrDecl::optional("bias", AttrKind::Bool, "true", "whether learnt offsets are added");
const DROPOUT: AttrDecl = AttrDecl::optional(
    "dropout",
    AttrKind::Float,
    "0.0",
    "the probability with which elements between layers are zero in training, from 0 to 1",
);

/// PyTorch's names of the parameters of a layer, forwards and backwards in time.
type Names = [[&'static str; 4]; 2];

macro_rules! names {
    ($($layer:literal)*) => {
        [$([
            [
                concat!("weight_ih_l", $layer),
                concat!("weight_hh_l", $layer),
                concat!("bias_ih_l", $layer),
                concat!("bias_hh_l", $layer),
            ],
            [
                concat!("weight_ih_l", $layer, "_reverse"),
                concat!("weight_hh_l", $layer, "_reverse"),
                concat!("bias_ih_l", $layer, "_reverse"),
                concat!("bias_hh_l", $layer, "_reverse"),
            ],
        ]),*]
    };
}

/// The names of as many layers as one field may have.
const NAMES: [Names; 8] = names!(0 1 2 3 4 5 6 7);

/// How many layers, directions and parameters of each, and what is dropped between layers.
#[derive(Clone, Copy)]
struct Plan {
    layers: usize,
    directions: usize,
    each: usize,
    dropout: f64,
}

impl Plan {
    fn of(attrs: &Attrs) -> Result<Plan, OpError> {
        let layers = attrs.positive("layers")? as usize;
        if layers > NAMES.len() {
            let message = format!("{layers} layers are more than {}, the most of one field", NAMES.len());
            return Err(OpError::new(Code::WrongAttribute, message).attr("layers"));
        }
        let directions = if attrs.flag("bidirectional") { 2 } else { 1 };
        let dropout = probability(attrs, "dropout")?;
        Ok(Plan { layers, directions, each: if attrs.flag("bias") { 4 } else { 2 }, dropout })
    }

    fn params(self) -> usize {
        self.layers * self.directions * self.each
    }
}

/// The parameters of a layer whose products give `gates` times the features of the state.
pub(super) fn params(attrs: &Attrs, gates: i64) -> Result<Vec<LayerParam>, OpError> {
    let (input, hidden, plan) = (attrs.positive("input")?, attrs.positive("hidden")?, Plan::of(attrs)?);
    // PyTorch's, for all of them.
    let init = Init::Uniform { bound: 1.0 / (hidden as f64).sqrt() };
    let mut params = vec![];
    for (layer, names) in NAMES.iter().take(plan.layers).enumerate() {
        let features = if layer == 0 { input } else { hidden * plan.directions as i64 };
        let rows = Dim::from(gates * hidden);
        for names in names.iter().take(plan.directions) {
            let shapes = [vec![rows.clone(), features.into()], vec![rows.clone(), hidden.into()]];
            let offsets = [vec![rows.clone()], vec![rows.clone()]];
            let all = names.iter().zip(shapes.into_iter().chain(offsets)).take(plan.each);
            params.extend(all.map(|(name, shape)| LayerParam { name, shape, init: init.clone(), trained: true }));
        }
    }
    Ok(params)
}

/// The op's attributes, from the layer's.
pub(super) fn op_attrs(attrs: &Attrs) -> Attrs {
    attrs.only(&OP_ATTRS.iter().map(|decl| decl.name).collect::<Vec<_>>())
}

/// One step of a kind of recurrent layer.
pub(super) struct Cell {
    /// Rows of the products for each feature of the state.
    pub(super) gates: i64,
    /// How many tensors the state has; the first is the output.
    pub(super) states: usize,
    /// The next state from the products with the input and with the state, and from the state.
    pub(super) step: Step,
}

/// Writes one step.
type Step = fn(&mut Builder<'_>, Value, Value, &[Value]) -> Result<Vec<Value>, OpError>;

/// The output for every step, and the last state of every layer and direction.
pub(super) fn run(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs, cell: &Cell) -> Result<Vec<Value>, OpError> {
    let plan = Plan::of(attrs)?;
    let (lengths, args) = lengths(b, args, plan.params())?;
    let given = args.len().checked_sub(1 + plan.params());
    let Some(states) = given.filter(|n| *n == 0 || *n == cell.states) else {
        let state = if cell.states == 1 { "a state" } else { "both tensors of a state" };
        let message =
            format!("`{{callee}}` takes a sequence, {state} to begin with or none, and `lengths` of type u32 or none");
        return Err(OpError::new(Code::WrongArity, message));
    };
    let (start, weights) = args[1..].split_at(states);
    if let Some(other) = args[1..].iter().find(|&&arg| b.dtype(arg) != b.dtype(args[0])) {
        let (x, other) = (b.ty(args[0]).clone(), b.ty(*other).clone());
        let message = format!("`{{callee}}` needs one float type, but {{0}} is {x}, beside {other}");
        return Err(OpError::new(Code::MixedDtype, message)
            .arg(0)
            .help(format!("convert it: `{{0}}.{}()`", other.dtype)));
    }
    check(b, &args, states, weights, (plan, cell))?;
    let mut x = match lengths {
        Some(lengths) => until(b, args[0], lengths)?,
        None => args[0],
    };
    let mut last: Vec<Vec<Value>> = vec![vec![]; cell.states];
    for layer in 0..plan.layers {
        let mut outputs = vec![];
        for direction in 0..plan.directions {
            let at = layer * plan.directions + direction;
            let weights = &weights[at * plan.each..][..plan.each];
            let first = if layer == 0 { "btk,nk->tbn" } else { "tbk,nk->tbn" };
            let products = b.contract(first, x, weights[0])?;
            let start = begin(b, products, weights[1], start, (at, cell.states))?;
            let time = Time { reverse: direction == 1, lengths };
            let results = over_time(b, products, weights, start, time, cell)?;
            outputs.push(results[cell.states]);
            last.iter_mut().zip(&results).for_each(|(all, state)| all.push(*state));
        }
        x = if outputs.len() == 1 { outputs[0] } else { b.prim(Prim::Concat { axis: 2 }, &outputs)? };
        if layer + 1 < plan.layers {
            x = drop(b, x, plan.dropout, None)?;
        }
    }
    let mut results = vec![b.transpose(x, &[1, 0, 2])?];
    for states in last {
        results.push(stack(b, &states)?);
    }
    Ok(results)
}

/// The lengths of the sequences, if they are given, and the other arguments, of which the last are so many parameters.
fn lengths(b: &Builder<'_>, args: &[Value], params: usize) -> Result<(Option<Value>, Vec<Value>), OpError> {
    // States have three axes, so that one axis is that of lengths of another type.
    let given = args.len().saturating_sub(params).max(1);
    let mistyped = || args[1..given].iter().position(|v| b.shape(*v).len() == 1);
    let at = args.iter().skip(1).position(|v| !b.dtype(*v).is_float()).or_else(mistyped);
    let Some(at) = at.map(|at| at + 1) else {
        return Ok((None, args.to_vec()));
    };
    let wanted = Type::new(DType::U32, [b.shape(args[0])[0].clone()]);
    if *b.ty(args[at]) != wanted {
        let message = format!(
            "the lengths of `{{callee}}` are {wanted}, one for each sequence, but {{{at}}} is {}",
            b.ty(args[at])
        );
        let error = OpError::new(Code::ShapeMismatch, message).arg(at);
        return Err(match b.ty(args[at]).shape == wanted.shape {
            true => error.help(format!("convert them: `{{{at}}}.u32()`")),
            false => error,
        });
    }
    let others = args.iter().enumerate().filter(|(k, _)| *k != at).map(|(_, v)| *v).collect();
    Ok((Some(args[at]), others))
}

/// `x[b, t, k]` where `t` is before the end of sequence `b`, zero elsewhere: what stands there may be anything.
fn until(b: &mut Builder<'_>, x: Value, lengths: Value) -> Result<Value, OpError> {
    let shape = b.shape(x);
    let steps = b.iota(&[1.into(), shape[1].clone(), 1.into()], 1)?;
    let ends = b.reshape(lengths, &[shape[0].clone(), 1.into(), 1.into()])?;
    let inside = b.map(MapOp::Lt, &[steps, ends])?;
    let zero = b.constant(x, 0.0)?;
    b.select(inside, x, zero)
}

/// The argument has the features of the first weight, and states are those of all layers and directions.
fn check(
    b: &Builder<'_>,
    args: &[Value],
    states: usize,
    weights: &[Value],
    (plan, cell): (Plan, &Cell),
) -> Result<(), OpError> {
    let (x, weight) = (b.shape(args[0]), b.shape(weights[0]));
    let hidden = b.shape(weights[1])[1].clone();
    if weight[0] != hidden.clone() * Dim::from(cell.gates) {
        let message = format!("the weights of `{{callee}}` are {} and {}", b.ty(weights[0]), b.ty(weights[1]));
        return Err(OpError::new(Code::ShapeMismatch, message));
    }
    if x[2] != weight[1] {
        let message = format!("`{{callee}}` takes {} features, but {{0}} has {}", weight[1], x[2]);
        return Err(OpError::new(Code::WrongFeatures, message).arg(0));
    }
    let wanted = Type::new(b.dtype(args[0]), [(plan.layers * plan.directions).into(), x[0].clone(), hidden]);
    match (1..=states).find(|&k| *b.ty(args[k]) != wanted) {
        Some(k) => {
            let message =
                format!("`{{callee}}` begins with a state of type {wanted}, but {{{k}}} is {}", b.ty(args[k]));
            Err(OpError::new(Code::ShapeMismatch, message).arg(k))
        }
        None => Ok(()),
    }
}

/// The first state of a layer and direction: a part of what is given, or zeros.
fn begin(
    b: &mut Builder<'_>,
    products: Value,
    weight: Value,
    given: &[Value],
    (at, states): (usize, usize),
) -> Result<Vec<Value>, OpError> {
    let shape = [b.shape(products)[1].clone(), b.shape(weight)[1].clone()];
    if given.is_empty() {
        let dtype = b.dtype(products);
        let zeros = b.full(dtype, &shape, 0.0)?;
        return Ok(vec![zeros; states]);
    }
    let part = |&state: &Value| {
        let slice = b.slice(state, 0, at.into(), 1.into())?;
        b.reshape(slice, &shape)
    };
    given.iter().map(part).collect()
}

/// In which order the steps are made, and how many of each sequence count.
#[derive(Clone, Copy)]
struct Time {
    reverse: bool,
    lengths: Option<Value>,
}

/// The region over time: the last state, then the output of every step.
fn over_time(
    b: &mut Builder<'_>,
    products: Value,
    weights: &[Value],
    start: Vec<Value>,
    time: Time,
    cell: &Cell,
) -> Result<Vec<Value>, OpError> {
    let products = match weights.get(2) {
        Some(&bias) => b.add(products, bias)?,
        None => products,
    };
    let carried = start.len();
    let mut args: Vec<Value> = start.into_iter().chain([products, weights[1]]).chain(weights.get(3).copied()).collect();
    args.extend(time.lengths);
    let mut body = Graph::default();
    let mut inputs = vec![];
    for (k, &arg) in args.iter().enumerate() {
        let ty = b.ty(arg);
        let ty = if k == carried { Type::new(ty.dtype, &ty.shape[1..]) } else { ty.clone() };
        inputs.push(body.push(Kind::Input(k), vec![], Some(ty), b.span));
    }
    let ends = time.lengths.and_then(|_| inputs.pop());
    let (state, rest) = inputs.split_at(carried);
    let mut inner = b.inside(&mut body);
    let of_state = inner.contract("bk,nk->bn", state[0], rest[1])?;
    let of_state = match rest.get(2) {
        Some(&bias) => inner.add(of_state, bias)?,
        None => of_state,
    };
    let mut next = (cell.step)(&mut inner, rest[0], of_state, state)?;
    let mut output = next[0];
    if let Some(ends) = ends {
        (next, output) = hold(&mut inner, ends, state, &next)?;
    }
    body.outputs = next.iter().copied().chain([output]).collect();
    let count = b.shape(products)[0].clone();
    let reverse = time.reverse;
    let repeat = Repeat { count, reverse, carried, stacked: 1, memory: Memory::default(), body };
    Ok(b.graph.repeat(repeat, args, b.span))
}

/// The next state and the output of a step: where a sequence has ended, the state as it was, and zero.
pub(crate) fn hold(
    b: &mut Builder<'_>,
    ends: Value,
    old: &[Value],
    next: &[Value],
) -> Result<(Vec<Value>, Value), OpError> {
    let step = b.graph.push(Kind::Counter(0), vec![], Some(Type::scalar(DType::U32)), b.span);
    let ends = b.reshape(ends, &[b.shape(ends)[0].clone(), 1.into()])?;
    let inside = b.map(MapOp::Lt, &[step, ends])?;
    let mut kept = vec![];
    for (&old, &next) in old.iter().zip(next) {
        kept.push(b.select(inside, next, old)?);
    }
    let zero = b.constant(next[0], 0.0)?;
    Ok((kept, b.select(inside, next[0], zero)?))
}

/// The tensors under a new first axis.
fn stack(b: &mut Builder<'_>, values: &[Value]) -> Result<Value, OpError> {
    let mut parts = vec![];
    for &value in values {
        let shape: Vec<Dim> = [Dim::from(1)].into_iter().chain(b.shape(value)).collect();
        parts.push(b.reshape(value, &shape)?);
    }
    if let [only] = parts[..] { Ok(only) } else { b.prim(Prim::Concat { axis: 0 }, &parts) }
}

/// The k-th of equal parts of the last axis, each as wide as `like`.
pub(super) fn gate(b: &mut Builder<'_>, x: Value, k: i64, like: Value) -> Result<Value, OpError> {
    let len = b.shape(like)[1].clone();
    b.slice(x, 1, len.clone() * Dim::from(k), len)
}
