//! Which optimisers a model was compiled for: in comes a pair of types, out comes a sentence where
//! the pair was not declared. Always: emitted code implements this once per `#[train(…)]` kind.

/// A model that some function with `#[train(O)]` trains.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not compiled for `{O}`",
    label = "no function of the model is `#[train({O})]`",
    note = "the update is part of the compiled step; add the optimiser to a `#[train(…)]` attribute",
    note = "a model with `#[model(parameters = …)]` is not trained: train the struct without it, and load what that has saved"
)]
pub trait Trained<O> {}
