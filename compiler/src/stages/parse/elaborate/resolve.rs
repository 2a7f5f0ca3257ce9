//! Names: variables, constants and dimensions, and what was meant where there is none.

use super::super::ast::{Arg, AxisExpr, Expr, ExprKind, Fn, Pat, TypeExpr};
use super::super::constants;
use super::super::instance::{FieldInstance, Instance};
use super::super::vocabulary::{self, Own};
use super::super::words;
use super::callable::Function;
use super::{Elaborator, Local, Module, Pick, Val, block_of};
use crate::diag::{Code, Diagnostic, Place, closest};
use crate::ir::DType;
use crate::ir::attr::Attr;
use crate::ops::{self, Item};
use proc_macro2::Ident;
use std::rc::Rc;

impl<'p> Elaborator<'_, 'p> {
    /// The variable of that name.
    pub(super) fn local(&mut self, name: &str) -> Option<&mut Local> {
        self.scope().locals.iter_mut().rev().find_map(|block| block.get_mut(name))
    }

    /// The value of a name.
    pub(super) fn variable(&mut self, name: &Ident) -> Val {
        let text = name.to_string();
        if let Some(local) = self.local(&text) {
            return match local.value.clone() {
                Val::Module(module) => Val::Module(Module { text, ..module }),
                Val::Function(function) => Val::Function(Rc::new(Function { text, ..(*function).clone() })),
                value => value,
            };
        }
        self.touched |= self.scopes.len() == 1 && self.given.contains(&text);
        if let Some(value) = self.scope().names.get(&text) {
            return value.clone().map_or(Val::Unknown, Val::Static);
        }
        if DType::from_name(&text).is_some() {
            return Val::Static(Attr::Text(text));
        }
        if self.has_member(&text) {
            self.missing_self(name, "");
            return Val::Unknown;
        }
        let scope = self.scope();
        let locals = scope.locals.iter().flat_map(|block| block.keys()).chain(scope.names.keys());
        let known: Vec<String> = locals.cloned().collect();
        let looks_like_dim = text.starts_with(char::is_uppercase);
        let (code, what) = match looks_like_dim {
            true => (Code::UnknownDimension, "dimension or constant"),
            false => (Code::UnknownVariable, "variable"),
        };
        let mut report = Diagnostic::new(code, name.span(), format!("there is no {what} `{text}`"));
        let near = match text.as_str() {
            "True" => Some("true"),
            "False" => Some("false"),
            "this" => Some("self"),
            _ => closest(&text, known.iter().map(String::as_str)),
        };
        let meant = near.map(str::to_owned).or_else(|| self.only_argument(&text));
        report.help = match constants::plain_number(&text) {
            Some(number) => Some(constants::help(number)),
            None => meant.map(|meant| format!("write `{meant}`")),
        };
        self.diags.push_about(&text, report);
        Val::Unknown
    }

    /// The only argument of the function, where a name is one that papers give to arguments and nothing else is bound.
    fn only_argument(&mut self, name: &str) -> Option<String> {
        let scope = self.scope();
        let bound = scope.locals.iter().map(|block| block.len()).sum::<usize>();
        match &scope.function.params[..] {
            [(Pat::Name { name: only, .. }, _)] if bound == 1 && vocabulary::names_an_argument(name) => {
                Some(only.to_string())
            }
            _ => None,
        }
    }

    /// The function of that name that belongs to no struct, in the text of the function that names it.
    pub(super) fn user_function(&mut self, name: &str) -> Option<&'p Fn> {
        self.declared.function(self.scope().function.source, name)
    }

    /// Whether the struct has a field or function of that name.
    pub(super) fn has_member(&mut self, name: &str) -> bool {
        let declared = self.declared;
        let Some(instance) = self.scope().this.as_ref().and_then(block_of) else {
            return false;
        };
        instance.fields.contains_key(name) || declared.method(&instance.name, name).is_some()
    }

    pub(super) fn missing_self(&mut self, name: &Ident, rest: &str) {
        let owner = self.scope().this.as_ref().and_then(block_of).map_or(String::new(), |b| b.name.clone());
        let message = format!("`{name}` belongs to `{owner}` and is named without `self.`");
        let report = Diagnostic::new(Code::MissingSelf, name.span(), message);
        self.diags.push(report.help(format!("write `self.{name}{rest}`")));
    }

    /// Reports a question for the shape of a value, as other libraries spell it; `axis` is the one that is asked for.
    pub(super) fn shape_query(&mut self, name: &Ident, of: &str, axis: Option<usize>, place: Place) -> bool {
        if !vocabulary::asks_for_shape(name) {
            return false;
        }
        let message = format!("the shape of `{of}` stands in its type, so that nothing asks for `{name}`");
        let mut report = Diagnostic::new(Code::ShapeQuery, place, message);
        let mut help = "write the extent itself, as the signature names it".to_owned();
        if let Some(ty) = self.type_of_argument(of) {
            report = report.note(format!("`{of}: {}` is declared in the signature", words::type_text(ty)));
            if let (TypeExpr::Tensor { axes, .. }, Some(axis)) = (ty, axis)
                && let Some(AxisExpr::Dim { value, .. }) = axes.get(axis)
            {
                help = format!("write `{}`", words::full(value));
            }
        }
        self.diags.push(report.help(help));
        true
    }

    /// The declared type of the function's argument of that name.
    fn type_of_argument(&mut self, name: &str) -> Option<&'p TypeExpr> {
        // The outermost names are the arguments.
        let hidden = self.scope().locals.iter().skip(1).any(|block| block.contains_key(name));
        let params = &self.scope().function.params;
        params.iter().find(|(pat, _)| !hidden && words::pattern_text(pat) == name).map(|(_, ty)| ty)
    }

    /// What to write for `zeros_like(x)` and its kin, where `x` is an argument whose type names its extents.
    fn shaped_like(&mut self, function: &str, of: &str, args: &[Arg]) -> Option<String> {
        let made = function.strip_suffix("_like")?;
        let TypeExpr::Tensor { axes, .. } = self.type_of_argument(of)? else { return None };
        let extents = axes.iter().map(|axis| match axis {
            AxisExpr::Dim { value, .. } => Some(words::full(value)),
            AxisExpr::Rest => None,
        });
        let shape = format!("[{}]", extents.collect::<Option<Vec<_>>>()?.join(", "));
        match (vocabulary::called(made)?, args.last()) {
            (Own::Drawn(draw), _) => {
                Some(format!("write `{draw}(key, {shape})`, where `key: u32[2]` is an argument of the function"))
            }
            (Own::Function("full"), Some(value)) => Some(format!("write `full({shape}, {})`", words::argument(value))),
            (Own::Function(own), _) => Some(format!("write `{own}({shape})`")),
            _ => None,
        }
    }

    /// Reports a call of nothing; `place` is the whole call.
    pub(super) fn unknown_function(&mut self, name: &Ident, receiver: Option<&Expr>, args: &[Arg], place: Place) {
        let values: Vec<String> = receiver.iter().map(|of| words::full(of)).collect();
        let first = receiver.or(args.first().map(|arg| &arg.value));
        let of = &first.map_or_else(|| "…".to_owned(), words::brief);
        if vocabulary::asks_for_shape(name)
            && let Some(ExprKind::Field(..)) = first.map(|first| &first.kind)
            && let Some(Val::Module(Module { held: FieldInstance::Repeat(n, _), .. })) =
                first.map(|first| self.expr(first))
        {
            return self.no_function_of_list(of, n, name);
        }
        if self.shape_query(name, of, None, place) {
            return;
        }
        let ops = ops::items().filter_map(|item| match item {
            Item::Op(op) => Some(op.name),
            Item::Layer(_) | Item::Optimizer(_) => None,
        });
        let mut known: Vec<String> =
            ops.map(str::to_owned).chain(self.declared.functions(self.scope().function.source)).collect();
        known.extend(self.scope().locals.iter().flat_map(|block| block.keys()).cloned());
        known.extend(self.declared.foreign.iter().map(|known| known.one.name.to_string()));
        let text = name.to_string();
        let mut report = Diagnostic::new(Code::UnknownFunction, name.span(), format!("there is no function `{name}`"));
        report.help = match vocabulary::called(&text) {
            _ if let Some(help) = number_of_text(&text, args) => Some(help),
            _ if let Some(help) = self.shaped_like(&text, of, args) => Some(help),
            Some(own) => {
                let images = self.declared.has_images(self.scope().function.source);
                Some(own.along(args).sized(images).help_for_call(&values, args))
            }
            None if vocabulary::needless(name) => {
                Some(format!("write `{of}` alone: values are neither moved nor wrapped"))
            }
            None => closest(&text, known.iter().map(String::as_str)).map(|near| format!("write `{near}`")),
        };
        self.diags.push_about(&text, report);
    }

    /// A field of a block, or a parameter of a layer.
    pub(super) fn member(&mut self, of: &Module, name: &Ident, place: Place) -> Val {
        let text = format!("{}.{name}", of.text);
        match &of.held {
            FieldInstance::Block(instance) => match instance.fields.get(&name.to_string()) {
                Some(held) => {
                    let module = Module { held: held.clone(), picks: of.picks.clone(), text };
                    self.settle(module, place)
                }
                None => {
                    let message = format!("`{}` has no field `{name}`", instance.name);
                    let mut report = Diagnostic::new(Code::UnknownField, name.span(), message);
                    report.help = self.instead_of_field(instance, of, name);
                    self.diags.push_about(name, report);
                    Val::Unknown
                }
            },
            FieldInstance::Layer(layer) => match layer.params.iter().find(|(n, _)| name == n) {
                Some((_, id)) => {
                    let tensor = self.parameter(*id, of, place);
                    Val::Tensor(tensor)
                }
                None => {
                    let known: Vec<&str> = layer.params.iter().map(|(n, _)| *n).collect();
                    let message = format!("`{}` has no parameter `{name}`", of.text);
                    let mut report = Diagnostic::new(Code::UnknownField, name.span(), message);
                    if !known.is_empty() {
                        report = report.note(format!("it has `{}`", known.join("`, `")));
                    }
                    report.help = closest(&name.to_string(), known).map(|near| format!("write `{}.{near}`", of.text));
                    self.diags.push(report);
                    Val::Unknown
                }
            },
            FieldInstance::Imported(imported) => {
                let message = format!("`{}` is the imported `{}`, which has no fields", of.text, imported.model.name);
                let report = Diagnostic::new(Code::UnknownField, name.span(), message);
                self.diags.push(report.help(format!("call it: `{}(…)`", of.text)));
                Val::Unknown
            }
            FieldInstance::Repeat(n, _) => {
                let message = format!("`{}` is {n} blocks; `{name}` belongs to one of them", of.text);
                let report = Diagnostic::new(Code::UnknownField, name.span(), message);
                self.diags.push(report.help(format!("loop over them: `for block in {} {{ … }}`", of.text)));
                Val::Unknown
            }
            FieldInstance::List(list) => {
                let message =
                    format!("`{}` is a list of {}; `{name}` belongs to one of them", of.text, list.items.len());
                let report = Diagnostic::new(Code::UnknownField, name.span(), message);
                self.diags.push(report.help(format!("name its number: `{}[0].{name}`", of.text)));
                Val::Unknown
            }
            FieldInstance::Param(_) | FieldInstance::State(_) | FieldInstance::Unknown => Val::Unknown,
        }
    }

    /// What to write instead of a field that the block does not have.
    fn instead_of_field(&self, instance: &Instance, of: &Module, name: &Ident) -> Option<String> {
        let text = name.to_string();
        if self.declared.method(&instance.name, &text).is_some() {
            return Some(format!("call it: `{}.{name}(…)`", of.text));
        }
        if of.text == "self" && self.declared.params(&instance.name).iter().any(|(param, _)| *name == *param) {
            return Some(format!("write `{name}`: it is a parameter of `{}`", instance.name));
        }
        let near = closest(&text, instance.fields.keys().map(String::as_str));
        near.map(|near| format!("write `{}.{near}`", of.text)).or_else(|| {
            let switch = of.text == "self" && text == "training";
            switch.then(|| "remove it: a function with `#[train(…)]` trains, and every other one evaluates".to_owned())
        })
    }

    /// A field's value: parameters are tensors, everything else stays a module.
    pub(super) fn settle(&mut self, module: Module, place: Place) -> Val {
        match &module.held {
            FieldInstance::Unknown => Val::Unknown,
            FieldInstance::Param(id) => {
                let tensor = self.parameter(*id, &module, place);
                Val::Tensor(tensor)
            }
            FieldInstance::State(id) => self.state(*id, &module, place),
            FieldInstance::Layer(_)
            | FieldInstance::Block(_)
            | FieldInstance::Imported(_)
            | FieldInstance::Repeat(..)
            | FieldInstance::List(_) => Val::Module(module),
        }
    }

    /// One of several repeated blocks, of which there is one of that number.
    pub(super) fn pick(&mut self, of: &Module, pick: Pick, text: String, place: Place) -> Val {
        if let (FieldInstance::List(list), Pick::Index(k)) = (&of.held, &pick) {
            return self.pick_unlike(of, list, *k, place);
        }
        let FieldInstance::Repeat(_, item) = &of.held else {
            let message = format!("`{}` is not a list of blocks", of.text);
            self.diags.push(Diagnostic::new(Code::BadExpression, place, message));
            return Val::Unknown;
        };
        let picks = of.picks.iter().cloned().chain([pick]).collect();
        self.settle(Module { held: (**item).clone(), picks, text }, place)
    }
}

/// What to write for the number that Python makes of a text: `float("-inf")`.
fn number_of_text(function: &str, args: &[Arg]) -> Option<String> {
    match args {
        [Arg { name: None, value: Expr { kind: ExprKind::Text(text), .. } }] if function == "float" => {
            constants::plain_number(text).map(constants::help)
        }
        _ => None,
    }
}
