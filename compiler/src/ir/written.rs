//! What the user wrote, between parse and shape: calls, literals and patterns with their texts and places.
//!
//! Parse makes these nodes; shape checks them, reports mistakes in the user's words and replaces them. No
//! later stage sees one.
//!
//! Inlined functions have dimensions of their own, whose names hold a `#` and the number of the inlined
//! call (`D#3`). A `Fit` binds them to what the arguments have; shape substitutes them everywhere.

use super::Dim;
use super::attr::{Attr, Attrs, Name};
use super::ellipses::Ellipses;
use super::graph::{Call, Foreign, Graph};
use super::transform::Transform;
use super::ty::DType;
use crate::diag::Place;

/// A node as the user wrote it.
#[derive(Clone, Debug)]
pub struct Written {
    /// What it means.
    pub what: What,
    /// Where and in which words it stands.
    pub site: Site,
    /// What the macro's own text does with the travelled block whose text has the node.
    pub via: Option<Place>,
}

/// What a written node means.
#[derive(Clone, Debug)]
pub enum What {
    /// A call of an op or a layer, or an operator.
    Call(Call),
    /// A number or dimension, whose element type the other arguments of its use decide.
    Literal(Attr),
    /// `x[…]`: one item for each written; the index tensors follow the indexed value in the arguments.
    Index(Vec<Item>),
    /// `x[…] = value`: the first argument with that part replaced by the second. No item gathers.
    SetIndex(Vec<Item>),
    /// `x[…]` with more than one `..`, which is a mistake; index tensors are left out of the arguments.
    Ellipses(Ellipses),
    /// The k-th of the results of the argument, which has `of` results where a pattern says so.
    Part {
        /// Which result.
        k: usize,
        /// How many the pattern expects.
        of: Option<usize>,
    },
    /// A value of which a reported mistake leaves nothing known.
    Unknown,
    /// The argument itself, which must fit a pattern.
    Fit(Fit),
    /// A call of a function that is mapped or differentiated.
    Transform(Box<Made>),
    /// The argument with that axis first, along which a region steps.
    Unstack {
        /// The axis; negative ones count from the end.
        axis: i64,
        /// The name with `#` that the extent of the axis binds: how often the region runs.
        count: Dim,
    },
    /// The first argument, a stacked result of a region, with its first axis where the second argument, which is
    /// an `Unstack`, had it; last, where it has fewer axes.
    Restack {
        /// The axis of the `Unstack`.
        axis: i64,
    },
    /// Zeros of the type that the body of the region which carries them asks for.
    Zeros,
    /// The argument itself, which must be one truth value.
    Condition,
    /// The number of the arm that takes the argument: by arm the integers or truth values that it takes, and where
    /// they stand; what no arm takes goes to the one after the last.
    Choice(Vec<Vec<(Attr, Place)>>),
    /// The argument itself, which a branch gives, or a step as its next state.
    Outcome,
    /// A call of a foreign function with arguments that fit; the types of its results may hold names of inner
    /// dimensions.
    Foreign(Foreign),
    /// A call of a model that was imported: its computation, which is typed and whose inputs are the arguments, which fit, and
    /// then the parameters. Names in it are those of an inlined call.
    Imported(Box<Graph>),
}

/// A call of a function that `map`, `grad` or their kin made.
#[derive(Clone, Debug)]
pub struct Made {
    /// The transform, whose body has no types.
    pub transform: Transform,
    /// How many of the node's arguments are the call's; then follow captured values, then directions. The
    /// site has texts for those of the call and the directions.
    pub arguments: usize,
    /// `grad`
    pub maker: &'static str,
    /// How the user writes the function.
    pub function: String,
    /// Where the function stands.
    pub place: Place,
}

/// One item between the brackets of `x[…]`.
#[derive(Clone, Debug)]
pub enum Item {
    /// Whole axes: all that the other items leave. It stands once at most.
    Rest,
    /// One whole axis.
    Whole,
    /// One element; the axis is dropped. Negative constants count from the end.
    At(Dim),
    /// A part of the axis. Negative constants count from the end.
    Range {
        /// The first element.
        start: Option<Dim>,
        /// The one after the last.
        end: Option<Dim>,
        /// From one element to the next. Below 0 it is a mistake.
        step: i64,
    },
    /// A part of the axis with a step as NumPy writes it, which is a mistake; the step is known or not.
    Step {
        /// The first element.
        start: Option<Dim>,
        /// The one after the last.
        end: Option<Dim>,
        /// From one element to the next.
        step: Option<i64>,
    },
    /// The next argument gives the indices (u32).
    Gather,
}

/// A pattern that a value must fit.
#[derive(Clone, Debug)]
pub struct Fit {
    /// The element type.
    pub dtype: DType,
    /// The extents, with `None` for `..`.
    pub axes: Vec<Option<Axis>>,
    /// The number of the inlined call, whose `..` is one and the same list of axes wherever it stands.
    pub scope: usize,
    /// Why the value must fit.
    pub role: Role,
    /// The pattern as the user wrote it.
    pub text: String,
    /// Where the pattern stands.
    pub place: Place,
}

/// One extent of a pattern.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The extent; names with `#` are bound by fitting.
    pub dim: Dim,
    /// The largest allowed, where the pattern bounds it.
    pub bound: Option<i64>,
    /// The extent as the user wrote it.
    pub text: String,
}

/// Why a value must fit a pattern.
#[derive(Clone, PartialEq, Debug)]
pub enum Role {
    /// It is the argument of that name of an inlined function.
    Argument {
        /// How the user calls the function.
        callee: String,
        /// The parameter's name.
        name: String,
    },
    /// A `let` of that name declares it.
    Annotation(String),
    /// It is what the function of that name returns.
    Result(String),
    /// It is assigned to that state.
    State(String),
}

impl Role {
    /// Whether a value that must fit has the declared type for all that uses it, even where a mistake leaves the value
    /// itself unknown. `scope` is the number of the inlined call; the public function itself, 0, has no user.
    pub fn is_relied_on(&self, scope: usize) -> bool {
        match self {
            Role::Result(_) => scope > 0,
            Role::Annotation(_) => true,
            Role::Argument { .. } | Role::State(_) => false,
        }
    }
}

/// Where and in which words a node stands.
#[derive(Clone, Debug)]
pub struct Site {
    /// The whole expression, inner calls shortened: `relu(self.hidden(…))`.
    pub text: String,
    /// The whole expression.
    pub place: Place,
    /// The arguments' expressions; parameters of layers have none.
    pub args: Vec<(String, Place)>,
    /// Where the items between the brackets of an index stand.
    pub items: Vec<Place>,
    /// Where the written attributes stand.
    pub attrs: Vec<(&'static str, Place)>,
    /// The layer that is called.
    pub layer: Option<Box<LayerSite>>,
}

/// The declaration of a layer that is called.
#[derive(Clone, Debug)]
pub struct LayerSite {
    /// The layer's kind.
    pub layer: Name,
    /// The field's name; none for one of a list.
    pub field: Option<String>,
    /// The constructor's attributes, evaluated.
    pub attrs: Attrs,
    /// The constructor's arguments as written: the attribute, whether by name, and the text.
    pub written: Vec<(&'static str, bool, String)>,
    /// The whole constructor.
    pub place: Place,
    /// Where the values of its arguments were written.
    pub places: Vec<(&'static str, Place)>,
    /// Where the declaration stands: its line, and for a text from elsewhere its file.
    pub line: String,
}

impl LayerSite {
    /// The declaration with one attribute changed: `output: Linear(128, 10)`, of one of a list without the name.
    pub fn declaration(&self, attr: &'static str, value: &str) -> String {
        let mut changed = self.clone();
        match changed.written.iter_mut().find(|(name, ..)| *name == attr) {
            Some((.., text)) => *text = value.to_owned(),
            None => changed.written.push((attr, true, value.to_owned())),
        }
        changed.text()
    }

    /// The declaration as written.
    pub fn text(&self) -> String {
        let arg = |(name, named, text): &(&str, bool, String)| match named {
            true => format!("{name} = {text}"),
            false => text.clone(),
        };
        let args: Vec<String> = self.written.iter().map(arg).collect();
        let name = self.field.as_ref().map_or(String::new(), |field| format!("{field}: "));
        format!("{name}{}({})", self.layer, args.join(", "))
    }
}
