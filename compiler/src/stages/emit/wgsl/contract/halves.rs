//! The sums of a contraction by cooperative matrices, whose operands are each the sum of two halves, or rounded to one.
//!
//! Comes in: a contract kernel and its tile. Goes out: statements that leave a subgroup's sums in its matrices `c{i}{h}` of
//! 16 × 16, and store them. Always holds: a row or column of an operand is multiplied by a power of two, so that its largest
//! element is far from both ends of a half's range, and sums are divided by both powers. These are guessed from the first slab,
//! behind which elements may be 32 times as large; where some are larger, sums are not finite, and the tile is made once more, as
//! where a row's first slab tells nothing. Elements far below the largest of their row have fewer bits: of two halves an error is
//! below 2^-35 of that, of one below 2^-24. The order in which terms are added depends on nothing but the tile.

use super::operand::Side;
use super::{Contract, line};
use crate::ir::operand::Word;
use crate::ir::tile::{FRAGMENT, FRAGMENT_FOURS as FOURS, HalvesTile, LANES};

/// A contraction and its tile.
pub(super) struct Halves<'a> {
    pub(super) contract: &'a Contract<'a>,
    pub(super) tile: HalvesTile,
}

/// What an entry point with cooperative matrices begins its module with.
pub(in super::super) const ENABLES: &str = "enable f16;\nenable wgpu_cooperative_matrix;\n";
/// The upper halves of elements, and what is left of these.
const BOTH: [&str; 2] = ["h", "l"];
/// Which halves of the operands are multiplied: the upper ones by each other last, because their products are the largest.
const PRODUCTS: [[&str; 2]; 3] = [["l", "h"], ["h", "l"], ["h", "h"]];

impl Halves<'_> {
    /// The shared memory: slabs of both operands' halves, matrices on their way out, the largest element of each row and each
    /// column, the power of two by which it is multiplied, and whether the tile is to be made once more.
    pub(super) fn declarations(&self) -> String {
        let (name, mut text) = (self.prefix(), String::new());
        self.contract.each_side(|side| {
            let words = self.tile.slab(side.number, side.kind() == Word::Along) / 4;
            for half in self.halves() {
                text += &format!("var<workgroup> {}: array<vec4<f16>, {words}>;\n", slab(side, half));
            }
        });
        text += &format!("var<workgroup> {name}_out: array<vec4<f32>, {}>;\n", self.tile.at_once() * FOURS);
        text += &format!("var<workgroup> {name}_peaks: array<atomic<u32>, {}>;\n", self.places());
        text += &format!("var<workgroup> {name}_shifts: array<i32, {}>;\n", self.places());
        text + &format!("var<workgroup> {name}_again: u32;\n\n")
    }

    /// What an invocation does with its part of the tile.
    pub(super) fn body(&self) -> String {
        let (name, mut w) = (self.prefix(), String::new());
        let [rows, columns] = self.tile.subgroup_tile;
        let across = self.tile.columns / columns;
        line(&mut w, 1, format!("let subgroup = lane / {LANES}u;"));
        line(&mut w, 1, format!("let top = subgroup / {across}u * {rows}u;"));
        line(&mut w, 1, format!("let left = subgroup % {across}u * {columns}u;"));
        line(&mut w, 1, format!("let out = subgroup % {}u * {FOURS}u;", self.tile.at_once()));
        self.each_matrix(|c| line(&mut w, 1, format!("var c{c} = {SUMS}();")));
        self.contract.each_side(|side| declare(side, &mut w));
        self.each_place(&mut w, 1, &|at| format!("atomicStore(&{name}_peaks[{at}], 0u);"));
        line(&mut w, 1, format!("if lane == 0u {{ {name}_again = 0u; }}"));
        line(&mut w, 1, "workgroupBarrier();");
        line(&mut w, 1, "for (var attempt = 0u; attempt < 2u; attempt++) {");
        self.shift(&mut w);
        self.steps(&mut w);
        self.judge(&mut w);
        line(&mut w, 1, "}");
        self.finish(&mut w);
        w
    }

    /// The halves of which an element is the sum.
    fn halves(&self) -> &'static [&'static str] {
        &BOTH[..self.tile.halves as usize]
    }

    /// Which of them are multiplied.
    fn products(&self) -> &'static [[&'static str; 2]] {
        if self.tile.halves == 1 { &PRODUCTS[2..] } else { &PRODUCTS }
    }

    fn prefix(&self) -> &str {
        self.contract.prefix
    }

    /// Rows and columns together.
    fn places(&self) -> u32 {
        self.tile.rows + self.tile.columns
    }

    /// Whether there may be more terms than cooperative matrices add up.
    fn has_blocks(&self) -> bool {
        let terms = self.contract.extent(self.contract.terms).as_const();
        terms.is_none_or(|terms| terms > i64::from(self.tile.block))
    }

    /// The names of the matrices of sums that a subgroup has.
    fn each_matrix(&self, mut see: impl FnMut(&str)) {
        let [down, across] = self.tile.subgroup_tile.map(|side| side / FRAGMENT);
        (0..down).for_each(|i| (0..across).for_each(|h| see(&format!("{i}{h}"))));
    }

    /// A statement for each row and each column of the tile, which the invocations share out.
    fn each_place(&self, w: &mut String, indent: usize, statement: &dyn Fn(&str) -> String) {
        let (places, invocations) = (self.places(), self.tile.invocations());
        line(w, indent, format!("for (var n = lane; n < {places}u; n += {invocations}u) {{ {} }}", statement("n")));
    }

    /// Decides by what each row and each column is multiplied, from the first slab, or in a second attempt from all, and brings the
    /// first slab to registers.
    fn shift(&self, w: &mut String) {
        let (name, depth) = (self.prefix(), self.tile.depth);
        line(w, 2, format!("let seen = select(terms, min(terms, {depth}), attempt == 0u);"));
        line(w, 2, format!("for (var k = 0; k < seen; k += {depth}) {{"));
        self.contract.fetch(w, 3, "k");
        self.contract.each_side(|side| {
            (0..side.words_of_each()).for_each(|j| line(w, 3, side.guarded(j, &see_peak(side, j))));
        });
        line(w, 2, "}");
        self.contract.each_side(|side| self.note_peaks(side, w));
        line(w, 2, "workgroupBarrier();");
        self.each_place(w, 2, &|at| {
            let nothing = format!("if (peak >> 23u) == 0u && seen < terms {{ {name}_again = 1u; }}");
            format!("let peak = atomicLoad(&{name}_peaks[{at}]); {name}_shifts[{at}] = shift_of(peak); {nothing}")
        });
        line(w, 2, format!("let is_guess = workgroupUniformLoad(&{name}_again) == 0u;"));
        line(w, 2, format!("if lane == 0u {{ {name}_again = 0u; }}"));
        line(w, 2, "if !is_guess { continue; }");
        self.contract.each_side(|side| self.define_scales(side, w));
        line(w, 2, "if attempt > 0u {");
        self.contract.fetch(w, 3, "0");
        line(w, 2, "}");
        self.each_matrix(|c| {
            line(w, 2, format!("c{c} = {SUMS}();"));
            if self.has_blocks() {
                line(w, 2, format!("var t{c} = {SUMS}();"));
            }
        });
    }

    /// Tells the others the largest elements that this invocation has seen.
    fn note_peaks(&self, side: &Side<'_>, w: &mut String) {
        let (name, letter) = (self.prefix(), side.letter());
        for set in 0..side.sets() {
            let note = |place: &str, peak: &str| format!("atomicMax(&{name}_peaks[{place}], bitcast<u32>({peak}));");
            match side.kind() {
                Word::Along => {
                    line(w, 2, side.guarded(set, &note(&self.place(side, set, 0), &format!("{letter}p{set}"))))
                }
                Word::Beside => (0..4).for_each(|n| {
                    let peak = format!("{letter}p{set}[{n}]");
                    line(w, 2, side.guarded(set, &note(&self.place(side, set, n), &peak)));
                }),
            }
        }
    }

    /// The row or column of the `n`-th element of an invocation's words of a set: columns are counted behind the rows.
    fn place(&self, side: &Side<'_>, set: u32, n: u32) -> String {
        let (_, place) = side.position(set);
        format!("{place} + {}u", n + if side.number == 0 { 0 } else { self.tile.rows })
    }

    /// By what the elements of an invocation's words are multiplied.
    fn define_scales(&self, side: &Side<'_>, w: &mut String) {
        let (name, letter) = (self.prefix(), side.letter());
        for set in 0..side.sets() {
            // Beyond the last word there is none whose place is in the tile.
            let shift = |n: u32| format!("{name}_shifts[{}]", self.place(side, set, n));
            let scale = match side.kind() {
                Word::Along => format!("power_of_two(vec4<i32>({})).x", shift(0)),
                Word::Beside => format!("power_of_two(vec4<i32>({}))", [0, 1, 2, 3].map(shift).join(", ")),
            };
            line(w, 2, side.guarded(set, &format!("{letter}m{set} = {scale};")));
        }
    }

    /// The loop over slabs. The next slab is on its way to registers while the present one is multiplied.
    fn steps(&self, w: &mut String) {
        let HalvesTile { depth, block, .. } = self.tile;
        line(w, 2, format!("for (var k = 0; k < terms; k += {depth}) {{"));
        self.contract.each_side(|side| self.put(side, w));
        line(w, 3, "workgroupBarrier();");
        line(w, 3, format!("let next = k + {depth};"));
        line(w, 3, "if next < terms {");
        self.contract.fetch(w, 4, "next");
        line(w, 3, "}");
        (0..depth / FRAGMENT).for_each(|step| self.multiply(w, step));
        if self.has_blocks() {
            line(w, 3, format!("if next % {block} == 0 {{"));
            self.each_matrix(|c| line(w, 4, format!("t{c} = t{c} + c{c}; c{c} = {SUMS}();")));
            line(w, 3, "}");
        }
        line(w, 3, "workgroupBarrier();");
        line(w, 2, "}");
        if self.has_blocks() {
            self.each_matrix(|c| line(w, 2, format!("c{c} = t{c} + c{c};")));
        }
    }

    /// Brings registers to shared memory, in halves.
    fn put(&self, side: &Side<'_>, w: &mut String) {
        let letter = side.letter();
        for j in 0..side.words_of_each() {
            let (word, scale, at) = (side.register(j), format!("{letter}m{}", side.set_of(j)), self.slot(side, j));
            let [high, low] = BOTH.map(|half| format!("{}[{at}]", slab(side, half)));
            let statement = match self.tile.halves {
                1 => format!("{high} = vec4<f16>({word} * {scale});"),
                _ => format!(
                    "{{ let x = {word} * {scale}; let high = high_half(x); {high} = vec4<f16>(high); {low} = vec4<f16>(x - high); }}"
                ),
            };
            line(w, 3, side.guarded(j, &statement));
        }
    }

    /// Where the `j`-th word of an invocation lies in a slab: by terms and then by places, or the other way round.
    fn slot(&self, side: &Side<'_>, j: u32) -> String {
        let (term, place) = side.position(j);
        match side.kind() {
            Word::Beside => format!("({term}) * {}u + ({place}) / 4u", self.pitch(side)),
            Word::Along => format!("({place}) * {}u + ({term}) / 4u", self.pitch(side)),
        }
    }

    /// Words from one line of a slab to the next.
    fn pitch(&self, side: &Side<'_>) -> u32 {
        let length = match side.kind() {
            Word::Beside => [self.tile.rows, self.tile.columns][side.number],
            Word::Along => self.tile.depth,
        };
        HalvesTile::pitch(length) / 4
    }

    /// Multiplies what is in shared memory of 16 terms.
    fn multiply(&self, w: &mut String, step: u32) {
        let [a, b] = self.contract.both_sides();
        let [down, across] = self.tile.subgroup_tile.map(|side| side / FRAGMENT);
        line(w, 3, "{");
        for i in 0..down {
            self.halves()
                .iter()
                .for_each(|half| line(w, 4, format!("let a{half}{i} = {};", self.fragment(&a, half, step, i))));
        }
        for h in 0..across {
            self.halves()
                .iter()
                .for_each(|half| line(w, 4, format!("let b{half}{h} = {};", self.fragment(&b, half, step, h))));
            for [first, second] in self.products() {
                for i in 0..down {
                    let (a, b) = (format!("a{first}{i}"), format!("b{second}{h}"));
                    line(w, 4, format!("c{i}{h} = coopMultiplyAdd({a}, {b}, c{i}{h});"));
                }
            }
        }
        line(w, 3, "}");
    }

    /// Loads the `n`-th matrix of a subgroup's rows or columns. Lines of a slab are columns of the first operand's matrices, and rows
    /// of the second one's, where words are beside each other; otherwise it is the other way round.
    fn fragment(&self, side: &Side<'_>, half: &str, step: u32, n: u32) -> String {
        let (first, role) = [("top", "A"), ("left", "B")][side.number];
        let (pitch, term, place) = (self.pitch(side), step * FRAGMENT, n * FRAGMENT);
        let (is_transposed, at) = match side.kind() {
            Word::Beside => (side.number == 1, format!("{}u + ({first} + {place}u) / 4u", term * pitch)),
            Word::Along => (side.number == 0, format!("({first} + {place}u) * {pitch}u + {}u", term / 4)),
        };
        let load = if is_transposed { "coopLoadT" } else { "coopLoad" };
        format!("{load}<coop_mat16x16<f16, {role}>>(&{}[{at}], {pitch}u)", slab(side, half))
    }

    /// Leaves the loop of attempts where all sums are finite, and so no element is above the range of halves: what is becomes infinite,
    /// as the check of the device has shown.
    fn judge(&self, w: &mut String) {
        let name = self.prefix();
        line(w, 2, "if attempt > 0u { break; }");
        let mut all: Vec<String> = vec![];
        self.each_matrix(|c| all.push(format!("c{c}")));
        line(w, 2, format!("let all = {};", all.join(" + ")));
        self.pass(w, 2, "all", &|w| line(w, 3, format!("if !all_finite({name}_out[lane]) {{ {name}_again = 1u; }}")));
        line(w, 2, format!("if workgroupUniformLoad(&{name}_again) == 0u {{ break; }}"));
        line(w, 2, format!("if lane == 0u {{ {name}_again = 0u; }}"));
    }

    /// Has a matrix of each subgroup pass through shared memory, where its elements can be seen: those of some subgroups at once, of
    /// which each invocation sees a word of four.
    fn pass(&self, w: &mut String, indent: usize, matrix: &str, see: &dyn Fn(&mut String)) {
        let (name, at_once) = (self.prefix(), self.tile.at_once());
        line(w, indent, format!("for (var turn = 0u; turn < {}u; turn++) {{", self.tile.subgroups() / at_once));
        let store = format!("coopStoreT({matrix}, &{name}_out[out], {}u);", FRAGMENT / 4);
        line(w, indent + 1, format!("if subgroup / {at_once}u == turn {{ {store} }}"));
        line(w, indent + 1, "workgroupBarrier();");
        see(w);
        line(w, indent + 1, "workgroupBarrier();");
        line(w, indent, "}");
    }

    /// Stores the sums.
    fn finish(&self, w: &mut String) {
        let [down, across] = self.tile.subgroup_tile.map(|side| side / FRAGMENT);
        for (i, h) in (0..down).flat_map(|i| (0..across).map(move |h| (i, h))) {
            self.pass(w, 1, &format!("c{i}{h}"), &|w| self.store(w, [i, h].map(|n| n * FRAGMENT)));
        }
    }

    /// Stores the four sums of a matrix that an invocation sees. It begins at a row and a column of its subgroup's tile.
    fn store(&self, w: &mut String, [row, column]: [u32; 2]) {
        let HalvesTile { rows, columns, subgroup_tile: [high, wide], .. } = self.tile;
        let (name, at_once, across) = (self.prefix(), self.tile.at_once(), columns / wide);
        line(w, 2, format!("let maker = turn * {at_once}u + lane / {FOURS}u;"));
        line(w, 2, format!("let down = maker / {across}u * {high}u + {row}u + lane % {FOURS}u / 4u;"));
        line(w, 2, format!("let along = maker % {across}u * {wide}u + {column}u + lane % 4u * 4u;"));
        let of_columns = [0, 1, 2, 3].map(|n| format!("{name}_shifts[along + {}u]", rows + n)).join(", ");
        line(w, 2, format!("let shifts = {name}_shifts[down] + vec4<i32>({of_columns});"));
        let sums = format!("shifted_back({name}_out[lane], shifts)");
        let functions = self.contract.functions;
        line(w, 2, format!("if is_tile {{ {functions}_four(batch, row + i32(down), column + i32(along), {sums}); }}"));
    }
}

/// The type of a matrix of sums.
const SUMS: &str = "coop_mat16x16<f32, C>";

/// The name of a slab.
fn slab(side: &Side<'_>, half: &str) -> String {
    format!("{}{half}", side.memory())
}

/// Declares an invocation's words on their way, the largest elements that it has seen and what it multiplies by.
fn declare(side: &Side<'_>, w: &mut String) {
    side.declare(w, 1, false);
    let (letter, ty) = (side.letter(), if side.kind() == Word::Along { "f32" } else { "vec4<f32>" });
    for set in 0..side.sets() {
        line(w, 1, format!("var {letter}p{set} = {ty}();"));
        line(w, 1, format!("var {letter}m{set} = {ty}();"));
    }
}

/// A statement that keeps the largest magnitudes of the `j`-th word of an invocation.
fn see_peak(side: &Side<'_>, j: u32) -> String {
    let (word, peak) = (side.register(j), format!("{}p{}", side.letter(), side.set_of(j)));
    match side.kind() {
        Word::Beside => format!("{peak} = max({peak}, abs({word}));"),
        Word::Along => format!("{peak} = max({peak}, largest_of(abs({word})));"),
    }
}
