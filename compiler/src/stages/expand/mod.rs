//! expand: graphs of ops in, graphs of primitives, regions and sources out.
//!
//! Every op is replaced by its body; the result is simplified, and the results of every region are taken by
//! `Result` nodes. Places that draw random bits are numbered in the order of the function's text.

use crate::ir::graph::Call;
use crate::ir::simplify::simplify;
use crate::ir::{Branch, DType, Foreign, Graph, Kind, Model, Repeat, Transform, Type, Value};
use crate::ops::{self, Builder};
use proc_macro2::Span;
use std::collections::HashMap;

/// Replaces the ops of every function by primitives.
pub fn expand(mut model: Model) -> Model {
    for function in &mut model.functions {
        function.change_graph(|graph| simplify(Expansion { sites: &mut 0, depth: 0 }.graph(&graph), &mut []));
    }
    model
}

struct Expansion<'s> {
    sites: &'s mut u32,
    /// How many regions are around the graph.
    depth: usize,
}

/// What became of a node.
enum New {
    One(Value),
    Many(Vec<Value>),
}

impl Expansion<'_> {
    fn graph(&mut self, old: &Graph) -> Graph {
        let mut graph = Graph::default();
        let mut renamed: HashMap<Value, New> = HashMap::new();
        let find = |renamed: &HashMap<Value, New>, value: &Value| match &renamed[value] {
            New::One(v) => *v,
            New::Many(values) => values[0],
        };
        for value in old.values() {
            let node = old.node(value);
            let args: Vec<Value> = node.args.iter().map(|a| find(&renamed, a)).collect();
            let new = match &node.kind {
                Kind::Op(call) => New::Many(self.call(&mut graph, call, &args, node.span)),
                Kind::Repeat(repeat) => New::Many(self.repeat(&mut graph, repeat, args, node.span)),
                Kind::Branch(branch) => New::Many(self.branch(&mut graph, branch, args, node.span)),
                Kind::Transform(transform) => New::Many(self.transform(&mut graph, transform, args, node.span)),
                Kind::Foreign(foreign) => New::Many(graph.foreign(self.foreign(foreign), args, node.span)),
                Kind::Result(k) => match &renamed[&node.args[0]] {
                    New::Many(values) => New::One(values[*k]),
                    New::One(_) => unreachable!("parse takes results of ops and regions only"),
                },
                Kind::Written(_) => unreachable!("shape has resolved what the user wrote"),
                kind @ (Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Prim(_)
                | Kind::Counter(_)
                | Kind::StopGradient) => New::One(graph.push(kind.clone(), args, node.ty.clone(), node.span)),
            };
            if let (Some(name), New::One(v)) = (&node.name, &new) {
                graph.node_mut(*v).name.get_or_insert_with(|| name.clone());
            }
            if let (Some(name), New::Many(values)) = (&node.name, &new)
                && let [v] = values.as_slice()
            {
                graph.node_mut(*v).name.get_or_insert_with(|| name.clone());
            }
            renamed.insert(value, new);
        }
        graph.outputs = old.outputs.iter().map(|v| find(&renamed, v)).collect();
        graph
    }

    fn call(&mut self, graph: &mut Graph, call: &Call, args: &[Value], span: Span) -> Vec<Value> {
        // The outermost counter is mixed in first.
        let counter =
            |graph: &mut Graph, depth| graph.push(Kind::Counter(depth), vec![], Some(Type::scalar(DType::U32)), span);
        let loops = (0..self.depth).rev().map(|depth| counter(graph, depth)).collect();
        let mut builder = Builder { graph, span, training: call.training, float: call.float, sites: self.sites, loops };
        match ops::build(ops::op_of(call), &mut builder, args, &call.attrs) {
            Ok(results) => results,
            Err(error) => unreachable!("shape has built `{}` before: {}", call.op, error.message),
        }
    }

    fn foreign(&mut self, foreign: &Foreign) -> Foreign {
        let mut foreign = foreign.clone();
        if let Some(body) = foreign.body_mut() {
            *body = simplify(self.graph(body), &mut []);
        }
        foreign
    }

    fn transform(&mut self, graph: &mut Graph, transform: &Transform, args: Vec<Value>, span: Span) -> Vec<Value> {
        let depth = self.depth + transform.counters();
        let body = Expansion { sites: self.sites, depth }.graph(&transform.body);
        graph.transform(Transform { how: transform.how.clone(), body }, args, span)
    }

    fn repeat(&mut self, graph: &mut Graph, repeat: &Repeat, args: Vec<Value>, span: Span) -> Vec<Value> {
        let body = Expansion { sites: self.sites, depth: self.depth + 1 }.graph(&repeat.body);
        graph.repeat(repeat.with_body(body), args, span)
    }

    fn branch(&mut self, graph: &mut Graph, branch: &Branch, args: Vec<Value>, span: Span) -> Vec<Value> {
        let mut case = |case| Expansion { sites: self.sites, depth: self.depth }.graph(case);
        let cases = branch.cases.iter().map(&mut case).collect();
        graph.branch(Branch { cases }, args, span)
    }
}
