//! Attention: derivatives of derivatives, memory, kernels, and what sees nothing.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

mod support;

use precast_compiler::ir::attend::{Attend, Part};
use precast_compiler::ir::prim::{MapOp, Prim, Scalar};
use precast_compiler::ir::program::{KernelId, Step};
use precast_compiler::oracle::{Data, Env, Tensor};
use precast_compiler::pipeline::{Compiled, check, lower};
use support::{Fill, dims};

fn attend(causal: bool) -> Prim {
    Prim::Attend(Attend { part: Part::Output, causal, scale: Scalar::f32(0.6) })
}

#[test]
fn derivatives_of_derivatives() {
    let inputs = |list: &[&[&str]]| list.iter().map(|shape| (dims(shape), Fill::Any)).collect::<Vec<_>>();
    let shared = inputs(&[&["4", "3", "2"], &["2", "B", "2"], &["2", "B", "3"]]);
    support::check("shared heads", &shared, 2, &|b, args| b.prim(attend(false), args));
    let causal = inputs(&[&["B", "1", "4", "2"], &["B", "1", "5", "2"], &["B", "1", "5", "1"]]);
    support::check("causal", &causal, 2, &|b, args| b.prim(attend(true), args));
    let learnt = inputs(&[&["2", "3", "2"], &["2", "4", "2"], &["2", "4", "2"], &["1", "3", "4"]]);
    support::check("a mask that learns", &learnt, 2, &|b, args| b.prim(attend(false), args));
    support::check("a mask", &learnt, 2, &|b, args| {
        // The first query sees nothing.
        let row = b.iota(&dims(&["1", "3", "4"]), 1)?;
        let seen = b.with(MapOp::Ne, row, 0.0)?;
        b.prim(attend(false), &[args[0], args[1], args[2], seen])
    });
}

/// A model with attention in the middle.
const MIDDLE: &str = "
    pub struct Middle {
        qkv: Linear(32, 96),
        out: Linear(32, 32),
    }

    impl Middle {
        pub fn mixed(&self, x: f32[B, T, 32]) -> f32[B, T, 32] {
            let (q, k, v) = split(self.qkv(x), 3);
            self.out(merge_heads(attend(heads(q, 4), heads(k, 4), heads(v, 4), causal = true)))
        }

        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, T, 32]) -> f32 {
            mean(square(self.mixed(x)))
        }
    }
";

fn compiled(text: &str) -> Compiled {
    let (mut models, diags) = check(text.parse().unwrap());
    let texts: Vec<String> = diags.list().iter().map(|d| d.text()).collect();
    assert!(texts.is_empty(), "{texts:?}");
    lower(models.remove(0))
}

#[test]
fn memory_grows_with_the_length() {
    let compiled = compiled(MIDDLE);
    for plan in &compiled.plans.plans {
        let words = |length: i64| plan.scratch.eval(&|name| Some(if name == "T" { length } else { 1 })).unwrap();
        let (short, long) = (words(512), words(4096));
        assert!(long <= 8 * short, "{}: {short} words at 512, {long} at 4096", plan.program.name);
        assert!(short <= 512 * 32 * 24, "{}: {short} words at 512", plan.program.name);
    }
}

#[test]
fn heads_are_read_and_written_where_they_lie() {
    let compiled = compiled(MIDDLE);
    let names: Vec<&str> = (compiled.plans.plans[0].program.steps.iter())
        .map(|step| match step {
            Step::Launch { kernel, .. } => compiled.plans.kernels[kernel.0].name.as_str(),
            _ => "region",
        })
        .collect();
    assert_eq!(names, ["contract", "attend", "contract"]);
}

#[test]
fn a_repeated_block_keeps_the_largest_scores() {
    let text = "
        pub struct Deep { layers: [Layer; 3] }
        struct Layer { qkv: Linear(8, 24) }
        impl Layer {
            fn forward(&self, x: f32[B, T, 8]) -> f32[B, T, 8] {
                let (q, k, v) = split(self.qkv(x), 3);
                x + merge_heads(attend(heads(q, 2), heads(k, 2), heads(v, 2)))
            }
        }
        impl Deep {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, T, 8]) -> f32 {
                let mut x = x;
                for layer in self.layers { x = layer(x); }
                mean(square(x))
            }
        }
    ";
    let compiled = compiled(text);
    let is_attend = |kernel: &KernelId| usize::from(compiled.plans.kernels[kernel.0].name == "attend");
    // On a CPU, and on a GPU.
    let attends = |steps: &[Step<KernelId>]| {
        let launched = |step: &Step<KernelId>| match step {
            Step::Launch { kernel, .. } => is_attend(kernel),
            _ => 0,
        };
        let all = steps.iter().map(|step| match step {
            Step::Fused { kernel, steps, .. } => (is_attend(kernel), steps.iter().map(launched).sum()),
            step => (launched(step), launched(step)),
        });
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let training = compiled.plans.plans.last().unwrap();
    let loops: Vec<(usize, usize)> = (training.program.steps.iter())
        .filter_map(|step| match step {
            Step::Loop { body, .. } => Some(attends(body)),
            _ => None,
        })
        .collect();
    assert_eq!(loops, [(1, 1), (1, 2)], "forward, and the derivatives of queries and of keys");
}

#[test]
fn what_sees_nothing_gives_zeros() {
    let text = "
        pub struct Hidden { gain: Parameter(2, init = \"ones\") }
        impl Hidden {
            pub fn mixed(&self, x: f32[T, 2], seen: bool[T, T]) -> f32[T, 2] {
                attend(x * self.gain, x, x, seen)
            }
            #[train(Sgd)]
            pub fn loss(&self, x: f32[T, 2], seen: bool[T, T]) -> f32 { sum(square(self.mixed(x, seen))) }
        }
    ";
    let compiled = compiled(text);
    let x = Tensor::floats([2, 2], vec![1.0, -2.0, 0.5, 3.0]);
    let seen = Tensor::new([2, 2], Data::Bool(vec![false, false, true, false]));
    let params = vec![Tensor::floats([2], vec![1.0, 1.0])];
    let env = Env { args: vec![x, seen], params, numbers: vec![[0.0; 8]; 8], ..Env::default() };
    for function in 0..2 {
        let outputs = precast_compiler::oracle::kernels::run(&compiled.plans, function, &compiled.model, &env).unwrap();
        let result = &outputs.results[0];
        match function {
            0 => assert_eq!(result.f64s(), [0.0, 0.0, 1.0, -2.0]),
            _ => assert_eq!(result.f64s(), [5.0]),
        }
        for (effect, tensor) in &outputs.effects {
            if tensor.data.dtype().is_float() {
                assert!(tensor.f64s().iter().all(|x| x.is_finite()), "{effect:?}");
            }
        }
    }
}
