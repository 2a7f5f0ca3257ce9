//! What calls cost: constant functions that agree with the arithmetic of papers and with what is allocated.

use precast::prelude::*;

model! {
    /// A product, a convolution, a mean and repeated blocks.
    pub struct Net {
        input: Linear(12, 32),
        blocks: [Block; 5],
        patch: Conv2d(3, 8, kernel = 3, padding = 1, bias = false),
    }

    struct Block { body: Linear(32, 32, bias = false) }

    impl Block {
        fn forward(&self, x: f32[.., 32]) -> f32[.., 32] { self.body(x) }
    }

    impl Net {
        /// `32 · 12` products and a sum for each row.
        pub fn entered(&self, x: f32[B, 12]) -> f32[B, 32] { self.input(x) }

        /// Five blocks.
        pub fn blocked(&self, x: f32[B, T <= 64, 32]) -> f32[B, T, 32] {
            let mut x = x;
            for block in self.blocks { x = block(x); }
            x
        }

        /// A window of `3 · 3 · 3` for each of `8 · 6 · 6` elements.
        pub fn patched(&self, image: f32[3, 6, 6]) -> f32[8, 6, 6] {
            squeeze(self.patch(unsqueeze(image, axis = 0)), axis = 0)
        }

        /// Moves, compares and chooses.
        pub fn moved(&self, x: f32[In, 4], other: f32[In, 4]) -> f32[In, 4] {
            where(x > other, flip(x, axis = 1), other)
        }

        /// Several elements in each word.
        pub fn halved(&self, pixels: u8[B, 4]) -> u8[B, 4] { pixels / 2 }

        /// A sum of so many numbers that nobody stores.
        pub fn drawn(&self, x: f32[In], key: u32[2]) -> f32 { sum(normal(key, [In, In, In, In])) + sum(x) }

        /// A mean of squares: a difference, a square and a sum for each element, and a quotient.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 12], y: f32[B, 32]) -> f32 { mse_loss(self.entered(x), y) }
    }
}

#[test]
fn operations_are_those_of_the_formulas() {
    assert_eq!(Net::entered_flops(7), 7 * (2 * 12 * 32 + 32));
    assert_eq!(Net::blocked_flops(7, 3), 5 * 7 * 3 * 2 * 32 * 32);
    assert_eq!(Net::patched_flops(), 2 * 3 * 9 * 8 * 36);
    assert_eq!(Net::moved_flops(100), 0);
    let forward = Net::entered_flops(7);
    assert!((3 * 7 * 32..=4 * 7 * 32 + 2).contains(&(Net::loss_flops(7) - forward)));
    // Without the gradient of the argument a step has two products of that size, and updates every parameter.
    let step = NetTrainer::<Sgd>::loss_flops(7);
    assert!(step > 2 * forward && step < 3 * forward + 20 * Net::PARAMS as u64, "{step}");
}

#[test]
fn costs_are_constants() {
    const BYTES: usize = Net::blocked_arena_bytes(1, 64);
    const OPERATIONS: u64 = Net::patched_flops();
    static ROOM: [u8; BYTES] = [0; BYTES];
    assert!(ROOM.len() >= 4 * 64 * 32 && OPERATIONS > 0);
    assert!(Net::blocked_arena_bytes(2, 64) > BYTES);
    assert!(NetTrainer::<Sgd>::loss_arena_bytes(8) >= Net::loss_arena_bytes(8));
}

#[test]
fn what_is_refused_costs_too_much() {
    assert_eq!(Net::entered_arena_bytes(usize::MAX), usize::MAX);
    assert_eq!(Net::entered_flops(usize::MAX), u64::MAX);
}

#[test]
fn elements_that_are_smaller_than_words_are_counted() -> precast::Result<()> {
    assert_eq!(Net::init(1).halved(&[[0, 7, 8, 255]])?, [[0, 3, 4, 127]]);
    assert!(Net::halved_arena_bytes(1 << 28) < usize::MAX);
    // A quarter as many words could be counted in 32 bits.
    assert_eq!(Net::halved_arena_bytes(1 << 29), usize::MAX);
    Ok(())
}

#[test]
fn what_is_never_stored_is_counted() -> precast::Result<()> {
    let net = Net::init(1);
    assert!(net.drawn(&[0.5; 3], &[1, 2])?.is_finite());
    assert!(matches!(net.drawn(&[0.5; 1 << 16], &[1, 2]), Err(precast::Error::Overflow { function: "drawn" })));
    assert_eq!((Net::drawn_arena_bytes(1 << 16), Net::drawn_arena_bytes(8) < 1 << 16), (usize::MAX, true));
    Ok(())
}
