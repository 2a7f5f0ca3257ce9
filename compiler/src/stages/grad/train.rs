//! The tail of a training step: a function with a loss in, the same with gradients, clipping, update and
//! effects out.

use super::reach::{self, Reach};
use super::reverse::{pull_back, write};
use crate::ir::graph::{CHUNK, GROUPS, Source};
use crate::ir::model::{Effect, Function};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Graph, Kind, Model, Param, ParamId, Type, Value};
use crate::ops::{Builder, OpError, Optimizer};
use proc_macro2::Span;
use std::collections::BTreeMap;
use std::ops::Range;

/// PyTorch's `clip_grad_norm_` divides by the norm plus this.
const CLIP_EPSILON: f64 = 1e-6;

/// Appends the derivatives and the update of a training function, whose first result is the loss.
pub(super) fn complete(model: &Model, function: &mut Function, optimizer: &'static Optimizer) {
    let loss = function.graph.outputs[0];
    let trained: Vec<ParamId> = model.trained().filter(|id| !function.frozen.contains(id)).collect();
    let reached = reach::params(&function.graph, loss);
    let gradients = gradients(model, &mut function.graph, loss, &trained);
    let gradients = gradients.unwrap_or_else(|error| unreachable!("rules are well typed: {}", error.message));
    let has_one = |id: &ParamId| gradients.iter().any(|(effect, _)| *effect == Effect::Gradient(*id));
    function.frozen = model.trained().filter(|id| !has_one(id)).collect();
    let companions = std::mem::replace(&mut function.effects, gradients);
    let still = still(model, &function.frozen, &reached);
    let update = Update { model, optimizer, loss, still };
    match update.append(&mut function.graph, &companions) {
        Ok(effects) => function.effects.extend(effects),
        Err(error) => unreachable!("updates are well typed: {}", error.message),
    }
}

/// The gradient of the loss with respect to each of these parameter stacks that it depends on. The others are
/// left alone, as PyTorch does where there is no gradient.
fn gradients(model: &Model, graph: &mut Graph, loss: Value, ids: &[ParamId]) -> Result<Vec<(Effect, Value)>, OpError> {
    let span = graph.node(loss).span;
    let params: Vec<Value> = ids.iter().map(|&id| param(model, graph, id, span)).collect();
    let one = write(graph, loss, |b| b.constant(loss, 1.0))?;
    let arrived = pull_back(graph, &[(loss, one)], &params)?;
    let effect = |(id, gradient): (&ParamId, Option<Value>)| Some((Effect::Gradient(*id), gradient?));
    Ok(ids.iter().zip(arrived).filter_map(effect).collect())
}

/// The words of the pool without a gradient, in ascending ranges: the frozen parameters, and those of single blocks
/// that the loss does not depend on.
fn still(model: &Model, frozen: &[ParamId], reached: &BTreeMap<ParamId, Reach>) -> Vec<Range<usize>> {
    let mut params: Vec<(ParamId, &Param)> = model.trained().map(|id| (id, model.param(id))).collect();
    params.sort_by_key(|(_, param)| param.offset);
    let mut all: Vec<Range<usize>> = vec![];
    for (id, param) in params {
        let elements = param.stacked().count().as_const().map_or(0, |n| n as usize);
        let reach = reached.get(&id).filter(|_| !frozen.contains(&id)).unwrap_or(&Reach::Nothing);
        for Range { start, end } in reach.rest(elements) {
            // Nothing lies between its end and the next chunk.
            let end = if end == elements { end.next_multiple_of(CHUNK) } else { end };
            match all.last_mut() {
                Some(last) if last.end == param.offset + start => last.end = param.offset + end,
                _ => all.push(param.offset + start..param.offset + end),
            }
        }
    }
    all
}

/// The node of a parameter stack.
fn param(model: &Model, graph: &mut Graph, id: ParamId, span: Span) -> Value {
    let known = graph.values().find(|v| matches!(graph.node(*v).kind, Kind::Param(p) if p == id));
    known.unwrap_or_else(|| graph.push(Kind::Param(id), vec![], Some(model.param(id).stacked()), span))
}

/// One optimiser step over the trained parameters, in chunks, and the new values of companions.
struct Update<'a> {
    model: &'a Model,
    optimizer: &'static Optimizer,
    loss: Value,
    /// The words of the pool that stay as they are.
    still: Vec<Range<usize>>,
}

impl Update<'_> {
    fn append(&self, graph: &mut Graph, companions: &[(Effect, Value)]) -> Result<Vec<(Effect, Value)>, OpError> {
        let mut sites = 0;
        let b = &mut Builder::of_derivatives(graph, Span::call_site(), &mut sites);
        let chunks = Dim::from(self.model.trained_len() / CHUNK);
        let pool = Type::new(self.model.float(), [chunks, CHUNK.into()]);
        let weights = b.source(Source::Weights, pool.clone());
        let gradients = b.source(Source::Gradients, pool.clone());
        let moves = self.moves(b, &pool)?;
        let gradients = match moves {
            // The pool may hold what a step of another function left there.
            Some(moves) => {
                let zero = b.constant(gradients, 0.0)?;
                b.select(moves, gradients, zero)?
            }
            None => gradients,
        };
        let states: Vec<Value> =
            (0..self.optimizer.states.len()).map(|k| b.source(Source::State(k), pool.clone())).collect();
        let numbers = self.numbers(b, &pool)?;
        let norm = norm(b, gradients)?;
        let clipped = clip(b, gradients, norm)?;
        let made = self.made(b, norm)?;
        let (new, new_states) = (self.optimizer.update)(b, weights, clipped, &states, &numbers)?;
        let moved = match moves {
            Some(moves) => b.map(MapOp::And, &[moves, made])?,
            None => made,
        };
        let mut effects = vec![(Effect::Weights, b.select(moved, new, weights)?)];
        for (k, (new, old)) in new_states.into_iter().zip(states).enumerate() {
            effects.push((Effect::State(k), b.select(moved, new, old)?));
        }
        for &(effect, new) in companions {
            let Effect::Companion(id) = effect else { unreachable!("training changes companions alone: {effect:?}") };
            let old = param(self.model, b.graph, id, b.span);
            effects.push((effect, b.select(made, new, old)?));
        }
        effects.push((Effect::Updated, b.convert(made, DType::U32)?));
        Ok(effects)
    }

    /// Whether each word of the pool has a gradient; none where all do.
    fn moves(&self, b: &mut Builder<'_>, pool: &Type) -> Result<Option<Value>, OpError> {
        let (chunk, lane) = (b.iota(&pool.shape, 0)?, b.iota(&pool.shape, 1)?);
        let mut moves = None;
        for Range { start, end } in &self.still {
            let (from, to) = (before(b, chunk, lane, *start)?, before(b, chunk, lane, *end)?);
            let past = b.unary(MapOp::Not, to)?;
            let outside = b.map(MapOp::Or, &[from, past])?;
            moves = Some(match moves {
                Some(others) => b.map(MapOp::And, &[others, outside])?,
                None => outside,
            });
        }
        Ok(moves)
    }

    /// The numbers of each chunk's parameter group, in the shape of the pool.
    fn numbers(&self, b: &mut Builder<'_>, pool: &Type) -> Result<Vec<Value>, OpError> {
        let group = b.source(Source::Group, Type::new(DType::U32, &pool.shape[..1]));
        let number = |k| {
            let groups = b.source(Source::Number(k), Type::new(DType::F32, [Dim::from(GROUPS)]));
            let of_chunk = b.prim(Prim::Gather { axis: 0 }, &[groups, group])?;
            let of_chunk = b.convert(of_chunk, pool.dtype)?;
            b.prim(Prim::Broadcast { shape: pool.shape.clone(), axes: vec![0] }, &[of_chunk])
        };
        (0..self.optimizer.numbers.len()).map(number).collect()
    }

    /// Whether the update takes place: loss and norm are finite, or skipping is off.
    fn made(&self, b: &mut Builder<'_>, norm: Value) -> Result<Value, OpError> {
        let (loss, norm) = (finite(b, self.loss)?, finite(b, norm)?);
        let both = b.map(MapOp::And, &[loss, norm])?;
        let skip = b.source(Source::SkipNonfinite, Type::scalar(DType::U32));
        let always = b.with(MapOp::Eq, skip, 0.0)?;
        b.map(MapOp::Or, &[both, always])
    }
}

/// Whether each word of the pool lies before that one. Words have no numbers of their own: a pool may have more than
/// an index can count.
fn before(b: &mut Builder<'_>, chunk: Value, lane: Value, word: usize) -> Result<Value, OpError> {
    let earlier = b.with(MapOp::Lt, chunk, (word / CHUNK) as f64)?;
    if word.is_multiple_of(CHUNK) {
        return Ok(earlier);
    }
    let same = b.with(MapOp::Eq, chunk, (word / CHUNK) as f64)?;
    let first = b.with(MapOp::Lt, lane, (word % CHUNK) as f64)?;
    let within = b.map(MapOp::And, &[same, first])?;
    b.map(MapOp::Or, &[earlier, within])
}

/// The Euclidean norm of all gradients. Chunks are summed first, so that many of them are summed at a time.
fn norm(b: &mut Builder<'_>, gradients: Value) -> Result<Value, OpError> {
    let squares = b.mul(gradients, gradients)?;
    let chunks = b.sum(squares, &[1])?;
    let sum = b.sum(chunks, &[0])?;
    b.unary(MapOp::Sqrt, sum)
}

/// Gradients scaled so that their norm is at most the limit, as PyTorch's `clip_grad_norm_`.
fn clip(b: &mut Builder<'_>, gradients: Value, norm: Value) -> Result<Value, OpError> {
    let limit = b.source(Source::ClipNorm, Type::scalar(DType::F32));
    let limit = b.convert(limit, b.dtype(norm))?;
    let divisor = b.with(MapOp::Add, norm, CLIP_EPSILON)?;
    let ratio = b.div(limit, divisor)?;
    let (shrunk, whole) = (b.with(MapOp::Min, ratio, 1.0)?, b.constant(ratio, 1.0)?);
    // Without a limit not even a non-finite norm scales: it would reach weights whose gradients are finite.
    let limited = finite(b, limit)?;
    let scale = b.select(limited, shrunk, whole)?;
    b.mul(gradients, scale)
}

/// Whether a number is neither infinite nor NaN.
fn finite(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let magnitude = b.unary(MapOp::Abs, x)?;
    b.with(MapOp::Le, magnitude, b.dtype(x).largest())
}
