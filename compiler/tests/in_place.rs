//! Rewrites that save memory: programs whose kernels write over what they read keep their other slots, and what only looks
//! like a rectifier, or like parts of a whole, stays as it is.

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
use precast_compiler::ir::program::{KernelId, Step};
use precast_compiler::pipeline::Compiled;
use proc_macro2::Span;
use support::Numbers;

/// Compiles, emits and judges a model at some extents of `B`.
fn holds(text: &str) {
    for compiled in compile(text) {
        check_memory(text, &compiled, &mut Numbers::new(3));
        for b in [1, 5, 17] {
            judge(text, &compiled, &[("B", b)], &plain);
        }
        let path = proc_macro2::Ident::new("precast", Span::call_site());
        let runtime = std::iter::once(proc_macro2::TokenTree::from(path)).collect();
        let emitted = precast_compiler::stages::emit::emit(&compiled.model, &compiled.plans, &runtime);
        syn::parse2::<syn::File>(emitted).unwrap_or_else(|why| panic!("{text}: {why}"));
    }
}

/// A streamed result behind a slot that goes: the memory of `softmax` is written over by `tanh`, in the kernel that also
/// writes the second result past the caches.
#[test]
fn a_streamed_slot_follows_its_number() {
    holds(
        "pub struct Net { head: Linear(4, 3) }
        impl Net {
            pub fn f(&self, x: f32[B, 4]) -> (f32[B, 3], f32[B, 4]) {
                let s = softmax(x);
                (self.head(tanh(x)), s * x)
            }
        }",
    );
}

#[test]
fn what_is_cut_off_below_zero_does_not_tell_the_test() {
    holds(
        "pub struct Net { a: Parameter(8) }
        impl Net {
            pub fn f(&self, x: f32[B, 8]) -> (f32[B, 8], bool[B, 8]) {
                let y = x * self.a;
                let below = y <= -0.5;
                (where(below, 0.0, y), below)
            }
        }",
    );
}

#[test]
fn parts_of_a_sum_may_leave_out_the_end() {
    holds(
        "pub struct Net { a: Parameter(8) }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 8]) -> f32 {
                sum(square(self.a[0..3])) + sum(exp(self.a[3..5])) + 0.0 * sum(x)
            }
        }",
    );
}

/// What decides by order reads stored numbers: a kernel that computed them again might round them otherwise.
#[test]
fn what_is_ordered_is_computed_once() {
    for ordered in ["sort(x * y + x)", "f32(argsort(x * y + x))", "top_k(x * y + x, 8).0"] {
        let text = format!(
            "pub struct Net {{}}
            impl Net {{ pub fn f(&self, x: f32[B, 8], y: f32[B, 8]) -> f32[B, 8] {{ {ordered} }} }}"
        );
        for compiled in compile(&text) {
            let kernels = compiled.plans.to_string();
            assert_eq!(kernels.matches("mul_add").count(), 1, "{ordered}: {kernels}");
        }
    }
}

/// What dies in a turn of a loop is written over there: a softmax, which has its scores alone for a slot. What a turn reads of the
/// one before it, or of all, is not.
/// The launches in the first loop of the first function, those that share a dispatch among them.
fn launches_of_a_turn<'c>(compiled: &'c Compiled) -> Vec<&'c Step<KernelId>> {
    let body = compiled.plans.plans[0].program.steps.iter().find_map(|step| match step {
        Step::Loop { body, .. } => Some(body),
        _ => None,
    });
    let launches = |step: &'c Step<KernelId>| match step {
        Step::Joined { steps, .. } => steps.iter().collect(),
        alone => vec![alone],
    };
    body.unwrap().iter().flat_map(launches).collect()
}

#[test]
fn turns_of_a_loop_write_over_what_dies_in_them() {
    let text = "struct Block { up: Linear(8, 8, bias = false), down: Linear(8, 8) }
        impl Block {
            fn forward(&self, x: f32[B, 8], all: f32[B, 8]) -> f32[B, 8] {
                x + self.down(softmax(self.up(x))) * softmax(all)
            }
        }
        pub struct Net { blocks: [Block; 3] }
        impl Net {
            pub fn f(&self, x: f32[B, 8]) -> f32[B, 8] {
                let all = tanh(x);
                let mut y = x;
                for block in self.blocks { y = block(y, all); }
                y
            }
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 8]) -> f32 { mean(self.f(x)) }
        }";
    holds(text);
    for compiled in compile(text) {
        let is_alone = |step: &&Step<_>| matches!(step, Step::Launch { buffers, .. } if buffers.len() == 1);
        assert!(launches_of_a_turn(&compiled).iter().any(is_alone), "{}", compiled.plans);
    }
}

#[test]
fn what_a_turn_hands_on_is_written_in_its_place() {
    let text = "struct Block { up: Linear(8, 8, bias = false) }
        impl Block { fn forward(&self, x: f32[B, 8]) -> f32[B, 8] { softmax(self.up(x)) } }
        pub struct Net { blocks: [Block; 6] }
        impl Net {
            pub fn f(&self, x: f32[B, 8]) -> f32[B, 8] {
                let mut y = x;
                for block in self.blocks { y = block(y); }
                y
            }
        }";
    holds(text);
    for compiled in compile(text) {
        assert_eq!(launches_of_a_turn(&compiled).len(), 2, "{}", compiled.plans);
    }
}
