//! Training that cannot change anything: reports losses whose gradient reaches no parameter, with what it ends at.

use super::flow::{Dependence, Flow, reached};
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::{Function, Kind, Mode, Model, Node};

/// Reports the losses of a model without mistakes that train nothing.
pub(super) fn check(model: &Model, diags: &mut Diags) {
    for function in model.functions.iter().filter(|f| matches!(f.mode, Mode::Train(_))) {
        if model.trained().next().is_none() {
            diags.push(parameterless(model, function));
            continue;
        }
        let mut cuts: Vec<String> = vec![];
        let trained = |id| model.param(id).trained && !function.frozen.contains(&id);
        let mut see = |node: &Node, flows: bool| {
            if !flows && let Some(cut) = cut(node, diags) {
                cuts.push(cut);
            }
        };
        let flows = Flow { trained: &trained, of: Dependence::Value, see: &mut see }.of_loss(&function.graph);
        if !flows {
            report(model, function, cuts, diags);
        }
    }
}

/// Why no gradient flows through a node, where the node itself is the reason.
fn cut(node: &Node, diags: &Diags) -> Option<String> {
    let line = diags.line(node.span.into());
    let flat = |what: &str| match node.ty.as_ref()?.dtype {
        dtype if dtype.is_float() => Some(format!("the derivative of {what} on {line} is 0")),
        dtype => Some(format!("{what} on {line} gives {dtype}, and only floats have derivatives")),
    };
    match &node.kind {
        Kind::StopGradient => Some(format!("nothing flows through `stop_gradient(…)` on {line}")),
        Kind::Op(call) => flat(&format!("`{}`", call.callee)),
        Kind::Prim(_) => flat("the value"),
        Kind::Foreign(_) => flat("the foreign function"),
        Kind::Transform(_)
        | Kind::Input(_)
        | Kind::Param(_)
        | Kind::State(_)
        | Kind::Source(_)
        | Kind::Counter(_)
        | Kind::Result(_)
        | Kind::Repeat(_)
        | Kind::Branch(_)
        | Kind::Written(_) => None,
    }
}

fn parameterless(model: &Model, function: &Function) -> Diagnostic {
    let message = format!("`{}` is trained, but `{}` has no parameters", function.name, model.name);
    let report = Diagnostic::new(Code::NothingToTrain, function.name.span(), message);
    report.help("declare a field that has some: `layer: Linear(64, 10)`, or remove `#[train(…)]`")
}

fn report(model: &Model, function: &Function, cuts: Vec<String>, diags: &mut Diags) {
    let (name, graph) = (&function.name, &function.graph);
    let needed = reached(graph, &graph.outputs[..1], Dependence::Value);
    let used = graph.nodes.iter().zip(needed).filter_map(|(node, needed)| match node.kind {
        Kind::Param(id) if needed && model.param(id).trained => Some(id),
        _ => None,
    });
    let used: Vec<_> = used.collect();
    if used.is_empty() {
        let message = format!("`{name}` is trained, but it uses no parameter of `{}`", model.name);
        let report = Diagnostic::new(Code::NothingToTrain, name.span(), message);
        diags.push(report.help(match predictor(model) {
            Some(call) => format!("compute it from what the model gives: `{call}`"),
            None => "compute it from what the model gives, or remove `#[train(…)]`".to_owned(),
        }));
        return;
    }
    let message = format!("`{name}` is trained, but its gradient reaches none of the parameters that it uses");
    let mut report = Diagnostic::new(Code::NothingToTrain, name.span(), message);
    if used.iter().all(|id| function.frozen.contains(id)) {
        report = report.note("`only = …` leaves out all that it uses");
    }
    for cut in cuts {
        if !report.notes.contains(&cut) {
            report = report.note(cut);
        }
    }
    diags.push(report.help("let something through, or remove `#[train(…)]`"));
}

/// A call of the first function of the model that uses parameters and is not trained.
fn predictor(model: &Model) -> Option<String> {
    let uses = |f: &&Function| f.graph.nodes.iter().any(|node| matches!(node.kind, Kind::Param(_)));
    let trained: Vec<_> =
        model.functions.iter().filter(|f| matches!(f.mode, Mode::Train(_))).map(|f| &f.name).collect();
    let one = model.functions.iter().filter(uses).find(|f| !trained.contains(&&f.name))?;
    let args: Vec<String> = one.args.iter().map(|arg| arg.name.to_string()).collect();
    Some(format!("self.{}({})", one.name, args.join(", ")))
}
