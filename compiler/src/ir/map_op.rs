//! The elementwise operations: one table of what each of them is.
//!
//! A new one is a row here, an arm of the derivative (`grad/map.rs`), of the oracle (`oracle/scalar.rs`) and of both printers
//! (`emit/rust/scalar.rs`, `emit/wgsl/scalars.rs`), and what those call. All matches are exhaustive, so rustc names the arms.

use super::ty::{Category, DType};

/// Of which type the arguments are; all of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Of {
    /// Floats.
    Float,
    /// Numbers with a sign.
    Signed,
    /// All but truth values.
    Number,
    /// All but floats.
    Bits,
    /// Integers without a sign.
    Unsigned,
    /// u32.
    Word,
    /// All.
    Any,
}

impl Of {
    fn has(self, dtype: DType) -> bool {
        match self {
            Of::Float => dtype.is_float(),
            Of::Signed => matches!(dtype.category(), Category::Float | Category::Signed),
            Of::Number => dtype != DType::Bool,
            Of::Bits => !dtype.is_float(),
            Of::Unsigned => dtype.category() == Category::Unsigned,
            Of::Word => dtype == DType::U32,
            Of::Any => true,
        }
    }
}

/// What kind of instruction an element takes on a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Price {
    /// One like an addition.
    Add,
    /// One like a division.
    Divide,
    /// A function of some dozen instructions, such as the exponential.
    Function,
    /// Twenty rounds of a cipher.
    Cipher,
}

/// What holds of some operations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fact {
    /// The result is one of the arguments, or one up to its sign, or a remainder, or no float: nothing is rounded.
    Exact,
    /// Its value for sums is the sum of its values.
    Linear,
    /// It is constant between jumps, so that its derivative is zero.
    Step,
    /// It counts as a floating-point operation.
    Flop,
    /// It gives a truth value.
    Truth,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $variant:ident = $name:literal: $arity:literal $of:ident $price:ident [$($fact:ident)*],)*) => {
        /// Elementwise operations: every argument has the result's shape.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum MapOp { $($(#[$doc])* $variant,)* }

        impl MapOp {
            /// Every one, in order.
            pub const ALL: &'static [MapOp] = &[$(MapOp::$variant),*];

            /// Its name in the text form.
            pub fn name(self) -> &'static str {
                match self { $(MapOp::$variant => $name,)* }
            }

            /// How many arguments it takes.
            pub fn arity(self) -> usize {
                match self { $(MapOp::$variant => $arity,)* }
            }

            /// What an element costs on a CPU.
            pub fn price(self) -> Price {
                match self { $(MapOp::$variant => Price::$price,)* }
            }

            fn of(self) -> Of {
                match self { $(MapOp::$variant => Of::$of,)* }
            }

            fn facts(self) -> &'static [Fact] {
                match self { $(MapOp::$variant => &[$(Fact::$fact),*],)* }
            }
        }
    };
}

// Name in the text form: arguments, their type, price, and what holds of it.
operations! {
    /// `-x`
    Neg = "neg": 1 Signed Add [Exact Linear Flop],
    /// `|x|`
    Abs = "abs": 1 Signed Add [Exact Flop],
    /// −1, 0 or 1; the derivative is zero.
    Sign = "sign": 1 Signed Add [Exact Flop Step],
    /// `eˣ`
    Exp = "exp": 1 Float Function [Flop],
    /// `eˣ − 1`, accurate near zero.
    Expm1 = "expm1": 1 Float Function [Flop],
    /// The natural logarithm.
    Log = "log": 1 Float Function [Flop],
    /// `ln(1 + x)`, accurate near zero.
    Log1p = "log1p": 1 Float Function [Flop],
    /// The square root.
    Sqrt = "sqrt": 1 Float Divide [Flop],
    /// `1/√x`
    Rsqrt = "rsqrt": 1 Float Divide [Flop],
    /// The sine.
    Sin = "sin": 1 Float Function [Flop],
    /// The cosine.
    Cos = "cos": 1 Float Function [Flop],
    /// The arctangent.
    Atan = "atan": 1 Float Function [Flop],
    /// The hyperbolic tangent.
    Tanh = "tanh": 1 Float Function [Flop],
    /// `1/(1 + e⁻ˣ)`
    Sigmoid = "sigmoid": 1 Float Function [Flop],
    /// The error function.
    Erf = "erf": 1 Float Function [Flop],
    /// Rounded towards −∞.
    Floor = "floor": 1 Float Add [Exact Flop Step],
    /// Rounded towards +∞.
    Ceil = "ceil": 1 Float Add [Exact Flop Step],
    /// Rounded to the nearest integer, ties to even.
    Round = "round": 1 Float Add [Exact Flop Step],
    /// Logical or bitwise complement.
    Not = "not": 1 Bits Add [Exact],
    /// `a + b`
    Add = "add": 2 Number Add [Linear Flop],
    /// `a − b`
    Sub = "sub": 2 Number Add [Linear Flop],
    /// `a · b`
    Mul = "mul": 2 Number Add [Flop],
    /// `a / b`; integers truncate, and give 0 where `b` is 0.
    Div = "div": 2 Number Divide [Flop],
    /// The remainder with the sign of `a`; integers give 0 where `b` is 0. Not for floats.
    Rem = "rem": 2 Number Divide [Exact Flop],
    /// `aᵇ` of floats.
    Pow = "pow": 2 Float Function [Flop],
    /// The larger; NaN if either is.
    Max = "max": 2 Number Add [Exact Flop],
    /// The smaller; NaN if either is.
    Min = "min": 2 Number Add [Exact Flop],
    /// Logical or bitwise and.
    And = "and": 2 Bits Add [Exact],
    /// Logical or bitwise or.
    Or = "or": 2 Bits Add [Exact],
    /// Logical or bitwise exclusive or.
    Xor = "xor": 2 Bits Add [Exact],
    /// `a << b` of unsigned integers, `b` modulo their bits.
    Shl = "shl": 2 Unsigned Add [Exact],
    /// `a >> b` of unsigned integers, `b` modulo their bits.
    Shr = "shr": 2 Unsigned Add [Exact],
    /// `a = b`
    Eq = "eq": 2 Any Add [Exact Truth],
    /// `a ≠ b`
    Ne = "ne": 2 Any Add [Exact Truth],
    /// `a < b`
    Lt = "lt": 2 Number Add [Exact Truth],
    /// `a ≤ b`
    Le = "le": 2 Number Add [Exact Truth],
    /// `mul_add(a, b, c)`: `a · b + c` of floats, rounded once.
    MulAdd = "mul_add": 3 Float Add [Flop],
    /// `select(condition, a, b)`: `a` where the condition holds.
    Select = "select": 3 Any Add [Exact],
    /// `threefry(key0, key1, counter)`: the first word of Threefry-2x32-20 (Salmon et al. 2011)
    /// of the counter block (counter, 0).
    Threefry = "threefry": 3 Word Cipher [Exact],
}

impl MapOp {
    /// The one of that name.
    pub fn from_name(name: &str) -> Option<MapOp> {
        MapOp::ALL.iter().copied().find(|op| op.name() == name)
    }

    /// Whether the result is one of the arguments, or one up to its sign, or a remainder, or no float: nothing is rounded.
    pub fn is_exact(self) -> bool {
        self.facts().contains(&Fact::Exact)
    }

    /// Whether its value for sums is the sum of its values.
    pub fn is_linear(self) -> bool {
        self.facts().contains(&Fact::Linear)
    }

    /// Whether it is constant between jumps, so that its derivative is zero.
    pub fn is_step(self) -> bool {
        self.facts().contains(&Fact::Step)
    }

    /// Whether it counts as a floating-point operation.
    pub fn is_flop(self) -> bool {
        self.facts().contains(&Fact::Flop)
    }

    /// Roughly how many additions one element costs on a CPU.
    pub fn cost(self) -> i64 {
        match self.price() {
            Price::Add => 1,
            Price::Divide => 4,
            Price::Function => 16,
            Price::Cipher => 40,
        }
    }

    /// The result's element type, or why the arguments' types do not fit.
    pub fn dtype(self, args: &[DType]) -> Result<DType, String> {
        let values = if self == MapOp::Select { &args[1..] } else { args };
        let first = values[0];
        if self == MapOp::Select && args[0] != DType::Bool {
            return Err(format!("the condition is {}, not bool", args[0]));
        }
        if let Some(other) = values.iter().find(|dtype| **dtype != first) {
            let few = if values.len() == 2 { "two " } else { "" };
            return Err(match self == MapOp::Select {
                true => format!("the two branches are {first} and {other}"),
                false => format!("`{}` needs {few}values of one type, not {first} and {other}", self.name()),
            });
        }
        match self.of().has(first) {
            true if self.facts().contains(&Fact::Truth) => Ok(DType::Bool),
            true => Ok(first),
            false => Err(format!("`{}` is not defined for {}", self.name(), first.name())),
        }
    }
}
