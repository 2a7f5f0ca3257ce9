//! Trainers. In: a model. Out: the struct `NameTrainer`, with a step and its gradient for each function and optimiser
//! that it is trained by. Always: a step of a function with one result gives its loss, which a GPU may still be
//! computing; further results are lent, and waited for.

use super::signature::Signature;
use super::tensor::Tensor;
use super::{aliases, costs, names, of_float, path, records};
use crate::ir::model::Results;
use crate::ir::{Function, Mode, Model};
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// The trainer of a model.
pub(super) fn items(model: &Model, rt: &TokenStream) -> TokenStream {
    let (name, vis) = (&model.name, &model.vis);
    let trainer = format_ident!("{name}Trainer");
    let doc = format!("Trains a `{name}`.");
    let trained = || {
        model.functions.iter().filter_map(|function| match &function.mode {
            Mode::Train(optimizer) => Some((function, Ident::new(optimizer, Span::call_site()))),
            Mode::Evaluate => None,
        })
    };
    let methods = trained().map(|(function, optimizer)| {
        let methods = methods(model, function, rt);
        quote_spanned! {Span::mixed_site()=>
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            impl<D: #rt::Device> #trainer<'_, #rt::#optimizer, D> {
                #methods
            }
        }
    });
    let costs = trained().map(|(function, optimizer)| {
        let what = format!("a step by `{}`, its update included", function.name);
        let costs = costs::items(model, function, rt, &what);
        quote_spanned! {Span::mixed_site()=>
            #[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic)]
            impl #trainer<'_, #rt::#optimizer, #rt::Cpu> {
                #costs
            }
        }
    });
    quote_spanned! {Span::mixed_site()=>
        #[doc = #doc]
        #[derive(::core::fmt::Debug)]
        #[allow(dead_code, unreachable_pub)]
        #vis struct #trainer<'m, O: #rt::Optimizer, D: #rt::Device = #rt::Cpu> {
            trainer: #rt::Trainer<'m, #name<D>, O>,
        }

        #(#methods)*
        #(#costs)*

        impl<'m, O: #rt::Optimizer, D: #rt::Device> ::core::ops::Deref for #trainer<'m, O, D> {
            type Target = #rt::Trainer<'m, #name<D>, O>;

            fn deref(&self) -> &Self::Target {
                &self.trainer
            }
        }

        impl<O: #rt::Optimizer, D: #rt::Device> ::core::ops::DerefMut for #trainer<'_, O, D> {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.trainer
            }
        }
    }
}

/// `loss`, `loss_gradients`, `loss_batch` and all without blocking.
fn methods(model: &Model, function: &Function, rt: &TokenStream) -> TokenStream {
    let signature = Signature::new(model, function, rt);
    let (name, of) = (&function.name, &model.name);
    let gradients = path(model, &names::gradients(function));
    let step = step(model, &signature, rt);
    let gradients_attrs = signature.attrs_with(&format!("The gradient of `{name}` that the next step would use."));
    let alias = aliases::gradients(model, function);
    let gradients_attrs = quote!(#gradients_attrs #alias);
    let gradients = method(
        &signature,
        rt,
        (&format_ident!("{name}_gradients"), &of_float(model, rt, &quote!(#rt::Gradients), &quote!(#of))),
        &gradients_attrs,
        Made { statements: quote!(), call: quote!(__emitted_code_only_gradients::<#gradients, _>), value: quote!() },
    );
    let plan = &signature.plan;
    let batch = method(
        &signature,
        rt,
        (&format_ident!("{name}_batch"), &quote!(#rt::Batch<D, #plan>)),
        &signature.attrs_with(&format!("The arguments of `{name}` on the device of the model, for `steps_on`.")),
        Made { statements: quote!(), call: quote!(__emitted_code_only_batch::<#plan>), value: quote!() },
    );
    quote!(#step #gradients #batch)
}

/// What a method does: statements before its call, the call, and what is given besides what that makes.
struct Made {
    statements: TokenStream,
    call: TokenStream,
    value: TokenStream,
}

/// A step of training: its loss, and further results in the memory of the trainer.
fn step(model: &Model, signature: &Signature<'_>, rt: &TokenStream) -> TokenStream {
    let name = &signature.function.name;
    let attrs = signature.attrs_or(&format!("A step of training by the model's `{name}`."));
    let alias = aliases::step(model, signature.function);
    let attrs = quote!(#attrs #alias);
    let (plan, results) = (&signature.plan, &signature.results);
    let loss = of_float(model, rt, &quote!(#rt::Loss), &quote!(D));
    if results.len() < 2 {
        let made = Made { statements: quote!(), call: quote!(__emitted_code_only_step::<#plan>), value: quote!() };
        return method(signature, rt, (name, &loss), &attrs, made);
    }
    let (statements, extents) = signature.extents(Tensor::is_lent_by_extents);
    let owner = quote_spanned!(Span::mixed_site()=> self.trainer);
    let value = |k: usize| results[k].lent_value(rt, (&owner, plan), k, &extents[k]);
    let (types, values): (Vec<_>, Vec<_>) = match &signature.function.results {
        Results::One | Results::Tuple => (1..results.len()).map(|k| (results[k].lent(rt, &quote!()), value(k))).unzip(),
        Results::Struct(record, _) => {
            let (record, all) = (records::lent(record, results), (0..results.len()).map(value).collect::<Vec<_>>());
            let lifetime = records::borrows(results).then(|| quote!(<'_>));
            let value = signature.together_value(&all, |_| record.clone());
            (vec![quote!(#record #lifetime)], vec![value])
        }
    };
    let flags = (0..results.len()).filter(|&k| results[k].is_bool()).map(Literal::usize_unsuffixed);
    let call = quote!(__emitted_code_only_step_with_results::<#plan>);
    let value = quote_spanned! {Span::mixed_site()=>
        #(self.trainer.__emitted_code_only_convert::<#plan>(&dims, #flags);)*
        let made = (made, #(#values),*);
    };
    let made = Made { statements, call, value };
    method(signature, rt, (name, &quote!((#loss, #(#types),*))), &attrs, made)
}

fn method(
    signature: &Signature<'_>,
    rt: &TokenStream,
    (name, result): (&Ident, &TokenStream),
    attrs: &TokenStream,
    Made { statements, call, value }: Made,
) -> TokenStream {
    let name_async = format_ident!("{name}_async");
    let attrs_async = signature.attrs_with(&format!("As `{name}`, without blocking."));
    let (params, names, inputs) = (signature.params(), signature.names(), signature.inputs());
    let bind = signature.bind(&quote_spanned!(Span::mixed_site()=> self.trainer.__emitted_code_only_take));
    let keep = signature.keep(&quote_spanned!(Span::mixed_site()=> self.trainer.__emitted_code_only_keep));
    quote_spanned! {Span::mixed_site()=>
        #attrs
        pub fn #name(&mut self, #params) -> #rt::Result<#result>
        where
            D: #rt::Blocking,
        {
            #rt::Blocking::wait(&self.trainer.device(), self.#name_async(#names))
        }

        #attrs_async
        pub async fn #name_async(&mut self, #params) -> #rt::Result<#result> {
            #bind
            #statements
            let made = self.trainer.#call(&dims, #inputs).await?;
            #keep
            #value
            ::core::result::Result::Ok(made)
        }
    }
}
