use precast::prelude::*;

model! {
    pub struct Net {
        hidden: Linear(64, 128),
        output: Linear(64, 10),
    }

    impl Net {
        pub fn scores(&self, x: f32[B, 64]) -> f32[B, 10] {
            let x = relu(self.hidden(x));
            self.output(dropout(x, 0.25))
        }
    }
}

fn main() {
    let _ = Net::init(0);
}
