//! Convolutions, and their transposes.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::norms::of_channels;
use super::sliding::{numbers, sliding};
use super::{Operator, computes, one};
use crate::ir::dim::product;
use crate::ir::prim::{Prim, Window};
use crate::ir::{Dim, Value};

pub(super) const OPERATORS: &[Operator] =
    &[computes("Conv", |n| one(convolve(n))), computes("ConvTranspose", |n| one(transposed(n)))];

fn convolve(n: &mut Node<'_>) -> Made {
    let [x, weight] = [n.arg(0)?, n.arg(1)?];
    let made = convolution(n, x, weight, n.int("group", 1).max(1))?;
    let bias = n.maybe(2)?;
    with_bias(n, made, bias)
}

/// The cross-correlation of `[batch, channels, spatial…]` by `[outputs, channels / group, kernel…]`.
pub(super) fn convolution(n: &mut Node<'_>, x: Value, weight: Value, group: i64) -> Made {
    let (own, filters) = (n.b.ty(x).clone(), n.b.shape(weight));
    if filters.len() < 3 {
        return Err(Failure::new("the filters have no spatial axis"));
    }
    n.agrees("kernel_shape", &filters[2..])?;
    let windows = sliding(n, &own, &filters[2..])?.windows;
    let (each, outputs) = (filters[1].clone(), filters[0].exact_div(&Dim::from(group)));
    let outputs = outputs.ok_or_else(|| Failure::new(format!("{group} groups of {} outputs", filters[0])))?;
    if own.shape[1] != each.clone() * Dim::from(group) {
        let message = format!("{} channels, but {group} groups of {each} are asked for", own.shape[1]);
        return Err(Failure::new(message));
    }
    let grouped = [&[own.shape[0].clone(), group.into(), each.clone()], &own.shape[2..]].concat();
    let kernels = [&[group.into(), outputs, each], &filters[2..]].concat();
    let [grouped, kernels] = [n.b.reshape(x, &grouped)?, n.b.reshape(weight, &kernels)?];
    let made = n.b.prim(Prim::Conv { windows }, &[grouped, kernels])?;
    joined(n, made)
}

/// Groups of channels as one axis.
fn joined(n: &mut Node<'_>, made: Value) -> Made {
    let full = n.b.shape(made);
    let shape = [&[full[0].clone(), product(&full[1..3])], &full[3..]].concat();
    Ok(n.b.reshape(made, &shape)?)
}

/// A number for each channel is added.
pub(super) fn with_bias(n: &mut Node<'_>, made: Value, bias: Option<Value>) -> Made {
    let Some(bias) = bias else { return Ok(made) };
    let column = of_channels(n, bias, n.b.rank(made))?;
    Ok(n.b.add(made, column)?)
}

/// The transpose: a convolution of the argument spread by the stride, with the taps reversed. Filters are
/// `[channels, outputs / group, kernel…]`.
fn transposed(n: &mut Node<'_>) -> Made {
    let [x, weight] = [n.arg(0)?, n.arg(1)?];
    let (own, filters) = (n.b.shape(x), n.b.shape(weight));
    let rank = filters.len().saturating_sub(2);
    let group = n.int("group", 1).max(1);
    let each = filters.first().and_then(|channels| channels.exact_div(&Dim::from(group)));
    let (Some(each), true) = (each, own.len() == rank + 2 && rank > 0 && own.get(1) == filters.first()) else {
        return Err(Failure::new(format!("{group} groups of {} by {}", n.b.ty(x), n.b.ty(weight))));
    };
    n.agrees("kernel_shape", &filters[2..])?;
    let windows = spread(n, &own[2..], &filters[2..])?;
    let grouped = [&[own[0].clone(), group.into(), each.clone()], &own[2..]].concat();
    let kernels = [&[group.into(), each, filters[1].clone()], &filters[2..]].concat();
    let [grouped, kernels] = [n.b.reshape(x, &grouped)?, n.b.reshape(weight, &kernels)?];
    let reversed = n.b.prim(Prim::Flip((3..rank + 3).collect()), &[kernels])?;
    let exchanged: Vec<usize> = [0, 2, 1].into_iter().chain(3..rank + 3).collect();
    let exchanged = n.b.transpose(reversed, &exchanged)?;
    let made = n.b.prim(Prim::Conv { windows }, &[grouped, exchanged])?;
    let made = joined(n, made)?;
    let bias = n.maybe(2)?;
    with_bias(n, made, bias)
}

/// The windows over the spread argument: what is padding of the result is cut from them.
fn spread(n: &Node<'_>, extents: &[Dim], sizes: &[Dim]) -> Made<Vec<Window>> {
    let rank = sizes.len();
    let (strides, dilations) = (numbers(n, "strides", rank, 1)?, numbers(n, "dilations", rank, 1)?);
    let (pads, more) = (numbers(n, "pads", 2 * rank, 0)?, numbers(n, "output_padding", rank, 0)?);
    let (auto, asked) = (n.text("auto_pad", "NOTSET"), n.ints("output_shape"));
    let mut windows = vec![];
    for k in 0..rank {
        let reach = (sizes[k].clone() - 1.into()) * Dim::from(dilations[k]);
        let full = (extents[k].clone() - 1.into()) * Dim::from(strides[k]) + reach.clone() + Dim::from(more[k] + 1);
        let is_same = auto.starts_with("SAME");
        let wanted = match &asked {
            Some(asked) => Some(Dim::from(*asked.get(k).ok_or_else(|| Failure::new("`output_shape` is too short"))?)),
            None => is_same.then(|| extents[k].clone() * Dim::from(strides[k])),
        };
        let (low, high) = match wanted {
            Some(wanted) => {
                let total = full - wanted;
                // Of a result that is longer than what the argument reaches, the rest stands at the end.
                if total.as_const().is_some_and(|total| total < 0) {
                    (0.into(), total)
                } else {
                    let less = total.floor_div(&2.into());
                    let larger = total - less.clone();
                    if auto == "SAME_UPPER" { (less, larger) } else { (larger, less) }
                }
            }
            None => (pads[k].into(), pads[rank + k].into()),
        };
        windows.push(Window {
            size: sizes[k].clone(),
            stride: 1,
            dilation: dilations[k],
            low: reach.clone() - low,
            high: reach - high + Dim::from(more[k]),
            base: strides[k],
        });
    }
    Ok(windows)
}
