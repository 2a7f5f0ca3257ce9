//! Convolutions, their gradients and pools over images whose extents are arguments.
//!
//! In: nothing. Out: families over batch, channels, outputs and the size of an image. Always: images are square.

use super::{Family, Meter, numbers};
use precast::prelude::*;

model! {
    /// Convolutions of arguments.
    pub struct Images {}

    impl Images {
        /// 1×1.
        pub fn k1(&self, x: f32[B, C, H, W], w: f32[O, C, 1, 1]) -> f32[B, O, H, W] { conv2d(x, w) }

        /// 3×3.
        pub fn k3(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3]) -> f32[B, O, H, W] { conv2d(x, w, padding = 1) }

        /// 3×3 without padding.
        pub fn k3_bare(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3]) -> f32[B, O, H - 2, W - 2] { conv2d(x, w) }

        /// Every other 3×3.
        pub fn k3_by_2(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3])
            -> f32[B, O, (H - 1) / 2 + 1, (W - 1) / 2 + 1] { conv2d(x, w, padding = 1, stride = 2) }

        /// 5×5.
        pub fn k5(&self, x: f32[B, C, H, W], w: f32[O, C, 5, 5]) -> f32[B, O, H, W] { conv2d(x, w, padding = 2) }

        /// Every other 7×7.
        pub fn k7_by_2(&self, x: f32[B, C, H, W], w: f32[O, C, 7, 7])
            -> f32[B, O, (H - 1) / 2 + 1, (W - 1) / 2 + 1] { conv2d(x, w, padding = 3, stride = 2) }

        /// The gradient of `k1` by its weight.
        pub fn k1_by_weight(&self, x: f32[B, C, H, W], w: f32[O, C, 1, 1], g: f32[B, O, H, W]) -> f32[O, C, 1, 1] {
            grad(|w| sum(conv2d(x, w) * g))(w)
        }

        /// The gradient of `k3` by its argument.
        pub fn k3_by_input(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3], g: f32[B, O, H, W]) -> f32[B, C, H, W] {
            grad(|x| sum(conv2d(x, w, padding = 1) * g))(x)
        }

        /// The gradient of `k3` by its weight.
        pub fn k3_by_weight(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3], g: f32[B, O, H, W]) -> f32[O, C, 3, 3] {
            grad(|w| sum(conv2d(x, w, padding = 1) * g))(w)
        }

        /// The gradient of `k3_by_2` by its argument.
        pub fn k3_by_2_by_input(&self, x: f32[B, C, H, W], w: f32[O, C, 3, 3],
            g: f32[B, O, (H - 1) / 2 + 1, (W - 1) / 2 + 1]) -> f32[B, C, H, W] {
            grad(|x| sum(conv2d(x, w, padding = 1, stride = 2) * g))(x)
        }

        /// Maxima of 2×2.
        pub fn max_pool(&self, x: f32[B, C, H, W]) -> f32[B, C, (H - 2) / 2 + 1, (W - 2) / 2 + 1] {
            max_pool2d(x, window = 2)
        }

        /// Means of overlapping 3×3.
        pub fn avg_pool(&self, x: f32[B, C, H, W]) -> f32[B, C, (H - 1) / 2 + 1, (W - 1) / 2 + 1] {
            avg_pool2d(x, window = 3, stride = 2, padding = 1)
        }
    }
}

macro_rules! apart {
    ($name:ident, $model:ident, $channels:literal, $groups:literal, $each:literal) => {
        #[allow(unreachable_pub, reason = "a model is public")]
        mod $name {
            use precast::prelude::*;

            model! {
                /// Convolutions of parts of the channels.
                pub struct $model { conv: Conv2d($channels, $channels, kernel = 3, padding = 1, groups = $groups) }

                impl $model {
                    /// 3×3.
                    pub fn out(&self, x: f32[B, $channels, H, W]) -> f32[B, $channels, H, W] { self.conv(x) }
                }
            }
        }
    };
}

apart!(depthwise32, Depthwise32, 32, 32, 1);
apart!(depthwise33, Depthwise33, 33, 33, 1);
apart!(grouped32, Grouped32, 128, 4, 32);
apart!(grouped31, Grouped31, 124, 4, 31);

const ROUND: &[&[usize]] = &[&[1, 64, 64, 16], &[1, 32, 64, 32], &[4, 4, 32, 28], &[8, 32, 32, 8], &[1, 64, 128, 56]];

/// Hands on all families.
pub(super) fn all(print: &mut dyn FnMut(&Family<'_>)) {
    macro_rules! family {
        ($name:ident, $side:literal, $stride:literal, $($slope:ident)?) => {
            let time = |_: &Meter, shape: &[usize]| {
                let &[b, c, o, size] = shape else { return None };
                let model = Images::init(1);
                let mut session = model.session();
                let (x, w) = (numbers(b * c * size * size), numbers(o * c * $side * $side));
                $(let (out, $slope) = ((size - 1) / $stride + 1, numbers(b * o * size * size));)?
                let w = w.as_chunks::<$side>().0.as_chunks::<$side>().0;
                Meter::of(|| {
                    let (x, w) = (View::new(&x, [b, c, size, size])?, View::new(w, [o, c])?);
                    $(let $slope = View::new(&$slope[..b * o * out * out], [b, o, out, out])?;)?
                    session.$name(x, w, $($slope)?).map(drop)
                })
            };
            let work = |shape: &[usize]| {
                let out = if stringify!($name) == "k3_bare" { shape[3] - 2 } else { (shape[3] - 1) / $stride + 1 };
                (2 * shape[0] * shape[1] * shape[2] * out * out * $side * $side) as f64
            };
            let name = stringify!($name);
            print(&Family { name, axes: &["B", "C", "O", "S"], round: ROUND, work, time: &time });
        };
    }
    family!(k1, 1, 1,);
    family!(k3, 3, 1,);
    family!(k3_bare, 3, 1,);
    family!(k3_by_2, 3, 2,);
    family!(k5, 5, 1,);
    family!(k7_by_2, 7, 2,);
    family!(k1_by_weight, 1, 1, g);
    family!(k3_by_input, 3, 1, g);
    family!(k3_by_weight, 3, 1, g);
    family!(k3_by_2_by_input, 3, 2, g);
    parts(print);
    pools(print);
}

/// Convolutions of parts of the channels.
fn parts(print: &mut dyn FnMut(&Family<'_>)) {
    macro_rules! session {
        ($model:ty, $channels:literal, $b:expr, $size:expr) => {{
            let model = <$model>::init(1);
            let mut session = model.session();
            let x = numbers($b * $channels * $size * $size);
            Meter::of(|| session.out(View::new(&x, [$b, $channels, $size, $size])?).map(drop))
        }};
    }
    let time = |_: &Meter, shape: &[usize]| match *shape {
        [b, 32, size] => session!(depthwise32::Depthwise32, 32, b, size),
        [b, 33, size] => session!(depthwise33::Depthwise33, 33, b, size),
        [b, 128, size] => session!(grouped32::Grouped32, 128, b, size),
        [b, 124, size] => session!(grouped31::Grouped31, 124, b, size),
        _ => None,
    };
    let work = |shape: &[usize]| (2 * shape[0] * shape[1] * shape[2] * shape[2] * 9) as f64;
    let (axes, round): (&[&str], &[&[usize]]) = (&["B", "C", "S"], &[&[1, 32, 16], &[4, 32, 32], &[1, 32, 56]]);
    print(&Family { name: "depthwise", axes, round, work, time: &time });
    let work = |shape: &[usize]| (2 * shape[0] * shape[1] * shape[1] / 4 * shape[2] * shape[2] * 9) as f64;
    print(&Family { name: "four groups", axes, round: &[&[1, 128, 16], &[4, 128, 8]], work, time: &time });
}

/// Pools.
fn pools(print: &mut dyn FnMut(&Family<'_>)) {
    macro_rules! family {
        ($name:ident) => {
            let time = |_: &Meter, shape: &[usize]| {
                let &[b, c, size] = shape else { return None };
                let model = Images::init(1);
                let mut session = model.session();
                let x = numbers(b * c * size * size);
                Meter::of(|| session.$name(View::new(&x, [b, c, size, size])?).map(drop))
            };
            let work = |shape: &[usize]| (5 * shape[0] * shape[1] * shape[2] * shape[2]) as f64 / 4.0;
            let round: &[&[usize]] = &[&[4, 32, 28], &[1, 64, 16], &[16, 16, 8]];
            print(&Family { name: stringify!($name), axes: &["B", "C", "S"], round, work, time: &time });
        };
    }
    family!(max_pool);
    family!(avg_pool);
}
