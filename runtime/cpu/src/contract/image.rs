//! Where the image of a convolution is read: in place, or in a copy in which its windows are plain strides.
//!
//! In: an operand whose column axes are the rows of an image, one after the other. Out: its rows as one long row, where each
//! index of K starts in it, and the copying. Always: the elements of the long row are neighbours, and what lies outside of the
//! image is zero in a copy.

use core::ops::Range;

use super::layout::{Group, Side, Walk};
use super::long_row::LongRow;
use super::padded::{Padded, image};
use super::phases::Phases;
use super::{Axis, Role};
use crate::scratch::LINE;
use crate::{Kernel, Simd};

/// Where the image is read.
pub(super) enum Image<'a> {
    /// Where it lies.
    InPlace(Side<'a>),
    /// In a copy that is padded and dilated by the divisors of windows.
    Padded(Padded, Side<'a>),
    /// In a copy that is split into the phases of the strides of windows.
    Phases(Phases<'a>),
}

impl<'a> Image<'a> {
    /// Where to read an operand, and the rows of its N axes as one long row.
    pub(super) fn find(operand: &Side<'a>, axes: &[Axis]) -> Option<(Image<'a>, LongRow)> {
        if let Some(phases) = Phases::new(operand, axes) {
            let row = phases.row;
            return Some((Image::Phases(phases), row));
        }
        let (padded, side) = image(operand, axes)?;
        let n = Group::merged(axes, Role::N, &[&side]);
        let row = LongRow::new(&side, &n).filter(|_| n.count <= 2)?;
        match padded {
            Some(padded) => Some((Image::Padded(padded, side), row)),
            None => Some((Image::InPlace(side), row)),
        }
    }

    /// Whether it is read in a copy.
    pub(super) fn is_copied(&self) -> bool {
        !matches!(self, Image::InPlace(_))
    }

    /// Words of a copy, with so many beyond its end, which whole vectors read.
    pub(super) fn copy_words(&self, beyond: usize) -> usize {
        let words = match self {
            Image::InPlace(_) => return 0,
            Image::Padded(padded, _) => padded.words,
            Image::Phases(phases) => phases.words,
        };
        (words + beyond).next_multiple_of(LINE)
    }

    /// The parts that are copied one by one.
    pub(super) fn channels(&self) -> usize {
        match self {
            Image::InPlace(_) | Image::Padded(..) => 1,
            Image::Phases(phases) => phases.channels,
        }
    }

    /// Where the batch index at `base` of the operand starts: in place, or in its copy.
    #[inline(always)]
    pub(super) fn start(&self, operand: &Side<'_>, base: isize, copy: *const f32) -> *const f32 {
        match self {
            Image::InPlace(_) => operand.data.as_ptr().wrapping_offset(base),
            Image::Padded(_, side) => copy.wrapping_offset(side.base),
            Image::Phases(_) => copy,
        }
    }

    /// Lists where each index of K starts.
    ///
    /// # Safety
    /// `list` must be valid for writing an offset for each.
    pub(super) unsafe fn list(&self, axes: &[Axis], list: *mut isize) {
        let side = match self {
            Image::InPlace(side) | Image::Padded(_, side) => side,
            // SAFETY: the list has an offset for each index of K, by this function's contract.
            Image::Phases(phases) => return unsafe { phases.list(axes, list) },
        };
        let k = Group::merged(axes, Role::K, &[side]);
        let mut walk = Walk::new(side, &k, 0);
        for at in 0..k.total {
            // SAFETY: the list has an offset for each index of K, by this function's contract, and `at` is one of these.
            unsafe { list.add(at).write(walk.place.offset) };
            walk.advance(1);
        }
    }

    /// Makes zeros of some channels of a copy. They stay where elements do not exist, which is the same for all batch indices.
    ///
    /// # Safety
    /// `copy` must be valid for writing [`Image::copy_words`], and `channels` be some of the image's.
    pub(super) unsafe fn clear(&self, channels: Range<usize>, copy: *mut f32) {
        // SAFETY: `copy` has the words of the padded image or of its phases, by this function's contract.
        unsafe {
            match self {
                Image::InPlace(_) => {}
                Image::Padded(padded, _) => copy.write_bytes(0, padded.words),
                Image::Phases(phases) => phases.clear(channels, copy),
            }
        }
    }

    /// Copies some channels of the batch index at `base` of the operand, which have been cleared.
    ///
    /// # Safety
    /// `copy` must be valid for writing [`Image::copy_words`], `channels` must be some of the image's, and `base` the place
    /// of a batch index in `operand`, which this image was found for.
    #[inline(always)]
    pub(super) unsafe fn fill<S: Simd>(
        &self,
        s: S,
        operand: &Side<'_>,
        base: isize,
        channels: Range<usize>,
        copy: *mut f32,
    ) {
        s.call(Fill { image: self, operand, base, channels, copy });
    }
}

/// What [`Image::fill`] does.
struct Fill<'a> {
    image: &'a Image<'a>,
    operand: &'a Side<'a>,
    base: isize,
    channels: Range<usize>,
    copy: *mut f32,
}

impl Kernel for Fill<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Fill { image, operand, base, channels, copy } = self;
        // SAFETY: only `Image::fill` makes this: `copy` has the words of the padded image or of its phases, and more.
        unsafe {
            match image {
                Image::InPlace(_) => {}
                Image::Padded(padded, _) => padded.fill(s, operand, base, copy),
                Image::Phases(phases) => phases.fill(s, operand, base, channels, copy),
            }
        }
    }
}

/// An image as the right operand of a product.
#[derive(Clone, Copy)]
pub(super) struct Gathered<'a> {
    pub(super) image: &'a Image<'a>,
    /// Where each index of K starts. From there on the columns of all whole panels may be read: a copy has a panel of vectors
    /// beyond its last column, and the panels of an image in place end with it.
    pub(super) list: *const isize,
    /// The copy that serves all batch indices; otherwise a thread makes one for each.
    pub(super) copy: Option<*const f32>,
    /// Words beyond the end of a copy.
    pub(super) beyond: usize,
}

impl Gathered<'_> {
    /// Words that a thread needs for a copy of its own.
    pub(super) fn own_words(&self) -> usize {
        if self.copy.is_none() { self.image.copy_words(self.beyond) } else { 0 }
    }

    /// Whether vectors may go beyond its last column.
    pub(super) fn is_copied(&self) -> bool {
        self.image.is_copied()
    }

    /// Where the batch index at `base` of the operand starts, which is copied to `own` first if `fills`.
    ///
    /// # Safety
    /// If there are [`Gathered::own_words`], `own` must have them, and the copy of this batch index unless it is to be filled.
    /// `operand` must be the one that the image was found for.
    #[inline(always)]
    pub(super) unsafe fn start<S: Simd>(
        &self,
        s: S,
        operand: &Side<'_>,
        base: isize,
        own: *mut f32,
        fills: bool,
    ) -> *const f32 {
        if fills {
            let channels = 0..self.image.channels();
            // SAFETY: `own` has the words of a copy by this function's contract, and these are all channels.
            unsafe {
                self.image.clear(channels.clone(), own);
                self.image.fill(s, operand, base, channels, own);
            }
        }
        self.image.start(operand, base, self.copy.unwrap_or(own))
    }
}
