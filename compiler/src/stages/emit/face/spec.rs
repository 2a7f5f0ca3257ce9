//! The specification of a model's parameters for the runtime. In: parameters. Out: one entry for each, however often a
//! block repeats it.

use crate::ir::model::{Init, Param, ParamId, State};
use crate::ir::{DType, Model};
use crate::stages::emit::rust::arith;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

/// The static `SPEC`, and the type `Plan_` by which the runtime finds it. No function's type has a `_` at its end.
pub(super) fn items(model: &Model) -> TokenStream {
    let name = model.name.to_string();
    let parameters = model.params.iter().map(|param| parameter(model, param));
    let pool_len = Literal::usize_unsuffixed(model.pool_len());
    let states = model.states.iter().map(|one| state(model, one));
    let session = model.dims.iter().map(|dim| {
        let (name, bound) = (&dim.name, dim.bound.map(Literal::i64_unsuffixed));
        let bound = match bound {
            Some(bound) => quote!(::core::option::Option::Some(#bound)),
            None => quote!(::core::option::Option::None),
        };
        quote!(rt::Dim { name: #name, bound: #bound })
    });
    let cpu_only = cpu_only(model).map(|reason| {
        quote!(
            const CPU_ONLY: ::core::option::Option<&'static str> = ::core::option::Option::Some(#reason);
        )
    });
    let deterministic = model.deterministic.map(|_| {
        quote!(
            const DETERMINISTIC: bool = true;
        )
    });
    quote! {
        pub(super) struct Plan_;

        impl rt::Compiled for Plan_ {
            const SPEC: &'static rt::ModelSpec = &SPEC;
            #cpu_only
            #deterministic
        }

        pub(super) static SPEC: rt::ModelSpec = rt::ModelSpec {
            name: #name,
            parameters: &[#(#parameters),*],
            pool_len: #pool_len,
            states: &[#(#states),*],
            session: &[#(#session),*],
        };
    }
}

/// Why a model does not run on GPUs, with the first place in its text that says so.
fn cpu_only(model: &Model) -> Option<String> {
    let is_f64 = |dtype: DType| dtype == DType::F64;
    let functions = || model.functions.iter();
    let arguments = functions().flat_map(|function| function.args.iter().map(move |argument| (function, argument)));
    let parameters = || is_f64(model.float()).then(|| "its parameters are f64".to_owned());
    let state = || {
        let found = model.states.iter().find(|state| is_f64(state.ty.dtype))?;
        Some(format!("its state `{}` is f64", found.name))
    };
    let argument = || {
        let (function, found) = { arguments }.find(|(_, argument)| is_f64(argument.ty.dtype))?;
        Some(format!("the argument `{}` of `{}` is f64", found.name, function.name))
    };
    let value = || {
        let found = functions().find(|function| function.graph.uses(is_f64))?;
        Some(format!("`{}` computes in f64", found.name))
    };
    let what = parameters().or_else(state).or_else(argument).or_else(value)?;
    Some(format!("`{}` does not run on a GPU, where there is no f64: {what}; run it on `Cpu`, or take f32", model.name))
}

/// The number of trained parameters, those of every repeated block counted.
pub(super) fn count(model: &Model) -> Literal {
    let words =
        model.params.iter().filter(|p| p.trained).map(|p| extents(p).product::<usize>() * counts(p).product::<usize>());
    Literal::usize_unsuffixed(words.sum())
}

/// The name with a `*` for the number of the turn, where those of the turns differ in nothing else.
fn numbered(param: &Param) -> Option<String> {
    let (before, behind) = param.name.rsplit_once('*')?;
    let first = &param.turns.first()?.name;
    let zeros = first.match_indices('0');
    let mut patterns =
        zeros.map(|(at, _)| (&first[..at], &first[at + 1..])).filter(|(a, b)| !a.contains('*') && !b.contains('*'));
    let fits =
        |(a, b): &(&str, &str)| (0..).zip(&param.turns).all(|(number, turn)| turn.name == format!("{a}{number}{b}"));
    patterns.find(fits).map(|(a, b)| format!("{before}{a}*{b}{behind}"))
}

fn parameter(model: &Model, param: &Param) -> TokenStream {
    let numbered = numbered(param);
    let name = numbered.as_ref().unwrap_or(&param.name);
    let shape = extents(param).map(Literal::usize_unsuffixed);
    let (offset, init) = (Literal::usize_unsuffixed(model.first(param)), init(param));
    let mut stride = extents(param).product::<usize>();
    let mut repeats: Vec<TokenStream> = vec![];
    for count in counts(param).rev() {
        let (n, step) = (Literal::usize_unsuffixed(count), Literal::usize_unsuffixed(stride));
        repeats.insert(0, quote!((#n, #step)));
        stride *= count;
    }
    let turns = param.turns.iter().map(|turn| &turn.name);
    let is_listed = !param.turns.is_empty() && numbered.is_none();
    let turns = is_listed.then(|| quote!(.of_turns(&[#(#turns),*])));
    let scales = param.scales.map(|ParamId(scales)| {
        let scales = Literal::u32_unsuffixed(scales);
        quote!(.with_scales(#scales))
    });
    let companion = (!param.trained).then(|| quote!(.untrained()));
    let place = quote!(#name, &[#(#shape),*], #offset, &[#(#repeats),*]);
    let spec = match param.init {
        Init::Zeros => quote!(zeros(#place)),
        _ => quote!(new(#place, #init)),
    };
    quote!(rt::ParameterSpec::#spec #turns #scales #companion)
}

fn state(model: &Model, state: &State) -> TokenStream {
    let name = &state.name;
    let dtype = match state.ty.dtype {
        DType::Bool => DType::U32,
        dtype => dtype,
    };
    let dtype = dtype.name_in_files();
    let shape = state.ty.shape.iter().map(|extent| {
        let variables = model.dims.iter().enumerate().filter_map(|(at, dim)| {
            let mut used = false;
            extent.names(&mut |name| used |= name == dim.name);
            let (name, at) = (arith::name(&dim.name), Literal::usize_unsuffixed(at));
            used.then(|| quote!(let #name = dims[#at];))
        });
        let (variables, value) = (quote!(#(#variables)*), arith::checked(extent));
        quote!(|dims| { #variables ::core::option::Option::Some(#value) })
    });
    let repeats = state.stack.iter().map(|&n| Literal::i64_unsuffixed(n));
    quote! {
        rt::StateSpec { name: #name, dtype: #dtype, shape: &[#(#shape),*], repeats: &[#(#repeats),*] }
    }
}

fn extents(param: &Param) -> impl Iterator<Item = usize> {
    let extent = |dim: &crate::ir::Dim| dim.as_const().and_then(|n| usize::try_from(n).ok());
    param.ty.shape.iter().map(move |dim| extent(dim).unwrap_or_default())
}

fn counts(param: &Param) -> impl DoubleEndedIterator<Item = usize> {
    param.stack.iter().map(|&n| usize::try_from(n).unwrap_or_default())
}

fn init(param: &Param) -> TokenStream {
    let number = |x: f64| {
        let size = Literal::f32_suffixed(x.abs() as f32);
        if x < 0.0 { quote!(-#size) } else { quote!(#size) }
    };
    match param.init {
        Init::Zeros => quote!(rt::Init::Zeros),
        Init::Ones => quote!(rt::Init::Ones),
        Init::Constant(x) => {
            let (sign, size) = ((x < 0.0).then(|| quote!(-)), Literal::f64_suffixed(x.abs()));
            quote!(rt::Init::Constant(#sign #size))
        }
        Init::Normal { std } => {
            let std = number(std);
            quote!(rt::Init::Normal { std: #std })
        }
        Init::Uniform { bound } => {
            let bound = number(bound);
            quote!(rt::Init::Uniform { bound: #bound })
        }
        Init::TruncNormal { std } => {
            let std = number(std);
            quote!(rt::Init::TruncNormal { std: #std })
        }
        Init::Orthogonal { gain } => {
            let (gain, rows) = (number(gain), extents(param).next().unwrap_or(1));
            quote!(rt::Init::Orthogonal { rows: #rows, gain: #gain })
        }
    }
}
