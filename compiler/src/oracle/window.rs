//! The meaning of the windowed primitives on concrete tensors.

use super::prim::{extreme, fold};
use super::tensor::{Data, Tensor, indices, strides};
use crate::ir::Dim;
use crate::ir::prim::{ArgOp, ReduceOp, Scalar, Window};

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

/// The windows over the last axes of a shape.
struct Layout {
    /// The shape of what the windows give.
    out: Vec<usize>,
    /// The elements of the last axes together.
    plane: usize,
    /// For each window of a plane, the taps that are not in padding: their number and what they read.
    patches: Vec<Vec<(usize, usize)>>,
}

impl Layout {
    fn of(shape: &[usize], windows: &[Sliding]) -> Layout {
        let first = shape.len() - windows.len();
        let extents = &shape[first..];
        let counts: Vec<usize> = windows.iter().zip(extents).map(|(w, &n)| w.outputs(n)).collect();
        let taps: Vec<Vec<usize>> = indices(&windows.iter().map(|w| w.size as usize).collect::<Vec<_>>()).collect();
        let steps = strides(extents);
        let read = |index: &[usize], tap: &[usize]| {
            let axis = |a: usize| Some(windows[a].source(index[a], tap[a], extents[a])? * steps[a]);
            (0..windows.len()).map(axis).sum::<Option<usize>>()
        };
        let patch = |index: Vec<usize>| {
            let inside = |(n, tap): (usize, &Vec<usize>)| Some((n, read(&index, tap)?));
            taps.iter().enumerate().filter_map(inside).collect()
        };
        let out = [&shape[..first], &counts].concat();
        Layout { out, plane: extents.iter().product(), patches: indices(&counts).map(patch).collect() }
    }

    /// For each window in the result's order, its taps: their number and what they read.
    fn windows(&self) -> impl Iterator<Item = Vec<(usize, usize)>> + '_ {
        let planes = self.out.iter().product::<usize>() / self.patches.len().max(1);
        let shifted = |plane: usize, patch: &[(usize, usize)]| {
            patch.iter().map(|(n, at)| (*n, plane * self.plane + at)).collect()
        };
        (0..planes).flat_map(move |plane| self.patches.iter().map(move |patch| shifted(plane, patch)))
    }

    /// What each window reads at the tap of the given number; `None` in padding.
    fn chosen<'a>(&'a self, position: &'a Tensor) -> impl Iterator<Item = Option<usize>> + 'a {
        let find = |(window, &n): (Vec<(usize, usize)>, &i128)| {
            window.iter().find(|(tap, _)| *tap == n as usize).map(|(_, at)| *at)
        };
        self.windows().zip(position.integers()).map(find)
    }
}

pub(super) fn reduce(op: ReduceOp, x: &Tensor, windows: &[Sliding]) -> Tensor {
    let layout = Layout::of(&x.shape, windows);
    let mut groups = layout.windows().map(|window| window.into_iter().map(|(_, at)| at).collect());
    let data = fold(op, &x.data, &mut groups);
    Tensor::new(layout.out.clone(), data)
}

pub(super) fn arg_max(x: &Tensor, windows: &[Sliding]) -> Tensor {
    let layout = Layout::of(&x.shape, windows);
    let best = |window: Vec<(usize, usize)>| {
        let (number, at): (Vec<usize>, Vec<usize>) = window.into_iter().unzip();
        // A window all in padding has no element; its position is the first.
        number.get(extreme(ArgOp::Max, &x.data, &at) as usize).map_or(0, |&n| n as u32)
    };
    let data = layout.windows().map(best).collect();
    Tensor::words(layout.out, data)
}

pub(super) fn take(x: &Tensor, position: &Tensor, windows: &[Sliding]) -> Tensor {
    let layout = Layout::of(&x.shape, windows);
    let data = x.data.pick_or(Scalar::of(x.data.dtype(), 0.0), layout.chosen(position));
    Tensor::new(position.shape.clone(), data)
}

pub(super) fn put(y: &Tensor, position: &Tensor, windows: &[Sliding], extents: &[usize]) -> Tensor {
    let mut shape = y.shape.clone();
    let first = shape.len() - extents.len();
    shape[first..].copy_from_slice(extents);
    let mut into = vec![vec![]; shape.iter().product()];
    for (from, at) in Layout::of(&shape, windows).chosen(position).enumerate() {
        if let Some(at) = at {
            into[at].push(from);
        }
    }
    let data = fold(ReduceOp::Sum, &y.data, &mut into.into_iter());
    Tensor::new(shape, data)
}

pub(super) fn conv(x: &Tensor, w: &Tensor, windows: &[Sliding]) -> Tensor {
    let layout = Layout::of(&x.shape, windows);
    let [batch, groups, channels] = [x.shape[0], x.shape[1], x.shape[2]];
    let outputs = w.shape[1];
    let taps: usize = w.shape[3..].iter().product();
    let (data, weights) = (x.f64s(), w.f64s());
    let mut all = vec![];
    for b in 0..batch {
        for (g, o) in (0..groups).flat_map(|g| (0..outputs).map(move |o| (g, o))) {
            for patch in &layout.patches {
                let channel = |i: usize| {
                    let from = ((b * groups + g) * channels + i) * layout.plane;
                    let with = ((g * outputs + o) * channels + i) * taps;
                    patch.iter().map(|(tap, at)| data[from + at] * weights[with + tap]).sum::<f64>()
                };
                all.push((0..channels).map(channel).sum());
            }
        }
    }
    let mut shape = layout.out;
    shape[2] = outputs;
    Tensor::new(shape, Data::Float(x.data.dtype(), all))
}
