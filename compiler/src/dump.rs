//! Dumps: what each stage makes of a model, as text for people and tools.
//!
//! In: a wish such as `grad,emit` or `all`. Out: for every model and wished stage files of name and text, and how long the
//! stages took.

use crate::ir::plan::Plans;
use crate::ir::{Model, dot};
use crate::pipeline::STAGES;
use proc_macro2::TokenStream;
use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One file of a dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dump {
    /// Such as `Digits.grad.txt`.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Which stages are wished for, and what has been dumped.
#[derive(Clone, Debug)]
pub struct Dumps {
    stages: Vec<&'static str>,
    /// In the order of the stages.
    pub files: Vec<Dump>,
    /// What each stage took, of all models together, without the dumps.
    pub times: Vec<(&'static str, Duration)>,
    since: Instant,
}

impl Default for Dumps {
    /// No stage is wished for.
    fn default() -> Dumps {
        Dumps { stages: vec![], files: vec![], times: vec![], since: Instant::now() }
    }
}

impl Dumps {
    /// From stage names separated by commas, or `all`; or the first name that is no stage.
    pub fn of(wish: &str) -> Result<Dumps, String> {
        let mut stages = vec![];
        for word in wish.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            match STAGES.iter().find(|s| **s == word) {
                Some(stage) => stages.push(*stage),
                None if word == "all" => stages.extend(STAGES),
                None => return Err(word.to_string()),
            }
        }
        Ok(Dumps { stages, ..Dumps::default() })
    }

    fn wants(&self, stage: &str) -> bool {
        self.stages.contains(&stage)
    }

    /// The next stage begins.
    pub(crate) fn start(&mut self) {
        self.since = Instant::now();
    }

    /// A stage has ended.
    fn stop(&mut self, stage: &'static str) {
        let took = self.since.elapsed();
        match self.times.iter_mut().find(|(known, _)| *known == stage) {
            Some((_, time)) => *time += took,
            None => self.times.push((stage, took)),
        }
    }

    fn push(&mut self, model: &Model, stage: &str, extension: &str, text: String) {
        self.files.push(Dump { name: format!("{}.{stage}.{extension}", model.name), text });
    }

    /// Models after a stage that leaves graphs: text, and a drawing for each function.
    pub(crate) fn graphs(&mut self, stage: &'static str, models: &[Model]) {
        self.stop(stage);
        if self.wants(stage) {
            models.iter().for_each(|model| self.graph(stage, model));
        }
        self.start();
    }

    fn graph(&mut self, stage: &str, model: &Model) {
        self.push(model, stage, "txt", model.to_string());
        for (k, function) in model.functions.iter().enumerate() {
            self.push(model, &format!("{stage}.{}{k}", function.name), "dot", dot::function(function));
        }
    }

    /// A model's kernels after a stage that leaves programs or plans.
    pub(crate) fn kernels(&mut self, stage: &'static str, model: &Model, text: impl FnOnce() -> String) {
        self.stop(stage);
        if self.wants(stage) {
            self.push(model, stage, "txt", text());
        }
        self.start();
    }

    /// What emit printed.
    pub(crate) fn emitted(&mut self, model: &Model, plans: &Plans, tokens: &TokenStream) {
        self.stop("emit");
        if self.wants("emit") {
            let code = tokens.to_string();
            self.push(model, "emit", "rs", formatted(&code).unwrap_or(code));
            self.shaders(model, plans);
        }
        self.start();
    }

    #[cfg(feature = "gpu")]
    fn shaders(&mut self, model: &Model, plans: &Plans) {
        if !model.runs_on_gpus() {
            return;
        }
        let emitted = crate::stages::emit::wgsl::wgsl(model, plans);
        self.push(model, "emit", "wgsl", emitted.wgsl);
        for (kind, text) in [("halves.wgsl", emitted.halves), ("foreign.wgsl", emitted.foreign)] {
            if !text.is_empty() {
                self.push(model, "emit", kind, text);
            }
        }
    }

    #[cfg(not(feature = "gpu"))]
    fn shaders(&mut self, _: &Model, _: &Plans) {}
}

/// Rust as rustfmt writes it, where there is one: tokens print on one line.
fn formatted(code: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=120"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It reads all that there is before it writes, so neither waits for the other.
    let written = rustfmt.stdin.take()?.write_all(code.as_bytes());
    let mut text = String::new();
    let read = rustfmt.stdout.take()?.read_to_string(&mut text);
    let done = rustfmt.wait().is_ok_and(|status| status.success());
    (done && written.is_ok() && read.is_ok()).then_some(text)
}
