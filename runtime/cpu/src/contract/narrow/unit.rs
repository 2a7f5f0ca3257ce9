//! What multiplies words.
//!
//! In: rows of words, and panels. Out: sums. Always: a unit is a value only where the machine has it; which one is taken depends
//! on the machine, the precision and the number of rows.

#[cfg(target_arch = "x86_64")]
use super::amx::Amx;
#[cfg(target_arch = "x86_64")]
use super::vnni::Vnni;
use super::{Depth, Precision, WIDTH, vectors, widened};
use crate::Simd;
use crate::contract::drive::Call;
use crate::isa::Set;

/// What multiplies words.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unit {
    /// The vectors of the instruction set, in f32.
    Vectors,
    /// The same, of panels of bf16 that are widened once.
    Widened,
    /// Instructions for words of bytes.
    #[cfg(target_arch = "x86_64")]
    Bytes(Vnni),
    /// A unit for tiles.
    #[cfg(target_arch = "x86_64")]
    Tiles(Amx),
}

/// Rows from which on tiles multiply bytes faster than vectors do.
#[cfg(target_arch = "x86_64")]
const FEW: usize = 3;

/// Rows from which on it pays to widen panels of bf16 once: those of more than one register tile. Vectors of eight lanes take as
/// long either way.
const MANY: usize = 13;

impl Unit {
    /// The best one for that many rows.
    pub(super) fn best(call: &Call<'_>, precision: Precision, rows: usize) -> Unit {
        let widens = precision == Precision::Bf16 && call.lanes == WIDTH && rows >= MANY;
        let plain = if widens { Unit::Widened } else { Unit::Vectors };
        native(call.isa, precision, rows).unwrap_or(plain)
    }

    /// All that there are.
    #[cfg(test)]
    pub(super) fn available(isa: Set, precision: Precision) -> impl Iterator<Item = Unit> {
        let widened = (precision == Precision::Bf16).then_some(Unit::Widened);
        let native = [1, usize::MAX].into_iter().filter_map(move |rows| native(isa, precision, rows));
        [Unit::Vectors].into_iter().chain(widened).chain(native)
    }

    /// How often the parameter is read for that many rows, or as much time as that takes.
    pub(super) fn passes(self, rows: usize) -> usize {
        match self {
            Unit::Vectors | Unit::Widened => rows,
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes(_) => rows.div_ceil(2),
            #[cfg(target_arch = "x86_64")]
            Unit::Tiles(_) => rows.div_ceil(8),
        }
    }

    /// Words of a rounded row: vectors read numbers instead of words that hold several.
    pub(super) fn row(self, precision: Precision, depth: Depth) -> usize {
        match self {
            Unit::Vectors | Unit::Widened => depth.words * precision.per_word(),
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes(_) | Unit::Tiles(_) => depth.padded,
        }
    }

    /// Sums a block: f32, or i32 if these are bytes.
    ///
    /// # Safety
    /// `block` must have rows as [`Unit::row`] says of this unit and precision, panels, and valid sums for all of them, and
    /// room for what is widened if the unit does so.
    #[inline(always)]
    pub(super) unsafe fn multiply<S: Simd>(self, s: S, precision: Precision, block: &Block) {
        // SAFETY: the units prove that the machine has them; `block` has the rows that this unit reads, panels, sums for
        // all of them, and room for what is widened, by this function's contract.
        unsafe {
            match self {
                Unit::Widened => widened::multiply(s, block),
                Unit::Vectors => vectors::multiply(s, precision, block),
                #[cfg(target_arch = "x86_64")]
                Unit::Bytes(vnni) => vnni.multiply(block),
                #[cfg(target_arch = "x86_64")]
                Unit::Tiles(amx) => amx.multiply(precision, block),
            }
        }
    }
}

/// The best one with instructions for words. There are some for words of two bf16 too, which are slower than to widen them.
#[cfg(target_arch = "x86_64")]
fn native(isa: Set, precision: Precision, rows: usize) -> Option<Unit> {
    let Set::Native(crate::Isa::Avx512(_)) = isa else { return None };
    let tiles = || Amx::new().map(Unit::Tiles);
    let bytes = || Vnni::new().filter(|_| precision == Precision::Int8).map(Unit::Bytes);
    if rows < FEW { bytes().or_else(tiles) } else { tiles().or_else(bytes) }
}

#[cfg(not(target_arch = "x86_64"))]
fn native(_: Set, _: Precision, _: usize) -> Option<Unit> {
    None
}

/// Rows and panels to multiply.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// `rows` rows as [`Unit::row`] says, `pitch` words apart.
    pub(super) a: *const u32,
    pub(super) pitch: usize,
    pub(super) rows: usize,
    /// `panels` panels of `depth.padded` · `WIDTH` words.
    pub(super) b: *const u32,
    pub(super) panels: usize,
    pub(super) depth: Depth,
    /// `rows` rows of `panels` · `WIDTH` words, `c_pitch` words apart.
    pub(super) c: *mut f32,
    pub(super) c_pitch: usize,
    /// [`widened::ROOM`] words that panels are widened to, if the unit does so.
    pub(super) wide: *mut f32,
}
