//! The numbers of AdamW. In comes a step, out comes its row.

use super::{Optimizer, correction};

/// Adam with decoupled weight decay (Loshchilov and Hutter, 2019), as PyTorch's `AdamW`.
///
/// `parameter *= 1 - rate · decay`; with `g` the gradient `m = beta1 · m + (1 - beta1) · g`,
/// `v = beta2 · v + (1 - beta2) · g²`, and at step t
/// `parameter -= rate · (m / (1 - beta1ᵗ)) / (√(v / (1 - beta2ᵗ)) + epsilon)`.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// The learning rate.
    pub rate: f32,
    /// How much of the mean of gradients stays.
    pub beta1: f32,
    /// How much of the mean of squared gradients stays.
    pub beta2: f32,
    /// Added to the root, so that nothing is divided by zero.
    pub epsilon: f32,
    /// The share of a parameter that a step of rate 1 takes away.
    pub decay: f32,
    /// The largest norm of the whole gradient.
    pub clip: Option<f32>,
}

impl Default for AdamW {
    fn default() -> Self {
        AdamW { rate: 1e-3, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, decay: 1e-2, clip: None }
    }
}

impl Optimizer for AdamW {
    const NAME: &'static str = "AdamW";
    const NUMBERS: &'static [&'static str] =
        &["rate", "beta1", "beta2", "epsilon", "decay", "correction1", "correction2"];
    const STATES: &'static [&'static str] = &["exp_avg", "exp_avg_sq"];

    /// The corrections are 1 - beta1ᵗ and 1 - beta2ᵗ at step t.
    fn row(&self, step: u64, row: &mut [f32]) {
        row.copy_from_slice(&[
            self.rate,
            self.beta1,
            self.beta2,
            self.epsilon,
            self.decay,
            correction(self.beta1, step),
            correction(self.beta2, step),
        ]);
    }

    fn clip(&self) -> Option<f32> {
        self.clip
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut f32)) {
        visit("rate", &mut self.rate);
        visit("beta1", &mut self.beta1);
        visit("beta2", &mut self.beta2);
        visit("epsilon", &mut self.epsilon);
        visit("decay", &mut self.decay);
        super::visit_clip(&mut self.clip, visit);
    }
}
