//! Images of other extents: each axis is resized on its own.
//!
//! Always: where each element of the result lies between elements of the argument, and their weights, are computed at build time
//! in f64; the graph has moves for nearest neighbours, and otherwise a product with the matrix of weights, or sums of neighbours where
//! an axis may have any extent.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, moves, one};
use crate::ir::prim::{Cut, MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Value};
use crate::oracle::{Data, Tensor};

pub(super) const OPERATORS: &[Operator] =
    &[moves("Resize", |n| one(resize(n))), moves("Upsample", |n| one(upsample(n)))];

/// How an element between others is computed.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mode {
    Nearest(Rounding),
    Linear,
    Cubic,
}

/// Which neighbour is the nearest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
    /// Down where there are more elements, up where there are fewer: the first version.
    Simple,
}

/// How positions in the result become positions in the argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Transform {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    Crop,
}

/// The largest factor of an axis of which the number of elements is not known.
const MOST: i64 = 1 << 20;

/// The largest factor of such an axis where neighbours are weighted: each element between two others has nodes of its own.
const PHASES: i64 = 16;

/// Numbers that are kept for an element of the result: where it lies, and which element is nearest.
const OF_A_PLACE: i64 = 4;

/// What a node asks for.
struct Request {
    mode: Mode,
    transform: Transform,
    cubic: f64,
    exclude_outside: bool,
    antialias: bool,
    /// What is beyond the argument, of crops.
    beyond: f64,
}

/// What becomes of an axis.
#[derive(Clone, Debug)]
struct Along {
    axis: usize,
    /// Elements before and after.
    from: Dim,
    to: Dim,
    /// The factor between them, which may be a fraction.
    scale: f64,
    /// The part that is read, of crops.
    roi: [f64; 2],
}

impl Along {
    /// The factor, if it is whole.
    fn factor(&self) -> Option<i64> {
        let whole = self.scale as i64;
        (self.scale.fract() == 0.0 && self.to == self.from.clone() * Dim::from(whole)).then_some(whole)
    }
}

/// An axis with known extents.
#[derive(Clone, Copy)]
struct Extents {
    from: i64,
    to: i64,
}

fn resize(n: &mut Node<'_>) -> Made {
    let x = n.moved(0)?;
    let is_first = n.opset < 11;
    let request = Request {
        mode: mode(n, is_first)?,
        transform: if is_first { Transform::Asymmetric } else { transform(n)? },
        cubic: n.float("cubic_coeff_a", -0.75),
        exclude_outside: n.flag("exclude_outside"),
        antialias: n.flag("antialias"),
        beyond: n.float("extrapolation_value", 0.0),
    };
    let rank = n.b.rank(x);
    let axes = match n.ints("axes") {
        Some(axes) => n.axes_of(&axes, rank)?,
        None => (0..rank).collect(),
    };
    let roi = match request.transform {
        Transform::Crop => n.maybe_floats(1)?.filter(|roi| !roi.is_empty()),
        _ => None,
    };
    let roi = roi.unwrap_or_else(|| [vec![0.0; axes.len()], vec![1.0; axes.len()]].concat());
    if roi.len() != 2 * axes.len() {
        return Err(Failure::new(format!("a region of {} numbers for {} axes", roi.len(), axes.len())));
    }
    let scales = scales(n, if is_first { 1 } else { 2 })?;
    let policy = n.text("keep_aspect_ratio_policy", "stretch");
    let mut along = match scales {
        Some(scales) => by_scales(n, x, &axes, &scales)?,
        None => by_sizes(n, x, &axes, &policy)?,
    };
    for (k, own) in along.iter_mut().enumerate() {
        own.roi = [roi[k], roi[axes.len() + k]];
    }
    resized(n, x, &request, &along)
}

/// The operator that `Resize` replaced.
fn upsample(n: &mut Node<'_>) -> Made {
    let x = n.moved(0)?;
    let request = Request {
        mode: mode(n, true)?,
        transform: Transform::Asymmetric,
        cubic: -0.75,
        exclude_outside: false,
        antialias: false,
        beyond: 0.0,
    };
    let scales = match n.floats("scales") {
        Some(scales) => Some(scales),
        None => scales(n, 1)?,
    };
    let scales = scales.ok_or_else(|| Failure::new("it lacks `scales`"))?;
    let axes: Vec<usize> = (0..n.b.rank(x)).collect();
    let along = by_scales(n, x, &axes, &scales)?;
    resized(n, x, &request, &along)
}

fn mode(n: &Node<'_>, is_first: bool) -> Made<Mode> {
    let rounding = match n.text("nearest_mode", "round_prefer_floor").as_str() {
        _ if is_first => Rounding::Simple,
        "round_prefer_floor" => Rounding::PreferFloor,
        "round_prefer_ceil" => Rounding::PreferCeil,
        "floor" => Rounding::Floor,
        "ceil" => Rounding::Ceil,
        other => return Err(Failure::new(format!("the nearest mode `{other}` is not supported"))),
    };
    Ok(match n.text("mode", "nearest").as_str() {
        "nearest" => Mode::Nearest(rounding),
        "linear" | "bilinear" => Mode::Linear,
        "cubic" => Mode::Cubic,
        other => return Err(Failure::new(format!("the mode `{other}` is not supported"))),
    })
}

fn transform(n: &Node<'_>) -> Made<Transform> {
    Ok(match n.text("coordinate_transformation_mode", "half_pixel").as_str() {
        "half_pixel" => Transform::HalfPixel,
        "half_pixel_symmetric" => Transform::HalfPixelSymmetric,
        "pytorch_half_pixel" => Transform::PytorchHalfPixel,
        "align_corners" => Transform::AlignCorners,
        "asymmetric" => Transform::Asymmetric,
        "tf_crop_and_resize" => Transform::Crop,
        other => return Err(Failure::new(format!("the transformation `{other}` is not supported"))),
    })
}

/// The factors of an argument; an empty list is none.
fn scales(n: &Node<'_>, k: usize) -> Made<Option<Vec<f64>>> {
    Ok(n.maybe_floats(k)?.filter(|scales| !scales.is_empty()))
}

fn by_scales(n: &Node<'_>, x: Value, axes: &[usize], scales: &[f64]) -> Made<Vec<Along>> {
    if scales.len() != axes.len() {
        return Err(Failure::new(format!("{} factors for {} axes", scales.len(), axes.len())));
    }
    let shape = n.b.shape(x);
    let along = |(&axis, &scale): (&usize, &f64)| {
        let from = shape[axis].clone();
        let to = match from.as_const() {
            _ if !(scale > 0.0 && scale < 1e6) => return Err(Failure::new(format!("{scale} is no factor"))),
            Some(from) => Dim::from((from as f64 * scale) as i64),
            None if scale.fract() == 0.0 => from.clone() * Dim::from(scale as i64),
            None => return Err(Failure::new(format!("{from} elements times {scale} are not known to be whole"))),
        };
        Ok(Along { axis, from, to, scale, roi: [0.0, 1.0] })
    };
    axes.iter().zip(scales).map(along).collect()
}

fn by_sizes(n: &Node<'_>, x: Value, axes: &[usize], policy: &str) -> Made<Vec<Along>> {
    let sizes = n.maybe_dims(3)?.ok_or_else(|| Failure::new("it has neither `scales` nor `sizes`"))?;
    if sizes.len() != axes.len() {
        return Err(Failure::new(format!("{} sizes for {} axes", sizes.len(), axes.len())));
    }
    let shape = n.b.shape(x);
    let along = |(&axis, to): (&usize, Dim)| {
        let from = shape[axis].clone();
        let scale = match (from.as_const(), to.as_const()) {
            (Some(from), Some(to)) if from > 0 && to >= 0 => Some(to as f64 / from as f64),
            (Some(_), Some(_)) => None,
            _ => {
                let factor = to.exact_div(&from).and_then(|factor| factor.as_const());
                factor.filter(|factor| *factor > 0).map(|factor| factor as f64)
            }
        };
        let scale = scale.ok_or_else(|| Failure::new(format!("{from} elements are not resized to {to}")))?;
        Ok(Along { axis, from, to, scale, roi: [0.0, 1.0] })
    };
    let mut along = axes.iter().zip(sizes).map(along).collect::<Made<Vec<Along>>>()?;
    // One factor for all axes, where images keep their proportions.
    let factors = along.iter().map(|own| own.scale);
    let factor = match policy {
        "stretch" => return Ok(along),
        "not_larger" => factors.fold(f64::INFINITY, f64::min),
        "not_smaller" => factors.fold(0.0, f64::max),
        other => return Err(Failure::new(format!("the policy `{other}` is not supported"))),
    };
    for own in &mut along {
        own.scale = factor;
        own.to = match own.from.as_const() {
            Some(from) => Dim::from((factor * from as f64 + 0.5) as i64),
            None if factor.fract() == 0.0 => own.from.clone() * Dim::from(factor as i64),
            None => return Err(Failure::new(format!("{} elements are not resized by {factor}", own.from))),
        };
    }
    Ok(along)
}

/// Axis after axis. Integers are interpolated as floats, and rounded.
fn resized(n: &mut Node<'_>, x: Value, request: &Request, along: &[Along]) -> Made {
    let is_kept = |own: &&Along| own.from == own.to && (own.scale - 1.0).abs() < 1e-9 && own.roi == [0.0, 1.0];
    let along: Vec<&Along> = along.iter().filter(|own| !is_kept(own)).collect();
    if let Mode::Nearest(rounding) = request.mode {
        return along.into_iter().try_fold(x, |x, own| nearest(n, x, request, own, rounding));
    }
    let stored = n.b.dtype(x);
    let float = if stored.is_float() { stored.computed() } else { DType::F32 };
    let x = n.b.convert(x, float)?;
    let mut made = along.into_iter().try_fold(x, |x, own| weighted(n, x, request, own))?;
    if !stored.is_float() {
        made = n.b.unary(MapOp::Round, made)?;
    }
    Ok(n.b.convert(made, stored)?)
}

/// Where elements of the result lie in the argument; those beyond it are not numbers.
fn sources(request: &Request, own: &Along, extents: Extents) -> Vec<f64> {
    let (from, width) = (extents.from as f64, own.scale * extents.from as f64);
    let half = |x: f64| (x + 0.5) / own.scale - 0.5;
    let source = |x: f64| match request.transform {
        Transform::HalfPixel => half(x),
        Transform::PytorchHalfPixel => {
            if width == 1.0 {
                -0.5
            } else {
                half(x)
            }
        }
        Transform::HalfPixelSymmetric => from / 2.0 * (1.0 - extents.to as f64 / width) + half(x),
        Transform::AlignCorners => {
            if width == 1.0 {
                0.0
            } else {
                x * (from - 1.0) / (width - 1.0)
            }
        }
        Transform::Asymmetric => x / own.scale,
        Transform::Crop => {
            // In the precision of regions, in which what is meant to be whole is whole.
            let single = |x: f64| f64::from(x as f32);
            let (reach, start) = (single(own.roi[1] - own.roi[0]), single(own.roi[0] * (from - 1.0)));
            let at = match width == 1.0 {
                true => reach * (from - 1.0) / 2.0 + start,
                false => x * reach * (from - 1.0) / (width - 1.0) + start,
            };
            if at < 0.0 || at > from - 1.0 { f64::NAN } else { at }
        }
    };
    (0..extents.to).map(|x| source(x as f64)).collect()
}

/// Both extents of an axis, which are known.
fn extents(own: &Along) -> Made<Extents> {
    match (own.from.as_const(), own.to.as_const()) {
        (Some(from), Some(to)) if from > 0 && to >= 0 => Ok(Extents { from, to }),
        (Some(_), Some(_)) => Err(Failure::new(format!("{} elements are not resized to {}", own.from, own.to))),
        _ => Err(Failure::new(free(own))),
    }
}

/// What is said of an extent that is not known, and is to be.
fn free(own: &Along) -> String {
    let mut names = vec![];
    own.from.names(&mut |name| names.push(format!("`{name}`")));
    format!("{} elements are resized to {}, for which {} is to be a number", own.from, own.to, names.join(" and "))
}

/// The nearest neighbours along an axis.
fn nearest(n: &mut Node<'_>, x: Value, request: &Request, own: &Along, rounding: Rounding) -> Made {
    let factor = own.factor();
    // The pattern of a whole factor is that of any extent, unless it depends on where the axis ends.
    let depends = matches!(request.transform, Transform::AlignCorners | Transform::Crop);
    let known = match (own.from.as_const(), factor) {
        (None, Some(factor)) if !depends && factor <= MOST => Extents { from: 8, to: 8 * factor },
        _ => extents(own)?,
    };
    n.room(known.to.saturating_mul(OF_A_PLACE))?;
    let sources = sources(request, own, known);
    let at: Vec<i64> = sources.iter().map(|&at| neighbour(at, rounding, own.scale).clamp(0, known.from - 1)).collect();
    if let Some(factor) = factor
        && (0..).zip(&at).all(|(k, &at)| at == k / factor)
    {
        return repeated(n, x, own, factor);
    }
    if own.from.as_const().is_none() {
        return Err(Failure::new(free(own)));
    }
    let made = picked(n, x, own.axis, &at)?;
    beyond(n, made, request, own.axis, &sources)
}

/// Which of the elements around a position is taken.
fn neighbour(at: f64, rounding: Rounding, scale: f64) -> i64 {
    let whole = match rounding {
        Rounding::PreferFloor => (at - 0.5).ceil(),
        Rounding::PreferCeil => (at + 0.5).floor(),
        Rounding::Simple if scale < 1.0 => at.ceil(),
        Rounding::Floor | Rounding::Simple => at.floor(),
        Rounding::Ceil => at.ceil(),
    };
    whole as i64
}

/// Each element of an axis several times.
fn repeated(n: &mut Node<'_>, x: Value, own: &Along, factor: i64) -> Made {
    let mut shape = n.b.shape(x);
    shape.insert(own.axis + 1, 1.into());
    let apart = n.b.reshape(x, &shape)?;
    shape[own.axis + 1] = factor.into();
    let wide = n.b.broadcast_to(apart, &shape)?;
    shape.remove(own.axis + 1);
    shape[own.axis] = own.to.clone();
    Ok(n.b.reshape(wide, &shape)?)
}

/// Elements of an axis by known positions: a regular part is one slice.
fn picked(n: &mut Node<'_>, x: Value, axis: usize, at: &[i64]) -> Made {
    let step = match at {
        [first, second, ..] => second - first,
        _ => 1,
    };
    if let Some(&first) = at.first()
        && step > 0
        && at.windows(2).all(|pair| pair[1] - pair[0] == step)
    {
        let whole = |extent: &Dim| Cut { start: 0.into(), len: extent.clone(), step: 1 };
        let mut cuts: Vec<Cut> = n.b.shape(x).iter().map(whole).collect();
        cuts[axis] = Cut { start: first.into(), len: at.len().into(), step };
        return Ok(n.b.prim(Prim::Slice(cuts), &[x])?);
    }
    super::movement::pick(n, x, axis, at)
}

/// Puts the value for what is beyond the argument there.
fn beyond(n: &mut Node<'_>, made: Value, request: &Request, axis: usize, sources: &[f64]) -> Made {
    if !sources.iter().any(|at| at.is_nan()) {
        return Ok(made);
    }
    let is_beyond = sources.iter().map(|at| at.is_nan()).collect();
    let is_beyond = n.constant(Tensor::new([sources.len()], Data::Bool(is_beyond)))?;
    let mut along = vec![Dim::from(1); n.b.rank(made)];
    along[axis] = sources.len().into();
    let is_beyond = n.b.reshape(is_beyond, &along)?;
    let fill = n.full(Scalar::of(n.b.dtype(made), request.beyond), &[])?;
    Ok(n.b.select(is_beyond, fill, made)?)
}

/// Weighted neighbours along an axis that may have any extent, where there is a whole factor: neighbours at the same distances have the
/// same weights for every so many elements of the result.
fn phases(n: &mut Node<'_>, x: Value, request: &Request, own: &Along, factor: i64) -> Made {
    let reach = tap_count(request, own.scale) / 2;
    let middle = 2 * reach;
    let sample = Extents { from: 2 * middle + 1, to: (2 * middle + 1) * factor };
    let sources = sources(request, own, sample);
    // Neighbours beyond the axis are its ends.
    let mut wide = vec![n.b.slice(x, own.axis, 0.into(), 1.into())?; reach as usize];
    wide.push(x);
    let last = n.b.slice(x, own.axis, own.from.clone() - 1.into(), 1.into())?;
    wide.extend(vec![last; reach as usize]);
    let wide = n.b.prim(Prim::Concat { axis: own.axis }, &wide)?;
    let mut shape = n.b.shape(x);
    shape.insert(own.axis + 1, 1.into());
    let mut all = vec![];
    for &source in sources.iter().skip((middle * factor) as usize).take(factor as usize) {
        let mut sum = None;
        for (at, weight) in taps(request, own.scale, source, sample.from) {
            let start = Dim::from(at as i64 - middle + reach);
            let neighbour = n.b.slice(wide, own.axis, start, own.from.clone())?;
            let part = n.b.with(MapOp::Mul, neighbour, weight)?;
            sum = Some(sum.map_or(Ok(part), |sum| n.b.add(sum, part))?);
        }
        let Some(sum) = sum else { unreachable!("there are neighbours") };
        all.push(n.b.reshape(sum, &shape)?);
    }
    let made = n.b.prim(Prim::Concat { axis: own.axis + 1 }, &all)?;
    shape.remove(own.axis + 1);
    shape[own.axis] = own.to.clone();
    Ok(n.b.reshape(made, &shape)?)
}

/// The whole factor of an axis whose extent is not known, if what becomes of it is the same everywhere, but at its ends.
fn regular(request: &Request, own: &Along) -> Option<i64> {
    let depends = request.exclude_outside || matches!(request.transform, Transform::AlignCorners | Transform::Crop);
    own.factor().filter(|factor| own.from.as_const().is_none() && !depends && (1..=PHASES).contains(factor))
}

/// Weighted neighbours along an axis, as a product with the matrix of the weights.
fn weighted(n: &mut Node<'_>, x: Value, request: &Request, own: &Along) -> Made {
    if let Some(factor) = regular(request, own) {
        return phases(n, x, request, own, factor);
    }
    let (known, rank) = (extents(own)?, n.b.rank(x));
    if rank > 24 {
        return Err(Failure::new("more than 24 axes"));
    }
    n.room(known.from.saturating_add(tap_count(request, own.scale)).saturating_mul(known.to))?;
    let sources = sources(request, own, known);
    let (columns, mut matrix) = (known.from as usize, vec![]);
    for &at in &sources {
        let mut row = vec![0.0; columns];
        taps(request, own.scale, at, known.from).into_iter().for_each(|(at, weight)| row[at] += weight);
        matrix.extend(row);
    }
    let matrix = n.constant(Tensor::new([sources.len(), columns], Data::Float(n.b.dtype(x), matrix)))?;
    let lhs: Vec<u8> = (0..rank).map(|k| b'a' + k as u8).collect();
    let (rhs, mut out) = (vec![b'z', lhs[own.axis]], lhs.clone());
    out[own.axis] = b'z';
    let made = n.b.prim(Prim::Contract { lhs, rhs, out }, &[x, matrix])?;
    beyond(n, made, request, own.axis, &sources)
}

/// The scale of a filter: it is as wide as what an element of the result stands for.
fn filter_scale(request: &Request, scale: f64) -> f64 {
    if request.antialias { scale.min(1.0) } else { 1.0 }
}

/// How many neighbours have a weight.
fn tap_count(request: &Request, scale: f64) -> i64 {
    let reach = if request.mode == Mode::Cubic { 2.0 } else { 1.0 };
    2 * ((reach / filter_scale(request, scale)).ceil() as i64).min(i64::MAX / 4)
}

/// The neighbours of a position and their weights; those beyond the axis are its ends.
fn taps(request: &Request, scale: f64, at: f64, count: i64) -> Vec<(usize, f64)> {
    if at.is_nan() {
        return vec![];
    }
    // A position on an element is that element's right end.
    let low = at.ceil() - 1.0;
    let ratio = at - low;
    let scale = filter_scale(request, scale);
    let first = 1 - tap_count(request, scale) / 2;
    let weight = |k: i64| match request.mode {
        Mode::Cubic => cubic(scale * (k as f64 - ratio), request.cubic),
        Mode::Linear | Mode::Nearest(_) => (1.0 - (scale * (k as f64 - ratio)).abs()).max(0.0),
    };
    let is_outside = |at: i64| at < 0 || at >= count;
    let mut taps: Vec<(i64, f64)> = (first..2 - first).map(|k| (low as i64 + k, weight(k))).collect();
    if request.exclude_outside {
        taps.iter_mut().filter(|(at, _)| is_outside(*at)).for_each(|(_, weight)| *weight = 0.0);
    }
    let sum: f64 = taps.iter().map(|(_, weight)| weight).sum();
    let sum = if sum == 0.0 { 1.0 } else { sum };
    taps.into_iter().map(|(at, weight)| (at.clamp(0, count - 1) as usize, weight / sum)).collect()
}

/// Keys's kernel at a distance.
fn cubic(x: f64, a: f64) -> f64 {
    let x = x.abs();
    match x {
        _ if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
        _ if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
        _ => 0.0,
    }
}
