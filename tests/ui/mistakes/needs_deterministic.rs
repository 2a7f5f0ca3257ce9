use precast::prelude::*;

model! {
    #[model(deterministic)]
    pub struct Net { layer: Linear(2, 3) }

    impl Net {
        pub fn forward(&self, x: f32[B, 2]) -> f32[B, 3] { self.layer(x) }
    }
}

fn main() {
    let net = Net::init(1);
    let _ = net.forward(&[[0.0, 1.0]]);
}
