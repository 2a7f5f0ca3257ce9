//! How much a model may be, and how much one kernel holds and one call of a driver of the CPU's runtime, whose tables have
//! fixed sizes, so that a call allocates nothing.
//!
//! A model that is larger is a mistake, so that from expand on products of extents, steps and counts are integers of 64
//! bits. Always: at most what the tables of `runtime/cpu` hold (`contract`, `attend` and `recurrent` assert it), so that no program
//! that compiles meets such an assertion. What is beyond goes to further kernels.

use super::{Dim, Type};

/// The largest extent, and the largest integer that an attribute takes: positions on a GPU have 32 bits.
pub const INTEGER: i64 = i32::MAX as i64;

/// Elements of one tensor, where each dimension that a call binds is 1, and parameters of a model: 4 TiB of floats.
pub const ELEMENTS: i64 = 1 << 40;

/// Results of one op.
pub const RESULTS: i64 = 1024;

/// Expressions of one function, with those of the functions that it calls and of each round of a loop over numbers.
pub const EXPRESSIONS: usize = 100_000;

/// How deep expressions are nested, each within the calls that lead to it: a level takes some kilobytes of the stack.
pub const NESTED_EXPRESSIONS: usize = 512;

/// How deep blocks are nested.
pub const NESTED_BLOCKS: usize = 64;

/// Fields of a model, with those of its blocks, and rounds of a repeated block.
pub const FIELDS: usize = 20_000;

/// Axes of one tensor.
pub const AXES: usize = 64;

/// Terms of the number of a tensor's elements before like ones are added up: the product of the numbers of terms of its extents.
pub const TERMS: usize = 256;

/// Nodes of one graph.
pub const NODES: usize = 1 << 18;

/// What a tensor has too much of, as the end of "a tensor has at most".
pub fn excess(ty: &Type) -> Option<String> {
    if ty.rank() > AXES {
        return Some(format!("{AXES} axes"));
    }
    if terms(&ty.shape) > TERMS {
        return Some(format!("{TERMS} terms in the number of its elements"));
    }
    // No coefficient of a product is larger than the product of the sums of coefficients, which is quick to form.
    let sum = |dim: &Dim| dim.terms().iter().fold(0i64, |sum, (_, factor)| sum.saturating_add(factor.saturating_abs()));
    let most = ty.shape.iter().fold(1i64, |most, dim| most.saturating_mul(sum(dim).max(1)));
    let is_oversize = most > ELEMENTS && ty.count().terms().iter().any(|(_, factor)| *factor > ELEMENTS);
    is_oversize.then(|| format!("{ELEMENTS} elements"))
}

/// How many terms a product of extents has before like ones are added up.
pub fn terms(extents: &[Dim]) -> usize {
    extents.iter().fold(1usize, |terms, extent| terms.saturating_mul(extent.terms().len().max(1)))
}

/// Places that a product writes.
pub const PLACES_OF_A_PRODUCT: usize = 8;

/// Axes of a product, with those of extent 1 left out.
pub const AXES_OF_A_PRODUCT: usize = 16;

/// Places of one result of attention.
pub const PLACES_OF_ATTENTION: usize = 4;

/// Slots that the map of a recurrence writes beside its state.
pub const SERIES_OF_A_RECURRENCE: usize = 16;

/// Scalars from which on a kernel takes up nothing more. Rows and maps have no tables, but rustc takes minutes for long
/// kernels; those of people have fewer than 100.
pub const SCALARS_OF_A_KERNEL: usize = 256;
