//! The state of sessions, from text to memory plans: call after call the plans give what the oracle gives, and assigning
//! a part of a state writes that part only.

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

use judge::{check_memory, compile, judge, plain};
use precast_compiler::ir::plan::Pool;
use precast_compiler::ir::program::{KernelId, Role, Step};
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::ir::{Function, Kind, Model, StateId};
use precast_compiler::pipeline::{Compiled, check, lower};
use support::Numbers;

const CHAT: &str = "
    pub struct Chat(layers = 3, dim = 4, context = 9) { blocks: [Block(dim, context); layers], state seen: u32 }
    struct Block(dim, context) {
        qkv: Linear(dim, 3 * dim),
        state keys: f32[B, context, dim],
        state values: f32[B, context, dim],
    }
    impl Block {
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.keys[_, at, _] = k;
            self.values[_, at, _] = v;
            let scores = softmax(einsum(\"bd,btd->bt\", q, self.keys[_, ..=at, _]), axis = -1);
            x + einsum(\"bt,btd->bd\", scores, self.values[_, ..=at, _])
        }
    }
    impl Chat {
        pub fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block.step(x, at); }
            self.seen += 1;
            x
        }
        pub fn from(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] { self.blocks[1].step(self.blocks[2].step(x, at), at - 1) }
        pub fn seen(&self) -> u32 { self.seen }
    }";

const PARTS: &str = "
    pub struct Parts { state a: f32[5, T], state b: f32[5, T], state n: i32[4] }
    impl Parts {
        pub fn twice(&mut self, x: f32[T], row: u32) -> f32[5, T] {
            self.a[row] = x;
            let middle = self.a[1..3];
            self.a[2..4] = 2.0 * middle;
            self.a[row + 1] += x;
            self.a
        }
        pub fn shifted(&mut self, x: f32[T], from: u32, to: u32) -> f32 {
            let old = self.b;
            self.b[1..] = self.b[..-1];
            self.b[0] = x;
            sum(old[from..to]) - sum(self.b)
        }
        pub fn swap(&mut self) -> (f32[5, T], i32[4]) {
            let a = self.a;
            self.a = self.b;
            self.b = a;
            self.n[1..=2] = self.n[2..];
            (self.a, self.n)
        }
        pub fn stepped(&mut self, x: f32[2, T]) -> f32[3, T] {
            self.a[(1..).step_by(2)] = x + self.b[(..3).step_by(2)];
            self.n[(..=2).step_by(2)] += 1;
            self.a[(..).step_by(2)]
        }
        pub fn chosen(&mut self, x: f32[T], which: u32) -> f32[T] {
            match which {
                0 => { self.a[3] = x; }
                1 => { self.a = self.b; self.b[0] = x; }
                _ => { self.b[..2] = self.a[2..4]; }
            }
            self.a[3] + self.b[0]
        }
    }";

const TRAINED: &str = "
    pub struct Cell { mix: Linear(3, 3), state h: f32[B, 3] }
    impl Cell {
        fn after(&self, x: f32[B, 3]) -> f32[B, 3] { tanh(self.mix(x) + self.h) }
        pub fn step(&mut self, x: f32[B, 3]) { self.h = self.after(x); }
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 3]) -> f32 { mean(square(self.after(x))) }
    }";

fn every_way(what: &str, text: &str, dims: &[&[(&str, i64)]]) {
    let (models, diags) = check(text.parse().unwrap());
    assert!(diags.is_empty(), "{}", diags.to_compile_errors());
    for model in models {
        verify(&model, After::Shape).unwrap_or_else(|errors| panic!("{what}: {errors:?}\n{model}"));
        let compiled = lower(model);
        let Compiled { model, .. } = &compiled;
        verify(model, After::Grad).unwrap_or_else(|errors| panic!("{what}: {errors:?}\n{model}"));
        let printed = model.to_string();
        let back: Model = printed.parse().unwrap_or_else(|why| panic!("{what}: {why}\n{printed}"));
        assert_eq!(back.to_string(), printed, "{what}");
        dims.iter().for_each(|dims| judge(what, &compiled, dims, &plain));
        check_memory(what, &compiled, &mut Numbers::new(3));
    }
}

#[test]
fn plans_keep_what_the_oracle_keeps() {
    every_way("chat", CHAT, &[&[("B", 1), ("at", 1)], &[("B", 3), ("at", 8)], &[("B", 2), ("at", 4)]]);
    let parts: [&[(&str, i64)]; 3] = [
        &[("T", 1), ("row", 0), ("from", 0), ("to", 5)],
        &[("T", 7), ("row", 2), ("from", 1), ("to", 2)],
        &[("T", 3), ("row", 3), ("from", 2), ("to", 4)],
    ];
    every_way("parts", PARTS, &parts);
    every_way("trained", TRAINED, &[&[("B", 1)], &[("B", 6)]]);
}

#[test]
fn training_starts_from_zeros() {
    for compiled in compile(TRAINED) {
        let of = |name: &str, in_session| {
            compiled.model.functions.iter().find(|f| f.name == name && f.in_session == in_session).unwrap()
        };
        let reads = |f: &Function| f.graph.nodes.iter().any(|n| matches!(n.kind, Kind::State(_)));
        assert!(reads(of("loss", true)) && reads(of("step", true)) && !reads(of("loss", false)));
    }
}

/// Whether a step writes scratch memory of the size of a cache.
fn copies(steps: &[Step<KernelId>], compiled: &Compiled, whole: i64) -> bool {
    let size = |dim: &precast_compiler::ir::Dim| dim.eval(&|name| Some(if name == "B" { 1 } else { 0 })).unwrap();
    let plan = &compiled.plans.plans[0];
    let large = |b: &precast_compiler::ir::program::BufferId| {
        matches!(plan.program.buffers[b.0].role, Role::Scratch) && size(&plan.program.buffers[b.0].len) >= whole
    };
    let rounds = |kernel: &KernelId| compiled.plans.kernels[kernel.0].axes.iter().map(size).product::<i64>();
    steps.iter().any(|step| match step {
        Step::Launch { kernel, buffers } => buffers.iter().any(large) || rounds(kernel) >= whole,
        Step::Loop { body, .. } => copies(body, compiled, whole),
        Step::Branch { .. } | Step::Fused { .. } | Step::Joined { .. } => {
            step.bodies().into_iter().any(|body| copies(body, compiled, whole))
        }
        Step::Foreign { args, results, .. } => args.iter().chain(results).any(|(b, _)| large(b)),
    })
}

#[test]
fn a_cache_is_written_where_it_changes() {
    let text = CHAT.replace("context = 9", "context = 100_000");
    for compiled in compile(&text) {
        let plan = &compiled.plans.plans[0];
        assert!(!copies(&plan.program.steps, &compiled, 4 * 100_000), "{}", compiled.plans);
        let cache = plan.program.buffers.iter().position(|b| b.role == Role::State(StateId(1))).unwrap();
        assert_eq!(plan.places[cache].pool, Pool::Session);
    }
}
