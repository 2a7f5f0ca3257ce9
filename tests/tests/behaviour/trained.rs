//! What training functions return besides their loss.

use precast::prelude::*;

model! {
    /// Functions with one result, several, and named ones.
    pub struct Net { layer: Linear(3, 4) }

    impl Net {
        /// The loss, the scores, which of them are positive, and all pairs of rows.
        #[train(Sgd)]
        pub fn tuple(&self, x: f32[B, 3], class: u32[B]) -> (f32, f32[B, 4], bool[B, 4], f32[B, B], f32) {
            let scores = self.layer(x);
            (cross_entropy(scores, class), scores, scores > 0.0, matmul(x, transpose(x)), mean(scores))
        }

        /// The same by name.
        #[train(Sgd)]
        pub fn named(&self, x: f32[B, 3], class: u32[B]) -> Step { loss: f32, best: u32[B], bias: f32[4] } {
            let scores = self.layer(x);
            Step { loss: cross_entropy(scores, class), best: argmax(scores, axis = -1), bias: self.layer.bias }
        }
    }
}

const X: [[f32; 3]; 2] = [[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]];

#[test]
fn results_are_those_before_the_update() -> precast::Result<()> {
    let mut net = Net::init(3);
    for turn in 0..3 {
        let (loss, scores, positive, pairs, mean) = net.tuple(&X, &[2, 0])?;
        let mut trainer = net.trainer(Sgd { rate: 0.5, ..default() });
        let (trained, lent, signs, view, number) = trainer.tuple(&X, &[2, 0])?;
        let (lent, signs, view): (&[[f32; 4]], &[[bool; 4]], View<'_, f32, 2>) = (lent, signs, view);
        assert_eq!((lent, signs, number), (&scores[..], &positive[..], mean), "turn {turn}");
        assert_eq!((view.data(), view.dims()), (pairs.data(), [2, 2]));
        assert_eq!(trained.value()?, loss);
        assert!(trainer.model().tuple(&X, &[2, 0])?.0 < loss);
    }
    Ok(())
}

#[test]
fn named_results_are_lent_too() -> precast::Result<()> {
    let mut net = Net::init(3);
    let before = net.named(&X, &[2, 0])?;
    let mut trainer = net.trainer(Sgd { rate: 0.5, ..default() });
    let (loss, step) = trainer.named(&X, &[2, 0])?;
    assert_eq!((step.loss, step.best, step.bias), (before.loss, &before.best[..], &before.bias));
    assert_eq!(loss.value()?, before.loss);
    assert_ne!(trainer.model().named(&X, &[2, 0])?.bias, before.bias);
    assert_eq!(trainer.named_gradients(&X, &[2, 0])?.loss, trainer.model().named(&X, &[2, 0])?.loss);
    Ok(())
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_gives_them_too() -> precast::Result<()> {
    let Some(gpu) = tests::gpu() else { return Ok(()) };
    let start = Net::init(3);
    let (loss, scores, positive, pairs, mean) = start.tuple(&X, &[2, 0])?;
    let mut net = start.on(&gpu)?;
    let mut trainer = net.trainer(Sgd { rate: 0.5, ..default() });
    for turn in 0..2 {
        let (trained, lent, signs, view, number) = trainer.tuple(&X, &[2, 0])?;
        if turn == 0 {
            let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
            assert!(near(trained.value()?, loss) && near(number, mean));
            assert!(lent.as_flattened().iter().zip(scores.as_flattened()).all(|(a, b)| near(*a, *b)));
            assert_eq!((signs, view.dims()), (&positive[..], [2, 2]));
            assert!(view.data().iter().zip(pairs.data()).all(|(a, b)| near(*a, *b)));
        }
    }
    let before = trainer.model().named(&X, &[2, 0])?;
    let (_, step) = trainer.named(&X, &[2, 0])?;
    assert_eq!(step.best, before.best);
    assert_eq!(step.bias, &before.bias);
    Ok(())
}
