//! Models of ONNX files as blocks of others: evaluated, trained, repeated, and their derivatives beside differences.

#![cfg(feature = "onnx")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::View;
use precast::prelude::*;
use std::path::PathBuf;

precast::model! {
    pub struct Images = onnx("../references/onnx/images.onnx", batch = B);
    struct Words = onnx("../references/onnx/words.onnx", batch = B, length = T <= 16);
    pub struct Layers = onnx("../references/onnx/layers.onnx", batch = B);

    /// A new head on the network of a file.
    pub struct Tuned { body: Images, head: Linear(3, 2) }

    impl Tuned {
        pub fn scores(&self, image: f32[N, 1, 8, 8]) -> f32[N, 2] { self.head(self.body(image)) }

        #[train(Sgd)]
        pub fn loss(&self, image: f32[N, 1, 8, 8], label: u32[N]) -> f32 {
            mean(cross_entropy(self.scores(image), label))
        }

        #[train(Sgd, only = head)]
        pub fn loss_of_head(&self, image: f32[N, 1, 8, 8], label: u32[N]) -> f32 {
            mean(cross_entropy(self.scores(image), label))
        }
    }

    /// The same network twice, and another one, of which one result is used.
    pub struct Several { bodies: [Images; 2], words: Words }

    impl Several {
        pub fn forward(&self, image: f32[M, 1, 8, 8], words: i64[M, L <= 16]) -> (f32[M, 3], f32[M, 5], i64[M]) {
            let mut total = zeros(M, 3);
            for body in self.bodies { total = total + body(image); }
            let (state, count) = self.words(words);
            (total, state, count)
        }

        #[train(Sgd)]
        pub fn loss(&self, words: i64[M, L <= 16]) -> f32 {
            let (state, count) = self.words(words);
            mean(square(state))
        }
    }

    struct External = onnx("../references/onnx/external.onnx", batch = B);

    /// Two files, of which one has its parameters in others.
    pub struct Both { images: Images, external: External }

    impl Both {
        pub fn forward(&self, image: f32[M, 1, 8, 8], x: f32[N, 4]) -> (f32[M, 3], f32[N, 2, 2]) {
            (self.images(image), self.external(x))
        }
    }

    /// A file with layers that are alike, before a new one, and twice.
    pub struct Deep { body: Layers, bodies: [Layers; 2], head: Linear(4, 1) }

    impl Deep {
        pub fn scores(&self, x: f32[N, 4]) -> f32[N, 1] { self.head(self.body(x)) }

        pub fn forward(&self, x: f32[N, 4]) -> f32[N, 4] {
            let mut y = x;
            for body in self.bodies { y = body(y); }
            y
        }

        #[train(Sgd)]
        pub fn loss(&self, x: f32[N, 4], y: f32[N, 1]) -> f32 { mean(square(self.scores(x) - y)) }

        #[train(Sgd, only = head)]
        pub fn loss_of_head(&self, x: f32[N, 4], y: f32[N, 1]) -> f32 { mean(square(self.scores(x) - y)) }
    }
}

/// The numbers of an argument or a result.
fn stored(name: &str) -> Vec<f32> {
    let text = include_str!("../references/onnx.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap().split(' ').map(|number| number.parse().unwrap()).collect()
}

fn images() -> Vec<[[[f32; 8]; 8]; 1]> {
    stored("images image").as_chunks().0.as_chunks().0.as_chunks().0.to_vec()
}

fn assert_near(made: f64, wanted: f64, within: f64) {
    assert!((made - wanted).abs() <= within * wanted.abs().max(1e-2), "{made}, not {wanted}");
}

#[test]
fn blocks_of_several_files_have_their_external_data() {
    let file = |name: &str| PathBuf::from_iter([env!("CARGO_MANIFEST_DIR"), "references", "onnx", name]);
    let x = stored("external x");
    let opened = Both::open_onnx([file("images.onnx"), file("external.onnx")]).unwrap();
    for model in [Both::embedded().unwrap(), opened] {
        let (scores, y) = model.forward(&images(), x.as_chunks().0).unwrap();
        let made = scores.as_flattened().iter().chain(y.as_flattened().as_flattened());
        let wanted = [stored("images scores"), stored("external y")].concat();
        made.zip(wanted).for_each(|(&made, wanted)| assert_near(made.into(), wanted.into(), 1e-4));
    }
}

#[test]
fn a_block_gives_what_the_model_does() {
    let alone = Images::embedded().unwrap();
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "references", "onnx", "images.onnx"].iter().collect();
    for tuned in [Tuned::embedded(1).unwrap(), Tuned::open_onnx(file, 1).unwrap()] {
        assert_eq!(tuned.parameter("body.conv.weight").unwrap(), alone.parameter("conv.weight").unwrap());
        let (weight, bias) = (tuned.parameter("head.weight").unwrap(), tuned.parameter("head.bias").unwrap());
        assert!(weight.iter().any(|number| *number != 0.0), "the head is drawn");
        let (scores, features) = (tuned.scores(&images()).unwrap(), alone.forward(&images()).unwrap());
        for (scores, features) in scores.iter().zip(&features) {
            for (k, score) in scores.iter().enumerate() {
                let sum: f32 = features.iter().zip(&weight[3 * k..]).map(|(x, w)| x * w).sum();
                assert_near((*score).into(), (sum + bias[k]).into(), 1e-5);
            }
        }
    }
}

#[test]
fn derivatives_are_those_of_differences() {
    let (images, labels) = (images(), [1, 0]);
    let mut tuned = Tuned::embedded(1).unwrap();
    let gradients = tuned.trainer(Sgd::default()).loss_gradients(&images, &labels).unwrap();
    let found = |name: &str| gradients.get(name).map(<[f32]>::to_vec);
    let mut loss = |name: &str, at: usize, step: f32| {
        tuned.parameter_mut(name).unwrap()[at] += step;
        let scores = tuned.scores(&images).unwrap();
        tuned.parameter_mut(name).unwrap()[at] -= step;
        let one = |scores: &[f32; 2], label: usize| {
            let exponentials = scores.map(|x| f64::from(x).exp());
            -(exponentials[label] / exponentials.iter().sum::<f64>()).ln()
        };
        (one(&scores[0], 1) + one(&scores[1], 0)) / 2.0
    };
    for name in ["body.conv.weight", "body.conv.bias", "body.norm.weight", "body.head.weight", "head.bias"] {
        for (at, gradient) in found(name).unwrap().into_iter().enumerate() {
            let difference = (loss(name, at, 1e-2) - loss(name, at, -1e-2)) / 2e-2;
            assert!((f64::from(gradient) - difference).abs() < 2e-3, "{name}[{at}]: {gradient}, not {difference}");
        }
    }
    assert!(found("body.norm.running_mean").is_err(), "statistics are not trained");
}

#[test]
fn training_lowers_the_loss_and_leaves_frozen_parameters() {
    let (images, labels) = (images(), [1, 0]);
    let mut tuned = Tuned::embedded(1).unwrap();
    let before = tuned.parameter("body.conv.weight").unwrap().to_vec();
    let mut trainer = tuned.trainer(Sgd { rate: 0.1, ..Sgd::default() });
    let first = trainer.loss_of_head(&images, &labels).unwrap().value().unwrap();
    let last = (0..20).map(|_| trainer.loss_of_head(&images, &labels).unwrap().value().unwrap()).last().unwrap();
    assert!(last < 0.9 * first, "{first} became {last}");
    let whole = (0..20).map(|_| trainer.loss(&images, &labels).unwrap().value().unwrap()).last().unwrap();
    assert!(whole < last, "{last} became {whole}");
    drop(trainer);
    assert_ne!(tuned.parameter("body.conv.weight").unwrap(), before);
}

#[test]
fn another_file_is_named_by_the_model_that_it_is_not_of() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "references", "onnx"].iter().collect();
    let error = Several::open_onnx(["words.onnx", "images.onnx"].map(|name| folder.join(name))).unwrap_err();
    assert!(error.to_string().ends_with("bytes, and that which `Images` was built from has 1327"), "{error}");
}

#[test]
fn blocks_of_several_files_are_repeated_and_give_several_results() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "references", "onnx"].iter().collect();
    let paths = ["images.onnx", "words.onnx"].map(|name| folder.join(name));
    let words: Vec<i64> = stored("words words").into_iter().map(|number| number as i64).collect();
    let words = View::new(&words[..12], [2, 6]).unwrap();
    for mut model in [Several::embedded().unwrap(), Several::open_onnx(paths).unwrap()] {
        let (total, state, count) = model.forward(&images(), words).unwrap();
        for (made, wanted) in total.as_flattened().iter().zip(stored("images scores")) {
            assert_near((*made).into(), (2.0 * wanted).into(), 1e-5);
        }
        for (made, wanted) in state.as_flattened().iter().zip(stored("words state")) {
            assert_near((*made).into(), wanted.into(), 1e-5);
        }
        assert!(count.iter().map(|&n| n as f32).eq(stored("words count")[..2].iter().copied()));
        let mut trainer = model.trainer(Sgd { rate: 0.5, ..Sgd::default() });
        let first = trainer.loss(words).unwrap().value().unwrap();
        let last = (0..20).map(|_| trainer.loss(words).unwrap().value().unwrap()).last().unwrap();
        assert!(last < 0.9 * first, "{first} became {last}");
    }
}

#[test]
fn layers_that_are_alike_are_trained_each_on_its_own() {
    let x = stored("layers x");
    let (x, y): (&[[f32; 4]], _) = (x.as_chunks().0, [[0.5], [-1.0], [2.0]]);
    let mut deep = Deep::embedded(1).unwrap();
    let gradients = deep.trainer(Sgd::default()).loss_gradients(x, &y).unwrap();
    let found = |name: &str| gradients.get(name).map(<[f32]>::to_vec);
    let mut loss = |name: &str, at: usize, step: f32| {
        deep.parameter_mut(name).unwrap()[at] += step;
        let scores = deep.scores(x).unwrap();
        deep.parameter_mut(name).unwrap()[at] -= step;
        scores.iter().zip(&y).map(|(made, wanted)| f64::from(made[0] - wanted[0]).powi(2)).sum::<f64>() / 3.0
    };
    for layer in 0..7 {
        for name in ["norm.weight", "norm.bias", "up.weight", "up.bias", "down.weight"] {
            let name = format!("body.layer.{layer}.{name}");
            for (at, gradient) in found(&name).unwrap().into_iter().enumerate() {
                let difference = (loss(&name, at, 1e-2) - loss(&name, at, -1e-2)) / 2e-2;
                assert!((f64::from(gradient) - difference).abs() < 2e-3, "{name}[{at}]: {gradient}, not {difference}");
            }
        }
    }
}

#[test]
fn layers_that_are_alike_can_be_frozen_and_repeated() {
    let (x, y) = (stored("layers x"), [[0.5], [-1.0], [2.0]]);
    let x: &[[f32; 4]] = x.as_chunks().0;
    let mut deep = Deep::embedded(1).unwrap();
    let alone = Layers::embedded().unwrap();
    let twice = alone.forward(&alone.forward(x).unwrap()).unwrap();
    assert_eq!(deep.parameter("bodies.1.layer.2.up.bias").unwrap(), alone.parameter("layer.2.up.bias").unwrap());
    for (made, wanted) in deep.forward(x).unwrap().as_flattened().iter().zip(twice.as_flattened()) {
        assert_near((*made).into(), (*wanted).into(), 1e-5);
    }
    let own = |deep: &Deep| deep.parameter("body.layer.1.up.weight").unwrap().to_vec();
    let before = own(&deep);
    let mut trainer = deep.trainer(Sgd { rate: 0.05, ..Sgd::default() });
    let first = trainer.loss_of_head(x, &y).unwrap().value().unwrap();
    let last = (0..20).map(|_| trainer.loss_of_head(x, &y).unwrap().value().unwrap()).last().unwrap();
    assert!(last < first, "{first} became {last}");
    drop(trainer);
    assert_eq!(own(&deep), before);
    let mut trainer = deep.trainer(Sgd { rate: 0.05, ..Sgd::default() });
    let whole = (0..20).map(|_| trainer.loss(x, &y).unwrap().value().unwrap()).last().unwrap();
    assert!(whole < last, "{last} became {whole}");
    drop(trainer);
    assert_ne!(own(&deep), before);
}
