//! Models of ONNX files: their parameters, their results beside ONNX Runtime's, and files that are other ones.
//!
//! The files and what they give are written by `references/onnx_files.py`.

#![cfg(feature = "onnx")]
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast::{Error, View};
use std::path::PathBuf;

precast::model! {
    pub struct Images = onnx("../references/onnx/images.onnx", batch = B);
    pub struct Words = onnx("../references/onnx/words.onnx", batch = B, length = T <= 16);
    pub struct Six = onnx("../references/onnx/words.onnx", "batch" = 3, length = 6);
    pub struct Types = onnx("../references/onnx/types.onnx", batch = B);
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
fn parameters_have_the_names_of_the_file() {
    let model = Images::embedded().unwrap();
    let names: Vec<String> = model.parameters().map(|(name, ..)| name).collect();
    for name in ["conv.weight", "norm.running_var", "head.bias"] {
        assert!(names.iter().any(|own| own == name), "{name} of {names:?}");
    }
    // Running statistics are not trained.
    assert_eq!(Images::PARAMS, 36 + 4 + 4 + 4 + 48 + 3);
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
    let mut with = |word: i32| {
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

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_gives_what_onnx_runtime_does() {
    let Some(gpu) = tests::gpu() else { return };
    let (image, words) = (stored("images image"), integers("words words"));
    let images: &[[[[f32; 8]; 8]; 1]] = &image.as_chunks().0.as_chunks().0.as_chunks().0[..2];
    let scores = Images::embedded().unwrap().on(&gpu).unwrap().forward(images).unwrap();
    assert_near(scores.as_flattened(), &stored("images scores"));
    let model = Words::embedded().unwrap().on(&gpu).unwrap();
    let (state, count) = model.forward(View::new(&words, [3, 6]).unwrap()).unwrap();
    assert_near(state.as_flattened(), &stored("words state"));
    assert_eq!(count, integers("words count"));
}
