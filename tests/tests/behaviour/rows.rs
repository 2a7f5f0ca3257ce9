//! Long rows: norms, softmax and gelu against plain formulas in f64, with rows of odd lengths and results so large that
//! they are written past the caches.

use super::numbers;
use precast::prelude::*;

model! {
    /// Rows of 1,024, of 1,021 and of 70.
    pub struct Rows { even: LayerNorm(1024), odd: LayerNorm(1021) }

    impl Rows {
        /// Rows that fill whole vectors.
        pub fn even(&self, x: f32[B, 1024]) -> (f32[B, 1024], f32[B, 1024]) {
            (gelu(self.even(x)) * 2.0 + x, softmax(x, axis = -1))
        }

        /// Rows that do not.
        pub fn odd(&self, x: f32[B, 1021]) -> (f32[B, 1021], f32[B, 1021]) {
            (gelu(self.odd(x)) * 2.0 + x, softmax(x, axis = -1))
        }

        /// Two vectors of any machine and a little.
        pub fn short(&self, x: f32[B, 70]) -> f32[B, 70] { log_softmax(x, axis = -1) }

        /// One long map.
        pub fn map(&self, x: f32[B]) -> f32[B] { gelu(x) }
    }
}

/// The error function by its Taylor series, for small arguments.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..80 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + erf(x * std::f64::consts::FRAC_1_SQRT_2))
}

/// The chain and the softmax of a row.
fn expected(row: &[f32]) -> (Vec<f64>, Vec<f64>) {
    let x: Vec<f64> = row.iter().map(|&x| f64::from(x)).collect();
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let scale = (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n + 1e-5).sqrt().recip();
    let total: f64 = x.iter().map(|x| x.exp()).sum();
    (x.iter().map(|x| gelu((x - mean) * scale) * 2.0 + x).collect(), x.iter().map(|x| x.exp() / total).collect())
}

fn check(x: &[f32], width: usize, chain: &[f32], softmax: &[f32]) {
    // Rows at both ends and at the border of two threads' parts.
    let rows = x.len() / width;
    for row in [0, 1, rows / 2 - 1, rows / 2, rows - 2, rows - 1] {
        let part = row * width..(row + 1) * width;
        let (wanted_chain, wanted_softmax) = expected(&x[part.clone()]);
        for ((got, wanted), at) in chain[part.clone()].iter().zip(&wanted_chain).zip(0..) {
            assert!(
                (f64::from(*got) - wanted).abs() < 3e-6,
                "chain of {width}, row {row} at {at}: {got}, not {wanted}"
            );
        }
        for ((got, wanted), at) in softmax[part].iter().zip(&wanted_softmax).zip(0..) {
            let error = (f64::from(*got) / wanted - 1.0).abs();
            assert!(error < 2e-6, "softmax of {width}, row {row} at {at}: {got}, not {wanted}");
        }
    }
}

#[test]
fn long_rows_are_what_the_formulas_say() {
    let model = Rows::init(0);
    let mut session = model.session();
    // 2,050 rows are more than 2²¹ words, 7 are few.
    for rows in [2_055, 7] {
        let flat = numbers(rows * 1024, 1);
        let x: &[[f32; 1024]] = precast::rows(&flat).unwrap();
        let results = session.even(x).unwrap();
        check(&flat, 1024, results.0.as_flattened(), results.1.as_flattened());

        let flat = numbers(rows * 1021, 2);
        let x: &[[f32; 1021]] = precast::rows(&flat).unwrap();
        let results = session.odd(x).unwrap();
        check(&flat, 1021, results.0.as_flattened(), results.1.as_flattened());
    }
}

#[test]
fn short_rows_and_maps_are_what_the_formulas_say() {
    let model = Rows::init(0);
    let mut session = model.session();
    let flat = numbers(9 * 70, 3);
    let got = session.short(precast::rows(&flat).unwrap()).unwrap();
    for (got, x) in got.iter().zip(flat.chunks(70)) {
        let total: f64 = x.iter().map(|x| f64::from(*x).exp()).sum();
        for (got, x) in got.iter().zip(x) {
            assert!((f64::from(*got) - (f64::from(*x) - total.ln())).abs() < 2e-6);
        }
    }
    for count in [1, 17, 63, 5_000, (1 << 21) + 5] {
        let x = numbers(count, 4);
        let got = session.map(&x).unwrap();
        for at in (0..count).step_by(count / 50 + 1).chain([count - 1]) {
            let wanted = gelu(f64::from(x[at]));
            assert!((f64::from(got[at]) - wanted).abs() < 3e-7, "{count} at {at}: {}, not {wanted}", got[at]);
        }
    }
}
