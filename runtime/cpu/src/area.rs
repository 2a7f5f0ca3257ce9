//! The rows and columns that a map behind a product works on.

/// A rectangle of results. What tiles do with one is bounded by their own, which nobody can change.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// The first row, counted over all M axes of a product.
    pub m: usize,
    /// The first column, counted over all its N axes.
    pub n: usize,
    /// How many rows.
    pub rows: usize,
    /// How many columns.
    pub cols: usize,
}

impl Area {
    /// Panics unless `count` columns from `j` on of row `r` are within the rectangle.
    #[inline(always)]
    pub(crate) fn check(&self, r: usize, j: usize, count: usize) {
        if r >= self.rows || self.cols < count || j > self.cols - count {
            outside();
        }
    }
}

#[cold]
#[allow(clippy::panic, reason = "an index outside a tile, as for a slice")]
pub(crate) fn outside() -> ! {
    panic!("outside a tile")
}
