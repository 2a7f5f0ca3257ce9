//! Maps and rows: nested loops, one of whose axes runs through the lanes.
//!
//! In: a row kernel and what its schedule says of its loops. Out: their code. Always: every scalar is computed in the outermost
//! loop in which it is known: below the axes that it varies with, and after the pass whose sums it uses.

mod blocks;
mod buffers;
mod pipelined;

use super::arith;
use super::scalar::Printer;
use super::variables::{accumulator, skip_name, suffix_of_lanes, variable};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, ExprId, Kernel, Pass};
use crate::ir::prim::{ArgOp, ReduceOp};
use crate::ir::rows::{Row, index_values, roots};
use crate::ir::schedule::Block;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The body of a row kernel, over the slices of its slots; of a part of it where threads share it.
pub(super) fn body(kernel: &Kernel) -> TokenStream {
    let Some(row) = Row::of(kernel) else { unreachable!("printed for row kernels only") };
    let schedule = &kernel.schedule;
    let mut printed = Printed {
        printer: Printer::new(kernel, schedule.vector),
        kernel,
        row,
        depths: row.depths(),
        known: vec![false; kernel.scalars.len()],
        pass: 0,
        ahead: None,
    };
    if let Some(threads) = &schedule.rows.threads {
        printed.printer.cut = threads.slots.iter().map(|(slot, _)| *slot).collect();
    }
    let (buffers, loops) = (printed.buffers(), printed.nest(0));
    let skips = schedule.streamed.iter().map(|&slot| {
        let (name, len) = (skip_name(slot), arith::dim(&kernel.slots[slot].len));
        quote!(let #name = s.skip(#len);)
    });
    quote!(#buffers #(#skips)* #loops)
}

struct Printed<'a> {
    printer: Printer<'a>,
    kernel: &'a Kernel,
    row: Row<'a>,
    /// How many loops are around each scalar at least.
    depths: Vec<usize>,
    /// The scalars that are in scope.
    known: Vec<bool>,
    /// The pass that is printed.
    pass: usize,
    /// The body of the first pass, where that runs over the next row beside the last one.
    ahead: Option<TokenStream>,
}

impl Printed<'_> {
    /// Definitions of the scalars that the roots need, as far as they are known at this depth.
    fn define(&mut self, roots: &[ExprId], depth: usize) -> TokenStream {
        let mut needed = vec![false; self.kernel.scalars.len()];
        roots.iter().for_each(|&r| needed[r] = true);
        for id in (0..needed.len()).rev() {
            if needed[id] && !self.known[id] && !self.is_back(id) {
                self.kernel.scalars[id].operands(&mut |o| needed[o] = true);
            }
        }
        let mut definitions = vec![];
        for (id, _) in needed.iter().enumerate().filter(|&(_, &needed)| needed) {
            if !self.known[id] && self.depths[id] <= depth {
                self.known[id] = true;
                definitions.push(match self.is_back(id) {
                    true => self.restore(id),
                    false => self.printer.define(id),
                });
                definitions.extend((self.buffered(id) == Some(self.pass)).then(|| self.keep(id)));
            }
        }
        quote!(#(#definitions)*)
    }

    /// A loop over an axis; the body sees `at` where the axis runs through the lanes.
    fn around(&self, axis: usize, inner: TokenStream) -> TokenStream {
        let (name, extent) = (arith::axis(axis), arith::dim(&self.kernel.axes[axis]));
        let threads = &self.kernel.schedule.rows.threads;
        let is_shared = threads.as_ref().is_some_and(|threads| threads.axis == axis);
        match (self.printer.vector == Some(axis), is_shared) {
            (true, true) => quote!(rt::sweep!(S, r, at, count, { let #name = first + r; #inner });),
            (true, false) => quote!(rt::sweep!(S, #name, at, #extent, { #inner });),
            (false, true) => quote!(for #name in first..first + count { #inner }),
            (false, false) => quote!(for #name in 0..#extent { #inner }),
        }
    }

    /// The loops over the parallel axes from `depth` on.
    fn nest(&mut self, depth: usize) -> TokenStream {
        let before = self.known.clone();
        // What the first sums do not depend on is known before the loops.
        let early: Vec<ExprId> = self.early();
        let definitions = self.define(&early, depth);
        let inner = match self.row.parallel.get(depth) {
            Some(&axis) => {
                let first = self.kernel.schedule.rows.pipelined.then(|| self.run_ahead(axis, self.row.passes));
                let inner = self.nest(depth + 1);
                let looped = self.around(axis, inner);
                quote!(#first #looped)
            }
            None => self.row(),
        };
        self.known = before;
        quote!(#definitions #inner)
    }

    /// The scalars that use no sum of this row.
    fn early(&self) -> Vec<ExprId> {
        let mut late: Vec<bool> = vec![];
        for expr in &self.kernel.scalars {
            let mut is_late = matches!(expr, Expr::Accumulated { .. });
            expr.operands(&mut |o| is_late |= late[o]);
            late.push(is_late);
        }
        let needed = self.kernel.needed(&roots(self.row.passes, self.row.stores));
        (0..late.len()).filter(|&id| needed[id] && !late[id]).collect()
    }

    /// One row: the passes and the stores after them.
    fn row(&mut self) -> TokenStream {
        let Row { passes, stores, .. } = self.row;
        let depth = self.row.parallel.len();
        let mut out = quote!();
        for (number, pass) in passes.iter().enumerate() {
            self.pass = number;
            let roots = roots(std::slice::from_ref(pass), &[]);
            let finish = pass.accumulators.iter().enumerate().map(|(slot, a)| self.finish(number, slot, a));
            if number == 0 && self.ahead.is_some() {
                let names = (0..pass.accumulators.len()).map(|slot| (accumulator(0, slot), pipelined::running(slot)));
                let starts = names.map(|(name, running)| quote!(let #name = #running;));
                out = quote!(#(#starts)* #(#finish)*);
                continue;
            }
            let is_beside = self.ahead.is_some() && number + 1 == passes.len();
            let block = self.kernel.schedule.rows.blocks.iter().find(|block| block.pass == number).copied();
            let (sums, total) = match block {
                Some(_) => (self.start_sums(number, pass), self.finish_sums(number, pass)),
                None => Default::default(),
            };
            let finish = quote!(#total #(#finish)*);
            let definitions = self.define(&roots, depth);
            let known = self.known.clone();
            let restart = is_beside.then(|| self.restart(passes));
            let looped = self.reduced_nest(depth, (number, is_beside), pass, &roots, block);
            self.known = known;
            let start = pass.accumulators.iter().enumerate().map(|(slot, a)| self.start(number, slot, a));
            out = quote!(#out #definitions #(#start)* #sums #restart #looped #finish);
        }
        let roots: Vec<ExprId> = stores.iter().map(|s| s.value).collect();
        let mut needed = roots.clone();
        needed.extend(index_values(stores));
        let definitions = self.define(&needed, depth);
        let fetches = if passes.is_empty() { self.prefetches() } else { quote!() };
        let stores = stores.iter().map(|s| self.printer.store(s));
        quote!(#out #fetches #definitions #(#stores)*)
    }

    /// The loops over the reduced axes of a pass, beside the first pass over the next row or not.
    fn reduced_nest(
        &mut self,
        depth: usize,
        (number, is_beside): (usize, bool),
        pass: &Pass,
        roots: &[ExprId],
        block: Option<Block>,
    ) -> TokenStream {
        let at = depth - self.row.parallel.len();
        match self.row.reduced.get(at) {
            Some(&axis) => {
                let definitions = self.define(roots, depth + 1);
                let inner = self.reduced_nest(depth + 1, (number, is_beside), pass, roots, block);
                let inner = quote!(#definitions #inner);
                match block.filter(|block| block.axis == axis) {
                    Some(block) => self.blocks(block, number, pass, inner),
                    None => self.around(axis, inner),
                }
            }
            None => {
                let updates = pass.accumulators.iter().enumerate().map(|(slot, a)| self.update(number, slot, a));
                let stores = pass.stores.iter().map(|s| self.printer.store(s));
                // The first pass waits for memory, the second one need not.
                let fetches = if number == 1 { self.prefetches() } else { quote!() };
                let next = is_beside.then(|| self.next_row());
                quote!(#fetches #(#updates)* #(#stores)* #next)
            }
        }
    }

    fn start(&self, pass: usize, slot: usize, a: &Accumulator) -> TokenStream {
        let name = accumulator(pass, slot);
        let dtype = self.printer.dtype(a.value);
        let value = super::scalar::constant(a.op.neutral(dtype));
        match a.op {
            AccumulatorOp::Reduce(_) => quote!(let mut #name = #value;),
            AccumulatorOp::Arg(_) => {
                let best = format_ident!("best{pass}_{slot}");
                quote!(let mut #best = #value; let mut #name = s.splat_u(0);)
            }
        }
    }

    fn update(&self, pass: usize, slot: usize, a: &Accumulator) -> TokenStream {
        let (name, value) = (accumulator(pass, slot), variable(a.value));
        match a.op {
            AccumulatorOp::Reduce(_) => self.combined(&name, a),
            AccumulatorOp::Arg(op) => {
                let suffix = suffix_of_lanes(self.printer.dtype(a.value));
                let best = format_ident!("best{pass}_{slot}");
                let select = format_ident!("select_{suffix}");
                let (low, high) = match op {
                    ArgOp::Max => (quote!(#best), quote!(#value)),
                    ArgOp::Min => (quote!(#value), quote!(#best)),
                };
                // The first NaN is the extreme: what is not known to be worse is better, until the best is NaN.
                let [lt, le, eq] = ["lt", "le", "eq"].map(|name| format_ident!("{name}_{suffix}"));
                let better = match self.printer.dtype(a.value).is_float() {
                    true => quote!(s.and_m(s.not_m(s.#le(#high, #low)), s.#eq(#best, #best))),
                    false => quote!(s.#lt(#low, #high)),
                };
                let position = self.position();
                quote!({
                    let better = #better;
                    #best = s.#select(better, #value, #best);
                    #name = s.select_u(better, s.splat_u((#position) as u32), #name);
                })
            }
        }
    }

    /// Combines a value with an accumulator that reduces, in a variable of any name.
    fn combined(&self, name: &Ident, a: &Accumulator) -> TokenStream {
        let AccumulatorOp::Reduce(op) = a.op else { unreachable!("an accumulator that reduces") };
        let (value, suffix) = (variable(a.value), suffix_of_lanes(self.printer.dtype(a.value)));
        let combine = format_ident!("{}_{suffix}", combine(op));
        let new = quote!(s.#combine(#name, #value));
        match self.row.lanes_are_reduced() {
            true => {
                let select = format_ident!("select_at_{suffix}");
                quote!(#name = s.#select(at, #new, #name);)
            }
            false => quote!(#name = #new;),
        }
    }

    /// The row-major position in the reduced axes.
    fn position(&self) -> TokenStream {
        self.row.reduced.iter().fold(quote!(0), |sum, &axis| {
            let (name, extent) = (arith::axis(axis), arith::dim(&self.kernel.axes[axis]));
            quote!((#sum) * (#extent) + #name)
        })
    }

    fn finish(&self, pass: usize, slot: usize, a: &Accumulator) -> TokenStream {
        let name = accumulator(pass, slot);
        let suffix = suffix_of_lanes(self.printer.dtype(a.value));
        match a.op {
            AccumulatorOp::Reduce(op) if self.row.lanes_are_reduced() => {
                let (reduce, splat) =
                    (format_ident!("reduce_{}_{suffix}", combine(op)), format_ident!("splat_{suffix}"));
                quote!(let #name = s.#splat(s.#reduce(#name));)
            }
            AccumulatorOp::Reduce(_) | AccumulatorOp::Arg(_) => quote!(),
        }
    }
}

/// The method that combines two values.
fn combine(op: ReduceOp) -> &'static str {
    match op {
        ReduceOp::Sum => "add",
        ReduceOp::Prod => "mul",
        ReduceOp::Max => "max",
        ReduceOp::Min => "min",
    }
}
