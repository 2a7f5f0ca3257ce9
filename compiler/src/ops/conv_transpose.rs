//! Transposed convolutions of any number of spatial axes: an op's arguments and attributes in, its result out.
//!
//! The transpose of a convolution as a linear map of its argument: a convolution of the argument spread by the
//! stride, with the taps reversed. Weights are `[inputs, channels / groups, kernel…]`, as PyTorch keeps them.

use super::conv::{channels, finish, params, uneven, wrong_channels};
use super::sliding::{nonnegative, positive};
use super::{AttrDecl, AttrKind, Attrs, Builder, LayerParam, OpError};
use crate::diag::Code;
use crate::ir::prim::{Prim, Window};
use crate::ir::{Dim, Value};

pub(super) const STRIDE: AttrDecl =
    AttrDecl::optional("stride", AttrKind::Ints, "1", "between the places of neighbouring elements in the result");
pub(super) const PADDING: AttrDecl = AttrDecl::optional(
    "padding",
    AttrKind::Ints,
    "0",
    "elements cut from both ends of each spatial axis of the result",
);
pub(super) const OUTPUT_PADDING: AttrDecl = AttrDecl::optional(
    "output_padding",
    AttrKind::Ints,
    "0",
    "elements more at the end of each spatial axis of the result, less than its stride or its dilation",
);

/// The transposed convolution of `args[0]` by `args[1]`, plus `args[2]` where it is given.
pub(super) fn convolve_back(b: &mut Builder<'_>, args: &[Value], attrs: &Attrs) -> Result<Vec<Value>, OpError> {
    let (x, weight) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
    let groups = attrs.positive("groups")?;
    if x.shape[1] != weight.shape[0] {
        return Err(wrong_channels(&weight.shape[0], &x.shape[1]));
    }
    let groups_dim = Dim::from(groups);
    let Some(each) = x.shape[1].exact_div(&groups_dim) else {
        let channels = x.shape[1].as_const().unwrap_or(1);
        return Err(uneven(groups, channels, &format!("the {} channels of {{0}}", x.shape[1])));
    };
    let (spatial, rank) = (&weight.shape[2..], weight.rank() + 1);
    let channels = groups_dim.clone() * weight.shape[1].clone();
    if let Some(&bias) = args.get(2)
        && b.shape(bias)[0] != channels
    {
        let message = format!("the result has {channels} channels, but {{2}} is {}", b.ty(bias));
        return Err(OpError::new(Code::ShapeMismatch, message).arg(2));
    }
    let windows = windows(attrs, &x.shape[2..], spatial)?;
    let grouped = [&[x.shape[0].clone(), groups_dim.clone(), each.clone()], &x.shape[2..]].concat();
    let kernels = [&[groups_dim, each, weight.shape[1].clone()], spatial].concat();
    let (grouped, kernels) = (b.reshape(args[0], &grouped)?, b.reshape(args[1], &kernels)?);
    let reversed = b.prim(Prim::Flip((3..rank).collect()), &[kernels])?;
    let exchanged: Vec<usize> = [0, 2, 1].into_iter().chain(3..rank).collect();
    let exchanged = b.transpose(reversed, &exchanged)?;
    let y = b.prim(Prim::Conv { windows }, &[grouped, exchanged])?;
    finish(b, y, args.get(2).copied())
}

/// How much longer each spatial axis of the result is than the shortest that the argument can come from.
fn output_padding(attrs: &Attrs, rank: usize) -> Result<Vec<i64>, OpError> {
    let (stride, dilation) = (positive(attrs, "stride", rank)?, positive(attrs, "dilation", rank)?);
    let more = nonnegative(attrs, "output_padding", rank)?;
    let Some(k) = (0..rank).find(|&k| more[k] >= stride[k].max(dilation[k])) else { return Ok(more) };
    let message = format!(
        "an `output_padding` of {} is neither less than the stride of {} nor than the dilation of {}",
        more[k], stride[k], dilation[k]
    );
    let most = stride[k].max(dilation[k]) - 1;
    let error = OpError::new(Code::WrongAttribute, message).attr("output_padding");
    Err(error.help(format!("write `output_padding = {most}`")))
}

/// The parameters of a layer.
pub(super) fn params_back(attrs: &Attrs, rank: usize) -> Result<Vec<LayerParam>, OpError> {
    let (input, output, groups) = channels(attrs)?;
    output_padding(attrs, rank)?;
    params(attrs, [input, output / groups], rank)
}

/// The windows over the spread argument, of which each spatial axis gives `(n − 1) · stride − 2 · padding +
/// dilation · (kernel − 1) + output_padding + 1` results.
fn windows(attrs: &Attrs, extents: &[Dim], kernel: &[Dim]) -> Result<Vec<Window>, OpError> {
    let rank = extents.len();
    let (stride, dilation) = (positive(attrs, "stride", rank)?, positive(attrs, "dilation", rank)?);
    let (padding, more) = (nonnegative(attrs, "padding", rank)?, output_padding(attrs, rank)?);
    let mut windows = vec![];
    for (k, (extent, size)) in extents.iter().zip(kernel).enumerate() {
        let reach = (size.clone() - Dim::from(1)) * Dim::from(dilation[k]);
        let low = reach - Dim::from(padding[k]);
        let high = low.clone() + Dim::from(more[k]);
        let window = Window { size: size.clone(), stride: 1, dilation: dilation[k], low, high, base: stride[k] };
        if let Some(left) = window.output(extent).as_const().filter(|&n| n < 1) {
            let message = format!("a padding of {} leaves {left} elements of axis {} of the result", padding[k], 2 + k);
            let most = padding[k] - (1 - left + 1) / 2;
            let error = OpError::new(Code::WrongAttribute, message).attr("padding");
            return Err(error.help(format!("write `padding = {most}`")));
        }
        windows.push(window);
    }
    Ok(windows)
}
