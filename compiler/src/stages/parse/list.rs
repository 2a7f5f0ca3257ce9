//! Instances of lists whose blocks differ: each has a number, as in PyTorch's `ModuleList` and `Sequential`, and parameters
//! of its own.

use super::ast::*;
use super::instance::{FieldInstance, Instances};
use super::names::Names;
use super::statics::{self, Wanted};
use super::words;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::Dim;
use crate::ir::limits::FIELDS;
use crate::ops::Attr;
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
    /// The k-th block of a list, which files call by its number.
    pub(super) fn numbered(
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
