//! The last pass over a file: nodes in, the same without those that nothing reads out. Results are called so by the nodes that make
//! them, where these have no other reader.

use crate::onnx::proto::NodeProto;
use std::collections::BTreeMap;

/// How often each name is read.
type Reads = BTreeMap<String, usize>;

/// Counts what a node reads, in its bodies too.
fn count(node: &NodeProto, reads: &mut Reads) {
    for name in &node.input {
        *reads.entry(name.clone()).or_default() += 1;
    }
    for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
        graph.node.iter().for_each(|node| count(node, reads));
        for output in &graph.output {
            *reads.entry(output.name.clone()).or_default() += 1;
        }
    }
}

/// Drops nodes that nothing reads.
pub(super) fn pruned(nodes: Vec<NodeProto>, results: &[String]) -> Vec<NodeProto> {
    let mut reads: Reads = results.iter().map(|name| (name.clone(), 1)).collect();
    let mut kept = vec![];
    for mut node in nodes.into_iter().rev() {
        if !node.output.iter().any(|name| reads.contains_key(name)) {
            continue;
        }
        for graph in node.attribute.iter_mut().filter_map(|attribute| attribute.g.as_mut()) {
            let outputs: Vec<String> = graph.output.iter().map(|output| output.name.clone()).collect();
            graph.node = pruned(std::mem::take(&mut graph.node), &outputs);
        }
        count(&node, &mut reads);
        kept.push(node);
    }
    kept.reverse();
    named(kept, results, &reads)
}

/// Lets the nodes that make results have their names.
fn named(nodes: Vec<NodeProto>, results: &[String], reads: &Reads) -> Vec<NodeProto> {
    let made: Vec<String> = nodes.iter().flat_map(|node| node.output.iter().cloned()).collect();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut is_renamed = |node: &NodeProto| {
        let ([from], [to]) = (node.input.as_slice(), node.output.as_slice()) else { return false };
        let is_alone = node.op_type == "Identity" && results.contains(to) && reads.get(from) == Some(&1);
        is_alone && made.contains(from) && names.insert(from.clone(), to.clone()).is_none()
    };
    let mut kept: Vec<NodeProto> = nodes.into_iter().filter(|node| !is_renamed(node)).collect();
    for name in kept.iter_mut().flat_map(|node| &mut node.output) {
        if let Some(result) = names.get(name) {
            name.clone_from(result);
        }
    }
    kept
}
