//! The loops of rows: every choice of schedule is made somewhere, is run by the interpreter as it is made, and what loops
//! cannot do is refused.

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
use precast_compiler::ir::kernel::Kernel;
use precast_compiler::ir::neighbours::Fours;
use precast_compiler::ir::plan::Plans;
use precast_compiler::ir::schedule::Unroll;
use precast_compiler::ir::verify::verify_plans;
use precast_compiler::ir::workgroup::Workgroup;
use precast_compiler::pipeline::Compiled;
use support::Numbers;

const TEXT: &str = "pub struct Net { norm: LayerNorm(192) }
    impl Net {
        pub fn likely(x: f32[B, 160]) -> f32[B, 160] { softmax(x) }
        pub fn normal(&self, x: f32[B, 192]) -> f32[B, 192] { self.norm(x) }
        pub fn columns(x: f32[B, 256]) -> f32[256] { sum(x, axis = 0) }
        pub fn whole(x: f32[B, T]) -> f32 { sum(x) }
        pub fn curved(x: f32[B, 160]) -> f32[B, 160] { gelu(x) }
        pub fn best(x: f32[B, 40]) -> u32[B] { argmax(x, axis = 1) }
    }";

fn compiled() -> Compiled {
    compile(TEXT).remove(0)
}

fn any(compiled: &Compiled, wanted: impl Fn(&Kernel) -> bool) -> bool {
    compiled.plans.kernels.iter().any(wanted)
}

#[test]
fn every_choice_is_made_and_run() {
    let compiled = compiled();
    assert!(any(&compiled, |k| !k.schedule.rows.buffers.is_empty()), "exponentials are stored for the second pass");
    assert!(any(&compiled, |k| k.schedule.rows.pipelined), "norms of two rows run beside each other");
    assert!(any(&compiled, |k| !k.schedule.rows.blocks.is_empty()), "long sums are cut");
    assert!(any(&compiled, |k| k.schedule.rows.threads.is_some()), "rows are shared");
    assert!(any(&compiled, |k| !k.schedule.rows.prefetches.is_empty()), "rows are asked for");
    for unroll in [Unroll::One, Unroll::Two, Unroll::Four] {
        assert!(any(&compiled, |k| k.schedule.rows.unroll == unroll), "{unroll:?}");
    }
    check_memory("rows", &compiled, &mut Numbers::new(3));
    for (b, t) in [(1, 1), (2, 33), (5, 700)] {
        judge("rows", &compiled, &[("B", b), ("T", t)], &plain);
    }
}

/// What the verifier says of plans with one part of their text replaced.
fn damaged(text: &str, from: &str, to: &str) -> Option<String> {
    assert!(text.contains(from), "`{from}` is not in\n{text}");
    let plans: Plans = text.replace(from, to).parse().unwrap_or_else(|why| panic!("{why}"));
    verify_plans(&plans).err().map(|errors| errors.join("\n"))
}

/// Asserts that the verifier refuses plans with that part of their text replaced, and says why.
#[track_caller]
fn assert_refused(text: &str, from: &str, to: &str, why: &str) {
    let found = damaged(text, from, to).unwrap_or_else(|| panic!("`{to}` passes\n{text}"));
    assert!(found.contains(why), "{found}");
}

#[test]
fn what_loops_cannot_do_is_refused() {
    let text = compiled().plans.to_string();
    assert_eq!(damaged(&text, "slot s0", "slot s0"), None);
    for (from, to, why) in [
        ("turns 32", "turns 64", "makes a long sum in one chain"),
        ("exp(v2)", "exp(v2, v2)", "is `exp` of 2"),
        ("accumulated f32(1, 0)", "accumulated u32(1, 0)", "which there is not"),
        ("words 160", "words 80", "threads share words of others"),
        ("buffers=[{scalar v3, ", "buffers=[{scalar v1, ", "a buffer of no row"),
        ("prefetches=[{load v0, ", "prefetches=[{load v1, ", "what cannot be prefetched is"),
        ("parts [{slot s1, words 160}], work 4480}", "parts [], work 4480}", "threads share words of others"),
        ("axis i0, turns 32}]", "axis i0, turns 32}] pipelined=true", "wait for each other"),
    ] {
        assert_refused(&text, from, to, why);
    }
}

#[test]
fn what_workgroups_cannot_do_is_refused() {
    let text = "pub struct Net { hidden: Linear(640, 48) }
        impl Net {
            pub fn product(&self, x: f32[B, 640]) -> f32[B, 48] { self.hidden(x) }
            pub fn whole(x: f32[B, T]) -> f32[B] { sum(x, axis = 1) }
            pub fn attended(x: f32[B, 2, T, 8]) -> f32[B, 2, T, 8] { attend(x, x, x) }
            pub fn turns(x: f32[B, 768]) -> f32[B] { sum(x, axis = 1) }
            pub fn map(x: f32[B, 30]) -> f32[B, 30] { exp(x) }
            pub fn halves(x: f16[B, 30]) -> f16[B, 30] { exp(x) }
            pub fn tiled(x: f32[B, 8, T, 64]) -> f32[B, 8, T, 64] { attend(x, x, x) }
        }";
    let compiled = compile(text).remove(0);
    let text = compiled.plans.to_string();
    assert_eq!(damaged(&text, "slot s0", "slot s0"), None);
    for (from, to, why) in [
        ("of=rows invocations=", "of=rows invocations=3", "a workgroup of 3"),
        ("cooperative=true block=16 at_once=8", "cooperative=true", "a long sum without blocks"),
        ("cooperative=true block=16 at_once=8", "cooperative=true block=0", "a long sum without blocks"),
        ("cooperative=true block=16 at_once=8", "cooperative=true block=32", "a long sum without blocks"),
        ("neighbours=2", "neighbours=4", "neighbours that a kernel does not have"),
        ("neighbours=4 turns", "neighbours=2 turns", "neighbours that a kernel does not have"),
        ("invocations=64\n", "invocations=64 neighbours=4\n", "neighbours that a kernel does not have"),
        ("turns=", "turns=1", "turns that are no row together"),
        (
            "cooperative=true block=16 at_once=8",
            "cooperative=true turns=1 block=16 at_once=8",
            "turns that are no row together",
        ),
        ("block=16 at_once=8", "block=16 at_once=3", "not what is taken at once, several times"),
        ("block=16 at_once=8", "block=16 at_once=4294967295", "not what is taken at once, several times"),
        ("cooperative=true block", "cooperative=true rows=3 block", "rows beside each other"),
        ("neighbours=4 turns", "rows=8 neighbours=4 turns", "rows beside each other"),
        ("thread_tile=[4, 4]", "thread_tile=[4, 6]", "not made of those of its threads"),
        ("slices=", "slices=3", "do not fit its slices"),
        ("sides=[8, ", "sides=[4294967295, ", "no such sides"),
        ("sides=[8, ", "sides=[256, ", "a workgroup of "),
        ("of=attend invocations=64 columns=32", "of=attend invocations=64", "a workgroup of its own kind"),
        ("of=attend invocations=64 columns=32", "of=attend invocations=16 columns=32", "more columns than invocations"),
        ("of=attend sides=[64, 64, 16]", "of=attend sides=[64, 64, 12]", "do not fit its columns"),
        ("of=attend sides=[64, 64, 16]", "of=attend sides=[64, 64, 64]", "a workgroup shares 34816 bytes"),
        ("of=attend sides=[64, 64, 16]", "of=attend sides=[512, 64, 16]", "a workgroup of 1024"),
        ("of=attend invocations=64 columns=32", "of=rows invocations=64", "workgroups of another kernel"),
        ("workgroup of=attend invocations=64 columns=32", "", "does not say how a GPU runs it"),
    ] {
        assert_refused(&text, from, to, why);
    }
}

#[test]
fn neighbours_are_elements_that_lie_together() {
    let group = |body: &str| {
        let text = format!("pub struct Net {{}} impl Net {{ pub fn f{body} }}");
        let compiled = compile(&text).remove(0);
        let [kernel] = compiled.plans.kernels.as_slice() else { panic!("{}", compiled.plans) };
        let Some(Workgroup::Rows(group)) = kernel.schedule.workgroup else { panic!("{kernel:?}") };
        (kernel.clone(), group)
    };
    // Of how many neighbours, and in how many turns of how many invocations.
    for (body, neighbours, turns) in [
        ("(x: f32[B, 12]) -> f32[B, 12] { exp(x) }", 4, None),
        ("(x: f32[B, 10]) -> f32[B, 10] { exp(x) }", 1, None),
        ("(x: f32[B, 12], y: f32[12, B]) -> f32[B, 12] { x + transpose(y, [1, 0]) }", 4, None),
        ("(x: i64[B, 12]) -> i64[B, 12] { x + 1 }", 1, None),
        ("(x: f32[64, 12]) -> f32[64, 12] { exp(x) }", 1, None),
        ("(x: f32[B, 1024]) -> f32[B, 1024] { softmax(x) }", 4, Some((64, 4))),
        ("(x: f32[B, 384]) -> f32[B, 384] { softmax(x) }", 4, Some((32, 3))),
        ("(x: f32[B, 1100]) -> f32[B, 1100] { softmax(x) }", 4, None),
        ("(x: f32[B, 1101]) -> f32[B, 1101] { softmax(x) }", 1, None),
        ("(x: f32[B, T]) -> f32[B, T] { softmax(x, axis = 1) }", 1, None),
    ] {
        let (_, group) = group(body);
        let found = (group.neighbours, group.turns.map(|turns| (group.invocations, turns)));
        assert_eq!(found, (neighbours, turns), "{body}");
    }
    // A result of each row is a word alone, beside which a vector would be written.
    let (kernel, _) = group("(x: f32[B, 1024]) -> (f32[B, 1024], f32[B]) { (softmax(x), max(x, axis = 1)) }");
    let fours = Fours::scheduled(&kernel).unwrap();
    let sees = |write: bool| fours.sees(&|slot| kernel.slots[slot].write == write);
    assert_eq!((sees(false), sees(true)), (true, false));
}

#[test]
fn tiles_beyond_all_numbers_are_counted() {
    let text = "pub struct Net {}
        impl Net {
            pub fn out(x: f32[A, B, C, D, E, F, 1048576, 8], y: f32[A, B, C, D, E, F, 8, 1048576])
                -> f32[A, B, C, D, E, F, 1048576, 1048576] { matmul(x, y) }
        }";
    assert!(any(&compile(text).remove(0), |kernel| kernel.schedule.workgroup.is_some()));
}

#[test]
fn an_operand_that_moves_is_not_packed_once() {
    let text = "pub struct Net { state: Linear(8, 8) }
        impl Net {
            pub fn last(&self, x: f32[T, B, 8]) -> f32[B, 8] {
                fold(x, from = zeros([B, 8]), |h, x| tanh(x + self.state(h)))
            }
        }";
    let compiled = compile(text).remove(0);
    assert!(any(&compiled, |kernel| kernel.schedule.packed_once), "{}", compiled.plans);
    judge("packed once", &compiled, &[("B", 3), ("T", 4)], &plain);
    let text = compiled.plans.to_string();
    assert_eq!(damaged(&text, "rhs s1[", "rhs s1["), None);
    assert!(damaged(&text, "rhs s1[", "rhs s1[l0 + ").is_some_and(|why| why.contains("packs once what moves")));
}
