//! The first pass over a row beside the last one over the row before it. In: a row kernel. Out: whether that can be, and parts of
//! its loops. Always: every sum is made in the same order as without.
//!
//! The first pass over a row waits for memory that is read, the last one for memory that is written, and between them nothing
//! is moved. In one loop they wait together.

use super::super::arith;
use super::super::scalar::constant;
use super::{Row, roots};
use crate::ir::kernel::{AccumulatorOp, Expr, Pass, Store};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The longest row whose sums are made in one chain for each lane: 64 additions at 16 lanes.
const SHORT: i64 = 1024;

impl Row<'_> {
    /// Whether the first pass over the next row can run beside the last one over this row: it only reduces what no kernel part
    /// writes and what no row has for itself, along the lanes, and the last one only stores, past the caches.
    pub(super) fn can_run_ahead(&self, passes: &[Pass], stores: &[Store]) -> bool {
        let ([first, .., last], &[outer], &[inner]) = (passes, self.parallel, self.reduced) else { return false };
        let loops = self.cut == Some(outer) && self.printer.vector == Some(inner) && stores.is_empty();
        let streams = last.accumulators.is_empty() && !self.kernel.schedule.streamed.is_empty();
        let reduces = first.stores.is_empty()
            && !first.accumulators.is_empty()
            && first.accumulators.iter().all(|a| matches!(a.op, AccumulatorOp::Reduce(_)))
            && !self.kept.contains(&Some(0));
        // Their sums are one chain each.
        let short = self.block(first).is_none() || self.kernel.axes[inner].as_const().is_some_and(|n| n <= SHORT);
        let needed = self.kernel.needed(&roots(std::slice::from_ref(first), &[]));
        let mut needed = needed.iter().enumerate().filter(|&(_, needed)| *needed).map(|(id, _)| id);
        loops
            && streams
            && reduces
            && short
            && needed.all(|id| {
                self.depths[id] != self.parallel.len()
                    && !matches!(&self.kernel.scalars[id], Expr::Load { slot, .. } if self.kernel.slots[*slot].write)
            })
    }

    /// Prepares the first pass over a row that the caller names, and gives the loop over the first row of all.
    pub(super) fn run_ahead(&mut self, axis: usize, passes: &[Pass]) -> TokenStream {
        let (pass, known) = (&passes[0], self.known.clone());
        self.pass = 0;
        let definitions = self.define(&roots(std::slice::from_ref(pass), &[]), self.parallel.len() + 1);
        self.known = known;
        let updates = pass.accumulators.iter().enumerate().map(|(slot, a)| self.combined(&running(slot), a));
        let body = quote!(#definitions #(#updates)*);
        self.ahead = Some(body.clone());
        let (starts, row) = (self.neutrals(pass), arith::axis(axis));
        let starts = starts.map(|(name, value)| quote!(let mut #name = #value;));
        let looped = self.around(self.reduced[0], body);
        quote!(#(#starts)* if count > 0 { let #row = first; #looped })
    }

    /// What stands before the last pass.
    pub(super) fn restart(&self, passes: &[Pass]) -> TokenStream {
        let starts = self.neutrals(&passes[0]).map(|(name, value)| quote!(#name = #value;));
        quote!(#(#starts)*)
    }

    /// What the loop of the last pass does for the next row.
    pub(super) fn next_row(&self) -> TokenStream {
        let (Some(body), &[axis]) = (&self.ahead, self.parallel) else { return quote!() };
        let row = arith::axis(axis);
        quote!(if #row + 1 < first + count { let #row = #row + 1; #body })
    }

    /// The running accumulators of a first pass, and what they start from.
    fn neutrals(&self, pass: &Pass) -> impl Iterator<Item = (Ident, TokenStream)> {
        pass.accumulators
            .iter()
            .enumerate()
            .map(|(slot, a)| (running(slot), constant(a.op.neutral(self.printer.dtype(a.value)))))
    }
}

/// The variable of an accumulator of a first pass while it runs.
pub(super) fn running(slot: usize) -> Ident {
    format_ident!("next{slot}")
}
