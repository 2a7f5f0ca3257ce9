//! How a contraction is cut up.
//!
//! In: axes, operands and outputs. Out: a [`Plan`]: merged groups, how each operand is read, the blocks of K, the row tiles and
//! the targets. Always: what the plan says about the order of summation depends on the shapes and the register tile alone.

use super::drive::Call;
use super::element::Element;
use super::kernel;
use super::layout::{Group, MAX_AXES, Place as Start, Side, Walk, apart, span};
use super::pack::BLOCK;
use super::{Axis, Contract, Output, Role};
use crate::machine::machine;

pub(super) const MAX_OUTPUTS: usize = 8;
/// The shortest run of evenly spaced K indices for which an operand is read in place.
const LEAST_RUN: usize = 24;
/// Words between neighbours along K from which on near rows are packed, and the columns that must read them.
const SPARSE: isize = 32;
const READERS: usize = 64;
/// Most words of a packed left operand, or of some of its rows, that are held for further columns, batch indices or calls.
pub(super) fn held_words() -> usize {
    machine().l3 / 2
}

/// Words of a left operand beyond which a copy in order pays, because rows far apart crowd a few sets of the caches, and the
/// columns that must read it.
fn large_words() -> usize {
    machine().l2 / 2
}
const OFTEN: usize = 256;
/// Most blocks of K that are added up plainly.
pub(super) const CHAIN: usize = 32;
/// Rows from which on a panel is read very often.
const MANY: usize = 512;
/// Most words between the ends of a right operand that is read in place by any number of rows.
fn near_words() -> usize {
    machine().l1 / 2
}

/// Multiplications below which a second thread costs more than it saves: 64 in a cycle, and 16 where each needs a word that
/// no other needs.
pub(super) fn worth() -> usize {
    64 * machine().thread
}
pub(super) fn worth_reading() -> usize {
    16 * machine().thread
}

/// How the register tile reads the left operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Where it lies, with these distances of rows and of k.
    InPlace { row: isize, step: isize },
    /// From a copy.
    Packed,
}

/// How the register tile reads the right operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    /// Where it lies, with this distance of k; fewer columns than a panel has are packed.
    InPlace { step: isize },
    /// From panels.
    Packed,
    /// From an image, each k at its offset.
    Gathered,
}

/// An output, checked.
#[derive(Clone, Copy)]
pub(super) struct Place<'a, T = f32> {
    pub(super) data: *mut T,
    pub(super) base: isize,
    pub(super) strides: &'a [isize],
    pub(super) row: isize,
    pub(super) column: isize,
}

/// The outputs of a contraction.
#[derive(Clone, Copy)]
pub(super) struct Places<'a, T = f32> {
    all: [Place<'a, T>; MAX_OUTPUTS],
    count: usize,
    /// Whether no two indices meet in one word of an output.
    pub(super) apart: bool,
}

// SAFETY: the only fields that are not `Sync` are the pointers to the outputs, which jobs write at disjoint indices only,
// in parallel only if `apart`.
unsafe impl<T: Sync> Sync for Places<'_, T> {}

impl<'a, T: Element> Places<'a, T> {
    /// Checks the outputs.
    pub(super) fn new(axes: &[Axis], outputs: &'a mut [Output<'_, T>]) -> Self {
        assert!(
            axes.len() <= MAX_AXES && outputs.len() <= MAX_OUTPUTS,
            "contract: more axes or outputs than it was made for"
        );
        let nowhere = Place { data: core::ptr::null_mut(), base: 0, strides: &[], row: 0, column: 0 };
        let mut places = Places { all: [nowhere; MAX_OUTPUTS], count: outputs.len(), apart: true };
        for (place, output) in places.all.iter_mut().zip(outputs) {
            let walks = axes.iter().zip(output.strides).filter(|(axis, _)| axis.role != Role::K);
            places.apart &= apart(walks.map(|(axis, stride)| (axis.extent, *stride)));
            *place = self::place(axes, output);
        }
        places
    }

    /// Those of the indices from `start` on, one on each axis.
    #[cfg(feature = "stored")]
    pub(super) fn from(&self, start: &[usize]) -> Self {
        let mut places = *self;
        for place in &mut places.all[..self.count] {
            place.base += start.iter().zip(place.strides).map(|(at, stride)| at.cast_signed() * stride).sum::<isize>();
        }
        places
    }
}

/// Everything about a contraction but the numbers in its operands.
#[derive(Clone, Copy)]
pub(super) struct Plan<'a, T = f32> {
    pub(super) lhs: Side<'a, T>,
    pub(super) rhs: Side<'a, T>,
    pub(super) batch: Group,
    pub(super) m: Group,
    pub(super) n: Group,
    pub(super) k: Group,
    pub(super) left: Left,
    pub(super) right: Right,
    /// Blocks of K do not cross multiples of this.
    pub(super) run: usize,
    /// Blocks per run.
    pub(super) per_run: usize,
    pub(super) outputs: [Place<'a, T>; MAX_OUTPUTS],
    pub(super) targets: usize,
    /// Whether no two indices meet in one word of an output.
    pub(super) apart: bool,
}

// SAFETY: the only fields that are not `Sync` are the pointers to the outputs, which jobs write at disjoint indices only,
// in parallel only if `apart`.
unsafe impl<T: Sync> Sync for Plan<'_, T> {}

impl<'a, T: Element> Plan<'a, T> {
    /// Plans for the register tile of `call`.
    pub(super) fn new(call: &Call<'_, T>, contract: &Contract<'a, T>, outputs: &'a mut [Output<'_, T>]) -> Self {
        Plan::at(call, contract, &Places::new(contract.axes, outputs))
    }

    /// The same for outputs that are checked, and have a place for every index.
    pub(super) fn at(call: &Call<'_, T>, contract: &Contract<'a, T>, places: &Places<'a, T>) -> Self {
        let axes = contract.axes;
        let lhs = Side::new(axes, &contract.lhs);
        let rhs = Side::new(axes, &contract.rhs);
        let of =
            |role: Role| axes.iter().enumerate().filter(move |(_, axis)| axis.role == role).map(|(number, _)| number);
        assert!(
            lhs.ignores(of(Role::N)) && rhs.ignores(of(Role::M)),
            "contract: an operand varies with the other one's axes"
        );
        let batch = Group::all(axes, Role::Batch);
        let m = Group::merged(axes, Role::M, &[&lhs]);
        let n = Group::merged(axes, Role::N, &[&rhs]);
        let k = Group::merged(axes, Role::K, &[&lhs, &rhs]);
        let (left, left_run) = read_left(&lhs, &batch, (&m, &n), &k);
        let (right, run) = read_right(&rhs, &m, &n, &k, left_run, call.rows);
        // Where a panel meets very many rows, a first-level cache should hold it.
        let held = (machine().l1 / (kernel::PANEL * call.lanes)).min(BLOCK);
        let block = if m.total >= MANY && n.total >= OFTEN { held } else { BLOCK };
        Plan {
            lhs,
            rhs,
            batch,
            m,
            n,
            k,
            left,
            right,
            run,
            per_run: run.div_ceil(block).max(1),
            outputs: places.all,
            targets: places.count,
            apart: places.apart,
        }
    }

    /// The same with all of K in one block, and a right operand that is gathered.
    pub(super) fn gathered(&self, left: Left) -> Self {
        Plan { left, right: Right::Gathered, run: self.k.total, per_run: 1, ..*self }
    }

    /// The same with operands that are read so, each for all of K.
    #[cfg(feature = "f64")]
    pub(super) fn blocked(&self, left: Left, right: Right) -> Self {
        let run = self.k.total;
        Plan { left, right, run, per_run: run.div_ceil(BLOCK).max(1), ..*self }
    }

    /// How many blocks of K there are, at least one.
    pub(super) fn blocks(&self) -> usize {
        (self.k.total / self.run.max(1)).max(1) * self.per_run
    }

    /// Whether there are so many blocks of K that what an addition of their sums loses is kept for the next one.
    pub(super) fn is_long(&self) -> bool {
        self.blocks() > CHAIN
    }

    /// The first row of row tile `number` of `tiles`.
    #[inline(always)]
    pub(super) fn row(&self, tiles: usize, number: usize) -> usize {
        share(self.m.total, tiles, number)
    }

    /// Where an operand's elements of a batch index start.
    #[inline(always)]
    pub(super) fn at_batch(&self, side: &Side<'_, T>, batch: usize) -> Start {
        if self.batch.count == 0 {
            return side.origin();
        }
        side.origin().plus(&Walk::new(side, &self.batch, batch).place)
    }

    /// The same but for windows.
    #[inline(always)]
    pub(super) fn start(&self, side: &Side<'_, T>, batch: usize) -> isize {
        side.base + side.distance(&self.batch, batch)
    }

    /// The Batch axes that have more than one index.
    pub(super) fn moving(&self) -> impl Iterator<Item = usize> + '_ {
        moving(&self.batch)
    }

    /// Whether the left operand is the same for all batch indices.
    pub(super) fn shares_left(&self) -> bool {
        self.lhs.ignores(self.moving())
    }

    /// Whether a packed left operand may be held.
    pub(super) fn is_left_small(&self) -> bool {
        self.left == Left::Packed && self.m.total * self.k.total <= held_words()
    }

    /// The most indices of K that a block has.
    pub(super) fn longest_block(&self) -> usize {
        self.run.div_ceil(self.per_run)
    }

    /// How many of `threads` threads are worth their start.
    pub(super) fn threads(&self, threads: usize) -> usize {
        let work = (self.batch.total * self.m.total * self.n.total * self.k.total).saturating_mul(T::WORDS);
        let worth = if self.m.total == 1 || self.n.total == 1 { worth_reading() } else { worth() };
        if self.apart && work >= worth { threads.max(1) } else { 1 }
    }

    /// The first index of K of a block, and how many it has.
    pub(super) fn block(&self, number: usize) -> (usize, usize) {
        if self.k.total == 0 {
            return (0, 0);
        }
        let (run, part) = (number / self.per_run, number % self.per_run);
        let (from, to) = (share(self.run, self.per_run, part), share(self.run, self.per_run, part + 1));
        (run * self.run + from, to - from)
    }
}

/// The axes of a group that have more than one index.
fn moving(group: &Group) -> impl Iterator<Item = usize> + '_ {
    (0..group.count).filter(|&at| group.extent[at] > 1).map(|at| group.number(at))
}

/// In how many parts each of so many jobs is cut: `parts`, or as many doublings of it, up to `most`, as give every thread as much to
/// do as the others, or nearly so.
pub(super) fn doubled(mut parts: usize, most: usize, jobs: usize, threads: usize) -> usize {
    while !(jobs * parts).is_multiple_of(threads) && jobs * parts < 4 * threads && 2 * parts <= most {
        parts *= 2;
    }
    parts
}

/// Where part `number` of `parts` equal parts of `total` starts.
#[inline(never)]
pub(super) fn share(total: usize, parts: usize, number: usize) -> usize {
    match total.checked_mul(number) {
        Some(all) => all / parts,
        None => (total as u128 * number as u128 / parts as u128) as usize,
    }
}

fn read_left<T: Element>(lhs: &Side<'_, T>, batch: &Group, (m, n): (&Group, &Group), k: &Group) -> (Left, usize) {
    let (run, step) = lhs.even_run(k);
    let row = if m.count == 0 { 1 } else { lhs.strides[m.number(0)] };
    let even = lhs.bounded().is_empty() && m.count <= 1 && (row == 1 || step == 1 || k.total == 1);
    let reread =
        lhs.ignores(moving(batch)) && (m.total * k.total).saturating_mul(T::WORDS) >= large_words() && n.total >= OFTEN;
    let sparse = row == 1 && is_sparse(step.saturating_mul(T::WORDS.cast_signed()), k.total, n.total);
    if even && run >= k.total.min(LEAST_RUN) && !reread && !sparse {
        let step = if k.total == 1 { 1 } else { step };
        return (Left::InPlace { row, step }, run);
    }
    (Left::Packed, k.total)
}

/// Whether every k of near rows is in a line of its own, and in few sets of the cache where the rows are long, and `n` columns
/// read them.
#[inline(always)]
pub(super) fn is_sparse(step: isize, k: usize, n: usize) -> bool {
    step.abs() > SPARSE && k >= LEAST_RUN && n >= READERS
}

fn read_right<T: Element>(
    rhs: &Side<'_, T>,
    m: &Group,
    n: &Group,
    k: &Group,
    left_run: usize,
    rows: usize,
) -> (Right, usize) {
    let (run, step) = rhs.even_run(k);
    let contiguous = rhs.bounded().is_empty() && n.count == 1 && rhs.strides[n.number(0)] == 1;
    let even = left_run > 0 && run % left_run == 0;
    if contiguous && even && reads_right_in_place(m.total, k.total.saturating_mul(T::WORDS), step, rows) {
        (Right::InPlace { step }, left_run)
    } else {
        (Right::Packed, left_run)
    }
}

/// Whether a right operand with contiguous columns is not worth a copy: few tiles read a panel, or the first-level cache holds
/// it as it lies.
#[inline(always)]
pub(super) fn reads_right_in_place(m: usize, k: usize, step: isize, rows: usize) -> bool {
    m <= 2 * rows || step.unsigned_abs().saturating_mul(k) <= near_words()
}

fn place<'a, T>(axes: &[Axis], output: &'a mut Output<'_, T>) -> Place<'a, T> {
    assert!(output.strides.len() == axes.len(), "contract: a malformed output");
    let (low, high) = span(axes, output.base, output.strides);
    let empty = axes.iter().any(|axis| axis.extent == 0 && axis.role != Role::K);
    assert!(
        empty || low >= 0 && high < output.data.len().cast_signed(),
        "contract: an output reaches outside its slice"
    );
    Place {
        data: output.data.as_mut_ptr(),
        base: output.base,
        strides: output.strides,
        row: merged(axes, output.strides, Role::M),
        column: merged(axes, output.strides, Role::N),
    }
}

/// The stride of the innermost axis of `role`, into which the others must merge.
fn merged(axes: &[Axis], strides: &[isize], role: Role) -> isize {
    let mut inner = None;
    let mut extent = 1;
    for (axis, &stride) in axes.iter().zip(strides).rev().filter(|(axis, _)| axis.role == role && axis.extent != 1) {
        let step = *inner.get_or_insert(stride);
        assert!(stride == step * extent, "contract: the axes of an output do not merge");
        extent *= axis.extent.cast_signed();
    }
    inner.unwrap_or(1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn parts_of_more_than_there_is_end_where_the_whole_does() {
        for (total, parts) in [(10, 3), (1 << 55, 1 << 51), (usize::MAX, usize::MAX / 3)] {
            let at = |number| super::share(total, parts, number);
            assert_eq!((at(0), at(parts)), (0, total));
            assert!((1..=3).all(|part| at(parts - part + 1) - at(parts - part) <= total.div_ceil(parts)));
        }
    }
}
