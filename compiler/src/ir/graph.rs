//! The tensor graph that parse makes and every stage up to fuse transforms.
//!
//! Nodes stand in an order in which each uses only earlier ones. A body of a repeated region is a graph of
//! its own. Until expand, nodes may be ops; afterwards only primitives, regions and sources remain.

use super::attr::{Attrs, Name};
use super::dim::Dim;
use super::model::{ParamId, StateId};
use super::prim::{MapOp, Prim};
use super::transform::Transform;
use super::ty::{DType, Type};
use super::written::Written;
use proc_macro2::Span;
use std::slice;

/// A node of a graph, and the tensor that it computes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Value(pub u32);

/// A node: what it computes, from what, and what the user calls it.
#[derive(Clone, Debug)]
pub struct Node {
    /// What it computes.
    pub kind: Kind,
    /// From which earlier nodes.
    pub args: Vec<Value>,
    /// Its type; known from shape on.
    pub ty: Option<Type>,
    /// The user's name for it (`x` of `let x = …`).
    pub name: Option<String>,
    /// The user's expression.
    pub span: Span,
}

/// What a node computes.
#[derive(Clone, Debug)]
pub enum Kind {
    /// The k-th input of the graph: an argument of the function, or of a region's body.
    Input(usize),
    /// A parameter of the model (outside of regions; a body receives its slice as an input).
    Param(ParamId),
    /// A state of the session, as it is before the call (outside of regions, like a parameter).
    State(StateId),
    /// A value that the runtime supplies to a training plan.
    Source(Source),
    /// A call of an op, until expand.
    Op(Call),
    /// The k-th result of the only argument, which is an op or region with several.
    Result(usize),
    /// A primitive.
    Prim(Prim),
    /// The index of the current slice (u32) in the repeat or map that many levels out: 0 is the innermost.
    Counter(usize),
    /// A body run several times.
    Repeat(Box<Repeat>),
    /// One of several bodies run.
    Branch(Box<Branch>),
    /// A function mapped or differentiated, until grad.
    Transform(Box<Transform>),
    /// A function of the arguments that the program supplies at run time.
    Foreign(Box<Foreign>),
    /// The argument itself; its derivative is zero.
    StopGradient,
    /// What the user wrote, between parse and shape only.
    Written(Box<Written>),
}

impl Kind {
    /// The graphs inside of it: those of a region or transform, and until grad the gradient of a foreign function.
    pub fn bodies(&self) -> &[Graph] {
        match self {
            Kind::Repeat(repeat) => slice::from_ref(&repeat.body),
            Kind::Branch(branch) => &branch.cases,
            Kind::Transform(transform) => slice::from_ref(&transform.body),
            Kind::Foreign(foreign) => foreign.body().map_or(&[], slice::from_ref),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::StopGradient
            | Kind::Written(_) => &[],
        }
    }

    /// The same, to change them.
    pub fn bodies_mut(&mut self) -> &mut [Graph] {
        match self {
            Kind::Repeat(repeat) => slice::from_mut(&mut repeat.body),
            Kind::Branch(branch) => &mut branch.cases,
            Kind::Transform(transform) => slice::from_mut(&mut transform.body),
            Kind::Foreign(foreign) => foreign.body_mut().map_or(&mut [], slice::from_mut),
            Kind::Input(_)
            | Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Result(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::StopGradient
            | Kind::Written(_) => &mut [],
        }
    }
}

/// What the runtime supplies to a training plan besides the arguments.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Source {
    /// A word (0 or 1) of the random key of this step: u32.
    Key(usize),
    /// The trained part of the parameter pool as chunks of 64: f32[CHUNKS, 64].
    Weights,
    /// The gradients in the layout of that part: f32[CHUNKS, 64].
    Gradients,
    /// The k-th optimiser state in that layout: f32[CHUNKS, 64].
    State(usize),
    /// The parameter group of each chunk: `u32[CHUNKS]`.
    Group,
    /// The k-th number of the optimiser for each of the `GROUPS` parameter groups: f32[GROUPS].
    Number(usize),
    /// The largest gradient norm; infinite where clipping is off: f32.
    ClipNorm,
    /// 1 where an update with non-finite numbers is to be skipped: u32.
    SkipNonfinite,
}

/// The most parameter groups of a trainer.
pub const GROUPS: usize = 8;

/// The words in a chunk of the parameter pool; every parameter starts at a chunk.
pub const CHUNK: usize = 64;

/// A call of an op.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which op.
    pub op: Name,
    /// Its attributes, evaluated.
    pub attrs: Attrs,
    /// How the user calls it: `relu`, or `self.hidden` for a layer.
    pub callee: String,
    /// Whether the call runs inside a training function.
    pub training: bool,
    /// The type of floats that no argument decides.
    pub float: DType,
}

/// A region whose body runs `count` times. Where that is never, the carried values stay what they were and the
/// stacked outputs are empty.
///
/// The node's arguments are the initial values of the carried values, then the stacked inputs
/// (`[count, …]`, of which iteration `i` sees slice `i`), then the invariants. The body's inputs are those
/// in the same order. The body's outputs are the next carried values, then the slices of the stacked
/// outputs; the node's results are the last carried values and the stacked outputs.
/// From expand on, the node has no type and `Result` nodes take its results, even where there is only one.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// How many times: not negative, and the same for every slice of a stack.
    pub count: Dim,
    /// Whether the last slice comes first.
    pub reverse: bool,
    /// How many carried values.
    pub carried: usize,
    /// How many stacked inputs.
    pub stacked: usize,
    /// What its backward region finds of the forward one, and what it computes again.
    pub memory: Memory,
    /// One iteration.
    pub body: Graph,
}

impl Repeat {
    /// The same repetition of another body.
    pub fn with_body(&self, body: Graph) -> Repeat {
        let Repeat { count, reverse, carried, stacked, memory, body: _ } = self;
        let (reverse, carried, stacked, memory) = (*reverse, *carried, *stacked, *memory);
        Repeat { count: count.clone(), reverse, carried, stacked, memory, body }
    }

    /// The type of the k-th result. The body has types.
    pub fn result(&self, k: usize) -> Type {
        let slice = self.body.ty(self.body.outputs[k]);
        if k < self.carried {
            return slice.clone();
        }
        let mut shape = vec![self.count.clone()];
        shape.extend(slice.shape.iter().cloned());
        Type::new(slice.dtype, shape)
    }
}

/// What a backward region computes again of the forward one instead of reading what that kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// Nothing that takes arithmetic.
    Speed,
    /// What costs about as much to compute as to read.
    #[default]
    Balanced,
    /// Everything but the carried values.
    Minimize,
}

impl Memory {
    /// All of them.
    pub const ALL: [Memory; 3] = [Memory::Speed, Memory::Balanced, Memory::Minimize];

    /// As the user writes it.
    pub fn name(self) -> &'static str {
        match self {
            Memory::Speed => "speed",
            Memory::Balanced => "balanced",
            Memory::Minimize => "minimize",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Memory> {
        Memory::ALL.into_iter().find(|memory| memory.name() == name)
    }
}

/// A region of which one case runs.
///
/// The node's first argument is the selector, a u32 or bool scalar: the number of the case that runs (false is 0);
/// the last case stands for all larger numbers too. The other arguments are the inputs of every case. All cases have
/// outputs of the same types, the node's results.
/// From expand on, the node has no type and `Result` nodes take its results, even where there is only one.
#[derive(Clone, Debug)]
pub struct Branch {
    /// At least one.
    pub cases: Vec<Graph>,
}

impl Branch {
    /// The number of results.
    pub fn results(&self) -> usize {
        self.cases.first().map_or(0, |case| case.outputs.len())
    }

    /// The type of the k-th result. The cases have types.
    pub fn result(&self, k: usize) -> Type {
        let case = &self.cases[0];
        case.ty(case.outputs[k]).clone()
    }
}

/// A call of a function that the program supplies at run time.
///
/// Calls are neither shared nor repeated: what is written once is called once, or never where nothing needs it. From
/// expand on, the node has no type and `Result` nodes take its results, even where there is only one.
#[derive(Clone, Debug)]
pub struct Foreign {
    /// Which of the model's foreign functions.
    pub function: usize,
    /// The types of its results.
    pub results: Vec<Type>,
    /// Its derivative, where it has one; then it has one result.
    pub gradient: Option<ForeignGradient>,
}

impl Foreign {
    /// The gradient, where it is a function of the language.
    pub fn body(&self) -> Option<&Graph> {
        match &self.gradient.as_ref()?.by {
            GradientBy::Body(body) => Some(body),
            GradientBy::Foreign(_) => None,
        }
    }

    /// The same, to change it.
    pub fn body_mut(&mut self) -> Option<&mut Graph> {
        match &mut self.gradient.as_mut()?.by {
            GradientBy::Body(body) => Some(body),
            GradientBy::Foreign(_) => None,
        }
    }
}

/// What gives the cotangents of the float arguments of a foreign function, in their order.
#[derive(Clone, Debug)]
pub struct ForeignGradient {
    /// Which function.
    pub by: GradientBy,
    /// Its arguments.
    pub takes: Vec<Taken>,
}

/// A function that is the gradient of another.
#[derive(Clone, Debug)]
pub enum GradientBy {
    /// One of the model's foreign functions.
    Foreign(usize),
    /// A function of the language: its graph, until grad.
    Body(Graph),
}

/// What a gradient is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// An argument of the call.
    Argument(usize),
    /// What the call gave.
    Result,
    /// The cotangent of that.
    Cotangent,
}

/// A list of nodes with results.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// In an order in which arguments come first.
    pub nodes: Vec<Node>,
    /// The results.
    pub outputs: Vec<Value>,
}

impl Graph {
    /// Appends a node.
    pub fn push(&mut self, kind: Kind, args: Vec<Value>, ty: Option<Type>, span: Span) -> Value {
        self.nodes.push(Node { kind, args, ty, name: None, span });
        Value(self.nodes.len() as u32 - 1)
    }

    /// Appends a node without a type of its own, and a `Result` node for each of its results.
    pub(super) fn push_many(&mut self, kind: Kind, args: Vec<Value>, results: Vec<Type>, span: Span) -> Vec<Value> {
        let node = self.push(kind, args, None, span);
        let take = |(k, ty)| self.push(Kind::Result(k), vec![node], Some(ty), span);
        results.into_iter().enumerate().map(take).collect()
    }

    /// Appends a region and a `Result` node for each of its results. The body has types.
    pub fn repeat(&mut self, repeat: Repeat, args: Vec<Value>, span: Span) -> Vec<Value> {
        let results: Vec<Type> = (0..repeat.body.outputs.len()).map(|k| repeat.result(k)).collect();
        self.push_many(Kind::Repeat(Box::new(repeat)), args, results, span)
    }

    /// Appends a branch and a `Result` node for each of its results. The cases have types.
    pub fn branch(&mut self, branch: Branch, args: Vec<Value>, span: Span) -> Vec<Value> {
        let results: Vec<Type> = (0..branch.results()).map(|k| branch.result(k)).collect();
        self.push_many(Kind::Branch(Box::new(branch)), args, results, span)
    }

    /// Appends a foreign call and a `Result` node for each of its results.
    pub fn foreign(&mut self, foreign: Foreign, args: Vec<Value>, span: Span) -> Vec<Value> {
        let results = foreign.results.clone();
        self.push_many(Kind::Foreign(Box::new(foreign)), args, results, span)
    }

    /// The node of a value.
    pub fn node(&self, value: Value) -> &Node {
        &self.nodes[value.0 as usize]
    }

    /// The node of a value, to change it.
    pub fn node_mut(&mut self, value: Value) -> &mut Node {
        &mut self.nodes[value.0 as usize]
    }

    /// The type of a value. After shape every value has one.
    pub fn ty(&self, value: Value) -> &Type {
        match &self.node(value).ty {
            Some(ty) => ty,
            None => unreachable!("a value without a type is used only before shape"),
        }
    }

    /// Whether the type of any value is such, in bodies too.
    pub fn uses(&self, such: fn(DType) -> bool) -> bool {
        self.nodes.iter().any(|node| {
            node.ty.as_ref().is_some_and(|ty| such(ty.dtype)) || node.kind.bodies().iter().any(|body| body.uses(such))
        })
    }

    /// Every value, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Value> + use<> {
        (0..self.nodes.len() as u32).map(Value)
    }

    /// What an elementwise operation is applied to, if a value is one of that kind.
    pub fn operands(&self, value: Value, op: MapOp) -> Option<&[Value]> {
        let node = self.node(value);
        matches!(&node.kind, Kind::Prim(Prim::Map(own)) if *own == op).then_some(&node.args)
    }

    /// The graph with other nodes where `replace` makes them: in the new graph, for a value, given what those before it are
    /// there.
    pub fn rebuilt(&self, mut replace: impl FnMut(&mut Graph, Value, &[Value]) -> Option<Value>) -> Graph {
        let mut made = Graph::default();
        let mut new: Vec<Value> = vec![];
        for value in self.values() {
            let replaced = replace(&mut made, value, &new).unwrap_or_else(|| {
                let mut node = self.node(value).clone();
                node.args.iter_mut().for_each(|arg| *arg = new[arg.0 as usize]);
                made.nodes.push(node);
                Value(made.nodes.len() as u32 - 1)
            });
            new.push(replaced);
        }
        made.outputs = self.outputs.iter().map(|output| new[output.0 as usize]).collect();
        made
    }

    /// The nodes of the inputs, by position; inputs that nothing mentions are absent.
    pub fn inputs(&self) -> impl Iterator<Item = (usize, Value)> + '_ {
        self.values().filter_map(|v| match self.node(v).kind {
            Kind::Input(k) => Some((k, v)),
            _ => None,
        })
    }
}
