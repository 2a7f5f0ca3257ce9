use precast::prelude::*;

model! {
    pub struct Net {
        gain: Parameter(64, init = "ones"),
    }

    impl Net {
        #[train(AdamV)]
        pub fn out(&self, x: f32[B, 64]) -> f32 {
            mean(square(x * self.gain))
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
