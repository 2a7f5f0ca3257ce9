//! The primitives: the closed set of operations that every op is made of.
//!
//! Each has one shape rule (`ir/infer.rs`), one derivative rule (`stages/grad`), one oracle arm
//! (`oracle`), and one arm in each back end. All matches over `Prim` and `MapOp` are exhaustive, so that
//! a new primitive is a list of places that rustc names.

use super::attend::Attend;
use super::dim::Dim;
pub use super::map_op::MapOp;
use super::ty::{Category, DType};
use std::fmt;

/// A literal.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    /// A float, kept in binary64 whatever its type, so that the oracle sees the formula's own constant.
    Float(DType, f64),
    /// An integer.
    Int(DType, i128),
    /// A truth value.
    Bool(bool),
}

impl Scalar {
    /// The literal's type.
    pub fn dtype(self) -> DType {
        match self {
            Scalar::Float(dtype, _) | Scalar::Int(dtype, _) => dtype,
            Scalar::Bool(_) => DType::Bool,
        }
    }

    /// The number as a literal of type `dtype`; integers truncate and saturate.
    pub fn of(dtype: DType, x: f64) -> Scalar {
        let (least, greatest) = dtype.integers();
        match dtype.category() {
            Category::Float => Scalar::Float(dtype, x),
            Category::Signed | Category::Unsigned => Scalar::Int(dtype, (x as i128).clamp(least, greatest)),
            Category::Bool => Scalar::Bool(x != 0.0),
        }
    }

    /// An f32.
    pub fn f32(x: f64) -> Scalar {
        Scalar::Float(DType::F32, x)
    }

    /// A u32.
    pub fn u32(x: u32) -> Scalar {
        Scalar::Int(DType::U32, x.into())
    }

    /// What a gather gives where an index is outside: NaN, 0 or false.
    pub fn outside(dtype: DType) -> Scalar {
        Scalar::of(dtype, if dtype.is_float() { f64::NAN } else { 0.0 })
    }

    /// The value as a number.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Float(_, x) => x,
            Scalar::Int(_, x) => x as f64,
            Scalar::Bool(x) => f64::from(u8::from(x)),
        }
    }

    fn key(self) -> (DType, u128) {
        let bits = match self {
            Scalar::Float(_, x) => x.to_bits().into(),
            Scalar::Int(_, x) => x.cast_unsigned(),
            Scalar::Bool(x) => x.into(),
        };
        (self.dtype(), bits)
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl Prim {
    /// Whether it computes with its arguments, rather than to move, choose or convert them.
    pub fn computes(&self) -> bool {
        match self {
            Prim::Map(op) => *op != MapOp::Select,
            Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::WindowReduce { .. }
            | Prim::WindowArgMax { .. }
            | Prim::WindowPut { .. }
            | Prim::Contract { .. }
            | Prim::Conv { .. }
            | Prim::ScatterAdd { .. }
            | Prim::Attend(_) => true,
            Prim::Const(_)
            | Prim::Extent(_)
            | Prim::Iota { .. }
            | Prim::Convert(_)
            | Prim::WindowTake { .. }
            | Prim::Reshape(_)
            | Prim::Transpose(_)
            | Prim::Broadcast { .. }
            | Prim::Slice(_)
            | Prim::SetSlice(_)
            | Prim::Barrier
            | Prim::Flip(_)
            | Prim::Pad { .. }
            | Prim::Concat { .. }
            | Prim::Gather { .. } => false,
        }
    }
}

/// Declares an enum of names that print and parse.
macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every one, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Its name in the text form.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The one of that name.
            pub fn from_name(name: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|op| op.name() == name)
            }
        }
    };
}

names! {
    /// Associative operations that reduce an axis.
    ReduceOp {
        /// The sum; of nothing 0.
        Sum = "sum",
        /// The largest; NaN if any is.
        Max = "max",
        /// The smallest; NaN if any is.
        Min = "min",
        /// The product; of nothing 1.
        Prod = "prod",
    }
}

names! {
    /// Which extreme's position is asked for.
    ArgOp {
        /// The first largest.
        Max = "argmax",
        /// The first smallest.
        Min = "argmin",
    }
}

/// A window sliding over one axis: output `o`, tap `k` reads input `(o·stride + k·dilation − low) / base`,
/// where that is whole and inside; elsewhere padding.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// The number of taps.
    pub size: Dim,
    /// Input steps from one output to the next.
    pub stride: i64,
    /// Input steps from one tap to the next.
    pub dilation: i64,
    /// Padding before the first element; negative crops.
    pub low: Dim,
    /// Padding after the last element; negative crops.
    pub high: Dim,
    /// The input is spread so that its elements lie `base` apart (1: as it is).
    pub base: i64,
}

impl Window {
    /// The number of outputs over `input` elements.
    pub fn output(&self, input: &Dim) -> Dim {
        let one = Dim::from(1);
        let spread = (input.clone() - one.clone()) * Dim::from(self.base) + one.clone();
        let reach = (self.size.clone() - one.clone()) * Dim::from(self.dilation) + one.clone();
        (spread + self.low.clone() + self.high.clone() - reach).floor_div(&Dim::from(self.stride)) + one
    }
}

/// A part of one axis: `len` elements from `start`, `step` apart.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Cut {
    /// The first element.
    pub start: Dim,
    /// How many.
    pub len: Dim,
    /// The distance between them, at least one.
    pub step: i64,
}

/// What surrounds one axis: elements lie `interior + 1` apart, `low` before them and `high` after.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Border {
    /// Elements before; negative crops.
    pub low: Dim,
    /// Elements after; negative crops.
    pub high: Dim,
    /// Elements between neighbours.
    pub interior: i64,
}

/// A primitive operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Prim {
    /// A scalar literal.
    Const(Scalar),
    /// The value of a dimension as a u32 scalar.
    Extent(Dim),
    /// A u32 tensor that holds each element's index along `axis`.
    Iota {
        /// The result's shape.
        shape: Vec<Dim>,
        /// The counted axis.
        axis: usize,
    },
    /// Elementwise over arguments of one shape.
    Map(MapOp),
    /// To another element type: floats truncate and saturate to integers (NaN gives 0), truth is 1 or 0,
    /// and a number is true where it is not 0.
    Convert(DType),
    /// Reduces the axes (sorted) and drops them.
    Reduce {
        /// How elements combine.
        op: ReduceOp,
        /// The reduced axes, ascending.
        axes: Vec<usize>,
    },
    /// The position (u32) of the first extreme along an axis, which is dropped.
    ArgReduce {
        /// Which extreme.
        op: ArgOp,
        /// The reduced axis.
        axis: usize,
    },
    /// Reduces windows over the last `windows.len()` axes; padding does not take part.
    WindowReduce {
        /// How elements combine.
        op: ReduceOp,
        /// One window for each of the last axes.
        windows: Vec<Window>,
    },
    /// The row-major position (u32) inside each window of its first largest element.
    WindowArgMax {
        /// One window for each of the last axes.
        windows: Vec<Window>,
    },
    /// `(x, position)`: the element of `x` at that position of each window.
    WindowTake {
        /// One window for each of the last axes.
        windows: Vec<Window>,
    },
    /// `(y, position)`: the transpose of `WindowTake`: each element of `y` is added where it was taken from.
    WindowPut {
        /// One window for each of the last axes.
        windows: Vec<Window>,
        /// The extents of those axes in the result.
        extents: Vec<Dim>,
    },
    /// The same elements in row-major order under another shape.
    Reshape(Vec<Dim>),
    /// Axis `i` of the result is axis `permutation[i]` of the argument.
    Transpose(Vec<usize>),
    /// Axis `i` of the argument becomes axis `axes[i]` of the result (ascending); the others repeat.
    Broadcast {
        /// The result's shape.
        shape: Vec<Dim>,
        /// Where the argument's axes go.
        axes: Vec<usize>,
    },
    /// A part of each axis.
    Slice(Vec<Cut>),
    /// `(whole, part)`: the whole with those positions replaced by the part, whose shape is that of the slice.
    SetSlice(Vec<Cut>),
    /// Its argument. What that is made of by rounded arithmetic is computed once and put into memory, so that whoever
    /// compares it, or orders by it, sees the same bits in every kernel and on every device.
    Barrier,
    /// Reverses the axes.
    Flip(Vec<usize>),
    /// Surrounds and spreads with a value.
    Pad {
        /// One border for each axis.
        borders: Vec<Border>,
        /// What is put there.
        value: Scalar,
    },
    /// Joins its arguments along an axis.
    Concat {
        /// The joined axis.
        axis: usize,
    },
    /// A sum of products in einsum notation: labels absent from `out` are summed. No label twice in one list.
    Contract {
        /// The labels of the first argument's axes.
        lhs: Vec<u8>,
        /// The labels of the second argument's axes.
        rhs: Vec<u8>,
        /// The labels of the result's axes.
        out: Vec<u8>,
    },
    /// Windowed contraction: `x[B, G, I, S…]`, `w[G, O, I, K…]` give `y[B, G, O, …]`:
    /// `y[b, g, o, s] = Σ_{i, k} x[b, g, i, (s·stride + k·dilation − low)/base] · w[g, o, i, k]`.
    Conv {
        /// One window for each spatial axis; `size` is `w`'s extent.
        windows: Vec<Window>,
    },
    /// `(data, index)`: replaces `axis` of `data` by the axes of the u32 `index`; an index outside gives NaN
    /// (0 for integers).
    Gather {
        /// The indexed axis of `data`.
        axis: usize,
    },
    /// `(updates, index)`: the transpose of `Gather`: zeros with the updates added; an index outside is dropped.
    ScatterAdd {
        /// The indexed axis of the result.
        axis: usize,
        /// Its extent.
        extent: Dim,
    },
    /// A part of attention, of which the scores are never stored.
    Attend(Attend),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Float(DType::F32, x) => write!(f, "{x:?}"),
            Scalar::Float(dtype, x) => write!(f, "{x:?}{dtype}"),
            Scalar::Int(dtype, x) => write!(f, "{x}{dtype}"),
            Scalar::Bool(x) => write!(f, "{x}"),
        }
    }
}
