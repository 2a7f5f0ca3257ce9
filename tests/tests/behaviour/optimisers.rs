//! Every optimiser for a dozen steps, with all of its numbers, a group, clipping and a schedule, against its published
//! formula in f64.

#[cfg(feature = "gpu")]
use super::numbers;
use precast::prelude::*;

model! {
    /// Two parameters with gradients that are easy to write down.
    pub struct Bowl {
        a: Parameter(3, init = "ones"),
        b: Parameter(2),
    }

    impl Bowl {
        /// Half the weighted squares of `a` and half the squared distance of `b` from `y`.
        #[train(Sgd)]
        pub fn sgd(&self, x: f32[3], y: f32[2]) -> f32 {
            (sum(x * square(self.a)) + sum(square(self.b - y))) / 2
        }

        /// The same.
        #[train(Adam)]
        pub fn adam(&self, x: f32[3], y: f32[2]) -> f32 {
            self.sgd(x, y)
        }

        /// The same.
        #[train(AdamW)]
        pub fn adamw(&self, x: f32[3], y: f32[2]) -> f32 {
            self.sgd(x, y)
        }

        /// The same.
        #[train(RmsProp)]
        pub fn rmsprop(&self, x: f32[3], y: f32[2]) -> f32 {
            self.sgd(x, y)
        }
    }
}

const STEPS: i32 = 12;
const CLIP: f64 = 2.0;

/// Data of a step; the first steps are steep enough to be clipped.
fn data(step: i32) -> ([f32; 3], [f32; 2]) {
    let s = step as f32;
    ([1.0 + 0.1 * s, 3.0 - 0.2 * s, 0.5], [2.0 - 0.1 * s, -1.0])
}

/// The rate of a step: it decays.
fn rate(step: i32) -> f64 {
    0.1 / (1.0 + 0.2 * f64::from(step))
}

/// A parameter, its two states, its gradient and the numbers of its group: rate and decay.
struct Cell {
    value: f64,
    state: [f64; 2],
    gradient: f64,
    rate: f64,
    decay: f64,
}

/// Runs the formula: `update` gets a cell and the step, counted from 1.
fn reference(start: &[f32], decay: f64, update: impl Fn(&mut Cell, i32)) -> Vec<f64> {
    let cell = |&value: &f32| Cell { value: value.into(), state: [0.0; 2], gradient: 0.0, rate: 0.0, decay };
    let mut cells: Vec<Cell> = start.iter().map(cell).collect();
    for step in 0..STEPS {
        let (x, y) = data(step);
        for (k, cell) in cells.iter_mut().enumerate() {
            cell.gradient = if k < 3 { f64::from(x[k]) * cell.value } else { cell.value - f64::from(y[k - 3]) };
            // The group of `b`: half the rate, no decay.
            cell.rate = if k < 3 { rate(step) } else { rate(step) / 2.0 };
            cell.decay = if k < 3 { decay } else { 0.0 };
        }
        let norm = cells.iter().map(|c| c.gradient * c.gradient).sum::<f64>().sqrt();
        let scale = (CLIP / (norm + 1e-6)).min(1.0);
        for cell in &mut cells {
            cell.gradient *= scale;
            update(cell, step + 1);
        }
    }
    cells.iter().map(|c| c.value).collect()
}

fn values(bowl: &Bowl) -> Vec<f32> {
    ["a", "b"].iter().flat_map(|name| bowl.parameter(name).unwrap().to_vec()).collect()
}

fn compare(name: &str, found: &[f32], expected: &[f64]) {
    for (found, expected) in found.iter().zip(expected) {
        let error = (f64::from(*found) - expected).abs();
        assert!(error < 1e-5, "{name}: {found}, but the formula gives {expected}");
    }
}

/// Trains with one optimiser and compares with its formula.
macro_rules! check {
    ($method:ident, $optimizer:expr, $decay:expr, $update:expr) => {{
        let mut bowl = Bowl::init(8);
        let expected = reference(&values(&bowl), $decay, $update);
        let mut trainer = bowl.trainer($optimizer);
        trainer.group("b", |o| (o.rate, o.decay) = (o.rate / 2.0, 0.0)).unwrap();
        for step in 0..STEPS {
            trainer.optimizer.rate = rate(step) as f32;
            let (x, y) = data(step);
            trainer.$method(&x, &y).unwrap().value().unwrap();
        }
        compare(stringify!($method), &values(&bowl), &expected);
    }};
}

#[test]
fn sgd_follows_its_formula() {
    for nesterov in [false, true] {
        // PyTorch has no dampening with Nesterov's acceleration.
        let dampening = if nesterov { 0.0 } else { 0.25 };
        let sgd = Sgd { momentum: 0.8, dampening, nesterov, decay: 0.05, clip: Some(CLIP as f32), ..default() };
        check!(sgd, sgd, 0.05, |c: &mut Cell, step| {
            let g = c.gradient + c.decay * c.value;
            let gain = if step == 1 { 1.0 } else { 1.0 - f64::from(dampening) };
            c.state[0] = if step == 1 { g } else { 0.8 * c.state[0] + gain * g };
            c.value -= c.rate * if nesterov { g + 0.8 * c.state[0] } else { c.state[0] };
        });
    }
}

#[test]
fn adam_follows_its_formula() {
    let adam = Adam { beta1: 0.8, beta2: 0.95, decay: 0.05, clip: Some(CLIP as f32), ..default() };
    check!(adam, adam, 0.05, |c: &mut Cell, step| {
        let g = c.gradient + c.decay * c.value;
        adaptive(c, g, step);
    });
}

#[test]
fn adamw_follows_its_formula() {
    let adamw = AdamW { beta1: 0.8, beta2: 0.95, decay: 0.05, clip: Some(CLIP as f32), ..default() };
    check!(adamw, adamw, 0.05, |c: &mut Cell, step| {
        c.value -= c.rate * c.decay * c.value;
        adaptive(c, c.gradient, step);
    });
}

/// The common part of Adam and AdamW.
fn adaptive(c: &mut Cell, g: f64, step: i32) {
    c.state = [0.8 * c.state[0] + 0.2 * g, 0.95 * c.state[1] + 0.05 * g * g];
    let (m, v) = (c.state[0] / (1.0 - 0.8f64.powi(step)), c.state[1] / (1.0 - 0.95f64.powi(step)));
    c.value -= c.rate * m / (v.sqrt() + 1e-8);
}

#[test]
fn rmsprop_follows_its_formula() {
    let rmsprop = RmsProp { alpha: 0.9, momentum: 0.5, decay: 0.05, clip: Some(CLIP as f32), ..default() };
    check!(rmsprop, rmsprop, 0.05, |c: &mut Cell, _| {
        let g = c.gradient + c.decay * c.value;
        c.state[0] = 0.9 * c.state[0] + 0.1 * g * g;
        c.state[1] = 0.5 * c.state[1] + g / (c.state[0].sqrt() + 1e-8);
        c.value -= c.rate * c.state[1];
    });
}

model! {
    /// Trained by two optimisers.
    pub struct Twice {
        output: Linear(3, 1),
    }

    impl Twice {
        /// Mean squared error.
        #[train(Sgd)]
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 3], y: f32[B, 1]) -> f32 {
            mse_loss(self.output(x), y)
        }
    }
}

#[test]
fn a_function_may_be_trained_by_several_optimisers() {
    let mut model = Twice::init(1);
    let (x, y) = ([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], [[1.0], [-1.0]]);
    let before = model.loss(&x, &y).unwrap();
    let mut trainer = model.trainer(Sgd { rate: 0.05, ..default() });
    for _ in 0..20 {
        trainer.loss(&x, &y).unwrap().value().unwrap();
    }
    let between = trainer.model().loss(&x, &y).unwrap();
    let mut trainer = model.trainer(AdamW { rate: 0.01, ..default() });
    for _ in 0..20 {
        trainer.loss(&x, &y).unwrap().value().unwrap();
    }
    let after = trainer.model().loss(&x, &y).unwrap();
    assert!(after < between && between < before, "{before} {between} {after}");
}

/// What a GPU keeps from call to call: buffers, which grow with the batch, and the groups of parameters.
#[cfg(feature = "gpu")]
#[test]
fn a_gpu_steps_alike_when_batches_grow_and_groups_are_added() {
    let Some(gpu) = tests::gpu() else { return };
    let mut host = Twice::init(1);
    let mut net = host.on(&gpu).unwrap();
    let optimizer = || AdamW { rate: 0.05, ..default() };
    let (mut on_cpu, mut on_gpu) = (host.trainer(optimizer()), net.trainer(optimizer()));
    for (step, batch) in [2, 700, 1, 3, 70_000, 5].into_iter().enumerate() {
        if step == 1 {
            on_cpu.group("*.bias", |o| o.rate = 0.0).unwrap();
            on_gpu.group("*.bias", |o| o.rate = 0.0).unwrap();
        }
        if step == 4 {
            on_cpu.group("*.weight", |o| o.decay = 0.5).unwrap();
            on_gpu.group("*.weight", |o| o.decay = 0.5).unwrap();
        }
        let x: Vec<[f32; 3]> = numbers(3 * batch, step as u32 + 1).as_chunks().0.to_vec();
        let y: Vec<[f32; 1]> = x.iter().map(|x| [x[0] - 2.0 * x[1] + 0.5]).collect();
        let (a, b) = (on_cpu.loss(&x, &y).unwrap(), on_gpu.loss(&x, &y).unwrap());
        let (a, b) = (a.value().unwrap(), b.value().unwrap());
        assert!((a - b).abs() <= 1e-5 * a.abs(), "step {step}: {a} on the CPU, {b} on the GPU");
        let found = on_gpu.model().on(&Cpu).unwrap();
        for ((name, _, a), (_, _, b)) in on_cpu.model().parameters().zip(found.parameters()) {
            assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "step {step}: {name} is {a:?}, not {b:?}");
        }
    }
}

#[test]
fn numbers_that_would_ruin_parameters_are_refused() {
    let (mut net, x, y) = (Bowl::init(1), [1.0; 3], [2.0; 2]);
    let mut trainer = net.trainer(AdamW::default());
    type Spoil = fn(&mut AdamW);
    let spoil: [(Spoil, &str); 8] = [
        (|o| o.rate = f32::NAN, "`rate` of `AdamW` must be finite and at least 0, but it is NaN"),
        (|o| o.rate = -1.0, "`rate` of `AdamW` must be finite and at least 0, but it is -1"),
        (|o| o.decay = f32::INFINITY, "`decay` of `AdamW` must be finite and at least 0, but it is inf"),
        (|o| o.epsilon = -1e-8, "`epsilon` of `AdamW` must be finite and at least 0, but it is -0.00000001"),
        (|o| o.beta1 = 1.0, "`beta1` of `AdamW` must be at least 0 and less than 1, but it is 1"),
        (|o| o.beta2 = f32::NAN, "`beta2` of `AdamW` must be at least 0 and less than 1, but it is NaN"),
        (|o| o.clip = Some(-1.0), "`clip` of `AdamW` must be at least 0, but it is -1"),
        (|o| o.clip = Some(f32::NAN), "`clip` of `AdamW` must be at least 0, but it is NaN"),
    ];
    for (spoil, says) in spoil {
        spoil(&mut trainer.optimizer);
        assert_eq!(trainer.adamw(&x, &y).unwrap_err().to_string(), says);
        trainer.optimizer = AdamW { clip: Some(f32::INFINITY), ..AdamW::default() };
    }
    trainer.group("b", |o| o.rate /= 0.0).unwrap();
    let says = "`rate` of `AdamW` must be finite and at least 0, but it is inf for parameters of the group `b`";
    assert_eq!(trainer.adamw(&x, &y).unwrap_err().to_string(), says);
    assert_eq!(trainer.steps(), 0);
    trainer.group("*", |o| o.rate = 0.1).unwrap();
    assert!(trainer.adamw(&x, &y).unwrap().value().unwrap().is_finite());
    assert!(net.parameters().all(|(_, _, values)| values.iter().all(|x| x.is_finite())));
}

/// What the compiler knows of an optimiser, and the reference says.
fn is_known<O: Optimizer>() {
    let known = precast_compiler::ops::optimizer(O::NAME).unwrap();
    assert_eq!((known.numbers, known.states), (O::NUMBERS, O::STATES), "{}", O::NAME);
    let number = |text: &str| match text {
        "None" => f32::INFINITY,
        "false" => 0.0,
        number => number.parse().unwrap(),
    };
    let mut fields = vec![];
    O::default().visit(&mut |name, value| fields.push((name, *value)));
    let said: Vec<_> = known.fields.iter().map(|(name, default)| (*name, number(default))).collect();
    assert_eq!(said, fields, "{}", O::NAME);
}

#[test]
fn the_reference_has_their_fields_and_defaults() {
    is_known::<Sgd>();
    is_known::<Adam>();
    is_known::<AdamW>();
    is_known::<RmsProp>();
}
