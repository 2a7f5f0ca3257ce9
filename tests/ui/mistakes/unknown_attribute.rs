use precast::prelude::*;

model! {
    pub struct Net {
        gain: Parameter(64, init = "ones"),
    }

    impl Net {
        pub fn out(&self, x: f32[B, 64]) -> f32[B, 64] {
            softmax(x, axes = 1)
        }
        pub fn scaled(&self, x: f32[B, 64]) -> f32[B, 64] {
            x * self.gain
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
