//! What turns hand on: states, or the sums of the product with them.
//!
//! In: the memory of both. Out: where the state of a turn lies, and sums from or to their memory. Always: a turn does not write
//! over the state that the turn before has made, or it is said that one thread has to do all the work.

use super::Series;
use super::cell::Target;
use crate::Simd;

/// What the map of a turn makes for the product of the next one.
#[derive(Debug)]
pub enum State<'a> {
    /// An element for each of the map. A turn begins with the product.
    Carried {
        /// The first state, row-major, and then the last one.
        state: &'a mut [f32],
        /// Memory for another state.
        spare: &'a mut [f32],
    },
    /// Rows of some parts. A turn begins with the map.
    Listed {
        /// The states of all turns.
        states: Series<'a>,
        /// The sums for the first turn, row by row and group by group, and then those of the last one's state.
        sums: &'a mut [f32],
        /// The series that is added to the sums of the next product, where there is one sum for each element.
        addend: Option<usize>,
    },
}

/// The same, as all threads know it.
#[derive(Clone, Copy)]
pub(super) enum States {
    /// The last state is the first of these.
    Carried { memory: [*mut f32; 2], row: usize },
    /// Each state at its turn.
    Listed { states: Target, step: usize, sums: Sums, addend: Option<usize> },
}

impl State<'_> {
    /// Parts of a row of a state.
    pub(super) fn parts(&self) -> usize {
        match self {
            State::Carried { .. } => 1,
            State::Listed { states, .. } => states.parts,
        }
    }

    /// Whether the state of each turn has words of its own, or memory is taken in turn.
    pub(super) fn is_apart(&self, turns: usize, rows: usize, columns: usize) -> bool {
        match self {
            State::Carried { .. } => true,
            State::Listed { states, .. } => states.is_apart(turns, rows, columns),
        }
    }

    /// Checks the memory of `turns` turns of a map with `rows` rows, and `columns` columns of some `groups` of sums.
    pub(super) fn place(
        self,
        turns: usize,
        (rows, columns, groups): (usize, usize, usize),
        series: &[Series<'_>],
    ) -> States {
        match self {
            State::Carried { state, spare } => {
                let words = rows.saturating_mul(columns);
                assert!(state.len() >= words && spare.len() >= words, "recur: a state has no room");
                // The last turn writes to `state`, and the turns take the two in turn.
                if turns % 2 == 1 {
                    spare[..words].copy_from_slice(&state[..words]);
                }
                States::Carried { memory: [state.as_mut_ptr(), spare.as_mut_ptr()], row: columns }
            }
            State::Listed { mut states, sums, addend } => {
                let words = rows.saturating_mul(columns).saturating_mul(groups);
                assert!(sums.len() >= words, "recur: sums have no room");
                let (target, step) = states.place(turns, rows, columns);
                let row = groups * columns;
                let sums = Sums { target: Target { origin: sums.as_mut_ptr(), row, parts: groups }, columns, groups };
                let parts = addend.map(|number| series.get(number).map(|series| series.parts));
                assert!(parts.is_none_or(|parts| parts > Some(0)), "recur: an addend that there is not");
                assert!(addend.is_none() || groups == 1, "recur: several sums for each element of an addend");
                States::Listed { states: target, step, sums, addend }
            }
        }
    }
}

impl States {
    /// The state that the `made`-th turn has made: it is that of index `turn`. `left` turns follow.
    pub(super) fn at(&self, turn: usize, left: usize) -> Target {
        match *self {
            States::Carried { memory, row } => Target { origin: memory[left % 2], row, parts: 1 },
            States::Listed { states, step, .. } => Target { origin: states.origin.wrapping_add(turn * step), ..states },
        }
    }

    /// What is added to the sums of a product: one of the series.
    pub(super) fn addend(&self, series: &[Target]) -> Option<Sums> {
        match *self {
            States::Carried { .. } => None,
            States::Listed { addend, sums, .. } => addend.map(|number| Sums { target: series[number], ..sums }),
        }
    }

    /// The sums before the first turn and after the last one.
    pub(super) fn sums(&self) -> Option<Sums> {
        match *self {
            States::Carried { .. } => None,
            States::Listed { sums, .. } => Some(sums),
        }
    }
}

/// Sums in memory: `[row][group][column]`.
#[derive(Clone, Copy)]
pub(super) struct Sums {
    target: Target,
    columns: usize,
    groups: usize,
}

/// Some rows and some vectors of columns of sums, and where they lie as `[row][vector][group][lane]`.
pub(super) struct Patch {
    pub(super) m: usize,
    pub(super) rows: usize,
    pub(super) vector: usize,
    pub(super) vectors: usize,
    pub(super) at: *mut f32,
}

impl Sums {
    /// Copies a patch from the memory, or to it.
    ///
    /// # Safety
    /// The rows and vectors of `patch` must be of these sums, `origin` must be valid for all of them, and `patch.at` for a
    /// vector for each row, vector of columns and group; nobody else may use the patch's words meanwhile.
    #[inline(always)]
    pub(super) unsafe fn copy<S: Simd, const TO: bool>(&self, s: S, patch: &Patch) {
        let Sums { target: Target { origin, row, .. }, columns, groups } = *self;
        for (r, v) in (0..patch.rows).flat_map(|r| (0..patch.vectors).map(move |v| (r, v))) {
            let first = (patch.vector + v) * S::LANES;
            let count = (columns - first).min(S::LANES);
            let (whole, mask) = (count == S::LANES, s.mask_first(count));
            for g in 0..groups {
                let memory = origin.wrapping_add((patch.m + r) * row + g * columns + first);
                let at = patch.at.wrapping_add(((r * patch.vectors + v) * groups + g) * S::LANES);
                // SAFETY: `at` is a vector of the patch, which by contract has one for each row, vector of columns and
                // group. `memory` has `count` words for this row and group by contract: where these are no vector, the
                // mask keeps to them.
                unsafe {
                    match (TO, whole) {
                        (true, true) => s.store_raw_f(memory, s.load_raw_f(at)),
                        (true, false) => s.store_masked_raw_f(memory, mask, s.load_raw_f(at)),
                        (false, _) => s.store_raw_f(at, s.load_masked_raw_f(memory, mask)),
                    }
                }
            }
        }
    }
}
