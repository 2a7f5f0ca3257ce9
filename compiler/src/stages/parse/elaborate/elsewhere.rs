//! Names that belong to modules of other libraries, and layers that are made where they are called.

use super::super::ast::{Arg, Expr, ExprKind};
use super::super::constants;
use super::super::instead::applied;
use super::super::vocabulary::{self, Own};
use super::super::words;
use super::Elaborator;
use super::scan::Form;
use super::transform::Maker;
use crate::diag::{Code, Diagnostic, Place};
use crate::ops;
use proc_macro2::Ident;

impl Elaborator<'_, '_> {
    /// The text of an expression that names a module of another library: `torch.nn.functional`.
    pub(super) fn foreign_module(&mut self, expr: &Expr) -> Option<String> {
        match &expr.kind {
            ExprKind::Name(name) => {
                let text = name.to_string();
                let is_own = self.local(&text).is_some() || self.scope().names.contains_key(&text);
                (vocabulary::is_module(name) && !is_own).then_some(text)
            }
            ExprKind::Field(of, name) => self.foreign_module(of).map(|of| format!("{of}.{name}")),
            _ => None,
        }
    }

    /// Reports the name of a module; `place` is that of the module, `args` what the name is called with.
    pub(super) fn path_name(&mut self, module: &str, name: &Ident, place: Place, args: &[Arg]) {
        let (text, place) = (name.to_string(), place.to(name.span().into()));
        let message = format!("`{module}.{name}` is a path, and names stand alone in the model language");
        let is_ours = ops::op(&text).is_some()
            || self.user_function(&text).is_some()
            || Form::of(name).is_some()
            || Maker::ALL.into_iter().any(|maker| name == maker.name());
        let mut report = Diagnostic::new(Code::PathName, place, message);
        report.help = match vocabulary::called(&text) {
            _ if args.is_empty()
                && let Some(number) = constants::number(&text) =>
            {
                Some(constants::help(number))
            }
            _ if is_ours => {
                let own = vocabulary::by_element(&text).filter(|_| gives_two(args)).unwrap_or(&text);
                Some(format!("write `{own}`"))
            }
            own => own.map(|own| own.along(args).help_for_call(&[], args)),
        };
        self.diags.push(report);
    }

    /// Reports a layer that is made where it is called, as `nn.ReLU()(x)`.
    pub(super) fn foreign_layer(&mut self, callee: &Expr, args: &[Arg]) -> bool {
        let (name, numbers, module) = match &callee.kind {
            ExprKind::Call(of, numbers) => match &of.kind {
                ExprKind::Name(name) => (name, numbers, None),
                _ => return false,
            },
            ExprKind::Method(of, name, numbers) => match self.foreign_module(of) {
                Some(module) => (name, numbers, Some(module)),
                None => return false,
            },
            _ => return false,
        };
        let text = name.to_string();
        let Some(own) = vocabulary::called(&text).filter(|_| text.starts_with(char::is_uppercase)) else {
            return false;
        };
        let values: Vec<String> = args.iter().map(|arg| words::full(&arg.value)).collect();
        let help = match own {
            Own::Function(function) => format!("write `{}`", applied(function, &values, numbers)),
            Own::Layer(_) | Own::Sized(_) | Own::Block(_) | Own::Repetition | Own::Drawn(_) | Own::Form(_) => {
                own.help_for_call(&values, numbers)
            }
        };
        let (code, message) = match module {
            None => (Code::UnknownFunction, format!("there is no function `{text}`")),
            Some(module) => {
                let message = format!("`{module}.{text}` is a path, and names stand alone in the model language");
                (Code::PathName, message)
            }
        };
        self.diags.push(Diagnostic::new(code, callee.place, message).help(help));
        true
    }
}

/// Whether a reduction is given a second value, whose elements are meant: a number is an axis.
fn gives_two(args: &[Arg]) -> bool {
    let [_, Arg { name: None, value }] = args else { return false };
    !matches!(value.kind, ExprKind::Int(_) | ExprKind::Unary(..) | ExprKind::List(_))
}
