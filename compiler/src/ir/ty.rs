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
    ($(
        $(#[$doc:meta])*
        $variant:ident = $name:literal: $category:ident $(($exponent:literal, $fraction:literal $(, $finite:ident)?))? $bits:literal,
    )*) => {
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

            /// Of a float type the bits of the exponent and of the fraction.
            fn format(self) -> Option<(i32, i32)> {
                match self { $(DType::$variant => [$(($exponent, $fraction))?].first().copied(),)* }
            }

            /// Whether a float type has no infinities: the bits that would be theirs are numbers, but for NaN, which are all 1.
            fn is_finite(self) -> bool {
                match self { $(DType::$variant => [$($(stringify!($finite) == "finite",)?)?].contains(&true),)* }
            }
        }
    };
}

// Name in the model language: what it is, of floats the bits of exponent and fraction and whether it has no infinities, and the
// bits in memory.
element_types! {
    /// IEEE 754 binary32.
    F32 = "f32": Float(8, 23) 32,
    /// IEEE 754 binary64.
    F64 = "f64": Float(11, 52) 64,
    /// IEEE 754 binary16, in memory only.
    F16 = "f16": Float(5, 10) 16,
    /// The upper half of an f32, in memory only.
    BF16 = "bf16": Float(8, 7) 16,
    /// OCP's E4M3, which has no infinities, in memory only; in Rust its bits.
    F8E4M3 = "f8e4m3": Float(4, 3, finite) 8,
    /// Two's complement, 8 bits, in memory only.
    I8 = "i8": Signed 8,
    /// Unsigned, 8 bits, in memory only.
    U8 = "u8": Unsigned 8,
    /// Two's complement, 16 bits, in memory only.
    I16 = "i16": Signed 16,
    /// Unsigned, 16 bits, in memory only.
    U16 = "u16": Unsigned 16,
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
    /// The name in safetensors files: `F32`, `F8_E4M3`.
    pub fn name_in_files(self) -> String {
        let name = self.name().to_uppercase();
        if name.starts_with("F8") { name.replacen("F8", "F8_", 1) } else { name }
    }

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

    /// The type that its values are computed in: itself, or one of 32 bits where it is in memory only.
    pub fn computed(self) -> DType {
        match self.category() {
            _ if self.bits() >= WORD => self,
            Category::Float => DType::F32,
            Category::Signed => DType::I32,
            Category::Unsigned => DType::U32,
            Category::Bool => self,
        }
    }

    /// Whether it is a type of memory only, whose values are computed in another.
    pub fn is_stored(self) -> bool {
        self.computed() != self
    }

    /// The bits of the fraction of a float type, and the exponents of its smallest normal number and its largest numbers.
    fn exponents(self) -> (i32, [i32; 2]) {
        let (exponent, fraction) = self.format().unwrap_or((8, 23));
        let bias = (1 << (exponent - 1)) - 1;
        (fraction, [1 - bias, bias + i32::from(self.is_finite())])
    }

    /// The largest finite number of a float type.
    pub fn largest(self) -> f64 {
        let (fraction, [_, last]) = self.exponents();
        let after = if self.is_finite() { 2.0 } else { 1.0 };
        (2.0 - after * 2f64.powi(-fraction)) * 2f64.powi(last)
    }

    /// What numbers beyond the largest of a float type become: ∞, or the largest where there is none.
    fn beyond(self) -> f64 {
        if self.is_finite() { self.largest() } else { f64::INFINITY }
    }

    /// The least normal number of a float type.
    pub fn smallest_normal(self) -> f64 {
        let (_, [first, _]) = self.exponents();
        2f64.powi(first)
    }

    /// The distance of a float type's 1 from the next number.
    pub fn epsilon(self) -> f64 {
        2f64.powi(-self.exponents().0)
    }

    /// The nearest number of a float type, of two the one that is even; beyond the largest ±∞, or the largest where there is none.
    pub fn nearest(self, x: f64) -> f64 {
        match self {
            DType::F64 => x,
            // As processors convert: from f64 by way of f32.
            _ if self.is_stored() => self.rounded(f64::from(x as f32)),
            _ => f64::from(x as f32),
        }
    }

    fn rounded(self, x: f64) -> f64 {
        if x == 0.0 || x.is_nan() {
            return x;
        }
        if x.is_infinite() {
            return self.beyond().copysign(x);
        }
        let (fraction, [first, _]) = self.exponents();
        // The exponent of an f32 is far from the ends of those of an f64.
        let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
        let unit = 2f64.powi(exponent.max(first) - fraction);
        let rounded = (x / unit).round_ties_even() * unit;
        if rounded.abs() > self.largest() { self.beyond().copysign(x) } else { rounded }
    }

    /// The bits of a number of a float type of memory.
    pub fn float_bits(self, x: f64) -> u64 {
        let (fraction, [first, last]) = self.exponents();
        let sign = u64::from(x.is_sign_negative()) << (self.bits() - 1);
        let infinite = ((last - first + 2) as u64) << fraction;
        let magnitude = match x.abs() {
            x if self.is_finite() && !x.is_finite() => (1 << (self.bits() - 1)) - 1,
            x if x.is_nan() => infinite | 1 << (fraction - 1),
            f64::INFINITY => infinite,
            x if x < self.smallest_normal() => (x / 2f64.powi(first - fraction)) as u64,
            x => {
                let exponent = ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023;
                let above = (x / 2f64.powi(exponent) - 1.0) * 2f64.powi(fraction);
                ((exponent - first + 1) as u64) << fraction | above as u64
            }
        };
        sign | magnitude
    }

    /// The number of a float type of memory with these bits.
    pub fn of_float_bits(self, bits: u64) -> f64 {
        let (fraction, [first, last]) = self.exponents();
        let sign = if bits >> (self.bits() - 1) & 1 == 1 { -1.0 } else { 1.0 };
        let magnitude = bits & ((1 << (self.bits() - 1)) - 1);
        let (exponent, rest) = (magnitude >> fraction, magnitude & ((1 << fraction) - 1));
        let rest = rest as f64 * 2f64.powi(-fraction);
        sign * match exponent as i32 {
            _ if self.is_finite() && magnitude == (1 << (self.bits() - 1)) - 1 => f64::NAN,
            0 => rest * 2f64.powi(first),
            e if e == last - first + 2 => {
                if rest == 0.0 {
                    f64::INFINITY
                } else {
                    f64::NAN
                }
            }
            e => (1.0 + rest) * 2f64.powi(e + first - 1),
        }
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

    /// Whether an element has more bits than a word.
    pub fn is_wide(self) -> bool {
        self.bits() > WORD
    }

    /// Whether an element is a word, as WGSL has them.
    pub fn is_word(self) -> bool {
        self.bits() == WORD
    }

    /// How many words of a pool so many elements take.
    pub fn words(self, elements: &Dim) -> Dim {
        match self.bits() < WORD {
            true => elements.ceil_div(i64::from(WORD / self.bits())),
            false => elements.clone() * Dim::from(i64::from(self.bits() / WORD)),
        }
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
