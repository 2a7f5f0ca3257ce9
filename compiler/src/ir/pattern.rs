//! What of its arguments an element of a primitive's result is made of: the question that grouping and keeping ask of every
//! primitive, answered once.

use super::graph::Kind;
use super::prim::{Cut, Prim};

/// What an element of a result is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Of nothing: it is known from its position.
    Constant,
    /// Of the elements at its own position in all arguments.
    Elementwise {
        /// Whether no arithmetic of floats is rounded.
        exact: bool,
    },
    /// Of one element of the only argument, or it is zero.
    Movement,
    /// Of its own element of the only argument, whose bits are settled.
    Barrier,
    /// Of one element of some argument, or it is a literal: its position says which.
    Selection,
    /// Of the element of the first argument whose position the second one holds.
    Indexed,
    /// Of many elements, which may be computed where they are combined.
    Reduction,
    /// Of many elements, which have to be in memory or be moves of what is there: drivers read them.
    Product,
}

impl Kind {
    /// What an element of a value is made of, where a primitive computes it.
    pub fn pattern(&self) -> Option<Pattern> {
        match self {
            Kind::Prim(prim) => Some(prim.pattern()),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Counter(_)
            | Kind::Repeat(_)
            | Kind::Branch(_)
            | Kind::Transform(_)
            | Kind::Foreign(_)
            | Kind::StopGradient
            | Kind::Written(_) => None,
        }
    }
}

impl Prim {
    /// What an element of its result is made of.
    pub fn pattern(&self) -> Pattern {
        match self {
            Prim::Const(_) | Prim::Extent(_) | Prim::Iota { .. } => Pattern::Constant,
            Prim::Map(op) => Pattern::Elementwise { exact: op.is_exact() },
            Prim::Convert(_) => Pattern::Elementwise { exact: true },
            Prim::Pad { value, .. } if value.as_f64() == 0.0 => Pattern::Movement,
            Prim::Reshape(_) | Prim::Transpose(_) | Prim::Broadcast { .. } | Prim::Slice(_) | Prim::Flip(_) => {
                Pattern::Movement
            }
            Prim::Barrier => Pattern::Barrier,
            Prim::SetSlice(_) | Prim::Pad { .. } | Prim::Concat { .. } => Pattern::Selection,
            Prim::Gather { .. } | Prim::WindowTake { .. } => Pattern::Indexed,
            Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::WindowReduce { .. }
            | Prim::WindowArgMax { .. }
            | Prim::WindowPut { .. }
            | Prim::ScatterAdd { .. } => Pattern::Reduction,
            Prim::Contract { .. } | Prim::Conv { .. } | Prim::Attend(_) => Pattern::Product,
        }
    }

    /// The part of each axis of the first argument that it reads or replaces, where it is a part.
    pub fn cuts(&self) -> &[Cut] {
        match self {
            Prim::Slice(cuts) | Prim::SetSlice(cuts) => cuts,
            Prim::Const(_)
            | Prim::Extent(_)
            | Prim::Iota { .. }
            | Prim::Map(_)
            | Prim::Convert(_)
            | Prim::Reduce { .. }
            | Prim::ArgReduce { .. }
            | Prim::WindowReduce { .. }
            | Prim::WindowArgMax { .. }
            | Prim::WindowTake { .. }
            | Prim::WindowPut { .. }
            | Prim::Reshape(_)
            | Prim::Transpose(_)
            | Prim::Broadcast { .. }
            | Prim::Barrier
            | Prim::Flip(_)
            | Prim::Pad { .. }
            | Prim::Concat { .. }
            | Prim::Contract { .. }
            | Prim::Conv { .. }
            | Prim::Gather { .. }
            | Prim::ScatterAdd { .. }
            | Prim::Attend(_) => &[],
        }
    }
}
