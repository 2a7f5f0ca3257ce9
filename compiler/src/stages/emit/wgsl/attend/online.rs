//! The output of attention by tiles: a softmax that goes along with the columns (Milakov and Gimelshein 2018).
//!
//! Comes in: a tile. Goes out: the entry point. Always holds: the invocations of a row know its largest score so far, and
//! each adds up the exponentials of its own columns.

use super::lines::Lines;
use super::tiles::Tiles;
use super::{LOWEST, Read};
use crate::ir::workgroup::AttendTile;

impl Tiles<'_> {
    /// The entry point.
    pub(super) fn output(&self) -> String {
        let (mut w, name) = (Lines::default(), self.of.name);
        self.open(&mut w);
        w.line("let head = own;");
        for i in 0..self.high() {
            w.line(format!("var most{i} = vec4<f32>({LOWEST});"));
            w.line(format!("var total{i} = vec4<f32>();"));
        }
        self.zeros(&mut w, "o", self.share(1));
        self.columns(&mut w);
        self.scores(&mut w, "s", [Read::Queries, Read::Keys]);
        self.mask(&mut w);
        self.exponentials(&mut w);
        self.add_weighed(&mut w, "o", "s", Read::Values);
        w.close();
        self.over_rows(&mut w, "total", "sum", |a, b| format!("{a} + {b}"));
        for i in 0..self.high() {
            w.line(format!("let nothing{i} = sum{i} == vec4<f32>();"));
            w.line(format!("let inverse{i} = select(1.0f / sum{i}, vec4<f32>(), nothing{i});"));
        }
        self.scale(&mut w, "o", self.share(1), "inverse");
        self.store(&mut w, 0, "o");
        w.open("if x == 0u");
        for i in 0..self.high() {
            w.line(format!("most{i} = select(most{i}, vec4<f32>(), nothing{i});"));
            for r in 0..4 {
                let row = format!("row{i} + {}", self.tile.rows / 4 * r);
                w.open(format!("if {row} < {}", self.of.size(&self.of.attention.queries)));
                w.line(format!("{name}_store1(head, {row}, 0, most{i}[{r}]);"));
                w.line(format!("{name}_store2(head, {row}, 0, inverse{i}[{r}]);"));
                w.close();
            }
        }
        w.close();
        w.close();
        w.text
    }

    /// Scores become exponentials, after the sums so far were scaled to the new largest score of a row.
    fn exponentials(&self, w: &mut Lines) {
        for i in 0..self.high() {
            w.line(format!("var peak{i} = most{i};"));
            self.each_score(|of, h, n| {
                if of == i {
                    w.line(format!("peak{i} = max(peak{i}, s{i}{h}[{n}]);"));
                }
            });
        }
        self.over_rows(w, "peak", "highest", |a, b| format!("max({a}, {b})"));
        for i in 0..self.high() {
            w.line(format!("let factor{i} = exp_nonpositive(most{i} - highest{i});"));
            w.line(format!("most{i} = highest{i};"));
            w.line(format!("total{i} *= factor{i};"));
            // Where a row has seen no column, its scores are far below this.
            w.line(format!("let base{i} = select(most{i}, vec4<f32>(), most{i} <= vec4<f32>({LOWEST}));"));
        }
        self.scale(w, "o", self.share(1), "factor");
        self.each_score(|i, h, n| {
            w.line(format!("s{i}{h}[{n}] = exp_nonpositive(s{i}{h}[{n}] - base{i});"));
            w.line(format!("total{i} += s{i}{h}[{n}];"));
        });
    }

    /// Combines numbers `{from}{i}` of the invocations of a row to `{to}{i}`.
    fn over_rows(&self, w: &mut Lines, from: &str, to: &str, combined: impl Fn(&str, &str) -> String) {
        let (name, pitch, across) = (self.of.name, AttendTile::pitch(self.tile.rows), self.tile.across());
        let at = |x: &str, i: u32| format!("{name}_tiles[{x} * {pitch}u + y + {}u]", self.tile.down() * i);
        (0..self.high()).for_each(|i| w.line(format!("{} = {from}{i};", at("x", i))));
        w.line("workgroupBarrier();");
        (0..self.high()).for_each(|i| w.line(format!("var {to}{i} = {};", at("0u", i))));
        w.open(format!("for (var other = 1u; other < {across}u; other++)"));
        for i in 0..self.high() {
            w.line(format!("{to}{i} = {};", combined(&format!("{to}{i}"), &at("other", i))));
        }
        w.close();
        w.line("workgroupBarrier();");
    }

    /// Multiplies the rows of blocks `{of}{i}{h}` by `{by}{i}`.
    fn scale(&self, w: &mut Lines, of: &str, wide: u32, by: &str) {
        for i in 0..self.high() {
            for h in 0..wide {
                let columns: Vec<String> = (0..4).map(|n| format!("{of}{i}{h}[{n}] * {by}{i}")).collect();
                w.line(format!("{of}{i}{h} = mat4x4<f32>({});", columns.join(", ")));
            }
        }
    }
}
