//! Arguments that do not fit are errors in the user's names and numbers, and change nothing.

use precast::prelude::*;
use precast::{Error, View};

model! {
    /// Classes of words.
    pub struct Tagger {
        word: Embedding(50, 6),
        tag: Linear(6, 3),
    }

    impl Tagger {
        /// Scores of every tag.
        pub fn scores(&self, id: u32[B, T <= 8]) -> f32[B, T, 3] {
            self.tag(tanh(self.word(id)))
        }

        /// Scores of the pairs of neighbours.
        pub fn pairs(&self, x: f32[B, 2 * H], y: f32[B, H]) -> f32[B, H] {
            x[.., ..H] * x[.., H..] + y
        }

        /// Scores of one point.
        pub fn scaled(&self, x: f32[B, 6]) -> f32[B, 3] {
            self.tag(x)
        }

        /// Mean squared error.
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 6], y: f32[B, 3]) -> f32 {
            mse_loss(self.tag(x), y)
        }
    }
}

fn message<T>(result: precast::Result<T>) -> String {
    match result {
        Ok(_) => panic!("the call was expected to fail"),
        Err(error) => error.to_string(),
    }
}

fn bits(tagger: &Tagger) -> Vec<u32> {
    tagger.parameters().flat_map(|(_, _, values)| values.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn arguments_that_do_not_fit_are_named() {
    let tagger = Tagger::init(1);
    let mut session = tagger.session();
    let ids = |b: usize, t: usize| vec![3u32; b * t];
    let id = ids(2, 9);
    assert_eq!(message(tagger.scores(View::new(&id, [2, 9]).unwrap())), "`id` has T = 9, but T <= 8");
    assert_eq!(message(session.scores(View::new(&id, [2, 9]).unwrap())), "`id` has T = 9, but T <= 8");
    assert_eq!(message(tagger.scores(View::new(&[], [0, 4]).unwrap())), "`id` is empty: B must be at least 1");
    assert_eq!(message(tagger.scores(View::new(&[], [4, 0]).unwrap())), "`id` is empty: T must be at least 1");
    assert_eq!(message(View::new(&id, [2, 8])), "`view` has 18 elements, but 16 are needed");
    assert_eq!(message(tagger.scaled(&[])), "`x` is empty: B must be at least 1");
    let wrong = tagger.scaled_into(&[[0.0; 6]; 4], &mut [[0.0; 3]; 5]);
    assert_eq!(message(wrong), "`out` has 5 elements, but 4 are needed");

    let x = [0.5f32; 24];
    let called = tagger.pairs(View::new(&x[..14], [2, 7]).unwrap(), View::new(&x[..8], [2, 4]).unwrap());
    assert_eq!(message(called), "`x` has 7 in dimension 1, but 2*H = 8");
    let called = tagger.pairs(View::new(&x[..16], [2, 8]).unwrap(), View::new(&x[..12], [3, 4]).unwrap());
    assert_eq!(message(called), "`y` has B = 3, but `x` has B = 2");
    let fine = tagger.pairs(View::new(&x[..16], [2, 8]).unwrap(), View::new(&x[..8], [2, 4]).unwrap()).unwrap();
    assert_eq!((fine.dims(), fine.data()), ([2, 4], &[0.75f32; 8][..]));
}

#[test]
fn ids_outside_a_table_have_no_scores() {
    let tagger = Tagger::init(1);
    let scores = tagger.scores(View::new(&[49, 50, u32::MAX], [1, 3]).unwrap()).unwrap();
    assert!(scores[[0, 0]].iter().all(|x| x.is_finite()));
    assert!(scores.data()[1..].as_flattened().iter().all(|x| x.is_nan()));
}

#[test]
fn a_failed_step_leaves_parameters_and_steps() {
    let mut tagger = Tagger::init(1);
    let before = bits(&tagger);
    let mut trainer = tagger.trainer(AdamW::default());
    assert_eq!(message(trainer.loss(&[], &[])), "`x` is empty: B must be at least 1");
    assert_eq!(message(trainer.loss(&[[0.0; 6]; 3], &[[0.0; 3]; 2])), "`y` has B = 2, but `x` has B = 3");
    assert_eq!(message(trainer.loss_gradients(&[[0.0; 6]; 3], &[[0.0; 3]; 2])), "`y` has B = 2, but `x` has B = 3");
    assert_eq!((trainer.steps(), bits(trainer.model())), (0, before.clone()));
    assert!(matches!(trainer.group("nothing.*", |o| o.rate = 0.0), Err(Error::UnknownParameter { .. })));
}

#[test]
fn data_that_are_not_finite_are_reported_and_skipped() {
    let mut tagger = Tagger::init(1);
    let before = bits(&tagger);
    let good = ([[0.5; 6]; 2], [[1.0; 3]; 2]);
    let mut trainer = tagger.trainer(AdamW { clip: Some(1.0), ..default() });
    for (step, bad) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX].into_iter().enumerate() {
        let mut x = good.0;
        x[1][3] = bad;
        let expected = format!("`loss` or its gradient is not finite in step {}; the update was skipped", step + 1);
        assert_eq!(message(trainer.loss(&x, &good.1).unwrap().value()), expected);
        assert_eq!(bits(trainer.model()), before);
    }
    // The optimiser's state is as it was, too: a good step is the first good step.
    trainer.loss(&good.0, &good.1).unwrap().value().unwrap();
    let after = bits(&tagger);
    assert_ne!(after, before);
    assert!(tagger.parameters().all(|(_, _, values)| values.iter().all(|x| x.is_finite())));

    let mut other = Tagger::init(1);
    let mut trainer = other.trainer(AdamW { clip: Some(1.0), ..default() });
    trainer.skip_nonfinite = false;
    let expected = "`loss` or its gradient is not finite in step 1; the update was made";
    assert_eq!(message(trainer.loss(&[[f32::NAN; 6]; 2], &good.1).unwrap().value()), expected);
    assert!(other.parameter("tag.weight").unwrap().iter().all(|x| x.is_nan()));
}

#[test]
fn a_prediction_from_numbers_that_are_not_finite_is_not_finite() {
    let tagger = Tagger::init(1);
    let scores = tagger.scaled(&[[0.0; 6], [f32::NAN; 6], [1.0; 6]]).unwrap();
    assert!(scores[1].iter().all(|x| x.is_nan()));
    assert!(scores[0].iter().chain(&scores[2]).all(|x| x.is_finite()));
}

model! {
    /// A rectifier between two layers.
    pub struct Rectified {
        hidden: Linear(3, 4),
        output: Linear(4, 1),
    }

    impl Rectified {
        /// One number.
        pub fn of(&self, x: f32[B, 3]) -> f32[B, 1] {
            self.output(relu(self.hidden(x)))
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so_through_a_rectifier() {
    let of = Rectified::init(2).of(&[[0.5, f32::NAN, 1.0], [1.0, 2.0, 3.0]]).unwrap();
    assert!(of[0][0].is_nan() && of[1][0].is_finite(), "{of:?}");
}
