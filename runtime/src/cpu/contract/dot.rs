//! Products with few rows or few columns, where both operands are contiguous along K: one observation through a linear layer.
//!
//! In: a contraction. Out: whether it was of this kind, and then its outputs. Always: nothing is packed, planned or looked up;
//! each sum runs down K in one vector, which is added up at the end.

use super::super::{Isa, Kernel, Simd, pool, run};
use super::drive::Call;
use super::epilogue::Target;
use super::finish::{Destination, Sums};
use super::place::{MAX_AXES, span};
use super::plan::MAX_OUTPUTS;
use super::{Axis, Contract, Output, Role};

/// The smaller side has at most so many rows.
const FEW: usize = 4;
/// Columns of a register tile.
const WIDTH: usize = 8;
/// Columns of a tile that is handed on.
const TILE: usize = 256;
/// Multiplications below which a second thread costs more than it saves.
const WORTH: usize = 1 << 16;

/// An axis group that merged into one axis, and the strides of the two operands along it.
#[derive(Clone, Copy)]
struct Line {
    extent: usize,
    lhs: isize,
    rhs: isize,
}

impl Line {
    const UNIT: Line = Line { extent: 1, lhs: 0, rhs: 0 };

    /// Adds an outer axis; whether it merges.
    #[inline(always)]
    fn grow(&mut self, extent: usize, lhs: isize, rhs: isize) -> bool {
        if self.extent == 1 {
            *self = Line { extent, lhs, rhs };
            return true;
        }
        let inner = self.extent.cast_signed();
        let fits = lhs == self.lhs * inner && rhs == self.rhs * inner;
        self.extent *= extent;
        fits
    }
}

/// The shape of a contraction that is a product of two matrices without a batch.
struct Shape {
    m: Line,
    n: Line,
    k: Line,
}

/// The shape, if this is the kind of product that is done here.
#[inline(always)]
fn shape(contract: &Contract<'_>) -> Option<Shape> {
    let Contract { axes, lhs, rhs } = contract;
    if !lhs.windows.is_empty() || !rhs.windows.is_empty() || axes.len() > MAX_AXES {
        return None;
    }
    let mut shape = Shape { m: Line::UNIT, n: Line::UNIT, k: Line::UNIT };
    let strides = lhs.strides.iter().zip(rhs.strides);
    for (axis, (&lhs, &rhs)) in axes.iter().zip(strides).rev() {
        if axis.extent == 1 {
            continue;
        }
        let line = match axis.role {
            Role::Batch => return None,
            Role::M => &mut shape.m,
            Role::N => &mut shape.n,
            Role::K => &mut shape.k,
        };
        if axis.extent == 0 || !line.grow(axis.extent, lhs, rhs) {
            return None;
        }
    }
    let Shape { m, n, k } = &shape;
    let along = k.extent == 1 || k.lhs == 1 && k.rhs == 1;
    (along && m.extent.min(n.extent) <= FEW && m.rhs == 0 && n.lhs == 0).then_some(shape)
}

/// Does the work if it is of this kind.
#[inline(always)]
pub(super) fn dot(call: &Call<'_>, contract: &Contract<'_>, outputs: &mut [Output<'_>]) -> bool {
    let Some(Shape { m, n, k }) = shape(contract) else {
        return false;
    };
    let Some(targets) = targets(contract.axes, outputs) else {
        return false;
    };
    let (lhs, rhs) = (&contract.lhs, &contract.rhs);
    assert!(
        inside(contract.axes, lhs.base, lhs.strides, lhs.data.len())
            && inside(contract.axes, rhs.base, rhs.strides, rhs.data.len()),
        "contract: an operand reaches outside its slice"
    );
    let batch = contract.axes.iter().filter(|axis| axis.role == Role::Batch).count();
    let left = (lhs.data.as_ptr().wrapping_offset(lhs.base), m.extent, m.lhs);
    let right = (rhs.data.as_ptr().wrapping_offset(rhs.base), n.extent, n.rhs);
    // The side with few rows is held, the other one streams past.
    let turned = m.extent > n.extent;
    let (held, stream) = if turned { (right, left) } else { (left, right) };
    let count = outputs.len();
    let destination = Destination::of(targets, count, batch, call.isa, call.sink);
    let work = Dot { held, stream, k: k.extent, turned, destination };
    let blocks = stream.1.div_ceil(TILE);
    let large = m.extent * n.extent * k.extent >= WORTH;
    if call.threads > 1 && blocks > 1 && large && apart(&targets[..count], m.extent, n.extent) {
        let task = Blocks { isa: call.isa, work: &work };
        pool::parallel(call.threads, blocks, &task);
    } else {
        run(call.isa, Columns { work: &work, from: 0, to: stream.1 });
    }
    true
}

/// Whether every index of an operand or output lies within its slice.
#[inline(always)]
fn inside(axes: &[Axis], base: isize, strides: &[isize], words: usize) -> bool {
    let (low, high) = span(axes, base, strides);
    strides.len() == axes.len() && low >= 0 && high < words.cast_signed()
}

/// Where the outputs start and how they go on, if their axes merge.
#[inline(always)]
fn targets(axes: &[Axis], outputs: &mut [Output<'_>]) -> Option<[Target; MAX_OUTPUTS]> {
    let nowhere = Target { origin: core::ptr::null_mut(), row: 0, column: 0 };
    let mut targets = [nowhere; MAX_OUTPUTS];
    if outputs.len() > MAX_OUTPUTS {
        return None;
    }
    for (target, output) in targets.iter_mut().zip(outputs) {
        assert!(
            inside(axes, output.base, output.strides, output.data.len()),
            "contract: an output reaches outside its slice"
        );
        let (row, column) = steps(axes, output.strides)?;
        let origin = output.data.as_mut_ptr().wrapping_offset(output.base);
        *target = Target { origin, row, column };
    }
    Some(targets)
}

/// The strides of an output along the merged M axes and the merged N axes, if they merge.
#[inline(always)]
fn steps(axes: &[Axis], strides: &[isize]) -> Option<(isize, isize)> {
    let (mut row, mut column) = (Line::UNIT, Line::UNIT);
    for (axis, &stride) in axes.iter().zip(strides).rev().filter(|(axis, _)| axis.extent != 1) {
        let fits = match axis.role {
            Role::M => row.grow(axis.extent, stride, 0),
            Role::N => column.grow(axis.extent, stride, 0),
            Role::Batch | Role::K => true,
        };
        if !fits {
            return None;
        }
    }
    Some((row.lhs, if column.extent == 1 { 1 } else { column.lhs }))
}

/// Whether no two elements of a target meet in one word.
fn apart(targets: &[Target], m: usize, n: usize) -> bool {
    targets.iter().all(|target| {
        let (row, column) = (target.row.unsigned_abs(), target.column.unsigned_abs());
        (m == 1 || row > 0)
            && (n == 1 || column > 0)
            && (m == 1 || n == 1 || row > column * (n - 1) || column > row * (m - 1))
    })
}

/// A matrix whose rows are contiguous: its start, how many rows, and words from row to row.
type Rows = (*const f32, usize, isize);

struct Dot<'a> {
    held: Rows,
    stream: Rows,
    k: usize,
    /// Whether the columns of a tile here are rows of the result.
    turned: bool,
    destination: Destination<'a>,
}

// SAFETY: the operands are only read, and the destination is written at disjoint columns, in parallel only if they are apart.
unsafe impl Sync for Dot<'_> {}

struct Blocks<'a> {
    isa: Isa,
    work: &'a Dot<'a>,
}

impl pool::Task for Blocks<'_> {
    fn work(&self, blocks: core::ops::Range<usize>) {
        let to = self.work.stream.1.min(blocks.end * TILE);
        run(self.isa, Columns { work: self.work, from: blocks.start * TILE, to });
    }
}

/// Some rows of the stream.
struct Columns<'a> {
    work: &'a Dot<'a>,
    from: usize,
    to: usize,
}

impl Kernel for Columns<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Columns { work, from, to } = self;
        // As many rows at a time as leave registers for the sums.
        let most = if S::ROWS > 6 { 3 } else { 1 };
        let mut at = from;
        while at < to {
            let cols = TILE.min(to - at);
            let mut row = 0;
            while row < work.held.1 {
                let rows = most.min(work.held.1 - row);
                // SAFETY: `dot` has checked both operands and the outputs.
                unsafe {
                    match rows {
                        1 => tile::<S, 1>(s, work, row, at, cols),
                        2 => tile::<S, 2>(s, work, row, at, cols),
                        _ => tile::<S, 3>(s, work, row, at, cols),
                    }
                }
                row += rows;
            }
            at += cols;
        }
    }
}

/// Sums `ROWS` × `cols` elements and hands them on.
#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize>(s: S, work: &Dot<'_>, row: usize, at: usize, cols: usize) {
    let mut sums = [core::mem::MaybeUninit::<[[f32; TILE]; ROWS]>::uninit()];
    let data = sums.as_mut_ptr().cast::<f32>();
    let mut column = 0;
    while column < cols {
        // SAFETY: the caller's; the buffer has `TILE` words per row, a multiple of `WIDTH`.
        unsafe { block::<S, ROWS>(s, work, row, at + column, WIDTH.min(cols - column), data.wrapping_add(column)) }
        column += WIDTH;
    }
    if !work.turned {
        let sums = Sums { data, pitch: TILE, m: row, n: at, rows: ROWS, cols };
        // SAFETY: the sums are written, and lie within the contraction.
        unsafe { work.destination.finish(s, &sums) }
        return;
    }
    let mut turned = [[0.0f32; FEW]; TILE];
    for (c, turned) in turned.iter_mut().enumerate().take(cols) {
        for (r, turned) in turned.iter_mut().enumerate().take(ROWS) {
            // SAFETY: as above.
            *turned = unsafe { data.wrapping_add(r * TILE + c).read() };
        }
    }
    let sums = Sums { data: turned.as_ptr().cast(), pitch: FEW, m: at, n: row, rows: cols, cols: ROWS };
    // SAFETY: as above.
    unsafe { work.destination.finish(s, &sums) }
}

/// Sums `ROWS` × `WIDTH` elements, of which `cols` columns count.
#[inline(always)]
unsafe fn block<S: Simd, const ROWS: usize>(s: S, work: &Dot<'_>, row: usize, at: usize, cols: usize, to: *mut f32) {
    let mut held = [work.held.0; ROWS];
    for (r, held) in held.iter_mut().enumerate() {
        *held = work.held.0.wrapping_offset((row + r).cast_signed() * work.held.2);
    }
    let mut stream = [work.stream.0; WIDTH];
    for (c, stream) in stream.iter_mut().enumerate() {
        // Columns that do not count repeat the last one.
        *stream = work.stream.0.wrapping_offset((at + c.min(cols - 1)).cast_signed() * work.stream.2);
    }
    let mut sums = [[s.splat_f(0.0); WIDTH]; ROWS];
    let mut k = 0;
    while k + S::LANES <= work.k {
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: the rows have `work.k` words.
            left[r] = unsafe { s.load_raw_f(held[r].wrapping_add(k)) };
        }
        for c in 0..WIDTH {
            // SAFETY: as above.
            let right = unsafe { s.load_raw_f(stream[c].wrapping_add(k)) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
        k += S::LANES;
    }
    if k < work.k {
        let rest = s.mask_first(work.k - k);
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: as above; the mask ends with the row.
            left[r] = unsafe { s.load_masked_raw_f(held[r].wrapping_add(k), rest) };
        }
        for c in 0..WIDTH {
            // SAFETY: as above.
            let right = unsafe { s.load_masked_raw_f(stream[c].wrapping_add(k), rest) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
    }
    for (r, sums) in sums.into_iter().enumerate() {
        // SAFETY: the caller provides a row of `TILE` words for each row.
        unsafe { s.add_up_raw_f(sums, to.wrapping_add(r * TILE)) }
    }
}
