//! Keys of random numbers: reports draws from a key that another draw has used, which give the same numbers.

use super::report;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::{Graph, Kind, Model, Value};
use std::collections::BTreeMap;

/// Reports second draws from one key in every function of a model.
///
/// A draw can be kept in a variable, so that nothing needs a second one; a mask of `dropout` cannot, and those that are
/// the same may be meant.
pub(super) fn check(model: &Model, diags: &mut Diags) {
    model.functions.iter().for_each(|function| graph(&function.graph, diags));
}

fn graph(of: &Graph, diags: &mut Diags) {
    let mut first: BTreeMap<Value, String> = BTreeMap::new();
    for node in &of.nodes {
        node.kind.bodies().iter().for_each(|body| graph(body, diags));
        let (Kind::Op(call), [key]) = (&node.kind, &node.args[..]) else { continue };
        if !["normal", "uniform", "bernoulli"].contains(&&*call.op) {
            continue;
        }
        let line = diags.line(node.span.into());
        let Some(earlier) = first.get(key) else {
            first.insert(*key, line);
            continue;
        };
        let name = of.node(*key).name.clone().unwrap_or_else(|| report::site_of(of.node(*key)).text);
        let message =
            format!("`{name}` has been drawn from on {earlier}, and gives `{}` the same numbers", call.callee);
        let report = Diagnostic::new(Code::KeyReuse, node.span, message);
        diags.push(report.help(format!("let each draw have its own: `let (a, b) = split_key({name}, 2);`")));
    }
}
