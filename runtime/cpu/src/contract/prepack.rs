//! Whole operands, packed once.
//!
//! In: a plan one of whose operands is the same for all batch indices. Out: where its packed words are: those that the session
//! keeps if it is a parameter, otherwise nothing. Always: sums are the same with and without a copy, whether a job would pack
//! the operand for itself or read it in place.

use super::drive::Call;
use super::layout::{Group, MAX_AXES, Place, Side};
use super::left;
use super::pack::{self, BLOCK, Panels, Source, TRANSPOSE};
use super::plan::Plan;
use crate::isa::Set;
use crate::kept::{Form, Packing, kept};
use crate::scratch::{LINE, Scratch};
use crate::{Kernel, Simd, run};

/// Numbers that tell packed layouts apart.
struct Numbers {
    all: [isize; 4 * MAX_AXES + 5],
    count: usize,
}

impl Numbers {
    fn new(sizes: [usize; 3], side: &Side<'_>, groups: [&Group; 2]) -> Numbers {
        let mut numbers = Numbers { all: [0; 4 * MAX_AXES + 5], count: 0 };
        sizes.iter().for_each(|size| numbers.push(size.cast_signed()));
        for group in groups {
            numbers.push(group.count.cast_signed());
            for at in 0..group.count {
                numbers.push(group.extent[at].cast_signed());
                numbers.push(side.strides[group.number(at)]);
            }
        }
        numbers
    }

    fn push(&mut self, number: isize) {
        self.all[self.count] = number;
        self.count += 1;
    }

    fn as_slice(&self) -> &[isize] {
        &self.all[..self.count]
    }
}

/// The first element of an operand that may be kept: it is the same for all batch indices, and nothing of it is padding.
fn start(plan: &Plan<'_>, side: &Side<'_>) -> Option<*const f32> {
    let whole = side.bounded().is_empty() && side.ignores(plan.moving()) && plan.k.total > 0;
    whole.then(|| side.data.as_ptr().wrapping_offset(side.base))
}

/// The kept right operand: panels of `width` columns, all panels of a block of K after each other.
pub(super) fn right(
    isa: Set,
    plan: &Plan<'_>,
    width: usize,
    (temp, table): (*mut f32, &mut [Place]),
) -> Option<*const f32> {
    let from = start(plan, &plan.rhs)?;
    let numbers = Numbers::new([width, plan.run, plan.per_run], &plan.rhs, [&plan.n, &plan.k]);
    let form = Form { packing: Packing::Panels, words: words(plan, width), numbers: numbers.as_slice() };
    kept(from, form, |to| run(isa, Whole { plan, width, to, temp, table }))
}

/// Words of the whole right operand in panels of `width` columns.
pub(super) fn words(plan: &Plan<'_>, width: usize) -> usize {
    plan.k.total * plan.n.total.next_multiple_of(width) + LINE
}

/// Where panel number `panel` is in the kept right operand, for the block of `count` from `k0` on.
#[inline(always)]
pub(super) fn panel(plan: &Plan<'_>, width: usize, panel: usize, (k0, count): (usize, usize)) -> usize {
    k0 * plan.n.total.next_multiple_of(width) + panel * width * count
}

/// The kept left operand, in row tiles.
pub(super) fn left(call: &Call<'_>, plan: &Plan<'_>, tiles: usize) -> Option<*const f32> {
    let from = start(plan, &plan.lhs)?;
    let numbers = Numbers::new([tiles, plan.run, plan.per_run], &plan.lhs, [&plan.m, &plan.k]);
    let form = Form { packing: Packing::Tiles, words: left::words(plan), numbers: numbers.as_slice() };
    kept(from, form, |to| left::share(call, plan, tiles, to))
}

/// What packing needs for a moment.
pub(super) fn room(scratch: &mut Scratch<Place>) -> (*mut f32, &mut [Place]) {
    scratch.provide(TRANSPOSE, BLOCK, Place::NOWHERE)
}

/// Packs the whole right operand: the panels of a block of K after each other, and the blocks after each other.
pub(super) struct Whole<'a> {
    pub(super) plan: &'a Plan<'a>,
    pub(super) width: usize,
    /// As many words as [`words`] says.
    pub(super) to: *mut f32,
    /// `TRANSPOSE` words.
    pub(super) temp: *mut f32,
    /// As many places as a block has indices.
    pub(super) table: &'a mut [Place],
}

impl Kernel for Whole<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Whole { plan, width, to, temp, table } = self;
        let source = Source::new(&plan.rhs, &plan.n, &plan.k);
        for block in 0..plan.blocks() {
            let (k0, count) = plan.block(block);
            let table = &mut table[..count];
            source.table(k0, table);
            let to = to.wrapping_add(panel(plan, width, 0, (k0, count)));
            let panels = Panels { source, base: plan.rhs.origin(), columns: 0..plan.n.total, width, k0, to };
            // SAFETY: `to` has `width` words for each k of each panel, and a line more after the last block; `temp` has
            // `TRANSPOSE` words, and the table is that of this block, which has at most `BLOCK` indices.
            unsafe { pack::panels(s, &panels, table, temp) }
        }
    }
}
