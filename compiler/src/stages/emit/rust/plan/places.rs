//! Where the operands of a launch are: the slices of pools that kernels take.
//!
//! In: the buffers of a launch. Out: what slices them. Always: where scratch memory is taken apart, a place that depends on named
//! dimensions is computed once in a call, however many launches use it.

use super::super::{arith, element};
use super::Printer;
use crate::ir::plan::Pool;
use crate::ir::program::BufferId;
use crate::ir::{DType, Dim};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// First words and numbers of words that have a name: `place0` is the first one.
#[derive(Default)]
pub(super) struct Named(RefCell<BTreeMap<(Dim, Dim), usize>>);

impl Named {
    /// The name of a place.
    fn of(&self, offset: &Dim, len: Dim) -> Ident {
        let mut all = self.0.borrow_mut();
        let next = all.len();
        name(*all.entry((offset.clone(), len)).or_insert(next))
    }

    /// The definitions of all names.
    pub(super) fn definitions(&self) -> TokenStream {
        let all = self.0.borrow();
        let mut all: Vec<_> = all.iter().collect();
        all.sort_unstable_by_key(|&(_, number)| number);
        let definitions = all.into_iter().map(|((offset, len), &number)| {
            let (name, offset, len) = (name(number), arith::dim(offset), arith::dim(len));
            quote!(let #name = (#offset, #len);)
        });
        quote!(#(#definitions)*)
    }
}

fn name(number: usize) -> Ident {
    format_ident!("place{number}")
}

impl Printer<'_> {
    /// Takes pools apart of which some buffer is written: a variable `p3` for each of their buffers by its number, and
    /// which have one.
    pub(super) fn parts(&self, bound: &[(BufferId, bool)]) -> (TokenStream, BTreeSet<usize>) {
        let mut written: BTreeMap<Ident, Vec<usize>> = BTreeMap::new();
        for (slot, (buffer, _)) in bound.iter().enumerate() {
            let pool = self.pool(*buffer);
            if bound.iter().any(|(b, write)| *write && self.pool(*b) == pool) {
                written.entry(pool).or_default().push(slot);
            }
        }
        let mut parts = quote!();
        for (pool, slots) in &written {
            let names = slots.iter().map(|s| format_ident!("p{s}"));
            let ranges = slots.iter().map(|&slot| self.place_of(bound[slot].0));
            parts = quote!(#parts let [#(#names),*] = rt::parts(#pool, [#(#ranges),*]););
        }
        (parts, written.into_values().flatten().collect())
    }

    /// First word and number of words of a buffer in its pool: by a name, in scratch memory, unless they are the same in every call.
    fn place_of(&self, buffer: BufferId) -> TokenStream {
        let (place, dtype) = (&self.plan.places[buffer.0], self.plan.program.buffers[buffer.0].dtype);
        let len = dtype.words(&place.len);
        if place.pool == Pool::Scratch && (place.offset.as_const().is_none() || len.as_const().is_none()) {
            return self.named.of(&place.offset, len).to_token_stream();
        }
        let (offset, len) = self.range(buffer);
        quote!((#offset, #len))
    }

    /// The variable that holds a buffer's pool.
    fn pool(&self, buffer: BufferId) -> Ident {
        pool(self.plan.places[buffer.0].pool)
    }

    /// First word and number of words of a buffer in its pool.
    fn range(&self, buffer: BufferId) -> (TokenStream, TokenStream) {
        let (place, dtype) = (&self.plan.places[buffer.0], self.plan.program.buffers[buffer.0].dtype);
        let (offset, len) = (arith::dim(&place.offset), arith::dim(&dtype.words(&place.len)));
        match place.pool {
            Pool::State(k) => {
                let k = Literal::usize_unsuffixed(k);
                (quote!(#k * pool_len + #offset), len)
            }
            Pool::Argument(_)
            | Pool::Weights
            | Pool::Gradients
            | Pool::Session
            | Pool::Numbers
            | Pool::Groups
            | Pool::Scratch
            | Pool::Bank(_)
            | Pool::Outcome
            | Pool::Result(_) => (offset, len),
        }
    }

    /// A slice that is only read.
    pub(super) fn read(&self, buffer: BufferId, dtype: DType) -> TokenStream {
        let place = &self.plan.places[buffer.0];
        let (offset, len) = self.range(buffer);
        let words = match place.pool {
            // The groups are words of their own type already.
            Pool::Groups => return quote!(&groups[#offset..][..#len]),
            Pool::Argument(k) => {
                let k = Literal::usize_unsuffixed(k);
                quote!(&inputs[#k][..#len])
            }
            Pool::Weights
            | Pool::Gradients
            | Pool::State(_)
            | Pool::Session
            | Pool::Numbers
            | Pool::Scratch
            | Pool::Bank(_)
            | Pool::Outcome
            | Pool::Result(_) => {
                let pool = pool(place.pool);
                quote!(&#pool[#offset..][..#len])
            }
        };
        match dtype {
            DType::F32 => words,
            dtype => {
                let element = element(dtype);
                quote!(rt::values::<#element>(#words))
            }
        }
    }
}

/// The part of a pool that a slot has, as words of their type.
pub(super) fn part(slot: usize, dtype: DType, write: bool) -> TokenStream {
    let name = format_ident!("p{slot}");
    let element = element(dtype);
    match (dtype, write) {
        (DType::F32, _) => quote!(#name),
        (_, true) => quote!(rt::values_mut::<#element>(#name)),
        (_, false) => quote!(rt::values::<#element>(#name)),
    }
}

/// The variable that holds a pool.
fn pool(pool: Pool) -> Ident {
    match pool {
        Pool::Argument(_) => format_ident!("inputs"),
        Pool::Weights => format_ident!("parameters"),
        Pool::Gradients => format_ident!("gradients"),
        Pool::State(_) => format_ident!("states"),
        Pool::Session => format_ident!("session"),
        Pool::Numbers => format_ident!("numbers"),
        Pool::Groups => format_ident!("groups"),
        Pool::Scratch => format_ident!("scratch"),
        Pool::Bank(_) | Pool::Outcome | Pool::Result(_) => unreachable!("these are a GPU's"),
    }
}
