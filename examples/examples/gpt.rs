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
    progress::Progress,
    text::{Alphabet, SHAKESPEARE, Windows},
};
use lexopt::{Arg::Long, Parser, ValueExt};
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
            self.keys[_, _, at] = heads(k, heads);
            self.values[_, _, at] = heads(v, heads);
            self.out(merge_heads(attend(heads(q, heads), self.keys[_, _, ..=at], self.values[_, _, ..=at])))
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

const USAGE: &str = "usage: gpt [--steps N] [--seed N] [--batch N] [--write N] [--test N] [--device cpu|gpu]
  --write N lets the network write so many characters, --test N tests it on so many batches";

/// The extents of the network that the program counts with.
const CONTEXT: usize = 64;
const VOCAB: usize = 65;

struct Options {
    steps: u32,
    seed: u64,
    batch: usize,
    write: usize,
    test: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = Options { steps: 2000, seed: 1, batch: 12, write: 500, test: 200 };
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("steps") => options.steps = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("batch") => options.batch = parser.value()?.parse()?,
            Long("write") => options.write = parser.value()?.parse()?,
            Long("test") => options.test = parser.value()?.parse::<u32>()?.max(1),
            Long("device") => device = parser.value()?.string()?,
            _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
        }
    }
    match device.as_str() {
        "cpu" => run(&Cpu, &options),
        #[cfg(feature = "gpu")]
        "gpu" => run(&Gpu::new()?, &options),
        #[cfg(not(feature = "gpu"))]
        "gpu" => Err("build with `--features gpu`".into()),
        other => Err(format!("there is no device `{other}`\n{USAGE}").into()),
    }
}

fn run<D: Blocking>(device: &D, options: &Options) -> Result<(), Box<dyn Error>> {
    println!("{} parameters on {device:?}", Gpt::PARAMS);
    let alphabet = Alphabet::of(SHAKESPEARE);
    let ids = alphabet.encode(SHAKESPEARE);
    // Nine tenths are learnt from, the rest is kept for testing.
    let (learnt, kept) = ids.split_at(ids.len() / 10 * 9);
    let mut gpt = Gpt::init(options.seed).on(device)?;
    let start = Instant::now();
    train(&mut gpt, learnt, options)?;
    let seconds = start.elapsed().as_secs_f32();
    println!("{} steps of {} windows in {seconds:.1} s", options.steps, options.batch);
    println!("loss on text that it has not seen: {:.4}", evaluate(&gpt, kept, options.test)?);
    println!("\n{}", alphabet.decode(&write(&gpt, &alphabet.encode("\n"), options)?));
    let (whole, cached) = (without_cache(&gpt)?, with_cache(&gpt)?);
    println!(
        "with and without the cache the most likely characters are {}",
        if whole == cached { "the same" } else { "different" }
    );
    Ok(())
}

/// The rate of a step: a hundred steps up to 1e-3, then half a cosine down to 1e-4.
fn rate(step: u32, steps: u32) -> f32 {
    let (warm, most, least) = (100.min(steps), 1e-3, 1e-4);
    if step < warm {
        return most * (step + 1) as f32 / (warm + 1) as f32;
    }
    let turn = (step - warm) as f32 / (steps - warm) as f32 * core::f32::consts::PI;
    least + (most - least) * (1.0 + turn.cos()) / 2.0
}

fn train<D: Blocking>(gpt: &mut Gpt<D>, text: &[u32], options: &Options) -> precast::Result<()> {
    let mut trainer = gpt.trainer(AdamW { beta2: 0.99, decay: 0.1, clip: Some(1.0), ..default() });
    trainer.group("*norm*", |o| o.decay = 0.0)?;
    let mut windows = Windows::new(text, options.seed);
    let (mut id, mut next) = (vec![], vec![]);
    let mut losses = vec![];
    let mut progress = Progress::new(options.steps as usize);
    for step in 0..options.steps {
        trainer.optimizer.rate = rate(step, options.steps);
        windows.draw(options.batch, CONTEXT, &mut id, &mut next);
        let shape = [options.batch, CONTEXT];
        losses.push(trainer.loss(View::new(&id, shape)?, View::new(&next, shape)?)?);
        progress.step(format_args!("step {:>4}", step + 1));
        // Losses are read now and then, so that a GPU never waits for the program.
        if losses.len() == 250 || step + 1 == options.steps {
            let mut sum = 0.0;
            for loss in &losses {
                sum += loss.value()?;
            }
            println!("step {:>4}: loss {:.4}", step + 1, sum / losses.len() as f32);
            losses.clear();
        }
    }
    Ok(())
}

/// The mean cross-entropy over batches of windows, the same in every run.
fn evaluate<D: Blocking>(gpt: &Gpt<D>, text: &[u32], batches: u32) -> precast::Result<f32> {
    let mut windows = Windows::new(text, 0);
    let mut session = gpt.session(GptDims { B: 12 })?;
    let (mut id, mut next) = (vec![], vec![]);
    let mut sum = 0.0;
    for _ in 0..batches {
        windows.draw(12, CONTEXT, &mut id, &mut next);
        sum += session.loss(View::new(&id, [12, CONTEXT])?, View::new(&next, [12, CONTEXT])?)?;
    }
    Ok(sum / batches as f32)
}

/// Characters drawn one after the other. Where the context is full, it goes on from its second half.
fn write<D: Blocking>(gpt: &Gpt<D>, prompt: &[u32], options: &Options) -> precast::Result<Vec<u32>> {
    let mut session = gpt.session(GptDims { B: 1 })?;
    let mut text = prompt.to_vec();
    let mut state = options.seed;
    let (mut seen, mut at) = (0, 0);
    while text.len() < prompt.len() + options.write {
        if at == CONTEXT {
            (seen, at) = (text.len() - CONTEXT / 2, 0);
        }
        let scores = session.next(&[text[seen]], at as u32)?[0];
        (seen, at) = (seen + 1, at + 1);
        if seen == text.len() {
            text.push(draw(&scores, &mut state));
        }
    }
    Ok(text)
}

/// A character as likely as its score says.
fn draw(scores: &[f32; VOCAB], state: &mut u64) -> u32 {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights = scores.map(|score| (score - most).exp());
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let mut rest = (*state >> 40) as f32 / (1u64 << 24) as f32 * weights.iter().sum::<f32>();
    for (id, weight) in weights.iter().enumerate() {
        rest -= weight;
        if rest < 0.0 {
            return id as u32;
        }
    }
    VOCAB as u32 - 1
}

/// The character with the largest score.
fn largest(scores: &[f32; VOCAB]) -> u32 {
    (0..VOCAB).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0) as u32
}

/// A full context of most likely characters, each from all those before it.
fn without_cache<D: Blocking>(gpt: &Gpt<D>) -> precast::Result<Vec<u32>> {
    let mut text = vec![0];
    while text.len() <= CONTEXT {
        let scores = gpt.scores(View::new(&text, [1, text.len()])?)?;
        text.extend(scores.data().last().map(largest));
    }
    Ok(text)
}

/// The same against the cache.
fn with_cache<D: Blocking>(gpt: &Gpt<D>) -> precast::Result<Vec<u32>> {
    let mut session = gpt.session(GptDims { B: 1 })?;
    let mut text = vec![0];
    for at in 0..CONTEXT {
        let scores = session.next(&[text[at]], at as u32)?[0];
        text.push(largest(&scores));
    }
    Ok(text)
}
