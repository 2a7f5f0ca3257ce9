//! Losses that are negative log likelihoods of numbers: `kl_div`, `binary_cross_entropy`, `gaussian_nll_loss` and
//! `poisson_nll_loss`.

use crate::diag::Code;
use super::loss::{REDUCTION, reduce};
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::Value;
use crate::ir::prim::MapOp;
use std::f64::consts::TAU;

pub(super) const ITEMS: &[Item] =
    &[Item::Op(&KL_DIV), Item::Op(&BINARY_CROSS_ENTROPY), Item::Op(&GAUSSIAN_NLL_LOSS), Item::Op(&POISSON_NLL_LOSS)];

const FULL: AttrDecl =
    AttrDecl::optional("full", AttrKind::Bool, "false", "whether the terms without `input` are added");

static KL_DIV: Op = Op {
    name: "kl_div",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[
        AttrDecl::optional(
            "reduction",
            AttrKind::Word(&["mean", "batchmean", "sum", "none"]),
            "\"mean\"",
            "\"mean\" or \"sum\" over all elements, \"batchmean\" is the sum divided by the first extent, or \"none\"",
        ),
        AttrDecl::optional("log_target", AttrKind::Bool, "false", "whether the target is a logarithm as well"),
    ],
    doc: "The divergence `target · (ln target − input)` of Kullback and Leibler (1951), where `input` is the logarithm \
          of a probability; a target of 0 gives 0 where `input` is finite. The divergence of distributions is \
          `reduction = \"batchmean\"`.",
    torch: Some("torch.nn.functional.kl_div"),
    onnx: None,
    body: |b, args, attrs| {
        let (input, target) = (args[0], args[1]);
        let each = match attrs.flag("log_target") {
            true => {
                let (weight, apart) = (b.unary(MapOp::Exp, target)?, b.sub(target, input)?);
                b.mul(weight, apart)?
            }
            false => {
                let own = self_information(b, target)?;
                let cross = b.mul(target, input)?;
                b.sub(own, cross)?
            }
        };
        if attrs.text("reduction") != Some("batchmean") {
            return reduce(b, each, attrs);
        }
        let shape = b.shape(each);
        let Some(batch) = shape.first() else {
            let message = "`reduction = \"batchmean\"` divides by the first extent, but {0} is a scalar";
            return Err(OpError::new(Code::WrongRank, message).arg(0));
        };
        let (sum, batch) = (b.sum(each, &(0..shape.len()).collect::<Vec<_>>())?, b.extent(each, batch)?);
        Ok(vec![b.div(sum, batch)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[5, 7]", Domain::Unit)],
            call: "kl_div(x, y, reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Normal)],
            call: "kl_div(x, y, \"batchmean\", log_target = true)",
            result: "f32",
        },
    ],
};

static BINARY_CROSS_ENTROPY: Op = Op {
    name: "binary_cross_entropy",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[REDUCTION],
    doc: "`−target · ln input − (1 − target) · ln(1 − input)` of probabilities; the logarithms are at least −100, as in \
          PyTorch. `binary_cross_entropy_with_logits` keeps more digits.",
    torch: Some("torch.nn.functional.binary_cross_entropy"),
    onnx: None,
    body: |b, args, attrs| {
        let one = b.constant(args[0], 1.0)?;
        let (miss, rest) = (b.sub(one, args[0])?, b.sub(one, args[1])?);
        let (hit, miss) = (bounded_log(b, args[0])?, bounded_log(b, miss)?);
        let (hit, miss) = (b.mul(args[1], hit)?, b.mul(rest, miss)?);
        let sum = b.add(hit, miss)?;
        let each = b.unary(MapOp::Neg, sum)?;
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Unit), ("y", "f32[5, 7]", Domain::Unit)],
            call: "binary_cross_entropy(x, y, reduction = \"none\")",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Unit), ("y", "f32[B, 17]", Domain::Unit)],
            call: "binary_cross_entropy(x, y)",
            result: "f32",
        },
    ],
};

static GAUSSIAN_NLL_LOSS: Op = Op {
    name: "gaussian_nll_loss",
    signature: "(input: float[..], target: float[..], var: float[..]) -> float[...]",
    attrs: &[REDUCTION, FULL, AttrDecl::optional("eps", AttrKind::Float, "1e-6", "the least variance; positive")],
    doc: "`(ln var + (input − target)² / var) / 2`, the negative log likelihood of `target` under a normal distribution \
          with that mean and variance (Nix and Weigend 1994); `full` adds `ln(2π)/2`. A variance below `eps` counts \
          as `eps`, but keeps its gradient.",
    torch: Some("torch.nn.functional.gaussian_nll_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let eps = attrs.number("eps");
        if eps <= 0.0 {
            return Err(OpError::new(Code::WrongAttribute, format!("`eps` must be positive, not {eps}")).attr("eps"));
        }
        let raised = b.with(MapOp::Max, args[2], eps)?;
        let missing = b.sub(raised, args[2])?;
        let missing = b.stop_gradient(missing);
        let var = b.add(args[2], missing)?;
        let (error, log) = (b.sub(args[0], args[1])?, b.unary(MapOp::Log, var)?);
        let squared = b.mul(error, error)?;
        let scaled = b.div(squared, var)?;
        let sum = b.add(log, scaled)?;
        let mut each = b.with(MapOp::Mul, sum, 0.5)?;
        if attrs.flag("full") {
            each = b.with(MapOp::Add, each, 0.5 * TAU.ln())?;
        }
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[5, 7]", Domain::Normal),
                ("y", "f32[5, 7]", Domain::Normal),
                ("v", "f32[5, 7]", Domain::Positive),
            ],
            call: "gaussian_nll_loss(x, y, v, reduction = \"none\", full = true)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 17]", Domain::Normal),
                ("y", "f32[B, 17]", Domain::Normal),
                ("v", "f32[B, 17]", Domain::Positive),
            ],
            call: "gaussian_nll_loss(x, y, v)",
            result: "f32",
        },
    ],
};

static POISSON_NLL_LOSS: Op = Op {
    name: "poisson_nll_loss",
    signature: "(input: float[..], target: float[..]) -> float[...]",
    attrs: &[
        REDUCTION,
        AttrDecl::optional("log_input", AttrKind::Bool, "true", "whether `input` is the logarithm of the rate"),
        FULL,
        AttrDecl::optional("eps", AttrKind::Float, "1e-8", "added to a rate before its logarithm is taken"),
    ],
    doc: "`e^input − target · input`, the negative log likelihood of counts under a Poisson distribution whose rate is \
          `e^input`, or `input − target · ln(input + eps)` without `log_input`; `full` adds Stirling's approximation \
          of `ln target!` for targets above 1.",
    torch: Some("torch.nn.functional.poisson_nll_loss"),
    onnx: None,
    body: |b, args, attrs| {
        let (input, target) = (args[0], args[1]);
        let (rate, log) = match attrs.flag("log_input") {
            true => (b.unary(MapOp::Exp, input)?, input),
            false => {
                let raised = b.with(MapOp::Add, input, attrs.number("eps"))?;
                (input, b.unary(MapOp::Log, raised)?)
            }
        };
        let cross = b.mul(target, log)?;
        let mut each = b.sub(rate, cross)?;
        if attrs.flag("full") {
            let stirling = stirling(b, target)?;
            each = b.add(each, stirling)?;
        }
        reduce(b, each, attrs)
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Positive), ("y", "f32[5, 7]", Domain::Positive)],
            call: "poisson_nll_loss(x, y, reduction = \"none\", log_input = false, full = true)",
            result: "f32[5, 7]",
        },
        Example {
            inputs: &[("x", "f32[B, 17]", Domain::Normal), ("y", "f32[B, 17]", Domain::Positive)],
            call: "poisson_nll_loss(x, y)",
            result: "f32",
        },
    ],
};

/// `x · ln x`, and 0 where `x` is 0.
fn self_information(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let (zero, one) = (b.constant(x, 0.0)?, b.constant(x, 1.0)?);
    let none = b.map(MapOp::Eq, &[x, zero])?;
    let safe = b.select(none, one, x)?;
    let log = b.unary(MapOp::Log, safe)?;
    b.mul(x, log)
}

/// `max(ln x, −100)`. Where the bound holds the derivative is 0; that of the logarithm would be infinite.
fn bounded_log(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let (least, bound, one) = (b.constant(x, (-100_f64).exp())?, b.constant(x, -100.0)?, b.constant(x, 1.0)?);
    let low = b.map(MapOp::Le, &[x, least])?;
    let safe = b.select(low, one, x)?;
    let log = b.unary(MapOp::Log, safe)?;
    b.select(low, bound, log)
}

/// `x · ln x − x + ln(2πx)/2` above 1, and 0 elsewhere.
fn stirling(b: &mut Builder<'_>, x: Value) -> Result<Value, OpError> {
    let (zero, one) = (b.constant(x, 0.0)?, b.constant(x, 1.0)?);
    let small = b.map(MapOp::Le, &[x, one])?;
    let safe = b.select(small, one, x)?;
    let log = b.unary(MapOp::Log, safe)?;
    let power = b.mul(safe, log)?;
    let bulk = b.sub(power, safe)?;
    let circle = b.with(MapOp::Add, log, TAU.ln())?;
    let circle = b.with(MapOp::Mul, circle, 0.5)?;
    let sum = b.add(bulk, circle)?;
    b.select(small, zero, sum)
}
