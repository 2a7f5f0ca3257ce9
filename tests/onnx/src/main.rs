//! Runs ONNX's backend tests over the importer, and prints what passes.
//!
//! `cargo run --release -p onnx-conformance -- --suite DIR --list FILE [--backend import|oracle|cpu|gpu]
//! [--only TEXT] [--gate NUMBER] [--json OUT] [--expect FILE | --bless FILE] [--export DIR]`
//!
//! The suite is a folder of folders of tests, `node/test_abs/{model.onnx, test_data_set_0/*.pb}`, and the list a JSON array of
//! objects with `name`, `folder`, `ops`, and in `const_bind` the arguments that are constants. With `--expect` the run succeeds
//! if the tests that fail are those of that file; `--bless FILE` writes it. `--gate 1e-4` holds floats to that much of the largest of their tensor,
//! instead of each to its own. With `--export DIR` the models that pass are exported, as a suite of the same form for `round_trip.py`.

mod backend;
mod batch;
mod case;
mod compare;
mod export;
mod report;

use backend::Backend;
use case::Case;
use compare::Gate;
use lexopt::ValueExt;
use report::Outcome;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What the command line asks for.
#[derive(Default)]
struct Args {
    suite: PathBuf,
    list: PathBuf,
    only: String,
    backend: Backend,
    gate: Gate,
    json: Option<PathBuf>,
    expect: Option<PathBuf>,
    bless: Option<PathBuf>,
    export: Option<PathBuf>,
}

fn main() -> ExitCode {
    match args().and_then(|args| run(&args)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn args() -> Result<Args, String> {
    use lexopt::Arg::Long;
    let (mut args, mut parser) = (Args::default(), lexopt::Parser::from_env());
    let text = |why: lexopt::Error| why.to_string();
    while let Some(arg) = parser.next().map_err(text)? {
        let Long(name) = &arg else { return Err(arg.unexpected().to_string()) };
        let name = (*name).to_owned();
        let value = parser.value().map_err(text)?;
        match name.as_str() {
            "suite" => args.suite = value.into(),
            "list" => args.list = value.into(),
            "backend" => args.backend = Backend::named(&value.to_string_lossy())?,
            "only" => args.only = value.to_string_lossy().into_owned(),
            "gate" => args.gate = Gate::OfLargest(value.parse().map_err(text)?),
            "json" => args.json = Some(value.into()),
            "expect" => args.expect = Some(value.into()),
            "bless" => args.bless = Some(value.into()),
            "export" => args.export = Some(value.into()),
            _ => return Err(format!("there is no option --{name}")),
        }
    }
    match args.suite.as_os_str().is_empty() || args.list.as_os_str().is_empty() {
        true => Err("name the suite and the list: --suite DIR --list FILE".into()),
        false => Ok(args),
    }
}

/// Exports the model of a test.
fn exported(case: &Case, args: &Args, to: &Path) -> Result<(), String> {
    backend::caught(|| export::write(case, &args.suite, to)).map_err(|why| format!("export: {why}"))
}

/// Whether nothing is worse than expected.
fn run(args: &Args) -> Result<bool, String> {
    let text = std::fs::read_to_string(&args.list).map_err(|why| format!("{}: {why}", args.list.display()))?;
    let cases: Vec<Case> = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", args.list.display()))?;
    let chosen: Vec<&Case> = cases.iter().filter(|case| case.name.contains(&args.only)).collect();
    let results: Vec<Result<(), String>> = args.backend.run(&chosen, &args.suite, args.gate)?;
    let results: Vec<Result<(), String>> = match &args.export {
        Some(to) => {
            chosen.iter().zip(results).map(|(case, result)| result.and_then(|()| exported(case, args, to))).collect()
        }
        None => results,
    };
    let outcomes: Vec<Outcome> = chosen.iter().zip(results).map(|(case, result)| Outcome::of(case, result)).collect();
    report::print(&outcomes);
    if let Some(path) = &args.json {
        report::write(path, &outcomes)?;
    }
    let backend = args.backend.name();
    match (&args.bless, &args.expect) {
        (Some(path), _) => report::is_as_expected(path, backend, &outcomes, true),
        (None, Some(path)) => report::is_as_expected(path, backend, &outcomes, false),
        (None, None) => Ok(true),
    }
}
