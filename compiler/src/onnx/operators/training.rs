//! Steps of optimisers (`ai.onnx.preview.training`): of each tensor what it is after the step, then its states.
//!
//! Arguments are the rate, the number of steps before, all tensors, all their gradients, and then each state of all of them.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, all, computes};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const OPERATORS: &[Operator] = &[
    computes("Adagrad", |n| steps(n, 1, adagrad)).of("ai.onnx.preview.training"),
    computes("Adam", |n| steps(n, 2, adam)).of("ai.onnx.preview.training"),
    computes("Momentum", |n| steps(n, 1, momentum)).of("ai.onnx.preview.training"),
];

/// What a step is made of.
struct Step {
    rate: Value,
    /// How many steps there were, as a number of the tensor's type.
    count: Value,
    x: Value,
    gradient: Value,
    states: Vec<Value>,
}

/// One step for each tensor, which has so many states.
fn steps(n: &mut Node<'_>, states: usize, step: fn(&mut Node<'_>, Step) -> Made<Vec<Value>>) -> Made<Vec<Operand>> {
    let each = 2 + states;
    let count = n.count().saturating_sub(2) / each;
    if n.count() != 2 + count * each || count == 0 {
        return Err(Failure::new(format!("{} arguments are not {each} for each tensor, and two", n.count())));
    }
    let mut made = vec![vec![]; 1 + states];
    for k in 0..count {
        let [x, gradient] = [n.arg(2 + k)?, n.arg(2 + count + k)?];
        let [rate, before] = [n.arg(0)?, n.arg(1)?];
        let dtype = n.b.dtype(x);
        let [rate, before] = [n.b.convert(rate, dtype)?, n.b.convert(before, dtype)?];
        let [rate, before] = [n.b.reshape(rate, &[])?, n.b.reshape(before, &[])?];
        let states = (0..states).map(|state| n.arg(2 + count * (2 + state) + k)).collect::<Made<Vec<Value>>>()?;
        let results = step(n, Step { rate, count: before, x, gradient, states })?;
        made.iter_mut().zip(results).for_each(|(all, result)| all.push(result));
    }
    Ok(all(made.concat()))
}

/// The gradient with that of `norm_coefficient / 2 · x²`.
fn regularised(n: &mut Node<'_>, step: &Step) -> Made {
    let decay = n.b.with(MapOp::Mul, step.x, n.float("norm_coefficient", 0.0))?;
    Ok(n.b.add(decay, step.gradient)?)
}

fn adagrad(n: &mut Node<'_>, step: Step) -> Made<Vec<Value>> {
    let decay = n.b.with(MapOp::Mul, step.count, n.float("decay_factor", 0.0))?;
    let over = n.b.with(MapOp::Add, decay, 1.0)?;
    let rate = n.b.div(step.rate, over)?;
    let gradient = regularised(n, &step)?;
    let squared = n.b.mul(gradient, gradient)?;
    let sum = n.b.add(step.states[0], squared)?;
    let root = n.b.unary(MapOp::Sqrt, sum)?;
    let root = n.b.with(MapOp::Add, root, n.float("epsilon", 1e-6))?;
    let scaled = n.b.mul(rate, gradient)?;
    let change = n.b.div(scaled, root)?;
    Ok(vec![n.b.sub(step.x, change)?, sum])
}

/// `factor · old + (1 − factor) · new`
fn running(n: &mut Node<'_>, old: Value, new: Value, factor: f64) -> Made {
    let [old, new] = [n.b.with(MapOp::Mul, old, factor)?, n.b.with(MapOp::Mul, new, 1.0 - factor)?];
    Ok(n.b.add(old, new)?)
}

/// `1 − factor^count`
fn corrected(n: &mut Node<'_>, count: Value, factor: f64) -> Made {
    let base = n.b.constant(count, factor)?;
    let power = n.b.map(MapOp::Pow, &[base, count])?;
    let unit = n.b.constant(count, 1.0)?;
    Ok(n.b.sub(unit, power)?)
}

fn adam(n: &mut Node<'_>, step: Step) -> Made<Vec<Value>> {
    let (alpha, beta) = (n.float("alpha", 0.9), n.float("beta", 0.999));
    let gradient = regularised(n, &step)?;
    let squared = n.b.mul(gradient, gradient)?;
    let first = running(n, step.states[0], gradient, alpha)?;
    let second = running(n, step.states[1], squared, beta)?;
    let root = n.b.unary(MapOp::Sqrt, second)?;
    let root = n.b.with(MapOp::Add, root, n.float("epsilon", 1e-6))?;
    let (of_first, of_second) = (corrected(n, step.count, alpha)?, corrected(n, step.count, beta)?);
    let of_second = n.b.unary(MapOp::Sqrt, of_second)?;
    let adjusted = n.b.mul(step.rate, of_second)?;
    let adjusted = n.b.div(adjusted, of_first)?;
    // Before the first step there is nothing to correct.
    let is_later = n.b.with(MapOp::Ne, step.count, 0.0)?;
    let rate = n.b.select(is_later, adjusted, step.rate)?;
    let scaled = n.b.mul(rate, first)?;
    let change = n.b.div(scaled, root)?;
    let moved = n.b.sub(step.x, change)?;
    let kept = n.b.with(MapOp::Mul, moved, 1.0 - n.float("norm_coefficient_post", 0.0))?;
    Ok(vec![kept, first, second])
}

fn momentum(n: &mut Node<'_>, step: Step) -> Made<Vec<Value>> {
    let (alpha, beta) = (n.float("alpha", 0.0), n.float("beta", 0.0));
    let gradient = regularised(n, &step)?;
    // In the first step the whole gradient counts.
    let is_later = n.b.with(MapOp::Ne, step.count, 0.0)?;
    let [later, first] = [n.b.constant(gradient, beta)?, n.b.constant(gradient, 1.0)?];
    let factor = n.b.select(is_later, later, first)?;
    let [old, new] = [n.b.with(MapOp::Mul, step.states[0], alpha)?, n.b.mul(gradient, factor)?];
    let state = n.b.add(old, new)?;
    let direction = match n.text("mode", "standard").as_str() {
        "standard" => state,
        "nesterov" => {
            let ahead = n.b.with(MapOp::Mul, state, alpha)?;
            n.b.add(gradient, ahead)?
        }
        other => return Err(Failure::new(format!("the mode `{other}` is not supported"))),
    };
    let change = n.b.mul(step.rate, direction)?;
    Ok(vec![n.b.sub(step.x, change)?, state])
}
