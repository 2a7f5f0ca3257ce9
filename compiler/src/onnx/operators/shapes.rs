//! Shapes: what asks for them, and what gives the same elements another one.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::super::operand::Operand;
use super::{Operator, moves, one};
use crate::ir::dim::product;
use crate::ir::limits::AXES;
use crate::ir::{Dim, Value};

pub(super) const OPERATORS: &[Operator] = &[
    moves("Identity", |n| Ok(vec![n.operand(0)?])),
    moves("Dropout", dropout),
    moves("Shape", |n| Ok(vec![shape(n)?])),
    moves("Size", |n| Ok(vec![Operand::dims(vec![], vec![n.ty(0)?.count()])])),
    moves("Reshape", |n| with_shape(n, reshape)),
    moves("Flatten", |n| with_shape(n, flatten)),
    moves("Squeeze", |n| with_shape(n, squeeze)),
    moves("Unsqueeze", |n| with_shape(n, unsqueeze)),
    moves("Expand", |n| one(expand(n))),
];

/// In evaluation the argument itself; nothing of it is left out.
fn dropout(n: &mut Node<'_>) -> Made<Vec<Operand>> {
    let mode = n.maybe_ints(2)?.and_then(|mode| mode.first().copied());
    let ratio = n.maybe_floats(1)?.and_then(|ratio| ratio.first().copied());
    if mode == Some(1) && ratio != Some(0.0) {
        return Err(Failure::new("it draws random numbers, as `training_mode` is true"));
    }
    let (x, shape) = (n.operand(0)?, n.ty(0)?.shape);
    if !n.wants(1) {
        return Ok(vec![x]);
    }
    let mask = n.b.full(crate::ir::DType::Bool, &shape, 1.0)?;
    Ok(vec![x, mask.into()])
}

fn shape(n: &mut Node<'_>) -> Made<Operand> {
    let shape = n.ty(0)?.shape;
    let rank = shape.len() as i64;
    let clamp = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clamp(n.int("start", 0)), clamp(n.int("end", rank)));
    let part = shape.get(start..end).unwrap_or_default().to_vec();
    Ok(Operand::dims(vec![part.len()], part))
}

/// Gives the first argument the shape that `find` makes of its own.
fn with_shape(n: &mut Node<'_>, find: fn(&mut Node<'_>, &[Dim]) -> Made<Vec<Dim>>) -> Made<Vec<Operand>> {
    let own = n.ty(0)?.shape;
    let shape = find(n, &own)?;
    let known = |dim: &Dim| dim.as_const().and_then(|n| usize::try_from(n).ok());
    if let Operand::Dims(own) = n.operand(0)?
        && let Some(shape) = shape.iter().map(known).collect::<Option<Vec<usize>>>()
        && shape.iter().try_fold(1usize, |all, &extent| all.checked_mul(extent)) == Some(own.dims.len())
    {
        return Ok(vec![own.like(shape, own.dims.clone())]);
    }
    let x = n.arg(0)?;
    one(Ok(n.b.reshape(x, &shape)?))
}

/// Of the new extents 0 stands for the one at its place, and −1 for what is left of the elements.
fn reshape(n: &mut Node<'_>, own: &[Dim]) -> Made<Vec<Dim>> {
    let asked: Option<Vec<Dim>> = match n.ints("shape") {
        Some(ints) => Some(ints.into_iter().map(Dim::from).collect()),
        None => n.maybe_dims(1)?,
    };
    let mut shape = asked.ok_or_else(|| Failure::new("it lacks the shape"))?;
    let keeps_zeros = n.flag("allowzero");
    let mut open = None;
    for (axis, extent) in shape.iter_mut().enumerate() {
        if extent.is(0) && !keeps_zeros {
            let known = own.get(axis).cloned();
            *extent = known.ok_or_else(|| Failure::new(format!("there is no axis {axis} to keep")))?;
        } else if extent.is(-1) && open.replace(axis).is_some() {
            return Err(Failure::new("the shape has −1 twice"));
        }
    }
    if let Some(axis) = open {
        shape[axis] = 1.into();
        let (all, others) = (product(own), product(&shape));
        let rest = if others.is(0) { None } else { all.exact_div(&others) };
        shape[axis] = rest.ok_or_else(|| Failure::new(format!("{all} elements do not divide into {others}")))?;
    }
    let (all, asked) = (product(own), product(&shape));
    match n.binding(&all, &asked) {
        None => Ok(shape),
        Some(only) => {
            let reason = format!("the shape asks for {asked} elements of {all}: the file was made for `{only}` alone");
            Err(Failure::new(reason))
        }
    }
}

fn flatten(n: &mut Node<'_>, own: &[Dim]) -> Made<Vec<Dim>> {
    let axis = n.int("axis", 1);
    let axis = if axis == own.len() as i64 { own.len() } else { n.axis_of(axis, own.len())? };
    Ok(vec![product(&own[..axis]), product(&own[axis..])])
}

fn squeeze(n: &mut Node<'_>, own: &[Dim]) -> Made<Vec<Dim>> {
    let axes = match n.ints_or_arg("axes", 1)? {
        Some(axes) => n.axes_of(&axes, own.len())?,
        None => (0..own.len()).filter(|&axis| own[axis].is(1)).collect(),
    };
    if let Some(&axis) = axes.iter().find(|&&axis| !own[axis].is(1)) {
        return Err(Failure::new(format!("axis {axis} has {} elements, not one", own[axis])));
    }
    Ok((0..own.len()).filter(|axis| !axes.contains(axis)).map(|axis| own[axis].clone()).collect())
}

fn unsqueeze(n: &mut Node<'_>, own: &[Dim]) -> Made<Vec<Dim>> {
    let axes = n.ints_or_arg("axes", 1)?.ok_or_else(|| Failure::new("it lacks the axes"))?;
    if own.len() + axes.len() > AXES {
        return Err(Failure::new(format!("a tensor has at most {AXES} axes")));
    }
    let axes = n.axes_of(&axes, own.len() + axes.len())?;
    let (rank, mut own) = (own.len() + axes.len(), own.iter());
    let extent = |axis| if axes.contains(&axis) { Some(1.into()) } else { own.next().cloned() };
    Ok((0..rank).map_while(extent).collect())
}

/// Broadcasts against a shape: extents of 1 on either side repeat.
fn expand(n: &mut Node<'_>) -> Made {
    let (x, shape) = (n.arg(0)?, n.maybe_dims(1)?.ok_or_else(|| Failure::new("it lacks the shape"))?);
    broadcast(n, x, &shape)
}

/// A value of the shape that its own and another one broadcast to.
pub(super) fn broadcast(n: &mut Node<'_>, x: Value, shape: &[Dim]) -> Made {
    let own = n.b.shape(x);
    let rank = own.len().max(shape.len());
    let at = |of: &[Dim], axis: usize| (axis + of.len()).checked_sub(rank).map_or(Dim::from(1), |at| of[at].clone());
    let larger = |axis| if at(shape, axis).is(1) { at(&own, axis) } else { at(shape, axis) };
    let common: Vec<Dim> = (0..rank).map(larger).collect();
    Ok(n.b.broadcast_to(x, &common)?)
}
