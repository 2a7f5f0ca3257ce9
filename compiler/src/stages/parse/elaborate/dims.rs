//! The names that types give dimensions: the extents of types in, their capital names out.

use super::super::ast::*;
use super::super::names::Names;
use super::super::words;
use super::fit;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::Dim;
use crate::ir::attr::Attr;
use crate::ir::model::{Binder, NamedDim};
use proc_macro2::Ident;

/// Finds the capital names in the extents of types that are not constants. Gives each occurrence, and whether the name
/// is an extent by itself.
pub(in super::super) fn named_dims<'t>(
    types: impl IntoIterator<Item = &'t TypeExpr>,
    names: &mut Names,
    dims: &mut Vec<NamedDim>,
    diags: &mut Diags,
) -> Vec<(Ident, bool)> {
    let known = names.clone();
    let mut alone = vec![];
    for ty in types {
        for_each_axis(ty, &mut |axis| {
            let AxisExpr::Dim { value, bound } = axis else { return };
            let limit = bound.as_ref().and_then(|b| fit::extent(b, &known, diags)).and_then(|d| d.as_const());
            if let Some(bound) = bound {
                bounded(value, bound, limit, &known, diags);
            }
            for name in dim_names(value) {
                let text = name.to_string();
                if known.contains_key(&text) {
                    continue;
                }
                names.insert(text.clone(), Some(Attr::Int(Dim::name(text.clone()))));
                let bare = matches!(&value.kind, ExprKind::Name(_));
                alone.push((name.clone(), bare));
                match dims.iter_mut().find(|d| d.name == text) {
                    Some(dim) if bare => dim.bound = dim.bound.into_iter().chain(limit).min(),
                    Some(_) => {}
                    None => dims.push(NamedDim { name: text, bound: limit.filter(|_| bare), binder: Binder::Extents }),
                }
            }
        });
    }
    alone
}

/// Reports a bound that leaves nothing, and one of a constant.
fn bounded(value: &Expr, bound: &Expr, limit: Option<i64>, known: &Names, diags: &mut Diags) {
    let text = words::full(value);
    if limit.is_some_and(|limit| limit < 1) {
        let message = format!("`{text}` must be able to be at least 1, but its bound is `{}`", words::full(bound));
        diags.push(Diagnostic::new(Code::WrongAttribute, bound.place, message));
    }
    if let ExprKind::Name(name) = &value.kind
        && let Some(Some(Attr::Int(constant))) = known.get(&name.to_string())
        && let Some(constant) = constant.as_const()
    {
        let message = format!("`{text}` is a constant, {constant}, and a bound is for what a call chooses");
        let report = Diagnostic::new(Code::BoundedConstant, value.place.to(bound.place), message);
        diags.push(report.help(format!("write `{text}`, or name the dimension otherwise")));
    }
}

/// The capital names in an extent.
pub(super) fn dim_names(expr: &Expr) -> Vec<&Ident> {
    match &expr.kind {
        ExprKind::Name(name) if name.to_string().starts_with(char::is_uppercase) => vec![name],
        ExprKind::Unary(_, of) => dim_names(of),
        ExprKind::Binary(_, a, b) => [dim_names(a), dim_names(b)].concat(),
        _ => vec![],
    }
}

/// The capital names in the extents of a type.
pub(in super::super) fn dims_of(ty: &TypeExpr) -> Vec<&Ident> {
    let mut names = vec![];
    for_each_axis(ty, &mut |axis| {
        if let AxisExpr::Dim { value, .. } = axis {
            names.extend(dim_names(value));
        }
    });
    names
}

/// All names in the extents of a type.
pub(super) fn extent_names(ty: &TypeExpr) -> Vec<&Ident> {
    fn names<'e>(expr: &'e Expr, all: &mut Vec<&'e Ident>) {
        if let ExprKind::Name(name) = &expr.kind {
            all.push(name);
        }
        expr.inside().0.into_iter().for_each(|inner| names(inner, all));
    }
    let mut all = vec![];
    for_each_axis(ty, &mut |axis| {
        if let AxisExpr::Dim { value, .. } = axis {
            names(value, &mut all);
        }
    });
    all
}

pub(super) fn for_each_axis<'a>(ty: &'a TypeExpr, see: &mut dyn FnMut(&'a AxisExpr)) {
    match ty {
        TypeExpr::Tensor { axes, .. } => axes.iter().for_each(see),
        TypeExpr::Tuple(items, _) => items.iter().for_each(|item| for_each_axis(item, see)),
        TypeExpr::Struct(_, fields) => fields.iter().for_each(|(_, ty)| for_each_axis(ty, see)),
        TypeExpr::Error => {}
    }
}
