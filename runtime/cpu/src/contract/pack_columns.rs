//! Packing a left operand whose rows are neighbours, by whole lines of it.
//!
//! In: the places of a block of K, from each of which the rows of a job lie side by side. Out: row tiles `[k][row]`, one after
//! the other. Always: memory is read in the order in which it lies, which row tiles that read it in place, one after the
//! other and far apart from k to k, do not.

use super::layout::Place;
use crate::scratch::LINE;
use crate::{Kernel, Simd};

/// Row tiles that are written side by side: so many that whole lines are read, and so few that what is written stays in the
/// first cache, where tiles may lie at equal places of a page.
const TILES: usize = 8;
/// Indices of K ahead at which memory is asked for, which may lie too far apart for the machine to see what comes next.
const AHEAD: usize = 8;

/// The rows of a job.
#[derive(Clone, Copy)]
pub(super) struct Rows<'p> {
    /// The word of row 0 at the first place.
    pub(super) from: *const f32,
    /// Where each k lies.
    pub(super) table: &'p [Place],
    /// The first row.
    pub(super) first: usize,
    /// Row tiles, and the first row of each by its number.
    pub(super) tiles: (usize, &'p dyn Fn(usize) -> usize),
    pub(super) to: *mut f32,
}

/// Packs the rows.
///
/// # Safety
/// Every row must be readable at every place, and `rows.to` writable for a word of each row and place. The tiles must have
/// one of two widths, which differ by one row.
#[inline(always)]
pub(super) unsafe fn pack<S: Simd>(s: S, rows: &Rows<'_>) {
    s.call(Pack(rows));
}

struct Pack<'p>(&'p Rows<'p>);

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Rows { from, table, first, tiles: (tiles, start), to } = *self.0;
        // Tiles have one of two widths, of which the larger is at most a vector wide.
        let narrow = (start(tiles) - first) / tiles.max(1);
        let masks = [s.mask_first(narrow), s.mask_first(narrow + 1)];
        // Masked stores are slow on some machines. A whole vector goes beyond its row, over rows of the same tile that are
        // written after it, unless hardly any of them are left.
        let whole = table.len().saturating_sub(S::LANES.div_ceil(narrow.max(1)));
        for group in (0..tiles).step_by(TILES) {
            let mut starts = [0; TILES + 1];
            let starts = &mut starts[..=TILES.min(tiles - group)];
            starts.iter_mut().enumerate().for_each(|(tile, at)| *at = start(group + tile));
            let end = starts[starts.len() - 1];
            for (k, place) in table.iter().enumerate() {
                let line = from.wrapping_offset(place.offset);
                let later = from.wrapping_offset(table[(k + AHEAD).min(table.len() - 1)].offset);
                for row in (starts[0]..end + LINE - 1).step_by(LINE) {
                    s.prefetch(later.wrapping_add(row.min(end - 1)));
                }
                for tile in starts.windows(2) {
                    let (row, width) = (tile[0], tile[1] - tile[0]);
                    let to = to.wrapping_add((row - first) * table.len() + k * width);
                    let mask = masks[usize::from(width > narrow)];
                    // SAFETY: by the contract of `pack` every row is readable at this place, and the mask keeps to the
                    // tile's rows; `to` has a word for each row and k, and before `whole` a whole vector ends in the tile.
                    unsafe {
                        let words = s.load_masked_raw_f(line.wrapping_add(row), mask);
                        if k < whole { s.store_raw_f(to, words) } else { s.store_masked_raw_f(to, mask, words) }
                    }
                }
            }
        }
    }
}
