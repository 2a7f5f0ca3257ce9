//! Runs ONNX's backend tests over the importer, and prints what passes.
//!
//! `cargo run --release -p onnx-conformance -- --suite DIR --list FILE [--backend import|oracle] [--only TEXT] [--json OUT]
//! [--expect FILE]`
//!
//! The suite is a folder of folders of tests, `node/test_abs/{model.onnx, test_data_set_0/*.pb}`, and the list a JSON array of
//! objects with `name`, `folder`, and in `const_bind` the arguments that are constants. With `--expect` a test that passed when
//! that file was written, and does not now, is a failure of the run.

mod case;
mod compare;
mod report;

use case::{Backend, Case};
use report::Outcome;
use std::path::PathBuf;
use std::process::ExitCode;

/// What the command line asks for.
#[derive(Default)]
struct Args {
    suite: PathBuf,
    list: PathBuf,
    only: String,
    backend: Backend,
    json: Option<PathBuf>,
    expect: Option<PathBuf>,
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
            "json" => args.json = Some(value.into()),
            "expect" => args.expect = Some(value.into()),
            _ => return Err(format!("there is no option --{name}")),
        }
    }
    match args.suite.as_os_str().is_empty() || args.list.as_os_str().is_empty() {
        true => Err("name the suite and the list: --suite DIR --list FILE".into()),
        false => Ok(args),
    }
}

/// Whether nothing is worse than expected.
fn run(args: &Args) -> Result<bool, String> {
    let text = std::fs::read_to_string(&args.list).map_err(|why| format!("{}: {why}", args.list.display()))?;
    let cases: Vec<Case> = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", args.list.display()))?;
    let chosen = cases.iter().filter(|case| case.name.contains(&args.only));
    let outcomes: Vec<Outcome> = chosen.map(|case| Outcome::of(case, case.run(&args.suite, args.backend))).collect();
    report::print(&outcomes);
    if let Some(path) = &args.json {
        report::write(path, &outcomes)?;
    }
    match &args.expect {
        Some(path) => report::is_as_expected(path, &outcomes),
        None => Ok(true),
    }
}
