//! Files of ONNX. In: a model whose functions are complete. Out: a method for each function that has such a file, and what the runtime
//! continues. Always: functions that cannot be exported have no method, and the documentation of the struct says why.

use super::{evaluated, path};
use crate::ir::{Function, Mode, Model};
use crate::stages::emit::names;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The files of a model's functions.
pub(in super::super) struct Exports {
    /// The methods.
    methods: Vec<Method>,
    /// The items.
    pub(in super::super) items: TokenStream,
    /// What is said of the others.
    refused: Vec<String>,
}

/// The functions that a program calls for their results: of a loss there is no file.
fn candidates(model: &Model) -> impl Iterator<Item = &Function> {
    let trained: Vec<&Ident> =
        model.functions.iter().filter(|f| matches!(f.mode, Mode::Train(_))).map(|f| &f.name).collect();
    evaluated(model).filter(move |function| !trained.contains(&&function.name))
}

/// A method that writes a file.
struct Method {
    name: String,
    function: String,
    /// What holds the file.
    item: Ident,
}

impl Method {
    /// That of a function of which there are several.
    fn of(function: &Function) -> Method {
        let function_name = function.name.to_string().trim_start_matches("r#").to_owned();
        let item = format_ident!("{}_ONNX", names::marker(function));
        Method { name: format!("{function_name}_to_onnx"), function: function_name, item }
    }

    /// That of the only function.
    fn of_only(function: &Function) -> Method {
        Method { name: "to_onnx".into(), ..Method::of(function) }
    }
}

impl Exports {
    /// Those of a model behind the check.
    #[cfg(feature = "onnx")]
    pub(in super::super) fn of(model: &Model) -> Exports {
        use proc_macro2::Literal;
        use prost::Message;
        let (mut made, mut refused): (Vec<&Function>, Vec<String>) = (vec![], vec![]);
        let mut items = quote!();
        for function in candidates(model) {
            let exported = match crate::onnx::export(model, function) {
                Ok(exported) => exported,
                Err(why) => {
                    refused.push(format!(" `{}` has no file of ONNX: {why}.", function.name));
                    continue;
                }
            };
            let (mut file, item) = (exported.file, Method::of(function).item);
            let graph = Literal::byte_string(&file.graph.take().unwrap_or_default().encode_to_vec());
            let head = Literal::byte_string(&file.encode_to_vec());
            let parameters = exported.params.iter().map(|id| Literal::u32_unsuffixed(id.0));
            items.extend(quote! {
                pub static #item: rt::Exported =
                    rt::Exported { head: #head, graph: #graph, parameters: &[#(#parameters),*] };
            });
            made.push(function);
        }
        let methods = match made.as_slice() {
            [only] => vec![Method::of_only(only)],
            all => all.iter().map(|function| Method::of(function)).collect(),
        };
        Exports { methods, items, refused }
    }

    /// Without the feature there are none.
    #[cfg(not(feature = "onnx"))]
    pub(in super::super) fn of(_: &Model) -> Exports {
        Exports { methods: vec![], items: quote!(), refused: vec![] }
    }

    /// Those of a model with mistakes, which are never written: methods of any name that there may be.
    pub(in super::super) fn unknown(model: &Model) -> Exports {
        let functions: Vec<&Function> =
            candidates(model).filter(|function| cfg!(feature = "onnx") && !function.in_session).collect();
        let each = functions.iter().map(|function| Method::of(function));
        let items = each.clone().map(|Method { item, .. }| {
            quote!(pub static #item: rt::Exported = rt::Exported { head: &[], graph: &[], parameters: &[] };)
        });
        let only = functions.first().map(|function| Method::of_only(function));
        Exports { items: items.collect(), methods: each.chain(only).collect(), refused: vec![] }
    }

    /// What the documentation of the struct says besides the user's words.
    pub(super) fn attrs(&self) -> TokenStream {
        let refused = &self.refused;
        if refused.is_empty() { quote!() } else { quote!(#[doc = ""] #(#[doc = #refused])*) }
    }

    /// The methods.
    pub(super) fn methods(&self, model: &Model, rt: &TokenStream) -> TokenStream {
        self.methods.iter().map(|method| written(model, method, rt)).collect()
    }
}

/// The methods that write a file, and one with its parameters beside it.
fn written(model: &Model, method: &Method, rt: &TokenStream) -> TokenStream {
    let Method { name, function, item } = method;
    let inside = format!(
        " Writes `{function}` as an ONNX file with the parameters that it reads, under the names of PyTorch's `state_dict`."
    );
    let outside = format!(
        " As `{name}`, with the parameters in a file of the same name with `.data` behind it (ONNX's external data), which belongs beside \
         the first."
    );
    let more =
        " Where these are more than 2 GiB, they are in a file beside it, of the same name with `.data` behind it.";
    let name_outside = format!("{name}_with_external_data");
    let item = path(model, item);
    let inside = pair(name, &quote!(#[doc = #inside] #[doc = ""] #[doc = #more]), &quote!(&#item, false), rt);
    let outside = pair(&name_outside, &quote!(#[doc = #outside]), &quote!(&#item, true), rt);
    quote!(#inside #outside)
}

/// The method of that name, and that which does not block.
fn pair(name: &str, docs: &TokenStream, how: &TokenStream, rt: &TokenStream) -> TokenStream {
    let doc_async = format!(" As `{name}`, without blocking.");
    let errors = format!(" As for `{name}`.");
    let name = Ident::new(name, Span::call_site());
    let name_async = format_ident!("{name}_async");
    quote_spanned! {Span::mixed_site()=>
        #docs
        ///
        /// # Errors
        /// If the file cannot be written, or the device is lost.
        pub fn #name(&self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()>
        where
            D: #rt::Blocking,
        {
            self.weights.__emitted_code_only_to_onnx(::core::convert::AsRef::as_ref(&path), #how)
        }

        #[doc = #doc_async]
        ///
        /// # Errors
        #[doc = #errors]
        pub async fn #name_async(&self, path: impl ::core::convert::AsRef<#rt::Path>) -> #rt::Result<()> {
            self.weights.__emitted_code_only_to_onnx_async(::core::convert::AsRef::as_ref(&path), #how).await
        }
    }
}
