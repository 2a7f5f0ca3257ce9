//! Names by which users of other frameworks look for a method.
//!
//! In: a model and one of its functions. Out: `#[doc(alias)]`, by which rustc offers the method to a program that calls it so,
//! and rustdoc finds it. Always: no alias is the name of a function of the model.

use super::evaluated;
use crate::ir::{Function, Mode, Model};
use proc_macro2::TokenStream;
use quote::quote;

/// What PyTorch, JAX and Keras call the function that a model is for: the first that nothing trains.
const CALL: [&str; 4] = ["forward", "predict", "apply", "call"];

/// What they call a step of training. Where rustc finds a similar name besides, it offers that: `steps` for `step`.
const STEP: [&str; 3] = ["train", "train_step", "train_batch"];

/// What they call its gradients.
const GRADIENTS: [&str; 2] = ["gradients", "backward"];

/// Of a function's method on the model and on a session.
pub(super) fn call(model: &Model, function: &Function) -> Option<TokenStream> {
    let is_trained = |other: &Function| trained(model).any(|f| f.name == other.name);
    first(model, function, evaluated(model).filter(|other| !is_trained(other)), &CALL)
}

/// Of a function's method on a trainer.
pub(super) fn step(model: &Model, function: &Function) -> Option<TokenStream> {
    first(model, function, trained(model), &STEP)
}

/// Of the method that gives the gradients of a step.
pub(super) fn gradients(model: &Model, function: &Function) -> Option<TokenStream> {
    first(model, function, trained(model), &GRADIENTS)
}

/// Of the method that makes a session: the functions that are called on one alone.
pub(super) fn session(model: &Model) -> Option<TokenStream> {
    let names: Vec<String> = evaluated(model).filter(|f| f.in_session).map(|f| f.name.to_string()).collect();
    (!names.is_empty()).then(|| quote!(#[doc(alias(#(#names),*))]))
}

fn trained(model: &Model) -> impl Iterator<Item = &Function> {
    model.functions.iter().filter(|f| matches!(f.mode, Mode::Train(_)))
}

/// The aliases that are no function of the model, where `function` is the first of `all`.
fn first<'a>(
    model: &Model,
    function: &Function,
    mut all: impl Iterator<Item = &'a Function>,
    aliases: &[&str],
) -> Option<TokenStream> {
    all.next().filter(|first| first.name == function.name)?;
    let is_free = |alias: &&&str| model.functions.iter().all(|f| f.name != **alias);
    let aliases: Vec<&&str> = aliases.iter().filter(is_free).collect();
    (!aliases.is_empty()).then(|| quote!(#[doc(alias(#(#aliases),*))]))
}
