//! Declarations of foreign functions: their signatures in, the functions that a program has to supply out.
//!
//! A gradient takes the cotangent of the result and, by their names, arguments of the function and its `result`; it
//! gives the cotangents of the float arguments, in order. It is a foreign function of the same declaration or of
//! another, or a function of the language. What does not fit is reported here, once.

use super::ast::{AxisExpr, Extern, ExternGradient, Fn, Pat, TypeExpr};
use super::declared::duplicate;
use super::elaborate::{axes, dims_of, dtype, named_dims};
use super::names::Names;
use super::{wgsl, words};
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::graph::Taken;
use crate::ir::model::ForeignFn;
use crate::ir::{DType, Type};
use proc_macro2::Ident;

/// A foreign function with its gradient.
pub(super) struct Declaration<'p> {
    pub(super) one: &'p Extern,
    /// The number of the function among all; that of a gradient that is declared with it follows it.
    pub(super) number: usize,
    pub(super) gradient: Option<Gradient<'p>>,
    /// The function, then a gradient that is declared with it; nothing after a report.
    pub(super) functions: Option<Vec<ForeignFn>>,
}

/// The gradient of a foreign function: which function, and what it takes.
pub(super) struct Gradient<'p> {
    pub(super) by: By<'p>,
    pub(super) takes: Vec<Taken>,
}

/// Which function a gradient is.
pub(super) enum By<'p> {
    /// The foreign function of that number.
    Foreign(usize),
    /// A function of the language, and where the declaration names it.
    Language(&'p Fn, Place),
}

/// The declarations of a text, of which `fns` are the functions.
pub(super) fn read<'p>(
    externs: &'p [Extern],
    fns: &'p [Fn],
    consts: &Names,
    diags: &mut Diags,
) -> Vec<Declaration<'p>> {
    let mut all: Vec<Declaration<'p>> = vec![];
    let mut known: Vec<&Ident> = fns.iter().map(|f| &f.name).collect();
    let mut number = 0;
    for one in externs {
        if known.contains(&&one.name) {
            duplicate("function", &one.name, known.iter().copied(), diags);
        }
        known.push(&one.name);
        let read = Reader { one, names: consts.clone() }.read(Others { externs, fns }, number, diags);
        let (functions, gradient) = read.map_or((None, None), |(functions, gradient)| (Some(functions), gradient));
        number += functions.as_ref().map_or(0, Vec::len);
        all.push(Declaration { one, number: number - functions.as_ref().map_or(0, Vec::len), gradient, functions });
    }
    // Foreign functions that others name as their gradients are numbered now.
    let numbers: Vec<(&Ident, usize)> = all.iter().map(|known| (&known.one.name, known.number)).collect();
    for declaration in &mut all {
        if let (Some(gradient), Some(ExternGradient::Named(name))) =
            (&mut declaration.gradient, &declaration.one.gradient)
            && let Some((_, number)) = numbers.iter().find(|(known, _)| *known == name)
            && let By::Foreign(at) = &mut gradient.by
        {
            *at = *number;
        }
    }
    all
}

/// What a declaration can name as its gradient.
#[derive(Clone, Copy)]
struct Others<'p> {
    externs: &'p [Extern],
    fns: &'p [Fn],
}

struct Reader<'p> {
    one: &'p Extern,
    names: Names,
}

/// The signature of a gradient, and where it is named.
struct Signature<'p> {
    params: &'p [(Pat, TypeExpr)],
    result: &'p TypeExpr,
    place: Place,
}

impl<'p> Reader<'p> {
    fn read(
        mut self,
        others: Others<'p>,
        number: usize,
        diags: &mut Diags,
    ) -> Option<(Vec<ForeignFn>, Option<Gradient<'p>>)> {
        let name = self.one.name.to_string();
        named_dims(self.one.params.iter().map(|(_, ty)| ty), &mut self.names, &mut vec![], diags);
        unbound_results(&name, &self.one.result, &mut self.names, diags);
        let args = self.args(&self.one.params, diags);
        let result = match &self.one.result {
            TypeExpr::Tuple(_, place) => {
                let message =
                    format!("`{name}` gives several values, which is not supported yet for foreign functions");
                diags.push(Diagnostic::new(Code::NotSupported, *place, message).help("declare one function for each"));
                None
            }
            ty => self.ty(ty, diags),
        };
        let mut function = ForeignFn { name, args: args?, results: vec![result?], wgsl: None };
        if let Some(wgsl) = &self.one.wgsl {
            function.wgsl = wgsl::read(wgsl, &function, diags);
        }
        match &self.one.gradient {
            None => Some((vec![function], None)),
            Some(ExternGradient::Declared { params, result, place }) => {
                let written = Signature { params, result, place: *place };
                let (gradient, takes) = self.gradient(written, &function, diags)?;
                Some((vec![function, gradient], Some(Gradient { by: By::Foreign(number + 1), takes })))
            }
            Some(ExternGradient::Named(name)) => {
                let (written, by) = self.named(name, others, diags)?;
                let (_, takes) = self.gradient(written, &function, diags)?;
                Some((vec![function], Some(Gradient { by, takes })))
            }
        }
    }

    /// The function that a declaration names as its gradient.
    fn named(&self, name: &Ident, others: Others<'p>, diags: &mut Diags) -> Option<(Signature<'p>, By<'p>)> {
        let place = Place::from(name.span());
        if let Some(function) = others.fns.iter().find(|f| f.name == *name) {
            let written = Signature { params: &function.params, result: &function.result, place };
            return Some((written, By::Language(function, place)));
        }
        if let Some(one) = others.externs.iter().find(|one| one.name == *name && one.name != self.one.name) {
            // Its number is not known yet.
            return Some((Signature { params: &one.params, result: &one.result, place }, By::Foreign(usize::MAX)));
        }
        let known: Vec<String> = others
            .fns
            .iter()
            .map(|f| &f.name)
            .chain(others.externs.iter().map(|e| &e.name))
            .map(Ident::to_string)
            .collect();
        let mut report = Diagnostic::new(Code::UnknownFunction, place, format!("there is no function `{name}`"));
        let near = closest(&name.to_string(), known.iter().map(String::as_str).filter(|k| self.one.name != k));
        let own = format!("declare `fn {name}(…)` outside of the structs, or write `grad(…)` with its signature");
        report.help = Some(near.map_or(own, |near| format!("write `grad = {near}`")));
        diags.push(report);
        None
    }

    fn args(&self, params: &[(Pat, TypeExpr)], diags: &mut Diags) -> Option<Vec<(String, Type)>> {
        let one = |(pat, ty): &(Pat, TypeExpr), diags: &mut Diags| {
            let Pat::Name { name, .. } = pat else {
                let message = "arguments of foreign functions are single tensors with names";
                diags.push(Diagnostic::new(Code::NotSupported, pat.place(), message));
                return None;
            };
            Some((name.to_string(), self.ty(ty, diags)?))
        };
        let all: Vec<_> = params.iter().map(|param| one(param, diags)).collect();
        all.into_iter().collect()
    }

    fn ty(&self, ty: &TypeExpr, diags: &mut Diags) -> Option<Type> {
        let TypeExpr::Tensor { dtype: word, axes: written, place } = ty else {
            if !matches!(ty, TypeExpr::Error) {
                let message = format!("`{}` takes and gives single tensors", self.one.name);
                diags.push(Diagnostic::new(Code::NotSupported, self.one.name.span(), message));
            }
            return None;
        };
        if written.iter().any(|axis| matches!(axis, AxisExpr::Rest)) {
            let message = format!("the number of dimensions must be known in the foreign function `{}`", self.one.name);
            let report = Diagnostic::new(Code::WrongRank, *place, message);
            diags.push(report.help("name each dimension: `f32[B, T, 64]`"));
            return None;
        }
        let (dtype, shape) = (dtype(word, diags), axes(written, &self.names, diags));
        let instead = match dtype {
            Some(DType::Bool) => Some("take a u32 that is 0 or 1"),
            Some(dtype) if dtype.bits() != DType::F32.bits() => Some("take an f32, and convert: `x.f32()`"),
            _ => None,
        };
        if let Some((dtype, help)) = dtype.zip(instead) {
            let message = format!("foreign functions with {dtype} are not supported yet");
            diags.push(Diagnostic::new(Code::NotSupported, *place, message).help(help));
            return None;
        }
        Some(Type::new(dtype?, shape?.into_iter().flatten().map(|axis| axis.dim).collect::<Vec<_>>()))
    }

    /// The gradient's function, and what it is given.
    fn gradient(&self, written: Signature<'_>, of: &ForeignFn, diags: &mut Diags) -> Option<(ForeignFn, Vec<Taken>)> {
        let args = self.args(written.params, diags)?;
        let results = match written.result {
            TypeExpr::Tuple(items, _) => items.iter().map(|ty| self.ty(ty, diags)).collect::<Option<Vec<_>>>()?,
            ty => vec![self.ty(ty, diags)?],
        };
        let mut misfit = None;
        let mut takes = vec![];
        for ((name, ty), (pat, _)) in args.iter().zip(written.params) {
            let (taken, wanted) = match of.args.iter().position(|(known, _)| known == name) {
                Some(k) => (Taken::Argument(k), &of.args[k].1),
                None if name == "result" => (Taken::Result, &of.results[0]),
                None => (Taken::Cotangent, &of.results[0]),
            };
            if ty != wanted {
                let message = match taken {
                    Taken::Argument(_) => format!("`{name}` is {ty} here, but {wanted} in `{}`", of.name),
                    Taken::Result | Taken::Cotangent => format!("`{name}` is {ty}, but `{}` gives {wanted}", of.name),
                };
                misfit.get_or_insert((pat.place(), message));
            }
            takes.push(taken);
        }
        let cotangents = takes.iter().filter(|taken| **taken == Taken::Cotangent).count();
        if cotangents != 1 {
            let message = format!("the gradient of `{}` takes {cotangents} cotangents, not one", of.name);
            misfit.get_or_insert((written.place, message));
        }
        let floats: Vec<Type> = of.args.iter().map(|(_, ty)| ty).filter(|ty| ty.dtype.is_float()).cloned().collect();
        if results != floats {
            let message = format!(
                "the gradient of `{}` gives {}, but its float arguments are {}",
                of.name,
                listed(&results),
                listed(&floats)
            );
            misfit.get_or_insert((written.place, message));
        }
        if !of.results[0].dtype.is_float() {
            let message = format!("`{}` gives {}, which has no gradient", of.name, of.results[0]);
            misfit.get_or_insert((written.place, message));
        }
        if let Some((place, message)) = misfit {
            let help = match &self.one.gradient {
                Some(ExternGradient::Named(name)) => {
                    format!("declare it `fn {name}(cotangent: {}) -> {}`", of.results[0], listed(&floats))
                }
                _ => format!("declare it `with grad(cotangent: {}) -> {}`", of.results[0], listed(&floats)),
            };
            self.report(place, message, help, diags);
            return None;
        }
        Some((ForeignFn { name: format!("{}_grad", of.name), args, results, wgsl: None }, takes))
    }

    fn report(&self, place: Place, message: String, help: String, diags: &mut Diags) {
        let report = Diagnostic::new(Code::GradientSignature, place, message);
        let note = "it may also take arguments of the function, and `result`, by their names";
        diags.push(report.note(note).help(help));
    }
}

/// Reports names in the result's type that no argument binds.
fn unbound_results(function: &str, result: &TypeExpr, names: &mut Names, diags: &mut Diags) {
    for name in dims_of(result).into_iter().filter(|name| !names.contains_key(&name.to_string())).collect::<Vec<_>>() {
        let near = closest(&name.to_string(), names.keys().map(String::as_str)).map(|near| format!("write `{near}`"));
        names.insert(name.to_string(), None);
        let message = format!("no argument of `{function}` binds `{name}`");
        let report = Diagnostic::new(Code::UnboundDimension, name.span(), message);
        let help = near.unwrap_or_else(|| "write a number, or let the extent of an argument have the name".to_owned());
        diags.push(report.note("the memory of a result is known before the function runs").help(help));
    }
}

/// One type, or several in parentheses.
fn listed(types: &[Type]) -> String {
    let all: Vec<String> = types.iter().map(Type::to_string).collect();
    if all.len() == 1 { all[0].clone() } else { format!("({})", all.join(", ")) }
}

/// The names of the arguments, as the user wrote them.
pub(super) fn parameters(one: &Extern) -> Vec<String> {
    one.params.iter().map(|(pat, _)| words::pattern_text(pat)).collect()
}
