//! Models whose nodes are what the user wrote in; the same with checked ops, every value typed, out.
//!
//! All mistakes are reported; a value that one leaves unknown silences what uses it. After a mistake the
//! outputs still have the types that the signatures declare, and nothing else may be relied on.

mod bindings;
mod branch;
mod call;
mod counted;
mod features;
mod fit;
mod flow;
mod foreign;
mod imported;
mod index;
mod keys;
mod literal;
mod mistaken;
mod prepare;
mod repair;
mod repeat;
mod report;
mod results;
mod scan;
mod step;
mod suggest;
mod transform;
mod untrained;

use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::attr::Attr;
use crate::ir::limits::excess;
use crate::ir::model::{Mode, NamedDim};
use crate::ir::written::{Role, What, Written};
use crate::ir::{DType, Function, Graph, Kind, Model, Node, Type, Value};
use bindings::Bindings;

/// Types every value of every function, and replaces what the user wrote by ops and primitives.
pub fn shape(models: &mut [Model], diags: &mut Diags) {
    for model in models.iter_mut() {
        let float = model.float();
        let trained = |f: &Function| matches!(f.mode, Mode::Train(_));
        let names: Vec<String> = model.functions.iter().filter(|f| trained(f)).map(|f| f.name.to_string()).collect();
        model.functions.retain_mut(|function| {
            let before = diags.list().len();
            self::function(function, float, diags);
            let keyless = diags.list()[before..].iter().all(|report| report.code == Code::MissingKey);
            let only_trains = !trained(function) && names.iter().any(|name| function.name == name);
            // What draws from the key of a step is a function of training alone: there is none to evaluate.
            if diags.list().len() > before && keyless && only_trains {
                diags.forget(before);
                return false;
            }
            true
        });
    }
    // What is drawn twice is so whatever else is wrong.
    models.iter().for_each(|model| keys::check(model, diags));
    if diags.is_empty() {
        models.iter().for_each(|model| {
            foreign::check(model, diags);
            untrained::check(model, diags);
        });
        results::check(models, diags);
    }
}

/// Types every value of a function.
fn function(function: &mut Function, float: DType, diags: &mut Diags) {
    let (mut bindings, mut known) = (Bindings::new(float), vec![]);
    let dims = std::mem::take(&mut function.dims);
    function.change_graph(|graph| {
        let (graph, sure) = Shaper::new(&graph, diags, &dims, &mut bindings, None).run();
        known = sure;
        graph
    });
    function.dims = dims;
    if known.contains(&false) && diags.is_empty() {
        // A bug of ours must not pass for a model.
        let message = format!("the type of what `{}` returns could not be found", function.name);
        diags.push(Diagnostic::new(Code::Op, function.name.span(), message));
    }
}

/// What is known of a node of the old graph.
#[derive(Clone, Debug)]
enum Known {
    /// Its value in the new graph.
    One(Value),
    /// A node with several results.
    Many(Value, Vec<Type>),
    /// Several values.
    Each(Vec<Value>),
    /// A number whose element type its use decides.
    Literal(Attr),
    /// A reported mistake.
    Unknown,
}

/// Rebuilds one graph.
struct Shaper<'s> {
    old: &'s Graph,
    new: Graph,
    known: Vec<Known>,
    diags: &'s mut Diags,
    /// The dimensions that calls of the function bind.
    dims: &'s [NamedDim],
    bindings: &'s mut Bindings,
    /// The types of the inputs where the graph is a body; `None` for unknown ones.
    inputs: Option<Vec<Option<Type>>>,
    /// Values of the new graph that stand for what calls give about whose arguments a mistake was reported.
    supposed: Vec<Value>,
    /// The inlined calls that were advised to be one for each slice, which then give stacks of what is declared.
    sliced: Vec<usize>,
    /// Whether this run only looks for types that do not depend on unknown ones: nothing of it is kept or reported.
    guessing: bool,
    /// Whether types of the inputs were inferred from what the body gives, so that a misfit may be a mistake of either.
    inferred: bool,
}

impl<'s> Shaper<'s> {
    fn new(
        old: &'s Graph,
        diags: &'s mut Diags,
        dims: &'s [NamedDim],
        bindings: &'s mut Bindings,
        inputs: Option<Vec<Option<Type>>>,
    ) -> Shaper<'s> {
        Shaper {
            old,
            new: Graph::default(),
            known: vec![],
            diags,
            dims,
            bindings,
            inputs,
            supposed: vec![],
            sliced: vec![],
            guessing: false,
            inferred: false,
        }
    }

    /// The new graph, and whether each output is known.
    fn run(mut self) -> (Graph, Vec<bool>) {
        self.walk();
        self.finish(&[])
    }

    /// Types every node.
    fn walk(&mut self) {
        let old = self.old;
        for node in &old.nodes {
            let known = self.node(node);
            if let (Known::One(value), Some(name)) = (&known, &node.name) {
                self.new.node_mut(*value).name.get_or_insert_with(|| name.clone());
            }
            self.known.push(known);
        }
    }

    /// The new graph, and whether each output is known. Outputs that are numbers take the element types of `like`.
    fn finish(mut self, like: &[Option<DType>]) -> (Graph, Vec<bool>) {
        let old = self.old;
        let mut outputs: Vec<Option<Value>> = vec![];
        for (k, &output) in old.outputs.iter().enumerate() {
            outputs.push(match (self.known(output).clone(), like.get(k)) {
                (Known::Literal(attr), Some(&Some(dtype))) if literal::suits(&attr, dtype) => {
                    Some(self.literal(&attr, dtype, old.node(output).span))
                }
                _ => self.one(output),
            });
        }
        let sure = outputs.iter().map(Option::is_some).collect();
        for (output, value) in old.outputs.iter().zip(outputs) {
            let value = value.unwrap_or_else(|| self.placeholder(*output));
            self.new.outputs.push(value);
        }
        (self.new, sure)
    }

    fn node(&mut self, node: &Node) -> Known {
        match &node.kind {
            Kind::Input(k) => {
                let ty = match &self.inputs {
                    Some(types) => types.get(*k).cloned().flatten(),
                    None => node.ty.clone(),
                };
                ty.map_or(Known::Unknown, |ty| self.push(node, node.kind.clone(), vec![], ty))
            }
            Kind::Param(_) | Kind::State(_) | Kind::Source(_) | Kind::Counter(_) => match &node.ty {
                Some(ty) => self.push(node, node.kind.clone(), vec![], ty.clone()),
                None => self.push(node, node.kind.clone(), vec![], Type::scalar(DType::U32)),
            },
            Kind::Op(call) => self.call(node, call, &report::site_of(node)),
            Kind::Result(k) => self.result(node, *k, None),
            Kind::Prim(prim) => {
                let Some(args) = self.all(&node.args) else { return Known::Unknown };
                let types: Vec<&Type> = args.iter().map(|&a| self.new.ty(a)).collect();
                match prim.infer(&types) {
                    Ok(ty) => self.push(node, node.kind.clone(), args, ty),
                    Err(message) => self.report_prim(node, message),
                }
            }
            Kind::Repeat(repeat) => self.repeat(node, repeat),
            Kind::Branch(branch) => self.branch(node, branch),
            Kind::Foreign(_) => unreachable!("parse writes foreign calls as what the user wrote"),
            Kind::Transform(_) => unreachable!("parse writes transforms as what the user wrote"),
            Kind::StopGradient => match self.all(&node.args).as_deref() {
                Some(&[arg]) => {
                    let ty = self.new.ty(arg).clone();
                    self.push(node, Kind::StopGradient, vec![arg], ty)
                }
                _ => Known::Unknown,
            },
            Kind::Written(written) => {
                self.diags.enter(written.via);
                let known = self.written(node, written);
                self.diags.enter(None);
                known
            }
        }
    }

    fn written(&mut self, node: &Node, Written { what, site, .. }: &Written) -> Known {
        match what {
            What::Call(call) => self.call(node, call, site),
            What::Literal(attr) => {
                let bound = self.bindings.attr(attr);
                if bound.is_none() {
                    self.report_unbound(site);
                }
                bound.map_or(Known::Unknown, Known::Literal)
            }
            What::Index(items) => self.index(node, items, site),
            What::SetIndex(items) => self.set_index(node, items, site),
            What::Ellipses(ellipses) => self.ellipses(node, ellipses, site),
            What::Part { k, of } => self.result(node, *k, Some((*of, site))),
            What::Transform(made) => self.transform(node, made, site),
            What::Unstack { axis, count } => self.unstack(node, *axis, count, site),
            What::Restack { axis } => self.restack(node, *axis),
            What::Zeros | What::Unknown => Known::Unknown,
            What::Condition => self.condition(node, site),
            What::Choice(arms) => self.choice(node, arms, site),
            What::Foreign(foreign) => self.foreign(node, foreign, site),
            What::Imported(graph) => self.imported(node, graph, site),
            What::Outcome => self.known(node.args[0]).clone(),
            What::Fit(fit) => {
                let fitted = self.fit(node, fit, site);
                match (&fitted, &fit.role) {
                    (Known::Unknown, Role::Result(_)) if fit.scope == 0 => {
                        let shape = fit.axes.iter().map(|a| a.as_ref().map(|a| a.dim.clone())).collect::<Option<_>>();
                        let shape: Vec<_> = shape.unwrap_or_default();
                        self.push(node, Kind::Input(usize::MAX), vec![], Type::new(fit.dtype, shape))
                    }
                    _ => fitted,
                }
            }
        }
    }

    fn push(&mut self, node: &Node, kind: Kind, args: Vec<Value>, ty: Type) -> Known {
        // What stands for a mistake has been reported.
        if let Some(most) = excess(&ty).filter(|_| !matches!(kind, Kind::Input(usize::MAX))) {
            let subject = node.name.clone().unwrap_or_else(|| report::site_of(node).text);
            let message = format!("`{subject}` would be {ty}, and a tensor has at most {most}");
            self.diags.push(Diagnostic::new(Code::TooLarge, node.span, message));
            return Known::Unknown;
        }
        Known::One(self.new.push(kind, args, Some(ty), node.span))
    }

    fn known(&self, value: Value) -> &Known {
        &self.known[value.0 as usize]
    }

    /// The value in the new graph; a literal takes the type that it has by itself. `None` where it is unknown.
    fn one(&mut self, value: Value) -> Option<Value> {
        match self.known(value).clone() {
            Known::One(new) => Some(new),
            Known::Literal(attr) => {
                let dtype = literal::own_dtype(&attr, self.bindings.float);
                Some(self.literal(&attr, dtype, self.old.node(value).span))
            }
            Known::Many(_, types) => {
                self.report_many(value, types.len());
                None
            }
            Known::Each(values) => {
                self.report_many(value, values.len());
                None
            }
            Known::Unknown => None,
        }
    }

    /// All values, where none is unknown.
    fn all(&mut self, values: &[Value]) -> Option<Vec<Value>> {
        let all: Vec<_> = values.iter().map(|&v| self.one(v)).collect();
        all.into_iter().collect()
    }

    /// Stands for an unknown output, so that the graph still has all of them.
    fn placeholder(&mut self, output: Value) -> Value {
        let node = self.old.node(output);
        let ty = node.ty.clone().unwrap_or(Type::scalar(DType::F32));
        self.new.push(Kind::Input(usize::MAX), vec![], Some(ty), node.span)
    }
}
