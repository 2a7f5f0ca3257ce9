//! How attention is cut up.
//!
//! In: what is to be computed, and where results go. Out: a [`Plan`]: jobs, tiles, scratch memory, and matrices by head. Always:
//! everything that the plan describes lies within its slice, and two jobs write different words.

use super::scores::LaneMask;
use super::short::{Panel, VECTORS};
use super::{Attend, Attended, Mask, Strided};
use crate::contract::{self, Output, countable, reach};
use crate::machine::machine;
use crate::scratch::LINE;

const MAX_HEADS: usize = 16;
const MAX_OUTPUTS: usize = 4;
/// Most results of a part.
pub(super) const RESULTS: usize = 3;
/// Register tiles in a block of rows: what is packed is used by so many.
const TILES: usize = 4;
/// Columns of a tile of scores.
const COLUMNS: usize = 128;
/// Queries up to which keys are read where they lie.
const FEW: usize = 2;
/// Most keys and queries of heads whose scores all lie in the first or second cache.
const SHORT: usize = 512;
/// Most features and values of such heads.
const NARROW: usize = 256;
/// Multiplications below which a second thread costs more than it saves: 16 in a cycle.
fn worth() -> usize {
    16 * machine().thread
}

/// The axes after those of the heads.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    Queries,
    Keys,
    Features,
    Values,
}

/// A matrix of one head.
#[derive(Clone, Copy)]
pub(super) struct Matrix {
    pub(super) data: *const f32,
    /// From row to row.
    pub(super) row: isize,
    /// From column to column.
    pub(super) column: isize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Where a result of a head goes.
#[derive(Clone, Copy)]
pub(super) struct Target {
    pub(super) data: *mut f32,
    pub(super) row: isize,
    pub(super) column: isize,
}

/// A result's places.
struct Places<'a> {
    all: [(*mut f32, isize, &'a [isize]); MAX_OUTPUTS],
    count: usize,
}

impl Places<'_> {
    /// Room for so many places.
    fn new(count: usize) -> Self {
        Places { all: [(core::ptr::null_mut(), 0, &[]); MAX_OUTPUTS], count }
    }
}

/// Everything about attention but its numbers.
pub(super) struct Plan<'a> {
    pub(super) attend: &'a Attend<'a>,
    results: [Places<'a>; RESULTS],
    /// Heads that have jobs of their own.
    heads: usize,
    /// Query heads that share keys and values.
    pub(super) shared: usize,
    /// Jobs of a head: blocks of its rows.
    pub(super) blocks: usize,
    /// Rows of the result: queries, or keys.
    pub(super) rows: usize,
    /// What rows meet: keys, or queries.
    pub(super) columns: usize,
    /// Columns of a tile, whole vectors.
    pub(super) tile: usize,
    pub(super) lanes: usize,
    /// Most rows of a register tile.
    pub(super) tall: usize,
    /// Whether there are so few queries that keys are read where they lie.
    pub(super) single: bool,
    /// Whether heads are so short that queries run along the lanes.
    pub(super) short: bool,
    apart: bool,
}

// SAFETY: the only fields that are not `Sync` are the pointers to the results, which jobs write at disjoint places, in parallel
// only if `apart`.
unsafe impl Sync for Plan<'_> {}

impl<'a> Plan<'a> {
    pub(super) fn new(
        attend: &'a Attend<'a>,
        results: [&'a mut [Output<'_>]; RESULTS],
        tall: usize,
        lanes: usize,
    ) -> Self {
        assert!(attend.heads.len() <= MAX_HEADS && attend.batch <= attend.heads.len(), "attend: too many axes");
        check_extents(attend);
        let superfluous = attend.part == Attended::Query && results[1..].iter().any(|outputs| !outputs.is_empty());
        assert!(!superfluous, "attend: the cotangent of the queries is one result");
        let shared = attend.heads[attend.batch..].iter().product();
        let (rows, columns) = match attend.part {
            Attended::Output | Attended::Query => (attend.queries, attend.keys),
            Attended::Key => (attend.keys, attend.queries),
        };
        let contiguous = |k: usize, axis: Axis| step(attend, attend.inputs[k].strides, axis) == 1;
        let near = contiguous(1, Axis::Features) && contiguous(2, Axis::Values);
        let mut plan = Plan {
            attend,
            results: results.each_ref().map(|outputs| Places::new(outputs.len())),
            heads: heads(attend),
            shared,
            blocks: rows.div_ceil(TILES * tall).max(1),
            rows,
            columns,
            tile: columns.next_multiple_of(lanes).min(COLUMNS).max(lanes),
            lanes,
            tall,
            single: near && rows <= FEW && is_output_alone(attend, &results),
            short: is_short(attend, lanes),
            apart: true,
        };
        plan.check();
        for ((outputs, places), (axes, heads)) in results.into_iter().zip(&mut plan.results).zip(result_axes(attend)) {
            plan.apart &= place(attend, outputs, &axes, heads, places);
        }
        plan
    }

    /// Whether the cotangents of keys and values come with those of queries.
    pub(super) fn with_queries(&self) -> bool {
        self.results[2].count > 0
    }

    /// Panics if something that is read reaches outside its slice.
    fn check(&self) {
        use Axis::{Features, Keys, Queries, Values};
        let attend = self.attend;
        let [q, k, v] = &attend.inputs;
        within(attend, q, &[Some(Queries), Some(Features)]);
        within(attend, k, &[Some(Keys), Some(Features)]);
        within(attend, v, &[Some(Keys), Some(Values)]);
        match (&attend.derivative, attend.part) {
            (Some([g, largest, delta]), _) => {
                within(attend, g, &[Some(Queries), Some(Values)]);
                within(attend, largest, &[Some(Queries), None]);
                within(attend, delta, &[Some(Queries), None]);
            }
            (None, Attended::Output) => {}
            (None, Attended::Query | Attended::Key) => unreachable!("derivatives come with a cotangent"),
        }
        match &attend.mask {
            Mask::None => {}
            Mask::Added(mask) => within(attend, mask, &[Some(Queries), Some(Keys)]),
            Mask::Seen(mask) => within(attend, mask, &[Some(Queries), Some(Keys)]),
        }
    }

    pub(super) fn jobs(&self) -> usize {
        match (self.single, self.short, self.attend.part) {
            (true, ..) | (false, true, Attended::Key) => self.heads,
            (false, true, Attended::Output | Attended::Query) => self.heads * self.panels(),
            (false, false, _) => self.heads * self.blocks,
        }
    }

    /// Panels of queries of a short head.
    pub(super) fn panels(&self) -> usize {
        self.attend.queries.div_ceil(VECTORS * self.lanes)
    }

    /// Head and panel of a job. Early and late ones alternate.
    pub(super) fn panel(&self, job: usize) -> (usize, Panel) {
        let (head, turn) = (job / self.panels(), job % self.panels());
        let number = if turn.is_multiple_of(2) { turn / 2 } else { self.panels() - 1 - turn / 2 };
        (head, Panel::new(self, number))
    }

    pub(super) fn threads(&self, threads: usize) -> usize {
        let Attend { queries, keys, features, values, .. } = *self.attend;
        let work = self.heads * self.shared.max(1) * queries * keys * (features + values);
        if self.apart && work >= worth() { threads } else { 1 }
    }

    /// Head and rows of a job. Early and late blocks alternate, because late queries see more keys.
    pub(super) fn job(&self, job: usize) -> (usize, core::ops::Range<usize>) {
        let (head, turn) = (job / self.blocks, job % self.blocks);
        let block = if turn.is_multiple_of(2) { turn / 2 } else { self.blocks - 1 - turn / 2 };
        (head, self.rows * block / self.blocks..self.rows * (block + 1) / self.blocks)
    }

    /// Most rows of a job.
    pub(super) fn most(&self) -> usize {
        self.rows.div_ceil(self.blocks)
    }

    /// A width that whole vectors cover.
    pub(super) fn padded(&self, width: usize) -> usize {
        width.next_multiple_of(self.lanes)
    }

    /// The words of scratch memory.
    pub(super) fn words(&self) -> usize {
        match self.attend.part {
            Attended::Output if self.single => super::single::words(self),
            Attended::Output if self.short => super::short::words(self),
            Attended::Query | Attended::Key if self.short => super::short_backward::words(self),
            Attended::Output => super::output::Room::new(self).end,
            Attended::Query | Attended::Key => super::backward::Room::new(self).end,
        }
    }

    /// The matrix of an input of a head.
    pub(super) fn input(&self, k: usize, head: usize) -> Matrix {
        use Axis::{Features, Keys, Queries, Values};
        let (rows, columns) = [(Queries, Features), (Keys, Features), (Keys, Values)][k];
        self.matrix(&self.attend.inputs[k], head, rows, columns)
    }

    /// The cotangent of the output, or a row of numbers for each query: largest score (1), delta (2).
    pub(super) fn derivative(&self, k: usize, head: usize) -> Matrix {
        let Some(all) = &self.attend.derivative else { unreachable!("the plan was checked") };
        self.matrix(&all[k], head, Axis::Queries, Axis::Values)
    }

    fn matrix(&self, of: &Strided<'_>, head: usize, rows: Axis, columns: Axis) -> Matrix {
        Matrix {
            data: of.data.as_ptr().wrapping_offset(self.at_head(of.base, of.strides, head)),
            row: step(self.attend, of.strides, rows),
            column: step(self.attend, of.strides, columns),
            rows: extent(self.attend, rows),
            columns: extent(self.attend, columns),
        }
    }

    /// The first word of a head. Heads without those that share are counted where jobs are.
    pub(super) fn at_head(&self, base: isize, strides: &[isize], head: usize) -> isize {
        let (mut at, mut rest) = (base, head);
        for (extent, stride) in self.attend.heads.iter().zip(strides).rev() {
            at += (rest % extent).cast_signed() * stride;
            rest /= extent;
        }
        at
    }

    /// The places of a result of a head.
    #[inline(always)]
    pub(super) fn targets(&self, result: usize, head: usize, row: Axis, column: Axis) -> impl Iterator<Item = Target> {
        let places = &self.results[result];
        places.all[..places.count].iter().map(move |(data, base, strides)| Target {
            data: data.wrapping_offset(self.at_head(*base, strides, head)),
            row: step(self.attend, strides, row),
            column: step(self.attend, strides, column),
        })
    }
}

/// Panics where a product of extents, with what is added to fill vectors and tiles, might not fit a number: everything that is
/// planned counts in such products.
fn check_extents(attend: &Attend<'_>) {
    let &Attend { queries, keys, features, values, heads, .. } = attend;
    let own = [queries, keys, features.saturating_add(values)];
    let is_countable = countable(own.iter().chain(heads).copied());
    assert!(is_countable, "attend: more multiplications than can be counted");
}

/// Whether no derivative is to find the scores as they were: keys that are read where they lie are summed up in another order.
fn is_output_alone(attend: &Attend<'_>, results: &[&mut [Output<'_>]; RESULTS]) -> bool {
    matches!(attend.part, Attended::Output) && results[1].is_empty() && results[2].is_empty()
}

/// Whether queries run along the lanes: there is a vector of them or nearly, and heads have jobs enough.
pub(super) fn is_short(attend: &Attend<'_>, lanes: usize) -> bool {
    let Attend { queries, keys, features, values, .. } = *attend;
    let size = queries <= SHORT && keys <= SHORT && features <= NARROW && values <= NARROW;
    let many = !matches!(attend.part, Attended::Key) || heads(attend) > 1 || queries * keys <= COLUMNS * COLUMNS;
    size && many && 2 * queries >= lanes && LaneMask::fits(attend)
}

/// Heads that have jobs of their own.
fn heads(attend: &Attend<'_>) -> usize {
    let all = match attend.part {
        Attended::Output | Attended::Query => attend.heads,
        Attended::Key => &attend.heads[..attend.batch],
    };
    all.iter().product()
}

/// The axes of each result: besides the heads, and how many of those.
fn result_axes(attend: &Attend<'_>) -> [([Option<Axis>; 2], usize); RESULTS] {
    use Axis::{Features, Keys, Queries, Values};
    let (all, batch) = (attend.heads.len(), attend.batch);
    let of_query = ([Some(Queries), None], all);
    let of_queries = ([Some(Queries), Some(Features)], all);
    match attend.part {
        Attended::Output => [([Some(Queries), Some(Values)], all), of_query, of_query],
        // It has one result.
        Attended::Query => [of_queries; RESULTS],
        Attended::Key => [([Some(Keys), Some(Features)], batch), ([Some(Keys), Some(Values)], batch), of_queries],
    }
}

fn step(attend: &Attend<'_>, strides: &[isize], axis: Axis) -> isize {
    strides[attend.heads.len() + axis as usize]
}

fn extent(attend: &Attend<'_>, axis: Axis) -> usize {
    match axis {
        Axis::Queries => attend.queries,
        Axis::Keys => attend.keys,
        Axis::Features => attend.features,
        Axis::Values => attend.values,
    }
}

/// The extents and strides of the first `heads` axes and of others.
fn walks<'s>(
    attend: &'s Attend<'_>,
    strides: &'s [isize],
    axes: &'s [Option<Axis>; 2],
    heads: usize,
) -> impl Iterator<Item = (usize, isize)> + 's {
    let own = axes.iter().flatten().map(|&axis| (extent(attend, axis), step(attend, strides, axis)));
    attend.heads[..heads].iter().copied().zip(strides.iter().copied()).chain(own)
}

fn inside(words: usize, (low, high): (isize, isize)) {
    assert!(low >= 0 && high < words.cast_signed(), "attend: words {low} to {high} of a slice of {words}");
}

fn within<T>(attend: &Attend<'_>, of: &Strided<'_, T>, axes: &[Option<Axis>; 2]) {
    assert!(of.strides.len() == attend.heads.len() + 4, "attend: a stride for each axis");
    inside(of.data.len(), reach(of.base, walks(attend, of.strides, axes, attend.heads.len())));
}

/// Checks outputs; tells whether no two indices of one meet in a word.
fn place<'a>(
    attend: &Attend<'_>,
    outputs: &'a mut [Output<'_>],
    axes: &[Option<Axis>; 2],
    heads: usize,
    places: &mut Places<'a>,
) -> bool {
    assert!(outputs.len() <= MAX_OUTPUTS, "attend: more outputs than it was made for");
    let mut apart = true;
    for (place, output) in places.all.iter_mut().zip(outputs) {
        assert!(output.strides.len() == attend.heads.len() + 4, "attend: a stride for each axis");
        inside(output.data.len(), reach(output.base, walks(attend, output.strides, axes, heads)));
        apart &= contract::apart(walks(attend, output.strides, axes, heads));
        *place = (output.data.as_mut_ptr(), output.base, output.strides);
    }
    apart
}

/// Hands out scratch memory.
#[derive(Default)]
pub(super) struct Words(usize);

impl Words {
    /// The first of some words, on a line of its own.
    pub(super) fn take(&mut self, words: usize) -> usize {
        let first = self.0;
        // More than there is memory is more than there is memory.
        self.0 = self.0.saturating_add(words.checked_next_multiple_of(LINE).unwrap_or(usize::MAX));
        first
    }
}
