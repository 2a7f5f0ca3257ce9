//! The test of an elementary function: every 257th bit pattern of f32, or with `PRECAST_ULPS=1` all of them, on every
//! instruction set, against f64.
//!
//! In: a function and its error bound. Out: the largest errors, and a failed assertion where they are beyond the bound.

use crate::{Full, Isa, Kernel, Simd, run};

/// A function of one f32 and what it should be.
pub(super) trait Unary {
    fn eval<S: Simd>(s: S, x: S::F) -> S::F;
    fn exact(x: f64) -> f64;
}

/// Makes `Function`, the [`Unary`] of a vector function and a function on f64.
macro_rules! unary {
    ($function:path, $exact:expr) => {
        struct Function;
        impl check::Unary for Function {
            #[inline(always)]
            fn eval<S: Simd>(s: S, x: S::F) -> S::F {
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

struct Apply<'a, U>(&'a [f32; CHUNK], &'a mut [f32; CHUNK], core::marker::PhantomData<U>);

const CHUNK: usize = 4096;

impl<U: Unary> Kernel for Apply<'_, U> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for at in (0..CHUNK).step_by(S::LANES) {
            s.store_f(self.1, at, Full, U::eval(s, s.load_f(self.0, at, Full)));
        }
    }
}

/// The distance of `got` from `exact` in units in the last place of an f32 at `exact`.
pub(super) fn ulps(got: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if nearest.is_nan() || got.is_nan() || got == nearest {
        return if got == nearest && (got != 0.0 || got.is_sign_negative() == nearest.is_sign_negative())
            || nearest.is_nan() && got.is_nan()
        {
            0.0
        } else {
            f64::INFINITY
        };
    }
    let limit = 2f64.powi(128);
    let got = if got.is_infinite() { limit.copysign(f64::from(got)) } else { f64::from(got) };
    let exact = exact.clamp(-limit, limit);
    // The exponent of an f32 as good as `exact`, less the bits of its fraction, as the bits of a power of two.
    let exponent = (exact.to_bits() >> 52 & 0x7ff).clamp(1023 - 126, 1023 + 127) - 23;
    (got - exact).abs() / f64::from_bits(exponent << 52)
}

/// Whether multiply-adds round once.
fn fused(isa: Isa) -> bool {
    struct Fused<'a>(&'a mut bool);
    impl Kernel for Fused<'_> {
        fn run<S: Simd>(self, _: S) {
            *self.0 = S::FUSED;
        }
    }
    let mut fused = false;
    run(isa, Fused(&mut fused));
    fused
}

/// Asserts the bound.
pub(super) fn everywhere<U: Unary>(bound: f64) {
    everywhere_within::<U>([bound; 2]);
}

/// Asserts a bound with fused multiply-adds and one without, and prints the largest error of each instruction set.
pub(super) fn everywhere_within<U: Unary>(bounds: [f64; 2]) {
    let step = std::env::var("PRECAST_ULPS").map_or(257, |step| step.parse().unwrap());
    let mut worst = [(0.0, 0.0, 0.0, 0.0); 3];
    let mut patterns = (0..=u32::MAX).step_by(step).peekable();
    while patterns.peek().is_some() {
        let mut x = [1.0; CHUNK];
        for (x, bits) in x.iter_mut().zip(&mut patterns) {
            *x = f32::from_bits(bits);
        }
        let exact = x.map(|x| U::exact(f64::from(x)));
        #[cfg(feature = "deterministic")]
        {
            let values = |isa| {
                let mut y = [0.0; CHUNK];
                run(isa, Apply::<U>(&x, &mut y, core::marker::PhantomData));
                let error = exact.iter().zip(&y).map(|(exact, y)| ulps(*y, *exact)).fold(0.0, f64::max);
                assert!(error <= bounds[1], "the bound is {} ulp, not {error}", bounds[1]);
                y.to_vec()
            };
            crate::isa::assert_same_bits(values, &"an elementary function");
        }
        for (isa, worst) in Isa::available().zip(&mut worst) {
            let mut y = [0.0; CHUNK];
            run(isa, Apply::<U>(&x, &mut y, core::marker::PhantomData));
            for ((x, y), exact) in x.into_iter().zip(y).zip(exact) {
                let error = ulps(y, exact);
                if error > worst.0 {
                    *worst = (error, x, y, exact);
                }
            }
        }
    }
    for (isa, (error, x, y, exact)) in Isa::available().zip(worst) {
        println!("{isa:?}: f({x:e}) = {y:e}, not {exact:e}: {error:.3} ulp at most");
    }
    for (isa, worst) in Isa::available().zip(worst) {
        let bound = if fused(isa) { bounds[0] } else { bounds[1] };
        assert!(worst.0 <= bound, "{isa:?}: the bound is {bound} ulp");
    }
}
