//! Contractions of f64.
//!
//! In: axes with roles, two operands of f64, an epilogue. Out: for every point of the Batch, M and N axes the sum over the K
//! axes, handed to the epilogue while it is in cache. Always: each sum runs in ascending order of K, in blocks whose sums are
//! added up plainly, and depends neither on the number of threads nor on how the work is cut.
//!
//! A matrix times a vector is read once, in its order (`gemv`). Everything else are the loops of Goto and van de Geijn, *Anatomy
//! of high-performance matrix multiplication*, 2008, around a register tile (`blocks`, `cut`, `tile`).

mod blocks;
mod cut;
mod gemv;
#[cfg(test)]
pub(super) mod tests;
mod tile;

use super::drive::{self, Call};
use super::epilogue;
use super::plan::Plan;
use super::{Contract, Epilogue, Output, check_extents};
use crate::Family;

/// Computes `contract` on at most `threads` threads, and hands each tile of sums to `epilogue`.
///
/// # Panics
/// If an operand or output reaches outside its slice, outputs overlap themselves, or there are more multiplications than can
/// be counted, which the compiler has excluded.
pub fn contract_wide<I: Family, E: Epilogue<f64>>(
    isa: I,
    threads: usize,
    contract: &Contract<'_, f64>,
    outputs: &mut [Output<'_, f64>],
    epilogue: &E,
) {
    check_extents(contract.axes);
    let finish = epilogue::Finish(isa, epilogue);
    let call = drive::call(isa.set(), threads, if E::PLAIN { None } else { Some(&finish) });
    drive(&call, contract, outputs);
}

/// Plans the work and does it.
#[inline(never)]
fn drive(call: &Call<'_, f64>, contract: &Contract<'_, f64>, outputs: &mut [Output<'_, f64>]) {
    let plan = Plan::new(call, contract, outputs);
    if plan.batch.total == 0 || plan.m.total == 0 || plan.n.total == 0 {
        return;
    }
    let call = Call { threads: plan.threads(call.threads), ..*call };
    if !gemv::gemv(&call, &plan) {
        blocks::blocks(&call, &plan);
    }
}
