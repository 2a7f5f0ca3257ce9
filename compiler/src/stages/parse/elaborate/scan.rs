//! `scan`, `scan_with_state` and `fold`: a closure that runs once for each slice of a tensor along an axis.
//!
//! The call becomes a region: the leaves of the state are carried, slices of the tensors are stacked, captured
//! values are invariants. How often it runs and what `zeros` is follow from types, which shape finds.

use super::super::ast::*;
use super::super::attributes;
use super::super::words;
use super::graph::plain_site;
use super::loops::{assigned_in, declare, leaves, replace};
use super::{Elaborator, Frame, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::written::{Role, Site, What};
use crate::ir::{Dim, Kind, Memory, Value};
use crate::ops::{self, Signature};
use proc_macro2::Ident;

/// What a call gives.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// What every step gives, stacked.
    Scan,
    /// That, and the last state.
    WithState,
    /// The last state.
    Fold,
}

impl Form {
    /// The form of that name.
    pub(super) fn of(name: &Ident) -> Option<Form> {
        Some(match name.to_string().as_str() {
            "scan" => Form::Scan,
            "scan_with_state" => Form::WithState,
            "fold" => Form::Fold,
            _ => return None,
        })
    }

    fn usage(self) -> &'static str {
        match self {
            Form::Scan => "scan(x, axis = 1, from = zeros, |state, x| { …; (state, y) })",
            Form::WithState => "scan_with_state(x, axis = 1, from = zeros, |state, x| { …; (state, y) })",
            Form::Fold => "fold(x, axis = 1, from = zeros, |state, x| { …; state })",
        }
    }
}

/// The arguments of a call, told apart.
struct Parts<'a> {
    over: &'a Expr,
    closure: &'a Closure,
    from: &'a Expr,
    axis: i64,
    reverse: bool,
}

/// A value with the text and the place of its expression.
struct Given {
    value: Val,
    text: String,
    place: Place,
}

impl Elaborator<'_, '_> {
    pub(super) fn scan(&mut self, form: Form, expr: &Expr, name: &Ident, args: &[Arg]) -> Val {
        let Some(parts) = self.scan_parts(form, expr, name, args) else {
            return Val::Unknown;
        };
        let (state, item) = (&parts.closure.params[0], &parts.closure.params[1]);
        self.calls += 1;
        let steps = Dim::name(format!("{name}#{}", self.calls));
        let over = Given { value: self.expr(parts.over), ..Given::plain(parts.over) };
        let Some(over) = self.unstack(over, parts.over, parts.axis, &steps) else {
            return Val::Unknown;
        };
        let from = Given { value: self.initial(parts.from, Some(&state.0)), ..Given::plain(parts.from) };
        let Some(start) = self.tensors(from) else {
            return Val::Unknown;
        };
        let (mut before, mut slices) = (vec![], vec![]);
        leaves(&start, &mut before);
        leaves(&over, &mut slices);
        let Some(&along) = slices.first() else {
            let message = format!("`{name}` has no tensor to step along");
            self.diags.push(Diagnostic::new(Code::NotATensor, parts.over.place, message));
            return Val::Unknown;
        };
        let before: Vec<Value> = before.into_iter().map(|t| self.reach(t)).collect();
        let slices: Vec<Value> = slices.into_iter().map(|t| self.reach(t)).collect();
        let frame = self.frames.len();
        self.frames.push(Frame::default());
        let carried = (0..before.len()).map(|k| self.input(k, parts.from.place)).collect::<Vec<_>>();
        let slices = slices.into_iter().map(|v| Tensor { frame, value: self.import(frame, v, true) });
        let (slices, mut inner, mut each) = (slices.collect::<Vec<_>>(), start.clone(), over);
        replace(&mut inner, &mut carried.iter().copied());
        replace(&mut each, &mut slices.into_iter());
        self.scope().locals.push(Default::default());
        self.parameter_of(name, state, inner, parts.from);
        self.parameter_of(name, item, each, parts.over);
        let result = self.expr(&parts.closure.body);
        let result = self.step_result(form, &start, result, &parts);
        self.scope().locals.pop();
        self.forget_assigned(name, parts.closure);
        let Some((mut state, mut y)) = result else {
            self.frames.pop();
            return Val::Unknown;
        };
        let mut outputs = vec![];
        leaves(&state, &mut outputs);
        leaves(&y, &mut outputs);
        let outputs: Vec<Value> = outputs.into_iter().map(|t| self.reach(t)).collect();
        let results = self.finish_region(before, outputs, (steps, parts.reverse, Memory::default()), expr.place);
        let mut results = results.into_iter();
        replace(&mut state, &mut results);
        let stacks: Vec<Tensor> = results.map(|stack| self.restack(stack, along, parts.axis, expr)).collect();
        replace(&mut y, &mut stacks.into_iter());
        match form {
            Form::Scan => y,
            Form::WithState => Val::Tuple(vec![y, state]),
            Form::Fold => state,
        }
    }

    fn scan_parts<'a>(&mut self, form: Form, expr: &Expr, name: &Ident, args: &'a [Arg]) -> Option<Parts<'a>> {
        let (mut positional, mut axis, mut from, mut reverse) = (vec![], None, None, None);
        for arg in args {
            let slot = match &arg.name {
                None => {
                    positional.push(&arg.value);
                    continue;
                }
                Some(given) if given == "axis" => &mut axis,
                Some(given) if given == "from" => &mut from,
                Some(given) if given == "reverse" => &mut reverse,
                Some(given) => {
                    let report = attributes::unknown(&name.to_string(), given, ["axis", "from", "reverse"]);
                    self.diags.push(report);
                    return None;
                }
            };
            if slot.replace(&arg.value).is_some() {
                let message = format!("`{name}` is given `{}` twice", words::full(&arg.value));
                self.diags.push(Diagnostic::new(Code::DuplicateAttribute, arg.value.place, message));
                return None;
            }
        }
        let from = from.or_else(|| self.state_without_name(&mut positional));
        let usage = format!("call it as `{}`", form.usage());
        let [over, closure] = positional[..] else {
            let message = format!("`{name}` takes a tensor and a closure, but {} were given", positional.len());
            self.diags.push(Diagnostic::new(Code::WrongArity, expr.place, message).help(usage));
            return None;
        };
        let ExprKind::Closure(closure) = &closure.kind else {
            let message = format!("`{}` is no closure, which `{name}` runs once for each slice", words::brief(closure));
            self.diags.push(Diagnostic::new(Code::BadExpression, closure.place, message).help(usage));
            return None;
        };
        if closure.params.len() != 2 {
            let n = closure.params.len();
            let message = format!("the closure of `{name}` takes the state and a slice, but it declares {n}");
            self.diags.push(Diagnostic::new(Code::WrongArity, positional[1].place, message).help(usage));
            return None;
        }
        let Some(from) = from else {
            let message = format!("`{name}` needs the state of the first step");
            let report = Diagnostic::new(Code::MissingAttribute, expr.place, message);
            self.diags.push(report.help("add `from = zeros`, or the state itself"));
            return None;
        };
        let axis = axis.map_or(Some(0), |axis| self.axis(axis))?;
        let reverse = reverse.map_or(Some(false), |reverse| self.flag(reverse))?;
        Some(Parts { over, closure, from, axis, reverse })
    }

    /// The first state, where it stands beside a closure without its name, which is reported.
    fn state_without_name<'a>(&mut self, positional: &mut Vec<&'a Expr>) -> Option<&'a Expr> {
        let is_closure = |expr: &Expr| matches!(expr.kind, ExprKind::Closure(_));
        let at = match positional[..] {
            [_, one, other] if is_closure(other) && !is_closure(one) => 1,
            [_, one, other] if is_closure(one) && !is_closure(other) => 2,
            _ => return None,
        };
        let state = positional.remove(at);
        let report = Diagnostic::new(Code::WrongArity, state.place, "the state of the first step has the name `from`");
        self.diags.push(report.help(format!("write `from = {}`", words::full(state))));
        Some(state)
    }

    /// A number that is known; `None` after a report.
    fn axis(&mut self, given: &Expr) -> Option<i64> {
        let axis = self.number(given)?.as_const();
        if axis.is_none() {
            let message = format!("`{}` is not known at build time", words::brief(given));
            self.diags.push(Diagnostic::new(Code::DynamicValue, given.place, message));
        }
        axis
    }

    /// A truth value that is known; `None` after a report.
    fn flag(&mut self, given: &Expr) -> Option<bool> {
        match self.expr(given) {
            Val::Static(Attr::Bool(flag)) => Some(flag),
            Val::Unknown => None,
            _ => {
                let message = format!("`{}` is neither true nor false", words::brief(given));
                self.diags.push(Diagnostic::new(Code::WrongAttribute, given.place, message));
                None
            }
        }
    }

    /// The first state: `zeros` by itself stands for zeros of the type that the body asks for.
    fn initial(&mut self, expr: &Expr, pat: Option<&Pat>) -> Val {
        match (&expr.kind, pat) {
            (ExprKind::Tuple(items), Some(Pat::Tuple(pats, _))) if items.len() == pats.len() => {
                Val::Tuple(items.iter().zip(pats).map(|(item, pat)| self.initial(item, Some(pat))).collect())
            }
            (ExprKind::Tuple(items), _) => Val::Tuple(items.iter().map(|item| self.initial(item, None)).collect()),
            (ExprKind::Name(name), Some(Pat::Tuple(pats, _))) if name == "zeros" && self.local("zeros").is_none() => {
                Val::Tuple(pats.iter().map(|pat| self.initial(expr, Some(pat))).collect())
            }
            (ExprKind::Name(name), _) if name == "zeros" && self.local("zeros").is_none() => {
                Val::Tensor(self.write(What::Zeros, plain_site("zeros", expr.place), &[]))
            }
            _ => self.expr(expr),
        }
    }

    /// The value with its numbers as tensors; `None` where something is unknown or no tensor.
    fn tensors(&mut self, given: Given) -> Option<Val> {
        let Given { value, text, place } = given;
        Some(match value {
            Val::Tuple(items) => {
                let part = |(k, value): (usize, Val)| Given { value, text: format!("{text}.{k}"), place };
                let items: Vec<_> = items.into_iter().enumerate().map(part).collect();
                Val::Tuple(items.into_iter().map(|item| self.tensors(item)).collect::<Option<_>>()?)
            }
            Val::Struct(name, fields) => {
                let part =
                    |(field, value): (Ident, Val)| (Given { value, text: format!("{text}.{field}"), place }, field);
                let fields: Vec<_> = fields.into_iter().map(part).collect();
                let fields = fields.into_iter().map(|(item, field)| Some((field, self.tensors(item)?)));
                Val::Struct(name, fields.collect::<Option<_>>()?)
            }
            value => Val::Tensor(self.tensor(value, &text, place)?),
        })
    }

    /// The tensors that are stepped along, with that axis first.
    fn unstack(&mut self, given: Given, expr: &Expr, axis: i64, steps: &Dim) -> Option<Val> {
        if let (Val::Tuple(items), ExprKind::Tuple(exprs)) = (&given.value, &expr.kind)
            && items.len() == exprs.len()
        {
            let each = exprs.iter().zip(items).map(|(expr, value)| {
                self.unstack(Given { value: value.clone(), ..Given::plain(expr) }, expr, axis, steps)
            });
            return Some(Val::Tuple(each.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?));
        }
        let (text, place) = (given.text.clone(), given.place);
        let mut value = self.tensors(given)?;
        let mut all = vec![];
        leaves(&value, &mut all);
        let moved: Vec<Tensor> = all
            .into_iter()
            .map(|tensor| {
                let site = Site { args: vec![(text.clone(), place)], ..plain_site(&text, place) };
                self.write(What::Unstack { axis, count: steps.clone() }, site, &[tensor])
            })
            .collect();
        replace(&mut value, &mut moved.into_iter());
        Some(value)
    }

    /// A stacked result with its axis where that of the tensors is.
    fn restack(&mut self, stack: Tensor, along: Tensor, axis: i64, expr: &Expr) -> Tensor {
        let text = words::brief(expr);
        let site = Site { args: vec![(text.clone(), expr.place)], ..plain_site(&text, expr.place) };
        self.write(What::Restack { axis }, site, &[stack, along])
    }

    /// The k-th input of the innermost graph.
    fn input(&mut self, k: usize, place: Place) -> Tensor {
        let frame = self.frames.len() - 1;
        let value = self.top().graph.push(Kind::Input(k), vec![], None, place.first);
        Tensor { frame, value }
    }

    /// Binds a parameter of the closure.
    fn parameter_of(&mut self, callee: &Ident, (pat, ty): &(Pat, Option<TypeExpr>), mut value: Val, from: &Expr) {
        let text = words::pattern_text(pat);
        if let Some(ty) = ty {
            let role = Role::Argument { callee: callee.to_string(), name: text.clone() };
            value = self.fit(value, ty, &role, &words::brief(from), from.place);
        }
        if let (Pat::Name { name, .. }, Val::Tuple(_) | Val::Struct(..)) = (pat, &value) {
            let mut parts = vec![];
            leaves(&value, &mut parts);
            parts.iter().enumerate().for_each(|(k, &part)| self.name(part, &format!("{name}.{k}")));
        }
        self.bind(pat, value, &text);
    }

    /// The next state, in the form of the first one, and what the step gives; `None` after a report.
    fn step_result(&mut self, form: Form, start: &Val, result: Val, parts: &Parts<'_>) -> Option<(Val, Val)> {
        let body = match &parts.closure.body.kind {
            ExprKind::Block(block) => block.tail.as_deref().unwrap_or(&parts.closure.body),
            _ => &parts.closure.body,
        };
        if let ExprKind::Block(block) = &body.kind {
            let report = Diagnostic::new(Code::StepResult, block.close, "the closure ends without a result");
            self.diags.push(report.help("let the last expression stand without `;`"));
            return None;
        }
        let (text, place) = (words::brief(body), body.place);
        if form == Form::Fold {
            // What `scan` takes: the name of one state at the begin of the step, and a pair at its end.
            let one = matches!(parts.closure.params.first(), Some((Pat::Name { .. }, _)));
            if let (true, Val::Tensor(_) | Val::Static(_), ExprKind::Tuple(items)) = (one, start, &body.kind)
                && let [next, _] = &items[..]
            {
                let message = format!("`{text}` is a pair, but the closure of `fold` gives the next state alone");
                let report = Diagnostic::new(Code::StepResult, place, message);
                self.diags.push(report.help(format!("write `{}`", words::full(next))));
                return None;
            }
            let state = self.conform(start, Given { value: result, text, place }, Some(body))?;
            return Some((state, Val::Tuple(vec![])));
        }
        if self.is_one_value(&result) {
            let message = format!("the closure gives `{text}`, not the next state and what the step gives");
            let report = Diagnostic::new(Code::StepResult, place, message);
            let report = report.note("`fold` takes a closure that gives the next state alone");
            self.diags.push(report.help(pair_of(parts.closure, body)));
            return None;
        }
        let mut pair = self.parts(result, 2, &text, place)?.into_iter();
        let (Some(state), Some(y)) = (pair.next(), pair.next()) else {
            unreachable!("a value was taken apart into two");
        };
        let (next, first) = part(Given { value: state, text: text.clone(), place }, Some(body), 0);
        let state = self.conform(start, next, first);
        let y = self.tensors(Given { value: y, text: format!("{text}.1"), place });
        state.zip(y)
    }

    /// Whether a value is none that can be taken apart, as far as that is sure before types are known.
    fn is_one_value(&self, value: &Val) -> bool {
        let tensor = match value {
            Val::Tensor(tensor) => tensor,
            Val::Static(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => return true,
            Val::Tuple(_) | Val::Unknown => return false,
        };
        let written = match &self.frames[tensor.frame].graph.node(tensor.value).kind {
            Kind::Written(written) => written,
            kind => return matches!(kind, Kind::Input(_) | Kind::Param(_) | Kind::State(_)),
        };
        match &written.what {
            What::Call(call) => Signature::of(ops::op_of(call)).results.is_some_and(|results| results.len() == 1),
            What::Index(_) | What::Part { .. } | What::Fit(_) | What::Outcome => true,
            _ => false,
        }
    }

    /// A state in the form of another: as deep a tuple of tensors. `expr` is what gives it, where that stands alone.
    fn conform(&mut self, like: &Val, given: Given, expr: Option<&Expr>) -> Option<Val> {
        let Given { value, text, place } = given;
        match (like, value) {
            (_, Val::Unknown) => None,
            (Val::Tuple(like), value) => {
                let items = self.parts(value, like.len(), &text, place)?.into_iter().enumerate();
                let items = items.map(|(k, value)| part(Given { value, text: text.clone(), place }, expr, k));
                let items = like.iter().zip(items).map(|(like, (item, expr))| self.conform(like, item, expr));
                // All are looked at, so that all mistakes are reported.
                Some(Val::Tuple(items.collect::<Vec<_>>().into_iter().collect::<Option<_>>()?))
            }
            (Val::Struct(name, like), Val::Struct(of, fields)) if *name == of && like.len() == fields.len() => {
                let fields = like.iter().zip(fields).map(|((field, like), (_, value))| {
                    let item = Given { value, text: format!("{text}.{field}"), place };
                    Some((field.clone(), self.conform(like, item, None)?))
                });
                Some(Val::Struct(name.clone(), fields.collect::<Option<_>>()?))
            }
            (_, Val::Tuple(items)) if !matches!(like, Val::Struct(..)) => {
                let message = format!("the state is one tensor when a step begins, but {} when it ends", items.len());
                let report = Diagnostic::new(Code::CarriedTypeChanges, place, message);
                let zeros = vec!["zeros"; items.len()].join(", ");
                self.diags.push(report.help(format!("begin with as many: `from = ({zeros})`")));
                None
            }
            (_, value) => {
                let tensor = self.tensor(value, &text, place)?;
                // What it is as a state is told where the closure gives it, not where it was computed.
                let site = Site { args: vec![(text.clone(), place)], ..plain_site(&text, place) };
                Some(Val::Tensor(self.write(What::Outcome, site, &[tensor])))
            }
        }
    }

    /// Reports variables outside of the closure that it assigns; their values would be those of one step.
    fn forget_assigned(&mut self, callee: &Ident, closure: &Closure) {
        let (mut own, mut names) = (vec![], vec![]);
        closure.params.iter().for_each(|(pat, _)| declare(pat, &mut own));
        assigned_in(&closure.body, &own, &mut names);
        for name in names {
            let Some(local) = self.local(&name) else { continue };
            local.value = Val::Unknown;
            let message = format!("the closure of `{callee}` assigns `{name}`, which lives outside of it");
            let report = Diagnostic::new(Code::CapturedAssignment, closure.body.place, message);
            self.diags.push(report.help(format!("make `{name}` a part of the state")));
        }
    }
}

/// What a closure ends with whose body gives one value: where the state is one value, too, the step gives that.
fn pair_of(closure: &Closure, body: &Expr) -> String {
    let (state, text) = (words::pattern_text(&closure.params[0].0), words::full(body));
    match (&closure.params[0].0, &body.kind, &closure.body.kind) {
        (Pat::Name { .. }, ExprKind::Name(name), _) => format!("write `({name}, {name})`"),
        (Pat::Name { .. }, _, _) if text.contains('…') => format!("end it with `({state}, y)`"),
        (Pat::Name { .. }, _, ExprKind::Block(_)) => format!("write `let {state} = {text}; ({state}, {state})`"),
        (Pat::Name { .. }, _, _) => format!("write `{{ let {state} = {text}; ({state}, {state}) }}`"),
        (Pat::Tuple(..), ..) => format!("end it with `({state}, y)`, where `y` is what the step gives"),
        (Pat::Ignore(_), ..) => "end it with `(state, y)`".to_owned(),
    }
}

/// The k-th part of what an expression gives, and the expression of that part alone where one stands there.
fn part(whole: Given, expr: Option<&Expr>, k: usize) -> (Given, Option<&Expr>) {
    match expr.map(|expr| &expr.kind) {
        Some(ExprKind::Tuple(items)) if k < items.len() => {
            (Given { value: whole.value, ..Given::plain(&items[k]) }, Some(&items[k]))
        }
        _ => (Given { text: format!("{}.{k}", whole.text), ..whole }, None),
    }
}

impl Given {
    fn plain(expr: &Expr) -> Given {
        Given { value: Val::Unknown, text: words::brief(expr), place: expr.place }
    }
}
