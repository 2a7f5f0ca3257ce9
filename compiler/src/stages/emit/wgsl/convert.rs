//! Conversions between element types as WGSL.
//!
//! Comes in: two types and an expression. Goes out: an expression. Always holds: floats are rounded to nearest even where they
//! become smaller ones, and truncate and saturate to integers; of integers the lowest bits stay. Types of memory are converted
//! by way of the type that they are computed in.

use super::elements::mask;
use crate::ir::ty::{Category, DType};

/// A value in another type.
pub(super) fn convert(from: DType, to: DType, value: &str) -> String {
    if from == to {
        return value.to_owned();
    }
    if from.is_stored() && to == DType::Bool {
        return is_true(from, value);
    }
    if from.is_stored() {
        return convert(from.computed(), to, &computed(from, value));
    }
    match (to.is_stored(), from.is_wide(), to.is_wide()) {
        (true, _, _) => stored(from, to, value),
        (false, false, false) => of_words(from, to, value),
        (false, false, true) => pair_of_word(from, to, value),
        (false, true, false) => word_of_pair(from, to, value),
        // Numbers with a sign and without one have the same bits.
        (false, true, true) => value.to_owned(),
    }
}

/// Whether a value of a type of memory is not 0, or −0. Devices may take subnormal numbers for 0, but not their bits.
fn is_true(from: DType, value: &str) -> String {
    match from.category() {
        Category::Float => format!("({value} & {}u) != 0u", mask(from.bits() - 1)),
        Category::Signed | Category::Unsigned | Category::Bool => format!("{value} != 0u"),
    }
}

/// A value of a type of memory in the type that it is computed in.
fn computed(from: DType, value: &str) -> String {
    match from.category() {
        Category::Float | Category::Signed => format!("{}_of_{from}({value})", from.computed()),
        Category::Unsigned | Category::Bool => value.to_owned(),
    }
}

/// The bits of a value in a type of memory.
fn stored(from: DType, to: DType, value: &str) -> String {
    match (from.category(), to.category()) {
        (_, Category::Float) => format!("{to}_of_f32({})", convert(from, DType::F32, value)),
        (Category::Float, _) => format!("{to}_of_f32({value})"),
        (Category::Bool, _) => format!("u32({value})"),
        (Category::Signed | Category::Unsigned, _) => {
            format!("{} & {}u", convert(from, DType::U32, value), mask(to.bits()))
        }
    }
}

fn of_words(from: DType, to: DType, value: &str) -> String {
    let name = to.name();
    match (from.category(), to.category()) {
        (Category::Float, Category::Signed | Category::Unsigned) => format!("{name}_of({value})"),
        (Category::Float, Category::Bool) => format!("!({value} == 0.0f)"),
        (Category::Signed, Category::Bool) => format!("{value} != 0i"),
        (Category::Unsigned, Category::Bool) => format!("{value} != 0u"),
        (Category::Signed | Category::Unsigned, Category::Signed | Category::Unsigned) => {
            format!("bitcast<{name}>({value})")
        }
        (_, Category::Float) | (Category::Bool, _) => format!("{name}({value})"),
    }
}

fn pair_of_word(from: DType, to: DType, value: &str) -> String {
    match from.category() {
        Category::Float => format!("{to}_of_f32({value})"),
        Category::Signed => format!("i64_of_i32({value})"),
        Category::Unsigned => format!("vec2<u32>({value}, 0u)"),
        Category::Bool => format!("vec2<u32>(u32({value}), 0u)"),
    }
}

fn word_of_pair(from: DType, to: DType, value: &str) -> String {
    match to.category() {
        Category::Float => format!("f32_of_{from}({value})"),
        Category::Signed => format!("bitcast<i32>({value}.x)"),
        Category::Unsigned => format!("{value}.x"),
        Category::Bool => format!("any({value} != vec2<u32>())"),
    }
}
