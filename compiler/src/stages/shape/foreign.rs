//! Foreign calls: their results typed, and the places reported where one stands that needs a derivative it has not.

use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::graph::{ForeignGradient, GradientBy, Taken};
use crate::ir::model::{ForeignFn, ParamId};
use crate::ir::written::Site;
use crate::ir::{Foreign, Graph, How, Kind, Mode, Model, Node, Type, Value};
use proc_macro2::Ident;
use std::collections::BTreeMap;

impl Shaper<'_> {
    /// A call whose arguments fit, as the nodes before it have checked.
    pub(super) fn foreign(&mut self, node: &Node, foreign: &Foreign, site: &Site) -> Known {
        let Some(args) = self.all(&node.args) else { return Known::Unknown };
        let mut results = vec![];
        for ty in &foreign.results {
            let shape: Option<Vec<_>> = ty.shape.iter().map(|dim| self.bindings.dim(dim)).collect();
            let Some(shape) = shape else {
                self.report_unbound(site);
                return Known::Unknown;
            };
            results.push(Type::new(ty.dtype, shape));
        }
        let mut call = Foreign { results: results.clone(), ..foreign.clone() };
        if let Some(ForeignGradient { by: GradientBy::Body(body), takes }) = &mut call.gradient {
            let ty = |taken: &Taken| match taken {
                Taken::Argument(k) => self.new.ty(args[*k]).clone(),
                Taken::Result | Taken::Cotangent => results[0].clone(),
            };
            let inputs = takes.iter().map(|taken| Some(ty(taken))).collect();
            let (typed, sure) = Shaper::new(body, self.diags, self.dims, self.bindings, Some(inputs)).run();
            if sure.contains(&false) {
                return Known::Unknown;
            }
            *body = typed;
        }
        let kind = Kind::Foreign(Box::new(call));
        let value = self.new.push(kind, args, results.first().cloned(), node.span);
        match results.len() {
            1 => Known::One(value),
            _ => Known::Many(value, results),
        }
    }
}

/// Reports the foreign calls of a model without mistakes that training would have to differentiate and cannot,
/// those that `map` and derivatives cannot see into, and losses that depend on nothing that is trained.
pub(super) fn check(model: &Model, diags: &mut Diags) {
    for function in &model.functions {
        let mut check = Check { foreign: &model.foreign, frozen: &function.frozen, diags };
        check.transforms(&function.graph);
        if let Mode::Train(_) = function.mode {
            let loss = function.graph.outputs[0];
            let wanted = Reached::by(&function.graph, &[loss]);
            check.graph(&function.graph, &|_| false, &wanted);
            let params = function.graph.nodes.iter().zip(&wanted.0).filter_map(|(node, reached)| match node.kind {
                Kind::Param(id) if model.param(id).trained => Some(*reached && !function.frozen.contains(&id)),
                _ => None,
            });
            // A loss without the parameters may be meant; one that lets nothing through to them is not.
            let reached: Vec<bool> = params.collect();
            if !model.params.iter().any(|param| param.trained) {
                check.report_parameterless(&function.name, &model.name);
            } else if !reached.is_empty() && !reached.contains(&true) {
                check.report_untrained(&function.name);
            }
        }
    }
}

struct Check<'a> {
    foreign: &'a [ForeignFn],
    frozen: &'a [ParamId],
    diags: &'a mut Diags,
}

impl Check<'_> {
    fn transforms(&mut self, graph: &Graph) {
        for node in &graph.nodes {
            match &node.kind {
                Kind::Transform(transform) => match &transform.how {
                    How::Map { .. } | How::Jacobian { .. } => {
                        if let Some(function) = called(&transform.body) {
                            let name = &self.foreign[function].name;
                            let what = "inside of `map` or a derivative with several results";
                            let message = format!("the foreign function `{name}` {what} is not supported yet");
                            self.diags.push(Diagnostic::new(Code::NotSupported, node.span, message));
                        }
                    }
                    How::Gradient { .. } | How::Jvp { .. } | How::Vjp { .. } => {
                        if let Some(function) = opaque(&transform.body) {
                            self.report_opaque(node, transform.how.name(), function);
                        }
                        self.transforms(&transform.body);
                    }
                },
                Kind::Repeat(repeat) => self.transforms(&repeat.body),
                Kind::Branch(branch) => branch.cases.iter().for_each(|case| self.transforms(case)),
                Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Op(_)
                | Kind::Result(_)
                | Kind::Prim(_)
                | Kind::Counter(_)
                | Kind::Foreign(_)
                | Kind::StopGradient
                | Kind::Written(_) => {}
            }
        }
    }

    /// Reports calls between what is trained and what is wanted; gives what depends on what is trained.
    fn graph(&mut self, graph: &Graph, input: &dyn Fn(usize) -> bool, wanted: &Reached) -> Vec<bool> {
        let mut trained: Vec<bool> = vec![];
        let mut results: BTreeMap<Value, Vec<bool>> = BTreeMap::new();
        for value in graph.values() {
            let node = graph.node(value);
            let args: Vec<bool> = node.args.iter().map(|a| trained[a.0 as usize]).collect();
            let any = args.contains(&true);
            let flows = match &node.kind {
                Kind::Input(k) => input(*k),
                Kind::Param(id) => !self.frozen.contains(id),
                Kind::State(_) | Kind::Source(_) | Kind::Counter(_) | Kind::StopGradient => false,
                Kind::Op(_) | Kind::Prim(_) | Kind::Transform(_) | Kind::Written(_) => any,
                Kind::Foreign(foreign) => {
                    if any && wanted.0[value.0 as usize] && foreign.gradient.is_none() {
                        self.report(node, foreign);
                    }
                    any
                }
                // A value that is carried may depend on any argument after some rounds.
                Kind::Repeat(repeat) => {
                    let inside = Reached::by(&repeat.body, &repeat.body.outputs);
                    self.graph(&repeat.body, &|k| args[k] || (k < repeat.carried && any), &inside);
                    any
                }
                Kind::Branch(branch) => {
                    let mut all = vec![false; branch.results()];
                    for case in &branch.cases {
                        let inside = Reached::by(case, &case.outputs);
                        let found = self.graph(case, &|k| args[k + 1], &inside);
                        all.iter_mut().zip(&case.outputs).for_each(|(all, v)| *all |= found[v.0 as usize]);
                    }
                    results.insert(value, all);
                    any
                }
                Kind::Result(k) => results.get(&node.args[0]).map_or(any, |of| of[*k]),
            };
            trained.push(flows && node.ty.as_ref().is_none_or(|ty| ty.dtype.is_float()));
        }
        trained
    }

    fn report_opaque(&mut self, node: &Node, how: &str, function: usize) {
        let one = &self.foreign[function];
        let (name, cotangent) = (&one.name, &one.results[0]);
        let message = format!("this {how} goes through `{name}`, whose gradient is no function of the language");
        let report = Diagnostic::new(Code::MissingGradient, node.span, message);
        let report = report.note("derivatives that a function computes may be differentiated again");
        let help = format!(
            "declare it `with grad = {name}_grad`, and `fn {name}_grad(cotangent: {cotangent}) -> {}`",
            wanted(one)
        );
        self.diags.push(report.help(help));
    }

    fn report_parameterless(&mut self, name: &Ident, model: &Ident) {
        let message = format!("`{name}` is trained, but `{model}` has no parameters");
        let report = Diagnostic::new(Code::NothingToTrain, name.span(), message);
        self.diags.push(report.help("declare a field that has some: `layer: Linear(64, 10)`, or remove `#[train(…)]`"));
    }

    fn report_untrained(&mut self, name: &Ident) {
        let message = format!("`{name}` is trained, but its gradient reaches none of the parameters that it uses");
        let report = Diagnostic::new(Code::NothingToTrain, name.span(), message);
        let report = report.note("nothing flows through `stop_gradient(…)` and to what `only = …` leaves out");
        self.diags.push(report.help("let something through, or remove `#[train(…)]`"));
    }

    fn report(&mut self, node: &Node, foreign: &Foreign) {
        let one = &self.foreign[foreign.function];
        let message = format!("the loss depends on parameters through `{}`, which has no gradient", one.name);
        let wanted = wanted(one);
        let report = Diagnostic::new(Code::MissingGradient, node.span, message);
        let report = report.note("`stop_gradient(…)` around an argument lets no gradient through");
        self.diags.push(report.help(format!("declare it `with grad(cotangent: {}) -> {wanted}`", one.results[0])));
    }
}

/// Whether what is wanted depends on each node.
struct Reached(Vec<bool>);

impl Reached {
    fn by(graph: &Graph, wanted: &[Value]) -> Reached {
        let mut reached = vec![false; graph.nodes.len()];
        wanted.iter().for_each(|v| reached[v.0 as usize] = true);
        for value in graph.values().rev() {
            if reached[value.0 as usize] && !matches!(graph.node(value).kind, Kind::StopGradient) {
                graph.node(value).args.iter().for_each(|a| reached[a.0 as usize] = true);
            }
        }
        Reached(reached)
    }
}

/// The types of a gradient's results.
fn wanted(of: &ForeignFn) -> String {
    let floats = of.args.iter().filter(|(_, ty)| ty.dtype.is_float());
    let wanted: Vec<String> = floats.map(|(_, ty)| ty.to_string()).collect();
    if wanted.len() == 1 { wanted[0].clone() } else { format!("({})", wanted.join(", ")) }
}

/// A foreign function that a graph calls, and whose gradient is not a graph of the language alone.
fn opaque(graph: &Graph) -> Option<usize> {
    graph.nodes.iter().find_map(|node| match &node.kind {
        Kind::Foreign(foreign) => match foreign.body() {
            Some(body) if called(body).is_none() => None,
            Some(_) | None => Some(foreign.function),
        },
        kind => kind.bodies().iter().find_map(opaque),
    })
}

/// A foreign function that a graph calls.
fn called(graph: &Graph) -> Option<usize> {
    graph.nodes.iter().find_map(|node| match &node.kind {
        Kind::Foreign(foreign) => Some(foreign.function),
        kind => kind.bodies().iter().find_map(called),
    })
}
