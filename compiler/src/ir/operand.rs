//! How a GPU reads the operands of a contraction.
//!
//! In: a contraction and one of its operands. Out: where an element lies, which windows end the terms of a part and which have to
//! be looked at, and which four neighbours are one access of four words. Always: what is read so lies within the operand, as
//! buffers begin on multiples of four words.

use super::dim::Dim;
use super::index::{Atom, Index};
use super::kernel::{Kernel, Operand, Reach, Skeleton, innermost};
use super::neighbours::FOUR;
use super::tile::Way;
use super::ty::DType;
use super::workgroup::Sides;

/// An operand of a contraction as a GPU sees it.
#[derive(Clone, Copy)]
pub struct Reading<'k> {
    kernel: &'k Kernel,
    operands: [&'k Operand; 2],
    sides: &'k Sides,
    terms: &'k [usize],
    /// 0 for the one of the rows, 1 for the one of the columns.
    number: usize,
}

/// Which four elements invocations bring to shared memory at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// Neighbours along the side, at one term.
    Beside,
    /// Neighbours along the terms, at one place of the side.
    Along,
}

impl<'k> Reading<'k> {
    /// Those of a contraction: that of the rows and that of the columns.
    pub fn both(kernel: &'k Kernel, sides: &'k Sides) -> Option<[Reading<'k>; 2]> {
        let Skeleton::Contract { k, lhs, rhs, .. } = &kernel.skeleton else { return None };
        let operands = if sides.swapped { [rhs, lhs] } else { [lhs, rhs] };
        Some([0, 1].map(|number| Reading { kernel, operands, sides, terms: k, number }))
    }

    /// The operand.
    pub fn operand(&self) -> &'k Operand {
        self.operands[self.number]
    }

    /// The axes of its side.
    pub fn axes(&self) -> &'k [usize] {
        [&self.sides.rows, &self.sides.columns][self.number]
    }

    /// The address of an element, as far as no division is in it: what is not divided moves it by as much as the coordinate.
    pub fn address(&self) -> Index {
        let whole = self.operand().windows.iter().filter(|window| window.divisor == 1);
        whole.fold(self.operand().index.clone(), |sum, window| sum.plus(&window.index.times(&window.stride)))
    }

    /// The windows that are looked at for each element, with their numbers: not those that end the terms of a part.
    pub fn windows(&self) -> impl Iterator<Item = (usize, &'k Reach)> {
        let windows = self.operand().windows.iter().enumerate();
        windows.filter(|(_, window)| !self.ends_terms(window))
    }

    /// Whether a window does nothing but end the terms of a part: both operands have it, along the outermost axis of the terms.
    pub fn ends_terms(&self, window: &Reach) -> bool {
        let Some(&outermost) = self.terms.first() else { return false };
        let is_own = |(atom, stride): &(Atom, Dim)| match atom {
            Atom::Axis(axis) if *axis == outermost => stride.is(1),
            Atom::Axis(axis) => self.sides.batch.contains(axis),
            Atom::Loop(_) | Atom::Value(_) | Atom::Div(..) | Atom::Mod(..) => false,
        };
        let is_of_part = window.divisor == 1 && window.index.is_unsigned() && window.index.mentions(outermost);
        let index = &window.index;
        let is_in = |operand: &&Operand| operand.windows.iter().any(|o| o.index == *index && o.extent == window.extent);
        is_of_part && index.terms.iter().all(is_own) && self.operands.iter().all(is_in)
    }

    /// Whether the operand is contiguous along the summed axes and not along its own, or not as far.
    pub fn is_along_terms(&self) -> bool {
        self.operand().is_along_terms(&self.kernel.axes, self.terms, self.axes())
    }

    /// What is brought to shared memory at once.
    pub fn word(&self, way: Way) -> Word {
        match way {
            Way::Halves(_) if self.is_along_terms() && self.is_vector(Word::Along) => Word::Along,
            Way::Halves(_) | Way::Plain(_) => Word::Beside,
        }
    }

    /// Whether four neighbours, along the side or the terms, are one access of four words.
    pub fn is_vector(&self, word: Word) -> bool {
        let axes = match word {
            Word::Beside => self.axes(),
            Word::Along => self.terms,
        };
        let Some(last) = innermost(axes, &self.kernel.axes) else { return false };
        let is_cut = word == Word::Along && self.terms.first() == Some(&last);
        let ends = self.operand().windows.iter().filter(|window| self.ends_terms(window));
        let mut is_whole = ends.map(|window| !is_cut || self.is_cut_in_fours(window));
        let is_direct = self.windows().next().is_none() && is_whole.all(|is_whole| is_whole);
        is_direct && self.kernel.slots[self.operand().slot].dtype == DType::F32 && self.begins(last)
    }

    /// Whether a part of the terms begins and ends at multiples of four.
    fn is_cut_in_fours(&self, window: &Reach) -> bool {
        let own = |(atom, stride): &(Atom, Dim)| {
            stride.is(1) && matches!(atom, Atom::Axis(axis) if self.terms.contains(axis))
        };
        let begins = |term: &(Atom, Dim)| own(term) || term.1.is_multiple_of(FOUR);
        window.extent.is_multiple_of(FOUR)
            && window.index.base.is_multiple_of(FOUR)
            && window.index.terms.iter().all(begins)
    }

    /// Whether positions along an axis are beside each other, and each four begins at a multiple of four words.
    fn begins(&self, axis: usize) -> bool {
        let address = self.address();
        let begins = |(atom, stride): &(Atom, Dim)| match *atom == Atom::Axis(axis) {
            true => stride.is(1),
            false => stride.is_multiple_of(FOUR),
        };
        let is_beside = address.stride(axis).is_some_and(|stride| stride.is(1));
        let is_whole = self.kernel.axes[axis].is_multiple_of(FOUR);
        is_beside && is_whole && address.base.is_multiple_of(FOUR) && address.terms.iter().all(begins)
    }
}

/// Whether the operands in some slots are read in vectors of four words, where a contraction is made in this way; `None` if there are
/// no operands in these.
pub fn sees_fours(kernel: &Kernel, way: Way, is_of: &dyn Fn(usize) -> bool) -> Option<bool> {
    let sides = Sides::of(kernel)?;
    let both = Reading::both(kernel, &sides)?;
    let mut own = both.iter().filter(|reading| is_of(reading.operand().slot)).peekable();
    own.peek()?;
    Some(own.all(|reading| reading.is_vector(reading.word(way))))
}
