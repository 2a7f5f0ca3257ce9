//! Devices that bind less than a model has: pools that are larger than a binding are seen in parts, with the same results to the
//! last bit, and what fits into no binding is an error that says so.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::prelude::*;
use precast::{Error, Gpu};
use tests::{limited, rows};

model! {
    /// Blocks whose values all live until the way back.
    pub struct Tower { blocks: [Block; 5], output: Linear(32, 3) }

    struct Block { norm: LayerNorm(32), hidden: Linear(32, 64), back: Linear(64, 32) }

    impl Block {
        fn forward(&self, x: f32[B, 32]) -> f32[B, 32] { x + self.back(gelu(self.hidden(self.norm(x)))) }
    }

    impl Tower {
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 32], class: u32[B]) -> f32 {
            cross_entropy(self.scores(x), class)
        }

        pub fn scores(&self, x: f32[B, 32]) -> f32[B, 3] {
            let mut h = x;
            for block in self.blocks { h = block(h); }
            self.output(h)
        }
    }
}

/// The losses of some steps and the scores after them.
fn trained(gpu: &Gpu, batch: usize) -> precast::Result<(Vec<f32>, Vec<[f32; 3]>)> {
    let mut model = Tower::init(3).on(gpu)?;
    let (x, class) = (rows(batch, 1), (0..batch as u32).map(|n| n % 3).collect::<Vec<_>>());
    let mut losses = vec![];
    let mut trainer = model.trainer(AdamW { rate: 1e-3, ..default() });
    for _ in 0..3 {
        losses.push(trainer.loss(&x, &class)?.value()?);
    }
    drop(trainer);
    Ok((losses, model.scores(&x)?))
}

#[test]
fn a_model_may_be_larger_than_a_binding() {
    let Some(own) = limited(|_| {}) else { return };
    let expected = trained(&own, 512).unwrap();
    // A turn of the blocks touches 512 · 64 words of a value, and all turns five times as many.
    let small = limited(|limits| limits.max_storage_buffer_binding_size = 3 << 16).unwrap();
    assert_eq!(trained(&small, 512).unwrap(), expected);
}

#[test]
fn webgpus_smallest_limits_suffice() {
    let Some(own) = limited(|_| {}) else { return };
    let smallest = limited(|limits| *limits = wgpu::Limits::default()).unwrap();
    assert_eq!(trained(&smallest, 33).unwrap(), trained(&own, 33).unwrap());
}

#[test]
fn asking_again_and_again_gives_the_same() {
    let Some(own) = tests::gpu() else { return };
    let busy = Gpu::options().without_cache().busy_poll().open().unwrap();
    assert_eq!(trained(&busy, 33).unwrap(), trained(&own, 33).unwrap());
}

#[test]
fn what_fits_into_no_binding_is_an_error() {
    let Some(tiny) = limited(|limits| limits.max_storage_buffer_binding_size = 1 << 16) else { return };
    let Err(Error::Device { reason }) = trained(&tiny, 512) else { panic!("a binding of 64 KiB is too small") };
    assert!(reason.contains("in one binding, this one offers 65536"), "{reason}");
}
