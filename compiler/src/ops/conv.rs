//! Convolutions of any number of spatial axes: an op's arguments and attributes in, its result out.
//!
//! `Conv1d` and `Conv2d` differ in their examples only. Weights are `[outputs, channels / groups, kernel…]`.

use super::initial::weight_and_bias;
use super::sliding::{Taps, check_steps, positive, windows};
use super::{AttrDecl, AttrKind, Attrs, Builder, LayerParam, OpError, nearest_divisor};
use crate::diag::Code;
use crate::ir::dim::product;
use crate::ir::prim::Prim;
use crate::ir::{Dim, Value};

pub(super) const INPUT: AttrDecl = AttrDecl::required("input", AttrKind::Int, "channels of the argument");
pub(super) const OUTPUT: AttrDecl = AttrDecl::required("output", AttrKind::Int, "channels of the result");
pub(super) const STRIDE: AttrDecl = AttrDecl::optional(
    "stride",
    AttrKind::Ints,
    "1",
    "from one window to the next, one number for each spatial axis or one for all",
);
pub(super) const PADDING: AttrDecl = AttrDecl::optional(
    "padding",
    AttrKind::IntsOr(&["same"]),
    "0",
    "zeros on both sides of each spatial axis; \"same\" keeps the extents (stride 1)",
);
pub(super) const GROUPS: AttrDecl =
    AttrDecl::optional("groups", AttrKind::Int, "1", "parts of the channels that do not see each other");
pub(super) const BIAS: AttrDecl =
    AttrDecl::optional("bias", AttrKind::Bool, "true", "whether a learnt offset is added to each channel");

/// The parameters of a layer: the weight with these channels in front of the kernel, and the bias.
pub(super) fn params(attrs: &Attrs, channels: [i64; 2], rank: usize) -> Result<Vec<LayerParam>, OpError> {
    let kernel = positive(attrs, "kernel", rank)?;
    check_steps(attrs, rank)?;
    let shape: Vec<Dim> = channels.iter().chain(&kernel).map(|&n| Dim::from(n)).collect();
    // PyTorch's fan is the second extent times the kernel's, for transposed convolutions as well.
    let fan_in = kernel.iter().fold(channels[1], |fan, n| fan.saturating_mul(*n));
    weight_and_bias(attrs, shape, attrs.positive("output")?, fan_in)
}

/// The channels of both sides of a layer and its groups, which divide them.
pub(super) fn channels(attrs: &Attrs) -> Result<(i64, i64, i64), OpError> {
    let (input, output, groups) = (attrs.positive("input")?, attrs.positive("output")?, attrs.positive("groups")?);
    for (name, channels) in [("input", input), ("output", output)] {
        if channels % groups != 0 {
            let what = format!("the {channels} channels of `{name}`");
            return Err(uneven(groups, common_divisor(input, output), &what));
        }
    }
    Ok((input, output, groups))
}

fn common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Groups that do not divide channels; `channels` are what they must divide.
pub(super) fn uneven(groups: i64, channels: i64, what: &str) -> OpError {
    let fitting = nearest_divisor(channels, groups).unwrap_or(1);
    OpError::new(Code::NonDivisible, format!("{groups} groups do not divide {what}"))
        .attr("groups")
        .help(format!("write `groups = {fitting}`"))
}

/// The argument has other channels than the weight was made for.
pub(super) fn wrong_channels(wanted: &Dim, found: &Dim) -> OpError {
    let word = if wanted.is(1) { "channel" } else { "channels" };
    OpError::new(Code::WrongFeatures, format!("`{{callee}}` takes {wanted} {word}, but {{0}} has {found}")).arg(0)
}

/// The cross-correlation of `args[0]` by `args[1]`, plus `args[2]` where it is given.
pub(super) fn convolve(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Vec<Value>, OpError> {
    let (x, weight) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
    let rank = x.rank() - 2;
    let groups = attrs.positive("groups")?;
    let each = weight.shape[1].clone();
    let wanted = each.clone() * Dim::from(groups);
    if x.shape[1] != wanted {
        return Err(wrong_channels(&wanted, &x.shape[1]));
    }
    let groups_dim = Dim::from(groups);
    let Some(outputs) = weight.shape[0].exact_div(&groups_dim) else {
        let channels = weight.shape[0].as_const().unwrap_or(1);
        return Err(uneven(groups, channels, &format!("the {} outputs of {{1}}", weight.shape[0])));
    };
    let (stride, dilation) = (positive(attrs, "stride", rank)?, positive(attrs, "dilation", rank)?);
    let tap = |k: usize| Taps { size: weight.shape[2 + k].clone(), stride: stride[k], dilation: dilation[k] };
    let windows = windows(attrs, &x, (0..rank).map(tap).collect())?;
    let grouped = [&[x.shape[0].clone(), groups_dim.clone(), each.clone()], &x.shape[2..]].concat();
    let kernels = [&[groups_dim, outputs, each], &weight.shape[2..]].concat();
    let (grouped, kernels) = (b.reshape(args[0], &grouped)?, b.reshape(args[1], &kernels)?);
    let y = b.prim(Prim::Conv { windows }, &[grouped, kernels])?;
    finish(b, y, args.get(2).copied())
}

/// Joins the groups of a result and adds the bias.
pub(super) fn finish(b: &mut Builder<'_>, y: Value, bias: Option<Value>) -> Result<Vec<Value>, OpError> {
    let full = b.shape(y);
    let channels = product(&full[1..3]);
    let y = b.reshape(y, &[&[full[0].clone(), channels.clone()], &full[3..]].concat())?;
    let Some(bias) = bias else { return Ok(vec![y]) };
    let column = b.reshape(bias, &[&[channels], &*vec![Dim::from(1); full.len() - 3]].concat())?;
    Ok(vec![b.add(y, column)?])
}
