//! Networks: a step of each, and one row through the smallest.
//!
//! In: a device. Out: a line for each. Always: networks and sizes are those of PyTorch's programs; arguments are on the device
//! before anything counts, but for the latency, which is of what is brought and fetched; a submission is a step unless the name of
//! the row says how many it has.

use super::report::Work;
use super::{Bench, Done};
use crate::workloads::{classes, w2, w3, w4, w6, w7};
use precast::prelude::*;
use precast::{Gpu, View};
use w2::{W2, W2Trainer};
use w3::{W3, W3Trainer};
use w7::{W7, W7Trainer};

model! {
    use crate::workloads::w6::W6;

    /// A GPT on characters.
    pub struct Gpt = W6(dim = 384, heads = 6, context = 256, layers = 6);
    /// The same, with products of halves.
    #[model(precision = split)]
    pub struct GptSplit = W6(dim = 384, heads = 6, context = 256, layers = 6);
    /// The same, with numbers of products rounded to halves.
    #[model(precision = mixed)]
    pub struct GptMixed = W6(dim = 384, heads = 6, context = 256, layers = 6);
}

model! {
    use crate::workloads::w4::W4;

    /// ResNet-18 whose images a session keeps.
    pub struct ResNet18 {
        net: W4,
        state images: f32[B, 3, 224, 224],
        state scores: f32[B, 1000],
    }

    impl ResNet18 {
        /// Takes images.
        pub fn fill(&mut self, images: f32[B, 3, 224, 224]) { self.images = images; }
        /// A thousand scores for each.
        pub fn infer(&mut self) { self.scores = self.net.scores(self.images); }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, images: f32[B, 3, 224, 224], class: u32[B]) -> f32 {
            cross_entropy(self.net.scores(images), class)
        }
    }

    /// The same, with products of halves.
    #[model(precision = split)]
    pub struct ResNet18Split = ResNet18;

    /// The same, with numbers of products rounded to halves.
    #[model(precision = mixed)]
    pub struct ResNet18Mixed = ResNet18;
}

/// Characters of a window of the GPT, and windows of a step.
pub(super) const CONTEXT: usize = 256;
pub(super) const WINDOWS: usize = 64;

/// Steps of a submission, where there are several.
const TOGETHER: usize = 16;

/// Images of ResNet-18.
pub(super) const IMAGES: usize = 32;

/// A loss that is no number would be measured, but not trained with.
pub(super) fn finite(loss: f32) -> Done<()> {
    if loss.is_finite() { Ok(()) } else { Err(format!("the loss is {loss}").into()) }
}

impl Bench<'_> {
    /// The samples of a step.
    pub(super) fn batch(&self, usual: usize) -> usize {
        self.wanted.options.batch.unwrap_or(usual)
    }
}

pub(super) fn mlp(bench: &Bench<'_>) {
    let batch = bench.batch(w2::BATCH);
    bench.line("mlp", || {
        let mut model = W2::init(0).on(&bench.gpu)?;
        let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
        let (x, y) = (w2::rows(batch), classes(batch, 10));
        finite(trainer.loss(&x, &y)?.value()?)?;
        let (work, on) = (Work::Operations(W2Trainer::<Adam>::loss_flops(batch)), trainer.loss_batch(&x, &y)?);
        bench.measure(work, || trainer.steps_on([&on]).map(drop))
    });
    bench.line("mlp_16", || {
        let mut model = W2::init(0).on(&bench.gpu)?;
        let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
        let work = Work::Operations(W2Trainer::<Adam>::loss_flops(batch));
        let on = trainer.loss_batch(&w2::rows(batch), &classes(batch, 10))?;
        let (work, measured) = bench.measure(work, || trainer.steps_on([&on; TOGETHER]).map(drop))?;
        Ok((work, measured.each(TOGETHER)))
    });
}

pub(super) fn cnn(bench: &Bench<'_>) {
    let batch = bench.batch(w3::BATCH);
    bench.line("cnn", || {
        let mut model = W3::init(0).on(&bench.gpu)?;
        let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
        let (x, y) = (w3::images(batch), classes(batch, 10));
        finite(trainer.loss(&x, &y)?.value()?)?;
        let (work, on) = (Work::Operations(W3Trainer::<Adam>::loss_flops(batch)), trainer.loss_batch(&x, &y)?);
        bench.measure(work, || trainer.steps_on([&on]).map(drop))
    });
}

/// A line for a step of a GPT.
macro_rules! gpt {
    ($bench:ident, $name:literal, $model:ident, $trainer:ident) => {
        $bench.line($name, || {
            let batch = $bench.batch(WINDOWS);
            let mut model = $model::init(0).on(&$bench.gpu)?;
            let mut trainer = model.trainer(AdamW { rate: 1e-3, ..default() });
            let (id, next) = w6::characters((batch * CONTEXT) as u32);
            let (id, next) = (View::new(&id, [batch, CONTEXT])?, View::new(&next, [batch, CONTEXT])?);
            finite(trainer.loss(id, next)?.value()?)?;
            let work = Work::Operations($trainer::<AdamW>::loss_flops(batch, CONTEXT));
            let on = trainer.loss_batch(id, next)?;
            $bench.measure(work, || trainer.steps_on([&on]).map(drop))
        });
    };
}

pub(super) fn gpt(bench: &Bench<'_>) {
    gpt!(bench, "gpt", Gpt, GptTrainer);
    gpt!(bench, "gpt_split", GptSplit, GptSplitTrainer);
    gpt!(bench, "gpt_mixed", GptMixed, GptMixedTrainer);
}

/// Lines for images that are classified, and for a step.
macro_rules! resnet18 {
    ($bench:ident, $infer:literal, $step:literal, $model:ident, $dims:ident, $trainer:ident) => {
        let batch = $bench.batch(IMAGES);
        $bench.line($infer, || {
            let model = $model::init(0).on(&$bench.gpu)?;
            let mut session = model.session($dims { B: batch })?;
            session.fill(&w4::images(batch))?;
            $bench.measure(Work::Operations($model::infer_flops(batch)), || session.infer())
        });
        $bench.line($step, || {
            let mut model = $model::init(0).on(&$bench.gpu)?;
            let mut trainer = model.trainer(Sgd { rate: 0.01, momentum: 0.9, ..default() });
            let (x, y) = (w4::images(batch), classes(batch, 1000));
            finite(trainer.loss(&x, &y)?.value()?)?;
            let (work, on) = (Work::Operations($trainer::<Sgd>::loss_flops(batch)), trainer.loss_batch(&x, &y)?);
            $bench.measure(work, || trainer.steps_on([&on]).map(drop))
        });
    };
}

pub(super) fn resnet18(bench: &Bench<'_>) {
    resnet18!(bench, "resnet18_infer", "resnet18_step", ResNet18, ResNet18Dims, ResNet18Trainer);
    resnet18!(
        bench,
        "resnet18_infer_split",
        "resnet18_step_split",
        ResNet18Split,
        ResNet18SplitDims,
        ResNet18SplitTrainer
    );
    resnet18!(
        bench,
        "resnet18_infer_mixed",
        "resnet18_step_mixed",
        ResNet18Mixed,
        ResNet18MixedDims,
        ResNet18MixedTrainer
    );
}

pub(super) fn lstm(bench: &Bench<'_>) {
    let batch = bench.batch(w7::BATCH);
    bench.line("lstm", || {
        let mut model = W7::init(0).on(&bench.gpu)?;
        let mut trainer = model.trainer(Adam { rate: 1e-3, ..default() });
        let (x, y) = w7::sequences(batch);
        finite(trainer.loss(&x, &y)?.value()?)?;
        let (work, on) = (Work::Operations(W7Trainer::<Adam>::loss_flops(batch)), trainer.loss_batch(&x, &y)?);
        bench.measure(work, || trainer.steps_on([&on]).map(drop))
    });
}

pub(super) fn latency(bench: &Bench<'_>) {
    let of = |gpu: &Gpu| {
        let model = W2::init(0).on(gpu)?;
        let mut session = model.session();
        let mut x = w2::rows(1);
        bench.measure(Work::Latency, || {
            x[0][0] = session.scores(&x)?[0][0] * 0.1;
            Ok(())
        })
    };
    bench.line("latency", || of(&bench.gpu));
    bench.line("latency_busy", || {
        of(&Gpu::options().adapter(bench.wanted.options.adapter.as_str().into()).busy_poll().open()?)
    });
}
