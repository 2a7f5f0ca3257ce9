//! The test of an elementary function of f64, on every instruction set, against the machine's library.
//!
//! In: a function, its error bound, and ranges. Out: the largest differences, and a failed assertion where they are beyond the
//! bound and what the library may be off.

use crate::{Full, Isa, Kernel, Simd, run};

/// What the library's functions may be off, in ULP.
const LIBRARY: f64 = 1.0;

/// A function of one f64 and what it should be.
pub(super) trait Unary {
    fn eval<S: Simd>(s: S, x: S::D) -> S::D;
    fn exact(x: f64) -> f64;
}

/// Makes `Function`, the [`Unary`] of a vector function and a function on f64.
macro_rules! unary {
    ($function:path, $exact:expr) => {
        struct Function;
        impl check::Unary for Function {
            #[inline(always)]
            fn eval<S: Simd>(s: S, x: S::D) -> S::D {
                $function(s, x)
            }
            fn exact(x: f64) -> f64 {
                let exact: fn(f64) -> f64 = $exact;
                exact(x)
            }
        }
    };
}
pub(super) use unary;

struct Apply<'a, U>(&'a [f64; CHUNK], &'a mut [f64; CHUNK], core::marker::PhantomData<U>);

const CHUNK: usize = 4096;

impl<U: Unary> Kernel for Apply<'_, U> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for at in (0..CHUNK).step_by(S::LANES) {
            s.store_d(self.1, at, Full, U::eval(s, s.load_d(self.0, at, Full)));
        }
    }
}

/// The distance of `got` from `want` in units in the last place of `want`.
pub(super) fn ulps(got: f64, want: f64) -> f64 {
    if got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan() {
        return 0.0;
    }
    if got.is_nan() || want.is_nan() || got == want || got.is_sign_negative() != want.is_sign_negative() {
        return f64::INFINITY;
    }
    // Neighbours of one sign have neighbouring bits, the largest number and infinity too.
    got.to_bits().abs_diff(want.to_bits()) as f64
}

/// The halves of the bits of numbers, as f32 that are not NaN.
#[cfg(feature = "deterministic")]
pub(super) fn halves(numbers: &[f64]) -> Vec<f32> {
    let bits = numbers.iter().map(|x| if x.is_nan() { 0 } else { x.to_bits() });
    bits.flat_map(|bits| [bits >> 48, bits >> 32 & 0xffff, bits >> 16 & 0xffff, bits & 0xffff])
        .map(|x| x as f32)
        .collect()
}

/// Numbers at which functions change, all magnitudes, and each range.
fn arguments(ranges: &[(f64, f64)]) -> Vec<f64> {
    let density = if std::env::var("PRECAST_ULPS").is_ok() { 16 } else { 1 };
    let special =
        [0.0, 1.0, 0.5, 5e-324, 1e-310, f64::MIN_POSITIVE, 1e-17, 710.0, 745.2, 1e300, f64::MAX, f64::INFINITY];
    let mut all: Vec<f64> = special.into_iter().flat_map(|x| [x, -x]).chain([f64::NAN]).collect();
    let count = (16 * CHUNK * density) as u64;
    all.extend((0..count).map(|n| f64::from_bits(n * (u64::MAX / count) + n * 12_345)));
    for (low, high) in ranges {
        all.extend((0..count).map(|n| low + (high - low) * (n as f64 + 0.3) / count as f64));
    }
    all.resize(all.len().next_multiple_of(CHUNK), 1.0);
    all
}

/// Asserts the bound, and prints the largest difference on each instruction set.
pub(super) fn everywhere<U: Unary>(bound: f64, ranges: &[(f64, f64)]) {
    let mut worst = [(0.0, 0.0, 0.0, 0.0); 4];
    for x in arguments(ranges).as_chunks::<CHUNK>().0 {
        let exact = x.map(U::exact);
        #[cfg(feature = "deterministic")]
        {
            let values = |isa| {
                let mut y = [0.0; CHUNK];
                run(isa, Apply::<U>(x, &mut y, core::marker::PhantomData));
                halves(&y)
            };
            crate::isa::assert_same_bits(values, &"an elementary function");
        }
        for (isa, worst) in Isa::available().zip(&mut worst) {
            let mut y = [0.0; CHUNK];
            run(isa, Apply::<U>(x, &mut y, core::marker::PhantomData));
            for ((x, y), exact) in x.iter().zip(y).zip(exact) {
                let error = ulps(y, exact);
                if error > worst.0 {
                    *worst = (error, *x, y, exact);
                }
            }
        }
    }
    for (isa, (error, x, y, exact)) in Isa::available().zip(worst) {
        println!("{isa:?}: f({x:e}) = {y:e}, not {exact:e}: {error:.3} ulp at most");
    }
    for (isa, worst) in Isa::available().zip(worst) {
        // Differences of rounded numbers are whole.
        assert!(worst.0 <= (bound + LIBRARY).ceil(), "{isa:?}: the bound is {bound} ulp");
    }
}
