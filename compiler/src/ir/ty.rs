//! Types of values: an element type and a symbolic shape.

use super::dim::{Dim, product};
use std::fmt;

/// What elements are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Category {
    /// Numbers of IEEE 754's binary formats; derivatives flow through them.
    Float,
    /// Two's complement, wrapping.
    Signed,
    /// Integers that are not negative, wrapping.
    Unsigned,
    /// Truth values.
    Bool,
}

macro_rules! element_types {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $category:ident $bits:literal,)*) => {
        /// The type of an element.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum DType { $($(#[$doc])* $variant,)* }

        impl DType {
            /// Every element type, in order.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// Their names.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name in the model language.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// What it is.
            pub fn category(self) -> Category {
                match self { $(DType::$variant => Category::$category,)* }
            }

            /// How many bits an element has in memory.
            pub fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits,)* }
            }
        }
    };
}

// Name in the model language: what it is, and its bits in memory.
element_types! {
    /// IEEE 754 binary32.
    F32 = "f32": Float 32,
    /// IEEE 754 binary64.
    F64 = "f64": Float 64,
    /// Two's complement, 32 bits, wrapping.
    I32 = "i32": Signed 32,
    /// Unsigned, 32 bits, wrapping.
    U32 = "u32": Unsigned 32,
    /// Two's complement, 64 bits, wrapping.
    I64 = "i64": Signed 64,
    /// Unsigned, 64 bits, wrapping.
    U64 = "u64": Unsigned 64,
    /// A truth value, stored as the 32-bit word 0 or 1.
    Bool = "bool": Bool 32,
}

/// Bits of a word, of which pools are made.
const WORD: u32 = 32;

impl DType {
    /// The type of that name.
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.iter().copied().find(|d| d.name() == name)
    }

    /// All names, as a sentence lists them: `f32, i32 and bool`.
    pub fn names() -> String {
        match DType::NAMES.split_last() {
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
            None => String::new(),
        }
    }

    /// Whether derivatives flow through it.
    pub fn is_float(self) -> bool {
        self.category() == Category::Float
    }

    /// Whether it is an integer.
    pub fn is_integer(self) -> bool {
        matches!(self.category(), Category::Signed | Category::Unsigned)
    }

    /// The largest finite number of a float type.
    pub fn largest(self) -> f64 {
        if self == DType::F64 { f64::MAX } else { f64::from(f32::MAX) }
    }

    /// The least normal number of a float type.
    pub fn smallest_normal(self) -> f64 {
        if self == DType::F64 { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) }
    }

    /// The distance of a float type's 1 from the next number.
    pub fn epsilon(self) -> f64 {
        if self == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) }
    }

    /// The nearest number of a float type.
    pub fn nearest(self, x: f64) -> f64 {
        if self == DType::F64 { x } else { f64::from(x as f32) }
    }

    /// The least and the greatest number of an integer type; 0 and 1 of the others.
    pub fn integers(self) -> (i128, i128) {
        let half = 1i128 << (self.bits() - 1);
        match self.category() {
            Category::Signed => (-half, half - 1),
            Category::Unsigned => (0, 2 * half - 1),
            Category::Float | Category::Bool => (0, 1),
        }
    }

    /// An integer as one of this type: its lowest bits.
    pub fn wrapped(self, x: i128) -> i128 {
        let (least, greatest) = self.integers();
        (x - least).rem_euclid(greatest - least + 1) + least
    }

    /// Whether a number is near enough to one of its values.
    pub fn holds(self, number: f64) -> bool {
        match self.category() {
            Category::Float => number.is_finite() && number.abs() <= self.largest(),
            Category::Signed | Category::Unsigned => {
                let (least, greatest) = self.integers();
                (least as f64..=greatest as f64).contains(&number)
            }
            Category::Bool => true,
        }
    }

    /// Its numbers, in words.
    pub fn range(self) -> String {
        match self.category() {
            Category::Float => format!("finite numbers up to {:.1e}", self.largest()),
            Category::Signed | Category::Unsigned => {
                let (least, greatest) = self.integers();
                format!("{least} to {greatest}")
            }
            Category::Bool => "false and true".into(),
        }
    }

    /// Whether an element has more bits than a word of a GPU.
    pub fn is_wide(self) -> bool {
        self.bits() > WORD
    }

    /// How many words of a pool so many elements take.
    pub fn words(self, elements: &Dim) -> Dim {
        elements.clone() * Dim::from(i64::from(self.bits() / WORD))
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

    /// How many words of a pool it takes.
    pub fn words(&self) -> Dim {
        self.dtype.words(&self.count())
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
