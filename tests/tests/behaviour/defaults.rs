//! What holds where nothing is written: the numbers of optimisers and the first values of parameters, against PyTorch's
//! (`references/defaults.py`).

use precast::prelude::*;
use std::collections::BTreeMap;

model! {
    use precast::blocks::MultiheadAttention;

    /// A parameter of each layer and of each initialiser.
    pub struct Net {
        linear: Linear(40, 30),
        conv1d: Conv1d(6, 40, kernel = 3, groups = 2),
        conv2d: Conv2d(4, 40, kernel = [3, 2]),
        conv_transpose1d: ConvTranspose1d(6, 40, kernel = 3, groups = 2),
        conv_transpose2d: ConvTranspose2d(4, 40, kernel = [3, 2]),
        embedding: Embedding(50, 20),
        prelu: PReLU(30),
        layer_norm: LayerNorm(30),
        rms_norm: RMSNorm(30),
        group_norm: GroupNorm(2, 30),
        instance_norm: InstanceNorm1d(30, affine = true),
        batch_norm: BatchNorm1d(30),
        rnn: RNN(10, 24),
        lstm: LSTM(10, 24),
        gru: GRU(10, 24),
        attention: MultiheadAttention(24, 4),
        rules: Rules,
    }

    /// A parameter for each initialiser, by itself and with its numbers.
    struct Rules {
        normal: Parameter(30, 40, init = normal),
        normal_of: Parameter(30, 40, init = normal(0.3)),
        uniform_of: Parameter(30, 40, init = uniform(0.3)),
        trunc_normal: Parameter(30, 40, init = trunc_normal),
        orthogonal: Parameter(30, 40, init = orthogonal),
        orthogonal_of: Parameter(30, 4, 2, init = orthogonal(2)),
        xavier_uniform: Parameter(30, 4, 5, init = xavier_uniform),
        xavier_uniform_of: Parameter(30, 4, 5, init = xavier_uniform(gain = 2)),
        xavier_normal: Parameter(30, 4, 5, init = xavier_normal),
        xavier_normal_of: Parameter(30, 4, 5, init = xavier_normal(gain = 2)),
        kaiming_uniform: Parameter(30, 4, 5, init = kaiming_uniform),
        kaiming_uniform_of: Parameter(30, 4, 5, init = kaiming_uniform(a = 1, mode = "fan_out")),
        kaiming_normal: Parameter(30, 4, 5, init = kaiming_normal),
        kaiming_normal_of: Parameter(30, 4, 5, init = kaiming_normal(a = 1, mode = "fan_out")),
    }

    impl Rules {
        fn forward(&self) -> f32 {
            sum(self.normal) + sum(self.normal_of) + sum(self.uniform_of) + sum(self.trunc_normal)
                + sum(self.orthogonal) + sum(self.orthogonal_of)
                + sum(self.xavier_uniform) + sum(self.xavier_uniform_of)
                + sum(self.xavier_normal) + sum(self.xavier_normal_of)
                + sum(self.kaiming_uniform) + sum(self.kaiming_uniform_of)
                + sum(self.kaiming_normal) + sum(self.kaiming_normal_of)
        }
    }

    impl Net {
        /// A number that every parameter has a part in.
        pub fn all(&self, x: f32[B, 40], signal: f32[B, 6, 8], image: f32[B, 4, 5, 5], word: u32[B]) -> f32 {
            let x = self.layer_norm(self.prelu(self.linear(x)));
            let x = self.batch_norm(self.group_norm(self.rms_norm(x)));
            let x = self.instance_norm(stack(x, 2 * x, axis = 2))[_, _, 0];
            let signal = sum(self.conv1d(signal)) + sum(self.conv_transpose1d(signal));
            let image = sum(self.conv2d(image)) + sum(self.conv_transpose2d(image));
            let steps = reshape(self.embedding(word), [B, 2, 10]);
            let (last, _, _) = self.lstm(steps);
            let recurrent = sum(self.rnn(steps).0) + sum(last) + sum(self.gru(steps).0);
            sum(x) + signal + image + recurrent + sum(self.attention(last)) + self.rules()
        }
    }

    /// What is trained.
    pub struct Bowl {
        a: Parameter(3, init = ones),
    }

    impl Bowl {
        /// Half of the weighed squares.
        #[train(Sgd)]
        pub fn sgd(&self, x: f32[3]) -> f32 { sum(x * square(self.a)) / 2 }

        /// The same.
        #[train(Adam)]
        pub fn adam(&self, x: f32[3]) -> f32 { self.sgd(x) }

        /// The same.
        #[train(AdamW)]
        pub fn adamw(&self, x: f32[3]) -> f32 { self.sgd(x) }

        /// The same.
        #[train(RmsProp)]
        pub fn rmsprop(&self, x: f32[3]) -> f32 { self.sgd(x) }
    }
}

/// What PyTorch says of each name.
fn said() -> BTreeMap<&'static str, [f64; 3]> {
    let line = |line: &'static str| {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        (name, numbers.try_into().unwrap())
    };
    include_str!("references/defaults.txt").lines().map(line).collect()
}

/// Five steps of an optimiser with the numbers that it has by itself.
macro_rules! check {
    ($said:expr, $method:ident, $optimizer:ident) => {{
        let mut bowl = Bowl::init(1);
        let mut trainer = bowl.trainer($optimizer::default());
        for step in 0..5u8 {
            let step = f32::from(step);
            trainer.$method(&[1.0 + 0.1 * step, 3.0 - 0.2 * step, 0.5]).unwrap().value().unwrap();
        }
        for (found, said) in bowl.parameter("a").unwrap().iter().zip($said[stringify!($method)]) {
            assert!((f64::from(*found) - said).abs() < 1e-6, "{}: {found} instead of {said}", stringify!($method));
        }
    }};
}

#[test]
fn optimisers_have_the_numbers_of_pytorch() {
    let said = said();
    check!(said, sgd, Sgd);
    check!(said, adam, Adam);
    check!(said, adamw, AdamW);
    check!(said, rmsprop, RmsProp);
}

#[test]
fn parameters_start_as_in_pytorch() {
    let mut samples: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for seed in 0..300 {
        for (name, _, values) in Net::init(seed).parameters() {
            // A tenth of what is large is enough.
            let some = values.iter().take(400).map(|&x| f64::from(x));
            samples.entry(name).or_default().extend(some);
        }
    }
    let mut said = said();
    for (name, values) in samples {
        let key = match name.strip_prefix("rules.") {
            Some(rule) => format!("{rule}.p"),
            None => name.clone(),
        };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let deviation = (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        let size = values.iter().map(|x| x.abs()).sum::<f64>() / count;
        let [of_mean, of_deviation, of_size] = said.remove(&*key).unwrap_or_else(|| panic!("PyTorch has no {name}"));
        let near = |found: f64, said: f64, within: f64| (found - said).abs() <= within;
        assert!(
            near(mean, of_mean, 0.04 * of_deviation)
                && near(deviation, of_deviation, 0.025 * of_deviation)
                && near(size, of_size, 0.025 * of_size),
            "{name}: mean {mean}, deviation {deviation} and size {size} instead of {of_mean}, {of_deviation} and {of_size}"
        );
    }
    let left: Vec<&&str> = said.keys().filter(|name| name.contains('.')).collect();
    assert!(left.is_empty(), "we have no {left:?}");
}
