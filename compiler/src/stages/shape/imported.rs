//! Calls of models that were imported: their computation in the place of the call, in which every value has a type already.

use super::{Known, Shaper};
use crate::ir::written::Site;
use crate::ir::{Dim, Graph, Kind, Node, Value};

impl Shaper<'_> {
    /// A call whose arguments fit, as the nodes before it have checked.
    pub(super) fn imported(&mut self, node: &Node, graph: &Graph, site: &Site) -> Known {
        let Some(args) = self.all(&node.args) else { return Known::Unknown };
        let mut dims = graph.nodes.iter().flat_map(|node| &node.ty).flat_map(|ty| &ty.shape);
        if dims.any(|dim| self.bindings.dim(dim).is_none()) {
            self.report_unbound(site);
            return Known::Unknown;
        }
        let graph = graph.substitute(&|name| self.bindings.dim(&Dim::name(name)));
        let mut values: Vec<Value> = vec![];
        for Node { kind, args: of, ty, name, .. } in graph.nodes {
            let of = of.iter().map(|value| values[value.0 as usize]).collect();
            values.push(match kind {
                Kind::Input(k) => args[k],
                kind => {
                    let value = self.new.push(kind, of, ty, node.span);
                    self.new.node_mut(value).name = name;
                    value
                }
            });
        }
        let results: Vec<Value> = graph.outputs.iter().map(|value| values[value.0 as usize]).collect();
        match results[..] {
            [only] => Known::One(only),
            _ => Known::Each(results),
        }
    }
}
