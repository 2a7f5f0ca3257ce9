//! Long sums in blocks: a pass adds up a block in one vector, and the sums of blocks with compensation.
//!
//! In: a pass of a row kernel. Out: parts of its loops. Always: at most [`CHAIN`] additions follow each other in binary32, so
//! that the error of a sum does not grow with its length.

use super::super::arith;
use super::super::variables::accumulator;
use super::Row;
use crate::ir::DType;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Pass};
use crate::ir::lanes::LANES;
use crate::ir::prim::ReduceOp;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

/// The longest chain of additions. Equal numbers, the worst there is, then lose 32 · 2⁻²⁶ ≈ 5·10⁻⁷, and the additions that
/// wait for each other are short enough for several chains to run at once.
const CHAIN: i64 = 32;

/// Where the loops of a pass are cut into blocks.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The reduced axis.
    pub(super) axis: usize,
    /// Turns of its loop in a block.
    turns: i64,
}

impl Row<'_> {
    /// How a pass is cut into blocks, if it makes sums that are long, or may be.
    pub(super) fn block(&self, pass: &Pass) -> Option<Block> {
        pass.accumulators.iter().find(|a| self.is_sum(a))?;
        let mut chain = 1;
        for &axis in self.reduced.iter().rev() {
            let lanes = if self.printer.vector == Some(axis) { LANES } else { 1 };
            let turns = self.kernel.axes[axis].as_const().map(|extent| (extent + lanes - 1) / lanes);
            match turns.and_then(|turns| turns.checked_mul(chain)) {
                Some(longer) if longer <= CHAIN => chain = longer,
                Some(_) | None => return Some(Block { axis, turns: CHAIN / chain }),
            }
        }
        None
    }

    /// Whether an accumulator is a sum of floats.
    fn is_sum(&self, accumulator: &Accumulator) -> bool {
        accumulator.op == AccumulatorOp::Reduce(ReduceOp::Sum) && self.printer.dtype(accumulator.value) == DType::F32
    }

    /// The sums of a pass by their accumulators' variables.
    fn sums(&self, number: usize, pass: &Pass) -> Vec<(Ident, Ident)> {
        let sums = pass.accumulators.iter().enumerate().filter(|(_, a)| self.is_sum(a));
        sums.map(|(slot, _)| (accumulator(number, slot), format_ident!("sum{number}_{slot}"))).collect()
    }

    /// Declares the sums of blocks.
    pub(super) fn start_sums(&self, number: usize, pass: &Pass) -> TokenStream {
        let sums = self.sums(number, pass).into_iter().map(|(_, sum)| sum);
        quote!(#(let mut #sums = rt::LongSum::zero(s);)*)
    }

    /// The loop over the axis of the block.
    pub(super) fn blocks(&self, block: Block, number: usize, pass: &Pass, inner: TokenStream) -> TokenStream {
        let (name, extent) = (arith::axis(block.axis), arith::dim(&self.kernel.axes[block.axis]));
        let (accumulators, sums): (Vec<_>, Vec<_>) = self.sums(number, pass).into_iter().unzip();
        let turns = Literal::usize_unsuffixed(block.turns as usize);
        let (most, looped) = match self.printer.vector == Some(block.axis) {
            true => (
                quote!(#turns * <S as rt::Vectors>::LANES),
                quote!(rt::sweep!(S, within, at, length, { let #name = start + within; #inner });),
            ),
            false => (quote!(#turns), quote!(for #name in start..start + length { #inner })),
        };
        quote! {
            let mut start = 0;
            while start < #extent {
                let length = core::cmp::Ord::min(#extent - start, #most);
                #(#accumulators = s.splat_f(0.0);)*
                #looped
                #(#sums.add(s, #accumulators);)*
                start += length;
            }
        }
    }

    /// Lets the accumulators be the sums of all blocks.
    pub(super) fn finish_sums(&self, number: usize, pass: &Pass) -> TokenStream {
        let (accumulators, sums): (Vec<_>, Vec<_>) = self.sums(number, pass).into_iter().unzip();
        quote!(#(let #accumulators = #sums.rounded();)*)
    }
}
