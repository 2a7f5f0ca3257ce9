//! A training step from ops to new weights, against the same step written in plain Rust after PyTorch.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

use precast_compiler::ir::attr::Attrs;
use precast_compiler::ir::graph::{Call, GROUPS};
use precast_compiler::ir::model::{Argument, Binder, Effect, Init, NamedDim, Results, Signature};
use precast_compiler::ir::precision::Precision;
use precast_compiler::ir::prim::MapOp;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{DType, Dim, Function, Graph, Kind, Memory, Mode, Model, Param, ParamId, Type, Value};
use precast_compiler::ops::{Builder, OpError, optimizer, optimizer_of};
use precast_compiler::oracle::{Env, Outputs, Tensor, run};
use precast_compiler::stages::{expand::expand, grad::grad};
use proc_macro2::{Ident, Span, TokenStream};

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn f32s(shape: &[Dim]) -> Type {
    Type::new(DType::F32, shape)
}

/// `mean((x · wᵀ + c − y)²)` with `x: f32[B, 2]`, `y: f32[B, 1]`, and a parameter that nothing uses.
fn regression(rule: &str) -> Model {
    let batch = Dim::name("B");
    let (x, y) = (f32s(&[batch.clone(), 2.into()]), f32s(&[batch, 1.into()]));
    let param = |name: &str, shape: &[Dim], offset| Param {
        name: name.into(),
        fields: vec![name.into()],
        ty: f32s(shape),
        stack: vec![],
        turns: vec![],
        init: Init::Zeros,
        trained: true,
        scales: None,
        offset,
        span: Span::call_site(),
    };
    let params =
        vec![param("w", &[1.into(), 2.into()], 0), param("c", &[1.into()], 64), param("unused", &[70.into()], 128)];
    let mut graph = Graph::default();
    let span = Span::call_site();
    let inputs =
        [(Kind::Input(0), &x), (Kind::Param(ParamId(0)), &params[0].ty), (Kind::Param(ParamId(1)), &params[1].ty)];
    let args = inputs.map(|(kind, ty)| graph.push(kind, vec![], Some(ty.clone()), span)).to_vec();
    let call = Call {
        op: "linear".into(),
        attrs: Attrs::default(),
        callee: "self.layer".into(),
        training: true,
        float: DType::F32,
    };
    let guess = graph.push(Kind::Op(call), args, Some(y.clone()), span);
    let target = graph.push(Kind::Input(1), vec![], Some(y.clone()), span);
    let mut b = Builder { graph: &mut graph, span, training: true, float: DType::F32, sites: &mut 0, loops: vec![] };
    let loss = mean_square(&mut b, guess, target).unwrap();
    graph.outputs = vec![loss];
    let function = Function {
        name: ident("loss"),
        signature: Signature::default(),
        attrs: vec![],
        mode: Mode::Train(rule.to_owned().into()),
        args: vec![Argument { name: ident("x"), ty: x }, Argument { name: ident("y"), ty: y }],
        dims: vec![NamedDim { name: "B".into(), bound: None, binder: Binder::Extents }],
        results: Results::One,
        frozen: vec![],
        in_session: false,
        effects: vec![],
        graph,
    };
    Model {
        name: ident("Net"),
        vis: TokenStream::new(),
        attrs: vec![],
        memory: Memory::default(),
        precision: Precision::default(),
        storage: None,
        deterministic: None,
        params,
        states: vec![],
        dims: vec![],
        functions: vec![function],
        foreign: vec![],
        private: vec![],
        origins: vec![],
        sketches: vec![],
    }
}

fn mean_square(b: &mut Builder<'_>, guess: Value, target: Value) -> Result<Value, OpError> {
    let difference = b.sub(guess, target)?;
    let square = b.map(MapOp::Mul, &[difference, difference])?;
    b.mean(square, &[0, 1])
}

const X: [[f64; 2]; 3] = [[1.0, -2.0], [0.5, 3.0], [-1.5, 0.25]];
const Y: [f64; 3] = [0.75, -1.25, 2.0];
const W: [f64; 3] = [0.5, -0.25, 0.125];
const VELOCITY: [f64; 3] = [0.1, -0.2, 0.3];

fn env() -> Env {
    let mut velocity = vec![0.0; 256];
    (velocity[0], velocity[1], velocity[64]) = (VELOCITY[0], VELOCITY[1], VELOCITY[2]);
    Env {
        args: vec![Tensor::floats([3, 2], X.concat()), Tensor::floats([3, 1], Y.to_vec())],
        params: vec![
            Tensor::floats([1, 2], W[..2].to_vec()),
            Tensor::floats([1], vec![W[2]]),
            Tensor::floats([70], vec![3.0; 70]),
        ],
        states: vec![velocity],
        // rate, momentum, gain, decay, nesterov
        numbers: [0.1, 0.9, 1.0, 0.0, 0.0].map(|x| [x; GROUPS]).to_vec(),
        ..Env::default()
    }
}

/// The loss, and its gradient by w₀, w₁ and c.
fn by_hand() -> (f64, [f64; 3]) {
    let (mut loss, mut gradient) = (0.0, [0.0; 3]);
    for (x, y) in X.iter().zip(Y) {
        let error = x[0] * W[0] + x[1] * W[1] + W[2] - y;
        loss += error * error / 3.0;
        for (g, factor) in gradient.iter_mut().zip([x[0], x[1], 1.0]) {
            *g += 2.0 * error * factor / 3.0;
        }
    }
    (loss, gradient)
}

fn step(env: &Env) -> Outputs {
    step_of("Sgd", env)
}

fn step_of(rule: &str, env: &Env) -> Outputs {
    let model = expand(regression(rule));
    verify(&model, After::Expand).unwrap();
    let model = grad(model, optimizer_of);
    verify(&model, After::Grad).unwrap();
    let text = model.to_string();
    assert_eq!(text.parse::<Model>().unwrap().to_string(), text);
    run(&model.functions[0], &model, env).unwrap()
}

fn pool(outputs: &Outputs, effect: Effect) -> [f64; 3] {
    let tensor = &outputs.effects.iter().find(|(e, _)| *e == effect).unwrap().1;
    [0, 1, 64].map(|i| tensor.f64s()[i])
}

fn updated(outputs: &Outputs) -> u32 {
    outputs.effects.iter().find(|(e, _)| *e == Effect::Updated).unwrap().1.u32s()[0]
}

fn close(a: &[f64], b: &[f64]) {
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} and {b:?}");
}

#[test]
fn gradients_and_update() {
    let outputs = step(&env());
    let (loss, gradient) = by_hand();
    close(outputs.results[0].f64s(), &[loss]);
    close(outputs.effects[0].1.f64s(), &gradient[..2]);
    close(outputs.effects[1].1.f64s(), &gradient[2..]);
    // What the loss does not depend on has no gradient, and no decay moves it.
    assert!(!outputs.effects.iter().any(|(effect, _)| *effect == Effect::Gradient(ParamId(2))));
    let all = |effect| outputs.effects.iter().find(|(e, _)| *e == effect).unwrap().1.f64s().to_vec();
    let unused = env().params[2].clone();
    assert_eq!(all(Effect::Weights)[128..198], unused.f64s()[..]);
    assert!(unused.f64s().iter().any(|x| *x != 0.0));
    let velocity: Vec<f64> = VELOCITY.iter().zip(gradient).map(|(v, g)| 0.9 * v + g).collect();
    let weights: Vec<f64> = W.iter().zip(&velocity).map(|(w, v)| w - 0.1 * v).collect();
    close(&pool(&outputs, Effect::State(0)), &velocity);
    close(&pool(&outputs, Effect::Weights), &weights);
    assert_eq!(updated(&outputs), 1);
}

#[test]
fn what_the_loss_does_not_use_does_not_decay() {
    let mut env = env();
    env.numbers[3] = [0.1; GROUPS];
    let outputs = step(&env);
    let find = |effect| outputs.effects.iter().find(|(e, _)| *e == effect).unwrap().1.f64s();
    assert_eq!(find(Effect::Weights)[128..198], [3.0; 70]);
    assert_eq!(find(Effect::State(0))[128..198], [0.0; 70]);
    let (_, gradient) = by_hand();
    let decayed = VELOCITY[2] * 0.9 + gradient[2] + 0.1 * W[2];
    close(&pool(&outputs, Effect::State(0))[2..], &[decayed]);
}

#[test]
fn gradients_are_clipped_by_their_norm() {
    let outputs = step(&Env { clip_norm: Some(0.5), ..env() });
    let (_, gradient) = by_hand();
    let scale = 0.5 / (gradient.iter().map(|g| g * g).sum::<f64>().sqrt() + 1e-6);
    assert!(scale < 1.0);
    let velocity: Vec<f64> = VELOCITY.iter().zip(gradient).map(|(v, g)| 0.9 * v + scale * g).collect();
    close(&pool(&outputs, Effect::State(0)), &velocity);
    // The gradients themselves are written as they are.
    close(outputs.effects[0].1.f64s(), &gradient[..2]);
    let loose = step(&Env { clip_norm: Some(1e3), ..env() });
    assert_eq!(pool(&loose, Effect::Weights), pool(&step(&env()), Effect::Weights));
}

/// The average of gradients that stay zero would end on a denormal number, with which a CPU is a hundred times slower.
#[test]
fn averages_of_zeros_end_at_zero() {
    // Behind the only element of a parameter gradients are zero.
    let mut state = vec![0.0; 256];
    (state[65], state[66], state[67]) = (1.2e-38, -1.2e-38, 1.5e-38);
    let moments = [0.1, 0.9, 0.9, 1e-8, 0.0, 1.0, 1.0];
    for (rule, numbers) in [("Adam", &moments[..]), ("AdamW", &moments), ("RmsProp", &[0.1, 0.9, 1e-8, 0.0, 0.0])] {
        let numbers = numbers.iter().map(|x| [*x; GROUPS]).collect();
        let outputs = step_of(rule, &Env { states: vec![state.clone(), vec![0.0; 256]], numbers, ..env() });
        let average = outputs.effects.iter().find(|(e, _)| *e == Effect::State(0)).unwrap().1.f64s();
        assert_eq!(average[65..67], [0.0; 2], "{rule}");
        assert!((average[67] - 1.35e-38).abs() < 1e-44, "{rule}");
    }
}

#[test]
fn groups_have_their_own_numbers() {
    let mut env = env();
    // The second chunk, which holds `c`, is in group 2, whose rate is zero.
    env.groups = vec![0, 2];
    env.numbers[0][2] = 0.0;
    let outputs = step(&env);
    let weights = pool(&outputs, Effect::Weights);
    assert_eq!(weights[2], W[2]);
    assert_ne!(weights[0], W[0]);
}

#[test]
fn a_non_finite_loss_changes_nothing_if_asked() {
    for bad in [f64::NAN, f64::INFINITY] {
        let mut env = Env { skip_nonfinite: true, ..env() };
        env.args[1] = Tensor::floats([3, 1], vec![0.0, bad, 0.0]);
        let outputs = step(&env);
        assert_eq!(pool(&outputs, Effect::Weights), W);
        assert_eq!(pool(&outputs, Effect::State(0)), VELOCITY);
        assert_eq!(updated(&outputs), 0);
        let outputs = step(&Env { skip_nonfinite: false, ..env });
        assert!(!pool(&outputs, Effect::Weights)[0].is_finite());
        assert_eq!(updated(&outputs), 1);
    }
}

/// Three steps of an optimiser from zero states; `numbers` are those of step t, from 1.
fn three_steps(rule: &str, numbers: &dyn Fn(i32) -> Vec<f64>) -> [f64; 3] {
    let states = optimizer(rule).unwrap().states.len();
    let mut env = Env { states: vec![vec![0.0; 256]; states], ..env() };
    for t in 1..=3 {
        env.numbers = numbers(t).into_iter().map(|x| [x; GROUPS]).collect();
        let outputs = step_of(rule, &env);
        let find = |effect| outputs.effects.iter().find(|(e, _)| *e == effect).unwrap().1.f64s();
        let weights = find(Effect::Weights);
        env.params[0] = Tensor::floats([1, 2], weights[..2].to_vec());
        env.params[1] = Tensor::floats([1], weights[64..65].to_vec());
        env.params[2] = Tensor::floats([70], weights[128..198].to_vec());
        env.states = (0..states).map(|k| find(Effect::State(k)).to_vec()).collect();
    }
    [env.params[0].f64s()[0], env.params[0].f64s()[1], env.params[1].f64s()[0]]
}

/// The same three steps, with `update(t, weight, gradient, memory)` applied to each weight alone.
fn written_out(update: &dyn Fn(i32, &mut f64, f64, &mut [f64; 2])) -> [f64; 3] {
    let (mut weights, mut memory) = (W, [[0.0; 2]; 3]);
    for t in 1..=3 {
        let mut gradient = [0.0; 3];
        for (x, y) in X.iter().zip(Y) {
            let error = x[0] * weights[0] + x[1] * weights[1] + weights[2] - y;
            for (g, factor) in gradient.iter_mut().zip([x[0], x[1], 1.0]) {
                *g += 2.0 * error * factor / 3.0;
            }
        }
        for i in 0..3 {
            update(t, &mut weights[i], gradient[i], &mut memory[i]);
        }
    }
    weights
}

#[test]
fn sgd_steps_as_pytorch_documents() {
    let (rate, momentum, dampening, decay) = (0.05, 0.8, 0.1, 0.01);
    for nesterov in [false, true] {
        let got = three_steps("Sgd", &|t| {
            let gain = if t == 1 { 1.0 } else { 1.0 - dampening };
            vec![rate, momentum, gain, decay, f64::from(u8::from(nesterov))]
        });
        let want = written_out(&|t, w, g, [b, _]| {
            let g = g + decay * *w;
            *b = if t == 1 { g } else { momentum * *b + (1.0 - dampening) * g };
            *w -= rate * if nesterov { g + momentum * *b } else { *b };
        });
        close(&got, &want);
    }
}

#[test]
fn adam_and_adamw_step_as_pytorch_documents() {
    let (rate, beta1, beta2, epsilon, decay) = (0.05, 0.9, 0.98, 1e-8, 0.02);
    for (rule, decoupled) in [("Adam", false), ("AdamW", true)] {
        let got = three_steps(rule, &|t| {
            vec![rate, beta1, beta2, epsilon, decay, 1.0 - f64::powi(beta1, t), 1.0 - f64::powi(beta2, t)]
        });
        let want = written_out(&|t, w, g, [m, v]| {
            let g = if decoupled { g } else { g + decay * *w };
            if decoupled {
                *w -= rate * decay * *w;
            }
            *m = beta1 * *m + (1.0 - beta1) * g;
            *v = beta2 * *v + (1.0 - beta2) * g * g;
            let (mean, square) = (*m / (1.0 - f64::powi(beta1, t)), *v / (1.0 - f64::powi(beta2, t)));
            *w -= rate * mean / (square.sqrt() + epsilon);
        });
        close(&got, &want);
    }
}

#[test]
fn rmsprop_steps_as_pytorch_documents() {
    let (rate, alpha, epsilon, decay, momentum) = (0.01, 0.9, 1e-6, 0.01, 0.5);
    let got = three_steps("RmsProp", &|_| vec![rate, alpha, epsilon, decay, momentum]);
    let want = written_out(&|_, w, g, [v, b]| {
        let g = g + decay * *w;
        *v = alpha * *v + (1.0 - alpha) * g * g;
        *b = momentum * *b + g / (v.sqrt() + epsilon);
        *w -= rate * *b;
    });
    close(&got, &want);
}
