//! Steps on batches that are on the device already: they are the steps that a call for each makes, to the last bit.

use precast::prelude::*;

use net::Net;

mod net {
    use precast::prelude::*;

    model! {
        /// A network whose steps draw random numbers.
        pub struct Net { hidden: Linear(6, 16), output: Linear(16, 3) }

        impl Net {
            /// Mean cross-entropy.
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 6], class: u32[B]) -> f32 {
                cross_entropy(self.output(dropout(relu(self.hidden(x)), 0.25)), class)
            }
        }
    }
}

type Arguments = (Vec<[f32; 6]>, Vec<u32>);

/// Arguments of steps, some of which have fewer rows.
fn arguments(count: usize) -> Vec<Arguments> {
    let of = |n: usize| {
        let rows = if n % 20 < 15 { 24 } else { 7 };
        (tests::rows(rows, n as u32), (0..rows as u32).map(|k| (k + n as u32) % 3).collect())
    };
    (0..count).map(of).collect()
}

/// The losses of a call for each step, of steps on batches, and the parameters after each.
fn both<D: Blocking>(device: &D) -> [(Vec<f32>, Vec<f32>); 2] {
    let all = arguments(47);
    let new = || Net::init(5).on(device).unwrap();
    let optimizer = AdamW { rate: 1e-2, ..default() };
    let (mut one, mut other) = (new(), new());
    let mut trainer = one.trainer(optimizer.clone());
    let losses = all.iter().map(|(x, class)| trainer.loss(x, class).unwrap().value().unwrap()).collect();
    let mut trainer = other.trainer(optimizer);
    let batches: Vec<_> = all.iter().map(|(x, class)| trainer.loss_batch(x, class).unwrap()).collect();
    let made = trainer.steps_on(&batches).unwrap();
    assert_eq!(trainer.steps(), 47);
    let together = made.iter().map(|loss| loss.value().unwrap()).collect();
    [(losses, words(&one)), (together, words(&other))]
}

fn words<D: Blocking>(net: &Net<D>) -> Vec<f32> {
    net.on(&Cpu).unwrap().parameter("hidden.weight").unwrap().to_vec()
}

#[test]
fn steps_on_batches_are_those_of_calls() {
    let [calls, batches] = both(&Cpu);
    assert_eq!(calls, batches);
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_takes_several_at_once() {
    let Some(gpu) = tests::gpu() else { return };
    let [calls, batches] = both(&gpu);
    assert_eq!(calls, batches);
}
