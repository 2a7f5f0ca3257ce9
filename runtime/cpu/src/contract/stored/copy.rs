//! Widening the elements of a strip.
//!
//! In: an operand and the indices of a strip. Out: its elements as f32, and how they lie. Always: they lie as close as they can,
//! in the order in which they are stored, so what was contiguous still is; a copy has no more words than the operand.

use core::mem::MaybeUninit;
use core::ops::Range;

use super::cut::Strip;
use crate::contract::Operand;
use crate::contract::encoding::Stream;
use crate::contract::layout::MAX_AXES;
use crate::isa::Set;
use crate::machine::machine;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, pool, run};

/// Runs that are asked for before they are needed.
const AHEAD: isize = 4;
/// Elements that threads do not share.
const BLOCK: usize = 4096;

/// Words from which on a second thread is worth it: a thread widens eight in a cycle.
fn worth() -> usize {
    8 * machine().thread
}

/// How the elements of a strip lie, and how their copy does.
pub(super) struct Copy {
    /// The first element in memory.
    from: isize,
    /// Extents and distances of the elements, innermost first.
    walks: [(usize, isize); MAX_AXES],
    count: usize,
    /// Words of the copy.
    pub(super) words: usize,
    /// The word of the copy where all indices are 0, and the words per step of each axis.
    pub(super) base: isize,
    pub(super) strides: [isize; MAX_AXES],
}

impl Copy {
    /// Plans the copy of a strip of an operand that lies within its slice.
    pub(super) fn new<T>(strip: &Strip, operand: &Operand<'_, T>) -> Copy {
        let mut copy =
            Copy { from: operand.base, walks: [(1, 1); MAX_AXES], count: 0, words: 1, base: 0, strides: [0; MAX_AXES] };
        if strip.axes.iter().any(|axis| axis.extent == 0) {
            // Nothing is read, wherever it would lie.
            return Copy { from: 0, words: 0, ..copy };
        }
        let mut moving = [(0isize, 0usize); MAX_AXES];
        let mut count = 0;
        for (number, &stride) in operand.strides.iter().enumerate() {
            let extent = strip.axes[number].extent;
            copy.from += strip.start[number].cast_signed() * stride;
            if stride != 0 && extent > 1 {
                copy.from += stride.min(0) * (extent - 1).cast_signed();
                moving[count] = (stride, number);
                count += 1;
            }
        }
        let moving = &mut moving[..count];
        moving.sort_unstable_by_key(|(stride, _)| core::cmp::Reverse(stride.unsigned_abs()));
        let of = |(stride, number): &(isize, usize)| (stride.unsigned_abs(), strip.axes[*number].extent);
        let span = moving.iter().map(of).map(|(stride, extent)| stride * (extent - 1)).sum::<usize>() + 1;
        let volume = moving.iter().map(of).fold(1usize, |volume, (_, extent)| volume.saturating_mul(extent));
        let whole = span <= volume;
        if whole {
            copy.add((span, 1));
        }
        for &mut (stride, number) in moving.iter_mut().rev() {
            let extent = strip.axes[number].extent;
            let step = if whole { stride.unsigned_abs() } else { copy.words }.cast_signed();
            copy.strides[number] = step * stride.signum();
            copy.base -= copy.strides[number].min(0) * (extent - 1).cast_signed();
            if !whole {
                copy.add((extent, stride.abs()));
            }
        }
        copy
    }

    /// Adds an outer walk, or merges it.
    fn add(&mut self, (extent, step): (usize, isize)) {
        self.words *= extent;
        if let Some((inner, pace)) = self.walks[..self.count].last_mut()
            && step == *pace * inner.cast_signed()
        {
            *inner *= extent;
            return;
        }
        self.walks[self.count] = (extent, step);
        self.count += 1;
    }

    /// Widens the elements on at most `threads` threads.
    ///
    /// # Safety
    /// The operand must be the one that the copy was planned for, all elements within its slice, and `to` must be valid for
    /// writing `words` words.
    pub(super) unsafe fn widen<W: Stream>(&self, isa: Set, threads: usize, data: &[W::Bits], to: *mut f32) {
        let task = Task::<W> { isa, copy: self, from: data.as_ptr().wrapping_offset(self.from), to };
        let threads = if self.words >= worth() { threads } else { 1 };
        pool::parallel(threads, self.words.div_ceil(BLOCK), &task);
    }
}

struct Task<'a, W: Stream> {
    isa: Set,
    copy: &'a Copy,
    from: *const W::Bits,
    to: *mut f32,
}

// SAFETY: the operand is only read, and each word of the copy is written by one thread.
unsafe impl<W: Stream> Sync for Task<'_, W> {}

impl<W: Stream> pool::Task for Task<'_, W> {
    fn work(&self, blocks: Range<usize>) {
        let words = blocks.start * BLOCK..self.copy.words.min(blocks.end * BLOCK);
        run(self.isa, Part { task: self, words });
    }
}

/// Some words of the copy.
struct Part<'a, W: Stream> {
    task: &'a Task<'a, W>,
    words: Range<usize>,
}

impl<W: Stream> Kernel for Part<'_, W> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Part { task, words } = self;
        let walks = &task.copy.walks[..task.copy.count];
        // The innermost walk is the first one.
        let (run, step) = walks.first().copied().unwrap_or((1, 1));
        // Runs that lie apart are no stream to a prefetcher.
        let ahead = walks.get(1).map_or(0, |(_, step)| AHEAD * step);
        let mut at = words.start;
        while at < words.end {
            let (mut line, mut skip) = (at / run, (at % run).cast_signed() * step);
            for &(extent, step) in walks.iter().skip(1) {
                skip += (line % extent).cast_signed() * step;
                line /= extent;
            }
            let count = (run - at % run).min(words.end - at);
            let (from, to) = (task.from.wrapping_offset(skip), task.to.wrapping_add(at));
            // SAFETY: only `Copy::widen` makes this: the elements from `from` on are those of a run of the operand, and the
            // copy has words for them.
            unsafe {
                match step {
                    1 => contiguous::<S, W>(s, from, count, to, ahead),
                    _ => apart::<S, W>(s, from, step, count, to),
                }
            }
            at += count;
        }
    }
}

/// Widens `count` elements that are neighbours, and asks for those that lie `ahead`.
///
/// # Safety
/// `from` must be valid for reading `count` elements, and `to` for writing as many words.
#[inline(always)]
unsafe fn contiguous<S: Simd, W: Stream>(s: S, from: *const W::Bits, count: usize, to: *mut f32, ahead: isize) {
    let mut at = 0;
    while at + S::LANES <= count {
        if ahead != 0 {
            s.prefetch(from.wrapping_add(at).wrapping_offset(ahead).cast());
        }
        // SAFETY: both sides have `count` elements by this function's contract, and the vector ends within them.
        unsafe { s.store_raw_f(to.wrapping_add(at), W::load(s, from.wrapping_add(at))) };
        at += S::LANES;
    }
    if at < count {
        let rest = count - at;
        // SAFETY: both sides have `count` elements by this function's contract, of which these are the last.
        unsafe {
            let last = W::load_first(s, from.wrapping_add(at), rest);
            s.store_masked_raw_f(to.wrapping_add(at), s.mask_first(rest), last);
        }
    }
}

/// Widens `count` elements that are `step` apart.
///
/// # Safety
/// `from` must be valid for reading from the first of the elements to the last, and `to` for writing as many words.
#[inline(always)]
unsafe fn apart<S: Simd, W: Stream>(s: S, from: *const W::Bits, step: isize, count: usize, to: *mut f32) {
    const { assert!(S::LANES <= MAX_LANES) };
    let mut near = MaybeUninit::<[W::Bits; MAX_LANES]>::uninit();
    let near = near.as_mut_ptr().cast::<W::Bits>();
    for at in (0..count).step_by(S::LANES) {
        let some = S::LANES.min(count - at);
        for lane in 0..some {
            // SAFETY: element `at + lane` is one of `count`, and `near` has room for a vector, as was asserted.
            unsafe { near.add(lane).write(*from.wrapping_offset((at + lane).cast_signed() * step)) };
        }
        // SAFETY: the first `some` elements of `near` are written, and `to` has a word for each.
        unsafe { s.store_masked_raw_f(to.wrapping_add(at), s.mask_first(some), W::load_first(s, near, some)) };
    }
}
