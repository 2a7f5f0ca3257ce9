//! Recurrent layers: a region over time for each direction, of which a turn has the product with the state and one step.
//!
//! The products with the input are made for all turns at once, before the region. Where sequences have lengths, the state of one
//! that has ended stays as it is, and its outputs are zero.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, all, computes};
use crate::ir::graph::{Memory, Repeat};
use crate::ir::prim::MapOp;
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};
use crate::ops::{Builder, OpError, hold};

pub(super) const OPERATORS: &[Operator] = &[
    computes("RNN", |n| Ok(all(run(n, &RNN)?))),
    computes("GRU", |n| Ok(all(run(n, &GRU)?))),
    computes("LSTM", |n| Ok(all(run(n, &LSTM)?))),
];

/// A kind of layer.
struct Cell {
    /// Rows of the products for each feature of the state.
    gates: i64,
    /// How many tensors the state has; the first one is the output.
    states: usize,
    /// The activations of a step, in their order, where the node names none.
    activations: &'static [&'static str],
    /// The next state.
    step: Next,
}

/// Of a step, the product with its input, and the state, the next state.
type Next = fn(&Step<'_>, &mut Builder<'_>, Value, &[Value]) -> Result<Vec<Value>, OpError>;

static RNN: Cell = Cell { gates: 1, states: 1, activations: &["Tanh"], step: rnn };
static GRU: Cell = Cell { gates: 3, states: 1, activations: &["Sigmoid", "Tanh"], step: gru };
static LSTM: Cell = Cell { gates: 4, states: 2, activations: &["Sigmoid", "Tanh", "Tanh"], step: lstm };

/// What a step reads besides the product with its input and the state.
struct Step<'s> {
    activations: &'s [Activation],
    clip: Option<f64>,
    /// `[gates · hidden, hidden]`
    weight: Value,
    bias: Option<Value>,
    /// Of the three gates, by which each feature of the cell is multiplied.
    peepholes: Option<Value>,
    /// Whether the reset gate multiplies the product with the state, rather than the state.
    linear_before_reset: bool,
    /// Whether what is forgotten is what is not written.
    input_forget: bool,
}

/// An activation with its two numbers.
#[derive(Clone)]
struct Activation {
    name: String,
    alpha: f64,
    beta: f64,
}

impl Activation {
    /// Its name, and what its numbers are where the node gives none.
    const ALL: &[(&str, f64, f64)] = &[
        ("Relu", 0.0, 0.0),
        ("Tanh", 0.0, 0.0),
        ("Sigmoid", 0.0, 0.0),
        ("Softsign", 0.0, 0.0),
        ("Softplus", 0.0, 0.0),
        ("Affine", 1.0, 0.0),
        ("LeakyRelu", 0.01, 0.0),
        ("ThresholdedRelu", 1.0, 0.0),
        ("ScaledTanh", 1.0, 1.0),
        ("HardSigmoid", 0.2, 0.5),
        ("Elu", 1.0, 0.0),
    ];

    fn apply(&self, b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
        match self.name.as_str() {
            "Tanh" => b.unary(MapOp::Tanh, x),
            "Sigmoid" => b.unary(MapOp::Sigmoid, x),
            "Relu" => b.with(MapOp::Max, x, 0.0),
            "Softsign" => {
                let size = b.unary(MapOp::Abs, x)?;
                let under = b.with(MapOp::Add, size, 1.0)?;
                b.div(x, under)
            }
            "Softplus" => {
                let power = b.unary(MapOp::Exp, x)?;
                b.unary(MapOp::Log1p, power)
            }
            "Affine" => self.line(b, x),
            "HardSigmoid" => {
                let line = self.line(b, x)?;
                let low = b.with(MapOp::Max, line, 0.0)?;
                b.with(MapOp::Min, low, 1.0)
            }
            "ScaledTanh" => {
                let scaled = b.with(MapOp::Mul, x, self.beta)?;
                let tanh = b.unary(MapOp::Tanh, scaled)?;
                b.with(MapOp::Mul, tanh, self.alpha)
            }
            "ThresholdedRelu" => {
                let (limit, zero) = (b.constant(x, self.alpha)?, b.constant(x, 0.0)?);
                let is_above = b.map(MapOp::Lt, &[limit, x])?;
                b.select(is_above, x, zero)
            }
            name => {
                let is_negative = b.with(MapOp::Lt, x, 0.0)?;
                let below = if name == "Elu" { b.unary(MapOp::Expm1, x)? } else { x };
                let below = b.with(MapOp::Mul, below, self.alpha)?;
                b.select(is_negative, below, x)
            }
        }
    }

    fn line(&self, b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
        let scaled = b.with(MapOp::Mul, x, self.alpha)?;
        b.with(MapOp::Add, scaled, self.beta)
    }
}

impl Step<'_> {
    fn activate(&self, b: &mut Builder<'_>, k: usize, x: Value) -> Result<Value, OpError> {
        let x = match self.clip {
            Some(clip) => {
                let low = b.with(MapOp::Max, x, -clip)?;
                b.with(MapOp::Min, low, clip)?
            }
            None => x,
        };
        self.activations[k].apply(b, x)
    }

    /// The product with the state, and the offset.
    fn of_state(&self, b: &mut Builder<'_>, state: Value) -> Result<Value, OpError> {
        let product = b.contract("bk,nk->bn", state, self.weight)?;
        self.bias.map_or(Ok(product), |bias| b.add(product, bias))
    }
}

/// The k-th of parts of an axis, each of as many elements as the state has features.
fn part(b: &mut Builder<'_>, x: Value, axis: usize, k: i64, count: i64, like: Value) -> Result<Value, OpError> {
    let hidden = b.shape(like)[1].clone();
    b.slice(x, axis, hidden.clone() * Dim::from(k), hidden * Dim::from(count))
}

fn rnn(step: &Step<'_>, b: &mut Builder<'_>, of_input: Value, state: &[Value]) -> Result<Vec<Value>, OpError> {
    let of_state = step.of_state(b, state[0])?;
    let sum = b.add(of_input, of_state)?;
    Ok(vec![step.activate(b, 0, sum)?])
}

/// `(1 − z) · h̃ + z · h`, with the gates in the order update, reset, hidden.
fn gru(step: &Step<'_>, b: &mut Builder<'_>, of_input: Value, state: &[Value]) -> Result<Vec<Value>, OpError> {
    let h = state[0];
    let (both, new) = (part(b, of_input, 1, 0, 2, h)?, part(b, of_input, 1, 2, 1, h)?);
    let apart = |b: &mut Builder<'_>, k, count| -> Result<Step<'_>, OpError> {
        let weight = part(b, step.weight, 0, k, count, h)?;
        let bias = step.bias.map(|bias| part(b, bias, 0, k, count, h)).transpose()?;
        Ok(Step { weight, bias, activations: step.activations, clip: step.clip, peepholes: None, ..*step })
    };
    let (gates, hidden) = match step.linear_before_reset {
        true => {
            let of_state = step.of_state(b, h)?;
            (part(b, of_state, 1, 0, 2, h)?, Some(part(b, of_state, 1, 2, 1, h)?))
        }
        false => (apart(b, 0, 2)?.of_state(b, h)?, None),
    };
    let sum = b.add(both, gates)?;
    let gates = step.activate(b, 0, sum)?;
    let (z, r) = (part(b, gates, 1, 0, 1, h)?, part(b, gates, 1, 1, 1, h)?);
    let of_state = match hidden {
        Some(hidden) => b.mul(r, hidden)?,
        None => {
            let reset = b.mul(r, h)?;
            apart(b, 2, 1)?.of_state(b, reset)?
        }
    };
    let sum = b.add(new, of_state)?;
    let new = step.activate(b, 1, sum)?;
    let difference = b.sub(h, new)?;
    let kept = b.mul(z, difference)?;
    Ok(vec![b.add(new, kept)?])
}

/// `c = f · c + i · c̃`, `h = o · tanh(c)`, with the gates in the order input, output, forget, cell.
fn lstm(step: &Step<'_>, b: &mut Builder<'_>, of_input: Value, state: &[Value]) -> Result<Vec<Value>, OpError> {
    let (h, c) = (state[0], state[1]);
    let of_state = step.of_state(b, h)?;
    let gates = b.add(of_input, of_state)?;
    let gate = |b: &mut Builder<'_>, k: i64, peephole: Option<(i64, Value)>| -> Result<Value, OpError> {
        let own = part(b, gates, 1, k, 1, h)?;
        let (Some((k, cell)), Some(peepholes)) = (peephole, step.peepholes) else { return Ok(own) };
        let weight = part(b, peepholes, 0, k, 1, h)?;
        let seen = b.mul(weight, cell)?;
        b.add(own, seen)
    };
    let i = gate(b, 0, Some((0, c)))?;
    let i = step.activate(b, 0, i)?;
    let f = match step.input_forget {
        true => {
            let unit = b.constant(i, 1.0)?;
            b.sub(unit, i)?
        }
        false => {
            let f = gate(b, 2, Some((2, c)))?;
            step.activate(b, 0, f)?
        }
    };
    let new = gate(b, 3, None)?;
    let new = step.activate(b, 1, new)?;
    let (kept, written) = (b.mul(f, c)?, b.mul(i, new)?);
    let cell = b.add(kept, written)?;
    let o = gate(b, 1, Some((1, cell)))?;
    let o = step.activate(b, 0, o)?;
    // The last activation's argument is not clipped.
    let shown = step.activations[2].apply(b, cell)?;
    Ok(vec![b.mul(o, shown)?, cell])
}

/// The activations of all directions.
fn activations(n: &Node<'_>, cell: &Cell, directions: usize) -> Made<Vec<Activation>> {
    let (mut names, count) = (n.texts("activations"), directions * cell.activations.len());
    if names.is_empty() {
        names = cell.activations.iter().map(|name| (*name).to_owned()).cycle().take(count).collect();
    }
    // The schema's default has those of two directions in any case.
    if names.len() == 2 * count && names[..count] == names[count..] {
        names.truncate(count);
    }
    if names.len() != count {
        return Err(Failure::new(format!("{} activations for {directions} directions", names.len())));
    }
    let mut alphas = n.floats("activation_alpha").unwrap_or_default().into_iter();
    let mut betas = n.floats("activation_beta").unwrap_or_default().into_iter();
    let made = names.into_iter().map(|name| {
        let known = Activation::ALL.iter().find(|(known, ..)| known.eq_ignore_ascii_case(&name));
        let (known, alpha, beta) = known.ok_or_else(|| Failure::new(format!("there is no activation `{name}`")))?;
        let has_alpha = !matches!(*known, "Relu" | "Tanh" | "Sigmoid" | "Softsign" | "Softplus");
        let has_beta = matches!(*known, "Affine" | "ScaledTanh" | "HardSigmoid");
        let alpha = if has_alpha { alphas.next().unwrap_or(*alpha) } else { *alpha };
        let beta = if has_beta { betas.next().unwrap_or(*beta) } else { *beta };
        Ok(Activation { name: (*known).to_owned(), alpha, beta })
    });
    made.collect()
}

/// The outputs of all steps, and the last state.
fn run(n: &mut Node<'_>, cell: &Cell) -> Made<Vec<Value>> {
    let reversed: &[bool] = match n.text("direction", "forward").as_str() {
        "forward" => &[false],
        "reverse" => &[true],
        "bidirectional" => &[false, true],
        other => return Err(Failure::new(format!("there is no direction `{other}`"))),
    };
    let activations = activations(n, cell, reversed.len())?;
    let (hidden, of_weight) = (n.maybe_int("hidden_size").map(Dim::from), n.ty(2)?.shape.last().cloned());
    if let (Some(hidden), Some(own)) = (hidden, of_weight)
        && hidden != own
    {
        return Err(Failure::new(format!("its `hidden_size` is {hidden}, and its weights have {own}")));
    }
    let batch_first = n.flag("layout");
    let mut x = n.of_rank(0, 3)?;
    if batch_first {
        x = n.b.transpose(x, &[1, 0, 2])?;
    }
    let lengths = match n.maybe_of_rank(4, 1)? {
        Some(lengths) => Some(n.b.convert(lengths, DType::U32)?),
        None => None,
    };
    let (mut outputs, mut last) = (vec![], vec![vec![]; cell.states]);
    for (k, &reverse) in reversed.iter().enumerate() {
        let own = &activations[k * cell.activations.len()..][..cell.activations.len()];
        let results = direction(n, cell, (x, lengths), (k, reverse), own)?;
        last.iter_mut().zip(&results).for_each(|(all, state)| all.push(*state));
        outputs.push(results[cell.states]);
    }
    let mut results = vec![stack(n, &outputs, 1)?];
    for states in last {
        results.push(stack(n, &states, 0)?);
    }
    if batch_first {
        results[0] = n.b.transpose(results[0], &[2, 0, 1, 3])?;
        for state in &mut results[1..] {
            *state = n.b.transpose(*state, &[1, 0, 2])?;
        }
    }
    Ok(results)
}

/// The part of an argument that belongs to a direction.
fn own(n: &mut Node<'_>, value: Value, k: usize) -> Made {
    let shape = n.b.shape(value);
    let slice = n.b.slice(value, 0, k.into(), 1.into())?;
    Ok(n.b.reshape(slice, &shape[1..])?)
}

/// Values beside each other under a new axis.
fn stack(n: &mut Node<'_>, values: &[Value], axis: usize) -> Made {
    let mut parts = vec![];
    for &value in values {
        let mut shape = n.b.shape(value);
        shape.insert(axis, 1.into());
        parts.push(n.b.reshape(value, &shape)?);
    }
    super::movement::joined(n, axis, &parts)
}

/// One direction: the last state, and then the outputs.
fn direction(
    n: &mut Node<'_>,
    cell: &Cell,
    (x, lengths): (Value, Option<Value>),
    (k, reverse): (usize, bool),
    activations: &[Activation],
) -> Made<Vec<Value>> {
    let [weight, recurrent] = [n.of_rank(1, 3)?, n.of_rank(2, 3)?];
    let [weight, recurrent] = [own(n, weight, k)?, own(n, recurrent, k)?];
    let rows = n.b.shape(weight)[0].clone();
    let hidden = n.b.shape(recurrent)[1].clone();
    if rows != hidden.clone() * Dim::from(cell.gates) {
        return Err(Failure::new(format!("weights with {rows} rows for {hidden} features of the state")));
    }
    let mut products = n.b.contract("tbk,nk->tbn", x, weight)?;
    let mut bias = None;
    if let Some(both) = n.maybe_of_rank(3, 2)? {
        let both = own(n, both, k)?;
        let of_input = n.b.slice(both, 0, 0.into(), rows.clone())?;
        products = n.b.add(products, of_input)?;
        bias = Some(n.b.slice(both, 0, rows.clone(), rows)?);
    }
    let mut start = vec![];
    for state in 0..cell.states {
        start.push(begin(n, (5 + state, k), products, &hidden)?);
    }
    let peepholes = if cell.states == 2 { n.maybe_of_rank(7, 2)? } else { None };
    let peepholes = peepholes.map(|all| own(n, all, k)).transpose()?;
    let step = Step {
        activations,
        clip: n.maybe_float("clip"),
        weight: recurrent,
        bias,
        peepholes,
        linear_before_reset: n.flag("linear_before_reset"),
        input_forget: n.flag("input_forget"),
    };
    over_time(n, cell, products, start, &step, (lengths, reverse))
}

/// The state that a direction begins with: zeros where none is given.
fn begin(n: &mut Node<'_>, (argument, k): (usize, usize), products: Value, hidden: &Dim) -> Made {
    let Some(mut given) = n.maybe_of_rank(argument, 3)? else {
        let (dtype, batch) = (n.b.dtype(products), n.b.shape(products)[1].clone());
        return Ok(n.b.full(dtype, &[batch, hidden.clone()], 0.0)?);
    };
    if n.flag("layout") {
        given = n.b.transpose(given, &[1, 0, 2])?;
    }
    own(n, given, k)
}

fn over_time(
    n: &mut Node<'_>,
    cell: &Cell,
    products: Value,
    start: Vec<Value>,
    step: &Step<'_>,
    (lengths, reverse): (Option<Value>, bool),
) -> Made<Vec<Value>> {
    let carried = start.len();
    let mut args: Vec<Value> = start.into_iter().chain([products, step.weight]).collect();
    args.extend([step.bias, step.peepholes, lengths].into_iter().flatten());
    let mut body = Graph::default();
    let mut inputs = vec![];
    for (k, &arg) in args.iter().enumerate() {
        let ty = n.b.ty(arg).clone();
        let ty = if k == carried { Type::new(ty.dtype, &ty.shape[1..]) } else { ty };
        inputs.push(body.push(Kind::Input(k), vec![], Some(ty), n.b.span));
    }
    let (state, rest) = inputs.split_at(carried);
    let mut others = rest[2..].iter().copied();
    let bias = step.bias.and_then(|_| others.next());
    let peepholes = step.peepholes.and_then(|_| others.next());
    let ends = lengths.and_then(|_| others.next());
    let inner = Step { weight: rest[1], bias, peepholes, ..*step };
    let mut b = n.b.inside(&mut body);
    let mut next = (cell.step)(&inner, &mut b, rest[0], state)?;
    let mut output = next[0];
    if let Some(ends) = ends {
        (next, output) = hold(&mut b, ends, state, &next)?;
    }
    body.outputs = next.iter().copied().chain([output]).collect();
    let count = n.b.shape(products)[0].clone();
    let repeat = Repeat { count, reverse, carried, stacked: 1, memory: Memory::default(), body };
    Ok(n.b.graph.repeat(repeat, args, n.b.span))
}
