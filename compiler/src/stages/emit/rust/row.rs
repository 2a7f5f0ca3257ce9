//! Maps and rows: nested loops, one of whose axes runs through the lanes.
//!
//! Every scalar is computed in the outermost loop in which it is known: below the axes that it varies with, and
//! after the pass whose sums it uses.

mod ahead;
mod blocks;
mod kept;

use super::arith;
use super::scalar::Printer;
use super::variables::{accumulator, skip_name, suffix_of_lanes, variable};
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index, Ranges};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, ExprId, Kernel, Pass, Skeleton, Store};
use crate::ir::lanes::{self, LANES};
use crate::ir::prim::{ArgOp, ReduceOp};
use blocks::Block;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// The body of a row kernel, over the slices of its slots; of a part of it where the kernel can be cut. And how
/// many vectors at a time are fastest.
pub(super) fn body(kernel: &Kernel, cut: Option<&Cut>) -> (TokenStream, usize) {
    let Skeleton::Row { parallel, reduced, passes, stores } = &kernel.skeleton else {
        unreachable!("printed for row kernels only")
    };
    let vector = kernel.schedule.vector;
    let mut row = Row {
        printer: Printer::new(kernel, vector),
        kernel,
        parallel,
        reduced,
        cut: cut.map(|c| c.axis),
        depths: vec![],
        known: vec![false; kernel.scalars.len()],
        kept: vec![],
        pass: 0,
        ahead: None,
    };
    row.printer.cut = cut.map(|c| c.slots.iter().map(|(slot, _)| *slot).collect()).unwrap_or_default();
    row.depths = row.depths();
    row.kept = row.kept(passes);
    let vectors = row.vectors(passes);
    let (keeps, loops) = (row.keeps(), row.nest(0, passes, stores));
    let streamed = &kernel.schedule.streamed;
    let skips = streamed.iter().map(|&slot| {
        let (name, len) = (skip_name(slot), arith::dim(&kernel.slots[slot].len));
        quote!(let #name = s.skip(#len);)
    });
    (quote!(#keeps #(#skips)* #loops), vectors)
}

struct Row<'a> {
    printer: Printer<'a>,
    kernel: &'a Kernel,
    parallel: &'a [usize],
    reduced: &'a [usize],
    /// The axis of which this part of the kernel runs `count` positions from `first` on.
    cut: Option<usize>,
    /// How many loops are around each scalar at least.
    depths: Vec<usize>,
    /// The scalars that are in scope.
    known: Vec<bool>,
    /// The first pass of those that it keeps for later ones.
    kept: Vec<Option<usize>>,
    /// The pass that is printed.
    pass: usize,
    /// The body of the first pass, where that runs over the next row beside the last one.
    ahead: Option<TokenStream>,
}

impl Row<'_> {
    /// The number of loops that each scalar needs around it, parallel axes first.
    fn depths(&self) -> Vec<usize> {
        let order: Vec<usize> = self.parallel.iter().chain(self.reduced).copied().collect();
        let mut depths: Vec<usize> = vec![];
        for (id, expr) in self.kernel.scalars.iter().enumerate() {
            let mut depth = order.iter().rposition(|&axis| self.printer.varying.with(id, axis)).map_or(0, |p| p + 1);
            // A sum is known where its pass has ended, inside of all rows.
            if let Expr::Accumulated { .. } = expr {
                depth = self.parallel.len();
            }
            expr.operands(&mut |o| depth = depth.max(depths[o]));
            depths.push(depth);
        }
        depths
    }

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
                definitions.extend((self.kept[id] == Some(self.pass)).then(|| self.keep(id)));
            }
        }
        quote!(#(#definitions)*)
    }

    /// A loop over an axis; the body sees `at` where the axis runs through the lanes.
    fn around(&self, axis: usize, inner: TokenStream) -> TokenStream {
        let (name, extent) = (arith::axis(axis), arith::dim(&self.kernel.axes[axis]));
        match (self.printer.vector == Some(axis), self.cut == Some(axis)) {
            (true, true) => quote!(rt::sweep!(S, r, at, count, { let #name = first + r; #inner });),
            (true, false) => quote!(rt::sweep!(S, #name, at, #extent, { #inner });),
            (false, true) => quote!(for #name in first..first + count { #inner }),
            (false, false) => quote!(for #name in 0..#extent { #inner }),
        }
    }

    /// The loops over the parallel axes from `depth` on.
    fn nest(&mut self, depth: usize, passes: &[Pass], stores: &[Store]) -> TokenStream {
        let before = self.known.clone();
        // What the first sums do not depend on is known before the loops.
        let early: Vec<ExprId> = self.early(passes, stores);
        let definitions = self.define(&early, depth);
        let inner = match self.parallel.get(depth) {
            Some(&axis) => {
                let first = self.can_run_ahead(passes, stores).then(|| self.run_ahead(axis, passes));
                let inner = self.nest(depth + 1, passes, stores);
                let looped = self.around(axis, inner);
                quote!(#first #looped)
            }
            None => self.row(passes, stores),
        };
        self.known = before;
        quote!(#definitions #inner)
    }

    /// The scalars that use no sum of this row.
    fn early(&self, passes: &[Pass], stores: &[Store]) -> Vec<ExprId> {
        let mut late: Vec<bool> = vec![];
        for expr in &self.kernel.scalars {
            let mut is_late = matches!(expr, Expr::Accumulated { .. });
            expr.operands(&mut |o| is_late |= late[o]);
            late.push(is_late);
        }
        let needed = self.kernel.needed(&roots(passes, stores));
        (0..late.len()).filter(|&id| needed[id] && !late[id]).collect()
    }

    /// One row: the passes and the stores after them.
    fn row(&mut self, passes: &[Pass], stores: &[Store]) -> TokenStream {
        let depth = self.parallel.len();
        let mut out = quote!();
        for (number, pass) in passes.iter().enumerate() {
            self.pass = number;
            let roots = roots(std::slice::from_ref(pass), &[]);
            let finish = pass.accumulators.iter().enumerate().map(|(slot, a)| self.finish(number, slot, a));
            if number == 0 && self.ahead.is_some() {
                let names = (0..pass.accumulators.len()).map(|slot| (accumulator(0, slot), ahead::running(slot)));
                let starts = names.map(|(name, running)| quote!(let #name = #running;));
                out = quote!(#(#starts)* #(#finish)*);
                continue;
            }
            let is_beside = self.ahead.is_some() && number + 1 == passes.len();
            // Short rows alone are worked on beside each other.
            let block = self.block(pass).filter(|_| !is_beside);
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
        let fetches = if passes.is_empty() { self.fetches(1) } else { quote!() };
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
        let at = depth - self.parallel.len();
        match self.reduced.get(at) {
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
                let fetches = if number == 1 { self.fetches(1 + i64::from(is_beside)) } else { quote!() };
                let next = is_beside.then(|| self.next_row());
                quote!(#fetches #(#updates)* #(#stores)* #next)
            }
        }
    }

    fn lanes_are_reduced(&self) -> bool {
        self.printer.vector.is_some_and(|v| self.reduced.contains(&v))
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
                let better = match self.printer.dtype(a.value).is_float() {
                    true => quote!(s.and_m(s.not_m(s.le_f(#high, #low)), s.eq_f(#best, #best))),
                    false => {
                        let lt = format_ident!("lt_{suffix}");
                        quote!(s.#lt(#low, #high))
                    }
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
        match self.lanes_are_reduced() {
            true => {
                let select = format_ident!("select_at_{suffix}");
                quote!(#name = s.#select(at, #new, #name);)
            }
            false => quote!(#name = #new;),
        }
    }

    /// The row-major position in the reduced axes.
    fn position(&self) -> TokenStream {
        self.reduced.iter().fold(quote!(0), |sum, &axis| {
            let (name, extent) = (arith::axis(axis), arith::dim(&self.kernel.axes[axis]));
            quote!((#sum) * (#extent) + #name)
        })
    }

    fn finish(&self, pass: usize, slot: usize, a: &Accumulator) -> TokenStream {
        let name = accumulator(pass, slot);
        let suffix = suffix_of_lanes(self.printer.dtype(a.value));
        match a.op {
            AccumulatorOp::Reduce(op) if self.lanes_are_reduced() => {
                let (reduce, splat) =
                    (format_ident!("reduce_{}_{suffix}", combine(op)), format_ident!("splat_{suffix}"));
                quote!(let #name = s.#splat(s.#reduce(#name));)
            }
            AccumulatorOp::Reduce(_) | AccumulatorOp::Arg(_) => quote!(),
        }
    }
}

/// How a row kernel can be cut along its outermost axis, so that parts own disjoint words of what they write.
pub(super) struct Cut {
    /// The outermost parallel axis.
    pub(super) axis: usize,
    /// Every written slot with its words for each position of that axis.
    pub(super) slots: Vec<(usize, Dim)>,
    /// Rough element operations for each position.
    pub(super) work: Dim,
}

/// Kernels with less to do than this are not worth a second thread.
const WORTH: i64 = 1 << 17;

/// The cut of a row kernel, where every write for one position stays within that position's words.
pub(super) fn cut(kernel: &Kernel) -> Option<Cut> {
    let Skeleton::Row { parallel, passes, stores, .. } = &kernel.skeleton else { return None };
    let &axis = parallel.first()?;
    let ranges = |atom: &Atom| match atom {
        Atom::Axis(a) => Some(kernel.axes[*a].clone()),
        Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => None,
    };
    let mut slots: Vec<(usize, Dim)> = vec![];
    let stored = passes.iter().flat_map(|p| &p.stores).chain(stores).map(|s| (s.slot, &s.index));
    let loaded = kernel.scalars.iter().filter_map(|e| match e {
        Expr::Load { slot, index, .. } if kernel.slots[*slot].write => Some((*slot, index)),
        _ => None,
    });
    for (slot, index) in stored.chain(loaded) {
        let stride = index.stride(axis)?;
        let rest = index.plus(&Index::axis(axis).times(&-stride.clone()));
        let known = slots.iter().find(|(s, _)| *s == slot);
        if !Ranges(&ranges).within(&rest, &stride) || known.is_some_and(|(_, s)| *s != stride) {
            return None;
        }
        if known.is_none() {
            slots.push((slot, stride));
        }
    }
    let others = kernel.axes.iter().enumerate().filter(|(a, _)| *a != axis).map(|(_, d)| d);
    let work = product(others) * Dim::from(lanes::price(kernel, kernel.schedule.vector?) * LANES / 1000);
    let all = work.clone() * kernel.axes[axis].clone();
    (!slots.is_empty() && all.as_const().is_none_or(|n| n >= WORTH)).then_some(Cut { axis, slots, work })
}

/// What a list of passes and stores computes.
fn roots(passes: &[Pass], stores: &[Store]) -> Vec<ExprId> {
    let mut roots: Vec<ExprId> = passes.iter().flat_map(|p| &p.accumulators).map(|a| a.value).collect();
    let all: Vec<Store> = passes.iter().flat_map(|p| p.stores.clone()).chain(stores.iter().cloned()).collect();
    roots.extend(all.iter().map(|s| s.value));
    roots.extend(index_values(&all));
    roots
}

/// The scalars in the indices of stores.
fn index_values(stores: &[Store]) -> Vec<ExprId> {
    let mut values = vec![];
    stores.iter().for_each(|s| s.index.values(&mut |v| values.push(v)));
    values
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
