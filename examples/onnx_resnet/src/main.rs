//! Classifies a picture with torchvision's ResNet-18, whose network is read from an ONNX file while this program is built;
//! with `--train` teaches it three patterns that it has no classes for, and asks it about others of them.
//!
//! ```text
//! python examples/onnx_resnet/fetch.py
//! cargo run --release --manifest-path examples/onnx_resnet/Cargo.toml -- picture.jpg
//! cargo run --release --manifest-path examples/onnx_resnet/Cargo.toml -- --train
//! ```
//!
//! The first writes the file and needs `pip install torch torchvision onnx`. Without a picture one is
//! drawn. Where weights cannot be downloaded, `fetch.py --random` makes some, with which the classes mean nothing.

use std::{env::args, error::Error, fs, path::Path, time::Instant};

use image::{RgbImage, imageops::FilterType};
use precast::prelude::*;

model! {
    /// The network of the file: a picture to 512 features, and the scores of 1,000 classes.
    struct ResNet18 = onnx("../resnet18.onnx", batch = B);

    /// The network on pictures of bytes, and a new layer on its features.
    pub struct Pictures {
        body: ResNet18,
        patterns: Linear(512, 3),
    }

    impl Pictures {
        /// Features and scores of pictures, whose colours are brought to the mean and the deviation of ImageNet's.
        fn look(&self, picture: u8[B, 224, 224, 3]) -> (f32[B, 512], f32[B, 1000]) {
            let colours = picture.f32() / 255;
            let red = (colours[.., 0] - 0.485) / 0.229;
            let green = (colours[.., 1] - 0.456) / 0.224;
            let blue = (colours[.., 2] - 0.406) / 0.225;
            self.body(stack(red, green, blue, axis = 1))
        }

        /// The five most probable of the 1,000 classes.
        pub fn classify(&self, picture: u8[B, 224, 224, 3]) -> (f32[B, 5], u32[B, 5]) {
            let (_, scores) = self.look(picture);
            top_k(softmax(scores), 5)
        }

        /// Which of the three patterns a picture is of.
        pub fn pattern(&self, picture: u8[B, 224, 224, 3]) -> u32[B] {
            let (features, _) = self.look(picture);
            argmax(self.patterns(features), axis = -1)
        }

        /// Mean cross-entropy. The whole network is trained, but for the statistics of its batch norms.
        #[train(AdamW)]
        pub fn loss(&self, picture: u8[B, 224, 224, 3], label: u32[B]) -> f32 {
            let (features, _) = self.look(picture);
            cross_entropy(self.patterns(features), label)
        }
    }
}

type Picture = [[[u8; 3]; 224]; 224];

const FOLDER: &str = env!("CARGO_MANIFEST_DIR");
const PATTERNS: [&str; 3] = ["stripes", "squares", "rings"];

fn main() -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut model = Pictures::open_onnx(Path::new(FOLDER).join("resnet18.onnx"), 0)?;
    println!("{} parameters in {:.2} s", Pictures::PARAMS, start.elapsed().as_secs_f32());
    match args().nth(1) {
        Some(flag) if flag == "--train" => train(&mut model),
        Some(path) => classify(&model, &image::open(path)?.into_rgb8()),
        None => classify(&model, &draw(2, 0)),
    }
}

fn classify(model: &Pictures, picture: &RgbImage) -> Result<(), Box<dyn Error>> {
    let classes = fs::read_to_string(Path::new(FOLDER).join("classes.txt"))?;
    let classes: Vec<&str> = classes.lines().collect();
    let square = square(picture);
    let mut session = model.session();
    session.classify(precast::rows(&square)?)?; // the first call makes the session's memory
    let start = Instant::now();
    let (shares, best) = session.classify(precast::rows(&square)?)?;
    for (share, &class) in shares[0].iter().zip(&best[0]) {
        println!("{:5.1} %  {}", 100.0 * share, classes[class as usize]);
    }
    println!("one picture: {:.1} ms", start.elapsed().as_secs_f32() * 1e3);
    Ok(())
}

/// Three pictures of each pattern are learnt, others between them asked for.
fn train(model: &mut Pictures) -> Result<(), Box<dyn Error>> {
    let (pictures, labels) = patterns([0, 2, 4]);
    let (others, wanted) = patterns([1, 3]);
    let mut trainer = model.trainer(AdamW { rate: 1e-4, ..default() });
    trainer.group("patterns.*", |o| o.rate = 1e-3)?; // what is new learns faster
    for step in 0..20 {
        let start = Instant::now();
        let loss = trainer.loss(precast::rows::<Picture, _>(&pictures)?, &labels)?.value()?;
        println!("step {step:>2}: loss {loss:.4} after {:.1} s", start.elapsed().as_secs_f32());
    }
    for (found, label) in model.pattern(precast::rows::<Picture, _>(&others)?)?.into_iter().zip(wanted) {
        println!("{:>8} taken for {}", PATTERNS[label as usize], PATTERNS[found as usize]);
    }
    Ok(())
}

/// Pictures of each pattern with the given numbers, and which patterns these are.
fn patterns<const N: usize>(numbers: [u32; N]) -> (Vec<u8>, Vec<u32>) {
    let each = numbers.into_iter().flat_map(|number| (0..3).map(move |pattern| (pattern, number)));
    let (pictures, labels): (Vec<_>, _) =
        each.map(|(pattern, number)| (draw(pattern, number).into_raw(), pattern)).unzip();
    (pictures.concat(), labels)
}

/// The middle of a picture, as large as the network wants it.
fn square(picture: &RgbImage) -> Vec<u8> {
    let side = picture.width().min(picture.height());
    let (x, y) = ((picture.width() - side) / 2, (picture.height() - side) / 2);
    let middle = image::imageops::crop_imm(picture, x, y, side, side).to_image();
    image::imageops::resize(&middle, 224, 224, FilterType::Triangle).into_raw()
}

/// A picture of a pattern, whose width its number chooses.
fn draw(pattern: u32, number: u32) -> RgbImage {
    let width = 12 + 4 * number;
    RgbImage::from_fn(224, 224, |x, y| {
        let from_middle = f64::from(x.abs_diff(112)).hypot(f64::from(y.abs_diff(112))) as u32;
        let band = match pattern {
            0 => x / width,
            1 => x / width + y / width,
            _ => from_middle / width,
        };
        image::Rgb(if band.is_multiple_of(2) { [40, 90, 200] } else { [230, 220, 60] })
    })
}
