//! Names that the parts of emitted code share.

use crate::ir::{Function, Mode, Model};
use proc_macro2::Ident;
use quote::format_ident;

/// The hidden module of a model's plans and kernels.
pub(super) fn module(model: &Model) -> Ident {
    format_ident!("__precast_{}", snake(&model.name.to_string()))
}

/// The type that stands for a function's plan: `Scores`, or `Loss_AdamW` for a step of training. No two meet: the name
/// of a function has lost its `_` here.
pub(super) fn marker(function: &Function) -> Ident {
    let name = camel(&function.name.to_string());
    match &function.mode {
        Mode::Evaluate => format_ident!("{name}"),
        Mode::Train(optimizer) => format_ident!("{name}_{}", optimizer.name),
    }
}

/// The type that stands for the gradients of a step of training without its update.
pub(super) fn gradients(function: &Function) -> Ident {
    format_ident!("{}_Gradients", marker(function))
}

fn camel(name: &str) -> String {
    let name = name.trim_start_matches("r#");
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
