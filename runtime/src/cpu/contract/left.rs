//! Where the register tile finds the left operand.
//!
//! In: a plan and a block of K. Out: the start of a row tile and how its rows lie. Always: a packed tile is `[k][row]`, tiles
//! follow each other within a block, and blocks follow each other.

use super::super::scratch::LINE;
use super::super::{Kernel, Simd};
use super::kernel::Rows;
use super::pack::{self, Panel, Source};
use super::place::{Place, Walk};
use super::plan::{Left, Plan};

/// The rows of a block of K.
#[derive(Clone, Copy)]
pub(super) struct Found {
    base: *const f32,
    /// Words per row of the preceding tiles.
    per_row: isize,
    /// The distances of rows and of k, unless packed.
    lies: Option<(isize, isize)>,
}

impl Found {
    /// The block of `count` from `k0` on, of the batch index at `left`, in place or in the shared copy.
    #[inline(always)]
    pub(super) fn new(plan: &Plan<'_>, left: Place, shared: *const f32, (k0, count): (usize, usize)) -> Self {
        let Left::InPlace { row, step } = plan.left else {
            return Found::packed(shared.wrapping_add(plan.m.total * k0), count);
        };
        let offset = left.offset + Walk::new(&plan.lhs, &plan.k, k0).place.offset;
        let base = plan.lhs.data.as_ptr().wrapping_offset(offset);
        Found { base, per_row: row, lies: Some((row, step)) }
    }

    /// A packed block of `count`.
    #[inline(always)]
    pub(super) fn packed(base: *const f32, count: usize) -> Self {
        Found { base, per_row: count.cast_signed(), lies: None }
    }

    /// Where the tile starts whose first row is `first`.
    #[inline(always)]
    pub(super) fn tile(&self, first: usize) -> *const f32 {
        self.base.wrapping_offset(first.cast_signed() * self.per_row)
    }

    /// How the rows of a tile of `rows` rows lie.
    #[inline(always)]
    pub(super) fn rows(&self, rows: usize) -> Rows {
        match self.lies {
            None => Rows::Near(rows.cast_signed()),
            Some((row, step)) if row == 1 || rows == 1 => Rows::Near(step),
            Some((row, _)) => Rows::Even(row),
        }
    }
}

/// Words of the packed left operand, and a line more.
pub(super) fn words(plan: &Plan<'_>) -> usize {
    (plan.m.total * plan.k.total + LINE).next_multiple_of(LINE)
}

/// Packs the whole left operand.
pub(super) struct Share<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) memory: *mut f32,
    /// The words that transposition needs.
    pub(super) temp: *mut f32,
    pub(super) table: &'a mut [Place],
    /// Row tiles.
    pub(super) tiles: usize,
}

impl Kernel for Share<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Share { plan, memory, temp, table, tiles } = self;
        let source = Source::new(&plan.lhs, &plan.m, &plan.k);
        let base = plan.lhs.origin();
        for block in 0..plan.blocks() {
            let (k0, count) = plan.block(block);
            let table = &mut table[..count];
            source.table(k0, table);
            for tile in 0..tiles {
                let first = plan.row(tiles, tile);
                let width = plan.row(tiles, tile + 1) - first;
                let to = memory.wrapping_add(plan.m.total * k0 + first * count);
                let panel = Panel { source, base, first, width, pitch: width, k0, count, to };
                // SAFETY: the memory has a word for each element and a line more.
                unsafe { pack::pack(s, &panel, table, temp) }
            }
        }
    }
}
