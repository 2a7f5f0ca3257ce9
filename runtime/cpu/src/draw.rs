//! Random numbers that the parameters of a model begin with.
//!
//! In: a key, a law, and the position of the first number. Out: the numbers of the positions from there on. Always: a number
//! depends on the key, the law and its position alone, and has the same bits on every instruction set and on any number of
//! threads: of floats there are but sums, products, quotients and roots, which IEEE 754 fixes to the last bit.

use crate::machine::machine;
use crate::math::threefry_words;
use crate::{Isa, Kernel, Simd, Split, parallel, run, sweep};
use core::f64::consts::{LN_2, SQRT_2, TAU};

/// How numbers are distributed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Uniform between the negative and the positive of this bound.
    Uniform(f64),
    /// Normal with mean 0 and this standard deviation.
    Normal(f64),
    /// Normal with mean 0 and this standard deviation, drawn again while further than two of them from 0.
    TruncNormal(f64),
}

/// How many times what it costs to wake a thread that waits it costs to start one: when parameters are drawn, none waits yet, as
/// a rule.
const START: usize = 256;

/// Draws the numbers of the positions from `first` on, rounded to f32, on at most `threads` threads.
pub fn draw(isa: Isa, threads: usize, key: [u32; 2], law: Law, first: u64, values: &mut [f32]) {
    let draw = Draw { key, law, first, values };
    let is_large = draw.work() / 16 >= START * machine().thread;
    parallel(isa, if is_large { threads } else { 1 }, draw);
}

/// Draws the numbers of the standard normal distribution of the positions from `first` on.
pub fn draw_standard(isa: Isa, key: [u32; 2], first: u64, values: &mut [f64]) {
    run(isa, Standard { key, first, values });
}

struct Draw<'a> {
    key: [u32; 2],
    law: Law,
    first: u64,
    values: &'a mut [f32],
}

impl Kernel for Draw<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Draw { key, law, first, values } = self;
        match law {
            Law::Uniform(bound) => sweep!(S, j, at, values.len(), {
                let [u, _] = uniform(s, key, counters(s, first + j as u64), 0);
                let signed = s.sub_d(s.mul_d(s.splat_d(2.0), u), s.splat_d(1.0));
                s.store_f(values, j, at, s.f_from_d(s.mul_d(signed, s.splat_d(bound))));
            }),
            Law::Normal(std) => sweep!(S, j, at, values.len(), {
                let z = standard(s, key, counters(s, first + j as u64), 0);
                s.store_f(values, j, at, s.f_from_d(s.mul_d(z, s.splat_d(std))));
            }),
            Law::TruncNormal(std) => sweep!(S, j, at, values.len(), {
                let z = truncated(s, key, counters(s, first + j as u64));
                s.store_f(values, j, at, s.f_from_d(s.mul_d(z, s.splat_d(std))));
            }),
        }
    }
}

impl Split for Draw<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn split(self, at: usize) -> (Self, Self) {
        let (values, rest) = self.values.split_at_mut(at);
        (Draw { values, ..self }, Draw { values: rest, first: self.first + at as u64, ..self })
    }

    fn work(&self) -> usize {
        // What a lane does for a number.
        let each = match self.law {
            Law::Uniform(_) => 45,
            Law::Normal(_) => 200,
            Law::TruncNormal(_) => 360,
        };
        self.values.len().saturating_mul(each)
    }
}

struct Standard<'a> {
    key: [u32; 2],
    first: u64,
    values: &'a mut [f64],
}

impl Kernel for Standard<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Standard { key, first, values } = self;
        sweep!(S, j, at, values.len(), {
            let z = standard(s, key, counters(s, first + j as u64), 0);
            s.store_d(values, j, at, z);
        });
    }
}

/// The low and the high words of the positions from `first` on.
#[inline(always)]
fn counters<S: Simd>(s: S, first: u64) -> [S::U; 2] {
    let (start, high) = (s.splat_u(first as u32), (first >> 32) as u32);
    let low = s.add_u(start, s.iota_u());
    let wraps = s.lt_u(low, start);
    [low, s.select_u(wraps, s.splat_u(high.wrapping_add(1)), s.splat_u(high))]
}

/// Two numbers in (0, 1) for each position and attempt. 2⁴⁸ positions and 2¹⁶ attempts are more than there are.
#[inline(always)]
fn uniform<S: Simd>(s: S, key: [u32; 2], [low, high]: [S::U; 2], attempt: u32) -> [S::D; 2] {
    let high = s.or_u(high, s.splat_u(attempt << 16));
    let [a, b] = threefry_words(s, [s.splat_u(key[0]), s.splat_u(key[1])], [low, high]);
    [between(s, a), between(s, b)]
}

/// The middle of what lies between a word and the next one, over 2³².
#[inline(always)]
fn between<S: Simd>(s: S, word: S::U) -> S::D {
    s.mul_d(s.add_d(s.d_from_u(word), s.splat_d(0.5)), s.splat_d(1.0 / 4_294_967_296.0))
}

/// Box and Muller's transform of the two uniform numbers.
#[inline(always)]
fn standard<S: Simd>(s: S, key: [u32; 2], counters: [S::U; 2], attempt: u32) -> S::D {
    let [u, v] = uniform(s, key, counters, attempt);
    let radius = s.sqrt_d(s.mul_d(s.splat_d(-2.0), ln(s, u)));
    s.mul_d(radius, cos_of_turns(s, v))
}

/// The first of all attempts that is within 2; 0 if none is.
#[inline(always)]
fn truncated<S: Simd>(s: S, key: [u32; 2], counters: [S::U; 2]) -> S::D {
    let mut z = standard(s, key, counters, 0);
    let mut attempt = 1;
    loop {
        let far = s.lt_d(s.splat_d(2.0), s.abs_d(z));
        if !s.any_m(far) {
            return z;
        }
        if attempt == 1 << 16 {
            return s.select_d(far, s.splat_d(0.0), z);
        }
        z = s.select_d(far, standard(s, key, counters, attempt), z);
        attempt += 1;
    }
}

/// The natural logarithm of positive normal numbers, within about 1e-15 of its size.
#[inline(always)]
fn ln<S: Simd>(s: S, x: S::D) -> S::D {
    // x = m · 2ᵉ with m in [1/√2, √2), and ln m = 2 · artanh((m − 1) / (m + 1)).
    let (bits, one) = (s.bits_d(x), s.splat_d(1.0));
    let exponent = s.d_from_i(s.sub_i(s.i_from_q(s.shr_const_q::<52>(bits)), s.splat_i(1023)));
    let mantissa = s.and_q(bits, s.splat_q(0x000f_ffff_ffff_ffff));
    let mantissa = s.d_of_bits(s.or_q(mantissa, s.splat_q(0x3ff0_0000_0000_0000)));
    let small = s.lt_d(mantissa, s.splat_d(SQRT_2));
    let exponent = s.select_d(small, exponent, s.add_d(exponent, one));
    let mantissa = s.select_d(small, mantissa, s.mul_d(mantissa, s.splat_d(0.5)));
    let t = s.div_d(s.sub_d(mantissa, one), s.add_d(mantissa, one));
    let square = s.mul_d(t, t);
    // |t| is below 0.172, so that the terms fall by 34 each.
    let mut series = s.splat_d(0.0);
    let mut k = 12;
    while k > 0 {
        k -= 1;
        series = s.add_d(s.mul_d(series, square), s.splat_d(1.0 / f64::from(2 * k + 1)));
    }
    s.add_d(s.mul_d(exponent, s.splat_d(LN_2)), s.mul_d(s.mul_d(s.splat_d(2.0), t), series))
}

/// The cosine of angles in whole turns, from 0 to 1.
#[inline(always)]
fn cos_of_turns<S: Simd>(s: S, turns: S::D) -> S::D {
    // In eighths of a turn the angle is at most π/4 away from a multiple of π/2.
    let quarter = s.floor_d(s.add_d(s.mul_d(turns, s.splat_d(4.0)), s.splat_d(0.5)));
    let angle = s.mul_d(s.sub_d(turns, s.mul_d(quarter, s.splat_d(0.25))), s.splat_d(TAU));
    let square = s.mul_d(angle, angle);
    let number = s.i_from_d(quarter);
    // The cosine of the angle in even quarters, its sine in odd ones, with the sign of a minus in the second and the third.
    let is_sine = has_bit(s, number, 1);
    let is_negative = has_bit(s, s.add_i(number, s.splat_i(1)), 2);
    let mut tail = s.splat_d(1.0);
    let mut k = 9;
    while k > 0 {
        let [cosine, sine] = [f64::from(2 * k * (2 * k - 1)), f64::from(2 * k * (2 * k + 1))];
        let by = s.select_d(is_sine, s.splat_d(sine), s.splat_d(cosine));
        let inverse = s.select_d(is_sine, s.splat_d(1.0 / sine), s.splat_d(1.0 / cosine));
        let term = quotient(s, s.mul_d(tail, square), by, inverse);
        tail = s.sub_d(s.splat_d(1.0), term);
        k -= 1;
    }
    let tail = s.select_d(is_sine, s.mul_d(angle, tail), tail);
    s.select_d(is_negative, s.neg_d(tail), tail)
}

/// Where an integer has a bit.
#[inline(always)]
fn has_bit<S: Simd>(s: S, x: S::I, bit: i32) -> S::M {
    s.eq_i(s.and_i(x, s.splat_i(bit)), s.splat_i(bit))
}

/// `a / b`, given the nearest number to `1 / b`: a product is within two units in the last place, what it leaves of `a` is
/// exact, and what that adds makes it the nearest number (Markstein, "Computation of elementary functions on the IBM RISC
/// System/6000 processor", 1990).
#[inline(always)]
fn quotient<S: Simd>(s: S, a: S::D, b: S::D, inverse: S::D) -> S::D {
    if !S::FUSED {
        return s.div_d(a, b);
    }
    let near = s.mul_d(a, inverse);
    let left = s.mul_add_d(s.neg_d(near), b, a);
    s.mul_add_d(left, inverse, near)
}

#[cfg(test)]
mod tests;
