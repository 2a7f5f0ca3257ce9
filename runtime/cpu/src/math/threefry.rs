//! Random bits from a counter.
//!
//! In: a key of two words and a counter. Out: one word of uniformly random bits. Always: the same bits for the same key and
//! counter on every machine. Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror, Shaw: *Parallel random numbers: as easy as
//! 1, 2, 3*, 2011).

use crate::simd::MAX_LANES;
use crate::{Full, Kernel, Simd};

/// The parity constant of the key schedule.
const PARITY: u32 = 0x1bd1_1bda;

/// The first word of Threefry-2x32-20 of `(counter, 0)` under `(key0, key1)`.
#[inline(always)]
pub fn threefry<S: Simd>(s: S, key0: S::U, key1: S::U, counter: S::U) -> S::U {
    // Kernels are compiled in the user's crate. Without optimisation each of some hundred operations would have a place of its
    // own in the kernel's frame for each random number that it draws, until the frame is larger than the stack of a thread.
    // And where lanes are scalars, each sum with a loop's counter is an induction variable, among which LLVM's strength
    // reduction searched for seconds.
    if cfg!(debug_assertions) || S::SCALARS {
        let mut block = Block { keys: [[0; MAX_LANES]; 2], words: [0; MAX_LANES] };
        s.store_u(&mut block.keys[0], 0, Full, key0);
        s.store_u(&mut block.keys[1], 0, Full, key1);
        s.store_u(&mut block.words, 0, Full, counter);
        s.call(&mut block);
        s.load_u(&block.words, 0, Full)
    } else {
        words(s, [key0, key1], [counter, s.splat_u(0)])[0]
    }
}

/// The words of a vector, by way of memory: first the counters, then the random bits.
struct Block {
    keys: [[u32; MAX_LANES]; 2],
    words: [u32; MAX_LANES],
}

impl Kernel for &mut Block {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let keys = [s.load_u(&self.keys[0], 0, Full), s.load_u(&self.keys[1], 0, Full)];
        let counter = s.load_u(&self.words, 0, Full);
        s.store_u(&mut self.words, 0, Full, words(s, keys, [counter, s.splat_u(0)])[0]);
    }
}

/// Both words of Threefry-2x32-20 of a counter of two words, for kernels that are compiled here.
#[inline(always)]
pub(crate) fn words<S: Simd>(s: S, key: [S::U; 2], counter: [S::U; 2]) -> [S::U; 2] {
    let third = s.xor_u(s.xor_u(key[0], key[1]), s.splat_u(PARITY));
    let x = [s.add_u(counter[0], key[0]), s.add_u(counter[1], key[1])];
    let x = inject(s, first_rounds(s, x), key[1], third, 1);
    let x = inject(s, second_rounds(s, x), third, key[0], 2);
    let x = inject(s, first_rounds(s, x), key[0], key[1], 3);
    let x = inject(s, second_rounds(s, x), key[1], third, 4);
    inject(s, first_rounds(s, x), third, key[0], 5)
}

#[inline(always)]
fn first_rounds<S: Simd>(s: S, x: [S::U; 2]) -> [S::U; 2] {
    let x = round::<S, 13, 19>(s, x);
    let x = round::<S, 15, 17>(s, x);
    let x = round::<S, 26, 6>(s, x);
    round::<S, 6, 26>(s, x)
}

#[inline(always)]
fn second_rounds<S: Simd>(s: S, x: [S::U; 2]) -> [S::U; 2] {
    let x = round::<S, 17, 15>(s, x);
    let x = round::<S, 29, 3>(s, x);
    let x = round::<S, 16, 16>(s, x);
    round::<S, 24, 8>(s, x)
}

/// One round: add, rotate the second word left by `LEFT = 32 - RIGHT`, mix.
#[inline(always)]
fn round<S: Simd, const LEFT: u32, const RIGHT: u32>(s: S, [a, b]: [S::U; 2]) -> [S::U; 2] {
    let a = s.add_u(a, b);
    let rotated = s.or_u(s.shl_const_u::<LEFT>(b), s.shr_const_u::<RIGHT>(b));
    [a, s.xor_u(rotated, a)]
}

#[inline(always)]
fn inject<S: Simd>(s: S, [a, b]: [S::U; 2], key0: S::U, key1: S::U, step: u32) -> [S::U; 2] {
    [s.add_u(a, key0), s.add_u(s.add_u(b, key1), s.splat_u(step))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Family, Isa, run};

    struct Words<'a>([u32; 2], [u32; 2], &'a mut [u32]);

    impl Kernel for Words<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let key = [s.splat_u(self.0[0]), s.splat_u(self.0[1])];
            let counter = [s.splat_u(self.1[0]), s.splat_u(self.1[1])];
            let [a, b] = words(s, key, counter);
            s.store_u(self.2, 0, Full, a);
            s.store_u(self.2, 16, Full, b);
        }
    }

    /// The known answers that the authors publish with Random123 (`kat_vectors`).
    #[test]
    fn threefry_gives_the_published_words() {
        let answers = [
            ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
            ([!0, !0], [!0, !0], [0x1cb9_96fc, 0xbb00_2be7]),
            ([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3], [0xc492_3a9c, 0x483d_f7a0]),
        ];
        for isa in Isa::available() {
            for (key, counter, words) in answers {
                let mut out = [0; 32];
                run(isa, Words(key, counter, &mut out));
                assert_eq!([out[0], out[16]], words, "{isa:?}");
                let last = isa.set().lanes() - 1;
                assert_eq!([out[last], out[16 + last]], words, "{isa:?}");
            }
        }
    }
}
