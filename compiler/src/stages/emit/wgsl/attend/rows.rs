//! Attention by rows: each invocation has one, and meets the columns in turn.
//!
//! Comes in: an attention kernel, with how many invocations and columns. Goes out: an entry point. Always holds: a row (a query,
//! or in the kernel of keys a key) and its sums are in registers; columns that it does not see are not computed with.

use super::lines::Lines;
use super::{Attend, LOWEST, Read};
use crate::ir::attend::Part;

/// Invocations with a row each, and columns that are in shared memory at once.
struct Rows<'a> {
    of: &'a Attend<'a>,
    invocations: u32,
    columns: u32,
}

/// The names of the columns in shared memory: by features and by values.
const OTHER: [&str; 2] = ["a", "b"];

impl Attend<'_> {
    /// Prints the entry point.
    pub(super) fn rows(&self, invocations: u32, columns: u32) -> String {
        let rows = Rows { of: self, invocations, columns };
        match self.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => rows.output(),
            Part::Query => rows.query(),
            Part::Key | Part::Value => rows.key(),
        }
    }
}

impl Rows<'_> {
    /// The entry point up to the row that an invocation has.
    fn head(&self, w: &mut Lines) {
        let (name, columns) = (self.of.name, self.columns);
        for (side, other) in OTHER.iter().enumerate() {
            w.line(format!("var<workgroup> {name}_{other}: array<vec4<f32>, {}>;", columns * self.of.words(side)));
        }
        if self.of.is_of_keys() {
            w.line(format!("var<workgroup> {name}_numbers: array<vec2<f32>, {columns}>;"));
        }
        self.of.entry(w, self.invocations, self.invocations);
        w.line(format!("let row = min(start + i32(lane), {} - 1);", self.of.size(self.of.axes_of()[0])));
    }

    /// Loads a row into registers `{to}0`, `{to}1`, ….
    fn own(&self, w: &mut Lines, k: Read, to: &str, head: &str) {
        for c in 0..self.of.words(k.side()) {
            w.line(format!("let {to}{c} = {}_{}({head}, row, {});", self.of.name, k.name(), 4 * c));
        }
    }

    /// Sums `{to}0`, `{to}1`, … that start at zero.
    fn sums(&self, w: &mut Lines, side: usize, to: &str) {
        (0..self.of.words(side)).for_each(|c| w.line(format!("var {to}{c} = vec4<f32>();")));
    }

    /// Opens the loop over columns, and brings some of reads `k` into shared memory.
    fn tiles(&self, w: &mut Lines, reads: [Read; 2]) {
        let Rows { of, invocations: threads, columns: tile } = *self;
        let (name, columns) = (of.name, of.size(of.axes_of()[1]));
        of.columns(w, threads, tile);
        for (side, k) in reads.into_iter().enumerate() {
            let words = of.words(side);
            w.open(format!("for (var e = lane; e < {}u; e += {threads}u)", tile * words));
            w.line(format!("let at = min(first + i32(e / {words}u), {columns} - 1);"));
            w.line(format!("{name}_{}[e] = {name}_{}(head, at, 4 * i32(e % {words}u));", OTHER[side], k.name()));
            w.close();
        }
        if of.is_of_keys() {
            w.open(format!("if lane < {tile}u"));
            w.line(format!("let at = min(first + i32(lane), {columns} - 1);"));
            w.line(format!("{name}_numbers[lane] = vec2<f32>({name}_max(head, at), {name}_delta(head, at));"));
            w.close();
        }
        w.line("workgroupBarrier();");
        w.line(format!("let count = min({tile}, {columns} - first);"));
        w.open("for (var j = 0; j < count; j++)");
    }

    /// Closes both loops.
    fn end_tiles(&self, w: &mut Lines) {
        w.close();
        w.line("workgroupBarrier();");
        w.close();
    }

    /// The product of registers with row `j` of a tile.
    fn dot(&self, side: usize, own: &str) -> String {
        let term = |c: u32| format!("dot({own}{c}, {})", self.other(side, c));
        (0..self.of.words(side)).map(term).collect::<Vec<_>>().join(" + ")
    }

    fn other(&self, side: usize, c: u32) -> String {
        format!("{}_{}[j * {} + {c}]", self.of.name, OTHER[side], self.of.words(side))
    }

    /// Adds row `j` of a tile times a factor.
    fn add(&self, w: &mut Lines, side: usize, to: &str, factor: &str) {
        (0..self.of.words(side)).for_each(|c| w.line(format!("{to}{c} += {factor} * {};", self.other(side, c))));
    }

    /// Stores the sums of a row.
    fn finish(&self, w: &mut Lines, slot: usize, side: usize, from: &str, factor: &str) {
        for c in 0..self.of.words(side) {
            w.line(format!("{}_four{slot}(head, row, {}, {from}{c} * {factor});", self.of.name, 4 * c));
        }
    }

    fn output(&self) -> String {
        let mut w = Lines::default();
        self.head(&mut w);
        w.line("let head = own;");
        self.own(&mut w, Read::Queries, "q", "head");
        self.sums(&mut w, 1, "o");
        w.line(format!("var most = {LOWEST};"));
        w.line("var total = 0.0f;");
        self.tiles(&mut w, [Read::Keys, Read::Values]);
        w.line(format!("let score = {}_masked(head, row, first + j, {});", self.of.name, self.dot(0, "q")));
        w.open(format!("if !(score <= {LOWEST})"));
        w.open("if !(score <= most)");
        w.line("let factor = exp_f32(most - score);");
        w.line("most = score;");
        w.line("total *= factor;");
        (0..self.of.words(1)).for_each(|c| w.line(format!("o{c} *= factor;")));
        w.close();
        w.line("let p = exp_f32(score - most);");
        w.line("total += p;");
        self.add(&mut w, 1, "o", "p");
        w.close();
        self.end_tiles(&mut w);
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.of.size(&self.of.attention.queries)));
        w.line("let nothing = total == 0.0f;");
        w.line("let inverse = select(1.0f / total, 0.0f, nothing);");
        self.finish(&mut w, 0, 1, "o", "inverse");
        w.line(format!("{}_store1(head, row, 0, select(most, 0.0f, nothing));", self.of.name));
        w.line(format!("{}_store2(head, row, 0, inverse);", self.of.name));
        w.close();
        w.text
    }

    fn query(&self) -> String {
        let (mut w, name) = (Lines::default(), self.of.name);
        self.head(&mut w);
        w.line("let head = own;");
        self.own(&mut w, Read::Queries, "q", "head");
        self.own(&mut w, Read::Cotangent, "g", "head");
        w.line(format!("let most = {name}_max(head, row);"));
        w.line(format!("let delta = {name}_delta(head, row);"));
        self.sums(&mut w, 0, "d");
        self.tiles(&mut w, [Read::Keys, Read::Values]);
        w.line(format!("let score = {name}_masked(head, row, first + j, {});", self.dot(0, "q")));
        w.open(format!("if !(score <= {LOWEST})"));
        w.line(format!("let slope = exp_f32(min(score - most, 0.0f)) * ({} - delta);", self.dot(1, "g")));
        self.add(&mut w, 0, "d", "slope");
        w.close();
        self.end_tiles(&mut w);
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.of.size(&self.of.attention.queries)));
        self.finish(&mut w, 0, 0, "d", &self.of.scale());
        w.close();
        w.text
    }

    fn key(&self) -> String {
        let (mut w, name) = (Lines::default(), self.of.name);
        let shared = self.of.size(&self.of.attention.shared);
        self.head(&mut w);
        let first = format!("own * {shared}");
        self.own(&mut w, Read::Keys, "k", &first);
        self.own(&mut w, Read::Values, "v", &first);
        self.sums(&mut w, 0, "d");
        self.sums(&mut w, 1, "e");
        w.open(format!("for (var other = 0; other < {shared}; other++)"));
        w.line(format!("let head = own * {shared} + other;"));
        self.tiles(&mut w, [Read::Queries, Read::Cotangent]);
        w.line(format!("let numbers = {name}_numbers[j];"));
        w.line(format!("let score = {name}_masked(head, first + j, row, {});", self.dot(0, "k")));
        w.open(format!("if !(score <= {LOWEST})"));
        w.line("let p = exp_f32(min(score - numbers.x, 0.0f));");
        w.line(format!("let slope = p * ({} - numbers.y);", self.dot(1, "v")));
        self.add(&mut w, 0, "d", "slope");
        self.add(&mut w, 1, "e", "p");
        w.close();
        self.end_tiles(&mut w);
        w.close();
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.of.size(&self.of.attention.keys)));
        w.line(format!("let head = own * {shared};"));
        self.finish(&mut w, 0, 0, "d", "1.0f");
        self.finish(&mut w, 1, 1, "e", "1.0f");
        w.close();
        w.text
    }
}
