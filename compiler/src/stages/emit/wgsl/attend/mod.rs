//! The attend skeleton: attention and its derivatives, without memory for scores.
//!
//! Comes in: an attention kernel and its workgroup. Goes out: functions that load an element, mask a score and store an element
//! of each result, and an entry point: products of tiles, rows in single invocations, or keys of a single query. Always holds:
//! what rows meet comes through shared memory; barriers are reached by whole groups.

mod backward;
mod lines;
mod online;
mod rows;
mod single;
mod tiles;

use super::grid::{BUILTINS, NUMBER};
use super::names::Names;
use super::scalars::{Body, Scalars, literal};
use crate::ir::Dim;
use crate::ir::attend::{Attention, Part};
use crate::ir::dim::product;
use crate::ir::kernel::{Expr, ExprId, Store};
use crate::ir::prim::Scalar;
use crate::ir::ty::DType;
use crate::ir::workgroup::AttendGroup;
use lines::Lines;
use std::fmt::Write;
use tiles::Tiles;

/// An attention kernel as its printer sees it.
pub(super) struct Attend<'a> {
    pub(super) scalars: &'a Scalars<'a>,
    pub(super) name: &'a str,
    pub(super) attention: &'a Attention,
    pub(super) group: AttendGroup,
}

/// What scores and sums are made of; the reads that follow are numbers of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Read {
    Queries,
    Keys,
    Values,
    /// The cotangent of the output.
    Cotangent,
}

impl Read {
    /// All, in the order in which a kernel has them.
    const ALL: [Read; 4] = [Read::Queries, Read::Keys, Read::Values, Read::Cotangent];

    fn name(self) -> &'static str {
        match self {
            Read::Queries => "q",
            Read::Keys => "k",
            Read::Values => "v",
            Read::Cotangent => "g",
        }
    }

    /// Whether it has features (0) or values (1).
    fn side(self) -> usize {
        match self {
            Read::Queries | Read::Keys => 0,
            Read::Values | Read::Cotangent => 1,
        }
    }
}

/// The numbers of a query, in the order of a kernel's reads.
const NUMBERS: [&str; 2] = ["max", "delta"];

/// The lowest number: the score of a key that is not seen, and of everything below.
const LOWEST: &str = "-3.4028234663852886e38f";

impl Attend<'_> {
    /// Prints the kernel.
    pub(super) fn print(&self) -> String {
        let mut text = String::new();
        let (tensors, numbers) = self.attention.reads.split_at(self.reads().len());
        self.reads().iter().zip(tensors).for_each(|(&of, &read)| text += &self.element(of, read));
        NUMBERS.into_iter().zip(numbers).for_each(|(of, &read)| text += &self.number(of, read));
        text += &self.mask();
        text += &self.results();
        text + &match self.group {
            AttendGroup::Single { invocations } => self.fours() + &self.single(invocations),
            AttendGroup::Rows { invocations, columns } => self.fours() + &self.rows(invocations, columns),
            AttendGroup::Tiles(tile) => Tiles { of: self, tile }.print(),
        }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        self.extent(&self.outer()) * self.blocks()
    }

    fn names(&self) -> &Names {
        self.scalars.names
    }

    fn extent(&self, axes: &[usize]) -> Dim {
        product(axes.iter().map(|&axis| &self.scalars.kernel.axes[axis]))
    }

    fn size(&self, axes: &[usize]) -> String {
        self.names().dim(&self.extent(axes))
    }

    /// All axes of query heads.
    fn heads(&self) -> Vec<usize> {
        [&self.attention.batch[..], &self.attention.shared].concat()
    }

    /// The axes of the heads that rows belong to.
    fn outer(&self) -> Vec<usize> {
        if self.is_of_keys() { self.attention.batch.clone() } else { self.heads() }
    }

    /// Workgroups of a head.
    fn blocks(&self) -> Dim {
        let rows = match self.group {
            AttendGroup::Single { .. } => return Dim::from(1),
            AttendGroup::Rows { invocations, .. } => invocations,
            AttendGroup::Tiles(tile) => tile.rows,
        };
        self.extent(self.axes_of()[0]).ceil_div(rows.into())
    }

    /// Words of four in a row of features (0) or values (1).
    fn words(&self, side: usize) -> u32 {
        match self.attention.vectors(&self.scalars.kernel.axes) {
            Some(vectors) => vectors[side],
            None => unreachable!("the op gives kernels heads of a known size"),
        }
    }

    fn is_of_keys(&self) -> bool {
        self.attention.is_of_keys()
    }

    /// The axes of the rows, and those of the columns, which rows meet.
    fn axes_of(&self) -> [&[usize]; 2] {
        match self.is_of_keys() {
            false => [&self.attention.queries, &self.attention.keys],
            true => [&self.attention.keys, &self.attention.queries],
        }
    }

    fn scale(&self) -> String {
        literal(Scalar::f32(self.attention.attend.scale.as_f64()))
    }

    /// The entry point up to the head and the first row of the workgroup.
    fn entry(&self, w: &mut Lines, invocations: u32, rows: u32) {
        let name = self.name;
        w.line("");
        w.line(format!("@compute @workgroup_size({invocations})"));
        w.open(format!("fn {name}({BUILTINS})"));
        let blocks = self.names().dim(&self.blocks());
        w.line(format!("let job = i32({NUMBER});"));
        w.line(format!("let own = job / {blocks};"));
        w.line(format!("if own >= {} {{ return; }}", self.size(&self.outer())));
        // The last queries see the most keys, and those that take the longest come first.
        let block = match self.attention.attend.causal && !self.is_of_keys() {
            true => format!("({blocks} - 1 - job % {blocks})"),
            false => format!("job % {blocks}"),
        };
        w.line(format!("let start = {block} * {rows};"));
    }

    /// The columns that a workgroup passes over, some at a time from `first` on: of causal attention those that its rows see.
    fn columns(&self, w: &mut Lines, rows: u32, step: u32) {
        let columns = self.size(self.axes_of()[1]);
        let (from, to) = match (self.attention.attend.causal, self.is_of_keys()) {
            (false, _) => ("0".to_owned(), columns),
            (true, false) => ("0".to_owned(), format!("min({columns}, start + {rows})")),
            (true, true) => (format!("start / {step} * {step}"), columns),
        };
        w.open(format!("for (var first = {from}; first < {to}; first += {step})"));
    }

    /// Defines the axes of a head, a position, and maybe more.
    fn axes(&self, body: &mut Body<'_, '_>, parts: &[(&str, &[usize])]) {
        body.split("head", &self.heads());
        parts.iter().for_each(|(position, axes)| body.split(position, axes));
    }

    /// Whether what an invocation loads and stores at a time ends where so many features do.
    fn is_whole(&self, features: &Dim) -> bool {
        let steps = match self.group {
            AttendGroup::Single { .. } | AttendGroup::Rows { .. } => [4, 4],
            AttendGroup::Tiles(tile) => [tile.depth, 4 * tile.across()],
        };
        steps.into_iter().all(|step| features.is_multiple_of(step))
    }

    /// What the kernel reads, but for numbers of a query.
    fn reads(&self) -> &'static [Read] {
        &Read::ALL[..self.attention.reads.len().min(Read::ALL.len())]
    }

    /// A function for a feature of a row, zero beyond the last.
    fn element(&self, of: Read, read: ExprId) -> String {
        let Attention { queries, keys, features, values, .. } = self.attention;
        let rows = if matches!(of, Read::Queries | Read::Cotangent) { queries } else { keys };
        let columns = [features, values][of.side()];
        let mut body = Body::new(self.scalars);
        let extent = self.extent(columns);
        if !self.is_whole(&extent) {
            body.line(format!("if c >= {} {{ return 0.0f; }}", self.names().dim(&extent)));
        }
        self.axes(&mut body, &[("at", rows), ("c", columns)]);
        let value = body.value(read);
        body.line(format!("return {value};"));
        format!("fn {}_{}_at(head: i32, at: i32, c: i32) -> f32 {{\n{}}}\n\n", self.name, of.name(), body.text)
    }

    /// The factor of four elements of a read. Queries are scaled, so that a score is the same in all kernels.
    fn factor(&self, of: Read) -> String {
        if of == Read::Queries { format!(" * {}", self.scale()) } else { String::new() }
    }

    /// Functions for four features of a row that follow each other: to load and to store them.
    fn fours(&self) -> String {
        let (name, mut text) = (self.name, String::new());
        for &of in self.reads() {
            let read = of.name();
            let four: Vec<String> = (0..4).map(|n| format!("{name}_{read}_at(head, at, c + {n})")).collect();
            let _ = write!(
                text,
                "fn {name}_{read}(head: i32, at: i32, c: i32) -> vec4<f32> {{\n    return vec4<f32>({}){};\n}}\n\n",
                four.join(", "),
                self.factor(of)
            );
        }
        for slot in 0..self.results_of().len() {
            let each: String =
                (0..4).map(|n| format!("    {name}_store{slot}(head, at, c + {n}, x[{n}]);\n")).collect();
            let _ = write!(text, "fn {name}_four{slot}(head: i32, at: i32, c: i32, x: vec4<f32>) {{\n{each}}}\n\n");
        }
        text
    }

    /// A function for a query's number.
    fn number(&self, of: &str, read: ExprId) -> String {
        let mut body = Body::new(self.scalars);
        self.axes(&mut body, &[("at", &self.attention.queries)]);
        let value = body.value(read);
        body.line(format!("return {value};"));
        format!("fn {}_{of}(head: i32, at: i32) -> f32 {{\n{}}}\n\n", self.name, body.text)
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

    /// The axes of each result: of its rows and its features.
    fn results_of(&self) -> Vec<(&[usize], &[usize])> {
        let Attention { queries, keys, features, values, .. } = self.attention;
        match self.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => vec![(queries, values), (queries, &[]), (queries, &[])],
            Part::Query => vec![(queries, features)],
            Part::Key | Part::Value => vec![(keys, features), (keys, values)],
        }
    }

    /// Functions that store an element of each result.
    fn results(&self) -> String {
        let mut text = String::new();
        for (slot, (rows, columns)) in self.results_of().into_iter().enumerate() {
            let stores = self.attention.stores.iter();
            let own: Vec<Store> = stores.filter(|s| self.slot(s) == slot).cloned().collect();
            let mut body = Body::new(self.scalars);
            // Heads of one feature have no axis of it any more, and still come four to a vector.
            if !self.is_whole(&self.extent(columns)) {
                body.line(format!("if c >= {} {{ return; }}", self.size(columns)));
            }
            self.axes(&mut body, &[("at", rows), ("c", columns)]);
            body.stores(&own);
            let name = self.name;
            let _ = write!(
                text,
                "fn {name}_store{slot}(head: i32, at: i32, c: i32, a0_{slot}: f32) {{\n{}}}\n\n",
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
}
