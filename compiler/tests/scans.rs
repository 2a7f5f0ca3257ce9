//! Scans: what a closure over time means, that its gradients are right, and that plans of any number of steps
//! compute what the graphs say.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and share public modules"
)]

#[path = "support/judge.rs"]
mod judge;
mod support;

use judge::{check_memory, compile, judge, plain};
use precast_compiler::ir::graph::GROUPS;
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::{Dim, Mode, Model};
use precast_compiler::oracle::{Data, Env, Tensor, run};
use precast_compiler::pipeline::{Compiled, check};
use precast_compiler::stages::expand::expand;
use support::Numbers;

const LSTM: &str = "
    pub struct Net(input = 3, hidden = 4) { cell: Lstm(input, hidden), head: Linear(hidden, 2) }
    struct Lstm(input, hidden) { from_input: Linear(input, 4 * hidden), from_state: Linear(hidden, 4 * hidden) }
    impl Lstm {
        fn cell(&self, (h, c): (f32[B, hidden], f32[B, hidden]), x: f32[B, input]) -> (f32[B, hidden], f32[B, hidden]) {
            let (i, f, g, o) = split(self.from_input(x) + self.from_state(h), 4);
            let c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            (sigmoid(o) * tanh(c), c)
        }
        fn forward(&self, x: f32[B, T, input]) -> f32[B, T, hidden] {
            scan(x, axis = 1, from = (zeros, zeros), |state, x| { let state = self.cell(state, x); (state, state.0) })
        }
    }
    impl Net {
        pub fn outputs(&self, x: f32[B, T, input]) -> f32[B, T, 2] { self.head(self.cell(x)) }
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, T, input], y: f32[B, T, 2]) -> f32 { mse_loss(self.outputs(x), y) }
    }
";

/// The results of the only function of a program in which it is the body of `f`.
fn eval(signature: &str, body: &str, args: Vec<Tensor>) -> Vec<Tensor> {
    let text = format!("pub struct M {{}} impl M {{ pub fn f(&self, {signature} {{ {body} }} }}");
    let compiled = compile(&text).remove(0);
    let env = Env { args, ..Env::default() };
    run(&compiled.model.functions[0], &compiled.model, &env).unwrap().results
}

fn count(shape: &[usize]) -> Tensor {
    Tensor::floats(shape, (0..shape.iter().product::<usize>()).map(|x| x as f64).collect())
}

#[test]
fn a_scan_gives_what_each_step_gives() {
    let x = || vec![count(&[2, 3])];
    let sums = "scan(x, axis = 1, from = zeros, |sum, x| (sum + x, sum + x))";
    assert_eq!(eval("x: f32[B, T]) -> f32[B, T]", sums, x())[0].f64s(), [0.0, 1.0, 3.0, 3.0, 7.0, 12.0]);
    let last = "scan(x, axis = -1, reverse = true, from = zeros, |sum, x| { let sum = sum + x; (sum, sum) })";
    assert_eq!(eval("x: f32[B, T]) -> f32[B, T]", last, x())[0].f64s(), [3.0, 3.0, 2.0, 12.0, 9.0, 5.0]);
    let rows = "scan(x, from = zeros([3]), |sum, x| (sum + x, sum))";
    assert_eq!(eval("x: f32[B, 3]) -> f32[B, 3]", rows, x())[0].f64s(), [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
}

#[test]
fn a_fold_gives_the_last_state() {
    let body = "fold((x, y), axis = 1, from = (zeros, 1.0), |(sum, n), (x, y)| (sum + x * y, n * 2))";
    let results = eval("x: f32[B, T], y: f32[B, T]) -> (f32[B], f32)", body, vec![count(&[2, 3]), count(&[2, 3])]);
    assert_eq!(results[0].f64s(), [5.0, 50.0]);
    assert_eq!(results[1].f64s(), [8.0]);
}

#[test]
fn a_scan_gives_its_last_state_where_that_is_asked_for() {
    let body = "let ((ys, means), (sum, _)) = scan_with_state(x, axis = 1, from = (zeros, zeros), |(s, old), x| {
        let s = s + x;
        ((s, x), (s + old, mean(x)))
    }); (ys, means, sum)";
    let results = eval("x: f32[B, T]) -> (f32[B, T], f32[T], f32[B])", body, vec![count(&[2, 3])]);
    assert_eq!(results[0].f64s(), [0.0, 1.0, 4.0, 3.0, 10.0, 16.0]);
    assert_eq!(results[1].f64s(), [1.5, 2.5, 3.5]);
    assert_eq!(results[2].f64s(), [3.0, 12.0]);
}

#[test]
fn zeros_take_their_type_from_what_a_step_gives() {
    let most = "scan(x, axis = 1, from = zeros, |most, x| { let most = where(x > most, x, most); (most, most) })";
    let x = Tensor::floats([1, 4], vec![-1.0, 2.0, 1.0, 3.0]);
    assert_eq!(eval("x: f32[B, T]) -> f32[B, T]", most, vec![x])[0].f64s(), [0.0, 2.0, 2.0, 3.0]);
    let words = "fold(x, from = zeros, |n, x| n + x)";
    assert_eq!(eval("x: u32[T]) -> u32", words, vec![Tensor::words([3], vec![1, 2, 5])])[0].u32s(), [8]);
}

#[test]
fn scans_nest_and_capture() {
    // A running sum over rows of running sums along each row, times a captured number.
    let body = "scan(x, from = zeros, |above, row| {
        let along = scan((row, above), from = zeros, |sum, (x, a)| (sum + x, (sum + x) * k + 0 * a));
        (above + along, above + along)
    })";
    let results = eval("x: f32[R, C], k: f32) -> f32[R, C]", body, vec![count(&[2, 3]), Tensor::floats([], vec![2.0])]);
    // The rows are 0 1 2 and 3 4 5; their running sums 0 1 3 and 3 7 12, times 2.
    assert_eq!(results[0].f64s(), [0.0, 2.0, 6.0, 6.0, 16.0, 30.0]);
}

fn lstm() -> Compiled {
    compile(LSTM).remove(0)
}

#[test]
fn one_lstm_runs_any_number_of_steps() {
    let compiled = lstm();
    check_memory("lstm", &compiled, &mut Numbers::new(1));
    for (b, t) in [(1, 1), (2, 2), (3, 1), (2, 37)] {
        judge("lstm", &compiled, &[("B", b), ("T", t)], &plain);
    }
    judge("lstm", &compiled, &[("B", 1), ("T", 1000)], &plain);
}

#[test]
fn a_step_is_a_product_and_a_row() {
    let compiled = lstm();
    let text = compiled.plans.to_string();
    let start = text.find("loop ").unwrap();
    let body = &text[start..start + text[start..].find("\n  }").unwrap()];
    // One product, and one row kernel that also writes the next state: nothing is copied, and the product with the elements
    // is made for all of them before.
    assert_eq!(body.matches("launch").count(), 2, "{body}");
}

#[test]
fn its_gradients_are_right() {
    for steps in [1, 2, 7] {
        gradients_agree(LSTM, steps);
    }
}

#[test]
fn gradients_of_what_every_step_reads_are_summed_after_the_loop() {
    // Columns that are no fours, which no workgroup of a GPU has for all turns.
    let cell = |body: &str| {
        let scale = if body.contains("scale") { ", scale: Parameter([22])" } else { "" };
        format!(
            "pub struct Net {{ from_input: Linear(3, 22), from_state: Linear(22, 22){scale} }}
            impl Net {{
                #[train(Adam)]
                pub fn loss(&self, x: f32[2, T, 3], y: f32[2, 22]) -> f32 {{
                    let h = fold(x, axis = 1, from = zeros, |h, x| {body});
                    mse_loss(h, y)
                }}
            }}"
        )
    };
    // Weights that are as large as what a step computes; weights in slices; gradients that a step makes in no one sum.
    for body in [
        "tanh(self.from_input(x) + self.from_state(h))",
        "{ let s = matmul(h, transpose(self.from_state.weight[0..11, ..])); tanh(self.from_input(x) + concat(s, -s, axis = 1)) }",
        "tanh(self.from_input(x) + self.from_state(h) * self.scale)",
    ] {
        gradients_agree(&cell(body), 5);
    }
    let text = compile(&cell("tanh(self.from_input(x) + self.from_state(h))")).remove(0).plans.to_string();
    let start = text.find("reverse=true {").unwrap();
    let body = &text[start..start + text[start..].find("\n  }").unwrap()];
    assert_eq!(body.matches("launch").count(), 2, "{body}");
}

/// Compares the gradients of the training function with finite differences of its loss.
fn gradients_agree(text: &str, steps: i64) {
    let (mut models, diags) = check(text.parse().unwrap());
    assert!(diags.is_empty(), "{:?}", diags.list());
    let compiled = compile(text).remove(0);
    let simple = expand(models.remove(0));
    let at = simple.functions.iter().position(|f| matches!(f.mode, Mode::Train(_))).unwrap();
    let dims = [("B", 2), ("T", steps)];
    let mut numbers = Numbers::new(3);
    let mut random = |shape: &[Dim]| {
        let extent = |d: &Dim| d.eval(&|name| dims.iter().find(|(n, _)| *n == name).map(|(_, x)| *x)).unwrap() as usize;
        let shape: Vec<usize> = shape.iter().map(extent).collect();
        let count = shape.iter().product();
        Tensor::floats(shape, (0..count).map(|_| numbers.float()).collect())
    };
    let env = Env {
        args: simple.functions[at].args.iter().map(|a| random(&a.ty.shape)).collect(),
        params: simple.params.iter().map(|p| random(&p.stacked().shape)).collect(),
        numbers: vec![[0.0; GROUPS]; 16],
        ..Env::default()
    };
    let loss = |model: &Model, env: &Env| run(&model.functions[at], model, env).unwrap();
    let outputs = loss(&compiled.model, &env);
    for (effect, gradient) in &outputs.effects {
        let Effect::Gradient(id) = effect else { continue };
        let stride = gradient.data.len() / 8 + 1;
        for (i, &exact) in gradient.f64s().iter().enumerate().step_by(stride) {
            let moved = |h: f64| {
                let mut env = env.clone();
                match &mut env.params[id.0 as usize].data {
                    Data::Float(_, x) => x[i] += h,
                    _ => panic!("parameters are floats"),
                }
                loss(&simple, &env).results[0].f64s()[0]
            };
            let h = 1e-5;
            let estimate = (moved(h) - moved(-h)) / (2.0 * h);
            let name = &simple.param(*id).name;
            assert!((exact - estimate).abs() < 1e-6 * (1.0 + exact.abs()), "{name}[{i}]: {exact} against {estimate}");
        }
    }
}
