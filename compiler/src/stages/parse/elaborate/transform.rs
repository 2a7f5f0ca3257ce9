//! `map`, `grad` and their kin: a function in, the function that maps or differentiates it out, and its
//! calls, whose bodies are graphs of their own.

use super::super::ast::*;
use super::super::attributes;
use super::super::instance::count;
use super::super::words;
use super::callable::{Callable, Function};
use super::graph::site_of;
use super::loops::{leaves, replace};
use super::{Argument, Elaborator, Frame, Tensor, Val};
use crate::diag::{Diagnostic, Place};
use crate::ir::transform::{How, Transform};
use crate::ir::written::{Made, Site, What};
use crate::ir::{Graph, Kind, Value, Written};
use crate::ops::Attr;
use std::rc::Rc;

/// What is made of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Maker {
    Map,
    Grad,
    ValueAndGrad,
    Jvp,
    Hvp,
    Jacobian,
    Hessian,
}

impl Maker {
    pub(super) const ALL: [Maker; 7] =
        [Maker::Map, Maker::Grad, Maker::ValueAndGrad, Maker::Jvp, Maker::Hvp, Maker::Jacobian, Maker::Hessian];

    /// The name in the language.
    pub(super) fn name(self) -> &'static str {
        match self {
            Maker::Map => "map",
            Maker::Grad => "grad",
            Maker::ValueAndGrad => "value_and_grad",
            Maker::Jvp => "jvp",
            Maker::Hvp => "hvp",
            Maker::Jacobian => "jacobian",
            Maker::Hessian => "hessian",
        }
    }

    /// Whether `wrt` chooses what it differentiates by.
    fn chooses(self) -> bool {
        match self {
            Maker::Grad | Maker::ValueAndGrad | Maker::Jacobian | Maker::Hessian => true,
            Maker::Map | Maker::Jvp | Maker::Hvp => false,
        }
    }
}

/// A function made of another.
#[derive(Clone, Debug)]
pub(super) struct Derived {
    maker: Maker,
    pub(super) of: Rc<Function>,
    /// What it is differentiated by; every argument where the user does not choose.
    wrt: Option<Wrt>,
    text: String,
}

/// The choice of `wrt`.
#[derive(Clone, Debug)]
enum Wrt {
    /// An argument by its number, or a value that the function sees, with its text.
    One(Choice),
    Several(Vec<Choice>),
}

#[derive(Clone, Debug)]
enum Choice {
    Argument(usize),
    Captured(Tensor, String, Place),
}

impl Elaborator<'_, '_> {
    /// `grad(f, wrt = 1)`: a function that is a value.
    pub(super) fn make(&mut self, expr: &Expr, maker: Maker, args: &[Arg]) -> Val {
        let name = maker.name();
        let given = args.iter().filter(|arg| arg.name.is_none()).count();
        let first = args.iter().find(|arg| arg.name.is_none());
        let of = first.and_then(|arg| self.function(&arg.value));
        if given != 1 {
            let message = format!("`{name}` takes one function, but {} were given", count(given, "argument"));
            let report = Diagnostic::new("wrong-arity", expr.place, message);
            let shown = first.map_or("|x| …".into(), |arg| words::brief(&arg.value));
            let values: Vec<String> = args.iter().skip(1).map(|arg| words::brief(&arg.value)).collect();
            let values = if values.is_empty() { "x".into() } else { values.join(", ") };
            self.diags.push(report.help(format!("call what it makes: `{name}({shown})({values})`")));
            return Val::Unknown;
        }
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
            Maker::Map | Maker::Grad | Maker::ValueAndGrad | Maker::Jvp | Maker::Jacobian => of,
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
                let report = Diagnostic::new("wrong-attribute", expr.place, message);
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
            Maker::Hvp => match self.pushed(expr, derived, args).as_deref() {
                Some([_, product]) => product.clone(),
                _ => Val::Unknown,
            },
        }
    }

    fn mapped(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        let Some(opened) = self.open(expr, derived, args, &[]) else { return Val::Unknown };
        if opened.start.is_empty() {
            let message = format!("`{}` has nothing to map over", derived.text);
            let report = Diagnostic::new("wrong-arity", expr.place, message);
            self.diags.push(report.help(format!("give it what to map over: `{}(x)`", derived.text)));
            return Val::Unknown;
        }
        let mut result = opened.result.clone();
        let how = How::Map { mapped: opened.start.len() };
        let results = self.transform(expr, derived, opened, how, vec![]);
        replace(&mut result, &mut results.into_iter());
        result
    }

    /// Gradients and Jacobians by arguments and captured values.
    fn differentiated(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        let all = || match args.len() {
            1 => Wrt::One(Choice::Argument(0)),
            n => Wrt::Several((0..n).map(Choice::Argument).collect()),
        };
        let wrt = derived.wrt.clone().unwrap_or_else(all);
        let (choices, single) = match wrt {
            Wrt::One(choice) => (vec![choice], true),
            Wrt::Several(choices) => (choices, false),
        };
        for choice in &choices {
            let Choice::Argument(k) = choice else { continue };
            if *k >= args.len() {
                let given = count(args.len(), "argument");
                let message = format!("`{}` is called with {given}, so there is none of number {k}", derived.text);
                let report = Diagnostic::new("wrong-attribute", expr.place, message);
                self.diags.push(report.note("arguments are counted from 0"));
                return Val::Unknown;
            }
        }
        // The leaves of each argument, as a range of the inputs.
        let mut ranges = vec![];
        let mut templates = vec![];
        let mut end = 0;
        for arg in &args {
            let mut found = vec![];
            let value = self.materialise(arg.value.clone(), &arg.text, arg.place);
            leaves(&value, &mut found);
            ranges.push(end..end + found.len());
            templates.push(value);
            end += found.len();
        }
        let captured: Vec<(Tensor, String, Place)> = choices
            .iter()
            .filter_map(|choice| match choice {
                Choice::Captured(tensor, text, place) => Some((*tensor, text.clone(), *place)),
                Choice::Argument(_) => None,
            })
            .collect();
        let given = args.into_iter().zip(&templates).map(|(arg, value)| Argument { value: value.clone(), ..arg });
        let Some(opened) = self.open(expr, derived, given.collect(), &captured) else { return Val::Unknown };
        let mut found = vec![];
        leaves(&opened.result, &mut found);
        if !matches!(opened.result, Val::Tensor(_)) {
            let (what, text) = (derived.maker.name(), &derived.of.text);
            let message = format!("`{what}` needs a function of one result, but `{text}` gives {}", found.len());
            let report = Diagnostic::new("non-scalar-gradient", derived.of.place, message);
            let advice = match derived.maker {
                Maker::Hessian => "differentiate by one argument: `wrt = 0`",
                _ => "let it give one of them",
            };
            self.diags.push(report.help(advice));
            return Val::Unknown;
        }
        let mut seen = opened.seen.iter();
        let (mut wrt, mut shapes) = (vec![], vec![]);
        for choice in &choices {
            match choice {
                Choice::Argument(k) => {
                    wrt.extend(ranges[*k].clone());
                    shapes.push(templates[*k].clone());
                }
                Choice::Captured(tensor, ..) => {
                    wrt.extend(seen.next());
                    shapes.push(Val::Tensor(*tensor));
                }
            }
        }
        let value = derived.maker == Maker::ValueAndGrad;
        let how = match derived.maker {
            Maker::Jacobian | Maker::Hessian => How::Jacobian { wrt },
            _ => How::Gradient { wrt, value },
        };
        let mut results = self.transform(expr, derived, opened, how, vec![]).into_iter();
        let value = value.then(|| results.next()).flatten();
        shapes.iter_mut().for_each(|shape| replace(shape, &mut results));
        let gradients = match (single, shapes.pop()) {
            (true, Some(only)) => only,
            (_, last) => Val::Tuple(shapes.into_iter().chain(last).collect()),
        };
        match value {
            Some(value) => Val::Tuple(vec![Val::Tensor(value), gradients]),
            None => gradients,
        }
    }

    /// The value and its derivative in a direction: `jvp(f)(x, v)`, or tuples of arguments and directions.
    fn pushed(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Option<Vec<Val>> {
        let Ok([point, direction]) = <[Argument; 2]>::try_from(args) else {
            let several = self.arity(&derived.of).is_some_and(|n| n > 1);
            let (text, usage) = (&derived.text, if several { "(x, y), (dx, dy)" } else { "x, dx" });
            let message = format!("`{text}` takes a point and a direction");
            let report = Diagnostic::new("wrong-arity", expr.place, message);
            self.diags.push(report.help(format!("call it as `{text}({usage})`")));
            return None;
        };
        let tangent = self.materialise(direction.value, &direction.text, direction.place);
        let mut tangents = vec![];
        leaves(&tangent, &mut tangents);
        let place = point.place;
        let several = self.arity(&derived.of).filter(|n| *n > 1);
        let args = match point.value {
            Val::Tuple(items) if several == Some(items.len()) => {
                let one = |value| Argument { name: None, value, text: point.text.clone(), place };
                items.into_iter().map(one).collect()
            }
            value => vec![Argument { value, ..point }],
        };
        let opened = self.open(expr, derived, args, &[])?;
        if tangents.len() != opened.start.len() {
            let (text, n) = (&direction.text, opened.start.len());
            let message = format!("`{text}` has {}, but there are {n} to go along", count(tangents.len(), "direction"));
            self.diags.push(Diagnostic::new("tuple-length", direction.place, message));
            return None;
        }
        let how = How::Jvp { wrt: tangents.len() };
        let (mut value, mut pushed) = (opened.result.clone(), opened.result.clone());
        let mut extra = vec![(direction.text, direction.place); tangents.len()];
        let tangents = tangents.into_iter().zip(extra.drain(..)).map(|(t, site)| (self.reach(t), site)).collect();
        let mut results = self.transform(expr, derived, opened, how, tangents).into_iter();
        replace(&mut value, &mut results);
        replace(&mut pushed, &mut results);
        Some(vec![value, pushed])
    }

    /// The function's body in a graph of its own, with an input for each tensor of the arguments. `captured`
    /// are values around it that it must use. `None` after a report.
    fn open(
        &mut self,
        expr: &Expr,
        derived: &Derived,
        args: Vec<Argument>,
        captured: &[(Tensor, String, Place)],
    ) -> Option<Opened> {
        let mut before = vec![];
        let mut sites = vec![];
        let mut given = vec![];
        for arg in args {
            let value = self.materialise(arg.value, &arg.text, arg.place);
            let first = before.len();
            leaves(&value, &mut before);
            sites.extend(vec![(arg.text.clone(), arg.place); before.len() - first]);
            given.push(Argument { value, ..arg });
        }
        let start: Vec<Value> = before.iter().map(|&t| self.reach(t)).collect();
        let outside: Vec<Value> = captured.iter().map(|(t, ..)| self.reach(*t)).collect();
        let frame = self.frames.len();
        self.frames.push(Frame::default());
        let input = |(k, (_, place)): (usize, &(String, Place))| {
            let value = self.frames[frame].graph.push(Kind::Input(k), vec![], None, place.first);
            Tensor { frame, value }
        };
        let inputs: Vec<Tensor> = sites.iter().enumerate().map(input).collect();
        let mut inputs = inputs.into_iter();
        given.iter_mut().for_each(|arg| replace(&mut arg.value, &mut inputs));
        let result = self.apply(expr, &derived.of, given);
        let text = &derived.of.text;
        let result = self.materialise(result, text, derived.of.place);
        let mut outputs = vec![];
        leaves(&result, &mut outputs);
        let known = is_known(&result) && !outputs.is_empty();
        let outputs: Vec<Value> = outputs.into_iter().map(|t| self.reach(t)).collect();
        let Some(mut frame) = self.frames.pop() else {
            unreachable!("the body's graph is open");
        };
        self.only_read(&mut frame, text);
        let Frame { mut graph, invariants, .. } = frame;
        if !known {
            return None;
        }
        for (k, (_, inner)) in invariants.iter().enumerate() {
            graph.node_mut(*inner).kind = Kind::Input(start.len() + k);
        }
        graph.outputs = outputs;
        let mut seen = vec![];
        for (value, (_, name, place)) in outside.iter().zip(captured) {
            match invariants.iter().position(|(outer, _)| outer == value) {
                Some(k) => seen.push(start.len() + k),
                None => {
                    let message = format!("`{text}` does not use `{name}`, so there is no derivative by it");
                    self.diags.push(Diagnostic::new("unused-derivative", *place, message));
                    return None;
                }
            }
        }
        let captured = invariants.iter().map(|(outer, _)| *outer).collect();
        Some(Opened { graph, result, start, sites, captured, seen })
    }

    /// Appends the transform; gives its results.
    fn transform(
        &mut self,
        expr: &Expr,
        derived: &Derived,
        opened: Opened,
        how: How,
        tangents: Vec<(Value, (String, Place))>,
    ) -> Vec<Tensor> {
        let inner = opened.graph.outputs.len();
        let results = match &how {
            How::Map { .. } => inner,
            How::Gradient { wrt, value } => wrt.len() + usize::from(*value),
            How::Jvp { .. } => 2 * inner,
            How::Jacobian { wrt } => wrt.len(),
        };
        let mut sites = opened.sites;
        let directions = tangents.iter().map(|(_, site)| site.clone());
        let arguments = opened.start.len();
        let mut args: Vec<Value> = opened.start.into_iter().chain(opened.captured).collect();
        sites.extend(directions);
        args.extend(tangents.iter().map(|(value, _)| *value));
        let what = What::Transform(Box::new(Made {
            transform: Transform { how, body: opened.graph },
            arguments,
            maker: derived.maker.name(),
            function: derived.of.text.clone(),
            place: derived.of.place,
        }));
        let site = Site { args: sites, ..site_of(expr) };
        let frame = self.frames.len() - 1;
        let place = expr.place.first;
        let kind = Kind::Written(Box::new(Written { what, site, via: self.diags.entered() }));
        let node = self.top().graph.push(kind, args, None, place);
        if results == 1 {
            return vec![Tensor { frame, value: node }];
        }
        let graph = &mut self.top().graph;
        (0..results).map(|k| Tensor { frame, value: graph.push(Kind::Result(k), vec![node], None, place) }).collect()
    }

    /// `stop_gradient(x)`: each tensor of the argument, through which no derivative flows.
    pub(super) fn stop_gradient(&mut self, expr: &Expr, args: Vec<Argument>) -> Val {
        let given = args.len();
        let Ok([arg]) = <[Argument; 1]>::try_from(args) else {
            let message = format!("`stop_gradient` takes 1 argument, but {given} were given");
            let report = Diagnostic::new("wrong-arity", expr.place, message);
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
        self.diags.push(Diagnostic::new("not-a-tensor", place, message).help(format!("call it: `{text}(x)`")));
    }
}

/// Whether every part of a value is a tensor.
fn is_known(value: &Val) -> bool {
    match value {
        Val::Tensor(_) => true,
        Val::Tuple(items) => items.iter().all(is_known),
        Val::Struct(_, fields) => fields.iter().all(|(_, value)| is_known(value)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => false,
    }
}

/// A body that was built.
struct Opened {
    graph: Graph,
    /// The function's result, of tensors of the body.
    result: Val,
    /// The tensors of the arguments, in the graph around it.
    start: Vec<Value>,
    /// The text and place of the argument of each.
    sites: Vec<(String, Place)>,
    /// What the body sees of the graph around it: the inputs behind those of the arguments.
    captured: Vec<Value>,
    /// Which inputs the captured values are that were asked for.
    seen: Vec<usize>,
}
