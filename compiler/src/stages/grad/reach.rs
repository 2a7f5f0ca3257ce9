//! Which parameters of repeated blocks a loss depends on, block by block: a graph in, its parameters with what of
//! them is reached out.
//!
//! One backward region serves all iterations, so that it gives a zero where the loss does not depend on the parameters
//! of some iteration: those of a value that the last block leaves to a next one, for instance. A zero is not the same
//! as none: an optimiser decays what has a gradient, and takes steps from what earlier gradients left.

use crate::ir::model::ParamId;
use crate::ir::{Branch, Graph, Kind, Repeat, Value};
use std::collections::BTreeMap;
use std::ops::Range;

/// A region with more iterations is taken as a whole.
const MOST_ITERATIONS: i64 = 1 << 12;

/// What of a value is reached. It may say more than there is, never less.
#[derive(Clone, PartialEq, Default)]
pub(super) enum Reach {
    /// Nothing.
    #[default]
    Nothing,
    /// All of it.
    All,
    /// Of each slice along the first axis.
    Slices(Vec<Reach>),
}

impl Reach {
    fn any(&self) -> bool {
        *self != Reach::Nothing
    }

    /// What either reaches.
    fn join(self, other: &Reach) -> Reach {
        match (self, other) {
            (Reach::Nothing, reach) => reach.clone(),
            (Reach::Slices(mine), Reach::Slices(others)) if mine.len() == others.len() => {
                Reach::of_slices(mine.into_iter().zip(others).map(|(a, b)| a.join(b)).collect())
            }
            (mine, Reach::Nothing) => mine,
            _ => Reach::All,
        }
    }

    fn of_slices(slices: Vec<Reach>) -> Reach {
        for uniform in [Reach::Nothing, Reach::All] {
            if slices.iter().all(|slice| *slice == uniform) {
                return uniform;
            }
        }
        Reach::Slices(slices)
    }

    fn slice(&self, k: usize) -> Reach {
        match self {
            Reach::Slices(slices) => slices.get(k).cloned().unwrap_or_default(),
            uniform => uniform.clone(),
        }
    }

    /// The elements that are not reached of a tensor with this many, in ascending ranges that do not touch.
    pub(super) fn rest(&self, elements: usize) -> Vec<Range<usize>> {
        let slices = match self {
            Reach::All => return vec![],
            Reach::Nothing => return (elements > 0).then_some(0..elements).into_iter().collect(),
            Reach::Slices(slices) => slices,
        };
        let len = elements / slices.len().max(1);
        let mut ranges: Vec<Range<usize>> = vec![];
        for (k, slice) in slices.iter().enumerate() {
            for Range { start, end } in slice.rest(len) {
                match ranges.last_mut() {
                    Some(last) if last.end == k * len + start => last.end = k * len + end,
                    _ => ranges.push(k * len + start..k * len + end),
                }
            }
        }
        ranges
    }
}

/// What of each parameter `loss` depends on.
pub(super) fn params(graph: &Graph, loss: Value) -> BTreeMap<ParamId, Reach> {
    let mut params: BTreeMap<ParamId, Reach> = BTreeMap::new();
    for (value, reach) in graph.values().zip(reached(graph, &[(loss, Reach::All)])) {
        if let Kind::Param(id) = graph.node(value).kind {
            let known = params.remove(&id).unwrap_or_default();
            params.insert(id, known.join(&reach));
        }
    }
    params
}

/// What of each node's value these reach.
fn reached(graph: &Graph, seeds: &[(Value, Reach)]) -> Vec<Reach> {
    let mut reach = vec![Reach::Nothing; graph.nodes.len()];
    let add = |reach: &mut Vec<Reach>, value: Value, more: &Reach| {
        let known = &mut reach[value.0 as usize];
        *known = std::mem::take(known).join(more);
    };
    seeds.iter().for_each(|(value, more)| add(&mut reach, *value, more));
    let mut results: BTreeMap<Value, BTreeMap<usize, Reach>> = BTreeMap::new();
    for value in (0..graph.nodes.len() as u32).rev().map(Value) {
        let node = graph.node(value);
        let own = reach[value.0 as usize].clone();
        let of_results = results.remove(&value);
        let onward = match (&node.kind, of_results) {
            (Kind::Result(k), _) if own.any() => {
                let of_region = results.entry(node.args[0]).or_default().entry(*k).or_default();
                *of_region = std::mem::take(of_region).join(&own);
                continue;
            }
            (Kind::Repeat(repeat), Some(of_results)) => of_repeat(repeat, &of_results),
            (Kind::Branch(branch), Some(of_results)) => {
                // The first argument chooses the case.
                std::iter::once(Reach::Nothing).chain(of_branch(branch, &of_results)).collect()
            }
            (Kind::Foreign(_), Some(_)) => vec![Reach::All; node.args.len()],
            (Kind::Prim(_), _) if own.any() && node.ty.as_ref().is_some_and(|ty| ty.dtype.is_float()) => {
                vec![Reach::All; node.args.len()]
            }
            // Nothing of it is reached, or no derivative passes.
            (
                Kind::Result(_)
                | Kind::Repeat(_)
                | Kind::Branch(_)
                | Kind::Foreign(_)
                | Kind::Prim(_)
                | Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Counter(_)
                | Kind::StopGradient
                | Kind::Op(_)
                | Kind::Transform(_)
                | Kind::Written(_),
                _,
            ) => continue,
        };
        node.args.iter().zip(&onward).for_each(|(arg, more)| add(&mut reach, *arg, more));
    }
    reach
}

/// What of each input of a body is reached from its outputs.
fn of_body(body: &Graph, inputs: usize, outputs: &[Reach]) -> Vec<Reach> {
    let seeds: Vec<(Value, Reach)> = body.outputs.iter().copied().zip(outputs.iter().cloned()).collect();
    let reach = reached(body, &seeds);
    let mut of_inputs = vec![Reach::Nothing; inputs];
    for (k, value) in body.inputs() {
        of_inputs[k] = std::mem::take(&mut of_inputs[k]).join(&reach[value.0 as usize]);
    }
    of_inputs
}

/// What of the arguments of a branch but the first is reached, in some case.
fn of_branch(branch: &Branch, results: &BTreeMap<usize, Reach>) -> Vec<Reach> {
    let outputs: Vec<Reach> = (0..branch.results()).map(|k| results.get(&k).cloned().unwrap_or_default()).collect();
    let mut all: Vec<Reach> = vec![];
    for case in &branch.cases {
        let inputs = case.inputs().map(|(k, _)| k + 1).max().unwrap_or(0);
        all.resize(all.len().max(inputs), Reach::Nothing);
        for (known, more) in all.iter_mut().zip(of_body(case, inputs, &outputs)) {
            *known = std::mem::take(known).join(&more);
        }
    }
    all
}

/// What of the arguments of a repeat is reached: iteration by iteration, the last first.
fn of_repeat(repeat: &Repeat, results: &BTreeMap<usize, Reach>) -> Vec<Reach> {
    let inputs = repeat.body.inputs().map(|(k, _)| k + 1).max().unwrap_or(0);
    let inputs = inputs.max(repeat.carried + repeat.stacked);
    let of_result = |k: usize| results.get(&k).cloned().unwrap_or_default();
    let mut outputs: Vec<Reach> = (0..repeat.body.outputs.len()).map(of_result).collect();
    let Some(count) = repeat.count.as_const().filter(|count| *count <= MOST_ITERATIONS) else {
        return of_some_iterations(repeat, inputs, outputs);
    };
    let stacks = repeat.carried..repeat.carried + repeat.stacked;
    let mut slices = vec![vec![Reach::Nothing; count as usize]; repeat.stacked];
    let mut all = vec![Reach::Nothing; inputs];
    let mut before: Option<(Vec<Reach>, Vec<Reach>)> = None;
    for turn in (0..count as usize).rev() {
        let k = if repeat.reverse { count as usize - 1 - turn } else { turn };
        (repeat.carried..outputs.len()).for_each(|of| outputs[of] = of_result(of).slice(k));
        let of_inputs = match before.take() {
            Some((same, of_inputs)) if same == outputs => of_inputs,
            _ => of_body(&repeat.body, inputs, &outputs),
        };
        for (slices, of) in slices.iter_mut().zip(&of_inputs[stacks.clone()]) {
            slices[k] = of.clone();
        }
        all.iter_mut().zip(&of_inputs).for_each(|(known, more)| *known = std::mem::take(known).join(more));
        before = Some((outputs.clone(), of_inputs.clone()));
        outputs[..repeat.carried].clone_from_slice(&of_inputs[..repeat.carried]);
    }
    all[..repeat.carried].clone_from_slice(&outputs[..repeat.carried]);
    stacks.zip(slices).for_each(|(k, slices)| all[k] = Reach::of_slices(slices));
    all
}

/// The same where nobody knows their number before run time: what some iteration reaches.
fn of_some_iterations(repeat: &Repeat, inputs: usize, mut outputs: Vec<Reach>) -> Vec<Reach> {
    outputs.iter_mut().filter(|reach| reach.any()).for_each(|reach| *reach = Reach::All);
    loop {
        let of_inputs = of_body(&repeat.body, inputs, &outputs);
        let before = outputs.clone();
        for (known, more) in outputs[..repeat.carried].iter_mut().zip(&of_inputs) {
            *known = if more.any() { Reach::All } else { std::mem::take(known) };
        }
        if outputs == before {
            let carried = outputs[..repeat.carried].iter().cloned();
            let others = of_inputs[repeat.carried..].iter().map(|r| if r.any() { Reach::All } else { Reach::Nothing });
            return carried.chain(others).collect();
        }
    }
}
