//! Numbers at the ends of what a shader computes: arguments of sines that are far from zero, NaN, heads of one feature,
//! indices below zero, and sums of millions of addends.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use core::f32::consts::{FRAC_PI_2, PI};
use precast::View;
use precast::prelude::*;
use tests::gpu;

model! {
    /// One function for each question.
    pub struct Numbers { queries: Linear(4, 1), keys: Linear(4, 1) }

    impl Numbers {
        /// Values of one feature.
        pub fn one_value(&self, q: f32[B, 5, 4], v: f32[B, 5, 1]) -> f32[B, 5, 1] { attend(q, q, v) }

        /// Both at once.
        pub fn turns(&self, x: f32[N]) -> (f32[N], f32[N], f32[N]) { (sin(x), cos(x), tan(x)) }

        /// Whether numbers differ, and whether they are not 0.
        pub fn differ(&self, x: f32[N], y: f32[N]) -> (f32[N], f32[N]) { ((x != y).f32(), x.bool().f32()) }

        /// Powers.
        pub fn powers(&self, x: f32[N], y: f32[N]) -> f32[N] { pow(x, y) }

        /// Exponentials, and whole numbers.
        pub fn ends(&self, x: f32[N]) -> (f32[N], i32[N]) { (exp(x), x.i32()) }

        /// Quotients and remainders.
        pub fn divided(&self, a: i32[N], b: i32[N]) -> (i32[N], i32[N]) { (a / b, a % b) }

        /// The sign.
        pub fn signs(&self, x: f32[N]) -> f32[N] { sign(x) }

        /// The largest, the smallest, and where they are.
        pub fn extremes(&self, x: f32[N]) -> (f32, f32, u32, u32) {
            (max(x, axis = 0), min(x, axis = 0), argmax(x, axis = 0), argmin(x, axis = 0))
        }

        /// A sum of any length.
        pub fn long(&self, x: f32[N]) -> f32 { sum(x) }

        /// A mean and what is left, which are two passes over a row.
        pub fn centred(&self, x: f32[N]) -> f32 { mean(square(x - mean(x))) }

        /// Each element, each row and each of many small products: more workgroups than a dispatch has along one axis.
        pub fn many(&self, x: f32[N, 8, 8]) -> (f32[N, 8, 8], f32[N], f32[N, 8, 8]) {
            (x + 1, max(reshape(x, [N, 64]), axis = 1), matmul(x, x))
        }

        /// Short rows.
        pub fn rows(&self, x: f32[N, 24]) -> f32[N] { sum(x, axis = 1) }

        /// Products of any depth, of which one has so few elements that a workgroup shares each sum.
        pub fn products(&self, x: f32[N, 3], y: f32[N, 2]) -> f32[3, 2] { matmul(transpose(x), y) }

        /// Many of them.
        pub fn wide(&self, x: f32[N, 96], y: f32[N, 80]) -> f32[96, 80] { matmul(transpose(x), y) }

        /// Many addends into one of three elements.
        pub fn gathered(&self, x: f32[3], i: u32[N], u: f32[N]) -> f32[3] { index_add(x, i, u) }

        /// An index whose numerator is negative at the border.
        pub fn border(&self, x: f32[B, 2, 3]) -> f32 {
            let y = pad(tile(x, [1, 3, 1]), low = 1, high = 0, axis = 0, mode = "reflect");
            sum(concat([y, y], axis = 2))
        }

        /// A sum at more positions than 32 bits count.
        pub fn far(&self, x: f32[N]) -> f32 { sum(maximum(pad(x, low = 2000000000, high = 2000000000), 0)) }

        /// How much each value weighs, over all queries.
        pub fn weights(&self, q: f32[B, T, 5], k: f32[B, S, 5], v: f32[B, S], mask: f32[S]) -> f32[B, S] {
            grad(|v| sum(attend(q, k, reshape(v, [B, S, 1]), reshape(mask, [1, 1, S]))))(v)
        }

        /// The same for one query, and how the squares of all weights depend on the queries.
        pub fn weights_of_one(&self, q: f32[B, 1, 5], k: f32[B, S, 5], v: f32[B, S]) -> (f32[B, S], f32[B, 1, 5]) {
            let weights = |q, v| grad(|v| sum(attend(q, k, reshape(v, [B, S, 1]))))(v);
            (weights(q, v), grad(|q| sum(square(weights(q, v))))(q))
        }

        /// Keys of one feature.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 5, 4]) -> f32 { mean(attend(self.queries(x), self.keys(x), x) * x) }
    }
}

model! {
    struct Wave { scale: Parameter([3], init = "uniform") }
    impl Wave { fn forward(&self, x: f32[.., 3]) -> f32[.., 3] { x + 0.1 * sin(x * self.scale) } }
    struct Fifth { b: [Wave; 2] }
    impl Fifth { fn forward(&self, x: f32[.., 3]) -> f32[.., 3] { let mut x = x; for b in self.b { x = b(x); } x } }
    struct Fourth { b: [Fifth; 2] }
    impl Fourth { fn forward(&self, x: f32[.., 3]) -> f32[.., 3] { let mut x = x; for b in self.b { x = b(x); } x } }
    struct Third { b: [Fourth; 2] }
    impl Third { fn forward(&self, x: f32[.., 3]) -> f32[.., 3] { let mut x = x; for b in self.b { x = b(x); } x } }
    struct Second { b: [Third; 2] }
    impl Second { fn forward(&self, x: f32[.., 3]) -> f32[.., 3] { let mut x = x; for b in self.b { x = b(x); } x } }
    /// Five loops in each other.
    pub struct Deep { b: [Second; 2] }
    impl Deep {
        /// All waves, one after the other.
        pub fn out(&self, x: f32[B, 3]) -> f32[B, 3] { let mut y = x; for b in self.b { y = b(y); } y }
    }
}

/// Numbers between −1 and 1, the same in every run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| noise()).collect()
}

/// Whether numbers are the same, or both NaN.
fn same(a: &[f32], b: &[f32]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a == b || a.is_nan() && b.is_nan())
}

#[test]
fn heads_of_one_feature_are_stored_and_have_gradients() {
    let Some(gpu) = gpu() else { return };
    let mut host = Numbers::init(3);
    let mut net = host.on(&gpu).unwrap();
    let x: Vec<[[f32; 4]; 5]> =
        numbers(60).chunks(20).map(|c| std::array::from_fn(|i| std::array::from_fn(|j| c[4 * i + j]))).collect();
    let v: Vec<[[f32; 1]; 5]> = x.iter().map(|rows| rows.map(|row| [row[0] + 2.0])).collect();
    let (wanted, found) = (host.one_value(&x, &v).unwrap(), net.one_value(&x, &v).unwrap());
    for (a, b) in wanted.as_flattened().as_flattened().iter().zip(found.as_flattened().as_flattened()) {
        assert!((a - b).abs() < 1e-5, "{a} on the CPU, {b} on the GPU");
    }
    let mut on_cpu = host.trainer(Sgd { rate: 0.5, ..Sgd::default() });
    let mut on_gpu = net.trainer(Sgd { rate: 0.5, ..Sgd::default() });
    for step in 0..8 {
        let wanted = on_cpu.loss(&x).unwrap().value().unwrap();
        let found = on_gpu.loss(&x).unwrap().value().unwrap();
        assert!(
            (wanted - found).abs() < 2e-6 * wanted.abs().max(1.0),
            "step {step}: {wanted} on the CPU, {found} on the GPU"
        );
    }
}

/// However large scores are, gradients find the weights that values had.
#[test]
fn weights_of_attention_add_up_to_one() {
    let gpu = gpu();
    let host = Numbers::init(3);
    let net = gpu.as_ref().map(|gpu| host.on(gpu).unwrap());
    let rows = |count: usize, factor: f32| -> Vec<[f32; 5]> {
        numbers(5 * count).chunks(5).map(|row| std::array::from_fn(|n| row[n] * factor)).collect()
    };
    for (queries, keys) in [(3, 3), (70, 1), (1, 1), (40, 90)] {
        let v = View::new(&[1.0; 180][..2 * keys], [2, keys]).unwrap();
        for (factor, hidden) in [(1.0, -1e9), (30.0, 0.0), (5e3, 0.0), (5e5, 0.0), (1.0, -3e38)] {
            let (q, k) = (rows(2 * queries, factor), rows(2 * keys, factor));
            let (q, k) = (View::new(&q, [2, queries]).unwrap(), View::new(&k, [2, keys]).unwrap());
            let mask = vec![hidden; keys];
            let on_cpu = host.weights(q, k, v, &mask).unwrap();
            let on_gpu = net.as_ref().map(|net| net.weights(q, k, v, &mask).unwrap());
            for (place, weights) in [("CPU", Some(on_cpu)), ("GPU", on_gpu)] {
                let Some(weights) = weights else { continue };
                let (sum, all) = (weights.data().iter().sum::<f32>(), (2 * queries) as f32);
                assert!(
                    (sum - all).abs() <= 2e-5 * all,
                    "{place}: weights of {all} queries times {factor} add up to {sum}"
                );
            }
        }
    }
    // A single key.
    let (q, k) = (rows(2, 5e5).into_iter().map(|row| [row]).collect::<Vec<_>>(), rows(2, 5e5));
    let (k, v) = (View::new(&k, [2, 1]).unwrap(), View::new(&[1.0; 2], [2, 1]).unwrap());
    let on_cpu = host.weights_of_one(&q, k, v).unwrap();
    let on_gpu = net.as_ref().map(|net| net.weights_of_one(&q, k, v).unwrap());
    for (weights, slopes) in [Some(on_cpu), on_gpu].into_iter().flatten() {
        assert_eq!(weights.data(), [1.0, 1.0]);
        // Terms as large as keys cancel.
        assert!(slopes.as_flattened().as_flattened().iter().all(|x| x.abs() <= 1e-7 * 5e5), "{slopes:?}");
    }
}

#[test]
fn exponentials_and_whole_numbers_reach_the_ends() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let x = [88.7, 88.2, -87.2, 89.0, 200.0, -200.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for (found, x) in net.ends(&x).unwrap().0.into_iter().zip(x) {
        let wanted = f64::from(x).exp() as f32;
        assert!(same(&[found], &[wanted]) || (found / wanted - 1.0).abs() < 5e-7, "e^{x} is {wanted}, not {found}");
    }
    let x = [2_147_483_648.0, 2_147_483_520.0, 3e9, -2_147_483_648.0, -3e9, 1.9, -1.9, f32::NAN];
    assert_eq!(net.ends(&x).unwrap().1, x.map(|x| x as i32));
    let (a, b) = ([i32::MIN, i32::MIN, 7, -7, 7, i32::MIN], [-1, 1, 0, 2, -2, 3]);
    let (quotients, remainders) = net.divided(&a, &b).unwrap();
    for (k, (a, b)) in a.into_iter().zip(b).enumerate() {
        let wanted = if b == 0 { (0, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) };
        assert_eq!((quotients[k], remainders[k]), wanted, "{a} by {b}");
    }
}

#[test]
fn sines_of_large_numbers_are_reduced_exactly() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let mut x = vec![0.0, 1.0, 1e5, 1e6, 2_147_483_648.0, 1e30, f32::MAX, 511.9, 512.0, 355.0, FRAC_PI_2, PI];
    x.extend((0..2000).map(|k| f32::from_bits(0x3c00_0000 + k * 0x0008_a3d5)));
    x.extend(x.clone().iter().map(|x| -x));
    let (sines, cosines, tangents) = net.turns(&x).unwrap();
    for (k, &x) in x.iter().enumerate() {
        let (sine, cosine) = f64::from(x).sin_cos();
        // Four ulps of the result, however small it is.
        let close = |found: f32, wanted: f64| (f64::from(found) - wanted).abs() <= 4.0 * 1.2e-7 * wanted.abs() + 1e-30;
        assert!(close(sines[k], sine), "sin {x} is {sine}, not {}", sines[k]);
        assert!(close(cosines[k], cosine), "cos {x} is {cosine}, not {}", cosines[k]);
        let tangent = sine / cosine;
        let bound = 1e-6 * tangent.abs();
        assert!((f64::from(tangents[k]) - tangent).abs() <= bound, "tan {x} is {tangent}, not {}", tangents[k]);
    }
    let (sines, cosines, _) = net.turns(&[f32::INFINITY, f32::NEG_INFINITY, f32::NAN]).unwrap();
    assert!(sines.iter().chain(&cosines).all(|x| x.is_nan()), "{sines:?} {cosines:?}");
}

#[test]
fn nan_is_not_equal_to_anything_and_wins() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let nan = f32::NAN;
    let (differ, truth) = net.differ(&[nan, 1.0, nan, 2.0, 0.0], &[1.0, nan, nan, 2.0, 0.0]).unwrap();
    assert_eq!((differ, truth), (vec![1.0, 1.0, 1.0, 0.0, 0.0], vec![1.0, 1.0, 1.0, 1.0, 0.0]));
    assert!(same(&net.signs(&[nan, -2.0, 0.0, 3.0]).unwrap(), &[0.0, -1.0, 0.0, 1.0]));
    let mut x = numbers(1000);
    for first in [999, 500, 3, 0] {
        x[first] = nan;
        let (most, least, at_most, at_least) = net.extremes(&x).unwrap();
        assert!(most.is_nan() && least.is_nan(), "{most} {least}");
        assert_eq!((at_most, at_least), (first as u32, first as u32));
    }
}

#[test]
fn powers_at_the_ends_are_those_of_c() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let ends = [f32::NEG_INFINITY, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, f32::INFINITY, f32::NAN];
    let exponents = [f32::NEG_INFINITY, -3.0, -2.0, -0.5, -0.0, 0.0, 0.5, 2.0, 3.0, f32::INFINITY, f32::NAN];
    let (x, y): (Vec<f32>, Vec<f32>) = ends.iter().flat_map(|&x| exponents.map(|y| (x, y))).unzip();
    for ((x, y), found) in x.iter().zip(&y).zip(net.powers(&x, &y).unwrap()) {
        let wanted = x.powf(*y);
        let close = (found - wanted).abs() <= 1e-6 * wanted.abs() && (found < 0.0) == (wanted < 0.0);
        assert!(close || same(&[found], &[wanted]), "{x} to the {y} is {wanted}, not {found}");
    }
}

#[test]
fn sums_are_right_to_a_millionth() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let close = |found: f32, wanted: f64| (f64::from(found) - wanted).abs() <= 1e-6 * wanted;
    for (count, each) in [(17, 0.1), (4095, 0.7), (4096, 0.3), (800_001, 0.1), (4_194_304, 0.1), (33_554_432, 1.000_1)]
    {
        let x = vec![each; count];
        let wanted = f64::from(each) * count as f64;
        let found = net.long(&x).unwrap();
        assert!(close(found, wanted), "{count} times {each} is {wanted}, not {found}");
    }
    let x: Vec<f32> = numbers(1_000_003).iter().map(|x| x + 1.5).collect();
    let wanted = x.iter().map(|&x| f64::from(x)).sum::<f64>();
    assert!(close(net.long(&x).unwrap(), wanted));
    let mean = wanted / x.len() as f64;
    let wanted = x.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / x.len() as f64;
    assert!(close(net.centred(&x).unwrap(), wanted));
    let infinite = [vec![1.0; 5000], vec![f32::INFINITY], vec![1.0; 5000]].concat();
    assert_eq!(net.long(&infinite).unwrap(), f32::INFINITY);
    let rows: Vec<[f32; 24]> = x.chunks_exact(24).take(5000).map(|row| std::array::from_fn(|k| row[k])).collect();
    for (row, found) in rows.iter().zip(net.rows(&rows).unwrap()) {
        assert!(close(found, row.iter().map(|&x| f64::from(x)).sum()));
    }
}

#[test]
fn sums_into_one_element_are_right_to_a_millionth() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let found = net.gathered(&[0.0, 0.0, 5.0], &vec![1; 60_000], &vec![0.1; 60_000]).unwrap();
    assert!((f64::from(found[1]) - 60_000.0 * f64::from(0.1f32)).abs() < 6e-3, "{found:?}");
    assert_eq!((found[0], found[2]), (0.0, 5.0));
}

#[test]
fn products_are_right_however_deep_they_are() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let close = |found: f32, count: usize| {
        let wanted = f64::from(0.3f32).powi(2) * count as f64;
        assert!((f64::from(found) / wanted - 1.0).abs() < 8e-6, "{wanted} of {count} terms, not {found}");
    };
    for count in [4095, 4097, 1_000_001] {
        let found = net.products(&vec![[0.3; 3]; count], &vec![[0.3; 2]; count]).unwrap();
        found.as_flattened().iter().for_each(|found| close(*found, count));
    }
    for count in [513, 60_001] {
        let found = net.wide(&vec![[0.3; 96]; count], &vec![[0.3; 80]; count]).unwrap();
        found.as_flattened().iter().for_each(|found| close(*found, count));
    }
}

#[test]
fn a_dispatch_may_have_more_workgroups_than_one_axis_holds() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let x: Vec<[[f32; 8]; 8]> = (0..70_001).map(|n| [[(n % 1009) as f32; 8]; 8]).collect();
    let (next, largest, squares) = net.many(&x).unwrap();
    for n in 0..x.len() {
        let number = (n % 1009) as f32;
        assert_eq!(next[n], [[number + 1.0; 8]; 8], "{n}");
        assert_eq!((largest[n], squares[n]), (number, [[8.0 * number * number; 8]; 8]), "{n}");
    }
}

#[test]
fn every_turn_of_five_loops_has_its_own_parameters() {
    let Some(gpu) = gpu() else { return };
    let host = Deep::init(3);
    let (x, net) = ([[0.3, -1.0, 2.0], [1.0, 0.5, -0.2]], host.on(&gpu).unwrap());
    let (wanted, found) = (host.out(&x).unwrap(), net.out(&x).unwrap());
    for (a, b) in wanted.as_flattened().iter().zip(found.as_flattened()) {
        assert!((a - b).abs() < 1e-5, "{a} on the CPU, {b} on the GPU");
    }
}

#[test]
fn indices_below_zero_are_divided_downwards() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    for count in [2, 3, 7] {
        let x: Vec<[[f32; 3]; 2]> = numbers(6 * count)
            .chunks(6)
            .map(|c| std::array::from_fn(|i| std::array::from_fn(|j| c[3 * i + j])))
            .collect();
        let total =
            |rows: &[[[f32; 3]; 2]]| rows.as_flattened().as_flattened().iter().map(|&x| f64::from(x)).sum::<f64>();
        let wanted = 6.0 * (total(&x) + total(&x[1..2]));
        let found = f64::from(net.border(&x).unwrap());
        assert!((found - wanted).abs() < 1e-4, "{count} rows: {wanted}, not {found}");
    }
}

#[test]
fn positions_beyond_32_bits_are_an_error() {
    let Some(gpu) = gpu() else { return };
    let net = Numbers::init(3).on(&gpu).unwrap();
    let why = net.far(&[1.0, 2.0]).unwrap_err();
    assert!(why.to_string().contains("workgroups"), "{why}");
    assert_eq!(net.long(&[1.0, 2.0]).unwrap(), 3.0);
}
