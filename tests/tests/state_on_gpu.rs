//! The state of a session on a GPU: what it holds is what a session on the CPU holds, and it travels through files.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::prelude::*;
use tests::gpu;

model! {
    /// Caches of repeated blocks, a recurrent state, and states that branches and scans change.
    pub struct Chat(layers = 3, dim = 8, context = 6) {
        blocks: [Block(dim, context); layers],
        mix: Linear(dim, dim),
        state h: f32[B, dim],
        state words: u32,
        state longest: f32[dim],
    }

    struct Block(dim, context) {
        qkv: Linear(dim, 3 * dim),
        state keys: f32[B, context, dim],
        state values: f32[B, context, dim],
    }

    impl Block {
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.keys[_, at, _] = k;
            self.values[_, at, _] = v;
            let scores = softmax(einsum("bd,btd->bt", q, self.keys[_, ..=at, _]), axis = -1);
            x + einsum("bt,btd->bd", scores, self.values[_, ..=at, _])
        }
    }

    impl Chat {
        /// One place.
        pub fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block.step(x, at); }
            self.h = tanh(x + self.mix(self.h));
            self.words += 1;
            self.h
        }

        /// Keeps the sum of rows, or forgets it.
        pub fn keep(&mut self, x: f32[T, dim], forget: bool) -> f32[dim] {
            if forget { self.longest = zeros([dim]); } else {
                self.longest += fold(x, from = self.longest, |sum, row| 0.5 * sum + row);
            }
            self.longest
        }

        /// The number of places so far.
        pub fn count(&self) -> u32 { self.words }
    }
}

fn near(found: &[f32], expected: &[f32]) {
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-4), "{found:?} instead of {expected:?}");
}

fn place(t: usize) -> [[f32; 8]; 2] {
    [0, 1].map(|b| std::array::from_fn(|i| ((3 * t + 5 * b + 7 * i) % 11) as f32 / 5.0 - 1.0))
}

#[test]
fn a_gpu_keeps_what_the_cpu_keeps() {
    let Some(gpu) = gpu() else { return };
    let on_cpu = Chat::init(4);
    let on_gpu = on_cpu.on(&gpu).unwrap();
    let (mut cpu, mut session) =
        (on_cpu.session(ChatDims { B: 2 }).unwrap(), on_gpu.session(ChatDims { B: 2 }).unwrap());
    let path = std::env::temp_dir().join(format!("precast-gpu-state-{}.safetensors", std::process::id()));
    for t in 0..6 {
        let expected = cpu.step(&place(t), t as u32).unwrap().as_flattened().to_vec();
        near(session.step(&place(t), t as u32).unwrap().as_flattened(), &expected);
        if t == 3 {
            session.save(&path).unwrap();
        }
    }
    assert_eq!(session.count().unwrap(), 6);
    let created = gpu.created();
    for forget in [false, false, true, false] {
        let expected = *cpu.keep(&place(1), forget).unwrap();
        near(session.keep(&place(1), forget).unwrap(), &expected);
    }
    session.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(session.count().unwrap(), 4);
    cpu.reset().unwrap();
    for t in 0..6 {
        cpu.step(&place(t), t as u32).unwrap();
    }
    let expected = cpu.step(&place(2), 5).unwrap().as_flattened().to_vec();
    session.step(&place(4), 4).unwrap();
    session.step(&place(5), 5).unwrap();
    near(session.step(&place(2), 5).unwrap().as_flattened(), &expected);
    session.reset().unwrap();
    assert_eq!(session.count().unwrap(), 0);
    println!("created {:?}, then {:?}", created, gpu.created());
    let created = gpu.created();
    for t in 0..6 {
        session.step(&place(t), t as u32).unwrap();
    }
    assert_eq!(gpu.created(), created, "a call created something on the device");
}
