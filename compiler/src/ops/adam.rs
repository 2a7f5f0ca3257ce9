//! `Adam` and `AdamW`: adaptive moments, with decay in the gradient or of the parameter.

use super::{Builder, Item, OpError, Optimizer};
use crate::ir::Value;
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Optimizer(&ADAM), Item::Optimizer(&ADAM_W)];

const STATES: &[&str] = &["exp_avg", "exp_avg_sq"];
const NUMBERS: &[&str] = &["rate", "beta1", "beta2", "epsilon", "decay", "correction1", "correction2"];

static ADAM: Optimizer = Optimizer {
    name: "Adam",
    torch: "Adam",
    states: STATES,
    numbers: NUMBERS,
    fields: &[
        ("rate", "1e-3"),
        ("beta1", "0.9"),
        ("beta2", "0.999"),
        ("epsilon", "1e-8"),
        ("decay", "0.0"),
        ("clip", "None"),
    ],
    update: |b, parameter, gradient, states, numbers| {
        let pull = b.mul(numbers[4], parameter)?;
        let gradient = b.add(gradient, pull)?;
        moments(b, parameter, gradient, states, numbers)
    },
    doc: "Adam (Kingma and Ba 2014) as PyTorch's: `g = gradient + decay · p`, `m = β₁ m + (1 − β₁) g`, `v = β₂ v + (1 − β₂) \
          g²`, `p −= rate / c₁ · m / (√v / √c₂ + ε)` with the corrections `cᵢ = 1 − βᵢᵗ` at step `t`, from 1.",
};

static ADAM_W: Optimizer = Optimizer {
    name: "AdamW",
    torch: "AdamW",
    states: STATES,
    numbers: NUMBERS,
    fields: &[
        ("rate", "1e-3"),
        ("beta1", "0.9"),
        ("beta2", "0.999"),
        ("epsilon", "1e-8"),
        ("decay", "1e-2"),
        ("clip", "None"),
    ],
    update: |b, parameter, gradient, states, numbers| {
        let one = b.constant(parameter, 1.0)?;
        let loss = b.mul(numbers[0], numbers[4])?;
        let left = b.sub(one, loss)?;
        let parameter = b.mul(parameter, left)?;
        moments(b, parameter, gradient, states, numbers)
    },
    doc: "AdamW (Loshchilov and Hutter 2017) as PyTorch's: `p *= 1 − rate · decay`, then the step of `Adam` with the \
          gradient alone.",
};

fn moments(
    b: &mut Builder<'_>,
    parameter: Value,
    gradient: Value,
    states: &[Value],
    numbers: &[Value],
) -> Result<(Value, Vec<Value>), OpError> {
    let &[rate, beta1, beta2, epsilon, _, correction1, correction2] = numbers else {
        unreachable!("one value for each name in `numbers`")
    };
    let squared = b.mul(gradient, gradient)?;
    let mean = average(b, beta1, states[0], gradient)?;
    let mean_square = average(b, beta2, states[1], squared)?;
    // Numerator and denominator are multiplied by √c₂, so that one division is left for each element.
    let (root, correction) = (b.unary(MapOp::Sqrt, mean_square)?, b.unary(MapOp::Sqrt, correction2)?);
    let epsilon = b.mul(epsilon, correction)?;
    let scale = b.add(root, epsilon)?;
    let rate = b.mul(rate, correction)?;
    let rate = b.div(rate, correction1)?;
    let direction = b.div(mean, scale)?;
    let step = b.mul(rate, direction)?;
    Ok((b.sub(parameter, step)?, vec![mean, mean_square]))
}

/// The running average `keep · state + (1 − keep) · x`, 0 where it is below the least normal number.
///
/// The average of a gradient that stays 0 would go through the denormal numbers and end on one of them, and with those a CPU
/// is a hundred times slower.
pub(super) fn average(b: &mut Builder<'_>, keep: Value, state: Value, x: Value) -> Result<Value, OpError> {
    let one = b.constant(x, 1.0)?;
    let share = b.sub(one, keep)?;
    let (old, new) = (b.mul(keep, state)?, b.mul(share, x)?);
    let average = b.add(old, new)?;
    let magnitude = b.unary(MapOp::Abs, average)?;
    let tiny = b.with(MapOp::Lt, magnitude, b.dtype(x).smallest_normal())?;
    let zero = b.constant(x, 0.0)?;
    b.select(tiny, zero, average)
}
