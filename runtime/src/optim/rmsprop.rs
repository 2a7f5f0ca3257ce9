//! The numbers of RMSprop. In comes a step, out comes its row.

use super::Optimizer;

/// RMSprop (Tieleman and Hinton, 2012), as PyTorch's `RMSprop` without centring.
///
/// With `g` the gradient plus `decay · parameter`: `v = alpha · v + (1 - alpha) · g²`,
/// `buffer = momentum · buffer + g / (√v + epsilon)`, `parameter -= rate · buffer`.
#[derive(Clone, Debug, PartialEq)]
pub struct RmsProp {
    /// The learning rate.
    pub rate: f32,
    /// How much of the mean of squared gradients stays.
    pub alpha: f32,
    /// Added to the root, so that nothing is divided by zero.
    pub epsilon: f32,
    /// The L2 penalty, added to the gradient.
    pub decay: f32,
    /// How much of the buffer stays.
    pub momentum: f32,
    /// The largest norm of the whole gradient.
    pub clip: Option<f32>,
}

impl Default for RmsProp {
    fn default() -> Self {
        RmsProp { rate: 1e-2, alpha: 0.99, epsilon: 1e-8, decay: 0.0, momentum: 0.0, clip: None }
    }
}

impl Optimizer for RmsProp {
    const NAME: &'static str = "RmsProp";
    const NUMBERS: &'static [&'static str] = &["rate", "alpha", "epsilon", "decay", "momentum"];
    const STATES: &'static [&'static str] = &["square_avg", "momentum_buffer"];

    fn row(&self, _step: u64, row: &mut [f32]) {
        row.copy_from_slice(&[self.rate, self.alpha, self.epsilon, self.decay, self.momentum]);
    }

    fn clip(&self) -> Option<f32> {
        self.clip
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut f32)) {
        visit("rate", &mut self.rate);
        visit("alpha", &mut self.alpha);
        visit("epsilon", &mut self.epsilon);
        visit("decay", &mut self.decay);
        visit("momentum", &mut self.momentum);
        super::visit_clip(&mut self.clip, visit);
    }
}
