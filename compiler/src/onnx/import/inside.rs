//! Graphs inside of others: functions of a file, branches, and the graphs that attributes hold. Loops have a file of their own.
//!
//! Always: a condition is known at build time, and no nesting is as deep as a file says.

use super::super::Failure;
use super::super::operand::Operand;
use super::super::operators;
use super::super::proto::{AttributeProto, FunctionProto, GraphProto, NodeProto};
use super::{Importer, Scope};
use prost::Message;
use std::borrow::Cow;

impl<'f> Importer<'f> {
    /// The results of a function of the file.
    pub(super) fn function(
        &mut self,
        function: &'f FunctionProto,
        call: &NodeProto,
        inputs: Vec<Option<Operand>>,
    ) -> Result<Vec<Operand>, Option<Failure>> {
        let mut scope = Scope::new();
        for (name, operand) in function.input.iter().zip(inputs) {
            if let Some(operand) = operand {
                scope.insert(name.clone(), Some(operand));
            }
        }
        let nodes = function.node.iter().map(|node| called(node, function, call));
        let nodes: Vec<Cow<'_, NodeProto>> = nodes.collect();
        let copied = nodes.iter().map(|node| if let Cow::Owned(node) = node { node.encoded_len() as i64 } else { 0 });
        self.budget.elements(copied.sum())?;
        let opsets = std::mem::replace(&mut self.opsets, &function.opset_import);
        let outer = std::mem::replace(&mut self.scope, scope);
        let results = self.inside(nodes.iter().map(Cow::as_ref), &function.output);
        (self.opsets, self.scope) = (opsets, outer);
        results
    }

    /// The results of the branch that a condition chooses, which must be known.
    pub(super) fn branch(
        &mut self,
        proto: &NodeProto,
        inputs: &[Option<Operand>],
    ) -> Result<Vec<Operand>, Option<Failure>> {
        let condition = inputs.first().and_then(Option::as_ref).and_then(Operand::as_dims);
        let condition = condition.and_then(|dims| dims.first()?.as_const());
        let Some(condition) = condition else {
            return Err(Some(Failure::new("its condition is not known at build time")));
        };
        let name = if condition != 0 { "then_branch" } else { "else_branch" };
        let graph = proto.attribute.iter().find(|attribute| attribute.name == name).and_then(|of| of.g.as_ref());
        let Some(graph) = graph else { return Err(Some(Failure::new(format!("it has no `{name}`")))) };
        self.subgraph(graph, vec![])
    }

    /// Attention with a graph that changes its scores, or one that changes their softmax.
    pub(super) fn flex_attention(
        &mut self,
        proto: &NodeProto,
        mut inputs: Vec<Option<Operand>>,
    ) -> Result<Vec<Operand>, Option<Failure>> {
        let [scores, weights, product] = operators::FLEX_PARTS;
        let values = inputs.split_off(inputs.len().min(2));
        // Scores are what attributes speak of.
        let [mut own, mut bare] = [proto.clone(), proto.clone()];
        own.attribute.retain(|attribute| attribute.g.is_none());
        bare.attribute.clear();
        let mut made = self.apply(scores, &own, inputs).map_err(Some)?;
        made = self.modified("score_mod", proto, made)?;
        made = self.apply(weights, &bare, made.into_iter().map(Some).collect()).map_err(Some)?;
        made = self.modified("prob_mod", proto, made)?;
        self.apply(product, &bare, made.into_iter().map(Some).chain(values).collect()).map_err(Some)
    }

    /// What the graph of that name makes of these; they themselves where there is none.
    fn modified(&mut self, name: &str, proto: &NodeProto, made: Vec<Operand>) -> Result<Vec<Operand>, Option<Failure>> {
        let graph = proto.attribute.iter().find(|attribute| attribute.name == name).and_then(|of| of.g.as_ref());
        let Some(graph) = graph else { return Ok(made) };
        if graph.input.len() != 1 || graph.output.len() != 1 {
            return Err(Some(Failure::new(format!("`{name}` is to have one argument and one result"))));
        }
        self.subgraph(graph, made)
    }

    /// The results of a graph inside of a node, which also sees the names around it.
    pub(super) fn subgraph(
        &mut self,
        graph: &GraphProto,
        inputs: Vec<Operand>,
    ) -> Result<Vec<Operand>, Option<Failure>> {
        // A graph may be read many times.
        let count = graph.initializer.iter().map(|tensor| tensor.encoded_len() as i64).sum();
        self.budget.elements(count)?;
        self.scope.enter();
        self.initializers(graph);
        for (input, operand) in graph.input.iter().zip(inputs) {
            self.scope.insert(input.name.clone(), Some(operand));
        }
        let outputs: Vec<String> = graph.output.iter().map(|output| output.name.clone()).collect();
        let results = self.inside(&graph.node, &outputs);
        self.scope.leave();
        results
    }

    /// The values of these names behind nodes that stand inside of another.
    fn inside<'n>(
        &mut self,
        nodes: impl IntoIterator<Item = &'n NodeProto>,
        names: &[String],
    ) -> Result<Vec<Operand>, Option<Failure>> {
        self.budget.enter()?;
        self.nodes(nodes);
        self.budget.leave();
        names.iter().map(|name| self.scope.get(name).cloned().flatten().ok_or(None)).collect()
    }
}

/// A node of a function, and those of graphs inside of it, with the attributes of a call in the places that stand for them.
fn called<'n>(node: &'n NodeProto, function: &FunctionProto, call: &NodeProto) -> Cow<'n, NodeProto> {
    if !refers(node) {
        return Cow::Borrowed(node);
    }
    let mut node = node.clone();
    node.attribute.retain_mut(|attribute| {
        for graph in attribute.g.iter_mut().chain(&mut attribute.graphs) {
            for node in &mut graph.node {
                if let Cow::Owned(own) = called(node, function, call) {
                    *node = own;
                }
            }
        }
        if attribute.ref_attr_name.is_empty() {
            return true;
        }
        let name = &attribute.ref_attr_name;
        let given = call.attribute.iter().chain(&function.attribute_proto).find(|given| given.name == *name);
        let Some(given) = given else { return false };
        *attribute = AttributeProto { name: attribute.name.clone(), ..given.clone() };
        true
    });
    Cow::Owned(node)
}

/// Whether an attribute of a node, or of one in a graph inside of it, is one of a function.
fn refers(node: &NodeProto) -> bool {
    node.attribute.iter().any(|attribute| {
        let mut graphs = attribute.g.iter().chain(&attribute.graphs);
        !attribute.ref_attr_name.is_empty() || graphs.any(|graph| graph.node.iter().any(refers))
    })
}
