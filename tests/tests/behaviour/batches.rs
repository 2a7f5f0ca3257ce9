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
    let mut made = trainer.steps_on(&batches[..30]).unwrap();
    // What a call brings is not where a batch lies.
    trainer.loss_gradients(&all[9].0, &all[9].1).unwrap();
    made.extend(trainer.steps_on(&batches[30..]).unwrap());
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

mod other {
    use precast::prelude::*;

    model! {
        /// A larger network.
        pub struct Larger { only: Linear(600, 30) }

        impl Larger {
            /// Mean squared error.
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 600], y: f32[B, 30]) -> f32 { mse_loss(self.only(x), y) }
        }
    }
}

/// A batch of another model, or of another device, is an error and no step.
fn refuses<D: Blocking>(device: &D) {
    let (mut net, mut larger) = (Net::init(1).on(device).unwrap(), other::Larger::init(1).on(device).unwrap());
    let mut trainer = larger.trainer(AdamW::default());
    let batch = trainer.loss_batch(&tests::rows(3, 1), &tests::rows(3, 2)).unwrap();
    let mut trainer = net.trainer(AdamW::default());
    let error = trainer.steps_on([&batch]).unwrap_err().to_string();
    assert_eq!(error, "a batch of `Larger` cannot train `Net`: make it with the trainer that takes the step");
    assert_eq!(trainer.steps(), 0);
}

#[test]
fn batches_of_other_models_are_refused() {
    refuses(&Cpu);
}

#[cfg(feature = "gpu")]
#[test]
fn batches_of_other_devices_are_refused() {
    let (Some(gpu), Some(other)) = (tests::gpu(), tests::gpu()) else { return };
    refuses(&gpu);
    let (mut a, mut b) = (Net::init(1).on(&gpu).unwrap(), Net::init(1).on(&other).unwrap());
    let batch = a.trainer(AdamW::default()).loss_batch(&tests::rows(3, 1), &[0, 1, 2]).unwrap();
    let error = b.trainer(AdamW::default()).steps_on([&batch]).unwrap_err().to_string();
    assert!(error.ends_with("a batch is on another device than the model"), "{error}");
}
