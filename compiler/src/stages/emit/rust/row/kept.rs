//! What makes long rows fast: scalars that are computed once and kept for later passes, two vectors at a time, and memory
//! that is asked for before it is needed. In: a row kernel. Out: parts of its loops. Always: a kept scalar is the same in
//! every pass that uses it.

use super::super::arith;
use super::super::variables::{slot_name, variable};
use super::{Row, roots};
use crate::ir::DType;
use crate::ir::dim::Dim;
use crate::ir::kernel::{Expr, ExprId, Load, Pass};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The longest row of which scalars are kept: it stays in the nearest cache beside what is read.
const KEPT: i64 = 4096;
/// The shortest axis that fills two vectors often enough.
const TWICE: i64 = 64;
/// The fewest columns that are summed four vectors at a time, and the most scalars that then find registers.
const COLUMNS: i64 = 128;
const FEW: usize = 6;
/// The cost from which on it is better to keep a scalar than to compute it again: that of an exponential.
const MUCH: i64 = 16;
/// How many words ahead a map asks for: far enough to hide the way from the last cache.
const AHEAD: usize = 1024;

impl Row<'_> {
    /// For each scalar that costs much and that several passes over a short row use, the first of them.
    pub(super) fn kept(&self, passes: &[Pass]) -> Vec<Option<usize>> {
        let scalars = &self.kernel.scalars;
        let (mut first, mut kept) = (vec![None; scalars.len()], vec![None; scalars.len()]);
        if self.keep_len().is_none() {
            return kept;
        }
        for (number, pass) in passes.iter().enumerate() {
            let mut needed = vec![false; scalars.len()];
            roots(std::slice::from_ref(pass), &[]).into_iter().for_each(|r| needed[r] = true);
            for id in (0..scalars.len()).rev().filter(|&id| self.depths[id] > self.parallel.len()) {
                if needed[id] {
                    match first[id] {
                        Some(_) => kept[id] = first[id],
                        None if self.costs_much(id) => first[id] = Some(number),
                        None => {}
                    }
                    if kept[id].is_none() {
                        scalars[id].operands(&mut |o| needed[o] = true);
                    }
                }
            }
        }
        kept
    }

    /// The length of a row that can be kept: its only axis runs through the lanes.
    fn keep_len(&self) -> Option<usize> {
        let &[axis] = self.reduced else { return None };
        let len = self.kernel.axes[axis].as_const().filter(|&n| n <= KEPT)?;
        (self.printer.vector == Some(axis)).then_some(len as usize)
    }

    fn costs_much(&self, id: ExprId) -> bool {
        match &self.kernel.scalars[id] {
            Expr::Map(op, _) => self.printer.dtype(id) == DType::F32 && op.cost() >= MUCH,
            Expr::Load { .. }
            | Expr::Const(_)
            | Expr::Extent(_)
            | Expr::Index(_)
            | Expr::Inside(_)
            | Expr::Convert(..)
            | Expr::Accumulated { .. } => false,
        }
    }

    /// Whether a scalar was kept by an earlier pass.
    pub(super) fn is_back(&self, id: ExprId) -> bool {
        self.kept[id].is_some_and(|first| first < self.pass)
    }

    /// The memory of what is kept.
    pub(super) fn keeps(&self) -> TokenStream {
        let len = Literal::usize_unsuffixed(self.keep_len().unwrap_or_default());
        let names = (0..self.kept.len()).filter(|&id| self.kept[id].is_some()).map(kept_name);
        quote!(#(let mut #names = [0f32; #len];)*)
    }

    pub(super) fn keep(&self, id: ExprId) -> TokenStream {
        let (name, value, at) = (kept_name(id), variable(id), self.reduced.iter().map(|&axis| arith::axis(axis)));
        quote!(s.store_f(&mut #name, #(#at)*, at, #value);)
    }

    pub(super) fn restore(&self, id: ExprId) -> TokenStream {
        let (name, value, at) = (kept_name(id), variable(id), self.reduced.iter().map(|&axis| arith::axis(axis)));
        quote!(let #value = s.load_f(&#name, #(#at)*, at);)
    }

    /// How many vectors at a time are fastest.
    pub(super) fn vectors(&self, passes: &[Pass]) -> usize {
        match self.pays_twice(passes) {
            true => 2,
            false if self.sums_columns() => 4,
            false => 1,
        }
    }

    /// Whether rows that may lie far apart are summed up to one: the more of a row is read at once, the better.
    fn sums_columns(&self) -> bool {
        let Some(extent) = self.printer.vector.and_then(|axis| self.kernel.axes[axis].as_const()) else { return false };
        let summed = !self.reduced.is_empty() && !self.lanes_are_reduced();
        summed && extent >= COLUMNS && self.kernel.scalars.len() <= FEW
    }

    /// Whether two vectors at a time are faster: where instructions would wait for each other.
    fn pays_twice(&self, passes: &[Pass]) -> bool {
        let Some(axis) = self.printer.vector else { return false };
        let long = match self.kernel.axes[axis].as_const() {
            Some(extent) => extent >= TWICE,
            None => self.reduced.is_empty(),
        };
        let sums = self.lanes_are_reduced() && passes.iter().any(|pass| !pass.accumulators.is_empty());
        long && (sums || (0..self.kernel.scalars.len()).any(|id| self.costs_much(id)))
    }

    /// Asks for what a row reads that comes so many rows later, or a map a little later.
    pub(super) fn fetches(&self, rows: i64) -> TokenStream {
        let Some(&outer) = self.parallel.last().filter(|_| !self.kernel.schedule.streamed.is_empty()) else {
            return quote!();
        };
        let ahead = self.kernel.scalars.iter().filter_map(Expr::load).filter_map(|Load { slot, index, guards }| {
            if self.kernel.slots[slot].write || !guards.is_empty() || !index.is_affine() {
                return None;
            }
            let along = self.printer.lane_stride(index)?;
            let step = match self.reduced.is_empty() {
                true => Dim::from(AHEAD as i64),
                false => index.stride(outer)? * Dim::from(rows),
            };
            let (data, at, text) = (slot_name(slot), self.printer.place(slot, index), arith::dim(&step));
            (along.is(1) && step != Dim::default()).then(|| quote!(s.fetch(#data, #at + #text);))
        });
        quote!(#(#ahead)*)
    }
}

/// The memory of a scalar that is kept.
fn kept_name(id: ExprId) -> Ident {
    format_ident!("kept{id}")
}
