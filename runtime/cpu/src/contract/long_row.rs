//! The rows of an image as one long row.
//!
//! In: an operand and a group of axes. Out: how many rows, how long, how far apart, and which parts of a piece of it count.
//! Always: the whole long row, with what lies between the rows, is within the operand.

use core::ops::Range;

use super::layout::{Group, Side};

/// A long row that contains the rows of an image.
#[derive(Clone, Copy)]
pub(super) struct LongRow {
    pub(super) rows: usize,
    /// Elements of a row that count.
    pub(super) inner: usize,
    /// Elements from row to row.
    pub(super) pitch: usize,
}

/// Columns of a long row that are of one row.
pub(super) struct Piece {
    /// The first of them in the long row.
    pub(super) at: usize,
    /// The same among those that count.
    pub(super) n: usize,
    pub(super) cols: usize,
}

impl LongRow {
    /// Columns nothing lies between.
    pub(super) fn whole(columns: usize) -> Self {
        LongRow { rows: 1, inner: columns, pitch: columns }
    }

    /// The two innermost axes of `group` as one long row of `side`, if not too much of it lies between the rows.
    pub(super) fn new(side: &Side<'_>, group: &Group) -> Option<Self> {
        let last = group.count.checked_sub(1)?;
        if side.strides[group.number(last)] != 1 {
            return None;
        }
        let inner = group.extent[last];
        if last == 0 {
            return Some(LongRow::whole(inner));
        }
        let pitch = usize::try_from(side.strides[group.number(last - 1)]).ok()?;
        let row = LongRow { rows: group.extent[last - 1], inner, pitch };
        (pitch >= inner && row.rows * inner * 2 >= row.length()).then_some(row)
    }

    pub(super) fn length(&self) -> usize {
        (self.rows - 1) * self.pitch + self.inner
    }

    /// Whether nothing lies between the rows.
    #[inline(always)]
    pub(super) fn is_whole(&self) -> bool {
        self.rows == 1 || self.pitch == self.inner
    }

    /// The parts of some columns that count, row by row.
    #[inline(always)]
    pub(super) fn pieces(self, columns: Range<usize>) -> impl Iterator<Item = Piece> {
        let LongRow { inner, pitch, .. } = self;
        let whole = self.is_whole();
        let (mut row, mut x) = if whole { (0, columns.start) } else { (columns.start / pitch, columns.start % pitch) };
        let mut at = columns.start;
        core::iter::from_fn(move || {
            if !whole && x >= inner {
                (at, row, x) = (at + pitch - x, row + 1, 0);
            }
            let left = columns.end.checked_sub(at).filter(|&left| left > 0)?;
            let cols = if whole { left } else { left.min(inner - x) };
            let piece = Piece { at, n: row * inner + x, cols };
            (at, x) = (at + cols, x + cols);
            Some(piece)
        })
    }
}
