//! The derivatives of attention by tiles: scores are made again, and exponentials from the largest score of their query.
//!
//! Comes in: a tile. Goes out: the entry point. Always holds: a score is the same as in the kernel of the output where that is
//! of tiles too, and no exponential is larger than one.

use super::Read;
use super::lines::Lines;
use super::tiles::Tiles;

impl Tiles<'_> {
    /// The entry point of the queries' cotangent.
    pub(super) fn query(&self) -> String {
        let (mut w, name) = (Lines::default(), self.of.name);
        self.open(&mut w);
        w.line("let head = own;");
        let last = format!("{} - 1", self.of.size(&self.of.attention.queries));
        for i in 0..self.high() {
            for number in ["max", "delta"] {
                let of = |r: u32| format!("{name}_{number}(head, min(row{i} + {}, {last}))", self.tile.rows / 4 * r);
                let four: Vec<String> = (0..4).map(of).collect();
                w.line(format!("let {number}{i} = vec4<f32>({});", four.join(", ")));
            }
        }
        self.zeros(&mut w, "d", self.share(0));
        self.columns(&mut w);
        self.scores(&mut w, "s", [Read::Queries, Read::Keys]);
        self.mask(&mut w);
        self.each_score(|i, h, n| {
            w.line(format!("s{i}{h}[{n}] = exp_nonpositive(min(s{i}{h}[{n}] - max{i}, vec4<f32>()));"));
        });
        self.scores(&mut w, "t", [Read::Cotangent, Read::Values]);
        self.each_score(|i, h, n| w.line(format!("s{i}{h}[{n}] *= t{i}{h}[{n}] - delta{i};")));
        self.add_weighed(&mut w, "d", "s", Read::Keys);
        w.close();
        for i in 0..self.high() {
            (0..self.share(0)).for_each(|h| w.line(format!("d{i}{h} *= {};", self.of.scale())));
        }
        self.store(&mut w, 0, "d");
        w.close();
        w.text
    }

    /// The entry point of the cotangents of keys and values.
    pub(super) fn key(&self) -> String {
        let (mut w, name) = (Lines::default(), self.of.name);
        let (shared, last) = (self.of.size(&self.of.attention.shared), self.of.size(&self.of.attention.queries));
        self.open(&mut w);
        self.zeros(&mut w, "d", self.share(0));
        self.zeros(&mut w, "e", self.share(1));
        w.open(format!("for (var other = 0; other < {shared}; other++)"));
        w.line(format!("let head = own * {shared} + other;"));
        self.columns(&mut w);
        self.scores(&mut w, "s", [Read::Keys, Read::Queries]);
        self.mask(&mut w);
        let each_column = |w: &mut Lines, line: &dyn Fn(u32, u32) -> String| {
            (0..self.wide()).for_each(|h| (0..4).for_each(|n| w.line(line(h, n))));
        };
        each_column(&mut w, &|h, n| format!("let at{h}{n} = min(column + {}, {last} - 1);", self.column(h, n)));
        each_column(&mut w, &|h, n| format!("let max{h}{n} = vec4<f32>({name}_max(head, at{h}{n}));"));
        self.each_score(|i, h, n| {
            w.line(format!("s{i}{h}[{n}] = exp_nonpositive(min(s{i}{h}[{n}] - max{h}{n}, vec4<f32>()));"));
        });
        self.add_weighed(&mut w, "e", "s", Read::Cotangent);
        self.scores(&mut w, "t", [Read::Values, Read::Cotangent]);
        each_column(&mut w, &|h, n| format!("let delta{h}{n} = vec4<f32>({name}_delta(head, at{h}{n}));"));
        self.each_score(|i, h, n| w.line(format!("s{i}{h}[{n}] *= t{i}{h}[{n}] - delta{h}{n};")));
        self.add_weighed(&mut w, "d", "s", Read::Queries);
        w.close();
        w.close();
        w.line(format!("let head = own * {shared};"));
        self.store(&mut w, 0, "d");
        self.store(&mut w, 1, "e");
        w.close();
        w.text
    }
}
