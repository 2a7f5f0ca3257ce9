//! Models where items may stand: in the body of a function, beside another of the same name, in a private module with
//! restricted visibility, and behind a path that re-exports the macro.

mod inner {
    renamed::model! {
        /// Seen in this crate only.
        pub(crate) struct Net {
            output: Linear(3, 2),
        }

        impl Net {
            /// Scores.
            pub fn scores(&self, x: f32[B, 3]) -> f32[B, 2] {
                self.output(x)
            }

            /// Mean squared error.
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 3], y: f32[B, 2]) -> f32 {
                mse_loss(self.scores(x), y)
            }
        }
    }
}

mod tests {
    use renamed::prelude::*;

    #[test]
    fn a_private_module_keeps_its_model() -> renamed::Result<()> {
        let mut net = super::inner::Net::init(1);
        let y = net.scores(&[[1.0, 2.0, 3.0]])?;
        let loss = net.trainer(Sgd::default()).loss(&[[1.0, 2.0, 3.0]], &y)?.value()?;
        assert_eq!(loss, 0.0);
        Ok(())
    }

    #[test]
    fn a_function_has_a_model() -> renamed::Result<()> {
        model! {
            /// Seen in this function only.
            pub struct Net {
                scale: Parameter(2, init = "ones"),
            }

            impl Net {
                /// Scaled rows.
                pub fn scaled(&self, x: f32[B, 2]) -> f32[B, 2] {
                    x * self.scale
                }
            }
        }
        assert_eq!(Net::init(1).scaled(&[[1.0, 2.0]])?, [[1.0, 2.0]]);
        Ok(())
    }

    /// As a crate does that passes the macro on.
    mod facade {
        pub use renamed::*;
    }

    #[test]
    fn the_macro_may_be_passed_on() -> renamed::Result<()> {
        facade::model! {
            /// No parameters at all.
            pub struct Plain {}

            impl Plain {
                /// Squares.
                pub fn squared(&self, x: f32[B]) -> f32[B] {
                    x * x
                }
            }
        }
        assert_eq!(Plain::init(1).squared(&[3.0])?, [9.0]);
        Ok(())
    }
}
