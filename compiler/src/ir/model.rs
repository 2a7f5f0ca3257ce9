//! A model: its parameters and its public functions, each with a graph.

use super::attr::Name;
use super::dim::Dim;
use super::graph::{Graph, Memory, Value};
use super::precision::{Precision, Storage};
use super::ty::{DType, Type};
use proc_macro2::{Ident, Span, TokenStream};

/// A parameter (stack) of a model.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ParamId(pub u32);

/// A state (stack) of a model's sessions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StateId(pub u32);

/// How a parameter starts, with its numbers (see the runtime's initialisers of the same names).
#[derive(Clone, PartialEq, Debug)]
pub enum Init {
    /// All zeros.
    Zeros,
    /// All ones.
    Ones,
    /// One value.
    Constant(f64),
    /// Normal with mean 0.
    Normal {
        /// The standard deviation.
        std: f64,
    },
    /// Uniform over (−bound, bound).
    Uniform {
        /// The bound.
        bound: f64,
    },
    /// Normal with mean 0, cut at two standard deviations.
    TruncNormal {
        /// The standard deviation before it is cut.
        std: f64,
    },
    /// Orthogonal rows or columns of the matrix whose rows are the first axis.
    Orthogonal {
        /// Their length.
        gain: f64,
    },
}

/// A public block as other macros read it.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name.
    pub name: Ident,
    /// Who may import it.
    pub vis: TokenStream,
    /// Its declaration with all that it needs.
    pub text: TokenStream,
}

/// A tensor that training changes: by the optimiser, or, where it is a companion of other parameters, by what a layer
/// computes from the batch.
#[derive(Clone, Debug)]
pub struct Param {
    /// PyTorch's name, by which files know it; `*` stands for the index of a repeated block: `blocks.*.up.weight`.
    pub name: String,
    /// The fields on the way to it and its own name in its layer.
    pub fields: Vec<String>,
    /// The type of one parameter, without stacking. All extents are constants.
    pub ty: Type,
    /// The counts of the repeated blocks around it, outermost first, one for each `*`.
    pub stack: Vec<i64>,
    /// What each turn of the innermost of these calls it, where that is a run of layers of a file: it stands for the last `*`.
    pub turns: Vec<Turn>,
    /// How it starts.
    pub init: Init,
    /// Whether the optimiser updates it; companions (running statistics) have no gradient.
    pub trained: bool,
    /// The parameter of its scales, where it is stored as integers: of its shape with one index on all axes but the first.
    pub scales: Option<ParamId>,
    /// The first element in the parameter pool, a multiple of `CHUNK`. Trained parameters come before all companions.
    pub offset: usize,
    /// The field that declares it.
    pub span: Span,
}

/// A parameter of a layer of a file of which there are several.
#[derive(Clone, Debug)]
pub struct Turn {
    /// What files know it by.
    pub name: String,
    /// The field that it has where it is no part of a stack.
    pub field: String,
}

impl Param {
    /// The type of the whole stack: the counts, then the shape.
    pub fn stacked(&self) -> Type {
        let counts = self.stack.iter().map(|&n| n.into());
        Type::new(self.ty.dtype, counts.chain(self.ty.shape.iter().cloned()).collect::<Vec<_>>())
    }

    /// What files know the one at these indices of the repeated blocks by.
    pub fn instance(&self, at: &[i64]) -> String {
        let mut indices = at.iter().enumerate();
        let mut index = || {
            let (depth, &index) = indices.next()?;
            let turn = self.turns.get(index as usize).filter(|_| depth + 1 == self.stack.len());
            Some(turn.map_or(index.to_string(), |turn| turn.name.clone()))
        };
        let part = |part: &str| match part.strip_suffix('*') {
            Some(part) => format!("{part}{}", index().unwrap_or_default()),
            None => part.to_owned(),
        };
        self.name.split_inclusive('*').map(part).collect()
    }

    /// The same for all of them, in the order of their places.
    pub fn instances(&self) -> Vec<String> {
        indices(&self.stack).iter().map(|at| self.instance(at)).collect()
    }

    /// The names with a `*` for each repeated block of the language, and the counts of these: one, or one for each turn of a run of
    /// layers of a file.
    pub fn named(&self) -> Vec<(String, &[i64])> {
        match (self.name.rsplit_once('*'), self.stack.split_last()) {
            (Some((before, behind)), Some((_, stack))) if !self.turns.is_empty() => {
                self.turns.iter().map(|turn| (format!("{before}{}{behind}", turn.name), stack)).collect()
            }
            _ => vec![(self.name.clone(), &self.stack)],
        }
    }

    /// The elements of the parameter pool that the stack takes, in which integers are several to an element.
    pub fn elements(&self) -> usize {
        let count = self.stacked().count();
        let elements = if self.scales.is_some() { CODE.words(&count) } else { count };
        elements.as_const().and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
    }
}

/// The indices of the parameters of a stack, in order.
pub fn indices(counts: &[i64]) -> Vec<Vec<i64>> {
    counts.iter().fold(vec![vec![]], |all, &count| {
        all.iter().flat_map(|at| (0..count).map(move |k| [at.as_slice(), &[k]].concat())).collect()
    })
}

/// Lets trained parameters of two axes or more be stored as integers, with parameters for their scales.
pub fn scale(params: &mut Vec<Param>) {
    for k in 0..params.len() {
        let Param { name, fields, ty, trained, .. } = &params[k];
        if !trained || ty.rank() < 2 {
            continue;
        }
        let scaled = |name: &str| format!("{name}_scale");
        let (name, mut fields, mut turns) = (scaled(name), fields.clone(), params[k].turns.clone());
        turns.iter_mut().for_each(|turn| turn.field = scaled(&turn.field));
        fields.iter_mut().last().into_iter().for_each(|own| *own = scaled(own));
        let shape = ty.shape.iter().enumerate().map(|(axis, extent)| if axis == 0 { extent.clone() } else { 1.into() });
        let ty = Type::new(ty.dtype, shape.collect::<Vec<_>>());
        let scales = Param { name, fields, ty, turns, init: Init::Ones, trained: false, ..params[k].clone() };
        params[k].scales = Some(ParamId(params.len() as u32));
        params.push(scales);
    }
}

/// Gives all parameters their places in the pool, and says where it ends: companions come after all that is trained, so that an
/// update of the optimiser walks over the beginning of the pool.
pub fn place(params: &mut [Param]) -> usize {
    let mut offset = 0;
    for trained in [true, false] {
        for param in params.iter_mut().filter(|param| param.trained == trained) {
            param.offset = offset;
            offset += param.elements().next_multiple_of(super::graph::CHUNK);
        }
    }
    offset
}

/// The type of the integers that parameters with scales are stored as.
const CODE: DType = DType::I8;

/// A tensor that a session keeps from call to call. It starts with zeros, and only functions with `&mut self` change it.
#[derive(Clone, Debug)]
pub struct State {
    /// As for parameters: `blocks.*.attention.keys`.
    pub name: String,
    /// The type of one state, without stacking. Names in its extents are dimensions of the session.
    pub ty: Type,
    /// The counts of the repeated blocks around it, outermost first, one for each `*`.
    pub stack: Vec<i64>,
    /// The field that declares it.
    pub span: Span,
}

impl State {
    /// The type of the whole stack: the counts, then the shape.
    pub fn stacked(&self) -> Type {
        let counts = self.stack.iter().map(|&n| n.into());
        Type::new(self.ty.dtype, counts.chain(self.ty.shape.iter().cloned()).collect::<Vec<_>>())
    }
}

/// What a function computes besides its results.
#[derive(Clone, Debug)]
pub enum Mode {
    /// Nothing.
    Evaluate,
    /// A step of training with that optimiser; the first result is the loss.
    Train(Name),
}

/// A value written to a pool that outlives the call. Effects take place after everything else.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Effect {
    /// The gradient of a parameter stack, at its place in the gradient pool.
    Gradient(ParamId),
    /// All trained parameters.
    Weights,
    /// The new value of a companion (stack), at its place in the parameter pool.
    Companion(ParamId),
    /// The k-th optimiser state.
    State(usize),
    /// A u32 scalar: 1 where the update was made, 0 where non-finite numbers prevented it.
    Updated,
    /// A state (stack) of the session.
    Stored(StateId),
}

/// An argument of a public function.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The user's name.
    pub name: Ident,
    /// Its type; named dimensions are the function's.
    pub ty: Type,
}

/// What gives a named dimension its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Binder {
    /// Extents of arguments; at least 1.
    Extents,
    /// The value of that argument, a u32 scalar, which stands in positions; may be 0.
    Argument(usize),
    /// The session, which was made with it; where arguments have it as an extent, they agree.
    Session,
}

/// A dimension that a call binds.
#[derive(Clone, Debug)]
pub struct NamedDim {
    /// The user's name.
    pub name: String,
    /// The largest value, where the signature bounds it (`T <= 512`).
    pub bound: Option<i64>,
    /// What gives it its value.
    pub binder: Binder,
}

/// What a public function returns.
#[derive(Clone, Debug)]
pub enum Results {
    /// One value.
    One,
    /// A tuple.
    Tuple,
    /// A struct of that name with those fields, emitted beside the model.
    Struct(Ident, Vec<Ident>),
}

/// What the user declared a public function by, for its documentation. Graphs that were not parsed have none.
#[derive(Clone, Default, Debug)]
pub struct Signature {
    /// `fn scores(&self, image: f32[B, PIXELS]) -> f32[B, 10]`
    pub text: String,
    /// The names in the extents in order of appearance, and the values of those that are known at build time.
    pub names: Vec<(String, Option<i64>)>,
}

/// A public function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The user's name.
    pub name: Ident,
    /// As the user wrote it.
    pub signature: Signature,
    /// Doc comments and other outer attributes, passed through.
    pub attrs: Vec<TokenStream>,
    /// What it is compiled for.
    pub mode: Mode,
    /// The arguments without `self`.
    pub args: Vec<Argument>,
    /// The dimensions that calls bind, in order of appearance.
    pub dims: Vec<NamedDim>,
    /// The form of the results; their values are the graph's outputs, in order.
    pub results: Results,
    /// Trained parameters that training by this function leaves alone, ascending: those that `only` leaves out, and
    /// from grad on those that the loss does not depend on.
    pub frozen: Vec<ParamId>,
    /// Whether only sessions have it, because it needs or changes their state.
    pub in_session: bool,
    /// Pool writes; those of training are filled by grad.
    pub effects: Vec<(Effect, Value)>,
    /// The computation.
    pub graph: Graph,
}

/// A function that the program supplies at run time, and for a GPU the declaration where it has WGSL.
#[derive(Clone, Debug)]
pub struct ForeignFn {
    /// The user's name; that of a gradient ends in `_grad`.
    pub name: String,
    /// Its arguments by name; named dimensions are its own.
    pub args: Vec<(String, Type)>,
    /// Its results.
    pub results: Vec<Type>,
    /// What a GPU runs instead of the program's closure; then there is one result.
    pub wgsl: Option<Wgsl>,
}

/// The WGSL of a foreign function: a function of its name, which gives the element of the result at a position, and
/// what that calls. It sees each argument as a function of a position, and named dimensions as numbers.
#[derive(Clone, Debug)]
pub struct Wgsl {
    /// The text.
    pub text: String,
    /// The path of the file that holds it, as the user wrote it, where one does.
    pub file: Option<proc_macro2::Literal>,
}

impl Function {
    /// Replaces the graph by what `change` makes of it, to which the values of the effects are further results.
    pub fn change_graph(&mut self, change: impl FnOnce(Graph) -> Graph) {
        let results = self.graph.outputs.len();
        self.graph.outputs.extend(self.effects.iter().map(|(_, value)| *value));
        self.graph = change(std::mem::take(&mut self.graph));
        let written = self.graph.outputs.split_off(results);
        self.effects.iter_mut().zip(written).for_each(|((_, value), new)| *value = new);
    }
}

/// A model: what `model!` emits one Rust struct for.
#[derive(Clone, Debug)]
pub struct Model {
    /// The user's name.
    pub name: Ident,
    /// The struct's visibility.
    pub vis: TokenStream,
    /// Doc comments and other outer attributes, passed through.
    pub attrs: Vec<TokenStream>,
    /// What the backward passes of regions compute again, where the regions do not say.
    pub memory: Memory,
    /// The type of the parameters, or what products with them read.
    pub precision: Precision,
    /// The type that parameters have in memory, where it is another than that which they are computed in.
    pub storage: Option<Storage>,
    /// Where the user asks for the same bits on every machine.
    pub deterministic: Option<Span>,
    /// In the order of the declaration.
    pub params: Vec<Param>,
    /// What sessions keep, in the order of the declaration.
    pub states: Vec<State>,
    /// The dimensions in the types of states: sessions are made with them.
    pub dims: Vec<NamedDim>,
    /// In the order of the declaration.
    pub functions: Vec<Function>,
    /// The files that it or blocks of it were imported from.
    pub origins: Vec<Origin>,
    /// Those that the macro declares, each followed by its gradient.
    pub foreign: Vec<ForeignFn>,
    /// The names of functions that only other functions of the model call.
    pub private: Vec<Ident>,
    /// After a mistake the public functions whose signature is unknown.
    pub sketches: Vec<Sketch>,
}

/// A file that a model or a block of it was imported from, and where its parameters are.
#[derive(Clone, Debug)]
pub struct Origin {
    /// What the program calls the model of the file.
    pub name: String,
    /// The literal that names it.
    pub file: proc_macro2::Literal,
    /// Its bytes.
    pub len: u64,
    /// The files that hold elements of its tensors, too: their names from its folder, and their bytes.
    pub external: Vec<(String, u64)>,
    /// FNV-1a of all of them but the parameters.
    pub hash: u64,
    /// The parameters that are in it, with their places: one for each turn of a run of layers.
    pub tensors: Vec<(ParamId, Vec<Held>)>,
    /// Those that the files do not hold as they are.
    pub constants: Vec<u8>,
}

/// Where a parameter is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Held {
    /// The type of its elements there.
    pub dtype: DType,
    /// Whether it is among the constants that the program holds, rather than in the files.
    pub in_program: bool,
    /// Its first byte, of all files' one after the other.
    pub start: usize,
    /// The one behind its last.
    pub end: usize,
}

/// What is known of a public function in whose signature there is a mistake.
#[derive(Clone, Debug)]
pub struct Sketch {
    /// The user's name.
    pub name: Ident,
    /// The number of arguments.
    pub args: usize,
    /// What trains it.
    pub optimizers: Vec<Name>,
}

impl Model {
    /// The parameter of that number.
    pub fn param(&self, id: ParamId) -> &Param {
        &self.params[id.0 as usize]
    }

    /// The state of that number.
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.0 as usize]
    }

    /// The type that parameters are computed in.
    pub fn float(&self) -> DType {
        self.precision.float()
    }

    /// The type of parameters in memory and in files, but for integers with scales.
    pub fn stored(&self) -> DType {
        self.storage.map_or(self.float(), Storage::float)
    }

    /// The type of a parameter in memory and in files.
    pub fn stored_as(&self, param: &Param) -> DType {
        if param.scales.is_some() { CODE } else { self.stored() }
    }

    /// The first element of a parameter in the pool, counted in elements of its own type.
    pub fn first(&self, param: &Param) -> usize {
        param.offset * (self.stored().bits() / self.stored_as(param).bits()) as usize
    }

    /// Whether the type of any value is such.
    pub fn uses(&self, such: fn(DType) -> bool) -> bool {
        such(self.float())
            || self.params.iter().any(|param| such(self.stored_as(param)))
            || self.states.iter().any(|state| such(state.ty.dtype))
            || self.functions.iter().any(|function| {
                function.graph.uses(such) || function.args.iter().any(|argument| such(argument.ty.dtype))
            })
    }

    /// Whether all values are of types that GPUs have here: all but f64.
    pub fn runs_on_gpus(&self) -> bool {
        !self.uses(|dtype| dtype == DType::F64)
    }

    /// The first word of a state stack in the pool of a session: each stack starts at a chunk.
    pub fn state_offset(&self, id: StateId) -> Dim {
        let chunk = super::graph::CHUNK as i64;
        let before = &self.states[..id.0 as usize];
        before.iter().fold(Dim::default(), |sum, s| sum + s.stacked().words().ceil_div(chunk) * chunk.into())
    }

    /// The elements of the parameter pool.
    pub fn pool_len(&self) -> usize {
        end(self.params.iter())
    }

    /// The elements of trained parameters, with which the pool begins.
    pub fn trained_len(&self) -> usize {
        end(self.params.iter().filter(|p| p.trained))
    }

    /// The parameters that the optimiser updates.
    pub fn trained(&self) -> impl Iterator<Item = ParamId> + '_ {
        (0..self.params.len() as u32).map(ParamId).filter(|&id| self.param(id).trained)
    }
}

fn end<'p>(params: impl Iterator<Item = &'p Param>) -> usize {
    params.map(|param| param.offset + param.elements()).max().unwrap_or(0).next_multiple_of(super::graph::CHUNK)
}
