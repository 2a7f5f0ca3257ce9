//! Fourier transforms of known lengths: products with the matrix of cosines and sines.
//!
//! Always: angles are computed from whole numbers below the length, in f64; real and imaginary parts are one axis of the matrix, so
//! that a transform is one product.

use super::super::Failure;
use super::super::node::{Made, Node};
use super::{Operator, computes, one};
use crate::ir::prim::{Prim, Window};
use crate::ir::{Dim, Value};
use crate::oracle::{Data, Tensor};
use std::f64::consts::TAU;

pub(super) const OPERATORS: &[Operator] = &[computes("DFT", |n| one(dft(n))), computes("STFT", |n| one(stft(n)))];

/// A transform.
struct Transform {
    /// How many numbers are transformed; there may be fewer or more.
    length: i64,
    /// Numbers before and after.
    from: i64,
    to: i64,
    /// Whether the argument has imaginary parts, and the result.
    is_complex: bool,
    gives_complex: bool,
    is_inverse: bool,
    /// Whether the argument of the inverse lacks the half that mirrors the other one.
    is_half: bool,
}

impl Transform {
    /// Refuses a matrix that does not exist, or is too large.
    fn check(&self, n: &mut Node<'_>) -> Made<()> {
        if self.length <= 0 || self.from < 0 || self.to < 0 {
            return Err(Failure::new(format!("a transform of {} numbers", self.length)));
        }
        let parts = self.parts().iter().product::<usize>() as i64;
        n.room(self.from.saturating_mul(self.to).saturating_mul(parts)).map(drop)
    }

    /// The parts of the argument and of the result.
    fn parts(&self) -> [usize; 2] {
        [1 + usize::from(self.is_complex), 1 + usize::from(self.gives_complex)]
    }

    /// The factor of a part of an element in a part of an element of the result; parts are real and imaginary.
    fn factor(&self, to: i64, from: i64, part: usize, out: usize) -> f64 {
        let kept = if self.is_half { self.length / 2 + 1 } else { self.length };
        if from >= kept {
            return 0.0;
        }
        let turns = (i128::from(to) * i128::from(from)).rem_euclid(self.length.into()) as f64 / self.length as f64;
        let (sine, cosine) = (TAU * turns).sin_cos();
        let sine = if self.is_inverse { sine } else { -sine };
        // (a + bi) · (cosine + i · sine)
        let factor = match (part, out) {
            (0, 0) | (1, 1) => cosine,
            (1, 0) => -sine,
            _ => sine,
        };
        let has_mirror = self.is_half && from > 0 && 2 * from != self.length;
        // Elements that mirror themselves have no imaginary part.
        let is_real = self.is_half && !has_mirror && part == 1;
        let weight = f64::from(u8::from(!is_real)) * if has_mirror { 2.0 } else { 1.0 };
        weight * factor / if self.is_inverse { self.length as f64 } else { 1.0 }
    }
}

/// A number that must be known, where it is given.
fn number(n: &Node<'_>, k: usize) -> Made<Option<i64>> {
    Ok(n.maybe_ints(k)?.and_then(|ints| ints.first().copied()))
}

/// Whether the last of so many axes has real and imaginary parts.
fn is_complex(shape: &[Dim]) -> Made<bool> {
    match shape.last().and_then(Dim::as_const) {
        Some(1) => Ok(false),
        Some(2) => Ok(true),
        _ => Err(Failure::new(format!("the last axis of {shape:?} holds no real and imaginary parts"))),
    }
}

fn dft(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let (shape, rank) = (n.b.shape(x), n.b.rank(x));
    let axis = match n.opset < 20 {
        true => n.axis(1, rank)?,
        false => n.axis_of(number(n, 2)?.unwrap_or(-2), rank)?,
    };
    if rank > 20 || axis + 1 >= rank || !n.b.dtype(x).is_float() {
        return Err(Failure::new(format!("axis {axis} of {}", n.b.ty(x))));
    }
    let from = shape[axis].as_const().ok_or_else(|| Failure::new(format!("a transform of {} numbers", shape[axis])))?;
    let (is_inverse, is_onesided) = (n.flag("inverse"), n.flag("onesided"));
    let is_half = is_inverse && is_onesided;
    let length = number(n, 1)?.unwrap_or(if is_half { 2 * (from - 1) } else { from });
    let to = if is_onesided && !is_inverse { length / 2 + 1 } else { length };
    let (is_complex, gives_complex) = (is_complex(&shape)?, !is_half);
    let transform = Transform { length, from, to, is_complex, gives_complex, is_inverse, is_half };
    transform.check(n)?;
    let [given, made] = transform.parts();
    let mut matrix = vec![];
    for k in 0..to {
        for at in 0..from {
            for part in 0..given {
                matrix.extend((0..made).map(|out| transform.factor(k, at, part, out)));
            }
        }
    }
    let extents = [to as usize, from as usize, given, made];
    let matrix = n.constant(Tensor::new(extents, Data::Float(n.b.dtype(x), matrix)))?;
    let lhs: Vec<u8> = (0..rank).map(|k| b'a' + k as u8).collect();
    let (rhs, mut out) = (vec![b'y', lhs[axis], lhs[rank - 1], b'z'], lhs.clone());
    (out[axis], out[rank - 1]) = (b'y', b'z');
    Ok(n.b.prim(Prim::Contract { lhs, rhs, out }, &[x, matrix])?)
}

/// Transforms of parts of a signal that a window weighs: a convolution with the weighted cosines and sines.
fn stft(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let shape = n.b.shape(x);
    let (batch, count) = match &shape[..] {
        [batch, count] | [batch, count, _] if n.b.dtype(x).is_float() => (batch.clone(), count.clone()),
        _ => return Err(Failure::new(format!("a signal of shape {shape:?}"))),
    };
    let is_complex = if shape.len() == 2 { false } else { is_complex(&shape)? };
    let step = number(n, 1)?.filter(|&step| step > 0).ok_or_else(|| Failure::new("it lacks the step"))?;
    let given = if n.has(2) { n.ty(2)?.shape.first().and_then(Dim::as_const) } else { None };
    let length = number(n, 3)?.or(given).or_else(|| count.as_const());
    let length = length.ok_or_else(|| Failure::new("the length of its frames is not known"))?;
    let to = if n.int("onesided", 1) != 0 { length / 2 + 1 } else { length };
    let is_inverse = false;
    let transform = Transform { length, from: length, to, is_complex, gives_complex: true, is_inverse, is_half: false };
    transform.check(n)?;
    let kernels = kernels(n, x, &transform, given)?;
    let parts = Dim::from(transform.parts()[0]);
    let wide = n.b.reshape(x, &[batch.clone(), 1.into(), count, parts])?;
    let wide = n.b.transpose(wide, &[0, 1, 3, 2])?;
    let window = Window { size: length.into(), stride: step, dilation: 1, low: 0.into(), high: 0.into(), base: 1 };
    // Batch, group, frequency and part, frame.
    let made = n.b.prim(Prim::Conv { windows: vec![window] }, &[wide, kernels])?;
    let frames = n.b.shape(made)[3].clone();
    let made = n.b.reshape(made, &[batch, to.into(), 2.into(), frames])?;
    Ok(n.b.transpose(made, &[0, 3, 1, 2])?)
}

/// The weighted cosines and sines, by frequency and part, part of the signal, and position.
fn kernels(n: &mut Node<'_>, x: Value, transform: &Transform, given: Option<i64>) -> Made {
    let (length, dtype) = (transform.length, n.b.dtype(x));
    let known = n.known(2).map(|known| known.tensor().data.numbers());
    let is_ready = known.is_some() || !n.has(2);
    if !is_ready && given != Some(length) {
        return Err(Failure::new(format!("the window is not known, and does not have {length} elements")));
    }
    // What a window does not reach is not read.
    let weight = |at: i64| known.as_ref().map_or(1.0, |window| window.get(at as usize).copied().unwrap_or(0.0));
    let [parts, made] = transform.parts();
    let mut matrix = vec![];
    for k in 0..transform.to {
        for out in 0..made {
            for part in 0..parts {
                matrix.extend((0..length).map(|at| weight(at) * transform.factor(k, at, part, out)));
            }
        }
    }
    let extents = [1, transform.to as usize * made, parts, length as usize];
    let matrix = n.constant(Tensor::new(extents, Data::Float(dtype, matrix)))?;
    if is_ready {
        return Ok(matrix);
    }
    let window = n.arg(2)?;
    let window = n.b.convert(window, dtype)?;
    let window = n.b.reshape(window, &[length.into()])?;
    Ok(n.b.mul(matrix, window)?)
}
