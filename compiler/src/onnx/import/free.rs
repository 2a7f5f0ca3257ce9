//! The names that a graph inside of another reads of those around it.

use super::super::proto::GraphProto;
use std::collections::BTreeSet;

/// In their order.
pub(super) fn free_names(graph: &GraphProto) -> BTreeSet<String> {
    let mut own: BTreeSet<&str> = graph.input.iter().map(|input| input.name.as_str()).collect();
    own.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
    let mut free = BTreeSet::new();
    let mut read = |name: &str, own: &BTreeSet<&str>| {
        if !own.contains(name) {
            free.insert(name.to_owned());
        }
    };
    for node in &graph.node {
        node.input.iter().for_each(|name| read(name, &own));
        let graphs = node.attribute.iter().filter_map(|attribute| attribute.g.as_ref());
        graphs.flat_map(free_names).for_each(|name| read(&name, &own));
        own.extend(node.output.iter().map(String::as_str));
    }
    graph.output.iter().for_each(|output| read(&output.name, &own));
    free
}
