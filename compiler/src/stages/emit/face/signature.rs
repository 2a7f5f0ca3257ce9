//! One function as a method: its arguments, its results, and the pieces that the methods of models, sessions and
//! trainers share. Always: the user's identifiers keep their spans, and every variable beside them is hygienic.

use super::tensor::{Form, Tensor};
use super::{first_of, names, path};
use crate::ir::model::{Binder, Results};
use crate::ir::{Dim, Function, Model};
use crate::stages::emit::rust::arith;
use proc_macro2::{Ident, Literal, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};

/// A function as a method.
pub(super) struct Signature<'m> {
    pub(super) function: &'m Function,
    rt: &'m TokenStream,
    /// The type whose `bind` checks the arguments.
    binder: TokenStream,
    /// The type that stands for the plan.
    pub(super) plan: TokenStream,
    pub(super) results: Vec<Tensor>,
    arguments: Vec<Tensor>,
}

impl<'m> Signature<'m> {
    pub(super) fn new(model: &'m Model, function: &'m Function, rt: &'m TokenStream) -> Signature<'m> {
        let result = |&value| Tensor::new(function.graph.ty(value));
        Signature {
            function,
            rt,
            binder: path(model, &names::marker(first_of(model, function))),
            plan: path(model, &names::marker(function)),
            results: function.graph.outputs.iter().map(result).collect(),
            arguments: function.args.iter().map(|argument| Tensor::new(&argument.ty)).collect(),
        }
    }

    /// The user's attributes of the function, and behind its documentation what the user declared.
    pub(super) fn attrs(&self) -> TokenStream {
        let (attrs, declared) = (&self.function.attrs, self.declared());
        let converted = self.arguments.iter().any(|argument| argument.form() == Form::Slice && argument.is_nested());
        let how = converted.then(|| {
            quote! {
                #[doc = ""]
                #[doc = "Data of other types is made flat first, `data.iter().flatten().map(|&x| x as f32).collect::<Vec<f32>>()`,"]
                #[doc = "and then rows: `precast::rows(&flat)?`."]
            }
        });
        quote!(#(#attrs)* #declared #how)
    }

    /// The same for another method of the function, which has documentation in any case.
    pub(super) fn attrs_or(&self, doc: &str) -> TokenStream {
        if self.function.attrs.iter().any(is_doc) {
            return self.attrs();
        }
        let (attrs, declared) = (self.attrs_with(doc), self.declared());
        quote!(#attrs #declared)
    }

    /// Documentation: the signature as the user wrote it, and what its names stand for.
    fn declared(&self) -> Option<TokenStream> {
        let signature = &self.function.signature;
        let names: Vec<String> = signature.names.iter().filter_map(|(name, value)| self.extent(name, *value)).collect();
        let stop = if names.is_empty() { "" } else { "." };
        // The first letter of a line is the space that the user's comments have.
        let doc = format!("\n ```text\n {}\n ```\n {}{stop}", signature.text.replace('\n', "\n "), names.join(", "));
        let doc = doc.trim_end();
        (!signature.text.is_empty()).then(|| quote!(#[doc = #doc]))
    }

    /// What a name in the extents stands for: `` `T` is 1 to 512 ``.
    fn extent(&self, name: &str, value: Option<i64>) -> Option<String> {
        if let Some(value) = value {
            return Some(format!("`{name}` is {value}"));
        }
        let dim = self.function.dims.iter().find(|dim| dim.name == name)?;
        Some(match (dim.binder, dim.bound) {
            (Binder::Session, _) => format!("`{name}` is what the session was made with"),
            (Binder::Argument(_), _) => return None,
            (Binder::Extents, Some(bound)) => format!("`{name}` is 1 to {bound}"),
            (Binder::Extents, None) => format!("`{name}` is at least 1"),
        })
    }

    /// The same with other documentation.
    pub(super) fn attrs_with(&self, doc: &str) -> TokenStream {
        let others = self.function.attrs.iter().filter(|attr| !is_doc(attr));
        quote!(#[doc = #doc] #(#others)*)
    }

    /// The arguments of the method with their types.
    pub(super) fn params(&self) -> TokenStream {
        let params = self.function.args.iter().zip(&self.arguments).map(|(argument, tensor)| {
            let (name, ty) = (&argument.name, tensor.argument(self.rt));
            quote!(#name: #ty)
        });
        quote!(#(#params),*)
    }

    /// The arguments alone.
    pub(super) fn names(&self) -> TokenStream {
        let names = self.function.args.iter().map(|argument| &argument.name);
        quote!(#(#names),*)
    }

    /// Statements that check the arguments and bind `dims`, and then have `take` make words of what has none.
    pub(super) fn bind(&self, take: &TokenStream) -> TokenStream {
        let dims = self.bind_extents(Tensor::extents);
        let encoded = self.encoded().map(|(argument, tensor, words)| {
            let slice = tensor.slice(argument);
            quote!(let #words = #take(#slice)?;)
        });
        quote_spanned! {Span::mixed_site()=>
            #dims
            #(#encoded)*
        }
    }

    /// A statement that checks the leading extents of the arguments, which `extents` tells, and binds `dims`.
    fn bind_extents(&self, extents: impl Fn(&Tensor, &Ident) -> TokenStream) -> TokenStream {
        let (function, binder) = (self.function, &self.binder);
        let session =
            function.in_session.then(|| quote_spanned!(Span::mixed_site()=> self.session.__emitted_code_only_dims(),));
        let positions = positions(function).map(|k| function.args[k].name.to_token_stream());
        let arguments = function.args.iter().zip(&self.arguments).filter(|(_, tensor)| !tensor.leading.is_empty());
        let bound = positions.chain(arguments.map(|(argument, tensor)| extents(tensor, &argument.name)));
        quote_spanned!(Span::mixed_site()=> let dims = #binder::bind(#session #(#bound),*)?;)
    }

    /// The same for arguments that are arrays on a GPU.
    pub(super) fn bind_arrays(&self) -> TokenStream {
        self.bind_extents(|_, name| quote!(#name.dims()))
    }

    /// Whether all that a call is bound to are extents, so that its arguments may be on a device.
    pub(super) fn is_bound_by_extents(&self) -> bool {
        positions(self.function).next().is_none()
    }

    /// The arguments as arrays on a GPU.
    pub(super) fn array_params(&self) -> TokenStream {
        let params = self.function.args.iter().zip(&self.arguments).map(|(argument, tensor)| {
            let (name, ty) = (&argument.name, tensor.array(self.rt));
            quote!(#name: &#ty)
        });
        quote!(#(#params),*)
    }

    /// Statements that have `keep` take the words back.
    pub(super) fn keep(&self, keep: &TokenStream) -> TokenStream {
        self.encoded().map(|(.., words)| quote!(#keep(#words);)).collect()
    }

    /// The arguments whose elements are copied, with the variables of their words.
    fn encoded(&self) -> impl Iterator<Item = (&Ident, &Tensor, Ident)> {
        let arguments = self.function.args.iter().zip(&self.arguments).enumerate();
        arguments.filter(|(_, (_, tensor))| tensor.is_encoded()).map(|(k, (a, tensor))| (&a.name, tensor, words_of(k)))
    }

    /// The words of every argument.
    pub(super) fn inputs(&self) -> TokenStream {
        let rt = self.rt;
        let words = self.function.args.iter().zip(&self.arguments).enumerate().map(|(k, (argument, tensor))| {
            let (slice, encoded) = (tensor.slice(&argument.name), words_of(k));
            if tensor.is_encoded() { quote!(#encoded.words()) } else { quote!(#rt::words(#slice)) }
        });
        quote!(&[#(#words),*])
    }

    /// One type for every result as one type.
    pub(super) fn together(
        &self,
        each: impl Fn(&Tensor) -> TokenStream,
        record: impl Fn(&Ident) -> TokenStream,
    ) -> TokenStream {
        let mut types = self.results.iter().map(each);
        match &self.function.results {
            Results::One => types.next().unwrap_or_else(|| quote!(())),
            Results::Tuple => quote!((#(#types,)*)),
            Results::Struct(name, _) => record(name),
        }
    }

    /// One value for every result as one value.
    pub(super) fn together_value(&self, values: &[TokenStream], record: impl Fn(&Ident) -> Ident) -> TokenStream {
        match &self.function.results {
            Results::One => quote!(#(#values)*),
            Results::Tuple => quote!((#(#values,)*)),
            Results::Struct(name, fields) => {
                let name = record(name);
                quote!(#name { #(#fields: #values),* })
            }
        }
    }

    /// Statements that compute the leading extents of results into variables, and for each result the variables; none
    /// for results that are not `wanted`.
    pub(super) fn extents(&self, wanted: impl Fn(&Tensor) -> bool) -> (TokenStream, Vec<Vec<TokenStream>>) {
        let (rt, function) = (self.rt, self.function.name.to_string());
        let (mut statements, mut all) = (quote!(), vec![]);
        for (k, tensor) in self.results.iter().enumerate() {
            let extent = |(axis, dim): (usize, &Dim)| {
                if let Some(at) = self.position(dim) {
                    return quote_spanned!(Span::mixed_site()=> dims[#at]);
                }
                if let Some(n) = dim.as_const() {
                    return Literal::i64_unsuffixed(n).into_token_stream();
                }
                let variable = format_ident!("extent{k}_{axis}", span = Span::mixed_site());
                let value = checked(self.function, dim);
                statements.extend(quote!(let #variable = #rt::fits(#function, #value)?;));
                quote!(#variable)
            };
            let leading = if wanted(tensor) { &tensor.leading[..] } else { &[] };
            all.push(leading.iter().enumerate().map(extent).collect());
        }
        (statements, all)
    }

    /// Where a named dimension stands among those of the function.
    fn position(&self, dim: &Dim) -> Option<Literal> {
        let at = self.function.dims.iter().position(|named| Some(named.name.as_str()) == dim.as_name());
        at.map(Literal::usize_unsuffixed)
    }

    /// The variables of the results: `out`, or one for each.
    pub(super) fn outs(&self) -> Vec<Ident> {
        let span = Span::mixed_site();
        match &self.function.results {
            Results::One => vec![Ident::new("out", span)],
            Results::Tuple => (0..self.results.len()).map(|k| format_ident!("out{k}", span = span)).collect(),
            Results::Struct(_, fields) => {
                fields.iter().map(|field| format_ident!("out_{field}", span = span)).collect()
            }
        }
    }

    /// Whether a caller may want to give memory for the results.
    pub(super) fn has_into(&self) -> bool {
        self.results.iter().any(|tensor| tensor.form() != Form::Scalar)
    }
}

/// The numbers of the arguments that are positions.
fn positions(function: &Function) -> impl Iterator<Item = usize> {
    function.dims.iter().filter_map(|dim| match dim.binder {
        Binder::Argument(k) => Some(k),
        Binder::Extents | Binder::Session => None,
    })
}

/// The value of an extent in the variable `dims`, `None` where it is too large: an expression.
pub(super) fn checked(function: &Function, dim: &Dim) -> TokenStream {
    let variables = function.dims.iter().enumerate().filter_map(|(at, named)| {
        let mut used = false;
        dim.names(&mut |name| used |= name == named.name);
        let (name, at) = (arith::name(&named.name), Literal::usize_unsuffixed(at));
        used.then(|| quote_spanned!(Span::mixed_site()=> #[allow(non_snake_case)] let #name = dims[#at];))
    });
    let value = arith::checked(dim);
    quote! {
        (|| {
            #(#variables)*
            ::core::option::Option::Some(#value)
        })()
    }
}

fn words_of(argument: usize) -> Ident {
    format_ident!("words{argument}", span = Span::mixed_site())
}

/// Whether an attribute is a line of documentation.
fn is_doc(attr: &TokenStream) -> bool {
    let inside = attr.clone().into_iter().find_map(|token| match token {
        TokenTree::Group(group) => group.stream().into_iter().next(),
        _ => None,
    });
    matches!(inside, Some(TokenTree::Ident(name)) if name == "doc")
}
