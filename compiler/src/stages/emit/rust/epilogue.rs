//! The epilogues of contractions as code: what is done with a tile of sums while it is in a cache.
//!
//! Comes in: contractions, one by one. Goes out: the values that their calls pass, and the types of these. Always: epilogues that
//! differ in nothing but how their kernels number slots, axes, scalars and dimensions are one type, because LLVM compiles each
//! for every instruction set.

use super::arith;
use super::scalar::Printer;
use super::variables::{position_name, slot_name, suffix, variable};
use crate::ir::DType;
use crate::ir::algorithm::Product;
use crate::ir::dim::{Dim, product};
use crate::ir::index::{Atom, Index};
use crate::ir::kernel::{Expr, Kernel};
use proc_macro2::{Group, Ident, Literal, TokenStream, TokenTree};
use quote::{format_ident, quote};
use std::collections::BTreeMap;

/// The epilogues of a model.
#[derive(Default)]
pub(super) struct Epilogues {
    /// The types.
    pub(super) definitions: Vec<TokenStream>,
    /// The name of each by its text.
    known: BTreeMap<String, Ident>,
}

impl Epilogues {
    /// The value that the call of a contraction passes; `numbers` are the names of its dimensions and counters.
    pub(super) fn of(&mut self, contract: &Product<'_>, numbers: &[TokenStream]) -> TokenStream {
        if stores_sums(contract) {
            return quote!(rt::Plain);
        }
        let mut names = Numbering::of(contract.kernel, numbers);
        let body = names.stream(epilogue(contract));
        let (mut fields, mut values, mut types) = (vec![], vec![], vec![]);
        for (own, new) in &names.used {
            if let Some(ty) = names.fields.get(&own.to_string()) {
                fields.push(new);
                values.push(own);
                types.push(ty);
            }
        }
        // Of f32 where nothing is said.
        let of = (contract.dtype() != DType::F32).then(|| super::element(contract.dtype()));
        let (epilogue, tile) = match &of {
            None => (quote!(rt::Epilogue), quote!(rt::Tile<'_>)),
            Some(of) => (quote!(rt::Epilogue<#of>), quote!(rt::Tile<'_, #of>)),
        };
        let definition = |name: &Ident| {
            quote! {
                struct #name<'a> { #(#fields: #types,)* lifetime: core::marker::PhantomData<&'a ()> }
                impl #epilogue for #name<'_> {
                    #[inline(always)]
                    fn apply<S: rt::Simd>(&self, s: S, tile: &mut #tile) {
                        let Self { #(#fields,)* .. } = *self;
                        #body
                    }
                }
            }
        };
        let next = format_ident!("E{}_", self.definitions.len());
        let text = definition(&format_ident!("E")).to_string();
        let name = self.known.entry(text).or_insert_with(|| {
            self.definitions.push(definition(&next));
            next
        });
        quote!(#name { #(#fields: #values,)* lifetime: core::marker::PhantomData })
    }
}

/// The names of a kernel's variables, numbered in the order in which an epilogue uses them.
struct Numbering {
    /// By what a variable of the kernel begins in the epilogue.
    letters: BTreeMap<String, char>,
    /// The type of what is a field.
    fields: BTreeMap<String, TokenStream>,
    /// Those that are used, with their new names.
    used: Vec<(Ident, Ident)>,
}

impl Numbering {
    fn of(kernel: &Kernel, numbers: &[TokenStream]) -> Numbering {
        let (mut letters, mut fields) = (BTreeMap::new(), BTreeMap::new());
        for (slot, of) in kernel.slots.iter().enumerate() {
            let (name, word) = (slot_name(slot).to_string(), super::element(of.dtype));
            letters.insert(name.clone(), 's');
            fields.insert(name, quote!(&'a [#word]));
        }
        for name in numbers {
            letters.insert(name.to_string(), 'd');
            fields.insert(name.to_string(), quote!(usize));
        }
        // Two axes more: the merged rows and the merged columns.
        letters.extend((0..kernel.axes.len() + 2).map(|axis| (arith::axis(axis).to_string(), 'i')));
        letters.extend((0..kernel.scalars.len()).map(|id| (variable(id).to_string(), 'v')));
        letters.extend((0..kernel.scalars.len()).map(|id| (position_name(id).to_string(), 'p')));
        Numbering { letters, fields, used: vec![] }
    }

    fn stream(&mut self, tokens: TokenStream) -> TokenStream {
        tokens.into_iter().map(|token| self.token(token)).collect()
    }

    fn token(&mut self, token: TokenTree) -> TokenTree {
        match token {
            TokenTree::Group(group) => Group::new(group.delimiter(), self.stream(group.stream())).into(),
            TokenTree::Ident(own) => self.name(own).into(),
            TokenTree::Punct(_) | TokenTree::Literal(_) => token,
        }
    }

    fn name(&mut self, own: Ident) -> Ident {
        if let Some((_, new)) = self.used.iter().find(|(known, _)| *known == own) {
            return new.clone();
        }
        let Some(&letter) = self.letters.get(&own.to_string()) else { return own };
        let before = self.used.iter().filter(|(_, new)| new.to_string().starts_with(letter)).count();
        let new = format_ident!("{letter}{before}");
        self.used.push((own, new.clone()));
        new
    }
}

/// Whether results are the sums alone.
fn stores_sums(product: &Product<'_>) -> bool {
    matches!(product.stores, [store] if matches!(product.kernel.scalars[store.value], Expr::Accumulated { .. }))
}

/// The loops over a hot tile. Rows and columns count merged axes.
fn epilogue(contract: &Product<'_>) -> TokenStream {
    // Two axes more: the merged rows and the merged columns.
    let (rows, columns) = (contract.kernel.axes.len(), contract.kernel.axes.len() + 1);
    let mut kernel = contract.kernel.clone();
    let merged = |list: &[usize]| product(list.iter().map(|&a| &contract.kernel.axes[a]));
    kernel.axes.extend([merged(contract.m), merged(contract.n)]);
    let rewrite =
        |index: &Index| merge(&merge(index, contract.m, rows, &kernel.axes), contract.n, columns, &kernel.axes);
    let mut scalars = kernel.scalars.clone();
    scalars.iter_mut().for_each(|scalar| scalar.for_each_index(&mut |index| *index = rewrite(index)));
    kernel.scalars = scalars;
    let printer = Printer::new(&kernel, Some(columns));
    // What varies with neither the sum nor the columns is computed once for each row.
    let varying = &printer.varying;
    let row = (0..kernel.scalars.len()).filter(|&id| !varying.with(id, columns)).map(|id| printer.define(id));
    let element =
        (0..kernel.scalars.len()).filter(|&id| varying.with(id, columns)).map(|id| match kernel.scalars[id] {
            Expr::Accumulated { .. } => {
                let name = variable(id);
                let load = on_tiles("load", contract.dtype());
                quote!(let #name = tile.#load(s, r, j, at);)
            }
            _ => printer.define(id),
        });
    let stores = contract.stores.iter().enumerate().map(|(output, store)| {
        let (output, value) = (Literal::usize_unsuffixed(output), variable(store.value));
        let put = on_tiles("store", contract.dtype());
        quote!(tile.#put(s, #output, r, j, at, #value);)
    });
    let batch = contract.batch.iter().enumerate().map(|(k, &axis)| {
        let (k, name) = (Literal::usize_unsuffixed(k), arith::axis(axis));
        quote!(let #name = tile.batch()[#k];)
    });
    let (row_name, column_name) = (arith::axis(rows), arith::axis(columns));
    quote! {
        #(#batch)*
        let area = tile.area();
        for r in 0..area.rows {
            let #row_name = area.m + r;
            #(#row)*
            rt::sweep!(S, j, at, area.cols, {
                let #column_name = area.n + j;
                #(#element)*
                #(#stores)*
            });
        }
    }
}

/// The method of a tile whose sums have that type.
fn on_tiles(method: &str, dtype: DType) -> Ident {
    match dtype {
        DType::F32 => format_ident!("{method}"),
        dtype => format_ident!("{method}_{}", suffix(dtype)),
    }
}

/// The index in terms of one axis `merged` that counts the axes of `list` row-major.
fn merge(index: &Index, list: &[usize], merged: usize, axes: &[Dim]) -> Index {
    if list.is_empty() {
        return index.clone();
    }
    let stride = |axis: usize| index.stride(axis);
    let fits = list.windows(2).all(|w| match (stride(w[0]), stride(w[1])) {
        (Some(outer), Some(inner)) => outer == inner * axes[w[1]].clone(),
        _ => false,
    });
    let last = list[list.len() - 1];
    if fits && stride(last).is_some() {
        let own = index.map(&mut |atom| match atom {
            Atom::Axis(a) if list.contains(a) => Index::default(),
            Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
        });
        return own.plus(&Index::axis(merged).times(&stride(last).unwrap_or_default()));
    }
    index.map(&mut |atom| match atom {
        Atom::Axis(a) => match list.iter().position(|x| x == a) {
            Some(at) => {
                let inner = product(list[at + 1..].iter().map(|&x| &axes[x]));
                let mut part = Index::axis(merged);
                if !inner.is(1) {
                    part = Index::atom(Atom::Div(Box::new(part), inner));
                }
                if at > 0 {
                    part = Index::atom(Atom::Mod(Box::new(part), axes[*a].clone()));
                }
                part
            }
            None => Index::axis(*a),
        },
        Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => Index::atom(atom.clone()),
    })
}
