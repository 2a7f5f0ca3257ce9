//! Optimisers: in come the numbers that a program sets, out comes for every step the row of
//! scalars that the compiled update reads. Always: the kind of the optimiser is the compiler's
//! business, its numbers may change from step to step.

mod adam;
mod adamw;
mod rmsprop;
mod sgd;

pub use adam::Adam;
pub use adamw::AdamW;
pub use rmsprop::RmsProp;
pub use sgd::Sgd;

/// The numbers of an optimiser that `#[train(…)]` can name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no optimiser",
    label = "an optimiser with its numbers is needed here",
    note = "give the one that `#[train(…)]` names: `AdamW {{ rate: 1e-3, ..default() }}`"
)]
pub trait Optimizer: Clone + Default + Send + 'static {
    /// The name that `#[train(…)]` takes.
    const NAME: &'static str;
    /// What stands in a row, in order.
    const NUMBERS: &'static [&'static str];
    /// The values that are kept per parameter from step to step, all zero at first, in order, by
    /// their names in PyTorch.
    const STATES: &'static [&'static str];

    /// Writes the row of a step, counted from 1.
    fn row(&self, step: u64, row: &mut [f32]);

    /// The largest norm of the gradient of all parameters together; a longer gradient is scaled
    /// down to it. `None` leaves gradients alone.
    fn clip(&self) -> Option<f32>;

    /// Lets `visit` read or set every number by its name, for checkpoints.
    #[doc(hidden)]
    fn visit(&mut self, visit: &mut dyn FnMut(&'static str, &mut f32));
}

/// Visits an optional number: infinity stands for none.
fn visit_clip(clip: &mut Option<f32>, visit: &mut dyn FnMut(&'static str, &mut f32)) {
    let mut value = clip.unwrap_or(f32::INFINITY);
    visit("clip", &mut value);
    *clip = value.is_finite().then_some(value);
}

/// The first number that is none to update parameters by: its name, what it is, and what it must be.
pub(crate) fn unfit(optimizer: &mut impl Optimizer) -> Option<(&'static str, f32, &'static str)> {
    let mut found = None;
    optimizer.visit(&mut |name, value| {
        let own = demand(name, *value).map(|demand| (name, *value, demand));
        found = found.or(own);
    });
    found
}

/// What a number must be, if it is not.
fn demand(name: &str, value: f32) -> Option<&'static str> {
    let (fits, demand) = match name {
        "beta1" | "beta2" => ((0.0..1.0).contains(&value), "at least 0 and less than 1"),
        "alpha" => ((0.0..=1.0).contains(&value), "from 0 to 1"),
        // Infinity stands for none.
        "clip" => (value >= 0.0, "at least 0"),
        "dampening" => (value.is_finite(), "finite"),
        _ => (value >= 0.0 && value.is_finite(), "finite and at least 0"),
    };
    (!fits).then_some(demand)
}

/// 1 - betaᵗ, which undoes the pull of a moving average towards its start at zero.
fn correction(beta: f32, step: u64) -> f32 {
    (1.0 - power(f64::from(beta), step)) as f32
}

/// `xⁿ` by squaring: the same bits everywhere, which a machine's library does not promise.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= x;
        }
        x *= x;
        n >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn row<O: Optimizer>(optimizer: &O, step: u64) -> alloc::vec::Vec<f32> {
        let mut row = vec![f32::NAN; O::NUMBERS.len()];
        optimizer.row(step, &mut row);
        row
    }

    #[test]
    fn rows_follow_their_documented_order() {
        assert_eq!(row(&Sgd { momentum: 0.9, dampening: 0.1, ..Sgd::default() }, 1), [1e-3, 0.9, 1.0, 0.0, 0.0]);
        assert_eq!(row(&Sgd { momentum: 0.9, dampening: 0.1, ..Sgd::default() }, 2)[2], 0.9);
        // Without momentum there is no buffer that could be dampened.
        assert_eq!(row(&Sgd { momentum: 0.0, dampening: 0.1, ..Sgd::default() }, 2)[2], 1.0);
        assert_eq!(row(&RmsProp::default(), 5), [1e-2, 0.99, 1e-8, 0.0, 0.0]);
        let adamw = row(&AdamW::default(), 2);
        assert_eq!(adamw[..5], [1e-3, 0.9, 0.999, 1e-8, 1e-2]);
        assert!((adamw[5] - 0.19).abs() < 1e-6 && (adamw[6] - 0.001_999).abs() < 1e-7);
        assert_eq!(row(&Adam::default(), 1)[4], 0.0);
    }

    fn visited<O: Optimizer + PartialEq + core::fmt::Debug>(mut optimizer: O) {
        let mut numbers = vec![];
        optimizer.visit(&mut |_, value| numbers.push(*value));
        let mut other = O::default();
        let mut rest = numbers.into_iter();
        other.visit(&mut |_, value| *value = rest.next().unwrap());
        assert_eq!(other, optimizer);
    }

    #[test]
    fn visiting_reads_and_sets_every_number() {
        visited(Sgd { rate: 0.1, momentum: 0.5, dampening: 0.2, nesterov: true, decay: 0.3, clip: Some(1.0) });
        visited(Adam { rate: 0.1, beta1: 0.5, beta2: 0.6, epsilon: 0.2, decay: 0.3, clip: None });
        visited(AdamW { rate: 0.1, beta1: 0.5, beta2: 0.6, epsilon: 0.2, decay: 0.3, clip: Some(2.0) });
        visited(RmsProp { rate: 0.1, alpha: 0.5, momentum: 0.6, epsilon: 0.2, decay: 0.3, clip: Some(2.0) });
    }
}
