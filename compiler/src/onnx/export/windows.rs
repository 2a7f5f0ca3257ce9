//! Windows: pools where ONNX has them, otherwise gathers of what each window sees.

use super::attributes::{axes, int, ints};
use super::products::{attributes, has_pool};
use super::reduce::neutral;
use super::value::Made;
use super::writer::{Call, Writer};
use crate::ir::dim::product;
use crate::ir::prim::{ReduceOp, Scalar, Window};
use crate::ir::{DType, Dim, Type};

impl Writer<'_> {
    /// A reduction of windows.
    pub(super) fn window_reduce(&mut self, call: Call<'_>, op: ReduceOp, windows: &[Window]) -> Made {
        let from = call.arg_ty(0);
        let is_average = op == ReduceOp::Sum && windows.iter().all(|window| window.dilation == 1);
        if has_pool(windows, from.dtype) && (op == ReduceOp::Max || is_average) {
            return self.pool(call, op, windows);
        }
        let (mut x, mut ty) = (self.full(call, 0), from.clone());
        let first = ty.rank() - windows.len();
        for (k, window) in windows.iter().enumerate() {
            let outputs = window.output(&ty.shape[first + k]);
            let seen = self.seen(&x, &ty, first + k, window, neutral(op, ty.dtype));
            x = self.reduced(&seen, ty.dtype, op, &[first + k + 1]);
            ty.shape[first + k] = outputs;
        }
        Made::full(x, call.ty())
    }

    /// A pool of images: of the axes before the windows', two are left.
    fn pool(&mut self, call: Call<'_>, op: ReduceOp, windows: &[Window]) -> Made {
        let (from, to) = (&call.arg_ty(0).shape, &call.ty().shape);
        let first = from.len() - windows.len();
        let lead = match first {
            2 => from[..first].to_vec(),
            _ => vec![product(&from[..first]), 1.into()],
        };
        let x = self.shaped(call, 0, &[&lead, &from[first..]].concat());
        let sizes: Vec<i64> = windows.iter().filter_map(|window| window.size.as_const()).collect();
        let side = |of: fn(&Window) -> &Dim| windows.iter().filter_map(|window| of(window).as_const()).collect();
        let mut attributes = attributes(windows, [side(|window| &window.low), side(|window| &window.high)]);
        let taps: i64 = sizes.iter().product();
        attributes.push(ints("kernel_shape", sizes));
        let name = match op {
            ReduceOp::Max => self.op("MaxPool", &[&x], attributes),
            _ => {
                attributes.push(int("count_include_pad", 1));
                let mean = self.op("AveragePool", &[&x], attributes);
                let taps = self.constant(Scalar::Float(DType::F32, taps as f64));
                self.op("Mul", &[&mean, &taps], vec![])
            }
        };
        let made = [&lead, &to[first..]].concat();
        if made == *to { Made::full(name, call.ty()) } else { Made::Shaped(name, made) }
    }

    /// What windows over one axis see: that axis becomes outputs and taps. Outside is `value`.
    fn seen(&mut self, x: &str, ty: &Type, axis: usize, window: &Window, value: Scalar) -> String {
        let extent = &ty.shape[axis];
        let outputs = self.range(&window.output(extent), &Dim::from(0), window.stride);
        let taps = self.range(&window.size, &Dim::from(0), window.dilation);
        let last = self.list(&[1]);
        let outputs = self.op("Unsqueeze", &[&outputs, &last], vec![]);
        let mut at = self.op("Add", &[&outputs, &taps], vec![]);
        if !window.low.is(0) {
            let low = self.extent(&window.low);
            at = self.op("Sub", &[&at, &low], vec![]);
        }
        let is_inside = |dim: &Dim| dim.as_const().is_some_and(|number| number <= 0);
        if window.base == 1 && is_inside(&window.low) && is_inside(&window.high) {
            return self.op("Gather", &[x, &at], vec![int("axis", axis as i64)]);
        }
        let (at, _) = self.held(&at, extent, window.base);
        let mut border = ty.clone();
        border.shape[axis] = 1.into();
        let border = self.filled(&border, value);
        let x = self.joined(&[x.into(), border], axis);
        self.op("Gather", &[&x, &at], vec![int("axis", axis as i64)])
    }

    /// Positions in the element that they are, and behind the last where they are none; and whether they are one.
    fn held(&mut self, at: &str, extent: &Dim, base: i64) -> (String, String) {
        let (zero, end) = (self.number(0), self.extent(extent));
        let low = self.op("LessOrEqual", &[&zero, at], vec![]);
        let (mut place, mut is_one) = (at.to_string(), low);
        if base != 1 {
            let base = self.number(base);
            let rest = self.op("Mod", &[at, &base], vec![]);
            let is_whole = self.op("Equal", &[&rest, &zero], vec![]);
            is_one = self.op("And", &[&is_one, &is_whole], vec![]);
            place = self.op("Div", &[at, &base], vec![]);
        }
        let high = self.op("Less", &[&place, &end], vec![]);
        let is_one = self.op("And", &[&is_one, &high], vec![]);
        (self.op("Where", &[&is_one, &place, &end], vec![]), is_one)
    }

    /// What all windows see: outputs where the axes of the windows were, and taps as the last axis.
    fn patches(&mut self, call: Call<'_>, windows: &[Window], value: Scalar) -> String {
        let (mut x, mut ty) = (self.full(call, 0), call.arg_ty(0).clone());
        let first = ty.rank() - windows.len();
        for (k, window) in windows.iter().enumerate() {
            let axis = first + 2 * k;
            x = self.seen(&x, &ty, axis, window, value);
            let outputs = window.output(&ty.shape[axis]);
            ty.shape.splice(axis..=axis, [outputs, window.size.clone()]);
        }
        let outputs = (0..first).chain((0..windows.len()).map(|k| first + 2 * k));
        let order: Vec<usize> = outputs.chain((0..windows.len()).map(|k| first + 2 * k + 1)).collect();
        let x = self.op("Transpose", &[&x], vec![axes("perm", &order)]);
        let from: Vec<Dim> = order.iter().map(|&axis| ty.shape[axis].clone()).collect();
        let taps = product(windows.iter().map(|window| &window.size));
        self.reshaped(&x, &from, &[&from[..first + windows.len()], &[taps]].concat())
    }

    /// The places of the largest elements.
    pub(super) fn window_arg_max(&mut self, call: Call<'_>, windows: &[Window]) -> String {
        let dtype = call.arg_ty(0).dtype;
        let patches = self.patches(call, windows, neutral(ReduceOp::Max, dtype));
        let patches = self.comparable(&patches, dtype);
        self.op("ArgMax", &[&patches], vec![int("axis", -1), int("keepdims", 0)])
    }

    /// The elements at places of windows.
    pub(super) fn window_take(&mut self, call: Call<'_>, windows: &[Window]) -> String {
        let dtype = call.arg_ty(0).dtype;
        let patches = self.patches(call, windows, Scalar::of(dtype, 0.0));
        let (places, last) = (self.full(call, 1), self.list(&[-1]));
        let places = self.op("Unsqueeze", &[&places, &last], vec![]);
        let taken = self.op("GatherElements", &[&patches, &places], vec![int("axis", -1)]);
        self.op("Squeeze", &[&taken, &last], vec![])
    }

    /// Adds elements where windows took them from.
    pub(super) fn window_put(&mut self, call: Call<'_>, windows: &[Window], extents: &[Dim]) -> String {
        let (from, to) = (call.arg_ty(0), call.ty());
        let first = from.rank() - windows.len();
        let (lead, places) = (product(&from.shape[..first]), product(&from.shape[first..]));
        let elements = product(extents);
        let mut rest = self.full(call, 1);
        let (mut flat, mut is_one): (Option<String>, Option<String>) = (None, None);
        for (k, window) in windows.iter().enumerate().rev() {
            let size = self.extent(&window.size);
            let tap = self.op("Mod", &[&rest, &size], vec![]);
            rest = self.op("Div", &[&rest, &size], vec![]);
            let at = self.source(from, first + k, window, &tap);
            let (at, is) = self.held(&at, &extents[k], window.base);
            let step = self.extent(&product(&extents[k + 1..]));
            let at = self.op("Mul", &[&at, &step], vec![]);
            flat = Some(flat.map_or(at.clone(), |flat| self.op("Add", &[&flat, &at], vec![])));
            is_one = Some(is_one.map_or(is.clone(), |all| self.op("And", &[&all, &is], vec![])));
        }
        let y = self.shaped(call, 0, &[lead.clone(), places.clone()]);
        let (Some(flat), Some(is_one)) = (flat, is_one) else { return self.full(call, 0) };
        let nowhere = self.extent(&elements);
        let at = self.op("Where", &[&is_one, &flat, &nowhere], vec![]);
        let at = self.reshaped(&at, &from.shape, &[lead.clone(), places]);
        let one_more = Type::new(to.dtype, vec![lead.clone(), elements.clone() + Dim::from(1)]);
        let zeros = self.zeros(&one_more);
        let made = self.added(&zeros, &at, &y, 1, to.dtype);
        let made = self.part(&made, 1, &0.into(), &elements);
        self.reshaped(&made, &[lead, elements], &to.shape)
    }

    /// The position that a tap of a window over one axis reads, before it is held inside.
    fn source(&mut self, outputs: &Type, axis: usize, window: &Window, tap: &str) -> String {
        let (steps, low) = (self.range(&outputs.shape[axis], &Dim::from(0), window.stride), self.extent(&window.low));
        let behind: Vec<i64> = (1..outputs.rank() - axis).map(|axis| axis as i64).collect();
        let behind = self.list(&behind);
        let steps = self.op("Unsqueeze", &[&steps, &behind], vec![]);
        let dilation = self.number(window.dilation);
        let tap = self.op("Mul", &[tap, &dilation], vec![]);
        let at = self.op("Add", &[&tap, &steps], vec![]);
        self.op("Sub", &[&at, &low], vec![])
    }
}
