//! Scalars that a pass stores for later ones, and memory that is asked for before it is needed. In: a row kernel, whose schedule
//! says which. Out: parts of its loops. Always: a scalar that is read back is the same in every pass that uses it.

use super::super::arith;
use super::super::variables::{slot_name, variable};
use super::Printed;
use crate::ir::kernel::{ExprId, Load};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

impl Printed<'_> {
    /// The pass that stores a scalar.
    pub(super) fn buffered(&self, id: ExprId) -> Option<usize> {
        self.kernel.schedule.rows.buffers.iter().find(|buffered| buffered.scalar == id).map(|buffered| buffered.pass)
    }

    /// Whether a scalar was stored by an earlier pass.
    pub(super) fn is_back(&self, id: ExprId) -> bool {
        self.buffered(id).is_some_and(|first| first < self.pass)
    }

    /// The memory of what is stored.
    pub(super) fn buffers(&self) -> TokenStream {
        let len = self.row.reduced.iter().find_map(|&axis| self.kernel.axes[axis].as_const()).unwrap_or_default();
        let len = Literal::usize_unsuffixed(len as usize);
        let names = self.kernel.schedule.rows.buffers.iter().map(|buffered| buffer_name(buffered.scalar));
        quote!(#(let mut #names = [0f32; #len];)*)
    }

    pub(super) fn keep(&self, id: ExprId) -> TokenStream {
        let (name, value, at) = (buffer_name(id), variable(id), self.row.reduced.iter().map(|&axis| arith::axis(axis)));
        quote!(s.store_f(&mut #name, #(#at)*, at, #value);)
    }

    pub(super) fn restore(&self, id: ExprId) -> TokenStream {
        let (name, value, at) = (buffer_name(id), variable(id), self.row.reduced.iter().map(|&axis| arith::axis(axis)));
        quote!(let #value = s.load_f(&#name, #(#at)*, at);)
    }

    /// Asks for what is read soon.
    pub(super) fn prefetches(&self) -> TokenStream {
        let ahead = self.kernel.schedule.rows.prefetches.iter().filter_map(|prefetch| {
            let Load { slot, index, .. } = self.kernel.scalars[prefetch.load].load()?;
            let (data, at, text) = (slot_name(slot), self.printer.place(slot, index), arith::dim(&prefetch.distance));
            Some(quote!(s.fetch(#data, #at + #text);))
        });
        quote!(#(#ahead)*)
    }
}

/// The memory of a scalar that is stored.
fn buffer_name(id: ExprId) -> Ident {
    format_ident!("kept{id}")
}
