//! `x[.., 0]`, `x[_, 1..3]`: parts of tensors, of tuples and of repeated blocks.

use super::super::ast::*;
use super::super::words;
use super::graph::site_of;
use super::{Elaborator, Pick, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::Dim;
use crate::ir::ellipses::Ellipses;
use crate::ir::written::{Item, Site, What};
use crate::ops::Attr;

impl Elaborator<'_, '_> {
    pub(super) fn index(&mut self, expr: &Expr, of: &Expr, items: &[Index]) -> Val {
        let text = words::brief(of);
        if let (ExprKind::Field(value, name), [Index::At(Expr { kind: ExprKind::Int(axis), .. })]) = (&of.kind, items)
            && name == "shape"
            && matches!(value.kind, ExprKind::Name(_))
            && matches!(self.expr(value), Val::Tensor(_))
        {
            self.shape_query(name, &words::brief(value), usize::try_from(*axis).ok(), of.place);
            return Val::Unknown;
        }
        match self.expr(of) {
            Val::Unknown => {
                if let Some(ellipses) = ellipses(of, items) {
                    self.diags.push(ellipses.report(None));
                }
                Val::Unknown
            }
            Val::Tensor(tensor) => self.index_tensor(expr, tensor, of, items),
            Val::Module(module) => match self.only_number(expr, &text, items) {
                Some(i) => {
                    let text = words::brief(expr);
                    self.pick(&module, Pick::Index(i), text, expr.place)
                }
                None => Val::Unknown,
            },
            Val::Tuple(values) => match self.only_number(expr, &text, items) {
                Some(i) if (0..values.len() as i64).contains(&i) => values[i as usize].clone(),
                Some(i) => {
                    let message = format!("`{text}` has {} values, so there is no number {i}", values.len());
                    self.diags.push(Diagnostic::new(Code::IndexOutOfRange, expr.place, message));
                    Val::Unknown
                }
                None => Val::Unknown,
            },
            Val::Static(_) | Val::Struct(..) | Val::Function(_) => {
                self.diags.push(Diagnostic::new(Code::NotATensor, of.place, format!("`{text}` is not a tensor")));
                Val::Unknown
            }
        }
    }

    /// The only index, which must be known; `None` after a report.
    fn only_number(&mut self, expr: &Expr, text: &str, items: &[Index]) -> Option<i64> {
        match items {
            [Index::At(at)] => self.number(at)?.as_const().or_else(|| {
                let message = format!("`{}` is not known at build time", words::brief(at));
                self.diags.push(Diagnostic::new(Code::DynamicValue, at.place, message));
                None
            }),
            _ => {
                let message = format!("`{text}` is not a tensor: a number picks one of its parts");
                let report = Diagnostic::new(Code::BadExpression, expr.place, message);
                self.diags.push(report.help(format!("write `{text}[0]`")));
                None
            }
        }
    }

    fn index_tensor(&mut self, expr: &Expr, tensor: Tensor, of: &Expr, items: &[Index]) -> Val {
        let mut args = vec![(words::brief(of), of.place)];
        let mut tensors = vec![tensor];
        let parts = self.items(items, &mut args, &mut tensors);
        if let Some(ellipses) = ellipses(of, items) {
            args.truncate(1);
            let site = Site { args, ..site_of(expr) };
            return Val::Tensor(self.write(What::Ellipses(ellipses), site, &[tensor]));
        }
        let Some(parts) = parts else { return Val::Unknown };
        let items = items.iter().map(|item| item.place().unwrap_or(expr.place)).collect();
        let site = Site { args, items, ..site_of(expr) };
        Val::Tensor(self.write(What::Index(parts), site, &tensors))
    }

    /// What stands between the brackets; index tensors are appended. `None` after a report.
    pub(super) fn items(
        &mut self,
        items: &[Index],
        args: &mut Vec<(String, Place)>,
        tensors: &mut Vec<Tensor>,
    ) -> Option<Vec<Item>> {
        let mut parts = vec![];
        let mut complete = true;
        for item in items {
            let part = match item {
                Index::Rest(_) => Some(Item::Rest),
                Index::Whole => Some(Item::Whole),
                Index::At(at) => match self.expr(at) {
                    Val::Static(Attr::Int(dim)) => Some(Item::At(dim)),
                    Val::Tensor(index) => {
                        if let Some(dim) = self.position(index) {
                            Some(Item::At(dim))
                        } else {
                            tensors.push(index);
                            args.push((words::brief(at), at.place));
                            Some(Item::Gather)
                        }
                    }
                    Val::Unknown => None,
                    Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                        let message = format!("`{}` is not an index", words::brief(at));
                        self.diags.push(Diagnostic::new(Code::BadExpression, at.place, message));
                        None
                    }
                },
                Index::Range { start, end, inclusive } => self.range(start.as_ref(), end.as_ref(), *inclusive),
            };
            complete &= part.is_some();
            parts.extend(part);
        }
        complete.then_some(parts)
    }

    fn range(&mut self, start: Option<&Expr>, end: Option<&Expr>, inclusive: bool) -> Option<Item> {
        let start = match start {
            Some(start) => Some(self.number(start)?),
            None => None,
        };
        let end = match end {
            Some(end) => Some(self.number(end)?),
            None => None,
        };
        let end = end.and_then(|end| match inclusive {
            // `..=-1` ends with the last element.
            true if end.is(-1) => None,
            true => Some(end + Dim::from(1)),
            false => Some(end),
        });
        Some(Item::Range { start, end })
    }

    /// An integer or dimension; `None` after a report.
    pub(super) fn number(&mut self, expr: &Expr) -> Option<Dim> {
        match self.expr(expr) {
            Val::Static(Attr::Int(dim)) => Some(dim),
            Val::Unknown => None,
            Val::Tensor(tensor) if self.scalar(tensor).is_some() => self.position(tensor),
            Val::Static(_) | Val::Tensor(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                let message = format!("`{}` is not an integer that is known at build time", words::brief(expr));
                self.diags.push(Diagnostic::new(Code::DynamicValue, expr.place, message));
                None
            }
        }
    }
}

/// What is wrong with an index that has more than one `..`.
fn ellipses(of: &Expr, items: &[Index]) -> Option<Ellipses> {
    let mut places = items.iter().filter_map(|item| match item {
        Index::Rest(place) => Some(*place),
        Index::Whole | Index::At(_) | Index::Range { .. } => None,
    });
    let second = places.nth(1)?;
    let entry = |item: &Index| (!matches!(item, Index::Rest(_))).then(|| words::entry(item));
    Some(Ellipses { of: words::full(of), entries: items.iter().map(entry).collect(), second })
}
