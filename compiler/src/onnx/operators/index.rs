//! What picks elements by positions, and what puts them there.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, all, computes, moves, one};
use crate::ir::attr::Attr;
use crate::ir::dim::product;
use crate::ir::prim::{MapOp, Prim};
use crate::ir::{Category, DType, Dim, Type, Value};
use crate::ops::among_all;

pub(super) const OPERATORS: &[Operator] = &[
    moves("Gather", gather),
    moves("GatherElements", |n| one(gather_elements(n))),
    moves("GatherND", |n| one(gather_nd(n))),
    moves("ScatterElements", |n| one(scatter_elements(n))),
    moves("Scatter", |n| one(scatter_elements(n))),
    moves("ScatterND", |n| one(scatter_nd(n))),
    moves("TensorScatter", |n| one(tensor_scatter(n))),
    moves("OneHot", |n| one(one_hot(n))),
    computes("TopK", |n| Ok(all(top_k(n)?))),
];

/// Slices along an axis; of a shape, extents.
fn gather(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    if let (Operand::Dims(of), Operand::Known(at)) = (n.operand(0)?, n.operand(1)?)
        && of.shape.len() == 1
    {
        n.axis(0, 1)?;
        let count = of.dims.len() as i64;
        let pick = |at: f64| {
            let at = at as i64;
            of.dims.get(usize::try_from(if at < 0 { at + count } else { at }).ok()?).cloned()
        };
        let picked: Option<Vec<Dim>> = at.tensor().data.numbers().into_iter().map(pick).collect();
        let picked = picked.ok_or_else(|| Failure::new("an index is beyond the shape"))?;
        return Ok(vec![of.like(at.tensor().shape.clone(), picked)]);
    }
    let [x, index] = [n.arg(0)?, n.arg(1)?];
    let axis = n.axis(0, n.b.rank(x))?;
    one(n.gather(x, index, axis))
}

/// Elements along an axis, where all other axes run along; `index` is i64 or another type of integers.
pub(super) fn elements(n: &mut Node<'_>, x: Value, index: Value, axis: usize) -> Made {
    let flat = flat(n, x, index, axis)?;
    let count = n.b.ty(x).count();
    let row = n.b.reshape(x, &[count])?;
    Ok(n.b.prim(Prim::Gather { axis: 0 }, &[row, flat])?)
}

/// Where `x[index]` stands among all elements of `x`, row-major, where the other axes of `index` run along and may be shorter.
fn flat(n: &mut Node<'_>, x: Value, index: Value, axis: usize) -> Made {
    let (of, at) = (n.b.ty(x).clone(), n.b.shape(index));
    if of.rank() != at.len() {
        return Err(Failure::new(format!("indices with {} axes into {of}", at.len())));
    }
    let position = n.wrapped(index, x, axis)?;
    Ok(among_all(&mut n.b, &of, &at, position, axis)?)
}

fn gather_elements(n: &mut Node<'_>) -> Made {
    let [x, index] = [n.arg(0)?, n.arg(1)?];
    let axis = n.axis(0, n.b.rank(x))?;
    elements(n, x, index, axis)
}

/// The positions of slices that the last axis of `index` names axis by axis: in `x` with `batch` axes in front as one of rows, the
/// named axes as one, and the rest as a slice.
struct Slices {
    /// The row-major positions, as a list.
    positions: Value,
    /// The shape of `index` without its last axis.
    shape: Vec<Dim>,
    /// The extents of a slice.
    slice: Vec<Dim>,
    /// How many slices there are in `x`.
    count: Dim,
}

fn slices(n: &mut Node<'_>, x: Value, index: Value, batch: usize) -> Made<Slices> {
    let (of, at) = (n.b.ty(x).clone(), n.b.shape(index));
    let named =
        at.last().and_then(Dim::as_const).filter(|&named| named >= 0 && batch as i64 + named <= of.rank() as i64);
    let named = named.ok_or_else(|| Failure::new(format!("indices of shape {at:?} into {of}")))? as usize;
    let shape = at[..at.len() - 1].to_vec();
    let (mut sum, mut inside) = (n.b.full(DType::U32, &shape, 0.0)?, n.b.full(DType::Bool, &shape, 1.0)?);
    for axis in 0..batch + named {
        let position = match axis.checked_sub(batch) {
            None => n.b.iota(&shape, axis)?,
            Some(k) => {
                let column = n.b.slice(index, at.len() - 1, Dim::from(k as i64), 1.into())?;
                let column = n.b.reshape(column, &shape)?;
                n.wrapped(column, x, axis)?
            }
        };
        let extent = n.b.extent_u32(&of.shape[axis])?;
        let fits = n.b.map(MapOp::Lt, &[position, extent])?;
        inside = n.b.map(MapOp::And, &[inside, fits])?;
        let scaled = n.b.mul(sum, extent)?;
        sum = n.b.add(scaled, position)?;
    }
    let outside = n.b.u32(u32::MAX)?;
    let positions = n.b.select(inside, sum, outside)?;
    let positions = n.b.reshape(positions, &[product(&shape)])?;
    let (front, slice) = of.shape.split_at(batch + named);
    Ok(Slices { positions, shape, slice: slice.to_vec(), count: product(front) })
}

fn gather_nd(n: &mut Node<'_>) -> Made {
    let [x, index] = [n.arg(0)?, n.arg(1)?];
    let batch = usize::try_from(n.int("batch_dims", 0)).unwrap_or(usize::MAX);
    if batch >= n.b.rank(index).min(n.b.rank(x)) {
        return Err(Failure::new(format!("{batch} axes of batches are too many")));
    }
    let Slices { positions, shape, slice, count } = slices(n, x, index, batch)?;
    let rows = n.b.reshape(x, &[count, product(&slice)])?;
    let picked = n.b.prim(Prim::Gather { axis: 0 }, &[rows, positions])?;
    Ok(n.b.reshape(picked, &[shape, slice].concat())?)
}

/// How what is there and what is put there combine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combine {
    Replace,
    Add,
    Mul,
    Max,
    Min,
}

fn combine(n: &Node<'_>) -> Made<Combine> {
    Ok(match n.text("reduction", "none").as_str() {
        "none" => Combine::Replace,
        "add" => Combine::Add,
        "mul" => Combine::Mul,
        "max" => Combine::Max,
        "min" => Combine::Min,
        other => return Err(Failure::new(format!("the reduction `{other}` is not supported"))),
    })
}

/// Puts rows of updates at positions of rows: `rows[positions[k]]` with `updates[k]`. Of several at one place the last one stays,
/// or all combine.
fn put(n: &mut Node<'_>, rows: Value, positions: Value, updates: Value, how: Combine) -> Made {
    let (extent, dtype) = (n.b.shape(rows)[0].clone(), n.b.dtype(rows));
    if how == Combine::Add && dtype.is_float() {
        let sums = n.b.prim(Prim::ScatterAdd { axis: 0, extent }, &[updates, positions])?;
        return Ok(n.b.add(rows, sums)?);
    }
    // For each row which of the updates it is given, as a matrix of rows and updates.
    let count = n.b.shape(positions)[0].clone();
    let shape = [extent.clone(), count.clone()];
    let row = n.b.iota(&shape, 0)?;
    let wide = n.b.broadcast_to(positions, &shape)?;
    let is_own = n.b.map(MapOp::Eq, &[row, wide])?;
    if how == Combine::Replace {
        // One more than the number of the last update, 0 where there is none.
        let number = n.b.iota(&shape, 1)?;
        let number = n.b.with(MapOp::Add, number, 1.0)?;
        let none = n.b.u32(0)?;
        let number = n.b.select(is_own, number, none)?;
        let last = n.b.reduce(crate::ir::prim::ReduceOp::Max, number, &[1])?;
        let one_less = n.b.with(MapOp::Sub, last, 1.0)?;
        let picked = n.b.prim(Prim::Gather { axis: 0 }, &[updates, one_less])?;
        let is_new = n.b.map(MapOp::Ne, &[last, none])?;
        let is_new = n.b.reshape(is_new, &[extent, 1.into()])?;
        return Ok(n.b.select(is_new, picked, rows)?);
    }
    combined(n, [rows, updates, is_own], how)
}

/// The same where updates at one place combine.
fn combined(n: &mut Node<'_>, [rows, updates, is_own]: [Value; 3], how: Combine) -> Made {
    use crate::ir::prim::ReduceOp;
    let (stored, shape) = (n.b.dtype(rows), n.b.shape(is_own));
    let dtype = stored.computed();
    let [rows, updates] = [n.b.convert(rows, dtype)?, n.b.convert(updates, dtype)?];
    let (op, map, unit) = match (how, dtype.category()) {
        (Combine::Mul, _) => (ReduceOp::Prod, MapOp::Mul, 1.0),
        (Combine::Max, Category::Float) => (ReduceOp::Max, MapOp::Max, f64::NEG_INFINITY),
        (Combine::Max, _) => (ReduceOp::Max, MapOp::Max, dtype.integers().0 as f64),
        (Combine::Min, Category::Float) => (ReduceOp::Min, MapOp::Min, f64::INFINITY),
        (Combine::Min, _) => (ReduceOp::Min, MapOp::Min, dtype.integers().1 as f64),
        (Combine::Add | Combine::Replace, _) => (ReduceOp::Sum, MapOp::Add, 0.0),
    };
    let columns = n.b.shape(rows)[1].clone();
    let all = [shape[0].clone(), shape[1].clone(), columns.clone()];
    let is_own = n.b.reshape(is_own, &[shape[0].clone(), shape[1].clone(), 1.into()])?;
    let is_own = n.b.broadcast_to(is_own, &all)?;
    let unit = n.b.full(dtype, &all, unit)?;
    let wide = n.b.broadcast_to(updates, &all)?;
    let own = n.b.select(is_own, wide, unit)?;
    let made = n.b.reduce(op, own, &[1])?;
    let made = n.b.map(map, &[rows, made])?;
    Ok(n.b.convert(made, stored)?)
}

fn scatter_elements(n: &mut Node<'_>) -> Made {
    let [x, index, updates] = [n.arg(0)?, n.arg(1)?, n.arg(2)?];
    let (ty, count, how) = (n.b.ty(x).clone(), n.b.ty(index).count(), combine(n)?);
    let axis = n.axis(0, ty.rank())?;
    let flat = flat(n, x, index, axis)?;
    let positions = n.b.reshape(flat, std::slice::from_ref(&count))?;
    let rows = n.b.reshape(x, &[ty.count(), 1.into()])?;
    let updates = n.b.reshape(updates, &[count, 1.into()])?;
    let made = put(n, rows, positions, updates, how)?;
    Ok(n.b.reshape(made, &ty.shape)?)
}

fn scatter_nd(n: &mut Node<'_>) -> Made {
    let [x, index, updates] = [n.arg(0)?, n.arg(1)?, n.arg(2)?];
    let (Type { shape: own, .. }, how) = (n.b.ty(x).clone(), combine(n)?);
    let Slices { positions, shape, slice, count } = slices(n, x, index, 0)?;
    let rows = n.b.reshape(x, &[count, product(&slice)])?;
    let updates = n.b.reshape(updates, &[product(&shape), product(&slice)])?;
    let made = put(n, rows, positions, updates, how)?;
    Ok(n.b.reshape(made, &own)?)
}

/// Puts a sequence into a cache, from a place that each batch names; a circular one goes on at its beginning.
fn tensor_scatter(n: &mut Node<'_>) -> Made {
    let [cache, update] = [n.arg(0)?, n.arg(1)?];
    let (own, new) = (n.b.shape(cache), n.b.shape(update));
    let axis = n.axis(-2, own.len())?;
    if own.len() != new.len() {
        return Err(Failure::new(format!("{} into {}", n.b.ty(update), n.b.ty(cache))));
    }
    let start = match n.maybe(2)? {
        Some(start) => start,
        None => n.b.full(DType::I64, &own[..1], 0.0)?,
    };
    let mut along = vec![Dim::from(1); own.len()];
    along[0] = own[0].clone();
    let start = n.b.reshape(start, &along)?;
    let at = n.b.iota(&own, axis)?;
    let at = n.b.convert(at, DType::I64)?;
    let mut source = n.b.sub(at, start)?;
    if n.text("mode", "linear") == "circular" {
        let extent = n.b.extent(source, &own[axis])?;
        let (is_before, again) = (n.b.with(MapOp::Lt, source, 0.0)?, n.b.add(source, extent)?);
        source = n.b.select(is_before, again, source)?;
    }
    let (zero, count) = (n.b.constant(source, 0.0)?, n.b.extent(source, &new[axis])?);
    let [low, high] = [n.b.map(MapOp::Le, &[zero, source])?, n.b.map(MapOp::Lt, &[source, count])?];
    let is_new = n.b.map(MapOp::And, &[low, high])?;
    let source = n.b.select(is_new, source, zero)?;
    let picked = elements(n, update, source, axis)?;
    Ok(n.b.select(is_new, picked, cache)?)
}

/// The second of two values where an index is, the first one elsewhere.
fn one_hot(n: &mut Node<'_>) -> Made {
    let [index, values] = [n.arg(0)?, n.arg(2)?];
    let depth = match n.known(1) {
        Some(known) => known.tensor().data.numbers().first().map(|&depth| Dim::from(depth as i64)),
        None => n.maybe_dims(1)?.and_then(|depth| depth.first().cloned()),
    };
    let depth = depth.ok_or_else(|| Failure::new("it lacks the depth"))?;
    let index = n.b.convert(index, DType::I64)?;
    let mut shape = n.b.shape(index);
    let axis = n.axis_of(n.int("axis", -1), shape.len() + 1)?;
    shape.insert(axis, 1.into());
    let mut index = n.b.reshape(index, &shape)?;
    shape[axis] = depth.clone();
    let count = n.b.extent(index, &depth)?;
    let (is_negative, from_end) = (n.b.with(MapOp::Lt, index, 0.0)?, n.b.add(index, count)?);
    index = n.b.select(is_negative, from_end, index)?;
    let own = n.b.iota(&shape, axis)?;
    let own = n.b.convert(own, DType::I64)?;
    let is_own = n.b.map(MapOp::Eq, &[own, index])?;
    let mut pick = |k: i64| -> Made {
        let part = n.b.slice(values, 0, k.into(), 1.into())?;
        Ok(n.b.reshape(part, &[])?)
    };
    let [off, on] = [pick(0)?, pick(1)?];
    Ok(n.b.select(is_own, on, off)?)
}

fn top_k(n: &mut Node<'_>) -> Made<Vec<Value>> {
    let x = n.arg(0)?;
    let axis = n.axis(-1, n.b.rank(x))?;
    let k = match n.maybe_int("k") {
        Some(k) => Dim::from(k),
        None => n.maybe_dims(1)?.and_then(|k| k.first().cloned()).ok_or_else(|| Failure::new("it lacks `k`"))?,
    };
    if k.is(0) {
        let values = n.b.slice(x, axis, 0.into(), 0.into())?;
        let index = n.b.full(DType::I64, &n.b.shape(values), 0.0)?;
        return Ok(vec![values, index]);
    }
    let largest = Attr::Bool(n.int("largest", 1) != 0);
    let attrs = [("k", Attr::Int(k)), ("axis", Attr::Int((axis as i64).into())), ("largest", largest)];
    let made = n.call_all("top_k", &[x], &attrs)?;
    let [values, index] = made[..] else { return Err(Failure::new("it gives two results")) };
    Ok(vec![values, n.b.convert(index, DType::I64)?])
}
