//! Recurrences: all turns of a loop in one entry point, a workgroup for some rows.
//!
//! Comes in: a recurrent kernel. Goes out: an entry point. Always holds: what a workgroup hands to itself from turn to turn is in shared
//! memory, the state and the sums of its rows; in buffers an invocation reads again only what it has written itself, because the map
//! has each position in one invocation. The order in which terms are added depends on nothing but the workgroup.

use super::grid::{BUILTINS, NUMBER};
use super::scalars::{Body, Scalars};
use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel, Store};
use crate::ir::neighbours::FOUR;
use crate::ir::recurrence::{Half, Recurrence, Recurrent};
use crate::ir::workgroup::RecurGroup;

/// The kernel with an axis for the turns, behind the others, and all that turns move written out; and what its map stores then.
pub(super) fn unrolled(kernel: &Kernel, own: &Recurrence) -> (Kernel, Vec<Store>) {
    let (mut kernel, turns) = (kernel.clone(), kernel.axes.len());
    let mut turn = |atom: &Atom| match atom {
        Atom::Loop(0) => Index::axis(turns),
        other => Recurrence::outside(&Index::atom(other.clone())),
    };
    let starts: Vec<Index> = own.starts.iter().map(|start| start.map(&mut turn)).collect();
    kernel.axes.push(own.count.clone());
    for scalar in &mut kernel.scalars {
        scalar.for_each_index(&mut |index| *index = index.map(&mut turn));
        if let Expr::Load { slot, index, .. } = scalar {
            *index = index.plus(&starts[*slot]);
        }
    }
    let moved = |store: &Store| Store { index: store.index.map(&mut turn).plus(&starts[store.slot]), ..store.clone() };
    let stores = own.stores.iter().map(moved).collect();
    (kernel, stores)
}

/// A recurrence with its workgroup. The kernel of its scalars has an axis of turns.
pub(super) struct Recur<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    pub(super) recurrent: Recurrent<'a>,
    pub(super) stores: &'a [Store],
    pub(super) group: RecurGroup,
}

impl Recur<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let Recurrence { first, reverse, .. } = *self.own();
        let (name, mut body) = (self.name, Body::new(self.scalars));
        let count = self.scalars.names.dim(&self.own().count);
        if self.own().rows.is_some() {
            body.line(format!("let first = i32({NUMBER}) * {};", self.group.rows));
            body.line(format!("if first >= {} {{ return; }}", self.rows()));
        }
        if first == Half::Product {
            self.each_position(&mut body, &|body| {
                let at = self.position(self.width(1));
                let state = self.scalars.load(self.own().state, &at);
                body.line(format!("{name}_state[{}] = {state};", self.shared(0)));
            });
            body.line("workgroupBarrier();");
        }
        body.open(format!("for (var n = 0; n < {count}; n++)"));
        let turn = if reverse { format!("{count} - 1 - n") } else { "n".to_owned() };
        body.line(format!("let i{} = {turn};", self.scalars.kernel.axes.len() - 1));
        match first {
            Half::Product => {
                self.product(&mut body);
                self.map(&mut body);
            }
            Half::Map => {
                self.map(&mut body);
                self.product(&mut body);
            }
        }
        body.close();
        if first == Half::Map {
            self.hand_on(&mut body, &count);
        }
        let invocations = self.group.invocations;
        let head = format!("@compute @workgroup_size({invocations})\nfn {name}({BUILTINS}) {{\n");
        self.declarations() + &head + &body.text + "}\n"
    }

    fn own(&self) -> &Recurrence {
        self.recurrent.own
    }

    /// The shared memory: the states of all rows, and for each slice of terms and each row a word of sums.
    fn declarations(&self) -> String {
        let (name, RecurGroup { rows, slices, .. }) = (self.name, self.group);
        let (states, words) = (rows * self.depth(), slices * rows * self.quads());
        format!(
            "var<workgroup> {name}_state: array<f32, {states}>;\nvar<workgroup> {name}_sums: array<vec4<f32>, {words}>;\n\n"
        )
    }

    /// How many rows there are.
    fn rows(&self) -> String {
        match self.own().rows {
            Some(rows) => self.scalars.names.dim(&self.scalars.kernel.axes[rows]),
            None => "1".to_owned(),
        }
    }

    /// So many times the columns of the map.
    fn width(&self, times: usize) -> u32 {
        RecurGroup::width(self.scalars.kernel, self.own(), times)
    }

    /// Terms of the product.
    fn depth(&self) -> u32 {
        self.width(self.own().parts)
    }

    /// Words of four of its columns.
    fn quads(&self) -> u32 {
        self.width(self.own().groups) / FOUR
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        let rows = self.own().rows.map_or(1.into(), |rows| self.scalars.kernel.axes[rows].clone());
        rows.ceil_div(self.group.rows.into())
    }

    /// The position of the map in a row-major tensor whose rows have a width.
    fn position(&self, width: u32) -> String {
        let column = format!("i{}", self.own().columns);
        match self.own().rows {
            Some(rows) => format!("i{rows} * {width} + {column}"),
            None => column,
        }
    }

    /// Where a part of the state is in shared memory.
    fn shared(&self, part: usize) -> String {
        format!("row * {}u + column{}", self.depth(), plus(self.width(part), "u"))
    }

    /// What is done at the positions of the map that are the workgroup's, which the invocations share out: `row` and `column` count
    /// from its first one.
    fn each_position(&self, body: &mut Body<'_, '_>, work: &dyn Fn(&mut Body<'_, '_>)) {
        let (columns, RecurGroup { rows, invocations, .. }) = (self.width(1), self.group);
        body.open(format!("for (var p = lane; p < {}u; p += {invocations}u)", rows * columns));
        body.line(format!("let row = p / {columns}u;"));
        body.line(format!("let column = p % {columns}u;"));
        body.line(format!("let i{} = i32(column);", self.own().columns));
        match self.own().rows {
            Some(axis) => {
                body.line(format!("let i{axis} = first + i32(row);"));
                body.open(format!("if i{axis} < {}", self.rows()));
                work(body);
                body.close();
            }
            None => work(body),
        }
        body.close();
    }

    /// The sum of a group at a position: those of all slices, and what is added to them.
    fn sum(&self, group: usize) -> String {
        let (name, quads, RecurGroup { rows, slices, .. }) = (self.name, self.quads(), self.group);
        let word = self.width(group) / FOUR;
        let of_slice = |s: u32| {
            let [row, word] = [s * rows, word].map(|n| plus(n, "u"));
            format!("{name}_sums[(row{row}) * {quads}u + column / 4u{word}][column % 4u]")
        };
        let mut terms: Vec<String> = (0..slices).map(of_slice).collect();
        terms.extend(self.own().addend.map(|addend| self.scalars.load(addend, &self.position(self.width(1)))));
        terms.join(" + ")
    }

    /// The map: from the sums to the state, and whatever else it stores.
    fn map(&self, body: &mut Body<'_, '_>) {
        let Recurrence { first, groups, state, sums, .. } = *self.own();
        self.each_position(body, &|body| {
            for group in 0..groups {
                let sum = self.sum(group);
                if first == Half::Product {
                    body.line(format!("let a0_{group} = {sum};"));
                    continue;
                }
                // Before the first product the sums are those that the loop begins with.
                let at = self.position(self.width(groups)) + &plus(self.width(group), "");
                body.line(format!("var a0_{group} = 0.0f;"));
                body.line(format!("if n == 0 {{ a0_{group} = {}; }}", self.scalars.load(sums, &at)));
                body.line(format!("else {{ a0_{group} = {sum}; }}"));
            }
            body.stores(self.stores);
            for (store, moved) in self.own().stores.iter().zip(self.stores).filter(|(store, _)| store.slot == state) {
                let Some(part) = self.recurrent.part(state, &store.index) else {
                    unreachable!("verify knows the parts of a state")
                };
                let value = body.value(moved.value);
                body.line(format!("{}_state[{}] = {value};", self.name, self.shared(part)));
            }
        });
        body.line("workgroupBarrier();");
    }

    /// The product of the states with the matrix: an invocation has four neighbouring columns, in all rows, and a slice of the terms.
    fn product(&self, body: &mut Body<'_, '_>) {
        let (name, quads, RecurGroup { rows, slices, .. }) = (self.name, self.quads(), self.group);
        let (of_slice, matrix) = (self.depth() / slices, self.own().matrix);
        let terms = RecurGroup::unrolled(of_slice);
        let names = self.scalars.names;
        let (start, pitch) = (Recurrence::outside(&self.own().start), names.dim(&self.own().strides[1]));
        let start = if start == Index::default() { String::new() } else { format!(" + {}", names.index(&start)) };
        body.open(format!("if lane < {}u", quads * slices));
        body.line(format!("let quad = lane % {quads}u;"));
        body.line(format!("let slice = lane / {quads}u;"));
        (0..rows).for_each(|r| body.line(format!("var c{r} = vec4<f32>();")));
        body.open(format!("for (var k = slice * {of_slice}u; k < slice * {of_slice}u + {of_slice}u; k += {terms}u)"));
        for j in 0..terms {
            let at = format!("i32(k{}) * {pitch} + i32({FOUR}u * quad){start}", plus(j, "u"));
            body.line(format!("let w{j} = {};", self.scalars.load_four(matrix, &at)));
        }
        for (r, j) in (0..rows).flat_map(|r| (0..terms).map(move |j| (r, j))) {
            let state = format!("{name}_state[k{}]", plus(r * self.depth() + j, "u"));
            body.line(format!("c{r} = fma(vec4<f32>({state}), w{j}, c{r});"));
        }
        body.close();
        for r in 0..rows {
            body.line(format!("{name}_sums[(slice * {rows}u{}) * {quads}u + quad] = c{r};", plus(r, "u")));
        }
        body.close();
        body.line("workgroupBarrier();");
    }

    /// Stores the sums of the last product, if there was a turn.
    fn hand_on(&self, body: &mut Body<'_, '_>, count: &str) {
        let Recurrence { groups, sums, .. } = *self.own();
        body.open(format!("if {count} > 0"));
        self.each_position(body, &|body| {
            for group in 0..groups {
                let at = self.position(self.width(groups)) + &plus(self.width(group), "");
                let statement = self.scalars.store_word(sums, &at, &format!("({})", self.sum(group)));
                body.line(statement);
            }
        });
        body.close();
    }
}

/// So many more, as text: nothing where it is 0.
fn plus(number: u32, suffix: &str) -> String {
    if number == 0 { String::new() } else { format!(" + {number}{suffix}") }
}
