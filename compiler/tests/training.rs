//! A training step from ops to new weights, against the same step written in plain Rust after PyTorch.

use precast_compiler::ir::graph::Call;
use precast_compiler::ir::model::{Argument, Effect, Init, NamedDim, Results};
use precast_compiler::ir::prim::MapOp;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{DType, Dim, Function, Graph, Kind, Mode, Model, Param, ParamId, Type, Value};
use precast_compiler::ops::{Attrs, Builder, OpError, Optimizer, op};
use precast_compiler::oracle::{Env, Outputs, Tensor, run};
use precast_compiler::stages::{expand::expand, grad::grad};
use proc_macro2::{Ident, Span, TokenStream};

/// SGD with momentum: `v ← μ v + g`, `w ← w − η v`.
static SGD: Optimizer = Optimizer {
    name: "SGD",
    states: &["velocity"],
    numbers: &["rate", "momentum"],
    update: |b, w, g, states, numbers| {
        let kept = b.mul(numbers[1], states[0])?;
        let velocity = b.add(kept, g)?;
        let step = b.mul(numbers[0], velocity)?;
        Ok((b.sub(w, step)?, vec![velocity]))
    },
    doc: "",
};

fn ident(name: &str) -> Ident {
    Ident::new(name, Span::call_site())
}

fn f32s(shape: &[Dim]) -> Type {
    Type::new(DType::F32, shape)
}

/// `mean((x · wᵀ + c − y)²)` with `x: f32[B, 2]`, `y: f32[B, 1]`, and a parameter that nothing uses.
fn regression() -> Model {
    let batch = Dim::name("B");
    let (x, y) = (f32s(&[batch.clone(), 2.into()]), f32s(&[batch, 1.into()]));
    let param = |name: &str, shape: &[Dim], offset| Param {
        name: name.into(),
        ty: f32s(shape),
        stack: vec![],
        init: Init::Zeros,
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
    let call = Call { op: op("linear").unwrap(), attrs: Attrs::default(), callee: "self.layer".into(), training: true };
    let guess = graph.push(Kind::Op(call), args, Some(y.clone()), span);
    let target = graph.push(Kind::Input(1), vec![], Some(y.clone()), span);
    let mut b = Builder { graph: &mut graph, span, training: true, sites: &mut 0, loops: vec![] };
    let loss = mean_square(&mut b, guess, target).unwrap();
    graph.outputs = vec![loss];
    let function = Function {
        name: ident("loss"),
        attrs: vec![],
        mode: Mode::Train(&SGD),
        args: vec![Argument { name: ident("x"), ty: x }, Argument { name: ident("y"), ty: y }],
        dims: vec![NamedDim { name: "B".into(), bound: None }],
        results: Results::One,
        effects: vec![],
        graph,
    };
    Model { name: ident("Net"), vis: TokenStream::new(), attrs: vec![], params, functions: vec![function] }
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
        numbers: vec![0.1, 0.9],
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
    let model = expand(regression());
    verify(&model, After::Expand).unwrap();
    let model = grad(model);
    verify(&model, After::Grad).unwrap();
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
    assert_eq!(outputs.effects[2], (Effect::Gradient(ParamId(2)), Tensor::zeros(DType::F32, [70])));
    let velocity: Vec<f64> = VELOCITY.iter().zip(gradient).map(|(v, g)| 0.9 * v + g).collect();
    let weights: Vec<f64> = W.iter().zip(&velocity).map(|(w, v)| w - 0.1 * v).collect();
    close(&pool(&outputs, Effect::State(0)), &velocity);
    close(&pool(&outputs, Effect::Weights), &weights);
    assert_eq!(updated(&outputs), 1);
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
        assert!(pool(&outputs, Effect::Weights)[0].is_nan());
        assert_eq!(updated(&outputs), 1);
    }
}
