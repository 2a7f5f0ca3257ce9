//! The recurrent layers against PyTorch: outputs, last states and gradients under parameters of PyTorch's names.
//! `recurrent/reference.py` writes the numbers.

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
use precast_compiler::dump::Dumps;
use precast_compiler::ir::Model;
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::verify::verify_plans;
use precast_compiler::oracle::{Env, Tensor, run};
use precast_compiler::pipeline::Compiled;
use support::Numbers;

/// The numbers of the reference's formula.
fn numbers(shape: &[usize], phase: f64) -> Tensor {
    let count = shape.iter().product::<usize>();
    Tensor::floats(shape, (0..count).map(|k| (0.7 * k as f64 + phase).sin() * 0.5).collect())
}

/// A model around one layer; `states` are the names of its state, which is given where `start` says so, as lengths are where
/// `ends` does.
fn model(layer: &str, states: &[&str], all: usize, start: bool, ends: bool) -> String {
    let ty = format!("f32[{all}, B, 4]");
    let width = if layer.contains("bidirectional") { 8 } else { 4 };
    let list = |with: &dyn Fn(&str) -> String| states.iter().map(|s| with(s)).collect::<String>();
    let mut params = if start { list(&|s| format!(", {s}: {ty}")) } else { String::new() };
    let mut given = if start { list(&|s| format!(", {s}")) } else { String::new() };
    if ends {
        params += ", n: u32[B]";
        given += ", lengths = n";
    }
    let (results, types) = (list(&|s| format!(", {s}_n")), list(&|_| format!(", {ty}")));
    let weights = list(&|s| format!(", w{s}: {ty}"));
    let terms = list(&|s| format!(" + sum({s}_n * w{s})"));
    format!(
        "pub struct Net {{ net: {layer} }}
        impl Net {{
            pub fn run(&self, x: f32[B, T, 3]{params}) -> (f32[B, T, {width}]{types}) {{ self.net(x{given}) }}
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, T, 3]{params}, wy: f32[B, T, {width}]{weights}) -> f32 {{
                let (y{results}) = self.net(x{given});
                sum(y * wy){terms}
            }}
        }}"
    )
}

/// One stored case: its name, the steps, and the named tensors.
type Case = (String, usize, Vec<(String, Vec<f64>)>);

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = vec![];
    for line in include_str!("recurrent/reference.txt").lines() {
        let mut words = line.split(' ');
        let (head, second) = (words.next().unwrap(), words.next().unwrap());
        if head == "case" {
            cases.push((second.to_owned(), words.next().unwrap().parse().unwrap(), vec![]));
        } else {
            let values = words.map(|w| w.parse().unwrap()).collect();
            cases.last_mut().unwrap().2.push((head.to_owned(), values));
        }
    }
    cases
}

fn close(what: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-8 * (1.0 + b.abs()), "{what}[{k}]: {a}, and PyTorch has {b}");
    }
}

fn env(model: &Model, args: Vec<Tensor>) -> Env {
    let params = model.params.iter().enumerate().map(|(k, p)| {
        let shape: Vec<usize> = p.stacked().shape.iter().map(|d| d.as_const().unwrap() as usize).collect();
        numbers(&shape, k as f64)
    });
    Env { args, params: params.collect(), numbers: vec![[0.0; 8]; 16], ..Env::default() }
}

#[test]
fn layers_are_those_of_pytorch() {
    for (name, steps, stored) in cases() {
        let two = "3, 4, layers = 2, bidirectional = true";
        let lengths: &[u32] = match name.as_str() {
            "rnn_lengths" => &[2, 5],
            "lstm_lengths" => &[3, 1],
            "gru_lengths" => &[4, 5],
            _ => &[],
        };
        let (layer, states, all, start): (String, &[&str], _, _) = match name.as_str() {
            "rnn" => ("RNN(3, 4)".into(), &["h"], 1, false),
            "rnn_two" => (format!("RNN({two})"), &["h"], 4, true),
            "rnn_lengths" => ("RNN(3, 4)".into(), &["h"], 1, true),
            "lstm" => ("LSTM(3, 4)".into(), &["h", "c"], 1, true),
            "lstm_two" => (format!("LSTM({two})"), &["h", "c"], 4, false),
            "lstm_lengths" => (format!("LSTM({two})"), &["h", "c"], 4, true),
            "gru" => ("GRU(3, 4, bias = false)".into(), &["h"], 1, true),
            "gru_two" | "gru_lengths" => (format!("GRU({two})"), &["h"], 4, false),
            other => panic!("no model for `{other}`"),
        };
        let compiled = compile(&model(&layer, states, all, start, !lengths.is_empty())).remove(0);
        let model = &compiled.model;
        let mut args = vec![numbers(&[2, steps, 3], 0.3)];
        if start {
            args.extend((0..states.len()).map(|k| numbers(&[all, 2, 4], 0.1 + k as f64)));
        }
        if !lengths.is_empty() {
            args.push(Tensor::words([2], lengths.to_vec()));
        }
        let results = run(&model.functions[0], model, &env(model, args.clone())).unwrap().results;
        for (result, (_, values)) in results.iter().zip(&stored) {
            close(&format!("{name}: a result"), result.f64s(), values);
        }
        args.extend(results.iter().map(|r| numbers(&r.shape, 0.9)));
        let at = model.functions.len() - 1;
        let effects = run(&model.functions[at], model, &env(model, args)).unwrap().effects;
        for (effect, gradient) in &effects {
            let Effect::Gradient(id) = effect else { continue };
            let own = &model.param(*id).name;
            let (_, values) = stored.iter().find(|(n, _)| own.strip_prefix("net.") == Some(n.as_str())).unwrap();
            close(&format!("{name}: the gradient of {own}"), gradient.f64s(), values);
        }
        assert_eq!(model.params.len(), stored.len() - 1 - states.len(), "{name}");
        judge(&name, &compiled, &[("B", 2), ("T", 3)], &plain);
        check_memory(&name, &compiled, &mut Numbers::new(2));
    }
}

#[test]
fn a_step_is_one_product_and_one_row() {
    for (layer, states) in [("LSTM(3, 4)", &["h", "c"][..]), ("GRU(3, 4)", &["h"]), ("RNN(3, 4)", &["h"])] {
        let compiled = compile(&model(layer, states, 1, false, false)).remove(0);
        let text = compiled.plans.to_string();
        let start = text.find("loop ").unwrap();
        let body = &text[start..start + text[start..].find("\n  }").unwrap()];
        assert!(body.matches("launch").count() <= 2, "{layer}: {body}");
    }
}

#[test]
fn what_stands_after_the_end_has_no_effect() {
    let compiled = compile(&model("LSTM(3, 4, bidirectional = true)", &["h", "c"], 2, false, true)).remove(0);
    let model = &compiled.model;
    let at = model.functions.len() - 1;
    let gradients = |padding: f64| {
        let mut x = numbers(&[2, 4, 3], 0.3).f64s().to_vec();
        x[3 * 2..3 * 4].fill(padding);
        let weights = [[2, 4, 8], [2, 2, 4], [2, 2, 4]].map(|shape| numbers(&shape, 0.9));
        let args = [Tensor::floats([2, 4, 3], x), Tensor::words([2], vec![2, 4])];
        let env = env(model, args.into_iter().chain(weights).collect());
        run(&model.functions[at], model, &env)
            .unwrap()
            .effects
            .into_iter()
            .map(|(_, t)| t.f64s().to_vec())
            .collect::<Vec<_>>()
    };
    assert_eq!(gradients(0.0), gradients(f64::NAN));
}

#[test]
fn dropout_stands_between_layers_in_training() {
    let text = |net: &str, call: &str| {
        format!(
            "pub struct Net {{ {net} }}
            impl Net {{
                pub fn run(&self, x: f32[1, T, 3]) -> f32[1, T, 4] {{ {call} }}
                #[train(Sgd)]
                pub fn loss(&self, x: f32[1, T, 3]) -> f32 {{ let y = {call}; sum(y * y * y) }}
            }}"
        )
    };
    let one = |p: &str| text(&format!("net: LSTM(3, 4, layers = 2, dropout = {p})"), "(self.net(x)).0");
    let by_hand = "self.b(dropout((self.a(x)).0, 0.4)).0";
    let results = |text: &str, function: usize| {
        let compiled = compile(text).remove(0);
        let model = &compiled.model;
        run(&model.functions[function], model, &env(model, vec![numbers(&[1, 6, 3], 0.2)])).unwrap().results[0]
            .f64s()
            .to_vec()
    };
    let by_hand = text("a: LSTM(3, 4), b: LSTM(4, 4)", by_hand);
    let train = compile(&by_hand)[0].model.functions.len() - 1;
    assert_eq!(results(&one("0.4"), train), results(&by_hand, train));
    assert_ne!(results(&one("0.4"), train), results(&one("0.0"), train));
    assert_eq!(results(&one("0.4"), 0), results(&one("0.0"), 0));
}

#[test]
fn a_step_backward_is_one_row_and_one_product() {
    // Columns that are no fours, which no workgroup of a GPU has for all turns.
    for (layer, states) in [("LSTM(3, 5)", &["h", "c"][..]), ("RNN(3, 5)", &["h"])] {
        let text = model(layer, states, 1, false, false).replace(", 4]", ", 5]");
        let text = compile(&text).remove(0).plans.to_string();
        let start = text.find("reverse=true {").unwrap();
        let body = &text[start..start + text[start..].find("\n  }").unwrap()];
        // Gradients of weights are products over all steps, after the loop, and those of gates are written side by side.
        assert!(body.matches("launch").count() <= 2, "{layer}: {body}");
    }
}

#[test]
fn loops_backward_are_calls_of_the_runtime() {
    for (layer, states) in [("LSTM", ", h, c"), ("GRU", ", h"), ("RNN", ", h")] {
        let text = format!(
            "pub struct Net {{ net: {layer}(3, 70) }}
            impl Net {{
                #[train(Sgd)]
                pub fn loss(&self, x: f32[B, T, 3], w: f32[B, T, 70]) -> f32 {{ let (y{states}) = self.net(x); sum(y * w) }}
            }}"
        );
        let text: proc_macro2::TokenStream = text.parse().unwrap();
        let text = quote::quote!((::precast) #text);
        let code = precast_compiler::pipeline::compile(text, 0, &mut Dumps::default()).to_string();
        assert_eq!(code.matches("rt :: State :: Listed").count(), 1, "{layer}");
        assert!(!code.contains(". rev ()"), "{layer}");
    }
}

/// The plans of a recurrent layer with one part of their text replaced.
fn damaged(from: &str, to: &str) -> Compiled {
    let text = "pub struct Net { net: GRU(3, 8) }
        impl Net { pub fn run(&self, x: f32[B, T, 3]) -> f32[B, T, 8] { let (y, h) = self.net(x); y } }";
    let mut compiled = compile(text).remove(0);
    let plans = compiled.plans.to_string();
    assert!(plans.contains(from), "`{from}` is not in\n{plans}");
    compiled.plans = plans.replace(from, to).parse().unwrap_or_else(|why| panic!("{why}"));
    compiled
}

#[test]
fn a_recurrence_is_what_its_loop_is() {
    let run = |compiled: &Compiled| judge("a recurrence", compiled, &[("B", 2), ("T", 3)], &plain);
    run(&damaged("strides=[8, 1]", "strides=[8, 1]"));
    for (from, to) in [("strides=[8, 1]", "strides=[1, 8]"), ("accumulated f32(0, 2)", "accumulated f32(0, 0)")] {
        let wrong = damaged(from, to);
        assert!(std::panic::catch_unwind(|| run(&wrong)).is_err(), "`{to}` gives the same");
    }
    for (from, to, why) in [
        ("store s3[8*i0 + i1]", "store s3[8*i0]", "takes turns that wait for other positions"),
        ("accumulated f32(0, 2)", "accumulated f32(0, 3)", "which there is not"),
        ("store s4[8*i0 + i1]", "store s1[8*i0 + i1]", "takes turns that wait for other positions"),
        ("state=s3 sums=s1", "state=s3 sums=s3", "takes turns on no slot"),
    ] {
        let errors = verify_plans(&damaged(from, to).plans).unwrap_err().join("\n");
        assert!(errors.contains(why), "{errors}");
    }
}
