//! `CausalConvWithState`: a convolution of each channel over the positions up to its own, some of which came before.

use super::all;
use crate::ir::Dim;
use crate::ir::prim::{Prim, Window};
use crate::onnx::Failure;
use crate::onnx::node::{Made, Node};
use crate::onnx::operand::Operand;

pub(super) fn convolution(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let [x, weight] = [n.arg(0)?, n.arg(1)?];
    let (shape, kernel) = (n.b.shape(x), n.b.shape(weight));
    if shape.len() != 3 || kernel.len() != 3 {
        return Err(Failure::new("it takes [batch, channels, length] and [channels, 1, taps]"));
    }
    let (one, taps) = (Dim::from(1), kernel[2].clone());
    let before = taps.clone() - one.clone();
    let padded = match n.maybe(3)? {
        Some(past) => n.b.prim(Prim::Concat { axis: 2 }, &[past, x])?,
        None => n.b.pad(x, &[(0.into(), 0.into()), (0.into(), 0.into()), (before.clone(), 0.into())])?,
    };
    let channels = shape[1].clone();
    let length = n.b.shape(padded)[2].clone();
    let wide = n.b.reshape(padded, &[shape[0].clone(), channels.clone(), one.clone(), length])?;
    let weight = n.b.reshape(weight, &[channels.clone(), one.clone(), one.clone(), taps.clone()])?;
    let window = Window { size: taps, stride: 1, dilation: 1, low: 0.into(), high: 0.into(), base: 1 };
    let made = n.b.prim(Prim::Conv { windows: vec![window] }, &[wide, weight])?;
    let mut made = n.b.reshape(made, &shape)?;
    if let Some(bias) = n.maybe(2)? {
        let bias = n.b.reshape(bias, &[channels, one])?;
        made = n.b.add(made, bias)?;
    }
    let made = match n.text("activation", "none").as_str() {
        "none" => made,
        "silu" | "swish" => n.call("silu", &[made], &[])?,
        other => return Err(Failure::new(format!("the activation `{other}` is not supported"))),
    };
    let state = n.b.slice(padded, 2, shape[2].clone(), before)?;
    Ok(all(vec![made, state]))
}
