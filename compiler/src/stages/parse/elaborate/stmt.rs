//! Statements: bindings and assignments.

use super::super::ast::*;
use super::super::words;
use super::{Elaborator, Local, Val};
use crate::diag::{Diagnostic, closest};
use crate::ir::written::Role;

impl Elaborator<'_, '_> {
    pub(super) fn statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let { pat, ty, value } => {
                let text = words::brief(value);
                let mut val = self.expr(value);
                if let Some(ty) = ty {
                    let role = Role::Annotation(words::pattern_text(pat));
                    val = self.fit(val, ty, &role, &text, value.place);
                }
                self.bind(pat, val, &text);
            }
            Stmt::Assign { target, op, value } => self.assign(target, *op, value),
            Stmt::For { pat, over, body } => self.repeat(pat, over, body),
            Stmt::Expr(expr) => {
                self.expr(expr);
            }
        }
    }

    /// Binds the names of a pattern.
    pub(super) fn bind(&mut self, pat: &Pat, value: Val, text: &str) {
        match pat {
            Pat::Ignore(_) => {}
            Pat::Name { name, mutable } => {
                if let Val::Tensor(tensor) = &value {
                    self.name(*tensor, &name.to_string());
                }
                let local = Local { value, mutable: *mutable, span: name.span() };
                if let Some(block) = self.scope().locals.last_mut() {
                    block.insert(name.to_string(), local);
                }
            }
            Pat::Tuple(items, place) => {
                let values = self.parts(value, items.len(), text, *place);
                let values = values.unwrap_or_else(|| vec![Val::Unknown; items.len()]);
                items.iter().zip(values).for_each(|(item, value)| self.bind(item, value, text));
            }
        }
    }

    fn assign(&mut self, target: &Expr, op: Option<Binary>, value: &Expr) {
        let mut new = self.expr(value);
        let ExprKind::Name(name) = &target.kind else {
            let message = format!("only variables can be assigned, not `{}`", words::brief(target));
            self.diags.push(Diagnostic::new("not-supported", target.place, message));
            return;
        };
        let text = name.to_string();
        let Some(local) = self.local(&text) else {
            let known: Vec<String> = self.scope().locals.iter().flat_map(|block| block.keys()).cloned().collect();
            let mut report = Diagnostic::new("unknown-variable", name.span(), format!("there is no variable `{text}`"));
            report.help = closest(&text, known.iter().map(String::as_str)).map(|near| format!("write `{near}`"));
            self.diags.push(report);
            return;
        };
        let (mutable, declared, old) = (local.mutable, local.span.start().line, local.value.clone());
        // Once reported it may be assigned.
        local.mutable = true;
        let captured = self.scope().captured;
        let inside = self.scope().locals.iter().rposition(|block| block.contains_key(&text));
        if inside.is_some_and(|at| at < captured) {
            let message = format!("a closure cannot assign `{text}`, which is declared outside of it");
            let report = Diagnostic::new("captured-assignment", name.span(), message)
                .note(format!("`{text}` is declared on line {declared}"));
            self.diags.push(report.help("let the closure give the new value as its result"));
        } else if !mutable {
            // The outermost names are the arguments.
            let argument = !self.scope().locals.iter().skip(1).any(|block| block.contains_key(&text));
            let word = if argument { "" } else { "let " };
            self.diags.push(
                Diagnostic::new("assignment-to-immutable", name.span(), format!("`{text}` cannot be assigned"))
                    .note(format!("it is declared without `mut` on line {declared}"))
                    .help(format!("declare it as `{word}mut {text}`")),
            );
        }
        if let Some(op) = op {
            let whole = Expr {
                kind: ExprKind::Binary(op, Box::new(target.clone()), Box::new(value.clone())),
                place: target.place.to(value.place),
            };
            new = self.combine(&whole, op, (target, old), (value, new));
        }
        if let Val::Tensor(tensor) = &new {
            self.name(*tensor, &text);
        }
        if let Some(local) = self.local(&text) {
            local.value = new;
        }
    }
}
