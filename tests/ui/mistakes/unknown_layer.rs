use precast::prelude::*;

model! {
    pub struct Net {
        output: Liner(64, 10),
    }

    impl Net {
        pub fn scores(&self, x: f32[B, 64]) -> f32[B, 10] {
            self.output(x)
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
