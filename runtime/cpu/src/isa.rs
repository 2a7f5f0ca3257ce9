//! Which instruction set a kernel runs on.
//!
//! In: the machine. Out: an [`Isa`], a value that proves that the machine has the instructions. Always: [`run`] enters one
//! `#[target_feature]` frame, into which the whole kernel is inlined.

use std::sync::OnceLock;

#[cfg(any(test, not(target_arch = "x86_64")))]
use super::Portable;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512, Sse2};
use super::{Simd, Vectors};

/// Code that is generic over the instruction set.
///
/// `run` and everything that it calls on vectors must be `#[inline(always)]`, so that it is compiled inside the frame.
/// Closures are not reliably inlined into a frame: use macros or methods.
pub trait Kernel {
    /// Does the work with the vectors of `S`.
    fn run<S: Simd>(self, s: S);
}

/// An instruction set that this machine has. Holding a value is the proof, so any value may be passed to [`run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// AVX-512 with the extensions F, BW, DQ and VL, and FMA: 16 lanes.
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    /// AVX2 and FMA: 8 lanes.
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    /// SSE2, which every x86-64 machine has: 4 lanes.
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    /// Arrays of 8 lanes that the compiler vectorises for the target's baseline.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    Portable(Portable),
}

impl Isa {
    /// The widest instruction set of this machine, found out once.
    #[inline]
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Isa::available().next().unwrap_or(Isa::EVERYWHERE))
    }

    /// The instruction set of every machine of the target.
    #[cfg(target_arch = "x86_64")]
    const EVERYWHERE: Isa = Isa::Sse2(Sse2);
    /// The instruction set of every machine of the target.
    #[cfg(not(target_arch = "x86_64"))]
    const EVERYWHERE: Isa = Isa::Portable(Portable);

    /// Lanes of a vector.
    pub(super) fn lanes(self) -> usize {
        self.register_tile().1
    }

    /// Rows of the register tile of products, and lanes of a vector.
    pub(super) fn register_tile(self) -> (usize, usize) {
        const fn size<S: Vectors>() -> (usize, usize) {
            (S::ROWS, S::LANES)
        }
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => size::<Avx512>(),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(_) => size::<Avx2>(),
            #[cfg(target_arch = "x86_64")]
            Isa::Sse2(_) => size::<Sse2>(),
            #[cfg(any(test, not(target_arch = "x86_64")))]
            Isa::Portable(_) => size::<Portable>(),
        }
    }

    /// Every instruction set of this machine, widest first. The tests of this crate run the portable one everywhere.
    pub fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let wider = [Avx512::new().map(Isa::Avx512), Avx2::new().map(Isa::Avx2)];
        #[cfg(not(target_arch = "x86_64"))]
        let wider: [Option<Self>; 0] = [];
        let all = wider.into_iter().flatten().chain([Isa::EVERYWHERE]);
        #[cfg(all(test, target_arch = "x86_64"))]
        let all = all.chain([Isa::Portable(Portable)]);
        all
    }
}

/// Runs `kernel` on `isa`.
#[inline]
pub fn run<K: Kernel>(isa: Isa, kernel: K) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512(s) => s.enter(kernel),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2(s) => s.enter(kernel),
        #[cfg(target_arch = "x86_64")]
        Isa::Sse2(s) => s.enter(kernel),
        #[cfg(any(test, not(target_arch = "x86_64")))]
        Isa::Portable(s) => s.enter(kernel),
    }
}
