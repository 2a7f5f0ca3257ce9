//! What evaluates the models.

use crate::batch;
use crate::case::{Case, Opened};
use crate::compare::{Gate, compare};
use precast_compiler::oracle::{self, Env, Rounding, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// What is asked of the models.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Backend {
    /// That they are imported.
    Import,
    /// That the oracle gives the results.
    #[default]
    Oracle,
    /// That the generated code of the CPU does, on each instruction set that there is.
    Cpu,
    /// That the generated WGSL does.
    Gpu,
}

impl Backend {
    /// All of them.
    const ALL: [Backend; 4] = [Backend::Import, Backend::Oracle, Backend::Cpu, Backend::Gpu];

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Result<Backend, String> {
        match Backend::ALL.into_iter().find(|backend| backend.name() == name) {
            Some(Backend::Gpu) if !cfg!(feature = "gpu") => Err("build with `--features gpu` for the GPU".into()),
            Some(backend) => Ok(backend),
            None => Err(format!("the back ends are {}, not `{name}`", Backend::ALL.map(Backend::name).join(", "))),
        }
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Backend::Import => "import",
            Backend::Oracle => "oracle",
            Backend::Cpu => "cpu",
            Backend::Gpu => "gpu",
        }
    }

    /// For each test nothing, or why it fails.
    pub(crate) fn run(self, cases: &[&Case], suite: &Path, gate: Gate) -> Result<Vec<Result<(), String>>, String> {
        let each = |judge: &dyn Fn(Opened) -> Result<(), String>| {
            cases.iter().map(|case| caught(|| judge(case.open(suite)?))).collect()
        };
        match self {
            Backend::Import => Ok(each(&|_| Ok(()))),
            Backend::Oracle => Ok(each(&|opened| {
                let Opened { model, params, args, dims, wanted } = opened;
                let dims = dims.into_iter().collect();
                let env = Env { args, dims, params, rounding: Rounding::Nearest, ..Env::default() };
                let made = oracle::run(&model.functions[0], &model, &env)?.results;
                judged(&made, &wanted, gate)
            })),
            Backend::Cpu | Backend::Gpu => batch::run(cases, suite, gate, self.name()),
        }
    }
}

/// What a test gives; of a panic that it was one.
pub(crate) fn caught<T>(test: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(test)).unwrap_or_else(|_| Err("it panicked".into()))
}

/// Nothing, or which result is not the one that is wanted.
pub(crate) fn judged(made: &[Tensor], wanted: &[Tensor], gate: Gate) -> Result<(), String> {
    if made.len() != wanted.len() {
        return Err(format!("{} results, not {}", made.len(), wanted.len()));
    }
    let pairs = made.iter().zip(wanted).enumerate();
    { pairs }
        .try_for_each(|(k, (made, wanted))| compare(made, wanted, gate).map_err(|why| format!("result {k}: {why}")))
}
