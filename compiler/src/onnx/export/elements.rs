//! Element types: a type of the language in, the type that a file computes it in out, and conversions.
//!
//! Always: floats of fewer bits are carried as f32 that are rounded where the language rounds, small integers as i32, and integers
//! without a sign as i64, those of 64 bits by their bits. So every operator is one that ONNX Runtime has.

use super::attributes::int;
use super::writer::Writer;
use crate::ir::prim::Scalar;
use crate::ir::{Category, DType};
use crate::onnx::element;

/// The type that carries another.
pub(super) fn carrier(dtype: DType) -> DType {
    match dtype.category() {
        Category::Float | Category::Signed => dtype.computed(),
        Category::Unsigned => DType::I64,
        Category::Bool => DType::Bool,
    }
}

/// The bytes of a literal in the type that carries it.
pub(super) fn bytes(scalar: Scalar) -> (DType, Vec<u8>) {
    let dtype = carrier(scalar.dtype());
    let bytes = match (dtype, scalar) {
        (DType::F64, Scalar::Float(_, x)) => x.to_le_bytes().to_vec(),
        (_, Scalar::Float(own, x)) => (own.nearest(x) as f32).to_le_bytes().to_vec(),
        (DType::I32, Scalar::Int(_, x)) => (x as i32).to_le_bytes().to_vec(),
        (_, Scalar::Int(_, x)) => (x as i64).to_le_bytes().to_vec(),
        (_, Scalar::Bool(x)) => vec![x.into()],
    };
    (dtype, bytes)
}

impl Writer<'_> {
    /// A tensor in another element type of ONNX.
    pub(super) fn cast(&mut self, x: &str, to: DType) -> String {
        self.op("Cast", &[x], vec![int("to", element::number(to).into())])
    }

    /// An argument or parameter in the type that carries its own.
    pub(super) fn carried(&mut self, x: String, own: DType) -> String {
        if carrier(own) == own { x } else { self.cast(&x, carrier(own)) }
    }

    /// The opposite, of a result.
    pub(super) fn delivered(&mut self, x: String, own: DType) -> String {
        if carrier(own) == own { x } else { self.cast(&x, own) }
    }

    /// An integer as its lowest bits, those of its type.
    pub(super) fn wrapped(&mut self, x: String, own: DType) -> String {
        if own.is_wide() || carrier(own) == own {
            return x;
        }
        let x = self.cast(&x, own);
        self.cast(&x, carrier(own))
    }

    /// As `Prim::Convert` says. What is known to be `within` the other type's numbers is not held to them.
    pub(super) fn convert(&mut self, x: String, from: DType, to: DType, within: bool) -> String {
        if from == to {
            return x;
        }
        match (from.category(), to.category()) {
            (Category::Float, Category::Float) => self.rounded(x, from, to),
            (_, Category::Bool) => self.cast(&x, to),
            (Category::Bool, _) => self.cast(&x, carrier(to)),
            (Category::Float, _) if within => self.cast(&x, carrier(to)),
            (Category::Float, _) => self.truncated(&x, from, to),
            (_, Category::Float) => {
                let x = if from == DType::U64 { self.cast(&x, from) } else { x };
                let x = self.cast(&x, to.computed());
                self.rounded(x, to.computed(), to)
            }
            _ => self.integer(x, from, to),
        }
    }

    /// A float in a type of memory is one that this type has.
    fn rounded(&mut self, x: String, from: DType, to: DType) -> String {
        let x = if carrier(from) == to.computed() { x } else { self.cast(&x, to.computed()) };
        let has_all = from.epsilon() >= to.epsilon() && from.largest() <= to.largest();
        if !to.is_stored() || has_all {
            return x;
        }
        let x = self.cast(&x, to);
        self.cast(&x, to.computed())
    }

    /// Truncated; beyond the type's numbers its last ones, and 0 for NaN.
    fn truncated(&mut self, x: &str, from: DType, to: DType) -> String {
        let (least, greatest) = to.integers();
        // The largest float that is not above the greatest integer.
        let bits = if from == DType::F64 { 53 } else { 24 };
        let unit = (128 - greatest.leading_zeros()).saturating_sub(bits);
        let largest = (greatest >> unit) << unit;
        let float = carrier(from);
        let [low, high, zero] =
            [least as f64, largest as f64, 0.0].map(|number| self.constant(Scalar::Float(float, number)));
        let is_nan = self.op("IsNaN", &[x], vec![]);
        let held = self.op("Clip", &[x, &low, &high], vec![]);
        let held = self.op("Where", &[&is_nan, &zero, &held], vec![]);
        let held = if to == DType::U64 { self.cast(&held, to) } else { held };
        let made = self.cast(&held, carrier(to));
        if largest == greatest {
            return made;
        }
        let is_beyond = self.op("Less", &[&high, x], vec![]);
        let greatest = self.constant(Scalar::Int(to, greatest));
        self.op("Where", &[&is_beyond, &greatest, &made], vec![])
    }

    /// An integer as its lowest bits.
    fn integer(&mut self, x: String, from: DType, to: DType) -> String {
        let ((least, greatest), (low, high)) = (from.integers(), to.integers());
        let wraps = !to.is_wide() && (least < low || greatest > high);
        let (x, own) = if wraps && carrier(to) != to { (self.cast(&x, to), to) } else { (x, carrier(from)) };
        if own == carrier(to) { x } else { self.cast(&x, carrier(to)) }
    }
}
