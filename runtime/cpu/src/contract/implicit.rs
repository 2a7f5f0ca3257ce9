//! Convolutions and their gradients by input: the image is read where it lies, or in a padded copy.
//!
//! In: a contraction whose columns are the rows of an image, one after the other. Out: its outputs. Always: columns between
//! the rows of the image are computed too, as if the image were one long row, and dropped; nothing is packed for each window,
//! and a left operand that is contiguous along K is read where it lies, unless a session keeps it packed.

use core::ops::Range;

use super::drive::{CALL, Call};
use super::image::{Gathered, Image};
use super::kernel::PANEL;
use super::layout::{Group, Place};
use super::long_row::LongRow;
use super::pack::BLOCK;
use super::panels::cut::Cut;
use super::panels::{gathered, panels};
use super::plan::{Left, Plan, held_words};
use super::row_strips::row_strips;
use super::{Axis, Role, left, prepack};
use crate::machine::machine;
use crate::scratch::{LINE, lend};
use crate::{Kernel, Simd, pool, run};

/// Most indices of K, which are all listed: a list of two words for each in a sixteenth of a second-level cache.
fn longest_k() -> usize {
    machine().l2 / 16 / 2
}
/// Most words of an image that every thread copies for itself.
fn most_for_each() -> usize {
    machine().l3
}
/// Most words of an image that is copied once.
fn most_once() -> usize {
    4 * machine().l3
}

/// Does the work if it is of this kind.
pub(super) fn implicit(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) -> bool {
    let Some(setup) = Setup::new(call, plan, axes) else {
        return false;
    };
    let words = if setup.once { setup.image.copy_words(setup.beyond) } else { 0 };
    // Each strip would pack a left operand that is not read where it lies.
    if setup.left != Left::Packed && row_strips(call, plan, axes, words, strip) {
        return true;
    }
    let cut = Cut::gathered(call, plan, setup.row, setup.vectors);
    let mut plan = plan.gathered(setup.left);
    let kept = prepack::left(call, &plan, cut.tiles);
    let packs = kept.is_none() && plan.left == Left::Packed && plan.shares_left();
    if kept.is_some() {
        plan.left = Left::Packed;
    }
    let plan = &plan;
    let list = (2 * plan.k.total).next_multiple_of(LINE);
    let rows = if packs { left::words(plan) } else { 0 };
    lend(&CALL, |scratch| {
        let (memory, _) = scratch.provide(rows + list + words, 0, Place::NOWHERE);
        let (list, copy) = (memory.wrapping_add(rows).cast::<isize>(), memory.wrapping_add(rows + list));
        // SAFETY: the list has two words, an offset, for each index of K.
        unsafe { setup.image.list(axes, list) };
        if packs {
            left::share(call, plan, cut.tiles, memory);
        }
        if setup.once {
            pool::parallel(call.threads, setup.image.channels(), &Copies { call, plan, image: &setup.image, copy });
        }
        let copy = setup.once.then_some(copy.cast_const());
        let whole = if packs { memory.cast_const() } else { kept.unwrap_or(core::ptr::null()) };
        gathered(call, plan, whole, Gathered { image: &setup.image, list, copy, beyond: setup.beyond }, cut);
    });
    true
}

/// Computes a strip of the rows of an image.
fn strip(call: &Call<'_>, plan: &Plan<'_>, axes: &[Axis]) {
    if !implicit(call, plan, axes) {
        panels(call, plan, None);
    }
}

struct Setup<'a> {
    image: Image<'a>,
    row: LongRow,
    /// How the left operand is read, unless a session keeps it packed.
    left: Left,
    /// Vectors of a panel.
    vectors: usize,
    /// Whether one copy serves all batch indices.
    once: bool,
    /// Words beyond the end of a copy, of which whole panels are read.
    beyond: usize,
}

impl<'a> Setup<'a> {
    fn new(call: &Call<'_>, plan: &Plan<'a>, axes: &[Axis]) -> Option<Self> {
        let (image, row) = Image::find(&plan.rhs, axes)?;
        if let Image::InPlace(side) | Image::Padded(_, side) = &image {
            let n = Group::merged(axes, Role::N, &[side]);
            let k = Group::merged(axes, Role::K, &[&plan.lhs, side]);
            if n.count + k.count <= 2 {
                return None;
            }
        }
        let left = read_left(plan);
        let small = left != Left::Packed || plan.m.total * plan.k.total <= held_words();
        // Jobs pack rows that differ from one batch index to the next, a block of K at most.
        let longest = if plan.shares_left() || left != Left::Packed { longest_k() } else { BLOCK };
        if plan.k.total > longest || !small {
            return None;
        }
        let copied = image.is_copied();
        // Whole vectors are read, so what is not a copy must have one.
        let vectors = match row.length() / call.lanes {
            0 if !copied => return None,
            1 if !copied => 1,
            0..2 => row.length().div_ceil(call.lanes),
            2.. => PANEL,
        };
        let once = copied && plan.rhs.ignores(plan.moving());
        let beyond = PANEL * call.lanes;
        let fits = image.copy_words(beyond) <= if once { most_once() } else { most_for_each() };
        fits.then_some(Setup { image, row, left, vectors, once, beyond })
    }
}

/// In place if each row is contiguous along all of K.
fn read_left(plan: &Plan<'_>) -> Left {
    match plan.left {
        Left::InPlace { step: 1, .. } if plan.lhs.even_run(&plan.k).0 == plan.k.total => plan.left,
        Left::InPlace { .. } | Left::Packed => Left::Packed,
    }
}

/// Copies the one image of all batch indices.
struct Copies<'a> {
    call: &'a Call<'a>,
    plan: &'a Plan<'a>,
    image: &'a Image<'a>,
    copy: *mut f32,
}

// SAFETY: each channel has words of its own.
unsafe impl Sync for Copies<'_> {}

impl pool::Task for Copies<'_> {
    fn work(&self, channels: Range<usize>) {
        run(self.call.isa, CopyChannels { task: self, channels });
    }
}

struct CopyChannels<'a> {
    task: &'a Copies<'a>,
    channels: Range<usize>,
}

impl Kernel for CopyChannels<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Copies { plan, image, copy, .. } = *self.task;
        // SAFETY: `implicit` has provided `copy_words` for the one copy, and counts the jobs by its channels.
        unsafe {
            image.clear(self.channels.clone(), copy);
            image.fill(s, &plan.rhs, plan.rhs.base, self.channels, copy);
        }
    }
}
