//! Derivative rules of the windowed primitives. They are closed under transposition: a window that is
//! slid back has stride and base exchanged.

use super::rules::{last, product_rule};
use crate::ir::prim::{MapOp, Prim, ReduceOp, Window};
use crate::ir::{DType, Dim, Value};
use crate::ops::{Builder, OpError};

/// The window that carries outputs back to inputs: input `i` met output `o` at tap `k` where
/// `o·stride + k·dilation − low = i·base`, so with the taps reversed `o` is again a window's formula of `i`.
fn transposed(w: &Window, input: &Dim, output: &Dim) -> Window {
    let one = Dim::from(1);
    let reach = (w.size.clone() - one.clone()) * Dim::from(w.dilation);
    let spread = |n: &Dim, step: i64| (n.clone() - one.clone()) * Dim::from(step);
    Window {
        size: w.size.clone(),
        stride: w.base,
        dilation: w.dilation,
        low: reach - w.low.clone(),
        // As many outputs as there were inputs.
        high: spread(input, w.base) + w.low.clone() - spread(output, w.stride),
        base: w.stride,
    }
}

fn all_transposed(windows: &[Window], inputs: &[Dim], outputs: &[Dim]) -> Vec<Window> {
    windows.iter().zip(inputs.iter().zip(outputs)).map(|(w, (i, o))| transposed(w, i, o)).collect()
}

/// Of a reduction of windows of `x`.
pub(super) fn reduce(
    b: &mut Builder<'_>,
    op: ReduceOp,
    windows: &[Window],
    x: Value,
    g: Value,
) -> Result<Value, OpError> {
    let inputs = last(b, x, windows.len());
    let back = all_transposed(windows, &inputs, &last(b, g, windows.len()));
    let slide = |op, windows: &[Window]| Prim::WindowReduce { op, windows: windows.to_vec() };
    match op {
        ReduceOp::Sum => b.prim(slide(ReduceOp::Sum, &back), &[g]),
        // The first of equal extremes takes all, as in PyTorch's max_pool2d.
        ReduceOp::Max | ReduceOp::Min => {
            let largest = if op == ReduceOp::Max { x } else { b.unary(MapOp::Neg, x)? };
            let position = b.prim(Prim::WindowArgMax { windows: windows.to_vec() }, &[largest])?;
            put(b, windows, inputs, g, position)
        }
        ReduceOp::Prod => {
            let sum = |b: &mut Builder<'_>, v| b.prim(slide(ReduceOp::Sum, windows), &[v]);
            let product = |b: &mut Builder<'_>, v| b.prim(slide(ReduceOp::Prod, windows), &[v]);
            product_rule(b, x, g, sum, product, |b: &mut Builder<'_>, v| b.prim(slide(ReduceOp::Sum, &back), &[v]))
        }
    }
}

/// Adds `g` to where `position` says in each window. Windows that tile the axes need no scattering: every
/// element compares its own place with the position.
pub(super) fn put(
    b: &mut Builder<'_>,
    windows: &[Window],
    extents: Vec<Dim>,
    g: Value,
    position: Value,
) -> Result<Value, OpError> {
    let tiles = |(w, extent): (&Window, &Dim)| {
        let alone = w.base == 1 && w.dilation == 1 && w.size.is(w.stride) && w.low.is(0) && w.high.is(0);
        alone && extent.exact_div(&w.size).is_some()
    };
    if !windows.iter().zip(&extents).all(tiles) {
        return b.prim(Prim::WindowPut { windows: windows.to_vec(), extents }, &[g, position]);
    }
    let outer = b.rank(g) - windows.len();
    let from = b.shape(g);
    let (mut split, mut joined) = (from[..outer].to_vec(), from[..outer].to_vec());
    let mut axes: Vec<usize> = (0..outer).collect();
    for (w, (count, extent)) in windows.iter().zip(from[outer..].iter().zip(&extents)) {
        axes.push(split.len());
        split.extend([count.clone(), w.size.clone()]);
        joined.push(extent.clone());
    }
    let tap = tap(b, windows, &split, outer)?;
    let spread = Prim::Broadcast { shape: split, axes };
    let (g, position) = (b.prim(spread.clone(), &[g])?, b.prim(spread, &[position])?);
    let (here, zero) = (b.map(MapOp::Eq, &[position, tap])?, b.constant(g, 0.0)?);
    let placed = b.select(here, g, zero)?;
    b.reshape(placed, &joined)
}

/// The row-major number of each element's tap, where axis `outer + 2i + 1` runs along window `i`.
fn tap(b: &mut Builder<'_>, windows: &[Window], split: &[Dim], outer: usize) -> Result<Value, OpError> {
    let mut number = None;
    for (i, w) in windows.iter().enumerate() {
        let along = b.iota(split, outer + 2 * i + 1)?;
        number = Some(match (number, w.size.as_const()) {
            // Each tap of the earlier axes counts for all taps of this one.
            (Some(earlier), Some(size)) => {
                let earlier = b.with(MapOp::Mul, earlier, size as f64)?;
                b.add(earlier, along)?
            }
            (_, _) => along,
        });
    }
    match number {
        Some(number) => Ok(number),
        None => b.full(DType::U32, split, 0.0),
    }
}

/// Of a convolution: both are convolutions again.
pub(super) fn conv(
    b: &mut Builder<'_>,
    windows: &[Window],
    x: Value,
    w: Value,
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let (inputs, outputs) = (last(b, x, windows.len()), last(b, g, windows.len()));
    let data = wanted[0].then(|| {
        // Taps reversed, input and output channels exchanged.
        let reversed = b.prim(Prim::Flip((3..3 + windows.len()).collect()), &[w])?;
        let exchanged = exchange(b, reversed, [0, 2, 1])?;
        b.prim(Prim::Conv { windows: all_transposed(windows, &inputs, &outputs) }, &[g, exchanged])
    });
    let data = data.transpose()?;
    let weights = wanted[1].then(|| {
        // The batch is summed like a channel, and the outputs are the taps: stride and dilation change places.
        let along = windows.iter().zip(inputs.iter().zip(&outputs)).map(|(w, (i, o))| correlated(w, i, o)).collect();
        let (x, g) = (exchange(b, x, [2, 1, 0])?, exchange(b, g, [1, 2, 0])?);
        let y = b.prim(Prim::Conv { windows: along }, &[x, g])?;
        exchange(b, y, [1, 2, 0])
    });
    Ok(vec![data, weights.transpose()?])
}

/// Permutes the three leading axes.
fn exchange(b: &mut Builder<'_>, x: Value, leading: [usize; 3]) -> Result<Value, OpError> {
    let permutation: Vec<usize> = leading.into_iter().chain(3..b.rank(x)).collect();
    b.transpose(x, &permutation)
}

/// The window whose outputs are the taps of `w` and whose taps are its outputs.
fn correlated(w: &Window, input: &Dim, output: &Dim) -> Window {
    let spread = |n: &Dim, step: i64| (n.clone() - Dim::from(1)) * Dim::from(step);
    Window {
        size: output.clone(),
        stride: w.dilation,
        dilation: w.stride,
        low: w.low.clone(),
        // As many outputs as there were taps.
        high: spread(&w.size, w.dilation) + spread(output, w.stride) - w.low.clone() - spread(input, w.base),
        base: w.base,
    }
}
