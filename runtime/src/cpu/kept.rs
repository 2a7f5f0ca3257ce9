//! Packed copies of the parameters of a session.
//!
//! In: a piece of the parameters, the form in which it is read, and what packs it. Out: the packed words, made once. Always: a
//! copy is asked for while [`Kept::enter`] lends out parameters that nobody can change as long as the copies live; outside of
//! such a call, on the threads of the pool, and for everything that is no parameter there is none.

use core::cell::Cell;
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr;

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::words::Words;

/// The copies of one session.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The addresses of the parameters.
    parameters: Range<usize>,
    /// In the order of their keys.
    copies: Vec<Copied>,
    /// The copy that the call may ask for next: plans read parameters in their order.
    next: usize,
}

#[derive(Debug)]
struct Copied {
    address: usize,
    form: Box<[isize]>,
    words: Words,
}

thread_local! {
    /// The copies of the session whose call this thread runs.
    static CURRENT: Cell<*mut Kept> = const { Cell::new(ptr::null_mut()) };
}

/// A call of a session. The copies of the call around it come back at its end.
pub(crate) struct Call<'k> {
    around: *mut Kept,
    kept: PhantomData<&'k mut Kept>,
}

impl Kept {
    /// Lends the copies to the calling thread. `parameters` must be the same, and hold the same numbers, in every call.
    #[inline]
    pub(crate) fn enter<'k>(&'k mut self, parameters: &'k [f32]) -> Call<'k> {
        let range = parameters.as_ptr_range();
        let range = range.start.addr()..range.end.addr();
        if self.parameters != range {
            self.copies.clear();
            self.parameters = range;
        }
        self.next = 0;
        Call { around: CURRENT.replace(self), kept: PhantomData }
    }
}

impl Drop for Call<'_> {
    #[inline]
    fn drop(&mut self) {
        CURRENT.set(self.around);
    }
}

/// The copy of the parameters from `from` on in the form `form`, which `pack` makes if there is none yet.
///
/// The form is every number that `pack` depends on. `None` if these are no parameters of a session, or memory has run out.
#[inline]
pub(super) fn kept(from: *const f32, form: &[isize], words: usize, pack: impl FnOnce(*mut f32)) -> Option<*const f32> {
    let current = CURRENT.get();
    if current.is_null() {
        return None;
    }
    // SAFETY: `Call` borrows the copies mutably for as long as they are current, they are current on one thread only, and no
    // other reference to them is made while this one lives: `pack` packs, and calls no session.
    let current = unsafe { &mut *current };
    let address = from.addr();
    if !current.parameters.contains(&address) {
        return None;
    }
    let next = current.next;
    if let Some(copy) = current.copies.get(next)
        && copy.address == address
        && same(&copy.form, form)
    {
        current.next += 1;
        return Some(copy.words.as_slice().as_ptr());
    }
    match current.copies.binary_search_by(|copy| (copy.address, &*copy.form).cmp(&(address, form))) {
        Ok(at) => {
            current.next = at + 1;
            Some(current.copies[at].words.as_slice().as_ptr())
        }
        Err(at) => {
            let mut copy = Words::zeroed(words).ok()?;
            pack(copy.as_mut_slice().as_mut_ptr());
            let start = copy.as_slice().as_ptr();
            current.copies.insert(at, Copied { address, form: form.into(), words: copy });
            Some(start)
        }
    }
}

/// Whether two forms are equal; they are too short for a call that compares memory.
#[inline(always)]
fn same(a: &[isize], b: &[isize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(from: &[f32], form: &[isize], packed: &mut usize) -> Option<f32> {
        let copy = kept(from.as_ptr(), form, 1, |to| {
            *packed += 1;
            // SAFETY: one word was asked for.
            unsafe { to.write(from[0] * 2.0) };
        });
        // SAFETY: the copy has one word and lives as long as the call.
        copy.map(|copy| unsafe { copy.read() })
    }

    #[test]
    fn a_copy_is_made_once_for_each_place_and_form() {
        let parameters = [1.0, 2.0, 3.0];
        let (mut kept, mut packed) = (Kept::default(), 0);
        for _ in 0..2 {
            let _call = kept.enter(&parameters);
            assert_eq!(count(&parameters, &[1], &mut packed), Some(2.0));
            assert_eq!(count(&parameters[2..], &[1], &mut packed), Some(6.0));
            assert_eq!(count(&parameters, &[1, 2], &mut packed), Some(2.0));
        }
        assert_eq!(packed, 3);
        assert_eq!(kept.copies.len(), 3);
    }

    #[test]
    fn only_parameters_of_the_innermost_call_are_kept() {
        let (first, second, mut packed) = ([1.0], [2.0], 0);
        let (mut outer, mut inner) = (Kept::default(), Kept::default());
        assert_eq!(count(&first, &[], &mut packed), None);
        let around = outer.enter(&first);
        {
            let _call = inner.enter(&second);
            assert_eq!(count(&first, &[], &mut packed), None);
            assert_eq!(count(&second, &[], &mut packed), Some(4.0));
        }
        assert_eq!(count(&first, &[], &mut packed), Some(2.0));
        drop(around);
        assert_eq!(count(&first, &[], &mut packed), None);
    }

    #[test]
    fn other_parameters_are_packed_anew() {
        let (first, second, mut packed) = ([1.0], [2.0], 0);
        let mut kept = Kept::default();
        drop(kept.enter(&first));
        let _call = kept.enter(&second);
        assert_eq!(count(&second, &[], &mut packed), Some(4.0));
        assert_eq!(count(&first, &[], &mut packed), None);
    }
}
