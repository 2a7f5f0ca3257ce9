//! Loops over time whose turn is a product with a state and a map of its sums to the next state, in either order.
//!
//! In: a state, or the sums for the first map; the matrix that a state meets in every turn, how many turns, and what a turn
//! makes of the sums. Out: the last state, or its sums, and what the turns have stored. Always: each thread runs all turns for its part of the state, either some rows, which
//! no other thread needs, or some columns, and then threads wait for each other once in a turn; a sum adds up
//! its K in an order that the shape alone decides, so results do not depend on the number of threads.

mod cell;
mod panels;
mod state;
#[cfg(test)]
mod tests;

use core::cell::Cell as Slot;
use core::ops::Range;

use super::barrier::{Barrier, Broken, MOST};
use super::contract::apart;
use super::contract::kernel::{self, Ahead, Block, Rows, Steps};
use super::isa::Set;
use super::kept::{Form, Packing, kept};
use super::scratch::{LINE, Scratch, lend};
use super::{Area, Family, Kernel, Simd, pool, run};
use crate::machine::machine;
pub use cell::{Cell, Cells};
use cell::{Finish, Sink, Target};
use panels::Panels;
pub use state::State;
use state::{Patch, States};

/// A loop over turns.
#[derive(Debug)]
pub struct Recurrence<'a> {
    /// How many turns.
    pub turns: usize,
    /// Whether the last turn comes first.
    pub reverse: bool,
    /// Rows of the map.
    pub rows: usize,
    /// Columns of the map.
    pub columns: usize,
    /// Sums for each of its elements.
    pub groups: usize,
    /// What the turns hand on.
    pub state: State<'a>,
    /// What the state is multiplied by.
    pub matrix: Matrix<'a>,
    /// What the turns store beside the state.
    pub series: &'a mut [Series<'a>],
}

/// The element for column `k` of the state and element `j` of group `g` is `data[base + (g·columns + j)·column + k·step]`.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a> {
    /// Where it lies.
    pub data: &'a [f32],
    /// Its first word.
    pub base: usize,
    /// Words from column to column of the product.
    pub column: usize,
    /// Words from k to k.
    pub step: usize,
}

/// The element of row `r`, part `p` and column `j` is `data[base + turn·t + row·r + columns·p + j]` in turn `t`.
#[derive(Debug)]
pub struct Series<'a> {
    /// Where it lies.
    pub data: &'a mut [f32],
    /// Its first word.
    pub base: usize,
    /// Words from row to row.
    pub row: usize,
    /// Words from turn to turn.
    pub turn: usize,
    /// How many times the columns of the map it has.
    pub parts: usize,
}

impl Series<'_> {
    /// Whether each turn has words of its own, beyond those of the others or between their rows.
    fn is_apart(&self, turns: usize, rows: usize, columns: usize) -> bool {
        let (turn, row) = (self.turn.cast_signed(), self.row.cast_signed());
        apart([(turns, turn), (rows, row), (self.parts.saturating_mul(columns), 1)].into_iter())
    }

    /// Where turn 0 goes, and words from turn to turn.
    fn place(&mut self, turns: usize, rows: usize, columns: usize) -> (Target, usize) {
        let width = self.parts.saturating_mul(columns);
        let end = end(self.base, [(turns, self.turn), (rows, self.row)]).saturating_add(width);
        assert!(end <= self.data.len() && (rows == 1 || self.row >= width), "recur: a malformed series");
        (Target { origin: self.data.as_mut_ptr().wrapping_add(self.base), row: self.row, parts: self.parts }, self.turn)
    }
}

/// The largest position of two axes, each with an extent of at least one and a stride; a number beyond every slice is as far as
/// it goes.
fn end(base: usize, axes: [(usize, usize); 2]) -> usize {
    axes.iter().fold(base, |end, (extent, stride)| end.saturating_add((extent - 1).saturating_mul(*stride)))
}

/// Rows for each thread from which on they are cut.
const LEAST_ROWS: usize = 8;
/// Multiplications of a turn, and of all turns, below which a second thread costs more than it saves: 32 in a cycle.
fn worth_a_turn() -> usize {
    32 * machine().barrier
}
fn worth() -> usize {
    32 * machine().thread
}
/// Most series.
const SERIES: usize = 16;
/// Vectors of columns of the state whose sums wait for a map, and row tiles.
const CHUNK: usize = 4;
const TILES: usize = 4;

thread_local! {
    static MEMORY: Slot<Scratch<()>> = Slot::default();
}

/// Runs the turns of `work` on at most `threads` threads.
///
/// # Panics
/// If something reaches outside its slice, or rows of a series overlap, which the compiler has excluded.
pub fn recur<I: Family, C: Cell>(isa: I, threads: usize, work: Recurrence<'_>, cell: &C) {
    drive(isa.set(), threads, work, &Finish(isa, cell));
}

fn drive(isa: Set, threads: usize, work: Recurrence<'_>, sink: &dyn Sink) {
    let Recurrence { turns, reverse, rows, columns, groups, state, matrix, series } = work;
    if turns == 0 || rows == 0 || columns == 0 {
        return;
    }
    assert!(series.len() <= SERIES, "recur: more series than it was made for");
    // Parts of the work do not wait for each other where they write series, so turns that meet run on one thread.
    let apart = series.iter().all(|series| series.turn == 0 || series.is_apart(turns, rows, columns))
        && state.is_apart(turns, rows, columns);
    let threads = if apart { threads } else { 1 };
    let mut targets = [(Target { origin: core::ptr::null_mut(), row: 0, parts: 0 }, 0); SERIES];
    for (target, series) in targets.iter_mut().zip(series.iter_mut()) {
        *target = series.place(turns, rows, columns);
    }
    let panels = Panels { matrix, columns, groups, depth: state.parts().saturating_mul(columns), wide: rows == 1 };
    panels.check();
    let states = state.place(turns, (rows, columns, groups), series);
    let cut = Cut::new(isa, threads, turns, rows, &panels);
    let (words, numbers) = (panels.words(isa.lanes()), &panels.numbers(&cut, isa.lanes()));
    let packed = kept(panels.start(), Form { packing: Packing::Recurrence, words, numbers }, |to| {
        run(isa, Pack { panels: &panels, cut: &cut, parts: 0..cut.parts, to });
    });
    let turns = Turns { isa, turns, reverse, states, targets, series: series.len(), panels, packed, cut, sink };
    pool::parallel(threads, turns.cut.parts, &Task { turns, barrier: Barrier::default() });
}

/// Who does what: each part has some rows, or some vectors of columns.
#[derive(Clone, Copy)]
struct Cut {
    parts: usize,
    by_rows: bool,
    rows: usize,
    /// Vectors of columns.
    vectors: usize,
}

impl Cut {
    fn new(isa: Set, threads: usize, turns: usize, rows: usize, panels: &Panels<'_>) -> Cut {
        let vectors = panels.columns.div_ceil(isa.lanes());
        let most = pool::members(threads).min(MOST);
        let work = rows * panels.depth * panels.columns * panels.groups;
        let by_rows = rows >= LEAST_ROWS * most;
        let parts = match by_rows {
            true if work.saturating_mul(turns) >= worth() => most,
            false if work >= worth_a_turn() => most.min(vectors),
            true | false => 1,
        };
        Cut { parts, by_rows, rows, vectors }
    }

    /// The rows and the vectors of columns of a part.
    fn part(&self, number: usize) -> (Range<usize>, Range<usize>) {
        let share = |total: usize| total * number / self.parts..total * (number + 1) / self.parts;
        if self.by_rows { (share(self.rows), 0..self.vectors) } else { (0..self.rows, share(self.vectors)) }
    }

    /// The parts of `parts` that have columns of their own.
    fn distinct(&self, parts: Range<usize>) -> Range<usize> {
        if self.by_rows { parts.start..(parts.start + 1).min(parts.end) } else { parts }
    }
}

/// Packs the columns of some parts, each at the same place as all the others do.
struct Pack<'a> {
    panels: &'a Panels<'a>,
    cut: &'a Cut,
    parts: Range<usize>,
    to: *mut f32,
}

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for part in self.cut.distinct(self.parts) {
            // SAFETY: `to` has the words of all panels: `drive` asks for as many where they are kept, `Member` where
            // they are not. `drive` has checked the matrix, a part has vectors of columns, and `run` hands on vectors
            // of a machine.
            unsafe { self.panels.pack(s, self.cut.part(part).1, self.to) }
        }
    }
}

/// Everything about the loop.
struct Turns<'a> {
    isa: Set,
    turns: usize,
    reverse: bool,
    states: States,
    /// Each with its words from turn to turn.
    targets: [(Target, usize); SERIES],
    series: usize,
    panels: Panels<'a>,
    /// The matrix, where the session keeps it packed.
    packed: Option<*const f32>,
    cut: Cut,
    sink: &'a dyn Sink,
}

impl Turns<'_> {
    /// The index of the turn of that number.
    fn index(&self, number: usize) -> usize {
        if self.reverse { self.turns - 1 - number } else { number }
    }

    /// The state that the first turns have made.
    fn state(&self, made: usize) -> Target {
        self.states.at(self.index(made.clamp(1, self.turns) - 1), self.turns - made)
    }
}

struct Task<'a> {
    turns: Turns<'a>,
    barrier: Barrier,
}

// SAFETY: a part writes only its own rows and columns of the next state, of the series and of the last sums, with its
// thread's memory for the others. Parts that have columns read the state before only after all have met at the barrier,
// those that have rows read their own; the packed matrix is only read. States and series of different turns lie apart, or
// series in the same place, or `drive` uses one thread.
unsafe impl Sync for Task<'_> {}

impl pool::Task for Task<'_> {
    fn work(&self, parts: Range<usize>) {
        let _guard = self.barrier.guard();
        lend(&MEMORY, |scratch| run(self.turns.isa, Member { task: self, parts, scratch }));
    }
}

/// The parts of one thread.
struct Member<'a> {
    task: &'a Task<'a>,
    parts: Range<usize>,
    scratch: &'a mut Scratch<()>,
}

impl Kernel for Member<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Member { task, parts, scratch } = self;
        let turns = &task.turns;
        let (panels, cut) = (&turns.panels, &turns.cut);
        let sums = (TILES * S::ROWS).min(cut.rows) * CHUNK * panels.groups * S::LANES + panels.groups * S::LANES;
        let room = if turns.packed.is_some() { 0 } else { panels.words(S::LANES) };
        let (memory, _) = scratch.provide(sums.next_multiple_of(LINE) + room, 0, ());
        let own = memory.wrapping_add(sums.next_multiple_of(LINE));
        if turns.packed.is_none() {
            Pack { panels, cut, parts: parts.clone(), to: own }.run(s);
        }
        let packed = turns.packed.unwrap_or(own);
        let meets = !cut.by_rows && parts.len() < cut.parts;
        // A product of its own follows the last map where maps come first.
        let products = turns.turns + usize::from(turns.states.sums().is_some());
        for number in 0..products {
            let turn = turns.index(number.min(turns.turns - 1));
            let mut series = [turns.targets[0].0; SERIES];
            for (series, (target, step)) in series.iter_mut().zip(&turns.targets[..turns.series]) {
                *series = Target { origin: target.origin.wrapping_add(turn * step), ..*target };
            }
            let (before, next) = (turns.state(number), turns.state((number + 1).min(turns.turns)));
            let series = &series[..turns.series];
            let barrier = meets.then_some(&task.barrier);
            let step = Step { turns, number, turn, before, next, series, packed, sums: memory, barrier };
            for part in parts.clone() {
                // SAFETY: `drive` has checked matrix, states, sums and series for all turns; `provide` has given the
                // sums of a patch, and a vector for each group more, which are this thread's alone; `packed` has the
                // panels of these parts.
                if unsafe { step.part(s, part) }.is_err() {
                    return;
                }
            }
            if meets {
                task.barrier.arrive(parts.clone(), number + 1);
            }
        }
    }
}

/// A turn.
struct Step<'a> {
    turns: &'a Turns<'a>,
    /// How many turns came before.
    number: usize,
    turn: usize,
    before: Target,
    next: Target,
    series: &'a [Target],
    packed: *const f32,
    sums: *mut f32,
    /// Where to wait for the columns of other threads, if there are such.
    barrier: Option<&'a Barrier>,
}

impl Step<'_> {
    /// The sums and the map of one part.
    ///
    /// # Safety
    /// `before`, `next` and each of `series` must be valid for all rows and columns, `packed` for the panels of `part`,
    /// and `sums` for `CHUNK` vectors of columns of the rows of a part, at most `TILES · S::ROWS`, and a vector for each
    /// group more. Nobody else may use `sums` or the part's elements of `next` and `series`, and who writes `before` must
    /// arrive at `barrier` after that.
    #[inline(always)]
    unsafe fn part<S: Simd>(&self, s: S, part: usize) -> Result<(), Broken> {
        let (rows, vectors) = self.turns.cut.part(part);
        let mut m = rows.start;
        while m < rows.end {
            let height = (TILES * S::ROWS).min(rows.end - m);
            let mut vector = vectors.start;
            while vector < vectors.end {
                let width = CHUNK.min(vectors.end - vector);
                let patch = Patch { m, rows: height, vector, vectors: width, at: self.sums };
                // SAFETY: the patch has rows and vectors of this part, at most `TILES · S::ROWS` and `CHUNK` of them,
                // for which `sums` has room by contract, as the other pointers have their elements.
                unsafe { self.patch(s, part, &patch)? }
                vector += width;
            }
            m += height;
        }
        Ok(())
    }

    /// The sums and the map of some rows and vectors of a part.
    ///
    /// # Safety
    /// `patch` must be some rows and vectors of `part`, with their sums at `sums`, and all that [`Step::part`] asks for
    /// must hold.
    #[inline(always)]
    unsafe fn patch<S: Simd>(&self, s: S, part: usize, patch: &Patch) -> Result<(), Broken> {
        let Turns { states, turns, panels, .. } = self.turns;
        match states.sums() {
            // SAFETY: `State::place` has found all rows, groups and columns within these sums, the patch is some of
            // them, and has room at `at`; other parts use others.
            Some(sums) if self.number == 0 => unsafe { sums.copy::<S, false>(s, patch) },
            Some(_) | None => {
                let addend = states.addend(self.series);
                if let Some(addend) = addend {
                    // SAFETY: there is one group, so the series, which has a part, has an element for each sum;
                    // `Series::place` has checked that they lie within its slice, and only this part of the work uses
                    // those of the patch.
                    unsafe { addend.copy::<S, false>(s, patch) }
                }
                for (number, k) in self.depths::<S>(part).into_iter().filter(|k| !k.is_empty()).enumerate() {
                    if number > 0 || !self.is_own::<S>(part, &k) {
                        self.wait()?;
                    }
                    // SAFETY: the columns `k` of the state before are made: this part has made them, or all parts have
                    // met. `packed` has the panels of the patch, and `sums` has room for it and holds what is added to.
                    unsafe { self.sums(s, patch, (k, number > 0 || addend.is_some())) }
                }
            }
        }
        match states.sums() {
            // SAFETY: `State::place` has found the patch within these sums, which only this part writes, and the
            // product has written the sums of the patch.
            Some(sums) if self.number == *turns => unsafe { sums.copy::<S, true>(s, patch) },
            Some(_) | None => {
                let n = patch.vector * S::LANES;
                let cols = (patch.vectors * S::LANES).min(panels.columns - n);
                let mut cells = Cells {
                    area: Area { m: patch.m, n, rows: patch.rows, cols },
                    sums: self.sums,
                    lanes: S::LANES,
                    pitch: patch.vectors * panels.groups * S::LANES,
                    groups: panels.groups,
                    before: self.before.origin,
                    next: self.next,
                    width: panels.columns,
                    series: self.series,
                };
                self.turns.sink.finish(self.turn, &mut cells);
            }
        }
        Ok(())
    }

    /// Waits for the columns of other threads.
    #[inline(always)]
    fn wait(&self) -> Result<(), Broken> {
        match self.barrier {
            Some(barrier) => barrier.wait(self.turns.cut.parts, self.number),
            None => Ok(()),
        }
    }

    /// The blocks of K in the order in which a part adds them up. A single row that is as wide as the map has two, so that a thread
    /// can begin with what it has made itself; the sum of two is the same either way.
    #[inline(always)]
    fn depths<S: Simd>(&self, part: usize) -> [Range<usize>; 2] {
        let Panels { depth: k, columns, wide, .. } = self.turns.panels;
        let half = self.turns.cut.vectors / 2 * S::LANES;
        if !wide || half == 0 || k > columns || self.turns.states.addend(self.series).is_some() {
            return [0..k, k..k];
        }
        let [first, second] = [0..half, half..k];
        if self.is_own::<S>(part, &second) { [second, first] } else { [first, second] }
    }

    /// Whether a part makes all columns of the state that these indices of K are.
    #[inline(always)]
    fn is_own<S: Simd>(&self, part: usize, k: &Range<usize>) -> bool {
        let (_, vectors) = self.turns.cut.part(part);
        k.start >= vectors.start * S::LANES && k.end <= vectors.end * S::LANES
    }

    /// The sums of some rows and some vectors of columns over a block of K, or those added to what is there.
    ///
    /// # Safety
    /// The state before must be valid for reading the patch's rows and the columns `depth`, and nobody may write these
    /// now; `packed` must be valid for reading the patch's panels, and `sums` for reading and writing its sums.
    #[inline(always)]
    unsafe fn sums<S: Simd>(&self, s: S, patch: &Patch, (depth, add): (Range<usize>, bool)) {
        let Patch { m, rows: height, vector, vectors: width, .. } = *patch;
        let panels = &self.turns.panels;
        let (k, pitch, a_row) = (panels.depth, width * panels.groups * S::LANES, self.before.row);
        let tiles = height.div_ceil(S::ROWS);
        for (first, count) in panels.runs(width) {
            let at = vector * panels.groups + first;
            let b = self.packed.wrapping_add((at * k + depth.start * count) * S::LANES);
            for tile in 0..tiles {
                let (from, to) = (height * tile / tiles, height * (tile + 1) / tiles);
                let (c, c_row) = (self.sums.wrapping_add(from * pitch + first * S::LANES), pitch.cast_signed());
                let block = Block {
                    k: depth.len(),
                    a: self.before.origin.cast_const().wrapping_add((m + from) * a_row + depth.start),
                    rows: Rows::Even(a_row.cast_signed()),
                    b,
                    steps: Steps::Even((count * S::LANES).cast_signed()),
                    ahead: Ahead::nothing(b),
                    before: add.then_some((c.cast_const(), c_row)),
                    c,
                    c_row,
                };
                // SAFETY: the rows from `m + from` on are the patch's and, like the panel, which has `count` vectors
                // for each k, readable by contract over `depth`; the tile's sums are a part of the patch's. It has at
                // most `S::ROWS` rows and two vectors, or one row and up to eight.
                unsafe { kernel::tile(s, to - from, count, block) }
            }
        }
    }
}
