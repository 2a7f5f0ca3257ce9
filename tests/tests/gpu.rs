//! What a program can rely on when it trains on a GPU: the same losses as on the CPU, nothing created after warm-up, few
//! dispatches, and errors instead of panics when the device is gone.
//!
//! One test, because the count of allocations is that of the process.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::prelude::*;
use precast_compiler::ir::Mode;
use precast_compiler::ir::program::{KernelId, Step};
use precast_compiler::pipeline;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use tests::gpu;

static COUNT: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call is passed on to the system's allocator as it came; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: `layout` is not empty by the contract of `alloc`, which is that of `System` too.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `System`, with this layout, as all that is allocated here does.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// The network of the digits example, as tokens for whoever wants them.
macro_rules! digits {
    ($with:ident) => {
        $with! {
            /// Handwritten digits.
            pub struct Digits {
                conv1: Conv2d(1, 16, kernel = 3, padding = 1),
                conv2: Conv2d(16, 32, kernel = 3, padding = 1),
                hidden: Linear(32 * 2 * 2, 64),
                output: Linear(64, 10),
            }

            impl Digits {
                /// Unnormalised class scores.
                pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
                    let x = max_pool2d(relu(self.conv1(image)), window = 2);
                    let x = max_pool2d(relu(self.conv2(x)), window = 2);
                    let x = relu(self.hidden(flatten(x)));
                    self.output(dropout(x, 0.25))
                }

                /// Mean cross-entropy over the batch.
                #[train(AdamW)]
                pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
                    cross_entropy(self.scores(image), label)
                }
            }
        }
    };
}

digits!(model);

type Image = [[[f32; 8]; 8]; 1];

fn batch(count: usize) -> (Vec<Image>, Vec<u32>) {
    let mut state = 1u32;
    let mut noise = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32
    };
    let mut images = vec![[[[0.0; 8]; 8]; 1]; count];
    images.as_flattened_mut().as_flattened_mut().as_flattened_mut().iter_mut().for_each(|x| *x = noise());
    (images, (0..count as u32).map(|i| i * 7 % 10).collect())
}

#[test]
fn a_gpu_step_is_that_of_the_cpu_and_creates_nothing() {
    let Some(gpu) = gpu() else { return };
    let (images, labels) = batch(17);
    let mut on_cpu = Digits::init(3);
    let mut on_gpu = on_cpu.on(&gpu).unwrap();
    let scores = on_cpu.scores(&images).unwrap();
    for (a, b) in scores.as_flattened().iter().zip(on_gpu.scores(&images).unwrap().as_flattened()) {
        assert!((a - b).abs() < 1e-4, "{a} on the CPU, {b} on the GPU");
    }
    let (mut cpu, mut trainer) = (on_cpu.trainer(AdamW::default()), on_gpu.trainer(AdamW::default()));
    for step in 0..5 {
        let expected = cpu.loss(&images, &labels).unwrap().value().unwrap();
        let found = trainer.loss(&images, &labels).unwrap().value().unwrap();
        assert!((expected - found).abs() < 1e-3 * expected, "step {step}: {expected} on the CPU, {found} on the GPU");
    }
    let created = gpu.created();
    let mut allocations = vec![];
    for _ in 0..9 {
        let before = COUNT.load(Ordering::Relaxed);
        let loss = trainer.loss(&images, &labels).unwrap();
        let after = COUNT.load(Ordering::Relaxed);
        loss.value().unwrap();
        allocations.push(after - before);
    }
    assert_eq!(gpu.created(), created, "a step created something on the device");
    allocations.sort_unstable();
    println!("host allocations of a GPU step: {}", allocations[0]);
    // Lists of wgpu's own grow now and then, so a few steps may make one more.
    assert_eq!(allocations[0], allocations[6], "the host allocations of a step vary: {allocations:?}");

    gpu.destroy();
    let error = trainer.loss(&images, &labels).and_then(|l| l.value()).unwrap_err();
    println!("after the device was destroyed: {error}");
    assert!(on_gpu.scores(&images).is_err());
    on_cpu.scores(&images).unwrap();

    let count = dispatches();
    println!("dispatches of a step: {count}");
    assert!(count <= 30, "{count} dispatches");
}

/// The dispatches of a step of the digits network.
fn dispatches() -> usize {
    fn launches(steps: &[Step<KernelId>]) -> usize {
        steps
            .iter()
            .map(|step| match step {
                Step::Launch { .. } | Step::Joined { .. } => 1,
                Step::Loop { count, body, .. } => count.as_const().unwrap_or(1) as usize * launches(body),
                Step::Foreign { .. } => 0,
                Step::Branch { .. } | Step::Fused { .. } => step.bodies().into_iter().map(launches).sum(),
            })
            .sum()
    }
    let (models, diags) = pipeline::check(digits!(stringify).parse().unwrap());
    assert!(diags.is_empty());
    let compiled = pipeline::lower(models.into_iter().next().unwrap());
    let trained = compiled.model.functions.iter().position(|f| matches!(f.mode, Mode::Train(_))).unwrap();
    launches(&compiled.plans.plans[trained].program.steps)
}
