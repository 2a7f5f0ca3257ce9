//! The operand that is no parameter, row by row.
//!
//! In: where its rows lie. Out: rows of words, each of `padded` words of rounded elements in order of K, zeros at the end, and
//! the scales of rows of bytes. Always: a byte is 128 more than its integer, because the instructions that multiply bytes
//! take one factor without a sign.

use super::super::super::Simd;
use super::super::pack;
use super::super::place::{Group, Side, Walk};
use super::super::plan::Plan;
use super::{Depth, Precision, round};

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
    /// `buffer` must have a word for each element, and the row must be one of the operand's.
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
                // SAFETY: the caller's.
                unsafe { pack::gather_row(s, side, place, start, plan.k.total, buffer) }
                buffer
            }
        }
    }

    /// Rounds rows `first` to `first + count` of batch index `batch`.
    ///
    /// # Safety
    /// The rows must be some of the operand's, and `room` must be as [`Room`] says.
    #[inline(always)]
    pub(super) unsafe fn round<S: Simd>(
        &self,
        s: S,
        precision: Precision,
        depth: Depth,
        (batch, first, count): (usize, usize, usize),
        room: &Room,
    ) {
        for row in 0..count {
            let to = room.words.wrapping_add(row * room.pitch);
            // SAFETY: the caller vouches for the rows and the room.
            unsafe {
                let from = self.find(s, (batch, first + row), room.buffer);
                let from = core::slice::from_raw_parts(from, depth.k);
                match precision {
                    Precision::Bf16 => {
                        let all = core::slice::from_raw_parts_mut(to.cast::<u16>(), 2 * depth.padded);
                        halves(from, all);
                    }
                    Precision::Int8 => {
                        let all = core::slice::from_raw_parts_mut(to.cast::<u8>(), 4 * depth.padded);
                        room.scales.wrapping_add(row).write(bytes(from, all));
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
    /// Words from row to row.
    pub(super) pitch: usize,
    /// A number for each row, of bytes.
    pub(super) scales: *mut f32,
    /// As many words as K has indices.
    pub(super) buffer: *mut f32,
}

#[inline(always)]
fn halves(from: &[f32], to: &mut [u16]) {
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        // In memory the earlier element of a word comes first on every machine.
        *to = (round::bf16(x) as u16).to_le();
    }
    rest.fill(0);
}

/// The scale.
#[inline(always)]
fn bytes(from: &[f32], to: &mut [u8]) -> f32 {
    let mut largest = 0;
    for &x in from {
        largest = largest.max(round::magnitude(x));
    }
    let (scale, factor) = round::scale(largest);
    let (some, rest) = to.split_at_mut(from.len());
    for (to, &x) in some.iter_mut().zip(from) {
        *to = round::byte(x, factor) as u8 ^ 0x80;
    }
    // The parameter is zero there.
    rest.fill(0);
    scale
}
