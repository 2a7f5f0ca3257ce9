//! Rounding: a primitive's value in binary64 in, what a computation in its own type may make of it out.
//!
//! Where results under several roundings differ, a program is ill-conditioned there, and no back end can be judged by
//! one of them. Always: what only moves or chooses numbers changes none, and equal numbers stay equal.

use super::prim;
use super::tensor::{Data, Tensor};
use crate::ir::prim::{Prim, ReduceOp};
use crate::ir::{DType, Dim};

/// What becomes of each float that a primitive computes.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub enum Rounding {
    /// It stays in binary64.
    #[default]
    Exact,
    /// The nearest number of its type; sums are rounded once.
    Nearest,
    /// A number within two units of its last place, `2⁻²²` of an f32, as a hash of it and of this seed says, and the terms of sums likewise: Monte Carlo
    /// arithmetic (Parker 1997).
    Random(u64),
}

impl Rounding {
    /// The value of a primitive.
    pub(super) fn apply(self, prim: &Prim, args: &[&Tensor], size: &dyn Fn(&Dim) -> i64) -> Tensor {
        let (computes, sums) = kind(prim);
        if self == Rounding::Exact || !computes {
            return prim::apply(prim, args, size);
        }
        let made = match (self, sums) {
            (Rounding::Random(seed), true) => {
                let terms: Vec<Tensor> =
                    args.iter().enumerate().map(|(k, t)| Rounding::Random(seed ^ (k as u64 + 1)).tensor(t)).collect();
                prim::apply(prim, &terms.iter().collect::<Vec<_>>(), size)
            }
            _ => prim::apply(prim, args, size),
        };
        self.tensor(&made)
    }

    fn tensor(self, x: &Tensor) -> Tensor {
        match &x.data {
            Data::Float(dtype, numbers) => {
                let numbers = numbers.iter().map(|&x| self.number(*dtype, x)).collect();
                Tensor::new(x.shape.clone(), Data::Float(*dtype, numbers))
            }
            Data::Int(..) | Data::Bool(_) => x.clone(),
        }
    }

    fn number(self, dtype: DType, x: f64) -> f64 {
        match self {
            // What is in memory only is rounded by the conversion to it, and exactly.
            _ if dtype.is_stored() => x,
            Rounding::Exact => x,
            Rounding::Nearest => dtype.nearest(x),
            // Small integers are exact in every computation that makes them from others.
            Rounding::Random(_) if !x.is_finite() || x == x.trunc() && x.abs() < 16_777_216.0 => x,
            Rounding::Random(seed) => {
                let mixed =
                    (x.to_bits() ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let unit = (mixed >> 11) as f64 / (1u64 << 52) as f64 - 1.0;
                x * (1.0 + unit * dtype.epsilon() * 2.0)
            }
        }
    }
}

/// Whether a primitive computes new floats, and whether it adds terms.
fn kind(prim: &Prim) -> (bool, bool) {
    match prim {
        Prim::Map(op) => (!op.is_exact(), false),
        Prim::Reduce { op, .. } | Prim::WindowReduce { op, .. } => {
            let sums = matches!(op, ReduceOp::Sum | ReduceOp::Prod);
            (sums, sums)
        }
        Prim::Conv { .. }
        | Prim::Contract { .. }
        | Prim::Attend(_)
        | Prim::WindowPut { .. }
        | Prim::ScatterAdd { .. } => (true, true),
        Prim::Convert(_) => (true, false),
        Prim::Const(_)
        | Prim::Extent(_)
        | Prim::Iota { .. }
        | Prim::ArgReduce { .. }
        | Prim::WindowArgMax { .. }
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
        | Prim::Gather { .. } => (false, false),
    }
}
