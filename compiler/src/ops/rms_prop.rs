//! `RmsProp`: steps divided by the root of a running mean square.

use super::adam::average;
use super::{Item, Optimizer};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Optimizer(&RMS_PROP)];

static RMS_PROP: Optimizer = Optimizer {
    name: "RmsProp",
    torch: "RMSprop",
    states: &["square_avg", "momentum_buffer"],
    numbers: &["rate", "alpha", "epsilon", "decay", "momentum"],
    fields: &[
        ("rate", "1e-2"),
        ("alpha", "0.99"),
        ("epsilon", "1e-8"),
        ("decay", "0.0"),
        ("momentum", "0.0"),
        ("clip", "None"),
    ],
    update: |b, parameter, gradient, states, numbers| {
        let &[rate, alpha, epsilon, decay, momentum] = numbers else {
            unreachable!("one value for each name in `numbers`")
        };
        let pull = b.mul(decay, parameter)?;
        let gradient = b.add(gradient, pull)?;
        let squared = b.mul(gradient, gradient)?;
        let mean_square = average(b, alpha, states[0], squared)?;
        let scale = b.unary(MapOp::Sqrt, mean_square)?;
        let scale = b.add(scale, epsilon)?;
        let direction = b.div(gradient, scale)?;
        let kept = b.mul(momentum, states[1])?;
        let buffer = b.add(kept, direction)?;
        let step = b.mul(rate, buffer)?;
        Ok((b.sub(parameter, step)?, vec![mean_square, buffer]))
    },
    doc: "RMSprop (Tieleman and Hinton 2012) as PyTorch's `RMSprop`, not centred: `g = gradient + decay · p`, `v = α v + \
          (1 − α) g²`, `m = momentum · m + g / (√v + ε)`, `p −= rate · m`.",
};
