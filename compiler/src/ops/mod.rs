//! Ops, layers and optimisers: open sets, one file each, and the list of them.
//!
//! A file gives a signature, attributes, a body in primitives and examples. Shape errors, gradients, both
//! back ends, documentation and tests are derived from it.

mod attrs;
mod axes;
mod build;
mod builder;
mod conv;
mod conv_transpose;
mod derive;
mod divisor;
mod draw;
mod example;
mod initial;
mod labels;
mod loss;
mod pool;
mod recurrent;
mod signature;
mod sliding;

use crate::diag::Code;
use crate::ir::attr::{Attr, Attrs};
pub(crate) use attend::specification as attention;
pub(crate) use attrs::{ABSENT, NONE};
pub use attrs::{AttrDecl, AttrError, AttrKind, resolve};
pub use build::build;
pub use builder::Builder;
pub use derive::{Input, Program, programs};
pub use divisor::nearest_divisor;
pub use example::read_dim;
pub use initial::{INITIALIZERS, Initializer, initial_value, initializer};
pub use signature::{Bindings, Class, Signature, Slot, Times, check};
#[cfg(feature = "onnx")]
pub(crate) use {gather::among_all, recurrent::hold};

use crate::ir::graph::Call;
use crate::ir::model::Init;
use crate::ir::written::LayerSite;
use crate::ir::{Dim, Type, Value};

/// Declares the modules of ops and the list of what they define. A new op is a new file and a line here.
macro_rules! list {
    ($($module:ident)*) => {
        $(mod $module;)*

        /// What each file of this folder defines.
        pub static ITEMS: &[&[Item]] = &[$($module::ITEMS),*];
    };
}

list! {
    maths
    arithmetic
    compare
    logic
    r#where
    clamp
    cast
    reduce
    mean
    argmax
    cumulate
    sort
    logsumexp
    var
    norm
    any
    finite
    attend
    heads
    rotary
    reshape
    flatten
    squeeze
    transpose
    broadcast_to
    concat
    split
    slice
    pad
    flip
    unbind
    tile
    mask
    diagonal
    take
    gather
    segment
    one_hot
    full
    range
    matmul
    einsum
    outer
    relu
    leaky_relu
    prelu
    elu
    hard
    shrink
    gelu
    silu
    mish
    glu
    softplus
    squareplus
    log_sigmoid
    softsign
    softmax
    softmin
    log_softmax
    parameter
    linear
    transposed_linear
    embedding
    layer_norm
    rms_norm
    dropout
    drop_path
    random
    categorical
    rnn
    lstm
    gru
    group_norm
    batch_norm
    instance_norm
    conv1d
    conv2d
    conv_transpose1d
    conv_transpose2d
    max_pool1d
    max_pool2d
    avg_pool1d
    avg_pool2d
    global_pool
    adaptive_pool
    upsample
    pixel_shuffle
    cross_entropy
    nll_loss
    mse_loss
    huber_loss
    distance_loss
    binary_cross_entropy_with_logits
    likelihood_loss
    margin_loss
    multi_margin_loss
    ctc_loss
    sgd
    adam
    rms_prop
}

/// Something that a model can name.
#[derive(Clone, Copy, Debug)]
pub enum Item {
    /// A function.
    Op(&'static Op),
    /// A field's type.
    Layer(&'static Layer),
    /// What `#[train(…)]` names.
    Optimizer(&'static Optimizer),
}

/// `(builder, arguments, attributes)` give the results.
pub type Body = fn(&mut Builder<'_>, &[Value], &Attrs) -> Result<Vec<Value>, OpError>;

/// `(builder, parameter, gradient, states, numbers)` give the new parameter and the new states.
pub type Update = fn(&mut Builder<'_>, Value, Value, &[Value], &[Value]) -> Result<(Value, Vec<Value>), OpError>;

/// A function over tensors, defined by its body in primitives.
#[derive(Debug)]
pub struct Op {
    /// The name in the model language, PyTorch's or JAX's: `log_softmax`.
    pub name: &'static str,
    /// Argument names and type patterns: `(x: float[.., K], weight: float[N, K], bias: float[N]?) -> float[.., N]`.
    /// Element classes: float, int, signed, number, any, or a type by name; arguments of one class have one type, but each of
    /// class each its own. A result of class wide is of the type of the numbers, integers with at least 32 bits.
    /// `..` is any number of axes, the same wherever it stands; `[...]` is any shape; capital names are
    /// extents, equal wherever they stand (messages use names of several letters as words: `Features`); `_` is
    /// any extent. `?` marks an argument that may be absent, `!` one that is given by its name or absent, `*` a
    /// last one that may stand several times. Results of `*` are whatever the body gives, of `float*` with floats of the type of its floats; `-> (A, B)` lists several.
    pub signature: &'static str,
    /// In the order in which they may be given positionally after the arguments.
    pub attrs: &'static [AttrDecl],
    /// What it computes: the first paragraph of its documentation, with the formula and its source.
    pub doc: &'static str,
    /// PyTorch's function, method or module of the same meaning.
    pub torch: Option<&'static str>,
    /// The ONNX operator of the same meaning.
    pub onnx: Option<&'static str>,
    /// The definition. Arguments fit the signature; absent optional arguments at the end are left out.
    pub body: Body,
    /// From these the tests are derived.
    pub examples: &'static [Example],
}

/// A field that declares parameters and is called like a function.
#[derive(Debug)]
pub struct Layer {
    /// The name in the model language: `Conv2d`.
    pub name: &'static str,
    /// PyTorch's name, with its module.
    pub torch: &'static str,
    /// Constructor arguments, positional order first.
    pub attrs: &'static [AttrDecl],
    /// The parameters, in the order of PyTorch's `state_dict`.
    pub params: fn(&Attrs) -> Result<Vec<LayerParam>, OpError>,
    /// What a call computes: the arguments of the call, then the parameters.
    pub op: &'static Op,
    /// The op's attributes, from the constructor's.
    pub op_attrs: fn(&Attrs) -> Attrs,
    /// The first paragraph of its documentation.
    pub doc: &'static str,
    /// How it is declared and called.
    pub example: LayerExample,
}

/// A field and a call of it, which the reference shows.
#[derive(Clone, Copy, Debug)]
pub struct LayerExample {
    /// What the field `layer` is: `"Linear(784, 10)"`.
    pub declared: &'static str,
    /// Names and types of arguments: `("x", "f32[B, 784]")`.
    pub inputs: &'static [(&'static str, &'static str)],
    /// The expression over them: `"self.layer(x)"`.
    pub call: &'static str,
    /// The result's type: `"f32[B, 10]"`.
    pub result: &'static str,
}

impl LayerExample {
    /// The text of a model that has the layer and calls it.
    pub fn program(&self) -> String {
        let LayerExample { declared, inputs, call, result } = self;
        let args: Vec<String> = inputs.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        let args = args.join(", ");
        format!(
            "pub struct Net {{ layer: {declared} }} impl Net {{ pub fn out(&self, {args}) -> {result} {{ {call} }} }}"
        )
    }
}

/// A parameter of a layer.
#[derive(Clone, Debug)]
pub struct LayerParam {
    /// PyTorch's name: `weight`; the empty name is the field's own.
    pub name: &'static str,
    /// Its extents; constants once the layer is instantiated.
    pub shape: Vec<Dim>,
    /// How it starts.
    pub init: Init,
    /// Whether the optimiser updates it. Others are companions: where the layer is
    /// called in training, its op's attribute `training` is true, and the op's results after the first are their new
    /// values, in their order.
    pub trained: bool,
}

/// An update rule.
#[derive(Debug)]
pub struct Optimizer {
    /// The name in the model language: `AdamW`.
    pub name: &'static str,
    /// Its name in `torch.optim`.
    pub torch: &'static str,
    /// The names of its states; each starts at zero.
    pub states: &'static [&'static str],
    /// The numbers of one step for one parameter group, in the order of the runtime's row.
    pub numbers: &'static [&'static str],
    /// The fields of the runtime's struct and what they are by default.
    pub fields: &'static [(&'static str, &'static str)],
    /// The definition on chunks of the pool. Numbers are broadcast to the parameter's shape.
    pub update: Update,
    /// The formula and its source.
    pub doc: &'static str,
}

/// A program from which tests of an op are derived: value against the oracle, gradient against finite
/// differences, both back ends, at the given shapes.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// Name, type and the numbers it is tested on: `("x", "f32[5, 7]", Domain::Normal)`.
    pub inputs: &'static [(&'static str, &'static str, Domain)],
    /// The expression over the inputs: `"relu(x)"`.
    pub call: &'static str,
    /// The result's type: `"f32[5, 7]"`.
    pub result: &'static str,
}

/// Which random numbers an input is tested on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Domain {
    /// About standard normal; the numbers of one tensor are well apart, and away from zero by at least 0.01.
    Normal,
    /// Between 0.2 and 3.
    Positive,
    /// Between 0.05 and 0.95.
    Unit,
    /// Integers from 0 below this number; truth values for bool.
    Below(u32),
}

/// Why an op cannot be applied; shape turns it into a diagnostic.
///
/// In the texts `{callee}` stands for how the user calls the op and `{0}`, `{1}` … for the user's arguments;
/// [`OpError::render`] puts them in.
#[derive(Clone, PartialEq, Debug)]
pub struct OpError {
    /// The kind of mistake.
    pub code: Code,
    /// The guilty argument; the whole call where none is.
    pub arg: Option<usize>,
    /// The guilty attribute.
    pub attr: Option<&'static str>,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
    /// The type that the guilty argument should have, where there is one such.
    pub wanted: Option<Type>,
}

impl OpError {
    /// A mistake of the whole call.
    pub fn new(code: Code, message: impl Into<String>) -> OpError {
        OpError { code, arg: None, attr: None, message: message.into(), help: None, wanted: None }
    }

    /// The same at an argument.
    pub fn arg(self, arg: usize) -> OpError {
        OpError { arg: Some(arg), ..self }
    }

    /// The same at an attribute.
    pub fn attr(self, attr: &'static str) -> OpError {
        OpError { attr: Some(attr), ..self }
    }

    /// The same with something to paste.
    pub fn help(self, help: impl Into<String>) -> OpError {
        OpError { help: Some(help.into()), ..self }
    }

    /// The same with the type that the guilty argument should have.
    pub fn wanted(self, ty: Type) -> OpError {
        OpError { wanted: Some(ty), ..self }
    }

    /// The message and the help in the user's words: how the op is called and the source text of each argument.
    /// Inside of backticks an argument's text stands as it is, so that it can be pasted; outside it gets its own.
    pub fn render(&self, callee: &str, args: &[String]) -> (String, Option<String>) {
        (fill(&self.message, callee, args), self.help.as_ref().map(|help| fill(help, callee, args)))
    }
}

/// Puts the user's words in the places of a text.
fn fill(text: &str, callee: &str, args: &[String]) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, name, after)) =
        rest.split_once('{').and_then(|(before, tail)| tail.split_once('}').map(|(name, after)| (before, name, after)))
    {
        out.push_str(before);
        let quoted = out.matches('`').count() % 2 == 1;
        match name.parse::<usize>().ok().map(|k| (k, args.get(k))) {
            None => out.push_str(callee),
            Some((_, Some(arg))) if quoted && after.starts_with('.') && !is_tight(arg) => {
                out.push_str(&format!("({arg})"));
            }
            Some((_, Some(arg))) if quoted => out.push_str(arg),
            Some((_, Some(arg))) if arg.chars().count() <= 40 => out.push_str(&format!("`{arg}`")),
            Some((k, _)) => out.push_str(&format!("argument {}", k + 1)),
        }
        rest = after;
    }
    out + rest
}

/// Whether a method call after this expression applies to all of it.
fn is_tight(source: &str) -> bool {
    let mut depth = 0;
    !source.starts_with(['-', '!'])
        && source.chars().all(|c| {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                _ => {}
            }
            depth > 0 || c != ' '
        })
}

/// Every item, in the order of the list.
pub fn items() -> impl Iterator<Item = Item> {
    ITEMS.iter().flat_map(|items| items.iter().copied())
}

/// Whether an op has an attribute of that name that may be `None`.
pub(crate) fn takes_none(name: &str) -> bool {
    let takes = |op: &Op| op.attrs.iter().any(|decl| decl.name == name && decl.kind == AttrKind::FloatOrNone);
    items().any(|item| matches!(item, Item::Op(op) if takes(op)))
}

/// The op of that name.
pub fn op(name: &str) -> Option<&'static Op> {
    items().find_map(|item| match item {
        Item::Op(op) if op.name == name => Some(op),
        _ => None,
    })
}

/// The op of a call.
pub fn op_of(call: &Call) -> &'static Op {
    op(&call.op).unwrap_or_else(|| unreachable!("a call of `{}`, which is no op", call.op))
}

/// The layer of a declaration.
pub fn layer_of(site: &LayerSite) -> &'static Layer {
    layer(&site.layer).unwrap_or_else(|| unreachable!("a field of type `{}`, which is no layer", site.layer))
}

/// The optimiser of a training function.
pub fn optimizer_of(name: &str) -> &'static Optimizer {
    optimizer(name).unwrap_or_else(|| unreachable!("training by `{name}`, which is no optimiser"))
}

/// The layer of that name.
pub fn layer(name: &str) -> Option<&'static Layer> {
    items().find_map(|item| match item {
        Item::Layer(layer) if layer.name == name => Some(layer),
        _ => None,
    })
}

/// The optimiser of that name.
pub fn optimizer(name: &str) -> Option<&'static Optimizer> {
    items().find_map(|item| match item {
        Item::Optimizer(optimizer) if optimizer.name == name => Some(optimizer),
        _ => None,
    })
}
