//! What moves elements: joins, parts, permutations, repetitions and borders.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, all, moves, one};
use crate::ir::limits::INTEGER;
use crate::ir::prim::{Border, Cut, MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Value};
use crate::oracle::{Data, Tensor};

pub(super) const OPERATORS: &[Operator] = &[
    moves("Transpose", |n| one(transpose(n))),
    moves("Concat", concat),
    moves("Split", |n| Ok(all(split(n)?))),
    moves("Slice", slice),
    moves("Tile", |n| one(tile(n))),
    moves("Pad", |n| one(pad(n))),
    moves("CenterCropPad", |n| one(center_crop_pad(n))),
    moves("DepthToSpace", |n| one(depth_to_space(n))),
    moves("SpaceToDepth", |n| one(space_to_depth(n))),
    moves("Trilu", |n| one(trilu(n))),
    moves("ReverseSequence", |n| one(reverse_sequence(n))),
    moves("BitCast", |n| one(bit_cast(n))),
];

fn transpose(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let rank = n.b.rank(x);
    let permutation = match n.ints("perm") {
        Some(perm) => n.axes_of(&perm, rank)?,
        None => (0..rank).rev().collect(),
    };
    Ok(n.b.transpose(x, &permutation)?)
}

/// Shapes are joined as lists of extents.
fn concat(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let operands = (0..n.count()).map(|k| n.operand(k)).collect::<Made<Vec<Operand>>>()?;
    let list = operands.iter().find_map(|operand| if let Operand::Dims(dims) = operand { Some(dims) } else { None });
    if let Some(list) = list
        && let Some(lists) = operands.iter().map(Operand::as_dims).collect::<Option<Vec<_>>>()
        && (0..n.count()).all(|k| n.ty(k).is_ok_and(|ty| ty.rank() == 1))
    {
        n.axis(0, 1)?;
        let dims = lists.concat();
        return Ok(vec![list.like(vec![dims.len()], dims)]);
    }
    let args = n.args()?;
    let rank = args.first().map_or(0, |&arg| n.b.rank(arg));
    let axis = n.axis(1, rank)?;
    one(joined(n, axis, &args))
}

/// Values beside each other along an axis.
pub(super) fn joined(n: &mut Node<'_>, axis: usize, args: &[Value]) -> Made {
    match args {
        [] => Err(Failure::new("nothing is left of it to join")),
        [only] => Ok(*only),
        _ => Ok(n.b.prim(Prim::Concat { axis }, args)?),
    }
}

fn split(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let x = n.arg(0)?;
    let (axis, shape) = (n.axis(0, n.b.rank(x))?, n.b.shape(x));
    let parts: Vec<Dim> = match n.ints_or_arg("split", 1)? {
        Some(parts) => parts.into_iter().map(Dim::from).collect(),
        None => {
            let count = n.outputs().max(1) as i64;
            let asked = n.int("num_outputs", count);
            if asked != count {
                return Err(Failure::new(format!("it asks for {asked} parts, and has {count} results")));
            }
            equal_parts(&shape[axis], count)
        }
    };
    let mut start = Dim::from(0);
    let mut made = vec![];
    for part in parts {
        made.push(n.b.slice(x, axis, start.clone(), part.clone())?);
        start = start + part;
    }
    match start == shape[axis] {
        true => Ok(made),
        false => Err(Failure::new(format!("its parts have {start} of {} elements", shape[axis]))),
    }
}

/// Parts of as many elements each, of which the last ones have what is left.
fn equal_parts(extent: &Dim, count: i64) -> Vec<Dim> {
    let each = extent.ceil_div(count);
    let start = |k: i64| match (extent.as_const(), each.as_const()) {
        (Some(extent), Some(each)) => Dim::from(extent.min(each.saturating_mul(k))),
        _ if k == count => extent.clone(),
        _ => each.clone() * Dim::from(k),
    };
    (0..count).map(|k| start(k + 1) - start(k)).collect()
}

/// A cut of an axis: where it begins and ends, as Python's slices are read.
fn cut(extent: &Dim, start: &Dim, end: &Dim, step: i64) -> Made<(Cut, bool)> {
    let Some(count) = extent.as_const() else {
        return symbolic_cut(extent, start, end, step);
    };
    let (Some(start), Some(end)) = (start.as_const(), end.as_const()) else {
        return symbolic_cut(extent, start, end, step);
    };
    let from_end = |at: i64| if at < 0 { at.saturating_add(count) } else { at };
    let (low, high) = if step > 0 { (0, count) } else { (-1, count - 1) };
    let (start, end) = (from_end(start).clamp(low.max(0), high.max(0)), from_end(end).clamp(low, high));
    let start = if step > 0 { start } else { start.min(high) };
    let reach = if step > 0 { end - start } else { start - end };
    let size = step.unsigned_abs().min(i64::MAX as u64) as i64;
    let len = if reach > 0 { (reach - 1) / size + 1 } else { 0 };
    // Backwards, the last element of the cut is its first one.
    let first = if step > 0 { start } else { start - (len - 1).max(0) * size };
    let first = if len == 0 { 0 } else { first };
    Ok((Cut { start: first.into(), len: len.into(), step: if len > 1 { size } else { 1 } }, step < 0))
}

/// What no axis reaches. Exporters write the largest integer of 32 or 64 bits for the end of an axis, and TensorFlow's this.
const BEYOND: i64 = 1_000_000_000;

/// The same where extents are named: only what does not depend on which of two is larger.
fn symbolic_cut(extent: &Dim, start: &Dim, end: &Dim, step: i64) -> Made<(Cut, bool)> {
    let resolve = |at: &Dim, is_end: bool| match at.as_const() {
        Some(at) if at >= BEYOND && is_end => Some(extent.clone()),
        Some(at) if at < 0 => Some(extent.clone() + at.into()),
        Some(at) => Some(at.into()),
        None => Some(at.clone()),
    };
    let is_last = start.is(-1) || start.as_const().is_some_and(|at| at >= BEYOND);
    let is_before = end.as_const().is_some_and(|at| at <= -BEYOND);
    let size = step.saturating_abs();
    match (resolve(start, false), resolve(end, true)) {
        (Some(start), Some(end)) if step > 0 => {
            let len = end - start.clone();
            let step = if len.is(1) { 1 } else { step };
            Ok((Cut { len: len.ceil_div(step), start, step }, false))
        }
        // Backwards over all of it; the last element of the cut is its first one.
        _ if is_last && is_before => {
            let len = extent.ceil_div(size);
            let start = extent.clone() - Dim::from(1) - (len.clone() - Dim::from(1)) * Dim::from(size);
            Ok((Cut { start, len, step: size }, true))
        }
        _ => Err(Failure::new(format!("a cut of {extent} elements with a step of {step} is not supported"))),
    }
}

fn slice(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let bound = |n: &Node<'_>, name: &str, k: usize| -> Made<Vec<Dim>> {
        let ints = n.ints(name).map(|ints| ints.into_iter().map(Dim::from).collect());
        let dims = if ints.is_some() { ints } else { n.maybe_dims(k)? };
        dims.ok_or_else(|| Failure::new(format!("it lacks `{name}`")))
    };
    let (starts, ends) = (bound(n, "starts", 1)?, bound(n, "ends", 2)?);
    let shape = n.ty(0)?.shape;
    let axes = match n.ints_or_arg("axes", 3)? {
        Some(axes) => n.axes_of(&axes, shape.len())?,
        None => (0..starts.len()).collect(),
    };
    let steps = n.maybe_ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let whole = |extent: &Dim| Cut { start: 0.into(), len: extent.clone(), step: 1 };
    let mut cuts: Vec<Cut> = shape.iter().map(whole).collect();
    let mut flipped = vec![];
    if [starts.len(), ends.len(), steps.len()] != [axes.len(); 3] || axes.iter().any(|&axis| axis >= shape.len()) {
        return Err(Failure::new("starts, ends, axes and steps are not equally many"));
    }
    for (k, &axis) in axes.iter().enumerate() {
        if steps[k] == 0 {
            return Err(Failure::new("a step is 0"));
        }
        let (own, is_flipped) = cut(&shape[axis], &starts[k], &ends[k], steps[k])?;
        cuts[axis] = own;
        flipped.extend(is_flipped.then_some(axis));
    }
    if let (Operand::Dims(of), [Cut { start, len, step }]) = (n.operand(0)?, &cuts[..])
        && let (Some(start), Some(len)) = (start.as_const(), len.as_const())
    {
        let part = (0..len).map(|k| of.dims.get(usize::try_from(start + k * step).ok()?).cloned());
        let part: Option<Vec<Dim>> = part.collect();
        let mut part = part.ok_or_else(|| Failure::new("it is beyond the list"))?;
        if !flipped.is_empty() {
            part.reverse();
        }
        return Ok(vec![of.like(vec![part.len()], part)]);
    }
    let x = n.arg(0)?;
    let part = n.b.prim(Prim::Slice(cuts), &[x])?;
    flipped.sort_unstable();
    one(Ok(if flipped.is_empty() { part } else { n.b.prim(Prim::Flip(flipped), &[part])? }))
}

fn tile(n: &mut Node<'_>) -> Made {
    let (x, mut repeats) = (n.arg(0)?, n.maybe_dims(1)?.ok_or_else(|| Failure::new("it lacks `repeats`"))?);
    let own = n.b.shape(x);
    if n.opset < 6 {
        // A number, and an axis.
        let axis = n.maybe_ints(2)?.and_then(|axis| axis.first().copied());
        let axis = n.axis_of(axis.ok_or_else(|| Failure::new("it lacks its axis"))?, own.len())?;
        let times = repeats.first().cloned().ok_or_else(|| Failure::new("it lacks `tiles`"))?;
        repeats = vec![1.into(); own.len()];
        repeats[axis] = times;
    }
    if repeats.len() != own.len() {
        return Err(Failure::new(format!("{} repeats of {} axes", repeats.len(), own.len())));
    }
    let apart: Vec<Dim> = own.iter().flat_map(|extent| [Dim::from(1), extent.clone()]).collect();
    let wide: Vec<Dim> = repeats.iter().zip(&own).flat_map(|(times, extent)| [times.clone(), extent.clone()]).collect();
    let shape: Vec<Dim> = repeats.iter().zip(&own).map(|(times, extent)| times.clone() * extent.clone()).collect();
    let apart = n.b.reshape(x, &apart)?;
    let wide = n.b.broadcast_to(apart, &wide)?;
    Ok(n.b.reshape(wide, &shape)?)
}

fn pad(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let rank = n.b.rank(x);
    let named = if n.opset < 2 { "paddings" } else { "pads" };
    let pads = n.ints_or_arg(named, 1)?.ok_or_else(|| Failure::new("it lacks `pads`"))?;
    let axes = match n.maybe_ints(3)? {
        Some(axes) => n.axes_of(&axes, rank)?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Failure::new(format!("{} borders for {} axes", pads.len(), axes.len())));
    }
    if let Some(border) = pads.iter().find(|border| border.abs_diff(0) > INTEGER as u64) {
        return Err(Failure::new(format!("a border of {border} elements")));
    }
    let mut borders = vec![(0, 0); rank];
    axes.iter().enumerate().for_each(|(k, &axis)| borders[axis] = (pads[k], pads[axes.len() + k]));
    match n.text("mode", "constant").as_str() {
        "constant" => {
            let border = |(low, high): (i64, i64)| Border { low: low.into(), high: high.into(), interior: 0 };
            filled(n, x, borders.into_iter().map(border).collect())
        }
        mode @ ("reflect" | "edge" | "wrap") => {
            let mode = mode.to_owned();
            (0..rank).try_fold(x, |x, axis| repeated(n, x, axis, borders[axis], &mode))
        }
        other => Err(Failure::new(format!("the mode `{other}` is not supported"))),
    }
}

/// Surrounded by one value: of an argument that only a call knows, where a mask says so.
fn filled(n: &mut Node<'_>, x: Value, borders: Vec<Border>) -> Made {
    let dtype = n.b.dtype(x);
    let known = if n.has(2) { n.known(2) } else { None };
    if n.has(2) && known.is_none() {
        let fill = n.arg(2)?;
        let fill = n.b.reshape(fill, &[])?;
        let inside = n.b.full(DType::Bool, &n.b.shape(x), 1.0)?;
        let inside = n.b.prim(Prim::Pad { borders: borders.clone(), value: Scalar::Bool(false) }, &[inside])?;
        let padded = n.b.prim(Prim::Pad { borders, value: Scalar::of(dtype, 0.0) }, &[x])?;
        return Ok(n.b.select(inside, padded, fill)?);
    }
    let fill = known.and_then(|known| known.tensor().data.numbers().first().copied());
    let value = Scalar::of(dtype, fill.unwrap_or_else(|| n.float("value", 0.0)));
    Ok(n.b.prim(Prim::Pad { borders, value }, &[x])?)
}

/// One axis with borders that repeat its elements.
fn repeated(n: &mut Node<'_>, x: Value, axis: usize, (low, high): (i64, i64), mode: &str) -> Made {
    if (low, high) == (0, 0) {
        return Ok(x);
    }
    let count = n.b.shape(x)[axis].as_const().filter(|&count| count > 0);
    let count = count.ok_or_else(|| Failure::new("borders that repeat elements need a known number of them"))?;
    n.room(low + count + high)?;
    let source = |at: i64| match mode {
        "edge" => at.clamp(0, count - 1),
        "wrap" => at.rem_euclid(count),
        _ if count == 1 => 0,
        _ => {
            let at = at.rem_euclid(2 * (count - 1));
            at.min(2 * (count - 1) - at)
        }
    };
    let sources: Vec<i64> = (-low..count + high).map(source).collect();
    pick(n, x, axis, &sources)
}

/// As many slices as may take the place of a list of positions.
const RUNS: usize = 16;

/// Elements of an axis by known positions: few runs of neighbours are slices.
pub(super) fn pick(n: &mut Node<'_>, x: Value, axis: usize, sources: &[i64]) -> Made {
    let mut runs: Vec<(i64, i64)> = vec![];
    for &at in sources {
        match runs.last_mut() {
            Some((start, len)) if *start + *len == at => *len += 1,
            _ => runs.push((at, 1)),
        }
    }
    if runs.len() > RUNS {
        let index = sources.iter().map(|&at| at.into()).collect();
        let index = n.constant(Tensor::new([sources.len()], Data::Int(DType::U32, index)))?;
        return Ok(n.b.prim(Prim::Gather { axis }, &[x, index])?);
    }
    let parts = runs.into_iter().map(|(start, len)| n.b.slice(x, axis, start.into(), len.into()));
    let mut parts = parts.collect::<Result<Vec<Value>, _>>()?;
    if parts.is_empty() {
        parts.push(n.b.slice(x, axis, 0.into(), 0.into())?);
    }
    joined(n, axis, &parts)
}

/// Cut or surrounded with zeros about the middle.
fn center_crop_pad(n: &mut Node<'_>) -> Made {
    let (x, target) = (n.arg(0)?, n.maybe_ints(1)?.ok_or_else(|| Failure::new("it lacks the shape"))?);
    let rank = n.b.rank(x);
    let axes = match n.ints("axes") {
        Some(axes) => n.axes_of(&axes, rank)?,
        None => (0..rank).collect(),
    };
    let shape = n.b.shape(x);
    let mut borders = vec![Border { low: 0.into(), high: 0.into(), interior: 0 }; rank];
    for (&axis, &wanted) in axes.iter().zip(&target) {
        let own = shape[axis].as_const().ok_or_else(|| Failure::new("it needs known extents"))?;
        let more = wanted.clamp(0, INTEGER) - own;
        let low = if more >= 0 { more / 2 } else { -((-more) / 2) };
        (borders[axis].low, borders[axis].high) = (low.into(), (more - low).into());
    }
    let value = Scalar::of(n.b.dtype(x), 0.0);
    Ok(n.b.prim(Prim::Pad { borders, value }, &[x])?)
}

/// The extents of images, with the channels divided by the square of a block.
fn blocks(n: &mut Node<'_>, x: Value) -> Made<(i64, Vec<Dim>)> {
    let (size, shape) = (n.int("blocksize", 0), n.b.shape(x));
    match shape.len() == 4 && size > 0 && size < 1 << 15 {
        true => Ok((size, shape)),
        false => Err(Failure::new(format!("blocks of {size} of a tensor with {} axes", shape.len()))),
    }
}

fn depth_to_space(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (size, shape) = blocks(n, x)?;
    let depth = shape[1].exact_div(&Dim::from(size * size));
    let depth = depth.ok_or_else(|| Failure::new(format!("{} channels for blocks of {size}", shape[1])))?;
    let side = Dim::from(size);
    let (batch, high, wide) = (shape[0].clone(), shape[2].clone(), shape[3].clone());
    let is_dcr = n.text("mode", "DCR") == "DCR";
    let (apart, order) = match is_dcr {
        true => {
            ([batch.clone(), side.clone(), side.clone(), depth.clone(), high.clone(), wide.clone()], [0, 3, 4, 1, 5, 2])
        }
        false => {
            ([batch.clone(), depth.clone(), side.clone(), side.clone(), high.clone(), wide.clone()], [0, 1, 4, 2, 5, 3])
        }
    };
    let apart = n.b.reshape(x, &apart)?;
    let moved = n.b.transpose(apart, &order)?;
    Ok(n.b.reshape(moved, &[batch, depth, high * side.clone(), wide * side])?)
}

fn space_to_depth(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (size, shape) = blocks(n, x)?;
    let side = Dim::from(size);
    let (Some(high), Some(wide)) = (shape[2].exact_div(&side), shape[3].exact_div(&side)) else {
        return Err(Failure::new(format!("blocks of {size} do not divide {} × {}", shape[2], shape[3])));
    };
    let (batch, depth) = (shape[0].clone(), shape[1].clone());
    let apart = [batch.clone(), depth.clone(), high.clone(), side.clone(), wide.clone(), side];
    let apart = n.b.reshape(x, &apart)?;
    // Depth, column, row, or the places of a block first.
    let order = if n.text("mode", "DCR") == "DCR" { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
    let moved = n.b.transpose(apart, &order)?;
    Ok(n.b.reshape(moved, &[batch, depth * Dim::from(size * size), high, wide])?)
}

/// The upper or lower triangle of matrices, the rest zero.
fn trilu(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let shape = n.b.shape(x);
    let Some((rows, columns)) = shape.len().checked_sub(2).map(|rank| (rank, rank + 1)) else {
        return Err(Failure::new("it takes matrices"));
    };
    let offset = n.maybe_ints(1)?.and_then(|k| k.first().copied()).unwrap_or(0).clamp(-(1 << 31), 1 << 31);
    let [row, column] = [n.b.iota(&shape, rows)?, n.b.iota(&shape, columns)?];
    let [row, column] = [n.b.convert(row, DType::I64)?, n.b.convert(column, DType::I64)?];
    let diagonal = n.b.with(MapOp::Add, row, offset as f64)?;
    let order = if n.int("upper", 1) != 0 { [diagonal, column] } else { [column, diagonal] };
    let (kept, zero) = (n.b.map(MapOp::Le, &order)?, n.b.full(n.b.dtype(x), &[], 0.0)?);
    Ok(n.b.select(kept, x, zero)?)
}

/// The first elements of each row in reverse order, as many as its length says.
fn reverse_sequence(n: &mut Node<'_>) -> Made {
    let [x, lengths] = [n.arg(0)?, n.arg(1)?];
    let (rank, shape) = (n.b.rank(x), n.b.shape(x));
    let (batch, time) = (n.axis_of(n.int("batch_axis", 1), rank)?, n.axis_of(n.int("time_axis", 0), rank)?);
    let mut along = vec![Dim::from(1); rank];
    along[batch] = shape[batch].clone();
    let lengths = n.b.reshape(lengths, &along)?;
    let own = n.b.iota(&shape, time)?;
    let own = n.b.convert(own, DType::I64)?;
    let inside = n.b.map(MapOp::Lt, &[own, lengths])?;
    let last = n.b.with(MapOp::Sub, lengths, 1.0)?;
    let turned = n.b.sub(last, own)?;
    let source = n.b.select(inside, turned, own)?;
    super::index::elements(n, x, source, time)
}

/// The same bits as elements of another type of as many.
fn bit_cast(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (from, to) = (n.b.dtype(x), n.dtype("to")?.ok_or_else(|| Failure::new("it lacks `to`"))?);
    // A truth value is a byte of a file.
    let bits = if from == DType::Bool { 8 } else { from.bits() };
    match bits == to.bits() && !from.is_float() && !to.is_float() && to != DType::Bool {
        true => Ok(n.b.convert(x, to)?),
        false => Err(Failure::new(format!("the bits of {from} as {to} are not supported"))),
    }
}
