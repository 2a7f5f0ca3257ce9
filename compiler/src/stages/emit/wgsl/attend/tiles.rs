//! Attention by tiles: scores are products of lines of rows and of columns, and results are sums over columns that scores
//! weigh, which are products too (Dao 2023).
//!
//! Comes in: an attention kernel and a tile. Goes out: functions that bring words into shared memory, and an entry point.
//! Always holds: lines lie in shared memory by feature, and weights by column, a vector of four rows to a word; an invocation
//! has the same rows in every product, in blocks of four columns with four rows each; what is beyond the last row or column
//! is loaded as the last, and counts for nothing.

use super::lines::Lines;
use super::{Attend, LOWEST, Read};
use crate::ir::attend::Part;
use crate::ir::workgroup::AttendTile;
use std::fmt::Write;

/// The printer of an entry point.
pub(super) struct Tiles<'a> {
    pub(super) of: &'a Attend<'a>,
    pub(super) tile: AttendTile,
}

impl Tiles<'_> {
    /// Prints the functions and the entry point.
    pub(super) fn print(&self) -> String {
        let mut text = self.seen();
        let (products, weighed): (&[[Read; 2]], &[Read]) = match self.of.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => (&[[Read::Queries, Read::Keys]], &[Read::Values]),
            Part::Query => (&[[Read::Queries, Read::Keys], [Read::Cotangent, Read::Values]], &[Read::Keys]),
            Part::Key | Part::Value => {
                (&[[Read::Keys, Read::Queries], [Read::Values, Read::Cotangent]], &[Read::Queries, Read::Cotangent])
            }
        };
        products.iter().for_each(|reads| (0..2).for_each(|of| text += &self.line_word(reads[of], of)));
        weighed.iter().for_each(|&read| text += &self.weighed_word(read));
        (0..weighed.len()).for_each(|slot| text += &self.block_store(slot));
        text + &match self.of.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => self.output(),
            Part::Query => self.query(),
            Part::Key | Part::Value => self.key(),
        }
    }

    /// The vectors of four rows of an invocation.
    pub(super) fn high(&self) -> u32 {
        self.tile.thread_tile[0] / 4
    }

    /// The blocks of columns of an invocation.
    pub(super) fn wide(&self) -> u32 {
        self.tile.thread_tile[1] / 4
    }

    /// The blocks of a sum's features (0) or values (1) that an invocation has.
    pub(super) fn share(&self, side: usize) -> u32 {
        self.tile.share(self.of.words(side))
    }

    /// The vector of rows, block and column in it of each vector of scores.
    pub(super) fn each_score(&self, mut see: impl FnMut(u32, u32, u32)) {
        (0..self.high()).for_each(|i| (0..self.wide()).for_each(|h| (0..4).for_each(|n| see(i, h, n))));
    }

    /// How far apart the four rows of a vector are: those of a word are spread over the tile, as are columns, so that invocations
    /// beside each other read and write what lies beside each other.
    fn apart(&self) -> u32 {
        self.tile.rows / 4
    }

    /// The column of an invocation in a tile, after its first.
    pub(super) fn column(&self, h: u32, n: u32) -> u32 {
        self.tile.across() * h + self.tile.columns / 4 * n
    }

    fn last(&self, of: usize) -> String {
        format!("{} - 1", self.of.size(self.of.axes_of()[of]))
    }

    /// A function for four scores after the mask; the lowest number beyond the last column.
    fn seen(&self) -> String {
        let name = self.of.name;
        let columns = self.of.extent(self.of.axes_of()[1]);
        let mut w = Lines::default();
        w.open(format!("fn {name}_seen(head: i32, row: i32, column: i32, scores: vec4<f32>) -> vec4<f32>"));
        if !columns.is_multiple_of(self.tile.columns) {
            let columns = self.of.names().dim(&columns);
            w.line(format!("if column >= {columns} {{ return vec4<f32>({LOWEST}); }}"));
        }
        for r in 0..4 {
            w.line(format!("let row{r} = min(row + {}, {});", self.apart() * r, self.last(0)));
        }
        let masked = |r: u32| match self.of.is_of_keys() {
            false => format!("{name}_masked(head, row{r}, column, scores[{r}])"),
            true => format!("{name}_masked(head, column, row{r}, scores[{r}])"),
        };
        w.line(format!("return vec4<f32>({});", (0..4).map(masked).collect::<Vec<_>>().join(", ")));
        w.close();
        w.text + "\n"
    }

    /// A function for word `e` of lines of rows (0) or columns (1): four of them, at one feature. Invocations beside each other
    /// have features beside each other.
    fn line_word(&self, read: Read, of: usize) -> String {
        let (name, k, depth) = (self.of.name, read.name(), self.tile.depth);
        let groups = [self.tile.rows, self.tile.columns][of] / 4;
        let last = self.last(of);
        let element =
            |n: u32| format!("{name}_{k}_at(head, min(first + i32(e / {depth}u) + {}, {last}), at)", groups * n);
        format!(
            "fn {name}_{k}_line(head: i32, first: i32, c: i32, e: u32) -> vec4<f32> {{\n    \
             let at = c + i32(e % {depth}u);\n    return vec4<f32>({}){};\n}}\n\n",
            (0..4).map(element).collect::<Vec<_>>().join(", "),
            self.of.factor(read)
        )
    }

    /// A function for word `e` of what scores weigh: four features of a column.
    fn weighed_word(&self, read: Read) -> String {
        let (name, k) = (self.of.name, read.name());
        let words = self.share(read.side()) * self.tile.across();
        let element = |n: u32| format!("{name}_{k}_at(head, at, c + {})", words * n);
        format!(
            "fn {name}_{k}_weighed(head: i32, first: i32, e: u32) -> vec4<f32> {{\n    \
             let at = min(first + i32(e / {words}u), {});\n    let c = i32(e % {words}u);\n    \
             return vec4<f32>({}){};\n}}\n\n",
            self.last(1),
            (0..4).map(element).collect::<Vec<_>>().join(", "),
            self.of.factor(read)
        )
    }

    /// A function that stores a block of a result.
    fn block_store(&self, slot: usize) -> String {
        let name = self.of.name;
        let words = self.share(self.side_of(slot)) * self.tile.across();
        let rows = self.of.size(self.of.axes_of()[0]);
        let mut w = Lines::default();
        w.open(format!("fn {name}_block{slot}(head: i32, row: i32, c: i32, sums: mat4x4<f32>)"));
        for r in 0..4 {
            w.open(format!("if row + {} < {rows}", self.apart() * r));
            for n in 0..4 {
                let (row, c) = (self.apart() * r, words * n);
                w.line(format!("{name}_store{slot}(head, row + {row}, c + {c}, sums[{n}][{r}]);"));
            }
            w.close();
        }
        w.close();
        w.text + "\n"
    }

    /// Whether a result has features (0) or values (1).
    fn side_of(&self, slot: usize) -> usize {
        match self.of.attention.attend.part {
            Part::Output | Part::Max | Part::Reciprocal => 1,
            Part::Query => 0,
            Part::Key | Part::Value => slot,
        }
    }

    /// The entry point up to the rows of an invocation.
    pub(super) fn open(&self, w: &mut Lines) {
        let (name, tile) = (self.of.name, &self.tile);
        let words = tile.words([self.of.words(0), self.of.words(1)]);
        w.line(format!("var<workgroup> {name}_tiles: array<vec4<f32>, {words}>;"));
        self.of.entry(w, tile.invocations(), tile.rows);
        w.line(format!("let x = lane % {}u;", tile.across()));
        w.line(format!("let y = lane / {}u;", tile.across()));
        for i in 0..self.high() {
            w.line(format!("let row{i} = start + i32(y) + {};", tile.down() * i));
        }
    }

    /// Opens the loop over tiles of columns.
    pub(super) fn columns(&self, w: &mut Lines) {
        self.of.columns(w, self.tile.rows, self.tile.columns);
        w.line("let column = first + i32(x);");
    }

    /// Sums of a result that start at zero, in blocks `{to}{i}{h}`.
    pub(super) fn zeros(&self, w: &mut Lines, to: &str, wide: u32) {
        (0..self.high()).for_each(|i| (0..wide).for_each(|h| w.line(format!("var {to}{i}{h} = mat4x4<f32>();"))));
    }

    /// Scores `{to}{i}{h}`: products of lines of two reads over their features.
    pub(super) fn scores(&self, w: &mut Lines, to: &str, reads: [Read; 2]) {
        let AttendTile { rows, columns, depth, .. } = self.tile;
        let (name, features) = (self.of.name, 4 * self.of.words(reads[0].side()));
        let sides = [("p", rows, "start"), ("q", columns, "first")];
        let fetch = |w: &mut Lines, declared: &str, c: &str| {
            for (of, (prefix, side, first)) in sides.iter().enumerate() {
                self.each_word(depth * side / 4, |j, e| {
                    let read = reads[of].name();
                    w.line(format!("{declared}{to}{prefix}{j} = {name}_{read}_line(head, {first}, {c}, {e});"));
                });
            }
        };
        self.zeros(w, to, self.wide());
        fetch(w, "var ", "0");
        w.open(format!("for (var c = 0; c < {features}; c += {depth})"));
        for (of, (prefix, side, _)) in sides.iter().enumerate() {
            let base = if of == 0 { String::new() } else { format!("{}u + ", depth * AttendTile::pitch(rows)) };
            self.each_word(depth * side / 4, |j, e| {
                let at = format!("{base}({e}) % {depth}u * {}u + ({e}) / {depth}u", AttendTile::pitch(*side));
                self.put(w, depth * side / 4, j, &at, &format!("{to}{prefix}{j}"));
            });
        }
        w.line("workgroupBarrier();");
        w.open(format!("if c + {depth} < {features}"));
        fetch(w, "", &format!("c + {depth}"));
        w.close();
        self.multiply(w, to, self.wide(), AttendTile::pitch(columns));
        w.line("workgroupBarrier();");
        w.close();
    }

    /// Adds to blocks `{to}{i}{h}` the features of columns of a read, weighed by `{from}{i}{h}`.
    pub(super) fn add_weighed(&self, w: &mut Lines, to: &str, from: &str, read: Read) {
        let AttendTile { rows, columns, depth, .. } = self.tile;
        let (name, across, pitch) = (self.of.name, self.tile.across(), AttendTile::pitch(rows));
        let words = self.share(read.side()) * across;
        let fetch = |w: &mut Lines, declared: &str, at: u32| {
            self.each_word(depth * words, |j, e| {
                let read = read.name();
                w.line(format!("{declared}{to}r{j} = {name}_{read}_weighed(head, first + {at}, {e});"));
            });
        };
        fetch(w, "var ", 0);
        for at in (0..columns).step_by(depth as usize) {
            // Those of the invocation's columns that are among these.
            self.each_score(|i, h, n| {
                let column = self.column(h, n);
                if (at..at + depth).contains(&column) {
                    let line = format!("({}u + x) * {pitch}u + y + {}u", column - at, self.tile.down() * i);
                    w.line(format!("{name}_tiles[{line}] = {from}{i}{h}[{n}];"));
                }
            });
            self.each_word(depth * words, |j, e| {
                self.put(w, depth * words, j, &format!("{}u + {e}", depth * pitch), &format!("{to}r{j}"));
            });
            w.line("workgroupBarrier();");
            if at + depth < columns {
                fetch(w, "", at + depth);
            }
            self.multiply(w, to, self.share(read.side()), words);
            w.line("workgroupBarrier();");
        }
    }

    /// The words that each invocation brings of so many: number, and which.
    fn each_word(&self, words: u32, mut see: impl FnMut(u32, &str)) {
        let threads = self.tile.invocations();
        (0..words.div_ceil(threads)).for_each(|j| see(j, &format!("lane + {}u", j * threads)));
    }

    /// Puts a word in its place, if it is one of so many.
    fn put(&self, w: &mut Lines, words: u32, j: u32, at: &str, word: &str) {
        let threads = self.tile.invocations();
        let guard = match (j + 1) * threads <= words {
            true => String::new(),
            false => format!("if lane + {}u < {words}u ", j * threads),
        };
        w.line(format!("{guard}{{ {}_tiles[{at}] = {word}; }}", self.of.name));
    }

    /// Adds products of what is in shared memory: words of rows, and behind them lines with so many words, of which an invocation
    /// has `wide`.
    fn multiply(&self, w: &mut Lines, to: &str, wide: u32, words: u32) {
        let AttendTile { rows, depth, .. } = self.tile;
        let (name, pitch) = (self.of.name, AttendTile::pitch(rows));
        let steps = self.tile.unrolled();
        w.open(format!("for (var t = 0u; t < {depth}u; t += {steps}u)"));
        for u in 0..steps {
            for i in 0..self.high() {
                w.line(format!("let a{u}{i} = {name}_tiles[(t + {u}u) * {pitch}u + y + {}u];", self.tile.down() * i));
            }
            for h in 0..wide {
                let at = format!("{}u + (t + {u}u) * {words}u + x + {}u", depth * pitch, self.tile.across() * h);
                w.line(format!("let b{u}{h} = {name}_tiles[{at}];"));
            }
            for i in 0..self.high() {
                (0..wide).for_each(|h| w.line(format!("{to}{i}{h} = outer_add(b{u}{h}, a{u}{i}, {to}{i}{h});")));
            }
        }
        w.close();
    }

    /// Masks the scores, where a tile reaches over an edge or there is a mask for each.
    pub(super) fn mask(&self, w: &mut Lines) {
        let AttendTile { rows, columns, .. } = self.tile;
        let attention = self.of.attention;
        let mut inside = format!("first + {columns} <= {}", self.of.size(self.of.axes_of()[1]));
        match (attention.attend.causal, self.of.is_of_keys()) {
            (false, _) => {}
            (true, false) => _ = write!(inside, " && first + {} <= start", columns - 1),
            (true, true) => _ = write!(inside, " && first >= start + {}", rows - 1),
        }
        if attention.mask.is_none() {
            w.open(format!("if !({inside})"));
        }
        self.each_score(|i, h, n| {
            let column = self.column(h, n);
            let score = format!("s{i}{h}[{n}]");
            w.line(format!("{score} = {}_seen(head, row{i}, column + {column}, {score});", self.of.name));
        });
        if attention.mask.is_none() {
            w.close();
        }
    }

    /// Stores the sums `{from}{i}{h}`.
    pub(super) fn store(&self, w: &mut Lines, slot: usize, from: &str) {
        for i in 0..self.high() {
            for h in 0..self.share(self.side_of(slot)) {
                let c = format!("i32(x) + {}", self.tile.across() * h);
                w.line(format!("{}_block{slot}(head, row{i}, {c}, {from}{i}{h});", self.of.name));
            }
        }
    }
}
