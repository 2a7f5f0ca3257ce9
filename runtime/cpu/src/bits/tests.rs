//! Every conversion on every instruction set.
//!
//! In: all words of each format, and numbers: random ones, all of the format, what is half way between them, and the
//! neighbours of these. Out: whether the bits are those of scalar code in f64. Always: NaN is compared bit by bit too.

use super::*;
use crate::isa::Set;
use crate::{Isa, Kernel, Simd, Twice, run};

/// A format of floating-point numbers as its definition has it.
#[derive(Clone, Copy, Debug)]
struct Format {
    bits: u32,
    fraction: u32,
    bias: i32,
    /// The first word without a sign that is not a number.
    beyond: u32,
    infinities: bool,
    /// The f32 of a word that is NaN, without the sign.
    decoded_nan: fn(u32) -> u32,
    /// The word of an f32 that is NaN, without the sign.
    encoded_nan: fn(u32) -> u32,
}

const F16: Format = Format {
    bits: 16,
    fraction: 10,
    bias: 15,
    beyond: 0x7c00,
    infinities: true,
    decoded_nan: |word| 0x7fc0_0000 | word << 13,
    encoded_nan: |bits| 0x7e00 | (bits & 0x7f_ffff) >> 13,
};

const BF16: Format = Format {
    bits: 16,
    fraction: 7,
    bias: 127,
    beyond: 0x7f80,
    infinities: true,
    decoded_nan: |word| word << 16,
    encoded_nan: |bits| 0x7fc0 | (bits & 0x7f_ffff) >> 16,
};

const F8E4M3: Format = Format {
    bits: 8,
    fraction: 3,
    bias: 7,
    beyond: 0x7f,
    infinities: false,
    decoded_nan: |_| 0x7fc0_0000,
    encoded_nan: |_| 0x7f,
};

impl Format {
    /// The number of a word that is one, without a sign.
    fn number(self, word: u32) -> f64 {
        let (exponent, fraction) = ((word >> self.fraction).cast_signed(), word % (1 << self.fraction));
        let whole = if exponent == 0 { 0 } else { 1 << self.fraction };
        f64::from(whole + fraction) * 2f64.powi(exponent.max(1) - self.bias - self.fraction.cast_signed())
    }

    /// The bits of f32 that a word stands for.
    fn decode(self, word: u32) -> u32 {
        let (sign, size) = (word >> (self.bits - 1), word % (1 << (self.bits - 1)));
        let bits = match size {
            _ if size < self.beyond => {
                let number = self.number(size) as f32;
                assert_eq!(f64::from(number), self.number(size));
                number.to_bits()
            }
            _ if size == self.beyond && self.infinities => f32::INFINITY.to_bits(),
            _ => (self.decoded_nan)(size),
        };
        bits | sign << 31
    }

    /// All its numbers without a sign, ascending.
    fn numbers(self) -> Vec<f64> {
        (0..self.beyond).map(|word| self.number(word)).collect()
    }

    /// The word nearest to an f32, of which `numbers` are.
    fn encode(self, bits: u32, numbers: &[f64]) -> u32 {
        let x = f32::from_bits(bits & 0x7fff_ffff);
        let overflow = if self.infinities { self.beyond } else { self.beyond - 1 };
        let size = if x.is_nan() {
            (self.encoded_nan)(x.to_bits())
        } else if x.is_infinite() {
            overflow
        } else {
            let x = f64::from(x);
            let exponent = (x.to_bits() >> 52) as i32 - 1023;
            let last = 2f64.powi(exponent.max(1 - self.bias) - self.fraction.cast_signed());
            let nearest = (x / last).round_ties_even() * last;
            let place = numbers.binary_search_by(|number| number.total_cmp(&nearest));
            place.map_or_else(|place| if place == numbers.len() { overflow } else { panic!("{x}") }, |at| at as u32)
        };
        size | bits >> 31 << (self.bits - 1)
    }

    /// Bits of f32 at which rounding differs, with random ones.
    fn inputs(self) -> Vec<u32> {
        let numbers: Vec<f32> = self.numbers().into_iter().map(|x| x as f32).collect();
        let mut places = vec![0, 1, 0x7f_ffff, 0x80_0000, 0x7f7f_ffff, 0x7f80_0000, 0x7f80_0001, 0x7fbf_ffff];
        places.extend([
            0x7fc0_0000,
            0x7fff_ffff,
            0x7fa0_1fff,
            0x7fc1_2345,
            465f32.to_bits(),
            480f32.to_bits(),
            0x7f7f_7fff,
            0x7f7f_8000,
        ]);
        for (at, x) in numbers.iter().enumerate() {
            let next = numbers.get(at + 1).copied().unwrap_or_else(|| 2.0 * x - numbers[at - 1]);
            for middle in [*x, x * 0.5 + next * 0.5] {
                places.extend([middle.to_bits().saturating_sub(1), middle.to_bits(), middle.to_bits() + 1]);
            }
        }
        let mut state = 1u32;
        places.extend((0..300_001).map(|_| {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        }));
        // The exponents near 0, of which random bits have few.
        places.extend((0..300_001u32).map(|n| (90 << 23) + n.wrapping_mul(2_654_435_761) % (60 << 23)));
        places.iter().copied().chain(places.iter().map(|bits| bits ^ 1 << 31)).collect()
    }
}

/// Every set of this machine, of every family.
fn sets() -> Vec<Set> {
    let sets = Isa::available().map(Set::Native);
    #[cfg(feature = "deterministic")]
    let sets = sets.chain(Isa::available().map(|isa| Set::Deterministic(isa.into())));
    sets.collect()
}

/// A kernel that gives a word for each word, by vectors and by two of them at a time, and a test of what it gives.
macro_rules! conversion {
    ($kernel:ident, $check:ident: $s:ident $x:ident => $word:expr) => {
        struct $kernel<'a>(&'a [u32], &'a mut [u32], bool);

        impl $kernel<'_> {
            #[inline(always)]
            fn all<S: Simd>(self, $s: S) {
                crate::sweep!(S, j, at, self.0.len(), {
                    let $x = $s.load_u(self.0, j, at);
                    $s.store_u(self.1, j, at, $word);
                });
            }
        }

        impl Kernel for $kernel<'_> {
            #[inline(always)]
            fn run<S: Simd>(self, s: S) {
                if self.2 { self.all(Twice::new(s)) } else { self.all(s) }
            }
        }

        #[track_caller]
        fn $check(from: &[u32], want: &[u32]) {
            for (set, twice) in sets().into_iter().flat_map(|set| [(set, false), (set, true)]) {
                let mut got = vec![!0; from.len()];
                run(set, $kernel(from, &mut got, twice));
                for ((from, got), want) in from.iter().zip(got).zip(want) {
                    assert!(got == *want, "{set:?}, {twice}: {from:x} gives {got:x}, not {want:x}");
                }
            }
        }
    };
}

/// One module of tests for each format.
macro_rules! formats {
    ($($name:ident = $format:ident: $decode:ident $encode:ident $round:ident;)*) => {$(
        mod $name {
            use super::*;

            conversion! { Decode, decode: s x => s.bits_f($decode(s, x)) }
            conversion! { Encode, encode: s x => $encode(s, s.f_of_bits(x)) }
            conversion! { Round, round: s x => s.bits_f($round(s, s.f_of_bits(x))) }

            /// Whatever the upper bits are.
            #[test]
            fn every_word_is_a_number() {
                let words: Vec<u32> = (0..1 << $format.bits).collect();
                let want: Vec<u32> = words.iter().map(|word| $format.decode(*word)).collect();
                decode(&words, &want);
                let other: Vec<u32> = words.iter().map(|word| word | !word << $format.bits).collect();
                decode(&other, &want);
            }

            /// But for NaN, which becomes quiet.
            #[test]
            fn every_word_comes_back() {
                let words: Vec<u32> = (0..1 << $format.bits).collect();
                let numbers: Vec<u32> = words.iter().map(|word| $format.decode(*word)).collect();
                let numeric = |word: u32| word % (1 << ($format.bits - 1)) <= $format.beyond;
                let sign = |word: u32| word >> ($format.bits - 1) << ($format.bits - 1);
                let back = |(word, bits): (&u32, &u32)| match numeric(*word) {
                    true => *word,
                    false => ($format.encoded_nan)(*bits & MAGNITUDE) | sign(*word),
                };
                let want: Vec<u32> = words.iter().zip(&numbers).map(back).collect();
                encode(&numbers, &want);
                let want: Vec<u32> = want.into_iter().map(|word| $format.decode(word)).collect();
                round(&numbers, &want);
            }

            #[test]
            fn numbers_are_rounded_to_the_nearest() {
                let (inputs, numbers) = ($format.inputs(), $format.numbers());
                let want: Vec<u32> = inputs.iter().map(|bits| $format.encode(*bits, &numbers)).collect();
                encode(&inputs, &want);
                let want: Vec<u32> = want.into_iter().map(|word| $format.decode(word)).collect();
                round(&inputs, &want);
            }
        }
    )*};
}

formats! {
    halves = F16: f_from_f16 f16_from_f round_f16;
    brain_floats = BF16: f_from_bf16 bf16_from_f round_bf16;
    bytes = F8E4M3: f_from_f8e4m3 f8e4m3_from_f round_f8e4m3;
}

conversion! { Bytes, bytes_are: s x => s.u_from_i(i_from_i8(s, x)) }
conversion! { Halves, halves_are: s x => s.u_from_i(i_from_i16(s, x)) }

#[test]
fn integers_keep_their_sign() {
    let words: Vec<u32> = (0..1 << 16).map(|word| word | !word << 16).collect();
    let want: Vec<u32> = words.iter().map(|word| i32::from(*word as i8).cast_unsigned()).collect();
    bytes_are(&words, &want);
    let want: Vec<u32> = words.iter().map(|word| i32::from(*word as i16).cast_unsigned()).collect();
    halves_are(&words, &want);
}

/// What other programs give, so that the scalar code above is not believed alone.
#[test]
fn known_numbers() {
    let f16 = [(0x0001, 2f64.powi(-24)), (0x03ff, 1023.0 * 2f64.powi(-24)), (0x3c00, 1.0), (0x7bff, 65_504.0)];
    let bf16 = [(0x0001, 2f64.powi(-133)), (0x3f80, 1.0), (0x4049, 3.140_625)];
    let f8 = [(0x01, 2f64.powi(-9)), (0x08, 2f64.powi(-6)), (0x38, 1.0), (0x7e, 448.0)];
    for (format, known) in [(F16, &f16[..]), (BF16, &bf16), (F8E4M3, &f8)] {
        for (word, number) in known {
            assert_eq!(format.number(*word), *number);
        }
    }
    let rounded = |format: Format, x: f32| format.encode(x.to_bits(), &format.numbers());
    assert_eq!([65_519.0, 65_520.0, -1e30, 3e-8, 2e-8].map(|x| rounded(F16, x)), [0x7bff, 0x7c00, 0xfc00, 1, 0]);
    assert_eq!(
        [464.0, 464.1, -1e30, f32::INFINITY, f32::NAN].map(|x| rounded(F8E4M3, x)),
        [0x7e, 0x7e, 0xfe, 0x7e, 0x7f]
    );
    assert_eq!([f32::MAX, core::f32::consts::PI].map(|x| rounded(BF16, x)), [0x7f80, 0x4049]);
}
