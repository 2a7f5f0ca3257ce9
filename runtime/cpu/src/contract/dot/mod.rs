//! Products with few rows or few columns, where both operands are contiguous along K: one observation through a linear layer.
//!
//! In: a contraction. Out: whether it was of this kind, and then its outputs. Always: nothing is packed, planned or looked up;
//! each sum runs down K in one vector, or where K is long in one for each block of it, which is added up at the end.

#[cfg(feature = "stored")]
mod in_turn;
mod tile;

use super::drive::Call;
use super::encoding::Stream;
use super::epilogue::Target;
use super::few;
use super::finish::Goal;
use super::layout::MAX_AXES;
use super::plan::MAX_OUTPUTS;
use super::{Axis, Contract, Operand, Output, Role};
use crate::machine::machine;
use tile::{Dot, PART, Rows};

/// The smaller side has at most so many rows.
const FEW: usize = 4;
/// Or the left one has at most so many, and no more than the right one: packing the right one would cost more.
const FEW_LEFT: usize = 6;
/// Bytes of a word.
const WORD: usize = size_of::<f32>();
/// Multiplications below which a second thread costs more than it saves: 8 in a cycle, each with a word that is read, or half of
/// them with half a word.
fn worth() -> usize {
    8 * machine().thread
}

/// An axis group that merged into one axis, and the strides of the two operands and of the first output along it.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) extent: usize,
    pub(super) lhs: isize,
    pub(super) rhs: isize,
    out: isize,
}

impl Line {
    const UNIT: Line = Line { extent: 1, lhs: 0, rhs: 0, out: 1 };

    /// One axis, unless it has no index.
    #[inline(always)]
    fn of(extent: usize, lhs: isize, rhs: isize, out: isize) -> Option<Line> {
        match extent {
            0 => None,
            1 => Some(Line::UNIT),
            _ => Some(Line { extent, lhs, rhs, out }),
        }
    }

    /// Adds an outer axis; whether it merges.
    #[inline(always)]
    fn grow(&mut self, outer: Line) -> bool {
        if self.extent == 1 {
            *self = outer;
            return outer.extent > 0;
        }
        let inner = self.extent.cast_signed();
        self.extent *= outer.extent;
        outer.extent > 0
            && outer.lhs == self.lhs.wrapping_mul(inner)
            && outer.rhs == self.rhs.wrapping_mul(inner)
            && outer.out == self.out.wrapping_mul(inner)
    }
}

/// The shape of a contraction that is a product of two matrices without a batch.
pub(super) struct Shape {
    pub(super) m: Line,
    pub(super) n: Line,
    pub(super) k: Line,
    /// Batch axes, each of one index.
    pub(super) batch: usize,
}

impl Shape {
    /// Whether both operands are contiguous along K, and neither varies with the other one's axis.
    #[inline(always)]
    fn is_along_k(&self) -> bool {
        let Shape { m, n, k, .. } = self;
        (k.extent == 1 || k.lhs == 1 && k.rhs == 1) && m.rhs == 0 && n.lhs == 0
    }
}

/// Whether this is the kind of product that is done here.
#[inline(always)]
fn suits(shape: &Shape) -> bool {
    let (m, n) = (shape.m.extent, shape.n.extent);
    shape.is_along_k() && (m.min(n) <= FEW || m <= FEW_LEFT.min(n))
}

/// The shape, if all axes of a role merge into one and there is no batch.
#[inline(always)]
pub(super) fn merged<L, R>(
    axes: &[Axis],
    lhs: &Operand<'_, L>,
    rhs: &Operand<'_, R>,
    output: &Output<'_>,
) -> Option<Shape> {
    if !lhs.windows.is_empty() || !rhs.windows.is_empty() {
        return None;
    }
    let count = axes.len();
    assert!(
        lhs.strides.len() == count && rhs.strides.len() == count && output.strides.len() == count,
        "contract: a malformed operand"
    );
    if let (&[m, n, k], &[l0, l1, l2], &[r0, r1, r2], &[o0, o1, o2]) = (axes, lhs.strides, rhs.strides, output.strides)
        && (m.role, n.role, k.role) == (Role::M, Role::N, Role::K)
    {
        let (m, n) = (Line::of(m.extent, l0, r0, o0)?, Line::of(n.extent, l1, r1, o1)?);
        return Some(Shape { m, n, k: Line::of(k.extent, l2, r2, o2)?, batch: 0 });
    }
    let mut shape = Shape { m: Line::UNIT, n: Line::UNIT, k: Line::UNIT, batch: 0 };
    for (number, axis) in axes.iter().enumerate().rev() {
        if axis.extent == 1 {
            shape.batch += usize::from(axis.role == Role::Batch);
            continue;
        }
        let outer = Line {
            extent: axis.extent,
            lhs: lhs.strides[number],
            rhs: rhs.strides[number],
            out: output.strides[number],
        };
        let line = match axis.role {
            Role::Batch => return None,
            Role::M => &mut shape.m,
            Role::N => &mut shape.n,
            Role::K => &mut shape.k,
        };
        if !line.grow(outer) {
            return None;
        }
    }
    (shape.batch <= MAX_AXES).then_some(shape)
}

/// Does the work if it is of this kind.
#[inline(never)]
pub(super) fn dot(call: &Call<'_>, contract: &Contract<'_>, outputs: &mut [Output<'_>], shape: &Shape) -> bool {
    let Shape { m, n, k, .. } = *shape;
    let mut targets = [NOWHERE; MAX_OUTPUTS];
    if !suits(shape) || !place(outputs[0].strides, outputs, (m, n), &mut targets) {
        return false;
    }
    let (left, right) = operands(contract, shape);
    let (left, right) = ((left, m.extent, m.lhs), (right, n.extent, n.rhs));
    // The side with few rows is held, the other one streams past.
    let transposed = m.extent > n.extent;
    let (held, stream) = if transposed { (right, left) } else { (left, right) };
    let mut columns = core::ptr::null();
    if !transposed {
        columns = few::columns(call.isa, call.lanes, stream.0, (stream.1, k.extent, stream.2)).unwrap_or(columns);
    }
    // SAFETY: both operands and the outputs lie within their slices, as was checked, and `columns` are those of the stream.
    unsafe { pass::<f32>(call, shape, (held, stream), (transposed, columns), &targets[..outputs.len()]) };
    true
}

/// Most rows past which a stored operand streams: widening it first takes as long as three rows at a time do for so many. Where
/// the registers are too few for that, every row reads it anew.
#[cfg(feature = "stored")]
fn most_held(call: &Call<'_>) -> usize {
    if tile::rows(call.rows) == tile::MOST_ROWS { 4 * tile::MOST_ROWS } else { FEW }
}

/// The same of a stored operand, which streams past `data`: `transposed` where it is the left one.
#[cfg(feature = "stored")]
pub(super) fn stored<W: Stream>(
    call: &Call<'_>,
    (data, stored): (&Operand<'_>, &Operand<'_, W::Bits>),
    transposed: bool,
    outputs: &mut [Output<'_>],
    shape: &Shape,
) -> bool {
    let Shape { m, n, k, .. } = *shape;
    let lines =
        if transposed { [(n.extent, n.rhs), (m.extent, m.lhs)] } else { [(m.extent, m.lhs), (n.extent, n.rhs)] };
    let [held, stream] = lines;
    let mut targets = [NOWHERE; MAX_OUTPUTS];
    if !shape.is_along_k() || held.0 > most_held(call) || !place(outputs[0].strides, outputs, (m, n), &mut targets) {
        return false;
    }
    let held = (start(data, [held, (k.extent, 1)]), held.0, held.1);
    let stream = (start(stored, [stream, (k.extent, 1)]), stream.0, stream.1);
    let sides = (transposed, core::ptr::null());
    // SAFETY: both operands and the outputs lie within their slices, as was checked.
    unsafe { pass::<W>(call, shape, (held, stream), sides, &targets[..outputs.len()]) };
    true
}

/// Sums the held rows with those of the stream, on as many threads as are worth it.
///
/// # Safety
/// Rows must be valid for reading K elements, `targets` for writing all sums, and `columns` must be null or the kept form of the
/// stream. Rows of the stream are those of the result if `transposed`.
#[inline(always)]
unsafe fn pass<W: Stream>(
    call: &Call<'_>,
    shape: &Shape,
    (held, stream): (Rows<f32>, Rows<W::Bits>),
    (transposed, columns): (bool, *const f32),
    targets: &[Target],
) {
    let Shape { m, n, k, batch } = *shape;
    let goal = Goal { batch: &[0; MAX_AXES][..batch], targets, sink: call.sink };
    let work = Dot::<W> { held, stream, k: k.extent, columns, transposed, goal };
    let large = m.extent * n.extent * k.extent / WORD * size_of::<W::Bits>() >= worth();
    let shared = call.threads > 1 && stream.1 > PART && large && apart(targets, m.extent, n.extent);
    // SAFETY: by this function's contract; several threads write outputs that are apart, and kept columns are of a product that `suits`.
    unsafe { work.run(call.isa, if shared { call.threads } else { 1 }) }
}

/// Where both operands start, which lie within their slices.
#[inline(always)]
pub(super) fn operands(contract: &Contract<'_>, Shape { m, n, k, .. }: &Shape) -> (*const f32, *const f32) {
    let left = start(&contract.lhs, [(m.extent, m.lhs), (k.extent, k.lhs)]);
    (left, start(&contract.rhs, [(n.extent, n.rhs), (k.extent, k.rhs)]))
}

/// Where an operand starts, which lies within its slice.
#[inline(always)]
pub(super) fn start<T>(operand: &Operand<'_, T>, lines: [(usize, isize); 2]) -> *const T {
    assert!(within(operand.base, lines, operand.data.len()), "contract: an operand reaches outside its slice");
    operand.data.as_ptr().wrapping_offset(operand.base)
}

/// Whether every element at `base + Σ stride·index`, each index below its extent, lies within `words` words.
#[inline(always)]
pub(super) fn within(base: isize, lines: [(usize, isize); 2], words: usize) -> bool {
    let (mut low, mut high) = (base, base);
    for (extent, stride) in lines {
        let Some(reach) = stride.checked_mul((extent - 1).cast_signed()) else {
            return false;
        };
        let end = if reach < 0 { low.checked_add(reach) } else { high.checked_add(reach) };
        match end {
            Some(end) if reach < 0 => low = end,
            Some(end) => high = end,
            None => return false,
        }
    }
    low >= 0 && high < words.cast_signed()
}

pub(super) const NOWHERE: Target = Target { origin: core::ptr::null_mut(), row: 0, column: 0 };

/// Says where the outputs start and how they go on, if all go on as the first one does.
#[inline(always)]
pub(super) fn place(first: &[isize], outputs: &mut [Output<'_>], (m, n): (Line, Line), targets: &mut [Target]) -> bool {
    if outputs.len() > targets.len() || outputs.iter().skip(1).any(|output| output.strides != first) {
        return false;
    }
    for (target, output) in targets.iter_mut().zip(outputs) {
        let inside = within(output.base, [(m.extent, m.out), (n.extent, n.out)], output.data.len());
        assert!(inside, "contract: an output reaches outside its slice");
        let origin = output.data.as_mut_ptr().wrapping_offset(output.base);
        *target = Target { origin, row: m.out, column: n.out };
    }
    true
}

/// Whether no two elements of a target meet in one word.
pub(super) fn apart(targets: &[Target], m: usize, n: usize) -> bool {
    targets.iter().all(|target| {
        let (row, column) = (target.row.unsigned_abs(), target.column.unsigned_abs());
        (m == 1 || row > 0)
            && (n == 1 || column > 0)
            && (m == 1 || n == 1 || row > column * (n - 1) || column > row * (m - 1))
    })
}
