//! Calls: who is called, and which arguments are tensors and which attributes.

use super::super::ast::*;
use super::super::attributes;
use super::super::instance::{FieldInstance, LayerInstance};
use super::super::{vocabulary, words};
use super::companions::in_training;
use super::graph::site_of;
use super::scan::Form;
use super::transform::Maker;
use super::{Argument, Elaborator, Module, Tensor, Val, block_of};
use crate::diag::{Code, Diagnostic, closest};
use crate::ir::attr::{Attr, Attrs};
use crate::ir::graph::Call;
use crate::ir::written::{Site, What};
use crate::ops::{self, Op};
use proc_macro2::Ident;

impl Elaborator<'_, '_> {
    /// `callee(args)`
    pub(super) fn call(&mut self, expr: &Expr, callee: &Expr, args: &[Arg]) -> Val {
        if let ExprKind::Name(name) = &callee.kind
            && let Some(maker) = Maker::ALL.into_iter().find(|maker| name == maker.name())
            && self.local(&name.to_string()).is_none()
            && self.user_function(&name.to_string()).is_none()
        {
            return self.make(expr, maker, args);
        }
        if let ExprKind::Name(name) = &callee.kind
            && let Some(form) = Form::of(name)
            && self.local(&name.to_string()).is_none()
            && self.user_function(&name.to_string()).is_none()
        {
            return self.scan(form, expr, name, args);
        }
        if self.foreign_layer(callee, args) {
            return Val::Unknown;
        }
        let (written, args) = (args, self.arguments(args));
        let ExprKind::Name(name) = &callee.kind else {
            let value = self.expr(callee);
            return self.call_value(expr, value, &words::brief(callee), args);
        };
        let text = name.to_string();
        if let Some(local) = self.local(&text) {
            let value = local.value.clone();
            return self.call_value(expr, value, &text, args);
        }
        if let Some(function) = self.user_function(&text) {
            return self.inline(function, None, &text, args, expr.place);
        }
        if let Some(foreign) = self.foreign_function(&text) {
            return self.foreign_call(foreign, &text, args, expr.place, &words::brief(expr));
        }
        if let Some(op) = ops::op(&text) {
            return self.op_call(op, &text, args, expr);
        }
        if text == "stop_gradient" {
            return self.stop_gradient(expr, args);
        }
        match self.has_member(&text) {
            true => self.missing_self(name, "(…)"),
            false => self.unknown_function(name, None, written, expr.place),
        }
        Val::Unknown
    }

    /// `of.name(args)`
    pub(super) fn method(&mut self, expr: &Expr, of: &Expr, name: &Ident, args: &[Arg]) -> Val {
        let text = name.to_string();
        if let Some(module) = self.foreign_module(of) {
            self.path_name(&module, name, of.place, args);
            return Val::Unknown;
        }
        let written = args;
        let receiver = self.expr(of);
        let args = self.arguments(args);
        match receiver {
            Val::Module(module) => self.method_of_module(expr, &module, name, args),
            Val::Unknown => Val::Unknown,
            value => {
                let first = Argument { name: None, value, text: words::brief(of), place: of.place, written: of.place };
                let args = std::iter::once(first).chain(args).collect();
                if let Some(function) = self.user_function(&text) {
                    return self.inline(function, None, &text, args, expr.place);
                }
                match ops::op(&text) {
                    Some(op) => self.op_call(op, &text, args, expr),
                    None if text == "stop_gradient" => self.stop_gradient(expr, args),
                    None => {
                        self.unknown_function(name, Some(of), written, expr.place);
                        Val::Unknown
                    }
                }
            }
        }
    }

    pub(super) fn method_of_module(&mut self, expr: &Expr, module: &Module, name: &Ident, args: Vec<Argument>) -> Val {
        let text = name.to_string();
        let callee = format!("{}.{name}", module.text);
        let Some(instance) = block_of(module).cloned() else {
            if text == "forward" {
                return self.call_value(expr, Val::Module(module.clone()), &module.text, args);
            }
            match &module.held {
                FieldInstance::Repeat(n, _) => self.no_function_of_list(&module.text, *n, name),
                FieldInstance::List(list) => self.no_function_of_list(&module.text, list.items.len() as i64, name),
                FieldInstance::Layer(layer) => {
                    let what = layer.layer.name;
                    let message = format!("`{}` is the layer `{what}`, which has no function `{name}`", module.text);
                    let report = Diagnostic::new(Code::UnknownFunction, name.span(), message);
                    self.diags.push(report.help(format!("call it: `{}(…)`", module.text)));
                }
                FieldInstance::Imported(imported) => {
                    let what = &imported.model.name;
                    let message = format!("`{}` is the imported `{what}`, which has no function `{name}`", module.text);
                    let report = Diagnostic::new(Code::UnknownFunction, name.span(), message);
                    self.diags.push(report.help(format!("call it: `{}(…)`", module.text)));
                }
                FieldInstance::Block(_)
                | FieldInstance::Param(_)
                | FieldInstance::State(_)
                | FieldInstance::Unknown => {}
            }
            return Val::Unknown;
        };
        if instance.fields.contains_key(&text) {
            self.report_two_meanings(&instance.name, name);
            let value = self.member(module, name, expr.place);
            return self.call_value(expr, value, &callee, args);
        }
        if let Some(function) = self.declared.method(&instance.name, &text) {
            self.check_receiver(&callee, function, expr.place);
            return self.inline(function, Some(module.clone()), &callee, args, expr.place);
        }
        let methods = self.declared.methods.get(&instance.name);
        let known: Vec<&str> = instance
            .fields
            .keys()
            .map(String::as_str)
            .chain(methods.iter().flat_map(|m| m.keys().map(String::as_str)))
            .collect();
        let message = format!("`{}` has no field or function `{name}`", instance.name);
        let mut report = Diagnostic::new(Code::UnknownField, name.span(), message);
        let is_free = self.user_function(&text).is_some() || self.foreign_function(&text).is_some();
        report.help = match (closest(&text, known), &expr.kind) {
            (_, ExprKind::Method(_, _, args)) if is_free => {
                Some(format!("call it without `self.`: `{}`", words::call(name, args)))
            }
            (Some(near), _) => Some(format!("write `{}.{near}`", module.text)),
            (None, _) if ops::op(&text).is_some() => Some(format!("call the op: `{name}(…)`")),
            (None, _) => None,
        };
        self.diags.push_about(&text, report);
        Val::Unknown
    }

    /// Reports a function of Rust's collections that is called for repeated blocks.
    pub(super) fn no_function_of_list(&mut self, list: &str, n: i64, name: &Ident) {
        let message = format!("`{list}` is {n} blocks, which have no function `{name}`");
        let report = Diagnostic::new(Code::UnknownFunction, name.span(), message);
        self.diags.push(match () {
            () if vocabulary::needless(name) => report.help(format!("write `{list}`")),
            () if vocabulary::asks_for_shape(name) => report.help(format!("write `{n}`")),
            () => report.help(format!("loop over them: `for block in {list} {{ x = block(x); }}`")),
        });
    }

    /// Reports a field that is called as a function of its name might be; that function itself means the field.
    fn report_two_meanings(&mut self, owner: &str, name: &Ident) {
        let Some(function) = self.declared.method(owner, &name.to_string()) else { return };
        if std::ptr::eq(self.scope().function, function) {
            return;
        }
        let message = format!("`{name}` is a field and a function, so that `self.{name}(…)` has two meanings");
        let report = Diagnostic::new(Code::DuplicateName, function.name.span(), message);
        let report = report.note(format!("it is called on {}", self.diags.line(name.span().into())));
        self.diags.push(report.help(format!("rename the function, for example to `{name}_of`")));
    }

    /// A call of what a field or variable holds.
    pub(super) fn call_value(&mut self, expr: &Expr, value: Val, callee: &str, args: Vec<Argument>) -> Val {
        let module = match value {
            Val::Unknown => return Val::Unknown,
            Val::Module(module) => module,
            Val::Function(function) => return self.apply(expr, &function, args),
            Val::Tensor(_) | Val::Static(_) | Val::Tuple(_) | Val::Struct(..) => {
                let message = format!("`{callee}` is a value and cannot be called");
                self.diags.push(Diagnostic::new(Code::NotCallable, expr.place, message));
                return Val::Unknown;
            }
        };
        match &module.held {
            FieldInstance::Layer(layer) => self.layer_call(expr, layer, &module, callee, args),
            FieldInstance::Block(instance) => match self.declared.method(&instance.name, "forward") {
                Some(function) => {
                    self.check_receiver(callee, function, expr.place);
                    self.inline(function, Some(module.clone()), callee, args, expr.place)
                }
                None => {
                    let message = format!("`{callee}` is called, but `{}` has no function `forward`", instance.name);
                    let report = Diagnostic::new(Code::NoForward, expr.place, message);
                    let methods = self.declared.methods.get(&instance.name);
                    let mut fitting = methods.into_iter().flatten().filter(|(_, f)| f.params.len() == args.len());
                    let help = match (fitting.next(), fitting.next()) {
                        (Some((only, _)), None) => {
                            let given: Vec<&str> = args.iter().map(|arg| arg.text.as_str()).collect();
                            format!("write `{callee}.{only}({})`", given.join(", "))
                        }
                        _ => format!("add `fn forward(&self, …)` to `impl {}`", instance.name),
                    };
                    self.diags.push(report.help(help));
                    Val::Unknown
                }
            },
            FieldInstance::Imported(imported) => self.imported_call(&imported.clone(), &module, callee, args, expr),
            FieldInstance::Repeat(n, _) => {
                let message = format!("`{callee}` is {n} blocks and cannot be called at once");
                let report = Diagnostic::new(Code::NotCallable, expr.place, message);
                self.diags.push(report.help(format!("loop over them: `for block in {callee} {{ x = block(x); }}`")));
                Val::Unknown
            }
            FieldInstance::List(list) => self.call_list(expr, list, &module, callee, args),
            FieldInstance::Param(_) | FieldInstance::State(_) | FieldInstance::Unknown => Val::Unknown,
        }
    }

    fn layer_call(
        &mut self,
        expr: &Expr,
        layer: &LayerInstance,
        module: &Module,
        callee: &str,
        args: Vec<Argument>,
    ) -> Val {
        let own: Vec<&str> = layer.params.iter().map(|(name, _)| *name).collect();
        let sorted = self.sort(layer.layer.op, callee, args, &own);
        attributes::bind(callee, &[], &sorted.attrs, self.float, expr.place, self.diags);
        if sorted.too_many || !sorted.attrs.is_empty() || sorted.tensors.iter().any(|(t, ..)| t.is_none()) {
            return Val::Unknown;
        }
        let mut tensors: Vec<Tensor> = sorted.tensors.iter().filter_map(|(t, ..)| *t).collect();
        tensors.extend(layer.params.iter().map(|(_, id)| self.parameter(*id, module, expr.place)).collect::<Vec<_>>());
        let site = Site {
            args: sorted.tensors.into_iter().map(|(_, text, place)| (text, place)).collect(),
            layer: Some(Box::new(layer.site.clone())),
            ..site_of(expr)
        };
        let (op, attrs) = (layer.layer.op, (layer.layer.op_attrs)(&layer.site.attrs));
        let companions = self.companions(layer);
        if companions.is_empty() {
            return self.finish(op, attrs, callee, site, &tensors);
        }
        let called = self.finish(op, in_training(attrs), callee, site, &tensors);
        self.keep_companions(called, &companions, module, expr.place)
    }

    /// A call of an op.
    pub(super) fn op_call(&mut self, op: &'static Op, callee: &str, args: Vec<Argument>, expr: &Expr) -> Val {
        let reported = self.number_for_key(op, callee, &args)
            || self.pair_for_reduction(op, callee, &args, expr)
            || self.layer_for_matrix(op, callee, &args);
        if reported {
            return Val::Unknown;
        }
        let sorted = self.sort(op, callee, args, &[]);
        let bound = attributes::bind(callee, op.attrs, &sorted.attrs, self.float, expr.place, self.diags);
        let Some(attrs) = bound.attrs else {
            return Val::Unknown;
        };
        if sorted.too_many || sorted.tensors.iter().any(|(t, ..)| t.is_none()) {
            return Val::Unknown;
        }
        let tensors: Vec<Tensor> = sorted.tensors.iter().filter_map(|(t, ..)| *t).collect();
        let args = sorted.tensors.into_iter().map(|(_, text, place)| (text, place)).collect();
        let site = Site { args, attrs: bound.places, ..site_of(expr) };
        self.finish(op, attrs, callee, site, &tensors)
    }

    /// Reports a number where an op takes the key of random numbers.
    fn number_for_key(&mut self, op: &Op, callee: &str, args: &[Argument]) -> bool {
        let signature = op.signature;
        let first = signature.starts_with("(key:") && args.iter().filter(|arg| arg.name.is_none()).count() > 1;
        let named = |arg: &&Argument| arg.name.as_ref().is_some_and(|name| name == "key") && signature.contains("key:");
        let given = args.iter().find(named).or(args.first().filter(|arg| first && arg.name.is_none()));
        let Some(given) = given.filter(|given| matches!(given.value, Val::Static(Attr::Int(_)))) else { return false };
        let message = format!("`{callee}` takes a key, and `{}` is a number", given.text);
        let report = Diagnostic::new(Code::NotAKey, given.place, message);
        self.diags
            .push(report.help(format!("declare an argument `key: u32[2]`; a program gives `&key({})`", given.text)));
        true
    }

    /// Reports several values where an op reduces one, and means another by elements: `max(a, b)`.
    fn pair_for_reduction(&mut self, op: &Op, callee: &str, args: &[Argument], expr: &Expr) -> bool {
        let Some(twin) = vocabulary::by_element(op.name) else { return false };
        let values: Vec<&Argument> = args.iter().filter(|arg| arg.name.is_none()).collect();
        // An integer behind the first is an axis.
        let is_value = |arg: &&Argument| matches!(arg.value, Val::Tensor(_) | Val::Static(Attr::Float(_)));
        let [first, rest @ ..] = &*values else { return false };
        if rest.is_empty() || !rest.iter().all(is_value) {
            return false;
        }
        let mut call = rest.iter().fold(first.text.clone(), |call, arg| format!("{twin}({call}, {})", arg.text));
        if call.contains('…') {
            call = format!("{twin}(a, b)");
        }
        let message = format!("`{callee}` reduces one tensor, but {} were given", values.len());
        let report = Diagnostic::new(Code::WrongArity, expr.place, message);
        self.diags.push(report.help(format!("by element, write `{call}`")));
        true
    }

    /// Reports a layer where a product takes a matrix: the layer's call is the product.
    fn layer_for_matrix(&mut self, op: &Op, callee: &str, args: &[Argument]) -> bool {
        let layer = |arg: &Argument| match &arg.value {
            Val::Module(Module { held: FieldInstance::Layer(layer), .. }) => {
                layer.params.first().map(|(name, _)| *name)
            }
            _ => None,
        };
        let (given, other, parameter) = match args {
            [a, b] if layer(b).is_some() => (b, a, layer(b)),
            [a, b] if layer(a).is_some() => (a, b, layer(a)),
            _ => return false,
        };
        let Some(parameter) = parameter.filter(|_| op.name == "matmul") else { return false };
        let (layer, x) = (&given.text, &other.text);
        let message = format!("`{callee}` takes a tensor, but `{layer}` is a layer");
        let report = Diagnostic::new(Code::NotATensor, given.place, message);
        self.diags
            .push(report.help(format!("call the layer: `{layer}({x})`, or take its parameter: `{layer}.{parameter}`")));
        true
    }

    fn finish(&mut self, op: &'static Op, attrs: Attrs, callee: &str, site: Site, tensors: &[Tensor]) -> Val {
        let call =
            Call { op: op.name.into(), attrs, callee: callee.to_owned(), training: self.training, float: self.float };
        Val::Tensor(self.write(What::Call(call), site, tensors))
    }
}
