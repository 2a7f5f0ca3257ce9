//! Regions of images as images of one shape: each part of a region is its largest element.
//!
//! Which elements a part has is the same for all columns, and for all rows: the largest is found along one axis, and then the other.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::prim::{MapOp, Prim, ReduceOp};
use crate::ir::{Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[computes("MaxRoiPool", |n| one(max_roi_pool(n)))];

/// `[images, channels, rows, columns]` and regions `[count, 5]`: an image's number, and two corners.
fn max_roi_pool(n: &mut Node<'_>) -> Made {
    let [x, regions] = [n.of_rank(0, 4)?, n.of_rank(1, 2)?];
    let (shape, count) = (n.b.shape(x), n.b.shape(regions)[0].clone());
    let parts = match n.ints("pooled_shape").as_deref() {
        Some(&[rows, columns]) if rows > 0 && columns > 0 => [rows, columns],
        other => return Err(Failure::new(format!("regions of {other:?} parts"))),
    };
    if !n.b.shape(regions)[1].is(5) || !n.b.dtype(x).is_float() {
        return Err(Failure::new("it takes images of floats, and five numbers for each region"));
    }
    let number = n.b.slice(regions, 1, 0.into(), 1.into())?;
    let number = n.b.reshape(number, std::slice::from_ref(&count))?;
    let number = n.b.index(number)?;
    let images = n.b.prim(Prim::Gather { axis: 0 }, &[x, number])?;
    // Region, channel, part, row, column; and then region, channel, part, part, column.
    let rows = inside(n, regions, 0, parts[0], &shape[2])?;
    let columns = inside(n, regions, 1, parts[1], &shape[3])?;
    let wide = [count.clone(), shape[1].clone(), 1.into(), shape[2].clone(), shape[3].clone()];
    let images = n.b.reshape(images, &wide)?;
    let rows = n.b.reshape(rows, &[count.clone(), 1.into(), parts[0].into(), shape[2].clone(), 1.into()])?;
    let images = largest(n, images, rows, 3)?;
    let wide = [count.clone(), shape[1].clone(), parts[0].into(), 1.into(), shape[3].clone()];
    let images = n.b.reshape(images, &wide)?;
    let columns = n.b.reshape(columns, &[count, 1.into(), 1.into(), parts[1].into(), shape[3].clone()])?;
    let made = largest(n, images, columns, 4)?;
    let least = n.b.constant(made, f64::NEG_INFINITY)?;
    let (is_empty, zero) = (n.b.map(MapOp::Eq, &[made, least])?, n.b.constant(made, 0.0)?);
    Ok(n.b.select(is_empty, zero, made)?)
}

/// The largest element along an axis of those inside.
fn largest(n: &mut Node<'_>, x: Value, inside: Value, axis: usize) -> Made {
    let least = n.b.constant(x, f64::NEG_INFINITY)?;
    let kept = n.b.select(inside, x, least)?;
    Ok(n.b.reduce(ReduceOp::Max, kept, &[axis])?)
}

/// Along an axis which elements each part of each region has: `[region, part, element]`.
fn inside(n: &mut Node<'_>, regions: Value, axis: i64, parts: i64, extent: &Dim) -> Made {
    let count = n.b.shape(regions)[0].clone();
    let scale = n.float("spatial_scale", 1.0);
    // The corners are x, y, x, y.
    let mut corner = |k: i64| -> Made {
        let corner = n.b.slice(regions, 1, k.into(), 1.into())?;
        let corner = n.b.reshape(corner, &[count.clone(), 1.into(), 1.into()])?;
        let corner = n.b.with(MapOp::Mul, corner, scale)?;
        // Halves are rounded away from zero.
        let size = n.b.unary(MapOp::Abs, corner)?;
        let size = n.b.with(MapOp::Add, size, 0.5)?;
        let size = n.b.unary(MapOp::Floor, size)?;
        let (is_negative, negative) = (n.b.with(MapOp::Lt, corner, 0.0)?, n.b.unary(MapOp::Neg, size)?);
        Ok(n.b.select(is_negative, negative, size)?)
    };
    let [start, end] = [corner(2 - axis)?, corner(4 - axis)?];
    let reach = n.b.sub(end, start)?;
    let reach = n.b.with(MapOp::Add, reach, 1.0)?;
    let reach = n.b.with(MapOp::Max, reach, 1.0)?;
    let size = n.b.with(MapOp::Div, reach, parts as f64)?;
    let part = n.b.iota(&[1.into(), parts.into(), 1.into()], 1)?;
    let part = n.b.convert(part, n.b.dtype(size))?;
    let next = n.b.with(MapOp::Add, part, 1.0)?;
    let [low, high] = [n.b.mul(part, size)?, n.b.mul(next, size)?];
    let negative = n.b.unary(MapOp::Neg, high)?;
    let [low, negative] = [n.b.unary(MapOp::Floor, low)?, n.b.unary(MapOp::Floor, negative)?];
    let high = n.b.unary(MapOp::Neg, negative)?;
    let [low, high] = [n.b.add(low, start)?, n.b.add(high, start)?];
    let at = n.b.iota(&[1.into(), 1.into(), extent.clone()], 2)?;
    let at = n.b.convert(at, n.b.dtype(size))?;
    let [is_behind, is_before] = [n.b.map(MapOp::Le, &[low, at])?, n.b.map(MapOp::Lt, &[at, high])?];
    Ok(n.b.map(MapOp::And, &[is_behind, is_before])?)
}
