//! Blocks that travel: between modules, through re-exports, out of macros of the user's, from another crate, and into
//! the bodies of functions.

/// Blocks of this crate.
pub mod library {
    renamed::model! {
        const HALF: f32 = 0.5;

        /// Half of what a layer gives.
        pub struct Halved(dim) {
            layer: Linear(dim, dim),
            rest: Inner,
        }

        impl Halved {
            fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
                self.rest(halve(self.layer(x)))
            }
        }

        // Another text has another constant and function of these names.
        fn halve(x: f32[..]) -> f32[..] {
            x * HALF
        }

        struct Inner {
            gain: Parameter(1, init = "ones"),
        }

        impl Inner {
            fn forward(&self, x: f32[.., D]) -> f32[.., D] {
                x * self.gain
            }
        }

        /// Two wide.
        pub struct Pair = Halved(2);

        /// A model here, of which others may have other sizes.
        pub struct Whole(dim = 4) {
            body: Halved(dim),
        }

        impl Whole {
            /// Rows of the same size.
            pub fn out(&self, x: f32[B, dim]) -> f32[B, dim] {
                self.body(x)
            }

            /// Mean squared error.
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, dim], y: f32[B, dim]) -> f32 {
                mse_loss(self.out(x), y)
            }
        }

        /// Seen in this crate only.
        pub(crate) struct Local(dim) {
            layer: Linear(dim, dim, bias = false),
        }

        impl Local {
            fn forward(&self, x: f32[B, dim]) -> f32[B, dim] {
                self.layer(x)
            }
        }
    }

    /// A block that imports one.
    pub mod deeper {
        renamed::model! {
            use super::Halved as Half;

            /// A quarter.
            pub struct Quartered(dim) {
                first: Half(dim),
                second: Half(dim),
            }

            impl Quartered {
                fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
                    self.second(self.first(x))
                }
            }
        }
    }

    pub use deeper::Quartered as Fourth;
}

/// One text of the user's that declares the same block in several modules.
macro_rules! scaled {
    ($($module:ident)*) => { $(
        /// A block of its own.
        pub mod $module {
            renamed::model! {
                /// Scales.
                pub struct Scaled { gain: Parameter(2, init = "ones") }
                impl Scaled { fn forward(&self, x: f32[B, 2]) -> f32[B, 2] { x * self.gain } }
            }
        }
    )* };
}

scaled!(one two);

renamed::model! {
    use crate::travel::library::{Fourth, Halved, Local, Pair as Both};
    use self::one::Scaled;
    use self::two::Scaled as Twice;
    use ::blocks::Mlp;
    use library::Whole;

    /// The model of another module with another size.
    pub struct Narrow = Whole(dim = 2);

    const HALF: f32 = 0.0;

    /// One of each.
    pub struct Net {
        fourth: Fourth(2),
        halved: [Halved(2); 2],
        local: Local(2),
        both: Both,
        scaled: Scaled,
        twice: Twice,
        mlp: Mlp(2, 4, 2),
        inner: Inner,
    }

    /// It has the name of a block that another one brings along.
    struct Inner {
        layer: Linear(2, 2),
    }

    impl Inner {
        fn forward(&self, x: f32[B, 2]) -> f32[B, 2] {
            self.layer(x) + HALF
        }
    }

    fn halve(x: f32[..]) -> f32[..] {
        x - x
    }

    impl Net {
        /// All of them after each other.
        pub fn out(&self, x: f32[B, 2]) -> f32[B, 2] {
            let mut y = self.fourth(x);
            for one in self.halved {
                y = one(y);
            }
            let y = self.both(self.local(y));
            self.mlp(self.twice(self.scaled(y))) + self.inner(x) + halve(x)
        }

        /// Half of the first layer.
        pub fn half(&self, x: f32[B, 2]) -> f32[B, 2] {
            self.both(x)
        }

        /// Mean squared error.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 2], y: f32[B, 2]) -> f32 {
            mse_loss(self.out(x), y)
        }
    }
}

mod tests {
    use super::Net;
    use renamed::prelude::*;

    const X: [[f32; 2]; 2] = [[1.0, 2.0], [3.0, -4.0]];

    #[test]
    fn blocks_bring_their_own_constants_and_functions() -> renamed::Result<()> {
        let net = Net::init(5);
        let (weight, bias) = (net.parameter("both.layer.weight")?, net.parameter("both.layer.bias")?);
        for (row, out) in X.iter().zip(net.half(&X)?) {
            for k in 0..2 {
                let linear = weight[2 * k] * row[0] + weight[2 * k + 1] * row[1] + bias[k];
                assert!((out[k] - 0.5 * linear).abs() < 1e-6);
            }
        }
        Ok(())
    }

    #[test]
    fn parameters_have_the_names_of_fields() {
        let net = Net::init(5);
        let names: std::vec::Vec<_> = net.parameters().map(|(name, ..)| name).collect();
        for name in
            ["fourth.second.layer.weight", "halved.1.rest.gain", "twice.gain", "mlp.down.bias", "inner.layer.bias"]
        {
            assert!(names.iter().any(|other| other == name), "{name}");
        }
    }

    #[test]
    fn models_have_other_sizes_elsewhere() -> renamed::Result<()> {
        let mut narrow = super::Narrow::init(5);
        assert_eq!(super::library::Whole::init(5).out(&[[1.0; 4]])?[0].len(), 4);
        let y = narrow.out(&X)?;
        assert_eq!(narrow.views().body.layer.weight.len(), 2);
        assert_eq!(narrow.trainer(Sgd::default()).loss(&X, &y)?.value()?, 0.0);
        Ok(())
    }

    #[test]
    fn they_train() -> renamed::Result<()> {
        let mut net = Net::init(5);
        let mut trainer = net.trainer(Sgd { rate: 1e-2, ..default() });
        let before = trainer.loss(&X, &[[1.0, 0.0]; 2])?.value()?;
        for _ in 0..50 {
            trainer.loss(&X, &[[1.0, 0.0]; 2])?.value()?;
        }
        assert!(net.loss(&X, &[[1.0, 0.0]; 2])? < before);
        Ok(())
    }

    #[test]
    fn a_function_has_blocks() -> renamed::Result<()> {
        model! {
            use super::library::Local;

            /// Seen in this function only.
            pub struct Here { local: Local(2), }

            impl Here {
                /// A layer.
                pub fn out(&self, x: f32[B, 2]) -> f32[B, 2] { self.local(x) }
            }
        }
        assert_eq!(Here::init(1).out(&X)?.len(), 2);
        Ok(())
    }
}
