//! Lists of layers that differ: what a program sees of them. That they compute what PyTorch does is in `references`.

use precast::prelude::*;

model! {
    /// A chain, a list and blocks that vary with their number.
    pub struct Net(dim = 6) {
        #[name = "features"]
        stem: Sequential(Linear(4, dim), relu, |x| dropout(x, 0.1), Sequential(Linear(dim, dim), tanh)),
        dilated: [Step(dim, pow(2, k)) for k in 0..3],
        heads: [LayerNorm(dim), Linear(dim, 2)],
    }

    struct Step(dim, dilation) { conv: Conv1d(dim, dim, kernel = 3, dilation = dilation, padding = dilation) }

    impl Step {
        fn forward(&self, x: f32[B, dim, T]) -> f32[B, dim, T] { x + tanh(self.conv(x)) }
    }

    impl Net {
        /// Two numbers for each sequence.
        pub fn out(&self, x: f32[B, T, 4]) -> f32[B, 2] {
            let mut x = transpose(self.stem(x), 0, 2, 1);
            for step in self.dilated {
                x = step(x);
            }
            let mut x = mean(x, axis = 2);
            for layer in self.heads {
                x = layer(x);
            }
            x
        }

        /// What the first step alone makes of it.
        pub fn first(&self, x: f32[B, dim, T]) -> f32[B, dim, T] { self.dilated[0](x) }

        #[train(AdamW, only = [stem, heads])]
        pub fn loss(&self, x: f32[B, T, 4], y: f32[B, 2]) -> f32 { mse_loss(self.out(x), y) }
    }
}

#[test]
fn files_number_them() {
    let names: Vec<String> = Net::init(0).parameters().map(|(name, ..)| name).collect();
    let stem = ["features.0.weight", "features.0.bias", "features.3.0.weight", "features.3.0.bias"];
    let dilated = ["0.conv.weight", "0.conv.bias", "1.conv.weight", "1.conv.bias", "2.conv.weight", "2.conv.bias"];
    let heads = ["heads.0.weight", "heads.0.bias", "heads.1.weight", "heads.1.bias"];
    let dilated = dilated.map(|name| format!("dilated.{name}"));
    assert_eq!(names, [&stem.map(String::from)[..], &dilated[..], &heads.map(String::from)[..]].concat());
}

#[test]
fn views_call_them_by_their_numbers() {
    let mut net = Net::init(0);
    net.views_mut().heads._1.bias.copy_from_slice(&[1.5, -2.5]);
    assert_eq!(net.parameter("heads.1.bias").unwrap(), [1.5, -2.5]);
    let weight: &[[f32; 6]; 6] = net.views().stem._3._0.weight;
    assert_eq!(weight.as_flattened(), net.parameter("features.3.0.weight").unwrap());
}

#[test]
fn they_are_trained_in_part() {
    let mut net = Net::init(1);
    let (kept, moved) = (*net.views().dilated._1.conv.weight, *net.views().stem._0.weight);
    let x = [[[0.5, -1.0, 2.0, 0.1]; 5], [[-0.5, 1.0, 0.0, 0.3]; 5]];
    let (x, y) = (View::new(x.as_flattened(), [2, 5]).unwrap(), [[1.0, 0.0], [0.0, 1.0]]);
    let mut trainer = net.trainer(AdamW { rate: 0.02, ..AdamW::default() });
    let losses: Vec<f32> = (0..60).map(|_| trainer.loss(x, &y).unwrap().value().unwrap()).collect();
    drop(trainer);
    assert!(losses[59] < losses[0] / 2.0, "{losses:?}");
    assert_eq!(*net.views().dilated._1.conv.weight, kept);
    assert_ne!(*net.views().stem._0.weight, moved);
}
