//! Models that are deterministic: the same bits on every instruction set and with any number of threads, of values, gradients
//! and parameters after 20 steps; and what they are, the same as those of other models within rounding.

#![cfg(feature = "deterministic")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::__rt::{Deterministic, Isa, force_isa};
use precast::prelude::*;
use precast::set_threads;

model! {
    const CLASSES: usize = 10;

    /// Convolutions of each kind, norms, attention and a recurrence.
    #[model(deterministic)]
    pub struct Net {
        stem: Conv2d(3, 16, kernel = 3, padding = 1),
        wide: Conv2d(16, 16, kernel = 3, padding = 1),
        deep: Conv2d(16, 16, kernel = 5, padding = 2, groups = 16),
        down: Conv2d(16, 24, kernel = 3, stride = 2, padding = 1),
        norm: BatchNorm2d(24),
        blocks: [Block(24); 2],
        memory: LSTM(24, 20),
        head: Linear(20, CLASSES),
    }

    struct Block(dim) {
        first: LayerNorm(dim),
        mix: Linear(dim, 3 * dim),
        project: Linear(dim, dim),
        second: RMSNorm(dim),
        up: Linear(dim, 4 * dim),
        down: Linear(4 * dim, dim),
    }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            let (q, k, v) = split(self.mix(self.first(x)), 3);
            let seen = attend(heads(q, 3), heads(k, 3), heads(v, 3), causal = true);
            let y = x + self.project(merge_heads(seen));
            y + self.down(dropout(gelu(self.up(self.second(y))), 0.1))
        }
    }

    impl Net {
        /// Scores for each image.
        pub fn scores(&self, image: f32[B, 3, 14, 14]) -> f32[B, CLASSES] {
            let x = silu(self.deep(tanh(self.wide(relu(self.stem(sin(image * 1e5)))))));
            let x = softplus(self.norm(self.down(x)));
            let mut x = transpose(reshape(x, [B, 24, 49]), 0, 2, 1);
            for block in self.blocks { x = block(x); }
            let (y, _, _) = self.memory(x);
            self.head(mean(y, axis = 1))
        }

        /// Mean cross-entropy.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 3, 14, 14], label: u32[B]) -> f32 { cross_entropy(self.scores(image), label) }
    }

    /// The same on the machine's own instructions.
    pub struct Fast = Net;

    /// Products with parameters in fewer bits.
    #[model(deterministic, precision = bf16)]
    pub struct Small = Net;
}

/// The bits of scores, gradients and what 20 steps make of parameters, with the losses.
fn bits(seed: u64, batch: usize) -> Vec<Vec<u32>> {
    let image: Vec<[[[f32; 14]; 14]; 3]> = images(batch);
    let label: Vec<u32> = (0..batch as u32).map(|n| n % 10).collect();
    let mut net = Net::init(seed);
    let mut all = vec![net.scores(&image).unwrap().iter().flatten().map(|x| x.to_bits()).collect()];
    all.push(Small::init(seed).scores(&image).unwrap().iter().flatten().map(|x| x.to_bits()).collect());
    let mut trainer = net.trainer(AdamW { rate: 1e-2, ..default() });
    let gradients = trainer.loss_gradients(&image, &label).unwrap();
    all.push(gradients.iter().flat_map(|(_, _, values)| values.iter().map(|x| x.to_bits())).collect());
    drop(gradients);
    for _ in 0..20 {
        let loss = trainer.loss(&image, &label).unwrap().value().unwrap();
        all.push(vec![loss.to_bits()]);
    }
    drop(trainer);
    all.push(net.scores(&image).unwrap().iter().flatten().map(|x| x.to_bits()).collect());
    all
}

fn images(batch: usize) -> Vec<[[[f32; 14]; 14]; 3]> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut number = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / 8_388_608.0 - 1.0
    };
    let mut image = vec![[[[0.0; 14]; 14]; 3]; batch];
    image.iter_mut().flatten().flatten().flatten().for_each(|x| *x = number());
    image
}

#[test]
fn a_deterministic_model_has_the_same_bits_on_every_instruction_set_and_with_any_number_of_threads() {
    for batch in [1, 3] {
        let mut first: Option<Vec<Vec<u32>>> = None;
        let mut done = vec![];
        for (position, isa) in Isa::available().enumerate() {
            let family = Deterministic::from(isa);
            if done.contains(&family) {
                continue;
            }
            done.push(family);
            force_isa(Some(position));
            for threads in [1, 3] {
                set_threads(threads);
                let found = bits(7, batch);
                let first = first.get_or_insert_with(|| found.clone());
                for (number, (found, first)) in found.iter().zip(&*first).enumerate() {
                    assert!(
                        found == first,
                        "{family:?}, {threads} threads, {batch} images: list {number} has other bits"
                    );
                }
            }
        }
        force_isa(None);
        set_threads(0);
    }
}

#[test]
fn a_deterministic_model_says_what_others_say() {
    let image = images(4);
    let (exact, fast) = (Net::init(3), Fast::init(3));
    let (exact, fast) = (exact.scores(&image).unwrap(), fast.scores(&image).unwrap());
    for (exact, fast) in exact.iter().flatten().zip(fast.iter().flatten()) {
        assert!((exact - fast).abs() < 1e-5, "{exact} {fast}");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_refuses_a_deterministic_model() {
    if std::env::var_os("PRECAST_WITHOUT_GPU").is_some() {
        return;
    }
    let gpu = precast::Gpu::new().unwrap();
    let error = Net::init(1).on(&gpu).unwrap_err();
    assert_eq!(error.to_string(), "`Net` is `#[model(deterministic)]`, which no gpu can promise: run it on `Cpu`");
}
