//! Instances of lists. Blocks that are alike are one instance, whose parameters are stacked; of those that differ each has a
//! number, as in PyTorch's `ModuleList` and `Sequential`, and parameters of its own.

use super::ast::*;
use super::instance::{FieldInstance, Instances};
use super::names::Names;
use super::statics::{self, Wanted};
use super::words;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::Dim;
use crate::ir::attr::Attr;
use crate::ir::limits::FIELDS;
use proc_macro2::Ident;
use std::rc::Rc;

/// An instance of a list of blocks that differ.
#[derive(Debug)]
pub(super) struct ListInstance {
    pub(super) items: Vec<ItemInstance>,
    /// Whether it is called as a function: each entry gets what the one before gives.
    pub(super) is_chain: bool,
    /// The key of the struct that has it as a field.
    pub(super) owner: String,
    /// The constants and parameters that its functions see.
    pub(super) names: Names,
}

/// One of a list.
#[derive(Debug)]
pub(super) enum ItemInstance {
    Field(FieldInstance),
    Function(Expr),
}

impl<'p> Instances<'_, 'p> {
    /// A block that is repeated: its parameters are stacked.
    pub(super) fn repeated(
        &mut self,
        item: &'p FieldType,
        count: &'p Expr,
        field: &'p Field,
        source: usize,
        names: &Names,
        diags: &mut Diags,
    ) -> FieldInstance {
        let n = statics::eval(count, names, Wanted::Value, diags);
        let n = n.and_then(|n| match n {
            Attr::Int(n) if n.as_const().is_some_and(|n| n > FIELDS as i64) => {
                let message = format!("`{}` repeats a block more than {FIELDS} times", words::full(count));
                diags.push(Diagnostic::new(Code::TooLarge, count.place, message));
                None
            }
            Attr::Int(n) if n.as_const().is_some_and(|n| n > 0) => n.as_const(),
            _ => {
                let message = format!("`{}` is not a positive number of blocks", words::full(count));
                diags.push(Diagnostic::new(Code::WrongAttribute, count.place, message));
                None
            }
        });
        let outer = self.path.len();
        self.path.push_str(".*");
        self.stack.push(n.unwrap_or(1));
        let made = self.field(item, field, source, names, diags);
        self.stack.pop();
        self.path.truncate(outer);
        match (n, made) {
            (None, _) | (_, FieldInstance::Unknown) => FieldInstance::Unknown,
            (Some(n), made) => FieldInstance::Repeat(n, Box::new(made)),
        }
    }

    /// A list of what differs, or a chain.
    pub(super) fn unlike(
        &mut self,
        entries: &'p [Entry],
        is_chain: bool,
        field: &'p Field,
        source: usize,
        names: &Names,
        diags: &mut Diags,
    ) -> FieldInstance {
        let made = entries.iter().enumerate().map(|(k, entry)| match entry {
            Entry::Field(ty) => self.numbered(k, ty, field, source, names, diags),
            Entry::Function(function) => ItemInstance::Function(function.clone()),
        });
        let (items, names) = (made.collect(), names.clone());
        let owner = self.open.last().cloned().unwrap_or_default();
        FieldInstance::List(Rc::new(ListInstance { items, is_chain, owner, names }))
    }

    /// The k-th block of a list, which files call by its number.
    fn numbered(
        &mut self,
        k: usize,
        ty: &'p FieldType,
        field: &'p Field,
        source: usize,
        names: &Names,
        diags: &mut Diags,
    ) -> ItemInstance {
        let outer = self.path.len();
        self.path.push_str(&format!(".{k}"));
        // A number is no name in Rust.
        self.fields.push(format!("_{k}"));
        let made = self.field(ty, field, source, names, diags);
        self.fields.pop();
        self.path.truncate(outer);
        ItemInstance::Field(made)
    }

    /// A block for each number of a range.
    pub(super) fn each(
        &mut self,
        item: &'p FieldType,
        (name, start, end): (&'p Ident, &'p Expr, &'p Expr),
        field: &'p Field,
        source: usize,
        names: &Names,
        diags: &mut Diags,
    ) -> FieldInstance {
        let ends = [start, end].map(|expr| number(expr, names, diags));
        let [Some(first), Some(last)] = ends else { return FieldInstance::Unknown };
        if last <= first || last.saturating_sub(first) > FIELDS as i64 {
            let message =
                format!("`{}..{}` has no number, or more than {FIELDS}", words::full(start), words::full(end));
            diags.push(Diagnostic::new(Code::WrongAttribute, start.place.to(end.place), message));
            return FieldInstance::Unknown;
        }
        let mut items = vec![];
        for (k, number) in (first..last).enumerate() {
            let mut own = names.clone();
            own.give(name.to_string(), Some(Attr::Int(Dim::from(number))), name.span().into());
            items.push(self.numbered(k, item, field, source, &own, diags));
        }
        let names = names.clone();
        FieldInstance::List(Rc::new(ListInstance { items, is_chain: false, owner: String::new(), names }))
    }
}

/// The integer that an expression is; `None` after a report.
fn number(expr: &Expr, names: &Names, diags: &mut Diags) -> Option<i64> {
    match statics::eval(expr, names, Wanted::Value, diags)? {
        Attr::Int(n) if n.as_const().is_some() => n.as_const(),
        other => {
            let message = format!("`{}` is {other}, and blocks are numbered by integers", words::full(expr));
            diags.push(Diagnostic::new(Code::WrongAttribute, expr.place, message));
            None
        }
    }
}
