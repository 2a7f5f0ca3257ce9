//! Branches on scalars that only a call knows: `if` and `match` give what Rust's own give, on every device.

use precast::prelude::*;

model! {
    /// Layers that calls choose from.
    pub struct Chooser {
        gain: Parameter(4, init = "ones"),
        hidden: Linear(4, 4),
        blocks: [Gate(4); 3],
        output: Linear(4, 2),
    }

    struct Gate(dim) { up: Linear(dim, dim), down: Linear(dim, dim) }

    impl Gate {
        /// A block whose own numbers choose what it does.
        fn forward(&self, x: f32[B, dim], n: u32) -> f32[B, dim] {
            let y = self.up(x);
            if mean(y) > 0.0 {
                if n > 2 { x + tanh(self.down(tanh(y))) } else { x - sigmoid(y) }
            } else {
                x * sigmoid(self.down(y))
            }
        }
    }

    impl Chooser {
        /// One of several functions.
        pub fn pick(&self, x: f32[B, 4], n: i32) -> (f32[B, 4], i32) {
            let mut taken = 9;
            let y = match n {
                -1 => { taken = 0; -x }
                0 | 1 => { taken = 1; x * 2.0 }
                _ => x * x,
            };
            (y, taken + 1)
        }

        /// All layers, some, or none.
        pub fn scores(&self, x: f32[B, 4], n: u32, gated: bool) -> f32[B, 2] {
            let mut y = x * self.gain;
            match n {
                0 => {}
                1 => { y = self.hidden(y); }
                _ => {
                    for block in self.blocks { y = block.forward(y, n); }
                    if gated { y = y * sigmoid(self.hidden(y)); }
                }
            }
            for block in self.blocks { y = tanh(block.forward(y, n)); }
            self.output(y)
        }

        /// The mean square of the scores.
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 4], n: u32, gated: bool) -> f32 { mean(square(self.scores(x, n, gated))) }
    }
}

fn points(count: usize) -> Vec<[f32; 4]> {
    crate::numbers(4 * count, 3).as_chunks().0.to_vec()
}

#[test]
fn arms_are_taken_as_in_rust() {
    let (model, x) = (Chooser::init(1), points(5));
    for n in [-7, -1, 0, 1, 2, 100] {
        let (y, taken) = model.pick(&x, n).unwrap();
        let expected = |x: f32| match n {
            -1 => -x,
            0 | 1 => x * 2.0,
            _ => x * x,
        };
        let wanted: Vec<f32> = x.as_flattened().iter().map(|&x| expected(x)).collect();
        assert_eq!(y.as_flattened(), wanted, "n = {n}");
        assert_eq!(taken, if n == -1 { 1 } else { [10, 2][usize::from((0..2).contains(&n))] });
    }
}

#[test]
fn what_is_not_taken_gets_no_gradient() {
    let (mut model, x) = (Chooser::init(1), points(5));
    let mut trainer = model.trainer(AdamW::default());
    let hidden = |n, gated, trainer: &mut ChooserTrainer<'_, AdamW>| {
        let gradients = trainer.loss_gradients(&x, n, gated).unwrap();
        gradients.get("hidden.weight").unwrap().iter().any(|g| *g != 0.0)
    };
    assert!(hidden(1, false, &mut trainer) && hidden(2, true, &mut trainer));
    assert!(!hidden(0, true, &mut trainer) && !hidden(2, false, &mut trainer));
}

#[test]
fn every_choice_learns() {
    for (n, gated) in [(0, false), (1, true), (2, true), (3, false)] {
        let (mut model, x) = (Chooser::init(2), points(8));
        let before = model.loss(&x, n, gated).unwrap();
        let mut trainer = model.trainer(AdamW { rate: 1e-2, ..default() });
        for _ in 0..30 {
            trainer.loss(&x, n, gated).unwrap().value().unwrap();
        }
        let after = model.loss(&x, n, gated).unwrap();
        assert!(after < 0.5 * before, "{n}: {before} {after}");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_takes_the_same_branches() {
    let Some(gpu) = tests::gpu() else { return };
    let mut on_cpu = Chooser::init(3);
    let mut on_gpu = on_cpu.on(&gpu).unwrap();
    let (few, many) = (points(3), points(70));
    // Calls at dimensions that were seen before take other branches without recording anything again.
    for n in [2, 0, 1, 3, 0, 2] {
        for (x, gated) in [(&few, true), (&few, false), (&many, true)] {
            let (a, b) = (on_cpu.scores(x, n, gated).unwrap(), on_gpu.scores(x, n, gated).unwrap());
            for (a, b) in a.as_flattened().iter().zip(b.as_flattened()) {
                assert!((a - b).abs() < 1e-4, "n = {n}: {a} on the CPU, {b} on the GPU");
            }
        }
        let picked = |(y, taken): (Vec<[f32; 4]>, i32)| (y, taken);
        assert_eq!(picked(on_cpu.pick(&few, n as i32 - 1).unwrap()), picked(on_gpu.pick(&few, n as i32 - 1).unwrap()));
    }
    let (mut cpu, mut trainer) = (on_cpu.trainer(AdamW::default()), on_gpu.trainer(AdamW::default()));
    for (step, n) in [2, 0, 1, 3, 0, 2, 1, 2].into_iter().enumerate() {
        let gated = step % 3 == 0;
        let expected = cpu.loss(&many, n, gated).unwrap().value().unwrap();
        let found = trainer.loss(&many, n, gated).unwrap().value().unwrap();
        assert!((expected - found).abs() < 1e-3 * expected, "step {step}: {expected} on the CPU, {found} on the GPU");
    }
}
