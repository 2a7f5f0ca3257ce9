//! Regions of images as images of one shape: each part of a region is the mean or the largest of samples between elements.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::sample::{Images, Padding, positions, read, within};
use super::{Operator, computes, one};
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::{Dim, Value};
use crate::oracle::{Data, Tensor};

pub(super) const OPERATORS: &[Operator] = &[computes("RoiAlign", |n| one(roi_align(n)))];

/// How regions are sampled.
struct Regions {
    /// The corners.
    rois: Value,
    scale: f64,
    half_pixel: bool,
    /// The most samples along each axis of a part.
    most: [i64; 2],
    /// How many samples there are along each axis, where regions differ in it.
    samples: Option<[Value; 2]>,
}

/// The most parts of a region, and samples of a part, along an axis.
const MOST: i64 = 1 << 12;

/// The axes of samples: region, channel, row and sample of it, column and sample of it, and both elements along both axes.
const SAMPLE_AXES: usize = 8;

fn roi_align(n: &mut Node<'_>) -> Made {
    let [x, rois, batch] = [n.arg(0)?, n.arg(1)?, n.arg(2)?];
    let (shape, corners) = (n.b.shape(x), n.b.shape(rois));
    if shape.len() != 4 || corners.len() != 2 || !corners[1].is(4) || !n.b.dtype(x).is_float() {
        return Err(Failure::new("it takes images of floats and a list of regions"));
    }
    let parts = [n.int("output_height", 1), n.int("output_width", 1)];
    let default = if n.opset < 16 { "output_half_pixel" } else { "half_pixel" };
    let half_pixel = n.text("coordinate_transformation_mode", default) == "half_pixel";
    let (ratio, scale) = (n.int("sampling_ratio", 0), n.float("spatial_scale", 1.0));
    if ratio > MOST || parts.iter().any(|part| !(1..=MOST).contains(part)) {
        return Err(Failure::new(format!("regions of {parts:?} parts with {ratio} samples along each axis")));
    }
    let rois = n.b.convert(rois, n.b.dtype(x))?;
    let mut regions = Regions { rois, scale, half_pixel, most: [ratio; 2], samples: None };
    if ratio <= 0 {
        adaptive(n, &mut regions, parts)?;
    }
    let (mut at, mut weight, mut taken) = (vec![], None, None);
    for axis in 0..2 {
        let (place, own, is_taken) = region_axis(n, &regions, axis, parts[axis], &shape[2 + axis])?;
        at.push(place);
        weight = Some(if let Some(weight) = weight { n.b.mul(weight, own)? } else { own });
        taken = match (taken, is_taken) {
            (Some(a), Some(b)) => Some(n.b.map(MapOp::And, &[a, b])?),
            (_, is_taken) => is_taken,
        };
    }
    let number = n.b.index(batch)?;
    let number = n.b.reshape(number, &within(SAMPLE_AXES, 0, &corners[..1]))?;
    let (channels, own) = (n.b.extent_u32(&shape[1])?, n.b.iota(&within(SAMPLE_AXES, 1, &shape[1..2]), 1)?);
    let number = n.b.mul(number, channels)?;
    let number = n.b.add(number, own)?;
    let row = n.b.reshape(x, &[n.b.ty(x).count()])?;
    let images = Images { row, number, extents: shape[2..].to_vec() };
    let read = read(n, &images, &at, Padding::Border)?;
    let weight = weight.ok_or_else(|| Failure::new("an image has two axes"))?;
    let weighted = n.b.mul(read, weight)?;
    pooled(n, &regions, weighted, taken)
}

/// The number of samples of each region, which must be known.
fn adaptive(n: &mut Node<'_>, regions: &mut Regions, parts: [i64; 2]) -> Made<()> {
    let known = n
        .known(1)
        .ok_or_else(|| Failure::new("how often regions are sampled depends on them: set `sampling_ratio`"))?;
    let (numbers, dtype) = (known.tensor().data.numbers(), n.b.dtype(regions.rois));
    let mut samples = vec![];
    for (axis, parts) in parts.into_iter().enumerate() {
        let along = |roi: &[f64]| {
            // As f32, in which what is meant to be whole is whole.
            let corner = |k: usize| (roi[k] * regions.scale) as f32 - if regions.half_pixel { 0.5 } else { 0.0 };
            let reach = corner(3 - axis) - corner(1 - axis);
            let reach = if regions.half_pixel { reach } else { reach.max(1.0) };
            f64::from((reach / parts as f32).ceil().max(0.0))
        };
        let own: Vec<f64> = numbers.chunks_exact(4).map(along).collect();
        regions.most[axis] = own.iter().copied().fold(1.0, f64::max) as i64;
        if regions.most[axis] > MOST {
            return Err(Failure::new(format!("a region with {} samples along an axis", regions.most[axis])));
        }
        let own = n.constant(Tensor::new([own.len()], Data::Float(dtype, own)))?;
        let count = n.b.shape(own);
        samples.push(n.b.reshape(own, &within(SAMPLE_AXES, 0, &count))?);
    }
    let [high, wide] = samples[..] else { return Err(Failure::new("an image has two axes")) };
    regions.samples = Some([high, wide]);
    Ok(())
}

/// Along an axis of regions: the elements beside each sample, their weights, and whether there is such a sample.
fn region_axis(
    n: &mut Node<'_>,
    regions: &Regions,
    axis: usize,
    parts: i64,
    extent: &Dim,
) -> Made<(Value, Value, Option<Value>)> {
    let count = n.b.shape(regions.rois)[..1].to_vec();
    let offset = if regions.half_pixel { 0.5 } else { 0.0 };
    // The corners are x, y, x, y.
    let mut corner = |k: usize| -> Made {
        let corner = n.b.slice(regions.rois, 1, k.into(), 1.into())?;
        let corner = n.b.reshape(corner, &within(SAMPLE_AXES, 0, &count))?;
        let corner = n.b.with(MapOp::Mul, corner, regions.scale)?;
        Ok(n.b.with(MapOp::Sub, corner, offset)?)
    };
    let [start, end] = [corner(1 - axis)?, corner(3 - axis)?];
    let mut reach = n.b.sub(end, start)?;
    let least = n.b.constant(reach, 1.0)?;
    if !regions.half_pixel {
        reach = n.b.map(MapOp::Max, &[reach, least])?;
    }
    let size = n.b.with(MapOp::Div, reach, parts as f64)?;
    let part = positions(n, reach, SAMPLE_AXES, 2 + 2 * axis, &parts.into())?;
    let sample = positions(n, reach, SAMPLE_AXES, 3 + 2 * axis, &regions.most[axis].into())?;
    let samples = match regions.samples {
        Some(samples) => n.b.map(MapOp::Max, &[samples[axis], least])?,
        None => n.b.constant(reach, regions.most[axis] as f64)?,
    };
    let is_taken = match regions.samples {
        Some(samples) => Some(n.b.map(MapOp::Lt, &[sample, samples[axis]])?),
        None => None,
    };
    let middle = n.b.with(MapOp::Add, sample, 0.5)?;
    let middle = n.b.div(middle, samples)?;
    let middle = n.b.add(part, middle)?;
    let steps = n.b.mul(middle, size)?;
    let at = n.b.add(start, steps)?;
    // Up to one element around the image is that beside it; there is nothing beyond.
    let (zero, count) = (n.b.constant(at, 0.0)?, n.b.extent(at, extent)?);
    let (is_before, is_after) = (n.b.with(MapOp::Lt, at, -1.0)?, n.b.map(MapOp::Lt, &[count, at])?);
    let is_beyond = n.b.map(MapOp::Or, &[is_before, is_after])?;
    let last = n.b.with(MapOp::Sub, count, 1.0)?;
    let at = n.b.map(MapOp::Max, &[at, zero])?;
    let at = n.b.map(MapOp::Min, &[at, last])?;
    let low = n.b.unary(MapOp::Floor, at)?;
    let tap = positions(n, at, SAMPLE_AXES, 6 + axis, &2.into())?;
    let place = n.b.add(low, tap)?;
    let distance = n.b.sub(at, place)?;
    let distance = n.b.unary(MapOp::Abs, distance)?;
    let weight = n.b.sub(least, distance)?;
    Ok((place, n.b.select(is_beyond, zero, weight)?, is_taken))
}

/// The mean or the largest of the samples of each part.
fn pooled(n: &mut Node<'_>, regions: &Regions, weighted: Value, taken: Option<Value>) -> Made {
    let (samples, zero) = ([3, 5, 6, 7], n.b.constant(weighted, 0.0)?);
    let is_max = match n.text("mode", "avg").as_str() {
        "avg" => false,
        "max" => true,
        other => return Err(Failure::new(format!("the mode `{other}` is not supported"))),
    };
    let op = if is_max { ReduceOp::Max } else { ReduceOp::Sum };
    let (Some(taken), Some([high, wide])) = (taken, regions.samples) else {
        let made = n.b.reduce(op, weighted, &samples)?;
        let count = (regions.most[0] * regions.most[1]) as f64;
        return Ok(if is_max { made } else { n.b.with(MapOp::Div, made, count)? });
    };
    let unit = n.b.constant(weighted, if is_max { f64::NEG_INFINITY } else { 0.0 })?;
    let weighted = n.b.select(taken, weighted, unit)?;
    let made = n.b.reduce_keep(op, weighted, &samples)?;
    let (count, least) = (n.b.mul(high, wide)?, n.b.constant(weighted, 1.0)?);
    let made = match is_max {
        true => {
            let is_empty = n.b.map(MapOp::Eq, &[count, zero])?;
            n.b.select(is_empty, zero, made)?
        }
        false => {
            let count = n.b.map(MapOp::Max, &[count, least])?;
            n.b.div(made, count)?
        }
    };
    let shape = n.b.shape(made);
    Ok(n.b.reshape(made, &[shape[0].clone(), shape[1].clone(), shape[2].clone(), shape[4].clone()])?)
}
