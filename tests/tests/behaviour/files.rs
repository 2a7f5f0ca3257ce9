//! Parameters in files: whole files are read back as they were written, and others change nothing.

use precast::Error;
use precast::prelude::*;
use std::path::PathBuf;

model! {
    /// A regression with a repeated block.
    pub struct Curve {
        input: Linear(2, 8),
        layers: [Linear(8, 8); 2],
        output: Linear(8, 1),
    }

    impl Curve {
        /// The value at a point.
        pub fn value(&self, x: f32[B, 2]) -> f32[B, 1] {
            let mut x = tanh(self.input(x));
            for layer in self.layers {
                x = tanh(layer(x));
            }
            self.output(dropout(x, 0.1))
        }

        /// Mean squared error.
        #[train(RmsProp)]
        pub fn loss(&self, x: f32[B, 2], y: f32[B, 1]) -> f32 {
            mse_loss(self.value(x), y)
        }

        /// The same, for another optimiser.
        #[train(Sgd)]
        pub fn descent(&self, x: f32[B, 2], y: f32[B, 1]) -> f32 {
            self.loss(x, y)
        }
    }
}

fn file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}.safetensors", std::process::id()))
}

fn bits(curve: &Curve) -> Vec<u32> {
    curve.parameters().flat_map(|(_, _, values)| values.iter().map(|x| x.to_bits())).collect()
}

#[test]
fn names_are_those_of_a_state_dict() {
    let names: Vec<(String, Vec<usize>)> = Curve::init(0).parameters().map(|(n, s, _)| (n, s.to_vec())).collect();
    let expected = [
        ("input.weight", vec![8, 2]),
        ("input.bias", vec![8]),
        ("layers.0.weight", vec![8, 8]),
        ("layers.0.bias", vec![8]),
        ("layers.1.weight", vec![8, 8]),
        ("layers.1.bias", vec![8]),
        ("output.weight", vec![1, 8]),
        ("output.bias", vec![1]),
    ];
    let mut names = names;
    let mut expected = expected.map(|(name, shape)| (name.to_string(), shape)).to_vec();
    names.sort();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!(Curve::PARAMS, 8 * 2 + 8 + 2 * (64 + 8) + 8 + 1);
}

#[test]
fn a_truncated_file_changes_nothing() {
    let path = file("truncated");
    let saved = Curve::init(7);
    saved.save(&path).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut curve = Curve::init(8);
    let before = bits(&curve);
    for len in [0, 7, 8, 20, whole.len() / 2, whole.len() - 1] {
        std::fs::write(&path, &whole[..len]).unwrap();
        let error = curve.load(&path).unwrap_err();
        assert!(matches!(error, Error::Format { .. }) && error.to_string().contains("truncated"), "{error}");
        assert!(Curve::open(&path).is_err() && Curve::open_bytes(&whole[..len]).is_err());
        assert_eq!(bits(&curve), before);
    }
    std::fs::write(&path, &whole).unwrap();
    curve.load(&path).unwrap();
    assert_eq!(bits(&curve), bits(&saved));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_file_with_a_wrong_bit_is_an_error_or_a_model() {
    let path = file("flipped");
    Curve::init(7).save(&path).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut refused = 0;
    for at in 0..header {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Err(error) = Curve::open_bytes(&bytes) {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
            bytes[at] ^= 1 << bit;
        }
    }
    // What is left are letters of the metadata and digits that say the same.
    assert!(refused > 4 * header, "{refused} of {}", 8 * header);
    assert!(Curve::open_bytes(&bytes).is_ok());
}

#[test]
fn a_resumed_run_is_the_run_that_was_not_interrupted() {
    let path = file("resumed");
    let x: Vec<[f32; 2]> = crate::numbers(24, 1).chunks(2).map(|c| [c[0], c[1]]).collect();
    let y: Vec<[f32; 1]> = x.iter().map(|[a, b]| [a * b]).collect();
    let run = |curve: &mut Curve, from: Option<&PathBuf>, until: u64, to: Option<&PathBuf>| {
        let mut trainer = curve.trainer(RmsProp { rate: 1e-3, ..default() });
        trainer.seed = 3;
        if let Some(path) = from {
            trainer.load(path).unwrap();
        }
        while trainer.steps() < until {
            trainer.loss(&x, &y).unwrap().value().unwrap();
        }
        if let Some(path) = to {
            trainer.save(path).unwrap();
        }
    };
    let (mut whole, mut first, mut second) = (Curve::init(1), Curve::init(1), Curve::init(2));
    run(&mut whole, None, 12, None);
    run(&mut first, None, 5, Some(&path));
    run(&mut second, Some(&path), 12, None);
    assert_eq!(bits(&whole), bits(&second));

    let before = bits(&second);
    let mut other = second.trainer(Sgd::default());
    assert!(other.load(&path).is_err());
    assert_eq!(bits(other.model()), before);
    std::fs::remove_file(&path).unwrap();
}

model! {
    /// A network that files call as torchvision calls its own.
    pub struct Renamed {
        #[name = "features.0"]
        stem: Linear(2, 3),
        #[name = "encoder.layer"]
        blocks: [Block; 2],
        #[name = "classifier.3"]
        head: Linear(3, 1, bias = false),
    }

    struct Block {
        #[name = "self-attention.0"]
        inner: Linear(3, 3, bias = false),
    }
    impl Block {
        fn forward(&self, x: f32[B, 3]) -> f32[B, 3] { x + self.inner(x) }
    }

    impl Renamed {
        /// The value at a point.
        pub fn value(&self, x: f32[B, 2]) -> f32[B, 1] {
            let mut x = self.stem(x);
            for block in self.blocks {
                x = block(x);
            }
            self.head(x)
        }

        /// Mean squared error.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 2], y: f32[B, 1]) -> f32 {
            mse_loss(self.value(x), y)
        }
    }
}

#[test]
fn fields_may_have_other_names_in_files() -> precast::Result<()> {
    let mut net = Renamed::init(3);
    let names: Vec<String> = net.parameters().map(|(name, ..)| name).collect();
    let expected = [
        "features.0.weight",
        "features.0.bias",
        "encoder.layer.0.self-attention.0.weight",
        "encoder.layer.1.self-attention.0.weight",
        "classifier.3.weight",
    ];
    assert_eq!(names, expected);
    // Views are of fields, whatever files call them.
    assert_eq!(
        net.views().blocks.inner.weight[1].as_flattened(),
        net.parameter("encoder.layer.1.self-attention.0.weight")?
    );

    let path = file("renamed");
    net.save(&path)?;
    let kept = Renamed::open(&path)?;
    assert_eq!(kept.value(&[[0.5, -1.0]])?, net.value(&[[0.5, -1.0]])?);

    // Groups of an optimiser know parameters by the names of files too.
    let head = *net.views().head.weight;
    let mut trainer = net.trainer(Sgd { rate: 0.1, ..default() });
    trainer.group("classifier.*", |o| o.rate = 0.0)?;
    trainer.loss(&[[0.5, -1.0]], &[[2.0]])?.value()?;
    drop(trainer);
    assert_eq!(net.views().head.weight, &head);
    assert_ne!(net.views().stem.weight, kept.views().stem.weight);
    Ok(())
}
