//! Matrix products, as the runtime makes them: a linear layer's and those of its gradients.
//!
//! In: nothing. Out: families over rows, columns and the extent that is summed over. Always: nothing is kept.

use super::super::gemm::product;
use super::{BUDGET, Family, Meter};

const ROUND: &[&[usize]] = &[
    &[1, 64, 64],
    &[1, 1024, 1024],
    &[4, 64, 16],
    &[4, 128, 784],
    &[16, 16, 16],
    &[32, 128, 128],
    &[64, 64, 64],
    &[64, 128, 784],
    &[64, 16, 128],
    &[128, 784, 64],
    &[64, 128, 16],
    &[256, 256, 256],
    &[512, 32, 32],
    &[768, 512, 128],
];

/// Hands on all families.
pub(super) fn all(print: &mut dyn FnMut(&Family<'_>)) {
    for form in ["NT", "NN", "TN"] {
        let time = |meter: &Meter, shape: &[usize]| {
            Some(product(form, shape[0], shape[1], shape[2]).time_in(BUDGET, meter.isa, meter.threads))
        };
        let work = |shape: &[usize]| 2.0 * shape.iter().product::<usize>() as f64;
        print(&Family { name: &format!("product {form}"), axes: &["M", "N", "K"], round: ROUND, work, time: &time });
    }
}
