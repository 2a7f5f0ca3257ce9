//! The generated code of all models as one crate, `onnx-batch`: what is written for it, and what it gave.
//!
//! A model is a module of its kernels and plans without a public face. Arguments and results pass through files of words,
//! so that no tensor is a token.

use crate::backend::{caught, judged};
use crate::case::{Case, Opened};
use crate::compare::Gate;
use precast_compiler::ir::{DType, Model, Type};
use precast_compiler::oracle::{Data, Tensor};
use precast_compiler::pipeline::{Compiled, lower};
use precast_compiler::stages::emit;
use quote::{format_ident, quote};
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// A model of the crate, and what judges it.
struct Program {
    folder: PathBuf,
    module: String,
    types: Vec<(DType, Vec<usize>)>,
    wanted: Vec<Tensor>,
}

/// Compiles the models, runs them on a device, and says for each test nothing, or why it fails.
pub(crate) fn run(cases: &[&Case], suite: &Path, gate: Gate, device: &str) -> Result<Vec<Result<(), String>>, String> {
    let beside = std::env::current_exe().map_err(|why| why.to_string())?;
    let dir = beside.with_file_name("onnx-batch-programs");
    if dir.exists() {
        std::fs::remove_dir_all(&dir).map_err(|why| format!("{}: {why}", dir.display()))?;
    }
    let compiled = |case: &&Case| caught(|| Program::new(case.open(suite)?, dir.join(&case.name)));
    let programs: Vec<Result<Program, String>> = cases.iter().map(compiled).collect();
    let (mut modules, mut table) = (String::new(), String::new());
    for (number, program) in programs.iter().flatten().enumerate() {
        let name = program.folder.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(modules, "#[allow(warnings)]\nmod p{number} {{ {} }}", program.module);
        let _ = writeln!(table, "    ({name:?}, p{number}::run),");
    }
    write(&dir.join("programs.rs"), format!("{modules}\nconst PROGRAMS: &[(&str, Run)] = &[\n{table}];\n"))?;
    let mut ended = vec![];
    let mut first = 0;
    while let (status, Some(last)) = execute(&dir, device, first)?
        && !status.success()
    {
        ended.push((last, status));
        first = last + 1;
    }
    let mut number = 0..;
    let mut judge = |program: Program| {
        let number = number.next();
        match ended.iter().find(|(last, _)| Some(*last) == number) {
            Some((_, status)) => Err(format!("it ends the process: {status}")),
            None => program.judged(gate),
        }
    };
    Ok(programs.into_iter().map(|program| program.and_then(&mut judge)).collect())
}

/// Builds the crate and runs its models from the first on: how it ended, and the last model that it ran.
fn execute(dir: &Path, device: &str, first: usize) -> Result<(ExitStatus, Option<usize>), String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "-q", "--release", "-p", "onnx-batch"]);
    if device == "gpu" {
        cargo.args(["--features", "gpu"]);
    }
    // Of thousands of kernels each runs once.
    let profile = ["package.onnx-batch.opt-level=0", "debug=false", "lto='off'"];
    cargo.args(profile.map(|one| format!("--config=profile.release.{one}")));
    cargo.arg("--").arg(device).arg(dir).arg(first.to_string());
    cargo.env("PRECAST_ONNX_PROGRAMS", dir.join("programs.rs")).stdout(Stdio::piped());
    let mut child = cargo.spawn().map_err(|why| format!("cargo does not start: {why}"))?;
    let lines = child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines().map_while(Result::ok));
    let last = lines.filter_map(|line| line.parse().ok()).last();
    let status = child.wait().map_err(|why| why.to_string())?;
    match last {
        None if !status.success() => Err(format!("the crate of the models does not build: {status}")),
        last => Ok((status, last)),
    }
}

impl Program {
    /// Compiles a model, and writes what it is called with.
    fn new(opened: Opened, folder: PathBuf) -> Result<Program, String> {
        let Opened { model, params, args, dims, wanted } = opened;
        write(&folder.join("parameters"), bytes(&pool(&model, &params)))?;
        for (k, tensor) in args.iter().enumerate() {
            write(&folder.join(format!("input_{k}")), bytes(&tensor.data.words()))?;
        }
        write(&folder.join("dims"), dims.iter().flat_map(|(_, value)| value.to_le_bytes()).collect::<Vec<u8>>())?;
        let Compiled { model, plans } = lower(model);
        let graph = &model.functions[0].graph;
        let value = |name: &str| dims.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
        let typed = |ty: &Type| {
            let extents = ty.shape.iter().map(|dim| dim.eval(&value).and_then(|n| usize::try_from(n).ok()));
            Some((ty.dtype, extents.collect::<Option<Vec<usize>>>()?))
        };
        let types = graph.outputs.iter().map(|&value| typed(graph.ty(value))).collect::<Option<Vec<_>>>();
        let types = types.ok_or("a result has an extent that no argument decides")?;
        let (items, marker) = (emit::module(&model, &plans, &quote!(::precast)), format_ident!("Forward"));
        let results = types.len();
        let module = quote! {
            #items
            pub fn run(call: &::onnx_batch::Call) -> Result<(), String> {
                ::onnx_batch::run::<Plan_, #marker>(call, #results)
            }
        };
        Ok(Program { folder, module: module.to_string(), types, wanted })
    }

    /// Nothing, or why what every run gave is not what is wanted.
    fn judged(self, gate: Gate) -> Result<(), String> {
        let failure = self.folder.join("failure");
        if failure.exists() {
            return Err(String::from_utf8_lossy(&read(&failure)?).into_owned());
        }
        let path = |run: usize, k: usize| self.folder.join(format!("result_{run}_{k}"));
        let runs = (0..).take_while(|&run| path(run, 0).exists()).count();
        if runs == 0 {
            return Err("it was not run".into());
        }
        (0..runs).try_for_each(|run| {
            let made = self.types.iter().enumerate().map(|(k, (dtype, shape))| {
                let words = words(&read(&path(run, k))?);
                let data = Data::of_words(*dtype, &words, shape.iter().product());
                Ok::<_, String>(Tensor::new(shape.clone(), data))
            });
            judged(&made.collect::<Result<Vec<_>, _>>()?, &self.wanted, gate).map_err(|why| format!("run {run}: {why}"))
        })
    }
}

/// The parameters where the runtime has them.
fn pool(model: &Model, params: &[Tensor]) -> Vec<f32> {
    let words = |elements: usize| model.stored().words(&(elements as i64).into()).as_const().unwrap_or(0) as usize;
    let mut pool = vec![0.0; words(model.pool_len())];
    for (param, tensor) in model.params.iter().zip(params) {
        let (at, tensor) = (words(param.offset), tensor.data.words());
        pool[at..at + tensor.len()].copy_from_slice(&tensor);
    }
    pool
}

fn bytes(words: &[f32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|word| f32::from_le_bytes(*word)).collect()
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, content)).map_err(|why| format!("{}: {why}", path.display()))
}
