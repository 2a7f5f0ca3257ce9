use precast::prelude::*;

model! {
    /// Cart-pole: four observations to two action preferences.
    pub struct Policy {
        body: Liner(4, 64),
        hidden: Linear(64, 64),
        head: Linear(32, 2),
    }

    impl Policy {
        /// Action preferences.
        pub fn act(&self, observation: f32[B, 4]) -> f32[B, 2] {
            let x = tanh(self.body(observation));
            let y = tahn(self.hidden(x));
            self.head(y)
        }

        /// Mean square error.
        #[train(AdamW)]
        pub fn loss(&self, observation: f32[B, 64], target: f32[B, 2]) -> f32 {
            mse_loss(self.head(self.hidden(observation)), target)
        }
    }
}

fn main() {
    let mut policy = Policy::init(1);
    let preferences: Vec<[f32; 2]> = policy.act(&[[0.1, -0.4, 0.02, 0.9]]).expect("one observation");
    let mut trainer = policy.trainer(AdamW { rate: 3e-3, ..default() });
    let loss = trainer.loss(&[[0.0; 64]], &[[1.0, 0.0]]).expect("one observation");
    let loss = loss.value().expect("a finite loss");
    println!("{preferences:?} {loss}");
}
