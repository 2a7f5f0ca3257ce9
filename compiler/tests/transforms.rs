//! Functions mapped and differentiated in the model language, against closed forms, loops and finite
//! differences on the oracle.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

#[path = "support/judge.rs"]
mod judge;
mod support;

use precast_compiler::diag::Diags;
use precast_compiler::dump::Dumps;
use precast_compiler::ir::model::{Effect, Model};
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ops::optimizer_of;
use precast_compiler::oracle::{Data, Env, Outputs, Tensor, run};
use precast_compiler::pipeline::{compile, lower};
use precast_compiler::stages::{expand::expand, grad::grad, parse::parse, shape::shape};
use support::Numbers;

/// The model of a program without mistakes, after expand.
fn model(source: &str) -> Model {
    let mut diags = Diags::default();
    let mut models = parse(source.parse().expect("balanced brackets"), &mut diags);
    shape(&mut models, &mut diags);
    let texts: Vec<String> = diags.list().iter().map(|d| format!("{} on line {}", d.text(), d.place.line())).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
    verify(&models[0], After::Shape).expect("sound graphs");
    let model = expand(models.remove(0));
    verify(&model, After::Expand).expect("sound graphs");
    let text = model.to_string();
    assert_eq!(text.parse::<Model>().expect("the text form parses").to_string(), text);
    model
}

fn resolved(model: Model) -> Model {
    let model = grad(model, optimizer_of);
    verify(&model, After::Grad).expect("sound graphs");
    model
}

fn outputs(model: &Model, function: &str, env: &Env) -> Outputs {
    let function = model.functions.iter().find(|f| f.name == function).expect("the function");
    run(function, model, env).expect("fitting arguments")
}

/// The results of `f`, the only function of a program.
fn eval(signature: &str, body: &str, args: &[Tensor]) -> Vec<Tensor> {
    let source = format!("pub struct M {{}} impl M {{ pub fn f(&self, {signature} {{ {body} }} }}");
    let env = Env { args: args.to_vec(), ..Env::default() };
    outputs(&resolved(model(&source)), "f", &env).results
}

fn scalar(x: f64) -> Tensor {
    Tensor::floats([], vec![x])
}

fn vector(x: &[f64]) -> Tensor {
    Tensor::floats([x.len()], x.to_vec())
}

fn close(found: &Tensor, wanted: &[f64]) {
    let found = found.f64s();
    assert_eq!(found.len(), wanted.len(), "{found:?} against {wanted:?}");
    let near = |(x, y): (&f64, &f64)| (x - y).abs() < 1e-9 * (1.0 + y.abs());
    assert!(found.iter().zip(wanted).all(near), "{found:?} against {wanted:?}");
}

#[test]
fn cotangents_are_pulled_back() {
    let (x, y) = (vector(&[0.7, -1.2, 0.4]), vector(&[2.0, 0.5]));
    let weights = vector(&[0.3, -0.6, 1.1]);
    // Of x² · sum(y): 2 x · sum(y) · g, and by every y the sum of x² · g.
    let found = eval(
        "x: f32[3], y: f32[2], g: f32[3]) -> (f32[3], (f32[3], f32[2]))",
        "vjp(|x, y| x * x * sum(y))((x, y), g)",
        &[x.clone(), y.clone(), weights.clone()],
    );
    close(&found[0], &[1.225, 3.6, 0.4]);
    close(&found[1], &[0.7 * 0.3 * 5.0, 1.2 * 0.6 * 5.0, 0.4 * 1.1 * 5.0]);
    let by_y = 0.49 * 0.3 - 1.44 * 0.6 + 0.16 * 1.1;
    close(&found[2], &[by_y, by_y]);
    // Several results, one of them constant; and what does not use the argument at all.
    let found = eval(
        "x: f32[3], g: f32[3]) -> ((f32[3], f32), f32[3])",
        "vjp(|x| (exp(x), 2.0.f32()), wrt = 0)(x, (g, 7.0))",
        &[x.clone(), weights.clone()],
    );
    let wanted: Vec<f64> = x.f64s().iter().zip(weights.f64s()).map(|(x, g)| x.exp() * g).collect();
    close(&found[2], &wanted);
    // With a cotangent of one it is the gradient, and it can be differentiated and mapped.
    let source = "map(|x| grad(|x| vjp(|x| x * x * x)(x, 1.0).1)(x))(x)";
    let found = eval("x: f32[3]) -> f32[3]", source, std::slice::from_ref(&x));
    close(&found[0], &x.f64s().iter().map(|x| 6.0 * x).collect::<Vec<_>>());
}

#[test]
fn derivatives_of_any_order() {
    let x: f64 = 0.7;
    let at = [scalar(x)];
    close(&eval("x: f32) -> f32", "grad(|x| x * x * x)(x)", &at)[0], &[3.0 * x * x]);
    close(&eval("x: f32) -> f32", "grad(grad(|x| x * x * x))(x)", &at)[0], &[6.0 * x]);
    close(&eval("x: f32) -> f32", "grad(grad(grad(|x| x * x * x)))(x)", &at)[0], &[6.0]);
    close(&eval("x: f32) -> f32", "let f = |x| sin(x); let d = grad(grad(f)); d(x) + f(x)", &at)[0], &[0.0]);
    let wave = (2.0 * x).exp() * 16.0;
    close(&eval("x: f32) -> f32", "grad(grad(grad(grad(|x| exp(2 * x)))))(x)", &at)[0], &[wave]);
}

/// Smooth functions that are computed by cases, where the cases meet.
#[test]
fn second_derivatives_where_cases_meet() {
    let quarter = 0.25;
    for (call, wanted) in [
        ("softplus(x)", quarter),
        ("log_sigmoid(x)", -quarter),
        ("binary_cross_entropy_with_logits(x, full([2], 0.3), \"sum\")", quarter),
        ("soft_margin_loss(x, full([2], 1.0), \"sum\")", quarter),
        ("mish(x)", 0.64),
        ("silu(x)", 0.5),
        ("gelu(x)", (2.0 / std::f64::consts::PI).sqrt()),
        ("tanh(x)", 0.0),
        ("sinh(x)", 0.0),
        ("cosh(x)", 1.0),
        ("expm1(x)", 1.0),
        ("log1p(x)", -1.0),
        ("erf(x)", 0.0),
        // Of both numbers at once: their Hessian's rows have the sum 0.
        ("logsumexp(x)", 0.0),
        ("logsumexp(x * [1.0, -1.0])", 0.5),
    ] {
        let call = call.replace("[1.0, -1.0]", "(f32(iota(2)) * -2.0 + 1.0)");
        let body = format!("grad(|x| sum(grad(|x| sum({call}))(x) * (f32(iota(2)) * 0.0 + 1.0)))(x)");
        close(&eval("x: f32[2]) -> f32[2]", &body, &[vector(&[0.0, 0.0])])[0], &[wanted; 2]);
    }
}

#[test]
fn several_arguments_give_several_derivatives() {
    let args = [scalar(0.5), scalar(-1.5)];
    let body = "let (u, (u_x, u_t)) = value_and_grad(|x, t| x * x * t)(x, t); (u, u_x, u_t)";
    let found = eval("x: f32, t: f32) -> (f32, f32, f32)", body, &args);
    close(&found[0], &[0.25 * -1.5]);
    close(&found[1], &[-1.5]);
    close(&found[2], &[0.25]);
    close(&eval("x: f32, t: f32) -> f32", "grad(|x, t| x * x * t, wrt = 1)(x, t)", &args)[0], &[0.25]);
    let body = "let (a, b) = grad(|x, t| x * x * t, wrt = [1, 0])(x, t); a - b";
    close(&eval("x: f32, t: f32) -> f32", body, &args)[0], &[1.75]);
    // A captured argument of another closure.
    let body = "grad(|x| grad(|t| x * x * t * t)(t) * x)(x)";
    close(&eval("x: f32, t: f32) -> f32", body, &args)[0], &[3.0 * 0.25 * 2.0 * -1.5]);
}

#[test]
fn directions_and_products_with_hessians() {
    let x = vector(&[0.5, -1.0, 2.0]);
    let v = vector(&[1.0, 0.5, -2.0]);
    let args = [x, v];
    let found = eval("x: f32[3], v: f32[3]) -> (f32[3], f32[3])", "jvp(|x| x * x)(x, v)", &args);
    close(&found[0], &[0.25, 1.0, 4.0]);
    close(&found[1], &[1.0, -1.0, -8.0]);
    // ½ Σ x⁴ has the Hessian diag(6 x²).
    let found = eval("x: f32[3], v: f32[3]) -> f32[3]", "hvp(|x| sum(x * x * x * x) / 2)(x, v)", &args);
    close(&found[0], &[1.5, 3.0, -48.0]);
    let body = "let (y, dy) = jvp(|a, b| sum(a * b))((x, v), (v, x)); y + dy";
    let dot = 0.5 - 0.5 - 4.0;
    let squares = 0.25 + 1.0 + 4.0 + 1.0 + 0.25 + 4.0;
    close(&eval("x: f32[3], v: f32[3]) -> f32", body, &args)[0], &[dot + squares]);
}

#[test]
fn jacobians_and_hessians() {
    let args = [vector(&[0.5, -1.0, 2.0])];
    let found = eval("x: f32[3]) -> f32[2, 3]", "jacobian(|x| stack(sum(x * x), x[0] * x[1]))(x)", &args);
    close(&found[0], &[1.0, -2.0, 4.0, -1.0, 0.5, 0.0]);
    // More results than arguments: columns.
    let body = "jacobian(|x| stack(x[0] * x, x[1] * x))(x)";
    let found = eval("x: f32[3]) -> f32[2, 3, 3]", body, &args);
    let (a, b, c) = (0.5, -1.0, 2.0);
    let rows = [2.0 * a, 0.0, 0.0, b, a, 0.0, c, 0.0, a, b, a, 0.0, 0.0, 2.0 * b, 0.0, 0.0, c, b];
    close(&found[0], &rows);
    let found = eval("x: f32[3]) -> f32[3, 3]", "hessian(|x| x[0] * x[1] * x[2])(x)", &args);
    close(&found[0], &[0.0, 2.0, -1.0, 2.0, 0.0, 0.5, -1.0, 0.5, 0.0]);
    let found = eval("x: f32[N]) -> f32[N, N]", "jacobian(|x| x * x)(x)", &args);
    close(&found[0], &[1.0, 0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 4.0]);
}

#[test]
fn second_derivatives_of_products_with_zeros() {
    for x in [[2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0]] {
        let [a, b, c] = x;
        let found =
            eval("x: f32[3]) -> (f32[3], f32[3, 3])", "(grad(|x| prod(x))(x), hessian(prod)(x))", &[vector(&x)]);
        close(&found[0], &[b * c, a * c, a * b]);
        close(&found[1], &[0.0, c, b, c, 0.0, a, b, a, 0.0]);
    }
}

/// As PyTorch has them: no derivative is infinite, or NaN, because a part of its formula is.
#[test]
fn derivatives_of_powers_at_zero() {
    let args = [vector(&[0.0, 0.0, 0.0, 2.0]), vector(&[0.0, 1.0, 3.0, 0.0])];
    let body = "grad(|x, y| sum(pow(x, y)), wrt = [0, 1])(x, y)";
    let found = eval("x: f32[4], y: f32[4]) -> (f32[4], f32[4])", body, &args);
    close(&found[0], &[0.0, 1.0, 0.0, 0.0]);
    close(&found[1], &[0.0, 0.0, 0.0, 2_f64.ln()]);
}

const BLOCKS: &str = "
    pub struct Net { blocks: [Block; 3], head: Linear(4, 2) }
    struct Block { up: Linear(4, 4) }
    impl Block { fn forward(&self, x: f32[4]) -> f32[4] { x + tanh(self.up(x)) } }
    impl Net {
        fn features(&self, x: f32[4]) -> f32[2] {
            let mut x = x;
            for block in self.blocks { x = dropout(block(x), 0.5); }
            self.head(x)
        }
        fn energy(&self, x: f32[4]) -> f32 { sum(square(self.features(x))) }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4]) -> f32 { mean(map(self.features)(x)) }
        pub fn forces(&self, x: f32[B, 4]) -> f32[B, 4] { map(grad(self.energy))(x) }
        pub fn curvature(&self, x: f32[B, 4], v: f32[4]) -> f32[B, 4] { map(|x| hvp(self.energy)(x, v))(x) }
        pub fn slopes(&self, x: f32[B, 4]) -> f32[B, 2, 4] { map(jacobian(self.features))(x) }
        pub fn of_head(&self, x: f32[4]) -> (f32[2, 4], f32[2]) {
            grad(self.energy, wrt = (self.head.weight, self.head.bias))(x)
        }
    }";

/// Numbers that all differ: the k-th is `((7·k) mod 23) / 16 − 0.7`.
fn numbers(shape: &[usize], k: &mut i64) -> Tensor {
    let count = shape.iter().product();
    let mut next = || {
        *k += 7;
        (*k % 23) as f64 / 16.0 - 0.7
    };
    Tensor::floats(shape.to_vec(), (0..count).map(|_| next()).collect())
}

fn env(model: &Model, shapes: &[&[usize]]) -> Env {
    let mut k = 0;
    let extents = |ty: precast_compiler::ir::Type| -> Vec<usize> {
        ty.shape.iter().map(|d| d.as_const().expect("constant") as usize).collect()
    };
    let params = model.params.iter().map(|p| numbers(&extents(p.stacked()), &mut k)).collect();
    let args = shapes.iter().map(|shape| numbers(shape, &mut k)).collect();
    let numbers = vec![[0.1; 8]; 8];
    Env { params, args, numbers, key: [3, 5], ..Env::default() }
}

#[test]
fn a_map_is_a_loop_over_slices_that_draw_apart() {
    let looped = model(BLOCKS);
    let env = env(&looped, &[&[3, 4]]);
    let one = |m: &Model| {
        let trained = m.functions.iter().position(|f| f.name == "loss" && !f.effects.is_empty());
        let at = trained.unwrap_or_else(|| m.functions.iter().rposition(|f| f.name == "loss").expect("a loss"));
        run(&m.functions[at], m, &env).expect("fitting arguments").results[0].clone()
    };
    let slow = one(&looped);
    let fast = resolved(looped);
    close(&one(&fast), slow.f64s());
    assert!(!fast.to_string().contains("transform"));
}

#[test]
fn derivatives_of_slices_through_blocks() {
    let m = resolved(model(BLOCKS));
    let mut env = env(&m, &[&[2, 4]]);
    let energy = |env: &Env, lane: usize| {
        let source = BLOCKS.replace("fn energy", "pub fn energy");
        let m = resolved(model(&source));
        let x = env.args[0].slice(lane);
        outputs(&m, "energy", &Env { args: vec![x], ..env.clone() }).results[0].f64s()[0]
    };
    let forces = outputs(&m, "forces", &env).results.remove(0);
    let h = 1e-5;
    for at in [0, 3, 6] {
        let (up, down) = (moved(&env, at, h), moved(&env, at, -h));
        let slope = (energy(&up, at / 4) - energy(&down, at / 4)) / (2.0 * h);
        assert!((forces.f64s()[at] - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} at {at}: {forces:?}");
    }
    let slopes = outputs(&m, "slopes", &env).results.remove(0);
    assert_eq!(slopes.shape, [2, 2, 4]);
    // The change of the forces along a direction.
    let v = vector(&[0.3, -1.0, 0.5, 2.0]);
    let along = |s: f64| {
        let mut env = env.clone();
        if let Data::Float(_, x) = &mut env.args[0].data {
            x.iter_mut().zip(v.f64s().iter().cycle()).for_each(|(x, v)| *x += s * v);
        }
        outputs(&m, "forces", &env).results.remove(0)
    };
    let (up, down) = (along(h), along(-h));
    env.args.push(v.clone());
    let curvature = outputs(&m, "curvature", &env).results.remove(0);
    for (k, product) in curvature.f64s().iter().enumerate() {
        let slope = (up.f64s()[k] - down.f64s()[k]) / (2.0 * h);
        assert!((product - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{slope} at {k}: {curvature:?}");
    }
}

fn moved(env: &Env, at: usize, by: f64) -> Env {
    let mut env = env.clone();
    if let Data::Float(_, x) = &mut env.args[0].data {
        x[at] += by;
    }
    env
}

#[test]
fn derivatives_by_parameters() {
    let source = BLOCKS.replace("fn energy", "pub fn energy");
    let m = resolved(model(&source));
    let env = env(&m, &[&[4]]);
    let found = outputs(&m, "of_head", &env).results;
    let h = 1e-5;
    for (result, name) in [(0, "head.weight"), (1, "head.bias")] {
        let id = m.params.iter().position(|p| p.name == name).expect("the parameter");
        for at in 0..2 {
            let energy = |h: f64| {
                let mut env = env.clone();
                if let Data::Float(_, x) = &mut env.params[id].data {
                    x[at] += h;
                }
                outputs(&m, "energy", &env).results[0].f64s()[0]
            };
            let slope = (energy(h) - energy(-h)) / (2.0 * h);
            let exact = found[result].f64s()[at];
            assert!((exact - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{exact} against {slope} of {name}[{at}]");
        }
    }
}

#[test]
fn a_stopped_value_is_constant() {
    let x = [scalar(0.7)];
    close(&eval("x: f32) -> f32", "grad(|x| x * stop_gradient(x))(x)", &x)[0], &[0.7]);
    close(&eval("x: f32) -> f32", "grad(|x| x * x.stop_gradient())(x)", &x)[0], &[0.7]);
    close(&eval("x: f32) -> f32", "grad(grad(|x| x * x * stop_gradient(x)))(x)", &x)[0], &[1.4]);
}

const HEAT: &str = "
    pub struct Heat { first: Linear(2, 5), last: Linear(5, 1) }
    impl Heat {
        fn u(&self, x: f32, t: f32) -> f32 { self.last(tanh(self.first(stack(x, t))))[0] }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[N], t: f32[N], x0: f32[M]) -> f32 {
            let residual = map(|x, t| {
                let (u, (u_x, u_t)) = value_and_grad(|x, t| self.u(x, t))(x, t);
                let u_xx = grad(grad(|x| self.u(x, t)))(x);
                u_t + u * u_x - 0.1 * u_xx
            })(x, t);
            mean(square(residual)) + mean(square(map(|x| self.u(x, 0.0))(x0) - sin(x0)))
        }
    }";

#[test]
fn derivatives_inside_of_a_loss_are_trained_through() {
    let m = resolved(model(HEAT));
    let env = env(&m, &[&[3], &[3], &[2]]);
    let at = m.functions.iter().position(|f| !f.effects.is_empty()).expect("a training function");
    let step = run(&m.functions[at], &m, &env).expect("fitting arguments");
    let h = 1e-5;
    for (effect, gradient) in &step.effects {
        let Effect::Gradient(id) = effect else { continue };
        for k in 0..2 {
            let loss = |h: f64| {
                let mut env = env.clone();
                if let Some(Data::Float(_, x)) = env.params.get_mut(id.0 as usize).map(|p| &mut p.data) {
                    let at = k % x.len();
                    x[at] += h;
                }
                outputs(&m, "loss", &env).results[0].f64s()[0]
            };
            let slope = (loss(h) - loss(-h)) / (2.0 * h);
            let exact = gradient.f64s()[k % gradient.data.len()];
            assert!((exact - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{exact} against {slope} of {id:?}[{k}]");
        }
    }
    // One product for all points: no loop is left.
    assert!(!m.to_string().contains("repeat"));
}

const TUNED: &str = "
    pub struct Net { body: Body, norm: LayerNorm(4), head: Linear(4, 2) }
    struct Body { up: Linear(4, 4), down: Linear(4, 4) }
    impl Body { fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { self.down(tanh(self.up(x))) } }
    impl Net {
        #[train(AdamW, only = PATHS)]
        pub fn loss(&self, x: f32[B, 4]) -> f32 { mean(square(self.head(self.norm(self.body(x))))) }
    }";

#[test]
fn frozen_parameters_have_no_gradient_and_do_not_move() {
    let whole = |paths: &str| resolved(model(&TUNED.replace("PATHS", paths)));
    let trained = |m: &Model| -> Vec<String> {
        let step = m.functions.iter().find(|f| !f.effects.is_empty()).expect("a training function");
        let gradients = step.effects.iter().filter_map(|(effect, _)| match effect {
            Effect::Gradient(id) => Some(m.param(*id).name.clone()),
            _ => None,
        });
        gradients.collect()
    };
    assert_eq!(trained(&whole("head")), ["head.weight", "head.bias"]);
    assert_eq!(trained(&whole("[head.bias, body.down]")), ["body.down.weight", "body.down.bias", "head.bias"]);
    assert_eq!(trained(&whole("[norm, self.body.up.weight]")), ["body.up.weight", "norm.weight", "norm.bias"]);

    let m = whole("head");
    let step = m.functions.iter().find(|f| !f.effects.is_empty()).expect("a training function");
    // The only derivatives are those of the head: backward there is one product for its weight.
    let products = step.graph.to_string().matches("= contract(").count();
    assert_eq!(products, 3 + 1, "{}", step.graph);
    let mut env = env(&m, &[&[3, 4]]);
    env.states = vec![vec![0.25; m.pool_len()]; 2];
    let outputs = run(step, &m, &env).expect("fitting arguments");
    for (effect, value) in &outputs.effects {
        let moves = |at: usize, before: f64| value.f64s()[at] != before;
        for (param, before) in m.params.iter().zip(&env.params) {
            let tuned = param.name.starts_with("head");
            match effect {
                Effect::Weights => assert_eq!(moves(param.offset, before.f64s()[0]), tuned, "{}", param.name),
                Effect::State(_) => assert_eq!(moves(param.offset, 0.25), tuned, "{}", param.name),
                _ => {}
            }
        }
    }
}

const CHOOSING: &str = "
    pub struct Net { blocks: [Linear(3, 3); 2] }
    impl Net {
        fn piece(&self, x: f32[3], n: u32) -> f32[3] {
            let mut y = x;
            for layer in self.blocks {
                y = match n { 0 => tanh(layer(y)), 1 => y * y, _ => dropout(y + x, 0.5) };
            }
            y
        }
        #[train(Sgd)]
        pub fn each(&self, x: f32[B, 3], n: u32[B]) -> f32 { mean(square(map(self.piece)(x, n))) }
        #[train(Sgd)]
        pub fn same(&self, x: f32[B, 3], n: u32) -> f32 { mean(square(map(|x| self.piece(x, n))(x))) }
    }";

#[test]
fn slices_choose_their_branches() {
    let looped = model(CHOOSING);
    let of = |m: &Model, name: &str| {
        m.functions.iter().rposition(|f| f.name == name).expect("the training function, which comes last")
    };
    let fast = resolved(looped.clone());
    let choices = |n: Vec<u32>| if n.len() == 1 { Tensor::words([], n) } else { Tensor::words([4], n) };
    for (name, n) in [("each", vec![2, 0, 1, 7]), ("same", vec![0]), ("same", vec![2])] {
        let mut env = env(&looped, &[&[4, 3]]);
        env.args.push(choices(n));
        let slow = run(&looped.functions[of(&looped, name)], &looped, &env).expect("fitting arguments");
        let step = run(&fast.functions[of(&fast, name)], &fast, &env).expect("fitting arguments");
        close(&step.results[0], slow.results[0].f64s());
        let gradient = step.effects.iter().find(|(effect, _)| matches!(effect, Effect::Gradient(_)));
        let gradient = gradient.expect("a gradient").1.f64s()[1];
        let loss = |h: f64| {
            let mut env = env.clone();
            if let Data::Float(_, w) = &mut env.params[0].data {
                w[1] += h;
            }
            run(&looped.functions[of(&looped, name)], &looped, &env).expect("fitting").results[0].f64s()[0]
        };
        let slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
        assert!((gradient - slope).abs() < 1e-7 * (1.0 + slope.abs()), "{gradient} against {slope} of {name}");
    }
}

const RECURRENT: &str = "
    pub struct Net { state last: f32[4], cell: Linear(4, 4) }
    impl Net {
        fn next(&self, h: f32[4], x: f32[4]) -> f32[4] { tanh(self.cell(h) + x) }
        /// A loop inside of a map, and a derivative inside of a loop.
        pub fn rolled(&self, x: f32[B, 5, 4]) -> (f32[B, 5, 4], f32[B, 4]) {
            let all = map(|x| scan(x, axis = 0, from = zeros([4]), |h, x| { let h = self.next(h, x); (h, h) }))(x);
            let last = map(|x| fold(x, axis = 0, from = zeros([4]), |h, x| {
                h + grad(|h| sum(self.next(h, x)))(h)
            }))(x);
            (all, last)
        }
        /// A derivative through a loop.
        pub fn slopes(&self, x: f32[B, 5, 4]) -> f32[B, 5, 4] {
            map(grad(|x| sum(square(fold(x, axis = 0, from = zeros([4]), |h, x| self.next(h, x))))))(x)
        }
        pub fn slope(&mut self, x: f32[4]) -> f32[4] {
            let slope = grad(|x| sum(self.next(self.last, x)))(x);
            self.last = x;
            slope
        }
    }";

#[test]
fn maps_and_loops_nest() {
    let m = resolved(model(RECURRENT));
    let env = env(&m, &[&[2, 5, 4]]);
    let (rolled, slopes) = (outputs(&m, "rolled", &env).results, outputs(&m, "slopes", &env).results.remove(0));
    let cell = |h: &[f64], x: &[f64]| -> Vec<f64> {
        let (w, b) = (env.params[0].f64s(), env.params[1].f64s());
        (0..4).map(|i| ((0..4).map(|j| w[4 * i + j] * h[j]).sum::<f64>() + b[i] + x[i]).tanh()).collect()
    };
    for lane in 0..2 {
        let at = |t: usize| &env.args[0].f64s()[20 * lane + 4 * t..][..4];
        let (mut h, mut sum) = (vec![0.0; 4], vec![0.0; 4]);
        for t in 0..5 {
            h = cell(&h, at(t));
            let next = cell(&sum, at(t));
            let slope =
                |j: usize| (0..4).map(|i| (1.0 - next[i] * next[i]) * env.params[0].f64s()[4 * i + j]).sum::<f64>();
            sum = (0..4).map(|j| sum[j] + slope(j)).collect();
            for (found, wanted) in rolled[0].f64s()[20 * lane + 4 * t..].iter().zip(&h) {
                assert!((found - wanted).abs() < 1e-9, "{found} against {wanted}");
            }
        }
        for (found, wanted) in rolled[1].f64s()[4 * lane..].iter().zip(&sum) {
            assert!((found - wanted).abs() < 1e-9, "{found} against {wanted}");
        }
    }
    let energy = |env: &Env| -> f64 {
        let mut h = vec![0.0; 4];
        (0..5).for_each(|t| h = cell(&h, &env.args[0].f64s()[4 * t..][..4]));
        h.iter().map(|h| h * h).sum()
    };
    for at in [0, 7, 19] {
        let slope = (energy(&moved(&env, at, 1e-5)) - energy(&moved(&env, at, -1e-5))) / 2e-5;
        assert!((slopes.f64s()[at] - slope).abs() < 1e-7, "{} against {slope}", slopes.f64s()[at]);
    }
}

/// Plans against the oracle on their interpreter; with the feature `gpu` all WGSL is validated.
#[test]
fn kernels_compute_what_the_oracle_says() {
    let tuned = TUNED.replace("PATHS", "[head.weight, body.up]");
    for (what, source) in
        [("blocks", BLOCKS), ("heat", HEAT), ("choosing", CHOOSING), ("recurrent", RECURRENT), ("tuned", &tuned)]
    {
        let mut diags = Diags::default();
        let mut models = parse(source.parse().unwrap(), &mut diags);
        shape(&mut models, &mut diags);
        // The interpreter of plans starts no session.
        models[0].functions.retain(|f| !f.in_session);
        let compiled = lower(models.remove(0));
        judge::check_memory(what, &compiled, &mut Numbers::new(3));
        for n in [1, 4] {
            judge::judge(what, &compiled, &[("B", n), ("N", n), ("M", n + 1)], &judge::plain);
        }
        let text: proc_macro2::TokenStream = source.parse().unwrap();
        let emitted = compile(quote::quote!((::precast) #text), 0, &mut Dumps::default()).to_string();
        assert!(!emitted.contains("compile_error"), "{what}");
    }
}

#[test]
fn alignments_that_cannot_be_are_infinite_and_have_no_gradient() {
    let given = |labels: [u32; 2], input: u32, target: u32| {
        let lengths = [vec![input], vec![target]].map(|length| Tensor::words([1], length));
        let log_probs = Tensor::floats([2, 1, 3], (0..6).map(f64::from).collect());
        [&[log_probs, Tensor::words([1, 2], labels.to_vec())][..], &lengths[..]].concat()
    };
    let signature = "x: f32[T, B, 3], y: u32[B, 2], i: u32[B], t: u32[B]) -> (f32, f32[T, B, 3])";
    let both = |args: Vec<Tensor>| {
        let found = eval(signature, "value_and_grad(|x| ctc_loss(x, y, i, t))(x)", &args);
        (found[0].f64s()[0], found[1].f64s().to_vec())
    };
    assert_eq!(both(given([1, 2], 2, 2)), (-3.0, vec![0.0, -0.5, 0.0, 0.0, 0.0, -0.5]));
    assert_eq!(both(given([9, 9], 0, 0)), (0.0, vec![0.0; 6]));
    // Equal labels have a blank between them.
    for impossible in [given([1, 1], 2, 2), given([1, 2], 1, 2), given([1, 2], 0, 1)] {
        assert_eq!(both(impossible), (f64::INFINITY, vec![0.0; 6]));
    }
    for wrong in [given([1, 3], 2, 2), given([1, 2], 3, 2), given([1, 2], 2, 3)] {
        assert!(both(wrong).0.is_nan());
    }
}
