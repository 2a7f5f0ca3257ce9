//! The contract skeleton: matrix products and convolutions, tiled over workgroups and registers.
//!
//! Comes in: a contract kernel and its tile. Goes out: two loaders, a function for the result's elements, and an entry
//! point. Always holds: each step brings a slab of both operands into shared memory, groups of four rows or columns to
//! a word, and each invocation multiplies its tile from there; slices of the sum are added up in a fixed order,
//! and so are blocks of long sums, with compensation.

use super::convert::convert;
use super::names::Names;
use super::scalars::{Body, Scalars};
use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::{Operand, Reach, Store};
use crate::ir::ty::DType;
use crate::ir::workgroup::{Sides, Tile};
use std::fmt::Write;

/// A contract kernel as its printer sees it.
pub(super) struct Contract<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    pub(super) tile: Tile,
    pub(super) sides: Sides<'a>,
    pub(super) terms: &'a [usize],
    /// The operand of the rows and that of the columns.
    pub(super) operands: [&'a Operand; 2],
    pub(super) stores: &'a [Store],
}

impl Contract<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let mut text = self.loader("rows", self.sides.rows, self.operands[0]);
        text += &self.loader("columns", self.sides.columns, self.operands[1]);
        text += &self.result();
        text += &self.memory();
        text += &self.word(0);
        text += &self.word(1);
        text + &self.entry()
    }

    fn names(&self) -> &Names {
        self.scalars.names
    }

    fn extent(&self, axes: &[usize]) -> Dim {
        product(axes.iter().map(|&axis| &self.scalars.kernel.axes[axis]))
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        let rows = self.extent(self.sides.rows).ceil_div(self.tile.rows.into());
        let columns = self.extent(self.sides.columns).ceil_div(self.tile.columns.into());
        self.extent(self.sides.batch) * rows * columns
    }

    /// A function for the operand's element at a merged position; zero outside.
    fn loader(&self, side: &str, axes: &[usize], operand: &Operand) -> String {
        let mut body = Body::new(self.scalars);
        let outside = [("at", axes), ("k", self.terms)].map(|(name, axes)| self.bound(name, axes, side));
        let outside: Vec<String> = outside.into_iter().flatten().collect();
        if !outside.is_empty() {
            body.line(format!("if {} {{ return 0.0f; }}", outside.join(" || ")));
        }
        body.split("batch", self.sides.batch);
        body.split("at", axes);
        body.split("k", self.terms);
        let mut address = self.names().index(&operand.index);
        for (number, reach) in operand.windows.iter().enumerate() {
            self.window(&mut body, number, reach);
            let _ = write!(address, " + c{number} * {}", self.names().dim(&reach.stride));
        }
        let dtype = self.scalars.kernel.slots[operand.slot].dtype;
        let value = convert(dtype, DType::F32, &self.scalars.load(operand.slot, &address));
        body.line(format!("return {value};"));
        format!("fn {}_{side}(batch: i32, at: i32, k: i32) -> f32 {{\n{}}}\n\n", self.name, body.text)
    }

    /// The condition that a merged position is beyond the end, where tiles reach over it.
    fn bound(&self, position: &str, axes: &[usize], side: &str) -> Option<String> {
        let extent = self.extent(axes);
        let tile = match (position, side) {
            ("k", _) => self.tile.depth,
            (_, "rows") => self.tile.rows,
            (_, _) => self.tile.columns,
        };
        let exact = extent.exact_div(&Dim::from(i64::from(tile))).is_some();
        (!exact).then(|| format!("{position} >= {}", self.names().dim(&extent)))
    }

    /// Defines coordinate `c{number}`, or returns zero where it is outside.
    fn window(&self, body: &mut Body<'_, '_>, number: usize, reach: &Reach) {
        let at = self.names().index(&reach.index);
        let extent = self.names().dim(&reach.extent);
        if reach.divisor == 1 {
            body.line(format!("let c{number} = {at};"));
            body.line(format!("if u32(c{number}) >= u32({extent}) {{ return 0.0f; }}"));
        } else {
            body.line(format!("let w{number} = {at};"));
            body.line(format!("let c{number} = w{number} / {};", reach.divisor));
            // A negative dividend with quotient 0 is not whole, so the quotient alone decides the lower end. Vulkan
            // leaves the remainder of negative numbers open, but not their quotient.
            body.line(format!(
                "if w{number} != c{number} * {} || u32(c{number}) >= u32({extent}) {{ return 0.0f; }}",
                reach.divisor
            ));
        }
    }

    /// A function that takes one finished sum and stores what the epilogue makes of it.
    fn result(&self) -> String {
        let mut body = Body::new(self.scalars);
        let sides = [("row", self.sides.rows, "rows"), ("column", self.sides.columns, "columns")];
        let outside: Vec<String> = sides.iter().filter_map(|(name, axes, side)| self.bound(name, axes, side)).collect();
        if !outside.is_empty() {
            body.line(format!("if {} {{ return; }}", outside.join(" || ")));
        }
        body.split("batch", self.sides.batch);
        body.split("row", self.sides.rows);
        body.split("column", self.sides.columns);
        body.stores(self.stores);
        let name = self.name;
        let each = |pass: &dyn Fn(usize) -> String| (0..4).map(|n| format!("    {}\n", pass(n))).collect::<String>();
        let four = each(&|n| format!("{name}_result(batch, row, column + {n}, c.{});", ["x", "y", "z", "w"][n]));
        let block = each(&|n| format!("{name}_four(batch, row + {n}, column, c[{n}]);"));
        let at = "batch: i32, row: i32, column: i32";
        format!(
            "fn {name}_result({at}, a0_0: f32) {{\n{}}}\n\n\
             fn {name}_four({at}, c: vec4<f32>) {{\n{four}}}\n\n\
             fn {name}_block({at}, c: mat4x4<f32>) {{\n{block}}}\n\n",
            body.text
        )
    }

    /// The shared memory: a slab of each operand, and the blocks of slices on their way to be added.
    fn memory(&self) -> String {
        let Tile { rows, columns, depth, slices, .. } = self.tile;
        let name = self.name;
        let mut w = format!(
            "var<workgroup> {name}_a: array<vec4<f32>, {}>;\nvar<workgroup> {name}_b: array<vec4<f32>, {}>;\n",
            depth * rows / 4,
            depth * columns / 4
        );
        if slices > 1 {
            let blocks = slices / 2 * rows * columns / 16;
            let _ = writeln!(w, "var<workgroup> {name}_c: array<mat4x4<f32>, {blocks}>;");
        }
        w + "\n"
    }

    /// A function for word `e` of a slab: four neighbours along the operand's side, at one depth.
    fn word(&self, side: usize) -> String {
        let (name, array, function) = (self.name, ARRAYS[side], SIDES[side]);
        let mut w = format!("fn {name}_{array}_word(batch: i32, first: i32, k: i32, e: u32) -> vec4<f32> {{\n");
        let words = self.words(side);
        if !words.is_multiple_of(self.tile.invocations()) {
            line(&mut w, 1, format!("if e >= {words}u {{ return vec4<f32>(); }}"));
        }
        let (d, g) = self.place(side, "e");
        line(&mut w, 1, format!("let n = k + i32({d});"));
        line(&mut w, 1, format!("let at = first + 4 * i32({g});"));
        let element = |r: u32| format!("{name}_{function}(batch, at + {r}, n)");
        let elements: Vec<String> = (0..4).map(element).collect();
        line(&mut w, 1, format!("return vec4<f32>({});", elements.join(", ")));
        w + "}\n\n"
    }

    fn entry(&self) -> String {
        let Tile { rows, columns, thread_tile, slices, .. } = self.tile;
        let (name, names) = (self.name, self.names());
        let across = columns / thread_tile[1];
        let mut w = format!(
            "@compute @workgroup_size({})\n\
             fn {name}(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n",
            self.tile.invocations()
        );
        let high = names.dim(&self.extent(self.sides.rows).ceil_div(rows.into()));
        let wide = names.dim(&self.extent(self.sides.columns).ceil_div(columns.into()));
        let batch = names.dim(&self.extent(self.sides.batch));
        line(&mut w, 1, "let tile = i32(group.y * 65535u + group.x);");
        line(&mut w, 1, format!("let batch = tile / ({high} * {wide});"));
        line(&mut w, 1, format!("if batch >= {batch} {{ return; }}"));
        line(&mut w, 1, format!("let row = tile / {wide} % {high} * {rows};"));
        line(&mut w, 1, format!("let column = tile % {wide} * {columns};"));
        line(&mut w, 1, format!("let x = lane % {across}u;"));
        line(&mut w, 1, format!("let y = lane / {across}u % {}u;", rows / thread_tile[0]));
        if slices > 1 {
            line(&mut w, 1, format!("let slice = lane / {}u;", self.tile.of_slice()));
        }
        self.each_block(|i, h| line(&mut w, 1, format!("var c{i}{h} = mat4x4<f32>();")));
        match self.tile.block {
            Some(block) => self.blocks(&mut w, block),
            None => self.steps(&mut w, 1, "0", &self.names().dim(&self.extent(self.terms))),
        }
        self.add_slices(&mut w);
        self.finish(&mut w);
        w + "}\n"
    }

    /// The blocks of 4 × 4 results that an invocation holds.
    fn each_block(&self, mut see: impl FnMut(u32, u32)) {
        for i in 0..self.tile.thread_tile[0] / 4 {
            for h in 0..self.tile.thread_tile[1] / 4 {
                see(i, h);
            }
        }
    }

    /// The loop over blocks of the terms, whose sums are added up with compensation.
    fn blocks(&self, w: &mut String, block: u32) {
        let (terms, step) = (self.names().dim(&self.extent(self.terms)), block * self.tile.slices);
        self.each_block(|i, h| {
            line(w, 1, format!("var total{i}{h} = mat4x4<f32>();"));
            line(w, 1, format!("var lost{i}{h} = mat4x4<f32>();"));
        });
        line(w, 1, format!("for (var first = 0; first < {terms}; first += {step}) {{"));
        line(w, 2, format!("let end = min(first + {step}, {terms});"));
        self.steps(w, 2, "first", "end");
        line(w, 2, "if first == 0 {");
        self.each_block(|i, h| line(w, 3, format!("total{i}{h} = c{i}{h};")));
        line(w, 2, "} else {");
        self.each_block(|i, h| {
            line(w, 3, format!("add_up_block(&total{i}{h}, &lost{i}{h}, c{i}{h}, no_bits());"));
        });
        line(w, 2, "}");
        self.each_block(|i, h| line(w, 2, format!("c{i}{h} = mat4x4<f32>();")));
        line(w, 1, "}");
        self.each_block(|i, h| line(w, 1, format!("c{i}{h} = total{i}{h} + lost{i}{h};")));
    }

    /// The loop over slabs. The next slab is on its way to registers while the present one is multiplied.
    fn steps(&self, w: &mut String, indent: usize, from: &str, to: &str) {
        let depth = self.tile.depth;
        self.each_word(|side, j, register| line(w, indent, format!("var {register} = {};", self.fetch(side, j, from))));
        line(w, indent, format!("for (var k = {from}; k < {to}; k += {depth}) {{"));
        self.each_word(|side, j, register| {
            let words = self.words(side);
            let e = format!("lane + {}u", j * self.tile.invocations());
            let at = format!("{}_{}[{}]", self.name, ARRAYS[side], self.address(side, &e));
            let whole = (j + 1) * self.tile.invocations() <= words;
            let guard = if whole { String::new() } else { format!("if {e} < {words}u ") };
            line(w, indent + 1, format!("{guard}{{ {at} = {register}; }}"));
        });
        line(w, indent + 1, "workgroupBarrier();");
        line(w, indent + 1, format!("if k + {depth} < {to} {{"));
        let next = format!("k + {depth}");
        self.each_word(|side, j, register| {
            line(w, indent + 2, format!("{register} = {};", self.fetch(side, j, &next)));
        });
        line(w, indent + 1, "}");
        self.multiply(w, indent + 1);
        line(w, indent + 1, "workgroupBarrier();");
        line(w, indent, "}");
    }

    /// Words of four in a slab.
    fn words(&self, side: usize) -> u32 {
        self.tile.depth * [self.tile.rows, self.tile.columns][side] / 4
    }

    /// The words that each invocation brings: side, number, and the register that holds it.
    fn each_word(&self, mut see: impl FnMut(usize, u32, &str)) {
        for (side, prefix) in ["p", "q"].into_iter().enumerate() {
            for j in 0..self.words(side).div_ceil(self.tile.invocations()) {
                see(side, j, &format!("{prefix}{j}"));
            }
        }
    }

    fn fetch(&self, side: usize, j: u32, k: &str) -> String {
        let (first, array) = (["row", "column"][side], ARRAYS[side]);
        format!("{}_{array}_word(batch, {first}, {k}, lane + {}u)", self.name, j * self.tile.invocations())
    }

    /// Depth and group of four of word `e`. Neighbouring invocations read neighbouring elements of the operand.
    fn place(&self, side: usize, e: &str) -> (String, String) {
        let (depth, groups) = (self.tile.depth, [self.tile.rows, self.tile.columns][side] / 4);
        match self.along_terms(side) {
            true => (format!("({e}) % {depth}u"), format!("({e}) / {depth}u")),
            false => (format!("({e}) / {groups}u"), format!("({e}) % {groups}u")),
        }
    }

    /// Where word `e` lies in shared memory: by depth, then by group.
    fn address(&self, side: usize, e: &str) -> String {
        let groups = [self.tile.rows, self.tile.columns][side] / 4;
        match self.along_terms(side) {
            true => {
                let (d, g) = self.place(side, e);
                format!("({d}) * {groups}u + {g}")
            }
            false => e.to_owned(),
        }
    }

    /// Whether the operand is contiguous along the summed axes and not along its own.
    fn along_terms(&self, side: usize) -> bool {
        let stride = |axes: &[usize]| {
            let operand = self.operands[side];
            let axis = *axes.iter().rev().find(|&&axis| !self.scalars.kernel.axes[axis].is(1))?;
            let through = |reach: &Reach| {
                let steps = reach.index.stride(axis)?.as_const()? / reach.divisor.max(1);
                Some(steps * reach.stride.as_const()?)
            };
            let windows: Option<i64> = operand.windows.iter().map(through).sum();
            Some(operand.index.stride(axis)?.as_const()? + windows?)
        };
        let own = [self.sides.rows, self.sides.columns][side];
        stride(self.terms) == Some(1) && stride(own) != Some(1)
    }

    fn multiply(&self, w: &mut String, indent: usize) {
        let Tile { rows, columns, depth, thread_tile, slices, block: _ } = self.tile;
        let own = depth / slices;
        // Four steps in the text: the loop itself costs as much as one.
        line(w, indent, format!("for (var t = 0u; t < {own}u; t += 4u) {{"));
        for u in 0..4 {
            let first = if slices > 1 { format!("slice * {own}u + t + {u}u") } else { format!("t + {u}u") };
            for g in 0..thread_tile[0] / 4 {
                let at = format!("({first}) * {}u + y + {}u", rows / 4, g * (rows / thread_tile[0]));
                line(w, indent + 1, format!("let a{u}{g} = {}_a[{at}];", self.name));
            }
            for h in 0..thread_tile[1] / 4 {
                let at = format!("({first}) * {}u + x + {}u", columns / 4, h * (columns / thread_tile[1]));
                line(w, indent + 1, format!("let b{u}{h} = {}_b[{at}];", self.name));
            }
            self.each_block(|i, h| line(w, indent + 1, format!("c{i}{h} = outer_add(a{u}{i}, b{u}{h}, c{i}{h});")));
        }
        line(w, indent, "}");
    }

    /// Adds the slices' blocks pairwise; the first slice ends up with the sum.
    fn add_slices(&self, w: &mut String) {
        let threads = self.tile.of_slice();
        let mut half = self.tile.slices / 2;
        while half > 0 {
            let others = half * threads;
            let block = |i: u32, h: u32| {
                format!("{}_c[{}u + lane % {others}u]", self.name, (i * self.tile.thread_tile[1] / 4 + h) * others)
            };
            line(w, 1, format!("if slice >= {half}u && slice < {}u {{", 2 * half));
            self.each_block(|i, h| line(w, 2, format!("{} = c{i}{h};", block(i, h))));
            line(w, 1, "}");
            line(w, 1, "workgroupBarrier();");
            line(w, 1, format!("if slice < {half}u {{"));
            self.each_block(|i, h| line(w, 2, format!("c{i}{h} += {};", block(i, h))));
            line(w, 1, "}");
            line(w, 1, "workgroupBarrier();");
            half /= 2;
        }
    }

    fn finish(&self, w: &mut String) {
        let Tile { rows, columns, thread_tile, slices, .. } = self.tile;
        if slices > 1 {
            line(w, 1, "if slice > 0u { return; }");
        }
        line(w, 1, "let top = row + i32(4u * y);");
        line(w, 1, "let left = column + i32(4u * x);");
        self.each_block(|i, h| {
            let (top, left) = (i * 4 * (rows / thread_tile[0]), h * 4 * (columns / thread_tile[1]));
            line(w, 1, format!("{}_block(batch, top + {top}, left + {left}, c{i}{h});", self.name));
        });
    }
}

/// The names of the slabs of rows and columns in shared memory, and of their loaders.
const ARRAYS: [&str; 2] = ["a", "b"];
const SIDES: [&str; 2] = ["rows", "columns"];

fn line(w: &mut String, indent: usize, text: impl AsRef<str>) {
    let _ = writeln!(w, "{:1$}{2}", "", 4 * indent, text.as_ref());
}
