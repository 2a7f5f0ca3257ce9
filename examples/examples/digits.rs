//! Trains a small convolutional network on the UCI handwritten digits, saves it, loads it again and
//! shows what it sees.
//!
//! ```text
//! cargo run --release -p examples --example digits
//! cargo run --release -p examples --example digits --features gpu -- --device gpu
//! ```

use std::{error::Error, path::PathBuf, time::Instant};

use examples::{
    digits::{Image, Samples, split},
    picture,
    progress::Progress,
};
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::prelude::*;

model! {
    /// Handwritten digits: 8×8 grey pixels to ten classes.
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

const USAGE: &str = "usage: digits [--seed N] [--seeds] [--epochs N] [--save FILE] [--device cpu|gpu]
  --seeds trains five times, from seed N on, and reports the median";

struct Options {
    seed: u64,
    seeds: u64,
    epochs: u64,
    save: PathBuf,
}

fn main() -> Result<(), Box<dyn Error>> {
    let save = std::env::temp_dir().join("digits.safetensors");
    let mut options = Options { seed: 42, seeds: 1, epochs: 15, save };
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("seeds") => options.seeds = 5,
            Long("epochs") => options.epochs = parser.value()?.parse()?,
            Long("save") => options.save = parser.value()?.into(),
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
    let (train_samples, test_samples) = split()?;
    println!("{} parameters on {device:?}", Digits::PARAMS);
    let mut counts = vec![];
    for seed in options.seed..options.seed + options.seeds {
        let start = Instant::now();
        let mut digits = Digits::init(seed).on(device)?;
        train(&mut digits, &train_samples, seed, options.epochs)?;
        digits.save(&options.save)?;

        let saved = Digits::open(&options.save)?.on(device)?;
        let scores = saved.scores(&test_samples.images)?;
        let guesses: Vec<u32> = scores.iter().map(largest).collect();
        let right = guesses.iter().zip(&test_samples.labels).filter(|(guess, label)| guess == label).count();
        println!("{}", show(&test_samples, &guesses));
        println!("seed {seed}: {right} right after {:.1} s", start.elapsed().as_secs_f32());
        counts.push(right);
    }
    counts.sort_unstable();
    let (right, all) = (counts[counts.len() / 2], test_samples.labels.len());
    println!("test accuracy: {:.4} ({right} of {all})", right as f64 / all as f64);
    Ok(())
}

fn train<D: Blocking>(digits: &mut Digits<D>, samples: &Samples, seed: u64, epochs: u64) -> precast::Result<()> {
    let rate = 1e-2;
    let mut loader = Loader::new(&samples.images, &samples.labels, 64)?;
    let mut losses = Vec::with_capacity(loader.batches());
    let mut trainer = digits.trainer(AdamW { rate, ..default() });
    trainer.seed = seed;
    trainer.group("*.bias", |o| o.decay = 0.0)?;
    for epoch in 0..epochs {
        // Half a cosine from the full rate down to zero.
        let turn = epoch as f32 / epochs as f32 * core::f32::consts::PI;
        trainer.optimizer.rate = rate * (1.0 + turn.cos()) / 2.0;
        let mut progress = Progress::new(loader.batches());
        for (image, label) in loader.shuffled(seed + epoch) {
            losses.push(trainer.loss(image, label)?);
            progress.step(format_args!("epoch {:>2}", epoch + 1));
        }
        drop(progress);
        // Losses are read once an epoch, so that a GPU never waits for the program.
        let mut sum = 0.0;
        for loss in &losses {
            sum += loss.value()?;
        }
        println!("epoch {:>2}: loss {:.4}", epoch + 1, sum / losses.len() as f32);
        losses.clear();
    }
    Ok(())
}

/// The digit with the largest score.
fn largest(scores: &[f32; 10]) -> u32 {
    (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0) as u32
}

/// A few test digits, mistakes first, with what the network takes them for.
fn show(samples: &Samples, guesses: &[u32]) -> String {
    let mut order: Vec<usize> = (0..guesses.len()).collect();
    order.sort_by_key(|&at| guesses[at] == samples.labels[at]);
    let shown = &order[..order.len().min(5)];
    let images: Vec<[[f32; 8]; 8]> = shown.iter().map(|&at| image(&samples.images[at])).collect();
    let caption = |&at: &usize| match (guesses[at], samples.labels[at]) {
        (guess, label) if guess == label => format!("{guess}"),
        (guess, label) => format!("{guess} (is {label})"),
    };
    picture::row(&images, &shown.iter().map(caption).collect::<Vec<_>>())
}

/// The only channel of an image.
fn image([channel]: &Image) -> [[f32; 8]; 8] {
    *channel
}
