//! DOT export: a graph in, a picture's description for Graphviz out. Bodies of regions are clusters.

use super::graph::{Graph, Kind, Value};
use super::model::Function;
use std::fmt::Write;

/// The picture of a function: its nodes, regions and effects.
pub fn function(function: &Function) -> String {
    let mut picture = Picture::default();
    picture.graph(&function.graph, "n");
    for (n, (effect, value)) in function.effects.iter().enumerate() {
        picture.line(&format!("e{n} [label={:?}, shape=cds]", format!("{effect:?}")));
        picture.line(&format!("n{} -> e{n}", value.0));
    }
    picture.close(&function.name.to_string())
}

/// The picture of a graph.
pub fn graph(graph: &Graph) -> String {
    let mut picture = Picture::default();
    picture.graph(graph, "n");
    picture.close("graph")
}

#[derive(Default)]
struct Picture {
    text: String,
    depth: usize,
}

impl Picture {
    fn line(&mut self, line: &str) {
        _ = writeln!(self.text, "{}{line}", "  ".repeat(self.depth + 1));
    }

    fn close(self, name: &str) -> String {
        format!("digraph {name:?} {{\n  node [shape=box, fontname=monospace]\n{}}}\n", self.text)
    }

    /// Every node is named by `prefix` and its number.
    fn graph(&mut self, graph: &Graph, prefix: &str) {
        for value in graph.values() {
            let node = graph.node(value);
            let here = name(prefix, value);
            match &node.kind {
                Kind::Repeat(repeat) => {
                    let order = if repeat.reverse { ", last first" } else { "" };
                    let (carried, stacked) = (repeat.carried, repeat.stacked);
                    let title = format!("{} times{order}: {carried} carried, {stacked} stacked", repeat.count);
                    self.region(graph, value, &repeat.body, &title, &here);
                }
                Kind::Branch(branch) => {
                    self.line(&format!("{here} [label={:?}]", label(graph, value)));
                    for (n, case) in branch.cases.iter().enumerate() {
                        self.cluster(&format!("{here}_{n}"), &format!("case {n}"), case);
                    }
                }
                Kind::Transform(transform) => {
                    self.region(graph, value, &transform.body, transform.how.name(), &here);
                }
                Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Op(_)
                | Kind::Result(_)
                | Kind::Prim(_)
                | Kind::Counter(_)
                | Kind::Foreign(_)
                | Kind::Written(_)
                | Kind::StopGradient => self.line(&format!("{here} [label={:?}]", label(graph, value))),
            }
            for arg in &node.args {
                self.line(&format!("{} -> {here}", name(prefix, *arg)));
            }
        }
        for (k, output) in graph.outputs.iter().enumerate() {
            self.line(&format!("{prefix}out{k} [label=\"output {k}\", shape=oval]"));
            self.line(&format!("{} -> {prefix}out{k}", name(prefix, *output)));
        }
    }

    fn region(&mut self, graph: &Graph, value: Value, body: &Graph, title: &str, here: &str) {
        self.line(&format!("{here} [label={:?}]", label(graph, value)));
        self.cluster(here, title, body);
    }

    /// A graph with a frame around it.
    fn cluster(&mut self, here: &str, title: &str, graph: &Graph) {
        self.line(&format!("subgraph cluster_{here} {{"));
        self.depth += 1;
        self.line(&format!("label={title:?}"));
        self.graph(graph, &format!("{here}_"));
        self.depth -= 1;
        self.line("}");
    }
}

fn name(prefix: &str, value: Value) -> String {
    format!("{prefix}{}", value.0)
}

/// The node as its text form, on two lines: what it is, and its type and the user's name.
fn label(graph: &Graph, value: Value) -> String {
    let node = graph.node(value);
    let ty = node.ty.as_ref().map_or(String::new(), |ty| ty.to_string());
    let name = node.name.as_ref().map_or(String::new(), |name| format!("  {name}"));
    format!("%{} {}\n{ty}{name}", value.0, super::text::describe(&node.kind))
}
