//! Functions as values: closures with the variables around them, names of functions, and what is made of them.

use super::super::ast::*;
use super::super::instance::FieldInstance;
use super::super::words;
use super::transform::Derived;
use super::{Argument, Elaborator, Local, Module, Scope, Val, block_of};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::written::Role;
use crate::ops::{self, Signature};
use proc_macro2::Ident;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A function as a value.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) what: Callable,
    /// How the user writes it.
    pub(super) text: String,
    pub(super) place: Place,
}

/// Which function.
#[derive(Clone, Debug)]
pub(super) enum Callable {
    Closure {
        closure: Rc<Closure>,
        /// The number of the scope that it stands in.
        scope: usize,
        /// The variables there.
        locals: Vec<BTreeMap<String, Local>>,
    },
    /// A function outside of the structs, or an op.
    Named(Ident),
    Method(Module, Ident),
    Module(Module),
    Derived(Rc<Derived>),
}

impl<'p> Elaborator<'_, 'p> {
    /// A closure with the variables that it can see.
    pub(super) fn closure(&mut self, expr: &Expr, closure: &Closure) -> Val {
        let (scope, locals) = (self.scope().number, self.scope().locals.clone());
        let what = Callable::Closure { closure: Rc::new(closure.clone()), scope, locals };
        Val::Function(Rc::new(Function { what, text: words::brief(expr), place: expr.place }))
    }

    /// The function that an expression names; `None` after a report.
    pub(super) fn function(&mut self, expr: &Expr) -> Option<Rc<Function>> {
        let made = |what| Some(Rc::new(Function { what, text: words::brief(expr), place: expr.place }));
        if let ExprKind::Name(name) = &expr.kind {
            let text = name.to_string();
            let known = self.user_function(&text).is_some() || ops::op(&text).is_some();
            if known && self.local(&text).is_none() {
                return made(Callable::Named(name.clone()));
            }
        }
        if let ExprKind::Field(of, name) = &expr.kind {
            match self.expr(of) {
                Val::Module(module) if self.is_method(&module, name) => {
                    return made(Callable::Method(module, name.clone()));
                }
                Val::Unknown => return None,
                Val::Tensor(_)
                | Val::Static(_)
                | Val::Tuple(_)
                | Val::Struct(..)
                | Val::Function(_)
                | Val::Module(_) => {}
            }
        }
        match self.expr(expr) {
            Val::Function(function) => Some(function),
            Val::Module(module) if !matches!(module.held, FieldInstance::Repeat(..)) => made(Callable::Module(module)),
            Val::Unknown => None,
            Val::Tensor(_) | Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) => {
                let text = words::brief(expr);
                let report = Diagnostic::new(Code::NotAFunction, expr.place, format!("`{text}` is not a function"));
                self.diags.push(report.help("write a closure: `|x| …`"));
                None
            }
        }
    }

    fn is_method(&self, module: &Module, name: &Ident) -> bool {
        let Some(instance) = block_of(module) else { return false };
        let name = name.to_string();
        !instance.fields.contains_key(&name) && self.declared.method(&instance.name, &name).is_some()
    }

    /// How many arguments a function takes, where that is fixed.
    pub(super) fn arity(&mut self, function: &Function) -> Option<usize> {
        match &function.what {
            Callable::Closure { closure, .. } => Some(closure.params.len()),
            Callable::Named(name) => match self.user_function(&name.to_string()) {
                Some(function) => Some(function.params.len()),
                None => Some(Signature::of(ops::op(&name.to_string())?).args.len()),
            },
            Callable::Method(module, name) => {
                let method = self.declared.method(&block_of(module)?.name, &name.to_string())?;
                Some(method.params.len())
            }
            Callable::Module(module) => match block_of(module) {
                Some(instance) => Some(self.declared.method(&instance.name, "forward")?.params.len()),
                None => Some(1),
            },
            Callable::Derived(derived) => self.arity(&derived.of),
        }
    }

    /// A call of a function that is a value.
    pub(super) fn apply(&mut self, expr: &Expr, function: &Function, args: Vec<Argument>) -> Val {
        match &function.what {
            Callable::Closure { closure, scope, locals } => {
                let around = self.scopes.iter().find(|s| s.number == *scope);
                // A closure that outlives its scope was reported where it left it.
                let Some(around) = around else { return Val::Unknown };
                let mut locals = locals.clone();
                let captured = locals.len();
                locals.push(BTreeMap::new());
                let (this, names) = (around.this.clone(), around.names.clone());
                let scope = Scope { number: *scope, function: around.function, this, names, locals, captured };
                self.apply_closure(expr, function, closure, scope, args)
            }
            Callable::Named(name) => {
                let text = name.to_string();
                match (self.user_function(&text), ops::op(&text)) {
                    (Some(function), _) => self.inline(function, None, &text, args, expr.place),
                    (None, Some(op)) => self.op_call(op, &text, args, expr),
                    (None, None) => Val::Unknown,
                }
            }
            Callable::Method(module, name) => self.method_of_module(expr, module, name, args),
            Callable::Module(module) => self.call_value(expr, Val::Module(module.clone()), &function.text, args),
            Callable::Derived(derived) => self.derived(expr, derived, args),
        }
    }

    fn apply_closure(
        &mut self,
        expr: &Expr,
        function: &Function,
        closure: &Closure,
        scope: Scope<'p>,
        args: Vec<Argument>,
    ) -> Val {
        let wanted = closure.params.iter().map(|(pat, _)| words::pattern_text(pat)).collect();
        let note = format!("the closure stands on {}", self.diags.line(function.place));
        let Some(args) = self.match_args(wanted, note, &function.text, args, expr.place) else {
            return Val::Unknown;
        };
        self.scopes.push(scope);
        for ((pat, ty), arg) in closure.params.iter().zip(args) {
            let role = Role::Argument { callee: function.text.clone(), name: words::pattern_text(pat) };
            let value = match ty {
                Some(ty) => self.fit(arg.value, ty, &role, &arg.text, arg.place),
                None => arg.value,
            };
            self.bind(pat, value, &arg.text);
        }
        let result = self.expr(&closure.body);
        self.scopes.pop();
        result
    }
}
