//! The contract skeleton: matrix products and convolutions, tiled over workgroups and registers.
//!
//! Comes in: a contract kernel and its tile. Goes out: functions for both operands and for the result's elements, and an entry
//! point. Always holds: each step brings a slab of both operands into shared memory, groups of four rows or columns to
//! a word, and each invocation multiplies its tile from there; slices of the sum are added up in a fixed order,
//! and so are blocks of long sums, with compensation.

mod operand;
mod sums;

use super::grid::{BUILTINS, NUMBER};
use super::names::Names;
use super::scalars::{Body, Scalars};
use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::{Operand, Store};
use crate::ir::workgroup::{Sides, Tile};
use operand::Side;
use std::fmt::Write;

/// A contract kernel as its printer sees it.
pub(super) struct Contract<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    /// What the names of its functions begin with.
    pub(super) prefix: &'a str,
    pub(super) tile: Tile,
    pub(super) sides: Sides,
    pub(super) terms: &'a [usize],
    /// The operand of the rows and that of the columns.
    pub(super) operands: [&'a Operand; 2],
    pub(super) stores: &'a [Store],
}

impl Contract<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let functions: String = self.both_sides().iter().map(Side::functions).collect();
        functions + &self.result() + &self.memory() + &self.entry()
    }

    /// The rows and the columns.
    fn both_sides(&self) -> [Side<'_>; 2] {
        [0, 1].map(|number| Side { contract: self, number })
    }

    fn each_side(&self, see: impl FnMut(&Side<'_>)) {
        self.both_sides().iter().for_each(see);
    }

    fn names(&self) -> &Names {
        self.scalars.names
    }

    fn extent(&self, axes: &[usize]) -> Dim {
        product(axes.iter().map(|&axis| &self.scalars.kernel.axes[axis]))
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        let rows = self.extent(&self.sides.rows).ceil_div(self.tile.rows.into());
        let columns = self.extent(&self.sides.columns).ceil_div(self.tile.columns.into());
        self.extent(&self.sides.batch) * rows * columns
    }

    /// The condition that a position of the result is beyond the end, where tiles reach over it.
    fn beyond(&self, position: &str, axes: &[usize], of_tile: u32) -> Option<String> {
        let extent = self.extent(axes);
        (!extent.is_multiple_of(of_tile)).then(|| format!("{position} >= {}", self.names().dim(&extent)))
    }

    /// A function that takes one finished sum and stores what the epilogue makes of it.
    fn result(&self) -> String {
        let mut body = Body::new(self.scalars);
        let sides = [("row", &self.sides.rows, self.tile.rows), ("column", &self.sides.columns, self.tile.columns)];
        let outside: Vec<String> =
            sides.iter().filter_map(|(name, axes, side)| self.beyond(name, axes, *side)).collect();
        if !outside.is_empty() {
            body.line(format!("if {} {{ return; }}", outside.join(" || ")));
        }
        body.split("batch", &self.sides.batch);
        body.split("row", &self.sides.rows);
        body.split("column", &self.sides.columns);
        body.stores(self.stores);
        let name = self.prefix;
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
        let slabs: String = self.both_sides().iter().map(Side::slab).collect();
        let blocks = self.tile.slices / 2 * self.tile.of_slice();
        match blocks {
            0 => slabs + "\n",
            _ => format!("{slabs}var<workgroup> {}_c: array<mat4x4<f32>, {blocks}>;\n\n", self.prefix),
        }
    }

    fn entry(&self) -> String {
        let Tile { rows, columns, thread_tile, slices, .. } = self.tile;
        let (name, names) = (self.name, self.names());
        let across = columns / thread_tile[1];
        let mut w = format!(
            "@compute @workgroup_size({})\n\
             fn {name}({BUILTINS}) {{\n",
            self.tile.invocations()
        );
        let high = names.dim(&self.extent(&self.sides.rows).ceil_div(rows.into()));
        let wide = names.dim(&self.extent(&self.sides.columns).ceil_div(columns.into()));
        let batch = names.dim(&self.extent(&self.sides.batch));
        line(&mut w, 1, format!("let tile = i32({NUMBER});"));
        line(&mut w, 1, format!("let batch = tile / ({high} * {wide});"));
        line(&mut w, 1, format!("if batch >= {batch} {{ return; }}"));
        line(&mut w, 1, format!("let row = tile / {wide} % {high} * {rows};"));
        line(&mut w, 1, format!("let column = tile % {wide} * {columns};"));
        line(&mut w, 1, format!("let x = lane % {across}u;"));
        line(&mut w, 1, format!("let y = lane / {across}u % {}u;", rows / thread_tile[0]));
        if slices > 1 {
            line(&mut w, 1, format!("let slice = lane / {}u;", self.tile.of_slice()));
        }
        let mut body = Body::new(self.scalars);
        body.split("batch", &self.sides.batch);
        w += &body.text;
        let [a, b] = self.both_sides();
        a.define_places(&mut w, "row");
        b.define_places(&mut w, "column");
        self.sums(&mut w);
        self.finish(&mut w);
        w + "}\n"
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
            line(w, 1, format!("{}_block(batch, top + {top}, left + {left}, c{i}{h});", self.prefix));
        });
    }
}

fn line(w: &mut String, indent: usize, text: impl AsRef<str>) {
    let _ = writeln!(w, "{:1$}{2}", "", 4 * indent, text.as_ref());
}
