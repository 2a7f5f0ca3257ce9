//! The matrix of a recurrence in the order in which its products read it.
//!
//! In: a matrix, and some vectors of columns of the state. Out: for each chunk of these, panels of a few vectors, `[k][vector]`;
//! the vectors of all groups of one vector of columns are neighbours. Always: a vector's panel starts where the vectors
//! before it end, so a part's place is the same in every cut.

use core::ops::Range;

use super::{CHUNK, Cut, Matrix, end};
use crate::Simd;
use crate::contract::COUNTABLE;
use crate::vectors::MAX_LANES;

/// How the matrix is read.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a> {
    pub(super) matrix: Matrix<'a>,
    pub(super) columns: usize,
    pub(super) groups: usize,
    /// Columns of a state.
    pub(super) depth: usize,
    /// Whether a tile has a single row, and then many vectors.
    pub(super) wide: bool,
}

impl Panels<'_> {
    /// Panics unless the matrix lies within its slice.
    pub(super) fn check(&self) {
        let Matrix { data, base, column, step } = self.matrix;
        let columns = self.groups.saturating_mul(self.columns);
        assert!(columns > 0 && self.depth > 0, "recur: an empty matrix");
        let last = end(base, [(columns, column), (self.depth, step)]);
        assert!(last < data.len(), "recur: a matrix reaches outside its slice");
        let vectors = columns.saturating_add(MAX_LANES.saturating_mul(self.groups));
        assert!(vectors.saturating_mul(self.depth) <= COUNTABLE, "recur: more multiplications than can be counted");
    }

    pub(super) fn start(&self) -> *const f32 {
        self.matrix.data.as_ptr().wrapping_add(self.matrix.base)
    }

    /// Words of all panels.
    pub(super) fn words(&self, lanes: usize) -> usize {
        self.columns.next_multiple_of(lanes) * self.groups * self.depth
    }

    /// The numbers that tell packed forms apart.
    pub(super) fn numbers(&self, cut: &Cut, lanes: usize) -> [isize; 9] {
        let parts = if cut.by_rows { 1 } else { cut.parts };
        let Matrix { column, step, .. } = self.matrix;
        let (columns, groups, depth) = (self.columns, self.groups, self.depth);
        [columns, groups, depth, column, step, lanes, parts, usize::from(self.wide), CHUNK].map(usize::cast_signed)
    }

    /// The panels of `width` vectors of columns: the first vector of each, and how many it has.
    pub(super) fn runs(&self, width: usize) -> impl Iterator<Item = (usize, usize)> {
        let (total, most) = (width * self.groups, if self.wide { 8 } else { 2 });
        let mut at = 0;
        core::iter::from_fn(move || {
            let left = total - at;
            // A tile has one, two, four or eight vectors.
            let count = [8, 4, 2, 1].into_iter().find(|&count| count <= most && count <= left)?;
            at += count;
            Some((at - count, count))
        })
    }

    /// Packs some vectors of columns of the state to their place in `to`.
    ///
    /// # Safety
    /// `to` must be valid for writing [`Panels::words`] words, [`Panels::check`] must have passed, `vectors` must be
    /// vectors of columns, and `S` must have at most [`MAX_LANES`] lanes.
    #[inline(always)]
    pub(super) unsafe fn pack<S: Simd>(&self, s: S, vectors: Range<usize>, to: *mut f32) {
        let mut vector = vectors.start;
        while vector < vectors.end {
            let width = CHUNK.min(vectors.end - vector);
            for (first, count) in self.runs(width) {
                let to = to.wrapping_add((vector * self.groups + first) * self.depth * S::LANES);
                for number in 0..count {
                    let (column, group) = ((first + number) / self.groups, (first + number) % self.groups);
                    let to = to.wrapping_add(number * S::LANES);
                    // SAFETY: the panel at `first` has `count` vectors for each k, of which this is number `number`,
                    // and ends before the next one, so within the words that `to` has by contract. `group` is a
                    // remainder by `groups`, the matrix is checked, and a vector has at most `MAX_LANES` lanes.
                    unsafe { self.vector(s, (vector + column) * S::LANES, group, to, count * S::LANES) }
                }
            }
            vector += width;
        }
    }

    /// Packs the vector of group `group` from column `first` on. Lanes behind the last column repeat it.
    ///
    /// # Safety
    /// `to` must be valid for writing a vector at every `pitch` words for each k, [`Panels::check`] must have passed,
    /// `group` must be below `groups`, and `S` must have at most [`MAX_LANES`] lanes.
    #[inline(always)]
    unsafe fn vector<S: Simd>(&self, s: S, first: usize, group: usize, to: *mut f32, pitch: usize) {
        let Matrix { column, step, .. } = self.matrix;
        if column == 1 && first + S::LANES <= self.columns {
            let from = self.start().wrapping_add(group * self.columns + first);
            for k in 0..self.depth {
                // SAFETY: `first + LANES` columns of this group are in the matrix, whose last element `check` has found
                // within its slice, and `to` has a vector for each k by contract.
                unsafe { s.store_raw_f(to.wrapping_add(k * pitch), s.load_raw_f(from.wrapping_add(k * step))) }
            }
            return;
        }
        let mut rows = [self.start(); MAX_LANES];
        for (lane, row) in rows.iter_mut().enumerate().take(S::LANES) {
            let j = (first + lane).min(self.columns - 1);
            *row = self.start().wrapping_add((group * self.columns + j) * column);
        }
        let mut k = 0;
        while step == 1 && k + S::LANES <= self.depth {
            // SAFETY: `rows` has a pointer for each of at most `MAX_LANES` lanes, to a column of the matrix with its
            // `depth` contiguous words, of which `k + LANES` are no more; `to` has a vector for each k.
            unsafe { s.transpose_raw_f(rows.as_ptr(), k, to.wrapping_add(k * pitch), pitch, S::LANES) }
            k += S::LANES;
        }
        while k < self.depth {
            for (lane, row) in rows.iter().enumerate().take(S::LANES) {
                // SAFETY: `row` is a column of the matrix, whose element for `k < depth` `check` has found within the
                // slice, and `to` has a vector for this k.
                unsafe { to.wrapping_add(k * pitch + lane).write(row.wrapping_add(k * step).read()) }
            }
            k += 1;
        }
    }
}
