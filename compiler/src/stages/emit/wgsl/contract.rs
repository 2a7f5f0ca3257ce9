//! The contract skeleton: matrix products and convolutions, tiled over workgroups and registers.
//!
//! Comes in: a contract kernel and its tiles. Goes out: two loaders, a function for the result's elements, and an entry
//! point. Always holds: each step brings a slab of both operands into shared memory, groups of four rows or columns to
//! a word, and each invocation multiplies its cell from there; slices of the sum are added up in a fixed order.

use super::names::Names;
use super::numbers::{Sides, Tiles};
use super::scalars::{Body, Scalars, from_word};
use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::{Operand, Reach, Store};
use crate::ir::ty::DType;
use std::fmt::Write;

/// A contract kernel as its printer sees it.
pub(super) struct Contract<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    pub(super) tiles: Tiles,
    pub(super) sides: Sides<'a>,
    pub(super) terms: &'a [usize],
    /// The operand of the rows and that of the columns.
    pub(super) operands: [&'a Operand; 2],
    pub(super) stores: &'a [Store],
}

const LANES: [&str; 4] = ["x", "y", "z", "w"];

impl Contract<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let mut text = self.loader("rows", self.sides.rows, self.operands[0]);
        text += &self.loader("columns", self.sides.columns, self.operands[1]);
        text += &self.result();
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
        let rows = self.extent(self.sides.rows).ceil_div(self.tiles.rows.into());
        let columns = self.extent(self.sides.columns).ceil_div(self.tiles.columns.into());
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
        let value = from_word(dtype, &self.scalars.word(operand.slot, &address));
        match dtype {
            DType::F32 => body.line(format!("return {value};")),
            DType::I32 | DType::U32 | DType::Bool => body.line(format!("return f32({value});")),
        }
        format!("fn {}_{side}(batch: i32, at: i32, k: i32) -> f32 {{\n{}}}\n\n", self.name, body.text)
    }

    /// The condition that a merged position is beyond the end, where tiles reach over it.
    fn bound(&self, position: &str, axes: &[usize], side: &str) -> Option<String> {
        let extent = self.extent(axes);
        let tile = match (position, side) {
            ("k", _) => self.tiles.depth,
            (_, "rows") => self.tiles.rows,
            (_, _) => self.tiles.columns,
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
            // A negative dividend with quotient 0 is not whole, so the quotient alone decides the lower end.
            body.line(format!(
                "if w{number} % {} != 0 || u32(c{number}) >= u32({extent}) {{ return 0.0f; }}",
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
        self.stores.iter().for_each(|store| body.store(store));
        let parameters = "batch: i32, row: i32, column: i32, a0_0: f32";
        format!("fn {}_result({parameters}) {{\n{}}}\n\n", self.name, body.text)
    }

    fn entry(&self) -> String {
        let Tiles { rows, columns, depth, cell, slices } = self.tiles;
        let (name, names) = (self.name, self.names());
        let across = columns / cell[1];
        let mut w = format!(
            "var<workgroup> {name}_a: array<vec4<f32>, {}>;\nvar<workgroup> {name}_b: array<vec4<f32>, {}>;\n",
            depth * rows / 4,
            depth * columns / 4
        );
        if slices > 1 {
            let words = slices / 2 * rows * columns / 4;
            let _ = writeln!(w, "var<workgroup> {name}_c: array<vec4<f32>, {words}>;");
        }
        let _ = write!(
            w,
            "\n@compute @workgroup_size({})\n\
             fn {name}(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{\n",
            self.tiles.threads()
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
        line(&mut w, 1, format!("let y = lane / {across}u % {}u;", rows / cell[0]));
        if slices > 1 {
            line(&mut w, 1, format!("let slice = lane / {}u;", self.tiles.slice_threads()));
        }
        self.each_cell(|i, h| line(&mut w, 1, format!("var c{i}_{h} = vec4<f32>();")));
        self.steps(&mut w);
        self.add_slices(&mut w);
        self.finish(&mut w);
        w + "}\n"
    }

    fn each_cell(&self, mut see: impl FnMut(u32, u32)) {
        for i in 0..self.tiles.cell[0] {
            for h in 0..self.tiles.cell[1] / 4 {
                see(i, h);
            }
        }
    }

    /// The loop over slabs. The next slab is on its way to registers while the present one is multiplied.
    fn steps(&self, w: &mut String) {
        let terms = self.names().dim(&self.extent(self.terms));
        let depth = self.tiles.depth;
        for (side, columns) in self.slabs() {
            for j in 0..self.words_each(columns) {
                line(w, 1, format!("var {side}{j} = vec4<f32>();"));
            }
        }
        self.load(w, 1, "0");
        line(w, 1, format!("for (var k = 0; k < {terms}; k += {depth}) {{"));
        self.deposit(w);
        line(w, 2, "workgroupBarrier();");
        line(w, 2, format!("if k + {depth} < {terms} {{"));
        self.load(w, 3, &format!("k + {depth}"));
        line(w, 2, "}");
        self.multiply(w);
        line(w, 2, "workgroupBarrier();");
        line(w, 1, "}");
    }

    fn slabs(&self) -> [(&'static str, u32); 2] {
        [("p", self.tiles.rows), ("q", self.tiles.columns)]
    }

    /// Words of four that each invocation brings of a slab.
    fn words_each(&self, extent: u32) -> u32 {
        (self.tiles.depth * extent / 4).div_ceil(self.tiles.threads())
    }

    /// Where word `j` of this invocation lies in a slab: its depth `d` and its group of four `g`.
    fn place(&self, w: &mut String, indent: usize, side: usize, j: u32) {
        let groups = [self.tiles.rows, self.tiles.columns][side] / 4;
        let depth = self.tiles.depth;
        line(w, indent, format!("let e = lane + {}u;", j * self.tiles.threads()));
        // Neighbouring invocations read neighbouring elements of the operand.
        if self.along_terms(side) {
            line(w, indent, format!("let d = e % {depth}u;"));
            line(w, indent, format!("let g = e / {depth}u;"));
        } else {
            line(w, indent, format!("let d = e / {groups}u;"));
            line(w, indent, format!("let g = e % {groups}u;"));
        }
    }

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

    fn load(&self, w: &mut String, indent: usize, k: &str) {
        let sides = [("rows", "row"), ("columns", "column")];
        for (side, (register, extent)) in self.slabs().into_iter().enumerate() {
            let (name, (function, origin)) = (self.name, sides[side]);
            for j in 0..self.words_each(extent) {
                line(w, indent, "{");
                self.place(w, indent + 1, side, j);
                line(w, indent + 1, format!("let at = {origin} + i32(4u * g);"));
                line(w, indent + 1, format!("let n = {k} + i32(d);"));
                let element = |r: u32| format!("{name}_{function}(batch, at + {r}, n)");
                let elements: Vec<String> = (0..4).map(element).collect();
                let value = format!("{register}{j} = vec4<f32>({});", elements.join(", "));
                self.guarded(w, indent + 1, extent, j, &value);
                line(w, indent, "}");
            }
        }
    }

    fn deposit(&self, w: &mut String) {
        for (side, (register, extent)) in self.slabs().into_iter().enumerate() {
            let array = ["a", "b"][side];
            for j in 0..self.words_each(extent) {
                line(w, 2, "{");
                self.place(w, 3, side, j);
                let value = format!("{}_{array}[d * {}u + g] = {register}{j};", self.name, extent / 4);
                self.guarded(w, 3, extent, j, &value);
                line(w, 2, "}");
            }
        }
    }

    /// Writes a statement for those invocations whose word `j` is inside the slab.
    fn guarded(&self, w: &mut String, indent: usize, extent: u32, j: u32, statement: &str) {
        let words = self.tiles.depth * extent / 4;
        if (j + 1) * self.tiles.threads() <= words {
            line(w, indent, statement);
        } else {
            line(w, indent, format!("if e < {words}u {{ {statement} }}"));
        }
    }

    fn multiply(&self, w: &mut String) {
        let Tiles { rows, columns, depth, cell, slices } = self.tiles;
        let own = depth / slices;
        let unroll = if own.is_multiple_of(4) { 4 } else { 1 };
        line(w, 2, format!("for (var t = 0u; t < {own}u; t += {unroll}u) {{"));
        for u in 0..unroll {
            let first = if slices > 1 { format!("slice * {own}u + t + {u}u") } else { format!("t + {u}u") };
            line(w, 3, "{");
            line(w, 4, format!("let d = {first};"));
            for g in 0..cell[0] / 4 {
                let at = format!("d * {}u + y + {}u", rows / 4, g * (rows / cell[0]));
                line(w, 4, format!("let a{g} = {}_a[{at}];", self.name));
            }
            for h in 0..cell[1] / 4 {
                let at = format!("d * {}u + x + {}u", columns / 4, h * (columns / cell[1]));
                line(w, 4, format!("let b{h} = {}_b[{at}];", self.name));
            }
            self.each_cell(|i, h| {
                let a = format!("a{}.{}", i / 4, LANES[i as usize % 4]);
                line(w, 4, format!("c{i}_{h} = fma(vec4<f32>({a}), b{h}, c{i}_{h});"));
            });
            line(w, 3, "}");
        }
        line(w, 2, "}");
    }

    /// Adds the slices' cells pairwise; the first slice ends up with the sum.
    fn add_slices(&self, w: &mut String) {
        let per_slice = self.tiles.cell[0] * self.tiles.cell[1] / 4;
        let mut half = self.tiles.slices / 2;
        while half > 0 {
            let threads = self.tiles.slice_threads();
            let word = |i: u32, h: u32| {
                format!(
                    "{}_c[{}u + lane % {}u]",
                    self.name,
                    (i * self.tiles.cell[1] / 4 + h) * half * threads,
                    half * threads
                )
            };
            let _ = per_slice;
            line(w, 1, format!("if slice >= {half}u && slice < {}u {{", 2 * half));
            self.each_cell(|i, h| line(w, 2, format!("{} = c{i}_{h};", word(i, h))));
            line(w, 1, "}");
            line(w, 1, "workgroupBarrier();");
            line(w, 1, format!("if slice < {half}u {{"));
            self.each_cell(|i, h| line(w, 2, format!("c{i}_{h} += {};", word(i, h))));
            line(w, 1, "}");
            line(w, 1, "workgroupBarrier();");
            half /= 2;
        }
    }

    fn finish(&self, w: &mut String) {
        let Tiles { rows, columns, cell, slices, .. } = self.tiles;
        let indent = if slices > 1 { 2 } else { 1 };
        if slices > 1 {
            line(w, 1, "if slice == 0u {");
        }
        line(w, indent, "let top = row + i32(4u * y);");
        line(w, indent, "let left = column + i32(4u * x);");
        self.each_cell(|i, h| {
            let at = format!("top + {}", i / 4 * 4 * (rows / cell[0]) + i % 4);
            for (n, component) in LANES.iter().enumerate() {
                let left = format!("left + {}", h * 4 * (columns / cell[1]) + n as u32);
                line(w, indent, format!("{}_result(batch, {at}, {left}, c{i}_{h}.{component});", self.name));
            }
        });
        if slices > 1 {
            line(w, 1, "}");
        }
    }
}

fn line(w: &mut String, indent: usize, text: impl AsRef<str>) {
    let _ = writeln!(w, "{:1$}{2}", "", 4 * indent, text.as_ref());
}
