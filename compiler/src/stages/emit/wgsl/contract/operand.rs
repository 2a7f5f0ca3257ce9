//! An operand of a contraction: how invocations find its elements and bring them to shared memory.
//!
//! Comes in: a contract kernel and one of its sides. Goes out: functions for a place along the side, for a place along the
//! terms, for the element at both, and for a word of four of them. Always holds: an address is the sum of what both places
//! contribute, so that places along the side are found once and carried along while the terms advance; places beyond the end of
//! the side are that of its last position, whose sums nobody stores, and beyond the last term elements are zero.

use super::super::convert::convert;
use super::super::scalars::Body;
use super::{Contract, line};
use crate::ir::Dim;
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Operand, Reach, innermost};
use crate::ir::operand::{Reading, Word};
use crate::ir::tile::Tile;
use crate::ir::ty::DType;

/// How the four elements of a word are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fours {
    /// They are beside each other along the last axis, wherever a four begins: one place is enough.
    Whole,
    /// The same, but that the last four may have fewer.
    Guarded,
    /// Each has a place of its own.
    Apart,
    /// They are beside each other along the terms, at one place.
    OfOne,
}

/// One side of a contraction's result, and the operand that has it.
pub(super) struct Side<'a> {
    pub(super) contract: &'a Contract<'a>,
    /// 0 for the rows, 1 for the columns.
    pub(super) number: usize,
}

impl Side<'_> {
    /// The functions.
    pub(super) fn functions(&self) -> String {
        let element = if self.is_vector() { String::new() } else { self.element() };
        [self.place_type(), self.own(), self.term(), element, self.word()].concat()
    }

    fn reading(&self) -> &Reading<'_> {
        &self.contract.operands[self.number]
    }

    fn operand(&self) -> &Operand {
        self.reading().operand()
    }

    /// The axes of the side.
    fn axes(&self) -> &[usize] {
        self.reading().axes()
    }

    /// The four elements that are brought to shared memory at once.
    pub(super) fn kind(&self) -> Word {
        self.reading().word(self.contract.way)
    }

    /// Rows or columns of a tile.
    fn length(&self) -> u32 {
        self.contract.way.sides()[self.number]
    }

    /// The letter in the names of what belongs to it.
    pub(super) fn letter(&self) -> &'static str {
        ["a", "b"][self.number]
    }

    /// What the names of its functions begin with.
    fn prefix(&self) -> String {
        format!("{}_{}", self.contract.functions, self.letter())
    }

    /// What the names of its shared memory begin with.
    pub(super) fn memory(&self) -> String {
        format!("{}_{}", self.contract.prefix, self.letter())
    }

    /// The name of the type of places.
    fn place_name(&self) -> String {
        self.prefix().to_uppercase()
    }

    /// A struct: a part of an address, and of the coordinates that may leave the data; and how many elements of a four follow.
    fn place_type(&self) -> String {
        let coordinates = self.reading().windows().map(|(number, _)| format!("    c{number}: i32,\n"));
        let last = (self.fours() == Fours::Guarded).then(|| "    last: i32,\n".to_owned());
        let fields: String = coordinates.chain(last).collect();
        format!("struct {} {{\n    at: i32,\n{fields}}}\n\n", self.place_name())
    }

    /// The last axis that has more than one position.
    fn last(&self) -> Option<usize> {
        innermost(self.axes(), &self.contract.scalars.kernel.axes)
    }

    fn fours(&self) -> Fours {
        if self.kind() == Word::Along {
            return Fours::OfOne;
        }
        let Some(last) = self.last() else { return Fours::Apart };
        let extent = &self.contract.scalars.kernel.axes[last];
        match extent.is_multiple_of(4) {
            true => Fours::Whole,
            false if *extent == self.contract.extent(self.axes()) => Fours::Guarded,
            false => Fours::Apart,
        }
    }

    /// The part of an index that varies with the terms, or the rest of it.
    fn part(&self, index: &Index, of_terms: bool) -> Index {
        let is_term = |atom: &Atom| self.contract.terms.iter().any(|&axis| *atom == Atom::Axis(axis));
        let terms = index.terms.iter().filter(|(atom, _)| is_term(atom) == of_terms).cloned().collect();
        Index { base: if of_terms { Dim::default() } else { index.base.clone() }, terms }
    }

    /// A place, where the axes that it depends on are defined.
    fn place(&self, of_terms: bool) -> String {
        let names = self.contract.names();
        let part = |index: &Index| names.index(&self.part(index, of_terms));
        let coordinates = self.reading().windows().map(|(_, window)| part(&window.index));
        // No place along the terms is asked how many follow.
        let last = (self.fours() == Fours::Guarded).then(|| if of_terms { "0" } else { "last" }.to_owned());
        let fields: Vec<String> =
            [part(&self.reading().address())].into_iter().chain(coordinates).chain(last).collect();
        format!("return {}({});", self.place_name(), fields.join(", "))
    }

    /// The function for a place along the side.
    fn own(&self) -> String {
        let mut body = Body::new(self.contract.scalars);
        body.split("batch", &self.contract.sides.batch);
        let extent = self.contract.extent(self.axes());
        let count = self.contract.names().dim(&extent);
        let mut at = "at";
        if !extent.is_multiple_of(self.length()) {
            let last = if self.fours() == Fours::Whole { 4 } else { 1 };
            body.line(format!("let inside = min(at, {count} - {last});"));
            at = "inside";
        }
        if self.fours() == Fours::Guarded {
            body.line(format!("let last = {count} - 1 - {at};"));
        }
        body.split(at, self.axes());
        body.line(self.place(false));
        format!("fn {}_own(batch: i32, at: i32) -> {} {{\n{}}}\n\n", self.prefix(), self.place_name(), body.text)
    }

    /// The function for a place along the terms.
    fn term(&self) -> String {
        let mut body = Body::new(self.contract.scalars);
        body.split("k", self.contract.terms);
        body.line(self.place(true));
        format!("fn {}_term(k: i32) -> {} {{\n{}}}\n\n", self.prefix(), self.place_name(), body.text)
    }

    /// How far an index moves with the `r`-th element of a four.
    fn along(&self, index: &Index) -> String {
        let stride = self
            .last()
            .filter(|_| matches!(self.fours(), Fours::Whole | Fours::Guarded))
            .and_then(|axis| index.stride(axis));
        match stride {
            Some(stride) if stride.is(1) => " + r".to_owned(),
            Some(stride) if !stride.is(0) => format!(" + r * {}", self.contract.names().dim(&stride)),
            _ => String::new(),
        }
    }

    /// The function for the `r`-th element from two places on; zero where a coordinate is outside. No invocation takes another
    /// way than others: what is outside is read at the beginning of the data, and not used.
    fn element(&self) -> String {
        let mut body = Body::new(self.contract.scalars);
        let names = self.contract.names();
        let mut address = format!("own.at + term.at{}", self.along(&self.reading().address()));
        let mut inside = vec![];
        for (number, reach) in self.reading().windows() {
            let index = format!("own.c{number} + term.c{number}{}", self.along(&reach.index));
            inside.push(self.coordinate(&mut body, number, reach, &index));
            if reach.divisor != 1 {
                address += &format!(" + c{number} * {}", names.dim(&reach.stride));
            }
        }
        let is_always_inside = inside.is_empty();
        if !is_always_inside {
            body.line(format!("let inside = {};", inside.join(" && ")));
            body.line(format!("let at = select(0, {address}, inside);"));
            address = "at".to_owned();
        }
        let dtype = self.contract.scalars.kernel.slots[self.operand().slot].dtype;
        let value = convert(dtype, DType::F32, &self.contract.scalars.load(self.operand().slot, &address));
        match is_always_inside {
            true => body.line(format!("return {value};")),
            false => body.line(format!("return select(0.0f, {value}, inside);")),
        }
        let place = self.place_name();
        let head = format!("fn {}_element(own: {place}, term: {place}, r: i32) -> f32", self.prefix());
        format!("{head} {{\n{}}}\n\n", body.text)
    }

    /// Defines coordinate `c{number}`, whose dividend is an index; gives the condition that it is inside.
    fn coordinate(&self, body: &mut Body<'_, '_>, number: usize, reach: &Reach, index: &str) -> String {
        let extent = self.contract.names().unsigned(&reach.extent);
        let within = format!("u32(c{number}) < {extent}");
        if reach.divisor == 1 {
            body.line(format!("let c{number} = {index};"));
            return within;
        }
        body.line(format!("let w{number} = {index};"));
        body.line(format!("let c{number} = w{number} / {};", reach.divisor));
        // A negative dividend with quotient 0 is not whole, so the quotient alone decides the lower end. Vulkan leaves the
        // remainder of negative numbers open, but not their quotient.
        format!("w{number} == c{number} * {} && {within}", reach.divisor)
    }

    /// The functions for a word of a slab, four neighbours from one term on, and for one that may be beyond the terms.
    fn word(&self) -> String {
        let (prefix, place) = (self.prefix(), self.place_name());
        let names = &["p0", "p1", "p2", "p3"][..self.places_of_four()];
        let places: Vec<String> = names.iter().map(|name| format!("{name}: {place}")).collect();
        let mut w = format!("fn {prefix}_word({}, k: i32) -> vec4<f32> {{\n", places.join(", "));
        line(&mut w, 1, format!("let term = {prefix}_term(k);"));
        match self.is_vector() {
            true => {
                let four = self.contract.scalars.load_four(self.operand().slot, "p0.at + term.at");
                line(&mut w, 1, format!("return {four};"));
            }
            false => self.word_of_elements(&mut w),
        }
        w += "}\n\n";
        if self.contract.has_rest() {
            // Where a word goes on along the terms, their number is a multiple of four.
            let last = if self.kind() == Word::Along { 4 } else { 1 };
            let word = format!("{prefix}_word({}, min(k, terms - {last}))", names.join(", "));
            w += &format!("fn {prefix}_rest({}, k: i32, terms: i32) -> vec4<f32> {{\n", places.join(", "));
            line(&mut w, 1, format!("return select(vec4<f32>(), {word}, k < terms);"));
            w += "}\n\n";
        }
        w
    }

    /// The statements that make a word of four neighbours along the side.
    fn word_of_elements(&self, w: &mut String) {
        let prefix = self.prefix();
        let four = |element: &dyn Fn(usize) -> (usize, String)| {
            let elements = [0, 1, 2, 3].map(element).map(|(p, r)| format!("{prefix}_element(p{p}, term, {r})"));
            format!("return vec4<f32>({});", elements.join(", "))
        };
        if self.fours() == Fours::Guarded {
            let fewer = four(&|r| (0, if r == 0 { "0".to_owned() } else { format!("min({r}, p0.last)") }));
            line(w, 1, format!("if p0.last < 3 {{ {fewer} }}"));
        }
        line(w, 1, four(&|r| if self.fours() == Fours::Apart { (r, "0".to_owned()) } else { (0, r.to_string()) }));
    }

    /// Whether a word is one access.
    fn is_vector(&self) -> bool {
        self.reading().is_vector(self.kind())
    }

    /// How many places a word has.
    fn places_of_four(&self) -> usize {
        if self.fours() == Fours::Apart { 4 } else { 1 }
    }

    /// Defines the places along the side of all that this invocation brings, where a tile begins at `first`.
    pub(super) fn define_places(&self, w: &mut String, first: &str) {
        for set in 0..self.sets() {
            let (_, place) = self.position(set);
            for r in 0..self.places_of_four() {
                let at = format!("{first} + i32({place}) + {r}");
                line(w, 1, format!("let {} = {}_own(batch, {at});", self.place_of(set, r), self.prefix()));
            }
        }
    }

    fn place_of(&self, set: u32, r: usize) -> String {
        format!("{}{set}_{r}", self.letter())
    }

    /// How many fours of places along the side an invocation has: one where all of its words are of the same.
    pub(super) fn sets(&self) -> u32 {
        let beside = self.kind() == Word::Beside && !self.reading().is_along_terms();
        let same = beside && self.contract.way.invocations().is_multiple_of(self.groups());
        if same { 1 } else { self.words_of_each() }
    }

    /// The set of a word.
    pub(super) fn set_of(&self, j: u32) -> u32 {
        if self.sets() == 1 { 0 } else { j }
    }

    /// Words of four in a slab.
    fn words(&self) -> u32 {
        self.contract.way.depth() * self.groups()
    }

    /// Fours along the side of a tile.
    fn groups(&self) -> u32 {
        self.length() / 4
    }

    /// The words that each invocation brings, or tries to.
    pub(super) fn words_of_each(&self) -> u32 {
        self.words().div_ceil(self.contract.way.invocations())
    }

    /// The number in the slab of the word that this invocation brings as its `j`-th one.
    fn number(&self, j: u32) -> String {
        match j * self.contract.way.invocations() {
            0 => "lane".to_owned(),
            beyond => format!("lane + {beyond}u"),
        }
    }

    /// A statement about the `j`-th word of an invocation, which not all may have.
    pub(super) fn guarded(&self, j: u32, statement: &str) -> String {
        match self.has_whole(j) {
            true => statement.to_owned(),
            false => format!("if {} < {}u {{ {statement} }}", self.number(j), self.words()),
        }
    }

    /// Whether all invocations have a `j`-th word.
    fn has_whole(&self, j: u32) -> bool {
        (j + 1) * self.contract.way.invocations() <= self.words()
    }

    /// The register in which the `j`-th word of an invocation is on its way.
    pub(super) fn register(&self, j: u32) -> String {
        format!("{}w{j}", self.letter())
    }

    /// Declares the registers in which words are on their way, with those of the first slab in them where all of its terms are there.
    pub(super) fn declare(&self, w: &mut String, indent: usize, has_first: bool) {
        for j in 0..self.words_of_each() {
            let register = self.register(j);
            let word =
                if has_first && self.has_whole(j) { self.word_at(j, "0", false) } else { "vec4<f32>()".to_owned() };
            line(w, indent, format!("var {register} = {word};"));
            if has_first && !self.has_whole(j) {
                line(w, indent, self.guarded(j, &format!("{register} = {};", self.word_at(j, "0", false))));
            }
        }
    }

    /// The `j`-th word of an invocation in the slab whose first term is `k`. All of its terms are there, or it is a `rest`.
    fn word_at(&self, j: u32, k: &str, is_rest: bool) -> String {
        let (function, terms) = if is_rest { ("rest", ", terms") } else { ("word", "") };
        let places: Vec<String> = (0..self.places_of_four()).map(|r| self.place_of(self.set_of(j), r)).collect();
        let (term, _) = self.position(j);
        format!("{}_{function}({}, {k} + i32({term}){terms})", self.prefix(), places.join(", "))
    }

    /// Brings the slab whose first term is `k` to registers.
    pub(super) fn fetch(&self, w: &mut String, indent: usize, k: &str, is_rest: bool) {
        for j in 0..self.words_of_each() {
            let statement = format!("{} = {};", self.register(j), self.word_at(j, k, is_rest));
            line(w, indent, self.guarded(j, &statement));
        }
    }

    /// Brings registers to shared memory.
    pub(super) fn put(&self, w: &mut String, indent: usize, tile: Tile) {
        for j in 0..self.words_of_each() {
            let (depth, group) = self.beside(&self.number(j));
            let at = self.slot(&depth, &group, tile);
            line(w, indent, self.guarded(j, &format!("{}[{at}] = {};", self.contract.slabs, self.register(j))));
        }
    }

    /// The word of shared memory at a depth and the group that `offset` is beyond an invocation's first one.
    pub(super) fn shared(&self, depth: &str, group: &str, offset: u32, tile: Tile) -> String {
        format!("{}[{} + {offset}u]", self.contract.slabs, self.slot(depth, group, tile))
    }

    /// The first term and the first place along the side of the `j`-th word of an invocation, counted from where the slab
    /// and the tile begin.
    pub(super) fn position(&self, j: u32) -> (String, String) {
        let (number, fours) = (self.number(j), self.contract.way.depth() / 4);
        match self.kind() {
            Word::Beside => {
                let (depth, group) = self.beside(&number);
                (depth, format!("4u * ({group})"))
            }
            Word::Along => (format!("4u * (({number}) % {fours}u)"), format!("({number}) / {fours}u")),
        }
    }

    /// Depth and group of four of a word of neighbours along the side. Neighbouring invocations read neighbouring elements of the
    /// operand.
    fn beside(&self, number: &str) -> (String, String) {
        let (depth, groups) = (self.contract.way.depth(), self.groups());
        match self.reading().is_along_terms() {
            true => (format!("({number}) % {depth}u"), format!("({number}) / {depth}u")),
            false => (format!("({number}) / {groups}u"), format!("({number}) % {groups}u")),
        }
    }

    /// Where a word lies in shared memory: by depth, then by group, those of columns behind those of rows. Where neighbouring
    /// invocations bring one group of neighbouring depths, these lie in different banks.
    fn slot(&self, depth: &str, group: &str, tile: Tile) -> String {
        let groups = self.groups();
        let slot = match self.reading().is_along_terms() {
            true => format!("({depth}) * {groups}u + (({group}) ^ (({depth}) % {}u))", tile.spread(self.number)),
            false => format!("({depth}) * {groups}u + {group}"),
        };
        match self.number {
            0 => slot,
            _ => format!("{}u + {slot}", tile.depth * tile.rows / 4),
        }
    }
}
