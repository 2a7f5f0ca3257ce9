//! The rows of an image as one long row.
//!
//! In: an operand and a group of axes. Out: how many rows, how long, how far apart. Always: the whole long row, with what lies
//! between the rows, is within the operand.

use super::place::{Group, Side};

/// A long row that contains the rows of an image.
#[derive(Clone, Copy)]
pub(super) struct LongRow {
    pub(super) rows: usize,
    /// Elements of a row that count.
    pub(super) inner: usize,
    /// Elements from row to row.
    pub(super) pitch: usize,
}

impl LongRow {
    /// The two innermost axes of `group` as one long row of `side`, if not too much of it lies between the rows.
    pub(super) fn new(side: &Side<'_>, group: &Group) -> Option<Self> {
        let last = group.count.checked_sub(1)?;
        if side.strides[group.number(last)] != 1 {
            return None;
        }
        let inner = group.extent[last];
        if last == 0 {
            return Some(LongRow { rows: 1, inner, pitch: inner });
        }
        let pitch = usize::try_from(side.strides[group.number(last - 1)]).ok()?;
        let row = LongRow { rows: group.extent[last - 1], inner, pitch };
        (pitch >= inner && row.rows * inner * 2 >= row.length()).then_some(row)
    }

    pub(super) fn length(&self) -> usize {
        (self.rows - 1) * self.pitch + self.inner
    }
}
