//! Attention against products, a softmax and products.
//!
//! In: a number of threads. Out: for each size and way the least microseconds and GFLOP/s of a call and of a training step,
//! of the products that the positions leave. Always: the two ways take turns, so that they see the same machine.

use crate::command::Part;
use std::hint::black_box;
use std::time::Instant;

macro_rules! size {
    ($name:ident, $model:ident, $heads:literal, $length:literal, $features:literal) => {
        #[allow(unreachable_pub, reason = "a model is public")]
        mod $name {
            use precast::prelude::*;

            model! {
                pub struct $model {
                    q: Parameter($heads, $length, $features, init = "normal"),
                    k: Parameter($heads, $length, $features, init = "normal"),
                    v: Parameter($heads, $length, $features, init = "normal"),
                }

                impl $model {
                    pub fn fused(&self, x: f32[$heads, $length, $features]) -> f32[$heads, $length, $features] {
                        attend(x, self.k, self.v, causal = true)
                    }

                    pub fn plain(&self, x: f32[$heads, $length, $features]) -> f32[$heads, $length, $features] {
                        let scores = matmul(x, transpose(self.k, [0, 2, 1])) / sqrt(f32($features));
                        let seen = reshape(iota($length), [$length, 1]) >= reshape(iota($length), [1, $length]);
                        matmul(softmax(where(seen, scores, -1e9)), self.v)
                    }

                    #[train(Sgd)]
                    pub fn fused_loss(&self, x: f32[$heads, $length, $features]) -> f32 {
                        sum(self.fused(self.q) * x)
                    }

                    #[train(Sgd)]
                    pub fn plain_loss(&self, x: f32[$heads, $length, $features]) -> f32 {
                        sum(self.plain(self.q) * x)
                    }
                }
            }

            pub(super) fn run(rounds: usize) {
                const COUNT: usize = $heads * $length * $features;
                let mut model = $model::init(1);
                let x: Vec<f32> = (0..COUNT).map(|i| (i * 7919 % 1000) as f32 / 1000.0 - 0.5).collect();
                let x: &[[[f32; $features]; $length]; $heads] = super::shaped(&x);
                let mut best = [f64::INFINITY; 4];
                for _ in 0..rounds {
                    let mut session = model.session();
                    super::time(&mut best[0], || session.fused(x).map(|y| y[0][0][0]));
                    super::time(&mut best[1], || session.plain(x).map(|y| y[0][0][0]));
                }
                let mut trainer = model.trainer(Sgd { rate: 1e-6, ..default() });
                for _ in 0..rounds {
                    super::time(&mut best[2], || trainer.fused_loss(x)?.value());
                    super::time(&mut best[3], || trainer.plain_loss(x)?.value());
                }
                // A query sees half of the keys, and itself; a derivative takes five products for the two of a call.
                let products = COUNT as f64 * ($length + 1) as f64 * 2.0;
                let names = ["fused", "plain", "fused step", "plain step"];
                for ((name, seconds), count) in names.iter().zip(best).zip([1.0, 1.0, 3.5, 3.5]) {
                    let rate = products * count / seconds / 1e9;
                    println!("{}×{}×{} {name}: {:.1} µs, {rate:.1} GFLOP/s", $heads, $length, $features, seconds * 1e6);
                }
            }
        }
    };
}

size!(short, Short, 48, 64, 32);
size!(long, Long, 4, 4096, 64);

/// A flat slice as nested arrays.
fn shaped<const A: usize, const B: usize, const C: usize>(flat: &[f32]) -> &[[[f32; C]; B]; A] {
    let (rows, _) = flat.as_chunks::<C>();
    let (blocks, _) = rows.as_chunks::<B>();
    let (all, _) = blocks.as_chunks::<A>();
    &all[0]
}

/// Keeps the least time of a call.
fn time(best: &mut f64, mut call: impl FnMut() -> precast::Result<f32>) {
    let start = Instant::now();
    match call() {
        Ok(y) => _ = black_box(y),
        Err(why) => eprintln!("# FAIL {why}"),
    }
    *best = best.min(start.elapsed().as_secs_f64());
}

/// Both ways at a size of short rows and at one of long rows.
pub(super) fn both(part: &Part) {
    precast::set_threads(part.threads);
    short::run(2000);
    long::run(8);
}
