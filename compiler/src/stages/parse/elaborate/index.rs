//! `x[.., 0]`, `x[_, 1..3]`: parts of tensors, of tuples and of repeated blocks.

use super::super::ast::*;
use super::super::instance::FieldInstance;
use super::super::words;
use super::graph::site_of;
use super::{Elaborator, Pick, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::Dim;
use crate::ir::attr::Attr;
use crate::ir::ellipses::Ellipses;
use crate::ir::written::{Item, Site, What};

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
                Some((i, place)) => {
                    let blocks = match &module.held {
                        FieldInstance::Repeat(n, _) => Some(*n),
                        FieldInstance::List(list) => Some(list.items.len() as i64),
                        _ => None,
                    };
                    if blocks.is_some_and(|n| self.number_of_one(i, n, (&text, "blocks"), place).is_none()) {
                        return Val::Unknown;
                    }
                    self.pick(&module, Pick::Index(i), words::brief(expr), expr.place)
                }
                None => Val::Unknown,
            },
            Val::Tuple(values) => {
                let number = self.only_number(expr, &text, items);
                let one =
                    number.and_then(|(i, place)| self.number_of_one(i, values.len() as i64, (&text, "values"), place));
                one.map_or(Val::Unknown, |one| values[one].clone())
            }
            Val::Static(_) | Val::Struct(..) | Val::Function(_) => {
                self.diags.push(Diagnostic::new(Code::NotATensor, of.place, format!("`{text}` is not a tensor")));
                Val::Unknown
            }
        }
    }

    /// Which of `n` parts a number picks; `None` after a report.
    fn number_of_one(&mut self, i: i64, n: i64, (text, parts): (&str, &str), place: Place) -> Option<usize> {
        if (0..n).contains(&i) {
            return usize::try_from(i).ok();
        }
        let report = Diagnostic::new(
            Code::IndexOutOfRange,
            place,
            format!("`{text}` has {n} {parts}, so there is no number {i}"),
        );
        // Python counts from the end.
        let meant = if (-n..0).contains(&i) { n + i } else { n - 1 };
        self.diags.push(match (n, i < -n) {
            (0, _) => report,
            (_, true) => report.help(format!("the first one is `{text}[0]`")),
            (_, false) if i < 0 => report.help(format!("write `{text}[{meant}]`")),
            (_, false) => report.help(format!("the last one is `{text}[{meant}]`")),
        });
        None
    }

    /// The only index, which must be known, and where it stands; `None` after a report.
    fn only_number(&mut self, expr: &Expr, text: &str, items: &[Index]) -> Option<(i64, Place)> {
        match items {
            [Index::At(at)] => {
                let number = self.number(at)?.as_const();
                if number.is_none() {
                    let message = format!("`{}` is not known at build time", words::brief(at));
                    self.diags.push(Diagnostic::new(Code::DynamicValue, at.place, message));
                }
                Some((number?, at.place))
            }
            _ => {
                let message = format!("`{text}` is not a tensor: a number picks one of its parts");
                let report = Diagnostic::new(Code::BadExpression, expr.place, message);
                self.diags.push(report.help(format!("write `{text}[0]`")));
                None
            }
        }
    }

    fn index_tensor(&mut self, expr: &Expr, tensor: Tensor, of: &Expr, items: &[Index]) -> Val {
        if let Some(at) = items.iter().position(is_new_axis) {
            self.report_new_axis(of, items, at);
            return Val::Unknown;
        }
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

    /// Reports Python's `None` among the items of an index, which makes an axis there.
    fn report_new_axis(&mut self, of: &Expr, items: &[Index], at: usize) {
        let Some(place) = items[at].place() else { unreachable!("a name stands somewhere") };
        let report = Diagnostic::new(Code::SliceSyntax, place, "an index makes no new axis");
        let whole = |items: &[Index]| items.iter().all(|item| matches!(item, Index::Whole));
        let (before, after) = items.split_at(at);
        let axis = match whole(before) {
            true => Some(format!("{at}")),
            false => whole(&after[1..]).then(|| format!("-{}", after.len())),
        };
        let plain = items.iter().filter(|item| !matches!(item, Index::Rest(_) | Index::Whole)).count() == 1;
        let help = axis.filter(|_| plain).map(|axis| format!("write `unsqueeze({}, {axis})`", words::full(of)));
        self.diags.push(Diagnostic { help, ..report });
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
                Index::Range { start, end, inclusive } => {
                    let part = self.range(start.as_ref(), end.as_ref(), *inclusive);
                    part.map(|(start, end)| Item::Range { start, end, step: 1 })
                }
                Index::Stepped { start, end, inclusive, step, .. } => {
                    let part = self.range(start.as_ref(), end.as_ref(), *inclusive);
                    part.zip(self.step(step)).map(|((start, end), step)| Item::Range { start, end, step })
                }
                Index::Step { start, end, step, .. } => self.stepped([start, end, step].map(Option::as_ref)),
            };
            complete &= part.is_some();
            parts.extend(part);
        }
        complete.then_some(parts)
    }

    /// The step of a range; `None` after a report of one that is no constant, or 0. What is negative shape reports, which
    /// knows the axis.
    fn step(&mut self, expr: &Expr) -> Option<i64> {
        let step = self.number(expr)?;
        let message = match step.as_const() {
            Some(0) => "a step is at least 1".to_owned(),
            Some(step) => return Some(step),
            None => format!("a step is a number that is known at build time, not `{}`", words::full(expr)),
        };
        let code = if step.is(0) { Code::SliceSyntax } else { Code::DynamicValue };
        let report = Diagnostic::new(code, expr.place, message);
        self.diags.push(if step.is(0) { report.help("write `1`") } else { report });
        None
    }

    /// A part of an axis with a step as NumPy writes it, which shape reports.
    fn stepped(&mut self, sides: [Option<&Expr>; 3]) -> Option<Item> {
        let [start, end, step] = sides.map(|side| self.side(side));
        Some(Item::Step { start: start?, end: end?, step: step?.map_or(Some(1), |step| step.as_const()) })
    }

    /// A number of a range; `None` inside where it is left out.
    fn side(&mut self, side: Option<&Expr>) -> Option<Option<Dim>> {
        side.map_or(Some(None), |side| self.number(side).map(Some))
    }

    fn range(
        &mut self,
        start: Option<&Expr>,
        end: Option<&Expr>,
        inclusive: bool,
    ) -> Option<(Option<Dim>, Option<Dim>)> {
        let (start, end) = (self.side(start)?, self.side(end)?);
        let end = end.and_then(|end| match inclusive {
            // `..=-1` ends with the last element.
            true if end.is(-1) => None,
            true => Some(end + Dim::from(1)),
            false => Some(end),
        });
        Some((start, end))
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

/// Whether an item is what other libraries write for a new axis.
fn is_new_axis(item: &Index) -> bool {
    match item {
        Index::At(Expr { kind: ExprKind::Name(name), .. }) => name == "None" || name == "newaxis",
        Index::At(Expr { kind: ExprKind::Field(_, name), .. }) => name == "newaxis",
        Index::At(_)
        | Index::Rest(_)
        | Index::Whole
        | Index::Range { .. }
        | Index::Stepped { .. }
        | Index::Step { .. } => false,
    }
}

/// What is wrong with an index that has more than one `..`.
fn ellipses(of: &Expr, items: &[Index]) -> Option<Ellipses> {
    let mut places = items.iter().filter_map(|item| match item {
        Index::Rest(place) => Some(*place),
        Index::Whole | Index::At(_) | Index::Range { .. } | Index::Stepped { .. } | Index::Step { .. } => None,
    });
    let second = places.nth(1)?;
    let entry = |item: &Index| (!matches!(item, Index::Rest(_))).then(|| words::entry(item));
    Some(Ellipses { of: words::full(of), entries: items.iter().map(entry).collect(), second })
}
