//! Plans of a model that has none. In: the functions whose signatures could be understood. Out: implementations that
//! compile and cannot be reached, because the program with the mistake does not.

use super::names;
use crate::ir::{Mode, Model};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

/// One for every plan.
pub(super) fn items(model: &Model) -> TokenStream {
    let gpu = quote! {
        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) { loop {} }
        }
    };
    let mut all = quote!();
    for function in &model.functions {
        let (name, marker) = (function.name.to_string(), names::marker(function));
        let dims = || function.dims.iter().map(|_| quote!(_: rt::Count));
        let (words, flops) = (dims(), dims());
        all.extend(quote! {
            impl #marker {
                pub(super) const fn words(#(#words),*) -> rt::Count { rt::Count::of(0) }
                pub(super) const fn flops(#(#flops),*) -> rt::Count { rt::Count::of(0) }
            }
        });
        let Mode::Train(optimizer) = &function.mode else {
            all.extend(quote! {
                impl rt::Function for #marker {
                    const NAME: &'static str = #name;
                    fn scratch(_: &[usize]) -> ::core::option::Option<usize> { ::core::option::Option::None }
                    fn result(_: &[usize], _: usize) -> rt::Place { loop {} }
                    fn cpu(_: rt::Memory<'_>, _: &[usize]) -> rt::Result<()> { loop {} }
                    #gpu
                }
            });
            continue;
        };
        let (optimizer, float) = (Ident::new(optimizer, Span::call_site()), super::float(model, &quote!(rt)));
        for marker in [marker, names::gradients(function)] {
            all.extend(quote! {
                impl rt::Step for #marker {
                    const NAME: &'static str = #name;
                    type Optimizer = rt::#optimizer;
                    type Float = #float;
                    fn scratch(_: &[usize]) -> ::core::option::Option<usize> { ::core::option::Option::None }
                    fn outcome(_: &[usize]) -> [usize; 2] { [0, 0] }
                    fn cpu(_: rt::StepMemory<'_>, _: &[usize]) -> rt::Result<()> { loop {} }
                    #gpu
                }
            });
        }
    }
    all
}
