//! Foreign functions: what the closures give is what the model computes with, they are called as often as the text
//! says, and whatever goes wrong in them is an error value that has changed nothing.

use precast::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

model! {
    extern fn simulate(action: f32[B, 2], steps: u32) -> f32[B, 4]
        with grad(action: f32[B, 2], steps: u32, cotangent: f32[B, 4]) -> f32[B, 2];

    extern fn score(a: f32[B, T, 3], b: f32[3]) -> f32
        with grad(result: f32, a: f32[B, T, 3], b: f32[3], slope: f32) -> (f32[B, T, 3], f32[3]);

    extern fn log(x: f32[N]) -> f32[N];

    /// Actions, and a simulator that judges them.
    pub struct Agent { body: Linear(3, 8), head: Linear(8, 2), weights: Parameter(3, init = "ones") }

    impl Agent {
        fn act(&self, x: f32[B, 3]) -> f32[B, 2] { self.head(tanh(self.body(x))) }

        /// Where the actions lead.
        pub fn outcome(&self, x: f32[B, 3], steps: u32) -> f32[B, 4] { simulate(self.act(x), steps) }

        /// How far from the origin that is.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 3], steps: u32) -> f32 { mean(square(simulate(self.act(x), steps))) }

        /// Foreign only where it is asked for.
        pub fn maybe(&self, x: f32[N], foreign: bool) -> f32[N] { if foreign { log(x) } else { x } }

        /// A function of several named dimensions, in a loop.
        #[train(Sgd)]
        pub fn scored(&self, x: f32[B, T, 3]) -> f32 {
            let mut sum = 0.0;
            for k in 0..3 { sum = sum + score(x * (k + 1), self.weights); }
            sum
        }
    }
}

/// Every action is the velocity of a point for some steps; the point, then twice the point.
fn simulate(action: &[[f32; 2]], steps: u32, state: &mut [[f32; 4]]) {
    for ([x, y], state) in action.iter().zip(state) {
        let n = steps as f32;
        *state = [n * x, n * y, 2.0 * n * x, 2.0 * n * y];
    }
}

fn simulate_grad(_: &[[f32; 2]], steps: u32, cotangent: &[[f32; 4]], action: &mut [[f32; 2]]) {
    for ([a, b, c, d], action) in cotangent.iter().zip(action) {
        let n = steps as f32;
        *action = [n * (a + 2.0 * c), n * (b + 2.0 * d)];
    }
}

fn score(a: View<'_, [f32; 3], 2>, b: &[f32; 3], out: &mut f32) {
    assert_eq!(a.data().len(), a.dims()[0] * a.dims()[1]);
    *out = a.data().iter().map(|row| row.iter().zip(b).map(|(x, y)| x * y).sum::<f32>()).sum();
}

fn agent() -> Agent {
    Agent::init(3).with_simulate(simulate).with_simulate_grad(simulate_grad).with_score(score).with_score_grad(
        |_: f32, a: View<'_, [f32; 3], 2>, b: &[f32; 3], slope: f32, da: &mut [[f32; 3]], db: &mut [f32; 3]| {
            da.fill(b.map(|x| x * slope));
            *db = [0, 1, 2].map(|k| slope * a.data().iter().map(|row| row[k]).sum::<f32>());
        },
    )
}

fn points(count: usize) -> Vec<[f32; 3]> {
    crate::numbers(3 * count, 4).as_chunks().0.to_vec()
}

#[test]
fn closures_compute_with_what_the_model_gives_them() {
    let (agent, x) = (agent(), points(5));
    for [a, b, c, d] in agent.outcome(&x, 3).unwrap() {
        assert_eq!((2.0 * a, 2.0 * b), (c, d));
    }
    let (once, twice) = (agent.loss(&x, 1).unwrap(), agent.loss(&x, 2).unwrap());
    assert!((twice - 4.0 * once).abs() < 1e-5 * twice && once > 0.0);
}

#[test]
fn foreign_gradients_train() {
    let (mut agent, x) = (agent(), points(9));
    let before = agent.loss(&x, 2).unwrap();
    let mut trainer = agent.trainer(Sgd { rate: 0.02, ..default() });
    for _ in 0..60 {
        trainer.loss(&x, 2).unwrap().value().unwrap();
    }
    assert!(agent.loss(&x, 2).unwrap() < 0.1 * before);
}

#[test]
fn several_cotangents_reach_several_arguments() {
    let (mut agent, x) = (agent(), crate::numbers(2 * 4 * 3, 8));
    let rows: &[[f32; 3]] = x.as_chunks().0;
    let sum: Vec<f32> = (0..3).map(|k| 6.0 * rows.iter().map(|row| row[k]).sum::<f32>()).collect();
    let mut trainer = agent.trainer(Sgd::default());
    let gradients = trainer.scored_gradients(View::new(rows, [2, 4]).unwrap()).unwrap();
    assert!((gradients.loss - sum.iter().sum::<f32>()).abs() < 1e-4, "{} {sum:?}", gradients.loss);
    for (found, wanted) in gradients.get("weights").unwrap().iter().zip(&sum) {
        assert!((found - wanted).abs() < 1e-4, "{found} {wanted}");
    }
}

/// How often a branch calls its function is how often it was taken.
fn counts<D: Blocking>(agent: Agent<D>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let agent = agent.with_log(move |x: &[f32], out: &mut [f32]| {
        counted.fetch_add(1, Ordering::Relaxed);
        x.iter().zip(out).for_each(|(x, out)| *out = x.ln());
    });
    let x = [1.0, 2.0, 4.0];
    for (foreign, wanted) in [(false, 0), (true, 1), (false, 1), (true, 2)] {
        let found = agent.maybe(&x, foreign).unwrap();
        assert_eq!(found, if foreign { x.map(f32::ln) } else { x });
        assert_eq!(calls.load(Ordering::Relaxed), wanted);
    }
}

#[test]
fn only_the_branch_that_is_taken_calls() {
    counts(agent());
}

/// A missing, failing or panicking closure ends a step without a trace.
fn fails<D: Blocking>(mut agent: Agent<D>, parameters: impl Fn(&Agent<D>) -> Vec<f32>) {
    let x = points(4);
    let before = parameters(&agent);
    let error = |agent: &mut Agent<D>| {
        let mut trainer = agent.trainer(Sgd { rate: 0.1, ..default() });
        trainer.loss(&x, 1).and_then(|loss| loss.value()).unwrap_err().to_string()
    };
    assert_eq!(error(&mut agent), "the foreign function `simulate` was not supplied: call `with_simulate(…)` first");
    let mut agent = agent.with_simulate(simulate);
    let missing = "the foreign function `simulate_grad` was not supplied: call `with_simulate_grad(…)` first";
    assert_eq!(error(&mut agent), missing);
    let mut agent =
        agent.with_simulate_grad(|_: &[[f32; 2]], _: u32, _: &[[f32; 4]], _: &mut [[f32; 2]]| Err("no answer"));
    assert_eq!(error(&mut agent), "the foreign function `simulate_grad` failed: no answer");
    let mut agent =
        agent.with_simulate(|_: &[[f32; 2]], steps: u32, _: &mut [[f32; 4]]| assert!(steps > 9, "out of reach"));
    assert_eq!(error(&mut agent), "the foreign function `simulate` failed: it panicked: out of reach");
    assert_eq!(parameters(&agent), before);
    let mut agent = agent.with_simulate(simulate).with_simulate_grad(simulate_grad);
    agent.trainer(Sgd { rate: 0.1, ..default() }).loss(&x, 1).unwrap().value().unwrap();
    assert_ne!(parameters(&agent), before);
}

#[test]
fn a_function_that_fails_leaves_the_parameters() {
    fails(Agent::init(3), |agent| agent.parameter("head.weight").unwrap().to_vec());
}

#[cfg(feature = "gpu")]
#[test]
fn the_gpu_waits_for_closures() {
    let Some(gpu) = tests::gpu() else { return };
    let mut on_cpu = agent();
    let mut on_gpu = on_cpu.on(&gpu).unwrap();
    let x = points(7);
    for (a, b) in on_cpu.outcome(&x, 3).unwrap().iter().zip(on_gpu.outcome(&x, 3).unwrap()) {
        a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} on the CPU, {b} on the GPU"));
    }
    let sgd = || Sgd { rate: 0.02, ..default() };
    let (mut cpu, mut trainer) = (on_cpu.trainer(sgd()), on_gpu.trainer(sgd()));
    for step in 0..5 {
        let expected = cpu.loss(&x, 2).unwrap().value().unwrap();
        let found = trainer.loss(&x, 2).unwrap().value().unwrap();
        assert!((expected - found).abs() < 1e-3 * expected, "step {step}: {expected} on the CPU, {found} on the GPU");
    }
    let batch = trainer.loss_batch(&x, 2).unwrap();
    for loss in trainer.steps_on([&batch, &batch]).unwrap() {
        let (expected, found) = (cpu.loss(&x, 2).unwrap().value().unwrap(), loss.value().unwrap());
        assert!((expected - found).abs() < 1e-3 * expected, "{expected} on the CPU, {found} on the GPU");
    }
    let rows = crate::numbers(2 * 4 * 3, 8);
    let rows = || View::new(rows.as_chunks::<3>().0, [2, 4]).unwrap();
    let (a, b) = (cpu.scored_gradients(rows()).unwrap(), trainer.scored_gradients(rows()).unwrap());
    assert!((a.loss - b.loss).abs() < 1e-4);
    let pairs = a.get("weights").unwrap().iter().zip(b.get("weights").unwrap());
    pairs.for_each(|(a, b)| assert!((a - b).abs() < 1e-4, "{a} on the CPU, {b} on the GPU"));
    counts(on_cpu.on(&gpu).unwrap());
    fails(Agent::init(3).on(&gpu).unwrap(), |agent| agent.on(&Cpu).unwrap().parameter("head.weight").unwrap().to_vec());
}
