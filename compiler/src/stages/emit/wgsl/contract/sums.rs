//! The sums of a contraction: the loop over slabs, blocks of the terms, and slices.
//!
//! Comes in: a contract kernel and its tile. Goes out: statements that leave an invocation's sums in its blocks `c{i}{h}` of
//! 4 × 4. Always holds: the order in which terms are added depends on nothing but the tile.

use super::{Contract, line};
use crate::ir::dim::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Operand, Reach};
use crate::ir::workgroup::Tile;

impl Contract<'_> {
    /// The blocks of 4 × 4 results that an invocation holds.
    pub(super) fn each_block(&self, mut see: impl FnMut(u32, u32)) {
        for i in 0..self.tile.thread_tile[0] / 4 {
            for h in 0..self.tile.thread_tile[1] / 4 {
                see(i, h);
            }
        }
    }

    /// All sums.
    pub(super) fn sums(&self, w: &mut String) {
        line(w, 1, format!("let terms = {};", self.count()));
        self.each_block(|i, h| line(w, 1, format!("var c{i}{h} = mat4x4<f32>();")));
        self.each_side(|side| side.declare(w, 1));
        if self.tile.block.is_some() {
            line(w, 1, format!("var total: array<mat4x4<f32>, {}>;", self.blocks_of_each()));
        }
        self.steps(w);
        if self.tile.block.is_some() {
            self.each_block(|i, h| line(w, 1, format!("c{i}{h} += {};", self.total(i, h))));
        }
        self.add_slices(w);
    }

    /// How many blocks of 4 × 4 results an invocation holds.
    fn blocks_of_each(&self) -> u32 {
        self.tile.thread_tile[0] / 4 * (self.tile.thread_tile[1] / 4)
    }

    /// The total of a block of results. Totals are wanted once in many terms: at indices that no compiler knows they lie in memory,
    /// and registers are left to the sums.
    fn total(&self, i: u32, h: u32) -> String {
        format!("total[{}u + no_bits()]", i * (self.tile.thread_tile[1] / 4) + h)
    }

    /// Adds the sums of a block of terms to the totals. What is lost by that is where the next block begins.
    fn add_up(&self, w: &mut String, indent: usize) {
        self.each_block(|i, h| {
            let total = self.total(i, h);
            line(w, indent, format!("let sum{i}{h} = add_up_block({total}, c{i}{h}, no_bits());"));
            line(w, indent, format!("{total} = sum{i}{h}.total;"));
            line(w, indent, format!("c{i}{h} = sum{i}{h}.rest;"));
        });
    }

    /// How many terms there are: fewer in a part that goes beyond the end of the outermost axis.
    fn count(&self) -> String {
        let Some((&outermost, inner)) = self.terms.split_first() else { return "1".to_owned() };
        let mut count = self.names().dim(&self.scalars.kernel.axes[outermost]);
        let windows = self.operands[0].windows.iter().filter(|window| self.ends_terms(window));
        for window in windows {
            let first = window.index.plus(&Index::axis(outermost).times(&Dim::from(-1)));
            let (extent, first) = (self.names().dim(&window.extent), self.names().index(&first));
            count = format!("min({count}, max({extent} - ({first}), 0))");
        }
        let inner = self.extent(inner);
        if inner.is(1) { count } else { format!("{count} * {}", self.names().dim(&inner)) }
    }

    /// Whether a window does nothing but end the terms of a part: both operands have it, along the outermost axis of the terms.
    pub(super) fn ends_terms(&self, window: &Reach) -> bool {
        let Some(&outermost) = self.terms.first() else { return false };
        let is_own = |(atom, stride): &(Atom, Dim)| match atom {
            Atom::Axis(axis) if *axis == outermost => stride.is(1),
            Atom::Axis(axis) => self.sides.batch.contains(axis),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => false,
        };
        let is_of_part = window.divisor == 1 && window.index.is_unsigned() && window.index.mentions(outermost);
        let index = &window.index;
        let is_in = |operand: &&Operand| operand.windows.iter().any(|o| o.index == *index && o.extent == window.extent);
        is_of_part && index.terms.iter().all(is_own) && self.operands.iter().all(is_in)
    }

    /// Whether the last slab may have fewer terms than others.
    pub(super) fn has_rest(&self) -> bool {
        let windows = &self.operands[0].windows;
        !self.extent(self.terms).is_multiple_of(self.tile.depth) || windows.iter().any(|window| self.ends_terms(window))
    }

    /// Brings the slab that begins at `k` to registers.
    fn fetch(&self, w: &mut String, indent: usize, k: &str) {
        if !self.has_rest() {
            return self.each_side(|side| side.fetch(w, indent, k, false));
        }
        line(w, indent, format!("if {k} + {} <= terms {{", self.tile.depth));
        self.each_side(|side| side.fetch(w, indent + 1, k, false));
        line(w, indent, "} else {");
        self.each_side(|side| side.fetch(w, indent + 1, k, true));
        line(w, indent, "}");
    }

    /// The loop over slabs. The next slab is on its way to registers while the present one is multiplied.
    fn steps(&self, w: &mut String) {
        let depth = self.tile.depth;
        line(w, 1, "if terms > 0 {");
        self.fetch(w, 2, "0");
        line(w, 1, "}");
        line(w, 1, format!("for (var k = 0; k < terms; k += {depth}) {{"));
        self.each_side(|side| side.put(w, 2));
        line(w, 2, "workgroupBarrier();");
        line(w, 2, format!("let next = k + {depth};"));
        line(w, 2, "if next < terms {");
        self.fetch(w, 3, "next");
        line(w, 2, "}");
        self.multiply(w, 2);
        line(w, 2, "workgroupBarrier();");
        if let Some(block) = self.tile.block {
            line(w, 2, format!("if next % {} == 0 {{", block * self.tile.slices));
            self.add_up(w, 3);
            line(w, 2, "}");
        }
        line(w, 1, "}");
    }

    fn multiply(&self, w: &mut String, indent: usize) {
        let Tile { rows, columns, depth, thread_tile, slices, block: _ } = self.tile;
        let (own, unrolled) = (depth / slices, self.tile.unrolled());
        let is_loop = unrolled < own;
        if is_loop {
            line(w, indent, format!("for (var t = 0u; t < {own}u; t += {unrolled}u) {{"));
        }
        let inner = indent + usize::from(is_loop);
        let [a, b] = self.both_sides();
        for u in 0..unrolled {
            let slice = if slices > 1 { format!("slice * {own}u + ") } else { String::new() };
            let turn = if is_loop { "t + " } else { "" };
            let depth = format!("{slice}{turn}{u}u");
            for g in 0..thread_tile[0] / 4 {
                let at = a.shared(&depth, "y", g * (rows / thread_tile[0]));
                line(w, inner, format!("let a{u}{g} = {at};"));
            }
            for h in 0..thread_tile[1] / 4 {
                let at = b.shared(&depth, "x", h * (columns / thread_tile[1]));
                line(w, inner, format!("let b{u}{h} = {at};"));
            }
            self.each_block(|i, h| line(w, inner, format!("c{i}{h} = outer_add(a{u}{i}, b{u}{h}, c{i}{h});")));
        }
        if is_loop {
            line(w, indent, "}");
        }
    }

    /// Adds the slices' blocks pairwise, one block of an invocation after the other; the first slice ends up with the sum.
    fn add_slices(&self, w: &mut String) {
        let threads = self.tile.of_slice();
        let mut half = self.tile.slices / 2;
        while half > 0 {
            let others = half * threads;
            let shared = format!("{}_c[lane % {others}u]", self.prefix);
            self.each_block(|i, h| {
                line(w, 1, format!("if slice >= {half}u && slice < {}u {{ {shared} = c{i}{h}; }}", 2 * half));
                line(w, 1, "workgroupBarrier();");
                line(w, 1, format!("if slice < {half}u {{ c{i}{h} += {shared}; }}"));
                line(w, 1, "workgroupBarrier();");
            });
            half /= 2;
        }
    }
}
