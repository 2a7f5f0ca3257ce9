//! Results do not depend on the number of threads, those of all instruction sets are close, and what must hold to the bit
//! holds on each. Both are forced for the whole process, so the tests take turns.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod one_value;
mod outside;

use precast::__rt::{Isa, force_isa};
use precast::prelude::*;
use precast::set_threads;
use std::sync::{Mutex, MutexGuard};

model! {
    /// Large enough that kernels are cut into parts.
    pub struct Net {
        patch: Conv2d(3, 24, kernel = 3, padding = 1),
        norm: LayerNorm(24),
        blocks: [Block(24, 100); 2],
        output: Linear(24, 7),
    }

    struct Block(dim, hidden) {
        up: Linear(dim, hidden),
        down: Linear(hidden, dim),
    }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(gelu(self.up(x)))
        }
    }

    impl Net {
        /// Scores of every pixel's class, averaged.
        pub fn scores(&self, image: f32[B, 3, 12, 11]) -> f32[B, 7] {
            let x = transpose(self.patch(image), [0, 2, 3, 1]);
            let mut x = self.norm(x);
            for block in self.blocks {
                x = block(x);
            }
            self.output(mean(x, axis = [1, 2]))
        }

        /// Mean cross-entropy.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 3, 12, 11], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

model! {
    /// Rows that are worked on two vectors at a time, and that do not fill the last ones.
    pub struct Rows { norm: LayerNorm(150) }

    impl Rows {
        /// Softmax, norm and gelu, each a kernel of its own.
        pub fn all(&self, x: f32[B, 150]) -> (f32[B, 150], f32[B, 150], f32[B, 150]) {
            (softmax(x, axis = -1), self.norm(x), gelu(x))
        }
    }
}

type Image = [[[f32; 11]; 12]; 3];

/// The largest error of a result, relative to its largest element: sums of some thousand terms in another order.
const BOUND: f32 = 2e-5;

static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Runs a test on each instruction set of the machine, of which it is given the name.
fn on_every_isa(mut test: impl FnMut(&str)) {
    let _turn = turn();
    for (position, isa) in Isa::available().enumerate() {
        force_isa(Some(position));
        test(&format!("{isa:?}"));
    }
    force_isa(None);
}

/// Scores, gradients, and the parameters after three steps.
fn run() -> Vec<Vec<f32>> {
    let pixel = |k: usize| ((k * 2_654_435_761) % 1009) as f32 / 504.5 - 1.0;
    let image = |b: usize| -> Image {
        core::array::from_fn(|c| {
            core::array::from_fn(|i| core::array::from_fn(|j| pixel(b * 997 + c * 132 + i * 11 + j)))
        })
    };
    let images: Vec<Image> = (0..9).map(image).collect();
    let labels = [0, 1, 2, 3, 4, 5, 6, 0, 1];
    let mut net = Net::init(5);
    let mut all = vec![net.scores(&images).unwrap().into_flattened()];
    let mut trainer = net.trainer(AdamW { rate: 1e-3, ..default() });
    let gradients = trainer.loss_gradients(&images, &labels).unwrap();
    all.extend(gradients.iter().map(|(_, _, values)| values.to_vec()));
    for _ in 0..3 {
        all.push(vec![trainer.loss(&images, &labels).unwrap().value().unwrap()]);
    }
    all.push(net.scores(&images).unwrap().into_flattened());
    let rows: Vec<[f32; 150]> = (0..1501).map(|b| core::array::from_fn(|i| 3.0 * pixel(b * 150 + i))).collect();
    let (softmax, norm, gelu) = Rows::init(0).all(&rows).unwrap();
    all.extend([softmax, norm, gelu].map(Vec::into_flattened));
    all
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let _turn = turn();
    set_threads(1);
    let one = run();
    for threads in [2, 3] {
        set_threads(threads);
        let several = run();
        for (a, b) in one.iter().zip(&several) {
            let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(a), bits(b), "{threads} threads");
        }
    }
    set_threads(0);
}

#[test]
fn every_instruction_set_computes_the_same() {
    let (mut names, mut all) = (vec![], vec![]);
    on_every_isa(|name| {
        names.push(name.to_owned());
        all.push(run());
    });
    assert!(names.last().is_some_and(|name| name.starts_with("Sse2") || name.starts_with("Portable")), "{names:?}");
    println!("compared: {}", names.join(", "));
    for (name, results) in names.iter().zip(&all) {
        for (number, (found, expected)) in results.iter().zip(&all[names.len() - 1]).enumerate() {
            let largest = expected.iter().fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
            let error = found.iter().zip(expected).fold(0f32, |most, (a, b)| most.max((a - b).abs()));
            assert!(error <= BOUND * largest, "{name}, result {number}: {error} of {largest}");
        }
    }
}
