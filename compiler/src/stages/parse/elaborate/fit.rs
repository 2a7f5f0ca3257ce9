//! Types: extents evaluated, and values that must fit them.

use super::super::ast::*;
use super::super::names::Names;
use super::super::statics::{self, Wanted};
use super::super::vocabulary;
use super::super::words;
use super::graph::plain_site;
use super::stmt::without_result;
use super::{Elaborator, Tensor, Val};
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::attr::Attr;
use crate::ir::limits::INTEGER;
use crate::ir::written::{Axis, Fit, Role, Site, What};
use crate::ir::{DType, Dim};
use proc_macro2::Ident;

/// The element type of that name; reports where there is none.
pub(in super::super) fn dtype(name: &Ident, diags: &mut Diags) -> Option<DType> {
    let text = name.to_string();
    if let Some(dtype) = DType::from_name(&text) {
        return Some(dtype);
    }
    let types = format!("the element types are {}", DType::names());
    let mut report =
        Diagnostic::new(Code::UnknownType, name.span(), format!("there is no element type `{text}`")).note(types);
    let own = vocabulary::element_type(&text).or_else(|| closest(&text, DType::NAMES.iter().copied()));
    report.help = own.map(|own| format!("write `{own}`"));
    diags.push_about(name, report);
    None
}

/// An extent of a type; `None` after a report.
pub(super) fn extent(expr: &Expr, names: &Names, diags: &mut Diags) -> Option<Dim> {
    match statics::eval(expr, names, Wanted::Dimension, diags)? {
        Attr::Int(dim) if dim.as_const().is_some_and(|n| n < 0) => {
            let message = format!("`{}` is {dim}, which is not an extent", words::full(expr));
            diags.push(Diagnostic::new(Code::WrongAttribute, expr.place, message));
            None
        }
        Attr::Int(dim) if dim.terms().iter().any(|(_, factor)| *factor > INTEGER) => {
            let message = format!("`{}` is larger than any extent", words::full(expr));
            let report = Diagnostic::new(Code::LiteralOutOfRange, expr.place, message);
            diags.push(report.note(format!("extents are at most {INTEGER}")));
            None
        }
        Attr::Int(dim) => Some(dim),
        other => {
            let message = format!("`{}` is {other}, which is not an extent", words::full(expr));
            diags.push(Diagnostic::new(Code::WrongAttribute, expr.place, message));
            None
        }
    }
}

/// The extents of a pattern; `None` after a report.
pub(in super::super) fn axes(axes: &[AxisExpr], names: &Names, diags: &mut Diags) -> Option<Vec<Option<Axis>>> {
    let one = |axis: &AxisExpr, diags: &mut Diags| match axis {
        AxisExpr::Rest => Some(None),
        AxisExpr::Dim { value, bound } => {
            let dim = extent(value, names, diags);
            let limit = match bound {
                Some(bound) => extent(bound, names, diags)?.as_const(),
                None => None,
            };
            Some(Some(Axis { dim: dim?, bound: limit, text: words::full(value) }))
        }
    };
    let all: Vec<_> = axes.iter().map(|axis| one(axis, diags)).collect();
    all.into_iter().collect()
}

impl<'p> Elaborator<'_, 'p> {
    /// The value, which must fit the type. `text` and `place` are the value's.
    pub(super) fn fit(&mut self, val: Val, ty: &TypeExpr, role: &Role, text: &str, place: Place) -> Val {
        match ty {
            TypeExpr::Error => match val {
                Val::Tensor(_) => Val::Unknown,
                other => other,
            },
            TypeExpr::Tensor { dtype, axes, place: at } => {
                let dtype = self::dtype(dtype, self.diags);
                let names = self.scope().names.clone();
                let axes = self::axes(axes, &names, self.diags);
                let tensor = self.tensor(val, text, place).or_else(|| self.declared(role, text, place));
                let (Some(dtype), Some(axes), Some(tensor)) = (dtype, axes, tensor) else {
                    return Val::Unknown;
                };
                let scope = self.scope().number;
                let fit = Fit { dtype, axes, scope, role: role.clone(), text: words::type_text(ty), place: *at };
                let site = Site { args: vec![(text.to_owned(), place)], ..plain_site(text, place) };
                let fitted = self.write(What::Fit(fit), site, &[tensor]);
                if let Some(dim) = self.scalar(tensor) {
                    self.scalars.push((fitted, dim));
                }
                Val::Tensor(fitted)
            }
            TypeExpr::Tuple(types, _) => {
                let Some(items) = self.parts(val, types.len(), text, place) else {
                    return Val::Unknown;
                };
                let fitted = items.into_iter().zip(types).map(|(item, ty)| self.fit(item, ty, role, text, place));
                Val::Tuple(fitted.collect())
            }
            TypeExpr::Struct(name, fields) => self.fit_struct(val, name, fields, role, text, place),
        }
    }

    /// The function's result, which fits its signature.
    pub(super) fn body(&mut self, function: &'p Fn) -> Val {
        let value = self.block(&function.body);
        let is_nothing = matches!(&function.result, TypeExpr::Tuple(items, _) if items.is_empty());
        let (text, place) = match &function.body.tail {
            Some(tail) if is_nothing && matches!(value, Val::Tensor(_) | Val::Struct(..)) => {
                let (name, text) = (&function.name, words::brief(tail));
                let message = format!("`{name}` is declared to return nothing, but it ends with `{text}`");
                let report = Diagnostic::new(Code::WrongResult, tail.place, message);
                self.diags.push(report.help("write its type in the place of `()`"));
                return Val::Unknown;
            }
            Some(tail) => (words::brief(tail), tail.place),
            None if is_nothing => return value,
            None => {
                self.diags.push(without_result(function));
                return Val::Unknown;
            }
        };
        self.fit(value, &function.result, &Role::Result(function.name.to_string()), &text, place)
    }

    /// Stands for an unknown value that is declared, so that what uses it is checked.
    fn declared(&mut self, role: &Role, text: &str, place: Place) -> Option<Tensor> {
        role.is_relied_on(self.scope().number).then(|| self.write(What::Unknown, plain_site(text, place), &[]))
    }

    fn fit_struct(
        &mut self,
        val: Val,
        name: &Ident,
        fields: &[(Ident, TypeExpr)],
        role: &Role,
        text: &str,
        place: Place,
    ) -> Val {
        let mut given = match val {
            Val::Struct(of, given) if *name == of => given,
            Val::Unknown => return Val::Unknown,
            _ => {
                let listed: Vec<String> = fields.iter().map(|(name, _)| format!("{name}: …")).collect();
                let report = Diagnostic::new(Code::WrongResult, place, format!("`{text}` is not a `{name}`"));
                self.diags.push(report.help(format!("write `{name} {{ {} }}`", listed.join(", "))));
                return Val::Unknown;
            }
        };
        let is_given = |field: &Ident, given: &[(Ident, Val)]| given.iter().any(|(name, _)| name == field);
        let lacking: Vec<&Ident> =
            fields.iter().map(|(field, _)| field).filter(|field| !is_given(field, &given)).collect();
        let extra = given.iter().map(|(field, _)| field).filter(|name| !fields.iter().any(|(field, _)| field == *name));
        let extra: Vec<Ident> = extra.cloned().collect();
        for field in &extra {
            self.no_field(&name.to_string(), &lacking, field);
        }
        let mut fitted = vec![];
        for (field, ty) in fields {
            let Some(at) = given.iter().position(|(n, _)| field == n) else {
                // One that is named wrongly may be this one.
                if extra.is_empty() {
                    let message = format!("`{name}` needs a value for `{field}`");
                    let report = Diagnostic::new(Code::UnknownField, place, message);
                    self.diags.push(report.help(format!("add `{field}: …`")));
                }
                return Val::Unknown;
            };
            let (_, value) = given.remove(at);
            fitted.push((field.clone(), self.fit(value, ty, role, text, place)));
        }
        Val::Struct(name.to_string(), fitted)
    }

    /// Reports a field that a record has not; `meant` are those that may be meant.
    pub(super) fn no_field(&mut self, owner: &str, meant: &[&Ident], name: &Ident) {
        let meant: Vec<String> = meant.iter().map(ToString::to_string).collect();
        let report = Diagnostic::new(Code::UnknownField, name.span(), format!("`{owner}` has no field `{name}`"));
        self.diags.push(match (closest(&name.to_string(), meant.iter().map(String::as_str)), &meant[..]) {
            (Some(near), _) => report.help(format!("write `{near}`")),
            (None, [only]) => report.help(format!("write `{only}`")),
            (None, []) => report.help("remove it"),
            (None, several) => report.help(format!("there are `{}`", several.join("`, `"))),
        });
    }

    /// The value taken apart into `n`; `None` after a report.
    pub(super) fn parts(&mut self, val: Val, n: usize, text: &str, place: Place) -> Option<Vec<Val>> {
        match val {
            Val::Tuple(items) if items.len() == n => Some(items),
            Val::Tuple(items) => {
                let message = format!("`{text}` has {} values, but {n} are asked for", items.len());
                self.diags.push(Diagnostic::new(Code::TupleLength, place, message));
                None
            }
            Val::Tensor(tensor) => {
                Some((0..n).map(|k| Val::Tensor(self.part(tensor, k, Some(n), text, place))).collect())
            }
            Val::Static(Attr::List(items)) if items.len() == n => Some(items.into_iter().map(Val::Static).collect()),
            Val::Unknown => Some(vec![Val::Unknown; n]),
            Val::Static(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                self.diags.push(Diagnostic::new(Code::NotATuple, place, format!("`{text}` is one value, not {n}")));
                None
            }
        }
    }

    /// The k-th result of a call whose results a pattern names.
    pub(super) fn named_part(&mut self, of: Tensor, k: usize, names: &[String], text: &str, place: Place) -> Tensor {
        let texts = std::iter::once(text.to_owned()).chain(names.iter().cloned());
        let site = Site { args: texts.map(|text| (text, place)).collect(), ..plain_site(text, place) };
        self.write(What::Part { k, of: Some(names.len()) }, site, &[of])
    }

    /// The k-th result of a call with several.
    pub(super) fn part(&mut self, of: Tensor, k: usize, n: Option<usize>, text: &str, place: Place) -> Tensor {
        let site = Site { args: vec![(text.to_owned(), place)], ..plain_site(text, place) };
        self.write(What::Part { k, of: n }, site, &[of])
    }
}
