use precast::prelude::*;

model! {
    use blocks::images::Patches;
    use blocks::{Mlp, Residual as Step};

    pub struct Net {
        patches: Patches(3, 20, 8),
        step: Step(16),
        mlp: Mlp(8, 4, 4),
    }

    impl Net {
        pub fn scores(&self, image: f32[B, 3, 12, 12]) -> f32[B, 4, 8] {
            self.patches(image)
        }

        pub fn stepped(&self, x: f32[B, 8]) -> f32[B, 8] {
            self.step(x, x)
        }

        pub fn mixed(&self, x: f32[B, 8]) -> f32[B, 4] {
            self.step(self.mlp(x))
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
