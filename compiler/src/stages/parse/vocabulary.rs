//! What other libraries call things: a name of PyTorch, Keras, JAX or NumPy in, what the language has for it out.
//!
//! Case and underscores do not count, so that a name that is spelt like one of ours (`ReLU`, `max_pool_2d`) needs no line.

use self::Own::{Block, Drawn, Form, Function, Layer, Repetition, Sized};
use super::ast::Arg;
use crate::diag::closest;
use crate::ops;
use proc_macro2::Ident;

/// What the language has for a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Own {
    /// A function of the same arguments.
    Function(&'static str),
    /// A layer, which a field declares.
    Layer(&'static str),
    /// One of two, whose names end with `1d` and `2d`: a layer where the name is capital, else a function.
    Sized(&'static str),
    /// A block of `precast::blocks`, which a model imports.
    Block(&'static str),
    /// `repeat`, which lays a tensor side by side or repeats each of its elements.
    Repetition,
    /// A function that draws random numbers of a shape, which takes a key before it.
    Drawn(&'static str),
    /// Neither: what to write instead.
    Form(&'static str),
}

/// Names that are not spelt like ours. Those without an equal (`Conv3d`, `scatter`) have no line.
const NAMES: &[(&str, Own)] = &[
    // Layers with parameters.
    ("BatchNorm", Sized("BatchNorm")),
    ("BatchNormalization", Sized("BatchNorm")),
    ("Conv", Sized("Conv")),
    ("Conv1DTranspose", Layer("ConvTranspose1d")),
    ("Conv2DTranspose", Layer("ConvTranspose2d")),
    ("ConvTranspose", Sized("ConvTranspose")),
    ("Convolution1D", Layer("Conv1d")),
    ("Convolution2D", Layer("Conv2d")),
    ("Dense", Layer("Linear")),
    ("DepthwiseConv2D", Form("give `Conv2d` as many groups as channels: `Conv2d(64, 64, 3, groups = 64)`")),
    ("Embed", Layer("Embedding")),
    ("FullyConnected", Layer("Linear")),
    ("GroupNormalization", Layer("GroupNorm")),
    ("GRUCell", Form(CELL)),
    ("InstanceNorm", Sized("InstanceNorm")),
    ("LayerNormalization", Layer("LayerNorm")),
    ("LSTMCell", Form(CELL)),
    ("RMSNormalization", Layer("RMSNorm")),
    ("RNNCell", Form(CELL)),
    ("SimpleRNN", Layer("RNN")),
    ("MultiheadAttention", Block("MultiheadAttention")),
    ("MultiHeadDotProductAttention", Block("MultiheadAttention")),
    ("SelfAttention", Block("MultiheadAttention")),
    ("TransformerDecoder", Block("TransformerDecoder")),
    ("TransformerDecoderLayer", Block("TransformerDecoderLayer")),
    ("TransformerEncoder", Block("TransformerEncoder")),
    ("TransformerEncoderLayer", Block("TransformerEncoderLayer")),
    // What holds layers.
    ("Identity", Form("remove it: a value that stays as it is needs no layer")),
    ("Lambda", Form("write a function beside the struct: `fn scale(x: f32[..]) -> f32[..] { … }`")),
    ("Module", Form("declare a block: `struct Block(dim) { … }`")),
    ("ModuleDict", Form("declare a field for each layer, or a block with these fields")),
    ("ModuleList", Form(LIST)),
    ("ParameterList", Form("declare a field for each: `gain: Parameter(64, init = \"ones\")`")),
    ("Sequential", Form(SEQUENCE)),
    ("serial", Form(SEQUENCE)),
    // Layers without parameters.
    ("Activation", Form("write the function where the value is needed, as `relu(x)`")),
    ("AlphaDropout", Layer("Dropout")),
    ("AveragePooling1D", Function("avg_pool1d")),
    ("AveragePooling2D", Function("avg_pool2d")),
    ("Concatenate", Function("concat")),
    ("GlobalAveragePooling1D", Function("global_avg_pool")),
    ("GlobalAveragePooling2D", Function("global_avg_pool")),
    ("GlobalMaxPooling1D", Function("global_max_pool")),
    ("GlobalMaxPooling2D", Function("global_max_pool")),
    ("MaxPooling1D", Function("max_pool1d")),
    ("MaxPooling2D", Function("max_pool2d")),
    ("Permute", Function("transpose")),
    ("RepeatVector", Form("write `broadcast_to(…)` or `tile(…)` where the value is needed")),
    ("SpatialDropout1D", Layer("Dropout")),
    ("SpatialDropout2D", Layer("Dropout")),
    ("UpSampling2D", Function("upsample")),
    ("UpsamplingBilinear2d", Function("upsample")),
    ("UpsamplingNearest2d", Function("upsample")),
    ("ZeroPadding2D", Form(PAD)),
    ("ConstantPad2d", Form(PAD)),
    ("ZeroPad2d", Form(PAD)),
    // Activations and normalisations.
    ("l2_normalize", Function("normalize")),
    ("swish", Function("silu")),
    // Losses.
    ("BCELoss", Function("binary_cross_entropy")),
    ("BCEWithLogitsLoss", Function("binary_cross_entropy_with_logits")),
    ("binary_crossentropy", Form("write `binary_cross_entropy(input, target)`")),
    ("categorical_crossentropy", Form(CROSS_ENTROPY)),
    ("CategoricalCrossentropy", Form(CROSS_ENTROPY)),
    ("CrossEntropyLoss", Function("cross_entropy")),
    ("StochasticDepth", Function("drop_path")),
    ("multinomial", Form("write `categorical(log(p), key = key)`")),
    ("stochastic_depth", Function("drop_path")),
    ("KLDivLoss", Function("kl_div")),
    ("mae", Function("l1_loss")),
    ("mean_absolute_error", Function("l1_loss")),
    ("mean_squared_error", Function("mse_loss")),
    ("mse", Function("mse_loss")),
    ("sigmoid_binary_cross_entropy", Function("binary_cross_entropy_with_logits")),
    ("sigmoid_cross_entropy", Function("binary_cross_entropy_with_logits")),
    ("sigmoid_cross_entropy_with_logits", Form("write `binary_cross_entropy_with_logits(input, target)`")),
    ("softmax_cross_entropy", Function("cross_entropy")),
    ("softmax_cross_entropy_with_integer_labels", Function("cross_entropy")),
    ("softmax_cross_entropy_with_logits", Form(CROSS_ENTROPY)),
    ("sparse_categorical_crossentropy", Form(CROSS_ENTROPY)),
    ("SparseCategoricalCrossentropy", Form(CROSS_ENTROPY)),
    ("sparse_softmax_cross_entropy_with_logits", Form(CROSS_ENTROPY)),
    // Arithmetic.
    ("absolute", Function("abs")),
    ("bitwise_and", Function("logical_and")),
    ("bitwise_not", Function("logical_not")),
    ("bitwise_or", Function("logical_or")),
    ("clamp_max", Function("minimum")),
    ("clamp_min", Function("maximum")),
    ("clip", Function("clamp")),
    ("clip_by_value", Function("clamp")),
    ("divide", Function("div")),
    ("equal", Function("eq")),
    ("fabs", Function("abs")),
    ("fmax", Function("maximum")),
    ("fmin", Function("minimum")),
    ("fmod", Function("rem")),
    ("greater", Function("gt")),
    ("greater_equal", Function("ge")),
    ("invert", Function("logical_not")),
    ("less", Function("lt")),
    ("less_equal", Function("le")),
    ("multiply", Function("mul")),
    ("negative", Function("neg")),
    ("not", Function("logical_not")),
    ("not_equal", Function("ne")),
    ("power", Function("pow")),
    ("powf", Function("pow")),
    ("powi", Function("pow")),
    ("rint", Function("round")),
    ("sgn", Function("sign")),
    ("subtract", Function("sub")),
    ("true_divide", Function("div")),
    // Reductions.
    ("amax", Function("max")),
    ("amin", Function("min")),
    ("average", Function("mean")),
    ("reduce_max", Function("max")),
    ("reduce_mean", Function("mean")),
    ("reduce_min", Function("min")),
    ("reduce_sum", Function("sum")),
    // Products.
    ("bmm", Function("matmul")),
    ("dot", Function("matmul")),
    ("dot_product_attention", Form("write `attend(q, k, v)`, whose heads stand before the positions")),
    ("mm", Function("matmul")),
    ("mv", Function("matmul")),
    ("scaled_dot_product_attention", Function("attend")),
    ("tensordot", Form("write `einsum(\"bik,kj->bij\", x, y)` with a letter for each axis")),
    // Shapes.
    ("adjoint", Function("transpose")),
    ("cat", Function("concat")),
    ("chunk", Function("split")),
    ("expand", Function("broadcast_to")),
    ("expand_dims", Function("unsqueeze")),
    ("fliplr", Form("write `flip(x, 1)`")),
    ("flipud", Form("write `flip(x, 0)`")),
    ("hstack", Form("write `concat(a, b, axis = 1)`")),
    ("moveaxis", Form(PERMUTATION)),
    ("movedim", Form(PERMUTATION)),
    ("select", Form("write `where(condition, a, b)`, or an index: `x[_, 3]`")),
    ("narrow", Form("write a slice: `x[.., 2..5]`")),
    ("ravel", Form("write `flatten(x, start = 0)`")),
    ("repeat", Repetition),
    ("reverse", Function("flip")),
    ("swapaxes", Form(PERMUTATION)),
    ("swapdims", Form(PERMUTATION)),
    ("t", Function("transpose")),
    ("unstack", Function("unbind")),
    ("view", Function("reshape")),
    ("vstack", Form("write `concat(a, b, axis = 0)`")),
    // Picking.
    ("index_select", Form("write `take(x, index, axis = 1)`")),
    ("segment_max", Form("there are `segment_sum` and `segment_mean`")),
    ("take_along_axis", Function("gather")),
    ("take_along_dim", Function("gather")),
    // Resizing and pooling.
    ("avg_pool", Sized("avg_pool")),
    ("interpolate", Function("upsample")),
    ("max_pool", Sized("max_pool")),
    ("resize", Form("write `upsample(x, scale_factor = 2)` or `upsample(x, size = 64)`")),
    // Element types and new tensors.
    ("astype", Form("write `cast(x, \"f32\")`")),
    ("double", Function("f64")),
    ("empty", Function("zeros")),
    ("float", Function("f32")),
    ("full_like", Form("write `full([B, 64], 0.5)` with the extents that the signature names")),
    ("half", Function("f16")),
    ("int", Function("i32")),
    ("long", Function("i64")),
    ("ones_like", Form("write `ones([B, 64])` with the extents that the signature names")),
    ("rand", Drawn("uniform")),
    ("rand_like", Form("write `uniform(key, [B, 64])` with the extents that the signature names")),
    ("randn", Drawn("normal")),
    ("randn_like", Form("write `normal(key, [B, 64])` with the extents that the signature names")),
    ("to", Form("remove it: values have no device, and `.f32()` gives another element type")),
    ("zeros_like", Form("write `zeros([B, 64])` with the extents that the signature names")),
    // Control and derivatives.
    ("backward", Form("let a function give the loss: `#[train(AdamW)] pub fn loss(&self, …) -> f32`")),
    ("checkpoint", Form("put `#[remat]` at the function whose values are computed again")),
    ("cond", Form("write `if … { … } else { … }`")),
    ("detach", Function("stop_gradient")),
    ("enumerate", Form("loop over the values alone: `for block in self.blocks { … }`")),
    ("fori_loop", Form("write `for k in 0..8 { … }`")),
    ("gradient", Form("write `grad(|x| …)(x)`")),
    ("jacfwd", Form("write `jacobian(|x| …)(x)`")),
    ("jacrev", Form("write `jacobian(|x| …)(x)`")),
    ("no_grad", Function("stop_gradient")),
    ("remat", Form("put `#[remat]` at the function whose values are computed again")),
    ("vmap", Form("write `map(|x| …)(x)`")),
    ("while_loop", Form("write `for k in 0..8 { … }`, or run along an axis with `scan(…)`")),
];

const CELL: &str =
    "declare `RNN`, `LSTM` or `GRU`, which run over all steps, or write a cell of `Linear` fields and run it by `scan`";
const CROSS_ENTROPY: &str = "write `cross_entropy(logits, target)`";
const LIST: &str = "write several blocks as `[Block(64); 6]`";
const PAD: &str = "write the function where the value is needed: `pad(x, 1, 1, axis = [-2, -1])`";
const PERMUTATION: &str = "write the axes in their new order: `transpose(x, 0, 2, 1)`";
const SEQUENCE: &str = "declare `layers: Sequential(Linear(64, 32), relu)`, and call it: `self.layers(x)`";

/// Names of attributes.
const ATTRIBUTES: &[(&str, &str)] = &[
    ("approximate", "approximation"),
    ("dim", "axis"),
    ("dims", "axes"),
    ("embed_dim", "dim"),
    ("dropout_p", "dropout"),
    ("embedding_dim", "dim"),
    ("end_dim", "end"),
    ("feature_group_count", "groups"),
    ("features", "output"),
    ("filters", "output"),
    ("hidden_size", "hidden"),
    ("in", "input"),
    ("in_channels", "input"),
    ("in_features", "input"),
    ("input_size", "input"),
    ("is_causal", "causal"),
    ("keepdim", "keepdims"),
    ("kernel_size", "kernel"),
    ("kernel_size", "window"),
    ("num_channels", "channels"),
    ("num_classes", "classes"),
    ("num_embeddings", "count"),
    ("num_features", "channels"),
    ("num_groups", "groups"),
    ("num_layers", "layers"),
    ("normalized_shape", "dim"),
    ("out", "output"),
    ("out_channels", "output"),
    ("out_features", "output"),
    ("pool_size", "window"),
    ("rate", "p"),
    ("start_dim", "start"),
    ("strides", "stride"),
    ("units", "output"),
    ("use_bias", "bias"),
];

/// Attributes of layers that say what needs no saying here, or what stands where the layer is called.
const NEEDLESS_ATTRIBUTES: &[&str] =
    &["batch_first", "device", "dtype", "inplace", "input_dim", "input_shape", "name", "trainable", "training"];

/// Numbers of optimisers.
const NUMBERS: &[(&str, &str)] = &[
    ("betas", "beta1"),
    ("b1", "beta1"),
    ("b2", "beta2"),
    ("eps", "epsilon"),
    ("learning_rate", "rate"),
    ("lr", "rate"),
    ("rho", "alpha"),
    ("step_size", "rate"),
    ("weight_decay", "decay"),
];

/// Reductions, and the functions of the same meaning that go by element.
const BY_ELEMENT: &[(&str, &str)] = &[
    ("all", "logical_and"),
    ("any", "logical_or"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("prod", "mul"),
    ("sum", "add"),
];

/// Methods and wrappers that no value of the language has a need of.
const NEEDLESS: &[&str] = &[
    "Ok",
    "Some",
    "as_ref",
    "block_until_ready",
    "clone",
    "contiguous",
    "copy",
    "cpu",
    "cuda",
    "into",
    "into_iter",
    "item",
    "iter",
    "iter_mut",
    "numpy",
    "requires_grad_",
    "to_owned",
    "to_vec",
    "unwrap",
];

/// What examples call the argument of a model.
const ARGUMENTS: &[&str] =
    &["batch", "data", "features", "ids", "image", "images", "img", "inp", "input", "inputs", "tokens", "x", "xs"];

/// Element types.
const TYPES: &[(&str, &str)] = &[
    ("bfloat16", "bf16"),
    ("boolean", "bool"),
    ("double", "f64"),
    ("float", "f32"),
    ("float16", "f16"),
    ("float32", "f32"),
    ("float64", "f64"),
    ("float8_e4m3fn", "f8e4m3"),
    ("fp16", "f16"),
    ("fp32", "f32"),
    ("half", "f16"),
    ("int", "i32"),
    ("int16", "i16"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("int8", "i8"),
    ("isize", "i32"),
    ("long", "i64"),
    ("uint8", "u8"),
    ("uint32", "u32"),
    ("usize", "u32"),
];

/// Methods and fields that ask for extents or how many there are.
const SHAPE_QUERIES: &[&str] = &["dim", "dims", "len", "ndim", "ndims", "numel", "shape", "size"];

/// Modules in which other libraries have their functions and layers.
const MODULES: &[&str] =
    &["F", "eqx", "flax", "hk", "jax", "jnp", "keras", "lax", "math", "nn", "np", "numpy", "optax", "tf", "torch"];

impl Own {
    /// The one of two that works on images, or on signals.
    pub(super) fn sized(self, images: bool) -> Own {
        let Sized(stem) = self else { return self };
        let name = format!("{stem}{}", if images { "2d" } else { "1d" });
        same(&name, layers_named()).map(Layer).or_else(|| same(&name, ops_named()).map(Function)).unwrap_or(self)
    }

    /// What has the meaning where an argument says along which axis.
    pub(super) fn along(self, args: &[Arg]) -> Own {
        let along = args.iter().any(|arg| arg.name.as_ref().is_some_and(|name| name == "axis" || name == "dim"));
        match self {
            // A pool along whole axes is a reduction.
            Sized("avg_pool") if along => Function("mean"),
            Sized("max_pool") if along => Function("max"),
            own => own,
        }
    }
}

/// What stands where a function is called by that name. Names of layers are capital.
pub(super) fn called(name: &str) -> Option<Own> {
    match name.starts_with(char::is_uppercase) {
        true => declared(name),
        false => function_spelt(name).or_else(|| listed(name)).or_else(|| layer_spelt(name)),
    }
}

/// What stands where a field has its layer by that name.
pub(super) fn declared(name: &str) -> Option<Own> {
    layer_spelt(name).or_else(|| listed(name)).or_else(|| function_spelt(name))
}

fn layer_spelt(name: &str) -> Option<Own> {
    same(name, layers_named()).map(Layer)
}

fn function_spelt(name: &str) -> Option<Own> {
    same(name, ops_named()).map(Function)
}

fn listed(name: &str) -> Option<Own> {
    let folded = fold(name);
    NAMES.iter().find(|(other, _)| fold(other) == folded).map(|(_, own)| *own)
}

/// The name among `known` that differs in case and underscores at most.
fn same(name: &str, mut known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let folded = fold(name);
    known.find(|own| fold(own) == folded)
}

/// A name without what does not count.
pub(super) fn fold(name: &str) -> String {
    name.chars().filter(|&c| c != '_').flat_map(char::to_lowercase).collect()
}

fn ops_named() -> impl Iterator<Item = &'static str> {
    ops::items().filter_map(|item| match item {
        ops::Item::Op(op) => Some(op.name),
        ops::Item::Layer(_) | ops::Item::Optimizer(_) => None,
    })
}

fn layers_named() -> impl Iterator<Item = &'static str> {
    ops::items().filter_map(|item| match item {
        ops::Item::Layer(layer) => Some(layer.name),
        ops::Item::Op(_) | ops::Item::Optimizer(_) => None,
    })
}

/// What the language calls an attribute, where the callee has that one.
pub(super) fn attribute(name: &Ident, known: &[&str]) -> Option<&'static str> {
    ATTRIBUTES.iter().find(|(other, own)| name == other && known.contains(own)).map(|(_, own)| *own)
}

/// What to do with an attribute that no layer has: `text` is its value.
pub(super) fn attribute_elsewhere(name: &str, text: &str) -> Option<String> {
    match name {
        "activation" | "act" | "nonlinearity" => {
            let function = text.trim_matches('"');
            let own = match called(function) {
                Some(Function(own)) => own,
                _ => ops::op(function).map_or("relu", |op| op.name),
            };
            Some(format!("remove it, and write `{own}(…)` around the call"))
        }
        _ => NEEDLESS_ATTRIBUTES.contains(&name).then(|| "remove it".to_owned()),
    }
}

/// What an optimiser calls one of its numbers.
pub(super) fn number(name: &str, known: &[&'static str]) -> Option<&'static str> {
    let listed = NUMBERS.iter().find(|(other, _)| *other == name).map_or(name, |(_, own)| *own);
    known.iter().copied().find(|own| *own == listed).or_else(|| {
        closest(name, known.iter().copied()).and_then(|near| known.iter().copied().find(|own| *own == near))
    })
}

/// The element type of the language that stands for one of another.
pub(super) fn element_type(name: &str) -> Option<&'static str> {
    TYPES.iter().find(|(other, _)| *other == name).map(|(_, own)| *own)
}

/// The function by element that has the meaning of a reduction.
pub(super) fn by_element(reduction: &str) -> Option<&'static str> {
    BY_ELEMENT.iter().find(|(name, _)| *name == reduction).map(|(_, twin)| *twin)
}

/// Whether a method or wrapper does nothing that the language needs.
pub(super) fn needless(name: &Ident) -> bool {
    NEEDLESS.iter().any(|method| name == method)
}

/// Whether arguments of models are called so.
pub(super) fn names_an_argument(name: &str) -> bool {
    ARGUMENTS.contains(&name)
}

/// Whether a method or field asks for extents, which types say.
pub(super) fn asks_for_shape(name: &Ident) -> bool {
    SHAPE_QUERIES.iter().any(|query| name == query)
}

/// Whether other libraries have a module of that name.
pub(super) fn is_module(name: &Ident) -> bool {
    MODULES.iter().any(|module| name == module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_none_here_and_stand_for_what_is() {
        for (other, own) in NAMES {
            assert_eq!(listed(other), Some(*own), "`{other}` stands twice");
            match own {
                Function(own) => {
                    assert!(same(other, ops_named()).is_none(), "`{other}` is spelt like an op");
                    assert!(ops::op(own).is_some() || *own == "stop_gradient", "there is no op `{own}`");
                }
                Layer(own) => {
                    assert!(layer_spelt(other).is_none(), "`{other}` is spelt like a layer");
                    assert!(ops::layer(own).is_some(), "there is no layer `{own}`");
                }
                Sized(own) => {
                    for name in [format!("{own}1d"), format!("{own}2d")] {
                        assert!(ops::op(&name).is_some() || ops::layer(&name).is_some(), "there is no `{name}`");
                    }
                }
                Drawn(own) => assert!(ops::op(own).is_some(), "there is no op `{own}`"),
                Block(_) | Repetition | Form(_) => {}
            }
        }
    }

    #[test]
    fn what_is_quoted_with_its_arguments_exists() {
        let ours = ["grad", "map", "jacobian", "scan", "train", "Block", "fn", "loss", "self"];
        for (other, own) in NAMES {
            let Form(text) = own else { continue };
            for code in text.split('`').skip(1).step_by(2) {
                let name: String = code
                    .trim_start_matches(['.', '#', '['])
                    .chars()
                    .take_while(|&c| c.is_alphanumeric() || c == '_')
                    .collect();
                let is_call = code.trim_start_matches(['.', '#', '[']).starts_with(&format!("{name}("));
                let known = ops::op(&name).is_some() || ops::layer(&name).is_some() || ours.contains(&&*name);
                assert!(!is_call || known, "`{other}` stands for `{name}`, which does not exist");
            }
        }
    }

    #[test]
    fn a_name_of_another_kind_is_found_by_its_spelling() {
        assert_eq!(declared("ReLU"), Some(Function("relu")));
        assert_eq!(declared("linear"), Some(Layer("Linear")));
        assert_eq!(called("MaxPool2D"), Some(Function("max_pool2d")));
        assert_eq!(called("Dense"), Some(Layer("Linear")));
        assert_eq!(called("scatter"), None);
    }
}
