//! A graph in, the same values from fewer nodes out: trivial identities dissolved, common subexpressions
//! shared, dead nodes, carried values and stacks gone. Every region's results are taken by `Result` nodes.
//!
//! No floating-point result changes: `x · 1`, `x + 0` and `−(−x)` are the only arithmetic here.

use super::graph::{Branch, Graph, Kind, Node, Repeat, Source, Value};
use super::model::{ParamId, StateId};
use super::pattern::Pattern;
use super::prim::{MapOp, Prim};
use super::transform::Transform;
use super::ty::Type;
use std::collections::HashMap;

/// Simplifies `graph`; the values in `keep` stay, besides the outputs, under their new numbers.
pub fn simplify(mut graph: Graph, keep: &mut [Value]) -> Graph {
    let mut before = None;
    loop {
        let roots: Vec<Value> = graph.outputs.iter().chain(keep.iter()).copied().collect();
        let uses = Uses::of(&graph, &roots);
        if before.replace(graph.nodes.len()) == Some(graph.nodes.len()) && uses.live.iter().all(|live| *live) {
            return graph;
        }
        let mut pass = Pass::default();
        for value in graph.values() {
            let new = if uses.live[value.0 as usize] { pass.node(&graph, value, &uses) } else { Value(u32::MAX) };
            pass.renamed.push(new);
        }
        keep.iter_mut().for_each(|v| *v = pass.renamed[v.0 as usize]);
        pass.graph.outputs = graph.outputs.iter().map(|v| pass.renamed[v.0 as usize]).collect();
        graph = pass.graph;
    }
}

/// What is needed of a graph.
pub struct Uses {
    /// Whether each node is needed.
    pub live: Vec<bool>,
    /// What is needed of each region.
    pub regions: HashMap<Value, RegionUses>,
}

/// What is needed of a region; carried values of repeats are needed on both sides or on none.
#[derive(Default)]
pub struct RegionUses {
    /// Whether each input of the body is needed.
    pub inputs: Vec<bool>,
    /// Whether each output of the body is needed.
    pub outputs: Vec<bool>,
}

impl Uses {
    /// What the computation of `roots` needs.
    pub fn of(graph: &Graph, roots: &[Value]) -> Uses {
        let mut uses = Uses { live: vec![false; graph.nodes.len()], regions: HashMap::new() };
        let mut results: HashMap<Value, Vec<usize>> = HashMap::new();
        roots.iter().for_each(|r| uses.live[r.0 as usize] = true);
        for value in graph.values().rev().filter(|v| v.0 < graph.nodes.len() as u32) {
            if !uses.live[value.0 as usize] {
                continue;
            }
            let node = graph.node(value);
            match &node.kind {
                Kind::Repeat(repeat) => {
                    let needed = RegionUses::of_repeat(repeat, results.get(&value).map_or(&[0][..], |r| r));
                    for (arg, _) in node.args.iter().zip(&needed.inputs).filter(|(_, needed)| **needed) {
                        uses.live[arg.0 as usize] = true;
                    }
                    uses.regions.insert(value, needed);
                }
                Kind::Branch(branch) => {
                    let needed = RegionUses::of_branch(branch, results.get(&value).map_or(&[0][..], |r| r));
                    uses.live[node.args[0].0 as usize] = true;
                    for (arg, _) in node.args[1..].iter().zip(&needed.inputs).filter(|(_, needed)| **needed) {
                        uses.live[arg.0 as usize] = true;
                    }
                    uses.regions.insert(value, needed);
                }
                Kind::Result(k) => {
                    results.entry(node.args[0]).or_default().push(*k);
                    uses.live[node.args[0].0 as usize] = true;
                }
                Kind::Input(_)
                | Kind::Param(_)
                | Kind::State(_)
                | Kind::Source(_)
                | Kind::Op(_)
                | Kind::Written(_)
                | Kind::Prim(_)
                | Kind::Counter(_)
                | Kind::Transform(_)
                | Kind::Foreign(_)
                | Kind::StopGradient => node.args.iter().for_each(|a| uses.live[a.0 as usize] = true),
            }
        }
        uses
    }
}

impl RegionUses {
    fn of_branch(branch: &Branch, results: &[usize]) -> RegionUses {
        let outputs: Vec<bool> = (0..branch.results()).map(|k| results.contains(&k)).collect();
        let arity = branch.cases.iter().flat_map(Graph::inputs).map(|(k, _)| k + 1).max().unwrap_or(0);
        let mut inputs = vec![false; arity];
        for case in &branch.cases {
            let inside = Uses::of(case, &kept(&case.outputs, &outputs));
            case.inputs().for_each(|(k, v)| inputs[k] |= inside.live[v.0 as usize]);
        }
        RegionUses { inputs, outputs }
    }

    fn of_repeat(repeat: &Repeat, results: &[usize]) -> RegionUses {
        let body = &repeat.body;
        let mut outputs: Vec<bool> = (0..body.outputs.len()).map(|k| results.contains(&k)).collect();
        loop {
            let inside = Uses::of(body, &kept(&body.outputs, &outputs));
            let arity = body.inputs().map(|(k, _)| k + 1).max().unwrap_or(0).max(repeat.carried + repeat.stacked);
            let mut inputs = vec![false; arity];
            body.inputs().for_each(|(k, v)| inputs[k] |= inside.live[v.0 as usize]);
            // A carried value that the body reads must be computed for the next iteration.
            if (0..repeat.carried).any(|k| inputs[k] && !outputs[k]) {
                (0..repeat.carried).for_each(|k| outputs[k] |= inputs[k]);
                continue;
            }
            inputs[..repeat.carried].copy_from_slice(&outputs[..repeat.carried]);
            return RegionUses { inputs, outputs };
        }
    }
}

/// The values whose flags are set.
fn kept(values: &[Value], flags: &[bool]) -> Vec<Value> {
    values.iter().zip(flags).filter(|(_, kept)| **kept).map(|(v, _)| *v).collect()
}

/// The body of a region with the inputs and outputs that are needed.
fn narrowed(body: &Graph, needed: &RegionUses) -> Graph {
    let mut body = body.clone();
    for inner in &mut body.nodes {
        if let Kind::Input(k) = &mut inner.kind
            && needed.inputs[*k]
        {
            *k = needed.inputs[..*k].iter().filter(|n| **n).count();
        }
    }
    body.outputs = kept(&body.outputs, &needed.outputs);
    simplify(body, &mut [])
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Input(usize),
    Param(ParamId),
    State(StateId),
    Source(Source),
    Counter(usize),
    Prim(Prim),
    Result(usize),
    StopGradient,
}

#[derive(Default)]
struct Pass {
    graph: Graph,
    renamed: Vec<Value>,
    known: HashMap<(Key, Vec<Value>), Value>,
}

impl Pass {
    /// Carries one live node over.
    fn node(&mut self, old: &Graph, value: Value, uses: &Uses) -> Value {
        let node = old.node(value);
        let args = |pass: &Pass| node.args.iter().map(|a| pass.renamed[a.0 as usize]).collect::<Vec<_>>();
        let key = match &node.kind {
            Kind::Input(k) => Key::Input(*k),
            Kind::Param(p) => Key::Param(*p),
            Kind::State(s) => Key::State(*s),
            Kind::Source(s) => Key::Source(*s),
            Kind::Counter(d) => Key::Counter(*d),
            Kind::Prim(prim) => Key::Prim(prim.clone()),
            Kind::StopGradient => Key::StopGradient,
            Kind::Op(_) | Kind::Written(_) | Kind::Foreign(_) => {
                let node = Node { args: args(self), ..node.clone() };
                self.graph.nodes.push(node);
                return Value(self.graph.nodes.len() as u32 - 1);
            }
            Kind::Transform(transform) => {
                let body = simplify(transform.body.clone(), &mut []);
                let kind = Kind::Transform(Box::new(Transform { how: transform.how.clone(), body }));
                self.graph.nodes.push(Node { kind, args: args(self), ..node.clone() });
                return Value(self.graph.nodes.len() as u32 - 1);
            }
            Kind::Repeat(repeat) => return self.repeat(old, value, repeat, &uses.regions[&value]),
            Kind::Branch(branch) => return self.branch(old, value, branch, &uses.regions[&value]),
            Kind::Result(k) => match uses.regions.get(&node.args[0]) {
                Some(needed) => Key::Result(needed.outputs[..*k].iter().filter(|n| **n).count()),
                None => Key::Result(*k),
            },
        };
        self.intern(key, args(self), node)
    }

    fn repeat(&mut self, old: &Graph, value: Value, repeat: &Repeat, needed: &RegionUses) -> Value {
        let node = old.node(value);
        let count = |flags: &[bool]| flags.iter().filter(|n| **n).count();
        let carried = count(&needed.outputs[..repeat.carried]);
        let stacked = count(&needed.inputs[repeat.carried..repeat.carried + repeat.stacked]);
        let region = Repeat { carried, stacked, ..repeat.with_body(narrowed(&repeat.body, needed)) };
        self.region(node, Kind::Repeat(Box::new(region)), &kept(&node.args, &needed.inputs))
    }

    fn branch(&mut self, old: &Graph, value: Value, branch: &Branch, needed: &RegionUses) -> Value {
        let node = old.node(value);
        let cases = branch.cases.iter().map(|case| narrowed(case, needed)).collect();
        let args = [&node.args[..1], &kept(&node.args[1..], &needed.inputs)].concat();
        self.region(node, Kind::Branch(Box::new(Branch { cases })), &args)
    }

    fn region(&mut self, node: &Node, kind: Kind, args: &[Value]) -> Value {
        let args = args.iter().map(|a| self.renamed[a.0 as usize]).collect();
        let new = self.graph.push(kind, args, None, node.span);
        self.graph.node_mut(new).name.clone_from(&node.name);
        new
    }

    /// The node's value: an argument where the node changes nothing, a node that exists, or a new one.
    fn intern(&mut self, key: Key, args: Vec<Value>, node: &Node) -> Value {
        let (key, args) = match key {
            Key::Prim(prim) => match dissolve(&self.graph, &prim, &args, node.ty.as_ref()) {
                Dissolved::Into(value) => return value,
                Dissolved::Prim(prim, args) => (Key::Prim(prim), args),
                Dissolved::No => (Key::Prim(prim), args),
            },
            key => (key, args),
        };
        let kind = match &key {
            Key::Prim(prim) => Kind::Prim(prim.clone()),
            Key::Result(k) => Kind::Result(*k),
            Key::Input(_) | Key::Param(_) | Key::State(_) | Key::Source(_) | Key::Counter(_) | Key::StopGradient => {
                node.kind.clone()
            }
        };
        let graph = &mut self.graph;
        let value = *self
            .known
            .entry((key, args.clone()))
            .or_insert_with(|| graph.push(kind, args, node.ty.clone(), node.span));
        if graph.node(value).name.is_none() {
            graph.node_mut(value).name.clone_from(&node.name);
        }
        value
    }
}

enum Dissolved {
    /// The node is that value.
    Into(Value),
    /// The node is that primitive of those arguments.
    Prim(Prim, Vec<Value>),
    /// The node stays.
    No,
}

/// The identities.
fn dissolve(graph: &Graph, prim: &Prim, args: &[Value], ty: Option<&Type>) -> Dissolved {
    let inner = |value: Value| match &graph.node(value).kind {
        Kind::Prim(prim) => Some((prim, graph.node(value).args.as_slice())),
        _ => None,
    };
    let same = |value: Value| ty == graph.node(value).ty.as_ref();
    let identity = |nothing: bool| if nothing { Dissolved::Into(args[0]) } else { Dissolved::No };
    match prim {
        Prim::Reshape(_) if same(args[0]) => Dissolved::Into(args[0]),
        Prim::Reshape(shape) => match inner(args[0]) {
            Some((Prim::Reshape(_), below)) => Dissolved::Prim(Prim::Reshape(shape.clone()), below.to_vec()),
            _ => Dissolved::No,
        },
        Prim::Transpose(p) if p.iter().enumerate().all(|(i, &a)| i == a) => Dissolved::Into(args[0]),
        Prim::Transpose(p) => match inner(args[0]) {
            Some((Prim::Transpose(q), below)) => {
                Dissolved::Prim(Prim::Transpose(p.iter().map(|&a| q[a]).collect()), below.to_vec())
            }
            _ => Dissolved::No,
        },
        Prim::Broadcast { .. } if same(args[0]) => Dissolved::Into(args[0]),
        Prim::Broadcast { shape, axes } => match inner(args[0]) {
            Some((Prim::Broadcast { axes: below, .. }, source)) => {
                let axes = below.iter().map(|&a| axes[a]).collect();
                Dissolved::Prim(Prim::Broadcast { shape: shape.clone(), axes }, source.to_vec())
            }
            _ => Dissolved::No,
        },
        Prim::Convert(dtype) => identity(graph.ty(args[0]).dtype == *dtype),
        Prim::Reduce { axes, .. } | Prim::Flip(axes) => identity(axes.is_empty()),
        Prim::Barrier => identity(is_in_memory(graph, args[0])),
        Prim::Slice(cuts) => identity(same(args[0]) && cuts.iter().all(|c| c.start.is(0) && c.step == 1)),
        Prim::SetSlice(_) if same(args[1]) => Dissolved::Into(args[1]),
        Prim::SetSlice(_) => Dissolved::No,
        Prim::Pad { borders, .. } => identity(borders.iter().all(|b| b.low.is(0) && b.high.is(0) && b.interior == 0)),
        Prim::Concat { .. } => identity(args.len() == 1),
        Prim::Map(op) => arithmetic(graph, *op, args),
        Prim::Const(_)
        | Prim::Extent(_)
        | Prim::Iota { .. }
        | Prim::ArgReduce { .. }
        | Prim::WindowReduce { .. }
        | Prim::WindowArgMax { .. }
        | Prim::WindowTake { .. }
        | Prim::WindowPut { .. }
        | Prim::Contract { .. }
        | Prim::Conv { .. }
        | Prim::Gather { .. }
        | Prim::ScatterAdd { .. }
        | Prim::Attend(_) => Dissolved::No,
    }
}

fn arithmetic(graph: &Graph, op: MapOp, args: &[Value]) -> Dissolved {
    let is = |value: Value, x: f64| splat(graph, value) == Some(x);
    let neutral = |of: MapOp, at: usize, x: f64| op == of && is(args[at], x);
    let before = neutral(MapOp::Mul, 1, 1.0)
        || neutral(MapOp::Add, 1, 0.0)
        || neutral(MapOp::Sub, 1, 0.0)
        || neutral(MapOp::Div, 1, 1.0);
    let after = neutral(MapOp::Mul, 0, 1.0) || neutral(MapOp::Add, 0, 0.0);
    let negated = || matches!(graph.node(args[0]).kind, Kind::Prim(Prim::Map(MapOp::Neg)));
    let dissolved = if before {
        Some(args[0])
    } else if after || op == MapOp::Select && args[1] == args[2] {
        Some(args[1])
    } else if op == MapOp::Neg && negated() {
        Some(graph.node(args[0]).args[0])
    } else {
        None
    };
    dissolved.map_or(Dissolved::No, Dissolved::Into)
}

/// Whether a value is in memory whatever becomes of the graph.
fn is_in_memory(graph: &Graph, value: Value) -> bool {
    match &graph.node(value).kind {
        Kind::Input(_) | Kind::Param(_) | Kind::State(_) | Kind::Source(_) | Kind::Result(_) => true,
        Kind::Prim(prim) => prim.pattern() == Pattern::Barrier,
        Kind::Op(_)
        | Kind::Counter(_)
        | Kind::Repeat(_)
        | Kind::Branch(_)
        | Kind::Transform(_)
        | Kind::Foreign(_)
        | Kind::StopGradient
        | Kind::Written(_) => false,
    }
}

/// The number that every element of the value is, where a literal says so.
pub fn splat(graph: &Graph, value: Value) -> Option<f64> {
    let node = graph.node(value);
    if let Kind::Prim(Prim::Broadcast { .. } | Prim::Reshape(_)) = &node.kind {
        return splat(graph, node.args[0]);
    }
    let Kind::Prim(Prim::Const(x)) = &node.kind else { return None };
    Some(x.as_f64())
}
