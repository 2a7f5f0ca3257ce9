//! Whole models from text to gradients: every stage keeps the invariants and prints, and every parameter's
//! gradient agrees with finite differences of the loss.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

mod support;

use precast_compiler::ir::graph::GROUPS;
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{DType, Mode, Model};
use precast_compiler::ops::optimizer_of;
use precast_compiler::oracle::{Data, Env, Outputs, Tensor, run};
use precast_compiler::pipeline;
use precast_compiler::stages::{expand::expand, grad::grad};
use support::{BATCH, Fill, Numbers, random};

const DIGITS: &str = "
    pub struct Digits {
        conv1: Conv2d(1, 4, kernel = 3, padding = 1),
        conv2: Conv2d(4, 6, kernel = 3, padding = 1),
        hidden: Linear(6 * 2 * 2, 8),
        output: Linear(8, 10),
    }

    impl Digits {
        pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
            let x = max_pool2d(relu(self.conv1(image)), window = 2);
            let x = max_pool2d(relu(self.conv2(x)), window = 2);
            let x = relu(self.hidden(flatten(x)));
            self.output(dropout(x, 0.25))
        }

        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
";

const BLOCKS: &str = "
    struct Residual(dim, hidden = 2 * dim) {
        norm: LayerNorm(dim),
        up: Linear(dim, hidden),
        down: Linear(hidden, dim),
    }

    impl Residual {
        pub fn forward(&self, x: f32[B, dim]) -> f32[B, dim] {
            x + dropout(self.down(gelu(self.up(self.norm(x)))), 0.25)
        }
    }

    pub struct Net {
        blocks: [Residual(4); 3],
        output: Linear(4, 2),
    }

    impl Net {
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4], target: f32[B, 2]) -> f32 {
            let mut y = x;
            for block in self.blocks {
                y = block(y);
            }
            mse_loss(self.output(y), target)
        }
    }
";

/// The only model of a text, after expand; all stages up to grad are sound.
fn expanded(text: &str) -> Model {
    let (mut models, diags) = pipeline::check(text.parse().unwrap());
    let mistakes: Vec<String> = diags.list().iter().map(|d| d.text()).collect();
    assert!(mistakes.is_empty(), "{mistakes:#?}");
    let model = models.remove(0);
    sound(&model, After::Shape);
    let model = expand(model);
    sound(&model, After::Expand);
    model
}

fn sound(model: &Model, after: After) {
    let text = model.to_string();
    verify(model, after).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let parsed: Model = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(parsed.to_string(), text);
}

/// Random arguments, parameters and numbers for a function.
fn env(model: &Model, function: usize, classes: u32) -> Env {
    let mut numbers = Numbers::new(3);
    let mut tensor = |ty: &precast_compiler::ir::Type| {
        let fill = if ty.dtype == DType::U32 { Fill::Index(classes) } else { Fill::Any };
        random(&ty.shape, fill, &mut numbers)
    };
    Env {
        args: model.functions[function].args.iter().map(|a| tensor(&a.ty)).collect(),
        params: model.params.iter().map(|p| tensor(&p.stacked())).collect(),
        key: [1, 2],
        numbers: vec![[0.0; GROUPS]; 16],
        ..Env::default()
    }
}

fn loss(outputs: &Outputs) -> f64 {
    outputs.results[0].f64s()[0]
}

/// The training function; the same without training stands beside it.
fn training(model: &Model) -> usize {
    model.functions.iter().position(|f| matches!(f.mode, Mode::Train(_))).unwrap()
}

/// Compares the gradients of the training function with finite differences of its loss.
fn gradients_agree(text: &str) {
    let plain = expanded(text);
    let complete = grad(plain.clone(), optimizer_of);
    sound(&complete, After::Grad);
    let at = training(&plain);
    let env = env(&plain, at, 10);
    let outputs = run(&complete.functions[at], &complete, &env).unwrap();
    let value = |env: &Env| loss(&run(&plain.functions[at], &plain, env).unwrap());
    assert_eq!(loss(&outputs), value(&env));
    for (effect, gradient) in &outputs.effects {
        let Effect::Gradient(id) = effect else { continue };
        let stride = gradient.data.len() / 12 + 1;
        for (i, &exact) in gradient.f64s().iter().enumerate().step_by(stride) {
            let moved = |h: f64| {
                let mut env = env.clone();
                match &mut env.params[id.0 as usize].data {
                    Data::Float(_, x) => x[i] += h,
                    _ => panic!("parameters are floats"),
                }
                value(&env)
            };
            let h = 1e-5;
            let estimate = (moved(h) - moved(-h)) / (2.0 * h);
            let name = &plain.param(*id).name;
            assert!((exact - estimate).abs() < 1e-6 * (1.0 + exact.abs()), "{name}[{i}]: {exact} against {estimate}");
        }
        assert!(gradient.f64s().iter().any(|g| *g != 0.0), "{}", plain.param(*id).name);
    }
}

#[test]
fn a_convolutional_network() {
    gradients_agree(DIGITS);
}

#[test]
fn repeated_blocks_with_dropout() {
    gradients_agree(BLOCKS);
}

#[test]
fn every_place_and_iteration_draws_its_own_bits() {
    let text = "
        struct Noise { }
        impl Noise {
            pub fn forward(&self, x: f32[B, 64]) -> f32[B, 64] { dropout(x, 0.5) }
        }
        pub struct Net { scale: Linear(1, 1), blocks: [Noise; 2] }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 64]) -> (f32, f32[B, 64], f32[B, 64], f32[B, 64]) {
                let mut y = x;
                for block in self.blocks {
                    y = block(y);
                }
                (mean(self.scale(x[.., 0..1])), dropout(x, 0.5), dropout(x, 0.5), y)
            }
        }
    ";
    let model = grad(expanded(text), optimizer_of);
    let at = training(&model);
    let mut env = env(&model, at, 1);
    env.args[0] = Tensor::floats([BATCH as usize, 64], vec![1.0; BATCH as usize * 64]);
    let kept = |env: &Env, k: usize| run(&model.functions[at], &model, env).unwrap().results[k].f64s().to_vec();
    let share = |x: &[f64]| x.iter().filter(|x| **x != 0.0).count() as f64 / x.len() as f64;
    assert_ne!(kept(&env, 1), kept(&env, 2), "two places");
    assert!((share(&kept(&env, 1)) - 0.5).abs() < 0.15);
    // Two rounds of one place keep a quarter, unless both draw the same.
    assert!((share(&kept(&env, 3)) - 0.25).abs() < 0.12, "{}", share(&kept(&env, 3)));
    let next = Env { key: [1, 3], ..env.clone() };
    assert_ne!(kept(&env, 1), kept(&next, 1), "two steps");
}

/// The parameters `a` and `b`, which are ones, after a step at a rate of a tenth.
fn stepped(x: [f64; 2], y: f64, skip_nonfinite: bool) -> (Vec<f64>, Vec<f64>) {
    let text = "
        pub struct Net { a: Parameter(2), b: Parameter(3) }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[2], y: f32) -> f32 { sum(x * self.a) + sum(square(self.b)) + y }
        }
    ";
    let model = grad(expanded(text), optimizer_of);
    let at = training(&model);
    let mut numbers = vec![[0.0; GROUPS]; 5];
    (numbers[0], numbers[2]) = ([0.1; GROUPS], [1.0; GROUPS]);
    let args = vec![Tensor::floats([2], x.to_vec()), Tensor::floats([], vec![y])];
    let params = vec![Tensor::floats([2], vec![1.0; 2]), Tensor::floats([3], vec![1.0; 3])];
    let env = Env { args, params, numbers, skip_nonfinite, ..Env::default() };
    let outputs = run(&model.functions[at], &model, &env).unwrap();
    let weights = outputs.effects.iter().find(|(effect, _)| *effect == Effect::Weights).unwrap().1.f64s();
    let of = |k: usize, len: usize| weights[model.params[k].offset..][..len].to_vec();
    (of(0, 2), of(1, 3))
}

#[test]
fn a_step_whose_loss_alone_is_not_finite_is_skipped() {
    assert_eq!(stepped([2.0, 3.0], 1.0, true), (vec![0.8, 0.7], vec![0.8; 3]));
    for bad in [f64::NAN, f64::INFINITY] {
        assert_eq!(stepped([2.0, 3.0], bad, true), (vec![1.0; 2], vec![1.0; 3]));
        assert_eq!(stepped([2.0, 3.0], bad, false), (vec![0.8, 0.7], vec![0.8; 3]));
    }
}

#[test]
fn a_gradient_that_is_not_finite_spoils_its_own_weights_alone() {
    let (a, b) = stepped([f64::NAN, 3.0], 1.0, false);
    assert!(a[0].is_nan() && a[1] == 0.7 && b == [0.8; 3], "{a:?}, {b:?}");
}
