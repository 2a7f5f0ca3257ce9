//! Calls of gradients and Jacobians: which arguments and captured values they are taken by, and the form of
//! what they give.

use super::super::ast::Expr;
use super::super::instance::count;
use super::inner::Inner;
use super::loops::{leaves, replace};
use super::transform::{Choice, Derived, Maker, Wrt};
use super::{Argument, Elaborator, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::transform::How;

impl Elaborator<'_, '_> {
    /// Derivatives by arguments and captured values, each in the form of what it is taken by.
    pub(super) fn differentiated(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        let (choices, single) = choices(derived, args.len());
        if !self.check_choices(expr, derived, &choices, args.len()) {
            return Val::Unknown;
        }
        let captured: Vec<(Tensor, String, Place)> = choices.iter().filter_map(captured).collect();
        let Some(inner) = self.inner(expr, derived, args, &captured) else { return Val::Unknown };
        if !self.check_result(derived, &inner) {
            return Val::Unknown;
        }
        let (wrt, mut forms) = wanted(&choices, &inner);
        let value = derived.maker == Maker::ValueAndGrad;
        let how = match derived.maker {
            Maker::Jacobian | Maker::Hessian => How::Jacobian { wrt },
            Maker::Grad | Maker::ValueAndGrad | Maker::Map | Maker::Jvp | Maker::Vjp | Maker::Hvp => {
                How::Gradient { wrt, value }
            }
        };
        let mut results = self.transform(expr, derived, inner, how, vec![]).into_iter();
        let value = value.then(|| results.next()).flatten();
        forms.iter_mut().for_each(|form| replace(form, &mut results));
        let derivatives = match (single, forms.pop()) {
            (true, Some(only)) => only,
            (_, last) => Val::Tuple(forms.into_iter().chain(last).collect()),
        };
        match value {
            Some(value) => Val::Tuple(vec![Val::Tensor(value), derivatives]),
            None => derivatives,
        }
    }

    /// The value and its derivatives weighted by a cotangent: `vjp(f)(x, g)`, or tuples of arguments and cotangents.
    pub(super) fn pulled(&mut self, expr: &Expr, derived: &Derived, args: Vec<Argument>) -> Val {
        let Ok([point, weight]) = <[Argument; 2]>::try_from(args) else {
            let several = self.arity(&derived.of).is_some_and(|n| n > 1);
            let (text, usage) = (&derived.text, if several { "(x, y), g" } else { "x, g" });
            let message = format!("`{text}` takes a point and a cotangent of what the function gives");
            let report = Diagnostic::new(Code::WrongArity, expr.place, message);
            self.diags.push(report.help(format!("call it as `{text}({usage})`")));
            return Val::Unknown;
        };
        let cotangent = self.materialise(weight.value, &weight.text, weight.place);
        let mut cotangents = vec![];
        leaves(&cotangent, &mut cotangents);
        let args = self.points(derived, point);
        let (choices, single) = choices(derived, args.len());
        if !self.check_choices(expr, derived, &choices, args.len()) {
            return Val::Unknown;
        }
        let captured: Vec<(Tensor, String, Place)> = choices.iter().filter_map(captured).collect();
        let Some(inner) = self.inner(expr, derived, args, &captured) else { return Val::Unknown };
        let mut value = inner.result.clone();
        let mut own = vec![];
        leaves(&value, &mut own);
        if own.len() != cotangents.len() {
            let (text, of, n) = (&weight.text, &derived.of.text, own.len());
            let message = format!("`{text}` has {}, but `{of}` gives {n}", count(cotangents.len(), "cotangent"));
            self.diags.push(Diagnostic::new(Code::TupleLength, weight.place, message));
            return Val::Unknown;
        }
        let (wrt, mut forms) = wanted(&choices, &inner);
        let how = How::Vjp { wrt, cotangents: cotangents.len() };
        let site = (weight.text, weight.place);
        let behind = cotangents.into_iter().map(|t| (self.reach(t), site.clone())).collect();
        let mut results = self.transform(expr, derived, inner, how, behind).into_iter();
        replace(&mut value, &mut results);
        forms.iter_mut().for_each(|form| replace(form, &mut results));
        let derivatives = match (single, forms.pop()) {
            (true, Some(only)) => only,
            (_, last) => Val::Tuple(forms.into_iter().chain(last).collect()),
        };
        Val::Tuple(vec![value, derivatives])
    }

    fn check_choices(&mut self, expr: &Expr, derived: &Derived, choices: &[Choice], args: usize) -> bool {
        for choice in choices {
            let Choice::Argument(k) = choice else { continue };
            if *k >= args {
                let given = count(args, "argument");
                let message = format!("`{}` is called with {given}, so there is none of number {k}", derived.text);
                let report = Diagnostic::new(Code::WrongAttribute, expr.place, message);
                self.diags.push(report.note("arguments are counted from 0"));
                return false;
            }
        }
        true
    }

    /// Whether the function gives one tensor.
    fn check_result(&mut self, derived: &Derived, inner: &Inner) -> bool {
        if matches!(inner.result, Val::Tensor(_)) {
            return true;
        }
        let mut found = vec![];
        leaves(&inner.result, &mut found);
        let (what, text) = (derived.maker.name(), &derived.of.text);
        let message = format!("`{what}` needs a function of one result, but `{text}` gives {}", found.len());
        let report = Diagnostic::new(Code::NonScalarGradient, derived.of.place, message);
        self.diags.push(report.help(match derived.maker {
            Maker::Hessian => "differentiate by one argument: `wrt = 0`",
            Maker::Map | Maker::Grad | Maker::ValueAndGrad | Maker::Jvp | Maker::Vjp | Maker::Hvp | Maker::Jacobian => {
                "let it give one of them"
            }
        }));
        false
    }
}

/// What the derivatives are taken by, and whether that is one thing; every argument where the user does not say.
fn choices(derived: &Derived, args: usize) -> (Vec<Choice>, bool) {
    match &derived.wrt {
        Some(Wrt::One(choice)) => (vec![choice.clone()], true),
        Some(Wrt::Several(choices)) => (choices.clone(), false),
        None => ((0..args).map(Choice::Argument).collect(), args == 1),
    }
}

fn captured(choice: &Choice) -> Option<(Tensor, String, Place)> {
    match choice {
        Choice::Captured(tensor, text, place) => Some((*tensor, text.clone(), *place)),
        Choice::Argument(_) => None,
    }
}

/// The inputs of the body that the choices are, and the form of the derivative by each choice.
fn wanted(choices: &[Choice], inner: &Inner) -> (Vec<usize>, Vec<Val>) {
    let mut ranges = vec![];
    let mut end = 0;
    for value in &inner.given {
        let mut found = vec![];
        leaves(value, &mut found);
        ranges.push(end..end + found.len());
        end += found.len();
    }
    let mut seen = inner.seen.iter();
    let (mut wrt, mut forms) = (vec![], vec![]);
    for choice in choices {
        match choice {
            Choice::Argument(k) => {
                wrt.extend(ranges[*k].clone());
                forms.push(inner.given[*k].clone());
            }
            Choice::Captured(tensor, ..) => {
                wrt.extend(seen.next());
                forms.push(Val::Tensor(*tensor));
            }
        }
    }
    (wrt, forms)
}
