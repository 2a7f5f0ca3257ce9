//! Expressions, one arm each.

use super::super::ast::*;
use super::super::words;
use super::{Elaborator, Module, Val, block_of};
use crate::diag::{Code, Diagnostic};
use crate::ir::Dim;
use crate::ir::attr::Attr;
use crate::ir::limits::{EXPRESSIONS, NESTED_EXPRESSIONS};
use crate::ops;
use proc_macro2::Ident;

impl Elaborator<'_, '_> {
    /// The value of an expression.
    pub(super) fn expr(&mut self, expr: &Expr) -> Val {
        self.expressions += 1;
        if self.is_too_long() || self.is_too_deep(expr) {
            return Val::Unknown;
        }
        self.depth += 1;
        let value = self.value(expr);
        self.depth -= 1;
        value
    }

    fn value(&mut self, expr: &Expr) -> Val {
        match &expr.kind {
            ExprKind::Int(n) => Val::Static(Attr::Int((*n).into())),
            ExprKind::Float(x) => Val::Static(Attr::Float(*x)),
            ExprKind::Bool(b) => Val::Static(Attr::Bool(*b)),
            ExprKind::Text(text) => Val::Static(Attr::Text(text.clone())),
            ExprKind::Name(name) => self.variable(name),
            ExprKind::SelfValue => match self.scope().this.clone() {
                Some(module) => Val::Module(Module { text: "self".into(), ..module }),
                None if !matches!(self.scope().function.receiver, Receiver::None) => {
                    let message = "a function among the fields does not know `self`";
                    let report = Diagnostic::new(Code::UnknownVariable, expr.place, message);
                    self.diags
                        .push(report.help("call the field where the chain is called: `self.other(self.chain(x))`"));
                    Val::Unknown
                }
                None => {
                    let name = self.scope().function.name.clone();
                    let message = format!("`{name}` does not take `self`");
                    // All uses are one mistake.
                    let report = Diagnostic::new(Code::UnknownVariable, name.span(), message);
                    self.diags.push(report.help(format!("declare it as `fn {name}(&self, …)`")));
                    Val::Unknown
                }
            },
            ExprKind::Unary(op, of) => self.unary(expr, *op, of),
            ExprKind::Binary(..) => self.binary(expr),
            ExprKind::Call(callee, args) => self.call(expr, callee, args),
            ExprKind::Method(of, name, args) => self.method(expr, of, name, args),
            ExprKind::Field(of, name) => self.field(expr, of, name),
            ExprKind::Part(of, k) => self.tuple_part(expr, of, *k),
            ExprKind::Index(of, items) => self.index(expr, of, items),
            ExprKind::Tuple(items) => Val::Tuple(items.iter().map(|item| self.expr(item)).collect()),
            ExprKind::List(items) => self.list(items),
            ExprKind::Rest => {
                let scope = self.scope().number;
                if scope == 0 {
                    let message = "`..` stands for no axes here: no argument declares it";
                    self.diags.push(Diagnostic::new(Code::BadExpression, expr.place, message));
                    return Val::Unknown;
                }
                Val::Static(Attr::Int(Dim::name(format!("..#{scope}"))))
            }
            ExprKind::Block(block) => self.block(block),
            ExprKind::If { condition, then, otherwise } => {
                self.conditional(expr, condition, then, otherwise.as_deref())
            }
            ExprKind::Struct(name, fields) => {
                let fields = fields.iter().map(|(name, value)| (name.clone(), self.expr(value))).collect();
                Val::Struct(name.to_string(), fields)
            }
            ExprKind::Closure(closure) => self.closure(expr, closure),
            ExprKind::Match(of, arms) => self.choice(expr, of, arms),
            ExprKind::Error => Val::Unknown,
        }
    }

    /// Whether the function has more expressions than are compiled, which is reported once.
    pub(super) fn is_too_long(&mut self) -> bool {
        if self.expressions == EXPRESSIONS + 1 && !self.diags.has(Code::TooLarge) {
            let name = self.scopes[0].function.name.clone();
            let message = format!("`{name}` has more than {EXPRESSIONS} expressions, with those of all that it calls");
            let report = Diagnostic::new(Code::TooLarge, name.span(), message);
            self.diags.push(report.note("a loop over repeated blocks, `[Block(…); 100]`, is compiled once"));
        }
        self.expressions > EXPRESSIONS
    }

    /// Whether the expression is nested too deep, with the calls that led to it.
    fn is_too_deep(&mut self, expr: &Expr) -> bool {
        let is_too_deep = self.depth == NESTED_EXPRESSIONS;
        if is_too_deep && !self.diags.has(Code::Nesting) {
            let message = format!("calls and expressions are nested more than {NESTED_EXPRESSIONS} deep");
            let report = Diagnostic::new(Code::Nesting, expr.place, message);
            self.diags.push(report.note("a loop over repeated blocks, `[Block(…); 100]`, is not nested"));
        }
        is_too_deep
    }

    /// A list of numbers is an attribute; any other is a tuple.
    fn list(&mut self, items: &[Expr]) -> Val {
        let values: Vec<Val> = items.iter().map(|item| self.expr(item)).collect();
        let numbers = values.iter().map(|value| match value {
            Val::Static(attr) => Some(attr.clone()),
            Val::Tensor(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => None,
        });
        match numbers.collect::<Option<Vec<_>>>() {
            Some(numbers) => Val::Static(Attr::List(numbers)),
            None if values.iter().any(|v| matches!(v, Val::Unknown)) => Val::Unknown,
            None => Val::Tuple(values),
        }
    }

    fn field(&mut self, expr: &Expr, of: &Expr, name: &Ident) -> Val {
        if let Some(module) = self.foreign_module(of) {
            self.path_name(&module, name, of.place, &[]);
            return Val::Unknown;
        }
        match self.expr(of) {
            Val::Module(module) => self.member(&module, name, expr.place),
            Val::Struct(owner, fields) => match fields.iter().find(|(field, _)| name == field) {
                Some((_, value)) => value.clone(),
                None => {
                    self.no_field(&owner, &fields.iter().map(|(field, _)| field).collect::<Vec<_>>(), name);
                    Val::Unknown
                }
            },
            Val::Unknown => Val::Unknown,
            Val::Tensor(_) | Val::Static(_) | Val::Tuple(_) | Val::Function(_) => {
                if self.shape_query(name, &words::brief(of), None, expr.place) {
                    return Val::Unknown;
                }
                let message = format!("`{}` is a value without fields", words::brief(of));
                let mut report = Diagnostic::new(Code::UnknownField, name.span(), message);
                report.help = match name.to_string().as_str() {
                    "T" | "mT" => Some(format!("write `transpose({})`", words::brief(of))),
                    text if ops::op(text).is_some() => Some(format!("call the op: `{}()`", words::brief(expr))),
                    _ => None,
                };
                self.diags.push(report);
                Val::Unknown
            }
        }
    }

    fn tuple_part(&mut self, expr: &Expr, of: &Expr, k: usize) -> Val {
        let text = words::brief(of);
        match self.expr(of) {
            Val::Tuple(items) if k < items.len() => items[k].clone(),
            Val::Tuple(items) => {
                let message = format!("`{text}` has {} values, so there is no `.{k}`", items.len());
                let report = Diagnostic::new(Code::TupleLength, expr.place, message);
                self.diags.push(report.help(format!("the last one is `{text}.{}`", items.len().saturating_sub(1))));
                Val::Unknown
            }
            Val::Tensor(tensor) => Val::Tensor(self.part(tensor, k, None, &text, expr.place)),
            Val::Unknown => Val::Unknown,
            Val::Module(module) if self.numbered_field(&module, k, expr) => Val::Unknown,
            Val::Static(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                let message = format!("`{text}` is not a tuple");
                self.diags.push(Diagnostic::new(Code::NotATuple, expr.place, message));
                Val::Unknown
            }
        }
    }

    /// Reports `self.0`, where a struct has such a field by another name.
    fn numbered_field(&mut self, module: &Module, k: usize, expr: &Expr) -> bool {
        let Some(instance) = block_of(module) else { return false };
        let Some(field) = self.declared.fields(&instance.name).get(k) else { return false };
        let message = format!("the fields of `{}` have names", instance.name);
        let report = Diagnostic::new(Code::UnknownField, expr.place, message);
        self.diags.push_about(&instance.name, report.help(format!("write `{}.{}`", module.text, field.name)));
        true
    }

    /// The value of a block's last expression.
    pub(super) fn block(&mut self, block: &Block) -> Val {
        self.scope().locals.push(Default::default());
        block.stmts.iter().for_each(|stmt| self.statement(stmt));
        let value = block.tail.as_ref().map_or(Val::Tuple(vec![]), |tail| self.expr(tail));
        self.scope().locals.pop();
        value
    }
}
