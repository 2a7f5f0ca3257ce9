//! Long sums in blocks: a pass adds up a block in one vector, and the sums of blocks with compensation.
//!
//! In: a pass of a row kernel, and where its schedule cuts it. Out: parts of its loops.

use super::super::arith;
use super::super::variables::accumulator;
use super::Printed;
use crate::ir::DType;
use crate::ir::kernel::{Accumulator, AccumulatorOp, Pass};
use crate::ir::prim::ReduceOp;
use crate::ir::schedule::Block;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

impl Printed<'_> {
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
        let turns = Literal::usize_unsuffixed(block.turns);
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
