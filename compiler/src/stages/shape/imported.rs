//! Calls of models that were imported: their computation in the place of the call, in which every value has a type already.

use super::{Known, Shaper};
use crate::ir::limits::excess;
use crate::ir::written::Site;
use crate::ir::{Dim, Graph, Kind, Node, Type, Value};

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
            let of: Vec<Value> = of.iter().map(|value| values[value.0 as usize]).collect();
            values.push(match kind {
                Kind::Input(k) => args[k],
                kind => {
                    if let Some(message) = misfit(&self.new, (&kind, &of, ty.as_ref())) {
                        return self
                            .report_prim(node, format!("`{}` cannot have such arguments: {message}", site.text));
                    }
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

/// What is wrong with a value of the computation where arguments have these extents, which the file may not have thought of, or with
/// one in a region.
fn misfit(graph: &Graph, (kind, args, ty): (&Kind, &[Value], Option<&Type>)) -> Option<String> {
    let inside = |body: &Graph| body.nodes.iter().find_map(|own| misfit(body, (&own.kind, &own.args, own.ty.as_ref())));
    if let Some(message) = kind.bodies().iter().find_map(inside) {
        return Some(message);
    }
    if let Some(most) = ty.and_then(excess) {
        return Some(format!("there would be a tensor with more than {most}"));
    }
    let is_negative = |dim: &Dim| dim.as_const().is_some_and(|extent| extent < 0);
    if let Some(ty) = ty.filter(|ty| ty.shape.iter().any(is_negative)) {
        return Some(format!("there would be {ty}, of which an extent is negative"));
    }
    let Kind::Prim(prim) = kind else { return None };
    let types: Vec<&Type> = args.iter().map(|&arg| graph.ty(arg)).collect();
    prim.infer(&types).err()
}
