//! `precision = split` and `mixed`: products of f32 as three products of halves, or as one, on a GPU that has cooperative matrices. One
//! that has none computes in f32, and all of this holds there too.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::prelude::*;
use precast::{Gpu, View};
use tests::{gpu, numbers, rows};

/// What `precision = split` promises where no element is far smaller than others of its row, in parts of the largest number of a result.
const BOUND: f64 = 5e-5;
/// The same of `mixed`, for sums of numbers of both signs.
const ROUNDED: f64 = 1e-3;

model! {
    /// Products in all orders of their factors.
    #[model(precision = split)]
    pub struct Products { hidden: Linear(96, 160), output: Linear(160, 10) }

    impl Products {
        /// Rows times columns.
        pub fn nn(x: f32[N, 200], y: f32[200, 140]) -> f32[N, 140] { matmul(x, y) }
        /// Rows times rows.
        pub fn nt(x: f32[N, 200], y: f32[140, 200]) -> f32[N, 140] { matmul(x, transpose(y)) }
        /// Columns times columns.
        pub fn tn(x: f32[200, N], y: f32[200, 140]) -> f32[N, 140] { matmul(transpose(x), y) }
        /// Lengths of which none is a multiple of anything.
        pub fn odd(x: f32[N, 131], y: f32[131, 67]) -> f32[N, 67] { matmul(x, y) }
        /// As many results as are known, a long sum, and something to be done with it.
        pub fn long(x: f32[150, 6007], y: f32[6007, 130], bias: f32[130]) -> f32[150, 130] {
            relu(matmul(x, y) + bias) * 0.5
        }
        /// A sum that is made in parts, which end beyond the last term.
        pub fn parts(x: f32[K, 70], y: f32[K, 66]) -> f32[70, 66] { matmul(transpose(x), y) }
        /// Several products beside each other.
        pub fn batch(x: f32[N, 3, 80, 68], y: f32[N, 3, 68, 72]) -> f32[N, 3, 80, 72] { matmul(x, y) }
        /// Images read through windows, with strides and padding.
        pub fn images(x: f32[N, 8, 30, 30], w: f32[66, 8, 3, 3]) -> f32[N, 66, 15, 15] {
            conv2d(x, w, stride = 2, padding = 1)
        }
        /// A product whose sums are stored in the place of what is added to them.
        pub fn residual(x: f32[N, 96], w: f32[96, 96]) -> f32[N, 96] { let y = tanh(x); y + matmul(relu(y), w) }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[N, 96], class: u32[N]) -> f32 {
            cross_entropy(self.output(gelu(self.hidden(x))), class)
        }
    }

    /// The same in f32.
    pub struct Plain = Products;

    /// The same with numbers that are rounded to halves.
    #[model(precision = mixed)]
    pub struct Rounded = Products;
}

/// Rows of a matrix times columns of another one, in f64.
fn product([m, n, k]: [usize; 3], x: &dyn Fn(usize, usize) -> f32, y: &dyn Fn(usize, usize) -> f32) -> Vec<f64> {
    let sum = |at: usize| (0..k).map(|t| f64::from(x(at / n, t)) * f64::from(y(t, at % n))).sum();
    (0..m * n).map(sum).collect()
}

/// So many rows as an argument of known size.
fn fixed<const R: usize, const C: usize>(rows: &[[f32; C]]) -> &[[f32; C]; R] {
    rows.try_into().unwrap()
}

/// Rows of a matrix.
fn in_rows<const C: usize>(numbers: &[f32]) -> &[[f32; C]] {
    numbers.as_chunks().0
}

/// The largest error in parts of the largest number.
fn error(found: &[f32], right: &[f64]) -> f64 {
    assert_eq!(found.len(), right.len());
    let largest = right.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let errors = found.iter().zip(right).map(|(&found, right)| (f64::from(found) - right).abs());
    assert!(found.iter().all(|x| x.is_finite()));
    errors.fold(0.0, f64::max) / largest
}

fn model() -> Option<(Gpu, Products<Gpu>)> {
    let gpu = gpu()?;
    println!("products of halves: {}", gpu.has_cooperative_matrices());
    let model = Products::init(0).on(&gpu).unwrap();
    Some((gpu, model))
}

#[test]
fn products_are_those_of_f64_in_every_order() {
    let Some((_, model)) = model() else { return };
    for n in [1, 33, 128, 300] {
        let (x, y) = (rows::<200>(n, 1), rows::<140>(200, 2));
        let right = product([n, 140, 200], &|i, k| x[i][k], &|k, j| y[k][j]);
        let check = |name: &str, found: &[f32]| {
            let error = error(found, &right);
            assert!(error < BOUND, "{name} of {n} rows: {error:e}");
        };
        check("nn", model.nn(&x, fixed(&y)).unwrap().as_flattened());
        let turned: Vec<f32> = (0..140 * 200).map(|at| y[at % 200][at / 200]).collect();
        check("nt", model.nt(&x, fixed(in_rows(&turned))).unwrap().as_flattened());
        let turned: Vec<f32> = (0..200 * n).map(|at| x[at % n][at / n]).collect();
        check("tn", model.tn(View::new(&turned, [200, n]).unwrap(), fixed(&y)).unwrap().as_flattened());
        let (x, y) = (rows::<131>(n, 3), rows::<67>(131, 4));
        let right = product([n, 67, 131], &|i, k| x[i][k], &|k, j| y[k][j]);
        let found = model.odd(&x, fixed(&y)).unwrap();
        assert!(error(found.as_flattened(), &right) < BOUND, "odd lengths, {n} rows");
    }
}

#[test]
fn sums_are_as_good_in_rows_and_columns_of_all_sizes() {
    let Some((_, model)) = model() else { return };
    let n = 150;
    let power = |at: usize, most: i32| 2f32.powi((at as i32 * 7) % (2 * most + 1) - most);
    for most in [20, 50] {
        let (mut x, mut y) = (rows::<200>(n, 5), rows::<140>(200, 6));
        for (i, row) in x.iter_mut().enumerate() {
            row.iter_mut().for_each(|x| *x *= power(i, most));
        }
        y.iter_mut().for_each(|row| row.iter_mut().enumerate().for_each(|(j, y)| *y *= power(j + 3, most)));
        let found = model.nn(&x, fixed(&y)).unwrap();
        let right = product([n, 140, 200], &|i, k| x[i][k], &|k, j| y[k][j]);
        // Each row, and each column, for itself.
        for i in 0..n {
            let of_row: Vec<f64> = (0..140).map(|j| right[i * 140 + j] / f64::from(power(j + 3, most))).collect();
            let row: Vec<f32> = (0..140).map(|j| found[i][j] / power(j + 3, most)).collect();
            assert!(error(&row, &of_row) < BOUND, "row {i} of 2^±{most}: {:e}", error(&row, &of_row));
        }
    }
}

#[test]
fn what_the_first_terms_do_not_tell_is_found() {
    let Some((_, model)) = model() else { return };
    let (n, mut y) = (70, rows::<140>(200, 8));
    y[77] = [0.0; 140];
    let check = |name: &str, change: &dyn Fn(usize, usize, f32) -> f32| {
        let mut x = rows::<200>(n, 7);
        for (i, row) in x.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(k, x)| *x = change(i, k, *x));
        }
        let found = model.nn(&x, fixed(&y)).unwrap();
        let right = product([n, 140, 200], &|i, k| x[i][k], &|k, j| y[k][j]);
        for i in 0..n {
            let (found, right) = (&found[i], &right[i * 140..(i + 1) * 140]);
            if right.iter().any(|x| *x != 0.0) {
                let error = error(found, right);
                assert!(error < BOUND, "{name}, row {i}: {error:e}");
            } else {
                assert_eq!(found, &[0.0; 140], "{name}, row {i}");
            }
        }
    };
    check("rows that begin with zeros", &|i, k, x| if k < i { 0.0 } else { x });
    check("tiny rows that begin with zeros", &|i, k, x| if k < 40 + i { 0.0 } else { x * 1e-9 });
    check("rows of zeros", &|i, _, x| if i % 3 == 0 { 0.0 } else { x });
    check("an element beyond the guess", &|i, k, x| if k == 50 + i { 3000.0 * x.signum() } else { x });
    check("elements far beyond the guess", &|_, k, x| if k > 190 { 1e12 * x } else { x });
    check("a first term below the normal numbers", &|_, k, x| if k < 32 { 1e-40 } else { 1e-6 * x });
    check("numbers that fall", &|_, k, x| x * 0.8f32.powi(k as i32));
    check("a large element that meets small ones", &|_, k, x| if k == 77 { 3e4 } else { x });
    check("large numbers", &|_, _, x| x * 1e36);
    check("small numbers", &|_, _, x| x * 1e-34);
}

#[test]
fn what_is_not_finite_stays_so_and_harms_no_other_row() {
    let Some((_, model)) = model() else { return };
    let (mut x, y) = (rows::<200>(70, 9), rows::<140>(200, 10));
    (x[3][150], x[17][0], x[40][199]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
    let found = model.nn(&x, fixed(&y)).unwrap();
    let right = product([70, 140, 200], &|i, k| x[i][k], &|k, j| y[k][j]);
    for i in 0..70 {
        if [3, 17, 40].contains(&i) {
            assert!(found[i].iter().all(|x| !x.is_finite()), "row {i}");
        } else {
            assert!(error(&found[i], &right[i * 140..(i + 1) * 140]) < BOUND, "row {i}");
        }
    }
}

#[test]
fn long_sums_and_sums_in_parts_are_right() {
    let Some((_, model)) = model() else { return };
    // Sums of positive numbers, whose errors all have one sign where they are cut off.
    let positive =
        |count: usize, seed: u32| numbers(count, seed).into_iter().map(|x| x.abs() + 0.1).collect::<Vec<f32>>();
    let (x, y, bias) = (positive(150 * 6007, 11), positive(6007 * 130, 12), numbers(130, 13));
    let found = model.long(fixed(in_rows(&x)), fixed(in_rows(&y)), &bias[..].try_into().unwrap());
    let mut right = product([150, 130, 6007], &|i, k| x[i * 6007 + k], &|k, j| y[k * 130 + j]);
    right.iter_mut().enumerate().for_each(|(at, x)| *x = (*x + f64::from(bias[at % 130])).max(0.0) * 0.5);
    assert!(error(found.unwrap().as_flattened(), &right) < BOUND);
    for k in [1, 31, 700, 5003] {
        let (x, y) = (rows::<70>(k, 14), rows::<66>(k, 15));
        let right = product([70, 66, k], &|i, t| x[t][i], &|t, j| y[t][j]);
        let found = model.parts(&x, &y).unwrap();
        assert!(error(found.as_flattened(), &right) < BOUND, "{k} terms");
    }
}

#[test]
fn products_beside_each_other_images_and_residuals_are_those_of_f32() {
    let Some((gpu, model)) = model() else { return };
    let plain = Plain::init(0).on(&gpu).unwrap();
    let close = |name: &str, found: &[f32], right: &[f32]| {
        let right: Vec<f64> = right.iter().map(|&x| x.into()).collect();
        let error = error(found, &right);
        assert!(error < BOUND, "{name}: {error:e}");
    };
    let (mut x, mut y) = (vec![[[[0.0; 68]; 80]; 3]; 5], vec![[[[0.0; 72]; 68]; 3]; 5]);
    x.as_flattened_mut().as_flattened_mut().as_flattened_mut().copy_from_slice(&numbers(5 * 3 * 80 * 68, 16));
    y.as_flattened_mut().as_flattened_mut().as_flattened_mut().copy_from_slice(&numbers(5 * 3 * 68 * 72, 17));
    let all = [model.batch(&x, &y), plain.batch(&x, &y)].map(Result::unwrap);
    close("batch", &all[0].concat().concat().concat(), &all[1].concat().concat().concat());
    let (mut x, mut w) = (vec![[[[0.0; 30]; 30]; 8]; 5], Box::new([[[[0.0; 3]; 3]; 8]; 66]));
    x.as_flattened_mut().as_flattened_mut().as_flattened_mut().copy_from_slice(&numbers(5 * 8 * 900, 18));
    w.as_flattened_mut().as_flattened_mut().as_flattened_mut().copy_from_slice(&numbers(66 * 72, 19));
    let all = [model.images(&x, &w), plain.images(&x, &w)].map(Result::unwrap);
    close("images", &all[0].concat().concat().concat(), &all[1].concat().concat().concat());
    let (x, w) = (rows::<96>(130, 20), rows::<96>(96, 21));
    let all = [model.residual(&x, fixed(&w)), plain.residual(&x, fixed(&w))].map(Result::unwrap);
    close("residual", all[0].as_flattened(), all[1].as_flattened());
}

#[test]
fn a_network_learns_as_it_does_in_f32() {
    let Some((gpu, mut model)) = model() else { return };
    let mut plain = Plain::init(0).on(&gpu).unwrap();
    let x = rows::<96>(256, 22);
    let class: Vec<u32> = (0..256).map(|n| (n * 7 % 10) as u32).collect();
    let rule = || Sgd { rate: 0.2, momentum: 0.9, ..default() };
    let (mut split, mut plain) = (model.trainer(rule()), plain.trainer(rule()));
    for step in 0..50 {
        let [a, b] = [split.loss(&x, &class), plain.loss(&x, &class)].map(|loss| loss.unwrap().value().unwrap());
        assert!((a - b).abs() <= 0.005 * b, "step {step}: {a} and {b}");
    }
}

#[test]
fn rounded_products_are_nearly_those_of_f64() {
    let Some((gpu, _)) = model() else { return };
    let model = Rounded::init(0).on(&gpu).unwrap();
    let power = |at: usize, most: i32| 2f32.powi((at as i32 * 7) % (2 * most + 1) - most);
    for (n, most) in [(1, 0), (33, 20), (128, 0), (300, 50)] {
        let (mut x, mut y) = (rows::<200>(n, 1), rows::<140>(200, 2));
        x.iter_mut().enumerate().for_each(|(i, row)| row.iter_mut().for_each(|x| *x *= power(i, most)));
        y.iter_mut().for_each(|row| row.iter_mut().enumerate().for_each(|(j, y)| *y *= power(j + 3, most)));
        let right = product([n, 140, 200], &|i, k| x[i][k], &|k, j| y[k][j]);
        let check = |name: &str, found: &[[f32; 140]]| {
            for (i, row) in found.iter().enumerate() {
                let of_row = |j: usize| f64::from(power(j + 3, most)) * f64::from(power(i, most));
                let right: Vec<f64> = (0..140).map(|j| right[i * 140 + j] / of_row(j)).collect();
                let row: Vec<f32> = (0..140).map(|j| (f64::from(row[j]) / of_row(j)) as f32).collect();
                let error = error(&row, &right);
                assert!(error < ROUNDED, "{name} of {n} rows, row {i} of 2^±{most}: {error:e}");
            }
        };
        check("nn", &model.nn(&x, fixed(&y)).unwrap());
        let turned: Vec<f32> = (0..140 * 200).map(|at| y[at % 200][at / 200]).collect();
        check("nt", &model.nt(&x, fixed(in_rows(&turned))).unwrap());
        let turned: Vec<f32> = (0..200 * n).map(|at| x[at % n][at / n]).collect();
        check("tn", &model.tn(View::new(&turned, [200, n]).unwrap(), fixed(&y)).unwrap());
    }
    let (x, y, bias) = (rows::<6007>(150, 3), rows::<130>(6007, 4), numbers(130, 5));
    let right = product([150, 130, 6007], &|i, k| x[i][k], &|k, j| y[k][j]);
    let right: Vec<f64> =
        right.iter().enumerate().map(|(at, x)| 0.5 * (x + f64::from(bias[at % 130])).max(0.0)).collect();
    let found = model.long(fixed(&x), fixed(&y), fixed::<1, 130>(in_rows(&bias)).first().unwrap()).unwrap();
    assert!(error(found.as_flattened(), &right) < ROUNDED, "{:e}", error(found.as_flattened(), &right));
}

#[test]
fn training_with_rounded_products_follows_f32() {
    let Some((gpu, _)) = model() else { return };
    let (x, class) = (rows::<96>(200, 9), (0..200).map(|n| n % 10).collect::<Vec<u32>>());
    let (mut rounded, mut plain) = (Rounded::init(3).on(&gpu).unwrap(), Plain::init(3).on(&gpu).unwrap());
    let mut of_rounded = rounded.trainer(Sgd { rate: 0.1, momentum: 0.9, ..default() });
    let mut of_plain = plain.trainer(Sgd { rate: 0.1, momentum: 0.9, ..default() });
    for step in 0..50 {
        let found = of_rounded.loss(&x, &class).unwrap().value().unwrap();
        let right = of_plain.loss(&x, &class).unwrap().value().unwrap();
        assert!((found - right).abs() < 2e-2 * right.abs(), "step {step}: {found} instead of {right}");
    }
}
