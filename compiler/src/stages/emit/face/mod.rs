//! The public face of a model: what the user's program names.
//!
//! In: a model whose functions have typed arguments and outputs. Out: the struct, its session and its trainer, and in
//! the hidden module the specification of its parameters and the checks of arguments. Always: identifiers of the user
//! keep their spans, all others are hygienic; nothing grows with the depth of a repeated block.

mod aliases;
mod bind;
mod costs;
pub(super) mod export;
mod foreign;
mod model;
pub(super) mod needs;
mod origin;
mod records;
mod session;
mod signature;
mod sketches;
mod spec;
mod stubs;
mod tensor;
mod trainer;
mod views;

use super::names;
use crate::diag::Diags;
use crate::ir::model::Sketch;
use crate::ir::{DType, Function, Mode, Model};
use export::Exports;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};

/// Struct, session and trainer with their methods.
pub(super) fn items(model: &Model, exports: &Exports, runtime: &TokenStream) -> TokenStream {
    let rt = &quote!(#runtime::__rt);
    let (model_items, session) = (model::items(model, exports, rt), session::items(model, rt));
    let (trainer, foreign, views) = (trainer::items(model, rt), foreign::items(model, rt), views::items(model, rt));
    quote!(#model_items #foreign #session #trainer #views)
}

/// Whether programs that use the model name types of the crate `half`: those of arguments, results and foreign functions;
/// and what sessions keep.
pub(super) fn names_half(model: &Model) -> bool {
    let functions = model.functions.iter().flat_map(|function| {
        let outputs = function.graph.outputs.iter().map(|&value| function.graph.ty(value));
        function.args.iter().map(|argument| &argument.ty).chain(outputs)
    });
    let foreign = model.foreign.iter().flat_map(|one| one.args.iter().map(|(_, ty)| ty).chain(&one.results));
    let mut types = functions.chain(foreign).chain(model.states.iter().map(|state| &state.ty));
    tensor::is_half(model.stored()) || types.any(|ty| tensor::is_half(ty.dtype))
}

/// The structs that functions of the models return.
pub(super) fn results(models: &[Model], runtime: &TokenStream) -> TokenStream {
    records::items(models, &quote!(#runtime::__rt))
}

/// The description of the parameters, the types that stand for plans, and the checks of their arguments.
pub(super) fn markers(model: &Model) -> TokenStream {
    let (spec, binds, views) = (spec::items(model), bind::items(model), views::structs(model));
    let private = private(model);
    let markers = model.functions.iter().map(|function| {
        let marker = names::marker(function);
        let gradients = match &function.mode {
            Mode::Evaluate => None,
            Mode::Train(_) => Some(names::gradients(function)),
        };
        let gradients = gradients.iter();
        // They are part of the type of a trainer's batches, which is public where the model is.
        quote! {
            pub struct #marker;
            #(pub struct #gradients;)*
        }
    });
    let origins = origin::items(&model.origins);
    quote!(#spec #origins #(#markers)* #binds #views #private)
}

/// Methods that nobody can call: rustc says of a private function that it is, and does not offer another.
fn private(model: &Model) -> Option<TokenStream> {
    let (model_name, names) = (&model.name, &model.private);
    let (session, trainer) = (format_ident!("{model_name}Session"), format_ident!("{model_name}Trainer"));
    // rustc shows the function where the user wrote it.
    let method = |name: &Ident| quote_spanned!(name.span()=> fn #name(&self) {});
    let methods: TokenStream = names.iter().map(method).collect();
    (!names.is_empty()).then(|| {
        quote! {
            impl<D: rt::Device> super::#model_name<D> { #methods }
            impl<D: rt::Device> super::#session<'_, D> { #methods }
            impl<O: rt::Optimizer, D: rt::Device> super::#trainer<'_, O, D> { #methods }
        }
    })
}

/// The faces of models that have no plans, and the mistakes: what they name exists, but cannot be run.
pub(super) fn outlines(models: &[Model], diags: &Diags, number: usize, runtime: &TokenStream) -> TokenStream {
    let mistakes = diags.to_compile_errors();
    if models.is_empty() {
        return mistakes;
    }
    let first = sketches::mistake(diags, &quote!(#runtime::__rt));
    let module = format_ident!("__precast_mistake_{number}");
    let unknown = quote!(#module::Unknown);
    let models: Vec<Model> = models.iter().map(sketched).collect();
    let outlines = models.iter().map(|model| outline(model, &unknown, runtime));
    let results = results(&models, runtime);
    quote! {
        #mistakes
        #results
        #[doc(hidden)]
        #[allow(warnings)]
        mod #module {
            pub type Unknown = #first;
        }
        #(#outlines)*
    }
}

/// The face of a model that [`sketched`] gave.
fn outline(model: &Model, unknown: &TokenStream, runtime: &TokenStream) -> TokenStream {
    let exports = Exports::unknown(model);
    let (items, markers, stubs) = (items(model, &exports, runtime), markers(model), stubs::items(model));
    let files = &exports.items;
    let sketches = sketches::items(model, unknown, &quote!(#runtime::__rt));
    let module = names::module(model);
    quote! {
        #items
        #sketches

        #[doc(hidden)]
        #[allow(warnings)]
        mod #module {
            use #runtime::__rt as rt;
            #markers
            #stubs
            #files
        }
    }
}

/// The model with sketches of the functions whose results have no types.
fn sketched(model: &Model) -> Model {
    let mut model = model.clone();
    let typed = |f: &Function| f.graph.outputs.iter().all(|&v| f.graph.node(v).ty.is_some());
    let untyped: Vec<Ident> = model.functions.iter().filter(|f| !typed(f)).map(|f| f.name.clone()).collect();
    let (sketched, functions) = model.functions.into_iter().partition(|f| untyped.contains(&f.name));
    model.functions = functions;
    for function in sketched {
        let Function { name, args, mode, .. } = function;
        let known = model.sketches.iter().position(|sketch| sketch.name == name);
        let at = known.unwrap_or(model.sketches.len());
        if known.is_none() {
            model.sketches.push(Sketch { name, args: args.len(), optimizers: vec![] });
        }
        if let Mode::Train(optimizer) = mode {
            model.sketches[at].optimizers.push(optimizer);
        }
    }
    model
}

/// The function that gives methods their signature and the check of their arguments: of those of one name the first. A
/// function of sessions that is trained has another check there.
fn first_of<'m>(model: &'m Model, function: &Function) -> &'m Function {
    match model.functions.iter().find(|f| f.name == function.name && f.in_session == function.in_session) {
        Some(first) => first,
        None => unreachable!("the function is one of the model"),
    }
}

/// The functions that sessions have as methods, and models those that need no session.
fn evaluated(model: &Model) -> impl Iterator<Item = &Function> {
    model.functions.iter().filter(|f| matches!(f.mode, Mode::Evaluate))
}

/// The type of a model's parameters.
fn float(model: &Model, rt: &TokenStream) -> TokenStream {
    parameters(model.stored(), rt)
}

/// The type of elements of parameters.
fn parameters(dtype: DType, rt: &TokenStream) -> TokenStream {
    let name = format_ident!("{dtype}");
    if tensor::is_half(dtype) { quote!(#rt::parameters::#name) } else { quote!(#name) }
}

/// A type of the runtime with its argument, and with that of the parameters where it is not f32, the default.
fn of_float(model: &Model, rt: &TokenStream, ty: &TokenStream, argument: &TokenStream) -> TokenStream {
    match model.stored() {
        DType::F32 => quote!(#ty<#argument>),
        other => {
            let float = parameters(other, rt);
            quote!(#ty<#argument, #float>)
        }
    }
}

/// The path of a type of the hidden module.
fn path(model: &Model, marker: &Ident) -> TokenStream {
    let module = names::module(model);
    quote!(#module::#marker)
}
