//! NaN, infinities and the ends of f32: what PyTorch gives.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::prelude::*;

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

model! {
    /// What orders numbers.
    pub struct Ordered {
        unused: Parameter(1),
    }

    impl Ordered {
        /// Along the last axis, which is reduced by the lanes or walked beside them.
        pub fn rows(&self, x: f32[B, 5]) -> (u32[B], u32[B], f32[B], f32[B]) {
            (argmax(x, axis = 1), argmin(x, axis = 1), max(x, axis = 1), min(x, axis = 1) + 0 * sum(self.unused))
        }

        /// Along the first axis, beside whole vectors.
        pub fn columns(&self, x: f32[5, 40]) -> (u32[40], u32[40]) {
            (argmax(x, axis = 0), argmin(x, axis = 0))
        }

        /// Of all elements.
        pub fn whole(&self, x: f32[N]) -> (u32, u32) {
            (argmax(x), argmin(x))
        }

        /// A pool's gradient goes to the element that it took.
        #[train(Sgd)]
        pub fn pooled(&self, x: f32[B, 1, 4]) -> f32 {
            sum(max_pool1d(x, window = 2)) + sum(self.unused)
        }

        /// The values of pools.
        pub fn pools(&self, x: f32[B, 1, 4]) -> (f32[B, 1, 2], f32[B, 1, 1]) {
            (max_pool1d(x, window = 2), max_pool1d(x, window = 4))
        }

        /// Sorted, and where each was.
        pub fn sorted(&self, x: f32[B, 5]) -> (f32[B, 5], u32[B, 5], f32[B, 2], u32[B, 2]) {
            let (values, places) = top_k(x, 2);
            (sort(x), argsort(x), values, places)
        }

        /// Running extremes.
        pub fn running(&self, x: f32[B, 5]) -> (f32[B, 5], f32[B, 5]) {
            (cummax(x), cummin(x))
        }
    }
}

model! {
    /// Functions at the ends.
    pub struct Ends {
        unused: Parameter(1),
    }

    impl Ends {
        /// Values.
        pub fn values(&self, x: f32[N]) -> (f32[N], f32[N], f32[N], f32[N], f32[N]) {
            (softplus(x), log_sigmoid(x), mish(x), sinh(x), cosh(x) + 0 * sum(self.unused))
        }

        /// Powers of two.
        pub fn powers(&self, x: f32[N]) -> f32[N] { exp2(x) + 0 * sum(self.unused) }

        /// Derivatives.
        pub fn slopes(&self, x: f32[N]) -> (f32[N], f32[N]) {
            (grad(|x| sum(softplus(x)))(x), grad(|x| sum(log_sigmoid(x)) + 0 * sum(self.unused))(x))
        }
    }
}

/// Rows, and the positions that `torch.argmax` and `torch.argmin` give.
const ROWS: [([f32; 5], u32, u32); 7] = [
    ([1.0, 3.0, 3.0, 0.0, 0.0], 1, 3),
    ([1.0, NAN, 3.0, 0.0, 2.0], 1, 1),
    ([1.0, 5.0, NAN, NAN, INF], 2, 2),
    ([NAN, 5.0, NAN, 0.0, INF], 0, 0),
    ([-INF, -INF, -INF, -INF, -INF], 0, 0),
    ([INF, INF, INF, INF, NAN], 4, 4),
    ([0.0, -0.0, 0.0, -0.0, 0.0], 0, 0),
];

fn same(found: f32, wanted: f32) -> bool {
    found == wanted || found.is_nan() && wanted.is_nan() || (found - wanted).abs() <= 2e-6 * wanted.abs()
}

#[test]
fn the_first_nan_is_the_extreme() {
    let model = Ordered::init(0);
    let rows = ROWS.map(|(row, ..)| row);
    let (most, least, max, min) = model.rows(&rows).unwrap();
    for (k, (row, at_most, at_least)) in ROWS.into_iter().enumerate() {
        assert_eq!((most[k], least[k]), (at_most, at_least), "{row:?}");
        assert!(same(max[k], row[at_most as usize]) && same(min[k], row[at_least as usize]), "{row:?}");
        let columns: [[f32; 40]; 5] = std::array::from_fn(|at| [row[at]; 40]);
        let (most, least) = model.columns(&columns).unwrap();
        assert_eq!((most, least), ([at_most; 40], [at_least; 40]), "{row:?}");
        assert_eq!(model.whole(&row).unwrap(), (at_most, at_least), "{row:?}");
    }
}

#[test]
fn a_pool_hands_on_nan() {
    let model = Ordered::init(0);
    let (halves, whole) = model.pools(&[[[1.0, NAN, 2.0, 3.0]], [[4.0, 3.0, -INF, -INF]]]).unwrap();
    assert!(halves[0][0][0].is_nan() && whole[0][0][0].is_nan());
    assert_eq!((halves[0][0][1], halves[1], whole[1]), (3.0, [[4.0, -INF]], [[4.0]]));
}

#[test]
fn nan_is_larger_than_all_where_numbers_are_ordered() {
    let model = Ordered::init(0);
    let (sorted, order, largest, places) = model.sorted(&[[1.0, NAN, INF, NAN, -INF]]).unwrap();
    assert_eq!(order, [[4, 0, 2, 1, 3]]);
    assert!(sorted[0][..3] == [-INF, 1.0, INF] && sorted[0][3].is_nan() && sorted[0][4].is_nan());
    assert!(largest[0].iter().all(|x| x.is_nan()));
    assert_eq!(places, [[1, 3]]);
}

#[test]
fn running_extremes_keep_nan() {
    let (most, least) = Ordered::init(0).running(&[[1.0, 2.0, NAN, 3.0, 0.0]]).unwrap();
    for found in [most[0], least[0]] {
        assert!(found[..2].iter().all(|x| !x.is_nan()) && found[2..].iter().all(|x| x.is_nan()), "{found:?}");
    }
}

#[test]
fn functions_reach_the_ends() {
    let x = [-INF, INF, 3e38, -3e38, 89.0, -89.0, 0.0, NAN];
    let (softplus, log_sigmoid, mish, sinh, cosh) = Ends::init(0).values(&x).unwrap();
    let ln2 = core::f32::consts::LN_2;
    let large = 2.244_806_4e38;
    let wanted = [
        (softplus, [0.0, INF, 3e38, 0.0, 89.0, 0.0, ln2, NAN]),
        (log_sigmoid, [-INF, 0.0, 0.0, -3e38, 0.0, -89.0, -ln2, NAN]),
        (mish, [NAN, INF, 3e38, -0.0, 89.0, 0.0, 0.0, NAN]),
        (sinh, [-INF, INF, INF, -INF, large, -large, 0.0, NAN]),
        (cosh, [INF, INF, INF, INF, large, large, 1.0, NAN]),
    ];
    for (k, (found, wanted)) in wanted.iter().enumerate() {
        for (at, (&found, &wanted)) in found.iter().zip(wanted).enumerate() {
            let tiny = wanted == 0.0 && found.abs() < 1e-30;
            assert!(same(found, wanted) || tiny, "function {k} of {}: {found}, not {wanted}", x[at]);
        }
    }
}

#[test]
fn slopes_reach_the_ends() {
    let x = [-INF, INF, 3e38, -3e38, 0.0, NAN];
    let (softplus, log_sigmoid) = Ends::init(0).slopes(&x).unwrap();
    let wanted = [(softplus, [0.0, 1.0, 1.0, 0.0, 0.5, NAN]), (log_sigmoid, [1.0, 0.0, 0.0, 1.0, 0.5, NAN])];
    for (found, wanted) in wanted {
        assert!(found.iter().zip(wanted).all(|(&f, w)| same(f, w)), "{found:?}, not {wanted:?}");
    }
}

/// `exp(x · ln 2)` has lost digits of the fraction where the exponent is large.
#[test]
fn powers_of_two_keep_their_digits() {
    let x: Vec<f32> = (-40..=40).map(|k| 3.1 * k as f32).collect();
    for (found, x) in Ends::init(0).powers(&x).unwrap().into_iter().zip(x) {
        let exact = f64::from(x).exp2();
        assert!((f64::from(found) / exact - 1.0).abs() < 3e-7, "{found} instead of {exact} at {x}");
    }
}
