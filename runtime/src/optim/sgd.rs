//! The numbers of stochastic gradient descent. In comes a step, out comes its row.

use super::Optimizer;

/// Stochastic gradient descent with momentum, as PyTorch's `SGD`.
///
/// With `g` the gradient plus `decay · parameter`: `buffer = momentum · buffer + (1 - dampening) ·
/// g`, in the first step `buffer = g`; the update direction is `buffer`, or with Nesterov's
/// acceleration `g + momentum · buffer`; `parameter -= rate · direction`.
#[derive(Clone, Debug, PartialEq)]
pub struct Sgd {
    /// The learning rate.
    pub rate: f32,
    /// How much of the buffer stays.
    pub momentum: f32,
    /// How much of the gradient is kept out of the buffer after the first step.
    pub dampening: f32,
    /// Whether the step looks ahead (Sutskever et al., 2013).
    pub nesterov: bool,
    /// The L2 penalty, added to the gradient.
    pub decay: f32,
    /// The largest norm of the whole gradient.
    pub clip: Option<f32>,
}

impl Default for Sgd {
    fn default() -> Self {
        Sgd { rate: 1e-3, momentum: 0.0, dampening: 0.0, nesterov: false, decay: 0.0, clip: None }
    }
}

impl Optimizer for Sgd {
    const NAME: &'static str = "Sgd";
    const NUMBERS: &'static [&'static str] = &["rate", "momentum", "gain", "decay", "nesterov"];
    const STATES: &'static [&'static str] = &["momentum_buffer"];

    /// `gain` is the factor of `g` in the buffer: 1 in the first step and where there is no momentum, else
    /// 1 - dampening.
    fn row(&self, step: u64, row: &mut [f32]) {
        let gain = if step <= 1 || self.momentum == 0.0 { 1.0 } else { 1.0 - self.dampening };
        let nesterov = f32::from(u8::from(self.nesterov));
        row.copy_from_slice(&[self.rate, self.momentum, gain, self.decay, nesterov]);
    }

    fn clip(&self) -> Option<f32> {
        self.clip
    }

    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut f32)) {
        let mut nesterov = f32::from(u8::from(self.nesterov));
        visit("rate", &mut self.rate);
        visit("momentum", &mut self.momentum);
        visit("dampening", &mut self.dampening);
        visit("nesterov", &mut nesterov);
        visit("decay", &mut self.decay);
        super::visit_clip(&mut self.clip, visit);
        self.nesterov = nesterov != 0.0;
    }
}
