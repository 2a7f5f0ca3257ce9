//! Names of a file as names of a program.

use proc_macro2::Ident;

/// A name of a file as a Rust identifier that is not taken.
pub(super) fn identifier(name: &str, taken: &[String]) -> String {
    let mut text: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert_str(0, "x_");
    }
    if syn::parse_str::<Ident>(&text).is_err() {
        text.push('_');
    }
    while taken.contains(&text) {
        text.push('_');
    }
    text
}
