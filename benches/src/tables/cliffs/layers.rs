//! Layers whose extents models fix, with the parameters that sessions keep packed, and their training.
//!
//! In: nothing. Out: families over the batch and both sides of a layer. Always: through the public face.

use super::{Family, Meter, numbers};

macro_rules! linear {
    ($($name:ident $model:ident $input:literal $output:literal,)*) => {
        $(
            #[allow(unreachable_pub, reason = "a model is public")]
            mod $name {
                use precast::prelude::*;

                model! {
                    /// A linear layer.
                    pub struct $model { layer: Linear($input, $output) }

                    impl $model {
                        /// Its outputs.
                        pub fn out(&self, x: f32[B, $input]) -> f32[B, $output] { relu(self.layer(x)) }

                        /// Their mean square.
                        #[train(Sgd)]
                        pub fn loss(&self, x: f32[B, $input]) -> f32 { mean(square(self.out(x))) }
                    }
                }
            }
        )*

        /// The time of a call or of a training step of such a layer.
        fn linear(trained: bool, [batch, input, output]: [usize; 3]) -> Option<f64> {
            match (input, output) {
                $(($input, $output) => {
                    use precast::prelude::*;
                    let mut model = $name::$model::init(1);
                    let x = numbers(batch * input);
                    let x = x.as_chunks::<$input>().0;
                    if trained {
                        let mut trainer = model.trainer(Sgd { rate: 1e-6, ..default() });
                        return Meter::of(|| trainer.loss(x).and_then(|l| l.value()).map(drop));
                    }
                    let mut session = model.session();
                    Meter::of(|| session.out(x).map(drop))
                })*
                _ => None,
            }
        }
    };
}

linear! {
    l64x64 L64x64 64 64,
    l63x64 L63x64 63 64,
    l65x64 L65x64 65 64,
    l64x63 L64x63 64 63,
    l64x65 L64x65 64 65,
    l128x128 L128x128 128 128,
    l127x128 L127x128 127 128,
    l127x127 L127x127 127 127,
    l128x129 L128x129 128 129,
    l1024x1024 L1024x1024 1024 1024,
    l1023x1024 L1023x1024 1023 1024,
    l1024x1000 L1024x1000 1024 1000,
    l1023x1023 L1023x1023 1023 1023,
}

macro_rules! convolution {
    ($($name:ident $model:ident $channels:literal $kernel:literal $padding:literal,)*) => {
        $(
            #[allow(unreachable_pub, reason = "a model is public")]
            mod $name {
                use precast::prelude::*;

                model! {
                    /// A convolution.
                    pub struct $model { layer: Conv2d($channels, $channels, kernel = $kernel, padding = $padding) }

                    impl $model {
                        /// Its outputs.
                        pub fn out(&self, x: f32[B, $channels, S, S]) -> f32[B, $channels, S, S] {
                            relu(self.layer(x))
                        }
                    }
                }
            }
        )*

        /// The time of a call of such a layer.
        fn convolved(kernel: usize, [batch, channels, size]: [usize; 3]) -> Option<f64> {
            match (channels, kernel) {
                $(($channels, $kernel) => {
                    use precast::prelude::*;
                    let model = $name::$model::init(1);
                    let mut session = model.session();
                    let (x, dims) = (numbers(batch * channels * size * size), [batch, channels, size, size]);
                    let x = View::new(&x, dims).ok()?;
                    Meter::of(|| session.out(x).map(drop))
                })*
                _ => None,
            }
        }
    };
}

convolution! {
    c32k1 C32k1 32 1 0,
    c33k1 C33k1 33 1 0,
    c64k1 C64k1 64 1 0,
    c31k3 C31k3 31 3 1,
    c32k3 C32k3 32 3 1,
    c33k3 C33k3 33 3 1,
    c64k3 C64k3 64 3 1,
    c65k3 C65k3 65 3 1,
}

/// Hands on all families.
pub(super) fn all(print: &mut dyn FnMut(&Family<'_>)) {
    let work = |shape: &[usize]| 2.0 * shape.iter().product::<usize>() as f64;
    let (axes, round): (&[&str], &[&[usize]]) = (
        &["B", "I", "O"],
        &[
            &[1, 64, 64],
            &[4, 64, 64],
            &[16, 64, 64],
            &[64, 64, 64],
            &[1, 128, 128],
            &[8, 128, 128],
            &[256, 128, 128],
            &[1, 1024, 1024],
            &[32, 1024, 1024],
        ],
    );
    for (name, trained) in [("linear", false), ("linear step", true)] {
        let time = |_: &Meter, shape: &[usize]| linear(trained, [shape[0], shape[1], shape[2]]);
        print(&Family { name, axes, round, work, time: &time });
    }
    for (name, kernel) in [("Conv2d 1×1", 1), ("Conv2d 3×3", 3)] {
        let time = |_: &Meter, shape: &[usize]| convolved(kernel, [shape[0], shape[1], shape[2]]);
        // The size of the kernel is the same on both sides of a ratio.
        let work = |shape: &[usize]| 2.0 * (shape[0] * (shape[1] * shape[2]).pow(2)) as f64;
        let round: &[&[usize]] = &[&[1, 32, 8], &[1, 32, 16], &[4, 32, 28], &[1, 64, 8], &[1, 64, 28], &[1, 64, 56]];
        print(&Family { name, axes: &["B", "C", "S"], round, work, time: &time });
    }
}
