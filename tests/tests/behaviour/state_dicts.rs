//! Weights that PyTorch saved: they load unchanged and give PyTorch's outputs.

use precast::View;
use precast::prelude::*;
use std::collections::BTreeMap;

model! {
    /// The three networks of `references/state_dicts.py`.
    pub struct Loaded {
        mlp: Mlp,
        cnn: Cnn,
        lstm: LSTM(4, 5, layers = 2, bidirectional = true),
    }

    struct Mlp { hidden: Linear(7, 13), output: Linear(13, 3) }
    impl Mlp {
        fn forward(&self, x: f32[B, 7]) -> f32[B, 3] { self.output(tanh(self.hidden(x))) }
    }

    struct Cnn {
        conv1: Conv2d(3, 6, kernel = 3, stride = 2, padding = 1, bias = false),
        bn1: BatchNorm2d(6),
        conv2: Conv2d(6, 8, kernel = 3, groups = 2),
        bn2: BatchNorm2d(8),
        fc: Linear(8, 5),
    }
    impl Cnn {
        fn forward(&self, image: f32[B, 3, 11, 9]) -> f32[B, 5] {
            let x = relu(self.bn1(self.conv1(image)));
            let x = relu(self.bn2(self.conv2(x)));
            self.fc(mean(x, axes = [2, 3]))
        }
    }

    impl Loaded {
        /// The MLP.
        pub fn mlp_of(&self, x: f32[B, 7]) -> f32[B, 3] { self.mlp(x) }

        /// The CNN, by its running statistics.
        pub fn cnn_of(&self, image: f32[B, 3, 11, 9]) -> f32[B, 5] { self.cnn(image) }

        /// What the LSTM gives at every step, and its last states.
        pub fn lstm_of(&self, x: f32[B, T, 4]) -> (f32[B, T, 10], f32[4, B, 5], f32[4, B, 5]) { self.lstm(x) }
    }
}

/// Numbers that may differ by 10⁻⁵ of the largest.
fn agree(name: &str, got: &[f32], want: &[f32]) {
    assert_eq!(got.len(), want.len(), "{name}");
    let largest = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-5 * largest, "{name}[{at}] is {got}, but PyTorch has {want}");
    }
}

#[test]
fn state_dicts_give_the_outputs_of_pytorch() {
    let line = |line: &'static str| {
        let (name, numbers) = line.split_once(": ").unwrap();
        (name, numbers.split(' ').map(|x| x.parse().unwrap()).collect())
    };
    let text = include_str!("../../references/state_dicts.txt");
    let stored: BTreeMap<&str, Vec<f32>> = text.lines().skip(1).map(line).collect();
    let mut model = Loaded::init(0);
    model.load(concat!(env!("CARGO_MANIFEST_DIR"), "/references/state_dicts.safetensors")).unwrap();

    let x: &[[f32; 7]] = stored["x"].as_chunks().0;
    agree("mlp", model.mlp_of(x).unwrap().as_flattened(), &stored["mlp"]);
    let rows: &[[f32; 9]] = stored["image"].as_chunks().0;
    let planes: &[[[f32; 9]; 11]] = rows.as_chunks().0;
    let images: &[[[[f32; 9]; 11]; 3]] = planes.as_chunks().0;
    agree("cnn", model.cnn_of(images).unwrap().as_flattened(), &stored["cnn"]);
    let frames: &[[f32; 4]] = stored["sequence"].as_chunks().0;
    let (output, h, c) = model.lstm_of(View::new(frames, [3, 6]).unwrap()).unwrap();
    agree("output", output.data().as_flattened(), &stored["output"]);
    agree("h", h.data().as_flattened(), &stored["h"]);
    agree("c", c.data().as_flattened(), &stored["c"]);
}
