//! Extents and positions that are computed from named dimensions, where they become 0 or negative: nothing panics.

use precast::View;
use precast::prelude::*;

model! {
    /// Parts of sequences.
    pub struct Parts {
        a: Linear(3, 3),
    }

    impl Parts {
        /// All but the first.
        pub fn later(&self, x: f32[B, T, 3]) -> f32[B, T - 1, 3] {
            self.a(x[_, 1.., _])
        }

        /// The first half.
        pub fn half(&self, x: f32[T, 3]) -> f32[T / 2, 3] {
            self.a(x[..T / 2])
        }

        /// The fifth from the end.
        pub fn fifth(&self, x: f32[T, 3]) -> f32[3] {
            self.a(x[T - 5])
        }

        /// The first three, for which there may be too few.
        pub fn three(&self, x: f32[T, 3]) -> f32[3, 3] {
            x[..3]
        }

        /// The mean of differences of neighbours.
        pub fn differences(&self, x: f32[T, 3]) -> f32[3] {
            mean(x[1..] - x[..T - 1], axis = 0)
        }
    }
}

const X: [[f32; 3]; 6] = [[1.0, 2.0, 3.0], [0.0; 3], [2.0; 3], [4.0; 3], [1.0; 3], [7.0, 5.0, 3.0]];

#[test]
fn long_enough_sequences_have_parts() {
    let parts = Parts::init(1);
    let of = |rows: &[[f32; 3]]| parts.later(View::new(&[X[0], rows[0]], [1, 2]).unwrap()).unwrap().data()[0];
    let whole: Vec<[f32; 3]> = X.iter().map(|&row| of(&[row])).collect();
    for t in 2..=6 {
        assert_eq!(parts.half(&X[..t]).unwrap(), whole[..t / 2]);
    }
    assert_eq!(parts.fifth(&X).unwrap(), of(&X[1..]));
    assert_eq!(parts.differences(&X).unwrap(), [6.0 / 5.0, 3.0 / 5.0, 0.0]);
}

#[test]
fn sequences_that_are_too_short_are_errors_or_empty() {
    let parts = Parts::init(1);
    let later = parts.later(View::new(&X[..1], [1, 1]).unwrap());
    assert!(later.map_or(true, |empty| empty.data().is_empty()));
    assert!(parts.half(&X[..1]).map_or(true, |empty| empty.is_empty()));
    let error = parts.fifth(&X[..3]).unwrap_err().to_string();
    assert_eq!(error, "`fifth` cannot be called with dimensions this small: T - 5 would be negative");
    assert!(parts.fifth(&X[..4]).is_err());
    assert!(parts.three(&X[..2]).is_err());
    assert_eq!(parts.three(&X[..3]).unwrap(), X[..3]);
    assert!(parts.fifth(&X[..5]).is_ok());
    // The mean of no differences is not a number, or an error.
    assert!(parts.differences(&X[..1]).map_or(true, |none| none.iter().all(|x| x.is_nan())));
    assert!(parts.session().fifth(&X[..3]).is_err());
}
