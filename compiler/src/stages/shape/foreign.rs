//! Foreign calls: their results typed, and the places reported where one stands that needs a derivative it has not.

use super::flow::{Dependence, Flow};
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::graph::{ForeignGradient, GradientBy, Taken};
use crate::ir::model::ForeignFn;
use crate::ir::written::Site;
use crate::ir::{Foreign, Graph, How, Kind, Mode, Model, Node, Type};

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

/// Reports the foreign calls of a model without mistakes that training would have to differentiate and cannot, and
/// those that `map` and derivatives cannot see into.
pub(super) fn check(model: &Model, diags: &mut Diags) {
    for function in &model.functions {
        let mut check = Check { foreign: &model.foreign, diags };
        check.transforms(&function.graph);
        if let Mode::Train(_) = function.mode {
            let trained = |id| !function.frozen.contains(&id);
            let mut see = |node: &Node, _: bool| {
                if let Kind::Foreign(foreign) = &node.kind
                    && foreign.gradient.is_none()
                {
                    check.report(node, foreign);
                }
            };
            Flow { trained: &trained, of: Dependence::Gradient, see: &mut see }.of_loss(&function.graph);
        }
    }
}

struct Check<'a> {
    foreign: &'a [ForeignFn],
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

    fn report(&mut self, node: &Node, foreign: &Foreign) {
        let one = &self.foreign[foreign.function];
        let message = format!("the loss depends on parameters through `{}`, which has no gradient", one.name);
        let wanted = wanted(one);
        let report = Diagnostic::new(Code::MissingGradient, node.span, message);
        let report = report.note("`stop_gradient(…)` around an argument lets no gradient through");
        self.diags.push(report.help(format!("declare it `with grad(cotangent: {}) -> {wanted}`", one.results[0])));
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
