//! Types of values: an element type and a symbolic shape.

use super::dim::{Dim, product};
use std::fmt;

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum DType {
    /// IEEE 754 binary32.
    F32,
    /// Two's complement, 32 bits, wrapping.
    I32,
    /// Unsigned, 32 bits, wrapping.
    U32,
    /// A truth value, stored as the 32-bit word 0 or 1.
    Bool,
}

impl DType {
    /// Every element type, in order.
    pub const ALL: [DType; 4] = [DType::F32, DType::I32, DType::U32, DType::Bool];

    /// Whether a number is near enough to one of its values.
    pub fn holds(self, number: f64) -> bool {
        match self {
            DType::F32 => number.is_finite() && number.abs() <= f64::from(f32::MAX),
            DType::I32 => (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number),
            DType::U32 => (0.0..=f64::from(u32::MAX)).contains(&number),
            DType::Bool => true,
        }
    }

    /// Its numbers, in words.
    pub fn range(self) -> &'static str {
        match self {
            DType::F32 => "finite numbers up to 3.4e38",
            DType::I32 => "-2147483648 to 2147483647",
            DType::U32 => "0 to 4294967295",
            DType::Bool => "false and true",
        }
    }

    /// Whether derivatives flow through it.
    pub fn is_float(self) -> bool {
        match self {
            DType::F32 => true,
            DType::I32 | DType::U32 | DType::Bool => false,
        }
    }

    /// The name in the model language.
    pub fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::I32 => "i32",
            DType::U32 => "u32",
            DType::Bool => "bool",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|d| d.name() == name)
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An element type and a shape; scalars have the empty shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Type {
    /// The element type.
    pub dtype: DType,
    /// The extents, outermost first (row-major).
    pub shape: Vec<Dim>,
}

impl Type {
    /// A type of that shape.
    pub fn new(dtype: DType, shape: impl Into<Vec<Dim>>) -> Type {
        Type { dtype, shape: shape.into() }
    }

    /// A scalar.
    pub fn scalar(dtype: DType) -> Type {
        Type { dtype, shape: vec![] }
    }

    /// The number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The constant extents at the end, which are arrays in Rust.
    pub fn fixed(&self) -> Vec<i64> {
        let mut fixed: Vec<i64> = self.shape.iter().rev().map_while(Dim::as_const).collect();
        fixed.reverse();
        fixed
    }

    /// The number of elements.
    pub fn count(&self) -> Dim {
        product(&self.shape)
    }

    /// Row-major strides in elements.
    pub fn strides(&self) -> Vec<Dim> {
        let mut stride = Dim::from(1);
        let mut strides = vec![Dim::default(); self.rank()];
        for (slot, extent) in strides.iter_mut().zip(&self.shape).rev() {
            *slot = stride.clone();
            stride = stride * extent.clone();
        }
        strides
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.dtype)?;
        if self.shape.is_empty() {
            return Ok(());
        }
        f.write_str("[")?;
        for (i, d) in self.shape.iter().enumerate() {
            write!(f, "{}{d}", if i > 0 { ", " } else { "" })?;
        }
        f.write_str("]")
    }
}
