//! Which products read a parameter in fewer bits (CPU).
//!
//! In: a program with its precision. Out: products say which operand is a parameter and what it
//! is rounded to, for which there is one algorithm. Always: these are products of one parameter, the same for all batch indices, with what is no parameter,
//! and neither is read through a window.

use crate::ir::dim::product;
use crate::ir::kernel::{Kernel, Operand, Skeleton};
use crate::ir::precision::{Factor, Precision};
use crate::ir::program::{Buffer, BufferId, Program, Role, for_each_launch};

/// Most products of two bytes whose sum is an i32: 127² · 2¹⁷ < 2³¹.
const LONGEST: i64 = 1 << 17;

/// Chooses for all products of the program.
pub(super) fn choose(program: &mut Program) {
    let Program { precision, buffers, steps, .. } = program;
    if precision.is_narrow() {
        for_each_launch(steps, &mut |kernel, bound| {
            let chosen = parameter(kernel, bound, buffers, *precision);
            if let Some(factor) = chosen {
                kernel.schedule.narrow = Some((factor, *precision));
                kernel.schedule.algorithms = vec![];
            }
        });
    }
}

/// The factor that is a parameter, if the kernel is such a product.
fn parameter(kernel: &Kernel, bound: &[BufferId], all: &[Buffer], precision: Precision) -> Option<Factor> {
    let Skeleton::Contract { batch, k, lhs, rhs, .. } = &kernel.skeleton else { return None };
    let is_parameter = |operand: &Operand| matches!(all[bound[operand.slot].0].role, Role::Param(_));
    let (factor, operand) = match (is_parameter(lhs), is_parameter(rhs)) {
        (true, false) => (Factor::Left, lhs),
        (false, true) => (Factor::Right, rhs),
        (true, true) | (false, false) => return None,
    };
    let still = batch.iter().all(|&axis| kernel.axes[axis].is(1) || !operand.index.mentions(axis));
    let direct = lhs.windows.is_empty() && rhs.windows.is_empty();
    let length = product(k.iter().map(|&axis| &kernel.axes[axis])).as_const();
    let fits = precision != Precision::Int8 || length.is_some_and(|length| length <= LONGEST);
    (still && direct && fits).then_some(factor)
}
