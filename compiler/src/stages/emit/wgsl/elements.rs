//! How elements lie in buffers: a load or a store of every element type.
//!
//! Comes in: a view of a buffer, an element type, the first word and which element. Goes out: WGSL, and the
//! functions that it calls. Always holds: as a value, an element of fewer than 32 bits is a `u32` of its bits, and one of 64
//! bits two words, the lower one first; a store changes the bits of its element alone, whoever writes those beside it meanwhile.

use super::views::{Access, View};
use crate::ir::ty::{Category, DType};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many words an element takes.
enum Size {
    /// A part of one, of so many bits.
    Part(u32),
    /// One.
    Word,
    /// Two.
    Pair,
}

impl Size {
    fn of(dtype: DType) -> Size {
        match dtype.bits() {
            64 => Size::Pair,
            32 => Size::Word,
            bits => Size::Part(bits),
        }
    }
}

/// The sizes of parts of words.
const PARTS: [u32; 2] = [8, 16];

impl View {
    /// The value of the element at `index` of what begins at the word `first`.
    pub(super) fn load(self, dtype: DType, first: &str, index: &str) -> String {
        let variable = self.name();
        match Size::of(dtype) {
            Size::Part(bits) => format!("{variable}_{bits}({first}, {index})"),
            Size::Word => value_of(dtype, &self.word(&format!("{first} + {index}"))),
            Size::Pair => format!("{variable}_64({first}, {index})"),
        }
    }

    /// A statement that writes that element.
    pub(super) fn store(self, dtype: DType, first: &str, index: &str, value: &str) -> String {
        let variable = self.name();
        match Size::of(dtype) {
            Size::Part(bits) => format!("{variable}_put_{bits}({first}, {index}, {value});"),
            Size::Word => self.set(&format!("{first} + {index}"), &to_word(dtype, value)),
            Size::Pair => format!("{variable}_put_64({first}, {index}, {value});"),
        }
    }

    /// A statement that writes the first `count` of the elements that share a word, of which that at `index` is the first.
    pub(super) fn fill(self, dtype: DType, first: &str, index: &str, count: &str, word: &str) -> String {
        format!("{}_fill_{}({first}, {index}, {count}, {word});", self.name(), dtype.bits())
    }

    /// A vector of four neighbours of 32 bits, the first of which is at `index`, a multiple of four.
    pub(super) fn load_four(self, dtype: DType, first: &str, index: &str) -> String {
        let words = match self.access.sees_fours() {
            true => format!("{}[({first} + {index}) >> 2u]", self.name()),
            false => format!("{}_four({first} + {index})", self.name()),
        };
        match dtype.category() {
            Category::Float | Category::Signed => format!("bitcast<vec4<{dtype}>>({words})"),
            Category::Unsigned => words,
            Category::Bool => format!("({words} != vec4<u32>())"),
        }
    }

    /// A statement that writes these elements.
    pub(super) fn store_four(self, dtype: DType, first: &str, index: &str, values: &[String; 4]) -> String {
        let four = format!("vec4<{}>({})", scalar(dtype), values.join(", "));
        let words = match dtype.category() {
            Category::Float | Category::Signed => format!("bitcast<vec4<u32>>({four})"),
            Category::Unsigned => four,
            Category::Bool => format!("vec4<u32>({four})"),
        };
        match self.access.sees_fours() {
            true => format!("{}[({first} + {index}) >> 2u] = {words};", self.name()),
            false => format!("{}_put_four({first} + {index}, {words});", self.name()),
        }
    }

    /// A word.
    fn word(self, at: &str) -> String {
        match self.access {
            Access::Read | Access::Write | Access::Kept => format!("{}[{at}]", self.name()),
            Access::Atomic => format!("atomicLoad(&{}[{at}])", self.name()),
            Access::ReadFours | Access::WriteFours => format!("{}_word(i32({at}))", self.name()),
        }
    }

    /// A statement that writes a word.
    fn set(self, at: &str, word: &str) -> String {
        match self.access {
            Access::Read | Access::Write | Access::Kept => format!("{}[{at}] = {word};", self.name()),
            Access::Atomic => format!("atomicStore(&{}[{at}], {word});", self.name()),
            Access::ReadFours | Access::WriteFours => unreachable!("what is seen in fours is written in fours"),
        }
    }

    /// The functions for this buffer that are mentioned.
    fn functions(self, mentioned: &BTreeSet<&str>) -> String {
        let variable = self.name();
        let called = |name: &str| mentioned.contains(format!("{variable}_{name}").as_str());
        let mut text = String::new();
        for bits in PARTS {
            if called(&bits.to_string()) {
                text += &self.load_part(bits);
            }
            if called(&format!("put_{bits}")) {
                text += &self.store_part(bits);
            }
            if called(&format!("fill_{bits}")) {
                text += &self.store_parts(bits);
            }
        }
        if called("64") {
            let (low, high) = (self.word("word"), self.word("word + 1"));
            let _ = writeln!(
                text,
                "fn {variable}_64(first: i32, at: i32) -> vec2<u32> {{\n    let word = first + 2 * at;\n    \
                 return vec2<u32>({low}, {high});\n}}"
            );
        }
        if called("put_64") {
            let (low, high) = (self.set("word", "value.x"), self.set("word + 1", "value.y"));
            let _ = writeln!(
                text,
                "fn {variable}_put_64(first: i32, at: i32, value: vec2<u32>) {{\n    let word = first + 2 * at;\n    \
                 {low}\n    {high}\n}}"
            );
        }
        self.functions_of_fours(mentioned, text)
    }

    /// The functions for four words of what is seen in words, and for a word of what is seen in fours, behind others. That the
    /// first of four words is at a multiple of four is said in a way in which compilers see it.
    fn functions_of_fours(self, mentioned: &BTreeSet<&str>, mut text: String) -> String {
        let variable = self.name();
        let called = |name: &str, text: &str| {
            let function = format!("{variable}_{name}");
            mentioned.contains(function.as_str()) || text.contains(&format!("{function}("))
        };
        if self.access.sees_fours() {
            if called("word", &text) {
                let _ = writeln!(text, "fn {variable}_word(at: i32) -> u32 {{ return {variable}[at >> 2u][at & 3]; }}");
            }
            return text;
        }
        let at = |n: u32| format!("(four << 2u) + {n}");
        if called("four", &text) {
            let words = [0, 1, 2, 3].map(|n| self.word(&at(n))).join(", ");
            let _ = writeln!(
                text,
                "fn {variable}_four(at: i32) -> vec4<u32> {{\n    let four = at >> 2u;\n    \
                 return vec4<u32>({words});\n}}"
            );
        }
        if called("put_four", &text) {
            let words = [(0, "x"), (1, "y"), (2, "z"), (3, "w")];
            let set = words.map(|(n, word)| self.set(&at(n), &format!("words.{word}"))).join("\n    ");
            let _ = writeln!(
                text,
                "fn {variable}_put_four(at: i32, words: vec4<u32>) {{\n    let four = at >> 2u;\n    {set}\n}}"
            );
        }
        text
    }

    fn load_part(self, bits: u32) -> String {
        let (variable, of_word) = (self.name(), 32 / bits);
        let word = self.word(&format!("u32(first) + u32(at) / {of_word}u"));
        format!(
            "fn {variable}_{bits}(first: i32, at: i32) -> u32 {{\n    \
             return ({word} >> (u32(at) % {of_word}u * {bits}u)) & {}u;\n}}\n",
            mask(bits)
        )
    }

    /// Nobody else changes the element's bits, so that they are known, and what differs is flipped.
    fn store_part(self, bits: u32) -> String {
        let (variable, of_word) = (self.name(), 32 / bits);
        let word = self.word("word");
        format!(
            "fn {variable}_put_{bits}(first: i32, at: i32, value: u32) {{\n    \
             let word = u32(first) + u32(at) / {of_word}u;\n    \
             let shift = u32(at) % {of_word}u * {bits}u;\n    \
             atomicXor(&{variable}[word], ((({word} >> shift) ^ value) & {}u) << shift);\n}}\n",
            mask(bits)
        )
    }

    /// What lies behind the last element stays.
    fn store_parts(self, bits: u32) -> String {
        let (variable, of_word, old) = (self.name(), 32 / bits, self.word("word"));
        let (all, some) = (self.set("word", "value"), self.set("word", "(old & (0xffffffffu << shift)) | value"));
        format!(
            "fn {variable}_fill_{bits}(first: i32, at: i32, count: i32, value: u32) {{\n    \
             let word = u32(first) + u32(at) / {of_word}u;\n    \
             if count >= {of_word} {{\n        {all}\n        return;\n    }}\n    \
             let old = {old};\n    \
             let shift = u32(count) * {bits}u;\n    \
             {some}\n}}\n"
        )
    }
}

/// The functions for elements of these variables that are mentioned.
pub(super) fn used_by(mentioned: &BTreeSet<&str>, views: &[View]) -> String {
    views.iter().map(|view| view.functions(mentioned)).collect()
}

/// So many bits, all set.
pub(super) fn mask(bits: u32) -> u32 {
    u32::MAX >> (32 - bits)
}

/// The type of a value.
pub(super) fn scalar(dtype: DType) -> &'static str {
    match (Size::of(dtype), dtype.category()) {
        (Size::Part(_), _) => "u32",
        (Size::Word, _) => dtype.name(),
        (Size::Pair, Category::Signed | Category::Unsigned) => "vec2<u32>",
        (Size::Pair, Category::Float | Category::Bool) => unreachable!("a model with f64 has no WGSL"),
    }
}

/// The value of a word.
fn value_of(dtype: DType, word: &str) -> String {
    match dtype.category() {
        Category::Float | Category::Signed => format!("bitcast<{dtype}>({word})"),
        Category::Unsigned => word.to_owned(),
        Category::Bool => format!("({word} != 0u)"),
    }
}

/// The word of a value.
pub(super) fn to_word(dtype: DType, value: &str) -> String {
    match dtype.category() {
        Category::Float | Category::Signed => format!("bitcast<u32>({value})"),
        Category::Unsigned => value.to_owned(),
        Category::Bool => format!("u32({value})"),
    }
}
