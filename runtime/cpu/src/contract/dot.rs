//! Products with few rows or few columns, where both operands are contiguous along K: one observation through a linear layer.
//!
//! In: a contraction. Out: whether it was of this kind, and then its outputs. Always: nothing is packed, planned or looked up;
//! each sum runs down K in one vector, or where K is long in one for each block of it, which is added up at the end.

use core::ops::Range;

use super::drive::Call;
use super::epilogue::Target;
use super::few;
use super::finish::{Goal, Sums};
use super::layout::MAX_AXES;
use super::plan::MAX_OUTPUTS;
use super::{Contract, Output, Role};
use crate::isa::Set;
use crate::machine::machine;
use crate::sums::LongSum;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, pool, run};

/// The smaller side has at most so many rows.
const FEW: usize = 4;
/// Or the left one has at most so many, and no more than the right one: packing the right one would cost more.
const FEW_LEFT: usize = 6;
/// Columns of a register tile.
const WIDTH: usize = 8;
/// Columns of a tile that is handed on.
const TILE: usize = 256;
/// Columns that threads do not share: whole groups of kept ones.
const PART: usize = few::VECTORS * MAX_LANES;
/// Vectors along K that are added up in one; the sums of so many are added with compensation, so that the error does not grow
/// with K.
const CHAIN: usize = 64;
/// Multiplications below which a second thread costs more than it saves: 8 in a cycle, each with a word that is read.
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
            && outer.lhs == self.lhs * inner
            && outer.rhs == self.rhs * inner
            && outer.out == self.out * inner
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

/// Whether this is the kind of product that is done here.
#[inline(always)]
fn suits(Shape { m, n, k, .. }: &Shape) -> bool {
    let along = k.extent == 1 || k.lhs == 1 && k.rhs == 1;
    let few = m.extent.min(n.extent) <= FEW || m.extent <= FEW_LEFT.min(n.extent);
    along && few && m.rhs == 0 && n.lhs == 0
}

/// The shape, if all axes of a role merge into one and there is no batch.
#[inline(always)]
pub(super) fn merged(contract: &Contract<'_>, output: &Output<'_>) -> Option<Shape> {
    let Contract { axes, lhs, rhs } = contract;
    if !lhs.windows.is_empty() || !rhs.windows.is_empty() {
        return None;
    }
    let count = axes.len();
    assert!(
        lhs.strides.len() == count && rhs.strides.len() == count && output.strides.len() == count,
        "contract: a malformed operand"
    );
    if let (&[m, n, k], &[l0, l1, l2], &[r0, r1, r2], &[o0, o1, o2]) = (*axes, lhs.strides, rhs.strides, output.strides)
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
    let Shape { m, n, k, batch } = *shape;
    let strides = outputs[0].strides;
    let mut targets = [NOWHERE; MAX_OUTPUTS];
    if !suits(shape) || !place(strides, outputs, (m, n), &mut targets) {
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
    let targets = &targets[..outputs.len()];
    let goal = Goal { batch: &[0; MAX_AXES][..batch], targets, sink: call.sink };
    let work = Dot { held, stream, k: k.extent, columns, transposed, goal };
    let blocks = stream.1.div_ceil(PART);
    let large = m.extent * n.extent * k.extent >= worth();
    if call.threads > 1 && blocks > 1 && large && apart(targets, m.extent, n.extent) {
        let task = Blocks { isa: call.isa, work: &work };
        pool::parallel(call.threads, blocks, &task);
    } else {
        run(call.isa, Columns { work: &work, from: 0, to: stream.1 });
    }
    true
}

/// Where both operands start, which lie within their slices.
#[inline(always)]
pub(super) fn operands(contract: &Contract<'_>, Shape { m, n, k, .. }: &Shape) -> (*const f32, *const f32) {
    let (lhs, rhs) = (&contract.lhs, &contract.rhs);
    assert!(
        within(lhs.base, [(m.extent, m.lhs), (k.extent, k.lhs)], lhs.data.len())
            && within(rhs.base, [(n.extent, n.rhs), (k.extent, k.rhs)], rhs.data.len()),
        "contract: an operand reaches outside its slice"
    );
    (lhs.data.as_ptr().wrapping_offset(lhs.base), rhs.data.as_ptr().wrapping_offset(rhs.base))
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

/// A matrix whose rows are contiguous: its start, how many rows, and words from row to row.
type Rows = (*const f32, usize, isize);

struct Dot<'a> {
    held: Rows,
    stream: Rows,
    k: usize,
    /// Whether the columns of a tile here are rows of the result.
    transposed: bool,
    /// The stream in the form of [`few`], or null.
    columns: *const f32,
    goal: Goal<'a>,
}

// SAFETY: the operands are only read, and the outputs are written at disjoint columns, in parallel only if they are apart.
unsafe impl Sync for Dot<'_> {}

struct Blocks<'a> {
    isa: Set,
    work: &'a Dot<'a>,
}

impl pool::Task for Blocks<'_> {
    fn work(&self, blocks: core::ops::Range<usize>) {
        let to = self.work.stream.1.min(blocks.end * PART);
        run(self.isa, Columns { work: self.work, from: blocks.start * PART, to });
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
        let mut at = from;
        while at < to {
            let cols = TILE.min(to - at);
            // SAFETY: `dot` has checked that the rows of both operands and all outputs lie within their slices, and keeps
            // the stream in columns where these are not null; `from..to` are rows of the stream, and `from` starts a part.
            unsafe {
                match work.columns.is_null() {
                    true => passed(s, work, at, cols),
                    false => kept(s, work, at, cols),
                }
            }
            at += cols;
        }
    }
}

/// Sums all rows with `cols` columns that stream past, and hands them on.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words, and the outputs for writing all
/// sums; `at..at + cols` must be rows of the stream, at most [`TILE`].
#[inline(always)]
unsafe fn passed<S: Simd>(s: S, work: &Dot<'_>, at: usize, cols: usize) {
    // As many rows at a time as leave registers for the sums.
    let most = if S::ROWS > 6 { 3 } else { 1 };
    let mut row = 0;
    while row < work.held.1 {
        let rows = most.min(work.held.1 - row);
        // SAFETY: `row..row + rows` are held rows; by this function's contract all rows have `work.k` words, the outputs
        // lie within their slices, and the columns are at most `TILE` rows of the stream.
        unsafe {
            match rows {
                1 => tile::<S, 1>(s, work, row, at, cols),
                2 => tile::<S, 2>(s, work, row, at, cols),
                _ => tile::<S, 3>(s, work, row, at, cols),
            }
        }
        row += rows;
    }
}

/// Sums all rows with `cols` columns that are kept, and hands them on. A group of columns stays in the first-level cache while
/// the rows pass.
///
/// # Safety
/// The rows of `work.held` must be valid for reading `work.k` words, `work.columns` must be the kept form of the stream,
/// the outputs must be valid for writing all sums, and at most [`FEW_LEFT`] rows may be held. `at..at + cols` must be rows
/// of the stream, at most [`TILE`], and `at` the start of a group of `few::VECTORS` vectors.
#[inline(always)]
unsafe fn kept<S: Simd>(s: S, work: &Dot<'_>, at: usize, cols: usize) {
    let mut sums = [core::mem::MaybeUninit::<[[f32; TILE]; FEW_LEFT]>::uninit()];
    let data = sums.as_mut_ptr().cast::<f32>();
    for column in (0..cols).step_by(few::VECTORS * S::LANES) {
        let columns = work.columns.wrapping_add((at + column) * work.k);
        for row in 0..work.held.1 {
            let held = work.held.0.wrapping_offset(row.cast_signed() * work.held.2);
            // SAFETY: a held row has `work.k` words, by this function's contract; the kept columns are padded to whole
            // groups, of which `TILE` is a multiple, and the buffer has `FEW_LEFT` rows of `TILE` words, which is the most
            // that are held.
            unsafe { few::sums(s, held, work.k, columns, data.wrapping_add(row * TILE + column)) }
        }
    }
    let sums = Sums { data, pitch: TILE, m: 0, n: at, rows: work.held.1, cols };
    // SAFETY: all groups of the held rows are written; these are all rows of the contraction, `at..at + cols` are columns
    // of it, and it lies within its outputs, by this function's contract.
    unsafe { work.goal.finish(s, &sums) }
}

/// Sums `ROWS` × `cols` elements and hands them on.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words, and the outputs for writing all
/// sums; `row..row + ROWS` must be held rows, at most [`FEW`] if transposed, and `at..at + cols` rows of the stream, at most
/// [`TILE`].
#[inline(always)]
unsafe fn tile<S: Simd, const ROWS: usize>(s: S, work: &Dot<'_>, row: usize, at: usize, cols: usize) {
    let mut sums = [core::mem::MaybeUninit::<[[f32; TILE]; ROWS]>::uninit()];
    let data = sums.as_mut_ptr().cast::<f32>();
    let mut column = 0;
    while column < cols {
        // SAFETY: by this function's contract these are held rows and rows of the stream, of `work.k` words each; the
        // buffer has `TILE` words for each of `ROWS` rows, and `TILE` is a multiple of `WIDTH`.
        unsafe { block::<S, ROWS>(s, work, row, at + column, WIDTH.min(cols - column), data.wrapping_add(column)) }
        column += WIDTH;
    }
    if !work.transposed {
        let sums = Sums { data, pitch: TILE, m: row, n: at, rows: ROWS, cols };
        // SAFETY: `block` has written `cols` columns of all `ROWS` rows, which are rows and columns of the contraction, and
        // that lies within its outputs, by this function's contract.
        unsafe { work.goal.finish(s, &sums) }
        return;
    }
    let mut transposed = [[0.0f32; FEW]; TILE];
    for (c, transposed) in transposed.iter_mut().enumerate().take(cols) {
        for (r, transposed) in transposed.iter_mut().enumerate().take(ROWS) {
            // SAFETY: `block` has written `cols` columns of all `ROWS` rows of the buffer.
            *transposed = unsafe { data.wrapping_add(r * TILE + c).read() };
        }
    }
    let sums = Sums { data: transposed.as_ptr().cast(), pitch: FEW, m: at, n: row, rows: cols, cols: ROWS };
    // SAFETY: `transposed` has `FEW` words for each column, `ROWS` of them written; transposed, the stream's rows are those
    // of the contraction, and the held ones its columns, and it lies within its outputs, by this function's contract.
    unsafe { work.goal.finish(s, &sums) }
}

/// Sums `ROWS` × `WIDTH` elements, of which `cols` columns count.
///
/// # Safety
/// The rows of `work.held` and `work.stream` must be valid for reading `work.k` words; `row..row + ROWS` must be held rows,
/// and `at..at + cols` rows of the stream, at least one. `to` must be valid for writing [`WIDTH`] words every [`TILE`]
/// words for each of `ROWS` rows.
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
    if work.k <= CHAIN * S::LANES {
        // SAFETY: all of these are held rows and rows of the stream, which have `work.k` words by this function's contract.
        unsafe { add_products(s, &held, &stream, 0..work.k, &mut sums) }
    } else {
        let mut long = [[LongSum::zero(s); WIDTH]; ROWS];
        for start in (0..work.k).step_by(CHAIN * S::LANES) {
            let end = work.k.min(start + CHAIN * S::LANES);
            let mut sums = [[s.splat_f(0.0); WIDTH]; ROWS];
            // SAFETY: the rows have `work.k` words by this function's contract, and `end` is at most that.
            unsafe { add_products(s, &held, &stream, start..end, &mut sums) }
            long.iter_mut().flatten().zip(sums.iter().flatten()).for_each(|(long, sum)| long.add(s, *sum));
        }
        sums.iter_mut().flatten().zip(long.iter().flatten()).for_each(|(sum, long)| *sum = long.rounded());
    }
    for (r, sums) in sums.iter().enumerate() {
        // SAFETY: `to` has `WIDTH` words every `TILE` words for each row, by this function's contract.
        unsafe { s.add_up_raw_f(*sums, to.wrapping_add(r * TILE)) }
    }
}

/// Adds the products of a range of K, whole vectors first.
///
/// # Safety
/// Each of the rows must be valid for reading as many words as the range ends with.
#[inline(always)]
unsafe fn add_products<S: Simd, const ROWS: usize>(
    s: S,
    held: &[*const f32; ROWS],
    stream: &[*const f32; WIDTH],
    range: Range<usize>,
    sums: &mut [[S::F; WIDTH]; ROWS],
) {
    let mut k = range.start;
    while k + S::LANES <= range.end {
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: the row has `range.end` words by this function's contract, and this vector ends before that.
            left[r] = unsafe { s.load_raw_f(held[r].wrapping_add(k)) };
        }
        for c in 0..WIDTH {
            // SAFETY: the row has `range.end` words by this function's contract, and this vector ends before that.
            let right = unsafe { s.load_raw_f(stream[c].wrapping_add(k)) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
        k += S::LANES;
    }
    if k < range.end {
        let rest = s.mask_first(range.end - k);
        let mut left = [s.splat_f(0.0); ROWS];
        for r in 0..ROWS {
            // SAFETY: the row has `range.end` words by this function's contract, where the mask ends.
            left[r] = unsafe { s.load_masked_raw_f(held[r].wrapping_add(k), rest) };
        }
        for c in 0..WIDTH {
            // SAFETY: the row has `range.end` words by this function's contract, where the mask ends.
            let right = unsafe { s.load_masked_raw_f(stream[c].wrapping_add(k), rest) };
            for r in 0..ROWS {
                sums[r][c] = s.mul_add_f(left[r], right, sums[r][c]);
            }
        }
    }
}
