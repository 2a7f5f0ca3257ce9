//! What to declare so that two values suit each other: the one declaration behind the guilty value (a layer's number, a
//! state, an argument) with which the call is right. Always: the call is tried with what the change makes of it.

use super::report::type_text;
use super::{Shaper, call};
use crate::diag::Diagnostic;
use crate::ir::attr::Attrs;
use crate::ir::graph::Call;
use crate::ir::written::{LayerSite, Site, What};
use crate::ir::{Dim, Kind, Node, Type, Value};
use crate::ops;

/// A layer on the way to the guilty value.
struct Step<'a> {
    node: &'a Node,
    call: &'a Call,
    layer: Option<&'a LayerSite>,
}

impl Shaper<'_> {
    /// Adds what to declare to the report of a call whose arguments do not suit each other.
    pub(super) fn repair(&self, report: &mut Diagnostic, node: &Node, call: &Call, site: &Site, types: &[Type]) {
        if self.inferred {
            return;
        }
        let given = site.args.len().min(types.len());
        let order: Vec<usize> = (0..given).rev().collect();
        let by = |find: &dyn Fn(usize) -> Option<String>| order.iter().find_map(|&k| find(k));
        report.help = by(&|k| self.other_state(node, call, k, types))
            .or_else(|| by(&|k| self.other_layer((node, call), k, types)))
            .or_else(|| by(&|k| self.other_argument(node, call, k, types)));
    }

    /// The declaration of the function's argument that a value is, with another type.
    pub(super) fn redeclared(&self, value: Value, wanted: &Type) -> Option<String> {
        let node = self.old.node(value);
        if !matches!(node.kind, Kind::Input(_)) || !self.is_used_once(value) {
            return None;
        }
        let line = self.diags.line(node.span.into());
        Some(format!("declare `{}: {}` on {line}", node.name.as_deref()?, type_text(wanted)))
    }

    /// Whether an argument of the function is asked for by nothing else that may want its declared type.
    fn is_used_once(&self, value: Value) -> bool {
        self.inputs.is_none()
            && self.old.nodes.iter().flat_map(|node| &node.args).filter(|arg| **arg == value).count() == 1
    }

    /// Whether the call is right where one argument has another type.
    fn suits(&self, call: &Call, types: &[Type], k: usize, ty: Type) -> bool {
        let mut types = types.to_vec();
        types[k] = ty;
        let attrs = self.bindings.attrs(&call.attrs);
        attrs.is_some_and(|attrs| call::results_of_call(call, &types, &[], &attrs).is_some())
    }

    /// The declaration of a layer whose one other number makes the argument suit.
    fn other_layer(&self, (node, call): (&Node, &Call), k: usize, types: &[Type]) -> Option<String> {
        let steps = self.steps(node.args[k]);
        let extents = |ty: &Type| ty.shape.iter().filter_map(Dim::as_const).collect::<Vec<_>>();
        let others: Vec<i64> =
            types.iter().enumerate().filter(|(j, _)| *j != k).flat_map(|(_, ty)| extents(ty)).collect();
        for (at, step) in steps.iter().enumerate() {
            let Some(layer) = step.layer else { continue };
            for (attr, value) in changes(layer, &others, &extents(&types[k])) {
                let made = self.again(&steps[..=at], &layer.attrs.with(attr, value));
                if made.is_some_and(|made| self.suits(call, types, k, made)) {
                    let declaration = layer.declaration(attr, &value.to_string());
                    return Some(format!("declare `{declaration}` on {}", layer.line));
                }
            }
        }
        None
    }

    /// The calls that make a value, each of the first argument of the one after it; the last call first.
    fn steps(&self, value: Value) -> Vec<Step<'_>> {
        let (mut at, mut steps) = (value, vec![]);
        while let Kind::Written(written) = &self.old.node(at).kind {
            let node = self.old.node(at);
            match &written.what {
                What::Call(call) => steps.push(Step { node, call, layer: written.site.layer.as_deref() }),
                What::Fit(_) => {}
                _ => break,
            }
            let Some(&first) = node.args.first() else { break };
            at = first;
        }
        steps
    }

    /// The type of the first step's result where the last one's layer has other attributes.
    fn again(&self, steps: &[Step<'_>], attrs: &Attrs) -> Option<Type> {
        let mut made: Option<Type> = None;
        for step in steps.iter().rev() {
            let mut types: Vec<Type> =
                step.node.args.iter().map(|&arg| self.one_type(arg).cloned()).collect::<Option<_>>()?;
            let results = match (made.take(), step.layer) {
                (None, Some(layer)) => {
                    let params = (ops::layer_of(layer).params)(attrs).ok()?.len();
                    types.truncate(types.len().checked_sub(params)?);
                    call::results_of_layer(layer, attrs, step.call, &types)?
                }
                (made, _) => {
                    made.into_iter().for_each(|made| types[0] = made);
                    call::results_of_call(step.call, &types, &[], &self.bindings.attrs(&step.call.attrs)?)?
                }
            };
            made = results.into_iter().next();
        }
        made
    }

    /// The state that suits with the type of the other argument.
    fn other_state(&self, node: &Node, call: &Call, k: usize, types: &[Type]) -> Option<String> {
        let other = &types[(0..types.len()).find(|j| *j != k)?];
        let of = self.old.node(node.args[k]);
        let suits = matches!(of.kind, Kind::State(_)) && self.suits(call, types, k, other.clone());
        suits.then_some(format!("declare `state {}: {}`", of.name.as_deref()?, type_text(other)))
    }

    /// The argument of the function that suits where one of its extents has the other's name.
    fn other_argument(&self, node: &Node, call: &Call, k: usize, types: &[Type]) -> Option<String> {
        let value = node.args[k];
        let other = &types[(0..types.len()).find(|j| *j != k)?];
        let (from, to) = renamed(&types[k], other)?;
        let input = self.input_behind(value, &from)?;
        let renames = |ty: &Type| {
            let shape = ty.shape.iter().map(|dim| if *dim == from { to.clone() } else { dim.clone() });
            Type::new(ty.dtype, shape.collect::<Vec<_>>())
        };
        if !self.suits(call, types, k, renames(&types[k])) {
            return None;
        }
        let (name, ty) = (self.old.node(input).name.as_deref()?, renames(self.one_type(input)?));
        let line = self.diags.line(self.old.node(input).span.into());
        Some(format!("declare `{name}: {}` on {line}", type_text(&ty)))
    }

    /// The argument of the function that has the extent and gave it to a value.
    fn input_behind(&self, value: Value, extent: &Dim) -> Option<Value> {
        let mut at = value;
        loop {
            let node = self.old.node(at);
            let has = self.one_type(at).is_some_and(|ty| ty.shape.contains(extent));
            if !has {
                return None;
            }
            if matches!(node.kind, Kind::Input(_)) {
                return Some(at).filter(|_| self.is_used_once(at));
            }
            at = *node.args.first()?;
        }
    }
}

/// What might be changed in a layer's declaration: the features of its result, or the padding that it lacks.
fn changes(layer: &LayerSite, others: &[i64], own: &[i64]) -> Vec<(&'static str, i64)> {
    let mut all = vec![];
    if let Some(output) = layer.attrs.int("output") {
        all.extend(others.iter().map(|&extent| ("output", extent)));
        // Heads and the like have a part of the features each.
        let scaled = others.iter().flat_map(|&to| own.iter().map(move |&from| (output * to, from)));
        all.extend(scaled.filter(|(n, from)| *from > 0 && n % from == 0).map(|(n, from)| ("output", n / from)));
        all.retain(|(_, n)| *n != output && *n > 0);
    }
    if let (Some(0), Some(kernel)) = (layer.attrs.int("padding"), layer.attrs.int("kernel"))
        && kernel > 1
        && kernel % 2 == 1
    {
        all.push(("padding", kernel / 2));
    }
    all
}

/// The one named extent of the first type that is another name in the second.
fn renamed(ty: &Type, other: &Type) -> Option<(Dim, Dim)> {
    let pairs = ty.shape.iter().rev().zip(other.shape.iter().rev());
    let mut differ = pairs.filter(|(a, b)| a != b && a.as_name().is_some() && b.as_name().is_some());
    let (from, to) = differ.next()?;
    differ.next().is_none().then(|| (from.clone(), to.clone()))
}
