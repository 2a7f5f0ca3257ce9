//! What moves elements: shapes, orders of axes, parts, borders.

use super::attributes::{axes, int};
use super::value::{Made, Thin};
use super::writer::{Call, Writer};
use crate::ir::Dim;
use crate::ir::prim::{Border, Cut, Scalar};

/// Behind the end of every axis, as ONNX's `Slice` takes it.
const END: i64 = i64::MAX;

impl Writer<'_> {
    /// The elements of a tensor under another shape; nothing is written until a tensor of that shape is needed.
    pub(super) fn reshape(&mut self, call: Call<'_>) -> Made {
        let (value, ty) = (call.arg(0), call.arg_ty(0));
        match self.made[value.0 as usize].clone() {
            Made::Tensor(thin) if thin.rank == 0 => Made::uniform(thin.name, call.ty()),
            Made::Shaped(name, shape) if shape != call.ty().shape => Made::Shaped(name, shape),
            Made::Shaped(name, _) => Made::full(name, call.ty()),
            _ => Made::Shaped(self.full(call, 0), ty.shape.clone()),
        }
    }

    /// An argument of a node under another shape.
    pub(super) fn shaped(&mut self, call: Call<'_>, k: usize, shape: &[Dim]) -> String {
        match self.made[call.arg(k).0 as usize].clone() {
            Made::Shaped(name, from) => self.reshaped(&name, &from, shape),
            _ => {
                let x = self.full(call, k);
                self.reshaped(&x, &call.arg_ty(k).shape, shape)
            }
        }
    }

    /// A tensor under another shape.
    pub(super) fn reshaped(&mut self, x: &str, from: &[Dim], to: &[Dim]) -> String {
        if from == to {
            return x.into();
        }
        let mut free = 0;
        let known: Vec<i64> = { to.iter().enumerate() }
            .map(|(axis, dim)| match dim.as_const() {
                Some(extent) => extent,
                None if from.get(axis) == Some(dim) => 0,
                None => {
                    free += 1;
                    -1
                }
            })
            .collect();
        let is_empty = to.iter().any(|dim| dim.is(0));
        if free > 1 || is_empty {
            let shape = self.shape(to);
            return self.op("Reshape", &[x, &shape], vec![int("allowzero", i64::from(is_empty))]);
        }
        let shape = self.list(&known);
        self.op("Reshape", &[x, &shape], vec![])
    }

    /// A tensor whose axes are in another order.
    pub(super) fn transposed(&mut self, x: &str, permutation: &[usize]) -> String {
        match permutation.iter().enumerate().all(|(axis, &from)| axis == from) {
            true => x.into(),
            false => self.op("Transpose", &[x], vec![axes("perm", permutation)]),
        }
    }

    /// A value that repeats: where it does, the tensor has one element.
    pub(super) fn broadcast(&mut self, call: Call<'_>, shape: &[Dim], to: &[usize]) -> Made {
        let thin = self.thin(call, 0);
        let mut repeated: Vec<usize> =
            (0..shape.len()).filter(|axis| !to.contains(axis) && !shape[*axis].is(1)).collect();
        repeated.extend(thin.repeated.iter().map(|&axis| to[axis]));
        repeated.sort_unstable();
        let own = &to[to.len() - thin.rank..];
        let Some(&first) = own.first() else { return Made::Tensor(Thin { repeated, ..thin }) };
        let absent: Vec<i64> =
            (first..shape.len()).filter(|axis| !own.contains(axis)).map(|axis| (axis - first) as i64).collect();
        let mut name = thin.name;
        if !absent.is_empty() {
            let axes = self.list(&absent);
            name = self.op("Unsqueeze", &[&name, &axes], vec![]);
        }
        Made::Tensor(Thin { name, rank: shape.len() - first, repeated })
    }

    /// A part of a tensor.
    pub(super) fn sliced(&mut self, x: &str, from: &[Dim], cuts: &[Cut]) -> String {
        let is_whole = |cut: &Cut, extent: &Dim| cut.start.is(0) && cut.step == 1 && cut.len == *extent;
        let parts: Vec<(usize, &Cut)> =
            cuts.iter().enumerate().filter(|(axis, cut)| !is_whole(cut, &from[*axis])).collect();
        if parts.is_empty() {
            return x.into();
        }
        let starts: Vec<Dim> = parts.iter().map(|(_, cut)| cut.start.clone()).collect();
        let end = |(axis, cut): &(usize, &Cut)| {
            let end = cut.start.clone() + cut.len.clone() * Dim::from(cut.step);
            if end == from[*axis] { Dim::from(END) } else { end }
        };
        let ends: Vec<Dim> = parts.iter().map(end).collect();
        let axes: Vec<i64> = parts.iter().map(|(axis, _)| *axis as i64).collect();
        let steps: Vec<i64> = parts.iter().map(|(_, cut)| cut.step).collect();
        let (starts, ends, axes) = (self.shape(&starts), self.shape(&ends), self.list(&axes));
        if steps.iter().all(|step| *step == 1) {
            return self.op("Slice", &[x, &starts, &ends, &axes], vec![]);
        }
        let steps = self.list(&steps);
        self.op("Slice", &[x, &starts, &ends, &axes, &steps], vec![])
    }

    /// Elements of one axis, one after the other.
    pub(super) fn part(&mut self, x: &str, axis: usize, start: &Dim, end: &Dim) -> String {
        let (start, end) = (self.shape(std::slice::from_ref(start)), self.shape(std::slice::from_ref(end)));
        let axis = self.list(&[axis as i64]);
        self.op("Slice", &[x, &start, &end, &axis], vec![])
    }

    /// The whole with a part of it replaced, axis by axis.
    pub(super) fn set_slice(&mut self, call: Call<'_>, cuts: &[Cut]) -> String {
        let (whole, part) = (self.full(call, 0), self.full(call, 1));
        self.replaced(&whole, &call.arg_ty(0).shape, &part, cuts, 0)
    }

    fn replaced(&mut self, whole: &str, from: &[Dim], part: &str, cuts: &[Cut], axis: usize) -> String {
        let is_whole = |axis: usize| cuts[axis].start.is(0) && cuts[axis].step == 1 && cuts[axis].len == from[axis];
        let Some(axis) = (axis..cuts.len()).find(|&axis| !is_whole(axis)) else { return part.into() };
        let (cut, extent) = (&cuts[axis], &from[axis]);
        let rest = (axis + 1..cuts.len()).any(|axis| !is_whole(axis));
        let mut own = vec![];
        for (other, extent) in from.iter().enumerate() {
            let cut = if other == axis { cut.clone() } else { Cut { start: 0.into(), len: extent.clone(), step: 1 } };
            own.push(cut);
        }
        let mut middle = part.to_string();
        if rest {
            let row = self.sliced(whole, from, &own);
            let mut shape = from.to_vec();
            shape[axis].clone_from(&cut.len);
            middle = self.replaced(&row, &shape, part, cuts, axis + 1);
        }
        if cut.step != 1 {
            let mut shape = from.to_vec();
            shape[axis].clone_from(&cut.len);
            let at = self.range(&cut.len, &cut.start, cut.step);
            let at = self.along(&at, axis, &shape);
            return self.op("ScatterElements", &[whole, &at, &middle], vec![int("axis", axis as i64)]);
        }
        let end = cut.start.clone() + cut.len.clone();
        let mut parts = vec![];
        if !cut.start.is(0) {
            parts.push(self.part(whole, axis, &0.into(), &cut.start));
        }
        parts.push(middle);
        if end != *extent {
            parts.push(self.part(whole, axis, &end, &END.into()));
        }
        self.joined(&parts, axis)
    }

    /// Axes in the opposite order.
    pub(super) fn flipped(&mut self, x: &str, axes: &[usize]) -> String {
        let all = |number: i64| vec![number; axes.len()];
        let (last, before, axes) = (
            self.list(&all(-1)),
            self.list(&all(-END)),
            self.list(&axes.iter().map(|&axis| axis as i64).collect::<Vec<_>>()),
        );
        self.op("Slice", &[x, &last, &before, &axes, &last], vec![])
    }

    /// Tensors beside each other.
    pub(super) fn joined(&mut self, parts: &[String], axis: usize) -> String {
        match parts {
            [only] => only.clone(),
            all => {
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                self.op("Concat", &all, vec![int("axis", axis as i64)])
            }
        }
    }

    /// A tensor with borders, and with elements between its own.
    pub(super) fn padded(&mut self, x: &str, from: &[Dim], borders: &[Border], value: Scalar) -> String {
        let (mut x, mut shape) = (x.to_string(), from.to_vec());
        for (axis, border) in borders.iter().enumerate().filter(|(_, border)| border.interior != 0) {
            x = self.spread(&x, &mut shape, axis, border.interior, value);
        }
        let lows = borders.iter().map(|border| border.low.clone());
        let pads: Vec<Dim> = lows.chain(borders.iter().map(|border| border.high.clone())).collect();
        if pads.iter().all(|pad| pad.is(0)) {
            return x;
        }
        let (pads, value) = (self.shape(&pads), self.constant(value));
        self.op("Pad", &[&x, &pads, &value], vec![])
    }

    /// Puts elements between those of an axis: behind each, and not behind the last.
    fn spread(&mut self, x: &str, shape: &mut [Dim], axis: usize, interior: i64, value: Scalar) -> String {
        let (mut apart, mut pads) = (shape.to_vec(), vec![Dim::from(0); 2 * shape.len() + 2]);
        apart.insert(axis + 1, 1.into());
        let x = self.reshaped(x, shape, &apart);
        let last = shape.len() + 1 + axis + 1;
        pads[last] = interior.into();
        let (pads, value) = (self.shape(&pads), self.constant(value));
        let x = self.op("Pad", &[&x, &pads, &value], vec![]);
        apart[axis + 1] = (interior + 1).into();
        let all = shape[axis].clone() * Dim::from(interior + 1);
        shape[axis] = all.clone();
        let x = self.reshaped(&x, &apart, shape);
        shape[axis] = all - Dim::from(interior);
        let end = shape[axis].clone();
        self.part(&x, axis, &0.into(), &end)
    }
}
