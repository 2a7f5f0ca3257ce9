//! The update is part of the compiled step, so an optimiser that no function is trained by is rustc's own error.

use precast::prelude::*;

model! {
    /// A regression.
    pub struct Net {
        output: Linear(2, 1),
    }

    impl Net {
        /// Mean squared error.
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 2], y: f32[B, 1]) -> f32 {
            mse_loss(self.output(x), y)
        }
    }
}

fn main() {
    let mut net = Net::init(1);
    net.trainer(Sgd::default());
}
