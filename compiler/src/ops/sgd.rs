//! `Sgd`: stochastic gradient descent with momentum.

use super::{Item, Optimizer};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Optimizer(&SGD)];

static SGD: Optimizer = Optimizer {
    name: "Sgd",
    torch: "SGD",
    states: &["momentum_buffer"],
    numbers: &["rate", "momentum", "gain", "decay", "nesterov"],
    fields: &[
        ("rate", "1e-3"),
        ("momentum", "0.0"),
        ("dampening", "0.0"),
        ("nesterov", "false"),
        ("decay", "0.0"),
        ("clip", "None"),
    ],
    update: |b, parameter, gradient, states, numbers| {
        let &[rate, momentum, gain, decay, nesterov] = numbers else {
            unreachable!("one value for each name in `numbers`")
        };
        let pull = b.mul(decay, parameter)?;
        let gradient = b.add(gradient, pull)?;
        let kept = b.mul(momentum, states[0])?;
        let fresh = b.mul(gain, gradient)?;
        let buffer = b.add(kept, fresh)?;
        let ahead = b.mul(momentum, buffer)?;
        let ahead = b.add(gradient, ahead)?;
        let zero = b.constant(nesterov, 0.0)?;
        let looks_ahead = b.map(MapOp::Ne, &[nesterov, zero])?;
        let direction = b.select(looks_ahead, ahead, buffer)?;
        let step = b.mul(rate, direction)?;
        Ok((b.sub(parameter, step)?, vec![buffer]))
    },
    doc: "Stochastic gradient descent as PyTorch's `SGD`, with `g = gradient + decay · p`, `v = momentum · v + gain · g` and \
          `p −= rate · v`, or `rate · (g + momentum · v)` where `nesterov` is 1. `gain` is 1 in the first step and 1 − \
          dampening from then on.",
};
