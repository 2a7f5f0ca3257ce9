//! Functions to graphs: syntax trees and an instance of a struct in, nodes of written ops out.
//!
//! Calls of the user's functions are inlined; a loop over repeated blocks becomes a region. A value that a
//! reported mistake leaves unknown silences everything that uses it.

mod arguments;
mod branch;
mod call;
mod callable;
mod companions;
mod dims;
mod elsewhere;
mod expr;
mod fit;
mod foreign;
mod frozen;
mod function;
mod gradient;
mod graph;
mod imported;
mod index;
mod inner;
mod list;
mod loops;
mod operator;
mod remat;
mod resolve;
mod scan;
mod state;
mod stmt;
mod transform;

use super::ast::Fn;
use super::declared::Declared;
use super::instance::{FieldInstance, Instance};
use super::names::Names;
use crate::diag::{Diags, Place};
use crate::ir::attr::Attr;
use crate::ir::model::{Param, State};
use crate::ir::{DType, Dim, Graph, Value};
use proc_macro2::{Ident, Span};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub(super) use dims::{dims_of, named_dims};
pub(super) use fit::{axes, dtype};
pub(super) use function::{Kept, Trained, entry, names};

/// A node of one of the open graphs.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Tensor {
    /// Which graph: 0 is the function's, deeper ones are bodies of loops.
    frame: usize,
    value: Value,
}

/// What an expression gives.
#[derive(Clone, Debug)]
enum Val {
    Tensor(Tensor),
    /// Known at build time.
    Static(Attr),
    Tuple(Vec<Val>),
    /// A record, whose fields stand where they were given.
    Struct(String, Vec<(Ident, Val)>),
    Module(Module),
    Function(Rc<callable::Function>),
    /// Reported; nothing more is said about it.
    Unknown,
}

/// A field, or the struct itself.
#[derive(Clone, Debug)]
struct Module {
    held: FieldInstance,
    /// Which of the repeated ones, outermost first.
    picks: Vec<Pick>,
    /// How the user names it.
    text: String,
}

/// One of several repeated blocks.
#[derive(Clone, PartialEq, Debug)]
enum Pick {
    /// The one of this iteration of the loop whose body is that frame.
    Frame(usize),
    /// That one.
    Index(i64),
}

/// A variable.
#[derive(Clone, Debug)]
struct Local {
    value: Val,
    mutable: bool,
    span: Span,
}

/// One call of a function of the user.
struct Scope<'p> {
    /// Zero for the public function itself; names of dimensions of others carry it.
    number: usize,
    function: &'p Fn,
    this: Option<Module>,
    /// Constants, parameters of the struct and dimensions.
    names: Names,
    /// Innermost last.
    locals: Vec<BTreeMap<String, Local>>,
    /// How many of them a closure has copies of.
    captured: usize,
}

/// A graph under construction.
#[derive(Default)]
struct Frame {
    graph: Graph,
    /// Values of the next outer frame that every iteration sees, and the inputs that give them.
    invariants: Vec<(Value, Value)>,
    /// Values of the next outer frame of which an iteration sees a slice, and the inputs that give it.
    stacked: Vec<(Value, Value)>,
    /// The states that the graph has seen.
    held: Vec<state::Held>,
}

/// An evaluated argument.
struct Argument {
    name: Option<Ident>,
    value: Val,
    text: String,
    /// Where its value was given: for a name that is known at build time at its declaration.
    place: Place,
    /// Where it stands in the call.
    written: Place,
}

/// Builds the graph of one public function.
struct Elaborator<'e, 'p> {
    declared: &'e Declared<'p>,
    params: &'e [Param],
    states: &'e [State],
    diags: &'e mut Diags,
    training: bool,
    /// The type of the parameters.
    float: DType,
    frames: Vec<Frame>,
    /// Calls in progress, outermost first.
    scopes: Vec<Scope<'p>>,
    calls: usize,
    /// How many expressions were evaluated.
    expressions: usize,
    /// How deep the one that is being evaluated is nested.
    depth: usize,
    /// Integers that arguments give, and tensors that hold them: they can stand in positions.
    scalars: Vec<(Tensor, Dim)>,
    /// The arguments of which one stands in a position.
    positions: BTreeSet<String>,
    /// Dimensions that only the session gives.
    given: BTreeSet<String>,
    /// Whether the function needs one of them.
    touched: bool,
    /// Whether this is the gradient of a foreign function, of which nothing takes another derivative.
    in_gradient: bool,
}

/// The struct that a module is an instance of.
fn block_of(module: &Module) -> Option<&Rc<Instance>> {
    match &module.held {
        FieldInstance::Block(instance) => Some(instance),
        FieldInstance::Layer(_)
        | FieldInstance::Imported(_)
        | FieldInstance::Param(_)
        | FieldInstance::State(_)
        | FieldInstance::Repeat(..)
        | FieldInstance::List(_)
        | FieldInstance::Unknown => None,
    }
}
