//! What one kernel holds: products and attention with more results than a driver stores, products with more axes, and
//! positions that grow from move to move are cut up; what positions have in common is computed once.

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
use precast_compiler::ir::index::{Atom, Index};
use precast_compiler::ir::kernel::{Expr, Kernel, Skeleton};
use precast_compiler::ir::limits::{AXES_OF_A_PRODUCT, PLACES_OF_A_PRODUCT, PLACES_OF_ATTENTION, SCALARS_OF_A_KERNEL};
use std::collections::BTreeSet;
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
            Skeleton::Row { .. } | Skeleton::Scatter { .. } | Skeleton::Recur(_) => {}
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

/// Quotient and remainder of a position that was rolled do not cancel: the next roll has both, and so on.
#[test]
fn positions_that_grow_from_move_to_move_are_read_from_memory() {
    let turn = "let y = reshape(roll(reshape(roll(y, 3, axis = 1), [B, 5, 7]), 2, axis = 2), [B, 35]);";
    let text = format!(
        "pub struct Net {{ own: Linear(35, 35) }} impl Net {{ pub fn f(&self, x: f32[B, 35]) -> f32[B, 35] {{
            let y = self.own(x); {} tanh(y)
        }} }}",
        turn.repeat(16)
    );
    for kernel in kernels(&text) {
        for scalar in &kernel.scalars {
            if let Expr::Load { index, guards, .. } = scalar {
                let longest = guards.iter().map(|guard| guard.index().atoms()).fold(index.atoms(), usize::max);
                assert!(longest < 100, "{longest} atoms");
            }
        }
    }
}

/// Where a row is moved three times, each load divides for each move, and again in each of its guards.
#[test]
fn positions_divide_once() {
    let turn = "let y = reshape(pad(y, low = 1, high = 2, axis = 1, mode = \"circular\")[.., 0..35], [B, 5, 7]);
        let y = reshape(roll(y, 2, axis = 2), [B, 35]);";
    let text = format!(
        "pub struct Net {{}} impl Net {{ pub fn f(&self, x: f32[B, 35]) -> f32[B, 35] {{
            let y = x; {} tanh(y) + concat(y[.., 3..], y[.., ..3], axis = 1)
        }} }}",
        turn.repeat(3)
    );
    fn divisions(index: &Index, all: &mut Vec<Atom>) {
        for (atom, _) in &index.terms {
            if let Atom::Div(inner, _) | Atom::Mod(inner, _) = atom {
                divisions(inner, all);
                all.push(atom.clone());
            }
        }
    }
    let count = |kernel: &Kernel| {
        let mut all = vec![];
        kernel.indices().iter().for_each(|index| divisions(index, &mut all));
        let distinct: BTreeSet<&Atom> = all.iter().collect();
        (all.len(), distinct.len())
    };
    let mut compiled = compile(&text).remove(0);
    let before: usize = compiled.plans.kernels.iter().map(|kernel| count(kernel).0).sum();
    compiled.plans.kernels.iter_mut().for_each(Kernel::share_divisions);
    let after: Vec<(usize, usize)> = compiled.plans.kernels.iter().map(count).collect();
    assert!(after.iter().all(|(all, distinct)| all == distinct), "{after:?}");
    assert!(before > 500 && after.iter().all(|(all, _)| *all < 20), "{before} before, {after:?} after");
    for b in [1, 5] {
        judge(&text, &compiled, &[("B", b)], &plain);
    }
}

/// Steps of elementwise arithmetic, each of which reads the one before twice.
#[test]
fn long_chains_are_several_kernels() {
    let steps = "y = sin(y * 0.5) + y * x; ".repeat(300);
    let text = format!(
        "pub struct Net {{ own: Parameter(4) }} impl Net {{ pub fn f(&self, x: f32[B, 4]) -> f32[B, 4] {{
            let x = x * 0.1; let mut y = self.own * x; {steps} y
        }} }}"
    );
    let kernels = kernels(&text);
    assert!(kernels.len() > 2, "{} kernels", kernels.len());
    assert!(kernels.iter().all(|kernel| kernel.scalars.len() < 4 * SCALARS_OF_A_KERNEL));
}

/// Each value is read at two positions, so that the last one is made of 2^12 elements of the first.
#[test]
fn values_that_are_read_at_many_positions_are_kept() {
    let steps = "y = pad(y, low = 1, high = 0, axis = 1) + pad(y, low = 0, high = 1, axis = 1); ".repeat(12);
    let text = format!(
        "pub struct Net {{ own: Parameter(4) }} impl Net {{ pub fn f(&self, x: f32[B, 4]) -> f32[B, 16] {{
            let mut y = self.own * tanh(x); {steps} y
        }} }}"
    );
    let longest = kernels(&text).iter().map(|kernel| kernel.scalars.len()).max();
    assert!(longest.is_some_and(|longest| longest < 2000), "{longest:?} scalars");
}

/// One over the root of the features is no number of none, and no kernel has rows of nothing.
#[test]
fn queries_and_values_may_have_no_features() {
    let text = "pub struct Net { w: Linear(4, 1) } impl Net {
        pub fn none(&self, q: f32[B, 5, 4], v: f32[B, 5, 0]) -> f32[B, 5, 0] { attend(q, q * mean(self.w(q)), v) }
        pub fn seen(&self, x: f32[B, 5, 4], q: f32[B, 5, 0]) -> f32[B, 5, 1] { attend(q, q, self.w(x)) }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 5, 4], q: f32[B, 5, 0]) -> f32 { mean(attend(q, q, self.w(x))) }
    }";
    kernels(text);
    let (_, mistakes) = precast_compiler::pipeline::check(text.parse().unwrap());
    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert!(syn::parse2::<syn::File>(emitted(text)).is_ok());
}

/// The emitted items; with the feature `gpu` shaders are validated as well.
fn emitted(text: &str) -> proc_macro2::TokenStream {
    let tokens = format!("(::precast) {text}").parse().unwrap();
    precast_compiler::pipeline::compile(tokens, 0, &mut precast_compiler::dump::Dumps::default())
}

/// Positions of more than 32 bits are of buffers that no GPU has, and kernels of no element run nowhere: neither is a shader.
#[test]
fn kernels_that_no_gpu_runs_are_no_shaders() {
    let text = "pub struct Net { p: Parameter(1) } impl Net {
        pub fn padded(&self, x: f32[B, 5, 3]) -> f32[B, 5, 3] {
            pad(x * self.p, low = 2000000000, high = 2000000000, axis = 1)[_, 2000000000..2000000005, _]
        }
        pub fn wide(&self, x: f32[B, 2000000000, 5]) -> f32[B] { sum(x * self.p, axes = [1, 2]) }
        pub fn none(&self, q: f32[B, 5, 0, 4], k: f32[B, 5, 3, 4]) -> f32[B, 5, 0, 4] { attend(q * self.p, k, k) }
    }";
    let (_, mistakes) = precast_compiler::pipeline::check(text.parse().unwrap());
    assert!(mistakes.is_empty(), "{mistakes:?}");
    assert!(syn::parse2::<syn::File>(emitted(text)).is_ok());
}
