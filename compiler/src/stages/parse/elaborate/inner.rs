//! The body of a function that is mapped or differentiated: a graph of its own, with an input for each tensor
//! of the arguments and behind them one for each value that the function sees of what is around it.

use super::super::ast::Expr;
use super::graph::site_of;
use super::loops::{leaves, replace};
use super::transform::Derived;
use super::{Argument, Elaborator, Frame, Tensor, Val};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::transform::{How, Transform};
use crate::ir::written::{Made, Site, What};
use crate::ir::{Graph, Kind, Value};

/// A body that was built.
pub(super) struct Inner {
    graph: Graph,
    /// The function's result, of tensors of the body.
    pub(super) result: Val,
    /// The arguments, of tensors around the body.
    pub(super) given: Vec<Val>,
    /// The tensors of the arguments, in the graph around it.
    pub(super) start: Vec<Value>,
    /// The text and place of the argument of each.
    sites: Vec<(String, Place)>,
    /// What the body sees of the graph around it: the inputs behind those of the arguments.
    captured: Vec<Value>,
    /// Which inputs the captured values are that were asked for.
    pub(super) seen: Vec<usize>,
}

impl Elaborator<'_, '_> {
    /// Builds the body of a call. `captured` are values around it that it must use. `None` after a report.
    pub(super) fn inner(
        &mut self,
        expr: &Expr,
        derived: &Derived,
        args: Vec<Argument>,
        captured: &[(Tensor, String, Place)],
    ) -> Option<Inner> {
        let (mut before, mut sites) = (vec![], vec![]);
        let (mut given, mut inside) = (vec![], vec![]);
        for arg in args {
            let value = self.materialise(arg.value, &arg.text, arg.place);
            let first = before.len();
            leaves(&value, &mut before);
            sites.extend(vec![(arg.text.clone(), arg.place); before.len() - first]);
            given.push(value.clone());
            inside.push(Argument { value, ..arg });
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
        inside.iter_mut().for_each(|arg| replace(&mut arg.value, &mut inputs));
        let result = self.apply(expr, &derived.of, inside);
        let result = self.materialise(result, &derived.of.text, derived.of.place);
        let mut outputs = vec![];
        leaves(&result, &mut outputs);
        let known = is_known(&result) && !outputs.is_empty();
        let outputs: Vec<Value> = outputs.into_iter().map(|t| self.reach(t)).collect();
        let Some(mut frame) = self.frames.pop() else { unreachable!("the body's graph is open") };
        self.only_read(&mut frame, &derived.of.text);
        if !known {
            return None;
        }
        let Frame { mut graph, invariants, .. } = frame;
        for (k, (_, inner)) in invariants.iter().enumerate() {
            graph.node_mut(*inner).kind = Kind::Input(start.len() + k);
        }
        graph.outputs = outputs;
        let around: Vec<Value> = invariants.into_iter().map(|(outer, _)| outer).collect();
        let seen = self.seen(derived, &outside, captured, &around)?;
        let seen = seen.into_iter().map(|k| start.len() + k).collect();
        Some(Inner { graph, result, given, start, sites, captured: around, seen })
    }

    /// Where the values that were asked for stand among what the body uses; `None` after a report.
    fn seen(
        &mut self,
        derived: &Derived,
        wanted: &[Value],
        captured: &[(Tensor, String, Place)],
        around: &[Value],
    ) -> Option<Vec<usize>> {
        let mut seen = vec![];
        for (value, (_, name, place)) in wanted.iter().zip(captured) {
            let Some(k) = around.iter().position(|outer| outer == value) else {
                let text = &derived.of.text;
                let message = format!("`{text}` does not use `{name}`, so there is no derivative by it");
                self.diags.push(Diagnostic::new(Code::UnusedDerivative, *place, message));
                return None;
            };
            seen.push(k);
        }
        Some(seen)
    }

    /// Appends the transform; gives its results. `tangents` are the arguments behind those of the body.
    pub(super) fn transform(
        &mut self,
        expr: &Expr,
        derived: &Derived,
        inner: Inner,
        how: How,
        tangents: Vec<(Value, (String, Place))>,
    ) -> Vec<Tensor> {
        let outputs = inner.graph.outputs.len();
        let results = match &how {
            How::Map { .. } => outputs,
            How::Gradient { wrt, value } => wrt.len() + usize::from(*value),
            How::Jvp { .. } => 2 * outputs,
            How::Vjp { wrt, .. } => outputs + wrt.len(),
            How::Jacobian { wrt } => wrt.len(),
        };
        let arguments = inner.start.len();
        let mut args: Vec<Tensor> = vec![];
        let frame = self.frames.len() - 1;
        let here = |value: &Value| Tensor { frame, value: *value };
        args.extend(inner.start.iter().chain(&inner.captured).map(here));
        args.extend(tangents.iter().map(|(value, _)| here(value)));
        let sites = inner.sites.into_iter().chain(tangents.into_iter().map(|(_, site)| site)).collect();
        let what = What::Transform(Box::new(Made {
            transform: Transform { how, body: inner.graph },
            arguments,
            maker: derived.maker.name(),
            function: derived.of.text.clone(),
            place: derived.of.place,
        }));
        let node = self.write(what, Site { args: sites, ..site_of(expr) }, &args);
        if results == 1 {
            return vec![node];
        }
        (0..results).map(|k| self.push(Kind::Result(k), &[node], None, expr.place)).collect()
    }
}

/// Whether every part of a value is a tensor.
pub(super) fn is_known(value: &Val) -> bool {
    match value {
        Val::Tensor(_) => true,
        Val::Tuple(items) => items.iter().all(is_known),
        Val::Struct(_, fields) => fields.iter().all(|(_, value)| is_known(value)),
        Val::Static(_) | Val::Module(_) | Val::Function(_) | Val::Unknown => false,
    }
}
