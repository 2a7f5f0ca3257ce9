//! Images read at places that are computed, and windows put back where they came from.
//!
//! Always: places beyond an image are never read; what stands for them is chosen instead. Images are read as one row of all their
//! elements, so that a place is one number.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::dim::product;
use crate::ir::prim::{Border, MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    computes("GridSample", |n| one(grid_sample(n))),
    computes("AffineGrid", |n| one(affine_grid(n))),
    computes("DeformConv", |n| one(deform_conv(n))),
    computes("Col2Im", |n| one(col2im(n))),
    computes("MaxUnpool", |n| one(max_unpool(n))),
];

/// What stands for the elements around an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Padding {
    Zeros,
    Border,
    /// Elements mirrored at the middles of the outermost ones, or else at their outer edges.
    Reflection {
        at_middles: bool,
    },
}

/// Which elements around a place take part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kernel {
    Linear,
    Cubic,
}

/// Images that are read.
pub(super) struct Images {
    /// All elements.
    pub(super) row: Value,
    /// The number of the image, with as many axes as the places have.
    pub(super) number: Value,
    /// The extents of an image.
    pub(super) extents: Vec<Dim>,
}

/// A shape of ones but for these extents from an axis on.
pub(super) fn within(rank: usize, first: usize, extents: &[Dim]) -> Vec<Dim> {
    let mut shape = vec![Dim::from(1); rank];
    shape[first..first + extents.len()].clone_from_slice(extents);
    shape
}

/// Whether an axis can have that extent.
fn is_extent(extent: &Dim) -> bool {
    extent.as_const().is_none_or(|extent| extent > 0)
}

/// Positions along an axis as numbers of the type of `like`, with the other axes of extent 1.
pub(super) fn positions(n: &mut Node<'_>, like: Value, rank: usize, axis: usize, extent: &Dim) -> Made {
    let own = n.b.iota(&within(rank, axis, std::slice::from_ref(extent)), axis)?;
    Ok(n.b.convert(own, n.b.dtype(like))?)
}

/// Images of which the places have `rank` axes, the first ones those of `lead`, along which the images lie.
fn images(n: &mut Node<'_>, x: Value, lead: &[Dim], extents: &[Dim], rank: usize) -> Made<Images> {
    let number = n.b.iota(&[product(lead)], 0)?;
    let number = n.b.reshape(number, &within(rank, 0, lead))?;
    let row = n.b.reshape(x, &[n.b.ty(x).count()])?;
    Ok(Images { row, number, extents: extents.to_vec() })
}

/// The elements at whole places, one for each axis of an image.
pub(super) fn read(n: &mut Node<'_>, images: &Images, at: &[Value], padding: Padding) -> Made {
    let (mut place, mut inside) = (images.number, None);
    let mut sum: Option<Value> = None;
    for (&at, extent) in at.iter().zip(&images.extents) {
        let (zero, count) = (n.b.constant(at, 0.0)?, n.b.extent(at, extent)?);
        let last = n.b.with(MapOp::Sub, count, 1.0)?;
        let at = match padding {
            Padding::Reflection { at_middles } => reflected(n, at, extent, at_middles)?,
            Padding::Zeros | Padding::Border => at,
        };
        if padding == Padding::Zeros {
            let [low, high] = [n.b.map(MapOp::Le, &[zero, at])?, n.b.map(MapOp::Le, &[at, last])?];
            let fits = n.b.map(MapOp::And, &[low, high])?;
            inside = Some(match inside {
                Some(inside) => n.b.map(MapOp::And, &[inside, fits])?,
                None => fits,
            });
        }
        let at = n.b.map(MapOp::Max, &[at, zero])?;
        let at = n.b.map(MapOp::Min, &[at, last])?;
        let (at, count) = (n.b.convert(at, DType::U32)?, n.b.extent_u32(extent)?);
        sum = Some(match sum {
            Some(sum) => {
                let sum = n.b.mul(sum, count)?;
                n.b.add(sum, at)?
            }
            None => at,
        });
        place = n.b.mul(place, count)?;
    }
    let sum = sum.ok_or_else(|| Failure::new("an image has at least one axis"))?;
    place = n.b.add(place, sum)?;
    let read = n.b.prim(Prim::Gather { axis: 0 }, &[images.row, place])?;
    let Some(inside) = inside else { return Ok(read) };
    let zero = n.b.constant(read, 0.0)?;
    Ok(n.b.select(inside, read, zero)?)
}

/// Places mirrored at both ends of an axis until they are between them.
fn reflected(n: &mut Node<'_>, at: Value, extent: &Dim, at_middles: bool) -> Made {
    let (count, edge) = (n.b.extent(at, extent)?, if at_middles { 0.0 } else { -0.5 });
    let high = n.b.with(MapOp::Sub, count, if at_middles { 1.0 } else { 0.5 })?;
    let low = n.b.constant(at, edge)?;
    let reach = n.b.sub(high, low)?;
    let least = n.b.constant(at, 0.5)?;
    let reach = n.b.map(MapOp::Max, &[reach, least])?;
    // How often the reach fits between the place and the lower end, and what is left.
    let offset = n.b.sub(at, low)?;
    let times = n.b.div(offset, reach)?;
    let times = n.b.unary(MapOp::Floor, times)?;
    let whole = n.b.mul(times, reach)?;
    let rest = n.b.sub(offset, whole)?;
    let half = n.b.with(MapOp::Mul, times, 0.5)?;
    let floor = n.b.unary(MapOp::Floor, half)?;
    let is_odd = n.b.map(MapOp::Ne, &[half, floor])?;
    let (up, down) = (n.b.add(low, rest)?, n.b.sub(high, rest)?);
    Ok(n.b.select(is_odd, down, up)?)
}

/// The sum of the weighted elements around places, one for each axis of an image.
fn interpolated(n: &mut Node<'_>, images: &Images, at: &[Value], kernel: Kernel, padding: Padding) -> Made {
    let (count, first) = if kernel == Kernel::Cubic { (4, -1.0) } else { (2, 0.0) };
    let (spatial, rank) = (at.len(), n.b.rank(images.number));
    let dtype = n.b.dtype(images.row);
    let mut places = vec![];
    let mut weight: Option<Value> = None;
    for (k, &at) in at.iter().enumerate() {
        let wide = [n.b.shape(at), vec![1.into(); spatial]].concat();
        let at = n.b.reshape(at, &wide)?;
        let low = n.b.unary(MapOp::Floor, at)?;
        let tap = positions(n, at, rank + spatial, rank + k, &count.into())?;
        let tap = n.b.with(MapOp::Add, tap, first)?;
        let place = n.b.add(low, tap)?;
        let distance = n.b.sub(at, place)?;
        let distance = n.b.unary(MapOp::Abs, distance)?;
        let own = match kernel {
            Kernel::Linear => {
                let one = n.b.constant(distance, 1.0)?;
                n.b.sub(one, distance)?
            }
            Kernel::Cubic => cubic(n, distance)?,
        };
        let own = n.b.convert(own, dtype)?;
        weight = Some(match weight {
            Some(weight) => n.b.mul(weight, own)?,
            None => own,
        });
        places.push(place);
    }
    let number = n.b.reshape(images.number, &[n.b.shape(images.number), vec![1.into(); spatial]].concat())?;
    let images = Images { row: images.row, number, extents: images.extents.clone() };
    let read = read(n, &images, &places, padding)?;
    let weight = weight.ok_or_else(|| Failure::new("an image has at least one axis"))?;
    let weighted = n.b.mul(read, weight)?;
    let taps: Vec<usize> = (rank..rank + spatial).collect();
    Ok(n.b.sum(weighted, &taps)?)
}

/// `((f · x + e) · x + d) · x + c`
fn cubic_of(n: &mut Node<'_>, x: Value, [f, e, d, c]: [f64; 4]) -> Made {
    let mut sum = n.b.with(MapOp::Mul, x, f)?;
    for (coefficient, is_last) in [(e, false), (d, false), (c, true)] {
        sum = n.b.with(MapOp::Add, sum, coefficient)?;
        sum = if is_last { sum } else { n.b.mul(sum, x)? };
    }
    Ok(sum)
}

/// Keys's kernel with -0.75 at a distance below 2.
fn cubic(n: &mut Node<'_>, distance: Value) -> Made {
    let a = -0.75;
    let near = cubic_of(n, distance, [a + 2.0, -(a + 3.0), 0.0, 1.0])?;
    let far = cubic_of(n, distance, [a, -5.0 * a, 8.0 * a, -4.0 * a])?;
    let is_near = n.b.with(MapOp::Lt, distance, 1.0)?;
    Ok(n.b.select(is_near, near, far)?)
}

fn grid_sample(n: &mut Node<'_>) -> Made {
    let [x, grid] = [n.arg(0)?, n.arg(1)?];
    let (shape, places) = (n.b.shape(x), n.b.shape(grid));
    let spatial = shape.len().saturating_sub(2);
    if spatial == 0 || places.len() != shape.len() || !places[spatial + 1].is(spatial as i64) {
        return Err(Failure::new(format!("places of shape {places:?} in images of shape {shape:?}")));
    }
    let at_middles = n.flag("align_corners");
    let padding = match n.text("padding_mode", "zeros").as_str() {
        "zeros" => Padding::Zeros,
        "border" => Padding::Border,
        "reflection" => Padding::Reflection { at_middles },
        other => return Err(Failure::new(format!("the padding `{other}` is not supported"))),
    };
    let kernel = match n.text("mode", "linear").as_str() {
        "nearest" => None,
        "linear" | "bilinear" => Some(Kernel::Linear),
        "cubic" | "bicubic" => Some(Kernel::Cubic),
        other => return Err(Failure::new(format!("the mode `{other}` is not supported"))),
    };
    if kernel.is_some() && !n.b.dtype(x).is_float() {
        return Err(Failure::new("only floats are interpolated"));
    }
    let mut at = vec![];
    for (axis, extent) in shape[2..].iter().enumerate() {
        // The last number of a place is that of the first axis.
        let column = n.b.slice(grid, spatial + 1, (spatial - 1 - axis).into(), 1.into())?;
        let apart = [&places[..1], &[Dim::from(1)], &places[1..=spatial]].concat();
        let column = n.b.reshape(column, &apart)?;
        at.push(place(n, column, extent, kernel.is_none(), padding, at_middles)?);
    }
    let images = images(n, x, &shape[..2], &shape[2..], shape.len())?;
    match kernel {
        None => read(n, &images, &at, padding),
        Some(kernel) => interpolated(n, &images, &at, kernel, padding),
    }
}

/// Where a number from -1 to 1 lies along an axis.
fn place(n: &mut Node<'_>, at: Value, extent: &Dim, is_whole: bool, padding: Padding, at_middles: bool) -> Made {
    let count = n.b.extent(at, extent)?;
    let last = n.b.with(MapOp::Sub, count, 1.0)?;
    let from_start = n.b.with(MapOp::Add, at, 1.0)?;
    let half = n.b.with(MapOp::Mul, from_start, 0.5)?;
    let mut at = match at_middles {
        true => n.b.mul(half, last)?,
        false => {
            let at = n.b.mul(half, count)?;
            n.b.with(MapOp::Sub, at, 0.5)?
        }
    };
    if is_whole {
        at = n.b.unary(MapOp::Round, at)?;
    }
    match padding {
        Padding::Zeros => Ok(at),
        Padding::Reflection { .. } => reflected(n, at, extent, at_middles),
        Padding::Border => {
            // Up to their outer edges the outermost elements are those beside the place.
            let edge = if at_middles { 0.0 } else { 0.5 };
            let zero = n.b.constant(at, 0.0)?;
            let (is_before, end) = (n.b.with(MapOp::Lt, at, -edge)?, n.b.with(MapOp::Add, last, edge)?);
            let is_after = n.b.map(MapOp::Lt, &[end, at])?;
            let at = n.b.select(is_before, zero, at)?;
            Ok(n.b.select(is_after, last, at)?)
        }
    }
}

/// The places that affine maps take a grid from -1 to 1 to.
fn affine_grid(n: &mut Node<'_>) -> Made {
    let (theta, size) = (n.arg(0)?, n.maybe_dims(1)?.ok_or_else(|| Failure::new("it lacks `size`"))?);
    let (maps, spatial) = (n.b.shape(theta), size.len().saturating_sub(2));
    let fits = maps.len() == 3
        && spatial > 0
        && size[2..].iter().all(is_extent)
        && maps[1].is(spatial as i64)
        && maps[2].is(spatial as i64 + 1);
    if !fits {
        return Err(Failure::new(format!("maps of shape {maps:?} for images of shape {size:?}")));
    }
    let (rank, at_middles) = (spatial + 2, n.flag("align_corners"));
    let column = |n: &mut Node<'_>, k: usize| -> Made {
        let column = n.b.slice(theta, 2, k.into(), 1.into())?;
        let mut shape = within(rank, 0, &maps[..1]);
        shape[rank - 1] = maps[1].clone();
        Ok(n.b.reshape(column, &shape)?)
    };
    let mut sum = column(n, spatial)?;
    for (axis, extent) in size[2..].iter().enumerate() {
        let own = positions(n, theta, rank, 1 + axis, extent)?;
        let count = n.b.extent(theta, extent)?;
        let twice = n.b.with(MapOp::Mul, own, 2.0)?;
        // At the middles of the elements from one end to the other: twice the position less the last one, over the last one.
        let [offset, over] = match at_middles {
            true => [n.b.with(MapOp::Sub, count, 1.0)?; 2],
            false => [n.b.with(MapOp::Sub, count, 1.0)?, count],
        };
        let least = n.b.constant(over, 1.0)?;
        let over = n.b.map(MapOp::Max, &[over, least])?;
        let from_middle = n.b.sub(twice, offset)?;
        let at = n.b.div(from_middle, over)?;
        let factor = column(n, spatial - 1 - axis)?;
        let term = n.b.mul(factor, at)?;
        sum = n.b.add(sum, term)?;
    }
    let shape = [&maps[..1], &size[2..], &maps[1..2]].concat();
    Ok(n.b.broadcast_to(sum, &shape)?)
}

/// A convolution of which each tap reads where an offset says.
fn deform_conv(n: &mut Node<'_>) -> Made {
    let [x, weight, offset] = [n.arg(0)?, n.arg(1)?, n.arg(2)?];
    let (bias, mask) = (n.maybe(3)?, n.maybe(4)?);
    let [images_of, kernels, offsets] = [n.b.shape(x), n.b.shape(weight), n.b.shape(offset)];
    let spatial = images_of.len().saturating_sub(2);
    if spatial == 0 || kernels.len() != spatial + 2 || offsets.len() != spatial + 2 {
        return Err(Failure::new("images, kernels and offsets do not have the same axes"));
    }
    n.agrees("kernel_shape", &kernels[2..])?;
    let (groups, parts) = (Dim::from(n.int("group", 1).max(1)), Dim::from(n.int("offset_group", 1).max(1)));
    let (taps, places) = (&kernels[2..], &offsets[2..]);
    let (Some(outputs), Some(each)) = (kernels[0].exact_div(&groups), images_of[1].exact_div(&parts)) else {
        return Err(Failure::new("groups do not divide the channels"));
    };
    let lead = [images_of[0].clone(), parts.clone(), each];
    let front = [lead[0].clone(), parts, Dim::from(1)];
    let rank = 3 + 2 * spatial;
    let wide = [&front[..2], &[product(taps), spatial.into()], places].concat();
    let offset = n.b.reshape(offset, &wide)?;
    let at = (0..spatial).map(|axis| {
        let own = n.b.slice(offset, 3, axis.into(), 1.into())?;
        let own = n.b.reshape(own, &[&front, taps, places].concat())?;
        tapped(n, own, axis, spatial)
    });
    let at = at.collect::<Made<Vec<Value>>>()?;
    let images = images(n, x, &lead, &images_of[2..], rank)?;
    let mut read = interpolated(n, &images, &at, Kernel::Linear, Padding::Zeros)?;
    if let Some(mask) = mask {
        let mask = n.b.reshape(mask, &[&front, taps, places].concat())?;
        read = n.b.mul(read, mask)?;
    }
    let inputs = [lead[0].clone(), groups.clone(), kernels[1].clone(), product(taps), product(places)];
    let read = n.b.reshape(read, &inputs)?;
    let weight = n.b.reshape(weight, &[groups, outputs, kernels[1].clone(), product(taps)])?;
    let made = n.b.contract("ngckp,gock->ngop", read, weight)?;
    let made = n.b.reshape(made, &[&[lead[0].clone(), kernels[0].clone()], places].concat())?;
    let Some(bias) = bias else { return Ok(made) };
    let bias = n.b.reshape(bias, &within(spatial + 2, 1, &kernels[..1]))?;
    Ok(n.b.add(made, bias)?)
}

/// Where taps read along an axis: offsets with three axes in front of those of the kernel and of the result.
fn tapped(n: &mut Node<'_>, offset: Value, axis: usize, spatial: usize) -> Made {
    let (shape, rank) = (n.b.shape(offset), 3 + 2 * spatial);
    let steps = Steps::of(n, spatial)?;
    let tap = positions(n, offset, rank, 3 + axis, &shape[3 + axis])?;
    let tap = n.b.with(MapOp::Mul, tap, steps.dilations[axis] as f64)?;
    let window = positions(n, offset, rank, 3 + spatial + axis, &shape[3 + spatial + axis])?;
    let window = n.b.with(MapOp::Mul, window, steps.strides[axis] as f64)?;
    let window = n.b.with(MapOp::Sub, window, steps.pads[axis] as f64)?;
    let at = n.b.add(tap, window)?;
    Ok(n.b.add(at, offset)?)
}

/// How windows lie over images.
struct Steps {
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Elements before all axes, then those after them.
    pads: Vec<i64>,
}

impl Steps {
    fn of(n: &Node<'_>, spatial: usize) -> Made<Steps> {
        let list = |name: &str, count: usize, default: i64| n.ints(name).unwrap_or_else(|| vec![default; count]);
        let strides = list("strides", spatial, 1);
        let (dilations, pads) = (list("dilations", spatial, 1), list("pads", 2 * spatial, 0));
        let is_step = |list: &[i64]| list.len() == spatial && list.iter().all(|step| (1..1 << 31).contains(step));
        let fits = pads.len() == 2 * spatial && pads.iter().all(|pad| (0..1 << 31).contains(pad));
        match is_step(&strides) && is_step(&dilations) && fits {
            true => Ok(Steps { strides, dilations, pads }),
            false => Err(Failure::new(format!("its strides, dilations or pads are not those of {spatial} axes"))),
        }
    }
}

/// Windows summed where they overlap: for each element of a window, the image of what all windows have there.
fn col2im(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let lists = (n.maybe_ints(1)?, n.maybe_ints(2)?);
    let (Some(image), Some(block)) = lists else {
        return Err(Failure::new("it lacks the shapes of images and blocks"));
    };
    let (shape, spatial) = (n.b.shape(x), image.len());
    let steps = Steps::of(n, spatial)?;
    let taps = block.iter().try_fold(1i64, |count, &extent| count.checked_mul(extent));
    let is_extent = |extent: &i64| (1..1 << 31).contains(extent);
    let fits = image.iter().chain(&block).all(is_extent) && block.len() == spatial && shape.len() == 3;
    let taps = taps.filter(|taps| *taps <= 4096 && fits);
    let taps =
        taps.ok_or_else(|| Failure::new(format!("blocks of {block:?} of images of {image:?} are not supported")))?;
    let channels = shape[1].exact_div(&Dim::from(taps));
    let channels = channels.ok_or_else(|| Failure::new(format!("{} rows for {taps} elements of a block", shape[1])))?;
    let reach = |axis: usize| steps.dilations[axis] * (block[axis] - 1);
    let room = |axis: usize| image[axis] + steps.pads[axis] + steps.pads[spatial + axis];
    let windows: Vec<i64> = (0..spatial).map(|k| (room(k) - reach(k) - 1).div_euclid(steps.strides[k]) + 1).collect();
    if windows.iter().any(|&count| count < 1) {
        return Err(Failure::new(format!("blocks of {block:?} do not fit into images of {image:?}")));
    }
    let mut wide = vec![shape[0].clone(), channels, taps.into()];
    wide.extend(windows.iter().map(|&count| Dim::from(count)));
    let windowed = n.b.reshape(x, &wide)?;
    wide.remove(2);
    let mut sum: Option<Value> = None;
    for tap in 0..taps {
        let own = n.b.slice(windowed, 2, tap.into(), 1.into())?;
        let own = n.b.reshape(own, &wide)?;
        let mut borders = vec![Border { low: 0.into(), high: 0.into(), interior: 0 }; 2 + spatial];
        let mut rest = tap;
        for axis in (0..spatial).rev() {
            let low = rest % block[axis] * steps.dilations[axis] - steps.pads[axis];
            rest /= block[axis];
            let spread = (windows[axis] - 1) * steps.strides[axis] + 1;
            let high = image[axis] - low - spread;
            borders[2 + axis] = Border { low: low.into(), high: high.into(), interior: steps.strides[axis] - 1 };
        }
        let value = Scalar::of(n.b.dtype(own), 0.0);
        let own = n.b.prim(Prim::Pad { borders, value }, &[own])?;
        sum = Some(if let Some(sum) = sum { n.b.add(sum, own)? } else { own });
    }
    sum.ok_or_else(|| Failure::new("a block without elements"))
}

/// The largest elements of windows where they were, and zeros.
fn max_unpool(n: &mut Node<'_>) -> Made {
    let [x, index] = [n.arg(0)?, n.arg(1)?];
    let shape = n.b.shape(x);
    let kernel = n.ints("kernel_shape").unwrap_or_default();
    let spatial = shape.len().saturating_sub(2);
    if spatial == 0 || kernel.len() != spatial || n.b.shape(index) != shape {
        return Err(Failure::new(format!("windows of {kernel:?} of {}", n.b.ty(x))));
    }
    let steps = Steps::of(n, spatial)?;
    let mut own = shape.clone();
    for (axis, extent) in own[2..].iter_mut().enumerate() {
        let cut = steps.pads[axis] + steps.pads[spatial + axis];
        let strides = (extent.clone() - 1.into()) * Dim::from(steps.strides[axis]);
        *extent = strides + Dim::from(kernel[axis].saturating_sub(cut));
    }
    if !own[2..].iter().all(is_extent) {
        return Err(Failure::new(format!("images of shape {own:?}")));
    }
    let (extent, count) = (product(&own), [n.b.ty(x).count()]);
    let (row, index) = (n.b.reshape(x, &count)?, n.b.reshape(index, &count)?);
    let index = n.b.index(index)?;
    let put = Prim::ScatterAdd { axis: 0, extent };
    let mut made = n.b.prim(put.clone(), &[row, index])?;
    if (0..spatial).any(|axis| steps.strides[axis] < kernel[axis]) {
        // Windows that overlap may have the same largest element.
        let ones = n.b.full(n.b.dtype(x), &count, 1.0)?;
        let times = n.b.prim(put, &[ones, index])?;
        let least = n.b.constant(times, 1.0)?;
        let times = n.b.map(MapOp::Max, &[times, least])?;
        made = n.b.div(made, times)?;
    }
    let made = n.b.reshape(made, &own)?;
    let Some(wanted) = n.maybe_dims(2)? else { return Ok(made) };
    if wanted.len() != own.len() {
        return Err(Failure::new(format!("{wanted:?} is no shape of images")));
    }
    let more = wanted.into_iter().zip(own).map(|(wanted, own)| (Dim::from(0), wanted - own));
    Ok(n.b.pad(made, &more.collect::<Vec<_>>())?)
}
