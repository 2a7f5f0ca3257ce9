//! Parameters that are stored in fewer bits: what the outputs are, what files hold, and how the parameters are reached.

use super::checkpoints::{agree, file, stored as written};
use super::numbers;
use precast::prelude::*;
use precast::{Float, Quantized, View};
use std::fs;
use std::path::PathBuf;

model! {
    /// Parameters in every place: looked up, repeated, convolved, recurrent, on either side of a product.
    pub struct Net {
        table: Embedding(50, 19),
        blocks: [Block(19, 40); 3],
        patch: Conv1d(19, 21, kernel = 3, padding = 1),
        wide: ConvTranspose1d(21, 18, kernel = 2, stride = 2),
        gru: GRU(18, 13),
        left: Parameter([11, 13], init = normal(0.5)),
        mix: Parameter([11, 9], init = normal(0.5)),
        norm: LayerNorm(9),
        output: Linear(9, 7),
    }

    struct Block(dim, inner) { norm: LayerNorm(dim), up: Linear(dim, inner), down: Linear(inner, dim) }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { x + self.down(gelu(self.up(self.norm(x)))) }
    }

    impl Net {
        /// Scores of each place.
        pub fn scores(&self, ids: u32[B, T]) -> f32[B, 2 * T, 7] {
            let mut x = self.table(ids);
            for block in self.blocks { x = block(x); }
            let x = transpose(self.wide(self.patch(transpose(x, [0, 2, 1]))), [0, 2, 1]);
            let (y, _) = self.gru(x);
            self.output(self.norm(matmul(einsum("btk,mk->btm", y, self.left), self.mix)))
        }

        /// Trained in f32 only.
        #[train(AdamW)]
        pub fn loss(&self, ids: u32[B, T]) -> f32 { mean(square(self.scores(ids))) }
    }

    /// A half of the memory.
    #[model(parameters = bf16)]
    pub struct Bf16 = Net;

    /// The same with more digits and a smaller range.
    #[model(parameters = f16)]
    pub struct F16 = Net;

    /// A quarter of it.
    #[model(parameters = int8)]
    pub struct Int8 = Net;
}

model! {
    use super::checkpoints::Llama;

    /// As Hugging Face's `torch_dtype = bfloat16` has it.
    #[model(parameters = bf16)]
    pub struct LlamaBf16 = Llama;

    /// And `float16`.
    #[model(parameters = f16)]
    pub struct LlamaF16 = Llama;

    /// And quantised.
    #[model(parameters = int8)]
    pub struct LlamaInt8 = Llama;
}

model! {
    use super::checkpoints::Bert;

    /// As `bfloat16` has it.
    #[model(parameters = bf16)]
    pub struct BertBf16 = Bert;
}

const SEED: u64 = 3;

/// The bytes of a model's file.
macro_rules! bytes {
    ($model:expr) => {
        precast::Blocking::wait(&Cpu, $model.to_safetensors()).unwrap()
    };
}

/// What a model says of so many texts of so many words, from a call, from a session, and from that session again.
macro_rules! scores {
    ($model:expr, $texts:expr, $words:expr) => {{
        let ids: Vec<u32> = (0..$texts * $words).map(|k| (k * 37 % 50) as u32).collect();
        let view = || View::new(&ids, [$texts, $words]).unwrap();
        let model = &$model;
        let once = model.scores(view()).unwrap();
        let mut session = model.session();
        for _ in 0..2 {
            assert_eq!(session.scores(view()).unwrap().data(), once.data(), "in a session");
        }
        once.into_data().as_flattened().to_vec()
    }};
}

/// The largest difference, relative to the largest number.
fn error(found: &[f32], wanted: &[f32]) -> f32 {
    let largest = wanted.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    found.iter().zip(wanted).fold(0.0f32, |most, (a, b)| most.max((a - b).abs())) / largest
}

const SIZES: [(usize, usize); 5] = [(1, 1), (2, 5), (1, 40), (7, 9), (33, 4)];

#[test]
fn outputs_are_those_of_rounded_parameters() {
    let net = Net::init(SEED);
    let file = bytes!(net);
    macro_rules! check {
        ($model:ident, $bound:expr) => {{
            let stored = $model::open_bytes(&file).unwrap();
            let mut rounded = net.clone();
            for (name, _, values) in stored.parameters() {
                let values: Vec<f32> = values.iter().map(|value| value.to_f64() as f32).collect();
                // Scales are no parameters of the other.
                let _ = rounded.write(&name, &values);
            }
            for (name, _, values) in stored.quantized_parameters() {
                rounded.write(&name, &values.to_vec()).unwrap();
            }
            for (texts, words) in SIZES {
                let found = scores!(stored, texts, words);
                let same = error(&found, &scores!(rounded, texts, words));
                assert!(same <= 3e-6, "{} of {texts} × {words}: {same}", stringify!($model));
                let other = error(&found, &scores!(net, texts, words));
                assert!((1e-5..$bound).contains(&other), "{} of {texts} × {words}: {other}", stringify!($model));
            }
        }};
    }
    check!(F16, 5e-3);
    check!(Bf16, 3e-2);
    check!(Int8, 5e-2);
}

#[test]
fn threads_change_nothing() {
    let stored = Int8::init(SEED);
    let run = |threads| {
        precast::set_threads(threads);
        scores!(stored, 33, 4)
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn the_same_seed_draws_the_same_parameters() {
    let (net, half, bytes) = (Net::init(SEED), Bf16::init(SEED), Int8::init(SEED));
    for (name, shape, values) in half.parameters() {
        let exact = net.parameter(&name).unwrap();
        assert_eq!(values.len(), shape.iter().product::<usize>());
        assert!(values.iter().zip(exact).all(|(x, y)| *x == precast::half::bf16::from_f32(*y)), "{name}");
    }
    let mut quantized = 0;
    for (name, shape, values) in bytes.quantized_parameters() {
        let exact = net.parameter(&name).unwrap();
        let row = values.codes.len() / shape[0];
        for (at, (x, y)) in values.to_vec().iter().zip(exact).enumerate() {
            assert!((x - y).abs() <= 0.500_001 * values.scales[at / row], "{name}");
        }
        quantized += values.codes.len();
    }
    // All but norms and biases.
    let plain: usize =
        net.parameters().filter(|(_, shape, _)| shape.len() < 2).map(|(_, _, values)| values.len()).sum();
    assert_eq!(quantized + plain, Net::PARAMS);
    assert_eq!((Bf16::PARAMS, Int8::PARAMS), (Net::PARAMS, Net::PARAMS));
}

#[test]
fn files_have_the_type_of_the_parameters() {
    let (half, int8) = (Bf16::init(SEED), Int8::init(SEED));
    let (of_half, of_int8, of_net) = (bytes!(half), bytes!(int8), bytes!(Net::init(SEED)));
    assert!(of_half.len() < of_net.len() * 6 / 10 && of_int8.len() < of_net.len() * 4 / 10);
    let file = safetensors::SafeTensors::deserialize(&of_half).unwrap();
    assert!(file.tensors().iter().all(|(_, tensor)| tensor.dtype() == safetensors::Dtype::BF16));
    let file = safetensors::SafeTensors::deserialize(&of_int8).unwrap();
    let [weight, scale] = ["output.weight", "output.weight_scale"].map(|name| file.tensor(name).unwrap());
    assert_eq!((weight.dtype(), weight.shape()), (safetensors::Dtype::I8, &[7, 9][..]));
    assert_eq!((scale.dtype(), scale.shape()), (safetensors::Dtype::F32, &[7, 1][..]));
    assert_eq!(file.tensor("output.bias").unwrap().dtype(), safetensors::Dtype::F32);
    // What is read again is the same to the last bit, and f32 holds what bf16 does.
    assert_eq!(scores!(Bf16::open_bytes(&of_half).unwrap(), 2, 5), scores!(half, 2, 5));
    assert_eq!(scores!(Int8::open_bytes(&of_int8).unwrap(), 2, 5), scores!(int8, 2, 5));
    assert_eq!(
        Net::open_bytes(&of_half).unwrap().parameter("mix").unwrap()[3],
        half.parameter("mix").unwrap()[3].to_f32()
    );
    assert_eq!(Int8::open_bytes(&of_half).unwrap().parameter("output.bias").unwrap().len(), 7);
}

fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("precast-stored-{name}-{}.safetensors", std::process::id()))
}

#[test]
fn files_that_do_not_fit_change_nothing() {
    let mut net = Net::init(SEED);
    let (mut f16, mut int8) = (F16::init(SEED), Int8::init(SEED));
    let before = (bytes!(f16), bytes!(int8));
    net.write("mix", &[1e5; 99]).unwrap();
    let large = path("large");
    net.save(&large).unwrap();
    let why = f16.load(&large).unwrap_err().to_string();
    assert!(why.ends_with("`mix` has 1e5, which F16 does not hold"), "{why}");
    net.write("mix", &[f32::NAN; 99]).unwrap();
    net.save(&large).unwrap();
    let why = int8.load(&large).unwrap_err().to_string();
    assert!(why.ends_with("`mix` has NaN, which I8 does not hold"), "{why}");
    f16.load(&large).unwrap();
    assert!(f16.parameter("mix").unwrap()[0].is_nan());
    // Integers are no floats, and need their scales.
    let ints = path("ints");
    int8.save(&ints).unwrap();
    let why = net.load(&ints).unwrap_err().to_string();
    assert!(why.contains("`mix` holds I8, but should hold F32"), "{why}");
    let unscaled = precast::File::new(&ints).rename("mix_scale", "other").strict(false);
    let why = int8.load_from(&unscaled).unwrap_err().to_string();
    assert!(why.contains("`mix` holds I8 without `mix_scale`"), "{why}");
    assert_eq!((bytes!(int8), before.0.len()), (before.1, bytes!(f16).len()));
    fs::remove_file(large).unwrap();
    fs::remove_file(ints).unwrap();
}

/// Scales may be a vector, and negative, and a number -128.
#[test]
fn integers_of_other_programs_are_read() {
    let of_int8 = bytes!(Int8::init(SEED));
    let file = safetensors::SafeTensors::deserialize(&of_int8).unwrap();
    let codes: Vec<u8> = (128..=255).step_by(2).chain(0..128).take(7 * 9).collect();
    let scales = [0.01f32, -0.02, 0.0, 0.03, 1e-3, 0.5, -1e-2];
    let scale_bytes: Vec<u8> = scales.iter().flat_map(|scale| scale.to_le_bytes()).collect();
    let tensors = file.tensors().into_iter().map(|(name, tensor)| {
        let other = match name.as_str() {
            "output.weight" => safetensors::tensor::TensorView::new(safetensors::Dtype::I8, vec![7, 9], &codes),
            "output.weight_scale" => {
                safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![7], &scale_bytes)
            }
            _ => Ok(tensor),
        };
        (name, other.unwrap())
    });
    let other = safetensors::serialize(tensors, None).unwrap();
    let stored = Int8::open_bytes(&other).unwrap();
    let read = stored.quantized_parameter("output.weight").unwrap();
    assert_eq!((read.codes[0], read.scales), (-128, &scales[..]));
    let mut wide = Net::init(SEED);
    for (name, _, values) in stored.quantized_parameters() {
        wide.write(&name, &values.to_vec()).unwrap();
    }
    let same = error(&scores!(stored, 2, 5), &scores!(wide, 2, 5));
    assert!(same <= 3e-6, "{same}");
}

#[test]
fn parameters_are_reached_as_they_are_stored() {
    let (mut half, mut int8) = (Bf16::init(SEED), Int8::init(SEED));
    let first: precast::half::bf16 = half.views().output.weight[0][0];
    assert_eq!(first, half.parameter("output.weight").unwrap()[0]);
    half.views_mut().blocks.up.weight[2][39][18] = precast::half::bf16::ONE;
    assert_eq!(half.parameter("blocks.2.up.weight").unwrap()[40 * 19 - 1].to_f32(), 1.0);
    // A parameter of an odd number of elements ends inside of a word.
    let (neighbour, values) = (half.parameter("blocks.1.norm.bias").unwrap().to_vec(), [precast::half::bf16::MAX; 19]);
    half.write("blocks.0.norm.bias", &values).unwrap();
    assert_eq!(half.parameter("blocks.0.norm.bias").unwrap(), values);
    assert_eq!(half.parameter("blocks.1.norm.bias").unwrap(), neighbour);

    let views = int8.views();
    let (code, scale) = (views.output.weight[6][8], views.output.weight_scale[6][0]);
    let Quantized { codes, scales } = int8.quantized_parameter("output.weight").unwrap();
    assert_eq!((codes[62], scales[6]), (code, scale));
    let values = numbers(7 * 9, 5);
    int8.write("output.weight", &values).unwrap();
    let found = int8.quantized_parameter("output.weight").unwrap().to_vec();
    assert!(error(&found, &values) < 0.5 / 127.0 + 1e-6);
    let errors = [
        int8.parameter("output.weight").map(|_| ()).unwrap_err(),
        int8.parameter_mut("output.weight").map(|_| ()).unwrap_err(),
        int8.quantized_parameter("output.bias").map(|_| ()).unwrap_err(),
        int8.write("output.weight", &[f32::INFINITY; 63]).unwrap_err(),
        int8.write("output.weight", &[1.0]).unwrap_err(),
    ];
    let texts = errors.map(|error| error.to_string());
    assert_eq!(texts[0], "`output.weight` is stored as integers with scales, which `quantized_parameter` gives");
    assert_eq!(texts[1], texts[0]);
    assert_eq!(texts[2], "`output.bias` is stored as floats, which `parameter` gives");
    assert_eq!(texts[3], "`output.weight` is stored as integers, and inf is none, whatever its scale");
    assert_eq!(texts[4], "`output.weight` has 63 values, but 1 were given");
}

#[test]
fn checkpoints_of_few_bits_stay_so() {
    macro_rules! check {
        ($model:ident, $name:literal) => {
            let ids: Vec<u32> = written(concat!($name, " x"));
            let model = $model::open(file($name)).unwrap();
            agree(concat!($name, " y"), model.logits(View::new(&ids, [2, 7]).unwrap()).unwrap().data().as_flattened());
        };
    }
    check!(LlamaBf16, "llama");
    check!(LlamaF16, "llama-f16");
    let ids: Vec<u32> = written("bert-bf16 x");
    let pooled = BertBf16::open(file("bert-bf16")).unwrap().pooled(View::new(&ids, [2, 7]).unwrap()).unwrap();
    agree("bert-bf16 y", pooled.as_flattened());
    let (ids, wanted): (Vec<u32>, Vec<f32>) = (written("llama x"), written("llama y"));
    let quantized = LlamaInt8::open(file("llama")).unwrap();
    let found = quantized.logits(View::new(&ids, [2, 7]).unwrap()).unwrap().into_data();
    let error = error(found.as_flattened(), &wanted);
    assert!((1e-4..3e-2).contains(&error), "{error}");
}

/// A GPU reads them as they are stored, too.
#[cfg(feature = "gpu")]
#[test]
fn gpus_give_what_the_cpu_does() {
    let Some(gpu) = tests::gpu() else { return };
    macro_rules! check {
        ($model:ident) => {{
            let model = $model::init(SEED);
            let mut there = model.on(&gpu).unwrap();
            for (texts, words) in SIZES {
                let same = error(&scores!(there, texts, words), &scores!(model, texts, words));
                assert!(same <= 1e-5, "{} of {texts} × {words}: {same}", stringify!($model));
            }
            // What shares words with others is written alone.
            let values: Vec<_> = numbers(19, 3).into_iter().map(|x| <_>::from_f64(x.into())).collect();
            there.write("blocks.1.norm.bias", &values).unwrap();
            let back = there.on(&Cpu).unwrap();
            assert_eq!(back.parameter("blocks.1.norm.bias").unwrap(), values);
            for name in ["blocks.0.norm.bias", "blocks.2.norm.bias", "norm.weight"] {
                assert_eq!(back.parameter(name).unwrap(), model.parameter(name).unwrap());
            }
        }};
    }
    check!(F16);
    check!(Bf16);
    check!(Int8);
}
