//! States and companions of parameters: the value that each has at a point of the function's text, and assignments.
//!
//! In: reads and assignments in the order in which they run. Out: nodes for the values. Always: in each open graph a
//! state is one value after the other, so that a read sees what was assigned before it; a loop over repeated blocks
//! takes and gives the slices of its iterations.

use super::super::ast::*;
use super::super::words;
use super::graph::{plain_site, site_of};
use super::{Elaborator, Frame, Module, Pick, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::model::{Effect, ParamId, StateId};
use crate::ir::prim::Scalar;
use crate::ir::written::{Axis, Fit, Item, Role, Site, What};
use crate::ir::{Dim, Kind, Prim, Type, Value, Written};

/// What a function can leave other than it was.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Lasting {
    State(StateId),
    /// A parameter that training changes without the optimiser.
    Companion(ParamId),
}

/// A state or companion in one of the open graphs.
#[derive(Clone)]
pub(super) struct Held {
    id: Lasting,
    /// The picks of repeated blocks, up to that of the innermost loop.
    key: Vec<Pick>,
    /// The value in the graph around that this one comes from; none in the function's own graph.
    outer: Option<Value>,
    /// The blocks that are picked by number between the loop around and this one.
    between: Vec<i64>,
    /// Whether the graph sees its iteration's slice.
    sliced: bool,
    /// The value before anything is assigned.
    first: Value,
    now: Value,
    assigned: bool,
    place: Place,
}

impl Held {
    /// The value of the graph around, and the input that gives it.
    pub(super) fn input(&self) -> Option<(Value, Value)> {
        Some((self.outer?, self.first))
    }

    fn is(&self, other: &Held) -> bool {
        self.id == other.id && self.key == other.key
    }
}

/// The states that an arm of a branch assigns. Every arm gives each of them: those that do not assign it as it was.
pub(super) fn branch_states<'f>(frames: impl Iterator<Item = &'f mut Frame>, outputs: &mut [Vec<Value>]) -> Vec<Held> {
    let mut frames: Vec<&mut Frame> = frames.collect();
    let mut states: Vec<Held> = vec![];
    for held in frames.iter().flat_map(|frame| &frame.held).filter(|held| held.assigned) {
        if !states.iter().any(|known| known.is(held)) {
            states.push(held.clone());
        }
    }
    for (frame, list) in frames.iter_mut().zip(outputs) {
        for state in &states {
            let at = frame.held.iter().position(|held| held.is(state)).unwrap_or_else(|| {
                let first = frame.graph.push(Kind::Input(usize::MAX), vec![], None, state.place.first);
                frame.held.push(Held { first, now: first, assigned: false, ..state.clone() });
                frame.held.len() - 1
            });
            list.push(frame.held[at].now);
        }
    }
    states
}

/// What a region does with states: arguments and results beside those of its variables.
#[derive(Default)]
pub(super) struct Regional {
    carried: Vec<Held>,
    stacked: Vec<Held>,
    read: Vec<Held>,
}

impl Regional {
    /// Tells the states of a finished graph apart.
    pub(super) fn of(frame: &Frame) -> Regional {
        let mut all = Regional::default();
        for held in frame.held.iter().cloned() {
            match (held.sliced, held.assigned) {
                (true, _) => all.stacked.push(held),
                (false, true) => all.carried.push(held),
                (false, false) => all.read.push(held),
            }
        }
        all
    }

    /// Whether the region assigns any.
    pub(super) fn assigns(&self) -> bool {
        self.carried.iter().chain(&self.stacked).any(|held| held.assigned)
    }

    /// The outer and inner values that are carried, stacked and only read.
    pub(super) fn inputs(&self) -> [Vec<(Value, Value)>; 3] {
        let pairs = |list: &[Held]| list.iter().filter_map(Held::input).collect();
        [pairs(&self.carried), pairs(&self.stacked), pairs(&self.read)]
    }

    /// What the body gives: carried states, and slices of stacked ones.
    pub(super) fn outputs(&self) -> [Vec<Value>; 2] {
        let slices = self.stacked.iter().filter(|held| held.assigned);
        [self.carried.iter().map(|held| held.now).collect(), slices.map(|held| held.now).collect()]
    }

    fn results(&self) -> impl Iterator<Item = &Held> {
        self.carried.iter().chain(self.stacked.iter().filter(|held| held.assigned))
    }
}

impl Elaborator<'_, '_> {
    /// The value of a state. Training starts from the state that sessions start from.
    pub(super) fn state(&mut self, id: StateId, module: &Module, place: Place) -> Val {
        if self.training {
            return self.state_at_start(id, module, place);
        }
        Val::Tensor(self.lasting(Lasting::State(id), module, place))
    }

    /// The value of a state or companion after what was assigned before.
    pub(super) fn lasting(&mut self, id: Lasting, module: &Module, place: Place) -> Tensor {
        let frame = self.frames.len() - 1;
        let at = self.held(frame, id, &module.picks, place);
        let (value, inner) = (self.frames[frame].held[at].now, self.trailing(frame, at, module));
        let value = self.numbered(frame, value, &inner, &module.text, place);
        Tensor { frame, value }
    }

    /// Its name, its type with all stacks, and what gives its value before the call.
    fn described(&self, id: Lasting) -> (String, Type, Kind) {
        match id {
            Lasting::State(id) => {
                let state = &self.states[id.0 as usize];
                (state.name.clone(), state.stacked(), Kind::State(id))
            }
            Lasting::Companion(id) => {
                let param = &self.params[id.0 as usize];
                (param.name.clone(), param.stacked(), Kind::Param(id))
            }
        }
    }

    fn state_at_start(&mut self, id: StateId, module: &Module, place: Place) -> Val {
        let ty = self.states[id.0 as usize].ty.clone();
        let mut missing = None;
        let names = &self.scopes[0].names;
        ty.shape.iter().for_each(|dim| {
            dim.names(&mut |name| {
                if !names.contains_key(name) {
                    missing = Some(name.to_owned());
                }
            })
        });
        if let Some(name) = missing {
            let message = format!("no argument binds `{name}` of `{}: {ty}`", module.text);
            let report = Diagnostic::new(Code::UnboundDimension, place, message);
            self.diags.push(report.note("training starts from zeros, whose extents the arguments must give"));
            return Val::Unknown;
        }
        let zero = self.push(Kind::Prim(Prim::Const(Scalar::of(ty.dtype, 0.0))), &[], None, place);
        let zeros = Prim::Broadcast { shape: ty.shape.to_vec(), axes: vec![] };
        let zeros = self.push(Kind::Prim(zeros), &[zero], None, place);
        self.name(zeros, &module.text);
        Val::Tensor(zeros)
    }

    /// The blocks that are picked by number after the innermost loop.
    fn trailing(&self, frame: usize, at: usize, module: &Module) -> Vec<i64> {
        numbers(&module.picks[self.frames[frame].held[at].key.len()..])
    }

    /// The place of a state among those of a graph.
    fn held(&mut self, frame: usize, id: Lasting, picks: &[Pick], place: Place) -> usize {
        let inside = |pick: &Pick| matches!(pick, Pick::Frame(f) if *f <= frame);
        let key = &picks[..picks.iter().rposition(inside).map_or(0, |last| last + 1)];
        if let Some(known) = self.frames[frame].held.iter().position(|h| h.id == id && h.key == key) {
            return known;
        }
        let mut new = Held {
            id,
            key: key.to_vec(),
            outer: None,
            between: vec![],
            sliced: matches!(key.last(), Some(Pick::Frame(f)) if *f == frame),
            first: Value(0),
            now: Value(0),
            assigned: false,
            place,
        };
        let (name, ty, kind) = self.described(id);
        if frame == 0 {
            new.first = self.frames[0].graph.push(kind, vec![], Some(ty), place.first);
        } else {
            let around = self.held(frame - 1, id, key, place);
            let around = &self.frames[frame - 1].held[around];
            let (mut outer, known) = (around.now, around.key.len());
            if new.sliced {
                new.between = numbers(&key[known..]);
                outer = self.numbered(frame - 1, outer, &new.between, &name, place);
            }
            new.outer = Some(outer);
            // The numbers of inputs are settled when the loop is closed.
            new.first = self.frames[frame].graph.push(Kind::Input(usize::MAX), vec![], None, place.first);
        }
        self.frames[frame].graph.node_mut(new.first).name = Some(name);
        new.now = new.first;
        self.frames[frame].held.push(new);
        self.frames[frame].held.len() - 1
    }

    /// One of several stacked states.
    fn numbered(&mut self, frame: usize, value: Value, numbers: &[i64], text: &str, place: Place) -> Value {
        if numbers.is_empty() {
            return value;
        }
        let items = numbers.iter().map(|&i| Item::At(i.into())).chain([Item::Rest]).collect();
        let site = Site { args: vec![(text.to_owned(), place)], ..plain_site(text, place) };
        let kind = Kind::Written(Box::new(Written { what: What::Index(items), site, via: self.diags.entered() }));
        self.frames[frame].graph.push(kind, vec![value], None, place.first)
    }

    /// Gives the results of a closed region, from the one of that number on, to the states of the graph around.
    pub(super) fn release(&mut self, regional: &Regional, mut result: impl FnMut(&mut Self, usize) -> Value) {
        let frame = self.frames.len() - 1;
        for (k, held) in regional.results().enumerate() {
            let value = result(self, k);
            let at = self.held(frame, held.id, &held.key, held.place);
            let old = self.frames[frame].held[at].now;
            let value = match held.between.is_empty() {
                true => value,
                false => {
                    let items = held.between.iter().map(|&i| Item::At(i.into())).chain([Item::Rest]).collect();
                    let (name, ..) = self.described(held.id);
                    let args = vec![(name.clone(), held.place); 2];
                    let site = Site { args, ..plain_site(&name, held.place) };
                    let what = What::SetIndex(items);
                    let kind = Kind::Written(Box::new(Written { what, site, via: self.diags.entered() }));
                    self.frames[frame].graph.push(kind, vec![old, value], None, held.place.first)
                }
            };
            let around = &mut self.frames[frame].held[at];
            (around.now, around.assigned) = (value, true);
        }
    }

    /// Gives the results of a branch to the states of the graph around.
    pub(super) fn release_states(&mut self, states: Vec<Held>, results: &[Tensor]) {
        let regional = Regional { carried: states, ..Regional::default() };
        self.release(&regional, |_, k| results[k].value);
    }

    /// Reports states that a loop sees under two names and assigns under one: the names may mean the same one.
    pub(super) fn report_aliases(&mut self, frame: &Frame) {
        let mut said: Vec<String> = vec![];
        for (k, held) in frame.held.iter().enumerate() {
            let other = frame.held[..k].iter().find(|o| o.id == held.id && (o.assigned || held.assigned));
            if other.is_some() {
                let (name, ..) = self.described(held.id);
                let (what, help) = match held.id {
                    Lasting::State(_) => (name.as_str(), "assign the one picked by number outside of the loop"),
                    Lasting::Companion(_) => (layer_of(&name), "call the one picked by number outside of the loop"),
                };
                let message = format!("this loop uses `{what}` both of its own block and of one picked by number");
                if said.contains(&message) {
                    continue;
                }
                self.diags.push(Diagnostic::new(Code::NotSupported, held.place, message.clone()).help(help));
                said.push(message);
            }
        }
    }

    /// Lets a graph that is no loop's body take the states and companions that it reads as invariants, and reports those
    /// that it assigns: `text` is how the user calls what the graph belongs to.
    pub(super) fn only_read(&mut self, frame: &mut Frame, text: &str) {
        let mut said: Vec<String> = vec![];
        for held in std::mem::take(&mut frame.held) {
            frame.invariants.extend(held.outer.map(|outer| (outer, held.first)));
            if !held.assigned {
                continue;
            }
            let (name, ..) = self.described(held.id);
            let (message, note, help) = match held.id {
                Lasting::State(_) => (
                    format!("`{name}` is assigned inside of `{text}`"),
                    "only functions, with their loops, scans and branches, change states",
                    format!("let `{text}` give the new value and assign it behind"),
                ),
                Lasting::Companion(_) => (
                    format!("`{}` keeps running statistics, but is called inside of `{text}`", layer_of(&name)),
                    "in training only functions, with their loops, scans and branches, change them",
                    format!("call it outside of `{text}`"),
                ),
            };
            // A layer with several companions is called once.
            if !said.contains(&message) {
                let report = Diagnostic::new(Code::StateInside, held.place, message.clone());
                self.diags.push(report.note(note).help(help));
                said.push(message);
            }
        }
    }

    /// What the function leaves in the states and companions that it assigned.
    pub(super) fn stored(&self) -> Vec<(Effect, Value)> {
        let effect = |id| match id {
            Lasting::State(id) => Effect::Stored(id),
            Lasting::Companion(id) => Effect::Companion(id),
        };
        let assigned = self.frames[0].held.iter().filter(|held| held.assigned);
        assigned.map(|held| (effect(held.id), held.now)).collect()
    }

    /// Gives a state or companion a new value of its own type.
    pub(super) fn assign_whole(&mut self, id: Lasting, module: &Module, value: Tensor, site: Site) {
        self.assign_items(id, module, vec![], value, site);
    }

    fn assign_items(&mut self, id: Lasting, module: &Module, items: Vec<Item>, value: Tensor, site: Site) {
        let frame = self.frames.len() - 1;
        let at = self.held(frame, id, &module.picks, site.place);
        let old = Tensor { frame, value: self.frames[frame].held[at].now };
        let whole = items.is_empty();
        let mut all: Vec<Item> = self.trailing(frame, at, module).into_iter().map(|i| Item::At(i.into())).collect();
        all.extend(items);
        let value = match all.is_empty() {
            true => value,
            false => {
                if whole {
                    all.push(Item::Rest);
                }
                self.write(What::SetIndex(all), site, &[old, value])
            }
        };
        let held = &mut self.frames[frame].held[at];
        (held.now, held.assigned) = (value.value, true);
    }

    /// `self.keys = value` and `self.keys[.., at] = value`: `items` are those between the brackets.
    pub(super) fn assign_state(
        &mut self,
        target: &Expr,
        state: (StateId, Module),
        items: Vec<Item>,
        new: (Val, &Expr),
    ) {
        let (id, module) = state;
        if !self.may_assign(&module, target.place) {
            return;
        }
        let (value, expr) = new;
        let text = words::brief(expr);
        let Some(value) = self.tensor(value, &text, expr.place) else { return };
        let value = match items.is_empty() {
            true => self.fit_state(id, &module.text, value, (&text, expr.place)),
            false => value,
        };
        let site = Site { args: vec![(module.text.clone(), target.place), (text, expr.place)], ..site_of(target) };
        self.assign_items(Lasting::State(id), &module, items, value, site);
    }

    fn fit_state(&mut self, id: StateId, name: &str, value: Tensor, (text, place): (&str, Place)) -> Tensor {
        let state = &self.states[id.0 as usize];
        let Type { dtype, shape } = state.ty.clone();
        let one = |dim: &Dim| Some(Axis { dim: dim.clone(), bound: None, text: dim.to_string() });
        let fit = Fit {
            dtype,
            axes: shape.iter().map(one).collect(),
            scope: 0,
            role: Role::State(name.to_owned()),
            text: state.ty.to_string(),
            place: state.span.into(),
        };
        let site = Site { args: vec![(text.to_owned(), place)], ..plain_site(text, place) };
        self.write(What::Fit(fit), site, &[value])
    }

    /// Whether the function may change states; reports where it may not.
    fn may_assign(&mut self, module: &Module, place: Place) -> bool {
        let function = self.scope().function;
        if self.training {
            // Reported where the function is declared.
            return false;
        }
        if matches!(function.receiver, Receiver::Mut(_)) {
            return true;
        }
        let message = format!("`{}` assigns `{}`, but takes `&self`", function.name, module.text);
        let report = Diagnostic::new(Code::StateNeedsMut, place, message);
        self.diags.push(match function.train.is_empty() {
            true => report.help(format!("declare it as `fn {}(&mut self, …)`", function.name)),
            false => report.help("assign it in a function that is not trained: a step keeps no state"),
        });
        false
    }

    /// Reports a call of a function with `&mut self` from one with `&self`.
    pub(super) fn check_receiver(&mut self, callee: &str, function: &Fn, place: Place) {
        let caller = self.scope().function;
        if !matches!(function.receiver, Receiver::Mut(_)) || matches!(caller.receiver, Receiver::Mut(_)) {
            return;
        }
        let message = format!("`{callee}` takes `&mut self`, but `{}` only `&self`", caller.name);
        let report = Diagnostic::new(Code::StateNeedsMut, place, message);
        self.diags.push(report.help(format!("declare the caller as `fn {}(&mut self, …)`", caller.name)));
    }
}

fn numbers(picks: &[Pick]) -> Vec<i64> {
    let number = |pick: &Pick| match pick {
        Pick::Index(i) => Some(*i),
        Pick::Frame(_) => None,
    };
    picks.iter().filter_map(number).collect()
}

/// The layer that a parameter belongs to: `norm` of `norm.running_mean`.
fn layer_of(parameter: &str) -> &str {
    parameter.rsplit_once('.').map_or(parameter, |(layer, _)| layer)
}
