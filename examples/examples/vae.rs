//! Trains a variational autoencoder (Kingma and Welling 2013) on the UCI handwritten digits, then draws digits that
//! nobody wrote. What is drawn depends on a key alone: the same key gives the same digits on every device.
//!
//! ```text
//! cargo run --release -p examples --example vae
//! cargo run --release -p examples --example vae --features gpu -- --device gpu
//! ```

use std::{error::Error, time::Instant};

use examples::{
    digits::{Image, Samples, split},
    picture,
    progress::Progress,
};
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::prelude::*;

model! {
    /// An encoder to a normal distribution over codes, and a decoder from a code to pixels.
    pub struct Vae(code = 8) {
        encoder: Linear(64, 128),
        centre: Linear(128, code),
        log_variance: Linear(128, code),
        decoder: Linear(code, 128),
        pixels: Linear(128, 64),
    }

    impl Vae {
        fn encode(&self, image: f32[B, 1, 8, 8]) -> (f32[B, code], f32[B, code]) {
            let x = silu(self.encoder(flatten(image)));
            (self.centre(x), self.log_variance(x))
        }

        fn decode(&self, drawn: f32[B, code]) -> f32[B, 64] {
            self.pixels(silu(self.decoder(drawn)))
        }

        /// The negative evidence lower bound of an image, in nats: the cost of its pixels given a drawn code, and the
        /// divergence of the code's distribution from the standard normal one.
        #[train(Adam)]
        pub fn loss(&self, image: f32[B, 1, 8, 8]) -> f32 {
            let (centre, log_variance) = self.encode(image);
            let drawn = centre + exp(0.5 * log_variance) * normal([B, code]);
            let cost = binary_cross_entropy_with_logits(self.decode(drawn), flatten(image), reduction = "none");
            let divergence = 0.5 * (square(centre) + exp(log_variance) - log_variance - 1.0);
            mean(sum(cost, axis = 1) + sum(divergence, axis = 1))
        }

        /// Each image by way of its code, which is drawn with the key.
        pub fn reconstruct(&self, image: f32[B, 1, 8, 8], key: u32[2]) -> f32[B, 1, 8, 8] {
            let (centre, log_variance) = self.encode(image);
            let drawn = centre + exp(0.5 * log_variance) * normal(key, [B, code]);
            sigmoid(self.decode(drawn)).reshape([B, 1, 8, 8])
        }

        /// Six images from codes that are drawn with the key.
        pub fn sample(&self, key: u32[2]) -> f32[6, 1, 8, 8] {
            sigmoid(self.decode(normal(key, [6, code]))).reshape([6, 1, 8, 8])
        }
    }
}

const USAGE: &str = "usage: vae [--epochs N] [--seed N] [--device cpu|gpu]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut epochs, mut seed) = (60, 1);
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("epochs") => epochs = parser.value()?.parse()?,
            Long("seed") => seed = parser.value()?.parse()?,
            Long("device") => device = parser.value()?.string()?,
            _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
        }
    }
    match device.as_str() {
        "cpu" => run(&Cpu, epochs, seed),
        #[cfg(feature = "gpu")]
        "gpu" => run(&Gpu::new()?, epochs, seed),
        #[cfg(not(feature = "gpu"))]
        "gpu" => Err("build with `--features gpu`".into()),
        other => Err(format!("there is no device `{other}`\n{USAGE}").into()),
    }
}

fn run<D: Blocking>(device: &D, epochs: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    let (training, test) = split()?;
    println!("{} parameters on {device:?}", Vae::PARAMS);
    let mut vae = Vae::init(seed).on(device)?;
    let start = Instant::now();
    train(&mut vae, &training, epochs, seed)?;
    println!("trained in {:.1} s", start.elapsed().as_secs_f32());

    let written = &test.images[..6];
    println!("written, and by way of their codes:");
    println!("{}\n{}", shown(written), shown(&vae.reconstruct(written, &key(seed))?));
    println!("written by nobody:");
    for drawing in 0..3 {
        println!("{}", shown(&vae.sample(&key(drawing))?));
    }
    Ok(())
}

/// Trains for some epochs and gives the mean loss of the last.
fn train<D: Blocking>(vae: &mut Vae<D>, samples: &Samples, epochs: u64, seed: u64) -> precast::Result<f32> {
    let mut loader = Loader::new(&samples.images, &samples.labels, 64)?;
    let mut trainer = vae.trainer(Adam { rate: 3e-3, ..default() });
    trainer.seed = seed;
    let mut mean = f32::NAN;
    for epoch in 0..epochs {
        let mut losses = Vec::with_capacity(loader.batches());
        let mut progress = Progress::new(loader.batches());
        for (image, _) in loader.shuffled(seed + epoch) {
            losses.push(trainer.loss(image)?);
            progress.step(format_args!("epoch {:>2}", epoch + 1));
        }
        drop(progress);
        let mut sum = 0.0;
        for loss in &losses {
            sum += loss.value()?;
        }
        mean = sum / losses.len() as f32;
        if (epoch + 1) % 10 == 0 {
            println!("epoch {:>2}: {mean:.2} nats", epoch + 1);
        }
    }
    Ok(mean)
}

/// Images side by side.
fn shown(images: &[Image]) -> String {
    picture::row(&images.iter().map(|[channel]| *channel).collect::<Vec<_>>(), &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_and_draws_by_the_key() {
        let (training, _) = split().unwrap();
        let mut vae = Vae::init(1);
        let first = train(&mut vae, &training, 1, 1).unwrap();
        let last = train(&mut vae, &training, 3, 1).unwrap();
        assert!(last < 0.9 * first, "{first} nats, then {last}");
        assert_eq!(vae.sample(&key(3)).unwrap(), vae.sample(&key(3)).unwrap());
        assert_ne!(vae.sample(&key(3)).unwrap(), vae.sample(&key(4)).unwrap());
    }
}
