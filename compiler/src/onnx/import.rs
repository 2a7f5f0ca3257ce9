//! The walk over a graph: nodes in the file's order in, values of a typed graph out.

mod free;
mod inside;
mod loops;
mod scope;
mod versions;

use super::budget::{self, Budget};
use super::names::Names;
use super::node::Node;
use super::operand::{Known, Operand, Places};
use super::operators::{self, Operator};
use super::params::{Declared, Params, Weight};
use super::proto::{Extent, FunctionProto, GraphProto, NodeProto, OperatorSetIdProto, TensorProto, ValueInfoProto};
use super::{Failure, File, Refusal, element, fold, symbolic};
use crate::ir::graph::Memory;
use crate::ir::model::{Argument, Binder, Mode, NamedDim, Param, Results, Signature, place};
use crate::ir::precision::Precision;
use crate::ir::{DType, Dim, Function, Graph, Kind, Model, Type, Value};
use crate::ops::Builder;
use crate::oracle::{Data, Tensor};
use proc_macro2::{Ident, Span, TokenStream};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use scope::Scope;

/// What is known of a file's arguments beside the file.
#[derive(Default, Debug)]
pub struct Bound {
    /// Arguments that are constants.
    pub args: BTreeMap<String, Tensor>,
    /// What the file's named dimensions are, by the file's names, and scalar arguments that are constants.
    pub dims: BTreeMap<String, Dim>,
    /// The largest values of dimensions, by the names that they have here.
    pub bounds: BTreeMap<String, i64>,
}

/// What a file says.
#[derive(Debug)]
pub struct Imported {
    /// The computation, as it is behind shape.
    pub function: Function,
    /// The parameters that it reads.
    pub params: Vec<Param>,
    /// What they are.
    pub tensors: Vec<Weight>,
    /// Their type.
    pub float: DType,
}

impl Imported {
    /// The model that has nothing else, and what its parameters are.
    pub fn model(self, name: &str) -> (Model, Vec<Weight>) {
        let precision = if self.float == DType::F64 { Precision::F64 } else { Precision::default() };
        let model = Model {
            name: Ident::new(name, Span::call_site()),
            vis: TokenStream::from(proc_macro2::TokenTree::from(Ident::new("pub", Span::call_site()))),
            attrs: vec![],
            memory: Memory::default(),
            precision,
            storage: None,
            deterministic: None,
            params: self.params,
            states: vec![],
            dims: vec![],
            functions: vec![self.function],
            foreign: vec![],
            private: vec![],
            origins: vec![],
            sketches: vec![],
        };
        (model, self.tensors)
    }
}

/// Reads what a file says.
///
/// # Errors
/// All that is wrong with it or not supported.
pub fn import(file: &File, bound: &Bound, span: Span) -> Result<Imported, Vec<Refusal>> {
    let Some(graph) = &file.model.graph else { return Err(vec![Refusal::of_file("the file has no graph")]) };
    versions::check(&file.model, graph)?;
    let read = |float| Importer::new(file, bound, span, float).read(graph);
    let imported = read(DType::F32)?;
    // Parameters have one type, and f64 holds all.
    let is_wide = imported.tensors.iter().any(|weight| weight.is_of(DType::F64));
    if is_wide { read(DType::F64) } else { Ok(imported) }
}

struct Importer<'f> {
    graph: Graph,
    params: Params,
    scope: Scope,
    places: Places,
    /// What the file's named dimensions are, by the file's names.
    dims: BTreeMap<String, Dim>,
    dim_names: Names,
    opsets: &'f [OperatorSetIdProto],
    functions: &'f [FunctionProto],
    bound: &'f Bound,
    span: Span,
    float: DType,
    sites: u32,
    budget: Budget,
    refusals: Vec<Refusal>,
}

impl<'f> Importer<'f> {
    fn new(file: &'f File, bound: &'f Bound, span: Span, float: DType) -> Importer<'f> {
        let mut dim_names = Names::default();
        bound.dims.values().for_each(|dim| dim.names(&mut |name| drop(dim_names.unique(name.to_owned()))));
        Importer {
            graph: Graph::default(),
            params: Params::Model(Declared::new(float)),
            scope: Scope::new(),
            places: Places::default(),
            dims: bound.dims.clone(),
            dim_names,
            opsets: &file.model.opset_import,
            functions: &file.model.functions,
            bound,
            span,
            float,
            sites: 0,
            budget: Budget::of(file.said()),
            refusals: file.refusals.clone(),
        }
    }

    fn read(mut self, graph: &GraphProto) -> Result<Imported, Vec<Refusal>> {
        match self.declare(graph) {
            Ok((args, dims)) => {
                self.nodes(&graph.node);
                self.finish(graph, args, dims)
            }
            Err(why) => {
                self.refusals.push(why);
                Err(self.refusals)
            }
        }
    }

    /// Declares initialisers and arguments.
    fn declare(&mut self, graph: &GraphProto) -> Result<(Vec<Argument>, Vec<NamedDim>), Refusal> {
        self.initializers(graph);
        let (mut args, mut dims): (Vec<Argument>, Vec<NamedDim>) = (vec![], vec![]);
        let mut names = Names::default();
        for input in &graph.input {
            let refusal = |why| Refusal::of_file(format!("argument `{}`: {why}", input.name));
            // What is said of an argument is worth more than the default that the file has for it.
            if self.is_bound(input).map_err(refusal)? || self.scope.contains_key(&input.name) {
                continue;
            }
            let ty = self.type_of(input).map_err(refusal)?;
            for extent in &ty.shape {
                extent.names(&mut |name| {
                    if !dims.iter().any(|dim| dim.name == name) {
                        let bound = self.bound.bounds.get(name).copied();
                        dims.push(NamedDim { name: name.into(), bound, binder: Binder::Extents });
                    }
                });
            }
            let value = self.graph.push(Kind::Input(args.len()), vec![], Some(ty.clone()), self.span);
            self.graph.node_mut(value).name = Some(input.name.clone());
            self.scope.insert(input.name.clone(), Some(Operand::Value(value)));
            args.push(Argument { name: Ident::new(&names.identifier(&input.name), self.span), ty });
        }
        Ok((args, dims))
    }

    /// Whether an argument is a constant, which it then is.
    fn is_bound(&mut self, input: &ValueInfoProto) -> Result<bool, Failure> {
        let tensor = match (self.bound.args.get(&input.name), self.bound.dims.get(&input.name)) {
            (Some(tensor), _) => tensor.clone(),
            (None, Some(number)) => self.number(input, number)?,
            (None, None) => return Ok(false),
        };
        self.scope.insert(input.name.clone(), Some(Operand::known(tensor)));
        Ok(true)
    }

    /// An argument that is a number.
    fn number(&mut self, input: &ValueInfoProto, number: &Dim) -> Result<Tensor, Failure> {
        let ty = self.type_of(input)?;
        let Some(number) = number.as_const() else {
            return Err(Failure::new(format!("it can be a number, and is no dimension, as `{number}` would be")));
        };
        let (least, greatest) = ty.dtype.integers();
        if !ty.shape.iter().all(|extent| extent.is(1)) {
            return Err(Failure::new(format!("it is {ty}, and not one number as {number} is")));
        }
        if !ty.dtype.is_float() && !(least..=greatest).contains(&number.into()) {
            return Err(Failure::new(format!("{number} is no {}", ty.dtype)));
        }
        Ok(Tensor::new(vec![1; ty.rank()], Data::of(ty.dtype, vec![number as f64])))
    }

    fn initializers(&mut self, graph: &GraphProto) {
        for proto in &graph.initializer {
            let operand = match Known::initializer(proto, &mut self.places) {
                // Why its elements are not in this file has been said.
                _ if proto.is_external() => None,
                Ok(known) => Some(Operand::Known(Rc::new(known))),
                Err(why) => {
                    self.refusals.push(Refusal::of_file(format!("initializer `{}`: {why}", proto.name)));
                    None
                }
            };
            self.scope.insert(proto.name.clone(), operand);
        }
        if let Some(sparse) = graph.sparse_initializer.first() {
            let name = sparse.values.as_ref().map_or("", |values| &values.name);
            self.refusals.push(Refusal::of_file(format!("initializer `{name}` is sparse, which is not supported")));
        }
    }

    /// The type that an argument declares. Extents without a name are named by the argument.
    fn type_of(&mut self, input: &ValueInfoProto) -> Result<Type, Failure> {
        let tensor = input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref());
        let tensor = tensor.ok_or_else(|| Failure::new("it is no tensor"))?;
        let shape = tensor.shape.as_ref().ok_or_else(|| Failure::new("its shape is unknown"))?;
        let mut extents = vec![];
        for (axis, dim) in shape.dim.iter().enumerate() {
            if let Some(Extent::DimValue(n @ 0..)) = &dim.value {
                element::shape(&[*n])?;
                extents.push(Dim::from(*n));
                continue;
            }
            let name = name_of(input, axis, dim.value.as_ref());
            let names = &mut self.dim_names;
            let dim = self.dims.entry(name.clone()).or_insert_with(|| Dim::name(names.identifier(&name))).clone();
            if let Some(number) = dim.as_const() {
                element::shape(&[number])?;
            }
            extents.push(dim);
        }
        let ty = Type::new(element::dtype(tensor.elem_type.into())?, extents);
        budget::typed(&ty)?;
        Ok(ty)
    }

    fn nodes<'n>(&mut self, nodes: impl IntoIterator<Item = &'n NodeProto>) {
        for node in nodes {
            if self.budget.is_spent() {
                return;
            }
            let made = self.node(node);
            let is_made = made.is_ok();
            let results = made.unwrap_or_else(|why| {
                if let Some(why) = why {
                    let named = node.output.iter().find(|name| !name.is_empty());
                    let name =
                        if node.name.is_empty() { named.cloned().unwrap_or_default() } else { node.name.clone() };
                    let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
                    self.refusals.push(Refusal {
                        node: name,
                        operator: domain + &node.op_type,
                        opset: versions::of(self.opsets, &node.domain),
                        reason: why.to_string(),
                    });
                }
                vec![]
            });
            for (k, name) in node.output.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
                let is_new = match results.get(k).cloned() {
                    None if is_made => !self.scope.contains_key(name),
                    result => self.scope.insert(name.clone(), result),
                };
                if !is_new {
                    self.refusals.push(Refusal::of_file(format!("two nodes, arguments or initializers give `{name}`")));
                }
            }
        }
    }

    /// The results of a node; `Err(None)` where an argument is unknown because of what was refused before.
    fn node(&mut self, proto: &NodeProto) -> Result<Vec<Operand>, Option<Failure>> {
        self.budget.node()?;
        if let Some(attribute) = proto.attribute.iter().find(|attribute| !attribute.ref_attr_name.is_empty()) {
            let (name, own) = (&attribute.name, &attribute.ref_attr_name);
            return Err(Some(Failure::new(format!(
                "`{name}` is the attribute `{own}` of a function, and it is in none"
            ))));
        }
        // Why its elements are not in this file has been said.
        if proto.attribute.iter().any(|attribute| attribute.t.as_ref().is_some_and(TensorProto::is_external)) {
            return Err(None);
        }
        let mut inputs = vec![];
        for name in &proto.input {
            inputs.push(match self.scope.get(name) {
                _ if name.is_empty() => None,
                Some(Some(operand)) => Some(operand.clone()),
                Some(None) => return Err(None),
                None => return Err(Some(Failure::new(format!("nothing before it gives `{name}`")))),
            });
        }
        let own = (&proto.op_type, &proto.domain, &proto.overload);
        if let Some(function) = self.functions.iter().find(|of| (&of.name, &of.domain, &of.overload) == own) {
            return self.function(function, proto, inputs);
        }
        if proto.op_type == "If" && proto.domain.is_empty() {
            return self.branch(proto, &inputs);
        }
        if matches!(proto.domain.as_str(), "" | "ai.onnx") {
            match proto.op_type.as_str() {
                "Loop" => return self.loop_of(proto, &inputs),
                "Scan" => return self.scan(proto, &inputs),
                _ => {}
            }
        }
        let has_graphs = proto.attribute.iter().any(|attribute| attribute.g.is_some());
        if proto.op_type == "FlexAttention" && proto.domain == "ai.onnx.preview" && has_graphs {
            return self.flex_attention(proto, inputs);
        }
        let Some(operator) = operators::operator(&proto.domain, &proto.op_type) else {
            return Err(Some(Failure::new("the operator is not supported")));
        };
        self.apply(operator, proto, inputs).map_err(Some)
    }

    /// What an operator gives, if that is not too much.
    fn apply(
        &mut self,
        operator: &'static Operator,
        proto: &NodeProto,
        inputs: Vec<Option<Operand>>,
    ) -> Result<Vec<Operand>, Failure> {
        let made = self.made(operator, proto, inputs)?;
        made.iter().try_for_each(|operand| budget::result(operand, &self.graph))?;
        Ok(made)
    }

    /// The same: computed at once where everything is known, otherwise appended to the graph.
    fn made(
        &mut self,
        operator: &'static Operator,
        proto: &NodeProto,
        inputs: Vec<Option<Operand>>,
    ) -> Result<Vec<Operand>, Failure> {
        let opset = versions::of(self.opsets, &proto.domain);
        let Importer { graph, params, places, budget, span, float, sites, dims, .. } = self;
        let mut run = |graph: &mut Graph, params: &mut Params, budget: &mut Budget, inputs: Vec<Option<Operand>>| {
            let b = Builder { graph, span: *span, training: false, float: *float, sites: &mut *sites, loops: vec![] };
            let asked = RefCell::default();
            let (places, stored) = (&mut *places, None);
            operator.apply(&mut Node { b, opset, proto, operator, inputs, params, places, dims, budget, stored, asked })
        };
        let to = proto.attribute.iter().find(|attribute| attribute.name == "to");
        let to = to.and_then(|attribute| element::dtype(attribute.i).ok());
        if let Some(made) = symbolic::apply(operator.name, proto, &inputs, to) {
            return Ok(vec![made]);
        }
        let mut folded = None;
        if inputs.iter().flatten().all(|operand| matches!(operand, Operand::Known(_))) {
            folded = fold::folded(budget, |known, tensors, budget| run(known, tensors, budget, inputs.clone()))?;
        }
        match folded {
            Some(fold::Folded { results, of_weights: None }) => Ok(results),
            // What weights are computed to stays in the graph, and is known to who must know it.
            Some(fold::Folded { results, of_weights: Some(sources) }) => {
                let made = run(graph, params, budget, inputs)?;
                Ok(match params {
                    Params::Model(_) => {
                        made.into_iter().zip(results).map(|(made, known)| fold::both(made, known, &sources)).collect()
                    }
                    // A body is not where a value is known by.
                    Params::Inputs { .. } => made,
                })
            }
            None => run(graph, params, budget, inputs),
        }
    }

    fn finish(
        mut self,
        graph: &GraphProto,
        args: Vec<Argument>,
        dims: Vec<NamedDim>,
    ) -> Result<Imported, Vec<Refusal>> {
        for output in &graph.output {
            match self.scope.get(&output.name).cloned() {
                Some(Some(operand)) => match self.output(&operand) {
                    Ok(value) => self.graph.outputs.push(value),
                    Err(why) => self.refusals.push(Refusal::of_file(format!("result `{}`: {why}", output.name))),
                },
                Some(None) => {}
                None => {
                    let reason = format!("nothing gives the result `{}`", output.name);
                    self.refusals.push(Refusal::of_file(reason));
                }
            }
        }
        self.unknown(graph);
        if !self.refusals.is_empty() {
            // A function may be called many times.
            let mut said = BTreeSet::new();
            self.refusals.retain(|refusal| said.insert(refusal.clone()));
            return Err(self.refusals);
        }
        let Params::Model(mut declared) = self.params else { unreachable!("the graph's own parameters") };
        let made = declared.finished(self.graph);
        place(&mut declared.params);
        let results = if graph.output.len() == 1 { Results::One } else { Results::Tuple };
        let signature = signature(&args, &dims, &made);
        let function = Function {
            name: Ident::new("forward", self.span),
            signature,
            attrs: vec![],
            mode: Mode::Evaluate,
            args,
            dims,
            results,
            frozen: vec![],
            in_session: false,
            effects: vec![],
            graph: made,
        };
        Ok(Imported { function, params: declared.params, tensors: declared.tensors, float: self.float })
    }

    /// Refuses what is said of dimensions that the file does not have.
    fn unknown(&mut self, graph: &GraphProto) {
        let mut known: Vec<String> = vec![];
        for input in &graph.input {
            known.push(input.name.clone());
            let tensor = input.r#type.as_ref().and_then(|ty| ty.tensor_type.as_ref());
            let dims = tensor.and_then(|tensor| tensor.shape.as_ref()).map_or(&[][..], |shape| &shape.dim);
            for (axis, dim) in dims.iter().enumerate() {
                let name = name_of(input, axis, dim.value.as_ref());
                if !matches!(dim.value, Some(Extent::DimValue(0..))) && !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        let unknown = self.bound.dims.keys().filter(|name| !known.contains(name));
        let all = known.join(", ");
        let refuse =
            |name: &String| Refusal::of_file(format!("the file has no argument or dimension `{name}`; it has {all}"));
        let refusals: Vec<Refusal> = unknown.map(refuse).collect();
        self.refusals.extend(refusals);
    }

    /// An operand as a value.
    fn output(&mut self, operand: &Operand) -> Result<Value, Failure> {
        let (span, float) = (self.span, self.float);
        let mut b =
            Builder { graph: &mut self.graph, span, training: false, float, sites: &mut self.sites, loops: vec![] };
        self.params.operand(&mut b, operand)
    }
}

/// How the function would be declared in the language.
fn signature(args: &[Argument], dims: &[NamedDim], graph: &Graph) -> Signature {
    let args: Vec<String> = args.iter().map(|arg| format!("{}: {}", arg.name, arg.ty)).collect();
    let results: Vec<String> = graph.outputs.iter().map(|&value| graph.ty(value).to_string()).collect();
    let results = match results.as_slice() {
        [only] => only.clone(),
        all => format!("({})", all.join(", ")),
    };
    let receiver = if args.is_empty() { "&self" } else { "&self, " };
    let text = format!("fn forward({receiver}{}) -> {results}", args.join(", "));
    Signature { text, names: dims.iter().map(|dim| (dim.name.clone(), None)).collect() }
}

/// The name of an extent that is no number. Without a letter or a digit, such as the `?` of PaddlePaddle's exporter, it says that
/// nothing is known, and not that extents are equal.
fn name_of(input: &ValueInfoProto, axis: usize, extent: Option<&Extent>) -> String {
    match extent {
        Some(Extent::DimParam(name)) if name.contains(char::is_alphanumeric) => name.clone(),
        Some(_) | None => format!("{}_{axis}", input.name),
    }
}
