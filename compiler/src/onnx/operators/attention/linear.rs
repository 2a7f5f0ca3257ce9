//! `LinearAttention`: a matrix for each head, which a step decays and adds a product of its key and value to, and a query reads.
//!
//! Always: what does not need the state is made for all steps at once, outside of the region over time. Inside of it time is no axis,
//! and heads are `[B, G, ..]`, of queries `[B, G, H/G, ..]`.

use super::{all, computed, restored, scaled};
use crate::ir::graph::{Memory, Repeat};
use crate::ir::prim::MapOp;
use crate::ir::{Dim, Graph, Kind, Type, Value};
use crate::onnx::Failure;
use crate::onnx::node::{Made, Node};
use crate::onnx::operand::Operand;
use crate::ops::Builder;

/// The arguments.
const QUERY: usize = 0;
const KEY: usize = 1;
const VALUE: usize = 2;
const PAST: usize = 3;
const DECAY: usize = 4;
const BETA: usize = 5;

/// How a step changes the state.
#[derive(Clone, Copy)]
struct Rule {
    /// Whether it decays first.
    gated: bool,
    /// Whether what it holds for the key is replaced by the value, rather than the value added.
    delta: bool,
}

/// What a step reads; outside of the region, that of all steps under a first axis.
#[derive(Clone, Copy)]
struct Step {
    query: Value,
    key: Value,
    value: Value,
    /// The factor of the state, for each head or each of its rows.
    decay: Option<Value>,
    /// How much of what is held for the key is replaced.
    beta: Option<Value>,
}

impl Step {
    fn map(self, mut each: impl FnMut(Value) -> Made) -> Made<Step> {
        let Step { query, key, value, decay, beta } = self;
        Ok(Step {
            query: each(query)?,
            key: each(key)?,
            value: each(value)?,
            decay: decay.map(&mut each).transpose()?,
            beta: beta.map(each).transpose()?,
        })
    }
}

pub(super) fn attention(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let (heads, groups) = (n.int("q_num_heads", 0), n.int("kv_num_heads", 0));
    if groups < 1 || heads < 1 || heads % groups != 0 {
        return Err(Failure::new(format!("{groups} heads of keys do not divide {heads} heads of queries")));
    }
    let steps = steps(n, heads / groups, groups)?;
    let dtype = n.b.dtype(steps.query);
    let extents = n.b.shape(steps.query)[..2].to_vec();
    let steps = steps.map(|x| match n.b.shape(x)[..2] == extents {
        true => Ok(n.b.convert(x, dtype)?),
        false => Err(Failure::new(format!("it takes [{}, {}, ..], and not {}", extents[1], extents[0], n.b.ty(x)))),
    })?;
    let state = start(n, steps)?;
    let (state, made) = over_time(&mut n.b, state, steps)?;
    let made = n.b.transpose(made, &[1, 0, 2, 3, 4])?;
    let shape = n.b.shape(made);
    let features = crate::ir::dim::product(&shape[2..]);
    let made = n.b.reshape(made, &[shape[0].clone(), shape[1].clone(), features])?;
    let of_state = if n.has(PAST) { PAST } else { QUERY };
    Ok(all(vec![restored(n, made, QUERY)?, restored(n, state, of_state)?]))
}

/// What all steps read.
fn steps(n: &mut Node<'_>, each: i64, groups: i64) -> Made<Step> {
    let rule = rule(n)?;
    let query = by_time(n, QUERY, &[groups, each])?;
    let mut steps = Step {
        query: queries(n, query)?,
        key: by_time(n, KEY, &[groups])?,
        value: by_time(n, VALUE, &[groups])?,
        decay: None,
        beta: None,
    };
    if rule.gated {
        let decay = by_time(n, DECAY, &[groups])?;
        steps.decay = Some(n.b.unary(MapOp::Exp, decay)?);
    }
    if rule.delta {
        // One for each head, or one for all.
        let is_one = n.ty(BETA)?.shape.last().is_some_and(|last| last.is(1));
        steps.beta = Some(by_time(n, BETA, &[if is_one { 1 } else { groups }])?);
    }
    Ok(steps)
}

/// The rule by its name, with the arguments that it needs and no others.
fn rule(n: &Node<'_>) -> Made<Rule> {
    let name = n.text("update_rule", "gated_delta");
    let rule = match name.as_str() {
        "linear" => Rule { gated: false, delta: false },
        "gated" => Rule { gated: true, delta: false },
        "delta" => Rule { gated: false, delta: true },
        "gated_delta" => Rule { gated: true, delta: true },
        _ => return Err(Failure::new(format!("there is no update rule `{name}`"))),
    };
    for (argument, k, is_needed) in [("decay", DECAY, rule.gated), ("beta", BETA, rule.delta)] {
        if n.has(k) != is_needed {
            let verb = if is_needed { "needs" } else { "takes no" };
            return Err(Failure::new(format!("the update rule `{name}` {verb} `{argument}`")));
        }
    }
    Ok(rule)
}

/// An argument `[B, T, H·d]` as `[T, B, H, d]`, with `H` in factors.
fn by_time(n: &mut Node<'_>, k: usize, heads: &[i64]) -> Made {
    let x = computed(n, k)?;
    let shape = n.b.shape(x);
    let count: i64 = heads.iter().product();
    let features = shape.get(2).filter(|_| shape.len() == 3).and_then(|all| all.exact_div(&count.into()));
    let Some(features) = features else {
        let ty = n.b.ty(x);
        return Err(Failure::new(format!("argument {} is {ty}, and is to have 3 axes with {count} heads", k + 1)));
    };
    let mut split = vec![shape[0].clone(), shape[1].clone()];
    split.extend(heads.iter().map(|&heads| Dim::from(heads)));
    split.push(features);
    let x = n.b.reshape(x, &split)?;
    let rest = 2..split.len();
    Ok(n.b.transpose(x, &[1, 0].into_iter().chain(rest).collect::<Vec<usize>>())?)
}

/// The queries with the factor of the result.
fn queries(n: &mut Node<'_>, q: Value) -> Made {
    let scale = n.float("scale", 0.0);
    if scale != 0.0 {
        return Ok(n.b.with(MapOp::Mul, q, scale)?);
    }
    let features = n.b.shape(q)[4].clone();
    scaled(n, q, &features)
}

/// The state before the first step, `[B, G, d, e]`.
fn start(n: &mut Node<'_>, steps: Step) -> Made {
    let dtype = n.b.dtype(steps.key);
    if n.has(PAST) {
        let past = computed(n, PAST)?;
        return Ok(n.b.convert(past, dtype)?);
    }
    let (mut shape, features) = (n.b.shape(steps.key)[1..].to_vec(), n.b.shape(steps.value)[3].clone());
    shape.push(features);
    Ok(n.b.full(dtype, &shape, 0.0)?)
}

/// The last state, and what each step gives, `[T, B, G, H/G, e]`.
fn over_time(b: &mut Builder<'_>, state: Value, steps: Step) -> Made<(Value, Value)> {
    let count = b.shape(steps.query)[0].clone();
    if count.is(1) {
        // One step is no loop.
        let first = steps.map(|x| {
            let shape = b.shape(x)[1..].to_vec();
            Ok(b.reshape(x, &shape)?)
        })?;
        let [state, read] = step(b, state, first)?;
        let shape = [&[count][..], &b.shape(read)].concat();
        return Ok((state, b.reshape(read, &shape)?));
    }
    let (mut body, mut args, span) = (Graph::default(), vec![state], b.span);
    let ty = b.ty(state).clone();
    let held = body.push(Kind::Input(0), vec![], Some(ty), span);
    let inputs = steps.map(|stack| {
        let ty = b.ty(stack);
        let ty = Type::new(ty.dtype, &ty.shape[1..]);
        args.push(stack);
        Ok(body.push(Kind::Input(args.len() - 1), vec![], Some(ty), span))
    })?;
    body.outputs = step(&mut b.inside(&mut body), held, inputs)?.to_vec();
    if body.ty(body.outputs[0]) != body.ty(held) {
        return Err(Failure::new(format!(
            "a step makes of a state {} one of {}",
            body.ty(held),
            body.ty(body.outputs[0])
        )));
    }
    let stacked = args.len() - 1;
    let repeat = Repeat { count, reverse: false, carried: 1, stacked, memory: Memory::default(), body };
    match b.graph.repeat(repeat, args, span)[..] {
        [state, made] => Ok((state, made)),
        _ => Err(Failure::new("a region over time has other results")),
    }
}

/// The next state, and what the query reads of it.
fn step(b: &mut Builder<'_>, mut state: Value, step: Step) -> Made<[Value; 2]> {
    let Step { query, key, mut value, decay, beta } = step;
    if let Some(decay) = decay {
        let rows = column(b, decay)?;
        state = b.mul(state, rows)?;
    }
    if let Some(beta) = beta {
        let held = b.contract("bgde,bgd->bge", state, key)?;
        let missing = b.sub(value, held)?;
        value = b.mul(missing, beta)?;
    }
    let key = column(b, key)?;
    let mut row = b.shape(value);
    row.insert(2, 1.into());
    let value = b.reshape(value, &row)?;
    let written = b.mul(key, value)?;
    let state = b.add(state, written)?;
    Ok([state, b.contract("bghd,bgde->bghe", query, state)?])
}

/// `[..]` as `[.., 1]`.
fn column(b: &mut Builder<'_>, x: Value) -> Made {
    let shape = b.shape(x);
    Ok(b.reshape(x, &[&shape[..], &[Dim::from(1)]].concat())?)
}
