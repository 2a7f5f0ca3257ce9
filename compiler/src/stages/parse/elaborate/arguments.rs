//! Arguments of calls: values in, tensors and attributes of an op told apart out.

use super::super::ast::*;
use super::super::attributes::Given;
use super::super::instance::count;
use super::super::words;
use super::{Argument, Elaborator, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ops::{AttrKind, NONE, Op, Signature, Slot, Times, takes_none};
use proc_macro2::Ident;

/// The arguments of an op, told apart.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) tensors: Vec<(Option<Tensor>, String, Place)>,
    pub(super) attrs: Vec<Given>,
    pub(super) too_many: bool,
}

impl Elaborator<'_, '_> {
    pub(super) fn arguments(&mut self, args: &[Arg]) -> Vec<Argument> {
        let one = |this: &mut Self, arg: &Arg| {
            let value = match this.nothing(arg) {
                Some(nothing) => nothing,
                None => this.expr(&arg.value),
            };
            Argument {
                name: arg.name.clone(),
                place: this.origin(&arg.value, &value),
                written: arg.value.place,
                value,
                text: words::brief(&arg.value),
            }
        };
        args.iter().map(|arg| one(self, arg)).collect()
    }

    /// The value of `None` where an attribute of that name takes it.
    fn nothing(&mut self, arg: &Arg) -> Option<Val> {
        let ExprKind::Name(name) = &arg.value.kind else { return None };
        let takes = arg.name.as_ref().is_some_and(|name| takes_none(&name.to_string()));
        let is_nothing = takes && name == NONE && self.local(NONE).is_none();
        is_nothing.then(|| Val::Static(Attr::Text(NONE.to_owned())))
    }

    /// Where an argument was written; for a name that is known at build time where it got its value.
    fn origin(&mut self, expr: &Expr, value: &Val) -> Place {
        match (&expr.kind, value) {
            (ExprKind::Name(name), Val::Static(_)) if self.local(&name.to_string()).is_none() => {
                self.scope().names.origin(expr)
            }
            _ => expr.place,
        }
    }

    /// Tells tensors from attributes: tensors fill the signature's arguments in order, or by name.
    pub(super) fn sort(&mut self, op: &Op, callee: &str, args: Vec<Argument>, own: &[&str]) -> Sorted {
        let signature = Signature::of(op);
        let slots: Vec<_> = signature.args.iter().filter(|slot| !own.contains(&slot.name.as_str())).collect();
        // Arguments without a name fill these.
        let open: Vec<_> = slots.iter().filter(|slot| slot.times != Times::Named).collect();
        let mut sorted = Sorted::default();
        let mut surplus = None;
        let given = args.iter().filter(|a| a.name.is_none()).count();
        for arg in args {
            let by_name = arg.name.as_ref().and_then(|name| slots.iter().position(|slot| *name == slot.name));
            let next = open.get(sorted.tensors.len()).or(open.last().filter(|slot| slot.times == Times::Many));
            let is_number = matches!(arg.value, Val::Static(_));
            let takes = match (&arg.name, by_name, next) {
                (Some(_), Some(at), _) => {
                    at == sorted.tensors.len() || stands_anywhere(&slots, at, sorted.tensors.len())
                }
                (Some(_), None, _) | (None, _, None) => false,
                (None, _, Some(slot)) => slot.times == Times::Once || !is_number,
            };
            if takes {
                let many = next.is_some_and(|slot| slot.times == Times::Many);
                self.add_tensor(&mut sorted, arg, many);
            } else if matches!(arg.value, Val::Tensor(_))
                && arg.name.is_none()
                && (op.attrs.is_empty() || !own.is_empty())
            {
                surplus.get_or_insert(arg.written);
            } else {
                let at = sorted.attrs.iter().filter(|given| given.name.is_none()).count();
                let value = self.attribute(op, &arg, (at, given));
                let Argument { name, text, place, written, .. } = arg;
                sorted.attrs.push(Given { name, value, text, place, written });
            }
        }
        if let Some(place) = surplus {
            sorted.too_many = true;
            let were = if given == 1 { "was" } else { "were" };
            // What a layer has no parameter for, the caller cannot give either.
            let most = slots.iter().filter(|slot| own.is_empty() || !slot.times.may_lack()).count();
            let message = format!("`{callee}` takes {}, but {given} {were} given", count(most, "argument"));
            let texts: Vec<&str> = sorted.tensors.iter().map(|(_, text, _)| text.as_str()).collect();
            let usage = if texts.concat().contains('…') { signature.usage(own) } else { texts.join(", ") };
            let report = Diagnostic::new(Code::WrongArity, place, message);
            self.diags.push(report.help(format!("call it as `{callee}({usage})`")));
        }
        sorted
    }

    /// The value of an attribute, of which `at` of `given` without a name stand before it; `None` after a report.
    fn attribute(&mut self, op: &Op, arg: &Argument, (at, given): (usize, usize)) -> Option<Attr> {
        // A single number is where `arange` ends.
        let position = if op.name == "arange" && given == 1 { 1 } else { at };
        let decl = match &arg.name {
            Some(name) => op.attrs.iter().find(|decl| name == decl.name),
            None => op.attrs.get(position),
        };
        match &arg.value {
            Val::Static(attr) => Some(attr.clone()),
            Val::Unknown => None,
            Val::Tuple(items) if let Some(list) = numbers(items) => {
                // Where no list is taken, that is the mistake.
                if let Some(decl) = decl.filter(|decl| decl.kind.takes_list()) {
                    let message = format!("`{}` is a list, which stands in brackets", decl.name);
                    let report = Diagnostic::new(Code::WrongAttribute, arg.written, message);
                    let inside = arg.text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
                    let help = inside.filter(|text| !text.contains('…')).map(|inside| format!("write `[{inside}]`"));
                    self.diags.push(Diagnostic { help, ..report });
                }
                Some(list)
            }
            Val::Tensor(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                let which = arg.name.as_ref().map(Ident::to_string).or(decl.map(|decl| decl.name.to_owned()));
                let which = which.map_or(String::new(), |name| format!(" `{name}`"));
                let message = format!("`{}` is not known at build time, which the attribute{which} must be", arg.text);
                let report = Diagnostic::new(Code::DynamicValue, arg.place, message);
                self.diags.push(match decl.is_some_and(|decl| matches!(decl.kind, AttrKind::Dim | AttrKind::Shape)) {
                    true => report.note("known are numbers, constants and the extents that signatures name"),
                    false => report,
                });
                None
            }
        }
    }

    /// Adds a tensor; a tuple fills a repeated argument with all of its items.
    fn add_tensor(&mut self, sorted: &mut Sorted, arg: Argument, many: bool) {
        match arg.value {
            Val::Tuple(items) if many => {
                for item in items {
                    let tensor = self.tensor(item, &arg.text, arg.place);
                    sorted.tensors.push((tensor, arg.text.clone(), arg.place));
                }
            }
            Val::Tensor(_)
            | Val::Tuple(_)
            | Val::Struct(..)
            | Val::Module(_)
            | Val::Function(_)
            | Val::Static(_)
            | Val::Unknown => {
                let tensor = self.tensor(arg.value, &arg.text, arg.place);
                sorted.tensors.push((tensor, arg.text, arg.place));
            }
        }
    }
}

/// The list of values that are all known.
fn numbers(items: &[Val]) -> Option<Attr> {
    let known = items.iter().map(|item| match item {
        Val::Static(attr) => Some(attr.clone()),
        Val::Tensor(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => None,
    });
    known.collect::<Option<Vec<_>>>().filter(|list| !list.is_empty()).map(Attr::List)
}

/// Whether the slot is one for a name, and all between it and the next free one may lack.
fn stands_anywhere(slots: &[&Slot], at: usize, next: usize) -> bool {
    let between = slots.get(next..at).unwrap_or_default();
    slots[at].times == Times::Named && between.iter().all(|slot| slot.times.may_lack())
}
