//! Answers one observation after another with a small policy network, and says how long one answer
//! takes.
//!
//! ```text
//! cargo run --release -p examples --example policy
//! ```

use std::{error::Error, hint::black_box, time::Instant};

use precast::prelude::*;

model! {
    /// Cart-pole: four observations to two action preferences.
    pub struct Policy {
        body: Linear(4, 64),
        hidden: Linear(64, 64),
        head: Linear(64, 2),
    }

    impl Policy {
        /// How much each of two actions is preferred.
        pub fn act(&self, observation: f32[B, 4]) -> f32[B, 2] {
            self.head(tanh(self.hidden(tanh(self.body(observation)))))
        }
    }
}

/// Calls in one measurement; the shortest of several is what the machine can do.
const CALLS: u32 = 100_000;

fn main() -> Result<(), Box<dyn Error>> {
    let policy = Policy::init(0);
    let mut session = policy.session();
    let mut observation = [[0.1, -0.4, 0.02, 0.9]];
    let mut shortest = f64::INFINITY;
    for _ in 0..10 {
        let start = Instant::now();
        for _ in 0..CALLS {
            let preferences = session.act(black_box(&observation))?;
            // The next observation depends on the answer, as in a control loop.
            observation[0][0] = preferences[0][0] * 0.1;
        }
        shortest = shortest.min(start.elapsed().as_secs_f64() / f64::from(CALLS));
    }
    let preferences = session.act(&observation)?;
    println!("{observation:?} → {preferences:?}");
    println!("{:.0} ns per call", shortest * 1e9);
    Ok(())
}
