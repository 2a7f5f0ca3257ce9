//! Packed copies of the parameters of a session.
//!
//! In: a piece of the parameters, the form in which it is read, and what packs it. Out: the packed words, made once. Always: a
//! copy is asked for while [`Kept::lend`] runs, which borrows parameters and copies so that nobody can change or drop them; outside
//! of it, on the threads of the pool, and for everything that is no parameter there is none.

use core::cell::Cell;
use core::ops::Range;
use core::ptr;

use super::scratch::LINE;
use crate::Words;

/// Words of parameters from which on copies share memory: what a large page holds. Fewer would not fill one.
const MANY: usize = 1 << 19;
/// Most words that copies share in one piece of memory.
const SHARED: usize = 1 << 20;

/// The copies of one session.
#[derive(Debug, Default)]
pub struct Kept {
    /// The addresses of the parameters.
    parameters: Range<usize>,
    /// In the order of their keys.
    copies: Vec<Copied>,
    /// Where they lie, many of them in one piece, which large pages can hold.
    pieces: Vec<Piece>,
    /// Words of the last piece that are taken.
    taken: usize,
    /// Words of all copies.
    copied: usize,
    /// The copy that the call may ask for next: plans read parameters in their order.
    next: usize,
}

/// The layouts that parameters are copied to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Packing {
    /// Panels of columns of a right operand.
    Panels,
    /// Row tiles of a left operand.
    Tiles,
    /// A small matrix in vectors of columns.
    Columns,
    /// The state's matrix of a recurrent layer.
    Recurrence,
    /// Filters after Winograd's transform.
    Winograd,
    /// Panels of columns in bf16.
    Bf16,
    /// Panels of columns in int8, with their scales.
    Int8,
}

/// What tells the copies of one place apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Form<'a> {
    pub(super) packing: Packing,
    /// The length of the copy.
    pub(super) words: usize,
    /// Every number that the packed words depend on, beside the parameters.
    pub(super) numbers: &'a [isize],
}

#[derive(Debug)]
struct Copied {
    address: usize,
    packing: Packing,
    words: usize,
    numbers: Box<[isize]>,
    /// The piece, and the first word in it.
    place: (usize, usize),
}

impl Copied {
    fn form(&self) -> Form<'_> {
        Form { packing: self.packing, words: self.words, numbers: &self.numbers }
    }

    /// Whether it has this form, whose numbers are too few for a call that compares memory.
    #[inline(always)]
    fn has(&self, form: Form<'_>) -> bool {
        let differ = || self.numbers.iter().zip(form.numbers).fold(0, |differ, (a, b)| differ | (a ^ b));
        let alike = self.packing == form.packing && self.words == form.words;
        alike && self.numbers.len() == form.numbers.len() && differ() == 0
    }
}

/// Memory of copies, which is reached through one pointer only: a copy is written while others are read.
#[derive(Debug)]
struct Piece {
    start: *mut f32,
    words: usize,
    /// What owns it.
    _memory: Words,
}

// SAFETY: `_memory` owns the words and moves along with the pointer to them; nothing depends on a thread.
unsafe impl Send for Piece {}
// SAFETY: a shared piece lets nobody at its words: `kept` hands out pointers to them, for which it borrows all copies
// mutably, and what `pack` has written is only read.
unsafe impl Sync for Piece {}

impl Piece {
    /// `words` zeros. `None` if memory has run out.
    fn new(words: usize) -> Option<Piece> {
        let mut memory = Words::zeroed(words).ok()?;
        Some(Piece { start: memory.as_mut_slice().as_mut_ptr(), words, _memory: memory })
    }
}

thread_local! {
    /// The copies of the session whose call this thread runs.
    static CURRENT: Cell<*mut Kept> = const { Cell::new(ptr::null_mut()) };
}

/// Gives the copies of the call around this one back, also where the call panics.
struct Return(*mut Kept);

impl Drop for Return {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

impl Kept {
    /// Runs `call`, which finds the copies on this thread. `parameters` must hold the same numbers in every call.
    #[inline]
    pub fn lend<R>(&mut self, parameters: &[f32], call: impl FnOnce() -> R) -> R {
        let range = parameters.as_ptr_range();
        let range = range.start.addr()..range.end.addr();
        if self.parameters != range {
            self.copies.clear();
            self.pieces.clear();
            (self.taken, self.copied) = (0, 0);
            self.parameters = range;
        }
        self.next = 0;
        let _return = Return(CURRENT.replace(self));
        call()
    }

    /// The word at a place.
    fn at(&self, (piece, first): (usize, usize)) -> *mut f32 {
        self.pieces[piece].start.wrapping_add(first)
    }

    /// The place of a copy of `words` words. `None` if memory has run out.
    fn room(&mut self, words: usize) -> Option<(usize, usize)> {
        let mut first = self.taken.next_multiple_of(LINE);
        if self.pieces.last().is_none_or(|piece| piece.words < first + words) {
            let all = self.parameters.len() / size_of::<f32>();
            let others = if all < MANY { 0 } else { all.saturating_sub(self.copied).min(SHARED) };
            self.pieces.push(Piece::new(words.max(others))?);
            first = 0;
        }
        self.taken = first + words;
        self.copied += words;
        Some((self.pieces.len() - 1, first))
    }
}

/// The copy of the parameters from `from` on in the form `form`, which `pack` makes if there is none yet: as many words
/// as the form says. `None` if these are no parameters of a session, or memory has run out.
#[inline]
pub(super) fn kept(from: *const f32, form: Form<'_>, pack: impl FnOnce(*mut f32)) -> Option<*const f32> {
    let current = CURRENT.get();
    if current.is_null() {
        return None;
    }
    // SAFETY: what is current are the copies that a `lend` on this thread, which has not ended, borrows mutably:
    // `Return` takes them back where it ends. No other reference to them is made while this one lives: `pack` packs,
    // and calls neither a session nor this function.
    let current = unsafe { &mut *current };
    let address = from.addr();
    if !current.parameters.contains(&address) {
        return None;
    }
    let next = current.next;
    if let Some(copy) = current.copies.get(next)
        && copy.address == address
        && copy.has(form)
    {
        current.next += 1;
        return Some(current.at(copy.place));
    }
    match current.copies.binary_search_by(|copy| (copy.address, copy.form()).cmp(&(address, form))) {
        Ok(at) => {
            current.next = at + 1;
            Some(current.at(current.copies[at].place))
        }
        Err(at) => {
            let Form { packing, words, numbers } = form;
            let place = current.room(words)?;
            let start = current.at(place);
            pack(start);
            current.copies.insert(at, Copied { address, packing, words, numbers: numbers.into(), place });
            Some(start)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(words: usize, numbers: &[isize]) -> Form<'_> {
        Form { packing: Packing::Columns, words, numbers }
    }

    fn count(from: &[f32], numbers: &[isize], packed: &mut usize) -> Option<f32> {
        let copy = kept(from.as_ptr(), columns(1, numbers), |to| {
            *packed += 1;
            // SAFETY: `to` is a copy of one word, as the form says.
            unsafe { to.write(from[0] * 2.0) };
        });
        // SAFETY: the copy has one word, which is written, and lives as long as the call of `lend` around this one.
        copy.map(|copy| unsafe { copy.read() })
    }

    #[test]
    fn a_copy_is_made_once_for_each_place_and_form() {
        let parameters = [1.0, 2.0, 3.0];
        let (mut kept, mut packed) = (Kept::default(), 0);
        for _ in 0..2 {
            kept.lend(&parameters, || {
                assert_eq!(count(&parameters, &[1], &mut packed), Some(2.0));
                assert_eq!(count(&parameters[2..], &[1], &mut packed), Some(6.0));
                assert_eq!(count(&parameters, &[1, 2], &mut packed), Some(2.0));
            });
        }
        assert_eq!(packed, 3);
        assert_eq!(kept.copies.len(), 3);
    }

    #[test]
    fn copies_that_share_a_piece_do_not_meet() {
        let parameters = vec![0.0; MANY];
        let mut kept = Kept::default();
        kept.lend(&parameters, || {
            let sizes = [3, 40, 200, 7, 60];
            let starts = sizes.map(|words| {
                // SAFETY: `to` is a copy of `words` words, as the form says.
                let fill = |to: *mut f32| unsafe { (0..words).for_each(|at| to.add(at).write(words as f32)) };
                super::kept(parameters.as_ptr(), columns(words, &[]), fill).unwrap()
            });
            for (start, words) in starts.into_iter().zip(sizes) {
                assert_eq!(start.addr() % 64, 0);
                // SAFETY: the copy has these words, all written, and lives as long as the call of `lend` around this one.
                let copy = unsafe { core::slice::from_raw_parts(start, words) };
                assert!(copy.iter().all(|x| *x == words as f32), "{words}");
            }
        });
    }

    #[test]
    fn copies_of_other_packings_and_lengths_are_others() {
        let (parameters, mut kept, mut packed) = ([1.0], Kept::default(), 0);
        let forms = [
            (Packing::Tiles, 1, &[2, 3][..]),
            (Packing::Panels, 1, &[2, 3]),
            (Packing::Panels, 2, &[2, 3]),
            (Packing::Panels, 2, &[2]),
        ];
        for _ in 0..2 {
            kept.lend(&parameters, || {
                for (packing, words, numbers) in forms {
                    // Out of the order in which they were made, too.
                    for _ in 0..2 {
                        super::kept(parameters.as_ptr(), Form { packing, words, numbers }, |_| packed += 1).unwrap();
                    }
                }
            });
        }
        assert_eq!(packed, forms.len());
    }

    #[test]
    fn only_parameters_of_the_innermost_call_are_kept() {
        let (first, second, mut packed) = ([1.0], [2.0], 0);
        let (mut outer, mut inner) = (Kept::default(), Kept::default());
        assert_eq!(count(&first, &[], &mut packed), None);
        outer.lend(&first, || {
            inner.lend(&second, || {
                assert_eq!(count(&first, &[], &mut packed), None);
                assert_eq!(count(&second, &[], &mut packed), Some(4.0));
            });
            assert_eq!(count(&first, &[], &mut packed), Some(2.0));
        });
        assert_eq!(count(&first, &[], &mut packed), None);
    }

    #[test]
    fn a_call_that_panics_takes_its_copies_with_it() {
        let (parameters, mut packed) = ([1.0], 0);
        let mut kept = Kept::default();
        let call = std::panic::AssertUnwindSafe(|| kept.lend(&parameters, || panic!("as it should")));
        assert!(std::panic::catch_unwind(call).is_err());
        drop(kept);
        assert_eq!(count(&parameters, &[], &mut packed), None);
    }

    #[test]
    fn other_parameters_are_packed_anew() {
        let (first, second, mut packed) = ([1.0], [2.0], 0);
        let mut kept = Kept::default();
        kept.lend(&first, || {});
        kept.lend(&second, || {
            assert_eq!(count(&second, &[], &mut packed), Some(4.0));
            assert_eq!(count(&first, &[], &mut packed), None);
        });
    }
}
