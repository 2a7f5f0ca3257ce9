//! Models of ONNX files: their parameters, their results beside ONNX Runtime's, and files that are other ones.
//!
//! The files and what they give are written by `references/onnx_files.py`.

#![cfg(feature = "onnx")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::{Error, View};
use precast_compiler::onnx::{Bound, File, import};
use precast_compiler::oracle::{Data, Env, Tensor, run};
use std::path::PathBuf;

precast::model! {
    pub struct Images = onnx("../references/onnx/images.onnx", batch = B);
    pub struct Words = onnx("../references/onnx/words.onnx", batch = B, length = T <= 16);
    pub struct Odd = onnx("../references/onnx/words.onnx", batch = 2 * B + 1, length = 2 * T);
    pub struct Six = onnx("../references/onnx/words.onnx", "batch" = 3, length = 6);
    pub struct Types = onnx("../references/onnx/types.onnx", batch = B);
    pub struct Layers = onnx("../references/onnx/layers.onnx", batch = B);
    pub struct External = onnx("../references/onnx/external.onnx", batch = B);
}

precast::model! {
    struct Block { up: Linear(4, 8), down: Linear(8, 4) }

    impl Block {
        fn forward(&self, x: f32[B, 4]) -> f32[B, 4] { x + self.down(relu(self.up(x))) }
    }

    /// A file of ONNX is written of it.
    pub struct Net { norm: BatchNorm1d(4), blocks: [Block; 3], output: Linear(4, 2) }

    impl Net {
        fn features(&self, x: f32[B, 4]) -> f32[B, 4] {
            let mut y = self.norm(x);
            for block in self.blocks { y = block(y); }
            y
        }

        pub fn scores(&self, x: f32[B, 4]) -> f32[B, 2] { self.output(self.features(x)) }

        pub fn drawn(&self, x: f32[B, 4], key: u32[2]) -> f32[B, 4] { dropout(self.features(x), 0.5, key = key) }

        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 4], class: u32[B]) -> f32 { cross_entropy(self.scores(x), class) }
    }
}

#[cfg(feature = "half")]
precast::model! {
    /// The same, with integers.
    #[model(parameters = int8)]
    pub struct Small { hidden: Linear(4, 6) }

    impl Small {
        pub fn both(&self, x: f32[B, 4]) -> (f32[B, 6], u32[B]) {
            let y = self.hidden(x);
            (y, argmax(y, axis = 1))
        }

        pub fn sum(&self, x: f32[B, 4]) -> f32 { sum(self.hidden(x)) }
    }
}

/// The numbers of an argument or a result.
fn stored(name: &str) -> Vec<f32> {
    let text = include_str!("../references/onnx.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap().split(' ').map(|number| number.parse().unwrap()).collect()
}

fn integers(name: &str) -> Vec<i64> {
    stored(name).into_iter().map(|number| number as i64).collect()
}

fn file(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "references", "onnx", name].iter().collect()
}

/// The largest difference is a millionth of the largest number.
fn assert_near(made: &[f32], wanted: &[f32]) {
    assert_eq!(made.len(), wanted.len());
    let largest = wanted.iter().fold(0f32, |most, x| most.max(x.abs()));
    let far = made.iter().zip(wanted).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    assert!(far <= 2e-6 * largest, "{far} of {largest}");
}

#[test]
fn an_image_network_gives_what_onnx_runtime_does() {
    let image = stored("images image");
    let images: &[[[[f32; 8]; 8]; 1]] = &image.as_chunks().0.as_chunks().0.as_chunks().0[..2];
    for model in [Images::embedded().unwrap(), Images::open_onnx(file("images.onnx")).unwrap()] {
        let scores = model.forward(images).unwrap();
        assert_near(scores.as_flattened(), &stored("images scores"));
        assert_near(model.forward(&images[..1]).unwrap().as_flattened(), &stored("images scores")[..3]);
    }
}

#[test]
fn a_recurrent_network_takes_any_number_of_words() {
    let words = integers("words words");
    let model = Words::embedded().unwrap();
    let (state, count) = model.forward(View::new(&words, [3, 6]).unwrap()).unwrap();
    assert_near(state.as_flattened(), &stored("words state"));
    assert_eq!(count, integers("words count"));
    let (shorter, _) = model.forward(View::new(&words[..4], [1, 4]).unwrap()).unwrap();
    assert_eq!(shorter.len(), 1);
    let too_many = [0; 17];
    assert!(model.forward(View::new(&too_many, [1, 17]).unwrap()).is_err(), "17 words are more than 16");
}

#[test]
fn dimensions_can_be_numbers() {
    let words: [[i64; 6]; 3] = integers("words words").as_chunks().0.try_into().unwrap();
    let (state, count) = Six::embedded().unwrap().forward(&words).unwrap();
    assert_near(state.as_flattened(), &stored("words state"));
    assert_eq!(count.to_vec(), integers("words count"));
}

#[test]
fn dimensions_can_be_computed_from_names() {
    let words = integers("words words");
    let odd = Odd::embedded().unwrap();
    let (state, count) = odd.forward(View::new(&words, [3, 6]).unwrap()).unwrap();
    let (wanted, counted) = Words::embedded().unwrap().forward(View::new(&words, [3, 6]).unwrap()).unwrap();
    assert_eq!((state, count), (wanted, counted));
    let error = odd.forward(View::new(&words[..12], [2, 6]).unwrap()).unwrap_err();
    assert!(matches!(error, Error::Extent { argument: "words", axis: 0, found: 2, written: "2*B + 1", .. }), "{error}");
}

#[test]
fn parameters_have_the_names_of_the_file() {
    let model = Images::embedded().unwrap();
    let names: Vec<String> = model.parameters().map(|(name, ..)| name).collect();
    for name in ["conv.weight", "norm.running_var", "head.bias"] {
        assert!(names.iter().any(|own| own == name), "{name} of {names:?}");
    }
    // Running statistics are not trained.
    assert_eq!(Images::PARAMS, 36 + 4 + 4 + 4 + 48 + 3);
}

/// Layers that are alike are compiled once; nobody sees that.
#[test]
fn layers_of_a_file_are_apart_from_each_other() {
    let x = stored("layers x");
    let x: &[[f32; 4]] = x.as_chunks().0;
    for mut model in [Layers::embedded().unwrap(), Layers::open_onnx(file("layers.onnx")).unwrap()] {
        assert_near(model.forward(x).unwrap().as_flattened(), &stored("layers y"));
        assert_near(model.session().forward(x).unwrap().as_flattened(), &stored("layers y"));
        let names: Vec<String> = model.parameters().map(|(name, ..)| name).collect();
        assert_eq!(names.len(), 7 * 5);
        for layer in 0..7 {
            for name in ["norm.weight", "norm.bias", "up.weight", "up.bias", "down.weight"] {
                assert!(names.contains(&format!("layer.{layer}.{name}")), "{name} of {names:?}");
            }
        }
        assert_eq!(model.parameter("layer.2.up.weight").unwrap(), model.views().layer_2_up_weight.as_flattened());
        assert_eq!(model.parameter("layer.6.up.bias").unwrap(), model.views().layer_6_up_bias);
        model.views_mut().layer_5_up_bias.fill(0.5);
        assert_eq!(model.parameter("layer.5.up.bias").unwrap(), [0.5; 6]);
        assert!(model.parameter("layer.4.up.bias").unwrap().iter().all(|&number| number != 0.5));
    }
    assert_eq!(Layers::PARAMS, 7 * (4 + 4 + 24 + 6 + 24));
    // Parameters that are not trained lie behind others.
    assert_eq!(Images::embedded().unwrap().views_mut().head_bias.len(), 3);
}

#[test]
fn layers_of_a_file_are_saved_and_loaded_by_their_names() {
    let (mut model, path) = (Layers::embedded().unwrap(), temporary("layers").with_extension("safetensors"));
    let wanted = model.parameter("layer.1.down.weight").unwrap().to_vec();
    model.save(&path).unwrap();
    model.parameter_mut("layer.1.down.weight").unwrap().fill(0.0);
    model.load(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(model.parameter("layer.1.down.weight").unwrap(), wanted);
}

#[test]
fn layers_of_a_file_are_exported_by_their_names() {
    let (path, x) = (temporary("layers"), stored("layers x"));
    Layers::embedded().unwrap().to_onnx(&path).unwrap();
    let (results, text) = read_again(&path, vec![floats(&[3, 4], &x)]);
    assert_near(&numbers(&results[0]), &stored("layers y"));
    assert!(!text.contains("Loop"));
    for layer in 0..7 {
        assert!(text.contains(&format!("layer.{layer}.up.weight")));
    }
}

#[test]
fn another_file_is_an_error() {
    let bytes = std::fs::read(file("images.onnx")).unwrap();
    let folder = std::env::temp_dir().join(format!("precast-onnx-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("other.onnx");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        match Images::open_onnx(&path) {
            Err(Error::Format { reason, .. }) => assert!(reason.contains("`Images`"), "{reason}"),
            Err(other) => unreachable!("{other}"),
            Ok(_) => unreachable!("another file was taken"),
        }
    };
    refused(&bytes[..bytes.len() - 1]);
    let mut other = bytes.clone();
    other[1] ^= 1;
    refused(&other);
    assert!(matches!(Images::open_onnx(folder.join("none.onnx")), Err(Error::Io { .. })));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn parameters_in_other_files_are_read_from_there() {
    let x = stored("external x");
    let x: &[[f32; 4]] = x.as_chunks().0;
    for model in [External::embedded().unwrap(), External::open_onnx(file("external.onnx")).unwrap()] {
        assert_near(model.forward(x).unwrap().as_flattened().as_flattened(), &stored("external y"));
        let names: Vec<String> = model.parameters().map(|(name, ..)| name).collect();
        // Two initialisers in one place are one parameter.
        assert_eq!(names, ["first.weight", "first.bias", "matrix", "encoder.weight", "half"]);
    }
}

/// They are those of the build, or differ in nothing but parameters.
#[test]
fn other_files_belong_to_their_model() {
    let folder = std::env::temp_dir().join(format!("precast-onnx-external-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("parts")).unwrap();
    let path = folder.join("renamed.onnx");
    std::fs::copy(file("external.onnx"), &path).unwrap();
    let copied = |name: &str, damage: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = std::fs::read(file(name)).unwrap();
        damage(&mut bytes);
        std::fs::write(folder.join(name), bytes).unwrap();
    };
    let x = stored("external x");
    let first = |model: External| model.forward(x.as_chunks().0).unwrap().as_flattened()[0][0];
    copied("parts/more.data", &|_| {});
    let missing = External::open_onnx(&path);
    assert!(matches!(missing, Err(Error::Io { path, .. }) if path == folder.join("external.data")));
    copied("external.data", &|_| {});
    let own = first(External::open_onnx(&path).unwrap());
    assert_eq!(own, first(External::embedded().unwrap()));
    // The first of the halves that scale columns, twice as large.
    copied("external.data", &|bytes| bytes[1] += 4);
    assert_eq!(first(External::open_onnx(&path).unwrap()), 2.0 * own);
    let refused = |wrong: &str| match External::open_onnx(&path) {
        Err(Error::Format { path, reason }) => {
            assert_eq!(path, folder.join(wrong));
            assert!(reason.contains("`External`"), "{reason}");
        }
        Err(other) => unreachable!("{other}"),
        Ok(_) => unreachable!("another file was taken"),
    };
    // Between two tensors.
    copied("external.data", &|bytes| bytes[10] ^= 1);
    refused("renamed.onnx");
    copied("external.data", &|bytes| bytes.push(0));
    refused("external.data");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn weights_of_all_types_are_read_from_the_file() {
    let x = stored("types x");
    let x: &[[f32; 4]] = x.as_chunks().0;
    for model in [Types::embedded().unwrap(), Types::open_onnx(file("types.onnx")).unwrap()] {
        assert_near(model.forward(x).unwrap().as_flattened(), &stored("types y"));
        let names: Vec<String> = model.parameters().map(|(name, ..)| name).collect();
        for name in ["half", "bytes", "table_", "picks", "eighth", "words", "mask", "w", "w_2"] {
            assert!(names.iter().any(|own| own == name), "{name} of {names:?}");
        }
    }
}

/// A file with other weights is taken, whatever is computed with them, but not with numbers that parameters do not hold.
#[test]
fn other_weights_give_other_results() {
    let bytes = std::fs::read(file("types.onnx")).unwrap();
    let words: Vec<u8> = [3i32, 1, 4].iter().flat_map(|word| word.to_le_bytes()).collect();
    let at = bytes.windows(words.len()).position(|window| window == words).unwrap();
    let folder = std::env::temp_dir().join(format!("precast-onnx-types-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("other.onnx");
    let with = |word: i32| {
        let mut bytes = bytes.clone();
        bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
        Types::open_onnx(&path)
    };
    let x = stored("types x");
    let x: &[[f32; 4]] = x.as_chunks().0;
    let [own, other] = [3, 0].map(|word| with(word).unwrap().forward(x).unwrap().as_flattened()[0]);
    assert_eq!(own, Types::embedded().unwrap().forward(x).unwrap().as_flattened()[0]);
    assert!((other - own).abs() > 0.01, "{own} {other}");
    assert!(matches!(with((1 << 24) + 1), Err(Error::Range { name, .. }) if name == "words"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// What a file computes, and the file as far as it is text.
fn read_again(path: &std::path::Path, args: Vec<Tensor>) -> (Vec<Tensor>, String) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::remove_file(path).unwrap();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    (evaluated(&File::decode(bytes, None).unwrap(), args), text)
}

/// What a file computes, by the importer and the oracle.
fn evaluated(file: &File, args: Vec<Tensor>) -> Vec<Tensor> {
    let imported = import(file, &Bound::default(), proc_macro2::Span::call_site()).unwrap();
    let (model, known) = imported.model("Again");
    let of_type =
        |tensor: &Tensor| Tensor::new(tensor.shape.clone(), Data::Float(model.float(), tensor.data.numbers()));
    let params = known.iter().map(|known| of_type(&known.elements())).collect();
    run(&model.functions[0], &model, &Env { args, params, ..Env::default() }).unwrap().results
}

fn temporary(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("precast-export-{}-{name}.onnx", std::process::id()))
}

/// A tensor of f32.
fn floats(shape: &[usize], numbers: &[f32]) -> Tensor {
    Tensor::floats(shape, numbers.iter().map(|&x| x.into()).collect())
}

fn numbers(tensor: &Tensor) -> Vec<f32> {
    tensor.data.numbers().into_iter().map(|x| x as f32).collect()
}

#[test]
fn what_was_imported_is_exported() {
    let (path, image) = (temporary("images"), stored("images image"));
    Images::embedded().unwrap().to_onnx(&path).unwrap();
    let (results, text) = read_again(&path, vec![floats(&[2, 1, 8, 8], &image)]);
    assert_near(&numbers(&results[0]), &stored("images scores"));
    assert!(text.contains("conv.weight") && text.contains("norm.running_var"));
    // Loops are not read yet.
    Words::embedded().unwrap().to_onnx(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    assert!(["Loop", "words", "result_1", "table", "recurrent"].iter().all(|word| text.contains(word)));
}

/// What is written so is read so.
#[test]
fn parameters_are_exported_to_another_file() {
    let (path, x) = (temporary("external"), stored("external x"));
    External::embedded().unwrap().to_onnx_with_external_data(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let data = path.with_extension("onnx.data");
    let file = File::decode(bytes, path.parent()).unwrap();
    let elements = std::fs::read(&data).unwrap();
    let results = evaluated(&file, vec![floats(&[3, 4], &x)]);
    assert_near(&numbers(&results[0]), &stored("external y"));
    // Each from a page on.
    assert_eq!(elements.len(), 5 * 4096);
    std::fs::remove_file(&path).unwrap();
    std::fs::remove_file(&data).unwrap();
}

#[test]
fn a_model_of_the_language_is_exported() {
    let (path, net) = (temporary("net"), Net::init(3));
    // The only function with a file: another draws, and of losses there is none.
    net.to_onnx(&path).unwrap();
    let x: [[f32; 4]; 3] = std::array::from_fn(|row| std::array::from_fn(|column| row as f32 - 0.7 * column as f32));
    let (results, text) = read_again(&path, vec![floats(&[3, 4], x.as_flattened())]);
    assert_near(&numbers(&results[0]), net.scores(&x).unwrap().as_flattened());
    for name in ["blocks.0.up.weight", "blocks.2.down.bias", "norm.running_mean", "output.weight"] {
        assert!(text.contains(name), "{name}");
    }
}

#[cfg(feature = "half")]
#[test]
fn parameters_of_integers_stay_so_in_a_file() {
    let (path, small) = (temporary("small"), Small::init(3));
    let x = [[0.5, -1.0, 2.0, 0.25], [1.0, 0.0, -0.5, 3.0]];
    let (y, class) = small.both(&x).unwrap();
    small.both_to_onnx(&path).unwrap();
    let (results, _) = read_again(&path, vec![floats(&[2, 4], x.as_flattened())]);
    assert_near(&numbers(&results[0]), y.as_flattened());
    assert_eq!(results[1].u32s(), class);
    small.sum_to_onnx(&path).unwrap();
    let (results, _) = read_again(&path, vec![floats(&[2, 4], x.as_flattened())]);
    assert_near(&numbers(&results[0]), &[small.sum(&x).unwrap()]);
    assert!(matches!(small.sum_to_onnx(path.join("in").join("nowhere")), Err(Error::Io { .. })));
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_gives_what_onnx_runtime_does() {
    let Some(gpu) = tests::gpu() else { return };
    let (image, words) = (stored("images image"), integers("words words"));
    let images: &[[[[f32; 8]; 8]; 1]] = &image.as_chunks().0.as_chunks().0.as_chunks().0[..2];
    let x = stored("layers x");
    let y = Layers::embedded().unwrap().on(&gpu).unwrap().forward(x.as_chunks().0).unwrap();
    assert_near(y.as_flattened(), &stored("layers y"));
    let scores = Images::embedded().unwrap().on(&gpu).unwrap().forward(images).unwrap();
    assert_near(scores.as_flattened(), &stored("images scores"));
    let model = Words::embedded().unwrap().on(&gpu).unwrap();
    let (state, count) = model.forward(View::new(&words, [3, 6]).unwrap()).unwrap();
    assert_near(state.as_flattened(), &stored("words state"));
    assert_eq!(count, integers("words count"));
}
