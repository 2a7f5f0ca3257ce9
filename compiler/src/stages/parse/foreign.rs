//! Declarations of foreign functions: their signatures in, the functions that a program has to supply out.
//!
//! A gradient takes the cotangent of the result and, by their names, arguments of the function and its `result`; it
//! gives the cotangents of the float arguments, in order. What does not fit is reported here, once.

use super::ast::{AxisExpr, Extern, ExternGradient, Pat, TypeExpr};
use super::declared::duplicate;
use super::elaborate::{axes, dtype, named_dims};
use super::statics::Names;
use super::words;
use crate::diag::{Diagnostic, Diags, Place};
use crate::ir::graph::{ForeignGradient, Taken};
use crate::ir::model::ForeignFn;
use crate::ir::{DType, Type};
use proc_macro2::Ident;

/// A foreign function with its gradient.
pub(super) struct Declaration<'p> {
    pub(super) one: &'p Extern,
    /// The number of the function among all; that of the gradient follows it.
    pub(super) number: usize,
    pub(super) gradient: Option<ForeignGradient>,
    /// The function, then its gradient; nothing after a report.
    pub(super) functions: Option<Vec<ForeignFn>>,
}

/// The declarations of a text; `others` are the names of its functions.
pub(super) fn read<'p, 'n>(
    externs: &'p [Extern],
    others: impl Iterator<Item = &'n Ident>,
    consts: &Names,
    diags: &mut Diags,
) -> Vec<Declaration<'p>> {
    let mut all: Vec<Declaration<'p>> = vec![];
    let mut known: Vec<&Ident> = others.collect();
    let mut number = 0;
    for one in externs {
        if known.contains(&&one.name) {
            duplicate("function", &one.name, known.iter().copied(), diags);
        }
        known.push(&one.name);
        let read = Reader { one, names: consts.clone() }.read(diags);
        let (functions, takes) = match read {
            Some((functions, takes)) => (Some(functions), takes),
            None => (None, None),
        };
        let gradient = takes.map(|takes| ForeignGradient { function: number + 1, takes });
        let count = functions.as_ref().map_or(0, Vec::len);
        all.push(Declaration { one, number, gradient, functions });
        number += count;
    }
    all
}

struct Reader<'p> {
    one: &'p Extern,
    names: Names,
}

impl Reader<'_> {
    fn read(mut self, diags: &mut Diags) -> Option<(Vec<ForeignFn>, Option<Vec<Taken>>)> {
        let name = self.one.name.to_string();
        named_dims(self.one.params.iter().map(|(_, ty)| ty), &mut self.names, &mut vec![], diags);
        let args = self.args(&self.one.params, diags);
        let result = match &self.one.result {
            TypeExpr::Tuple(_, place) => {
                let message =
                    format!("`{name}` gives several values, which is not supported yet for foreign functions");
                diags.push(Diagnostic::new("not-supported", *place, message).help("declare one function for each"));
                None
            }
            ty => self.ty(ty, diags),
        };
        let function = ForeignFn { name, args: args?, results: vec![result?] };
        match &self.one.gradient {
            None => Some((vec![function], None)),
            Some(gradient) => {
                let (gradient, takes) = self.gradient(gradient, &function, diags)?;
                Some((vec![function, gradient], Some(takes)))
            }
        }
    }

    fn args(&self, params: &[(Pat, TypeExpr)], diags: &mut Diags) -> Option<Vec<(String, Type)>> {
        let one = |(pat, ty): &(Pat, TypeExpr), diags: &mut Diags| {
            let Pat::Name { name, .. } = pat else {
                let message = "arguments of foreign functions are single tensors with names";
                diags.push(Diagnostic::new("not-supported", pat.place(), message));
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
                diags.push(Diagnostic::new("not-supported", self.one.name.span(), message));
            }
            return None;
        };
        if written.iter().any(|axis| matches!(axis, AxisExpr::Rest)) {
            let message = format!("the number of dimensions must be known in the foreign function `{}`", self.one.name);
            let report = Diagnostic::new("wrong-rank", *place, message);
            diags.push(report.help("name each dimension: `f32[B, T, 64]`"));
            return None;
        }
        let (dtype, shape) = (dtype(word, diags), axes(written, &self.names, diags));
        if dtype == Some(DType::Bool) {
            let message = "foreign functions with bool are not supported yet";
            diags.push(Diagnostic::new("not-supported", *place, message).help("take a u32 that is 0 or 1"));
            return None;
        }
        Some(Type::new(dtype?, shape?.into_iter().flatten().map(|axis| axis.dim).collect::<Vec<_>>()))
    }

    /// The gradient's function, and what it is given.
    fn gradient(&self, written: &ExternGradient, of: &ForeignFn, diags: &mut Diags) -> Option<(ForeignFn, Vec<Taken>)> {
        let args = self.args(&written.params, diags)?;
        let results = match &written.result {
            TypeExpr::Tuple(items, _) => items.iter().map(|ty| self.ty(ty, diags)).collect::<Option<Vec<_>>>()?,
            ty => vec![self.ty(ty, diags)?],
        };
        let mut misfit = None;
        let mut takes = vec![];
        for ((name, ty), (pat, _)) in args.iter().zip(&written.params) {
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
            let help = format!("declare it `with grad(cotangent: {}) -> {}`", of.results[0], listed(&floats));
            self.report(place, message, help, diags);
            return None;
        }
        Some((ForeignFn { name: format!("{}_grad", of.name), args, results }, takes))
    }

    fn report(&self, place: Place, message: String, help: String, diags: &mut Diags) {
        let report = Diagnostic::new("gradient-signature", place, message);
        let note = "it may also take arguments of the function, and `result`, by their names";
        diags.push(report.note(note).help(help));
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
