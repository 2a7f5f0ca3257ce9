//! What a program does with a model on the CPU, through `model!`: one small model in each module.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod attention;
mod bad_input;
mod batch_norm;
mod branches;
mod corners;
mod costs;
mod defaults;
mod derivatives;
mod extents;
mod files;
mod foreign;
mod foreign_wgsl;
mod gradients;
mod one_value;
mod optimisers;
mod outside;
mod precision;
mod recurrent;
mod repeats;
mod resnet;
mod results;
mod rows;
mod state;
mod state_dicts;
mod threads;
mod trained;
mod transformer;
mod views;
mod vision;

/// Numbers between −1 and 1, the same in every run.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9E37_79B9) ^ 0x85EB_CA6B;
    let mut number = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    };
    (0..count).map(|_| number()).collect()
}
