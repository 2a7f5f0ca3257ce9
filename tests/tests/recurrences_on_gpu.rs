//! Recurrences on a GPU: what a workgroup makes of all turns of a loop is what the CPU makes of them, values and training.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::View;
use precast::prelude::*;
use tests::{gpu, numbers};

/// A layer of a width over rows of three, its last states, and training.
macro_rules! recurrent {
    ($model:ident, $layer:tt($($arg:tt)*), $width:literal, |$y:ident $(, $state:ident)*|) => {
        model! {
            /// One kind of layer.
            pub struct $model { net: $layer($($arg)*), head: Linear($width, 1) }

            impl $model {
                pub fn run(&self, x: f32[B, T, 3]) -> f32[B, T, $width] { let ($y $(, $state)*) = self.net(x); $y }

                #[train(Adam)]
                pub fn loss(&self, x: f32[B, T, 3], y: f32[B, T, 1]) -> f32 { mse_loss(self.head(self.run(x)), y) }
            }
        }
    };
}

recurrent!(Long, LSTM(3, 128), 128, |y, h, c|);
recurrent!(Stacked, LSTM(3, 20, layers = 2), 20, |y, h, c|);
recurrent!(Both, LSTM(3, 12, bidirectional = true), 24, |y, h, c|);
recurrent!(Gated, GRU(3, 36), 36, |y, h|);
recurrent!(Plain, RNN(3, 64), 64, |y, h|);
// No columns in fours: a dispatch for each half of a turn.
recurrent!(Odd, LSTM(3, 7), 7, |y, h, c|);

model! {
    /// A row alone, and rows that end each after their own number of turns.
    pub struct Few { net: LSTM(3, 16, layers = 2) }

    impl Few {
        pub fn one(&self, x: f32[1, T, 3]) -> f32[1, T, 16] { let (y, h, c) = self.net(x); y }
        pub fn ending(&self, x: f32[B, T, 3], n: u32[B]) -> f32[B, T, 16] {
            let (y, h, c) = self.net(x, lengths = n);
            y
        }
    }
}

fn near(found: &[f32], right: &[f32], what: &str) {
    assert_eq!(found.len(), right.len(), "{what}");
    let error = found.iter().zip(right).map(|(f, r)| (f - r).abs()).fold(0.0, f32::max);
    assert!(error < 2e-5, "{what}: {error:e}");
}

macro_rules! compare {
    ($gpu:ident, $($model:ident),*) => { $(
        for (rows, turns) in [(1, 1), (3, 5), (37, 4)] {
            let what = format!("{} of {rows} rows and {turns} turns", stringify!($model));
            let (x, y) = (numbers(rows * turns * 3, 1), numbers(rows * turns, 2));
            let (x, y) = (View::new(x.as_chunks::<3>().0, [rows, turns]).unwrap(), View::new(y.as_chunks::<1>().0, [rows, turns]).unwrap());
            let (mut cpu, mut on_gpu) = ($model::init(7), $model::init(7).on(&$gpu).unwrap());
            near(on_gpu.run(x).unwrap().data().as_flattened(), cpu.run(x).unwrap().data().as_flattened(), &what);
            let mut of_cpu = cpu.trainer(Adam { rate: 1e-2, ..default() });
            let mut of_gpu = on_gpu.trainer(Adam { rate: 1e-2, ..default() });
            let (right, found) = (of_cpu.loss_gradients(x, y).unwrap(), of_gpu.loss_gradients(x, y).unwrap());
            near(&[found.loss], &[right.loss], &what);
            for ((name, _, right), (_, _, found)) in right.iter().zip(found.iter()) { near(found, right, &format!("{what}, {name}")); }
            for step in 0..4 {
                let losses = [of_gpu.loss(x, y).unwrap().value().unwrap(), of_cpu.loss(x, y).unwrap().value().unwrap()];
                near(&losses[..1], &losses[1..], &format!("{what}, step {step}"));
            }
        }
    )* };
}

#[test]
fn all_turns_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    compare!(gpu, Long, Stacked, Both, Gated, Plain, Odd);
}

#[test]
fn a_row_alone_and_rows_of_several_lengths() {
    let Some(gpu) = gpu() else { return };
    let (cpu, on_gpu) = (Few::init(5), Few::init(5).on(&gpu).unwrap());
    let x = numbers(4 * 6 * 3, 3);
    let rows = x.as_chunks::<3>().0;
    let one = View::new(&rows[..6], [1, 6]).unwrap();
    near(on_gpu.one(one).unwrap().data().as_flattened(), cpu.one(one).unwrap().data().as_flattened(), "one row");
    let (view, lengths) = (View::new(rows, [4, 6]).unwrap(), [6, 1, 3, 5]);
    let (found, right) = (on_gpu.ending(view, &lengths).unwrap(), cpu.ending(view, &lengths).unwrap());
    near(found.data().as_flattened(), right.data().as_flattened(), "several lengths");
}
