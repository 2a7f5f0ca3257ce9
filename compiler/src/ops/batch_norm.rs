//! `BatchNorm1d(channels)`, `BatchNorm2d(channels)` and `batch_norm(x, running_mean, running_var, weight, bias)`.

use crate::diag::Code;
use super::group_norm::{affine, column, scale_channels};
use super::{AttrDecl, AttrKind, Attrs, Builder, Domain, Example, Item, Layer, LayerExample, LayerParam, Op, OpError};
use crate::ir::dim::product;
use crate::ir::model::Init;
use crate::ir::prim::MapOp;
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&BATCH_NORM), Item::Layer(&LAYER1D), Item::Layer(&LAYER2D)];

const EPS: AttrDecl = AttrDecl::optional("eps", AttrKind::Float, "1e-5", "added to the variance");
const MOMENTUM: AttrDecl = AttrDecl::optional(
    "momentum",
    AttrKind::FloatOrNone,
    "0.1",
    "the weight of the batch in the new running statistics; with `None` they are the mean over all batches so far",
);
const TRACK_RUNNING_STATS: AttrDecl = AttrDecl::optional(
    "track_running_stats",
    AttrKind::Bool,
    "true",
    "whether there are running statistics; where there are none, mean and variance are always the batch's",
);

static BATCH_NORM: Op = Op {
    name: "batch_norm",
    signature: "(x: float[Batch, Channels, ..], running_mean: float[Channels]?, running_var: float[Channels]?, \
                weight: float[Channels]?, bias: float[Channels]?, num_batches_tracked: float[]!) -> float*",
    attrs: &[
        EPS,
        MOMENTUM,
        AttrDecl::optional(
            "training",
            AttrKind::Bool,
            "false",
            "whether mean and variance are the batch's; the new running ones are then further results",
        ),
        TRACK_RUNNING_STATS,
    ],
    doc: "`(x − mean) / √(variance + eps) · weight + bias` for each channel (Ioffe and Szegedy 2015). In training mean and \
          population variance are those over all axes but the channels', and `(1 − momentum) · running + momentum · batch` \
          are the second and third result, where the batch's variance is the unbiased one. With `momentum = None` the batch \
          weighs `1 / (num_batches_tracked + 1)`, and that count is the fourth result. With `track_running_stats = false` \
          `weight` and `bias` follow `x`.",
    torch: Some("torch.nn.functional.batch_norm"),
    onnx: Some("BatchNormalization"),
    body: |b, args, attrs| {
        let Args { x, running, affine, tracked } = Args::of(b, args, attrs)?;
        let eps = attrs.number("eps");
        if let Some((mean, variance)) = running.filter(|_| !attrs.flag("training")) {
            let mean = column(b, mean, x)?;
            let centred = b.sub(x, mean)?;
            return Ok(vec![normalise(b, centred, variance, affine, eps)?]);
        }
        let batch = Batch::of(b, x)?;
        let y = normalise(b, batch.centred, batch.variance, affine, eps)?;
        let Some((mean, variance)) = running else { return Ok(vec![y]) };
        let unbiased = batch.unbiased(b)?;
        let Some(tracked) = tracked else {
            let momentum = attrs.number("momentum");
            let mean = blend(b, mean, batch.mean, momentum)?;
            return Ok(vec![y, mean, blend(b, variance, unbiased, momentum)?]);
        };
        let count = b.with(MapOp::Add, tracked, 1.0)?;
        let mean = average(b, mean, batch.mean, count)?;
        Ok(vec![y, mean, average(b, variance, unbiased, count)?, count])
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[B, 3, 5, 7]", Domain::Normal),
                ("m", "f32[3]", Domain::Normal),
                ("v", "f32[3]", Domain::Positive),
                ("w", "f32[3]", Domain::Normal),
                ("c", "f32[3]", Domain::Normal),
            ],
            call: "batch_norm(x, m, v, w, c)",
            result: "f32[B, 3, 5, 7]",
        },
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("m", "f32[7]", Domain::Normal),
                ("v", "f32[7]", Domain::Positive),
            ],
            call: "batch_norm(x, m, v, eps = 0.1, training = true)",
            result: "(f32[5, 7], f32[7], f32[7])",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 2, 3, 5]", Domain::Normal),
                ("m", "f32[2]", Domain::Normal),
                ("v", "f32[2]", Domain::Positive),
                ("w", "f32[2]", Domain::Normal),
                ("c", "f32[2]", Domain::Normal),
            ],
            call: "batch_norm(x, m, v, w, c, momentum = 0.3, training = true)",
            result: "(f32[B, 2, 3, 5], f32[2], f32[2])",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 3, 5]", Domain::Normal),
                ("m", "f32[3]", Domain::Normal),
                ("v", "f32[3]", Domain::Positive),
                ("n", "f32", Domain::Positive),
            ],
            call: "batch_norm(x, m, v, num_batches_tracked = n, momentum = None, training = true)",
            result: "(f32[B, 3, 5], f32[3], f32[3], f32)",
        },
        Example {
            inputs: &[("x", "f32[B, 3, 7]", Domain::Normal), ("w", "f32[3]", Domain::Normal)],
            call: "batch_norm(x, w, track_running_stats = false)",
            result: "f32[B, 3, 7]",
        },
    ],
};

/// The arguments by what they are.
struct Args {
    x: Value,
    /// Mean and variance.
    running: Option<(Value, Value)>,
    /// Weight and bias.
    affine: (Option<Value>, Option<Value>),
    /// The number of batches so far, where the running statistics are their mean.
    tracked: Option<Value>,
}

impl Args {
    fn of(b: &Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Args, OpError> {
        let (tracked, others) = match args {
            [others @ .., last] if b.rank(*last) == 0 => (Some(*last), others),
            all => (None, all),
        };
        let averaged = is_averaged(attrs);
        let arity = |message: &str| OpError::new(Code::WrongArity, message);
        if let (Some(_), false) = (tracked, averaged) {
            let error = arity("`num_batches_tracked` is for running statistics that are the mean over all batches");
            return Err(error.arg(others.len()).help("remove it, or write `momentum = None`"));
        }
        let (running, affine) = match others {
            [_, mean, variance, affine @ ..] if attrs.flag("track_running_stats") => (Some((*mean, *variance)), affine),
            _ if attrs.flag("track_running_stats") => {
                let error = arity("`{callee}` takes running statistics: `running_mean` and `running_var`");
                return Err(error.help("call it as `{callee}({0}, running_mean, running_var)`, or with \
                                       `track_running_stats = false`"));
            }
            [_, affine @ ..] => (None, affine),
            [] => unreachable!("the signature has an argument that must be given"),
        };
        if let [_, _, surplus, ..] = affine {
            let at = others.iter().position(|value| value == surplus).unwrap_or_default();
            let error = arity("`{callee}` without running statistics takes `weight` and `bias` at most");
            return Err(error.arg(at).help("remove `running_mean` and `running_var`"));
        }
        if averaged && attrs.flag("training") && tracked.is_none() {
            let error = arity("`{callee}` with `momentum = None` takes `num_batches_tracked`, the number of batches so far");
            return Err(error.help("give it by name: `num_batches_tracked = …`"));
        }
        Ok(Args { x: others[0], running, affine: (affine.first().copied(), affine.get(1).copied()), tracked })
    }
}

/// The statistics of a batch.
struct Batch {
    mean: Value,
    centred: Value,
    variance: Value,
    /// How many elements of each channel there are.
    count: Dim,
}

impl Batch {
    fn of(b: &mut Builder<'_>, x: Value) -> Result<Batch, OpError> {
        let shape = b.shape(x);
        let axes: Vec<usize> = (0..shape.len()).filter(|&a| a != 1).collect();
        let count = product(axes.iter().map(|&a| &shape[a]));
        if count.is(1) {
            let message = format!("{{0}} is {}: one element of each channel has no variance", b.ty(x));
            return Err(OpError::new(Code::ShapeMismatch, message).arg(0));
        }
        let mean = b.mean(x, &axes)?;
        let wide = column(b, mean, x)?;
        let centred = b.sub(x, wide)?;
        let squared = b.mul(centred, centred)?;
        let variance = b.mean(squared, &axes)?;
        Ok(Batch { mean, centred, variance, count })
    }

    /// The variance with divisor `count − 1`. A batch of one element has variance 0, and not NaN, so that it spoils no
    /// running statistics.
    fn unbiased(&self, b: &mut Builder<'_>) -> Result<Value, OpError> {
        let (n, less) = (b.extent(self.variance, &self.count)?, b.extent(self.variance, &(self.count.clone() - Dim::from(1)))?);
        let less = b.with(MapOp::Max, less, 1.0)?;
        let ratio = b.div(n, less)?;
        b.mul(self.variance, ratio)
    }
}

/// `centred / √(variance + eps) · weight + bias`
fn normalise(
    b: &mut Builder<'_>,
    centred: Value,
    variance: Value,
    (weight, bias): (Option<Value>, Option<Value>),
    eps: f64,
) -> Result<Value, OpError> {
    let shifted = b.with(MapOp::Add, variance, eps)?;
    let scale = b.unary(MapOp::Rsqrt, shifted)?;
    let scale = column(b, scale, centred)?;
    let y = b.mul(centred, scale)?;
    scale_channels(b, y, weight, bias)
}

/// The running number moved towards the batch's.
fn blend(b: &mut Builder<'_>, running: Value, batch: Value, momentum: f64) -> Result<Value, OpError> {
    let (old, new) = (b.with(MapOp::Mul, running, 1.0 - momentum)?, b.with(MapOp::Mul, batch, momentum)?);
    b.add(old, new)
}

/// Whether running statistics are the mean over all batches.
fn is_averaged(attrs: &Attrs) -> bool {
    attrs.flag("track_running_stats") && attrs.float("momentum").is_none()
}

/// The mean over `count` batches, of which the last is `batch` and the mean over the others is `running`.
fn average(b: &mut Builder<'_>, running: Value, batch: Value, count: Value) -> Result<Value, OpError> {
    let one = b.constant(count, 1.0)?;
    let new = b.div(one, count)?;
    let old = b.sub(one, new)?;
    let (old, new) = (b.mul(running, old)?, b.mul(batch, new)?);
    b.add(old, new)
}

static LAYER1D: Layer = Layer {
    name: "BatchNorm1d",
    torch: "torch.nn.BatchNorm1d",
    attrs: ATTRS,
    params,
    op: &BATCH_NORM,
    op_attrs,
    doc: "Normalises each channel of `[batch, channels]` or `[batch, channels, length]`, in training by the batch and \
          elsewhere by running statistics, which steps of training update.",
    example: LayerExample {
        declared: "BatchNorm1d(8)",
        inputs: &[("x", "f32[B, 8]")],
        call: "self.layer(x)",
        result: "f32[B, 8]",
    },
};

static LAYER2D: Layer = Layer {
    name: "BatchNorm2d",
    torch: "torch.nn.BatchNorm2d",
    attrs: ATTRS,
    params,
    op: &BATCH_NORM,
    op_attrs,
    doc: "Normalises each channel of `[batch, channels, height, width]`, in training by the batch and elsewhere by running \
          statistics, which steps of training update.",
    example: LayerExample {
        declared: "BatchNorm2d(8)",
        inputs: &[("x", "f32[B, 8, 6, 5]")],
        call: "self.layer(x)",
        result: "f32[B, 8, 6, 5]",
    },
};

const ATTRS: &[AttrDecl] = &[
    AttrDecl::required("channels", AttrKind::Int, "channels of the argument"),
    EPS,
    MOMENTUM,
    AttrDecl::optional("affine", AttrKind::Bool, "true", "whether a learnt scale and offset of each channel follow"),
    TRACK_RUNNING_STATS,
];

fn params(attrs: &Attrs) -> Result<Vec<LayerParam>, OpError> {
    let channels = attrs.positive("channels")?;
    let companion = |name, shape, init| LayerParam { name, shape, init, trained: false };
    let running = |name, init| companion(name, vec![Dim::from(channels)], init);
    let mut params = vec![];
    if attrs.flag("track_running_stats") {
        params.extend([running("running_mean", Init::Zeros), running("running_var", Init::Ones)]);
    }
    if attrs.flag("affine") {
        params.extend(affine(channels));
    }
    if is_averaged(attrs) {
        params.push(companion("num_batches_tracked", vec![], Init::Zeros));
    }
    Ok(params)
}

fn op_attrs(attrs: &Attrs) -> Attrs {
    let mut attrs = attrs.only(&["eps", "momentum", "track_running_stats"]);
    attrs.0.push(("training".into(), super::Attr::Bool(false)));
    attrs
}
