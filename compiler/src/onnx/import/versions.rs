//! Versions of operators: what a file says of them in, the version of a node's operator out.

use super::super::Refusal;
use super::super::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
use std::ops::RangeInclusive;

/// The versions of ONNX's operators whose meaning is known.
const VERSIONS: RangeInclusive<i64> = 1..=28;

/// Refuses a file that does not say which version of ONNX's operators it means, or one that is not known.
pub(super) fn check(model: &ModelProto, graph: &GraphProto) -> Result<(), Vec<Refusal>> {
    let all = model.functions.iter().flat_map(|function| &function.opset_import).chain(&model.opset_import);
    let unknown = all.filter(|own| is_onnx(&own.domain) && !VERSIONS.contains(&own.version));
    let (first, last) = (VERSIONS.start(), VERSIONS.end());
    let reason = |own: &OperatorSetIdProto| {
        format!("it means version {} of ONNX's operators, and those from {first} to {last} are known", own.version)
    };
    let mut refusals: Vec<Refusal> = unknown.map(|own| Refusal::of_file(reason(own))).collect();
    // The first two versions of the format have no place for it.
    let is_silent = |nodes: &[NodeProto], opsets: &[OperatorSetIdProto]| {
        let is_said = model.ir_version < 3 || opsets.iter().any(|own| is_onnx(&own.domain));
        !is_said && nodes.iter().any(|node| is_onnx(&node.domain))
    };
    let silent = |what: &str| {
        let reason = format!("{what} does not say which version of ONNX's operators it means (`opset_import`)");
        Refusal::of_file(reason)
    };
    refusals.extend(is_silent(&graph.node, &model.opset_import).then(|| silent("it")));
    let functions = model.functions.iter().filter(|of| is_silent(&of.node, &of.opset_import));
    refusals.extend(functions.map(|of| silent(&format!("its function `{}`", of.name))));
    if refusals.is_empty() { Ok(()) } else { Err(refusals) }
}

/// The version of the operators of a domain.
pub(super) fn of(opsets: &[OperatorSetIdProto], domain: &str) -> i64 {
    let is_same = |own: &str| own == domain || is_onnx(own) && is_onnx(domain);
    let found = opsets.iter().find(|opset| is_same(&opset.domain));
    found.map_or(1, |opset| opset.version)
}

/// Whether a domain is that of ONNX itself, which has two names.
fn is_onnx(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}
