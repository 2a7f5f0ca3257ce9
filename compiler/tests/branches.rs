//! Branches: every case of `if` and `match` through all stages, values and plans against the oracle, gradients against
//! finite differences, and only the case that is taken has run.

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

use judge::{check_memory, compile, judge, tensor};
use precast_compiler::ir::graph::GROUPS;
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::prim::MapOp;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{Branch, DType, Graph, Kind, Mode, Model, Type, Value};
use precast_compiler::ops::{Builder, OpError, optimizer_of};
use precast_compiler::oracle::{Data, Env, Tensor, run};
use precast_compiler::pipeline;
use precast_compiler::stages::{expand::expand, grad::grad};
use proc_macro2::Span;
use support::{BATCH, Fill, Numbers, builder, check, dims, random};

/// Every case is taken by one of the numbers 0 to 4, or by a truth value.
const CHOICES: &str = "
    pub struct Net { gain: Parameter(4, init = \"ones\"), hidden: Linear(4, 4), output: Linear(4, 3) }

    impl Net {
        pub fn flagged(&self, x: f32[B, 4], flag: bool) -> f32[B, 4] {
            if flag { relu(self.hidden(x)) } else { x * self.gain }
        }

        pub fn chained(&self, x: f32[B, 4], n: u32) -> (f32[B, 4], f32) {
            let mut scale = 1;
            let y = if n == 0 {
                tanh(self.hidden(x))
            } else if n < 3 {
                scale = mean(x);
                x
            } else {
                scale = 0.5;
                self.hidden(tanh(self.hidden(x)))
            };
            (y * scale, scale)
        }

        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 4], n: u32) -> f32 {
            let mut y = x * self.gain;
            let (a, b) = match n {
                0 => (tanh(self.hidden(y)), y),
                1 | 2 => {
                    y = sigmoid(self.hidden(x));
                    (self.hidden(tanh(self.hidden(y))), exp(y))
                }
                _ => (y, y * y),
            };
            if n > 1 { y = y * softmax(self.hidden(y)); }
            mean(square(self.output(a * b + y)))
        }
    }
";

/// Branches in loops, loops in branches, branches in branches; the selectors are computed.
const NESTED: &str = "
    struct Gate(dim) { norm: LayerNorm(dim), up: Linear(dim, dim), down: Linear(dim, dim) }

    impl Gate {
        fn forward(&self, x: f32[B, dim], n: u32) -> f32[B, dim] {
            let y = self.up(self.norm(x));
            if mean(y) > 0.0 {
                if n > 2 { x + tanh(self.down(tanh(y))) } else { x - sigmoid(y) }
            } else {
                x * sigmoid(self.down(y))
            }
        }
    }

    pub struct Net { blocks: [Gate(4); 3], output: Linear(4, 2) }

    impl Net {
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4], n: u32) -> f32 {
            let mut y = x;
            match n {
                0 => {}
                1 => { for block in self.blocks { y = block.forward(y, n); } }
                _ => {
                    for block in self.blocks { y = tanh(block.forward(y, n + 1)); }
                    y = y + x;
                }
            }
            for block in self.blocks { y = block.forward(y, n); }
            mean(square(self.output(y)))
        }
    }
";

/// Fills the scalar integers and truth values with a number.
fn chosen(number: f64) -> impl Fn(usize, &Type, usize, &mut Numbers) -> Option<Vec<f64>> {
    move |_, ty, _, _| match (ty.rank(), ty.dtype) {
        (0, DType::U32 | DType::I32) => Some(vec![number]),
        (0, DType::Bool) => Some(vec![f64::from(u8::from(number > 1.0))]),
        _ => None,
    }
}

fn judged(what: &str, text: &str) {
    let mut numbers = Numbers::new(2);
    for compiled in compile(text) {
        check_memory(what, &compiled, &mut numbers);
        for extent in [1, 3, 17] {
            for number in 0..5 {
                judge(what, &compiled, &[("B", extent)], &chosen(f64::from(number)));
            }
        }
    }
}

#[test]
fn plans_of_choices_compute_what_the_oracle_says() {
    judged("choices", CHOICES);
}

#[test]
fn plans_of_nested_branches_compute_what_the_oracle_says() {
    judged("nested", NESTED);
}

fn sound(model: &Model, after: After) {
    let text = model.to_string();
    verify(model, after).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let parsed: Model = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(parsed.to_string(), text);
}

/// Compares the gradients of the training function with finite differences of its loss.
fn gradients_agree(text: &str, number: u32) {
    let (mut models, diags) = pipeline::check(text.parse().unwrap());
    assert!(diags.is_empty(), "{}", diags.to_compile_errors());
    let model = models.remove(0);
    sound(&model, After::Shape);
    let plain = expand(model);
    sound(&plain, After::Expand);
    let complete = grad(plain.clone(), optimizer_of);
    sound(&complete, After::Grad);
    let at = plain.functions.iter().position(|f| matches!(f.mode, Mode::Train(_))).unwrap();
    let mut numbers = Numbers::new(3);
    let mut fill = |ty: &Type| match ty.dtype {
        DType::U32 => tensor(DType::U32, vec![], vec![f64::from(number)]),
        _ => random(&ty.shape, Fill::Any, &mut numbers),
    };
    let env = Env {
        args: plain.functions[at].args.iter().map(|a| fill(&a.ty)).collect(),
        params: plain.params.iter().map(|p| fill(&p.stacked())).collect(),
        key: [1, 2],
        numbers: vec![[0.0; GROUPS]; 16],
        ..Env::default()
    };
    let outputs = run(&complete.functions[at], &complete, &env).unwrap();
    let value = |env: &Env| run(&plain.functions[at], &plain, env).unwrap().results[0].f64s()[0];
    assert_eq!(outputs.results[0].f64s()[0], value(&env));
    for (effect, gradient) in &outputs.effects {
        let Effect::Gradient(id) = effect else { continue };
        for (i, &exact) in gradient.f64s().iter().enumerate() {
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
            let close = (exact - estimate).abs() < 1e-6 * (1.0 + exact.abs());
            assert!(close, "n = {number}: {name}[{i}]: {exact} against {estimate}");
        }
    }
}

#[test]
fn gradients_of_every_choice_are_finite_differences() {
    (0..5).for_each(|n| gradients_agree(CHOICES, n));
}

#[test]
fn gradients_of_nested_branches_are_finite_differences() {
    (0..4).for_each(|n| gradients_agree(NESTED, n));
}

type CaseOf<'f> = &'f dyn Fn(&mut Builder<'_>, &[Value]) -> Result<Vec<Value>, OpError>;

/// A branch over cases that all see `inputs`.
fn branch(b: &mut Builder<'_>, selector: Value, inputs: &[Value], cases: &[CaseOf<'_>]) -> Result<Vec<Value>, OpError> {
    let mut graphs = vec![];
    for case in cases {
        let mut graph = Graph::default();
        let input =
            |(k, v): (usize, &Value)| graph.push(Kind::Input(k), vec![], Some(b.ty(*v).clone()), Span::call_site());
        let nodes: Vec<Value> = inputs.iter().enumerate().map(input).collect();
        graph.outputs = case(&mut builder(&mut graph, &mut 0), &nodes)?;
        graphs.push(graph);
    }
    let args = [&[selector], inputs].concat();
    Ok(b.graph.branch(Branch { cases: graphs }, args, Span::call_site()))
}

#[test]
fn gradients_of_gradients() {
    for number in 0..3u32 {
        let inputs = [(dims(&["B", "3"]), Fill::Any), (dims(&["3", "3"]), Fill::Any)];
        check(&format!("case {number}"), &inputs, 2, &|b, v| {
            let selector = b.u32(number)?;
            let product: CaseOf<'_> = &|b, v| {
                let h = b.contract("bk,nk->bn", v[0], v[1])?;
                let t = b.unary(MapOp::Tanh, h)?;
                let g = b.contract("bk,nk->bn", t, v[1])?;
                Ok(vec![b.mul(g, h)?, t])
            };
            let cubes: CaseOf<'_> = &|b, v| {
                let square = b.mul(v[0], v[0])?;
                Ok(vec![b.mul(square, v[0])?, v[0]])
            };
            let waves: CaseOf<'_> = &|b, v| {
                let wave = b.unary(MapOp::Sin, v[0])?;
                Ok(vec![wave, wave])
            };
            let results = branch(b, selector, v, &[product, cubes, waves])?;
            b.mul(results[0], results[1])
        });
    }
}

#[test]
fn the_case_that_is_not_taken_does_not_spoil_the_gradient() {
    // The derivative of the square root at zero is infinite; a choice by element would give zero times infinity.
    let text = "
        pub struct Net { scale: Parameter(1, init = \"zeros\") }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B]) -> f32 {
                let s = sum(self.scale * x);
                if s > 0.0 { sqrt(s) } else { s * 2.0 }
            }
        }
    ";
    let compiled = compile(text).remove(0);
    let at = compiled.model.functions.iter().position(|f| matches!(f.mode, Mode::Train(_))).unwrap();
    let env = Env {
        args: vec![Tensor::floats([BATCH as usize], vec![1.0, 2.0, 3.0])],
        params: vec![Tensor::floats([1], vec![0.0])],
        numbers: vec![[0.0; GROUPS]; 16],
        ..Env::default()
    };
    let outputs = run(&compiled.model.functions[at], &compiled.model, &env).unwrap();
    let (_, gradient) = outputs.effects.iter().find(|(e, _)| matches!(e, Effect::Gradient(_))).unwrap();
    assert_eq!(gradient.f64s(), [12.0]);
}

#[test]
fn cases_share_scratch() {
    let text = |cases: &str| {
        format!(
            "pub struct Net {{ a: Linear(64, 64) }}
            impl Net {{
                pub fn out(&self, x: f32[32, 64], n: u32) -> f32[32, 64] {{ {cases} }}
            }}"
        )
    };
    let words = |cases: &str| compile(&text(cases)).remove(0).plans.plans[0].scratch.as_const().unwrap();
    let long = "self.a(tanh(self.a(tanh(self.a(x)))))";
    let one = words(&format!("if n == 0 {{ {long} }} else {{ x }}"));
    let three = words(&format!("match n {{ 0 => {long}, 1 => tanh({long}), _ => self.a({long}) }}"));
    assert!(three <= one + 128, "{three} words for three cases, {one} for one");
}
