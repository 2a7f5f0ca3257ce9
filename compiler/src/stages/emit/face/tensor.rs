//! Types of tensors as Rust types. In: an element type and extents. Out: what an argument, an owned result, a borrowed
//! result or a buffer for one is. Always: constant extents at the end are arrays, and what comes before is the length
//! of a slice or the extents of a view.

use crate::ir::{DType, Dim, Type};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The most words of a result that is returned by value; a larger one is boxed.
const BY_VALUE: i64 = 1024;

/// How the extents of a tensor are spread over a Rust type.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub(super) dtype: DType,
    /// Those that come before the last one that is no constant, and itself.
    pub(super) leading: Vec<Dim>,
    /// Those after it.
    fixed: Vec<i64>,
}

/// How a call fills a slice.
pub(super) struct Filled {
    /// A statement before the call.
    pub(super) before: Option<TokenStream>,
    /// The words that the call writes.
    pub(super) words: TokenStream,
    /// A statement after it.
    pub(super) after: Option<TokenStream>,
}

/// What kind of Rust type stands for a tensor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Form {
    /// A number.
    Scalar,
    /// An array.
    Fixed,
    /// A slice.
    Slice,
    /// A view with that many extents.
    View(usize),
}

/// The type of an element.
pub(super) fn element(dtype: DType, rt: &TokenStream) -> TokenStream {
    let name = Ident::new(dtype.name(), Span::call_site());
    match dtype.is_float() && dtype.is_stored() {
        true if is_half(dtype) => quote!(#rt::half::#name),
        // No crate that is common has a type for it.
        true => quote!(u8),
        false => quote!(#name),
    }
}

/// Whether elements are floats that Rust has no type for, but the crate `half`.
pub(super) fn is_half(dtype: DType) -> bool {
    dtype.is_float() && dtype.bits() == 16
}

impl Tensor {
    pub(super) fn new(ty: &Type) -> Tensor {
        let fixed = ty.fixed();
        Tensor { dtype: ty.dtype, leading: ty.shape[..ty.rank() - fixed.len()].to_vec(), fixed }
    }

    pub(super) fn form(&self) -> Form {
        match (self.leading.len(), self.fixed.is_empty()) {
            (0, true) => Form::Scalar,
            (0, false) => Form::Fixed,
            (1, _) => Form::Slice,
            (rank, _) => Form::View(rank),
        }
    }

    /// Whether an element is an array.
    pub(super) fn is_nested(&self) -> bool {
        !self.fixed.is_empty()
    }

    pub(super) fn is_bool(&self) -> bool {
        self.dtype == DType::Bool
    }

    /// Whether elements are copied into words and out of them; others lie in words as they are.
    pub(super) fn is_encoded(&self) -> bool {
        self.is_bool() || self.dtype.is_stored()
    }

    /// Whether an owned result is too large for the stack.
    fn is_boxed(&self) -> bool {
        self.form() == Form::Fixed && self.fixed.iter().product::<i64>() > BY_VALUE
    }

    /// The type of one element of the slice or view.
    pub(super) fn element(&self, rt: &TokenStream) -> TokenStream {
        self.fixed.iter().rev().fold(element(self.dtype, rt), |inner, &n| {
            let n = Literal::i64_unsuffixed(n);
            quote!([#inner; #n])
        })
    }

    /// The type of an argument.
    pub(super) fn argument(&self, rt: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.form() {
            Form::Scalar => element,
            Form::Fixed => quote!(&#element),
            Form::Slice => quote!(&[#element]),
            Form::View(rank) => {
                let rank = Literal::usize_unsuffixed(rank);
                quote!(#rt::View<'_, #element, #rank>)
            }
        }
    }

    /// The leading extents of an argument.
    pub(super) fn extents(&self, argument: &Ident) -> TokenStream {
        match self.form() {
            Form::Scalar | Form::Fixed => quote!([]),
            Form::Slice => quote!([#argument.len()]),
            Form::View(_) => quote!(#argument.dims()),
        }
    }

    /// The type of an array on a GPU that is an argument or takes a result.
    pub(super) fn array(&self, rt: &TokenStream) -> TokenStream {
        let (element, rank) = (self.element(rt), Literal::usize_unsuffixed(self.leading.len()));
        quote!(#rt::gpu::GpuArray<#element, #rank>)
    }

    /// The elements of an argument as a slice.
    pub(super) fn slice(&self, argument: &Ident) -> TokenStream {
        match self.form() {
            Form::Scalar => quote!(::core::slice::from_ref(&#argument)),
            Form::Fixed => quote!(::core::slice::from_ref(#argument)),
            Form::Slice => quote!(#argument),
            Form::View(_) => quote!(#argument.data()),
        }
    }

    /// The type of a result that the caller owns.
    pub(super) fn owned(&self, rt: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.form() {
            Form::Scalar => element,
            Form::Fixed if self.is_boxed() => quote!(#rt::Box<#element>),
            Form::Fixed => element,
            Form::Slice => quote!(#rt::Vec<#element>),
            Form::View(rank) => {
                let rank = Literal::usize_unsuffixed(rank);
                quote!(#rt::Tensor<#element, #rank>)
            }
        }
    }

    /// An owned result of zeros, as a variable's first value. `extents` are the values of the leading extents.
    pub(super) fn room(&self, rt: &TokenStream, function: &str, extents: &[TokenStream]) -> TokenStream {
        let element = self.element(rt);
        match self.form() {
            Form::Scalar => quote!([<#element as ::core::default::Default>::default()]),
            Form::Fixed => quote!(#rt::zero::<#element>()?),
            Form::Slice => quote!(#rt::zeros::<#element>(#(#extents)*)?),
            Form::View(_) => quote!(#rt::tensor::<#element, _>(#function, [#(#extents),*])?),
        }
    }

    /// The elements of the room as a slice.
    pub(super) fn room_slice(&self, room: &Ident) -> TokenStream {
        match self.form() {
            Form::Scalar | Form::Slice => quote!(&mut #room),
            Form::Fixed => quote!(::core::slice::from_mut(&mut *#room)),
            Form::View(_) => quote!(#room.data_mut()),
        }
    }

    /// The owned result, once its room is filled.
    pub(super) fn owned_value(&self, room: &Ident) -> TokenStream {
        match self.form() {
            Form::Scalar => quote!(#room[0]),
            Form::Fixed if self.is_boxed() => quote!(#room),
            Form::Fixed => quote!(*#room),
            Form::Slice | Form::View(_) => quote!(#room),
        }
    }

    /// How a call fills a slice, which is that of the variable `out`.
    pub(super) fn filled(&self, rt: &TokenStream, out: &Ident, slice: &TokenStream) -> Filled {
        if !self.is_encoded() {
            return Filled { before: None, words: quote!(#rt::words_mut(#slice)), after: None };
        }
        let words = format_ident!("words_{out}", span = Span::mixed_site());
        Filled {
            before: Some(quote!(let mut #words = #rt::Encoded::room(#slice)?;)),
            words: quote!(#words.words_mut()),
            after: Some(quote!(#words.read(#slice);)),
        }
    }

    /// The type of a buffer of the caller's for a result.
    pub(super) fn buffer(&self, rt: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.form() {
            Form::Scalar | Form::Fixed => quote!(&mut #element),
            Form::Slice | Form::View(_) => quote!(&mut [#element]),
        }
    }

    /// The elements of such a buffer as a slice.
    pub(super) fn buffer_slice(&self, buffer: &Ident) -> TokenStream {
        match self.form() {
            Form::Scalar | Form::Fixed => quote!(::core::slice::from_mut(#buffer)),
            Form::Slice | Form::View(_) => quote!(#buffer),
        }
    }

    /// The type of a result that a session lends.
    pub(super) fn lent(&self, rt: &TokenStream, lifetime: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.form() {
            Form::Scalar => element,
            Form::Fixed => quote!(&#lifetime #element),
            Form::Slice => quote!(&#lifetime [#element]),
            Form::View(rank) => {
                let rank = Literal::usize_unsuffixed(rank);
                let lifetime = if lifetime.is_empty() { quote!('_) } else { lifetime.clone() };
                quote!(#rt::View<#lifetime, #element, #rank>)
            }
        }
    }

    /// The elements that lie in words. `extents` are the values of the leading extents, as a slice.
    pub(super) fn values(&self, rt: &TokenStream, words: &TokenStream, extents: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.dtype.is_stored() {
            true => quote!(#rt::elements::<#element>(#words, #extents)),
            false => quote!(#rt::values::<#element>(#words)),
        }
    }

    /// The same, to be written.
    pub(super) fn values_mut(&self, rt: &TokenStream, words: &TokenStream, extents: &TokenStream) -> TokenStream {
        let element = self.element(rt);
        match self.dtype.is_stored() {
            true => quote!(#rt::elements_mut::<#element>(#words, #extents)),
            false => quote!(#rt::values_mut::<#element>(#words)),
        }
    }

    /// Whether lending a result takes the values of its leading extents.
    pub(super) fn is_lent_by_extents(&self) -> bool {
        match self.form() {
            Form::View(_) => true,
            Form::Slice => self.dtype.is_stored(),
            Form::Scalar | Form::Fixed => false,
        }
    }

    /// The result number `index` of the plan `plan` as the session or trainer `owner` lends it.
    pub(super) fn lent_value(
        &self,
        rt: &TokenStream,
        (owner, plan): (&TokenStream, &TokenStream),
        index: usize,
        extents: &[TokenStream],
    ) -> TokenStream {
        let (index, element) = (Literal::usize_unsuffixed(index), self.element(rt));
        let words = quote_spanned!(Span::mixed_site()=> #owner.__emitted_code_only_result::<#plan>(&dims, #index));
        let values = match self.is_bool() {
            true => quote!(#owner.__emitted_code_only_flags::<#element>(#index)),
            false => self.values(rt, &words, &quote!(&[#(#extents),*])),
        };
        match (self.form(), self.is_bool()) {
            (Form::Scalar, false) => quote!(#rt::scalar(#words)),
            (Form::Scalar, true) => quote!(#values[0]),
            (Form::Fixed, _) => quote!(&#values[0]),
            (Form::Slice, _) => values,
            (Form::View(_), _) => quote!(#rt::View::new(#values, [#(#extents),*])?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_fill_no_words_are_copied() {
        for &dtype in DType::ALL {
            let tensor = Tensor::new(&Type::new(dtype, [Dim::name("B"), Dim::from(3)]));
            let path = match dtype.name() {
                name @ ("f16" | "bf16") => format!("& [[rt :: half :: {name} ; 3]]"),
                name if name.starts_with("f8") => "& [[u8 ; 3]]".to_owned(),
                name => format!("& [[{name} ; 3]]"),
            };
            assert_eq!(tensor.argument(&quote!(rt)).to_string().replace("[[ ", "[["), path);
            let filled = tensor.filled(&quote!(rt), &Ident::new("out", Span::call_site()), &quote!(&mut out));
            let lent = ["f32", "f64", "i32", "u32", "i64", "u64"].contains(&dtype.name());
            assert_eq!((filled.before.is_none(), filled.after.is_none()), (lent, lent), "{dtype}");
            assert_eq!(tensor.is_lent_by_extents(), !lent && dtype != DType::Bool, "{dtype}");
        }
    }
}
