//! Names that the parts of emitted code share.

use crate::ir::{Function, Mode, Model};
use proc_macro2::{Ident, Span};
use quote::format_ident;

/// The hidden module of a model's plans and kernels.
pub(super) fn module(model: &Model) -> Ident {
    let name = model.name.to_string();
    let name = name.trim_start_matches("r#");
    // A name whose words are not all capitalised keeps its letters, so that no two names meet.
    let words = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
    if words { format_ident!("__precast_{}", snake(name)) } else { format_ident!("__precast__{name}__") }
}

/// The type that stands for a function's plan: `Scores`, or `Loss_AdamW` for a step of training. No two meet: words of
/// small letters are told apart by their capitals, and any other name keeps its letters between underscores.
pub(super) fn marker(function: &Function) -> Ident {
    let name = function.name.to_string();
    let name = name.trim_start_matches("r#");
    let small = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    let name = if name.split('_').all(small) { camel(name) } else { format!("__{name}__") };
    match &function.mode {
        Mode::Evaluate => format_ident!("{name}"),
        Mode::Train(optimizer) => format_ident!("{name}_{}", &**optimizer),
    }
}

/// The type that stands for the gradients of a step of training without its update.
pub(super) fn gradients(function: &Function) -> Ident {
    format_ident!("{}_Gradients", marker(function))
}

/// A field of the user's structs as Rust writes it: a keyword is raw.
pub(super) fn field(name: &str, span: Span) -> Ident {
    match name.trim_start_matches("r#") {
        // Reported: nothing can be called so.
        name @ ("self" | "Self" | "super" | "crate" | "_") => format_ident!("{name}_", span = span),
        name if syn::parse_str::<Ident>(name).is_ok() => Ident::new(name, span),
        name => Ident::new_raw(name, span),
    }
}

fn camel(name: &str) -> String {
    let word = |w: &str| w.chars().take(1).flat_map(char::to_uppercase).chain(w.chars().skip(1)).collect::<String>();
    name.split('_').map(word).collect()
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::check;

    #[test]
    fn no_two_functions_have_one_marker() {
        let names = ["a_b", "aB", "ab", "a1", "a_1", "a_b_", "a__b", "Ab", "r#match"];
        let fns: Vec<String> = names.iter().map(|f| format!("pub fn {f}(&self, x: f32) -> f32 {{ x }}")).collect();
        let text = format!("pub struct Net {{}} impl Net {{ {} }}", fns.join(" "));
        let (models, diags) = check(text.parse().expect("tokens"));
        assert!(diags.is_empty(), "{:?}", diags.list());
        let mut markers: Vec<String> = models[0].functions.iter().map(|f| marker(f).to_string()).collect();
        assert_eq!(markers[0], "AB");
        markers.sort();
        markers.dedup();
        assert_eq!(markers.len(), names.len(), "{markers:?}");
    }
}
