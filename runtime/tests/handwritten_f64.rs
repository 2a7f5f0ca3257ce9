//! The public face of a model in `f64`, written by hand as `model!` emits it. The tests are what a program does with any
//! such model.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod handwritten {
    pub(crate) mod line;
}

use std::path::PathBuf;

use handwritten::line::{Line, LineTrainer};
use precast::{Error, File, Float, Gradients, Loss, Weights, prelude::*};
use safetensors::{Dtype, tensor::TensorView};

fn file(name: &str) -> PathBuf {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    directory.join(format!("f64-{name}-{}.safetensors", std::process::id()))
}

fn bits(line: &Line) -> Vec<u64> {
    line.parameters().flat_map(|(_, _, values)| values.iter().map(|x| x.to_bits())).collect()
}

/// Points of the plane 0.3 x − 0.7 y + 0.1.
fn points() -> (Vec<[f64; 2]>, Vec<f64>) {
    let x = (0..50).map(|i| [f64::from(i * 37 % 50) / 25.0 - 1.0, f64::from(i) / 25.0 - 1.0]);
    x.map(|[x, y]| ([x, y], 0.3 * x - 0.7 * y + 0.1)).unzip()
}

/// A file of the model's tensors, whose floats have the bytes that `float` gives for the position of a tensor.
fn write(path: &PathBuf, dtype: Dtype, float: impl Fn(f64) -> Vec<u8>) {
    let all = [("linear.weight", vec![1, 2], 0.5), ("linear.bias", vec![1], -1.25), ("blocks.0.gain", vec![3], 3.0)];
    let all = all.into_iter().chain([("blocks.1.gain", vec![3], -0.0625)]);
    let all: Vec<_> =
        all.map(|(name, shape, value)| (name, float(value).repeat(shape.iter().product()), shape)).collect();
    let count = 12i64.to_le_bytes();
    let views = all.iter().map(|(name, bytes, shape)| (*name, TensorView::new(dtype, shape.clone(), bytes).unwrap()));
    let count = ("seen.num_batches_tracked", TensorView::new(Dtype::I64, vec![], &count).unwrap());
    std::fs::write(path, safetensors::serialize(views.chain([count]), None).unwrap()).unwrap();
}

#[test]
fn a_model_is_drawn_as_in_f32_and_constants_are_exact() {
    let line = Line::init(3);
    let weight = line.parameter("linear.weight").unwrap();
    assert!(weight.iter().all(|&x| x != 0.0 && x == f64::from(x as f32)));
    assert_eq!(line.parameter("blocks.1.gain").unwrap(), [0.1; 3]);
    assert_eq!(bits(&line), bits(&Line::init(3)));
    assert_ne!(bits(&line), bits(&Line::init(4)));
}

#[test]
fn parameters_are_named_read_and_written() {
    let mut line = Line::init(1);
    let all: Vec<_> = line.parameters().map(|(name, shape, values)| (name, shape.to_vec(), values.len())).collect();
    let names: Vec<&str> = all.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["linear.weight", "linear.bias", "blocks.0.gain", "blocks.1.gain", "seen.num_batches_tracked"]);
    assert_eq!(all[0], ("linear.weight".into(), vec![1, 2], 2));
    line.write("blocks.1.gain", &[0.1, 0.2, 1e300]).unwrap();
    line.parameter_mut("linear.bias").unwrap()[0] = 0.7;
    assert_eq!(line.parameter("blocks.1.gain").unwrap(), [0.1, 0.2, 1e300]);
    assert_eq!(line.parameter("blocks.0.gain").unwrap(), [0.1; 3]);
    let error = line.write("linear.weight", &[0.0; 4]).unwrap_err();
    assert_eq!(error.to_string(), "`linear.weight` has 2 values, but 4 were given");
    let views = line.views();
    assert_eq!((views.linear.bias, views.blocks.gain[1]), (&[0.7], [0.1, 0.2, 1e300]));
    assert_eq!(views.linear.weight.as_flattened(), line.parameter("linear.weight").unwrap());
    let views = line.views_mut();
    (views.blocks.gain[0][2], *views.seen.num_batches_tracked) = (-0.3, 4.0);
    assert_eq!(line.parameter("blocks.0.gain").unwrap(), [0.1, 0.1, -0.3]);
    assert_eq!(line.parameter("seen.num_batches_tracked").unwrap(), [4.0]);
    assert_eq!(bits(&line.on(&Cpu).unwrap()), bits(&line));
    assert_eq!(bits(&line.clone()), bits(&line));
}

#[test]
fn weights_survive_a_file_as_f64() {
    let path = file("weights");
    let mut line = Line::init(5);
    line.write("linear.bias", &[0.1]).unwrap();
    line.write("seen.num_batches_tracked", &[9.0]).unwrap();
    line.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let bias = reference.tensor("linear.bias").unwrap();
    assert_eq!((bias.dtype(), bias.data()), (Dtype::F64, &0.1f64.to_le_bytes()[..]));
    let count = reference.tensor("seen.num_batches_tracked").unwrap();
    assert_eq!((count.dtype(), count.data()), (Dtype::I64, &9i64.to_le_bytes()[..]));
    assert_eq!(bits(&Line::open(&path).unwrap()), bits(&line));
    assert_eq!(bits(&Line::open_bytes(&bytes).unwrap()), bits(&line));
    assert_eq!(Cpu.wait(line.to_safetensors()).unwrap(), bytes);
    let mut other = Line::init(6);
    other.load_from(&File::new(&path)).unwrap();
    assert_eq!(bits(&other), bits(&line));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn shorter_floats_are_widened() {
    let path = file("shorter");
    let brain = |x: f64| (x as f32).to_bits().to_be_bytes()[..2].iter().rev().copied().collect();
    let half = |x: f64| {
        [(0.5, 0x3800u16), (-1.25, 0xbd00), (3.0, 0x4200), (-0.0625, 0xac00)]
            .iter()
            .find(|(of, _)| *of == x)
            .unwrap()
            .1
            .to_le_bytes()
            .to_vec()
    };
    for (dtype, float) in [
        (Dtype::F64, &(|x: f64| x.to_le_bytes().to_vec()) as &dyn Fn(f64) -> Vec<u8>),
        (Dtype::F32, &|x| (x as f32).to_le_bytes().to_vec()),
        (Dtype::F16, &half),
        (Dtype::BF16, &brain),
    ] {
        write(&path, dtype, float);
        let line = Line::open(&path).unwrap();
        assert_eq!(line.parameter("linear.weight").unwrap(), [0.5; 2], "{dtype}");
        assert_eq!(line.parameter("linear.bias").unwrap(), [-1.25], "{dtype}");
        assert_eq!(line.views().blocks.gain, &[[3.0; 3], [-0.0625; 3]], "{dtype}");
        assert_eq!(line.parameter("seen.num_batches_tracked").unwrap(), [12.0], "{dtype}");
    }
    write(&path, Dtype::I32, |x| (x as i32).to_le_bytes().to_vec());
    let mut line = Line::init(1);
    let before = bits(&line);
    let error = line.load_from(&File::new(&path)).unwrap_err();
    assert!(matches!(&error, Error::Tensors { differences, .. } if differences.len() == 4));
    assert!(error.to_string().contains("`linear.bias` holds I32, but should hold F64"), "{error}");
    assert_eq!(bits(&line), before);
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn sessions_and_conveniences_agree() {
    let (x, y) = points();
    let mut line = Line::init(1);
    line.write("linear.weight", &[0.3, -0.7]).unwrap();
    line.write("linear.bias", &[0.1]).unwrap();
    assert_eq!(line.predict(&x).unwrap(), y);
    let mut session = line.session();
    assert_eq!(session.predict(&x).unwrap(), y);
    assert_eq!(session.predict(&x[..3]).unwrap(), &y[..3]);
    assert_eq!(line.predict(&[]).unwrap_err().to_string(), "`x` is empty: B must be at least 1");
}

#[test]
fn gradients_are_f64_and_those_that_are_not_computed_zero() {
    let (x, y) = points();
    let mut line = Line::init(1);
    let before = bits(&line);
    let gradients: Gradients<Line, f64> = line.trainer(Sgd::default()).loss_gradients(&x, &y).unwrap();
    let errors: Vec<f64> = line.predict(&x).unwrap().iter().zip(&y).map(|(found, y)| found - y).collect();
    let mean = errors.iter().map(|error| error * error).sum::<f64>() / 50.0;
    assert_eq!(gradients.loss, mean);
    let bias = errors.iter().map(|error| 2.0 * error).sum::<f64>() / 50.0;
    assert!((gradients.get("linear.bias").unwrap()[0] - bias).abs() < 1e-15);
    assert_eq!(gradients.views().linear.weight.as_flattened(), gradients.get("linear.weight").unwrap());
    assert_eq!(gradients.views().blocks.gain, &[[0.0; 3]; 2]);
    assert_eq!(gradients.iter().map(|(name, ..)| name).last().unwrap(), "blocks.1.gain");
    assert!(matches!(gradients.get("seen.num_batches_tracked"), Err(Error::UnknownParameter { .. })));
    assert_eq!(bits(&line), before);
}

#[test]
fn a_step_is_that_of_its_formula_and_training_ends_where_f32_has_no_digits() {
    let (x, y) = points();
    let mut line = Line::init(1);
    let (before, gradients) = (line.clone(), line.trainer(Sgd::default()).loss_gradients(&x, &y).unwrap());
    let mut trainer = line.trainer(Sgd { rate: 0.25, ..default() });
    trainer.group("linear.bias", |o| o.rate = 0.0).unwrap();
    let loss: Loss<Cpu, f64> = trainer.loss(&x, &y).unwrap();
    assert_eq!(loss.value().unwrap(), gradients.loss);
    let slope = gradients.get("linear.weight").unwrap();
    let expected: Vec<f64> =
        before.parameter("linear.weight").unwrap().iter().zip(slope).map(|(x, slope)| x - 0.25 * slope).collect();
    assert_eq!(trainer.model().parameter("linear.weight").unwrap(), expected);
    assert_eq!(trainer.model().parameter("linear.bias").unwrap(), before.parameter("linear.bias").unwrap());
    assert_eq!(trainer.model().parameter("seen.num_batches_tracked").unwrap(), [1.0]);
    let mut trainer = line.trainer(Sgd { rate: 0.25, momentum: 0.5, ..default() });
    let losses: Vec<f64> = (0..400).map(|_| trainer.loss(&x, &y).unwrap().value().unwrap()).collect();
    assert!(losses[399] < 1e-28, "{}", losses[399]);
    let error = trainer.loss(&[[f64::NAN; 2]], &[0.0]).unwrap().value().unwrap_err();
    assert_eq!(error.to_string(), "`loss` or its gradient is not finite in step 401; the update was skipped");
    // Beyond what f32 has, and finite.
    let far = trainer.loss(&[[0.0, 0.0]], &[1e100]).unwrap().value().unwrap();
    assert!((far / 1e200 - 1.0).abs() < 1e-12, "{far}");
}

#[test]
fn a_resumed_run_is_the_run_that_was_not_interrupted() {
    let path = file("checkpoint");
    let (x, y) = points();
    let optimizer = || Sgd { rate: 0.1, momentum: 0.9, ..default() };
    let run = |trainer: &mut LineTrainer<'_, Sgd>, steps: u64| {
        while trainer.steps() < steps {
            trainer.loss(&x, &y).unwrap().value().unwrap();
        }
    };
    let mut whole = Line::init(1);
    run(&mut whole.trainer(optimizer()), 20);
    let mut first = Line::init(1);
    let mut trainer = first.trainer(optimizer());
    run(&mut trainer, 9);
    trainer.save(&path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let reference = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let state = reference.tensor("optimizer.momentum_buffer.linear.weight").unwrap();
    assert_eq!((state.dtype(), state.shape()), (Dtype::F64, &[1, 2][..]));
    let mut resumed = Line::init(2);
    let mut trainer = resumed.trainer(Sgd::default());
    trainer.load(&path).unwrap();
    assert_eq!((trainer.steps(), trainer.optimizer.clone()), (9, optimizer()));
    run(&mut trainer, 20);
    assert_eq!(bits(&resumed), bits(&whole));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn batches_and_functions_of_any_float_serve() {
    fn sum<T: Float>(weights: &Weights<Cpu, T>) -> f64 {
        weights.parameters().flat_map(|(_, _, values)| values).map(|value| value.to_f64()).sum()
    }
    let (x, y) = points();
    let mut loader = Loader::new(&x, &y, 16).unwrap();
    let mut line = Line::init(1);
    let before = sum(&line);
    let mut trainer = line.trainer(Sgd::default());
    for (x, y) in loader.shuffled(1) {
        trainer.loss(x, y).unwrap().value().unwrap();
    }
    assert_eq!(trainer.steps(), 4);
    assert_ne!(sum(trainer.model()), before);
}
