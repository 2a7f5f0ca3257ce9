//! Products with a parameter that is read in fewer bits.
//!
//! In: a contraction without windows, which of its operands is a parameter, and what both are rounded to. Out: its outputs.
//! Always: every element of both operands is rounded before it is multiplied, the same way on every instruction set, in a
//! session and without one: to the nearest bf16, ties to even, or to the nearest integer times the scale of its row or
//! column ([`round`]). Sums of bf16 products are f32 in ascending order of K, or of its blocks; sums of integers are exact, so those
//! results are the same to the last bit everywhere. How work is cut changes nothing in any sum.

#[cfg(target_arch = "x86_64")]
mod amx;
mod panels;
mod round;
mod rows;
#[cfg(test)]
mod tests;
mod unit;
mod vectors;
#[cfg(target_arch = "x86_64")]
mod vnni;
mod widened;
mod work;

use super::dot;
use super::drive::{self, Call};
use super::epilogue::{self, Epilogue};
use super::layout::MAX_AXES;
use super::pack_once::Steady;
use super::plan::{MAX_OUTPUTS, Plan};
use super::{Contract, Operand, Output, Role};
use crate::Family;
use crate::scratch::LINE;
use panels::Panels;
use rows::Rows;
use unit::Unit;
use work::{Goals, Work};

/// An operand of a contraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// The one that varies with M axes.
    Left,
    /// The one that varies with N axes.
    Right,
}

/// What operands are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// The upper half of an f32.
    Bf16,
    /// Integers from -127 to 127 times a scale.
    Int8,
}

impl Precision {
    /// Elements in a word of four bytes.
    fn per_word(self) -> usize {
        match self {
            Precision::Bf16 => 2,
            Precision::Int8 => 4,
        }
    }
}

/// How a contraction reads its operands.
#[derive(Clone, Copy, Debug)]
pub struct Narrow {
    /// The operand that is a parameter: the same for all batch indices, and kept by sessions.
    pub parameter: Factor,
    /// What both operands are rounded to.
    pub precision: Precision,
}

/// Columns of a panel.
const WIDTH: usize = LINE;

/// How the elements of a row or of a column lie in words of four bytes.
#[derive(Clone, Copy)]
struct Depth {
    /// Elements.
    k: usize,
    /// Words that hold them.
    words: usize,
    /// The same with zeros, up to whole lines.
    padded: usize,
}

impl Depth {
    fn new(precision: Precision, k: usize) -> Depth {
        let words = k.div_ceil(precision.per_word());
        Depth { k, words, padded: words.next_multiple_of(LINE) }
    }
}

/// Computes `contract`, of which one operand is a parameter, on at most `threads` threads, from operands that are rounded
/// first. Outside of a session the rounded parameter may be kept in `kept`.
///
/// # Panics
/// If an operand or output reaches outside its slice, outputs overlap themselves, operands have windows, or sums of integers
/// may be larger than an i32, which the compiler has excluded.
pub fn contract_narrow<I: Family, E: Epilogue>(
    isa: I,
    threads: usize,
    narrow: Narrow,
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    epilogue: &E,
    kept: Option<&mut Steady>,
) {
    super::check_extents(contract.axes);
    let finish = epilogue::Finish(isa, epilogue);
    let call = drive::call(isa.set(), threads, if E::PLAIN { None } else { Some(&finish) });
    product(&call, narrow, None, contract, outputs, kept);
}

/// Computes the contraction on `unit`, or on the one that suits it best.
fn product(
    call: &Call<'_>,
    narrow: Narrow,
    unit: Option<Unit>,
    contract: &Contract<'_>,
    outputs: &mut [Output<'_>],
    kept: Option<&mut Steady>,
) {
    let axes = contract.axes;
    let extent = |role| axes.iter().filter(|axis| axis.role == role).map(|axis| axis.extent).product::<usize>();
    let (batches, m, n) = (extent(Role::Batch), extent(Role::M), extent(Role::N));
    if batches * m * n == 0 || outputs.is_empty() {
        return;
    }
    let depth = Depth::new(narrow.precision, extent(Role::K));
    // The parameter has columns, the other operand has rows.
    let (data, parameter, role, rows, columns) = match narrow.parameter {
        Factor::Right => (&contract.lhs, &contract.rhs, Role::N, m, n),
        Factor::Left => (&contract.rhs, &contract.lhs, Role::M, n, m),
    };
    let Narrow { parameter: factor, precision } = narrow;
    let unit = unit.unwrap_or_else(|| Unit::best(call, precision, rows));
    let panels = Panels { isa: call.isa, precision, axes, operand: parameter, role, columns, depth };
    let is_transposed = factor == Factor::Left;
    let work = |data, goals, apart| Work {
        call,
        unit,
        precision,
        data,
        batches,
        rows,
        columns,
        depth,
        is_transposed,
        goals,
        apart,
    };
    let mut targets = [dot::NOWHERE; MAX_OUTPUTS];
    if let Some(shape) = dot::merged(axes, &contract.lhs, &contract.rhs, &outputs[0])
        && let Some(data) = lines(&shape, data, is_transposed)
        && dot::place(outputs[0].strides, outputs, (shape.m, shape.n), &mut targets)
    {
        let targets = &targets[..outputs.len()];
        let goals = Goals::Plain { targets, axes: shape.batch };
        let work = work(data, goals, dot::apart(targets, m, n));
        panels.lend(kept, |words| work.run(words));
        return;
    }
    let plan = Plan::new(call, contract, outputs);
    let direct = plan.lhs.bounded().is_empty() && plan.rhs.bounded().is_empty();
    assert!(direct, "contract: an operand of few bits has windows");
    let data = match factor {
        Factor::Right => Rows::Any { plan: &plan, side: &plan.lhs, outer: &plan.m },
        Factor::Left => Rows::Any { plan: &plan, side: &plan.rhs, outer: &plan.n },
    };
    let work = work(data, Goals::Planned(&plan), plan.apart);
    panels.lend(kept, |words| work.run(words));
}

/// The rows of the operand that is no parameter, if they are evenly spaced and contiguous along K.
fn lines<'a>(shape: &dot::Shape, data: &Operand<'a>, is_transposed: bool) -> Option<Rows<'a>> {
    let (outer, k) = (if is_transposed { shape.n } else { shape.m }, shape.k);
    let (step, along) = if is_transposed { (outer.rhs, k.rhs) } else { (outer.lhs, k.lhs) };
    if shape.n.lhs != 0 || shape.m.rhs != 0 || k.extent > 1 && along != 1 {
        return None;
    }
    let inside = dot::within(data.base, [(outer.extent, step), (k.extent, 1)], data.data.len());
    assert!(inside, "contract: an operand reaches outside its slice");
    Some(Rows::Lines { from: data.data.as_ptr().wrapping_offset(data.base), step })
}
