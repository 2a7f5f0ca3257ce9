//! Attention and recurrent layers.
//!
//! In: nothing. Out: families over batch, length and the features that models fix. Always: causal or not, forward, and in
//! training.

use super::{Family, Meter, numbers};

macro_rules! attention {
    ($($name:ident $model:ident $width:literal,)*) => {
        $(
            #[allow(unreachable_pub, reason = "a model is public")]
            mod $name {
                use precast::prelude::*;

                model! {
                    /// Attention of heads of a width that the model fixes.
                    pub struct $model {}

                    impl $model {
                        /// Of all places.
                        pub fn all(&self, x: f32[H, T, $width]) -> f32[H, T, $width] { attend(x, x, x) }

                        /// Of the places before.
                        pub fn causal(&self, x: f32[H, T, $width]) -> f32[H, T, $width] {
                            attend(x, x, x, causal = true)
                        }

                        /// The gradient.
                        pub fn slopes(&self, x: f32[H, T, $width], g: f32[H, T, $width]) -> f32[H, T, $width] {
                            grad(|x| sum(attend(x, x, x, causal = true) * g))(x)
                        }
                    }
                }
            }
        )*

        /// The time of a call where a model has heads of that width.
        fn attended(kind: &str, [heads, length, width]: [usize; 3]) -> Option<f64> {
            match width {
                $($width => {
                    use precast::prelude::*;
                    let model = $name::$model::init(1);
                    let mut session = model.session();
                    let (x, dims) = (numbers(heads * length * width), [heads, length]);
                    let x = View::new(x.as_chunks::<$width>().0, dims).ok()?;
                    match kind {
                        "all" => Meter::of(|| session.all(x).map(drop)),
                        "causal" => Meter::of(|| session.causal(x).map(drop)),
                        "slopes" => Meter::of(|| session.slopes(x, x).map(drop)),
                        _ => None,
                    }
                })*
                _ => None,
            }
        }
    };
}

attention! {
    heads24 Heads24 24,
    heads31 Heads31 31,
    heads32 Heads32 32,
    heads33 Heads33 33,
    heads64 Heads64 64,
    heads80 Heads80 80,
}

macro_rules! recurrent {
    ($($name:ident $model:ident $layer:ident $width:literal,)*) => {
        $(
            #[allow(unreachable_pub, reason = "a model is public")]
            mod $name {
                use precast::prelude::*;

                model! {
                    /// A recurrent layer of a width that the model fixes.
                    pub struct $model { layer: $layer(32, $width) }

                    impl $model {
                        /// The outputs.
                        pub fn out(&self, x: f32[B, T, 32]) -> f32[B, T, $width] { self.layer(x).0 }

                        /// Their mean square.
                        #[train(Sgd)]
                        pub fn loss(&self, x: f32[B, T, 32]) -> f32 { mean(square(self.out(x))) }
                    }
                }
            }
        )*

        /// The time of a call or of a training step where a layer has that width.
        fn stepped(layer: &str, trained: bool, [batch, width]: [usize; 2]) -> Option<f64> {
            match (layer, width) {
                $((stringify!($layer), $width) => {
                    use precast::prelude::*;
                    let mut model = $name::$model::init(1);
                    let x = numbers(batch * STEPS * 32);
                    let x = View::new(x.as_chunks::<32>().0, [batch, STEPS]).ok()?;
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

recurrent! {
    lstm100 Lstm100 LSTM 100,
    lstm127 Lstm127 LSTM 127,
    lstm128 Lstm128 LSTM 128,
    lstm129 Lstm129 LSTM 129,
    gru127 Gru127 GRU 127,
    gru128 Gru128 GRU 128,
    gru129 Gru129 GRU 129,
}

/// Steps of a sequence.
const STEPS: usize = 20;

/// Hands on all families.
pub(super) fn all(print: &mut dyn FnMut(&Family<'_>)) {
    let (axes, round): (&[&str], &[&[usize]]) =
        (&["H", "T", "D"], &[&[4, 64, 32], &[8, 32, 64], &[2, 128, 64], &[1, 512, 32]]);
    for kind in ["all", "causal", "slopes"] {
        let time = |_: &Meter, shape: &[usize]| attended(kind, [shape[0], shape[1], shape[2]]);
        let work = |shape: &[usize]| (4 * shape[0] * shape[1] * (shape[1] + 1) * shape[2]) as f64;
        print(&Family { name: &format!("attend {kind}"), axes, round, work, time: &time });
    }
    for (layer, gates) in [("LSTM", 4), ("GRU", 3)] {
        for (what, trained) in [("", false), (" step", true)] {
            let time = |_: &Meter, shape: &[usize]| stepped(layer, trained, [shape[0], shape[1]]);
            // The number of gates is the same on both sides of a ratio.
            let work = |shape: &[usize]| (2 * STEPS * shape[0] * shape[1] * (shape[1] + 32)) as f64;
            let name = format!("{layer}{what} of {gates} gates");
            let round: &[&[usize]] = &[&[1, 128], &[4, 128], &[32, 128]];
            print(&Family { name: &name, axes: &["B", "H"], round, work, time: &time });
        }
    }
}
