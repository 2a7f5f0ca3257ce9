//! The workloads that libraries are compared on, one file each.
//!
//! In: what measures a call. Out: it was called with a label, how many calls make one sample, and the call. Always: each is
//! an ordinary program of the model language through the public API with default settings.

mod bits;
mod checked;
#[cfg(feature = "deterministic")]
mod deterministic;
mod w1;
mod w11;
mod w12;
mod w12c;
pub(crate) mod w2;
pub(crate) mod w3;
pub(crate) mod w4;
mod w5;
pub(crate) mod w6;
pub(crate) mod w7;
pub(crate) mod w8;
pub(crate) mod w9;

pub(crate) use checked::{Argument, Checked};
use std::error::Error;

/// Takes a label, how many calls make one sample, and a call that consumes its result.
pub(crate) type Measure<'m> = &'m mut dyn FnMut(&str, u32, &mut dyn FnMut() -> f32);

/// A row of the comparison.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) run: fn(Measure<'_>) -> Result<(), Box<dyn Error>>,
}

impl Workload {
    /// Whether a label is one of its: its name, or that with more behind `_`.
    pub(crate) fn has(&self, label: &str) -> bool {
        label.strip_prefix(self.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    }
}

const fn row(name: &'static str, what: &'static str, run: fn(Measure<'_>) -> Result<(), Box<dyn Error>>) -> Workload {
    Workload { name, what, run }
}

/// All of them.
pub(crate) const ALL: &[Workload] = if cfg!(feature = "cpu") {
    &[
        row("W1", "MLP 4→64→64→2, tanh, one row", w1::forward),
        row("W2f", "MLP 784→128→10, one row", w2::forward),
        row("W2t", "the same, a step of Adam on 64 rows", w2::step),
        row("W3f", "the MNIST network, one image", w3::forward),
        row("W3t", "the same, a step of Adam on 64 images", w3::step),
        row("W4", "ResNet-18, one image", w4::forward),
        row("W5", "an encoder 6×384, 128 places, one sequence", w5::forward),
        row("W6t", "a GPT 4×128, a step of AdamW on 12 windows of 64", w6::step),
        row("W7f", "an LSTM 64→128 over 100 steps, one sequence", w7::forward),
        row("W7t", "the same, a step of Adam on 32 sequences", w7::step),
        row("W8", "products of matrices", w8::products),
        row("W9", "layer norm, softmax, gelu, and a chain of them, over 4096 rows of 1024", w9::rows),
        row("W11f", "depthwise convolutions: 3×3 on 72×56×56, 5×5 on 240×14×14, 7×7 on 48×14×14", w11::forward),
        row("W11t", "the same in steps that give the gradients", w11::gradients),
        row("W12f", "MobileNetV3-small, one image", w12::forward),
        row("W12t", "the same, a step of SGD on 4 images of 64×64", w12::step),
        row("W12c", "a block of ConvNeXt, 96×56×56, one image", w12c::forward),
        row("W12ct", "the same, a step of AdamW on 8 images", w12c::step),
        row("bits", "W2f, W5, W7f, products and a step of a decoder, with parameters in bf16 and int8", bits::forward),
        #[cfg(feature = "deterministic")]
        row("deterministic", "W2t, W3t and W5 with models whose bits are the same everywhere", deterministic::all),
    ]
} else {
    &[]
};

/// What computes a workload once, for the oracle.
pub(crate) struct Check {
    /// The workload.
    pub(crate) of: &'static str,
    /// What of it.
    pub(crate) name: &'static str,
    /// The largest error that is accepted.
    pub(crate) bound: f64,
    pub(crate) run: fn() -> Result<Checked, Box<dyn Error>>,
}

const fn check(name: &'static str, run: fn() -> Result<Checked, Box<dyn Error>>) -> Check {
    Check { of: name, name, bound: 1e-4, run }
}

/// A check with parameters of few bits.
const fn bits(name: &'static str, bound: f64, run: fn() -> Result<Checked, Box<dyn Error>>) -> Check {
    Check { of: "bits", name, bound, run }
}

/// All of them.
pub(crate) const CHECKS: &[Check] = if cfg!(feature = "cpu") {
    &[
        check("W1", w1::checked),
        check("W2f", w2::checked_forward),
        check("W2t", w2::checked_step),
        check("W3f", w3::checked_forward),
        check("W3t", w3::checked_step),
        check("W4", w4::checked),
        check("W5", w5::checked),
        check("W6t", w6::checked),
        check("W7f", w7::checked_forward),
        check("W7t", w7::checked_step),
        check("W9", w9::checked),
        check("W12f", w12::checked),
        check("W12ct", w12c::checked),
        bits("W2f_bf16", 1e-2, bits::w2_bf16),
        bits("W5_bf16", 1e-2, bits::w5_bf16),
        bits("W7f_bf16", 1e-2, bits::w7_bf16),
        bits("W2f_int8", 3e-2, bits::w2_int8),
        bits("W5_int8", 3e-2, bits::w5_int8),
        bits("W7f_int8", 3e-2, bits::w7_int8),
    ]
} else {
    &[]
};

/// Numbers in [0, 1) that differ from call to call.
pub(crate) struct Noise(u32);

impl Noise {
    pub(crate) fn new(seed: u32) -> Noise {
        Noise(seed)
    }

    pub(crate) fn fill(&mut self, values: &mut [f32]) {
        for value in values {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *value = (self.0 >> 8) as f32 / (1 << 24) as f32;
        }
    }
}

/// Classes of so many samples.
pub(crate) fn classes(samples: usize, classes: u32) -> Vec<u32> {
    (0..samples as u32).map(|i| i * 7 % classes).collect()
}
