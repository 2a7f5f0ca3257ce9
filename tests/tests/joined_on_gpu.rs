//! Launches that a GPU runs as one dispatch: steps of small networks, whose products, softmaxes, gradients of biases, norms and
//! updates are joined, beside those of a CPU, for several numbers of samples; what is not to be made is not made either.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::Error;
use precast::prelude::*;
use tests::{gpu, rows};

model! {
    /// Two layers, and two more that read the same.
    pub struct Net { a: Linear(150, 70), b: Linear(70, 10), c: Linear(70, 37), d: Linear(37, 5) }

    impl Net {
        fn hidden(&self, x: f32[B, 150]) -> f32[B, 70] { relu(self.a(x)) }

        /// Rows of a product, and sums of these.
        pub fn scores(&self, x: f32[B, 150]) -> (f32[B, 10], f32[B]) {
            let scores = softmax(self.b(self.hidden(x)), axis = 1);
            (scores, sum(scores * scores, axis = 1))
        }

        /// A norm over a product's rows, which another product reads.
        pub fn deep(&self, x: f32[B, 150]) -> f32[B, 5] {
            let rows = self.c(self.hidden(x));
            self.d(rows - mean(rows, axis = 1, keepdims = true))
        }

        /// Sums that each element reads: of words, of pairs of them, and of a map that may have no elements.
        pub fn centred(&self, x: f32[100]) -> f32[100] { x - sum(x) }
        pub fn wide(&self, x: i64[100]) -> i64[100] { x - sum(x) }
        pub fn rest(&self, x: f32[B]) -> (f32, f32[B - 1]) {
            let total = sum(x * x);
            (total + 1.0, x[1..] * total)
        }

        /// Mean cross-entropy.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, 150], y: u32[B]) -> f32 { cross_entropy(self.b(self.hidden(x)), y) }

        /// Both at once.
        #[train(Sgd)]
        pub fn both(&self, x: f32[B, 150], y: u32[B]) -> f32 {
            cross_entropy(self.b(self.hidden(x)), y) + mean(square(self.deep(x)))
        }
    }
}

fn near(what: &str, wanted: &[f32], found: &[f32]) {
    let scale = wanted.iter().fold(1e-3, |most: f32, x| most.max(x.abs()));
    assert_eq!(wanted.len(), found.len());
    for (at, (a, b)) in wanted.iter().zip(found).enumerate() {
        assert!((a - b).abs() <= 1e-5 * scale, "{what}: element {at} is {a} on the CPU, {b} on the GPU");
    }
}

#[test]
fn calls_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let host = Net::init(3);
    let net = host.on(&gpu).unwrap();
    for batch in [1, 2, 15, 16, 17, 64, 131] {
        let x = rows::<150>(batch, batch as u32);
        let [a, b] = [host.scores(&x), net.scores(&x)].map(|scores| scores.unwrap());
        near("scores", a.0.as_flattened(), b.0.as_flattened());
        near("squares", &a.1, &b.1);
        let [a, b] = [host.deep(&x), net.deep(&x)].map(|deep| deep.unwrap());
        near("deep", a.as_flattened(), b.as_flattened());
    }
}

#[test]
fn sums_that_each_element_reads_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let host = Net::init(3);
    let net = host.on(&gpu).unwrap();
    let x: [f32; 100] = rows::<100>(1, 9)[0];
    near("centred", &host.centred(&x).unwrap(), &net.centred(&x).unwrap());
    let wide: [i64; 100] = std::array::from_fn(|n| (n as i64 - 40) << 30);
    assert_eq!(host.wide(&wide).unwrap(), net.wide(&wide).unwrap());
    for length in [1, 2, 64, 65, 100] {
        let [a, b] = [host.rest(&x[..length]), net.rest(&x[..length])].map(|rest| rest.unwrap());
        near("total", &[a.0], &[b.0]);
        near("rest", &a.1, &b.1);
    }
}

#[test]
fn steps_are_those_of_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for batch in [1, 16, 33, 90] {
        let (mut host, x) = (Net::init(5), rows::<150>(batch, 7));
        let mut net = host.on(&gpu).unwrap();
        let y: Vec<u32> = (0..batch as u32).map(|n| n * 7 % 10).collect();
        let rule = || Adam { rate: 1e-3, clip: Some(0.5), ..default() };
        let (mut on_cpu, mut on_gpu) = (host.trainer(rule()), net.trainer(rule()));
        for step in 0..6 {
            let [wanted, found] =
                [on_cpu.loss_gradients(&x, &y), on_gpu.loss_gradients(&x, &y)].map(|gradients| gradients.unwrap());
            for ((name, _, a), (_, _, b)) in wanted.iter().zip(found.iter()) {
                near(&format!("{batch}: gradient of {name}, step {step}"), a, b);
            }
            let wanted = on_cpu.loss(&x, &y).unwrap().value().unwrap();
            let found = on_gpu.loss(&x, &y).unwrap().value().unwrap();
            assert!((wanted - found).abs() < 1e-5 * wanted, "{batch}: step {step}: {wanted}, {found} on the GPU");
        }
    }
}

#[test]
fn what_is_not_finite_updates_nothing() {
    let Some(gpu) = gpu() else { return };
    let (mut net, x) = (Net::init(5).on(&gpu).unwrap(), rows::<150>(20, 7));
    let y = vec![3; 20];
    let before = net.scores(&x).unwrap();
    let mut bad = x.clone();
    bad[11][40] = f32::NAN;
    let mut trainer = net.trainer(Adam::default());
    let error = trainer.loss(&bad, &y).unwrap().value().unwrap_err();
    assert!(matches!(error, Error::NonFinite { skipped: true, .. }), "{error}");
    drop(trainer);
    assert_eq!(net.scores(&x).unwrap(), before);
    let mut trainer = net.trainer(Sgd::default());
    trainer.both(&x, &y).unwrap().value().unwrap();
    drop(trainer);
    assert_ne!(net.scores(&x).unwrap(), before);
}
