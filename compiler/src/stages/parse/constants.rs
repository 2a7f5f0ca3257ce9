//! Numbers that have names in Rust and Python, as literals.

use super::vocabulary::fold;

const NUMBERS: &[(&str, &str)] = &[
    ("E", "2.7182817"),
    ("EPSILON", "1.1920929e-7"),
    ("FRAC_1_PI", "0.31830987"),
    ("FRAC_1_SQRT_2", "0.70710677"),
    ("FRAC_2_PI", "0.63661975"),
    ("FRAC_2_SQRT_PI", "1.1283792"),
    ("FRAC_PI_2", "1.5707964"),
    ("FRAC_PI_4", "0.7853982"),
    ("LN_10", "2.3025851"),
    ("LN_2", "0.6931472"),
    ("PI", "3.1415927"),
    ("SQRT_2", "1.4142135"),
    ("TAU", "6.2831855"),
];

/// The ends of `f32`: in lower case they are functions.
const ENDS: &[(&str, &str)] = &[("MAX", "3.4028235e38"), ("MIN", "-3.4028235e38")];

/// The ends of Rust's integers that the language has.
const ENDS_OF_INTEGERS: &[(&str, &str)] =
    &[("i32::MAX", "2147483647"), ("i32::MIN", "-2147483648"), ("u32::MAX", "4294967295"), ("u32::MIN", "0")];

/// What is infinite elsewhere is here a number that no sum of activations reaches, and whose negative an exponential
/// function makes zero.
const INFINITE: &str = "1e30";
const NEGATIVE_INFINITE: &str = "-1e30";

/// The literal of a number of that name in a module. Python's names are those of Rust in lower case.
pub(super) fn number(name: &str) -> Option<&'static str> {
    let known = NUMBERS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other));
    let known = known.or_else(|| ENDS.iter().find(|(other, _)| name == *other));
    known.map(|(_, literal)| *literal).or_else(|| infinite(name))
}

/// The literal of a number whose name means nothing else, without a module before it.
pub(super) fn plain_number(name: &str) -> Option<&'static str> {
    let own = number(name).filter(|_| ["PI", "TAU", "pi"].contains(&name) || name.contains('_'));
    own.or_else(|| infinite(name))
}

/// The literal of the end of an integer type of Rust; nothing inside for those that the language has not. `None` for
/// other paths.
pub(super) fn end_of_integer(path: &str) -> Option<Option<&'static str>> {
    let (ty, _) = path.split_once("::")?;
    let bits = ty.strip_prefix(['i', 'u'])?;
    let is_integer = bits == "size" || bits.parse::<u8>().is_ok();
    let known = ENDS_OF_INTEGERS.iter().find(|(end, _)| *end == path);
    is_integer.then(|| known.map(|(_, literal)| *literal))
}

/// The advice to write that literal.
pub(super) fn help(literal: &str) -> String {
    let why = if [INFINITE, NEGATIVE_INFINITE].contains(&literal) { ": numbers are finite" } else { "" };
    format!("write `{literal}`{why}")
}

fn infinite(name: &str) -> Option<&'static str> {
    match &*fold(name) {
        "inf" | "infinity" => Some(INFINITE),
        "-inf" | "neginf" | "neginfinity" | "ninf" => Some(NEGATIVE_INFINITE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f32::consts;

    #[test]
    fn literals_are_the_numbers() {
        for (name, value) in [("PI", consts::PI), ("tau", consts::TAU), ("e", consts::E), ("LN_2", consts::LN_2)] {
            assert_eq!(number(name).and_then(|literal| literal.parse().ok()), Some(value), "{name}");
        }
        for (name, value) in [("EPSILON", f32::EPSILON), ("MAX", f32::MAX), ("MIN", f32::MIN)] {
            assert_eq!(number(name).and_then(|literal| literal.parse().ok()), Some(value), "{name}");
        }
        assert_eq!(number("max"), None);
    }

    #[test]
    fn ends_are_the_integers() {
        for (path, end) in [("u32::MAX", i64::from(u32::MAX)), ("i32::MIN", i64::from(i32::MIN))] {
            assert_eq!(end_of_integer(path).flatten().and_then(|literal| literal.parse().ok()), Some(end), "{path}");
        }
        assert_eq!((end_of_integer("usize::MAX"), end_of_integer("f32::MAX")), (Some(None), None));
    }
}
