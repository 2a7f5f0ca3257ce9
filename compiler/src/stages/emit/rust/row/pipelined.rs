//! The first pass over a row in one loop with the last one over the row before it (software pipelining). In: a row kernel whose
//! schedule says so. Out: parts of its loops. Always: every sum is made in the same order as without.
//!
//! The first pass over a row waits for memory that is read, the last one for memory that is written, and between them nothing
//! is moved. In one loop they wait together.

use super::super::arith;
use super::super::scalar::constant;
use super::Printed;
use crate::ir::kernel::Pass;
use crate::ir::rows::roots;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

impl Printed<'_> {
    /// Prepares the first pass over a row that the caller names, and gives the loop over the first row of all.
    pub(super) fn run_ahead(&mut self, axis: usize, passes: &[Pass]) -> TokenStream {
        let (pass, known) = (&passes[0], self.known.clone());
        self.pass = 0;
        let definitions = self.define(&roots(std::slice::from_ref(pass), &[]), self.row.parallel.len() + 1);
        self.known = known;
        let updates = pass.accumulators.iter().enumerate().map(|(slot, a)| self.combined(&running(slot), a));
        let body = quote!(#definitions #(#updates)*);
        self.ahead = Some(body.clone());
        let (starts, row) = (self.neutrals(pass), arith::axis(axis));
        let starts = starts.map(|(name, value)| quote!(let mut #name = #value;));
        let looped = self.around(self.row.reduced[0], body);
        quote!(#(#starts)* if count > 0 { let #row = first; #looped })
    }

    /// What stands before the last pass.
    pub(super) fn restart(&self, passes: &[Pass]) -> TokenStream {
        let starts = self.neutrals(&passes[0]).map(|(name, value)| quote!(#name = #value;));
        quote!(#(#starts)*)
    }

    /// What the loop of the last pass does for the next row.
    pub(super) fn next_row(&self) -> TokenStream {
        let (Some(body), &[axis]) = (&self.ahead, self.row.parallel) else { return quote!() };
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
