//! A block of neighbouring rows of a plane: each vector of the image is read once for all rows that it is part of.
//!
//! In: a filter of some rows and columns, and a plane in which a step down is a pitch and a step to the right one word. Out:
//! [`ROWS`] rows of results. Always: each element is summed along the rows of its filter, then along the columns, with one
//! accumulator.

use crate::Simd;

/// Rows of results: the planes of most networks have 7 · 2ⁿ.
pub(super) const ROWS: usize = 7;
/// Words from row to row of a filter, and so its most columns.
pub(super) const PITCH: usize = 8;

/// Where a filter is applied.
#[derive(Clone, Copy)]
pub(super) struct Stencil {
    /// Rows [`PITCH`] words apart.
    pub(super) filter: *const f32,
    pub(super) height: usize,
    pub(super) width: usize,
    /// What the first element of the filter meets in the first column of the first row, and words from row to row.
    pub(super) image: *const f32,
    pub(super) pitch: usize,
    /// The first element of the results, and words from row to row: these are all columns.
    pub(super) to: *mut f32,
    pub(super) columns: usize,
}

impl Stencil {
    /// Whether there is a kernel for a filter of these rows and columns.
    pub(super) fn suits(height: usize, width: usize) -> bool {
        matches!(height, 3 | 5 | 7) && width <= PITCH
    }

    /// Applies the filter to all columns.
    ///
    /// # Safety
    /// The filter must suit, with its rows and columns readable, the image have `height + ROWS - 1` rows of
    /// `columns + width - 1` words and a vector more, and `to` be valid for writing [`ROWS`] rows.
    #[inline(always)]
    pub(super) unsafe fn apply<S: Simd>(self, s: S) {
        let narrow = self.columns < S::LANES;
        let mask = s.mask_first(self.columns);
        let mut column = 0;
        while column < self.columns {
            // The last vector overlaps the one before, so that it ends with the row.
            let first = column.min(self.columns.saturating_sub(S::LANES));
            // SAFETY: by this function's contract the image has a vector at each place of the filter, and the results have a
            // vector from `first` on, or as many words as the mask has.
            unsafe {
                let sums = match self.height {
                    3 => self.sums::<S, 3>(s, first),
                    5 => self.sums::<S, 5>(s, first),
                    _ => self.sums::<S, 7>(s, first),
                };
                for (row, sum) in sums.iter().enumerate() {
                    let to = self.to.wrapping_add(row * self.columns + first);
                    match narrow {
                        true => s.store_masked_raw_f(to, mask, *sum),
                        false => s.store_raw_f(to, *sum),
                    }
                }
            }
            column = first + S::LANES;
        }
    }

    /// The sums of a vector of columns, for each row.
    ///
    /// # Safety
    /// The filter must have `HEIGHT` readable rows, and the image a readable vector at each place that they meet.
    #[inline(always)]
    unsafe fn sums<S: Simd, const HEIGHT: usize>(self, s: S, column: usize) -> [S::F; ROWS] {
        let mut sums = [s.splat_f(0.0); ROWS];
        // Written out, so that it is known for each row of the image which rows of results it is part of.
        macro_rules! row {
            ($($row:literal)*) => {
                $(
                    if $row < HEIGHT + ROWS - 1 {
                        let image = self.image.wrapping_add($row * self.pitch + column);
                        for x in 0..self.width {
                            // SAFETY: by this function's contract there is a vector of the image at each place.
                            let seen = unsafe { s.load_raw_f(image.wrapping_add(x)) };
                            for (row, sum) in sums.iter_mut().enumerate() {
                                if row <= $row && $row - row < HEIGHT {
                                    let at = ($row - row) * PITCH + x;
                                    // SAFETY: the filter has `HEIGHT` rows, by this function's contract.
                                    let weight = s.splat_f(unsafe { *self.filter.wrapping_add(at) });
                                    *sum = s.mul_add_f(weight, seen, *sum);
                                }
                            }
                        }
                    }
                )*
            };
        }
        row!(0 1 2 3 4 5 6 7 8 9 10 11 12);
        sums
    }
}
