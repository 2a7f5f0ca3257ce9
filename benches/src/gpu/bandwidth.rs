//! What is bound by memory: rows of 1,024 that stay on the device.
//!
//! In: a device. Out: a line for each function. Always: bytes are those of the arguments and results, each once.

use super::Bench;
use super::report::Work;
use crate::workloads::w9::noise;
use precast::prelude::*;

/// Rows, unless another number is asked for: 256 MiB, which no cache holds.
const ROWS: usize = 1 << 16;

model! {
    use crate::workloads::w9::W9;

    /// W9 on what a session keeps, and sums.
    pub struct Bandwidth {
        rows: W9,
        state x: f32[B, 1024],
        state y: f32[B, 1024],
        state of_rows: f32[B],
        state of_columns: f32[1024],
        state of_all: f32,
    }

    impl Bandwidth {
        /// Takes the argument of all others.
        pub fn fill(&mut self, x: f32[B, 1024]) { self.x = x; }
        /// An addition.
        pub fn map(&mut self) { self.y = self.x + 0.25; }
        /// Softmax.
        pub fn softmax(&mut self) { self.y = self.rows.softmax(self.x); }
        /// Layer norm.
        pub fn layer_norm(&mut self) { self.y = self.rows.layer_norm(self.x); }
        /// The sum of each row.
        pub fn row_sums(&mut self) { self.of_rows = sum(self.x, axis = 1); }
        /// The sum of each column.
        pub fn column_sums(&mut self) { self.of_columns = sum(self.x, axis = 0); }
        /// The sum of all.
        pub fn total(&mut self) { self.of_all = sum(self.x); }
    }
}

pub(super) fn all(bench: &Bench<'_>) {
    let rows = bench.wanted.options.rows.unwrap_or(ROWS);
    let words = 1024 * rows;
    macro_rules! line {
        ($name:literal, $function:ident, $words:expr) => {
            bench.line($name, || {
                let model = Bandwidth::init(0).on(&bench.gpu)?;
                let mut session = model.session(BandwidthDims { B: rows })?;
                session.fill(&noise(rows))?;
                bench.measure(Work::Bytes(4 * $words as u64), || session.$function())
            });
        };
    }
    line!("bandwidth_map", map, 2 * words);
    line!("bandwidth_softmax", softmax, 2 * words);
    line!("bandwidth_layer_norm", layer_norm, 2 * words);
    line!("bandwidth_row_sums", row_sums, words + rows);
    line!("bandwidth_column_sums", column_sums, words + 1024);
    line!("bandwidth_total", total, words + 1);
}
