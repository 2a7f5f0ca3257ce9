//! Parameters that are stored in fewer bits than they are computed in.
//!
//! In: a function of a model with such parameters. Out: the same, whose parameters have the type that they have in memory, and are
//! widened where they are used, integers by their scales. Always: what only moves a parameter, or takes rows of it, moves what
//! is stored; a product reads one stored operand as it lies, and is scaled before or after; regions are given parameters as they are
//! stored. So nothing is as large in memory as the parameters would be in f32.

use super::scales::{self, Scaled};
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Branch, Function, Graph, Kind, Model, Node, Repeat, Type, Value};
use proc_macro2::Span;
use std::collections::BTreeMap;

/// The function of a model whose parameters are stored in another type, or the same function.
pub(super) fn stored(model: &Model, mut function: Function) -> Function {
    if model.storage.is_some() {
        function.change_graph(|graph| Storing::new(model, BTreeMap::new()).graph(&graph));
    }
    function
}

/// The scales of what is stored as integers: they have one index on each axis that they do not vary with.
type Scales = Option<Value>;

/// A graph in the making.
struct Storing<'m> {
    model: &'m Model,
    made: Graph,
    /// Values of the new graph that are as they are stored.
    held: BTreeMap<Value, Scales>,
    /// What they are widened to, where something has asked.
    widened: BTreeMap<Value, Value>,
    /// Inputs that are as they are stored: the type of theirs, and the input of their scales.
    inputs: BTreeMap<usize, (Type, Option<(usize, Type)>)>,
}

impl<'m> Storing<'m> {
    fn new(model: &'m Model, inputs: BTreeMap<usize, (Type, Option<(usize, Type)>)>) -> Storing<'m> {
        Storing { model, made: Graph::default(), held: BTreeMap::new(), widened: BTreeMap::new(), inputs }
    }

    fn graph(mut self, old: &Graph) -> Graph {
        let mut new: Vec<Value> = vec![];
        for value in old.values() {
            let mut node = old.node(value).clone();
            node.args.iter_mut().for_each(|arg| *arg = new[arg.0 as usize]);
            new.push(self.node(node));
        }
        self.made.outputs = old.outputs.iter().map(|output| self.wide(new[output.0 as usize])).collect();
        self.made
    }

    /// Appends a node whose arguments are new values.
    fn node(&mut self, mut node: Node) -> Value {
        match &mut node.kind {
            Kind::Param(id) => {
                let param = self.model.param(*id);
                let (span, scales, dtype) = (node.span, param.scales, self.model.stored_as(param));
                if dtype == self.model.float() {
                    return self.append(node);
                }
                if let Some(ty) = &mut node.ty {
                    ty.dtype = dtype;
                }
                let scale = scales.map(|id| {
                    let ty = Some(self.model.param(id).stacked());
                    self.made.push(Kind::Param(id), vec![], ty, span)
                });
                self.keep(node, scale)
            }
            Kind::Input(k) => match self.inputs.get(k).cloned() {
                None => self.append(node),
                Some((ty, scales)) => {
                    let span = node.span;
                    let scale = scales.map(|(k, ty)| self.made.push(Kind::Input(k), vec![], Some(ty), span));
                    self.keep(Node { ty: Some(ty), ..node }, scale)
                }
            },
            Kind::Prim(prim) => {
                let prim = prim.clone();
                self.prim(node, &prim)
            }
            Kind::Repeat(repeat) => {
                let repeat = self.repeat(repeat, &mut node.args);
                self.append(Node { kind: Kind::Repeat(Box::new(repeat)), ..node })
            }
            Kind::Branch(branch) => {
                let branch = self.branch(branch, &mut node.args);
                self.append(Node { kind: Kind::Branch(Box::new(branch)), ..node })
            }
            Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Transform(_)
            | Kind::Foreign(_)
            | Kind::Counter(_)
            | Kind::StopGradient
            | Kind::Written(_) => self.computed(node),
        }
    }

    fn append(&mut self, node: Node) -> Value {
        self.made.nodes.push(node);
        Value(self.made.nodes.len() as u32 - 1)
    }

    /// Appends a node that gives what is stored.
    fn keep(&mut self, node: Node, scales: Scales) -> Value {
        let value = self.append(node);
        self.held.insert(value, scales);
        value
    }

    /// Appends a node that computes.
    fn computed(&mut self, mut node: Node) -> Value {
        for arg in &mut node.args {
            *arg = self.wide(*arg);
        }
        self.append(node)
    }

    fn prim(&mut self, mut node: Node, prim: &Prim) -> Value {
        let is_held = |k: usize| node.args.get(k).is_some_and(|arg| self.held.contains_key(arg));
        // A product reads one of its operands as it is stored: of a convolution the filters.
        let (contracts, convolves) = (matches!(prim, Prim::Contract { .. }), matches!(prim, Prim::Conv { .. }));
        let operand = [1, 0].into_iter().find(|&k| is_held(k) && (contracts || convolves && k == 1));
        if let Some(k) = operand {
            node.args[1 - k] = self.wide(node.args[1 - k]);
            return self.product(node, prim, k);
        }
        let moved = if is_held(0) { self.moved(&node, prim) } else { None };
        let Some(scales) = moved else { return self.computed(node) };
        node.args[1..].iter_mut().for_each(|arg| *arg = self.wide(*arg));
        let dtype = self.made.ty(node.args[0]).dtype;
        if let Some(ty) = &mut node.ty {
            ty.dtype = dtype;
        }
        self.keep(node, scales)
    }

    /// The scales of the result of a primitive that only moves what is stored, and them as it does; none if it does more.
    fn moved(&mut self, node: &Node, prim: &Prim) -> Option<Scales> {
        let data = node.args[0];
        let scales = self.held[&data];
        let before = self.made.ty(data).shape.clone();
        if !scales::moves(prim) {
            return None;
        }
        match scales {
            None => Some(None),
            Some(scales) => {
                let scaled = Scaled { graph: &mut self.made, scales, whole: &before, span: node.span };
                scaled.moved(prim, node.args.get(1).copied()).map(Some)
            }
        }
    }

    /// A product whose operand `k` is stored.
    fn product(&mut self, mut node: Node, prim: &Prim, k: usize) -> Value {
        let Some(scales) = self.held[&node.args[k]] else { return self.append(node) };
        let whole = self.made.ty(node.args[k]).shape.clone();
        let (other, out) = (self.made.ty(node.args[1 - k]).clone(), node.ty.clone());
        let (Some([on_data, on_result]), Some(of_result)) = (scales::axes_of_product(prim, k), &out) else {
            return self.computed(node);
        };
        let span = node.span;
        let mut scaled = Scaled { graph: &mut self.made, scales, whole: &whole, span };
        if let Some(factor) = scaled.spread(&on_result, &of_result.shape) {
            let product = self.append(node);
            return self.multiplied(product, factor, out, span);
        }
        let Some(factor) = scaled.spread(&on_data, &other.shape) else { return self.computed(node) };
        node.args[1 - k] = self.multiplied(node.args[1 - k], factor, Some(other), span);
        self.append(node)
    }

    fn multiplied(&mut self, value: Value, factor: Value, ty: Option<Type>, span: Span) -> Value {
        self.made.push(Kind::Prim(Prim::Map(MapOp::Mul)), vec![value, factor], ty, span)
    }

    /// The region with stored inputs, whose scales are further inputs behind those of their kind.
    fn repeat(&mut self, repeat: &Repeat, args: &mut Vec<Value>) -> Repeat {
        let (carried, end) = (repeat.carried, repeat.carried + repeat.stacked);
        args[..carried].iter_mut().for_each(|arg| *arg = self.wide(*arg));
        let scaled = |storing: &Self, k: usize| storing.held.get(&args[k]).copied().flatten();
        let of_stacked: Vec<(usize, Value)> = (carried..end).filter_map(|k| Some((k, scaled(self, k)?))).collect();
        let of_others: Vec<(usize, Value)> = (end..args.len()).filter_map(|k| Some((k, scaled(self, k)?))).collect();
        let (more, total) = (of_stacked.len(), args.len() + of_stacked.len());
        let place = |k: usize| if k < end { k } else { k + more };
        let slice = |ty: &Type, k: usize| if k < end { Type::new(ty.dtype, &ty.shape[1..]) } else { ty.clone() };
        let mut inputs = BTreeMap::new();
        for k in (carried..args.len()).filter(|&k| self.held.contains_key(&args[k])) {
            let position = |list: &[(usize, Value)]| list.iter().position(|(of, _)| *of == k);
            let input = match position(&of_stacked) {
                Some(at) => Some((end + at, of_stacked[at].1)),
                None => position(&of_others).map(|at| (total + at, of_others[at].1)),
            };
            let scales = input.map(|(input, value)| (input, slice(self.made.ty(value), k)));
            inputs.insert(place(k), (slice(self.made.ty(args[k]), k), scales));
        }
        let body = Storing::new(self.model, inputs).graph(&renumbered(&repeat.body, &place));
        args.splice(end..end, of_stacked.iter().map(|(_, scales)| *scales));
        args.extend(of_others.iter().map(|(_, scales)| *scales));
        Repeat { stacked: repeat.stacked + more, ..repeat.with_body(body) }
    }

    fn branch(&mut self, branch: &Branch, args: &mut Vec<Value>) -> Branch {
        args[0] = self.wide(args[0]);
        let (mut inputs, mut more) = (BTreeMap::new(), vec![]);
        for (k, arg) in args[1..].iter().enumerate() {
            if let Some(&scales) = self.held.get(arg) {
                let scales = scales.map(|value| {
                    more.push(value);
                    (args.len() - 2 + more.len(), self.made.ty(value).clone())
                });
                inputs.insert(k, (self.made.ty(*arg).clone(), scales));
            }
        }
        args.extend(more);
        let case = |case: &Graph| Storing::new(self.model, inputs.clone()).graph(case);
        Branch { cases: branch.cases.iter().map(case).collect() }
    }

    /// A value as it is computed with.
    fn wide(&mut self, value: Value) -> Value {
        let Some(&scales) = self.held.get(&value) else { return value };
        if let Some(known) = self.widened.get(&value) {
            return *known;
        }
        let (float, span, shape) = (self.model.float(), self.made.node(value).span, self.made.ty(value).shape.clone());
        let ty = Some(Type::new(float, shape.clone()));
        let mut wide = self.made.push(Kind::Prim(Prim::Convert(float)), vec![value], ty.clone(), span);
        if let Some(scales) = scales {
            let mut scaled = Scaled { graph: &mut self.made, scales, whole: &shape, span };
            let axes: Vec<Option<usize>> = (0..shape.len()).map(Some).collect();
            if let Some(factor) = scaled.spread(&axes, &shape) {
                wide = self.multiplied(wide, factor, ty, span);
            }
        }
        self.widened.insert(value, wide);
        wide
    }
}

/// The graph with other numbers of its inputs.
fn renumbered(graph: &Graph, place: &dyn Fn(usize) -> usize) -> Graph {
    let mut graph = graph.clone();
    for node in &mut graph.nodes {
        if let Kind::Input(k) = &mut node.kind {
            *k = place(*k);
        }
    }
    graph
}
