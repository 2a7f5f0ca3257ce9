//! Foreign calls through all stages: plans against the oracle, in branches and loops too, and gradients by the declared
//! functions.

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

use judge::{check_memory, compile, judge_calling, plain};
use precast_compiler::ir::Model;
use precast_compiler::ir::model::Effect;
use precast_compiler::oracle::{Env, Foreigns, Tensor, run};
use precast_compiler::pipeline;
use std::cell::Cell;
use std::rc::Rc;
use support::Numbers;

/// `mix(a, b) = a · b`, whose derivatives need both arguments, and `twice(x) = 2 x`.
const TEXT: &str = "
    extern fn mix(a: f32[N, D], k: u32, b: f32[N, D]) -> f32[N, D]
        with grad(result: f32[N, D], b: f32[N, D], a: f32[N, D], pull: f32[N, D]) -> (f32[N, D], f32[N, D]);
    extern fn twice(x: f32[N]) -> f32[N] with grad(y: f32[N]) -> f32[N];

    struct Block(dim) { up: Linear(dim, dim) }
    impl Block {
        fn forward(&self, x: f32[B, dim], n: u32) -> f32[B, dim] {
            let y = tanh(self.up(x));
            if mean(y) > 0.0 { mix(x, n, y) } else { x + y }
        }
    }

    pub struct Net { blocks: [Block(4); 3], gain: Parameter(4, init = \"ones\") }
    impl Net {
        pub fn same(&self, x: f32[B, 4], n: u32) -> (f32[B, 4], f32[B, 4]) {
            let y = mix(x, n, x);
            (y, mix(x, n + 1, y) * self.gain)
        }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4], n: u32) -> f32 {
            let mut y = x;
            for block in self.blocks { y = block.forward(y, n); }
            let gain = twice(self.gain);
            if n > 1 { y = y * gain; }
            mean(y * twice(sum(y, axis = 0)))
        }
    }
";

fn product(a: &Tensor, b: &Tensor) -> Tensor {
    Tensor::floats(a.shape.clone(), a.f64s().iter().zip(b.f64s()).map(|(a, b)| a * b).collect())
}

fn foreign() -> Foreigns {
    let twice = |args: &[&Tensor]| {
        vec![Tensor::floats(args[0].shape.clone(), args[0].f64s().iter().map(|x| 2.0 * x).collect())]
    };
    Foreigns(vec![
        Rc::new(|args| vec![product(args[0], args[2])]),
        Rc::new(|args| vec![product(args[1], args[3]), product(args[2], args[3])]),
        Rc::new(twice),
        Rc::new(twice),
    ])
}

#[test]
fn plans_compute_what_the_oracle_says() {
    let mut numbers = Numbers::new(2);
    for compiled in compile(TEXT) {
        check_memory("foreign", &compiled, &mut numbers);
        for extent in [1, 3, 17] {
            judge_calling("foreign", &compiled, &[("B", extent)], &plain, &foreign());
        }
    }
}

/// A text without foreign functions that means the same.
fn written_out() -> String {
    let (_, rest) = TEXT.split_once("struct Block").unwrap();
    let own = "fn mix(a: f32[N, D], k: u32, b: f32[N, D]) -> f32[N, D] { a * b }
        fn twice(x: f32[N]) -> f32[N] { x * 2.0 }
        struct Block";
    own.to_owned() + rest
}

/// The gradients of the third function's parameters, as the oracle computes them.
fn gradients(model: &Model, n: u32, foreign: &Foreigns) -> Vec<Tensor> {
    let mut numbers = Numbers::new(5);
    let function = &model.functions[2];
    let mut tensor = |shape: &[usize]| {
        Tensor::floats(shape.to_vec(), (0..shape.iter().product()).map(|_| numbers.float()).collect())
    };
    let params = model.params.iter().map(|p| {
        let shape: Vec<usize> = p.stacked().shape.iter().map(|d| d.as_const().unwrap() as usize).collect();
        tensor(&shape)
    });
    let params = params.collect();
    let args = vec![tensor(&[5, 4]), Tensor::words([], vec![n])];
    let numbers = vec![[0.1; 8]; 16];
    let env = Env { args, params, numbers, foreign: foreign.clone(), ..Env::default() };
    let outputs = run(function, model, &env).unwrap();
    let effects = outputs.effects.into_iter().filter(|(e, _)| matches!(e, Effect::Gradient(_)));
    effects.map(|(_, tensor)| tensor).collect()
}

#[test]
fn gradients_are_those_of_the_same_function_in_the_language() {
    let (called, written) = (compile(TEXT).remove(0), compile(&written_out()).remove(0));
    for n in 0..3 {
        let all = |model| gradients(model, n, &foreign());
        let pairs: Vec<_> = all(&called.model).into_iter().zip(all(&written.model)).collect();
        assert_eq!(pairs.len(), 3);
        for (a, b) in pairs {
            judge::same(&a, &b).unwrap();
        }
    }
}

/// The same with gradients in the language: one that calls a foreign function, one with a loop over numbers.
fn with_gradients_in_the_language() -> (String, Foreigns) {
    let (_, rest) = TEXT.split_once("struct Block").unwrap();
    let head = "
        extern fn mix(a: f32[N, D], k: u32, b: f32[N, D]) -> f32[N, D] with grad = mix_grad;
        fn mix_grad(b: f32[N, D], result: f32[N, D], pull: f32[N, D], a: f32[N, D]) -> (f32[N, D], f32[N, D]) {
            let mut by_b = a * pull;
            for k in 0..2 { by_b = by_b + (result - a * b) * k; }
            (mul(b, pull), by_b)
        }
        extern fn twice(x: f32[N]) -> f32[N] with grad = twice_grad;
        fn twice_grad(y: f32[N]) -> f32[N] { stop_gradient(twice(y)) }
        struct Block";
    let Foreigns(mut functions) = foreign();
    let functions = vec![functions.remove(0), functions.remove(1)];
    (head.to_owned() + rest, Foreigns(functions))
}

#[test]
fn a_gradient_in_the_language_is_differentiated_like_one() {
    let (text, functions) = with_gradients_in_the_language();
    let (called, written) = (compile(&text).remove(0), compile(&written_out()).remove(0));
    for (a, b) in gradients(&called.model, 2, &functions).into_iter().zip(gradients(&written.model, 2, &foreign())) {
        judge::same(&a, &b).unwrap();
    }
    let mut numbers = Numbers::new(2);
    check_memory("in the language", &called, &mut numbers);
    for extent in [1, 3, 17] {
        judge_calling("in the language", &called, &[("B", extent)], &plain, &functions);
    }
    let plans = called.plans.to_string();
    assert!(plans.contains("foreign function=1") && !plans.contains("foreign function=2"), "{plans}");
}

#[test]
fn derivatives_go_through_gradients_in_the_language() {
    let program = |declared: &str| {
        format!(
            "{declared}
            fn cube_grad(pull: f32[N], x: f32[N]) -> f32[N] {{ pull * x * x * 3.0 }}
            struct Block(dim) {{ up: Linear(dim, dim) }}
            impl Block {{ fn forward(&self, x: f32[dim]) -> f32[dim] {{ cube(tanh(self.up(x))) + x }} }}
            pub struct Net {{ blocks: [Block(4); 2] }}
            impl Net {{
                fn deep(&self, x: f32[4]) -> f32[4] {{ let mut y = x; for block in self.blocks {{ y = block(y); }} y }}
                pub fn first(&self, x: f32[4]) -> (f32, f32[4]) {{ value_and_grad(|x| mean(self.deep(x)))(x) }}
                pub fn second(&self, x: f32[4], v: f32[4]) -> f32[4] {{ hvp(|x| mean(self.deep(x)))(x, v) }}
                pub fn pushed(&self, x: f32[4], v: f32[4]) -> (f32[4], f32[4]) {{ jvp(self.deep)(x, v) }}
                pub fn pulled(&self, x: f32[4], v: f32[4]) -> (f32[4], f32[4]) {{ vjp(self.deep)(x, v) }}
                pub fn unused(&self, x: f32[4]) -> f32[4] {{ cube_grad(x, x) }}
            }}"
        )
    };
    let called = compile(&program("extern fn cube(x: f32[N]) -> f32[N] with grad = cube_grad;")).remove(0);
    let written = compile(&program("fn cube(x: f32[N]) -> f32[N] { x * x * x }")).remove(0);
    let cube = |args: &[&Tensor]| {
        vec![Tensor::floats(args[0].shape.clone(), args[0].f64s().iter().map(|x| x * x * x).collect())]
    };
    let foreign = Foreigns(vec![Rc::new(cube)]);
    for (at, function) in called.model.functions.iter().enumerate() {
        let mut numbers = Numbers::new(7);
        let mut tensor = |count: usize| Tensor::floats(vec![count], (0..count).map(|_| numbers.float()).collect());
        let params = vec![
            Tensor::floats(vec![2, 4, 4], tensor(32).f64s().to_vec()),
            Tensor::floats(vec![2, 4], tensor(8).f64s().to_vec()),
        ];
        let args = function.args.iter().map(|_| tensor(4)).collect();
        let env = Env { args, params, foreign: foreign.clone(), ..Env::default() };
        let found = run(function, &called.model, &env).unwrap().results;
        let wanted = run(&written.model.functions[at], &written.model, &env).unwrap().results;
        assert_eq!(found.len(), wanted.len());
        found.iter().zip(&wanted).for_each(|(a, b)| judge::same(a, b).unwrap());
    }
    judge_calling("derived", &called, &[], &plain, &foreign);
}

#[test]
fn one_foreign_function_is_the_gradient_of_another() {
    let text = "
        extern fn twice(x: f32[N]) -> f32[N] with grad = doubled;
        extern fn mix(a: f32[N]) -> f32[N];
        extern fn doubled(cotangent: f32[N]) -> f32[N] with grad = twice;
        pub struct Net { gain: Parameter(4, init = \"ones\") }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[4]) -> f32 { mean(twice(x * self.gain) + stop_gradient(mix(x))) }
        }
    ";
    let compiled = compile(text).remove(0);
    let plans = compiled.plans.to_string();
    let calls = [0, 1, 2].map(|k| plans.matches(&format!("foreign function={k} ")).count());
    assert_eq!(calls, [2, 2, 1], "evaluated and trained, and the gradient only trained: {plans}");
}

#[test]
fn what_is_recomputed_calls_nothing_again() {
    let remat = TEXT.replace("fn forward", "#[remat] fn forward");
    let compiled = compile(&remat).remove(0);
    for extent in [1, 17] {
        judge_calling("recomputed", &compiled, &[("B", extent)], &plain, &foreign());
    }
    let calls = Rc::new(Cell::new(0));
    let counted = Rc::clone(&calls);
    let mut functions = foreign();
    functions.0[0] = Rc::new(move |args| {
        counted.set(counted.get() + 1);
        vec![product(args[0], args[2])]
    });
    let model = &compiled.model;
    let ones = |shape: &[usize]| Tensor::floats(shape.to_vec(), vec![1.0; shape.iter().product()]);
    let params = vec![ones(&[3, 4, 4]), ones(&[3, 4]), ones(&[4])];
    let args = vec![ones(&[5, 4]), Tensor::words([], vec![2])];
    let env = Env { args, params, numbers: vec![[0.1; 8]; 16], foreign: functions, ..Env::default() };
    run(&model.functions[2], model, &env).unwrap();
    assert_eq!(calls.get(), 3, "one call for each block");
}

#[test]
fn a_call_whose_result_nothing_needs_is_not_made() {
    let text = "
        extern fn log(x: f32[N]) -> f32[N];
        pub struct Net { gain: Parameter(4, init = \"ones\") }
        impl Net {
            pub fn out(&self, x: f32[4]) -> (f32[4], f32[4]) { let y = log(x); (log(x) * self.gain, log(x)) }
        }
    ";
    let (models, diags) = pipeline::check(text.parse().unwrap());
    assert!(diags.is_empty());
    let plans = pipeline::lower(models.into_iter().next().unwrap()).plans.to_string();
    assert_eq!(plans.matches("foreign function=0").count(), 2, "{plans}");
}
