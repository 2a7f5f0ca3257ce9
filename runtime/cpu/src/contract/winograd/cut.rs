//! Which minimal filtering a convolution gets, and how its work is cut.
//!
//! In: how many channels, rows, sums and threads there are. Out: a [`Cut`], or nothing if plain sums cost less. Always: what
//! the choice says about sums, which is the size of a patch, depends on shapes alone.

use super::filters::Filters;
use super::transforms::TAPS;
use crate::machine::machine;

/// Fewest channels, and fewest rows, which pay for the transforms.
const LEAST: usize = 16;
/// Products that a core makes while a word of filters comes from the last cache.
const WORD: usize = 11;
/// Products that a core makes while it transforms a point of a channel or of a row.
const TRANSFORM: usize = 8;
/// Most words of transformed filters, and of transformed patches, that wait in a second-level cache.
fn filter_words() -> usize {
    machine().l2 / 2
}
fn patch_words() -> usize {
    machine().l2
}
/// Most words of a strip: of its patches, and of their products with a panel.
fn strip_words() -> usize {
    machine().l2 / 4
}
/// Most words of rows of an image that a first-level cache holds beside a patch.
fn image_words() -> usize {
    machine().l1
}

/// How a convolution is cut.
#[derive(Clone, Copy)]
pub(super) struct Cut {
    /// Sums along an edge of a patch.
    pub(super) step: usize,
    /// Patches down and across.
    pub(super) down: usize,
    pub(super) across: usize,
    /// Rows of patches in a strip, and strips of an image.
    pub(super) deep: usize,
    pub(super) strips: usize,
    /// Images in a strip, of which it has all patches if they are several.
    pub(super) images: usize,
    /// Rows of patches whose image is copied at a time.
    pub(super) copied: usize,
    /// Whether a job is a panel of filters, and not a strip of patches.
    pub(super) by_panels: bool,
}

/// What a cut depends on.
pub(super) struct Sizes {
    pub(super) batch: usize,
    /// Rows of filters.
    pub(super) rows: usize,
    pub(super) threads: usize,
    /// Rows of a register tile, its columns, and lanes of a vector.
    pub(super) tile: usize,
    pub(super) width: usize,
    pub(super) lanes: usize,
}

impl Cut {
    pub(super) fn new(filters: &Filters, sizes: &Sizes) -> Option<Cut> {
        let (channels, rows) = (filters.channels, sizes.rows);
        if channels < LEAST || rows < LEAST {
            return None;
        }
        let product = |places: usize| channels * rows * places.max(WORD);
        let plain = TAPS * TAPS * product(sizes.batch * filters.y.sums * filters.x.sums);
        let filtered = |step: usize| {
            let patches = sizes.batch * filters.y.sums.div_ceil(step) * filters.x.sums.div_ceil(step);
            points(step) * (product(patches) + TRANSFORM * patches * (channels + rows))
        };
        let step = [4, 3, 2].into_iter().min_by_key(|&step| filtered(step))?;
        (filtered(step) < plain).then(|| Cut::of(step, filters, sizes)).flatten()
    }

    fn of(step: usize, filters: &Filters, sizes: &Sizes) -> Option<Cut> {
        let (down, across) = (filters.y.sums.div_ceil(step), filters.x.sums.div_ceil(step));
        let channels = filters.channels.next_multiple_of(sizes.lanes);
        let panels = sizes.rows.div_ceil(sizes.width);
        let words = |deep: usize| points(step) * deep * across * channels;
        // Where there are many filters, each strip waits for them.
        let many = points(step) * channels * sizes.rows > filter_words();
        let least = if many { WORD } else { 0 };
        // What a register tile costs: its rows, and one more to begin and to end it.
        let strip = |deep: usize| (deep * across).max(least) + (deep * across).div_ceil(sizes.tile);
        // Rows of patches of all images of a strip, and what the strips of a thread cost.
        let apart = |rows: usize| (rows.min(down), rows.div_ceil(down));
        let cost = |&rows: &usize| {
            let (deep, images) = apart(rows);
            (sizes.batch.div_ceil(images) * down.div_ceil(deep)).div_ceil(sizes.threads) * strip(rows)
        };
        // Every strip has products with a panel; the patches of one are those of a job, or have been made before.
        let fits = |own: usize| move |rows: &usize| points(step) * rows * across * (own + sizes.width) <= strip_words();
        let parts = (1..=down).chain((2..=sizes.batch).map(|images| images * down));
        let parts = parts.take_while(fits(channels));
        let most = parts.clone().last().unwrap_or(1) * across;
        let rows = parts.min_by_key(cost).unwrap_or(1);
        let deepest = (1..=down).take_while(fits(0)).last().unwrap_or(1);
        let (deep, images) = apart(rows);
        let parted = cost(&rows) * panels;
        let whole = panels.div_ceil(sizes.threads) * down.div_ceil(deepest) * strip(deepest);
        // Threads shall have equally much to do, and what is shared shall stay in their caches; but panels have to wait until
        // all patches are transformed.
        let even = whole + whole / 8 < parted;
        let shared = sizes.batch == 1 && words(down) <= patch_words();
        if most < least && !shared {
            return None;
        }
        let by_panels = shared && (many || even);
        let deep = if by_panels { deepest } else { deep };
        let line = (across * step + TAPS - 1) * sizes.lanes;
        let copied = ((image_words() / line).saturating_sub(TAPS - 1) / step).clamp(1, down);
        Some(Cut { step, down, across, deep, strips: down.div_ceil(deep), images, copied, by_panels })
    }

    /// Products of a patch.
    pub(super) fn points(&self) -> usize {
        points(self.step)
    }
}

/// Products of a patch.
fn points(step: usize) -> usize {
    (step + TAPS - 1) * (step + TAPS - 1)
}
