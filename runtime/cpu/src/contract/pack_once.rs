//! Right operands that stay packed: a loop that makes a product with the same matrix in every turn packs it once.
//!
//! In: which products of a plan there are, by number, and when a loop starts. Out: the panels of each. Always: what is kept
//! is forgotten before a loop in which the operand is another one; a nested plan on the same thread keeps its own; nothing
//! is allocated after the first call at a size.

use core::cell::Cell;
use core::ops::Range;

use super::layout::Place;
use super::pack::{BLOCK, TRANSPOSE};
use super::plan::Plan;
use super::prepack;
use crate::isa::Set;
use crate::run;
use crate::scratch::{self, LINE, Scratch};

thread_local! {
    static STEADY: Cell<Vec<Steady>> = Cell::default();
}

/// What the loops of a plan keep.
#[derive(Default)]
pub struct Keeping(Vec<Steady>);

impl Keeping {
    /// Room for `count` operands.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let mut all = scratch::take(&STEADY);
        if all.len() < count {
            all.resize_with(count, Steady::default);
        }
        Keeping(all)
    }

    /// Forgets the operands of a loop that starts.
    pub fn forget(&mut self, numbers: Range<usize>) {
        self.0.iter_mut().take(numbers.end).skip(numbers.start).for_each(|kept| kept.full = false);
    }

    /// The operand of that number.
    pub fn at(&mut self, number: usize) -> Option<&mut Steady> {
        self.0.get_mut(number)
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        scratch::put(&STEADY, core::mem::take(&mut self.0));
    }
}

/// An operand that is packed when it is first needed.
#[derive(Default)]
pub struct Steady {
    scratch: Scratch<Place>,
    full: bool,
}

impl Steady {
    /// `count` words that `fill` fills.
    pub(super) fn words(&mut self, count: usize, fill: impl FnOnce(*mut f32)) -> *const f32 {
        let (memory, _) = self.scratch.provide(count, 0, Place::NOWHERE);
        if !self.full {
            fill(memory);
            self.full = true;
        }
        memory.cast_const()
    }

    /// The right operand in panels of `width` columns.
    pub(super) fn panels(&mut self, isa: Set, plan: &Plan<'_>, width: usize) -> *const f32 {
        let words = prepack::words(plan, width).next_multiple_of(LINE);
        let (memory, table) = self.scratch.provide(words + TRANSPOSE, BLOCK, Place::NOWHERE);
        if !self.full {
            run(isa, prepack::Whole { plan, width, to: memory, temp: memory.wrapping_add(words), table });
            self.full = true;
        }
        memory.cast_const()
    }
}
