//! The batching rule of every primitive: arguments of which some have lanes in, the result for all lanes out.
//!
//! Lanes are the leading axis. A result has them where an argument has.

use crate::diag::Code;
use crate::ir::prim::{Border, Cut, MapOp, Prim};
use crate::ir::{DType, Dim, Type, Value};
use crate::ops::{Builder, OpError};

/// A value of the new graph, and whether it has lanes.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    pub(super) value: Value,
    pub(super) varies: bool,
}

type Made = Result<Value, OpError>;

/// The type of all lanes.
pub(super) fn with_lanes(ty: &Type, count: &Dim) -> Type {
    Type::new(ty.dtype, [std::slice::from_ref(count), &ty.shape].concat())
}

/// The value with lanes; one without is the same in all.
pub(super) fn spread(b: &mut Builder<'_>, lane: Lane, count: &Dim) -> Made {
    if lane.varies {
        return Ok(lane.value);
    }
    let shape = with_lanes(b.ty(lane.value), count).shape;
    let axes = (1..shape.len()).collect();
    b.prim(Prim::Broadcast { shape, axes }, &[lane.value])
}

/// Exchanges the two leading axes.
pub(super) fn exchange(b: &mut Builder<'_>, x: Value) -> Made {
    let order: Vec<usize> = [1, 0].into_iter().chain(2..b.rank(x)).collect();
    b.transpose(x, &order)
}

/// Of each lane the value of its case, which the selector names: of the last one where it is larger.
pub(super) fn choose(b: &mut Builder<'_>, selector: Value, cases: &[Value]) -> Made {
    let Some((&last, others)) = cases.split_last() else { unreachable!("a branch has a case") };
    let selector = b.prim(Prim::Convert(DType::U32), &[selector])?;
    let mut chosen = last;
    for (k, &case) in others.iter().enumerate().rev() {
        let here = b.with(MapOp::Eq, selector, k as f64)?;
        let shape = b.shape(case).to_vec();
        let here = b.prim(Prim::Broadcast { shape, axes: vec![0] }, &[here])?;
        chosen = b.select(here, case, chosen)?;
    }
    Ok(chosen)
}

/// The primitive for all lanes.
pub(super) fn prim(b: &mut Builder<'_>, prim: &Prim, args: &[Lane], count: &Dim) -> Result<Lane, OpError> {
    let varies = args.iter().any(|lane| lane.varies);
    let value = match varies {
        true => batched(b, prim, args, count)?,
        false => b.prim(prim.clone(), &args.iter().map(|lane| lane.value).collect::<Vec<_>>())?,
    };
    Ok(Lane { value, varies })
}

/// The same, where an argument has lanes.
fn batched(b: &mut Builder<'_>, prim: &Prim, args: &[Lane], count: &Dim) -> Made {
    let behind = |axes: &[usize]| -> Vec<usize> { axes.iter().map(|a| a + 1).collect() };
    let and_zero = |axes: &[usize]| -> Vec<usize> { std::iter::once(0).chain(behind(axes)).collect() };
    let under = |shape: &[Dim]| [std::slice::from_ref(count), shape].concat();
    let moved = match prim {
        Prim::Const(_) | Prim::Extent(_) | Prim::Iota { .. } => unreachable!("without arguments there are no lanes"),
        Prim::Contract { lhs, rhs, out } => return contract(b, args, lhs, rhs, out),
        Prim::Conv { .. } => return conv(b, prim, args, count),
        Prim::Gather { axis } => return gather(b, *axis, args, count),
        Prim::ScatterAdd { axis, extent } => return scatter_add(b, *axis, extent, args, count),
        // Windows slide along the last axes; attention has any number of leading ones.
        Prim::Map(_)
        | Prim::Attend(_)
        | Prim::Convert(_)
        | Prim::WindowReduce { .. }
        | Prim::WindowArgMax { .. }
        | Prim::WindowTake { .. }
        | Prim::WindowPut { .. } => prim.clone(),
        Prim::Reduce { op, axes } => Prim::Reduce { op: *op, axes: behind(axes) },
        Prim::ArgReduce { op, axis } => Prim::ArgReduce { op: *op, axis: axis + 1 },
        Prim::Reshape(shape) => Prim::Reshape(under(shape)),
        Prim::Transpose(permutation) => Prim::Transpose(and_zero(permutation)),
        Prim::Broadcast { shape, axes } => Prim::Broadcast { shape: under(shape), axes: and_zero(axes) },
        Prim::Slice(cuts) => {
            let whole = Cut { start: Dim::from(0), len: count.clone(), step: 1 };
            Prim::Slice(std::iter::once(&whole).chain(cuts).cloned().collect())
        }
        Prim::SetSlice(cuts) => {
            let whole = Cut { start: Dim::from(0), len: count.clone(), step: 1 };
            Prim::SetSlice(std::iter::once(&whole).chain(cuts).cloned().collect())
        }
        Prim::Barrier => Prim::Barrier,
        Prim::Flip(axes) => Prim::Flip(behind(axes)),
        Prim::Pad { borders, value } => {
            let none = Border { low: Dim::from(0), high: Dim::from(0), interior: 0 };
            Prim::Pad { borders: std::iter::once(&none).chain(borders).cloned().collect(), value: *value }
        }
        Prim::Concat { axis } => Prim::Concat { axis: axis + 1 },
    };
    let all = args.iter().map(|&lane| spread(b, lane, count)).collect::<Result<Vec<_>, _>>()?;
    b.prim(moved, &all)
}

/// The lanes are one more label, which an operand without lanes lacks.
fn contract(b: &mut Builder<'_>, args: &[Lane], lhs: &[u8], rhs: &[u8], out: &[u8]) -> Made {
    let used = |label: &u8| lhs.contains(label) || rhs.contains(label);
    let Some(fresh) = (b'a'..=b'z').chain(b'A'..=b'Z').find(|label| !used(label)) else {
        return Err(OpError::new(Code::ShapeMismatch, "too many labels"));
    };
    let labels = |labels: &[u8], varies: bool| -> Vec<u8> {
        std::iter::once(fresh).filter(|_| varies).chain(labels.iter().copied()).collect()
    };
    let prim =
        Prim::Contract { lhs: labels(lhs, args[0].varies), rhs: labels(rhs, args[1].varies), out: labels(out, true) };
    b.prim(prim, &[args[0].value, args[1].value])
}

/// Lanes of the data are more examples, those of the taps more output channels, those of both more groups.
fn conv(b: &mut Builder<'_>, prim: &Prim, args: &[Lane], count: &Dim) -> Made {
    let (x, w) = (args[0], args[1]);
    // `x[B, G, I, …]`, `w[G, O, I, …]` and `y[B, G, O, …]`: which axis of each takes the lanes.
    let (of_x, of_w, of_y) = match (x.varies, w.varies) {
        (true, false) => (Some(0), None, 0),
        (false, _) => (None, Some(1), 2),
        (true, true) => (Some(1), Some(0), 1),
    };
    let merged = |b: &mut Builder<'_>, value: Value, axis: Option<usize>| match axis {
        Some(axis) => merge(b, value, axis),
        None => Ok(value),
    };
    let (x, w) = (merged(b, x.value, of_x)?, merged(b, w.value, of_w)?);
    let y = b.prim(prim.clone(), &[x, w])?;
    split(b, y, of_y, count)
}

/// Joins the lanes with axis `axis` of each, before whose elements they stand.
fn merge(b: &mut Builder<'_>, x: Value, axis: usize) -> Made {
    let order: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..b.rank(x)).collect();
    let beside = b.transpose(x, &order)?;
    let mut shape = b.shape(beside);
    let count = shape.remove(axis);
    shape[axis] = count * shape[axis].clone();
    b.reshape(beside, &shape)
}

/// Takes the lanes out of axis `axis`: the inverse of `merge`.
fn split(b: &mut Builder<'_>, x: Value, axis: usize, count: &Dim) -> Made {
    let mut shape = b.shape(x);
    let Some(each) = shape[axis].exact_div(count) else { unreachable!("the axis was joined with the lanes") };
    shape[axis] = each;
    shape.insert(axis, count.clone());
    let apart = b.reshape(x, &shape)?;
    let order: Vec<usize> = std::iter::once(axis).chain((0..shape.len()).filter(|a| *a != axis)).collect();
    b.transpose(apart, &order)
}

fn gather(b: &mut Builder<'_>, axis: usize, args: &[Lane], count: &Dim) -> Made {
    let (data, index) = (args[0], args[1]);
    match (data.varies, index.varies) {
        (_, false) => b.prim(Prim::Gather { axis: axis + 1 }, &[data.value, index.value]),
        (false, true) => {
            let taken = b.prim(Prim::Gather { axis }, &[data.value, index.value])?;
            let order: Vec<usize> = std::iter::once(axis).chain((0..b.rank(taken)).filter(|a| *a != axis)).collect();
            b.transpose(taken, &order)
        }
        (true, true) => {
            let extent = b.shape(data.value)[axis + 1].clone();
            let index = joint_index(b, index.value, &extent, count)?;
            let joined = merge(b, data.value, axis)?;
            let taken = b.prim(Prim::Gather { axis }, &[joined, index])?;
            let order: Vec<usize> = std::iter::once(axis).chain((0..b.rank(taken)).filter(|a| *a != axis)).collect();
            b.transpose(taken, &order)
        }
    }
}

fn scatter_add(b: &mut Builder<'_>, axis: usize, extent: &Dim, args: &[Lane], count: &Dim) -> Made {
    let (updates, index) = (spread(b, args[0], count)?, args[1]);
    if !index.varies {
        return b.prim(Prim::ScatterAdd { axis: axis + 1, extent: extent.clone() }, &[updates, index.value]);
    }
    let index = joint_index(b, index.value, extent, count)?;
    // The lanes stand before the axes of the index, as in the index itself.
    let order: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..b.rank(updates)).collect();
    let updates = b.transpose(updates, &order)?;
    let all = b.prim(Prim::ScatterAdd { axis, extent: count.clone() * extent.clone() }, &[updates, index])?;
    split(b, all, axis, count)
}

/// Indices into an axis that holds the elements of every lane, one lane after another; what was outside
/// stays outside.
fn joint_index(b: &mut Builder<'_>, index: Value, extent: &Dim, count: &Dim) -> Made {
    let shape = b.shape(index);
    let (each, end) = (b.extent_u32(extent)?, b.extent_u32(&(count.clone() * extent.clone()))?);
    let inside = b.map(MapOp::Lt, &[index, each])?;
    let lane = b.iota(&shape, 0)?;
    let first = b.mul(lane, each)?;
    let joint = b.add(first, index)?;
    b.select(inside, joint, end)
}
