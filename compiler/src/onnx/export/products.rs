//! Sums of products: `MatMul`, `Gemm`, `Einsum` and `Conv`.

use super::attributes::{int, ints, text};
use super::value::Made;
use super::writer::{Call, Writer};
use crate::ir::prim::{Border, Scalar, Window};
use crate::ir::{DType, Dim};
use std::collections::BTreeMap;

/// An operand: its tensor and the labels of its axes.
#[derive(Clone, Copy)]
struct Operand<'a> {
    name: &'a str,
    labels: &'a [u8],
}

impl Writer<'_> {
    /// A contraction.
    pub(super) fn contract(&mut self, call: Call<'_>, lhs: &[u8], rhs: &[u8], out: &[u8]) -> String {
        let (a, b) = (self.full(call, 0), self.full(call, 1));
        let (a, b) = (Operand { name: &a, labels: lhs }, Operand { name: &b, labels: rhs });
        self.product(a, b, out).unwrap_or_else(|| self.einsum(a, b, out))
    }

    /// As a product of matrices, where the axes allow it.
    fn product(&mut self, a: Operand<'_>, b: Operand<'_>, out: &[u8]) -> Option<String> {
        let of = |one: Operand<'_>, other: Operand<'_>, is_shared: bool| -> Vec<u8> {
            let such = |label: &&u8| one.labels.contains(label) && other.labels.contains(label) == is_shared;
            out.iter().filter(such).copied().collect()
        };
        let (batch, rows, columns) = (of(a, b, true), of(a, b, false), of(b, a, false));
        let summed: Vec<u8> = a.labels.iter().filter(|label| !out.contains(label)).copied().collect();
        let is_shared =
            a.labels.len() == batch.len() + rows.len() + 1 && b.labels.len() == batch.len() + columns.len() + 1;
        let [k] = summed.as_slice() else { return None };
        if !is_shared || !b.labels.contains(k) || columns.len() != 1 {
            // With several columns and one row the operands change places.
            let swaps = is_shared && b.labels.contains(k) && rows.len() == 1;
            return if swaps { self.product(b, a, out) } else { None };
        }
        if !batch.is_empty() && rows.len() != 1 {
            return None;
        }
        if let ([m], true, [n]) = (rows.as_slice(), batch.is_empty(), columns.as_slice()) {
            return Some(match out == [*m, *n] {
                true => self.gemm(a, b, *k),
                false => self.gemm(b, a, *k),
            });
        }
        let a = self.arranged(a, &[&batch[..], &rows, &[*k]].concat());
        let b = self.arranged(b, &[&batch[..], &[*k], &columns].concat());
        let made = self.op("MatMul", &[&a, &b], vec![]);
        Some(self.arranged(Operand { name: &made, labels: &[&batch[..], &rows, &columns].concat() }, out))
    }

    /// A product of two matrices.
    fn gemm(&mut self, a: Operand<'_>, b: Operand<'_>, k: u8) -> String {
        let flipped = [a.labels[0] == k, b.labels[1] == k];
        if flipped == [false, false] {
            return self.op("MatMul", &[a.name, b.name], vec![]);
        }
        let flags = ["transA", "transB"].iter().zip(flipped).filter(|(_, is)| *is).map(|(name, _)| int(name, 1));
        self.op("Gemm", &[a.name, b.name], flags.collect())
    }

    /// An operand with its axes in that order.
    fn arranged(&mut self, x: Operand<'_>, order: &[u8]) -> String {
        let place = |label: &u8| x.labels.iter().position(|own| own == label);
        let permutation: Vec<usize> = order.iter().filter_map(place).collect();
        self.transposed(x.name, &permutation)
    }

    fn einsum(&mut self, a: Operand<'_>, b: Operand<'_>, out: &[u8]) -> String {
        let mut letters: BTreeMap<u8, char> = BTreeMap::new();
        let mut all = ('a'..='z').chain('A'..='Z');
        for label in a.labels.iter().chain(b.labels) {
            letters.entry(*label).or_insert_with(|| match all.next() {
                Some(letter) => letter,
                None => unreachable!("operands have fewer axes"),
            });
        }
        let list = |labels: &[u8]| labels.iter().filter_map(|label| letters.get(label)).collect::<String>();
        let equation = format!("{},{}->{}", list(a.labels), list(b.labels), list(out));
        self.op("Einsum", &[a.name, b.name], vec![text("equation", &equation)])
    }

    /// A convolution. Groups are part of the channels there.
    pub(super) fn conv(&mut self, call: Call<'_>, windows: &[Window]) -> Made {
        let (x, w, y) = (&call.arg_ty(0).shape, &call.arg_ty(1).shape, &call.ty().shape);
        let images = [&[x[0].clone(), x[1].clone() * x[2].clone()], &x[3..]].concat();
        let filters = [&[w[0].clone() * w[1].clone()], &w[2..]].concat();
        let made = [&[y[0].clone(), y[1].clone() * y[2].clone()], &y[3..]].concat();
        let (mut image, filter) = (self.shaped(call, 0, &images), self.shaped(call, 1, &filters));
        let (borders, pads) = borders(windows);
        let around = [vec![Border { low: 0.into(), high: 0.into(), interior: 0 }; 2], borders].concat();
        image = self.padded(&image, &images, &around, Scalar::of(call.ty().dtype, 0.0));
        let mut attributes = attributes(windows, pads);
        let taps: Option<Vec<i64>> = windows.iter().map(|window| window.size.as_const()).collect();
        attributes.extend(taps.map(|taps| ints("kernel_shape", taps)));
        if let Some(groups) = x[1].as_const().filter(|groups| *groups != 1) {
            attributes.push(int("group", groups));
        }
        let name = self.op("Conv", &[&image, &filter], attributes);
        if made == *y { Made::full(name, call.ty()) } else { Made::Shaped(name, made) }
    }
}

/// What of the borders an operator does not do itself, and what it does: numbers that are not negative.
fn borders(windows: &[Window]) -> (Vec<Border>, [Vec<i64>; 2]) {
    let (mut outside, mut inside) = (vec![], [vec![], vec![]]);
    for window in windows {
        let split = |dim: &Dim| match dim.as_const() {
            Some(number) if window.base == 1 && number >= 0 => (Dim::from(0), number),
            _ => (dim.clone(), 0),
        };
        let ((low, first), (high, second)) = (split(&window.low), split(&window.high));
        outside.push(Border { low, high, interior: window.base - 1 });
        inside[0].push(first);
        inside[1].push(second);
    }
    (outside, inside)
}

/// How windows move, without what goes without saying.
pub(super) fn attributes(windows: &[Window], [lows, highs]: [Vec<i64>; 2]) -> Vec<crate::onnx::proto::AttributeProto> {
    let strides = windows.iter().map(|window| window.stride);
    let dilations = windows.iter().map(|window| window.dilation);
    let all =
        [("strides", strides.collect(), 1), ("dilations", dilations.collect(), 1), ("pads", [lows, highs].concat(), 0)];
    let said = |(_, numbers, usual): &(&str, Vec<i64>, i64)| numbers.iter().any(|number| number != usual);
    all.into_iter().filter(said).map(|(name, numbers, _)| ints(name, numbers)).collect()
}

/// Whether the pools of ONNX Runtime take windows over elements of that type.
pub(super) fn has_pool(windows: &[Window], dtype: DType) -> bool {
    let is_inside = |dim: &Dim, size: i64| dim.as_const().is_some_and(|number| (0..size).contains(&number));
    let fits = |window: &Window| {
        let Some(size) = window.size.as_const() else { return false };
        window.base == 1 && is_inside(&window.low, size) && is_inside(&window.high, size)
    };
    dtype == DType::F32 && (1..=3).contains(&windows.len()) && windows.iter().all(fits)
}
