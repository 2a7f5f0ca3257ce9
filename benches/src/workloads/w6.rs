//! W6: a GPT on characters, 4 blocks, 128 wide, 4 heads, 64 places, 65 characters: a step of AdamW on 12 windows.

use super::checked::owned;
use super::{Argument, Checked, Measure};
use precast::View;
use precast::prelude::*;
use std::error::Error;

model! {
    /// W6.
    pub struct W6(dim = 128, heads = 4, context = 64, vocab = 65, layers = 4) {
        token: Embedding(vocab, dim, init = normal(0.02)),
        position: Embedding(context, dim, init = normal(0.02)),
        blocks: [Block(dim, heads); layers],
        norm: LayerNorm(dim, bias = false),
    }

    struct Block(dim, heads) {
        n1: LayerNorm(dim, bias = false), n2: LayerNorm(dim, bias = false),
        qkv: Linear(dim, 3 * dim, bias = false, init = normal(0.02)),
        o: Linear(dim, dim, bias = false, init = normal(0.007)),
        f1: Linear(dim, 4 * dim, bias = false, init = normal(0.02)),
        f2: Linear(4 * dim, dim, bias = false, init = normal(0.007)),
    }

    impl Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(self.n1(x)), 3, axis = -1);
            let a = attend(heads(q, heads), heads(k, heads), heads(v, heads), causal = true);
            let x = x + self.o(merge_heads(a));
            x + self.f2(gelu(self.f1(self.n2(x))))
        }
    }

    impl W6 {
        /// Unnormalised scores of the next character, at every place.
        pub fn scores(&self, id: u32[B, T <= context]) -> f32[B, T, vocab] {
            let mut x = self.token(id) + self.position(iota(T));
            for block in self.blocks {
                x = block(x);
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

/// So many characters, and those that follow.
pub(crate) fn characters(count: u32) -> (Vec<u32>, Vec<u32>) {
    ((0..count).map(|i| i * 37 % 65).collect(), (0..count).map(|i| i * 53 % 64).collect())
}

pub(super) fn step(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let mut model = W6::init(0);
    let mut trainer = model.trainer(AdamW { rate: 1e-3, beta2: 0.99, decay: 0.1, ..default() });
    let (mut id, next) = characters(12 * 64);
    trainer.loss(View::new(&id, [12, 64])?, View::new(&next, [12, 64])?)?.value()?;
    measure("W6t", 1, &mut || {
        let loss = View::new(&id, [12, 64])
            .and_then(|id| trainer.loss(id, View::new(&next, [12, 64])?))
            .and_then(|loss| loss.value())
            .unwrap_or(f32::NAN);
        id[0] = (loss * 1e3) as u32 % 65;
        loss
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let mut model = W6::init(0);
    let parameters = owned(model.parameters());
    let (id, next) = characters(3 * 64);
    let (ids, nexts) = (View::new(&id, [3, 64])?, View::new(&next, [3, 64])?);
    let gradients = model.trainer(AdamW::default()).loss_gradients(ids, nexts)?;
    Ok(Checked {
        source: include_str!("w6.rs"),
        function: "loss",
        parameters,
        result: vec![gradients.loss],
        arguments: vec![Argument::Indices(vec![3, 64], id), Argument::Indices(vec![3, 64], next)],
        gradients: owned(gradients.iter()),
    })
}
