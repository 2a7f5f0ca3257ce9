//! Losses: what training on the device comes to, beside the same training on the CPU.
//!
//! In: a device. Out: for each network and precision how far its losses are from the CPU's in f32: the farthest of the first steps,
//! and the mean of the last ones, where rounding has been multiplied by training. Always: data are real, handwritten digits and
//! Shakespeare; parameters begin with the same bits, and both see the same samples in the same order.

use super::networks::{CONTEXT, Gpt, GptMixed, GptSplit, IMAGES, ResNet18, ResNet18Mixed, ResNet18Split, WINDOWS};
use super::{Bench, Done};
use crate::workloads::{w2, w3, w7};
use examples::digits::{self, Samples};
use examples::text::{Alphabet, SHAKESPEARE, Windows};
use precast::View;
use precast::prelude::*;
use w2::W2;
use w3::W3;
use w7::W7;

model! {
    use crate::workloads::{w2::W2, w3::W3, w7::W7};

    /// With products of halves.
    #[model(precision = split)]
    pub struct W2Split = W2;
    /// With products of halves.
    #[model(precision = split)]
    pub struct W3Split = W3;
    /// With products of halves.
    #[model(precision = split)]
    pub struct W7Split = W7;
    /// With numbers of products rounded to halves.
    #[model(precision = mixed)]
    pub struct W2Mixed = W2;
    /// With numbers of products rounded to halves.
    #[model(precision = mixed)]
    pub struct W3Mixed = W3;
    /// With numbers of products rounded to halves.
    #[model(precision = mixed)]
    pub struct W7Mixed = W7;
}

/// Steps that are compared one by one.
const FIRST: usize = 50;
/// All steps.
const STEPS: usize = 200;
/// Steps at the end whose mean is compared.
const LAST: usize = 20;

/// What the loss of each step was.
macro_rules! losses {
    ($model:expr, $optimizer:expr, |$at:ident, $trainer:ident| $step:expr) => {{
        let mut model = $model;
        let mut $trainer = model.trainer($optimizer);
        (0..STEPS).map(|$at| Ok($step?.value()?)).collect::<Done<Vec<f32>>>()
    }};
}

/// Lines for a network: what becomes of the CPU's own losses if the rate is one ulp larger, then the device's in f32, with products
/// of halves, and with numbers of products rounded to halves.
macro_rules! lines {
    ($bench:ident, $name:literal, [$f32:ident, $split:ident, $mixed:ident], $rate:literal, $optimizer:expr, $($step:tt)*) => {
        let (of_cpu, optimizer) = (std::cell::OnceCell::new(), $optimizer);
        let of_cpu = || of_cpu.get_or_init(|| losses!($f32::init(0), optimizer($rate), $($step)*)).as_deref();
        let (name, rate) = (concat!($name, "_ulp"), f32::next_up($rate));
        compare($bench, name, of_cpu, || losses!($f32::init(0), optimizer(rate), $($step)*));
        compare($bench, $name, of_cpu, || losses!($f32::init(0).on(&$bench.gpu)?, optimizer($rate), $($step)*));
        let name = concat!($name, "_split");
        compare($bench, name, of_cpu, || losses!($split::init(0).on(&$bench.gpu)?, optimizer($rate), $($step)*));
        let name = concat!($name, "_mixed");
        compare($bench, name, of_cpu, || losses!($mixed::init(0).on(&$bench.gpu)?, optimizer($rate), $($step)*));
    };
}

/// Trains and prints a line.
fn compare<'c>(
    bench: &Bench<'_>,
    name: &str,
    of_cpu: impl FnOnce() -> Result<&'c [f32], &'c Box<dyn std::error::Error>>,
    of_other: impl FnOnce() -> Done<Vec<f32>>,
) {
    if !name.contains(&bench.wanted.only) {
        return;
    }
    let losses =
        of_cpu().map_err(ToString::to_string).and_then(|cpu| Ok((cpu, of_other().map_err(|why| why.to_string())?)));
    let (cpu, other) = match &losses {
        Ok((cpu, other)) => (*cpu, other.as_slice()),
        Err(why) => return println!("# {name}: {why}"),
    };
    let apart = |(cpu, other): (f64, f64)| 100.0 * (other - cpu).abs() / cpu.abs();
    let pairs = cpu.iter().zip(other).map(|(&cpu, &other)| (f64::from(cpu), f64::from(other)));
    let first = pairs.take(FIRST).map(apart).fold(0.0, f64::max);
    let last = [cpu, other]
        .map(|losses| losses[STEPS - LAST..].iter().map(|&loss| f64::from(loss)).sum::<f64>() / LAST as f64);
    println!("{name},precast,{:.5},{:.5},{:.5},{first:.4},{:.4}", cpu[0], last[0], last[1], apart((last[0], last[1])));
}

/// Images of so many channels and as many rows as columns.
type Images<const C: usize, const S: usize> = Vec<[[[f32; S]; S]; C]>;

/// So many of the digits, from a step's first one on, and around again.
struct Digits(Samples);

impl Digits {
    fn step(&self, step: usize, batch: usize) -> impl Iterator<Item = (&digits::Image, u32)> {
        let all = self.0.images.iter().zip(self.0.labels.iter().copied());
        all.cycle().skip(step * batch % self.0.labels.len()).take(batch)
    }

    /// Images whose pixels are squares of so many, with a border, in each channel; and what they show.
    fn images<const C: usize, const S: usize>(&self, step: usize, batch: usize) -> (Images<C, S>, Vec<u32>) {
        let (pixels, side) = (8, S / 8);
        let border = (S - pixels * side) / 2;
        let (mut images, mut labels) = (vec![[[[0.0; S]; S]; C]; batch], vec![]);
        for (own, (image, label)) in images.iter_mut().zip(self.step(step, batch)) {
            for (row, line) in
                own.iter_mut().flat_map(|channel| channel[border..].iter_mut().take(pixels * side).enumerate())
            {
                for (column, pixel) in line[border..].iter_mut().take(pixels * side).enumerate() {
                    *pixel = image[0][row / side][column / side];
                }
            }
            labels.push(label);
        }
        (images, labels)
    }

    /// Sequences of digits, and how large the last one is.
    fn sequences(&self, step: usize, batch: usize) -> (Vec<[[f32; 64]; 100]>, Vec<[f32; 1]>) {
        let sequence = |at: usize| {
            let (mut images, mut last) = ([[0.0; 64]; 100], 0.0);
            for (own, (image, label)) in images.iter_mut().zip(self.step(step * batch + at, 100)) {
                own.copy_from_slice(image.as_flattened().as_flattened());
                last = label as f32 / 10.0;
            }
            (images, [last])
        };
        (0..batch).map(sequence).unzip()
    }
}

pub(super) fn all(bench: &Bench<'_>) {
    println!(
        "# losses, and by how many percent of the CPU's they differ at most in the first 50 steps, and in the mean of the last 20 of 200\nrow,backend,first_loss,cpu_last_20,last_20,percent_of_first_50,percent_of_last_20"
    );
    let digits = Digits(digits::all());
    let adam = |rate| Adam { rate, ..default() };
    let batch = bench.batch(w2::BATCH);
    lines!(bench, "losses_mlp", [W2, W2Split, W2Mixed], 1e-3, adam, |step, trainer| {
        let (images, labels) = digits.images::<1, 28>(step, batch);
        let rows: Vec<[f32; 784]> =
            images.as_flattened().iter().map(|image| core::array::from_fn(|at| image[at / 28][at % 28])).collect();
        trainer.loss(&rows, &labels)
    });
    let batch = bench.batch(w3::BATCH);
    lines!(bench, "losses_cnn", [W3, W3Split, W3Mixed], 1e-3, adam, |step, trainer| {
        let (images, labels) = digits.images::<1, 28>(step, batch);
        trainer.loss(&images, &labels)
    });
    let batch = bench.batch(w7::BATCH);
    lines!(bench, "losses_lstm", [W7, W7Split, W7Mixed], 1e-3, adam, |step, trainer| {
        let (x, y) = digits.sequences(step, batch);
        trainer.loss(&x, &y)
    });
    let batch = bench.batch(IMAGES);
    let sgd = |rate| Sgd { rate, momentum: 0.9, ..default() };
    lines!(bench, "losses_resnet18", [ResNet18, ResNet18Split, ResNet18Mixed], 1e-4, sgd, |step, trainer| {
        let (images, labels) = digits.images::<3, 224>(step, batch);
        trainer.loss(&images, &labels)
    });
    let ids = Alphabet::of(SHAKESPEARE).encode(SHAKESPEARE);
    let batch = bench.batch(WINDOWS);
    let adamw = |rate| AdamW { rate, ..default() };
    lines!(bench, "losses_gpt", [Gpt, GptSplit, GptMixed], 1e-3, adamw, |step, trainer| {
        let (mut id, mut next) = (vec![], vec![]);
        Windows::new(&ids, step as u64).draw(batch, CONTEXT, &mut id, &mut next);
        let shape = [batch, CONTEXT];
        trainer.loss(View::new(&id, shape)?, View::new(&next, shape)?)
    });
}
