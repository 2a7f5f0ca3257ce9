//! The contract skeleton: matrix products and convolutions, tiled over workgroups and registers.
//!
//! Comes in: a contract kernel and its tile. Goes out: functions for both operands and for the result's elements, and the statements
//! of an entry point. Always holds: each step brings a slab of both operands into shared memory, four elements to a word, from where
//! invocations multiply their tiles (`sums`), or subgroups theirs (`halves`).

mod halves;
mod operand;
mod sums;

use super::names::Names;
use super::positions::{Positions, suffix};
use super::scalars::{Body, Scalars};
use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::index::Index;
use crate::ir::kernel::{ExprId, Store};
use crate::ir::operand::Reading;
use crate::ir::tile::Way;
use crate::ir::workgroup::Sides;
pub(super) use halves::ENABLES;
use halves::Halves;
use operand::Side;
use std::fmt::Write;
use sums::Plain;

/// A contract kernel as its printer sees it.
#[derive(Clone, Copy)]
pub(super) struct Contract<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    /// What the names of its shared memory begin with.
    pub(super) prefix: &'a str,
    /// What the names of its functions begin with: that of the first way, where it has the same ones.
    pub(super) functions: &'a str,
    /// The array in which plain tiles have their slabs.
    pub(super) slabs: &'a str,
    pub(super) way: Way,
    pub(super) sides: &'a Sides,
    pub(super) terms: &'a [usize],
    /// The operand of the rows and that of the columns.
    pub(super) operands: [Reading<'a>; 2],
    pub(super) stores: &'a [Store],
}

impl<'a> Contract<'a> {
    /// The same with the functions of the first way, whose names begin with `base`, where it needs no others; and its functions.
    pub(super) fn sharing(self, first: Way, base: &'a str) -> (Contract<'a>, String) {
        let own = Contract { functions: base, ..self };
        let functions = Contract { way: first, ..own }.functions();
        if own.functions() == functions { (own, functions) } else { (self, self.functions()) }
    }

    /// The functions that it calls, of which none knows what its shared memory is.
    fn functions(&self) -> String {
        let of_sides: String = self.both_sides().iter().map(Side::functions).collect();
        of_sides + &self.result() + &self.block()
    }

    /// The shared memory, and the statements of the entry point.
    pub(super) fn print(&self) -> (String, String) {
        let (declarations, body) = match self.way {
            Way::Plain(tile) => {
                let plain = Plain { contract: self, tile };
                (String::new(), plain.body())
            }
            Way::Halves(tile) => {
                let halves = Halves { contract: self, tile };
                (halves.declarations(), halves.body())
            }
        };
        (declarations, self.place() + &body)
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

    /// How many tiles are along the rows, and along the columns.
    fn tiles(&self) -> [Dim; 2] {
        let [rows, columns] = self.way.sides();
        [(&self.sides.rows, rows), (&self.sides.columns, columns)]
            .map(|(axes, side)| self.extent(axes).ceil_div(side.into()))
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        let [rows, columns] = self.tiles();
        self.extent(&self.sides.batch) * rows * columns
    }

    /// The condition that a position of the result is beyond the end, where tiles reach over it.
    fn beyond(&self, position: &str, axes: &[usize], of_tile: u32) -> Option<String> {
        let extent = self.extent(axes);
        (!extent.is_multiple_of(of_tile)).then(|| format!("{position} >= {}", self.names().dim(&extent)))
    }

    /// A function that takes four finished sums of a row and stores what the epilogue makes of them.
    fn result(&self) -> String {
        let (name, at) = (self.functions, "batch: i32, row: i32, column: i32");
        if self.scalars.fours.is_some() {
            return format!("fn {name}_four({at}, c: vec4<f32>) {{\n{}}}\n\n", self.epilogue());
        }
        let one = |n: usize| format!("    {name}_result(batch, row, column + {n}, c.{});\n", COMPONENTS[n]);
        let four: String = (0..4).map(one).collect();
        let epilogue = self.epilogue();
        format!(
            "fn {name}_result({at}, a0_0: f32) {{\n{epilogue}}}\n\n\
             fn {name}_four({at}, c: vec4<f32>) {{\n{four}}}\n\n",
        )
    }

    /// A function that stores a block of 4 × 4 finished sums.
    fn block(&self) -> String {
        let name = self.functions;
        let four = |n: u32| format!("    {name}_four(batch, row + {n}, column, c[{n}]);\n");
        let fours: String = match self.way {
            Way::Plain(_) => (0..4).map(four).collect(),
            // It stores fours as they come.
            Way::Halves(_) => return String::new(),
        };
        format!("fn {name}_block(batch: i32, row: i32, column: i32, c: mat4x4<f32>) {{\n{fours}}}\n\n")
    }

    /// What is done with one finished sum, or with four whose places are beside each other, of which all are there or none.
    fn epilogue(&self) -> String {
        let mut body = Body::new(self.scalars);
        let [rows, columns] = self.way.sides();
        let sides = [("row", &self.sides.rows, rows), ("column", &self.sides.columns, columns)];
        let outside: Vec<String> =
            sides.iter().filter_map(|(name, axes, side)| self.beyond(name, axes, *side)).collect();
        if !outside.is_empty() {
            body.line(format!("if {} {{ return; }}", outside.join(" || ")));
        }
        body.split("batch", &self.sides.batch);
        body.split("row", &self.sides.rows);
        body.split("column", &self.sides.columns);
        let Some(fours) = &self.scalars.fours else {
            body.stores(self.stores);
            return body.text;
        };
        COMPONENTS.iter().enumerate().for_each(|(n, of)| body.line(format!("let a0_0{} = c.{of};", suffix(n))));
        body.positions = Some(Positions::new(&[], Some(fours.axis), true));
        let wanted: Vec<ExprId> = self.stores.iter().map(|store| store.value).collect();
        body.load_ahead(&wanted, 0);
        body.stores_of(self.stores, 0);
        body.text
    }

    /// Finds where a tile is.
    fn place(&self) -> String {
        let (mut w, names, number) = (String::new(), self.names(), self.scalars.run.number);
        let [rows, columns] = self.way.sides();
        let [high, wide] = self.tiles().map(|tiles| names.dim(&tiles));
        let batch = names.dim(&self.extent(&self.sides.batch));
        line(&mut w, 1, format!("let tile = i32({number});"));
        match self.way {
            Way::Plain(_) => {
                line(&mut w, 1, format!("let batch = tile / ({high} * {wide});"));
                line(&mut w, 1, format!("if batch >= {batch} {{ return; }}"));
            }
            // Cooperative matrices must not stand behind a return. A workgroup beyond the last tile makes that, too, and stores
            // nothing.
            Way::Halves(_) => {
                line(&mut w, 1, format!("let is_tile = tile / ({high} * {wide}) < {batch};"));
                line(&mut w, 1, format!("let batch = min(tile / ({high} * {wide}), {batch} - 1);"));
            }
        }
        line(&mut w, 1, format!("let row = tile / {wide} % {high} * {rows};"));
        line(&mut w, 1, format!("let column = tile % {wide} * {columns};"));
        let mut body = Body::new(self.scalars);
        body.split("batch", &self.sides.batch);
        w += &body.text;
        let [a, b] = self.both_sides();
        a.define_places(&mut w, "row");
        b.define_places(&mut w, "column");
        line(&mut w, 1, format!("let terms = {};", self.count()));
        w
    }

    /// How many terms there are: fewer in a part that goes beyond the end of the outermost axis.
    fn count(&self) -> String {
        let Some((&outermost, inner)) = self.terms.split_first() else { return "1".to_owned() };
        let mut count = self.names().dim(&self.scalars.kernel.axes[outermost]);
        let [first, _] = &self.operands;
        let windows = first.operand().windows.iter().filter(|window| first.ends_terms(window));
        for window in windows {
            let first = window.index.plus(&Index::axis(outermost).times(&Dim::from(-1)));
            let (extent, first) = (self.names().dim(&window.extent), self.names().index(&first));
            count = format!("min({count}, max({extent} - ({first}), 0))");
        }
        let inner = self.extent(inner);
        if inner.is(1) { count } else { format!("{count} * {}", self.names().dim(&inner)) }
    }

    /// Whether the last slab may have fewer terms than others.
    fn has_rest(&self) -> bool {
        let [first, _] = &self.operands;
        let mut windows = first.operand().windows.iter();
        !self.extent(self.terms).is_multiple_of(self.way.depth()) || windows.any(|window| first.ends_terms(window))
    }

    /// Whether it is known that all terms of the first slab are there.
    fn has_first(&self) -> bool {
        self.extent(self.terms).as_const().is_some_and(|terms| terms > 0) && !self.has_rest()
    }

    /// Brings the slab that begins at `k` to registers.
    fn fetch(&self, w: &mut String, indent: usize, k: &str) {
        if !self.has_rest() {
            return self.each_side(|side| side.fetch(w, indent, k, false));
        }
        line(w, indent, format!("if {k} + {} <= terms {{", self.way.depth()));
        self.each_side(|side| side.fetch(w, indent + 1, k, false));
        line(w, indent, "} else {");
        self.each_side(|side| side.fetch(w, indent + 1, k, true));
        line(w, indent, "}");
    }
}

/// The elements of a vector.
const COMPONENTS: [&str; 4] = ["x", "y", "z", "w"];

fn line(w: &mut String, indent: usize, text: impl AsRef<str>) {
    let _ = writeln!(w, "{:1$}{2}", "", 4 * indent, text.as_ref());
}
