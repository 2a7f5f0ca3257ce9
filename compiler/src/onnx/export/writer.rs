//! A file in the making: nodes with names, constants, parameters, and the walk over a graph.

use super::attributes;
use super::dims::Known;
use super::elements::{bytes, carrier};
use super::value::{Made, Thin};
use crate::ir::limits::INTEGER;
use crate::ir::model::{Argument, NamedDim, Param, ParamId, indices};
use crate::ir::prim::Scalar;
use crate::ir::{DType, Dim, Function, Graph, Kind, Model, Node, Type, Value};
use crate::onnx::element;
use crate::onnx::proto::{AttributeProto, NodeProto, TensorProto};
use std::collections::{BTreeMap, BTreeSet};

/// A file in the making.
pub(super) struct Writer<'m> {
    model: &'m Model,
    pub(super) args: &'m [Argument],
    pub(super) dims: &'m [NamedDim],
    /// The names of the arguments.
    inputs: Vec<String>,
    taken: BTreeSet<String>,
    /// How many values have been named after each word.
    numbers: BTreeMap<String, usize>,
    /// Constants, dimensions and parameters, which bodies of regions see too.
    head: Vec<NodeProto>,
    /// The nodes of the graph or body that is written.
    nodes: Vec<NodeProto>,
    is_heading: bool,
    constants: BTreeMap<(DType, Vec<i64>, Vec<u8>), String>,
    pub(super) known: Known,
    params: Vec<ParamId>,
    instances: BTreeMap<(ParamId, Vec<i64>), String>,
    /// What the values of the graph are that is written.
    pub(super) made: Vec<Made>,
    /// The indices of the slices around what is written, the innermost last.
    pub(super) counters: Vec<String>,
    /// What the user calls the value that is written.
    label: Option<String>,
}

/// A node of the graph that is written.
#[derive(Clone, Copy)]
pub(super) struct Call<'g> {
    /// Its graph.
    pub(super) graph: &'g Graph,
    /// The node.
    pub(super) node: &'g Node,
}

impl<'g> Call<'g> {
    /// An argument.
    pub(super) fn arg(self, k: usize) -> Value {
        self.node.args[k]
    }

    /// The type of an argument.
    pub(super) fn arg_ty(self, k: usize) -> &'g Type {
        self.graph.ty(self.node.args[k])
    }

    /// The result's type.
    pub(super) fn ty(self) -> &'g Type {
        match &self.node.ty {
            Some(ty) => ty,
            None => unreachable!("primitives have types"),
        }
    }
}

impl<'m> Writer<'m> {
    pub(super) fn new(model: &'m Model, function: &'m Function) -> Writer<'m> {
        let all = model.params.iter().flat_map(Param::instances);
        let mut writer = Writer {
            model,
            args: &function.args,
            dims: &function.dims,
            inputs: vec![],
            taken: all.collect(),
            numbers: BTreeMap::new(),
            head: vec![],
            nodes: vec![],
            is_heading: false,
            constants: BTreeMap::new(),
            known: Known::default(),
            params: vec![],
            instances: BTreeMap::new(),
            made: vec![],
            counters: vec![],
            label: None,
        };
        for arg in &function.args {
            let name = writer.fresh(arg.name.to_string().trim_start_matches("r#"));
            writer.inputs.push(name);
        }
        writer
    }

    /// The names of the arguments.
    pub(super) fn inputs(&self) -> &[String] {
        &self.inputs
    }

    /// A name that is not taken: the word, or that and a number.
    pub(super) fn fresh(&mut self, word: &str) -> String {
        if self.taken.insert(word.into()) {
            return word.into();
        }
        loop {
            let number = self.numbers.entry(word.into()).or_default();
            *number += 1;
            let name = format!("{word}_{number}");
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// Appends a node with one result.
    pub(super) fn op(&mut self, op: &str, inputs: &[&str], attribute: Vec<AttributeProto>) -> String {
        self.op_many(op, inputs, attribute, 1).swap_remove(0)
    }

    /// Appends a node.
    pub(super) fn op_many(
        &mut self,
        op: &str,
        inputs: &[&str],
        attribute: Vec<AttributeProto>,
        results: usize,
    ) -> Vec<String> {
        let word = match &self.label {
            Some(label) if !self.is_heading => label.clone(),
            _ => op.to_lowercase(),
        };
        let output: Vec<String> = (0..results).map(|_| self.fresh(&word)).collect();
        let input = inputs.iter().map(|&name| name.into()).collect();
        let name = output.first().cloned().unwrap_or(word);
        self.nodes.push(NodeProto {
            input,
            output: output.clone(),
            name,
            op_type: op.into(),
            attribute,
            domain: String::new(),
            overload: String::new(),
        });
        output
    }

    /// Writes what bodies see too, before everything else.
    pub(super) fn heading<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> T {
        if self.is_heading {
            return write(self);
        }
        self.is_heading = true;
        std::mem::swap(&mut self.head, &mut self.nodes);
        let made = write(self);
        std::mem::swap(&mut self.head, &mut self.nodes);
        self.is_heading = false;
        made
    }

    /// Writes a body: what `write` gives, and its nodes.
    pub(super) fn body<T>(&mut self, write: impl FnOnce(&mut Self) -> T) -> (T, Vec<NodeProto>) {
        let nodes = std::mem::take(&mut self.nodes);
        let made = write(self);
        (made, std::mem::replace(&mut self.nodes, nodes))
    }

    /// A literal in the type that carries its own.
    pub(super) fn constant(&mut self, scalar: Scalar) -> String {
        let (dtype, bytes) = bytes(scalar);
        self.tensor(dtype, vec![], bytes)
    }

    /// A position.
    pub(super) fn number(&mut self, number: i64) -> String {
        self.tensor(DType::I64, vec![], number.to_le_bytes().to_vec())
    }

    /// A list of positions.
    pub(super) fn list(&mut self, numbers: &[i64]) -> String {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tensor(DType::I64, vec![numbers.len() as i64], bytes)
    }

    fn tensor(&mut self, dtype: DType, dims: Vec<i64>, bytes: Vec<u8>) -> String {
        let key = (dtype, dims, bytes);
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let (_, dims, bytes) = key.clone();
        let data_type = element::number(dtype);
        let value = TensorProto { dims, data_type, raw_data: bytes.into(), ..TensorProto::default() };
        let name = self.heading(|w| w.op("Constant", &[], vec![attributes::tensor("value", value)]));
        self.constants.insert(key, name.clone());
        name
    }

    /// An argument of the function.
    pub(super) fn argument(&mut self, name: &str, ty: &Type) -> Made {
        let name = self.carried(name.into(), ty.dtype);
        Made::full(name, ty)
    }

    /// The outputs of a graph for these inputs.
    pub(super) fn graph(&mut self, graph: &Graph, inputs: Vec<Made>) -> Vec<Made> {
        let outer = std::mem::take(&mut self.made);
        for node in &graph.nodes {
            self.label.clone_from(&node.name);
            let made = self.node(Call { graph, node }, &inputs);
            self.made.push(made);
        }
        let own = std::mem::replace(&mut self.made, outer);
        graph.outputs.iter().map(|output| own[output.0 as usize].clone()).collect()
    }

    fn node(&mut self, call: Call<'_>, inputs: &[Made]) -> Made {
        let arg = |w: &Self, k: usize| w.made[call.arg(k).0 as usize].clone();
        match &call.node.kind {
            Kind::Input(k) => inputs[*k].clone(),
            Kind::Param(id) if self.model.param(*id).stack.is_empty() => {
                Made::full(self.parameter(*id, &[]), call.ty())
            }
            Kind::Param(id) => Made::Stack(*id, vec![]),
            Kind::Result(k) => match arg(self, 0) {
                Made::Many(mut all) => all.swap_remove(*k),
                Made::Tensor(_) | Made::Shaped(..) | Made::Stack(..) => {
                    unreachable!("only regions have several results")
                }
            },
            Kind::Prim(prim) => self.prim(call, prim),
            Kind::Counter(depth) => {
                let name = self.counters[self.counters.len() - 1 - depth].clone();
                Made::full(name, call.ty())
            }
            Kind::Repeat(repeat) => Made::Many(self.repeat(call, repeat)),
            Kind::Branch(branch) => Made::Many(self.branch(call, branch)),
            Kind::StopGradient => arg(self, 0),
            Kind::State(_) | Kind::Source(_) | Kind::Foreign(_) => unreachable!("such functions were refused"),
            Kind::Transform(_) => unreachable!("grad has resolved transforms"),
            Kind::Op(_) | Kind::Written(_) => unreachable!("expand has replaced ops"),
        }
    }

    /// An argument of a node as a tensor of its own shape.
    pub(super) fn full(&mut self, call: Call<'_>, k: usize) -> String {
        let value = call.arg(k);
        let ty = call.arg_ty(k);
        let thin = self.thin(call, k);
        if thin.is_whole(ty) {
            return thin.name;
        }
        let shape = self.shape(&ty.shape);
        let name = self.op("Expand", &[&thin.name, &shape], vec![]);
        self.made[value.0 as usize] = Made::full(name.clone(), ty);
        name
    }

    /// An argument of a node as a tensor that broadcasts to it.
    pub(super) fn thin(&mut self, call: Call<'_>, k: usize) -> Thin {
        let (value, ty) = (call.arg(k), call.arg_ty(k));
        let name = match self.made[value.0 as usize].clone() {
            Made::Tensor(thin) => return thin,
            Made::Shaped(name, from) => self.reshaped(&name, &from, &ty.shape),
            Made::Stack(id, at) => self.stacked(id, &at),
            Made::Many(_) => unreachable!("results of regions are taken one by one"),
        };
        self.made[value.0 as usize] = Made::full(name.clone(), ty);
        Thin { name, rank: ty.rank(), repeated: vec![] }
    }

    /// The same for what has left its graph.
    pub(super) fn whole(&mut self, made: Made, ty: &Type) -> String {
        match made {
            Made::Tensor(thin) if thin.is_whole(ty) => thin.name,
            Made::Tensor(thin) => {
                let shape = self.shape(&ty.shape);
                self.op("Expand", &[&thin.name, &shape], vec![])
            }
            Made::Shaped(name, from) => self.reshaped(&name, &from, &ty.shape),
            Made::Stack(id, at) => self.stacked(id, &at),
            Made::Many(_) => unreachable!("results of regions are taken one by one"),
        }
    }

    /// A slice of a stack.
    pub(super) fn slice_of(&mut self, id: ParamId, at: Vec<i64>) -> Made {
        let param = self.model.param(id);
        match at.len() == param.stack.len() {
            true => Made::full(self.parameter(id, &at), &param.ty),
            false => Made::Stack(id, at),
        }
    }

    /// The part of a parameter's stack at these indices.
    fn stacked(&mut self, id: ParamId, at: &[i64]) -> String {
        let param = self.model.param(id);
        let counts = &param.stack[at.len()..];
        let key = (id, at.to_vec());
        if let Some(name) = self.instances.get(&key) {
            return name.clone();
        }
        let own = param.ty.shape.clone();
        let name = self.heading(|w| {
            let axes = w.list(&[0]);
            let mut all = vec![];
            for rest in indices(counts) {
                let one = w.parameter(id, &[at, &rest].concat());
                all.push(w.op("Unsqueeze", &[&one, &axes], vec![]));
            }
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let joined = w.op("Concat", &all, vec![attributes::int("axis", 0)]);
            let shape: Vec<Dim> = counts.iter().map(|&count| count.into()).chain(own).collect();
            let flat = [&[counts.iter().product::<i64>().into()], &shape[counts.len()..]].concat();
            w.reshaped(&joined, &flat, &shape)
        });
        self.instances.insert(key, name.clone());
        name
    }

    /// One parameter in the type that it is computed in.
    fn parameter(&mut self, id: ParamId, at: &[i64]) -> String {
        if !self.params.contains(&id) {
            self.params.push(id);
        }
        let param = self.model.param(id);
        let (stored, name) = (self.model.stored_as(param), param.instance(at));
        if stored == param.ty.dtype {
            return name;
        }
        let key = (id, at.to_vec());
        if let Some(name) = self.instances.get(&key) {
            return name.clone();
        }
        let made = self.heading(|w| {
            let wide = w.cast(&name, carrier(param.ty.dtype));
            match param.scales {
                Some(scales) => {
                    let factor = w.parameter(scales, at);
                    w.op("Mul", &[&wide, &factor], vec![])
                }
                None => wide,
            }
        });
        self.instances.insert(key, made.clone());
        made
    }

    /// Gives the name of a result to a value.
    pub(super) fn result(&mut self, made: Made, ty: &Type, name: &str) {
        self.label = None;
        let made = self.whole(made, ty);
        let made = self.delivered(made, ty.dtype);
        self.nodes.push(NodeProto {
            input: vec![made],
            output: vec![name.into()],
            name: name.into(),
            op_type: "Identity".into(),
            ..NodeProto::default()
        });
    }

    /// All nodes, and the parameters that they read.
    pub(super) fn finish(self) -> (Vec<NodeProto>, Vec<ParamId>) {
        let Writer { mut head, nodes, mut params, .. } = self;
        head.extend(nodes);
        params.sort_unstable();
        (head, params)
    }

    /// Whether a value is a parameter that is not trained, such as integers that an imported model has as floats.
    pub(super) fn is_constant(&self, graph: &Graph, value: Value) -> bool {
        matches!(graph.node(value).kind, Kind::Param(id) if !self.model.param(id).trained)
    }

    /// The argument and axis that a named dimension is read from, with its factor and summand there.
    pub(super) fn binding(&self, name: &str) -> (usize, usize, i64, i64) {
        let extents = self.args.iter().enumerate().flat_map(|(arg, argument)| {
            let shape = argument.ty.shape.iter().enumerate();
            shape.filter_map(move |(axis, dim)| dim.affine(name).map(|(factor, summand)| (arg, axis, factor, summand)))
        });
        let plain =
            |&(.., factor, summand): &(usize, usize, i64, i64)| if (factor, summand) == (1, 0) { 0 } else { INTEGER };
        match extents.min_by_key(plain) {
            Some(found) => found,
            None => unreachable!("functions with other dimensions were refused"),
        }
    }
}
