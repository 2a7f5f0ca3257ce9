//! The tail of a training step: a function with a loss in, the same with gradients, clipping, update and
//! effects out.

use super::reverse::differentiate;
use crate::ir::graph::{CHUNK, GROUPS, Source};
use crate::ir::model::{Effect, Function};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{DType, Dim, Graph, Kind, Model, ParamId, Type, Value};
use crate::ops::{Builder, OpError, Optimizer};
use proc_macro2::Span;

/// PyTorch's `clip_grad_norm_` divides by the norm plus this.
const CLIP_EPSILON: f64 = 1e-6;

/// Appends the derivatives and the update of a training function, whose first result is the loss.
pub(super) fn complete(model: &Model, function: &mut Function, optimizer: &'static Optimizer) {
    let loss = function.graph.outputs[0];
    let companions = std::mem::replace(&mut function.effects, gradients(model, &mut function.graph, loss));
    let update = Update { model, optimizer, loss };
    match update.append(&mut function.graph, &companions) {
        Ok(effects) => function.effects.extend(effects),
        Err(error) => unreachable!("updates are well typed: {}", error.message),
    }
}

/// The gradient of the loss with respect to every trained parameter stack; zeros for those that it does not use.
fn gradients(model: &Model, graph: &mut Graph, loss: Value) -> Vec<(Effect, Value)> {
    let span = graph.node(loss).span;
    let ids: Vec<ParamId> = model.trained().collect();
    let params: Vec<Value> = ids.iter().map(|&id| param(model, graph, id, span)).collect();
    let gradients = differentiate(graph, loss, &params);
    ids.into_iter().map(Effect::Gradient).zip(gradients).collect()
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
}

impl Update<'_> {
    fn append(&self, graph: &mut Graph, companions: &[(Effect, Value)]) -> Result<Vec<(Effect, Value)>, OpError> {
        let b = &mut Builder { graph, span: Span::call_site(), training: true, sites: &mut 0, loops: vec![] };
        let chunks = Dim::from(self.model.trained_len() / CHUNK);
        let pool = Type::new(DType::F32, [chunks, CHUNK.into()]);
        let weights = b.source(Source::Weights, pool.clone());
        let gradients = b.source(Source::Gradients, pool.clone());
        let states: Vec<Value> =
            (0..self.optimizer.states.len()).map(|k| b.source(Source::State(k), pool.clone())).collect();
        let numbers = self.numbers(b, &pool)?;
        let norm = norm(b, gradients)?;
        let clipped = clip(b, gradients, norm)?;
        let made = self.made(b, norm)?;
        let (new, new_states) = (self.optimizer.update)(b, weights, clipped, &states, &numbers)?;
        let mut effects = vec![(Effect::Weights, b.select(made, new, weights)?)];
        for (k, (new, old)) in new_states.into_iter().zip(states).enumerate() {
            effects.push((Effect::State(k), b.select(made, new, old)?));
        }
        for &(effect, new) in companions {
            let Effect::Companion(id) = effect else { unreachable!("training changes companions alone: {effect:?}") };
            let old = param(self.model, b.graph, id, b.span);
            effects.push((effect, b.select(made, new, old)?));
        }
        effects.push((Effect::Updated, b.convert(made, DType::U32)?));
        Ok(effects)
    }

    /// The numbers of each chunk's parameter group, in the shape of the pool.
    fn numbers(&self, b: &mut Builder<'_>, pool: &Type) -> Result<Vec<Value>, OpError> {
        let group = b.source(Source::Group, Type::new(DType::U32, &pool.shape[..1]));
        let number = |k| {
            let groups = b.source(Source::Number(k), Type::new(DType::F32, [Dim::from(GROUPS)]));
            let of_chunk = b.prim(Prim::Gather { axis: 0 }, &[groups, group])?;
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
    let divisor = b.with(MapOp::Add, norm, CLIP_EPSILON)?;
    let ratio = b.div(limit, divisor)?;
    let (shrunk, whole) = (b.with(MapOp::Min, ratio, 1.0)?, b.f32(1.0)?);
    // Without a limit not even a non-finite norm scales: it would reach weights whose gradients are finite.
    let limited = finite(b, limit)?;
    let scale = b.select(limited, shrunk, whole)?;
    b.mul(gradients, scale)
}

/// Whether a number is neither infinite nor NaN in binary32.
fn finite(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let magnitude = b.unary(MapOp::Abs, x)?;
    b.with(MapOp::Le, magnitude, f64::from(f32::MAX))
}
