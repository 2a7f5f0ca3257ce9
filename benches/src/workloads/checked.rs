//! What a workload computed once, for the oracle to judge.
//!
//! In: a call. Out: [`Checked`]: the text of the model, parameters, arguments and everything that came out. Always: numbers
//! are flat and row-major, as the public API gives them.

/// A call and what came of it.
pub(crate) struct Checked {
    /// A file with the one `model!` in it.
    pub(crate) source: &'static str,
    /// The function that was called.
    pub(crate) function: &'static str,
    /// Parameters by name.
    pub(crate) parameters: Vec<(String, Vec<f32>)>,
    /// The arguments in order.
    pub(crate) arguments: Vec<Argument>,
    /// The result or the loss.
    pub(crate) result: Vec<f32>,
    /// Of a loss, the gradients by the parameters' names.
    pub(crate) gradients: Vec<(String, Vec<f32>)>,
}

/// An argument with its extents.
pub(crate) enum Argument {
    Floats(Vec<usize>, Vec<f32>),
    Indices(Vec<usize>, Vec<u32>),
}

/// Named tensors, owned.
pub(super) fn owned<'a>(
    tensors: impl Iterator<Item = (String, &'static [usize], &'a [f32])>,
) -> Vec<(String, Vec<f32>)> {
    tensors.map(|(name, _, values)| (name, values.to_vec())).collect()
}
