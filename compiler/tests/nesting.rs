//! Programs that nest: what is deep compiles, and what is deeper than the stack holds is a mistake.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::dump::Dumps;
use precast_compiler::ir::limits::{NESTED_BLOCKS, NESTED_EXPRESSIONS};
use precast_compiler::pipeline::{check, compile};
use std::fmt::Write;

/// What rustc gives the thread on which it runs macros.
const STACK: usize = 8 << 20;

/// Compiles a program on a thread as rustc has it; the mistakes.
fn mistakes(text: String) -> Vec<String> {
    let compiling = move || {
        let (_, diags) = check(text.parse().unwrap());
        let _ = compile(format!("(::precast) {text}").parse().unwrap(), 0, &mut Dumps::default());
        diags.list().iter().map(|diagnostic| diagnostic.text()).collect()
    };
    std::thread::Builder::new().stack_size(STACK).spawn(compiling).unwrap().join().unwrap()
}

/// Blocks each of which has the one before as a field of the type `field`, and does with it what `body` says.
fn blocks(depth: usize, field: fn(usize) -> String, body: &str) -> String {
    let mut text = String::from("struct Block0 { w: Linear(4, 4) } ");
    text += "impl Block0 { fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { tanh(self.w(x)) } }";
    for k in 1..depth {
        let field = field(k - 1);
        write!(text, "struct Block{k} {{ w: {field} }} ").unwrap();
        write!(text, "impl Block{k} {{ fn forward(&self, x: f32[B, 4]) -> f32[B, 4] {{ {body} }} }}").unwrap();
    }
    let last = depth - 1;
    write!(text, "pub struct Net {{ w: Block{last} }} ").unwrap();
    text + "impl Net { #[train(Sgd)] pub fn loss(&self, x: f32[B, 4]) -> f32 { mean(self.w(x)) } }"
}

#[test]
fn blocks_nest() {
    let nested = |depth| mistakes(blocks(depth, |k| format!("Block{k}"), "self.w(x)"));
    assert_eq!(nested(NESTED_BLOCKS - 1), [""; 0]);
    let found = nested(NESTED_BLOCKS + 1);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("blocks are nested more than 64 deep"), "{found:?}");
}

#[test]
fn lists_of_blocks_nest() {
    let body = "let mut x = x; for block in self.w { x = block(x); } x";
    assert_eq!(mistakes(blocks(14, |k| format!("[Block{k}; 2]"), body)), [""; 0]);
}

#[test]
fn folds_nest() {
    let mut inner = String::from("tanh(s + self.w(v))");
    for _ in 0..12 {
        inner = format!("fold(x, axis = 1, from = s, |s, v| {inner})");
    }
    assert_eq!(
        mistakes(format!(
            "pub struct Net {{ w: Linear(4, 4) }} impl Net {{ #[train(Sgd)] pub fn loss(&self, x: f32[B, T, 4]) -> f32 {{
                let s = zeros([B, 4]); let v = zeros([B, 4]); mean({inner})
            }} }}"
        )),
        [""; 0]
    );
}

#[test]
fn calls_nest() {
    let function = |k: usize, inner: String| format!("fn f{k}(x: f32[B, 4]) -> f32[B, 4] {{ {inner} }}");
    let text = |depth: usize, parentheses: usize| {
        let called = |k: usize| format!("{}f{k}(x){}", "-(".repeat(parentheses), ")".repeat(parentheses));
        let functions: String = (1..depth).map(|k| function(k, called(k - 1))).collect();
        let first = function(0, "x * 2".to_owned());
        let last = depth - 1;
        format!(
            "{first} {functions} pub struct Net {{}} impl Net {{ pub fn f(&self, x: f32[B, 4]) -> f32[B, 4] {{ f{last}(x) }} }}"
        )
    };
    assert_eq!(mistakes(text(NESTED_EXPRESSIONS / 4, 0)), [""; 0]);
    let found = mistakes(text(20, 50));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("calls and expressions are nested more than 512 deep"), "{found:?}");
}
