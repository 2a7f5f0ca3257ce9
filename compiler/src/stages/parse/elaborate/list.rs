//! Lists of blocks that differ: one of them by its number, and the call of a chain.

use super::super::ast::{Expr, ExprKind, Fn};
use super::super::instance::FieldInstance;
use super::super::list::{ItemInstance, ListInstance};
use super::super::words;
use super::{Argument, Elaborator, Module, Pick, Scope, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ops;
use proc_macro2::Ident;
use std::collections::BTreeMap;

impl<'p> Elaborator<'_, 'p> {
    /// The k-th of a list, where there is one.
    pub(super) fn pick_unlike(&mut self, of: &Module, list: &ListInstance, k: i64, place: Place) -> Val {
        let text = format!("{}[{k}]", of.text);
        match usize::try_from(k).ok().and_then(|k| list.items.get(k)) {
            Some(ItemInstance::Field(held)) => {
                self.settle(Module { held: held.clone(), picks: of.picks.clone(), text }, place)
            }
            Some(ItemInstance::Function(function)) => {
                let message = format!("`{text}` is the function `{}`, and no layer", words::brief(function));
                let report = Diagnostic::new(Code::NotATensor, place, message);
                self.diags.push(report.help(format!("call the chain as a whole: `{}(…)`", of.text)));
                Val::Unknown
            }
            // Reported where the number stands.
            None => Val::Unknown,
        }
    }

    /// All of a list.
    pub(super) fn each_of(&mut self, of: &Module, place: Place) -> Vec<Val> {
        let FieldInstance::List(list) = &of.held else { return vec![] };
        (0..list.items.len() as i64).map(|k| self.pick_unlike(of, list, k, place)).collect()
    }

    /// A chain: each entry gets what the one before gives.
    pub(super) fn call_list(
        &mut self,
        expr: &Expr,
        list: &ListInstance,
        module: &Module,
        callee: &str,
        args: Vec<Argument>,
    ) -> Val {
        if !list.is_chain {
            let message = format!("`{callee}` is {} blocks and cannot be called at once", list.items.len());
            let report = Diagnostic::new(Code::NotCallable, expr.place, message);
            self.diags.push(report.help(format!("loop over them: `for block in {callee} {{ x = block(x); }}`")));
            return Val::Unknown;
        }
        let note = "a chain of layers takes what its first one takes".to_owned();
        let Some(args) = self.match_args(vec!["x".into()], note, callee, args, expr.place) else {
            return Val::Unknown;
        };
        let mut args = args;
        for (k, item) in list.items.iter().enumerate() {
            let text = format!("{callee}[{k}]");
            let value = match item {
                ItemInstance::Field(held) => {
                    let link = Module { held: held.clone(), picks: module.picks.clone(), text: text.clone() };
                    self.call_in_chain(expr, link, args)
                }
                ItemInstance::Function(function) => self.call_link(function, list, args),
            };
            args = vec![link_argument(value, &text, expr.place)];
        }
        args.remove(0).value
    }

    /// A layer or block of a chain; of a list one after the other.
    fn call_in_chain(&mut self, expr: &Expr, link: Module, mut args: Vec<Argument>) -> Val {
        let each: Vec<Val> = match &link.held {
            FieldInstance::List(list) if !list.is_chain => self.each_of(&link, expr.place),
            FieldInstance::Repeat(n, _) => {
                let pick = |k| self.pick(&link, Pick::Index(k), format!("{}[{k}]", link.text), expr.place);
                (0..*n).map(pick).collect()
            }
            _ => {
                let text = link.text.clone();
                return self.call_value(expr, Val::Module(link), &text, args);
            }
        };
        for (k, item) in each.into_iter().enumerate() {
            let text = format!("{}[{k}]", link.text);
            let value = self.call_value(expr, item, &text, args);
            args = vec![link_argument(value, &text, expr.place)];
        }
        args.remove(0).value
    }

    /// A function of a chain, which sees what is known where the chain is declared.
    fn call_link(&mut self, function: &Expr, list: &ListInstance, args: Vec<Argument>) -> Val {
        self.calls += 1;
        let scope = Scope {
            number: self.calls,
            function: self.owned(list),
            this: None,
            names: list.names.clone(),
            locals: vec![BTreeMap::new()],
            captured: 0,
        };
        self.scopes.push(scope);
        let value = match &function.kind {
            ExprKind::Name(name) if self.is_unknown(name) => {
                self.unknown_function(name, None, &[], function.place);
                Val::Unknown
            }
            _ => self.function(function).map_or(Val::Unknown, |called| self.apply(function, &called, args)),
        };
        self.scopes.pop();
        value
    }

    fn is_unknown(&mut self, name: &Ident) -> bool {
        let text = name.to_string();
        self.user_function(&text).is_none() && ops::op(&text).is_none()
    }

    /// A function of the text in which a list is declared, whose names its own functions may use.
    fn owned(&mut self, list: &ListInstance) -> &'p Fn {
        let declared = self.declared;
        match declared.methods.get(&list.owner).and_then(|methods| methods.values().next()) {
            Some(function) => function,
            None => self.scope().function,
        }
    }
}

/// What an entry of a chain gives, as the argument of the next one.
fn link_argument(value: Val, of: &str, place: Place) -> Argument {
    Argument { name: None, value, text: format!("{of}(…)"), place, written: place }
}
