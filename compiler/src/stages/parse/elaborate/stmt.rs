//! Statements: bindings and assignments.

use super::super::ast::*;
use super::super::instance::FieldInstance;
use super::super::words;
use super::{Elaborator, Local, Module, Val, block_of};
use crate::diag::{Code, Diagnostic, closest};
use crate::ir::Type;
use crate::ir::model::StateId;
use crate::ir::written::{Item, Role};
use proc_macro2::Ident;

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
            Stmt::Assign { target: Target::One(Expr { kind: ExprKind::Name(name), .. }), op: None, value }
                if self.is_new(name) =>
            {
                let report =
                    Diagnostic::new(Code::UnknownVariable, name.span(), format!("there is no variable `{name}`"));
                self.diags.push_about(name, report.help(format!("write `let {name}`")));
                let new = self.expr(value);
                self.bind(&Pat::Name { name: name.clone(), mutable: true }, new, &words::brief(value));
            }
            Stmt::Assign { target, op, value } => {
                let new = self.expr(value);
                self.assign(target, *op, (new, value));
            }
            Stmt::For { pat, over, body } => self.repeat(pat, over, body),
            Stmt::Expr(expr) => {
                self.expr(expr);
            }
        }
    }

    /// Whether nothing has that name or one that is near to it.
    fn is_new(&mut self, name: &Ident) -> bool {
        let text = name.to_string();
        let known: Vec<String> = self.scope().locals.iter().flat_map(|block| block.keys()).cloned().collect();
        self.local(&text).is_none() && closest(&text, known.iter().map(String::as_str)).is_none()
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
                let values = match value {
                    Val::Tensor(tensor) => {
                        let names: Vec<String> = items.iter().map(words::pattern_text).collect();
                        let part = |k| Val::Tensor(self.named_part(tensor, k, &names, text, *place));
                        Some((0..items.len()).map(part).collect())
                    }
                    value => self.parts(value, items.len(), text, *place),
                };
                let values = values.unwrap_or_else(|| vec![Val::Unknown; items.len()]);
                items.iter().zip(values).for_each(|(item, value)| self.bind(item, value, text));
            }
        }
    }

    /// Assigns every part of the value to its part of the target.
    fn assign(&mut self, target: &Target, op: Option<Binary>, (new, value): (Val, &Expr)) {
        match target {
            Target::One(one) => self.assign_one(one, op, (new, value)),
            Target::Ignore => {}
            Target::Tuple(items, place) => {
                let parts = self.parts(new, items.len(), &words::brief(value), *place);
                let parts = parts.unwrap_or_else(|| vec![Val::Unknown; items.len()]);
                items.iter().zip(parts).for_each(|(item, part)| self.assign(item, op, (part, value)));
            }
        }
    }

    fn assign_one(&mut self, target: &Expr, op: Option<Binary>, (mut new, value): (Val, &Expr)) {
        let ExprKind::Name(name) = &target.kind else {
            return self.assign_place(target, op, (new, value));
        };
        let text = name.to_string();
        let Some(local) = self.local(&text) else {
            let known: Vec<String> = self.scope().locals.iter().flat_map(|block| block.keys()).cloned().collect();
            let mut report =
                Diagnostic::new(Code::UnknownVariable, name.span(), format!("there is no variable `{text}`"));
            report.help = closest(&text, known.iter().map(String::as_str)).map(|near| format!("write `{near}`"));
            self.diags.push(report);
            // Its uses are the same mistake.
            self.bind(&Pat::Name { name: name.clone(), mutable: true }, new, &text);
            return;
        };
        let (mutable, span, old) = (local.mutable, local.span, local.value.clone());
        // Once reported it may be assigned.
        local.mutable = true;
        let declared = self.diags.line(span.into());
        let captured = self.scope().captured;
        let inside = self.scope().locals.iter().rposition(|block| block.contains_key(&text));
        if inside.is_some_and(|at| at < captured) {
            let message = format!("a closure cannot assign `{text}`, which is declared outside of it");
            let report = Diagnostic::new(Code::CapturedAssignment, name.span(), message)
                .note(format!("`{text}` is declared on {declared}"));
            self.diags.push(report.help("let the closure give the new value as its result"));
        } else if !mutable {
            // The outermost names are the arguments.
            let argument = !self.scope().locals.iter().skip(1).any(|block| block.contains_key(&text));
            let word = if argument { "" } else { "let " };
            self.diags.push(
                Diagnostic::new(Code::AssignmentToImmutable, name.span(), format!("`{text}` cannot be assigned"))
                    .note(format!("it is declared without `mut` on {declared}"))
                    .help(format!("declare it as `{word}mut {text}`")),
            );
        }
        if let Some(op) = op {
            new = self.combine(&infix(op, target, value), op, (target, old), (value, new));
        }
        if let Val::Tensor(tensor) = &new {
            self.name(*tensor, &text);
        }
        if let Some(local) = self.local(&text) {
            local.value = new;
        }
    }

    /// Assigns a state or a part of one.
    fn assign_place(&mut self, target: &Expr, op: Option<Binary>, (mut new, value): (Val, &Expr)) {
        let (of, items) = match &target.kind {
            ExprKind::Index(of, items) => (&**of, Some(items)),
            _ => (target, None),
        };
        if let (ExprKind::Name(name), Some(_)) = (&of.kind, items)
            && self.local(&name.to_string()).is_some()
        {
            let message = format!("a part of the variable `{name}` cannot be assigned");
            let report = Diagnostic::new(Code::PartAssignment, target.place, message);
            let report = report.note("parts of states can: `self.keys[.., at] = k;`");
            let masked = items.and_then(|items| masked(items)).filter(|_| op.is_none());
            self.diags.push(report.help(match masked {
                Some(mask) => format!("write `{name} = where({mask}, {}, {name})`", words::full(value)),
                None => {
                    format!("make another value: `{name} = concat(…, axis = 0);` or `{name} = where(…, …, {name});`")
                }
            }));
            return;
        }
        if let (ExprKind::Tuple(items), Some(op)) = (&of.kind, op) {
            let message = format!("`{}=` changes one variable, not {}", op.text(), items.len());
            let report = Diagnostic::new(Code::NotAssignable, target.place, message);
            self.diags.push(report.help("write one assignment for each"));
            return;
        }
        let Some(state) = self.state_named(of) else { return };
        let Some(parts) = items.map_or(Some(vec![]), |items| self.part_items(items)) else { return };
        if parts.iter().filter(|part| matches!(part, Item::Rest)).count() > 1 {
            // Reading the part reports it.
            self.expr(target);
            return;
        }
        if let Some(op) = op {
            let old = self.expr(target);
            new = self.combine(&infix(op, target, value), op, (target, old), (value, new));
        }
        self.assign_state(target, state, parts, (new, value));
    }

    /// The state that an expression names; `None` after a report.
    fn state_named(&mut self, target: &Expr) -> Option<(StateId, Module)> {
        let text = words::brief(target);
        if let ExprKind::Field(owner, name) = &target.kind {
            let module = match self.expr(owner) {
                Val::Module(module) => module,
                Val::Unknown => return None,
                Val::Tensor(_) | Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Function(_) => {
                    return self.not_a_state(target, &text, "is a part of a value");
                }
            };
            let held = block_of(&module).and_then(|block| block.fields.get(&name.to_string()).cloned());
            return match held {
                Some(FieldInstance::State(id)) => Some((id, Module { text, ..module })),
                Some(FieldInstance::Unknown) => None,
                Some(FieldInstance::Layer(_)) => {
                    self.not_a_state(target, &text, "is a layer, whose parameters training alone changes")
                }
                Some(FieldInstance::Param(_)) => {
                    self.not_a_state(target, &text, "is a parameter, which training alone changes")
                }
                Some(
                    FieldInstance::Block(_)
                    | FieldInstance::Imported(_)
                    | FieldInstance::Repeat(..)
                    | FieldInstance::List(_),
                ) => self.not_a_state(target, &text, "holds blocks"),
                None => match self.member(&module, name, target.place) {
                    Val::Unknown => None,
                    _ => self.not_a_state(target, &text, "is a parameter, which training alone changes"),
                },
            };
        }
        self.not_a_state(target, &text, "is no variable and no state")
    }

    fn not_a_state(&mut self, target: &Expr, text: &str, what: &str) -> Option<(StateId, Module)> {
        let message = format!("`{text}` cannot be assigned: it {what}");
        let report = Diagnostic::new(Code::NotAssignable, target.place, message);
        let field = text.strip_prefix("self.").filter(|field| field.chars().all(|c| c.is_alphanumeric() || c == '_'));
        let ty = match (field, &target.kind) {
            (Some(_), ExprKind::Field(of, name)) => self.parameter_type(of, name),
            _ => None,
        };
        self.diags.push(match field.zip(ty) {
            Some((field, ty)) => report.help(format!("what a session keeps is a state: declare `state {field}: {ty}`")),
            None => report.help("what a session keeps is a field that is declared with `state` before its name"),
        });
        None
    }

    /// The type of a parameter that a field of the struct is.
    fn parameter_type(&mut self, of: &Expr, name: &Ident) -> Option<Type> {
        let Val::Module(module) = self.expr(of) else { return None };
        match super::block_of(&module)?.fields.get(&name.to_string())? {
            FieldInstance::Param(id) => Some(self.params[id.0 as usize].ty.clone()),
            FieldInstance::Layer(_)
            | FieldInstance::Block(_)
            | FieldInstance::Imported(_)
            | FieldInstance::State(_)
            | FieldInstance::Repeat(..)
            | FieldInstance::List(_)
            | FieldInstance::Unknown => None,
        }
    }

    /// The items between the brackets of an assignment, which gathers nothing.
    fn part_items(&mut self, items: &[Index]) -> Option<Vec<Item>> {
        let (mut args, mut tensors) = (vec![], vec![]);
        let found = self.items(items, &mut args, &mut tensors)?;
        let Some((text, place)) = args.first() else { return Some(found) };
        let message =
            format!("`{text}` is not an integer that the call gives, which a position that is assigned must be");
        let report = Diagnostic::new(Code::DynamicValue, *place, message);
        self.diags.push(report.help("let it be an argument of the public function: `at: u32`"));
        None
    }
}

/// The report of a function whose body gives nothing, with what its last statement would give.
pub(super) fn without_result(function: &Fn) -> Diagnostic {
    let (place, help) = match function.body.stmts.last() {
        Some(Stmt::Assign { target: Target::One(target), op, value }) => {
            let help = match (op, &target.kind) {
                (Some(op), ExprKind::Name(_)) => format!("write `{}`", words::full(&infix(*op, target, value))),
                (None, ExprKind::Name(_)) => format!("write `{}`", words::full(value)),
                // What it assigns besides must stay.
                _ => {
                    let (target, sign) = (words::full(target), op.map_or("", Binary::text));
                    format!("write `{target} {sign}= {}; {target}`", words::full(value))
                }
            };
            (target.place.to(value.place), help)
        }
        Some(Stmt::Let { pat: Pat::Name { name, .. }, .. }) => {
            (name.span().into(), format!("let `{name}` stand behind it"))
        }
        Some(Stmt::Let { .. } | Stmt::Assign { .. } | Stmt::For { .. } | Stmt::Expr(_)) | None => {
            (function.body.close.into(), "let the last expression stand without `;`".to_owned())
        }
    };
    let message = format!("`{}` ends without a result", function.name);
    Diagnostic::new(Code::WrongResult, place, message).help(help)
}

/// The text of an index that is one mask.
fn masked(items: &[Index]) -> Option<String> {
    let [Index::At(mask)] = items else { return None };
    let is_mask = match &mask.kind {
        ExprKind::Binary(op, ..) => op.compares(),
        ExprKind::Unary(op, _) => *op == Unary::Not,
        _ => false,
    };
    is_mask.then(|| words::full(mask))
}

/// `target op value`, for reports.
fn infix(op: Binary, target: &Expr, value: &Expr) -> Expr {
    Expr {
        kind: ExprKind::Binary(op, Box::new(target.clone()), Box::new(value.clone())),
        place: target.place.to(value.place),
    }
}
