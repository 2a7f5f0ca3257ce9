//! Loops: over repeated blocks a region whose body is compiled once, over numbers and tuples written out.

use super::super::ast::*;
use super::super::instance::FieldInstance;
use super::super::words;
use super::state::Regional;
use super::{Elaborator, Frame, Module, Pick, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::{Dim, Kind, Memory, Repeat, Value};

/// The most iterations that are written out.
const MOST_WRITTEN_OUT: i64 = 256;

impl Elaborator<'_, '_> {
    pub(super) fn repeat(&mut self, pat: &Pat, over: &Iter, body: &Block) {
        match over {
            Iter::Range { start, end, inclusive } => self.numbers(pat, (start, end, *inclusive), body),
            Iter::Field(field) => {
                if let Some(range) = self.stepped_range(field) {
                    return self.repeat(pat, &range, body);
                }
                let text = words::brief(field);
                match self.expr(field) {
                    Val::Tuple(items) => items.into_iter().for_each(|item| self.iteration(pat, item, body, &text)),
                    Val::Static(Attr::List(items)) => {
                        items.into_iter().for_each(|item| self.iteration(pat, Val::Static(item), body, &text));
                    }
                    Val::Module(module) if matches!(module.held, FieldInstance::Repeat(..)) => {
                        self.region(pat, &module, body, field.place);
                    }
                    Val::Module(module) if matches!(module.held, FieldInstance::List(_)) => {
                        for (k, item) in self.each_of(&module, field.place).into_iter().enumerate() {
                            self.iteration(pat, item, body, &format!("{}[{k}]", module.text));
                        }
                    }
                    Val::Unknown => self.poison(pat, body),
                    Val::Tensor(_) => self.loop_over_data(pat, &text, body, field.place),
                    Val::Static(_) | Val::Struct(..) | Val::Module(_) | Val::Function(_) => {
                        let message = format!("`{text}` is neither repeated blocks nor a range");
                        let report = Diagnostic::new(Code::BadExpression, field.place, message);
                        self.diags.push(report.help("declare the field as `[Block(…); 4]`"));
                        self.poison(pat, body);
                    }
                }
            }
        }
    }

    /// A loop over numbers, which is written out.
    fn numbers(&mut self, pat: &Pat, (start, end, inclusive): (&Expr, &Expr, bool), body: &Block) {
        let (start_at, end_at) = (self.constant(start), self.constant(end));
        let (Some(from), Some(to)) = (start_at, end_at) else {
            self.poison(pat, body);
            return;
        };
        let to = to + i64::from(inclusive);
        if to - from > MOST_WRITTEN_OUT {
            let message = format!("this loop would be written out {} times", to - from);
            let report = Diagnostic::new(Code::NotSupported, start.place.to(end.place), message);
            self.diags.push(report.note(format!("the most is {MOST_WRITTEN_OUT}; repeated blocks have no limit")));
            return;
        }
        for i in from..to {
            if self.is_too_long() {
                return;
            }
            self.iteration(pat, Val::Static(Attr::Int(i.into())), body, "");
        }
    }

    /// Reports a loop over a tensor.
    fn loop_over_data(&mut self, pat: &Pat, text: &str, body: &Block, place: Place) {
        let (slice, message) = (words::pattern_text(pat), format!("`{text}` is data, over which `for` does not run"));
        let report = Diagnostic::new(Code::LoopOverData, place, message);
        let report = report.note(format!("where the rounds need nothing of each other: `map(|{slice}| …)({text})`"));
        self.diags.push(
            report.help(format!("write `scan({text}, axis = 0, from = zeros, |state, {slice}| {{ …; (state, y) }})`")),
        );
        self.poison(pat, body);
    }

    /// Reports Python's `range(…)` with a step, which a list has to spell out; gives what it means.
    fn stepped_range(&mut self, over: &Expr) -> Option<Iter> {
        let ExprKind::Call(callee, args) = &over.kind else { return None };
        let ExprKind::Name(name) = &callee.kind else { return None };
        if name != "range" || self.local("range").is_some() || self.user_function("range").is_some() {
            return None;
        }
        let number = |arg: &Arg| match (&arg.name, &arg.value.kind) {
            (None, ExprKind::Int(number)) => Some(*number),
            _ => None,
        };
        let numbers: Vec<i64> = args.iter().filter_map(number).collect();
        let [start, end, step] = numbers[..] else { return None };
        let step = usize::try_from(step).ok().filter(|step| *step > 0)?;
        let all = (start..end).step_by(step).take(MOST_WRITTEN_OUT as usize);
        let items: Vec<Expr> = all.map(|number| Expr { kind: ExprKind::Int(number), place: over.place }).collect();
        let short = items.len() <= words::LISTED;
        let list = Expr { kind: ExprKind::List(items), place: over.place };
        let report = Diagnostic::new(Code::UnknownFunction, over.place, "there is no function `range`");
        self.diags.push(Diagnostic { help: short.then(|| format!("write `{}`", words::full(&list))), ..report });
        Some(Iter::Field(list))
    }

    fn constant(&mut self, expr: &Expr) -> Option<i64> {
        let dim = self.number(expr)?;
        if dim.as_const().is_none() {
            let message =
                format!("`for` needs a number that is known at build time, but a call binds `{}`", words::brief(expr));
            let report = Diagnostic::new(Code::LoopOverData, expr.place, message);
            let help = "run along the axis: `scan(x, axis = 0, from = zeros, |state, x| { …; (state, y) })`";
            self.diags.push(report.help(help));
        }
        dim.as_const()
    }

    fn iteration(&mut self, pat: &Pat, value: Val, body: &Block, text: &str) {
        self.scope().locals.push(Default::default());
        self.bind(pat, value, text);
        self.block(body);
        self.scope().locals.pop();
    }

    /// Reports the mistakes in a body whose iterations are unknown, and what it assigns becomes unknown.
    fn poison(&mut self, pat: &Pat, body: &Block) {
        let names = self.carried(body);
        self.iteration(pat, Val::Unknown, body, "");
        for name in names {
            self.set(&name, Val::Unknown);
        }
    }

    /// A loop whose body is compiled once.
    fn region(&mut self, pat: &Pat, module: &Module, body: &Block, place: Place) {
        let FieldInstance::Repeat(count, _) = module.held else {
            unreachable!("only repeated blocks make regions");
        };
        let names = self.carried(body);
        // What the loop carries, as tensors of the graph around it.
        let mut before = vec![];
        for name in &names {
            let value = self.local(name).map_or(Val::Unknown, |local| local.value.clone());
            let value = self.materialise(value, name, place);
            self.set(name, value.clone());
            leaves(&value, &mut before);
        }
        let start: Vec<Value> = before.iter().map(|&t| self.reach(t)).collect();
        let frame = self.frames.len();
        self.frames.push(Frame::default());
        let inputs: Vec<Tensor> = (0..start.len())
            .map(|k| {
                let outer = self.frames[frame - 1].graph.node(start[k]).clone();
                let value = self.top().graph.push(Kind::Input(k), vec![], outer.ty, outer.span);
                self.top().graph.node_mut(value).name = outer.name;
                Tensor { frame, value }
            })
            .collect();
        self.rebind(&names, &inputs);
        let text = words::pattern_text(pat);
        let block = self.pick(module, Pick::Frame(frame), text.clone(), place);
        self.iteration(pat, block, body, &text);
        if names.is_empty() && !Regional::of(self.top()).assigns() {
            let message = format!("this loop over `{}` assigns no variable that lives on", module.text);
            let report = Diagnostic::new(Code::LoopWithoutEffect, place, message);
            self.diags.push(report.help("declare `let mut x = …;` before it and assign `x` in it"));
        }
        self.close(&names, count, start, place);
    }

    /// Ends the region of the innermost graph and gives its results to the carried variables.
    fn close(&mut self, names: &[String], count: i64, start: Vec<Value>, place: Place) {
        let mut after = vec![];
        for name in names {
            let value = self.local(name).map_or(Val::Unknown, |local| local.value.clone());
            let value = self.materialise(value, name, place);
            leaves(&value, &mut after);
        }
        let outputs: Vec<Value> = after.iter().map(|&t| self.reach(t)).collect();
        let assigns = Regional::of(self.top()).assigns();
        if after.len() != start.len() || (start.is_empty() && !assigns) {
            self.frames.pop();
            names.iter().for_each(|name| self.set(name, Val::Unknown));
            return;
        }
        let results = self.finish_region(start, outputs, (count.into(), false, Memory::default()), place);
        self.rebind(names, &results);
        if let Some(name) = names.first() {
            results.first().into_iter().for_each(|&t| self.name(t, name));
        }
    }

    /// Closes the innermost graph, the body of a region with these carried values, and gives the region's results.
    pub(super) fn finish_region(
        &mut self,
        start: Vec<Value>,
        outputs: Vec<Value>,
        (count, reverse, memory): (Dim, bool, Memory),
        place: Place,
    ) -> Vec<Tensor> {
        let Some(frame) = self.frames.pop() else {
            unreachable!("the region's graph is open");
        };
        self.report_aliases(&frame);
        let states = Regional::of(&frame);
        let Frame { mut graph, invariants, stacked, held: _ } = frame;
        let [carried_states, stacked_states, read_states] = states.inputs();
        let lists = [&carried_states, &stacked, &stacked_states, &invariants, &read_states];
        let order = lists.into_iter().flatten();
        for (k, (_, inner)) in order.clone().enumerate() {
            graph.node_mut(*inner).kind = Kind::Input(start.len() + k);
        }
        let args: Vec<Value> = start.iter().copied().chain(order.map(|(outer, _)| *outer)).collect();
        // Carried values come first: those of variables, then those of states.
        let (own, more) = (start.len(), carried_states.len());
        let (carried, sliced) = (own + more, stacked.len() + stacked_states.len());
        let results = outputs.len();
        let [first, last] = states.outputs();
        graph.outputs = [&outputs[..own], &first, &outputs[own..], &last].concat();
        let all = graph.outputs.len();
        let repeat = Repeat { count, reverse, carried, stacked: sliced, memory, body: graph };
        let frame = self.frames.len() - 1;
        let node = self.top().graph.push(Kind::Repeat(Box::new(repeat)), args, None, place.first);
        let result = |this: &mut Self, k: usize| match all {
            1 => node,
            _ => this.top().graph.push(Kind::Result(k), vec![node], None, place.first),
        };
        self.release(&states, |this, k| result(this, if k < more { own + k } else { results + k }));
        let of_variables = (0..results).map(|k| if k < own { k } else { more + k });
        of_variables.map(|k| Tensor { frame, value: result(self, k) }).collect()
    }

    /// The variables outside of a body that it assigns, in the order of the first assignment.
    fn carried(&mut self, body: &Block) -> Vec<String> {
        let mut names = vec![];
        assigned(body, &mut names);
        names.retain(|name| self.local(name).is_some());
        names
    }

    pub(super) fn set(&mut self, name: &str, value: Val) {
        if let Some(local) = self.local(name) {
            local.value = value;
        }
    }

    /// Gives the variables new tensors, in the order of `leaves`.
    fn rebind(&mut self, names: &[String], tensors: &[Tensor]) {
        let mut next = tensors.iter().copied();
        for name in names {
            let Some(mut value) = self.local(name).map(|local| local.value.clone()) else { continue };
            replace(&mut value, &mut next);
            self.set(name, value);
        }
    }

    /// The value with its numbers as tensors.
    pub(super) fn materialise(&mut self, value: Val, name: &str, place: Place) -> Val {
        match value {
            Val::Tuple(items) => Val::Tuple(items.into_iter().map(|v| self.materialise(v, name, place)).collect()),
            Val::Struct(of, fields) => {
                let field = |(field, value)| (field, self.materialise(value, name, place));
                Val::Struct(of, fields.into_iter().map(field).collect())
            }
            value => self.tensor(value, name, place).map_or(Val::Unknown, Val::Tensor),
        }
    }
}

/// The tensors in a value, in order.
pub(super) fn leaves(value: &Val, into: &mut Vec<Tensor>) {
    match value {
        Val::Tensor(tensor) => into.push(*tensor),
        Val::Tuple(items) => items.iter().for_each(|item| leaves(item, into)),
        Val::Struct(_, fields) => fields.iter().for_each(|(_, value)| leaves(value, into)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => {}
    }
}

/// Puts new tensors in the places of the old ones.
pub(super) fn replace(value: &mut Val, next: &mut dyn Iterator<Item = Tensor>) {
    match value {
        Val::Tensor(tensor) => *tensor = next.next().unwrap_or(*tensor),
        Val::Tuple(items) => items.iter_mut().for_each(|item| replace(item, next)),
        Val::Struct(_, fields) => fields.iter_mut().for_each(|(_, value)| replace(value, next)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => {}
    }
}

/// The names that a block assigns and does not declare itself.
pub(super) fn assigned(block: &Block, names: &mut Vec<String>) {
    let mut own = vec![];
    for stmt in &block.stmts {
        match stmt {
            Stmt::Let { pat, value, .. } => {
                assigned_in(value, &own, names);
                declare(pat, &mut own);
            }
            Stmt::Assign { target, value, .. } => {
                assigned_in(value, &own, names);
                for one in target.all() {
                    if let ExprKind::Name(name) = &one.kind {
                        add(name.to_string(), &own, names);
                    }
                }
            }
            Stmt::For { body, .. } => inner(body, &own, names),
            Stmt::Expr(expr) => assigned_in(expr, &own, names),
        }
    }
    block.tail.iter().for_each(|tail| assigned_in(tail, &own, names));
}

fn add(name: String, own: &[String], names: &mut Vec<String>) {
    if !own.contains(&name) && !names.contains(&name) {
        names.push(name);
    }
}

fn inner(block: &Block, own: &[String], names: &mut Vec<String>) {
    let mut found = vec![];
    assigned(block, &mut found);
    found.into_iter().for_each(|name| add(name, own, names));
}

/// Assignments in the blocks of an expression.
pub(super) fn assigned_in(expr: &Expr, own: &[String], names: &mut Vec<String>) {
    let (exprs, blocks) = expr.inside();
    exprs.into_iter().for_each(|e| assigned_in(e, own, names));
    blocks.into_iter().for_each(|b| inner(b, own, names));
}

pub(super) fn declare(pat: &Pat, own: &mut Vec<String>) {
    match pat {
        Pat::Name { name, .. } => own.push(name.to_string()),
        Pat::Tuple(items, _) => items.iter().for_each(|item| declare(item, own)),
        Pat::Ignore(_) => {}
    }
}
