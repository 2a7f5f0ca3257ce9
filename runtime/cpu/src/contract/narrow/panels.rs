//! The parameter, in panels of sixteen columns.
//!
//! In: an operand. Out: its panels, `[panel][word of K][column]`, each word with neighbours along K, the first lowest; behind
//! them, of bytes, the scale of every column and what 128 more in every byte of a row adds to its sum. Always: a session keeps
//! them, a loop outside of a session keeps them for its turns, and otherwise they are made for the call; columns and words
//! that fill up panels are zeros.

use core::cell::Cell;

use super::{Depth, Precision, WIDTH, round};
use crate::contract::drive::CALL;
use crate::contract::layout::{Group, MAX_AXES, Place, Side};
use crate::contract::pack::{self, BLOCK, Panel, Source, TRANSPOSE};
use crate::contract::pack_once::Steady;
use crate::contract::{Axis, Operand, Role};
use crate::isa::Set;
use crate::kept::{Form, Packing, kept};
use crate::scratch::{LINE, Scratch, lend};
use crate::{Kernel, Simd, run};

thread_local! {
    /// Panels that nobody keeps.
    static ONCE: Cell<Scratch<Place>> = Cell::default();
}

/// The parameter of a product.
pub(super) struct Panels<'a> {
    pub(super) isa: Set,
    pub(super) precision: Precision,
    pub(super) axes: &'a [Axis],
    pub(super) operand: &'a Operand<'a>,
    /// Of the axes of columns.
    pub(super) role: Role,
    pub(super) columns: usize,
    pub(super) depth: Depth,
}

impl Panels<'_> {
    /// Lends the panels to `work`.
    pub(super) fn lend(&self, steady: Option<&mut Steady>, work: impl FnOnce(*const u32)) {
        let from = self.operand.data.as_ptr().wrapping_offset(self.operand.base);
        let packing = match self.precision {
            Precision::Bf16 => Packing::Bf16,
            Precision::Int8 => Packing::Int8,
        };
        let (numbers, count) = self.numbers();
        let form = Form { packing, words: self.words(), numbers: &numbers[..count] };
        if let Some(words) = kept(from, form, |to| self.pack(to)) {
            work(words.cast());
        } else if let Some(steady) = steady {
            work(steady.words(self.words(), |to| self.pack(to)).cast());
        } else {
            lend(&ONCE, |scratch| {
                let (to, _) = scratch.provide(self.words(), 0, Place::NOWHERE);
                self.pack(to);
                work(to.cast_const().cast());
            });
        }
    }

    /// Numbers that tell packed layouts apart.
    fn numbers(&self) -> ([isize; 2 * MAX_AXES + 2], usize) {
        let mut numbers = [0; 2 * MAX_AXES + 2];
        let mut count = 0;
        for role in [self.role, Role::K] {
            let of_role = self.axes.iter().zip(self.operand.strides).filter(|(axis, _)| axis.role == role);
            for (axis, &stride) in of_role.filter(|(axis, _)| axis.extent > 1) {
                numbers[count..count + 2].copy_from_slice(&[axis.extent.cast_signed(), stride]);
                count += 2;
            }
            numbers[count] = 0;
            count += 1;
        }
        (numbers, count)
    }

    /// Words of all panels.
    fn whole(&self) -> usize {
        self.columns.next_multiple_of(WIDTH) * self.depth.padded
    }

    /// Words of what is kept.
    fn words(&self) -> usize {
        self.whole()
            + match self.precision {
                Precision::Bf16 => 0,
                Precision::Int8 => 2 * self.columns.next_multiple_of(WIDTH),
            }
    }

    fn pack(&self, to: *mut f32) {
        let side = Side::new(self.axes, self.operand);
        let outer = Group::merged(self.axes, self.role, &[&side]);
        let k = Group::merged(self.axes, Role::K, &[&side]);
        lend(&CALL, |scratch| {
            let block = (BLOCK + 1) * WIDTH;
            let (temp, table) = scratch.provide(TRANSPOSE + block, BLOCK, Place::NOWHERE);
            let block = temp.wrapping_add(TRANSPOSE);
            run(
                self.isa,
                Pack { panels: self, source: Source::new(&side, &outer, &k), to: to.cast(), block, temp, table },
            );
        });
    }
}

/// Where the scales and the sums of columns are behind the panels of `columns` columns.
#[inline(always)]
pub(super) fn behind(panels: *const u32, columns: usize, depth: Depth) -> (*const f32, *const i32) {
    let whole = columns.next_multiple_of(WIDTH);
    let scales = panels.wrapping_add(whole * depth.padded);
    (scales.cast(), scales.wrapping_add(whole).cast())
}

struct Pack<'a> {
    panels: &'a Panels<'a>,
    source: Source<'a>,
    to: *mut u32,
    /// A block of a panel, and a line more.
    block: *mut f32,
    /// `TRANSPOSE` words.
    temp: *mut f32,
    table: &'a mut [Place],
}

impl Kernel for Pack<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, s: S) {
        let Panels { precision, columns, depth, .. } = *self.panels;
        let (scales, sums) = behind(self.to, columns, depth);
        for panel in 0..columns.div_ceil(WIDTH) {
            let to = self.to.wrapping_add(panel * WIDTH * depth.padded);
            let first = panel * WIDTH;
            // SAFETY: `to` has the words that `Panels::words` counts, which are a panel for every `WIDTH` columns, and
            // behind them, of bytes, two words for each column of the panels.
            unsafe {
                let to = core::slice::from_raw_parts_mut(to, WIDTH * depth.padded);
                to.fill(0);
                match precision {
                    Precision::Bf16 => self.halves(s, first, to),
                    Precision::Int8 => {
                        let (scale, sum) = self.bytes(s, first, to);
                        scales.wrapping_add(first).cast_mut().cast::<[f32; WIDTH]>().write(scale);
                        sums.wrapping_add(first).cast_mut().cast::<[i32; WIDTH]>().write(sum);
                    }
                }
            }
        }
    }
}

impl Pack<'_> {
    /// The columns from `first` on, as they are, in the block of K from `k0` on: `[k][column]`.
    #[inline(always)]
    fn block<S: Simd>(&mut self, s: S, first: usize, k0: usize) -> &[[f32; WIDTH]] {
        let Panels { columns, depth, .. } = *self.panels;
        let count = BLOCK.min(depth.k - k0);
        let table = &mut self.table[..count];
        self.source.table(k0, table);
        let width = WIDTH.min(columns - first);
        let (source, base) = (self.source, self.source.side.origin());
        let panel = Panel { source, base, first, width, pitch: WIDTH, k0, count, to: self.block };
        // SAFETY: the block has `BLOCK` rows of `WIDTH` words and a line more, and `count` is at most `BLOCK`; the buffer
        // has `TRANSPOSE` words, the table is that of the block of K, and `Side` has checked the reach of the operand.
        unsafe {
            if width < WIDTH {
                pack::zero(s, self.block, count * WIDTH);
            }
            pack::pack(s, &panel, table, self.temp);
            core::slice::from_raw_parts(self.block.cast_const().cast(), count)
        }
    }

    #[inline(always)]
    fn halves<S: Simd>(&mut self, s: S, first: usize, to: &mut [u32]) {
        for k0 in (0..self.panels.depth.k).step_by(BLOCK) {
            let to = &mut to[k0 / 2 * WIDTH..];
            for (k, row) in self.block(s, first, k0).iter().enumerate() {
                let (word, shift) = (k / 2, 16 * (k % 2));
                for (to, &x) in to[word * WIDTH..][..WIDTH].iter_mut().zip(row) {
                    *to |= round::bf16(x) << shift;
                }
            }
        }
    }

    /// The scales of the columns, and 128 times the sums of their integers.
    #[inline(always)]
    fn bytes<S: Simd>(&mut self, s: S, first: usize, to: &mut [u32]) -> ([f32; WIDTH], [i32; WIDTH]) {
        let k = self.panels.depth.k;
        let mut largest = [0; WIDTH];
        for k0 in (0..k).step_by(BLOCK) {
            for row in self.block(s, first, k0) {
                for (largest, &x) in largest.iter_mut().zip(row) {
                    *largest = round::magnitude(x).max(*largest);
                }
            }
        }
        let (mut scales, mut factors, mut sums) = ([0.0; WIDTH], [0.0; WIDTH], [0; WIDTH]);
        for (column, &largest) in largest.iter().enumerate() {
            (scales[column], factors[column]) = round::scale(largest);
        }
        for k0 in (0..k).step_by(BLOCK) {
            let to = &mut to[k0 / 4 * WIDTH..];
            for (k, row) in self.block(s, first, k0).iter().enumerate() {
                let (word, shift) = (k / 4, 8 * (k % 4));
                let to = &mut to[word * WIDTH..][..WIDTH];
                for column in 0..WIDTH {
                    let byte = round::byte(row[column], factors[column]);
                    to[column] |= byte << shift;
                    sums[column] += i32::from(byte as u8 as i8) * 128;
                }
            }
        }
        (scales, sums)
    }
}

const _: () = assert!(WIDTH == LINE && BLOCK.is_multiple_of(4));
