//! The test of an elementary function: every 257th bit pattern of f32 on every instruction set, against f64.
//!
//! In: a function and its error bound. Out: a failed assertion at the first value beyond the bound.

use crate::cpu::{Full, Isa, Kernel, Simd, run};

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
    let exponent = exact.abs().log2().floor().clamp(-126.0, 127.0) as i32;
    (got - exact).abs() / 2f64.powi(exponent - 23)
}

/// Asserts the bound. Without optimisation the patterns are thinned out, to every 16,449th.
pub(super) fn everywhere<U: Unary>(bound: f64) {
    let step = if cfg!(debug_assertions) { 257 * 64 + 1 } else { 257 };
    let mut patterns = (0..=u32::MAX).step_by(step).peekable();
    let mut worst = 0.0;
    while patterns.peek().is_some() {
        let mut x = [1.0; CHUNK];
        for (x, bits) in x.iter_mut().zip(&mut patterns) {
            *x = f32::from_bits(bits);
        }
        let exact = x.map(|x| U::exact(f64::from(x)));
        for isa in Isa::available() {
            let mut y = [0.0; CHUNK];
            run(isa, Apply::<U>(&x, &mut y, core::marker::PhantomData));
            for ((x, y), exact) in x.iter().zip(y).zip(exact) {
                let error = ulps(y, exact);
                assert!(error <= bound, "{isa:?}: f({x:e}) = {y:e}, not {exact:e}: {error} ulp");
                worst = f64::max(worst, error);
            }
        }
    }
    println!("{worst} ulp at most");
}
