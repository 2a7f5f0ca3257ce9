//! Derivatives of attention: of the output by kernels that compute the probabilities again, of everything else by what
//! the part means in ordinary primitives.

use super::reverse;
use crate::ir::attend::{Attend, Part};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Graph, Kind, Value};
use crate::ops::{Builder, OpError, attention};

/// The cotangents of `args` from the cotangent `g` of `y`.
pub(super) fn pull_back(
    b: &mut Builder<'_>,
    attend: &Attend,
    args: &[Value],
    y: Value,
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    match attend.part {
        // A mask that learns is as large as the scores, or its cotangent is a sum over them.
        Part::Output if !wanted.get(3).is_some_and(|w| *w) => output(b, attend, args, y, g, wanted),
        // Whatever is subtracted from the scores cancels: with the exponentials, their sum changes.
        Part::Max => Ok(vec![None; args.len()]),
        Part::Output | Part::Reciprocal | Part::Query | Part::Key | Part::Value => {
            specified(b, attend, args, g, wanted)
        }
    }
}

fn output(
    b: &mut Builder<'_>,
    attend: &Attend,
    args: &[Value],
    y: Value,
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let part = |part| Prim::Attend(Attend { part, ..attend.clone() });
    let max = b.prim(part(Part::Max), args)?;
    let reciprocal = b.prim(part(Part::Reciprocal), args)?;
    let column = [b.shape(reciprocal), vec![1.into()]].concat();
    let reciprocal = b.reshape(reciprocal, &column)?;
    let g = b.mul(g, reciprocal)?;
    let products = b.map(MapOp::Mul, &[g, y])?;
    let delta = b.sum(products, &[b.rank(y) - 1])?;
    let mut all = vec![args[0], args[1], args[2], g, max, delta];
    all.extend(args.get(3));
    let parts = [Part::Query, Part::Key, Part::Value].into_iter().zip(wanted);
    let mut cotangents =
        parts.map(|(of, wanted)| wanted.then(|| b.prim(part(of), &all)).transpose()).collect::<Result<Vec<_>, _>>()?;
    cotangents.resize(args.len(), None);
    Ok(cotangents)
}

/// The argument of the derivatives that is subtracted from the scores.
const LARGEST: usize = 4;

/// Differentiates the specification in a graph of its own and appends that.
fn specified(
    b: &mut Builder<'_>,
    attend: &Attend,
    args: &[Value],
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let mut graph = Graph::default();
    let given: Vec<Value> = args.iter().copied().chain([g]).collect();
    let inputs: Vec<Value> = (given.iter().enumerate())
        .map(|(k, &arg)| graph.push(Kind::Input(k), vec![], Some(b.ty(arg).clone()), b.span))
        .collect();
    let (inputs, seed) = inputs.split_at(args.len());
    let mut sites = 0;
    let inside = &mut Builder::of_derivatives(&mut graph, b.span, &mut sites);
    let mut args = inputs.to_vec();
    if attend.part.inputs() > LARGEST {
        // Scores are rounded otherwise here than in the kernels. So what is subtracted from them is the largest of these.
        let all: Vec<Value> = inputs[..3].iter().chain(&inputs[attend.part.inputs()..]).copied().collect();
        args[LARGEST] = attention(inside, &Attend { part: Part::Max, ..attend.clone() }, &all)?;
    }
    let value = attention(inside, attend, &args)?;
    let wrt: Vec<Value> = inputs.iter().zip(wanted).filter(|(_, w)| **w).map(|(v, _)| *v).collect();
    let cotangents = reverse::pull_back(&mut graph, &[(value, seed[0])], &wrt)?;
    let appended = append(b, &graph, &given);
    let mut cotangents = cotangents.into_iter();
    let of = |wanted: &bool| match wanted {
        true => cotangents.next().flatten().map(|v| appended[v.0 as usize]),
        false => None,
    };
    Ok(wanted.iter().map(of).collect())
}

/// Appends the nodes of a graph whose inputs are these values; gives the new number of each.
fn append(b: &mut Builder<'_>, graph: &Graph, inputs: &[Value]) -> Vec<Value> {
    let mut new: Vec<Value> = vec![];
    for value in graph.values() {
        let node = graph.node(value);
        new.push(match node.kind {
            Kind::Input(k) => inputs[k],
            _ => {
                let args = node.args.iter().map(|a| new[a.0 as usize]).collect();
                b.graph.push(node.kind.clone(), args, node.ty.clone(), node.span)
            }
        });
    }
    new
}
