//! The text form: models, functions, graphs, programs and plans print with `Display` and parse back with `FromStr`.
//!
//! A line is a node: `%3: f32[B, 64] = add(%1, %2) ; name`; fields follow as `key=value`, the body of a
//! region in braces. What prints parses back to what prints the same, except nodes that hold what the user
//! wrote: those exist between parse and shape only.

mod attend;
mod datum;
mod kernels;
mod lex;
mod parse;
mod prims;
mod print;
mod programs;
mod recur;
mod schedule;
mod steps;

pub(in crate::ir) use print::describe;

/// The fields on the way to a parameter of that name, where files call none of them otherwise.
fn field_names(name: &str) -> Vec<String> {
    name.split('.').filter(|part| *part != "*").map(str::to_owned).collect()
}
