//! What one call of a driver holds: products and attention with more results, and products with more axes, are cut up.

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
use precast_compiler::ir::kernel::{Kernel, Skeleton};
use precast_compiler::ir::limits::{AXES_OF_A_PRODUCT, PLACES_OF_A_PRODUCT, PLACES_OF_ATTENTION};
use support::Numbers;

/// Compiles and judges a model; its kernels, none of which is beyond what its driver holds.
fn kernels(text: &str) -> Vec<Kernel> {
    let compiled = compile(text).remove(0);
    check_memory(text, &compiled, &mut Numbers::new(5));
    for b in [1, 5] {
        judge(text, &compiled, &[("B", b)], &plain);
    }
    for kernel in &compiled.plans.kernels {
        match &kernel.skeleton {
            Skeleton::Contract { stores, .. } => {
                assert!(stores.len() <= PLACES_OF_A_PRODUCT, "{} places", stores.len());
                assert!(kernel.axes.len() <= AXES_OF_A_PRODUCT, "{} axes", kernel.axes.len());
            }
            Skeleton::Attend(attention) => assert!(attention.stores.len() <= PLACES_OF_ATTENTION),
            Skeleton::Row { .. } | Skeleton::Scatter { .. } => {}
        }
    }
    compiled.plans.kernels
}

fn function(results: &[&str], ty: &str, body: &str, signature: &str) -> String {
    let types = vec![ty; results.len()].join(", ");
    let results = results.join(", ");
    format!(
        "pub struct Net {{ own: Linear(3, 4) }} impl Net {{ pub fn f(&self, {signature}) -> ({types}) {{ {body} ({results}) }} }}"
    )
}

const MAPS: [&str; 12] = [
    "y",
    "tanh(y)",
    "sigmoid(y)",
    "exp(y)",
    "sin(y)",
    "cos(y)",
    "-y",
    "square(y)",
    "y + 1",
    "abs(y)",
    "relu(y)",
    "y * 0.5",
];

#[test]
fn a_product_with_many_results_is_several_kernels() {
    for count in [7, 8, 9, 12] {
        let text = function(&MAPS[..count], "f32[B, 4]", "let y = self.own(x);", "x: f32[B, 3]");
        let kernels = kernels(&text);
        let products = kernels.iter().filter(|k| matches!(k.skeleton, Skeleton::Contract { .. })).count();
        assert_eq!(products, 1, "one product for {count} results");
        assert_eq!(kernels.len() > 1, count > PLACES_OF_A_PRODUCT - 1, "{count} results");
    }
}

#[test]
fn one_result_in_many_places_is_copied() {
    kernels(&function(&["y"; 20], "f32[B, 4]", "let y = tanh(self.own(x));", "x: f32[B, 3]"));
    let both = [["y"; 6], ["tanh(y)"; 6]].concat();
    kernels(&function(&both, "f32[B, 4]", "let y = self.own(x);", "x: f32[B, 3]"));
}

#[test]
fn attention_in_many_places_is_copied() {
    let text = function(&["y"; 6], "f32[B, 2, 3, 3]", "let y = attend(q, q, self.own(q));", "q: f32[B, 2, 3, 3]");
    kernels(&text.replace("Linear(3, 4)", "Linear(3, 3)"));
}

/// Four axes of rows, four of columns and nine that are summed, which lie in opposite orders so that none merge.
#[test]
fn a_product_of_many_axes_is_rows() {
    let text = "pub struct Net { w: Parameter([2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]) } impl Net {
        pub fn f(&self, x: f32[B, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]) -> f32[2, B, 2, 2, 2, 2, 2, 2] {
            einsum(\"abcdefghijklm,nomlkjihgfepq->baqpodnc\", x, self.w)
        }
    }";
    let kernels = kernels(text);
    assert!(kernels.iter().all(|k| !matches!(k.skeleton, Skeleton::Contract { .. })), "it was small enough");
}
