//! The parts of a residual network (He et al. 2015) on small images: a 7×7 stem with stride 2, a max pool with padding,
//! basic blocks and one that goes down with a shortcut of its own. Three steps of training against PyTorch.
//!
//! `references/resnet.py` has made the numbers.

use precast::prelude::*;

model! {
    /// A small residual network.
    pub struct ResNet(classes = 4) {
        conv1: Conv2d(3, 6, kernel = 7, stride = 2, padding = 3, bias = false),
        bn1: BatchNorm2d(6),
        layer1: [BasicBlock(6); 2],
        layer2: DownBlock(6, 10),
        fc: Linear(10, classes),
    }

    struct BasicBlock(channels) {
        conv1: Conv2d(channels, channels, kernel = 3, padding = 1, bias = false),
        bn1: BatchNorm2d(channels),
        conv2: Conv2d(channels, channels, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(channels),
    }

    struct DownBlock(input, output) {
        conv1: Conv2d(input, output, kernel = 3, stride = 2, padding = 1, bias = false),
        bn1: BatchNorm2d(output),
        conv2: Conv2d(output, output, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(output),
        shortcut: Conv2d(input, output, kernel = 1, stride = 2, bias = false),
        norm: BatchNorm2d(output),
    }

    impl BasicBlock {
        fn forward(&self, x: f32[B, channels, H, W]) -> f32[B, channels, H, W] {
            let y = relu(self.bn1(self.conv1(x)));
            relu(self.bn2(self.conv2(y)) + x)
        }
    }

    impl DownBlock {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] {
            let y = relu(self.bn1(self.conv1(x)));
            relu(self.bn2(self.conv2(y)) + self.norm(self.shortcut(x)))
        }
    }

    impl ResNet {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 3, 17, 15]) -> f32[B, classes] {
            let x = relu(self.bn1(self.conv1(image)));
            let mut x = max_pool2d(x, window = 3, stride = 2, padding = 1);
            for block in self.layer1 {
                x = block(x);
            }
            self.fc(flatten(adaptive_avg_pool2d(self.layer2(x), 1)))
        }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 3, 17, 15], class: u32[B]) -> f32 {
            cross_entropy(self.scores(image), class)
        }
    }
}

type Image = [[[f32; 15]; 17]; 3];

/// The numbers of a seed, as in the script.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + seed * 1543 + 1) % 1009) as f32 / 504.5 - 1.0).collect()
}

fn images(seed: usize) -> Vec<Image> {
    let pixels = numbers(5 * 3 * 17 * 15, seed);
    let pixel = |n: usize, c: usize, h: usize, w: usize| pixels[((3 * n + c) * 17 + h) * 15 + w];
    let image = |n| core::array::from_fn(|c| core::array::from_fn(|h| core::array::from_fn(|w| pixel(n, c, h, w))));
    (0..5).map(image).collect()
}

fn resnet() -> ResNet {
    let mut model = ResNet::init(1);
    let names = model.parameters().map(|(name, ..)| name).filter(|name| !name.contains(".running_"));
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    for (seed, name) in names.iter().enumerate() {
        let values = model.parameter_mut(name).unwrap();
        let count = values.len();
        values.iter_mut().zip(numbers(count, seed)).for_each(|(value, x)| *value = x / 2.0);
    }
    model
}

fn compare(name: &str, found: &[f32]) {
    let text = include_str!("references/resnet.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let expected: Vec<f32> =
        line.unwrap_or_else(|| panic!("no `{name}`")).split(' ').map(|x| x.parse().unwrap()).collect();
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(1e-2f32, |most, x| most.max(x.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-3 * largest, "{name}: {found}, but PyTorch has {expected}");
    }
}

#[test]
fn steps_are_those_of_pytorch() {
    let mut model = resnet();
    let mut trainer = model.trainer(Sgd { rate: 0.05, momentum: 0.9, decay: 0.001, ..default() });
    for step in 0..3 {
        let loss = trainer.loss(&images(100 + step), &[0, 1, 2, 3, 0]).unwrap().value().unwrap();
        compare(&format!("loss{step}"), &[loss]);
    }
    for name in ["conv1.weight", "bn1.running_var", "layer1.1.bn1.running_mean", "layer2.shortcut.weight", "fc.weight"]
    {
        compare(name, model.parameter(name).unwrap());
    }
    compare("scores", model.scores(&images(200)).unwrap().as_flattened());
}
