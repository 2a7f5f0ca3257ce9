//! Dimensions and indices as Rust expressions over `usize`.
//!
//! Dimensions and indices inside of slices are never negative, but their parts may be. What subtracts nothing is computed in
//! `usize`; everything else in `isize`, where divisions round down.

use crate::ir::dim::{self, Dim};
use crate::ir::index::{Atom, Index};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote};

/// The variable that holds a named dimension.
pub(in crate::stages::emit) fn name(dim: &str) -> Ident {
    Ident::new(&format!("dim_{dim}"), Span::call_site())
}

/// The variable of an axis.
pub(super) fn axis(axis: usize) -> Ident {
    format_ident!("i{axis}")
}

/// The variable of a loop counter.
pub(super) fn counter(depth: usize) -> Ident {
    format_ident!("l{depth}")
}

/// The names in dimensions, each once, in order of first appearance.
pub(super) fn names<'a>(dims: impl IntoIterator<Item = &'a Dim>) -> Vec<String> {
    let mut names = vec![];
    for dim in dims {
        dim.names(&mut |name| {
            if !names.iter().any(|n| n == name) {
                names.push(name.to_string());
            }
        });
    }
    names
}

/// A dimension's value.
pub(super) fn dim(dim: &Dim) -> TokenStream {
    if dim.terms().iter().all(|(atoms, _)| atoms.iter().all(dim::Atom::is_unsigned)) {
        return sum(dim.terms().iter().map(|(atoms, c)| (*c, atoms.iter().map(atom).collect())));
    }
    let signed = signed_dim(dim);
    quote!((#signed) as usize)
}

fn atom(atom: &dim::Atom) -> TokenStream {
    match atom {
        dim::Atom::Name(n) => {
            let name = name(n);
            quote!(#name)
        }
        dim::Atom::FloorDiv(a, b) => {
            let (a, b) = (dim(a), dim(b));
            quote!(((#a) / (#b)))
        }
        dim::Atom::Max(a, b) => {
            let (a, b) = (dim(a), dim(b));
            quote!(core::cmp::Ord::max(#a, #b))
        }
    }
}

/// A dimension's value as `isize`.
fn signed_dim(dim: &Dim) -> TokenStream {
    signed_sum(dim.terms().iter().map(|(atoms, c)| (*c, atoms.iter().map(signed_dim_atom).collect())))
}

fn signed_dim_atom(atom: &dim::Atom) -> TokenStream {
    match atom {
        dim::Atom::Name(n) => {
            let name = name(n);
            quote!(#name as isize)
        }
        dim::Atom::FloorDiv(a, b) => {
            let (a, b) = (signed_dim(a), signed_dim(b));
            quote!((#a).div_euclid(#b))
        }
        dim::Atom::Max(a, b) => {
            let (a, b) = (signed_dim(a), signed_dim(b));
            quote!(core::cmp::Ord::max(#a, #b))
        }
    }
}

/// A dimension's value, or `None` where it overflows or is negative: an expression inside of a function that returns `Option`.
pub(in crate::stages::emit) fn checked(dim: &Dim) -> TokenStream {
    let value = checked_sum(dim);
    quote!(<usize as ::core::convert::TryFrom<isize>>::try_from(#value).ok()?)
}

/// A dimension's value as `isize`, which may be negative.
fn checked_sum(dim: &Dim) -> TokenStream {
    let terms = dim.terms().iter().map(|(atoms, c)| {
        let literal = Literal::isize_suffixed(*c as isize);
        let scale = (atoms.is_empty() || *c != 1).then(|| quote!(#literal));
        let factors = scale.into_iter().chain(atoms.iter().map(checked_atom));
        factors.reduce(|product, factor| quote!((#product).checked_mul(#factor)?)).unwrap_or_else(|| quote!(#literal))
    });
    terms.reduce(|sum, term| quote!((#sum).checked_add(#term)?)).unwrap_or_else(|| quote!(0isize))
}

fn checked_atom(atom: &dim::Atom) -> TokenStream {
    match atom {
        dim::Atom::Name(n) => {
            let name = name(n);
            quote!(<isize as ::core::convert::TryFrom<usize>>::try_from(#name).ok()?)
        }
        dim::Atom::FloorDiv(a, b) => {
            let (a, b) = (checked_sum(a), checked_sum(b));
            quote!((#a).checked_div_euclid(#b)?)
        }
        dim::Atom::Max(a, b) => {
            let (a, b) = (checked_sum(a), checked_sum(b));
            quote!(::core::cmp::Ord::max(#a, #b))
        }
    }
}

/// A dimension as a `rt::Count`, in a constant function whose arguments are the named dimensions.
pub(in crate::stages::emit) fn count(dim: &Dim) -> TokenStream {
    let mut parts = [None, None];
    for (atoms, c) in dim.terms() {
        let magnitude = Literal::u64_unsuffixed(c.unsigned_abs());
        let mut factors: Vec<TokenStream> = atoms.iter().map(count_atom).collect();
        if c.unsigned_abs() != 1 || factors.is_empty() {
            factors.insert(0, quote!(rt::Count::of(#magnitude)));
        }
        let (first, rest) = factors.split_at(1);
        let term = quote!(#(#first)* #(.times(#rest))*);
        let part = &mut parts[usize::from(*c < 0)];
        *part = Some(part.as_ref().map_or(term.clone(), |sum| quote!(#sum.plus(#term))));
    }
    let [plus, minus] = parts;
    let plus = plus.unwrap_or_else(|| quote!(rt::Count::of(0)));
    minus.map_or(plus.clone(), |minus| quote!(#plus.minus(#minus)))
}

fn count_atom(atom: &dim::Atom) -> TokenStream {
    match atom {
        dim::Atom::Name(n) => {
            let name = name(n);
            quote!(#name)
        }
        dim::Atom::FloorDiv(a, b) => {
            let (a, b) = (count(a), count(b));
            quote!(#a.over(#b))
        }
        dim::Atom::Max(a, b) => {
            let (a, b) = (count(a), count(b));
            quote!(#a.larger(#b))
        }
    }
}

/// An index as `usize`; loaded indices are read from the scalars' lanes by `value`.
pub(super) fn index(index: &Index, value: &dyn Fn(usize) -> TokenStream) -> TokenStream {
    if index.is_unsigned() {
        return sum(terms(index, &atom, &|atom| atom_usize(atom, value)));
    }
    let signed = signed(index, value);
    quote!(((#signed) as usize))
}

fn atom_usize(atom: &Atom, value: &dyn Fn(usize) -> TokenStream) -> TokenStream {
    match atom {
        Atom::Axis(a) => {
            let axis = axis(*a);
            quote!(#axis)
        }
        Atom::Loop(depth) => {
            let counter = counter(*depth);
            quote!(#counter)
        }
        Atom::Value(v) => value(*v),
        Atom::Div(inner, by) => {
            let (inner, by) = (index(inner, value), dim(by));
            quote!(((#inner) / (#by)))
        }
        Atom::Mod(inner, by) => {
            let (inner, by) = (index(inner, value), dim(by));
            quote!(((#inner) % (#by)))
        }
    }
}

/// An index as `isize`, which may be negative.
pub(super) fn signed(index: &Index, value: &dyn Fn(usize) -> TokenStream) -> TokenStream {
    signed_sum(terms(index, &signed_dim_atom, &|atom| atom_signed(atom, value)))
}

fn atom_signed(atom: &Atom, value: &dyn Fn(usize) -> TokenStream) -> TokenStream {
    match atom {
        Atom::Axis(_) | Atom::Loop(_) | Atom::Value(_) => {
            let number = atom_usize(atom, value);
            quote!(#number as isize)
        }
        Atom::Div(inner, by) => {
            let (inner, by) = (signed(inner, value), signed_dim(by));
            quote!((#inner).div_euclid(#by))
        }
        Atom::Mod(inner, by) => {
            let (inner, by) = (signed(inner, value), signed_dim(by));
            quote!((#inner).rem_euclid(#by))
        }
    }
}

/// The index as integer multiples of products.
fn terms(
    index: &Index,
    of_dim: &dyn Fn(&dim::Atom) -> TokenStream,
    of_index: &dyn Fn(&Atom) -> TokenStream,
) -> Vec<(i64, Vec<TokenStream>)> {
    let mut terms = vec![];
    for (a, coefficient) in &index.terms {
        for (atoms, c) in coefficient.terms() {
            terms.push((*c, atoms.iter().map(of_dim).chain([of_index(a)]).collect()));
        }
    }
    terms.extend(index.base.terms().iter().map(|(atoms, c)| (*c, atoms.iter().map(of_dim).collect())));
    terms
}

/// A sum of products of `isize`.
fn signed_sum(terms: impl IntoIterator<Item = (i64, Vec<TokenStream>)>) -> TokenStream {
    let products = terms.into_iter().map(|(c, factors)| {
        // Factors have a type, a number alone has none.
        let scale = match (c, factors.is_empty()) {
            (_, true) => Some(Literal::isize_suffixed(c as isize)),
            (1, false) => None,
            (_, false) => Some(Literal::isize_unsuffixed(c as isize)),
        };
        let factors = factors.iter().map(|factor| quote!((#factor)));
        let all = scale.map(|scale| quote!(#scale)).into_iter().chain(factors);
        all.reduce(|product, factor| quote!(#product * #factor)).unwrap_or_default()
    });
    products.reduce(|sum, product| quote!(#sum + #product)).unwrap_or_else(|| quote!(0isize))
}

/// A sum whose positive parts come first.
fn sum(terms: impl IntoIterator<Item = (i64, Vec<TokenStream>)>) -> TokenStream {
    let (mut plus, mut minus): (Option<TokenStream>, Vec<TokenStream>) = (None, vec![]);
    for (c, factors) in terms {
        let magnitude = c.unsigned_abs() as usize;
        let literal = Literal::usize_unsuffixed(magnitude);
        let scale = (factors.is_empty() || magnitude != 1).then(|| quote!(#literal));
        let product =
            scale.into_iter().chain(factors).reduce(|a, b| quote!(#a * #b)).unwrap_or_else(|| quote!(#literal));
        match c >= 0 {
            false => minus.push(product),
            true => {
                plus = Some(match plus {
                    Some(sum) => quote!(#sum + #product),
                    None => product,
                })
            }
        }
    }
    let plus = plus.unwrap_or_else(|| quote!(0));
    quote!(#plus #(- #minus)*)
}
