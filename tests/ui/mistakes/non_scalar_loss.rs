use precast::prelude::*;

model! {
    pub struct Net {
        gain: Parameter(64, init = "ones"),
    }

    impl Net {
        #[train(AdamW)]
        pub fn out(&self, x: f32[B, 64]) -> f32[B, 64] {
            square(x * self.gain)
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
