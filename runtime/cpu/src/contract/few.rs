//! Products of few rows with a small matrix of parameters that is kept in columns: a policy network's layer.
//!
//! In: rows that are contiguous along K, and the matrix, `[vector of columns][k][column]`. Out: sums. Always: each sum is the
//! one that [`super::dot`] makes, to the last bit: `LANES` partial sums that are added up in halves.

use crate::isa::Set;
use crate::kept::{Form, Packing, kept};
use crate::machine::machine;
use crate::vectors::MAX_LANES;
use crate::{Kernel, Simd, run};

/// Most words of a matrix that is kept: what a first-level cache holds beside other things, twice. Beyond that reading it once
/// is what takes the time, and it can be read as it lies.
fn most_words() -> usize {
    2 * machine().l1
}
/// Vectors of columns at a time.
pub(super) const VECTORS: usize = 4;

/// The columns in their kept form: `n` columns of `k` words, one every `pitch` words from `from` on.
pub(super) fn columns(
    isa: Set,
    lanes: usize,
    from: *const f32,
    (n, k, pitch): (usize, usize, isize),
) -> Option<*const f32> {
    if n * k > most_words() || n < lanes {
        return None;
    }
    let numbers = &[n.cast_signed(), k.cast_signed(), pitch, lanes.cast_signed()];
    let words = k * n.next_multiple_of(VECTORS * lanes);
    kept(from, Form { packing: Packing::Columns, words, numbers }, |to| run(isa, Turn { from, n, k, pitch, to }))
}

/// Packs the columns.
struct Turn {
    from: *const f32,
    n: usize,
    k: usize,
    pitch: isize,
    to: *mut f32,
}

impl Kernel for Turn {
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for column in 0..self.n {
            let from = self.from.wrapping_offset(column.cast_signed() * self.pitch);
            let to = self.to.wrapping_add(column / S::LANES * S::LANES * self.k + column % S::LANES);
            for k in 0..self.k {
                // SAFETY: `dot` has checked that the operand has `k` words of each of `n` columns, and the copy has room
                // for `k` words of so many columns as fill the last group of vectors.
                unsafe { to.wrapping_add(k * S::LANES).write(from.wrapping_add(k).read()) }
            }
        }
    }
}

/// Sums one row with the columns from vector `vector` on, as far as there are `VECTORS` of them, and writes them to `to`.
///
/// # Safety
/// `row` must be valid for reading `k` words, `columns` for reading the kept form of [`VECTORS`] vectors of columns of `k`
/// words, and `to` for writing [`VECTORS`] vectors.
#[inline(always)]
pub(super) unsafe fn sums<S: Simd>(s: S, row: *const f32, k: usize, columns: *const f32, to: *mut f32) {
    // The partial sums of lanes `first`, `first + 4`, … are added up first, those of 0 and 2 and those of 1 and 3 next. Each
    // quarter is code of its own, because sums stay in registers only where no loop chooses among them.
    // SAFETY: `row` has `k` words and `columns` the kept form of so many, by this function's contract.
    let (zero, two) = unsafe { (quarter(s, row, k, columns, 0), quarter(s, row, k, columns, 2)) };
    // SAFETY: `row` has `k` words and `columns` the kept form of so many, by this function's contract.
    let (one, three) = unsafe { (quarter(s, row, k, columns, 1), quarter(s, row, k, columns, 3)) };
    for vector in 0..VECTORS {
        let (even, odd) = (s.add_f(zero[vector], two[vector]), s.add_f(one[vector], three[vector]));
        // SAFETY: `to` has `VECTORS` vectors, by this function's contract.
        unsafe { s.store_raw_f(to.wrapping_add(vector * S::LANES), s.add_f(even, odd)) }
    }
}

/// Partial sums per quarter of a vector.
const PARTS: usize = MAX_LANES / 4;

/// The sums over `k = first, first + 4, …`.
///
/// # Safety
/// `row` must be valid for reading `k` words, and `columns` for reading the kept form of [`VECTORS`] vectors of columns of
/// `k` words.
#[inline(always)]
unsafe fn quarter<S: Simd>(s: S, row: *const f32, k: usize, columns: *const f32, first: usize) -> [S::F; VECTORS] {
    let parts = S::LANES / 4;
    let mut sums = [[s.splat_f(0.0); VECTORS]; PARTS];
    let mut at = first;
    while at + S::LANES - 4 < k {
        for (part, sums) in sums.iter_mut().enumerate().take(parts) {
            // SAFETY: `row` has `k` words and `columns` the kept form of so many, by this function's contract; the last
            // part is at `at + LANES - 4`, which is below `k`.
            unsafe { step(s, row, k, columns, at + 4 * part, sums) }
        }
        at += S::LANES;
    }
    for (part, sums) in sums.iter_mut().enumerate().take(parts) {
        if at + 4 * part < k {
            // SAFETY: `row` has `k` words and `columns` the kept form of so many, by this function's contract, and this
            // part is below `k`.
            unsafe { step(s, row, k, columns, at + 4 * part, sums) }
        }
    }
    let mut distance = parts / 2;
    while distance > 0 {
        let (half, others) = sums.split_at_mut(distance);
        for (sums, others) in half.iter_mut().zip(others) {
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = s.add_f(*sum, *other);
            }
        }
        distance /= 2;
    }
    sums[0]
}

/// Adds the products of index `at` of K.
///
/// # Safety
/// `row` must be valid for reading `k` words, and `columns` for reading the kept form of [`VECTORS`] vectors of columns of
/// `k` words; `at` must be below `k`.
#[inline(always)]
unsafe fn step<S: Simd>(s: S, row: *const f32, k: usize, columns: *const f32, at: usize, sums: &mut [S::F; VECTORS]) {
    // SAFETY: `at` is below `k`, `row` has `k` words, and `columns` has `k` vectors for each of `VECTORS` vectors of
    // columns, by this function's contract.
    unsafe {
        let left = s.splat_f(row.wrapping_add(at).read());
        for (vector, sum) in sums.iter_mut().enumerate() {
            let right = s.load_raw_f(columns.wrapping_add((vector * k + at) * S::LANES));
            *sum = s.mul_add_f(left, right, *sum);
        }
    }
}
