//! The shape rule of every primitive: argument types in, result type or the reason why there is none out.

use super::dim::Dim;
use super::prim::{Border, Prim, Window};
use super::ty::{DType, Type};

/// Why a primitive cannot be applied.
pub(super) type ShapeError = String;

impl Prim {
    /// The result's type.
    pub fn infer(&self, args: &[&Type]) -> Result<Type, ShapeError> {
        if let Some(ty) = args.iter().find(|ty| ty.dtype.is_stored() && self.computes()) {
            return Err(format!("arithmetic of {ty}, whose elements are in memory only"));
        }
        match self {
            Prim::Const(x) => Ok(Type::scalar(x.dtype())),
            Prim::Extent(_) => Ok(Type::scalar(DType::U32)),
            Prim::Iota { shape, axis } => {
                check(*axis < shape.len(), || format!("axis {axis} of rank {}", shape.len()))?;
                Ok(Type::new(DType::U32, shape.clone()))
            }
            Prim::Map(op) => {
                check(args.len() == op.arity(), || {
                    format!("`{}` takes {} arguments, not {}", op.name(), op.arity(), args.len())
                })?;
                for other in &args[1..] {
                    check(other.shape == args[0].shape, || format!("{} against {}", args[0], other))?;
                }
                let dtypes: Vec<DType> = args.iter().map(|t| t.dtype).collect();
                Ok(Type::new(op.dtype(&dtypes)?, args[0].shape.clone()))
            }
            Prim::Convert(dtype) => Ok(Type::new(*dtype, args[0].shape.clone())),
            Prim::Reduce { op: _, axes } => {
                numbers(args[0])?;
                drop_axes(args[0], axes)
            }
            Prim::ArgReduce { op: _, axis } => {
                numbers(args[0])?;
                Ok(Type { dtype: DType::U32, ..drop_axes(args[0], &[*axis])? })
            }
            Prim::WindowReduce { windows, .. } => {
                numbers(args[0])?;
                slide(args[0], windows)
            }
            Prim::WindowArgMax { windows } => {
                numbers(args[0])?;
                Ok(Type { dtype: DType::U32, ..slide(args[0], windows)? })
            }
            Prim::WindowTake { windows } => {
                let y = slide(args[0], windows)?;
                check(args[1].shape == y.shape, || format!("positions {} for {y}", args[1]))?;
                Ok(y)
            }
            Prim::WindowPut { windows, extents } => {
                let mut shape = args[0].shape.clone();
                let first = shape.len() - extents.len();
                shape[first..].clone_from_slice(extents);
                let x = Type::new(args[0].dtype, shape);
                check(slide(&x, windows)?.shape == args[0].shape, || format!("{} does not come from {x}", args[0]))?;
                Ok(x)
            }
            Prim::Reshape(shape) => {
                let to = Type::new(args[0].dtype, shape.clone());
                check(to.count() == args[0].count(), || {
                    format!("{} has {} elements, {to} has {}", args[0], args[0].count(), to.count())
                })?;
                Ok(to)
            }
            Prim::Transpose(permutation) => {
                let mut seen = permutation.clone();
                seen.sort_unstable();
                check(seen.into_iter().eq(0..args[0].rank()), || {
                    format!("{permutation:?} does not permute the axes of {}", args[0])
                })?;
                Ok(Type::new(args[0].dtype, permutation.iter().map(|&a| args[0].shape[a].clone()).collect::<Vec<_>>()))
            }
            Prim::Broadcast { shape, axes } => {
                let fits = axes.len() == args[0].rank()
                    && axes.windows(2).all(|w| w[0] < w[1])
                    && axes.iter().zip(&args[0].shape).all(|(&a, d)| shape.get(a) == Some(d));
                let to = Type::new(args[0].dtype, shape.clone());
                check(fits, || format!("{} does not broadcast to {to} along {axes:?}", args[0]))?;
                Ok(to)
            }
            Prim::SetSlice(cuts) => {
                let part = Prim::Slice(cuts.clone()).infer(&args[..1])?;
                check(part == *args[1], || format!("{} put into {part} of {}", args[1], args[0]))?;
                Ok(args[0].clone())
            }
            Prim::Slice(cuts) => {
                check(cuts.len() == args[0].rank(), || format!("{} cuts of {}", cuts.len(), args[0]))?;
                for (cut, extent) in cuts.iter().zip(&args[0].shape) {
                    let last = cut.start.clone() + (cut.len.clone() - Dim::from(1)) * Dim::from(cut.step);
                    let inside = |d: Dim| d.as_const().is_none_or(|d| d >= 0);
                    let ok = cut.step >= 1 && inside(cut.start.clone()) && inside(cut.len.clone());
                    check(ok && inside(extent.clone() - Dim::from(1) - last), || {
                        format!("a slice beyond {}", args[0])
                    })?;
                }
                Ok(Type::new(args[0].dtype, cuts.iter().map(|c| c.len.clone()).collect::<Vec<_>>()))
            }
            Prim::Barrier => Ok(args[0].clone()),
            Prim::Flip(axes) => {
                check(axes.iter().all(|&a| a < args[0].rank()), || format!("axes {axes:?} of {}", args[0]))?;
                Ok(args[0].clone())
            }
            Prim::Pad { borders, value } => {
                check(borders.len() == args[0].rank(), || format!("{} borders of {}", borders.len(), args[0]))?;
                check(value.dtype() == args[0].dtype, || format!("{} padded with {}", args[0], value.dtype()))?;
                let one = Dim::from(1);
                let grow = |(b, d): (&Border, &Dim)| {
                    (d.clone() - one.clone()) * Dim::from(b.interior + 1) + one.clone() + b.low.clone() + b.high.clone()
                };
                Ok(Type::new(args[0].dtype, borders.iter().zip(&args[0].shape).map(grow).collect::<Vec<_>>()))
            }
            Prim::Concat { axis } => {
                let mut out = args[0].clone();
                check(*axis < out.rank(), || format!("axis {axis} of {out}"))?;
                for other in &args[1..] {
                    let fits = other.dtype == out.dtype
                        && other.rank() == out.rank()
                        && (0..out.rank()).all(|a| a == *axis || other.shape[a] == out.shape[a]);
                    check(fits, || format!("{} beside {other}", args[0]))?;
                    out.shape[*axis] = out.shape[*axis].clone() + other.shape[*axis].clone();
                }
                Ok(out)
            }
            Prim::Contract { lhs, rhs, out } => contract(args[0], lhs, args[1], rhs, out),
            Prim::Conv { windows } => conv(args[0], args[1], windows),
            Prim::Gather { axis } => {
                check(*axis < args[0].rank(), || format!("axis {axis} of {}", args[0]))?;
                check(args[1].dtype == DType::U32, || format!("the index is {}, not u32", args[1].dtype))?;
                let (before, after) = args[0].shape.split_at(*axis);
                Ok(Type::new(args[0].dtype, [before, &args[1].shape, &after[1..]].concat()))
            }
            Prim::Attend(attend) => attend.infer(args),
            Prim::ScatterAdd { axis, extent } => {
                let end = axis + args[1].rank();
                let shape = args[0].shape.get(*axis..end);
                check(shape == Some(&args[1].shape[..]), || format!("updates {} at indices {}", args[0], args[1]))?;
                let (before, after) = (&args[0].shape[..*axis], &args[0].shape[end..]);
                Ok(Type::new(args[0].dtype, [before, std::slice::from_ref(extent), after].concat()))
            }
        }
    }
}

/// Refuses to reduce truth values.
fn numbers(ty: &Type) -> Result<(), ShapeError> {
    check(ty.dtype != DType::Bool, || format!("a reduction of {ty}"))
}

fn check(ok: bool, message: impl FnOnce() -> String) -> Result<(), ShapeError> {
    if ok { Ok(()) } else { Err(message()) }
}

fn drop_axes(arg: &Type, axes: &[usize]) -> Result<Type, ShapeError> {
    check(axes.windows(2).all(|w| w[0] < w[1]) && axes.iter().all(|&a| a < arg.rank()), || {
        format!("axes {axes:?} of {arg}")
    })?;
    let kept = (0..arg.rank()).filter(|a| !axes.contains(a)).map(|a| arg.shape[a].clone());
    Ok(Type::new(arg.dtype, kept.collect::<Vec<_>>()))
}

/// The type of what windows over the last axes give.
fn slide(arg: &Type, windows: &[Window]) -> Result<Type, ShapeError> {
    check(windows.len() <= arg.rank(), || format!("{} windows over {arg}", windows.len()))?;
    let mut out = arg.clone();
    let first = arg.rank() - windows.len();
    for (window, extent) in windows.iter().zip(&mut out.shape[first..]) {
        let outputs = window.output(extent);
        check(outputs.as_const().is_none_or(|n| n > 0), || format!("a window of {} over {extent}", window.size))?;
        *extent = outputs;
    }
    Ok(out)
}

fn contract(a: &Type, lhs: &[u8], b: &Type, rhs: &[u8], out: &[u8]) -> Result<Type, ShapeError> {
    check(a.rank() == lhs.len() && b.rank() == rhs.len(), || format!("labels for {a} and {b}"))?;
    check(a.dtype == b.dtype && a.dtype.is_float(), || format!("a product of {} and {}", a.dtype, b.dtype))?;
    let find =
        |labels: &[u8], ty: &Type, label: u8| labels.iter().position(|&l| l == label).map(|i| ty.shape[i].clone());
    for &label in lhs {
        if let (Some(x), Some(y)) = (find(lhs, a, label), find(rhs, b, label)) {
            check(x == y, || format!("{x} against {y}"))?;
        }
    }
    let mut shape = vec![];
    for &label in out {
        let extent = find(lhs, a, label).or_else(|| find(rhs, b, label));
        shape.push(extent.ok_or_else(|| format!("label `{}` in no argument", label as char))?);
    }
    Ok(Type::new(a.dtype, shape))
}

fn conv(x: &Type, w: &Type, windows: &[Window]) -> Result<Type, ShapeError> {
    let spatial = windows.len();
    check(x.rank() == 3 + spatial && w.rank() == 3 + spatial, || format!("{x} convolved with {w}"))?;
    check(x.shape[1] == w.shape[0], || format!("{} groups against {}", x.shape[1], w.shape[0]))?;
    check(x.shape[2] == w.shape[2], || format!("{} channels against {}", x.shape[2], w.shape[2]))?;
    check(x.dtype == w.dtype && x.dtype.is_float(), || format!("a product of {} and {}", x.dtype, w.dtype))?;
    for (window, taps) in windows.iter().zip(&w.shape[3..]) {
        check(window.size == *taps, || format!("a window of {} for {taps} taps", window.size))?;
    }
    let mut out = slide(x, windows)?;
    out.shape[2] = w.shape[1].clone();
    Ok(out)
}
