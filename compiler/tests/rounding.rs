//! The oracle's roundings: what they may change, and what stays.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::ops::optimizer_of;
use precast_compiler::oracle::{Env, Outputs, Rounding, Tensor, run};
use precast_compiler::pipeline::check;
use precast_compiler::stages::{expand::expand, grad::grad};

const ALL: [Rounding; 4] = [Rounding::Exact, Rounding::Nearest, Rounding::Random(1), Rounding::Random(2)];

/// A function of `x` and `y`, both f32[6], under each rounding.
fn under(body: &str, result: &str, x: [f64; 6], y: [f64; 6]) -> Vec<Outputs> {
    let text = format!(
        "pub struct Net {{}}
         impl Net {{ pub fn value(&self, x: f32[6], y: f32[6]) -> {result} {{ {body} }} }}"
    );
    let (mut models, diags) = check(text.parse().unwrap());
    assert!(diags.is_empty(), "{:?}", diags.list());
    let model = grad(expand(models.remove(0)), optimizer_of);
    let args = vec![Tensor::floats([6], x.to_vec()), Tensor::floats([6], y.to_vec())];
    let one = |rounding| {
        let env = Env { args: args.clone(), rounding, ..Env::default() };
        run(&model.functions[0], &model, &env).unwrap()
    };
    ALL.into_iter().map(one).collect()
}

const X: [f64; 6] = [0.1, 0.7, -0.3, 0.1, 1.9, -2.2];
const Y: [f64; 6] = [1.3, 0.2, 0.9, 1.3, -0.4, 0.6];

#[test]
fn computed_numbers_move_by_a_rounding_and_no_more() {
    let said = under("x * y", "f32[6]", X, Y);
    for (at, exact) in said[0].results[0].f64s().iter().enumerate() {
        let rounded = said[1].results[0].f64s()[at];
        assert_eq!(rounded, f64::from(*exact as f32));
        for other in &said[2..] {
            let moved = (other.results[0].f64s()[at] - exact).abs();
            assert!(moved > 0.0 && moved <= exact.abs() * 2.4e-7, "{moved:e} of {exact}");
        }
    }
}

#[test]
fn sums_that_cancel_show_it() {
    let said = under("sum(x) - sum(y)", "f32", [1e4; 6], [0.01, 1e4, 1e4, 1e4, 1e4, 1e4]);
    let spans = said[2..].iter().map(|s| (s.results[0].f64s()[0] - said[0].results[0].f64s()[0]).abs());
    assert!(spans.into_iter().all(|span| span < 0.1));
    let said = under("sum(x * y)", "f32", [1.1, -1.1, 2.3, -2.3, 3.7, -3.7], [1e4, 1e4, 1e4, 1e4, 1e4, 1e4 + 1e-3]);
    let exact = said[0].results[0].f64s()[0];
    assert!(said[2..].iter().any(|s| (s.results[0].f64s()[0] - exact).abs() > 1e-2 * exact.abs()));
}

#[test]
fn what_moves_or_chooses_changes_no_number_and_equals_stay_equal() {
    for body in ["flip(x)", "-abs(x)", "maximum(x, y)", "where(x < y, x, y)"] {
        let said = under(body, "f32[6]", X, Y);
        assert!(said.iter().all(|s| s.results[0] == said[0].results[0]), "{body}");
    }
    for s in under("exp(x * y)", "f32[6]", X, Y) {
        assert_eq!(s.results[0].f64s()[0], s.results[0].f64s()[3]);
    }
}
