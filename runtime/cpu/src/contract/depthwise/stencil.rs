//! A block of neighbouring rows of a plane: each vector of the image is read once for all rows that it is part of.
//!
//! In: a filter of some rows and columns, and a plane in which a step down is a pitch and a step to the right one word, split
//! into phases where the filter moves by more. Out: [`ROWS`] rows of results. Always: each element is summed phase by phase,
//! down the columns of the filter, one after the other, with one accumulator.

use crate::Simd;

/// Rows of results: the planes of most networks have 7 · 2ⁿ.
pub(super) const ROWS: usize = 7;

/// A filter, but for where it lies.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Words from row to row, and from column to column.
    pub(super) steps: [isize; 2],
    /// How far it moves from row to row of the results, and from column to column.
    pub(super) stride: usize,
    /// Where each element meets the image, for the first result.
    pub(super) list: *const isize,
}

/// Where a filter is applied.
#[derive(Clone, Copy)]
pub(super) struct Stencil {
    pub(super) shape: Shape,
    pub(super) filter: *const f32,
    /// The image for the first of the rows, and words from row to row.
    pub(super) image: *const f32,
    pub(super) pitch: usize,
    /// The first element of the results, and words from row to row: these are all columns.
    pub(super) to: *mut f32,
    pub(super) columns: usize,
}

/// The elements of a filter that meet one phase of the image, and the vector of that which the first one meets.
#[derive(Clone, Copy)]
struct Phase {
    filter: *const f32,
    steps: [isize; 2],
    width: usize,
    image: *const f32,
    pitch: usize,
}

impl Shape {
    /// Whether there is a kernel for filters of so many rows that move by `stride`.
    pub(super) fn suits(height: usize, stride: usize) -> bool {
        let suits = |rows: usize| matches!(rows, 1..=5 | 7);
        suits(height.div_ceil(stride)) && (height <= stride || suits((height + 1 - stride).div_ceil(stride)))
    }
}

/// Stores a vector of each row of results, or the whole row if its `columns` are fewer than lanes.
///
/// # Safety
/// `to` must be valid for writing a vector, or `columns` words if these are fewer, in each of [`ROWS`] rows, `columns` apart.
#[inline(always)]
pub(super) unsafe fn store<S: Simd>(s: S, sums: &[S::F; ROWS], to: *mut f32, columns: usize) {
    let narrow = columns < S::LANES;
    let mask = s.mask_first(columns);
    for (row, sum) in sums.iter().enumerate() {
        let to = to.wrapping_add(row * columns);
        // SAFETY: the row has a vector, or as many words as the mask has, by this function's contract.
        unsafe {
            match narrow {
                true => s.store_masked_raw_f(to, mask, *sum),
                false => s.store_raw_f(to, *sum),
            }
        }
    }
}

impl Stencil {
    /// Applies the filter to all columns.
    ///
    /// # Safety
    /// The filter must suit and be readable, its list have an offset for each of its elements, from where on the image must
    /// have [`ROWS`] rows of `columns` words and a vector more, and `to` be valid for writing [`ROWS`] rows.
    #[inline(always)]
    pub(super) unsafe fn apply<S: Simd>(self, s: S) {
        let mut column = 0;
        while column < self.columns {
            // The last vector overlaps the one before, so that it ends with the row.
            let first = column.min(self.columns.saturating_sub(S::LANES));
            // SAFETY: by this function's contract the image has a vector at each place of the filter, and `to` has the rows.
            unsafe { store(s, &self.sums(s, first), self.to.wrapping_add(first), self.columns) };
            column = first + S::LANES;
        }
    }

    /// The sums of a vector of columns, for each row.
    ///
    /// # Safety
    /// As for [`Stencil::apply`].
    #[inline(always)]
    unsafe fn sums<S: Simd>(&self, s: S, column: usize) -> [S::F; ROWS] {
        let Shape { height, width, steps, stride, list } = self.shape;
        let mut sums = [s.splat_f(0.0); ROWS];
        for y in 0..stride.min(height) {
            for x in 0..stride.min(width) {
                // SAFETY: the list has an offset for each element, by this function's contract.
                let place = unsafe { *list.wrapping_add(y * width + x) };
                let [down, right] = steps.map(|step| step * stride.cast_signed());
                let phase = Phase {
                    filter: self.filter.wrapping_offset(y.cast_signed() * steps[0] + x.cast_signed() * steps[1]),
                    steps: [down, right],
                    width: (width - x).div_ceil(stride),
                    image: self.image.wrapping_offset(place).wrapping_add(column),
                    pitch: self.pitch,
                };
                // SAFETY: these are elements of the filter, which the image has a vector for by this function's contract.
                unsafe {
                    match (height - y).div_ceil(stride) {
                        1 => phase.add::<S, 1>(s, &mut sums),
                        2 => phase.add::<S, 2>(s, &mut sums),
                        3 => phase.add::<S, 3>(s, &mut sums),
                        4 => phase.add::<S, 4>(s, &mut sums),
                        5 => phase.add::<S, 5>(s, &mut sums),
                        _ => phase.add::<S, 7>(s, &mut sums),
                    }
                }
            }
        }
        sums
    }
}

impl Phase {
    /// Adds what these elements give to the sums of a vector of columns.
    ///
    /// # Safety
    /// There must be `HEIGHT` rows of readable elements, and a readable vector of the image at each place that they meet.
    #[inline(always)]
    unsafe fn add<S: Simd, const HEIGHT: usize>(self, s: S, sums: &mut [S::F; ROWS]) {
        let [down, right] = self.steps;
        for x in 0..self.width {
            let filter = self.filter.wrapping_offset(x.cast_signed() * right);
            let mut weights = [s.splat_f(0.0); HEIGHT];
            for (row, weight) in weights.iter_mut().enumerate() {
                // SAFETY: there are `HEIGHT` rows of elements, by this function's contract.
                *weight = s.splat_f(unsafe { *filter.wrapping_offset(row.cast_signed() * down) });
            }
            let mut image = self.image.wrapping_add(x);
            // Written out, so that it is known for each row of the image which rows of results it is part of.
            macro_rules! row {
                ($($row:literal)*) => {
                    $(
                        if $row < HEIGHT + ROWS - 1 {
                            // SAFETY: by this function's contract there is a vector of the image at each place.
                            let seen = unsafe { s.load_raw_f(image) };
                            for (row, sum) in sums.iter_mut().enumerate() {
                                if row <= $row && $row - row < HEIGHT {
                                    *sum = s.mul_add_f(weights[$row - row], seen, *sum);
                                }
                            }
                            image = image.wrapping_add(self.pitch);
                        }
                    )*
                };
            }
            row!(0 1 2 3 4 5 6 7 8 9 10 11 12);
        }
    }
}
