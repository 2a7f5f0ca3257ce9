//! How many bits of the numbers a product reads: what `#[model(precision = …)]` chooses.

/// What the operands of products with parameters are rounded to, on the CPU and outside of training.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Precision {
    /// Nothing.
    #[default]
    F32,
    /// The upper half of an f32: 8 bits of exponent and 8 of precision. Sums are f32.
    Bf16,
    /// Integers from -127 to 127 times a scale for each row of either operand. Sums are exact.
    Int8,
}

impl Precision {
    /// All of them.
    pub const ALL: [Precision; 3] = [Precision::F32, Precision::Bf16, Precision::Int8];

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Precision::F32 => "f32",
            Precision::Bf16 => "bf16",
            Precision::Int8 => "int8",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|precision| precision.name() == name)
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
