//! Numbers are those of the scalar definition, to the last bit, on every instruction set.

use super::*;
use crate::Full;

/// Threefry-2x32-20.
fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], 0x1bd1_1bda ^ key[0] ^ key[1]];
    let [mut x, mut y] = [counter[0].wrapping_add(key[0]), counter[1].wrapping_add(key[1])];
    for group in 0..5 {
        for rotation in ROTATIONS[group % 2] {
            x = x.wrapping_add(y);
            y = y.rotate_left(rotation) ^ x;
        }
        x = x.wrapping_add(keys[(group + 1) % 3]);
        y = y.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [x, y]
}

fn scalar_ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    if mantissa >= SQRT_2 {
        mantissa *= 0.5;
        exponent += 1;
    }
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let square = t * t;
    let series = (0..12).rev().fold(0.0, |sum, k| sum * square + 1.0 / f64::from(2 * k + 1));
    f64::from(exponent) * LN_2 + 2.0 * t * series
}

fn scalar_cos(turns: f64) -> f64 {
    let quarter = (turns * 4.0 + 0.5).floor();
    let angle = (turns - quarter * 0.25) * TAU;
    let square = angle * angle;
    let cosine = (1..10).rev().fold(1.0, |tail, k| 1.0 - tail * square / f64::from(2 * k * (2 * k - 1)));
    let sine = angle * (1..10).rev().fold(1.0, |tail, k| 1.0 - tail * square / f64::from(2 * k * (2 * k + 1)));
    [cosine, -sine, -cosine, sine][quarter as usize % 4]
}

fn scalar_uniform(key: [u32; 2], position: u64, attempt: u32) -> [f64; 2] {
    let words = threefry(key, [position as u32, (position >> 32) as u32 | attempt << 16]);
    words.map(|word| (f64::from(word) + 0.5) / 4_294_967_296.0)
}

fn scalar_standard(key: [u32; 2], position: u64, attempt: u32) -> f64 {
    let [u, v] = scalar_uniform(key, position, attempt);
    (-2.0 * scalar_ln(u)).sqrt() * scalar_cos(v)
}

fn scalar(law: Law, key: [u32; 2], position: u64) -> f32 {
    let number = match law {
        Law::Uniform(bound) => (2.0 * scalar_uniform(key, position, 0)[0] - 1.0) * bound,
        Law::Normal(std) => scalar_standard(key, position, 0) * std,
        Law::TruncNormal(std) => {
            (0..1 << 16).map(|attempt| scalar_standard(key, position, attempt)).find(|z| z.abs() <= 2.0).unwrap_or(0.0)
                * std
        }
    };
    number as f32
}

const LAWS: [Law; 3] = [Law::Uniform(0.3), Law::Normal(0.02), Law::TruncNormal(1.7)];

#[test]
fn numbers_are_those_of_the_definition() {
    let key = [0x1234_5678, 0x9abc_def0];
    // Positions that go beyond 32 bits, too, on as many threads as there are and on one.
    for (first, len) in [(0, 5000), (7, 1), ((1 << 32) - 37, 100), (u64::from(u32::MAX) * 9, 33), (3, 300_000)] {
        let wanted = LAWS.map(|law| (0..len).map(|n| scalar(law, key, first + n).to_bits()).collect::<Vec<_>>());
        for (isa, threads) in Isa::available().flat_map(|isa| [(isa, 1), (isa, 3)]) {
            for (law, wanted) in LAWS.iter().zip(&wanted) {
                let mut values = vec![f32::NAN; len as usize];
                draw(isa, threads, key, *law, first, &mut values);
                let bits = values.iter().map(|value| value.to_bits());
                assert!(bits.eq(wanted.iter().copied()), "{isa:?}, {threads} threads, {law:?} from {first} on");
            }
        }
    }
    for isa in Isa::available() {
        let mut values = [f64::NAN; 1001];
        draw_standard(isa, key, 5, &mut values);
        assert!((5..).zip(values).all(|(n, z)| z.to_bits() == scalar_standard(key, n, 0).to_bits()), "{isa:?}");
    }
}

/// A vector of each function and of quotients.
struct Functions<'a>(&'a [[f64; 16]; 3], &'a mut [[f64; 16]; 3]);

impl Kernel for Functions<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let [x, turns, by] = self.0;
        let mut j = 0;
        while j < 16 {
            let x = s.load_d(x, j, Full);
            s.store_d(&mut self.1[0], j, Full, ln(s, x));
            s.store_d(&mut self.1[1], j, Full, cos_of_turns(s, s.load_d(turns, j, Full)));
            let by = s.load_d(by, j, Full);
            s.store_d(&mut self.1[2], j, Full, quotient(s, x, by, s.div_d(s.splat_d(1.0), by)));
            j += S::LANES;
        }
    }
}

#[test]
fn functions_are_those_of_their_names() {
    for isa in Isa::available() {
        let mut state = 1u64;
        for turn in 0..20_000u64 {
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 11) as f64 / (1u64 << 53) as f64
            };
            // Of each divisor of the series in turn.
            let k = 1 + turn % 9;
            let by = if turn % 2 == 0 { 2 * k * (2 * k - 1) } else { 2 * k * (2 * k + 1) };
            let scale = [1.0, 1e-9, 1e-17][turn as usize % 3];
            let given = [[(); 16].map(|()| random() * scale + 1e-30), [(); 16].map(|()| random()), [by as f64; 16]];
            let mut found = [[f64::NAN; 16]; 3];
            run(isa, Functions(&given, &mut found));
            for lane in 0..16 {
                let [x, turns, by] = given.map(|row| row[lane]);
                let [log, cos, quotient] = found.map(|row| row[lane]);
                assert_eq!(quotient, x / by, "{isa:?}: {x} / {by}");
                assert_eq!((log, cos), (scalar_ln(x), scalar_cos(turns)), "{isa:?}: {x}, {turns}");
                assert!((log - x.ln()).abs() <= 4e-16 * x.ln().abs().max(1.0), "ln {x}: {log}");
                assert!((cos - (TAU * turns).cos()).abs() <= 2e-15, "the cosine of {turns} turns: {cos}");
            }
        }
    }
}
