//! Memory that a thread packs operands into.
//!
//! In: how many words are needed. Out: that many words, aligned to a cache line. Always: a thread allocates only when it needs
//! more than ever before, so a loop over the same work does not allocate.

use core::cell::Cell;
use std::thread::LocalKey;

/// A cache line of words.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "reached through a pointer only")] [f32; LINE]);

pub(super) const LINE: usize = 16;

/// A growing buffer of words and a growing buffer of `T`.
pub(super) struct Scratch<T> {
    lines: Vec<Line>,
    table: Vec<T>,
}

impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Scratch { lines: Vec::new(), table: Vec::new() }
    }
}

impl<T: Copy> Scratch<T> {
    /// `words` words, those that were there first, and a table of `rows` rows of `fill` or of what was there.
    pub(super) fn provide(&mut self, words: usize, rows: usize, fill: T) -> (*mut f32, &mut [T]) {
        let lines = words.div_ceil(LINE);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0.0; LINE]));
        }
        if self.table.len() < rows {
            self.table.resize(rows, fill);
        }
        (self.lines.as_mut_ptr().cast(), &mut self.table[..rows])
    }
}

/// Lends the scratch in `cell` to `work`. A nested loan gets an empty one.
pub(super) fn lend<T, R>(cell: &'static LocalKey<Cell<Scratch<T>>>, work: impl FnOnce(&mut Scratch<T>) -> R) -> R {
    let mut scratch = take(cell);
    let result = work(&mut scratch);
    put(cell, scratch);
    result
}

/// What the thread keeps in `cell`: nothing where the thread ends and a destructor of another thread-local value calls.
pub(super) fn take<T: Default>(cell: &'static LocalKey<Cell<T>>) -> T {
    cell.try_with(Cell::take).unwrap_or_default()
}

/// Keeps `value` for whoever comes next on this thread, if it does not end.
pub(super) fn put<T>(cell: &'static LocalKey<Cell<T>>, value: T) {
    let _ = cell.try_with(|kept| kept.set(value));
}
