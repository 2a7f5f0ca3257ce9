//! Trains a character-level GPT on Shakespeare and lets it write, one character at a time against a key-value cache.
//!
//! ```text
//! cargo run --release -p examples --example gpt
//! cargo run --release -p examples --example gpt --features gpu -- --device gpu
//! ```
//!
//! Network, batches and rates are those of nanoGPT's configuration for CPUs: 4 layers, 4 heads, 128 wide, 64 characters
//! of context, 2,000 steps of 12 windows. `torch/gpt.py` trains the same with PyTorch.

use std::{error::Error, time::Instant};

use examples::{
    arguments::Arguments,
    progress::Progress,
    text::{Alphabet, SHAKESPEARE, Windows},
};
use precast::View;
use precast::prelude::*;

model! {
    /// Predicts the next character.
    pub struct Gpt(layers = 4, heads = 4, dim = 128, context = 64, vocab = 65) {
        token: Embedding(vocab, dim, init = normal(0.02)),
        position: Embedding(context, dim, init = normal(0.02)),
        blocks: [Block(dim, heads, context, 0.02 / sqrt(2.0 * layers)); layers],
        norm: LayerNorm(dim, bias = false),
    }

    struct Block(dim, heads, context, out_std) {
        norm1: LayerNorm(dim, bias = false),
        attention: CausalAttention(dim, heads, context, out_std),
        norm2: LayerNorm(dim, bias = false),
        up: Linear(dim, 4 * dim, bias = false, init = normal(0.02)),
        down: Linear(4 * dim, dim, bias = false, init = normal(out_std)),
    }

    impl Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.attention(self.norm1(x));
            x + self.down(gelu(self.up(self.norm2(x))))
        }

        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let x = x + self.attention.step(self.norm1(x), at);
            x + self.down(gelu(self.up(self.norm2(x))))
        }
    }

    struct CausalAttention(dim, heads, context, out_std) {
        qkv: Linear(dim, 3 * dim, bias = false, init = normal(0.02)),
        out: Linear(dim, dim, bias = false, init = normal(out_std)),
        state keys: f32[B, heads, context, dim / heads],
        state values: f32[B, heads, context, dim / heads],
    }

    impl CausalAttention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.out(merge_heads(attend(heads(q, heads), heads(k, heads), heads(v, heads), causal = true)))
        }

        /// One character against those before it.
        fn step(&mut self, x: f32[B, dim], at: u32) -> f32[B, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.keys[.., .., at] = heads(k, heads);
            self.values[.., .., at] = heads(v, heads);
            self.out(merge_heads(attend(heads(q, heads), self.keys[.., .., ..=at], self.values[.., .., ..=at])))
        }
    }

    impl Gpt {
        /// Unnormalised scores of the next character, at every place.
        pub fn scores(&self, id: u32[B, T <= context]) -> f32[B, T, vocab] {
            let mut x = self.token(id) + self.position(iota(T));
            for block in self.blocks {
                x = block(x);
            }
            matmul(self.norm(x), transpose(self.token.weight))
        }

        /// The scores behind the character `id` at the place `at`; those before it are in the cache.
        pub fn next(&mut self, id: u32[B], at: u32) -> f32[B, vocab] {
            let mut x = self.token(id) + self.position(at);
            for block in self.blocks {
                x = block.step(x, at);
            }
            matmul(self.norm(x), transpose(self.token.weight))
        }

        /// Mean cross-entropy of the next characters.
        #[train(AdamW)]
        pub fn loss(&self, id: u32[B, T <= context], next: u32[B, T]) -> f32 {
            cross_entropy(reshape(self.scores(id), [B * T, vocab]), reshape(next, [B * T]))
        }
    }
}
