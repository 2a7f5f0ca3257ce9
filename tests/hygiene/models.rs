//! Two models in one module, in which the prelude's names and `core` stand for something else, and in
//! which arguments have the names of variables that emitted code has, too.
#![allow(dead_code)]

mod core {}
mod std {}
mod rt {}
struct Box;
struct Clone;
struct Copy;
struct Debug;
struct Default;
struct Err;
struct None;
struct Ok;
struct Option;
struct Result;
struct Some;
struct String;
struct Vec;

renamed::model! {
    /// Two classes of points of the plane.
    pub struct Net {
        hidden: Linear(2, 16),
        output: Linear(16, 2),
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, out: f32[B, 2]) -> f32[B, 2] {
            self.output(tanh(self.hidden(out)))
        }

        /// The same for sequences, and the mean.
        pub fn sequence(&self, dims: f32[B, T, 2]) -> (f32[B, T, 2], f32) {
            let scores = self.output(tanh(self.hidden(dims)));
            (scores, mean(scores))
        }

        /// Which coordinates are positive and not masked.
        pub fn positive(&self, point: f32[B, 2], mask: bool[B, 2]) -> Marked { flags: bool[B, 2], steps: f32[2 * B] } {
            let steps = reshape(self.scores(point), [2 * B]);
            Marked { flags: (point > 0.0) & mask, steps }
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, words: f32[B, 2], class: u32[B]) -> f32 {
            cross_entropy(self.scores(words), class)
        }
    }
}

renamed::model! {
    /// One layer.
    pub struct Other {
        output: Linear(2, 2),
    }

    impl Other {
        /// Unnormalised class scores.
        pub fn scores(&self, point: f32[B, 2]) -> f32[B, 2] {
            self.output(point)
        }
    }
}

renamed::model! {
    /// What a session keeps.
    pub struct Kept {
        mix: Linear(2, 2),
        state h: f32[B, 2],
        state rows: f32[3, B],
    }

    impl Kept {
        /// One step.
        pub fn step(&mut self, session: f32[B, 2], bindings: u32) -> f32[B, 2] {
            self.h = tanh(self.mix(session) + self.h);
            self.rows[bindings] = self.h[.., 0];
            self.h
        }

        /// A row.
        pub fn row(&self, dims: u32) -> f32[B] {
            self.rows[dims]
        }
    }
}

mod tests {
    use super::{Kept, KeptDims, Net, Other};
    use renamed::prelude::*;

    const POINTS: [[f32; 2]; 3] = [[0.5, 1.0], [-1.0, 2.0], [0.0, 0.0]];

    #[test]
    fn methods_agree() -> renamed::Result<()> {
        let net = Net::init(3);
        let scores = net.scores(&POINTS)?;
        let (sequence, mean) = net.sequence(View::new(&POINTS, [1, 3])?)?;
        assert_eq!(sequence.data(), scores);
        assert!((mean - scores.as_flattened().iter().sum::<f32>() / 6.0).abs() < 1e-6);
        let mut into = [[0.0; 2]; 3];
        net.scores_into(&POINTS, &mut into)?;
        assert_eq!(into[..], scores);
        assert_eq!(Other::init(1).session().scores(&POINTS)?.len(), 3);
        assert_eq!(net.views().hidden.weight.as_flattened(), net.parameter("hidden.weight")?);
        Ok(())
    }

    #[test]
    fn sessions_keep_state() -> renamed::Result<()> {
        let kept = Kept::init(3);
        let mut session = kept.session(KeptDims { B: 3 })?;
        let first = session.step(&POINTS, 2)?[0][0];
        assert_eq!(session.row(2)?[0], first);
        assert!(session.row(3).is_err());
        session.reset()?;
        assert_eq!(session.row(2)?, [0.0; 3]);
        Ok(())
    }

    #[test]
    fn truth_values_go_in_and_out() -> renamed::Result<()> {
        let net = Net::init(3);
        let mask = [[true, false], [true, true], [true, true]];
        let marked = net.positive(&POINTS, &mask)?;
        assert_eq!(marked.flags, [[true, false], [false, true], [false, false]]);
        assert_eq!(marked.steps, net.scores(&POINTS)?.as_flattened());
        let mut session = net.session();
        let lent = session.positive(&POINTS, &mask)?;
        assert_eq!((lent.flags, lent.steps), (&marked.flags[..], &marked.steps[..]));
        let (mut flags, mut steps) = ([[true; 2]; 3], [0.0; 6]);
        net.positive_into(&POINTS, &mask, &mut flags, &mut steps)?;
        assert_eq!((&flags[..], &steps[..]), (&marked.flags[..], &marked.steps[..]));
        Ok(())
    }

    #[test]
    fn training_lowers_the_loss() -> renamed::Result<()> {
        let mut net = Net::init(3);
        let mut trainer = net.trainer(AdamW { rate: 1e-2, ..default() });
        let before = trainer.loss(&POINTS, &[0, 1, 0])?.value()?;
        for _ in 0..100 {
            trainer.loss(&POINTS, &[0, 1, 0])?.value()?;
        }
        assert!(trainer.loss_gradients(&POINTS, &[0, 1, 0])?.loss < 0.5 * before);
        Ok(())
    }

    #[test]
    fn wrong_lengths_are_errors() {
        let net = Net::init(3);
        let error = net.loss(&POINTS, &[0; 2]).map(drop).unwrap_err();
        assert_eq!(error.to_string(), "`class` has B = 2, but `words` has B = 3");
        let error = net.positive_into(&POINTS, &[[true; 2]; 3], &mut [[true; 2]; 3], &mut [0.0; 5]).unwrap_err();
        assert_eq!(error.to_string(), "`out_steps` has 5 elements, but 6 are needed");
    }
}
