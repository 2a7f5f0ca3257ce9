//! Products whose stored operand is widened strip by strip.
//!
//! In: a contraction. Out: its outputs. Always: a strip is a contraction of f32 of its own, computed where its results belong;
//! the epilogue sees the indices of the whole. A thread keeps the memory of one strip.

use core::cell::Cell;
use core::ops::Range;

use super::copy::Copy;
use super::cut::{Cut, Strip};
use super::{Encoding, Stored};
use crate::Area;
use crate::contract::dot::NOWHERE;
use crate::contract::drive::{self, Algorithm, Call};
use crate::contract::encoding::Stream;
use crate::contract::epilogue::{Sink, Tile};
use crate::contract::layout::{MAX_AXES, MAX_WINDOWS, Side, span};
use crate::contract::plan::{self, MAX_OUTPUTS, Places, Plan};
use crate::contract::{Axis, Contract, Factor, Operand, Output, Role, Window};
use crate::machine::machine;
use crate::pool;
use crate::scratch::{Scratch, lend};

thread_local! {
    /// The strip that a thread computes.
    static STRIP: Cell<Scratch<()>> = Cell::default();
}

/// Words of a strip: of a right operand, whose every panel is packed once however it is cut, what a second-level cache holds
/// beside other things. Of a left one, and where the other operand has windows, what that becomes is made for every strip anew;
/// and where K is not what is contiguous, a narrow strip would be many short runs. There a strip is what a core may take of the
/// last cache.
pub(super) fn words<W: Encoding>(contract: &Stored<'_, W>) -> usize {
    let Stored { axes, parameter, data, stored } = contract;
    let along_k = axes.iter().zip(stored.strides).any(|(axis, stride)| axis.role == Role::K && stride.abs() == 1);
    match parameter {
        Factor::Right if along_k && data.windows.is_empty() => machine().l2 / 2,
        Factor::Right | Factor::Left => machine().l3,
    }
}

/// Computes a contraction by strips of its stored operand, of `words` words or an index of each axis that may be cut.
pub(super) fn strips<W: Encoding + Stream<Bits = <W as Encoding>::Bits>>(
    call: &Call<'_>,
    algorithms: &[Algorithm],
    contract: &Stored<'_, W>,
    outputs: &mut [Output<'_>],
    words: usize,
) {
    let axes = contract.axes;
    let places = Places::new(axes, outputs);
    check(contract);
    if axes.iter().any(|axis| axis.extent == 0 && axis.role != Role::K) {
        return;
    }
    let (role, other) = match contract.parameter {
        Factor::Left => (Role::M, Role::N),
        Factor::Right => (Role::N, Role::M),
    };
    // Where sums are of nothing, there is nothing to cut.
    let words = if axes.iter().any(|axis| axis.extent == 0) { usize::MAX } else { words };
    let cut = Cut::new(axes, contract.stored.strides, role, words);
    let extents = |role: Role| axes.iter().filter(move |axis| axis.role == role).map(|axis| axis.extent);
    let work = axes.iter().map(|axis| axis.extent).product::<usize>();
    let worth = if extents(other).product::<usize>() == 1 { plan::worth_reading() } else { plan::worth() };
    let threads = if places.apart && work >= worth { call.threads.max(1) } else { 1 };
    let task = Strips { call: Call { threads: 1, ..*call }, algorithms, contract, places, cut };
    if task.cut.total >= 2 * threads {
        pool::parallel(threads, task.cut.total, &task);
    } else {
        // So few strips are shared themselves.
        let task = Strips { call: Call { threads, ..*call }, ..task };
        pool::Task::work(&task, 0..task.cut.total);
    }
}

/// Panics unless both operands are well formed and lie within their slices.
fn check<W: Encoding>(contract: &Stored<'_, W>) {
    let Stored { axes, parameter, data, stored } = contract;
    let data = Side::new(axes, data);
    let (of_data, of_stored) = match parameter {
        Factor::Left => (Role::M, Role::N),
        Factor::Right => (Role::N, Role::M),
    };
    let of = |role: Role| (0..axes.len()).filter(move |number| axes[*number].role == role);
    assert!(stored.strides.len() == axes.len(), "contract: a malformed operand");
    assert!(
        data.ignores(of(of_data)) && of(of_stored).all(|number| stored.strides[number] == 0),
        "contract: an operand varies with the other one's axes"
    );
    let (low, high) = span(axes, stored.base, stored.strides);
    let empty = axes.iter().any(|axis| axis.extent == 0);
    let inside = empty || low >= 0 && high < stored.data.len().cast_signed();
    assert!(inside, "contract: an operand reaches outside its slice");
}

/// A contraction that is cut into strips.
struct Strips<'a, W: Encoding> {
    call: Call<'a>,
    algorithms: &'a [Algorithm],
    contract: &'a Stored<'a, W>,
    places: Places<'a>,
    cut: Cut<'a>,
}

impl<W: Encoding + Stream<Bits = <W as Encoding>::Bits>> pool::Task for Strips<'_, W> {
    fn work(&self, numbers: Range<usize>) {
        lend(&STRIP, |scratch| {
            for number in numbers {
                let strip = self.cut.strip(number);
                let copy = Copy::new(&strip, &self.contract.stored);
                let (to, _) = scratch.provide(copy.words, 0, ());
                // SAFETY: `check` has found all elements of the operand within its slice, and `to` has words for those of
                // the strip.
                unsafe { copy.widen::<W>(self.call.isa, self.call.threads, self.contract.stored.data, to) };
                // SAFETY: all of these words are written, and nobody writes them while the strip is computed.
                let data = unsafe { core::slice::from_raw_parts(to, copy.words) };
                self.compute(&strip, &copy, data);
            }
        });
    }
}

impl<W: Encoding> Strips<'_, W> {
    /// Computes a strip from its widened elements.
    fn compute(&self, strip: &Strip, copy: &Copy, data: &[f32]) {
        let Stored { axes, parameter, data: other, .. } = self.contract;
        let (count, start) = (axes.len(), &strip.start[..axes.len()]);
        let moved =
            |strides: &[isize]| start.iter().zip(strides).map(|(at, step)| at.cast_signed() * step).sum::<isize>();
        let mut windows = [Window { base: 0, strides: &[], divisor: 1, extent: 0, stride: 0 }; MAX_WINDOWS];
        for (to, window) in windows.iter_mut().zip(other.windows) {
            *to = Window { base: window.base + moved(window.strides), ..*window };
        }
        let windows = &windows[..other.windows.len()];
        let other = Operand { base: other.base + moved(other.strides), windows, ..*other };
        let stored = Operand { data, base: copy.base, strides: &copy.strides[..count], windows: &[] };
        let (lhs, rhs) = match parameter {
            Factor::Left => (stored, other),
            Factor::Right => (other, stored),
        };
        let contract = Contract { axes: &strip.axes[..count], lhs, rhs };
        let sink = self.call.sink.map(|sink| Shifted::new(sink, axes, start, &self.cut, strip));
        let call = Call { sink: sink.as_ref().map(|sink| sink as &dyn Sink), ..self.call };
        let plan = Plan::at(&call, &contract, &self.places.from(start));
        drive::compute(&call, self.algorithms, &plan, contract.axes, None);
    }
}

/// The epilogue of the whole for the tiles of a strip.
struct Shifted<'a> {
    sink: &'a dyn Sink,
    /// The first indices of the strip.
    m: usize,
    n: usize,
    batch: [usize; MAX_AXES],
}

impl<'a> Shifted<'a> {
    fn new(sink: &'a dyn Sink, axes: &[Axis], start: &[usize], cut: &Cut<'_>, strip: &Strip) -> Self {
        let mut batch = [0; MAX_AXES];
        let of_batch = axes.iter().zip(start).filter(|(axis, _)| axis.role == Role::Batch);
        batch.iter_mut().zip(of_batch).for_each(|(to, (_, at))| *to = *at);
        Shifted { sink, m: cut.first(strip, Role::M), n: cut.first(strip, Role::N), batch }
    }
}

impl Sink for Shifted<'_> {
    fn finish(&self, tile: &mut Tile<'_>) {
        let mut batch = self.batch;
        batch.iter_mut().zip(tile.batch).for_each(|(at, more)| *at += more);
        let mut targets = [NOWHERE; MAX_OUTPUTS];
        for (to, target) in targets.iter_mut().zip(tile.targets) {
            // Where row and column 0 of the whole are, or would be.
            let back = self.m.cast_signed() * target.row + self.n.cast_signed() * target.column;
            (*to, to.origin) = (*target, target.origin.wrapping_offset(-back));
        }
        let area = Area { m: tile.area.m + self.m, n: tile.area.n + self.n, ..tile.area };
        let (batch, targets) = (&batch[..tile.batch.len()], &targets[..tile.targets.len()]);
        self.sink.finish(&mut Tile { batch, area, sums: tile.sums, pitch: tile.pitch, targets, first: targets[0] });
    }
}
