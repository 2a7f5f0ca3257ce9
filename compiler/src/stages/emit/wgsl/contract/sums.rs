//! The sums of a contraction in tiles that all devices run: the loop over slabs, blocks of the terms, and slices.
//!
//! Comes in: a contract kernel and its tile. Goes out: statements that leave an invocation's sums in its blocks `c{i}{h}` of
//! 4 × 4, and store them. Always holds: the order in which terms are added depends on nothing but the tile; slices of the sum are
//! added up in a fixed order, and so are blocks of long sums, with compensation.

use super::{Contract, line};
use crate::ir::tile::Tile;

/// A contraction and its tile.
pub(super) struct Plain<'a> {
    pub(super) contract: &'a Contract<'a>,
    pub(super) tile: Tile,
}

impl Plain<'_> {
    /// What an invocation does with its part of the tile.
    pub(super) fn body(&self) -> String {
        let Tile { rows, columns, thread_tile, slices, .. } = self.tile;
        let (across, mut w) = (columns / thread_tile[1], String::new());
        line(&mut w, 1, format!("let x = lane % {across}u;"));
        line(&mut w, 1, format!("let y = lane / {across}u % {}u;", rows / thread_tile[0]));
        if slices > 1 {
            line(&mut w, 1, format!("let slice = lane / {}u;", self.tile.of_slice()));
        }
        self.sums(&mut w);
        // Invocations that another kernel follows do not return.
        let is_followed = slices > 1 && self.contract.scalars.run.is_followed;
        if is_followed {
            line(&mut w, 1, "if slice == 0u {");
        } else if slices > 1 {
            line(&mut w, 1, "if slice > 0u { return; }");
        }
        line(&mut w, 1, "let top = row + i32(4u * y);");
        line(&mut w, 1, "let left = column + i32(4u * x);");
        self.each_block(|i, h| {
            let (top, left) = (i * 4 * (rows / thread_tile[0]), h * 4 * (columns / thread_tile[1]));
            let name = self.contract.functions;
            line(&mut w, 1, format!("{name}_block(batch, top + {top}, left + {left}, c{i}{h});"));
        });
        if is_followed {
            line(&mut w, 1, "}");
        }
        w
    }

    /// The blocks of 4 × 4 results that an invocation holds.
    fn each_block(&self, mut see: impl FnMut(u32, u32)) {
        for i in 0..self.tile.thread_tile[0] / 4 {
            for h in 0..self.tile.thread_tile[1] / 4 {
                see(i, h);
            }
        }
    }

    /// All sums.
    fn sums(&self, w: &mut String) {
        self.each_block(|i, h| line(w, 1, format!("var c{i}{h} = mat4x4<f32>();")));
        let has_first = self.contract.has_first();
        self.contract.each_side(|side| side.declare(w, 1, has_first));
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

    /// The loop over slabs. The next slab is on its way to registers while the present one is multiplied.
    fn steps(&self, w: &mut String) {
        let depth = self.tile.depth;
        if !self.contract.has_first() {
            line(w, 1, "if terms > 0 {");
            self.contract.fetch(w, 2, "0");
            line(w, 1, "}");
        }
        line(w, 1, format!("for (var k = 0; k < terms; k += {depth}) {{"));
        self.contract.each_side(|side| side.put(w, 2, self.tile));
        line(w, 2, "workgroupBarrier();");
        line(w, 2, format!("let next = k + {depth};"));
        line(w, 2, "if next < terms {");
        self.contract.fetch(w, 3, "next");
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
        let [a, b] = self.contract.both_sides();
        for u in 0..unrolled {
            let slice = if slices > 1 { format!("slice * {own}u + ") } else { String::new() };
            let turn = if is_loop { "t + " } else { "" };
            let depth = format!("{slice}{turn}{u}u");
            let columns_of =
                (0..thread_tile[0] / 4).map(|g| a.shared(&depth, "y", g * (rows / thread_tile[0]), self.tile));
            let rows_of =
                (0..thread_tile[1] / 4).map(|h| b.shared(&depth, "x", h * (columns / thread_tile[1]), self.tile));
            let (columns_of, rows_of): (Vec<String>, Vec<String>) = (columns_of.collect(), rows_of.collect());
            if let ([a0, a1], [b0, b1]) = (columns_of.as_slice(), rows_of.as_slice()) {
                line(w, inner, format!("outer_adds({a0}, {a1}, {b0}, {b1}, &c00, &c01, &c10, &c11);"));
                continue;
            }
            for (name, all) in [("a", &columns_of), ("b", &rows_of)] {
                let one = |(k, at): (usize, &String)| line(w, inner, format!("let {name}{u}{k} = {at};"));
                all.iter().enumerate().for_each(one);
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
            let shared =
                [0, 1, 2, 3].map(|row| format!("{}[lane % {others}u + {}u]", self.contract.slabs, row * others));
            self.each_block(|i, h| {
                let put: Vec<String> = (0..4).map(|row| format!("{} = c{i}{h}[{row}];", shared[row])).collect();
                line(w, 1, format!("if slice >= {half}u && slice < {}u {{ {} }}", 2 * half, put.join(" ")));
                line(w, 1, "workgroupBarrier();");
                line(w, 1, format!("if slice < {half}u {{ c{i}{h} += mat4x4<f32>({}); }}", shared.join(", ")));
                line(w, 1, "workgroupBarrier();");
            });
            half /= 2;
        }
    }
}
