//! A value has one set of bits, an index one meaning and a sum no length at which it is wrong, on every instruction set:
//! gathers at indices that the same kernel reduces, orders and extrema of operands that are never stored, positions below
//! zero, and sums of millions.

use super::on_every_isa;
use precast::prelude::*;
use tests::numbers;

model! {
    /// Indices that are made where they are used.
    pub struct Picked { u: Parameter([3], init = "ones") }

    impl Picked {
        /// The element at a sum.
        pub fn at_sum(&self, k: u32[B, 12], y: i32[100]) -> i32[B] { take(y, sum(k, axis = 1)) }
        /// A row less the element at a sum.
        pub fn less(&self, k: u32[B, 12], y: f32[100], x: f32[B, 12]) -> f32[B, 12] { x - unsqueeze(take(y, sum(k, axis = 1)), 1) }
        /// The element at the largest index, and at a count.
        pub fn at_max(&self, k: u32[B, 12], y: f32[100]) -> (f32[B], f32[B]) {
            (take(y, max(k, axis = 1)), take(y, cast(count_nonzero(k, axis = 1), "u32")))
        }
        /// The elements of another tensor in this one's order.
        pub fn by_order(&self, x: f32[B, 5], y: f32[B, 3]) -> (f32[B, 5], u32[B, 5]) {
            let i = argsort(x);
            (gather(y, i % 3, axis = 1), i)
        }
        /// Three places of a row get parameters.
        #[train(Sgd)]
        pub fn placed(&self, x: f32[B, 12]) -> f32 {
            let (_, i) = top_k(x, 3);
            sum(scatter_add(zeros([B, 12]), i, broadcast_to(self.u, [B, 3]), axis = 1) * (f32(iota(12)) - 20))
        }
    }
}

#[test]
fn gathers_read_at_what_their_kernel_reduces() {
    on_every_isa(|isa| {
        let mut net = Picked::init(0);
        let y: [i32; 100] = std::array::from_fn(|i| -(i as i32));
        let z: [f32; 100] = std::array::from_fn(|i| i as f32 * 0.5 - 7.0);
        let k: [[u32; 12]; 2] = [[2; 12], std::array::from_fn(|i| (i % 5) as u32)];
        assert_eq!(net.at_sum(&k, &y).unwrap(), [-24, -21], "{isa}");
        let less = net.less(&k, &z, &[[1.0; 12]; 2]).unwrap();
        assert_eq!(less, [[1.0 - z[24]; 12], [1.0 - z[21]; 12]], "{isa}");
        assert_eq!(net.at_max(&k, &z).unwrap(), (vec![z[2], z[4]], vec![z[12], z[9]]), "{isa}");
        let (picked, order) = net.by_order(&[[3.0, 1.0, 2.0, 5.0, 4.0]], &[[10.0, 20.0, 30.0]]).unwrap();
        assert_eq!((picked[0], order[0]), ([20.0, 30.0, 10.0, 20.0, 10.0], [1, 2, 0, 4, 3]), "{isa}");
        let x: [f32; 12] = std::array::from_fn(|i| (i * 5 % 12) as f32);
        let gradients = net.trainer(Sgd::default()).placed_gradients(&[x]).unwrap();
        assert_eq!(gradients.get("u").unwrap(), [-13.0, -18.0, -11.0], "{isa}");
    });
}

model! {
    /// What decides by order, of operands that no kernel stores.
    pub struct Ordered { scale: Parameter([8]), shift: Parameter([1]) }

    impl Ordered {
        fn line(&self, x: f32[6, 8]) -> f32[6, 8] { x * self.scale + self.shift }
        /// The largest.
        pub fn top(&self, x: f32[6, 8]) -> (f32[6, 3], u32[6, 3]) { top_k(self.line(x), 3) }
        /// Their order.
        pub fn order(&self, x: f32[6, 8]) -> (u32[6, 8], f32[6, 8], u32[6]) {
            (argsort(self.line(x)), sort(self.line(x)), argmax(self.line(x), axis = -1))
        }
        /// No square root of what is negative.
        pub fn distance(&self, x: f32[6, 8]) -> (f32[6, 8], f32[6, 8]) {
            let p = x * self.scale;
            let y = p + self.shift;
            (sqrt(max(y, axis = -1, keepdims = true) - y), p)
        }
        /// Of every row the largest and the smallest.
        #[train(Sgd)]
        pub fn extremes(&self, x: f32[6, 8]) -> f32 {
            let y = self.line(x);
            sum(max(y, axis = 1)) + 3 * sum(min(y, axis = 1)) + sum(max(y * y, axis = 0))
        }
    }
}

#[test]
fn orders_are_permutations_and_extremes_have_gradients() {
    on_every_isa(|isa| {
        for seed in 1..40 {
            let mut net = Ordered::init(0);
            let (scale, shift) = (numbers(8, seed), numbers(1, seed + 100));
            net.parameter_mut("scale").unwrap().copy_from_slice(&scale);
            net.parameter_mut("shift").unwrap().copy_from_slice(&shift);
            let x: Vec<[f32; 8]> = numbers(48, seed + 200).as_chunks().0.to_vec();
            let x: [[f32; 8]; 6] = x.try_into().unwrap();
            let ((top, at), (order, sorted, best)) = (net.top(&x).unwrap(), net.order(&x).unwrap());
            let distance = net.distance(&x).unwrap().0;
            let mut wanted = [0.0; 8];
            let line = |i: usize, j: usize| f64::from(x[i][j]) * f64::from(scale[j]) + f64::from(shift[0]);
            for i in 0..6 {
                let mut want: Vec<u32> = (0..8).collect();
                want.sort_by(|a, b| line(i, *a as usize).total_cmp(&line(i, *b as usize)));
                assert_eq!(order[i].to_vec(), want, "{isa}, seed {seed}");
                assert_eq!(best[i], want[7], "{isa}, seed {seed}");
                for k in 0..8 {
                    assert!((f64::from(sorted[i][k]) - line(i, want[k] as usize)).abs() < 1e-6, "{isa}, seed {seed}");
                    assert!(!distance[i][k].is_nan(), "{isa}, seed {seed}");
                }
                for k in 0..3 {
                    assert_eq!(at[i][k], want[7 - k], "{isa}, seed {seed}");
                    assert!((f64::from(top[i][k]) - line(i, want[7 - k] as usize)).abs() < 1e-6, "{isa}, seed {seed}");
                }
                wanted[want[7] as usize] += f64::from(x[i][want[7] as usize]);
                wanted[want[0] as usize] += 3.0 * f64::from(x[i][want[0] as usize]);
            }
            for j in 0..8 {
                let largest = (0..6).max_by(|a, b| line(*a, j).abs().total_cmp(&line(*b, j).abs())).unwrap();
                wanted[j] += 2.0 * line(largest, j) * f64::from(x[largest][j]);
            }
            let found = net.trainer(Sgd::default()).extremes_gradients(&x).unwrap();
            for (found, wanted) in found.get("scale").unwrap().iter().zip(wanted) {
                assert!((f64::from(*found) - wanted).abs() < 1e-5, "{isa}, seed {seed}: {found} and not {wanted}");
            }
        }
    });
}

model! {
    /// Positions before the first.
    pub struct Before { p: Parameter([1], init = "zeros") }

    impl Before {
        /// Reflected, and beside itself.
        pub fn total(&self, x: f32[5, B, T]) -> f32 {
            let y = pad(tile(x, [1, 3, 1]), low = 1, high = 0, axis = 0, mode = "reflect");
            sum(concat(y, y, axis = 2))
        }
        /// Padded products of running sums.
        pub fn padded(&self, x: f32[B, 5, 1]) -> f32[B + 1, 5, 1] {
            let c = cumsum(x, axis = 0);
            pad(c * c[0, _, _] - self.p, low = 1, high = 0, axis = 0, value = 0.25)
        }
        /// To the back and to the front.
        pub fn rolled(&self, x: f32[B, 1]) -> (f32[B, 1], f32[B, 1]) {
            (roll(x + self.p, 4, axis = 0), roll(x + self.p, -4, axis = 0))
        }
    }
}

#[test]
fn positions_below_zero_are_divided_rounding_down() {
    on_every_isa(|isa| {
        let net = Before::init(0);
        for (b, t) in [(5, 4), (2, 3), (17, 6), (1, 4), (4, 1)] {
            let x = numbers(5 * b * t, 3);
            let row = |k: usize| x[k * b * t..][..b * t].iter().map(|v| f64::from(*v)).sum::<f64>();
            let wanted = 6.0 * (row(1) + (0..5).map(row).sum::<f64>());
            let found = f64::from(net.total(View::new(&x, [5, b, t]).unwrap()).unwrap());
            assert!((found - wanted).abs() < 1e-3, "{isa}, B = {b}, T = {t}: {found} and not {wanted}");
        }
        let one = [[1.0], [2.0], [3.0], [4.0], [5.0]];
        let padded = net.padded(&[one, one]).unwrap();
        assert_eq!(padded[0], [[0.25]; 5], "{isa}");
        assert_eq!(padded[1], one.map(|[v]| [v * v]), "{isa}");
        assert_eq!(padded[2], one.map(|[v]| [2.0 * v * v]), "{isa}");
        for b in 1..10 {
            let x: Vec<[f32; 1]> = (0..b).map(|i| [i as f32]).collect();
            let wanted = |shift: i32| (0..b).map(|i| [(i - shift).rem_euclid(b) as f32]).collect::<Vec<_>>();
            assert_eq!(net.rolled(&x).unwrap(), (wanted(4), wanted(-4)), "{isa}, B = {b}");
        }
    });
}

model! {
    /// Sums of everything, of rows, of columns and of both.
    pub struct Sums { norm: BatchNorm2d(1, momentum = 1.0), w: Parameter([1], init = "zeros") }

    impl Sums {
        /// Means.
        pub fn means(&self, x: f32[B, 1, 56, 56]) -> (f32, f32[1], f32[56]) {
            (mean(x), mean(x, axes = [0, 2, 3]), mean(x, axes = [0, 1, 2]))
        }
        /// Of a row of any length.
        pub fn flat(&self, x: f32[N]) -> (f32, f32, f32) { (mean(x), mean(square(x)), logsumexp(x)) }
        /// Of columns.
        pub fn columns(&self, x: f32[N, 3]) -> (f32[3], f32[3]) { (mean(x, axis = 0), var(x, axis = 0, correction = 0)) }
        /// Running statistics, and the gradient of what is broadcast.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 1, 56, 56]) -> f32 { mean(self.norm(x)) + 1000 * mean((x + self.w) * 0.7) }
    }
}

#[test]
fn the_error_of_a_sum_does_not_grow_with_its_length() {
    let x = vec![0.1f32; 3 << 20];
    let images: Vec<[[[f32; 56]; 56]; 1]> = vec![[[[0.1; 56]; 56]]; 700];
    let rows: Vec<[f32; 3]> = vec![[0.1, 0.3, 0.7]; 1 << 20];
    on_every_isa(|isa| {
        let close = |found: f32, wanted: f64| {
            let relative = f64::from(found) / wanted - 1.0;
            assert!(relative.abs() <= 1e-6, "{isa}: {found} and not {wanted}: {relative:e}");
        };
        let (mut net, tenth) = (Sums::init(0), f64::from(0.1f32));
        let (all, channel, columns) = net.means(&images).unwrap();
        [all, channel[0], columns[7]].into_iter().for_each(|mean| close(mean, tenth));
        let (mean, squares, log) = net.flat(&x).unwrap();
        close(mean, tenth);
        close(squares, tenth * tenth);
        close(log, tenth + (x.len() as f64).ln());
        let (means, variances) = net.columns(&rows).unwrap();
        means.into_iter().zip([0.1f32, 0.3, 0.7]).for_each(|(mean, wanted)| close(mean, wanted.into()));
        assert!(variances.iter().all(|v| *v < 1e-12), "{isa}: {variances:?}");
        let mut trainer = net.trainer(Sgd { rate: 0.0, ..default() });
        close(trainer.loss_gradients(&images).unwrap().get("w").unwrap()[0], 700.0);
        trainer.loss(&images).unwrap().value().unwrap();
        close(net.parameter("norm.running_mean").unwrap()[0], tenth);
    });
}

model! {
    /// A product of two vectors.
    pub struct Dot {}

    impl Dot {
        /// Their sum of products.
        pub fn dot(&self, x: f32[N], y: f32[N]) -> f32 { einsum("n,n->", x, y) }
    }
}

#[test]
fn nor_does_that_of_a_product_of_vectors() {
    let (x, y) = (vec![0.1f32; 3 << 20], vec![0.7f32; 3 << 20]);
    on_every_isa(|isa| {
        let wanted = f64::from(0.1f32) * f64::from(0.7f32) * x.len() as f64;
        let relative = f64::from(Dot::init(0).dot(&x, &y).unwrap()) / wanted - 1.0;
        assert!(relative.abs() <= 1e-6, "{isa}: {relative:e}");
    });
}

model! {
    /// Sums by index, and the gradient of what is read there.
    pub struct Indexed { table: Embedding(2, 19) }

    impl Indexed {
        /// Rows, and single numbers.
        pub fn segments(&self, x: f32[N, 19], y: f32[N], i: u32[N]) -> (f32[3, 19], f32[3]) {
            (segment_sum(x, i, 3), segment_sum(y, i, 3))
        }

        /// Rows that are read many times.
        #[train(Sgd)]
        pub fn loss(&self, i: u32[N]) -> f32 { mean(self.table(i)) }
    }
}

#[test]
fn nor_does_that_of_what_is_added_at_one_index() {
    const COUNT: usize = 70_001;
    let (x, y, i) = (vec![[0.1f32; 19]; COUNT], vec![0.1f32; COUNT], vec![1; COUNT]);
    on_every_isa(|isa| {
        let close = |found: f32, wanted: f64| {
            let relative = f64::from(found) / wanted - 1.0;
            assert!(relative.abs() <= 1e-6, "{isa}: {found} and not {wanted}: {relative:e}");
        };
        let mut net = Indexed::init(0);
        // What is left beside the sums is gone at the next call.
        for _ in 0..2 {
            let (rows, numbers) = net.segments(&x, &y, &i).unwrap();
            assert_eq!((rows[0], numbers[0], rows[2], numbers[2]), ([0.0; 19], 0.0, [0.0; 19], 0.0), "{isa}");
            rows[1].into_iter().chain([numbers[1]]).for_each(|sum| close(sum, f64::from(0.1f32) * COUNT as f64));
        }
        let mut trainer = net.trainer(Sgd::default());
        let gradients = trainer.loss_gradients(&i).unwrap();
        gradients.get("table.weight").unwrap()[19..].iter().for_each(|slope| close(*slope, 1.0 / 19.0));
        let infinite = [vec![f32::MAX; 600], vec![f32::INFINITY; 600]]
            .map(|y| net.segments(&vec![[0.0; 19]; 600], &y, &[1; 600]).unwrap().1[1]);
        assert_eq!(infinite, [f32::INFINITY; 2], "{isa}");
    });
}

model! {
    struct Layer { table: Embedding(4, 3), scale: Parameter([3], init = "ones") }
    impl Layer { fn forward(&self, x: f32[B, 3], i: u32[B]) -> f32[B, 3] { x * self.scale + self.table(i) } }

    /// What adds at indices in each turn of a loop, and beside other parts of one tensor.
    pub struct Turns { layers: [Layer; 3], rows: Parameter([3, 4, 2], init = "ones") }

    impl Turns {
        /// Tables of repeated blocks.
        #[train(Sgd)]
        pub fn tables(&self, x: f32[B, 3], i: u32[B], w: f32[B, 3]) -> f32 {
            let mut y = x;
            for layer in self.layers { y = layer(y, i); }
            sum(y * w)
        }

        /// Rows of each turn of a scan.
        #[train(Sgd)]
        pub fn scanned(&self, i: u32[5], w: f32[5, 2]) -> f32 {
            sum(scan(self.rows, axis = 0, from = zeros([5, 2]), |state, row| {
                let next = state + take(row, i) * w;
                (next, next)
            }))
        }

        /// A sum by index between two other tensors.
        pub fn between(&self, x: f32[B, 2], i: u32[B], z: f32[1, 2]) -> f32[6, 2] {
            concat([z, segment_sum(x, i, 4), z + 1], axis = 0)
        }

        /// The same along the last axis, where its rows do not follow each other.
        pub fn beside(&self, x: f32[B, 2], i: u32[B], z: f32[4, 1]) -> f32[4, 4] {
            concat([z, segment_sum(x, i, 4), z + 1], axis = 1)
        }
    }
}

#[test]
fn what_adds_at_indices_leaves_other_turns_and_parts_alone() {
    on_every_isa(|isa| {
        let mut net = Turns::init(2);
        let i = [1, 3, 1, 0, 1];
        let w: [[f32; 3]; 5] = std::array::from_fn(|k| std::array::from_fn(|j| (k * 3 + j) as f32 - 5.0));
        let mut sums = [[0.0; 3]; 4];
        for (row, &at) in w.iter().zip(&i) {
            (0..3).for_each(|j| sums[at as usize][j] += row[j]);
        }
        let gradients = net.trainer(Sgd::default()).tables_gradients(&[[0.5; 3]; 5], &i, &w).unwrap();
        for layer in 0..3 {
            let found = gradients.get(&format!("layers.{layer}.table.weight")).unwrap();
            assert_eq!(found, sums.as_flattened(), "{isa}: layer {layer}");
        }
        let w: [[f32; 2]; 5] = std::array::from_fn(|k| [k as f32 + 1.0, -(k as f32)]);
        let gradients = net.trainer(Sgd::default()).scanned_gradients(&i, &w).unwrap();
        let mut rows = [[[0.0; 2]; 4]; 3];
        for (turn, rows) in rows.iter_mut().enumerate() {
            for (row, &at) in w.iter().zip(&i) {
                // A turn's row stays in the states of all turns after it.
                (0..2).for_each(|j| rows[at as usize][j] += (3 - turn) as f32 * row[j]);
            }
        }
        assert_eq!(gradients.get("rows").unwrap(), rows.as_flattened().as_flattened(), "{isa}");
        let sums = [[4.0, -3.0], [9.0, -6.0], [0.0, 0.0], [2.0, -1.0]];
        let between = net.between(&w, &i, &[[7.0, 8.0]]).unwrap();
        assert_eq!(between, [[7.0, 8.0], sums[0], sums[1], sums[2], sums[3], [8.0, 9.0]], "{isa}");
        let beside = net.beside(&w, &i, &[[7.0], [8.0], [9.0], [10.0]]).unwrap();
        for (at, row) in beside.iter().enumerate() {
            let z = 7.0 + at as f32;
            assert_eq!(row, &[z, sums[at][0], sums[at][1], z + 1.0], "{isa}: row {at}");
        }
    });
}
