//! The meaning of the windowed primitives on concrete tensors.

use super::prim::{extreme, fold};
use super::tensor::{Tensor, indices, position, strides};
use crate::ir::Dim;
use crate::ir::prim::{ArgOp, ReduceOp, Window};

/// A window over one axis, in numbers.
#[derive(Clone, Copy)]
pub(super) struct Sliding {
    size: i64,
    stride: i64,
    dilation: i64,
    low: i64,
    high: i64,
    base: i64,
}

impl Sliding {
    pub(super) fn of(windows: &[Window], size: &dyn Fn(&Dim) -> i64) -> Vec<Sliding> {
        let number = |w: &Window| Sliding {
            size: size(&w.size),
            stride: w.stride,
            dilation: w.dilation,
            low: size(&w.low),
            high: size(&w.high),
            base: w.base,
        };
        windows.iter().map(number).collect()
    }

    /// The number of outputs over `input` elements.
    fn outputs(&self, input: usize) -> usize {
        let spread = (input as i64 - 1) * self.base + 1 + self.low + self.high;
        ((spread - (self.size - 1) * self.dilation - 1).div_euclid(self.stride) + 1).max(0) as usize
    }

    /// The input element of a tap; `None` in padding.
    fn source(&self, output: usize, tap: usize, extent: usize) -> Option<usize> {
        let at = output as i64 * self.stride + tap as i64 * self.dilation - self.low;
        let whole = at >= 0 && at % self.base == 0 && at / self.base < extent as i64;
        whole.then(|| (at / self.base) as usize)
    }
}

/// The shape of what windows over the last axes give.
fn slid(shape: &[usize], windows: &[Sliding]) -> Vec<usize> {
    let first = shape.len() - windows.len();
    let mut out = shape.to_vec();
    out[first..].iter_mut().zip(windows).for_each(|(extent, w)| *extent = w.outputs(*extent));
    out
}

fn taps(windows: &[Sliding]) -> Vec<usize> {
    windows.iter().map(|w| w.size as usize).collect()
}

/// The position in a tensor of shape `shape` that a tap of the window at `index` reads; `None` in padding.
fn read(shape: &[usize], windows: &[Sliding], index: &[usize], tap: &[usize]) -> Option<usize> {
    let first = shape.len() - windows.len();
    let mut at = index.to_vec();
    for (axis, window) in windows.iter().enumerate() {
        at[first + axis] = window.source(index[first + axis], tap[axis], shape[first + axis])?;
    }
    Some(position(&at, &strides(shape)))
}

pub(super) fn reduce(op: ReduceOp, x: &Tensor, windows: &[Sliding]) -> Tensor {
    let shape = slid(&x.shape, windows);
    let inner: Vec<Vec<usize>> = indices(&taps(windows)).collect();
    let mut groups =
        indices(&shape).map(|index| inner.iter().filter_map(|tap| read(&x.shape, windows, &index, tap)).collect());
    let data = fold(op, &x.data, &mut groups);
    Tensor::new(shape, data)
}

pub(super) fn arg_max(x: &Tensor, windows: &[Sliding]) -> Tensor {
    let shape = slid(&x.shape, windows);
    let inner: Vec<Vec<usize>> = indices(&taps(windows)).collect();
    let best = |index: Vec<usize>| {
        let inside = inner.iter().enumerate().filter_map(|(n, tap)| Some((n, read(&x.shape, windows, &index, tap)?)));
        let (number, at): (Vec<usize>, Vec<usize>) = inside.unzip();
        number.get(extreme(ArgOp::Max, &x.data, &at) as usize).map_or(0, |&n| n as u32)
    };
    let data = indices(&shape).map(best).collect();
    Tensor::words(shape, data)
}

/// For each element of a shape that windows give, the input position at the given tap number.
fn chosen(shape: &[usize], out: &[usize], position: &Tensor, windows: &[Sliding]) -> Vec<Option<usize>> {
    let inner: Vec<Vec<usize>> = indices(&taps(windows)).collect();
    let at = |(index, &n): (Vec<usize>, &u32)| read(shape, windows, &index, inner.get(n as usize)?);
    indices(out).zip(position.u32s()).map(at).collect()
}

pub(super) fn take(x: &Tensor, position: &Tensor, windows: &[Sliding]) -> Tensor {
    let from = chosen(&x.shape, &position.shape, position, windows);
    let zero = crate::ir::prim::Scalar::of(x.data.dtype(), 0.0);
    Tensor::new(position.shape.clone(), x.data.pick_or(zero, from.into_iter()))
}

pub(super) fn put(y: &Tensor, position: &Tensor, windows: &[Sliding], extents: &[usize]) -> Tensor {
    let mut shape = y.shape.clone();
    let first = shape.len() - extents.len();
    shape[first..].copy_from_slice(extents);
    let mut into = vec![vec![]; shape.iter().product()];
    for (from, at) in chosen(&shape, &y.shape, position, windows).into_iter().enumerate() {
        if let Some(at) = at {
            into[at].push(from);
        }
    }
    let data = fold(ReduceOp::Sum, &y.data, &mut into.into_iter());
    Tensor::new(shape, data)
}

pub(super) fn conv(x: &Tensor, w: &Tensor, windows: &[Sliding]) -> Tensor {
    let mut shape = slid(&x.shape, windows);
    shape[2] = w.shape[1];
    let inner: Vec<Vec<usize>> = indices(&w.shape[3..]).collect();
    let (channels, taps) = (x.shape[2], inner.len());
    let plane: usize = x.shape[3..].iter().product();
    let (data, weights) = (x.f64s(), w.f64s());
    let value = |index: Vec<usize>| {
        let [b, g, o] = [index[0], index[1], index[2]];
        let mut sum = 0.0;
        for (k, tap) in inner.iter().enumerate() {
            let Some(at) = read(&x.shape[3..], windows, &index[3..], tap) else { continue };
            for i in 0..channels {
                let xi = ((b * x.shape[1] + g) * channels + i) * plane + at;
                let wi = ((g * w.shape[1] + o) * channels + i) * taps + k;
                sum += data[xi] * weights[wi];
            }
        }
        sum
    };
    let data = indices(&shape).map(value).collect();
    Tensor::floats(shape, data)
}
