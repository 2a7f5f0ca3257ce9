//! Reverse-mode differentiation: cotangents of some values in, cotangents of others out, as new nodes.

use super::{activity, branch, foreign, repeat, rules};
use crate::ir::{Graph, Kind, Value};
use crate::ops::{Builder, OpError};
use std::collections::BTreeMap;

/// Appends the derivative of a float scalar with respect to each of `wrt`, which are floats of any shape.
///
/// The result can be differentiated again. Values that `output` does not depend on have zero derivatives.
pub fn differentiate(graph: &mut Graph, output: Value, wrt: &[Value]) -> Vec<Value> {
    let made = seed(graph, output, wrt);
    made.unwrap_or_else(|error| unreachable!("derivative rules are well typed: {}", error.message))
}

fn seed(graph: &mut Graph, output: Value, wrt: &[Value]) -> Result<Vec<Value>, OpError> {
    let one = write(graph, output, |b| b.constant(output, 1.0))?;
    let cotangents = pull_back(graph, &[(output, one)], wrt)?;
    let zero = |(cotangent, &value): (Option<Value>, &Value)| match cotangent {
        Some(cotangent) => Ok(cotangent),
        None => zeros(graph, value),
    };
    cotangents.into_iter().zip(wrt).map(zero).collect()
}

/// A zero cotangent of a value.
pub(super) fn zeros(graph: &mut Graph, like: Value) -> Result<Value, OpError> {
    let ty = graph.ty(like).clone();
    write(graph, like, |b| b.full(ty.dtype, &ty.shape, 0.0))
}

/// Lets `build` write in the name of the user's expression of `value`. Derivatives draw no random bits.
pub(super) fn write<R>(graph: &mut Graph, value: Value, build: impl FnOnce(&mut Builder<'_>) -> R) -> R {
    let span = graph.node(value).span;
    build(&mut Builder::of_derivatives(graph, span, &mut 0))
}

/// The sums of the cotangents that arrive at each value.
#[derive(Default)]
pub(super) struct Cotangents(BTreeMap<Value, Value>);

impl Cotangents {
    /// Adds one more.
    fn add(&mut self, graph: &mut Graph, value: Value, cotangent: Value) -> Result<(), OpError> {
        let sum = match self.0.get(&value) {
            Some(&sum) => write(graph, value, |b| b.add(sum, cotangent))?,
            None => cotangent,
        };
        self.0.insert(value, sum);
        Ok(())
    }
}

/// Propagates the cotangents of `seeds` back to `wrt`; `None` where nothing arrives.
pub(super) fn pull_back(
    graph: &mut Graph,
    seeds: &[(Value, Value)],
    wrt: &[Value],
) -> Result<Vec<Option<Value>>, OpError> {
    let active = activity::active(graph, wrt);
    let mut arrived = Cotangents::default();
    for &(value, cotangent) in seeds {
        arrived.add(graph, value, cotangent)?;
    }
    let mut results: BTreeMap<Value, BTreeMap<usize, Value>> = BTreeMap::new();
    for value in (0..active.len() as u32).rev().map(Value).filter(|v| active[v.0 as usize]) {
        let node = graph.node(value);
        let args = node.args.clone();
        let flows: Vec<bool> = args.iter().map(|a| active[a.0 as usize]).collect();
        let onward = match (&node.kind, arrived.0.get(&value)) {
            (Kind::Repeat(_), _) => match results.remove(&value) {
                Some(cotangents) => repeat::pull_back(graph, value, &cotangents, &flows)?,
                None => continue,
            },
            (Kind::Branch(_), _) => match results.remove(&value) {
                Some(cotangents) => branch::pull_back(graph, value, &cotangents, &flows)?,
                None => continue,
            },
            (Kind::Foreign(_), _) => match results.remove(&value).and_then(|mut of_call| of_call.remove(&0)) {
                Some(cotangent) => foreign::pull_back(graph, value, cotangent),
                None => continue,
            },
            (_, None) => continue,
            (Kind::Result(k), Some(&cotangent)) => {
                let k = *k;
                let of_region = results.entry(args[0]).or_default();
                let sum = match of_region.get(&k) {
                    Some(&sum) => write(graph, value, |b| b.add(sum, cotangent))?,
                    None => cotangent,
                };
                of_region.insert(k, sum);
                continue;
            }
            (Kind::Prim(prim), Some(&cotangent)) => {
                let prim = prim.clone();
                write(graph, value, |b| rules::pull_back(b, &prim, &args, value, cotangent, &flows))?
            }
            (
                Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Counter(_)
                | Kind::StopGradient,
                _,
            ) => continue,
            (Kind::Transform(_), _) => unreachable!("transforms are resolved before derivatives are taken"),
            (Kind::Op(call), _) => unreachable!("expand has replaced `{}`", call.op),
            (Kind::Written(_), _) => unreachable!("shape has resolved what the user wrote"),
        };
        for ((arg, cotangent), _) in args.into_iter().zip(onward).zip(flows).filter(|(_, flows)| *flows) {
            if let Some(cotangent) = cotangent {
                arrived.add(graph, arg, cotangent)?;
            }
        }
    }
    Ok(wrt.iter().map(|v| arrived.0.get(v).copied()).collect())
}
