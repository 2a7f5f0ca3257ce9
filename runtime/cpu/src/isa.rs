//! Which instruction set a kernel runs on.
//!
//! In: the machine. Out: a value of a [`Family`], such as an [`Isa`], which proves that the machine has the instructions. Always:
//! [`run`] enters one `#[target_feature]` frame, into which the whole kernel is inlined; a kernel is compiled for the sets of
//! the families that it is run on, and for no others.

use std::sync::OnceLock;

#[cfg(any(test, not(target_arch = "x86_64")))]
use super::Portable;
use super::Simd;
#[cfg(feature = "deterministic")]
use super::Twice;
use super::sealed::Sealed;
use super::vectors::MAX_LANES;
#[cfg(target_arch = "x86_64")]
use super::{Avx2, Avx512, Sse2};

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
    /// AVX2, F16C and FMA: 8 lanes.
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

/// Instruction sets whose results have the same bits: 16 lanes each, which do the same operations in the same order, none of
/// them fused.
#[cfg(feature = "deterministic")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Deterministic {
    /// Two vectors of AVX2.
    #[cfg(target_arch = "x86_64")]
    Avx2(Twice<Avx2, true>),
    /// Four vectors of SSE2.
    #[cfg(target_arch = "x86_64")]
    Sse2(Twice<Twice<Sse2, true>, true>),
    /// Two arrays of eight lanes.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    Portable(Twice<Portable, true>),
}

#[cfg(all(feature = "deterministic", target_arch = "x86_64"))]
impl Deterministic {
    /// That of every machine of the target.
    const EVERYWHERE: Deterministic = Deterministic::Sse2(Twice::strict(Twice::strict(Sse2)));
}

#[cfg(feature = "deterministic")]
impl From<Isa> for Deterministic {
    fn from(isa: Isa) -> Self {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(s) => Deterministic::Avx2(Twice::strict(s)),
            // These machines have AVX2 as well.
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) => Avx2::new().map_or(Deterministic::EVERYWHERE, |s| Deterministic::Avx2(Twice::strict(s))),
            #[cfg(target_arch = "x86_64")]
            Isa::Sse2(_) => Deterministic::EVERYWHERE,
            #[cfg(any(test, not(target_arch = "x86_64")))]
            Isa::Portable(s) => Deterministic::Portable(Twice::strict(s)),
        }
    }
}

/// What is done with an instruction set that is known when the program runs.
pub trait Visit {
    /// What it gives.
    type Out;

    /// Does it with the token of the set.
    fn visit<V: Simd>(self, token: V) -> Self::Out;
}

/// The instruction sets that kernels of a model are compiled for.
pub trait Family: Sealed + Copy + Send + Sync + 'static {
    /// Hands on the token of this one.
    fn visit<T: Visit>(self, visit: T) -> T::Out;

    /// The same set, as one of any family.
    fn set(self) -> Set;
}

/// An instruction set of any family: what is compiled once, for all models, runs on it.
#[derive(Clone, Copy, Debug)]
pub enum Set {
    /// The machine's own.
    Native(Isa),
    /// One of the same results everywhere.
    #[cfg(feature = "deterministic")]
    Deterministic(Deterministic),
}

impl Set {
    /// Lanes of a vector.
    pub(super) fn lanes(self) -> usize {
        self.register_tile().1
    }

    /// Rows of the register tile of products, and lanes of a vector.
    pub(super) fn register_tile(self) -> (usize, usize) {
        self.visit(RegisterTile)
    }

    /// Whether a mask may be a branch for each lane. Sets of the same results have to go the same ways, and say no.
    pub(super) fn has_scalars(self) -> bool {
        match self {
            Set::Native(isa) => isa.visit(Scalars),
            #[cfg(feature = "deterministic")]
            Set::Deterministic(_) => false,
        }
    }
}

struct Scalars;

impl Visit for Scalars {
    type Out = bool;

    #[inline(always)]
    fn visit<V: Simd>(self, _: V) -> bool {
        V::SCALARS
    }
}

struct RegisterTile;

impl Visit for RegisterTile {
    type Out = (usize, usize);

    #[inline(always)]
    fn visit<V: Simd>(self, _: V) -> (usize, usize) {
        const { assert!(V::LANES <= MAX_LANES && V::ROWS <= MAX_LANES) }
        (V::ROWS, V::LANES)
    }
}

impl Family for Isa {
    #[inline(always)]
    fn visit<T: Visit>(self, visit: T) -> T::Out {
        match self {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(s) => visit.visit(s),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(s) => visit.visit(s),
            #[cfg(target_arch = "x86_64")]
            Isa::Sse2(s) => visit.visit(s),
            #[cfg(any(test, not(target_arch = "x86_64")))]
            Isa::Portable(s) => visit.visit(s),
        }
    }

    #[inline]
    fn set(self) -> Set {
        Set::Native(self)
    }
}

#[cfg(feature = "deterministic")]
impl Family for Deterministic {
    #[inline(always)]
    fn visit<T: Visit>(self, visit: T) -> T::Out {
        match self {
            #[cfg(target_arch = "x86_64")]
            Deterministic::Avx2(s) => visit.visit(s),
            #[cfg(target_arch = "x86_64")]
            Deterministic::Sse2(s) => visit.visit(s),
            #[cfg(any(test, not(target_arch = "x86_64")))]
            Deterministic::Portable(s) => visit.visit(s),
        }
    }

    #[inline]
    fn set(self) -> Set {
        Set::Deterministic(self)
    }
}

impl Family for Set {
    #[inline(always)]
    fn visit<T: Visit>(self, visit: T) -> T::Out {
        match self {
            Set::Native(isa) => isa.visit(visit),
            #[cfg(feature = "deterministic")]
            Set::Deterministic(isa) => isa.visit(visit),
        }
    }

    #[inline]
    fn set(self) -> Set {
        self
    }
}

/// Runs `kernel` on `isa`.
#[inline]
pub fn run<I: Family, K: Kernel>(isa: I, kernel: K) {
    isa.visit(Enter(kernel));
}

/// Enters the frame of a set with a kernel.
struct Enter<K>(K);

impl<K: Kernel> Visit for Enter<K> {
    type Out = ();

    #[inline(always)]
    fn visit<V: Simd>(self, token: V) {
        token.enter(self.0);
    }
}

/// Asserts that the numbers of every set of deterministic models have the same bits, up to those of NaN.
#[cfg(all(test, feature = "deterministic"))]
#[track_caller]
pub(crate) fn assert_same_bits(numbers: impl Fn(Deterministic) -> Vec<f32>, what: &dyn core::fmt::Debug) {
    let word = |x: f32| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() };
    let bits = |isa: Isa| numbers(isa.into()).into_iter().map(word).collect::<Vec<_>>();
    let mut all = Isa::available().map(|isa| (isa, bits(isa)));
    let Some((_, first)) = all.next() else { unreachable!("there is a set everywhere") };
    for (isa, other) in all {
        for (at, (other, first)) in other.iter().zip(&first).enumerate() {
            let isa = Deterministic::from(isa);
            assert!(other == first, "{isa:?}: number {at} of {what:?} has the bits {other:x}, not {first:x}");
        }
    }
}
