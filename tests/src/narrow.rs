//! Numbers of two bytes: a call, PyTorch's numbers and others in, how they differ beyond what rounding explains out.

use precast_compiler::ir::DType;
use precast_compiler::oracle::Tensor;

/// How far numbers may be from PyTorch's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// The same numbers, and signs of zeros.
    Equal,
    /// The same numbers, where a zero may have either sign.
    Alike,
    /// A unit in the last place of the number.
    OfItself,
    /// A unit in the last place of the number, or `2⁻²²` of the tensor's largest: terms that cancel are rounded to f32.
    Cancels,
    /// A unit in the last place of the number, and so many of 1.
    OfOne(f64),
    /// So many units in the last place of the tensor's largest number.
    OfLargest(f64),
}

use Bound::{Alike, Cancels, Equal, OfItself, OfLargest, OfOne};

/// What moves numbers, chooses among them, compares them, or computes them exactly in f32 but for one rounding.
const EQUAL: &[&str] = &[
    "relu6",
    "hard_tanh",
    "hardshrink",
    "threshold",
    "abs",
    "square",
    "sqrt",
    "reciprocal",
    "floor",
    "ceil",
    "round",
    "sign",
    "maximum",
    "minimum",
    "clamp",
    "where",
    "max",
    "argmax",
    "argsort",
    "top_k",
    "cummax",
    "cummin",
    "concat",
    "stack",
    "split",
    "flip",
    "gather",
    "take",
    "embedding",
    "transpose",
    "reshape",
    "masked_fill",
    "tril",
    "triu",
    "diagonal",
    "diag",
    "tile",
    "repeat_interleave",
    "roll",
    "unbind",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "max_pool1d",
    "max_pool2d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "global_max_pool",
    "count_nonzero",
    "isnan",
    "isinf",
    "isfinite",
    "outer",
    "f32",
    "f16",
    "bf16",
    "-x",
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "x < y",
    "x == y",
    "x >= y",
    "x + 1.0",
    "1.0 / x",
];

/// Where one unit of the number itself is not what two correct computations are apart at most. A literal is a number of
/// the type of what it is added to or multiplied with, and PyTorch's one of float32, but `x * 1e-3` stays within a unit.
const WIDER: &[(&str, Bound)] = &[
    // A maximum of x and 0, and a sum of all elements of which one is kept, where PyTorch keeps −0.
    ("relu", Alike),
    ("sort", Alike),
    // `1 + erf` and a logarithm of about 1 cancel.
    ("gelu", Cancels),
    ("log_softmax", Cancels),
    // PyTorch rounds `tanh(x)`, and then the difference from it.
    ("tanhshrink", OfOne(0.5)),
    // PyTorch rounds `x × scale + shift` with a shift that is rounded, so that the two cancel.
    ("instance_norm", OfLargest(1.0)),
    // PyTorch rounds the products of each place of the window before it adds them up.
    ("conv_transpose2d", OfLargest(1.0)),
    // PyTorch rounds both norms, the normalized vectors and their products.
    ("cosine_similarity", OfLargest(2.0)),
    // PyTorch rounds both distances and their difference, and distances are larger than that.
    ("triplet_margin_loss", OfLargest(2.0)),
];

/// Gradients of which PyTorch rounds more than two intermediate results.
const WIDER_GRADIENTS: &[(&str, Bound)] = &[
    // Two norms, three sums of products, and what the quotient derives of each.
    ("cosine_embedding_loss", OfLargest(4.0)),
];

/// The function that a call is one of; calls of operators are their own.
pub fn function(call: &str) -> &str {
    let name = call.split('(').next().unwrap_or(call);
    if name.contains(' ') { call } else { name }
}

fn listed(call: &str, list: &[(&str, Bound)]) -> Option<Bound> {
    list.iter().find(|(name, _)| *name == function(call)).map(|(_, bound)| *bound)
}

/// The bound of a result. PyTorch computes in float32 and rounds once, as we do, so that results differ by a unit where
/// those of float32 lie on both sides of a tie.
pub fn result(call: &str) -> Bound {
    if EQUAL.contains(&function(call)) { Equal } else { listed(call, WIDER).unwrap_or(OfItself) }
}

/// The bound of a gradient. The way back is of up to three of PyTorch's calls, each of which rounds, and gradients of
/// one argument are added up in its type.
pub fn gradient(call: &str) -> Bound {
    listed(call, WIDER_GRADIENTS).unwrap_or(OfLargest(2.0))
}

/// The distance of a number of the type from the next larger one.
fn unit(dtype: DType, x: f64) -> f64 {
    let size = x.abs().clamp(dtype.smallest_normal(), dtype.largest());
    2f64.powi(size.log2().floor() as i32) * dtype.epsilon()
}

impl Bound {
    /// How numbers differ from PyTorch's, where they do.
    pub fn difference(self, dtype: DType, stored: &[f64], found: &[f64]) -> Option<String> {
        if found.len() != stored.len() {
            return Some(format!("{} elements instead of {}", found.len(), stored.len()));
        }
        let finite = stored.iter().filter(|x| x.is_finite());
        let largest = finite.fold(0.0, |m: f64, x| m.max(x.abs()));
        let far = |(a, b): (&f64, &f64)| {
            let of_itself = unit(dtype, a.abs().min(b.abs()));
            let bound = match self {
                Equal => return a.to_bits() != b.to_bits() && !(a.is_nan() && b.is_nan()),
                Alike => 0.0,
                OfItself => of_itself,
                Cancels => of_itself.max(largest * 2f64.powi(-22)),
                OfOne(units) => of_itself + units * unit(dtype, 1.0),
                OfLargest(units) => units * unit(dtype, largest),
            };
            !(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= bound)
        };
        let at = stored.iter().zip(found).position(far)?;
        let apart = (found[at] - stored[at]).abs();
        Some(format!(
            "element {at} is {} instead of {}: {:.2} units of itself, {:.2} of the largest",
            found[at],
            stored[at],
            apart / unit(dtype, stored[at]),
            apart / unit(dtype, largest)
        ))
    }
}

/// What differs from the oracle, whose results are exact but for the rounding of each call.
pub fn against_oracle(dtype: DType, calls: &[&str], said: &[Tensor], found: &[Tensor]) -> Vec<String> {
    let (mut wrong, mut equal, mut count) = (vec![], 0, 0);
    for ((call, said), found) in calls.iter().zip(said).zip(found) {
        let (said, found) = (said.data.numbers(), found.data.numbers());
        equal += said.iter().zip(&found).filter(|(a, b)| a == b || a.is_nan() && b.is_nan()).count();
        count += said.len();
        let bound = if result(call) == Cancels { Cancels } else { OfItself };
        wrong.extend(bound.difference(dtype, &said, &found).map(|why| format!("`{call}` and the oracle: {why}")));
    }
    // Where f32 falls on the other side of a tie, which is rare.
    if equal * 100 < count * 99 {
        wrong.push(format!("{equal} of {count} are those of the oracle"));
    }
    wrong
}
