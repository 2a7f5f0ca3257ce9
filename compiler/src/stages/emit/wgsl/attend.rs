//! The attend skeleton: attention and its derivatives, without memory for scores.
//!
//! Comes in: an attention kernel. Goes out: loaders of four features, a function for masks, functions for the results, and
//! an entry point. Always holds: an invocation has a row of its own (a query, or in the kernel of keys a key) with its sums
//! in registers; what rows meet comes through shared memory, a tile at a time; barriers are reached by whole groups.

use super::names::Names;
use super::scalars::{Body, Scalars};
use crate::ir::Dim;
use crate::ir::attend::{Attention, Part};
use crate::ir::dim::product;
use crate::ir::kernel::{Expr, ExprId, Store};
use crate::ir::prim::Scalar;
use crate::ir::ty::DType;
use crate::ir::workgroup::AttendGroup;
use std::fmt::Write;

/// An attention kernel as its printer sees it.
pub(super) struct Attend<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    pub(super) attention: &'a Attention,
    pub(super) group: AttendGroup,
}

/// The names of the reads, in their order.
const READS: [&str; 6] = ["q", "k", "v", "g", "max", "delta"];

impl Attend<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        for (k, read) in self.attention.reads.iter().enumerate() {
            text += &if k < 4 { self.loader(k, *read) } else { self.number(k, *read) };
        }
        text += &self.mask();
        text += &self.results();
        text + &match (self.group.tile, self.attention.attend.part) {
            (None, _) => self.single(),
            (Some(_), Part::Output | Part::Max | Part::Reciprocal) => self.output(),
            (Some(_), Part::Query) => self.query(),
            (Some(_), Part::Key | Part::Value) => self.key(),
        }
    }

    pub(super) fn names(&self) -> &Names {
        self.scalars.names
    }

    fn extent(&self, axes: &[usize]) -> Dim {
        product(axes.iter().map(|&axis| &self.scalars.kernel.axes[axis]))
    }

    pub(super) fn size(&self, axes: &[usize]) -> String {
        self.names().dim(&self.extent(axes))
    }

    /// All axes of query heads.
    pub(super) fn heads(&self) -> Vec<usize> {
        [&self.attention.batch[..], &self.attention.shared].concat()
    }

    /// Words of four in a row of features (0) or values (1).
    pub(super) fn words(&self, side: usize) -> u32 {
        match self.attention.vectors(&self.scalars.kernel.axes) {
            Some(vectors) => vectors[side],
            None => unreachable!("the op gives kernels heads of a known size"),
        }
    }

    fn is_of_keys(&self) -> bool {
        self.attention.is_of_keys()
    }

    /// The axis of the rows, and that of what they meet.
    fn rows(&self) -> [&[usize]; 2] {
        match self.is_of_keys() {
            false => [&self.attention.queries, &self.attention.keys],
            true => [&self.attention.keys, &self.attention.queries],
        }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        let heads = if self.is_of_keys() { self.attention.batch.clone() } else { self.heads() };
        let blocks = match self.group.tile {
            None => Dim::from(1),
            Some(_) => self.extent(self.rows()[0]).ceil_div(self.group.invocations.into()),
        };
        self.extent(&heads) * blocks
    }

    /// Rows of a tile in shared memory.
    fn tile(&self) -> u32 {
        self.group.tile.unwrap_or(1)
    }

    fn scale(&self) -> String {
        super::scalars::literal(Scalar::f32(self.attention.attend.scale.as_f64()))
    }

    /// Defines the axes of a head, a position, and maybe more.
    fn axes(&self, body: &mut Body<'_, '_>, parts: &[(&str, &[usize])]) {
        body.split("head", &self.heads());
        parts.iter().for_each(|(position, axes)| body.split(position, axes));
    }

    /// A function for four features of a row, zeros beyond the last. Those of queries are scaled, so that a score is the same in
    /// all kernels.
    fn loader(&self, k: usize, read: ExprId) -> String {
        let Attention { queries, keys, features, values, .. } = self.attention;
        let (rows, columns) = [(queries, features), (keys, features), (keys, values), (queries, values)][k];
        let mut body = Body::new(self.scalars);
        let extent = self.extent(columns);
        let exact = extent.exact_div(&Dim::from(4)).is_some();
        if !exact {
            body.line(format!("if c >= {} {{ return 0.0f; }}", self.names().dim(&extent)));
        }
        self.axes(&mut body, &[("at", rows), ("c", columns)]);
        let value = body.value(read);
        body.line(format!("return {value};"));
        let (name, of) = (self.name, READS[k]);
        let factor = if k == 0 { format!(" * {}", self.scale()) } else { String::new() };
        let four: Vec<String> = (0..4).map(|n| format!("{name}_{of}_at(head, at, c + {n})")).collect();
        format!(
            "fn {name}_{of}_at(head: i32, at: i32, c: i32) -> f32 {{\n{}}}\n\n\
             fn {name}_{of}(head: i32, at: i32, c: i32) -> vec4<f32> {{\n    return vec4<f32>({}){factor};\n}}\n\n",
            body.text,
            four.join(", ")
        )
    }

    /// A function for a query's number.
    fn number(&self, k: usize, read: ExprId) -> String {
        let mut body = Body::new(self.scalars);
        self.axes(&mut body, &[("at", &self.attention.queries)]);
        let value = body.value(read);
        body.line(format!("return {value};"));
        format!("fn {}_{}(head: i32, at: i32) -> f32 {{\n{}}}\n\n", self.name, READS[k], body.text)
    }

    /// A function for a score after the mask; the lowest number where the query does not see the key.
    fn mask(&self) -> String {
        let mut body = Body::new(self.scalars);
        if self.attention.attend.causal {
            body.line(format!("if key > query {{ return {LOWEST}; }}"));
        }
        match self.attention.mask {
            None => body.line("return score;"),
            Some(mask) => {
                self.axes(&mut body, &[("query", &self.attention.queries), ("key", &self.attention.keys)]);
                let value = body.value(mask);
                match self.scalars.dtype(mask) {
                    DType::Bool => body.line(format!("return select({LOWEST}, score, {value});")),
                    _ => body.line(format!("return score + {value};")),
                }
            }
        }
        format!("fn {}_masked(head: i32, query: i32, key: i32, score: f32) -> f32 {{\n{}}}\n\n", self.name, body.text)
    }

    /// Functions that store an element of each result.
    fn results(&self) -> String {
        let Attention { queries, keys, features, values, stores, .. } = self.attention;
        let of_part: &[(&[usize], &[usize])] = match self.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => &[(queries, values), (queries, &[]), (queries, &[])],
            Part::Query => &[(queries, features)],
            Part::Key | Part::Value => &[(keys, features), (keys, values)],
        };
        let mut text = String::new();
        for (slot, (rows, columns)) in of_part.iter().enumerate() {
            let own: Vec<Store> = stores.iter().filter(|s| self.slot(s) == slot).cloned().collect();
            let mut body = Body::new(self.scalars);
            // Heads of one feature have no axis of it any more, and still come four to a vector.
            if self.extent(columns).exact_div(&Dim::from(4)).is_none() {
                body.line(format!("if c >= {} {{ return; }}", self.size(columns)));
            }
            self.axes(&mut body, &[("at", rows), ("c", columns)]);
            body.stores(&own);
            let name = self.name;
            let each: String =
                (0..4).map(|n| format!("    {name}_store{slot}(head, at, c + {n}, x[{n}]);\n")).collect();
            let _ = write!(
                text,
                "fn {name}_store{slot}(head: i32, at: i32, c: i32, a0_{slot}: f32) {{\n{}}}\n\n\
                 fn {name}_four{slot}(head: i32, at: i32, c: i32, x: vec4<f32>) {{\n{each}}}\n\n",
                body.text
            );
        }
        text
    }

    fn slot(&self, store: &Store) -> usize {
        match self.scalars.kernel.scalars[store.value] {
            Expr::Accumulated { slot, .. } => slot,
            _ => unreachable!("attention stores its results"),
        }
    }

    /// The entry point up to the row that an invocation has.
    fn head(&self, w: &mut Lines) {
        let threads = self.group.invocations;
        let name = self.name;
        let (tile, rows) = (self.tile(), self.size(self.rows()[0]));
        for (side, other) in OTHER.iter().enumerate() {
            w.line(format!("var<workgroup> {name}_{other}: array<vec4<f32>, {}>;", tile * self.words(side)));
        }
        if self.is_of_keys() {
            w.line(format!("var<workgroup> {name}_numbers: array<vec2<f32>, {tile}>;"));
        }
        w.line("");
        w.line(format!("@compute @workgroup_size({threads})"));
        w.open(format!(
            "fn {name}(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32)"
        ));
        let blocks = self.names().dim(&self.extent(self.rows()[0]).ceil_div(threads.into()));
        let heads = if self.is_of_keys() { self.attention.batch.clone() } else { self.heads() };
        w.line("let job = i32(group.y * 65535u + group.x);");
        w.line(format!("let own = job / {blocks};"));
        w.line(format!("if own >= {} {{ return; }}", self.size(&heads)));
        w.line(format!("let start = job % {blocks} * {threads};"));
        w.line(format!("let row = min(start + i32(lane), {rows} - 1);"));
    }

    /// Loads a row into registers `{to}0`, `{to}1`, ….
    fn own(&self, w: &mut Lines, k: usize, to: &str, head: &str) {
        for c in 0..self.words(side(k)) {
            w.line(format!("let {to}{c} = {}_{}({head}, row, {});", self.name, READS[k], 4 * c));
        }
    }

    /// Sums `{to}0`, `{to}1`, … that start at zero.
    fn sums(&self, w: &mut Lines, side: usize, to: &str) {
        (0..self.words(side)).for_each(|c| w.line(format!("var {to}{c} = vec4<f32>();")));
    }

    /// Opens the loop over tiles of what rows meet, and brings a tile of reads `k` into shared memory.
    fn tiles(&self, w: &mut Lines, reads: [usize; 2]) {
        let threads = self.group.invocations;
        let (name, tile) = (self.name, self.tile());
        let columns = self.size(self.rows()[1]);
        let (from, to) = match (self.attention.attend.causal, self.is_of_keys()) {
            (false, _) => ("0".to_owned(), columns.clone()),
            (true, false) => ("0".to_owned(), format!("min({columns}, start + {threads})")),
            (true, true) => (format!("start / {tile} * {tile}"), columns.clone()),
        };
        w.open(format!("for (var first = {from}; first < {to}; first += {tile})"));
        for (side, k) in reads.into_iter().enumerate() {
            let words = self.words(side);
            w.open(format!("for (var e = lane; e < {}u; e += {threads}u)", tile * words));
            w.line(format!("let at = min(first + i32(e / {words}u), {columns} - 1);"));
            w.line(format!("{name}_{}[e] = {name}_{}(head, at, 4 * i32(e % {words}u));", OTHER[side], READS[k]));
            w.close();
        }
        if self.is_of_keys() {
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
        (0..self.words(side)).map(term).collect::<Vec<_>>().join(" + ")
    }

    fn other(&self, side: usize, c: u32) -> String {
        format!("{}_{}[j * {} + {c}]", self.name, OTHER[side], self.words(side))
    }

    /// Adds row `j` of a tile times a factor.
    fn add(&self, w: &mut Lines, side: usize, to: &str, factor: &str) {
        (0..self.words(side)).for_each(|c| w.line(format!("{to}{c} += {factor} * {};", self.other(side, c))));
    }

    /// Stores the sums of a row.
    fn finish(&self, w: &mut Lines, slot: usize, side: usize, from: &str, factor: &str) {
        for c in 0..self.words(side) {
            w.line(format!("{}_four{slot}(head, row, {}, {from}{c} * {factor});", self.name, 4 * c));
        }
    }

    fn output(&self) -> String {
        let mut w = Lines::default();
        self.head(&mut w);
        w.line("let head = own;");
        self.own(&mut w, 0, "q", "head");
        self.sums(&mut w, 1, "o");
        w.line(format!("var most = {LOWEST};"));
        w.line("var total = 0.0f;");
        self.tiles(&mut w, [1, 2]);
        w.line(format!("let score = {}_masked(head, row, first + j, {});", self.name, self.dot(0, "q")));
        w.open(format!("if !(score <= {LOWEST})"));
        w.open("if !(score <= most)");
        w.line("let factor = exp_f32(most - score);");
        w.line("most = score;");
        w.line("total *= factor;");
        (0..self.words(1)).for_each(|c| w.line(format!("o{c} *= factor;")));
        w.close();
        w.line("let p = exp_f32(score - most);");
        w.line("total += p;");
        self.add(&mut w, 1, "o", "p");
        w.close();
        self.end_tiles(&mut w);
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.size(&self.attention.queries)));
        w.line("let nothing = total == 0.0f;");
        w.line("let inverse = select(1.0f / total, 0.0f, nothing);");
        self.finish(&mut w, 0, 1, "o", "inverse");
        w.line(format!("{}_store1(head, row, 0, select(most, 0.0f, nothing));", self.name));
        w.line(format!("{}_store2(head, row, 0, inverse);", self.name));
        w.close();
        w.text
    }

    fn query(&self) -> String {
        let (mut w, name) = (Lines::default(), self.name);
        self.head(&mut w);
        w.line("let head = own;");
        self.own(&mut w, 0, "q", "head");
        self.own(&mut w, 3, "g", "head");
        w.line(format!("let most = {name}_max(head, row);"));
        w.line(format!("let delta = {name}_delta(head, row);"));
        self.sums(&mut w, 0, "d");
        self.tiles(&mut w, [1, 2]);
        w.line(format!("let score = {name}_masked(head, row, first + j, {});", self.dot(0, "q")));
        w.open(format!("if !(score <= {LOWEST})"));
        w.line(format!("let slope = exp_f32(min(score - most, 0.0f)) * ({} - delta);", self.dot(1, "g")));
        self.add(&mut w, 0, "d", "slope");
        w.close();
        self.end_tiles(&mut w);
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.size(&self.attention.queries)));
        self.finish(&mut w, 0, 0, "d", &self.scale());
        w.close();
        w.text
    }

    fn key(&self) -> String {
        let (mut w, name) = (Lines::default(), self.name);
        let shared = self.size(&self.attention.shared);
        self.head(&mut w);
        let first = format!("own * {shared}");
        self.own(&mut w, 1, "k", &first);
        self.own(&mut w, 2, "v", &first);
        self.sums(&mut w, 0, "d");
        self.sums(&mut w, 1, "e");
        w.open(format!("for (var other = 0; other < {shared}; other++)"));
        w.line(format!("let head = own * {shared} + other;"));
        self.tiles(&mut w, [0, 3]);
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
        w.line(format!("if start + i32(lane) >= {} {{ return; }}", self.size(&self.attention.keys)));
        w.line(format!("let head = own * {shared};"));
        self.finish(&mut w, 0, 0, "d", "1.0f");
        self.finish(&mut w, 1, 1, "e", "1.0f");
        w.close();
        w.text
    }
}

/// The lowest number: the score of a key that is not seen, and of everything below.
pub(super) const LOWEST: &str = "-3.4028234663852886e38f";

/// The names of the tiles in shared memory: by features and by values.
const OTHER: [&str; 2] = ["a", "b"];

/// Whether a read has features (0) or values (1).
fn side(read: usize) -> usize {
    usize::from(read >= 2)
}

/// Text with indentation.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) text: String,
    depth: usize,
}

impl Lines {
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let _ = writeln!(self.text, "{:1$}{2}", "", 4 * self.depth, line.as_ref());
    }

    pub(super) fn open(&mut self, head: impl AsRef<str>) {
        self.line(format!("{} {{", head.as_ref()));
        self.depth += 1;
    }

    pub(super) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
}
