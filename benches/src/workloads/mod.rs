//! The workloads, one file each.

mod w1;
mod w2;
mod w3;
mod w8;
mod w9;

use std::error::Error;

/// Takes a label, how many calls make one measurement, and a call that consumes its result.
pub(crate) type Measure<'m> = &'m mut dyn FnMut(&str, u32, &mut dyn FnMut() -> f32);

/// Measures the workload of that name.
pub(crate) fn run(name: &str, measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    match name {
        "w1" => w1::forward(measure),
        "w2f" => w2::forward(measure),
        "w2t" => w2::step(measure),
        "w3f" => w3::forward(measure),
        "w3t" => w3::step(measure),
        "w8" => w8::products(measure),
        "w9" => w9::rows(measure),
        _ => Err("no such workload".into()),
    }
}

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
