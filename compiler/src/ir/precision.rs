//! How many bits numbers have, and how products are made of them: what `#[model(precision = …)]` chooses.

use super::ty::DType;

/// The type of the parameters, how a GPU makes products, or what the operands of products with parameters are rounded to, on the
/// CPU and outside of training.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    /// Parameters are f32, and nothing is rounded.
    #[default]
    F32,
    /// Parameters are f32, and a GPU with cooperative matrices makes products of them as three products of halves (f16), whose sums
    /// are f32.
    Split,
    /// The same with one product, of numbers that are rounded to halves.
    Mixed,
    /// Parameters, their gradients and the states of optimisers are f64.
    F64,
    /// The upper half of an f32: 8 bits of exponent and 8 of precision. Sums are f32.
    Bf16,
    /// Integers from -127 to 127 times a scale for each row of either operand. Sums are exact.
    Int8,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 6] =
        [Precision::F32, Precision::Split, Precision::Mixed, Precision::F64, Precision::Bf16, Precision::Int8];

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Split => "split",
            Precision::Mixed => "mixed",
            Precision::F64 => "f64",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
        }
    }

    /// The type of the parameters.
    pub fn float(self) -> DType {
        match self {
            Precision::F32 | Precision::Split | Precision::Mixed | Precision::Bf16 | Precision::Int8 => DType::F32,
            Precision::F64 => DType::F64,
        }
    }

    /// Whether products with parameters read fewer bits than those have.
    pub fn is_narrow(self) -> bool {
        match self {
            Precision::F32 | Precision::Split | Precision::Mixed | Precision::F64 => false,
            Precision::Bf16 | Precision::Int8 => true,
        }
    }

    /// What remains of it in a step of training, which is rounded on a GPU alone.
    pub fn in_training(self) -> Precision {
        if self.halves().is_some() { self } else { Precision::F32 }
    }

    /// Of how many halves the numbers of a product are the sums, on a GPU with cooperative matrices.
    pub fn halves(self) -> Option<u32> {
        match self {
            Precision::Split => Some(2),
            Precision::Mixed => Some(1),
            Precision::F32 | Precision::F64 | Precision::Bf16 | Precision::Int8 => None,
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
    }
}

/// The types that parameters can have in memory where they are computed in f32: what `#[model(parameters = …)]` chooses.
/// Such a model is not trained.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Storage {
    /// IEEE 754 binary16.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// Integers from -127 to 127 times a scale for each index of the first axis; parameters without a second axis are f32.
    Int8,
}

impl Storage {
    /// All of them.
    pub const ALL: [Storage; 3] = [Storage::F16, Storage::Bf16, Storage::Int8];

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Storage::F16 => "f16",
            Storage::Bf16 => "bf16",
            Storage::Int8 => "int8",
        }
    }

    /// The type that floats have in memory.
    pub fn float(self) -> DType {
        match self {
            Storage::F16 => DType::F16,
            Storage::Bf16 => DType::BF16,
            Storage::Int8 => DType::F32,
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Storage> {
        Storage::ALL.into_iter().find(|storage| storage.name() == name)
    }
}

/// An operand of a contraction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Factor {
    /// The one that rows vary with.
    Left,
    /// The one that columns vary with.
    Right,
}

impl Factor {
    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Factor> {
        [Factor::Left, Factor::Right].into_iter().find(|factor| factor.name() == name)
    }

    /// As in dumps.
    pub fn name(self) -> &'static str {
        match self {
            Factor::Left => "left",
            Factor::Right => "right",
        }
    }
}
