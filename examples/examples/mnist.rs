//! PyTorch's MNIST example: the same network, on the files of MNIST or, without them, on the small digits that come
//! with the examples, enlarged.
//!
//! ```text
//! cargo run --release -p examples --example mnist -- --data DIRECTORY
//! ```

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::Instant,
};

use examples::{digits, idx, progress::Progress};
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::prelude::*;

model! {
    /// The network of PyTorch's example: two convolutions and two fully connected layers.
    pub struct Mnist {
        conv1: Conv2d(1, 32, kernel = 3),
        conv2: Conv2d(32, 64, kernel = 3),
        fc1: Linear(64 * 12 * 12, 128),
        fc2: Linear(128, 10),
    }

    impl Mnist {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 28, 28]) -> f32[B, 10] {
            let x = relu(self.conv2(relu(self.conv1(image))));
            let x = dropout(max_pool2d(x, 2), 0.25);
            let x = dropout(relu(self.fc1(flatten(x))), 0.5);
            self.fc2(x)
        }

        /// Mean cross-entropy over the batch.
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 1, 28, 28], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }

        /// Digits of 8×8 pixels at the size of MNIST's, with its black border.
        pub fn enlarged(image: f32[B, 1, 8, 8]) -> f32[B, 1, 28, 28] {
            pad(upsample(image, scale_factor = 3, mode = "bilinear"), low = 2, high = 2, axis = [2, 3])
        }
    }
}

/// One channel of 28×28 pixels.
type Image = [[[f32; 28]; 28]; 1];

/// Images and what they show.
struct Samples {
    images: Vec<Image>,
    labels: Vec<u32>,
}

const USAGE: &str = "usage: mnist [--data DIRECTORY] [--epochs N] [--seed N] [--batch N] [--device cpu|gpu]";

const HOW_TO_OBTAIN: &str = "\
These are not the digits of MNIST, but 1,797 smaller ones that come with the examples, enlarged to 28×28 pixels.
For MNIST itself, download these four files from https://ossci-datasets.s3.amazonaws.com/mnist/ into a directory,
  train-images-idx3-ubyte.gz  train-labels-idx1-ubyte.gz  t10k-images-idx3-ubyte.gz  t10k-labels-idx1-ubyte.gz
unpack them with `gunzip`, and give the directory: `--data DIRECTORY`.
";

struct Options {
    epochs: u64,
    seed: u64,
    batch: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut data, mut options) = (PathBuf::new(), Options { epochs: 5, seed: 1, batch: 64 });
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("data") => data = parser.value()?.into(),
            Long("epochs") => options.epochs = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("batch") => options.batch = parser.value()?.parse()?,
            Long("device") => device = parser.value()?.string()?,
            _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
        }
    }
    let (training, test) = match data.as_os_str().is_empty() {
        true => {
            println!("{HOW_TO_OBTAIN}");
            small()?
        }
        false => (files(&data, "train")?, files(&data, "t10k")?),
    };
    match device.as_str() {
        "cpu" => run(&Cpu, &options, &training, &test),
        #[cfg(feature = "gpu")]
        "gpu" => run(&Gpu::new()?, &options, &training, &test),
        #[cfg(not(feature = "gpu"))]
        "gpu" => Err("build with `--features gpu`".into()),
        other => Err(format!("there is no device `{other}`\n{USAGE}").into()),
    }
}

/// The pixels as the network sees them, by the mean and the standard deviation of MNIST.
fn normalised(pixel: f32) -> f32 {
    (pixel - 0.1307) / 0.3081
}

/// Training or test samples of MNIST.
fn files(directory: &Path, part: &str) -> Result<Samples, Box<dyn Error>> {
    let find = |what: &str| {
        let names = [format!("{part}-{what}-ubyte"), format!("{part}-{}-ubyte", what.replace('-', "."))];
        idx::read(directory, &names.each_ref().map(String::as_str))
    };
    let (images, labels) = (find("images-idx3")?, find("labels-idx1")?);
    let &[count, 28, 28] = images.extents.as_slice() else {
        return Err(format!("images of {:?} are not those of MNIST", images.extents).into());
    };
    if labels.extents != [count] || labels.bytes.iter().any(|&label| label > 9) {
        return Err(format!("labels of {:?} do not belong to {count} images", labels.extents).into());
    }
    let pixels = images.bytes.iter().map(|&byte| normalised(f32::from(byte) / 255.0));
    Ok(Samples { images: gathered(pixels), labels: labels.bytes.iter().map(|&label| u32::from(label)).collect() })
}

/// Images of consecutive pixels.
fn gathered(mut pixels: impl ExactSizeIterator<Item = f32>) -> Vec<Image> {
    let mut images = vec![[[[0.0; 28]; 28]; 1]; pixels.len() / (28 * 28)];
    let places = images.as_flattened_mut().as_flattened_mut().as_flattened_mut();
    places.iter_mut().for_each(|place| *place = pixels.next().unwrap_or_default());
    images
}

/// The small digits, four fifths for training.
fn small() -> precast::Result<(Samples, Samples)> {
    let (training, test) = digits::split()?;
    let model = Mnist::init(0);
    let enlarge = |samples: digits::Samples| -> precast::Result<Samples> {
        let large = model.enlarged(&samples.images)?;
        let pixels = large.as_flattened().as_flattened().as_flattened().iter().map(|&pixel| normalised(pixel));
        Ok(Samples { images: gathered(pixels), labels: samples.labels })
    };
    Ok((enlarge(training)?, enlarge(test)?))
}

fn run<D: Blocking>(device: &D, options: &Options, training: &Samples, test: &Samples) -> Result<(), Box<dyn Error>> {
    println!("{} parameters on {device:?}, {} images", Mnist::PARAMS, training.labels.len());
    let mut mnist = Mnist::init(options.seed).on(device)?;
    let mut loader = Loader::new(&training.images, &training.labels, options.batch)?;
    let rate = 1e-3;
    let mut trainer = mnist.trainer(AdamW { rate, ..default() });
    trainer.seed = options.seed;
    for epoch in 0..options.epochs {
        let start = Instant::now();
        // The schedule of PyTorch's example.
        trainer.optimizer.rate = rate * 0.7f32.powi(epoch as i32);
        let mut losses = Vec::with_capacity(loader.batches());
        let mut progress = Progress::new(loader.batches());
        for (image, label) in loader.shuffled(options.seed + epoch) {
            losses.push(trainer.loss(image, label)?);
            progress.step(format_args!("epoch {:>2}", epoch + 1));
        }
        drop(progress);
        let mut sum = 0.0;
        for loss in &losses {
            sum += loss.value()?;
        }
        let mean = sum / losses.len() as f32;
        let accuracy = accuracy(trainer.model(), test)?;
        println!(
            "epoch {:>2}: loss {mean:.4}, test accuracy {accuracy:.4}, {:.1} s",
            epoch + 1,
            start.elapsed().as_secs_f32()
        );
    }
    Ok(())
}

/// The share of the images that are recognised.
fn accuracy<D: Blocking>(mnist: &Mnist<D>, samples: &Samples) -> precast::Result<f64> {
    let mut right = 0;
    for (images, labels) in samples.images.chunks(500).zip(samples.labels.chunks(500)) {
        let scores = mnist.scores(images)?;
        right += scores.iter().zip(labels).filter(|(scores, label)| largest(scores) == **label).count();
    }
    Ok(right as f64 / samples.labels.len() as f64)
}

/// The digit with the largest score.
fn largest(scores: &[f32; 10]) -> u32 {
    (0..10).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_a_few_digits() {
        let (mut training, _) = small().unwrap();
        training.images.truncate(4);
        training.labels.truncate(4);
        let mut mnist = Mnist::init(1);
        let mut trainer = mnist.trainer(AdamW::default());
        let mut step = || trainer.loss(&training.images, &training.labels).unwrap().value().unwrap();
        let first = step();
        let last = (0..4).map(|_| step()).last().unwrap();
        assert!(last < 0.8 * first, "the loss fell from {first} to {last} only");
    }

    #[test]
    fn files_of_mnist_are_read() {
        let directory = std::env::temp_dir().join(format!("precast-mnist-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let pixels: Vec<u8> = (0..2 * 784).map(|i| (i % 256) as u8).collect();
        let images = [&[0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28], pixels.as_slice()].concat();
        std::fs::write(directory.join("t10k-images-idx3-ubyte"), images).unwrap();
        let labels = directory.join("t10k-labels.idx1-ubyte");
        std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 2, 7, 3]).unwrap();
        let samples = files(&directory, "t10k").unwrap();
        assert_eq!(samples.labels, [7, 3]);
        assert_eq!(samples.images[1][0][0][5], normalised(f32::from(pixels[784 + 5]) / 255.0));
        std::fs::write(&labels, [0, 0, 8, 1, 0, 0, 0, 1, 7]).unwrap();
        assert!(files(&directory, "t10k").is_err());
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
