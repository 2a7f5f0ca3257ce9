//! How dimensions, indices and memory are written in WGSL.
//!
//! Comes in: dimensions and indices. Goes out: expressions of type i32 and names. Always holds: whatever a name
//! stands for is a function or variable that `preamble` declares, and the binding numbers are those of the runtime's
//! `gpu::Program`.

use super::elements;
use super::views::{Access, View, mentioned};
use crate::ir::Dim;
use crate::ir::dim;
use crate::ir::index::{Atom, Index};
use std::fmt::Write;

/// What axes and scalars are called at one of several positions that are printed one after the other.
pub(super) trait Called {
    /// An axis.
    fn axis(&self, axis: usize) -> String;
    /// A scalar.
    fn value(&self, value: usize) -> String;
}

/// At the only position.
struct Plain;

impl Called for Plain {
    fn axis(&self, axis: usize) -> String {
        format!("i{axis}")
    }

    fn value(&self, value: usize) -> String {
        format!("v{value}")
    }
}

/// What a model's kernels have in common: how deep loops are nested, the named dimensions, and the most slots and views of a kernel.
pub(super) struct Names {
    loops: usize,
    dims: Vec<String>,
    slots: usize,
    views: usize,
}

impl Names {
    pub(super) fn new(loops: usize, dims: Vec<String>, slots: usize, views: usize) -> Names {
        Names { loops, dims, slots, views }
    }

    /// The loops around a launch whose turns the `call` uniform holds.
    pub(super) fn loops(&self) -> usize {
        self.loops
    }

    /// The named dimensions in the order of the `call` uniform.
    pub(super) fn dims(&self) -> &[String] {
        &self.dims
    }

    /// The words of the `call` uniform.
    pub(super) fn call_words(&self) -> usize {
        (self.loops + self.dims.len() + self.slots).max(1).next_multiple_of(4)
    }

    /// The first word of a slot.
    pub(super) fn slot(&self, slot: usize) -> String {
        format!("slot{slot}()")
    }

    /// A dimension, in parentheses where it is more than one factor.
    pub(super) fn dim(&self, dim: &Dim) -> String {
        let mut text = String::new();
        for (n, (atoms, c)) in dim.terms().iter().enumerate() {
            if n > 0 {
                text += if *c < 0 { " - " } else { " + " };
            } else if *c < 0 {
                text += "-";
            }
            let mut factors: Vec<String> = atoms.iter().map(|atom| self.dim_atom(atom)).collect();
            if factors.is_empty() || c.unsigned_abs() != 1 {
                factors.insert(0, c.unsigned_abs().to_string());
            }
            text += &factors.join(" * ");
        }
        match dim.terms() {
            [] => "0".to_owned(),
            // One factor binds as tightly as a name; a product would not, after `%` or `/`.
            [(atoms, c)] if *c >= 0 && atoms.len() + usize::from(*c != 1) <= 1 => text,
            _ => format!("({text})"),
        }
    }

    /// A dimension that is not negative, as a u32.
    pub(super) fn unsigned(&self, dim: &Dim) -> String {
        match dim.as_const() {
            Some(n) => format!("{n}u"),
            None => format!("u32({})", self.dim(dim)),
        }
    }

    fn dim_atom(&self, atom: &dim::Atom) -> String {
        match atom {
            dim::Atom::Name(name) => match self.dims.iter().position(|known| known == name) {
                Some(n) => format!("dim{n}()"),
                None => unreachable!("the names of all functions were collected"),
            },
            dim::Atom::FloorDiv(a, b) => format!("floor_div({}, {})", self.dim(a), self.dim(b)),
            dim::Atom::Max(a, b) => format!("max({}, {})", self.dim(a), self.dim(b)),
        }
    }

    /// An index, where axis `a` is the variable `i{a}` and scalar `v` the variable `v{v}`.
    pub(super) fn index(&self, index: &Index) -> String {
        self.index_at(index, &Plain)
    }

    /// An index at one of several positions.
    pub(super) fn index_at(&self, index: &Index, at: &dyn Called) -> String {
        let mut parts = Vec::new();
        for (atom, c) in &index.terms {
            let atom = match atom {
                Atom::Axis(axis) => at.axis(*axis),
                Atom::Loop(level) => format!("loop{level}()"),
                Atom::Value(value) => format!("i32({})", at.value(*value)),
                Atom::Div(inner, by) => self.quotient(inner, &self.dim(by), at),
                Atom::Mod(inner, by) => self.remainder(inner, &self.dim(by), at),
            };
            parts.push(match c.is(1) {
                true => atom,
                false if atom.contains(' ') => format!("({atom}) * {}", self.dim(c)),
                false => format!("{atom} * {}", self.dim(c)),
            });
        }
        if parts.is_empty() || !index.base.is(0) {
            parts.push(self.dim(&index.base));
        }
        parts.join(" + ")
    }

    /// An index divided by a positive number and rounded down.
    fn quotient(&self, index: &Index, by: &str, at: &dyn Called) -> String {
        match index.is_unsigned() {
            true => format!("({}) / {by}", self.index_at(index, at)),
            false => format!("floor_div({}, {by})", self.index_at(index, at)),
        }
    }

    /// What that division leaves, which is never negative.
    pub(super) fn remainder(&self, index: &Index, by: &str, at: &dyn Called) -> String {
        match index.is_unsigned() {
            true => format!("({}) % {by}", self.index_at(index, at)),
            false => format!("floor_rem({}, {by})", self.index_at(index, at)),
        }
    }

    /// The declarations that `body` needs.
    pub(super) fn preamble(&self, body: &str) -> String {
        let words = self.call_words() / 4;
        let mut text = format!(
            "struct Call {{\n    words: array<vec4<u32>, {words}>,\n}}\n\n\
             @group(0) @binding(0) var<uniform> call: Call;\n"
        );
        let views: Vec<View> =
            (0..self.views).flat_map(|number| Access::ALL.map(|access| View { number, access })).collect();
        let own = mentioned(body);
        let elements = elements::used_by(&own, &views);
        let of_elements = mentioned(&elements);
        let seen = |name: &str| own.contains(name) || of_elements.contains(name);
        views.iter().filter(|view| seen(&view.name())).for_each(|view| text += &view.declaration());
        text += "\n";
        let word = |n: usize| format!("call.words[{}].{}", n / 4, ["x", "y", "z", "w"][n % 4]);
        if body.contains("no_bits()") {
            // Turns, dimensions and offsets in words all have fewer than 32 bits, and no compiler knows that.
            text += "fn no_bits() -> u32 { return call.words[0].x >> 31u; }\n";
        }
        let mut function = |name: String, value: String| {
            if body.contains(&format!("{name}()")) {
                let _ = writeln!(text, "fn {name}() -> i32 {{ return i32({value}); }}");
            }
        };
        (0..self.loops).for_each(|n| function(format!("loop{n}"), word(n)));
        (0..self.dims.len()).for_each(|n| function(format!("dim{n}"), word(self.loops + n)));
        (0..self.slots).for_each(|n| function(format!("slot{n}"), word(self.loops + self.dims.len() + n)));
        text + &elements + "\n"
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::super::super::positions::{AXES, COUNT, Evaluator, Number, Place, Random};
    use super::*;

    fn evaluated(text: &str, place: &Place) -> Result<Number, String> {
        let variable = |name: &str| match name {
            "dim0" => Some(Number::I32(place.n as i32)),
            axis => {
                let axis: usize = axis.strip_prefix('i')?.parse().ok()?;
                (axis < AXES).then(|| Number::I32(place.at[axis] as i32))
            }
        };
        let expr = syn::parse_str(text).map_err(|why| why.to_string())?;
        Evaluator { variable: &variable }.eval(&expr)
    }

    #[test]
    fn printed_indices_mean_what_they_are() {
        let names = Names::new(0, vec!["N".into()], 0, 0);
        let mut compared = 0;
        for seed in 0..COUNT {
            let mut random = Random::new(seed);
            let index = random.index(3);
            let text = names.index(&index);
            for _ in 0..4 {
                let place = random.place();
                let (value, largest) = place.value(&index);
                if largest < i64::from(i32::MAX) / 64 {
                    let found = evaluated(&text, &place);
                    let number = match &found {
                        Ok(Number::I32(x)) => Ok(i64::from(*x)),
                        Ok(Number::Any(x)) => Ok(*x as i64),
                        other => Err(other),
                    };
                    assert_eq!(number, Ok(value), "seed {seed}: {index} as {text} at {place:?}");
                    compared += 1;
                }
            }
        }
        assert!(compared > COUNT, "{compared} compared");
    }
}
