//! Several results of one call: tuples and named structs, owned, borrowed from a session, and into the caller's memory.

use precast::View;
use precast::prelude::*;

model! {
    /// Statistics of rows.
    pub struct Rows {
        scale: Linear(3, 2),
    }

    impl Rows {
        /// The sum of every row, the largest value of all, and which rows are positive.
        pub fn both(&self, x: f32[B, 3]) -> (f32[B], f32, bool[B]) {
            (sum(x, axis = 1), max(x), sum(x, axis = 1) > 0)
        }

        /// The mean row, where the largest values are, and the scaled rows.
        pub fn summary(&self, x: f32[B, 3]) -> Summary { mean: f32[3], best: u32[B], scaled: f32[B, 2] } {
            Summary { mean: mean(x, axis = 0), best: argmax(x, axis = 1), scaled: self.scale(x) }
        }

        /// Every row with every other.
        pub fn pairs(&self, x: f32[A, 3], y: f32[B, 3]) -> f32[A, B] {
            matmul(x, transpose(y))
        }

        /// The values that are chosen, whole numbers and truth values.
        pub fn chosen(&self, x: i32[B], keep: bool[B]) -> i32[B] {
            where(keep, x * 2, -1)
        }
    }

    #[model(precision = int8)]
    pub struct Bytes = Rows;
}

const X: [[f32; 3]; 2] = [[1.0, 5.0, -2.0], [-4.0, 0.0, 1.0]];

#[test]
fn tuples_are_typed() {
    let rows = Rows::init(1);
    let (sums, largest, positive): (Vec<f32>, f32, Vec<bool>) = rows.both(&X).unwrap();
    assert_eq!((sums.as_slice(), largest, positive.as_slice()), (&[4.0, -3.0][..], 5.0, &[true, false][..]));
    let mut session = rows.session();
    let (sums, largest, positive): (&[f32], f32, &[bool]) = session.both(&X[1..]).unwrap();
    assert_eq!((sums, largest, positive), (&[-3.0][..], 1.0, &[false][..]));
    let (mut sums, mut largest, mut positive) = ([0.0; 2], 0.0, [false; 2]);
    rows.both_into(&X, &mut sums, &mut largest, &mut positive).unwrap();
    assert_eq!((sums, largest, positive), ([4.0, -3.0], 5.0, [true, false]));
}

#[test]
fn structs_have_names() {
    let rows = Rows::init(1);
    let Summary { mean, best, scaled } = rows.summary(&X).unwrap();
    assert_eq!((mean, best.as_slice()), ([-1.5, 2.5, -0.5], &[1, 2][..]));
    let (weight, bias) = (rows.parameter("scale.weight").unwrap(), rows.parameter("scale.bias").unwrap());
    for (row, found) in X.iter().zip(&scaled) {
        for unit in 0..2 {
            let expected: f32 = bias[unit] + (0..3).map(|k| weight[3 * unit + k] * row[k]).sum::<f32>();
            assert!((found[unit] - expected).abs() < 1e-5);
        }
    }
    let mut session = rows.session();
    let lent: SummaryRef<'_> = session.summary(&X).unwrap();
    assert_eq!((lent.mean, lent.best, lent.scaled), (&mean, &best[..], &scaled[..]));
}

#[test]
fn models_of_one_macro_share_them() {
    let bytes = Bytes::init(1);
    let summaries: [Summary; 2] = [Rows::init(1).summary(&X).unwrap(), bytes.summary(&X).unwrap()];
    assert_eq!(summaries[0].best, summaries[1].best);
}

#[test]
fn tensors_of_several_named_dimensions_are_views() {
    let rows = Rows::init(1);
    let y = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0]];
    let all: Tensor<f32, 2> = rows.pairs(&X, &y).unwrap();
    assert_eq!((all.dims(), all.data()), ([2, 3], &[1.0, 5.0, 4.0, -4.0, 0.0, -3.0][..]));
    let mut session = rows.session();
    let lent: View<'_, f32, 2> = session.pairs(&X, &y[..1]).unwrap();
    assert_eq!((lent.dims(), lent[[1, 0]]), ([2, 1], -4.0));
}

#[test]
fn whole_numbers_and_truth_values_are_arguments() {
    let rows = Rows::init(1);
    assert_eq!(rows.chosen(&[3, -4, 5], &[true, true, false]).unwrap(), [6, -8, -1]);
    assert!(rows.chosen(&[3, -4, 5], &[true]).is_err());
}

model! {
    /// A decision.
    pub struct Decision {
        output: Linear(3, 2),
    }

    impl Decision {
        /// Scores.
        pub fn scores(&self, x: f32[B, 3]) -> f32[B, 2] {
            self.output(x)
        }

        /// Which scores are positive.
        pub fn yes(&self, x: f32[B, 3]) -> bool[B, 2] {
            self.output(x) > 0.0
        }
    }
}

#[test]
fn a_comparison_of_a_product_is_a_result() {
    let decision = Decision::init(4);
    let x = [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5], [-1.0, 3.0, 0.25]];
    let scores = decision.scores(&x).unwrap();
    let yes = decision.yes(&x).unwrap();
    assert!(scores.as_flattened().iter().zip(yes.as_flattened()).all(|(score, yes)| (*score > 0.0) == *yes));
}
