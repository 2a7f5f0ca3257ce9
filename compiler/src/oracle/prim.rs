//! The meaning of every primitive on concrete tensors: definitions as loops over indices.

use super::attend;
use super::scalar::{convert, largest, map};
use super::tensor::{Data, Tensor, indices, offsets, steps, strides};
use super::window::{self, Sliding};
use crate::ir::Dim;
use crate::ir::prim::{ArgOp, Cut, Prim, ReduceOp, Scalar};

/// The value of a primitive; `size` gives the value of a dimension.
pub(super) fn apply(prim: &Prim, args: &[&Tensor], size: &dyn Fn(&Dim) -> i64) -> Tensor {
    let sizes = |dims: &[Dim]| dims.iter().map(|d| size(d) as usize).collect::<Vec<_>>();
    let arg = |i: usize| args[i];
    match prim {
        Prim::Const(x) => Tensor::scalar(*x),
        Prim::Extent(dim) => Tensor::scalar(Scalar::u32(size(dim) as u32)),
        Prim::Iota { shape, axis } => iota(sizes(shape), *axis),
        Prim::Map(op) => {
            let data: Vec<&Data> = args.iter().map(|t| &t.data).collect();
            Tensor::new(arg(0).shape.clone(), map(*op, &data))
        }
        Prim::Convert(dtype) => Tensor::new(arg(0).shape.clone(), convert(&arg(0).data, *dtype)),
        Prim::Reduce { op, axes } => reduce(*op, arg(0), axes),
        Prim::ArgReduce { op, axis } => arg_reduce(*op, arg(0), *axis),
        Prim::WindowReduce { op, windows } => window::reduce(*op, arg(0), &Sliding::of(windows, size)),
        Prim::WindowArgMax { windows } => window::arg_max(arg(0), &Sliding::of(windows, size)),
        Prim::WindowTake { windows } => window::take(arg(0), arg(1), &Sliding::of(windows, size)),
        Prim::WindowPut { windows, extents } => {
            window::put(arg(0), arg(1), &Sliding::of(windows, size), &sizes(extents))
        }
        Prim::Conv { windows } => window::conv(arg(0), arg(1), &Sliding::of(windows, size)),
        Prim::Reshape(shape) => Tensor::new(sizes(shape), arg(0).data.clone()),
        Prim::Transpose(permutation) => {
            let from = steps(&arg(0).shape);
            let shape: Vec<usize> = permutation.iter().map(|&a| arg(0).shape[a]).collect();
            view(arg(0), shape, 0, &permutation.iter().map(|&a| from[a]).collect::<Vec<_>>())
        }
        Prim::Broadcast { shape, axes } => {
            let (shape, mut along) = (sizes(shape), vec![0; shape.len()]);
            axes.iter().zip(steps(&arg(0).shape)).for_each(|(&a, step)| along[a] = step);
            view(arg(0), shape, 0, &along)
        }
        Prim::Slice(cuts) => {
            let (start, along) = part(arg(0), cuts, size);
            view(arg(0), cuts.iter().map(|c| size(&c.len) as usize).collect(), start, &along)
        }
        Prim::SetSlice(cuts) => set_slice(arg(0), arg(1), cuts, size),
        Prim::Barrier => arg(0).clone(),
        Prim::Flip(axes) => {
            let (shape, mut along) = (arg(0).shape.clone(), steps(&arg(0).shape));
            let start = axes.iter().map(|&a| (shape[a] as i64 - 1) * along[a]).sum();
            axes.iter().for_each(|&a| along[a] = -along[a]);
            view(arg(0), shape, start, &along)
        }
        Prim::Pad { borders, value } => {
            let borders: Vec<[i64; 3]> =
                borders.iter().map(|b| [size(&b.low), size(&b.high), b.interior + 1]).collect();
            pad(arg(0), &borders, *value)
        }
        Prim::Concat { axis } => concat(args, *axis),
        Prim::Contract { lhs, rhs, out } => contract(arg(0), lhs, arg(1), rhs, out),
        Prim::Gather { axis } => gather(arg(0), arg(1), *axis),
        Prim::Attend(attend) => attend::apply(attend, args),
        Prim::ScatterAdd { axis, extent } => scatter_add(arg(0), arg(1), *axis, size(extent) as usize),
    }
}

/// The index of each element along an axis.
fn iota(shape: Vec<usize>, axis: usize) -> Tensor {
    let along: Vec<i64> = (0..shape.len()).map(|a| i64::from(a == axis)).collect();
    let data = offsets(0, &shape, &along).into_iter().map(|i| i as u32).collect();
    Tensor::words(shape, data)
}

/// Where a part of a tensor starts, and how far one element is from the next along each axis.
fn part(whole: &Tensor, cuts: &[Cut], size: &dyn Fn(&Dim) -> i64) -> (i64, Vec<i64>) {
    let from = steps(&whole.shape);
    let start = cuts.iter().zip(&from).map(|(c, step)| size(&c.start) * step).sum();
    (start, cuts.iter().zip(&from).map(|(c, step)| c.step * step).collect())
}

/// The whole with a part of it replaced.
fn set_slice(whole: &Tensor, new: &Tensor, cuts: &[Cut], size: &dyn Fn(&Dim) -> i64) -> Tensor {
    let (start, along) = part(whole, cuts, size);
    // Position `count + i` of both one after the other is the part's element i.
    let count = whole.data.len();
    let mut from: Vec<usize> = (0..count).collect();
    offsets(start, &new.shape, &along).into_iter().enumerate().for_each(|(i, at)| from[at] = count + i);
    let both = concat(&[&flat(whole), &flat(new)], 0);
    Tensor::new(whole.shape.clone(), both.data.pick(from.into_iter()))
}

/// The elements in a row.
fn flat(x: &Tensor) -> Tensor {
    Tensor::new(vec![x.data.len()], x.data.clone())
}

/// The elements of `x` at `start`, advancing by `along` for each axis of `shape`.
fn view(x: &Tensor, shape: Vec<usize>, start: i64, along: &[i64]) -> Tensor {
    let data = x.data.pick(offsets(start, &shape, along).into_iter());
    Tensor::new(shape, data)
}

/// How elements combine, with what nothing gives.
pub(super) fn fold(op: ReduceOp, data: &Data, groups: &mut dyn Iterator<Item = Vec<usize>>) -> Data {
    let infinity = f64::INFINITY;
    match data {
        Data::Float(dtype, x) => {
            let one = |group: Vec<usize>| {
                let items = group.into_iter().map(|i| x[i]);
                match op {
                    ReduceOp::Sum => items.fold(0.0, |a, b| a + b),
                    ReduceOp::Prod => items.fold(1.0, |a, b| a * b),
                    ReduceOp::Max => items.fold(-infinity, largest),
                    ReduceOp::Min => items.fold(infinity, |a, b| -largest(-a, -b)),
                }
            };
            Data::Float(*dtype, groups.map(one).collect())
        }
        Data::Int(dtype, x) => {
            let (least, greatest) = dtype.integers();
            let one = |group: Vec<usize>| {
                let items = group.into_iter().map(|i| x[i]);
                match op {
                    ReduceOp::Sum => items.fold(0, |a, b| dtype.wrapped(a + b)),
                    ReduceOp::Prod => items.fold(1, |a: i128, b| dtype.wrapped(a.wrapping_mul(b))),
                    ReduceOp::Max => items.fold(least, i128::max),
                    ReduceOp::Min => items.fold(greatest, i128::min),
                }
            };
            Data::Int(*dtype, groups.map(one).collect())
        }
        Data::Bool(_) => unreachable!("a reduction of bool was refused by the shape rule"),
    }
}

fn reduce(op: ReduceOp, x: &Tensor, axes: &[usize]) -> Tensor {
    let all = steps(&x.shape);
    let split = |inside: bool| (0..x.shape.len()).filter(move |a| axes.contains(a) == inside).collect::<Vec<_>>();
    let extents = |which: &[usize]| which.iter().map(|&a| x.shape[a]).collect::<Vec<_>>();
    let along = |which: &[usize]| which.iter().map(|&a| all[a]).collect::<Vec<_>>();
    let (reduced, kept) = (split(true), split(false));
    let inner = offsets(0, &extents(&reduced), &along(&reduced));
    let starts = offsets(0, &extents(&kept), &along(&kept));
    let mut groups = starts.iter().map(|start| inner.iter().map(|o| start + o).collect());
    let data = fold(op, &x.data, &mut groups);
    Tensor::new(extents(&kept), data)
}

/// Whether `b` is a better extreme than `a`; the first NaN is the best of all.
pub(super) fn better(op: ArgOp, a: f64, b: f64) -> bool {
    match op {
        _ if a.is_nan() => false,
        _ if b.is_nan() => true,
        ArgOp::Max => b > a,
        ArgOp::Min => b < a,
    }
}

/// The position in `group` of the first extreme.
pub(super) fn extreme(op: ArgOp, data: &Data, group: &[usize]) -> u32 {
    let number = |i: usize| data.element(i).as_f64();
    let mut best = 0;
    for (at, &i) in group.iter().enumerate() {
        if better(op, number(group[best]), number(i)) {
            best = at;
        }
    }
    best as u32
}

fn arg_reduce(op: ArgOp, x: &Tensor, axis: usize) -> Tensor {
    let (mut shape, mut along) = (x.shape.clone(), steps(&x.shape));
    let (extent, step) = (shape.remove(axis), along.remove(axis) as usize);
    let group = |start: usize| (0..extent).map(|i| start + i * step).collect::<Vec<_>>();
    let data = offsets(0, &shape, &along).into_iter().map(|start| extreme(op, &x.data, &group(start))).collect();
    Tensor::words(shape, data)
}

fn pad(x: &Tensor, borders: &[[i64; 3]], value: Scalar) -> Tensor {
    let steps = strides(&x.shape);
    let grown =
        |(&[low, high, apart], &extent): (&[i64; 3], &usize)| ((extent as i64 - 1) * apart + 1 + low + high) as usize;
    let shape: Vec<usize> = borders.iter().zip(&x.shape).map(grown).collect();
    let source = |index: Vec<usize>| {
        let mut at = 0;
        for (axis, &[low, _, apart]) in borders.iter().enumerate() {
            let from = index[axis] as i64 - low;
            if from < 0 || from % apart != 0 || from / apart >= x.shape[axis] as i64 {
                return None;
            }
            at += (from / apart) as usize * steps[axis];
        }
        Some(at)
    };
    let data = x.data.pick_or(value, indices(&shape).map(source));
    Tensor::new(shape, data)
}

fn concat(args: &[&Tensor], axis: usize) -> Tensor {
    let mut shape = args[0].shape.clone();
    shape[axis] = args.iter().map(|t| t.shape[axis]).sum();
    let outer: usize = shape[..axis].iter().product();
    let row = |t: &Tensor| t.shape[axis..].iter().product::<usize>();
    let parts: Vec<Data> = (0..outer).flat_map(|i| args.iter().map(move |t| t.data.part(i * row(t), row(t)))).collect();
    let data = match parts.is_empty() {
        true => Data::zeros(args[0].data.dtype(), 0),
        false => Data::join(&parts.iter().collect::<Vec<_>>()),
    };
    Tensor::new(shape, data)
}

fn contract(a: &Tensor, lhs: &[u8], b: &Tensor, rhs: &[u8], out: &[u8]) -> Tensor {
    let find = |labels: &[u8], label: u8| labels.iter().position(|&l| l == label);
    let extent =
        |label: u8| find(lhs, label).map_or_else(|| find(rhs, label).map_or(1, |i| b.shape[i]), |i| a.shape[i]);
    let mut summed: Vec<u8> = lhs.iter().chain(rhs).copied().filter(|l| !out.contains(l)).collect();
    summed.sort_unstable();
    summed.dedup();
    let extents = |labels: &[u8]| labels.iter().map(|&l| extent(l)).collect::<Vec<_>>();
    // Of an operand: where it starts for each result, and how it moves through each sum.
    let walk = |labels: &[u8], t: &Tensor, over: &[u8]| {
        let all = steps(&t.shape);
        let along: Vec<i64> = over.iter().map(|&l| find(labels, l).map_or(0, |i| all[i])).collect();
        offsets(0, &extents(over), &along)
    };
    let terms: Vec<(usize, usize)> = walk(lhs, a, &summed).into_iter().zip(walk(rhs, b, &summed)).collect();
    let (x, y) = (a.f64s(), b.f64s());
    let sum = |(i, j): (usize, usize)| terms.iter().map(|(p, q)| x[i + p] * y[j + q]).sum();
    let data = walk(lhs, a, out).into_iter().zip(walk(rhs, b, out)).map(sum).collect();
    Tensor::new(extents(out), Data::Float(a.data.dtype(), data))
}

fn gather(data: &Tensor, index: &Tensor, axis: usize) -> Tensor {
    let (before, after) = (&data.shape[..axis], &data.shape[axis + 1..]);
    let (outer, inner): (usize, usize) = (before.iter().product(), after.iter().product());
    let extent = data.shape[axis];
    let row = |o: usize, i: i128| {
        (0..inner).map(move |k| (i < extent as i128).then_some((o * extent + i as usize) * inner + k))
    };
    let at = (0..outer).flat_map(|o| index.integers().iter().flat_map(move |&i| row(o, i)));
    let outside = Scalar::outside(data.data.dtype());
    Tensor::new([before, &index.shape, after].concat(), data.data.pick_or(outside, at))
}

fn scatter_add(updates: &Tensor, index: &Tensor, axis: usize, extent: usize) -> Tensor {
    let end = axis + index.shape.len();
    let (before, after) = (&updates.shape[..axis], &updates.shape[end..]);
    let (outer, inner): (usize, usize) = (before.iter().product(), after.iter().product());
    let mut into = vec![vec![]; outer * extent * inner];
    for o in 0..outer {
        for (n, &i) in index.integers().iter().enumerate().filter(|(_, i)| **i < extent as i128) {
            for k in 0..inner {
                into[(o * extent + i as usize) * inner + k].push((o * index.data.len() + n) * inner + k);
            }
        }
    }
    let data = fold(ReduceOp::Sum, &updates.data, &mut into.into_iter());
    Tensor::new([before, &[extent], after].concat(), data)
}
