//! The numbers of a GPU kernel: workgroup sizes and tiles, from the schedule or, where that leaves them open, from the
//! extents.
//!
//! Comes in: a kernel. Goes out: a [`Grid`] or [`Tiles`]. Always holds: workgroups have at most 256 invocations and
//! 16 KiB of shared memory, WebGPU's smallest limits.

use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::{Kernel, Skeleton};

/// What a named dimension is taken to be where only a guess is needed.
const TYPICAL: i64 = 64;

/// Whether all integers in a text are such of WGSL: of 31 bits, or 32 behind a `u`.
pub(super) fn fit(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_' || *b == b'.');
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        while is_word(at) {
            at += 1;
        }
        let (digits, most) = match text[start..at].strip_suffix('u') {
            Some(digits) => (digits, u64::from(u32::MAX)),
            None => (text[start..at].trim_end_matches('i'), i32::MAX as u64),
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_number && digits.parse().is_ok_and(|number: u64| number > most) {
            return false;
        }
        at = at.max(start + 1);
    }
    true
}

/// Elements that are added up in one chain of f32. Its error, that of the 8 levels of a workgroup's tree, and that of totals
/// of chains with compensation stay below 16 half ulps together: 10⁻⁶.
pub(super) const BLOCK: i64 = 16;

/// Workgroups of 256 invocations that keep a large device busy.
const BUSY: i64 = 128;

/// How rows or elements are spread over invocations.
pub(super) struct Grid {
    /// Invocations of a workgroup, a power of two.
    pub(super) threads: u32,
    /// Rows or elements.
    pub(super) items: Dim,
    /// Positions of the reduced axes.
    pub(super) reduced: Dim,
    /// Whether a workgroup shares a row.
    pub(super) cooperative: bool,
    vector: Option<usize>,
}

impl Grid {
    pub(super) fn new(kernel: &Kernel, items: &[usize], reduced: &[usize], has_passes: bool) -> Grid {
        let extent = |axes: &[usize]| product(axes.iter().map(|&axis| &kernel.axes[axis]));
        let (rows, length) = (extent(items), extent(reduced));
        let (many, long) = (typical(&rows), typical(&length));
        // A row alone in an invocation is fine where it is short or where there are enough rows to fill a device.
        let shared = long >= 32 && many * 16 < long * 1024 || length.as_const().is_none() && many < 4096;
        let cooperative = has_passes && (kernel.schedule.cooperative || shared);
        // A few rows of unknown length leave a device idle otherwise, and may be very long.
        let few = length.as_const().is_none() && many < BUSY / 2;
        let threads = match (cooperative, many) {
            (true, _) if few => 256,
            (true, _) => (long / 2).clamp(32, 256) as u32,
            (false, ..4096) => 64,
            (false, _) => 256,
        };
        let threads = if threads.is_power_of_two() { threads } else { threads.next_power_of_two() / 2 };
        Grid { threads, items: rows, reduced: length, cooperative, vector: kernel.schedule.vector }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        match self.cooperative {
            true => self.items.clone(),
            false => self.items.ceil_div(self.threads.into()),
        }
    }

    /// Whether an invocation may have more elements of a row than it adds up in one chain.
    pub(super) fn is_long(&self) -> bool {
        let sharing = if self.cooperative { self.threads } else { 1 };
        self.reduced.as_const().is_none_or(|length| length > BLOCK * i64::from(sharing))
    }

    /// The parallel axes with that one last whose neighbours belong into neighbouring invocations.
    pub(super) fn order(&self, parallel: &[usize]) -> Vec<usize> {
        let mut order = parallel.to_vec();
        if let Some(at) = self.vector.and_then(|axis| parallel.iter().position(|&other| other == axis)) {
            let axis = order.remove(at);
            order.push(axis);
        }
        order
    }
}

/// Bytes of shared memory that every device has.
const SHARED: u32 = 16_384;

/// The tiles of a contraction. Rows and columns are those of the result as it lies in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tiles {
    /// Rows of a workgroup's tile.
    pub(super) rows: u32,
    /// Columns of a workgroup's tile.
    pub(super) columns: u32,
    /// Terms of the sum that are in shared memory at once, over all slices.
    pub(super) depth: u32,
    /// Rows and columns of an invocation's tile, multiples of four.
    pub(super) cell: [u32; 2],
    /// Parts of the sum that run beside each other in one workgroup.
    pub(super) slices: u32,
}

impl Tiles {
    /// Tiles for a result of `rows` × `columns` in `batch` copies, each a sum of `terms`.
    pub(super) fn new(kernel: &Kernel, batch: &Dim, rows: &Dim, columns: &Dim, terms: &Dim) -> Tiles {
        let [batch, rows, columns, terms] = [batch, rows, columns, terms].map(typical);
        let groups = |high: u32, wide: u32| {
            batch * (rows as u64).div_ceil(high.into()) as i64 * (columns as u64).div_ceil(wide.into()) as i64
        };
        let fit = |extent: i64| (extent.clamp(16, 128) as u32).next_power_of_two();
        let [mut high, mut wide] = match kernel.schedule.tile {
            Some([rows, columns, _]) => [rows, columns],
            None => [fit(rows), fit(columns)],
        };
        // Smaller tiles until a large device has something to do everywhere.
        while groups(high, wide) < BUSY && high.max(wide) > 16 {
            if high >= wide { high /= 2 } else { wide /= 2 }
        }
        Tiles::of(high, wide, terms, groups(high, wide))
    }

    fn of(rows: u32, columns: u32, terms: i64, groups: i64) -> Tiles {
        let cell = |extent: u32| if extent >= 128 { 8 } else { 4 };
        let cell = [cell(rows), cell(columns)];
        let threads = (rows / cell[0]) * (columns / cell[1]);
        let sliced = |slices: u32| {
            let mut depth = (4 * slices).max(16);
            while depth > 4 * slices && i64::from(depth / 2) >= terms {
                depth /= 2;
            }
            Tiles { rows, columns, depth, cell, slices }
        };
        // Where there are few invocations, others take parts of the sum, as far as they have memory.
        let mut tiles = sliced(256 / threads);
        let idle = |t: &Tiles| i64::from(16 * t.slices) > terms || groups * i64::from(t.threads()) > BUSY * 256;
        while tiles.slices > 1 && (idle(&tiles) || tiles.bytes() > SHARED) {
            tiles = sliced(tiles.slices / 2);
        }
        tiles
    }

    /// Invocations of one slice.
    pub(super) fn slice_threads(&self) -> u32 {
        (self.rows / self.cell[0]) * (self.columns / self.cell[1])
    }

    /// Invocations of a workgroup.
    pub(super) fn threads(&self) -> u32 {
        self.slice_threads() * self.slices
    }

    /// Bytes of shared memory.
    pub(super) fn bytes(&self) -> u32 {
        4 * (self.depth * (self.rows + self.columns) + self.slices / 2 * self.rows * self.columns)
    }
}

/// The axes of a contraction in the order of the result: `columns` vary fastest in memory.
pub(super) struct Sides<'a> {
    pub(super) batch: &'a [usize],
    pub(super) rows: &'a [usize],
    pub(super) columns: &'a [usize],
    /// Whether the rows are those of the right operand.
    pub(super) swapped: bool,
}

/// Which side of a contraction becomes the columns: the one along which the first store is contiguous.
pub(super) fn sides(kernel: &Kernel) -> Option<Sides<'_>> {
    let Skeleton::Contract { batch, m, n, stores, .. } = &kernel.skeleton else { return None };
    let contiguous = |axes: &[usize]| {
        let last = axes.iter().rev().find(|&&axis| !kernel.axes[axis].is(1));
        let index = stores.first().map(|store| &store.index);
        last.zip(index).and_then(|(&axis, index)| index.stride(axis)).is_some_and(|stride| stride.is(1))
    };
    let swapped = contiguous(m) && !contiguous(n);
    let (rows, columns) = if swapped { (n, m) } else { (m, n) };
    Some(Sides { batch, rows, columns, swapped })
}

fn typical(dim: &Dim) -> i64 {
    dim.eval(&|_| Some(TYPICAL)).unwrap_or(i64::MAX / 4096).clamp(1, i64::MAX / 4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_stay_within_the_smallest_limits() {
        for rows in [16, 32, 64, 128] {
            for columns in [16, 32, 64, 128] {
                for terms in [1, 9, 64, 1000, 100_000] {
                    let tiles = Tiles::of(rows, columns, terms, 1);
                    assert!(tiles.bytes() <= SHARED && tiles.threads() <= 256, "{tiles:?}");
                    assert!(tiles.depth.is_multiple_of(tiles.slices), "{tiles:?}");
                    assert!((tiles.depth / tiles.slices).is_multiple_of(4), "{tiles:?}");
                }
            }
        }
    }
}
