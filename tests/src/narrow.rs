//! Numbers of two bytes: a call, PyTorch's numbers and others in, how they differ beyond what rounding explains out.

use precast_compiler::ir::DType;
use precast_compiler::oracle::Tensor;

/// How far numbers may be from PyTorch's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Bound {
    /// The same numbers, and signs of zeros.
    Equal,
    /// So many units in the last place of the number itself.
    OfItself(f64),
    /// So many units in the last place of the tensor's largest number.
    OfLargest(f64),
}

use Bound::{Equal, OfItself, OfLargest};

/// The bound of a result.
pub fn result(_: DType, _: &str) -> Bound {
    OfItself(1.0)
}

/// The bound of a gradient.
pub fn gradient(_: DType, _: &str) -> Bound {
    OfLargest(1.0)
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
            let near = match self {
                Equal => a.to_bits() == b.to_bits(),
                OfItself(units) => (a - b).abs() <= units * unit(dtype, a.abs().min(b.abs())),
                OfLargest(units) => (a - b).abs() <= units * unit(dtype, largest),
            };
            !(near || a.is_nan() && b.is_nan() || self != Equal && a == b)
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
pub fn against_oracle(dtype: DType, said: &[Tensor], found: &[Tensor]) -> Vec<String> {
    let (mut wrong, mut equal, mut count) = (vec![], 0, 0);
    for (k, (said, found)) in said.iter().zip(found).enumerate() {
        let (said, found) = (said.data.numbers(), found.data.numbers());
        equal += said.iter().zip(&found).filter(|(a, b)| a == b || a.is_nan() && b.is_nan()).count();
        count += said.len();
        wrong.extend(OfItself(1.0).difference(dtype, &said, &found).map(|why| format!("result {k}: {why}")));
    }
    println!("{equal} of {count} equal");
    wrong
}
