//! Whether a result is the one that is wanted: shapes, types, integers and truth values exactly, floats nearly.

use precast_compiler::ir::DType;
use precast_compiler::oracle::{Data, Tensor};

/// How near floats must be.
#[derive(Clone, Copy, Default)]
pub(crate) enum Gate {
    /// Each to its own, by the tolerances of ONNX's own runner.
    #[default]
    Each,
    /// Each to the largest of all, which is so many times farther from zero. It is what networks are held to, whose small
    /// results are sums of large ones.
    OfLargest(f64),
}

/// The relative and the absolute tolerance of floats.
fn tolerance(dtype: DType) -> (f64, f64) {
    match dtype {
        // Two units in the last place, as ONNX's own runner allows.
        DType::BF16 | DType::F8E4M3 => (2f64.powi(-6), 1e-5),
        _ => (1e-3, 1e-5),
    }
}

/// Nothing, or how they differ.
pub(crate) fn compare(made: &Tensor, wanted: &Tensor, gate: Gate) -> Result<(), String> {
    let (dtype, asked) = (made.data.dtype(), wanted.data.dtype());
    if dtype != asked || made.shape != wanted.shape {
        return Err(format!("{dtype}{:?}, not {asked}{:?}", made.shape, wanted.shape));
    }
    let (relative, absolute) = match gate {
        Gate::Each => tolerance(dtype),
        Gate::OfLargest(times) => {
            (0.0, times * wanted.data.numbers().iter().fold(0.0, |most: f64, x| most.max(x.abs())))
        }
    };
    let count = wanted.data.len();
    match (&made.data, &wanted.data) {
        (Data::Float(_, made), Data::Float(_, wanted)) => {
            let far: Vec<(f64, f64)> = made
                .iter()
                // What binary64 holds and the type does not is infinite in it.
                .map(|&x| dtype.nearest(x))
                .zip(wanted.iter().copied())
                .filter(|&(a, b)| {
                    !(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= absolute + relative * b.abs())
                })
                .collect();
            match far.first() {
                Some((a, b)) => Err(format!("{} of {count} differ, the first is {a}, not {b}", far.len())),
                None => Ok(()),
            }
        }
        (made, wanted) if made == wanted => Ok(()),
        (made, wanted) => {
            let differs = |&at: &usize| made.element(at) != wanted.element(at);
            let far: Vec<usize> = (0..count).filter(differs).collect();
            let first = far.first().copied().unwrap_or_default();
            Err(format!(
                "{} of {count} differ, the first is {}, not {}",
                far.len(),
                made.element(first),
                wanted.element(first)
            ))
        }
    }
}
