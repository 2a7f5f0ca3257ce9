//! The operand that is no parameter, row by row.
//!
//! In: where its rows lie. Out: rounded rows as the unit reads them, in order of K and with zeros at the end, and the scales of
//! rows of bytes. Always: a byte is 128 more than its integer, because the instructions that multiply bytes take one
//! factor without a sign.

use super::{Precision, round};
use crate::Simd;
use crate::contract::layout::{Group, Side, Walk};
use crate::contract::pack;
use crate::contract::plan::Plan;

/// Where rows lie.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// Evenly spaced, each contiguous.
    Lines { from: *const f32, step: isize },
    /// Anywhere.
    Any { plan: &'a Plan<'a>, side: &'a Side<'a>, outer: &'a Group },
}

impl Rows<'_> {
    /// Row `row` of batch index `batch`, contiguously: where it lies, or in `buffer`.
    ///
    /// # Safety
    /// `buffer` must be valid for writing a word for each element, and the row must be one of the operand's.
    #[inline(always)]
    unsafe fn find<S: Simd>(&self, s: S, (batch, row): (usize, usize), buffer: *mut f32) -> *const f32 {
        match *self {
            Rows::Lines { from, step } => from.wrapping_offset(row.cast_signed() * step),
            Rows::Any { plan, side, outer } => {
                let place = plan.at_batch(side, batch).plus(&Walk::new(side, outer, row).place);
                let start = Walk::new(side, &plan.k, 0);
                if plan.k.count <= 1 && (plan.k.count == 0 || side.strides[start.axis()] == 1) {
                    return side.data.as_ptr().wrapping_offset(place.offset);
                }
                // SAFETY: the buffer has a word for each of the `plan.k.total` elements, and the row is one of the
                // operand's, by this function's contract; `Side` has checked the reach of the operand.
                unsafe { pack::gather_row(s, side, place, start, plan.k.total, buffer) }
                buffer
            }
        }
    }

    /// Rounds rows `first` to `first + count` of batch index `batch`.
    ///
    /// # Safety
    /// The rows must be some of the operand's, of `k` elements each, and `room` must have `count` rows of words for as
    /// many, scales for these rows, of bytes, and a buffer of `k` words.
    #[inline(always)]
    pub(super) unsafe fn round<S: Simd>(
        &self,
        s: S,
        precision: Precision,
        k: usize,
        (batch, first, count): (usize, usize, usize),
        room: &Room,
    ) {
        for row in 0..count {
            let to = room.words.wrapping_add(row * room.pitch);
            // SAFETY: row `first + row` is one of the operand's and has `k` elements, and the room has a row of `room.row`
            // words, a scale for it, of bytes, and a buffer of `k` words, by this function's contract.
            unsafe {
                let from = self.find(s, (batch, first + row), room.buffer);
                let from = if k == 0 { &[] } else { core::slice::from_raw_parts(from, k) };
                let all = core::slice::from_raw_parts_mut(to, room.row);
                match (precision, room.is_wide) {
                    (Precision::Bf16, true) => wide_halves(from, bytemuck::cast_slice_mut(all)),
                    (Precision::Bf16, false) => halves(from, bytemuck::cast_slice_mut(all)),
                    (Precision::Int8, true) => {
                        let scale = wide_bytes(from, bytemuck::cast_slice_mut(all));
                        room.scales.wrapping_add(row).write(scale);
                    }
                    (Precision::Int8, false) => {
                        let scale = bytes(from, bytemuck::cast_slice_mut(all));
                        room.scales.wrapping_add(row).write(scale);
                    }
                }
            }
        }
    }
}

/// Where rounded rows go.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Rows of words.
    pub(super) words: *mut u32,
    /// Words of a row, and from row to row.
    pub(super) row: usize,
    pub(super) pitch: usize,
    /// Whether a word is one number.
    pub(super) is_wide: bool,
    /// A number for each row, of bytes.
    pub(super) scales: *mut f32,
    /// As many words as K has indices.
    pub(super) buffer: *mut f32,
}

/// Rounds to bf16, two in a word: the earlier one comes first in memory.
#[inline(always)]
fn halves(from: &[f32], to: &mut [u16]) {
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        *to = round::bf16(x) as u16;
    }
    rest.fill(0);
}

/// Rounds to bf16, which are the upper halves of f32.
#[inline(always)]
fn wide_halves(from: &[f32], to: &mut [u32]) {
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        *to = round::bf16(x) << 16;
    }
    rest.fill(0);
}

/// Rounds to bytes, four in a word, and gives the scale.
#[inline(always)]
fn bytes(from: &[f32], to: &mut [u8]) -> f32 {
    let (scale, factor) = round::scale(largest(from));
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        *to = round::byte(x, factor) as u8 ^ 0x80;
    }
    // The parameter is zero there.
    rest.fill(0);
    scale
}

/// Rounds to bytes, each as a number, and gives the scale.
#[inline(always)]
fn wide_bytes(from: &[f32], to: &mut [f32]) -> f32 {
    let (scale, factor) = round::scale(largest(from));
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        *to = (round::byte(x, factor) ^ 0x80) as f32;
    }
    rest.fill(0.0);
    scale
}

/// The bits of the largest magnitude.
#[inline(always)]
fn largest(from: &[f32]) -> u32 {
    let mut largest = 0;
    for &x in from {
        largest = round::magnitude(x).max(largest);
    }
    largest
}
