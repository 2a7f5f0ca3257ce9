//! Attention of one query for each head: a workgroup shares the keys, and adds up what its invocations found.

use super::super::grid::{BUILTINS, NUMBER};
use super::lines::Lines;
use super::{Attend, LOWEST};
use crate::ir::workgroup::AT_ONCE;

impl Attend<'_> {
    pub(super) fn single(&self, threads: u32) -> String {
        let (mut w, name) = (Lines::default(), self.name);
        w.line(format!("var<workgroup> {name}_most: array<f32, {threads}>;"));
        w.line(format!("var<workgroup> {name}_total: array<f32, {threads}>;"));
        w.line(format!("var<workgroup> {name}_sums: array<vec4<f32>, {}>;", threads * AT_ONCE));
        w.line("");
        w.line(format!("@compute @workgroup_size({threads})"));
        w.open(format!("fn {name}({BUILTINS})"));
        w.line(format!("let head = i32({NUMBER});"));
        w.line(format!("if head >= {} {{ return; }}", self.size(&self.heads())));
        self.own_keys(&mut w, threads);
        self.meet(&mut w, threads);
        self.store_sums(&mut w, threads);
        w.open("if lane == 0u");
        w.line(format!("{name}_store1(head, 0, 0, select(most, 0.0f, nothing));"));
        w.line(format!("{name}_store2(head, 0, 0, inverse);"));
        w.close();
        w.close();
        w.text
    }

    /// The softmax over every key whose turn it is.
    fn own_keys(&self, w: &mut Lines, threads: u32) {
        let (name, keys) = (self.name, self.size(&self.attention.keys));
        for c in 0..self.words(0) {
            w.line(format!("let q{c} = {name}_q(head, 0, {});", 4 * c));
        }
        (0..self.words(1)).for_each(|c| w.line(format!("var o{c} = vec4<f32>();")));
        w.line(format!("var own_most = {LOWEST};"));
        w.line("var own_total = 0.0f;");
        w.open(format!("for (var key = i32(lane); key < {keys}; key += {threads})"));
        let term = |c: u32| format!("dot(q{c}, {name}_k(head, key, {}))", 4 * c);
        let product = (0..self.words(0)).map(term).collect::<Vec<_>>().join(" + ");
        w.line(format!("let score = {name}_masked(head, 0, key, {product});"));
        w.open(format!("if !(score <= {LOWEST})"));
        w.open("if !(score <= own_most)");
        w.line("let factor = exp_f32(own_most - score);");
        w.line("own_most = score;");
        w.line("own_total *= factor;");
        (0..self.words(1)).for_each(|c| w.line(format!("o{c} *= factor;")));
        w.close();
        w.line("let p = exp_f32(score - own_most);");
        w.line("own_total += p;");
        (0..self.words(1)).for_each(|c| w.line(format!("o{c} += p * {name}_v(head, key, {});", 4 * c)));
        w.close();
        w.close();
    }

    /// The largest score and the sum of all invocations.
    fn meet(&self, w: &mut Lines, threads: u32) {
        let name = self.name;
        w.line(format!("{name}_most[lane] = own_most;"));
        w.line("workgroupBarrier();");
        w.line(format!("var most = {LOWEST};"));
        w.line(format!("for (var j = 0; j < {threads}; j++) {{ most = max_nan(most, {name}_most[j]); }}"));
        w.line("let share = select(exp_f32(own_most - most), 0.0f, own_total == 0.0f);");
        w.line(format!("{name}_total[lane] = own_total * share;"));
        w.line("workgroupBarrier();");
        w.line("var total = 0.0f;");
        w.line(format!("for (var j = 0; j < {threads}; j++) {{ total += {name}_total[j]; }}"));
        w.line("let nothing = total == 0.0f;");
        w.line("let inverse = select(1.0f / total, 0.0f, nothing);");
    }

    /// Adds up a few vectors at a time, in halves, and stores them.
    fn store_sums(&self, w: &mut Lines, threads: u32) {
        let name = self.name;
        for first in (0..self.words(1)).step_by(AT_ONCE as usize) {
            let vectors: Vec<u32> = (first..self.words(1).min(first + AT_ONCE)).collect();
            let at = |n: usize| format!("{name}_sums[{}u + lane]", n as u32 * threads);
            for (n, c) in vectors.iter().enumerate() {
                w.line(format!("{} = o{c} * share;", at(n)));
            }
            let mut half = threads / 2;
            while half > 0 {
                w.line("workgroupBarrier();");
                w.open(format!("if lane < {half}u"));
                for n in 0..vectors.len() {
                    w.line(format!("{} += {name}_sums[{}u + lane];", at(n), n as u32 * threads + half));
                }
                w.close();
                half /= 2;
            }
            w.open("if lane == 0u");
            for (n, c) in vectors.iter().enumerate() {
                w.line(format!("{name}_four0(head, 0, {}, {} * inverse);", 4 * c, at(n)));
            }
            w.close();
            w.line("workgroupBarrier();");
        }
    }
}
