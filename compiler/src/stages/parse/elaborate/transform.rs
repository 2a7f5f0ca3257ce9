//! `map`, `grad` and their kin: a function in, the function that maps or differentiates it out.

use super::super::ast::*;
use super::super::attributes;
use super::super::instance::count;
use super::super::words;
use super::callable::{Callable, Function};
use super::loops::{leaves, replace};
use super::{Argument, Elaborator, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::Kind;
use crate::ir::attr::Attr;
use crate::ir::transform::How;
use std::rc::Rc;

/// What is made of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Maker {
    Map,
    Grad,
    ValueAndGrad,
    Jvp,
    Vjp,
    Hvp,
    Jacobian,
    Hessian,
}

impl Maker {
    pub(super) const ALL: [Maker; 8] = [
        Maker::Map,
        Maker::Grad,
        Maker::ValueAndGrad,
        Maker::Jvp,
        Maker::Vjp,
        Maker::Hvp,
        Maker::Jacobian,
        Maker::Hessian,
    ];

    /// The name in the language.
    pub(super) fn name(self) -> &'static str {
        match self {
            Maker::Map => "map",
            Maker::Grad => "grad",
            Maker::ValueAndGrad => "value_and_grad",
            Maker::Jvp => "jvp",
            Maker::Vjp => "vjp",
            Maker::Hvp => "hvp",
            Maker::Jacobian => "jacobian",
            Maker::Hessian => "hessian",
        }
    }

    /// Whether `wrt` chooses what it differentiates by.
    fn chooses(self) -> bool {
        match self {
            Maker::Grad | Maker::ValueAndGrad | Maker::Vjp | Maker::Jacobian | Maker::Hessian => true,
            Maker::Map | Maker::Jvp | Maker::Hvp => false,
        }
    }
}

/// A function made of another.
#[derive(Clone, Debug)]
pub(super) struct Derived {
    pub(super) maker: Maker,
    pub(super) of: Rc<Function>,
    /// What it is differentiated by; every argument where the user does not choose.
    pub(super) wrt: Option<Wrt>,
    pub(super) text: String,
}

/// The choice of `wrt`.
#[derive(Clone, Debug)]
pub(super) enum Wrt {
    /// An argument by its number, or a value that the function sees, with its text.
    One(Choice),
    Several(Vec<Choice>),
}

#[derive(Clone, Debug)]
pub(super) enum Choice {
    Argument(usize),
    Captured(Tensor, String, Place),
}

/// The function of a call whose arguments are the ones that are given besides it.
fn called_with(first: &Expr, args: &[Arg]) -> Option<String> {
    let (of, inner) = match &first.kind {
        ExprKind::Call(of, inner) => (words::brief(of), inner),
        ExprKind::Method(of, name, inner) => (format!("{}.{name}", words::brief(of)), inner),
        _ => return None,
    };
    let texts = |args: &[Arg]| args.iter().map(words::argument).collect::<Vec<_>>();
    (texts(inner) == texts(&args[1..])).then_some(of)
}

impl Elaborator<'_, '_> {
    /// `grad(f, wrt = 1)`: a function that is a value.
    pub(super) fn make(&mut self, expr: &Expr, maker: Maker, args: &[Arg]) -> Val {
        let name = maker.name();
        let given = args.iter().filter(|arg| arg.name.is_none()).count();
        let first = args.iter().find(|arg| arg.name.is_none());
        if given != 1 {
            let message = format!("`{name}` takes one function, but {} were given", count(given, "argument"));
            let report = Diagnostic::new(Code::WrongArity, expr.place, message);
            let closure = |arg: &&Arg| matches!(arg.value.kind, ExprKind::Closure(_));
            let function = args.iter().find(closure).or(first);
            // `grad(self.u(x), x)`: the function is what is called with the values.
            let called = function.and_then(|arg| called_with(&arg.value, args));
            let shown = called.or(function.map(|arg| words::brief(&arg.value))).unwrap_or("|x| …".into());
            let others = args.iter().filter(|arg| function.is_none_or(|function| !std::ptr::eq(*arg, function)));
            let values: Vec<String> = others.map(|arg| words::brief(&arg.value)).collect();
            let values = if values.is_empty() { "x".into() } else { values.join(", ") };
            self.diags.push(report.help(format!("call what it makes: `{name}({shown})({values})`")));
            return Val::Unknown;
        }
        let of = first.and_then(|arg| self.function(&arg.value));
        let mut wrt = None;
        for arg in args {
            match &arg.name {
                Some(name) if maker.chooses() && name == "wrt" => match self.wrt(&arg.value) {
                    Some(chosen) => wrt = Some(chosen),
                    None => return Val::Unknown,
                },
                Some(other) => {
                    let known = ["wrt"].into_iter().filter(|_| maker.chooses());
                    self.diags.push(attributes::unknown(name, other, known));
                    return Val::Unknown;
                }
                None => {}
            }
        }
        let Some(of) = of else { return Val::Unknown };
        let text = words::brief(expr);
        let made = self.compose(maker, of, wrt, &text, expr.place);
        Val::Function(made)
    }

    /// Products with Hessians and Hessians are made of first derivatives.
    fn compose(&self, maker: Maker, of: Rc<Function>, wrt: Option<Wrt>, text: &str, place: Place) -> Rc<Function> {
        let of = match maker {
            Maker::Hvp | Maker::Hessian => self.compose(Maker::Grad, of, wrt.clone(), text, place),
            Maker::Map | Maker::Grad | Maker::ValueAndGrad | Maker::Jvp | Maker::Vjp | Maker::Jacobian => of,
        };
        let derived = Derived { maker, of, wrt, text: text.to_owned() };
        Rc::new(Function { what: Callable::Derived(Rc::new(derived)), text: text.to_owned(), place })
    }

    fn wrt(&mut self, expr: &Expr) -> Option<Wrt> {
        match self.expr(expr) {
            Val::Static(Attr::List(items)) => {
                let numbers = items.into_iter().map(|item| self.index_of(Val::Static(item), expr));
                Some(Wrt::Several(numbers.collect::<Option<_>>()?))
            }
            Val::Tuple(items) => {
                let inner: Vec<&Expr> = match &expr.kind {
                    ExprKind::Tuple(inner) | ExprKind::List(inner) => inner.iter().collect(),
                    _ => vec![expr; items.len()],
                };
                let choices = items.into_iter().zip(inner).map(|(item, expr)| self.index_of(item, expr));
                Some(Wrt::Several(choices.collect::<Option<_>>()?))
            }
            value => Some(Wrt::One(self.index_of(value, expr)?)),
        }
    }

    fn index_of(&mut self, value: Val, expr: &Expr) -> Option<Choice> {
        match value {
            Val::Tensor(tensor) => Some(Choice::Captured(tensor, words::brief(expr), expr.place)),
            Val::Static(Attr::Int(n)) if n.as_const().is_some_and(|n| n >= 0) => {
                n.as_const().and_then(|n| usize::try_from(n).ok()).map(Choice::Argument)
            }
            Val::Unknown => None,
            Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                let message = format!("`{}` is neither the number of an argument nor a parameter", words::brief(expr));
                let report = Diagnostic::new(Code::WrongAttribute, expr.place, message);
                self.diags.push(report.help("write `wrt = 0` for the first argument, or `wrt = self.layer.weight`"));
                None
            }
        }
    }

    /// A call of a function that is made of another.
    pub(super) fn derived(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        match derived.maker {
            Maker::Map => self.mapped(expr, derived, args),
            Maker::Grad | Maker::ValueAndGrad | Maker::Jacobian | Maker::Hessian => {
                self.differentiated(expr, derived, args)
            }
            Maker::Jvp => self.pushed(expr, derived, args).map_or(Val::Unknown, Val::Tuple),
            Maker::Vjp => self.pulled(expr, derived, args),
            Maker::Hvp => match self.pushed(expr, derived, args).as_deref() {
                Some([_, product]) => product.clone(),
                _ => Val::Unknown,
            },
        }
    }

    fn mapped(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        let Some(inner) = self.inner(expr, derived, args, &[]) else { return Val::Unknown };
        if inner.start.is_empty() {
            let message = format!("`{}` has nothing to map over", derived.text);
            let report = Diagnostic::new(Code::WrongArity, expr.place, message);
            self.diags.push(report.help(format!("give it what to map over: `{}(x)`", derived.text)));
            return Val::Unknown;
        }
        let mut result = inner.result.clone();
        let how = How::Map { mapped: inner.start.len() };
        let results = self.transform(expr, derived, inner, how, vec![]);
        replace(&mut result, &mut results.into_iter());
        result
    }

    /// The value and its derivative in a direction: `jvp(f)(x, v)`, or tuples of arguments and directions.
    fn pushed(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Option<Vec<Val>> {
        let Ok([point, direction]) = <[Argument; 2]>::try_from(args) else {
            let several = self.arity(&derived.of).is_some_and(|n| n > 1);
            let (text, usage) = (&derived.text, if several { "(x, y), (dx, dy)" } else { "x, dx" });
            let message = format!("`{text}` takes a point and a direction");
            let report = Diagnostic::new(Code::WrongArity, expr.place, message);
            self.diags.push(report.help(format!("call it as `{text}({usage})`")));
            return None;
        };
        let tangent = self.materialise(direction.value, &direction.text, direction.place);
        let mut tangents = vec![];
        leaves(&tangent, &mut tangents);
        let args = self.points(derived, point);
        let inner = self.inner(expr, derived, args, &[])?;
        if tangents.len() != inner.start.len() {
            let (text, n) = (&direction.text, inner.start.len());
            let message = format!("`{text}` has {}, but there are {n} to go along", count(tangents.len(), "direction"));
            self.diags.push(Diagnostic::new(Code::TupleLength, direction.place, message));
            return None;
        }
        let how = How::Jvp { wrt: tangents.len() };
        let (mut value, mut pushed) = (inner.result.clone(), inner.result.clone());
        let mut extra = vec![(direction.text, direction.place); tangents.len()];
        let tangents = tangents.into_iter().zip(extra.drain(..)).map(|(t, site)| (self.reach(t), site)).collect();
        let mut results = self.transform(expr, derived, inner, how, tangents).into_iter();
        replace(&mut value, &mut results);
        replace(&mut pushed, &mut results);
        Some(vec![value, pushed])
    }

    /// The arguments of a function of several: a tuple of them.
    pub(super) fn points(&mut self, derived: &Derived, point: Argument) -> Vec<Argument> {
        let several = self.arity(&derived.of).filter(|n| *n > 1);
        let place = point.place;
        match point.value {
            Val::Tuple(items) if several == Some(items.len()) => {
                let one = |value| Argument { name: None, value, text: point.text.clone(), place, written: place };
                items.into_iter().map(one).collect()
            }
            value => vec![Argument { value, ..point }],
        }
    }

    /// `stop_gradient(x)`: each tensor of the argument, through which no derivative flows.
    pub(super) fn stop_gradient(&mut self, expr: &Expr, args: Vec<Argument>) -> Val {
        let given = args.len();
        let Ok([arg]) = <[Argument; 1]>::try_from(args) else {
            let message = format!("`stop_gradient` takes 1 argument, but {given} were given");
            let report = Diagnostic::new(Code::WrongArity, expr.place, message);
            self.diags.push(report.help("call it as `stop_gradient(x)`"));
            return Val::Unknown;
        };
        let mut value = self.materialise(arg.value, &arg.text, arg.place);
        let mut tensors = vec![];
        leaves(&value, &mut tensors);
        let stop = |t: &Tensor| self.push(Kind::StopGradient, &[*t], None, expr.place);
        let stopped: Vec<Tensor> = tensors.iter().map(stop).collect();
        replace(&mut value, &mut stopped.into_iter());
        value
    }

    /// Reports a function where a value is needed.
    pub(super) fn not_called(&mut self, function: &Function, place: Place) {
        let text = &function.text;
        let message = format!("`{text}` is a function, not a tensor");
        self.diags.push(Diagnostic::new(Code::NotATensor, place, message).help(format!("call it: `{text}(x)`")));
    }
}
