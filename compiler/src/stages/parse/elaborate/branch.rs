//! Branches: `if` and `match`. What is known at build time chooses there, so that only the arm that is taken exists;
//! anything else becomes a region with one case for each arm.
//!
//! The region gives the value of the expression and every variable outside of the arms that one of them assigns.

use super::super::ast::*;
use super::super::words;
use super::graph::plain_site;
use super::loops::{assigned, assigned_in};
use super::state::{Held, branch_states};
use super::{Elaborator, Frame, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::written::{Site, What};
use crate::ir::{Branch, Kind, Value, Written};
use proc_macro2::Ident;

/// What an arm runs.
#[derive(Clone, Copy)]
enum Body<'a> {
    Expr(&'a Expr),
    Block(&'a Block),
    /// The `else` that is not written.
    Nothing,
}

impl Body<'_> {
    /// The expression that gives the value, in words, and where it stands.
    fn tail(&self, all: &Expr) -> (String, Place) {
        match self {
            Body::Expr(Expr { kind: ExprKind::Block(block), .. }) => Body::Block(block).tail(all),
            Body::Expr(expr) => (words::brief(expr), expr.place),
            Body::Block(Block { tail: Some(tail), .. }) => (words::brief(tail), tail.place),
            Body::Block(block) => ("{ … }".into(), block.close.into()),
            Body::Nothing => ("else".into(), all.place),
        }
    }

    /// The whole expression of an arm that is nothing else.
    fn alone(&self) -> Option<String> {
        match self {
            Body::Expr(Expr { kind: ExprKind::Block(block), .. }) => Body::Block(block).alone(),
            Body::Expr(expr) => Some(words::full(expr)).filter(|text| !text.contains('…')),
            Body::Block(Block { stmts, tail: Some(tail), .. }) if stmts.is_empty() => Body::Expr(tail).alone(),
            Body::Block(_) | Body::Nothing => None,
        }
    }

    /// Where the arm itself assigns a variable last.
    fn assignment(&self, variable: &str) -> Option<Place> {
        let block = match self {
            Body::Expr(Expr { kind: ExprKind::Block(block), .. }) => block,
            Body::Block(block) => *block,
            Body::Expr(_) | Body::Nothing => return None,
        };
        block.stmts.iter().rev().find_map(|stmt| match stmt {
            Stmt::Assign { target, value, .. } => {
                let is_it = |one: &&Expr| matches!(&one.kind, ExprKind::Name(name) if name == variable);
                target.all().into_iter().find(is_it).map(|one| one.place.to(value.place))
            }
            Stmt::Let { .. } | Stmt::For { .. } | Stmt::Expr(_) => None,
        })
    }

    fn assigned(&self, names: &mut Vec<String>) {
        match self {
            Body::Expr(expr) => assigned_in(expr, &[], names),
            Body::Block(block) => {
                let mut found = vec![];
                assigned(block, &mut found);
                found.retain(|name| !names.contains(name));
                names.extend(found);
            }
            Body::Nothing => {}
        }
    }
}

/// An arm after its elaboration.
struct Taken {
    frame: Frame,
    /// The arm's value, then the variables that some arm assigns.
    given: Vec<Val>,
    /// What to call each of them, and where it stands.
    sites: Vec<(String, Place)>,
    /// Where the block that the branch stands in was imported, if it was.
    via: Option<Place>,
}

impl Elaborator<'_, '_> {
    /// `if condition { … } else { … }`
    pub(super) fn conditional(&mut self, expr: &Expr, condition: &Expr, then: &Block, otherwise: Option<&Expr>) -> Val {
        let value = self.expr(condition);
        match (&value, otherwise) {
            (Val::Static(Attr::Bool(true)), _) => return self.block(then),
            (Val::Static(Attr::Bool(false)), Some(otherwise)) => return self.expr(otherwise),
            (_, None) if then.tail.as_ref().is_some_and(|tail| !matches!(tail.kind, ExprKind::Error)) => {
                let message = "this `if` has no `else`, so that it gives nothing where the condition fails";
                self.diags.push(Diagnostic::new(Code::MissingElse, expr.place, message).help("add `else { … }`"));
                return Val::Unknown;
            }
            (Val::Static(Attr::Bool(false)), None) => return Val::Tuple(vec![]),
            _ => {}
        }
        let arms = [Body::Block(then), otherwise.map_or(Body::Nothing, Body::Expr)];
        // False is 0.
        self.chosen(expr, condition, value, What::Condition, &arms, &[1, 0])
    }

    /// `match of { 0 => …, 1 | 2 => …, _ => … }`
    pub(super) fn choice(&mut self, expr: &Expr, of: &Expr, arms: &[Arm]) -> Val {
        let value = self.expr(of);
        if !self.check_patterns(expr, of, arms) {
            return Val::Unknown;
        }
        let takes =
            |arm: &Arm, attr: &Attr| arm.cases.iter().any(|(case, _)| pattern(*case).is_none_or(|p| p == *attr));
        if let Val::Static(attr @ (Attr::Int(_) | Attr::Bool(_))) = &value
            && !matches!(attr, Attr::Int(dim) if dim.as_const().is_none())
        {
            return match arms.iter().find(|arm| takes(arm, attr)) {
                Some(arm) => self.expr(&arm.body),
                None => Val::Unknown,
            };
        }
        // The arm for everything else comes last.
        let rest = arms.iter().position(|arm| arm.cases.iter().any(|(case, _)| *case == Case::Rest));
        let rest = rest.unwrap_or(arms.len() - 1);
        let order: Vec<usize> = (0..arms.len()).filter(|n| *n != rest).chain([rest]).collect();
        let attrs =
            |n: &usize| arms[*n].cases.iter().filter_map(|(case, place)| Some((pattern(*case)?, *place))).collect();
        let patterns = order[..arms.len() - 1].iter().map(attrs).collect();
        let bodies: Vec<Body> = arms.iter().map(|arm| Body::Expr(&arm.body)).collect();
        self.chosen(expr, of, value, What::Choice(patterns), &bodies, &order)
    }

    /// Whether each value is taken by an arm, and each arm by a value.
    fn check_patterns(&mut self, expr: &Expr, of: &Expr, arms: &[Arm]) -> bool {
        let mut seen: Vec<(Case, String)> = vec![];
        // Not by the number of reports, which a mistake that was met before does not raise.
        let mut sound = true;
        for (case, place) in arms.iter().flat_map(|arm| &arm.cases) {
            let earlier = seen.iter().find(|(other, _)| other == case || *other == Case::Rest);
            if let Some((other, line)) = earlier {
                sound = false;
                let taken = if *other == Case::Rest { "_".to_owned() } else { case_text(*case) };
                let message = format!("`{}` is never reached: `{taken}` on {line} takes it", case_text(*case));
                self.diags.push(Diagnostic::new(Code::OverlappingPatterns, *place, message).help("remove it"));
            }
            seen.push((*case, self.diags.line(*place)));
        }
        let has = |case: Case| seen.iter().any(|(other, _)| *other == case);
        if !(has(Case::Rest) || has(Case::Bool(true)) && has(Case::Bool(false))) {
            sound = false;
            let message = format!("no arm takes other values of `{}`", words::brief(of));
            self.diags.push(Diagnostic::new(Code::MissingArm, expr.place, message).help("add `_ => …`"));
        }
        sound
    }

    /// A region with the arms as cases, in that order.
    fn chosen(&mut self, expr: &Expr, by: &Expr, value: Val, what: What, arms: &[Body], order: &[usize]) -> Val {
        let text = words::brief(by);
        let mut names = vec![];
        arms.iter().for_each(|arm| arm.assigned(&mut names));
        names.retain(|name| self.local(name).is_some());
        let selector = self.tensor(value, &text, by.place).map(|tensor| {
            // Arms that are expressions follow the text: they could be chosen by element.
            let values: Vec<String> = arms.iter().filter_map(Body::alone).collect();
            let values = values.into_iter().filter(|_| arms.iter().all(|arm| arm.alone().is_some()));
            let texts = std::iter::once(text.clone()).chain(values).map(|text| (text, by.place));
            let site = Site { args: texts.collect(), ..plain_site(&text, by.place) };
            self.write(what, site, &[tensor])
        });
        let mut taken: Vec<Taken> = arms.iter().map(|arm| self.take(expr, *arm, &names)).collect();
        let count = taken.first().map_or(0, |arm| arm.given.len());
        let mut outputs: Vec<Vec<Value>> = vec![vec![]; taken.len()];
        let merged: Vec<Val> = (0..count)
            .map(|k| {
                let vals: Vec<Val> = taken.iter().map(|arm| arm.given[k].clone()).collect();
                self.merge(&vals, k, &mut taken, &mut outputs)
            })
            .collect();
        let states = branch_states(taken.iter_mut().map(|arm| &mut arm.frame), &mut outputs);
        if outputs[0].is_empty() && !merged.iter().any(|val| matches!(val, Val::Unknown)) {
            if names.is_empty() && matches!(&merged[0], Val::Tuple(items) if items.is_empty()) {
                let message = "this branch gives nothing and assigns no variable that lives on";
                let report = Diagnostic::new(Code::BranchWithoutEffect, expr.place, message);
                self.diags.push(report.help("declare `let mut x = …;` before it and assign `x` in it"));
            }
            return self.settle_branch(merged, &names, &[]);
        }
        let Some(selector) = selector.filter(|_| !outputs[0].is_empty()) else {
            let unknown = vec![Val::Unknown; merged.len()];
            return self.settle_branch(unknown, &names, &[]);
        };
        let mut results = self.join(selector, taken, outputs, order, expr.place);
        let of_states = results.split_off(results.len() - states.len());
        self.release_states(states, &of_states);
        self.settle_branch(merged, &names, &results)
    }

    /// Runs an arm in a graph of its own; the variables are as before afterwards.
    fn take(&mut self, expr: &Expr, arm: Body, names: &[String]) -> Taken {
        let before = self.scope().locals.clone();
        self.frames.push(Frame::default());
        let value = match arm {
            Body::Expr(expr) => self.expr(expr),
            Body::Block(block) => self.block(block),
            Body::Nothing => Val::Tuple(vec![]),
        };
        let (text, place) = arm.tail(expr);
        let mut given = vec![value];
        let mut sites = vec![(text, place)];
        for name in names {
            given.push(self.local(name).map_or(Val::Unknown, |local| local.value.clone()));
            sites.push((name.clone(), arm.assignment(name).unwrap_or(place)));
        }
        given.iter_mut().for_each(|val| self.inside(val));
        self.scope().locals = before;
        let Some(frame) = self.frames.pop() else { unreachable!("the arm's graph is open") };
        Taken { frame, given, sites, via: self.diags.entered() }
    }

    /// Lets every tensor of a value be one of the innermost graph.
    fn inside(&mut self, val: &mut Val) {
        match val {
            Val::Tensor(tensor) => {
                let value = self.reach(*tensor);
                *tensor = Tensor { frame: self.frames.len() - 1, value };
            }
            Val::Tuple(items) => items.iter_mut().for_each(|item| self.inside(item)),
            Val::Struct(_, fields) => fields.iter_mut().for_each(|(_, item)| self.inside(item)),
            Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => {}
        }
    }

    /// What stands for the values that the arms give: tensors become outputs, whose numbers stand in the place of
    /// tensors until the results exist.
    fn merge(&mut self, vals: &[Val], k: usize, taken: &mut [Taken], outputs: &mut [Vec<Value>]) -> Val {
        let first = &vals[0];
        match first {
            _ if vals.iter().any(|val| matches!(val, Val::Unknown)) => Val::Unknown,
            Val::Static(attr) if vals.iter().all(|val| matches!(val, Val::Static(other) if other == attr)) => {
                first.clone()
            }
            Val::Tensor(_) | Val::Static(Attr::Int(_) | Attr::Float(_) | Attr::Bool(_))
                if vals.iter().all(is_tensor) =>
            {
                let number = outputs[0].len();
                for ((val, arm), list) in vals.iter().zip(taken).zip(outputs) {
                    list.push(arm.output(val, k));
                }
                Val::Tensor(Tensor { frame: usize::MAX, value: Value(number as u32) })
            }
            Val::Tuple(items)
                if vals.iter().all(|val| matches!(val, Val::Tuple(other) if other.len() == items.len())) =>
            {
                let part = |at: usize| -> Vec<Val> {
                    vals.iter()
                        .map(|val| if let Val::Tuple(items) = val { items[at].clone() } else { Val::Unknown })
                        .collect()
                };
                Val::Tuple((0..items.len()).map(|at| self.merge(&part(at), k, taken, outputs)).collect())
            }
            Val::Struct(name, fields)
                if vals.iter().all(|val| matches!(val, Val::Struct(_, other) if same_fields(fields, other))) =>
            {
                let part = |at: usize| -> Vec<Val> {
                    vals.iter()
                        .map(|val| if let Val::Struct(_, fields) = val { fields[at].1.clone() } else { Val::Unknown })
                        .collect()
                };
                let merge = |(at, (field, _)): (usize, &(Ident, Val))| {
                    (field.clone(), self.merge(&part(at), k, taken, outputs))
                };
                Val::Struct(name.clone(), fields.iter().enumerate().map(merge).collect())
            }
            Val::Tensor(_)
            | Val::Static(_)
            | Val::Tuple(_)
            | Val::Struct(..)
            | Val::Module(_)
            | Val::Function(_)
            | Val::Unknown => {
                self.report_kinds(vals, k, taken);
                Val::Unknown
            }
        }
    }

    fn report_kinds(&mut self, vals: &[Val], k: usize, taken: &[Taken]) {
        let describe = |val: &Val| match val {
            Val::Tensor(_) => "a tensor".to_owned(),
            Val::Static(attr) => format!("`{attr}`"),
            Val::Tuple(items) if items.is_empty() => "nothing".into(),
            Val::Tuple(items) => format!("a tuple of {}", items.len()),
            Val::Struct(name, _) => format!("the struct `{name}`"),
            Val::Module(module) => format!("the layer or block `{}`", module.text),
            Val::Function(function) => format!("the function `{}`", function.text),
            Val::Unknown => "something unknown".into(),
        };
        let kinds: Vec<String> = vals.iter().map(describe).collect();
        let other = kinds.iter().position(|kind| *kind != kinds[0]).unwrap_or(0);
        let (text, place) = &taken[other].sites[k];
        let what = if k == 0 { "the branch".to_owned() } else { format!("`{text}`") };
        let message = match other {
            0 => format!("{what} cannot be {}, which is not chosen at run time", kinds[0]),
            _ => format!("{what} is {} here, but {} in the branch before", kinds[other], kinds[0]),
        };
        self.diags.push(Diagnostic::new(Code::BranchTypes, *place, message));
    }

    /// Ends the cases and gives the region's results.
    fn join(
        &mut self,
        selector: Tensor,
        taken: Vec<Taken>,
        outputs: Vec<Vec<Value>>,
        order: &[usize],
        place: Place,
    ) -> Vec<Tensor> {
        let mut outer: Vec<Value> = vec![];
        for (value, _) in taken.iter().flat_map(|arm| seen(&arm.frame)) {
            if !outer.contains(&value) {
                outer.push(value);
            }
        }
        let mut graphs = vec![];
        for (arm, outputs) in taken.into_iter().zip(outputs) {
            let all = seen(&arm.frame);
            let Frame { mut graph, .. } = arm.frame;
            for (value, inner) in all {
                let number = outer.iter().position(|known| *known == value).unwrap_or_default();
                graph.node_mut(inner).kind = Kind::Input(number);
            }
            graph.outputs = outputs;
            graphs.push(graph);
        }
        let count = graphs[0].outputs.len();
        let cases = order.iter().map(|&n| std::mem::take(&mut graphs[n])).collect();
        let args = std::iter::once(self.reach(selector)).chain(outer).collect();
        let frame = self.frames.len() - 1;
        let graph = &mut self.top().graph;
        let node = graph.push(Kind::Branch(Box::new(Branch { cases })), args, None, place.first);
        match count {
            1 => vec![Tensor { frame, value: node }],
            n => (0..n)
                .map(|k| Tensor { frame, value: graph.push(Kind::Result(k), vec![node], None, place.first) })
                .collect(),
        }
    }

    /// Gives the variables their new values, and the value of the expression.
    fn settle_branch(&mut self, mut merged: Vec<Val>, names: &[String], results: &[Tensor]) -> Val {
        merged.iter_mut().for_each(|val| place_results(val, results));
        let mut merged = merged.into_iter();
        let value = merged.next().unwrap_or(Val::Unknown);
        for (name, val) in names.iter().zip(merged) {
            if let Val::Tensor(tensor) = &val {
                self.name(*tensor, name);
            }
            self.set(name, val);
        }
        value
    }
}

impl Taken {
    /// A node that gives the value, with its words and place.
    fn output(&mut self, val: &Val, k: usize) -> Value {
        let (text, place) = &self.sites[k];
        let site = plain_site(text, *place);
        let graph = &mut self.frame.graph;
        let value = match val {
            Val::Tensor(tensor) => tensor.value,
            Val::Static(attr) => {
                let what = What::Literal(attr.clone());
                let written = Written { what, site: site.clone(), via: self.via };
                graph.push(Kind::Written(Box::new(written)), vec![], None, place.first)
            }
            Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => {
                unreachable!("only tensors and numbers become outputs")
            }
        };
        let written = Written { what: What::Outcome, site, via: self.via };
        graph.push(Kind::Written(Box::new(written)), vec![value], None, place.first)
    }
}

fn is_tensor(val: &Val) -> bool {
    match val {
        Val::Tensor(_) | Val::Static(Attr::Int(_) | Attr::Float(_) | Attr::Bool(_)) => true,
        Val::Static(_) | Val::Tuple(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) | Val::Unknown => false,
    }
}

fn same_fields(a: &[(Ident, Val)], b: &[(Ident, Val)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((a, _), (b, _))| a == b)
}

/// Puts results in the places of their numbers.
fn place_results(val: &mut Val, results: &[Tensor]) {
    match val {
        Val::Tensor(tensor) => *tensor = results[tensor.value.0 as usize],
        Val::Tuple(items) => items.iter_mut().for_each(|item| place_results(item, results)),
        Val::Struct(_, fields) => fields.iter_mut().for_each(|(_, item)| place_results(item, results)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => {}
    }
}

/// What a pattern takes; nothing for `_`, which takes everything.
fn pattern(case: Case) -> Option<Attr> {
    match case {
        Case::Int(n) => Some(Attr::Int(n.into())),
        Case::Bool(b) => Some(Attr::Bool(b)),
        Case::Rest => None,
    }
}

fn case_text(case: Case) -> String {
    pattern(case).map_or("_".into(), |attr| attr.to_string())
}

/// The values of the graph around that an arm sees, states among them, and the inputs that give them.
fn seen(frame: &Frame) -> Vec<(Value, Value)> {
    frame.invariants.iter().copied().chain(frame.held.iter().filter_map(Held::input)).collect()
}
