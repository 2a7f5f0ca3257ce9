//! Work over rows and columns: norms, softmax, reductions and what moves words.
//!
//! In: nothing. Out: families over rows and columns, whose columns the model fixes or not. Always: a unit is a word that is
//! read or written.

use super::{Family, Meter, numbers};
use precast::prelude::*;

model! {
    /// Rows as long as an argument says.
    pub struct Free {}

    impl Free {
        /// Softmax.
        pub fn softmax(&self, x: f32[R, C]) -> f32[R, C] { softmax(x) }

        /// Sums over the columns.
        pub fn row_sums(&self, x: f32[R, C]) -> f32[R] { sum(x, axis = 1) }

        /// Sums over the rows.
        pub fn column_sums(&self, x: f32[R, C]) -> f32[C] { sum(x, axis = 0) }

        /// The greatest of each column.
        pub fn column_maxima(&self, x: f32[R, C]) -> f32[C] { max(x, axis = 0) }

        /// Columns as rows.
        pub fn turned(&self, x: f32[R, C]) -> f32[C, R] { transpose(x, [1, 0]) }

        /// Running sums.
        pub fn running(&self, x: f32[R, C]) -> f32[R, C] { cumsum(x, axis = 1) }
    }
}

model! {
    /// Rows by their numbers.
    pub struct Looked {}

    impl Looked {
        /// Rows of a matrix.
        pub fn embedding(&self, i: u32[R], x: f32[N, C]) -> f32[R, C] { embedding(i, x) }
    }
}

macro_rules! widths {
    ($($name:ident $model:ident $width:literal $groups:literal,)*) => {
        $(
            #[allow(unreachable_pub, reason = "a model is public")]
            mod $name {
                use precast::prelude::*;

                model! {
                    /// Rows of a length that the model fixes.
                    pub struct $model { norm: LayerNorm($width), parts: GroupNorm($groups, $width) }

                    impl $model {
                        /// Softmax.
                        pub fn softmax(&self, x: f32[R, $width]) -> f32[R, $width] { softmax(x) }

                        /// Layer norm.
                        pub fn layer_norm(&self, x: f32[R, $width]) -> f32[R, $width] { self.norm(x) }

                        /// Group norm of channels of one element.
                        pub fn group_norm(&self, x: f32[R, $width]) -> f32[R, $width] { self.parts(x) }

                        /// Mean cross-entropy after layer norm.
                        #[train(Sgd)]
                        pub fn loss(&self, x: f32[R, $width], y: u32[R]) -> f32 { cross_entropy(self.norm(x), y) }
                    }
                }
            }
        )*

        /// The time of a call or of a training step where a model has that width.
        fn fixed(kind: &str, rows: usize, width: usize) -> Option<f64> {
            match width {
                $($width => {
                    let mut model = $name::$model::init(1);
                    let x = numbers(rows * width);
                    let x = x.as_chunks::<$width>().0;
                    if kind == "loss" {
                        let y: Vec<u32> = (0..rows as u32).map(|i| i * 7 % $width).collect();
                        let mut trainer = model.trainer(Sgd { rate: 1e-6, ..default() });
                        return Meter::of(|| trainer.loss(x, &y).and_then(|l| l.value()).map(drop));
                    }
                    let mut session = model.session();
                    match kind {
                        "softmax" => Meter::of(|| session.softmax(x).map(drop)),
                        "norm" => Meter::of(|| session.layer_norm(x).map(drop)),
                        "group_norm" => Meter::of(|| session.group_norm(x).map(drop)),
                        _ => None,
                    }
                })*
                _ => None,
            }
        }
    };
}

widths! {
    three Three 3 3,
    four Four 4 4,
    ten Ten 10 5,
    sixteen Sixteen 16 4,
    seventeen Seventeen 17 1,
    sixty_three SixtyThree 63 7,
    sixty_four SixtyFour 64 8,
    sixty_five SixtyFive 65 5,
    thousand Thousand 1000 8,
    kibi Kibi 1024 8,
}

const ROUND: &[&[usize]] = &[&[4096, 4], &[4096, 16], &[512, 64], &[64, 1024], &[4, 1024], &[1, 1024], &[16, 4096]];

/// Hands on all families.
pub(super) fn all(print: &mut dyn FnMut(&Family<'_>)) {
    let axes = &["R", "C"];
    let twice = |shape: &[usize]| 2.0 * shape.iter().product::<usize>() as f64;
    for kind in ["softmax", "norm", "group_norm", "loss"] {
        let time = |_: &Meter, shape: &[usize]| fixed(kind, shape[0], shape[1]);
        print(&Family { name: &format!("fixed {kind}"), axes, round: &ROUND[..6], work: twice, time: &time });
    }
    macro_rules! free {
        ($name:ident, $work:expr) => {
            let time = |_: &Meter, shape: &[usize]| {
                let model = Free::init(1);
                let mut session = model.session();
                let (x, dims) = (numbers(shape.iter().product()), [shape[0], shape[1]]);
                Meter::of(|| session.$name(View::new(&x, dims)?).map(drop))
            };
            print(&Family { name: stringify!($name), axes, round: ROUND, work: $work, time: &time });
        };
    }
    let once = |shape: &[usize]| shape.iter().product::<usize>() as f64;
    free!(softmax, twice);
    free!(row_sums, once);
    free!(column_sums, once);
    free!(column_maxima, once);
    free!(turned, twice);
    free!(running, twice);
    let time = |_: &Meter, shape: &[usize]| {
        let model = Looked::init(1);
        let mut session = model.session();
        let (x, dims) = (numbers(500 * shape[1]), [500, shape[1]]);
        let rows: Vec<u32> = (0..shape[0] as u32).map(|i| i * 7 % 500).collect();
        Meter::of(|| session.embedding(&rows, View::new(&x, dims)?).map(drop))
    };
    print(&Family { name: "embedding", axes, round: ROUND, work: twice, time: &time });
}
