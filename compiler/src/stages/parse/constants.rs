//! Numbers that have names in Rust and Python, as f32 literals.

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

/// The literal of a number of that name in a module. Python's names are those of Rust in lower case.
pub(super) fn number(name: &str) -> Option<&'static str> {
    NUMBERS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other)).map(|(_, literal)| *literal)
}

/// The literal of a number whose name means nothing else, without a module before it.
pub(super) fn plain_number(name: &str) -> Option<&'static str> {
    number(name).filter(|_| ["PI", "TAU", "pi"].contains(&name) || name.contains('_'))
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
        assert_eq!(number("EPSILON").and_then(|literal| literal.parse().ok()), Some(f32::EPSILON));
    }
}
