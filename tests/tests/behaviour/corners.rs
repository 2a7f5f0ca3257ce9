//! Programs at the edges of the language: results that are arguments or parameters, functions without arguments,
//! parameters without influence, repeats of one block, repeats in repeats, losses beside other results, and the ends of
//! the floats.

use precast::prelude::*;

model! {
    /// Functions that compute little or nothing.
    pub struct Idle {
        table: Parameter(3, 2),
        never: Parameter(5),
        scale: Parameter(2, init = "ones"),
    }

    impl Idle {
        /// The argument.
        pub fn same(&self, x: f32[B, 2]) -> f32[B, 2] {
            x
        }

        /// The argument twice, and its double twice.
        pub fn twice(&self, x: f32[B, 2]) -> (f32[B, 2], f32[B, 2], f32[B, 2], f32[B, 2]) {
            let y = 2 * x;
            (x, x, y, y)
        }

        /// A parameter, and the same turned.
        pub fn own(&self) -> (f32[3, 2], f32[2, 3]) {
            (self.table, transpose(self.table))
        }

        /// What no loss reads.
        pub fn unread(&self) -> f32[5] {
            self.never
        }

        /// A constant.
        pub fn constant(&self) -> f32[4] {
            full([4], 1.5)
        }

        /// A number and a row.
        pub fn shifted(&self, x: f32[3], by: f32) -> (f32[3], f32) {
            (x + by, by)
        }

        /// Whole numbers.
        pub fn divided(&self, a: i32[B], b: i32[B]) -> (i32[B], i32[B]) {
            (a / b, a % b)
        }

        /// Too large for the stack.
        pub fn large(&self) -> f32[600, 700] {
            full([600, 700], 0.25)
        }

        /// A loss that most parameters do not reach.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 2]) -> f32 {
            mean(square(x * self.scale))
        }

        /// A loss that no parameter changes.
        #[train(Sgd)]
        pub fn fixed(&self, x: f32[B, 2]) -> f32 {
            mean(x) + 0.0 * mean(self.scale)
        }
    }
}

model! {
    /// Groups of layers, and one layer alone.
    pub struct Nest {
        groups: [Group(2); 3],
        single: [Linear(4, 4); 1],
    }

    struct Group(n) {
        layers: [Linear(4, 4); n],
        gain: Parameter(4, init = "ones"),
    }

    impl Nest {
        /// Every layer after the other.
        pub fn forward(&self, x: f32[B, 4]) -> f32[B, 4] {
            let mut x = x;
            for group in self.groups {
                for layer in group.layers {
                    x = x + tanh(layer(x)) * group.gain;
                }
            }
            for layer in self.single {
                x = layer(x);
            }
            x
        }

        /// The same, written out.
        pub fn written(&self, x: f32[B, 4]) -> f32[B, 4] {
            let mut x = x;
            for i in 0..3 {
                for j in 0..2 {
                    x = x + tanh(self.groups[i].layers[j](x)) * self.groups[i].gain;
                }
            }
            self.single[0](x)
        }

        /// Mean squared error.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4], y: f32[B, 4]) -> f32 {
            mse_loss(self.forward(x), y)
        }

        /// The same, written out.
        #[train(Sgd)]
        pub fn written_loss(&self, x: f32[B, 4], y: f32[B, 4]) -> f32 {
            mse_loss(self.written(x), y)
        }
    }
}

const X: [[f32; 2]; 3] = [[1.0, -2.0], [0.5, 4.0], [0.0, 3.0]];

#[test]
fn results_may_be_arguments_and_parameters() {
    let idle = Idle::init(1);
    assert_eq!(idle.same(&X).unwrap(), X);
    assert_eq!(idle.session().same(&X).unwrap(), X);
    let (a, b, c, d) = idle.twice(&X).unwrap();
    assert!(a == X && b == X && c == d && c[1] == [1.0, 8.0]);
    let (table, turned) = idle.own().unwrap();
    assert_eq!(table.as_flattened(), idle.parameter("table").unwrap());
    assert!((0..3).all(|i| (0..2).all(|j| table[i][j] == turned[j][i])));
    assert_eq!(idle.constant().unwrap(), [1.5; 4]);
    assert_eq!(idle.shifted(&[1.0, 2.0, 3.0], 0.5).unwrap(), ([1.5, 2.5, 3.5], 0.5));
    let large = idle.large().unwrap();
    assert!(large.as_flattened().iter().all(|&x| x == 0.25));
}

#[test]
fn whole_numbers_divide_as_stated() {
    let (quotient, rest) = Idle::init(1).divided(&[7, -7, 5, i32::MIN], &[2, 2, 0, -1]).unwrap();
    assert_eq!((quotient, rest), (vec![3, -3, 0, i32::MIN], vec![1, -1, 0, 0]));
}

#[test]
fn parameters_without_influence_have_no_gradient() {
    let mut idle = Idle::init(1);
    let before: Vec<Vec<f32>> = idle.parameters().map(|(_, _, values)| values.to_vec()).collect();
    let mut trainer = idle.trainer(Sgd { rate: 0.5, ..default() });
    let gradients = trainer.loss_gradients(&X).unwrap();
    assert_eq!(gradients.get("never").unwrap(), [0.0; 5]);
    // The mean of (x·s)² over six numbers: 2·Σx²/6.
    let expected = [2.0 * 1.25 / 6.0, 2.0 * 29.0 / 6.0];
    assert!(gradients.get("scale").unwrap().iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6 * b));
    trainer.fixed(&X).unwrap().value().unwrap();
    assert!(trainer.model().parameters().zip(&before).all(|((_, _, now), before)| now == before));
    trainer.loss(&X).unwrap().value().unwrap();
    assert_eq!(idle.parameter("never").unwrap(), before[1]);
    assert_ne!(idle.parameter("scale").unwrap(), [1.0, 1.0]);
}

#[test]
fn repeats_in_repeats_train_like_layers_written_out() {
    let x: Vec<[f32; 4]> = crate::numbers(28, 3).chunks(4).map(|c| [c[0], c[1], c[2], c[3]]).collect();
    let y: Vec<[f32; 4]> = x.iter().map(|[a, b, c, d]| [a * b, b * c, c * d, d * a]).collect();
    let (mut nest, mut other) = (Nest::init(6), Nest::init(6));
    let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5 * b.abs().max(1.0));
    let (looped, written) = (nest.forward(&x).unwrap(), nest.written(&x).unwrap());
    assert!(close(looped.as_flattened(), written.as_flattened()));
    let rate = 0.05;
    let mut trainer = nest.trainer(Sgd { rate, ..default() });
    let mut trainer2 = other.trainer(Sgd { rate, ..default() });
    let (a, b) = (trainer.loss_gradients(&x, &y).unwrap(), trainer2.written_loss_gradients(&x, &y).unwrap());
    for ((name, _, a), (_, _, b)) in a.iter().zip(b.iter()) {
        assert!(close(a, b), "{name}: {a:?} {b:?}");
        assert!(a.iter().any(|x| x.abs() > 1e-6), "{name}");
    }
    for _ in 0..20 {
        trainer.loss(&x, &y).unwrap().value().unwrap();
        trainer2.written_loss(&x, &y).unwrap().value().unwrap();
    }
    for ((name, _, a), (_, _, b)) in nest.parameters().zip(other.parameters()) {
        assert!(close(a, b), "{name}");
    }
}

model! {
    /// What must be right at the ends of the floats.
    pub struct Ends {}

    impl Ends {
        /// Remainders, by a number that varies and by a literal.
        pub fn remainders(&self, a: f32[N], b: f32[N]) -> (f32[N], f32[N]) { (a % b, a % 0.1) }
        /// Slopes of remainders.
        pub fn slopes(&self, a: f32[N], b: f32[N]) -> (f32[N], f32[N]) { grad(|a, b| sum(a % b))(a, b) }
        /// Slopes of inverse powers.
        pub fn powers(&self, x: f32[N]) -> f32[N] { grad(|x| sum(pow(x, -8.0)))(x) }
        /// Slopes of losses that grow linearly.
        pub fn losses(&self, x: f32[N], y: f32[N]) -> (f32[N], f32[N]) {
            (
                grad(|x| huber_loss(x, y, reduction = "sum", delta = 2.0))(x),
                grad(|x| smooth_l1_loss(x, y, reduction = "sum"))(x),
            )
        }
    }
}

#[test]
fn remainders_have_no_error() {
    let a = [5.5, 1.0, 3.0, 7.801226, 475675.56, -5.5, f32::MAX, -0.0, 1.0, 100_000.0, 5.5, f32::INFINITY];
    let b = [f32::INFINITY, 0.1, 1e-5, 2.6004088, -0.4262303, 0.5, 5.5, 2.0, 1e-45, 88.7, 0.0, 2.0];
    let (found, by_a_tenth) = Ends::init(0).remainders(&a, &b).unwrap();
    for (at, (a, b)) in a.into_iter().zip(b).enumerate() {
        for (found, wanted) in [(found[at], a % b), (by_a_tenth[at], a % 0.1)] {
            let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
            assert!(same, "{a} % {b}: {found} and not {wanted}");
        }
    }
    let (to_a, to_b) = Ends::init(0).slopes(&[7.5, -7.5, 5.0], &[2.0, 2.0, f32::INFINITY]).unwrap();
    assert_eq!((to_a, to_b), (vec![1.0; 3], vec![-3.0, 3.0, 0.0]));
}

#[test]
fn slopes_stay_finite_where_they_are() {
    let x = [0.003f32, 0.001, 1000.0, -2.0];
    for (slope, x) in Ends::init(0).powers(&x).unwrap().into_iter().zip(x) {
        let wanted = -8.0 * f64::from(x).powi(-9);
        assert!((f64::from(slope) / wanted - 1.0).abs() < 1e-5, "at {x}: {slope} and not {wanted}");
    }
    let (huber, smooth) = Ends::init(0).losses(&[f32::NEG_INFINITY, 1e30, 0.5, 0.0], &[0.0; 4]).unwrap();
    assert_eq!(huber, [-2.0, 2.0, 0.5, 0.0]);
    assert_eq!(smooth, [-1.0, 1.0, 0.5, 0.0]);
}
