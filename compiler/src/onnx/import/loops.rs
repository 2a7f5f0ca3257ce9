//! `Loop` and `Scan`: a region that repeats a graph, or the graph once for each turn.
//!
//! Always: how many turns there are is known when a file is read, but for named dimensions. A region has carried values of one type; where
//! a turn decides shapes, or everything is known, a loop is written out, within what a file may have of nodes.

use super::super::Failure;
use super::super::operand::Operand;
use super::super::operators;
use super::super::params::Params;
use super::super::proto::{AttributeProto, GraphProto, NodeProto};
use super::free::free_names;
use super::{Importer, versions};
use crate::ir::graph::{Memory, Repeat};
use crate::ir::limits::INTEGER;
use crate::ir::prim::Prim;
use crate::ir::{DType, Dim, Graph, Kind, Type, Value};
use crate::ops::Builder;
use crate::oracle::{Data, Tensor};

/// Why a node has no results: said before where there is no reason.
type Results = Result<Vec<Operand>, Option<Failure>>;

/// A graph that is repeated.
pub(super) struct Turns<'p> {
    pub(super) body: &'p GraphProto,
    /// How often; `None` as long as its condition holds.
    pub(super) count: Option<Dim>,
    /// Whether it takes the number of its turn and its condition, and gives the next condition, as `Loop` does.
    pub(super) is_loop: bool,
    /// What a turn gives to the next.
    pub(super) carried: Vec<Operand>,
    /// What a turn takes a slice of, along which axis, and whether from the end.
    pub(super) stacked: Vec<(Operand, Axis)>,
    /// Where slices that turns give stand in a result; `Loop` puts them along the first axis.
    pub(super) results: Vec<Axis>,
}

/// An axis along which turns run.
#[derive(Clone, Copy, Default)]
pub(super) struct Axis {
    pub(super) axis: i64,
    pub(super) reverse: bool,
}

fn fails<T>(reason: impl Into<String>) -> Result<T, Option<Failure>> {
    Err(Some(Failure::new(reason)))
}

fn integers<'p>(proto: &'p NodeProto, name: &str) -> &'p [i64] {
    proto.attribute.iter().find(|attribute| attribute.name == name).map_or(&[], |attribute| &attribute.ints)
}

fn body(proto: &NodeProto) -> Result<&GraphProto, Option<Failure>> {
    let body = proto.attribute.iter().find(|attribute| attribute.name == "body").and_then(|of| of.g.as_ref());
    body.ok_or_else(|| Some(Failure::new("it has no `body`")))
}

/// The only element of an integer that is known, or a named dimension.
fn number(operand: Option<&Option<Operand>>) -> Result<Option<Dim>, Option<Failure>> {
    let Some(operand) = operand.and_then(Option::as_ref) else { return Ok(None) };
    match operand.as_dims().as_deref() {
        Some([number]) => Ok(Some(number.clone())),
        _ => fails("how often it turns is not known at build time"),
    }
}

impl Importer<'_> {
    /// `Loop`: its arguments are the number of turns, the condition, and what is carried.
    pub(super) fn loop_of(&mut self, proto: &NodeProto, inputs: &[Option<Operand>]) -> Results {
        let (body, mut count) = (body(proto)?, number(inputs.first())?);
        if number(inputs.get(1))?.is_some_and(|condition| condition.is(0)) {
            count = Some(0.into());
        }
        let carried = given(inputs.get(2..).unwrap_or_default())?;
        let Some(slices) = body.output.len().checked_sub(1 + carried.len()) else {
            return fails("its body has fewer results than it carries");
        };
        let results = vec![Axis::default(); slices];
        let negative = count.as_ref().and_then(Dim::as_const).is_some_and(|count| count < 0);
        let count = if negative { Some(0.into()) } else { count };
        self.turns(&Turns { body, count, is_loop: true, carried, stacked: vec![], results })
    }

    /// `Scan`: its arguments are what is carried, and what turns take slices of.
    pub(super) fn scan(&mut self, proto: &NodeProto, inputs: &[Option<Operand>]) -> Results {
        if versions::of(self.opsets, &proto.domain) < 9 {
            return fails("the version of it that has an axis of batches is not supported");
        }
        let body = body(proto)?;
        let count = proto.attribute.iter().find(|attribute| attribute.name == "num_scan_inputs").map(|of| of.i);
        let first = count.and_then(|count| inputs.len().checked_sub(usize::try_from(count).ok()?));
        let Some((first, true)) = first.map(|first| (first, first < inputs.len())) else {
            return fails("it has no arguments to take slices of");
        };
        let (mut carried, slices) = (given(inputs)?, body.output.len().checked_sub(first));
        let stacked = carried.split_off(first);
        let Some(slices) = slices else { return fails("its body has fewer results than it carries") };
        let axes = |names: [&str; 2], count: usize| {
            let [axes, directions] = names.map(|name| integers(proto, name));
            let at = |list: &[i64], k: usize| list.get(k).copied().unwrap_or(0);
            (0..count).map(|k| Axis { axis: at(axes, k), reverse: at(directions, k) != 0 }).collect::<Vec<Axis>>()
        };
        let own = axes(["scan_input_axes", "scan_input_directions"], stacked.len());
        let results = axes(["scan_output_axes", "scan_output_directions"], slices);
        let stacked: Vec<(Operand, Axis)> = stacked.into_iter().zip(own).collect();
        let mut count: Option<Dim> = None;
        for (operand, along) in &stacked {
            let shape = self.shape(operand);
            let extent = position(along.axis, shape.len()).map(|axis| shape[axis].clone());
            let Some(extent) = extent else { return fails(format!("there is no axis {}", along.axis)) };
            if count.as_ref().is_some_and(|count| *count != extent) {
                return fails("what it takes slices of has more and fewer of them");
            }
            count = Some(extent);
        }
        self.turns(&Turns { body, count, is_loop: false, carried, stacked, results })
    }

    fn shape(&self, operand: &Operand) -> Vec<Dim> {
        match operand {
            Operand::Value(value) => self.graph.ty(*value).shape.clone(),
            Operand::Known(known) => known.ty.shape.clone(),
            Operand::Dims(of) => of.shape.iter().map(|&extent| extent.into()).collect(),
        }
    }

    fn turns(&mut self, turns: &Turns<'_>) -> Results {
        let inputs = turns.carried.iter().chain(turns.stacked.iter().map(|(operand, _)| operand));
        let is_value = |operand: &Operand| matches!(operand, Operand::Value(_));
        // What the body reads of the graphs around it counts as well.
        let mut around = free_names(turns.body).into_iter();
        let reads_value = around.any(|name| self.scope.get(&name).is_some_and(|of| of.as_ref().is_some_and(is_value)));
        let is_known = inputs.clone().count() > 0 && !reads_value && !inputs.clone().any(is_value);
        let has_number = turns.count.as_ref().is_none_or(|count| count.as_const().is_some_and(|count| count > 0));
        let ways: &[fn(&mut Self, &Turns<'_>) -> Results] = match (has_number, is_known) {
            (false, _) => &[Self::region],
            (true, true) => &[Self::written_out, Self::region],
            (true, false) => &[Self::region, Self::written_out],
        };
        // What the last way says is why it fails.
        let said = self.refusals.len();
        let mut results = Err(None);
        for way in ways {
            self.refusals.truncate(said);
            results = way(self, turns);
            if results.is_ok() || self.budget.is_spent() {
                break;
            }
        }
        results
    }

    /// Each turn on its own, with its number known.
    fn written_out(&mut self, turns: &Turns<'_>) -> Results {
        let count = turns.count.as_ref().map_or(Some(i64::MAX), Dim::as_const);
        let Some(count) = count else { return fails("how often it turns is not known at build time") };
        let (mut carried, mut slices) = (turns.carried.clone(), vec![vec![]; turns.results.len()]);
        for turn in 0..count {
            // A turn may have no nodes of its own.
            self.budget.node()?;
            let mut inputs = vec![];
            if turns.is_loop {
                inputs.push(Operand::known(Tensor::new([], Data::Int(DType::I64, vec![turn.into()]))));
                inputs.push(Operand::known(Tensor::new([], Data::Bool(vec![true]))));
            }
            inputs.extend(carried);
            for (operand, along) in &turns.stacked {
                let turn = if along.reverse { count - 1 - turn } else { turn };
                inputs.push(self.slice(operand.clone(), along.axis, turn)?);
            }
            let mut made = self.subgraph(turns.body, inputs)?.into_iter();
            let condition = if turns.is_loop { number(Some(&made.next()))? } else { None };
            carried = made.by_ref().take(turns.carried.len()).collect();
            slices.iter_mut().zip(made).for_each(|(all, slice)| all.push(slice));
            if condition.is_some_and(|condition| condition.is(0)) {
                break;
            }
            if self.budget.is_spent() {
                return Err(None);
            }
        }
        for (all, along) in slices.into_iter().zip(&turns.results) {
            carried.push(self.stacked(all, *along)?);
        }
        Ok(carried)
    }

    /// The slice of an axis that belongs to a turn.
    fn slice(&mut self, operand: Operand, axis: i64, turn: i64) -> Result<Operand, Option<Failure>> {
        let at = Operand::known(Tensor::new([], Data::Int(DType::I64, vec![turn.into()])));
        self.call("Gather", axis, vec![operand, at])
    }

    /// Slices beside each other.
    fn stacked(&mut self, mut slices: Vec<Operand>, along: Axis) -> Result<Operand, Option<Failure>> {
        if along.reverse {
            slices.reverse();
        }
        let mut apart = vec![];
        for slice in slices {
            apart.push(self.call("Unsqueeze", along.axis, vec![slice])?);
        }
        self.call("Concat", along.axis, apart)
    }

    /// The only result of an operator with an axis.
    fn call(&mut self, name: &str, axis: i64, inputs: Vec<Operand>) -> Result<Operand, Option<Failure>> {
        let own = if name == "Unsqueeze" { "axes" } else { "axis" };
        let attribute = AttributeProto { name: own.into(), i: axis, ints: vec![axis], ..Default::default() };
        let proto = NodeProto { attribute: vec![attribute], ..NodeProto::default() };
        let Some(operator) = operators::operator("", name) else { unreachable!("`{name}` is an operator") };
        let made = self.apply(operator, &proto, inputs.into_iter().map(Some).collect())?;
        made.into_iter().next().ok_or(None)
    }

    /// One region. Its condition must stay true.
    fn region(&mut self, turns: &Turns<'_>) -> Results {
        let Some(count) = turns.count.clone() else { return fails("how often it turns is not known at build time") };
        if count.as_const().is_some_and(|count| count > INTEGER) {
            return fails(format!("it turns {count} times, and the most are {INTEGER}"));
        }
        let mut args = turns.carried.iter().map(|operand| self.output(operand)).collect::<Result<Vec<Value>, _>>()?;
        for (operand, along) in &turns.stacked {
            let value = self.output(operand)?;
            args.push(self.moved(value, along.axis, 0, along.reverse)?);
        }
        // What the body reads of the graphs around it.
        let mut seen = vec![];
        for name in free_names(turns.body) {
            if let Some(Some(Operand::Value(value))) = self.scope.get(&name) {
                args.push(*value);
                seen.push(name);
            }
        }
        let types: Vec<Type> = args.iter().map(|&arg| self.graph.ty(arg).clone()).collect();
        let outer = (std::mem::take(&mut self.graph), std::mem::replace(&mut self.params, Params::inputs(args.len())));
        let made = self.repeated(turns, &types, seen);
        let body = std::mem::replace(&mut self.graph, outer.0);
        let known = std::mem::replace(&mut self.params, outer.1).into_known();
        let outputs = made?;
        for known in known {
            args.push(self.output(&Operand::Known(known))?);
        }
        let (carried, stacked) = (turns.carried.len(), turns.stacked.len());
        let body = Graph { outputs, ..body };
        let repeat = Repeat { count, reverse: false, carried, stacked, memory: Memory::default(), body };
        let mut made = self.graph.repeat(repeat, args, self.span);
        for (value, along) in made.iter_mut().skip(carried).zip(&turns.results) {
            *value = self.moved(*value, 0, along.axis, along.reverse)?;
        }
        Ok(made.into_iter().map(Operand::from).collect())
    }

    /// The body of a region in a graph of its own, with inputs of these types: its results.
    fn repeated(
        &mut self,
        turns: &Turns<'_>,
        types: &[Type],
        seen: Vec<String>,
    ) -> Result<Vec<Value>, Option<Failure>> {
        let (carried, stacked) = (turns.carried.len(), turns.stacked.len());
        let mut inputs = vec![];
        for (k, ty) in types.iter().enumerate() {
            let is_stacked = (carried..carried + stacked).contains(&k);
            let ty = if is_stacked { Type::new(ty.dtype, &ty.shape[1..]) } else { ty.clone() };
            inputs.push(self.graph.push(Kind::Input(k), vec![], Some(ty), self.span));
        }
        let around = inputs.split_off(carried + stacked);
        let mut args: Vec<Operand> = inputs.into_iter().map(Operand::from).collect();
        if turns.is_loop {
            let turn = self.graph.push(Kind::Counter(0), vec![], Some(Type::new(DType::U32, vec![])), self.span);
            let number = self.builder().convert(turn, DType::I64).map_err(Failure::from)?;
            args.splice(0..0, [number.into(), Operand::known(Tensor::new([], Data::Bool(vec![true])))]);
        }
        self.scope.enter();
        for (name, value) in seen.into_iter().zip(around) {
            self.scope.insert(name, Some(value.into()));
        }
        let made = self.subgraph(turns.body, args);
        self.scope.leave();
        let mut made = made?.into_iter();
        if turns.is_loop && !number(Some(&made.next()))?.is_some_and(|condition| condition.is(1)) {
            return fails("its condition is not known to stay true");
        }
        let made = made.map(|operand| self.output(&operand)).collect::<Result<Vec<Value>, _>>()?;
        match made.iter().zip(types).take(carried).find(|(value, ty)| self.graph.ty(**value) != *ty) {
            Some((value, ty)) => fails(format!("a turn takes {ty} and gives {} to the next", self.graph.ty(*value))),
            None => Ok(made),
        }
    }

    /// A value with an axis at another place, and in the other order.
    fn moved(&mut self, value: Value, from: i64, to: i64, reverse: bool) -> Result<Value, Option<Failure>> {
        let rank = self.graph.ty(value).rank();
        let (Some(from), Some(to)) = (position(from, rank), position(to, rank)) else {
            return fails(format!("{} has no such axis", self.graph.ty(value)));
        };
        let mut order: Vec<usize> = (0..rank).filter(|&axis| axis != from).collect();
        order.insert(to, from);
        let mut b = self.builder();
        let moved = b.transpose(value, &order).map_err(Failure::from)?;
        Ok(if reverse { b.prim(Prim::Flip(vec![to]), &[moved]).map_err(Failure::from)? } else { moved })
    }

    fn builder(&mut self) -> Builder<'_> {
        let (span, float) = (self.span, self.float);
        Builder { graph: &mut self.graph, span, training: false, float, sites: &mut self.sites, loops: vec![] }
    }
}

/// All arguments, none of which may be absent.
fn given(inputs: &[Option<Operand>]) -> Results {
    let all: Option<Vec<Operand>> = inputs.iter().cloned().collect();
    all.ok_or_else(|| Some(Failure::new("an argument of it is missing")))
}

/// An axis of `rank`; negative ones count from the end.
fn position(axis: i64, rank: usize) -> Option<usize> {
    let position = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(position).ok().filter(|&axis| axis < rank)
}
