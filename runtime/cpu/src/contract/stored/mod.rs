//! Contractions one of whose operands is stored in fewer bits: parameters that are nowhere in memory as f32.
//!
//! In: axes with roles, an operand of f32 and one of elements that f32 holds all of, an epilogue. Out: for every point of the
//! Batch, M and N axes the sum over the K axes of left times right. Always: a stored element is multiplied as the f32 that it
//! is, so nothing is rounded that a contraction of f32 would not round; no copy outlives the call; results do not depend on the
//! number of threads.
//!
//! Where few rows meet a stored operand that is contiguous along K, it streams past them from where it lies ([`dot`]): such a
//! product takes the time in which memory is read. Any other one is cut into strips, which are widened one after the other and
//! computed as contractions of f32 are ([`strips`]).

mod copy;
mod cut;
mod strips;
#[cfg(test)]
pub(super) mod tests;

use super::drive::{self, Algorithm, Call};
use super::encoding::Stream;
use super::epilogue;
use super::{Axis, Epilogue, Factor, Operand, Output, check_extents, dot};
use crate::Family;
use crate::sealed::Sealed;

/// How elements are stored. Every number of an encoding is one of f32.
pub trait Encoding: Sealed + Copy + core::fmt::Debug + 'static {
    /// An element in memory.
    type Bits: Copy + core::fmt::Debug + Send + Sync + 'static;
    /// What computes contractions of such elements.
    #[doc(hidden)]
    const DRIVER: Driver<Self>;
}

/// Encodings, and for each a driver that is generic over nothing, so that this crate compiles it and no other one has to.
macro_rules! encodings {
    ($($(#[$doc:meta])* $encoding:ident: $bits:ty, $driver:ident;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $encoding;

        impl Encoding for $encoding {
            type Bits = $bits;
            const DRIVER: Driver<$encoding> = Driver($driver);
        }

        fn $driver(
            call: &Call<'_>,
            algorithms: &[Algorithm],
            contract: &Stored<'_, $encoding>,
            outputs: &mut [Output<'_>],
        ) {
            drive(call, algorithms, contract, outputs);
        }
    )* };
}

encodings! {
    /// The upper half of an f32.
    Bf16: u16, drive_bf16;
    /// 5 bits of exponent and 10 of fraction, as IEEE 754 has them.
    F16: u16, drive_f16;
    /// Two's complement, 8 bits; what numbers they stand for is up to the caller, who scales the sums.
    I8: u8, drive_i8;
}

/// What computes contractions of an encoding.
#[derive(Clone, Copy)]
pub struct Driver<W: Encoding>(fn(&Call<'_>, &[Algorithm], &Stored<'_, W>, &mut [Output<'_>]));

/// A sum of products over axes. At most 16 axes.
#[derive(Clone, Copy, Debug)]
pub struct Stored<'a, W: Encoding> {
    /// The axes, outer before inner within each role.
    pub axes: &'a [Axis],
    /// Which operand is the stored one.
    pub parameter: Factor,
    /// The other one.
    pub data: Operand<'a>,
    /// The stored one, which has no windows.
    pub stored: Operand<'a, W::Bits>,
}

/// Computes `contract` on at most `threads` threads and hands each tile of sums to `epilogue`. Where few rows meet the stored
/// operand this is one way; elsewhere strips of it are computed by the first of `algorithms` that suits, as [`super::contract`]
/// says.
///
/// # Panics
/// If an operand or output reaches outside its slice, outputs overlap themselves, the stored operand has windows, or there are
/// more multiplications than can be counted, which the compiler has excluded.
pub fn contract_stored<I: Family, W: Encoding, E: Epilogue>(
    isa: I,
    threads: usize,
    algorithms: &[Algorithm],
    contract: &Stored<'_, W>,
    outputs: &mut [Output<'_>],
    epilogue: &E,
) {
    check_extents(contract.axes);
    let finish = epilogue::Finish(isa, epilogue);
    let call = drive::call(isa.set(), threads, if E::PLAIN { None } else { Some(&finish) });
    (W::DRIVER.0)(&call, algorithms, contract, outputs);
}

/// Computes the contraction in the way that suits it.
fn drive<W: Encoding + Stream<Bits = <W as Encoding>::Bits>>(
    call: &Call<'_>,
    algorithms: &[Algorithm],
    contract: &Stored<'_, W>,
    outputs: &mut [Output<'_>],
) {
    let Stored { axes, parameter, data, stored } = contract;
    assert!(stored.windows.is_empty(), "contract: a stored operand has windows");
    let shape = outputs.first().and_then(|output| match parameter {
        Factor::Left => dot::merged(axes, stored, data, output),
        Factor::Right => dot::merged(axes, data, stored, output),
    });
    let transposed = *parameter == Factor::Left;
    if !shape.is_some_and(|shape| dot::stored::<W>(call, (data, stored), transposed, outputs, &shape)) {
        strips::strips(call, algorithms, contract, outputs, strips::words(contract));
    }
}
