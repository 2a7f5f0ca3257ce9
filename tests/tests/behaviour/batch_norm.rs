//! Batch norms over several steps of training against PyTorch: weights, running statistics and scores; and what becomes
//! of running statistics elsewhere: evaluation, skipped steps, gradients, files.
//!
//! `references/batch_norm.py` has made the numbers.

use precast::prelude::*;

model! {
    /// Batch norms in every place: plain, without learnt numbers, in blocks, and called several times.
    pub struct Normed {
        conv: Conv2d(2, 3, kernel = 3, stride = 2, padding = 1, bias = false),
        norm: BatchNorm2d(3, affine = false),
        first: Block(3),
        second: Block(3),
        hidden: Linear(12, 4, bias = false),
        twice: BatchNorm1d(4, momentum = 0.3, eps = 1e-3),
        head: Linear(4, 2),
    }

    struct Block(channels) {
        conv: Conv2d(channels, channels, kernel = 3, padding = 1, bias = false),
        norm: BatchNorm2d(channels),
    }

    impl Block {
        fn forward(&self, x: f32[B, channels, H, W]) -> f32[B, channels, H, W] {
            relu(x + self.norm(self.conv(x)))
        }
    }

    impl Normed {
        /// Scores of two classes.
        pub fn scores(&self, image: f32[B, 2, 3, 4]) -> f32[B, 2] {
            let x = self.second(self.first(relu(self.norm(self.conv(image)))));
            let mut x = tanh(self.twice(self.hidden(flatten(x))));
            for _ in 0..2 {
                x = self.twice(x * x);
            }
            self.head(matmul(self.second.norm(x[.., 0..3]), ones(3, 4)) + x)
        }

        /// Mean cross-entropy.
        #[train(Sgd)]
        #[train(AdamW)]
        pub fn loss(&self, image: f32[B, 2, 3, 4], class: u32[B]) -> f32 {
            cross_entropy(self.scores(image), class)
        }
    }
}

model! {
    /// Repeated blocks with a norm of their own, a norm that all of them share, and one block called by its number.
    pub struct Stacked {
        towers: [Tower(2); 2],
        shared: BatchNorm1d(2, momentum = 0.2),
    }

    /// The same, written out.
    pub struct Flat {
        up: Tower(2),
        down: Tower(2),
        shared: BatchNorm1d(2, momentum = 0.2),
    }

    struct Tower(dim) {
        mix: [Linear(dim, dim); 2],
        norms: [BatchNorm1d(dim); 2],
    }

    impl Tower {
        fn forward(&self, x: f32[B, dim]) -> f32[B, dim] {
            let mut x = self.norms[1](x);
            for mix in self.mix {
                x = mix(x);
            }
            for norm in self.norms {
                x = tanh(norm(x)) + x;
            }
            x
        }
    }

    impl Stacked {
        /// The mean square of what comes out, and of what a norm makes of it.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 2]) -> f32 {
            let mut x = x;
            for tower in self.towers {
                x = self.shared(tower(x)) + x;
            }
            mean(square(x)) + mean(square(self.towers[1].norms[0](x) - 1))
        }
    }

    impl Flat {
        /// The same.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 2]) -> f32 {
            let x = self.shared(self.up(x)) + x;
            let x = self.shared(self.down(x)) + x;
            mean(square(x)) + mean(square(self.down.norms[0](x) - 1))
        }
    }
}

model! {
    /// Running statistics that are means over all batches, in a list, without learnt numbers and called twice, and a norm
    /// without running statistics.
    pub struct Averaged {
        hidden: Linear(8, 3, bias = false),
        norms: [BatchNorm1d(3, momentum = None); 2],
        plain: BatchNorm1d(3, momentum = None, affine = false),
        fresh: BatchNorm1d(3, track_running_stats = false),
        head: Linear(3, 2),
    }

    impl Averaged {
        /// Scores of two classes.
        pub fn scores(&self, x: f32[B, 8]) -> f32[B, 2] {
            let mut x = self.hidden(x);
            for norm in self.norms {
                x = tanh(norm(x)) + x;
            }
            self.head(self.fresh(self.plain(self.plain(x) * x)))
        }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 8], class: u32[B]) -> f32 {
            cross_entropy(self.scores(x), class)
        }
    }
}

type Image = [[[f32; 4]; 3]; 2];

const CLASSES: [u32; 6] = [0, 1, 0, 1, 0, 1];

/// The numbers of a seed, as in the script.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| (((i * 7 + seed * 5 + i * i % 11) % 23) as f32 - 11.0) / 10.0).collect()
}

fn images(seed: usize) -> Vec<Image> {
    let pixels = numbers(6 * 24, seed);
    let pixel = |n: usize, c: usize, h: usize, w: usize| pixels[24 * n + 12 * c + 4 * h + w];
    let image = |n| core::array::from_fn(|c| core::array::from_fn(|h| core::array::from_fn(|w| pixel(n, c, h, w))));
    (0..6).map(image).collect()
}

fn is_running(name: &str) -> bool {
    name.contains(".running_")
}

/// A model whose trained parameters are numbers that PyTorch was given too.
macro_rules! given {
    ($model:ident) => {{
        let mut model = $model::init(1);
        let is_given = |name: &String| !is_running(name) && !is_count(name);
        let mut names: Vec<String> = model.parameters().map(|(name, ..)| name).filter(is_given).collect();
        names.sort_unstable();
        for (seed, name) in names.iter().enumerate() {
            let values = model.parameter_mut(name).unwrap();
            let count = values.len();
            values.iter_mut().zip(numbers(count, seed)).for_each(|(value, x)| *value = x / 2.0);
        }
        model
    }};
}

fn normed() -> Normed {
    given!(Normed)
}

/// The numbers that PyTorch gives under a name.
fn reference(name: &str) -> Vec<f32> {
    let text = include_str!("references/batch_norm.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no `{name}`")).split(' ').map(|x| x.parse().unwrap()).collect()
}

fn compare(name: &str, found: &[f32]) {
    let expected = reference(name);
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(1e-2f32, |most, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-4 * largest, "{name}: {found}, but PyTorch has {expected}");
    }
}

macro_rules! steps {
    ($name:literal, $model:expr, $optimizer:expr) => {{
        let mut trainer = $model.trainer($optimizer);
        for step in 0..4 {
            let loss = trainer.loss(&images(step), &CLASSES).unwrap().value().unwrap();
            compare(&format!(concat!($name, ".loss{}"), step), &[loss]);
        }
    }};
}

fn compare_model(optimizer: &str, model: &Normed) {
    for (name, _, values) in model.parameters() {
        compare(&format!("{optimizer}.{name}"), values);
    }
    compare(&format!("{optimizer}.scores"), model.scores(&images(9)).unwrap().as_flattened());
}

const SGD: Sgd = Sgd { rate: 0.1, momentum: 0.9, dampening: 0.0, decay: 0.01, nesterov: false, clip: None };

#[test]
fn steps_are_those_of_pytorch() {
    let mut model = normed();
    steps!("Sgd", model, SGD);
    compare_model("Sgd", &model);
    let mut model = normed();
    steps!("AdamW", model, AdamW { rate: 0.01, decay: 0.1, ..default() });
    compare_model("AdamW", &model);
}

#[cfg(feature = "gpu")]
#[test]
fn steps_on_a_gpu_are_those_of_pytorch() {
    let Some(gpu) = tests::gpu() else { return };
    let mut model = normed().on(&gpu).unwrap();
    steps!("Sgd", model, SGD);
    compare_model("Sgd", &model.on(&Cpu).unwrap());
}

fn averaged() -> Averaged {
    given!(Averaged)
}

fn is_count(name: &str) -> bool {
    name.ends_with(".num_batches_tracked")
}

fn rows(seed: usize) -> Vec<[f32; 8]> {
    numbers(48, seed).chunks(8).map(|row| row.try_into().unwrap()).collect()
}

macro_rules! averages {
    ($model:expr, $steps:expr) => {{
        let mut trainer = $model.trainer(Sgd { rate: 0.1, ..default() });
        for step in $steps {
            let loss = trainer.loss(&rows(step), &CLASSES).unwrap().value().unwrap();
            compare(&format!("averaged.loss{step}"), &[loss]);
        }
    }};
}

fn compare_averages(model: &Averaged) {
    for (name, _, values) in model.parameters() {
        compare(&format!("averaged.{name}"), values);
    }
    compare("averaged.scores", model.scores(&rows(9)).unwrap().as_flattened());
}

#[test]
fn means_over_all_batches_are_those_of_pytorch() {
    let mut model = averaged();
    averages!(model, 0..4);
    compare_averages(&model);
}

#[cfg(feature = "gpu")]
#[test]
fn means_over_all_batches_on_a_gpu_are_those_of_pytorch() {
    let Some(gpu) = tests::gpu() else { return };
    let mut model = averaged().on(&gpu).unwrap();
    averages!(model, 0..4);
    compare_averages(&model.on(&Cpu).unwrap());
}

#[test]
fn files_hold_the_counts_of_batches_as_pytorch_does() {
    let mut model = averaged();
    averages!(model, 0..2);
    let file = std::env::temp_dir().join(format!("precast-{}-averaged.safetensors", std::process::id()));
    model.save(&file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + len]).unwrap();
    for (k, name) in ["norms.0", "norms.1", "plain"].iter().enumerate() {
        let (start, end) = (8 * k, 8 * k + 8);
        let dtype = r#""dtype":"I64","shape":[]"#;
        let entry = format!(r#""{name}.num_batches_tracked":{{{dtype},"data_offsets":[{start},{end}]}}"#);
        assert!(header.contains(&entry), "{header}");
        let counted = i64::from_le_bytes(bytes[8 + len + start..8 + len + end].try_into().unwrap());
        assert_eq!(counted, if *name == "plain" { 4 } else { 2 }, "{name}");
    }
    let mut model = Averaged::open_bytes(&bytes).unwrap();
    averages!(model, 2..4);
    compare_averages(&model);
    let float = String::from_utf8_lossy(&bytes[..8 + len]).replacen("\"I64\"", "\"F64\"", 1).into_bytes();
    let error = Averaged::open_bytes(&[&bytes[..8], &float[float.len() - len..], &bytes[8 + len..]].concat());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("`norms.0.num_batches_tracked` holds F64, but should hold I64"), "{error}");
}

fn running(model: &Normed) -> Vec<f32> {
    model.parameters().filter(|(name, ..)| is_running(name)).flat_map(|(_, _, values)| values.to_vec()).collect()
}

#[test]
fn only_a_step_that_is_made_changes_running_statistics() {
    let mut model = normed();
    let before = running(&model);
    model.scores(&images(0)).unwrap();
    model.loss(&images(0), &CLASSES).unwrap();
    let mut trainer = model.trainer(Sgd::default());
    let gradients = trainer.loss_gradients(&images(0), &CLASSES).unwrap();
    assert!(gradients.iter().all(|(name, ..)| !is_running(&name)));
    assert!(gradients.get("norm.running_mean").is_err());
    assert!(trainer.group("*.running_mean", |_| ()).is_err());
    let mut spoilt = images(0);
    spoilt[3][1][2][0] = f32::NAN;
    trainer.loss(&spoilt, &CLASSES).unwrap().value().unwrap_err();
    assert_eq!(running(trainer.model()), before);
    let _ = trainer.loss(&images(0), &CLASSES).unwrap();
    let now = running(trainer.model());
    assert!(now.iter().zip(&before).all(|(now, before)| now.is_finite() && now != before));
}

#[test]
fn repeated_blocks_keep_statistics_of_their_own() {
    let (mut stacked, mut flat) = (Stacked::init(3), Flat::init(4));
    let other = |name: &str| name.replace("towers.0", "up").replace("towers.1", "down");
    let values: Vec<_> = stacked.parameters().map(|(name, _, values)| (name, values.to_vec())).collect();
    for (name, values) in &values {
        flat.parameter_mut(&other(name)).unwrap().copy_from_slice(values);
    }
    let rule = Sgd { rate: 0.05, momentum: 0.5, ..default() };
    let (mut deep, mut wide) = (stacked.trainer(rule.clone()), flat.trainer(rule));
    for step in 0..3 {
        let x: Vec<[f32; 2]> = numbers(10, step).chunks(2).map(|x| [x[0], x[1]]).collect();
        let (a, b) = (deep.loss(&x).unwrap().value().unwrap(), wide.loss(&x).unwrap().value().unwrap());
        assert!((a - b).abs() < 1e-4 * b, "step {step}: {a}, but {b} written out");
    }
    let mut moved = 0;
    for (name, _, found) in deep.model().parameters() {
        let expected = wide.model().parameter(&other(&name)).unwrap();
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-4, "{name}: {a}, but {b} written out");
            moved += u32::from(is_running(&name) && *a != 0.0 && *a != 1.0);
        }
    }
    assert_eq!(moved, 20, "running statistics that have changed");
}

#[test]
fn files_hold_running_statistics_and_may_count_batches() {
    let path = |name: &str| std::env::temp_dir().join(format!("precast-{}-{name}", std::process::id()));
    let mut model = normed();
    let mut trainer = model.trainer(AdamW::default());
    let _ = trainer.loss(&images(0), &CLASSES).unwrap();
    let checkpoint = path("norms-checkpoint.safetensors");
    trainer.save(&checkpoint).unwrap();
    let file = path("norms.safetensors");
    trainer.model().save(&file).unwrap();
    let bytes = std::fs::read(&file).unwrap();
    let _ = trainer.loss(&images(1), &CLASSES).unwrap();
    let uninterrupted = running(trainer.model());
    let mut again = Normed::open_bytes(&with_counter(&bytes, "norm.num_batches_tracked")).unwrap();
    let mut trainer = again.trainer(AdamW::default());
    trainer.load(&checkpoint).unwrap();
    let _ = trainer.loss(&images(1), &CLASSES).unwrap();
    assert_eq!(running(trainer.model()), uninterrupted);
    let error = Normed::open_bytes(&with_counter(&bytes, "head.num_batches_tracked")).unwrap_err().to_string();
    assert!(error.contains("head.num_batches_tracked"), "{error}");
    [checkpoint, file].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}

/// A safetensors file with one more tensor, a counter of 64 bits.
fn with_counter(bytes: &[u8], name: &str) -> Vec<u8> {
    let len = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..8 + len]).unwrap().trim_end();
    let end = bytes.len() - 8 - len;
    let entry = format!(r#","{name}":{{"dtype":"I64","shape":[],"data_offsets":[{end},{}]}}}}"#, end + 8);
    let mut header = format!("{}{entry}", header.strip_suffix('}').unwrap());
    while header.len() % 8 != 0 {
        header.push(' ');
    }
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), &bytes[8 + len..], &3u64.to_le_bytes()].concat()
}
