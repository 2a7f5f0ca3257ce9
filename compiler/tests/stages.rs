//! Stage tests: each file of `ir/<stage>` holds what a stage is given, as text, and what it makes of it.
//!
//! `PRECAST_BLESS=1 cargo test --test stages` rewrites what the stages make.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::diag::Diags;
use precast_compiler::ir::Model;
use precast_compiler::ir::program::Program;
use precast_compiler::ir::verify::{After, verify, verify_plans, verify_programs};
use precast_compiler::ops::optimizer_of;
use precast_compiler::pipeline::{STAGES, check};
use precast_compiler::stages::{
    expand::expand, fuse::fuse, grad::grad, memory::memory, parse::parse, schedule::schedule,
};
use std::fmt::Display;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::str::FromStr;

/// What stands between the two parts of a file.
const BECOMES: &str = "\nbecomes\n\n";

/// Runs a stage on the first part of every file of its folder: `run` gives the input as it prints, and what the
/// stage makes of it.
fn stage(name: &str, run: impl Fn(&str) -> (String, String)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{name} has no tests");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (input, expected) = text.split_once(BECOMES).unwrap_or((&text, ""));
        let (input, output) =
            catch_unwind(AssertUnwindSafe(|| run(input))).unwrap_or_else(|_| panic!("in {}", file.display()));
        if std::env::var_os("PRECAST_BLESS").is_some() {
            fs::write(&file, format!("{}{BECOMES}{output}", input.trim_end_matches('\n').to_owned() + "\n")).unwrap();
        } else {
            assert_eq!(output, expected, "{}", file.display());
        }
    }
}

/// The text as itself, once it is known to parse back.
fn printed<T: FromStr<Err = String> + Display>(made: &T) -> String {
    let text = made.to_string();
    assert_eq!(text.parse::<T>().unwrap_or_else(|why| panic!("{why}\n{text}")).to_string(), text);
    text
}

/// A stage from models to models.
fn models(name: &str, before: After, after: After, run: fn(Model) -> Model) {
    stage(name, |text| {
        let model: Model = text.parse().unwrap_or_else(|why| panic!("{why}"));
        verify(&model, before).unwrap_or_else(|why| panic!("{why:#?}"));
        let input = model.to_string();
        let made = run(model);
        verify(&made, after).unwrap_or_else(|why| panic!("{why:#?}"));
        (input, printed(&made))
    });
}

fn programs(text: &str) -> Vec<Program> {
    let starts: Vec<usize> =
        text.match_indices("program ").map(|(at, _)| at).filter(|&at| at == 0 || text[..at].ends_with('\n')).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| text[start..end].parse().unwrap_or_else(|why| panic!("{why}")))
        .collect()
}

fn all(programs: &[Program]) -> String {
    verify_programs(programs).unwrap_or_else(|why| panic!("{why:#?}"));
    programs.iter().map(printed).collect()
}

#[test]
fn folders_are_stages() {
    for folder in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir")).unwrap() {
        let name = folder.unwrap().file_name().into_string().unwrap();
        assert!(STAGES.contains(&name.as_str()), "there is no stage `{name}`");
    }
}

#[test]
fn parse_resolves_names() {
    stage("parse", |text| {
        let mut diags = Diags::default();
        let made = parse(text.parse().unwrap(), &mut diags);
        assert!(diags.is_empty(), "{}", diags.to_compile_errors());
        (text.to_owned(), made.iter().map(Model::to_string).collect())
    });
}

#[test]
fn shape_gives_types() {
    stage("shape", |text| {
        let (made, diags) = check(text.parse().unwrap());
        assert!(diags.is_empty(), "{}", diags.to_compile_errors());
        (text.to_owned(), made.iter().map(printed).collect())
    });
}

#[test]
fn expand_replaces_ops_by_primitives() {
    models("expand", After::Shape, After::Expand, expand);
}

#[test]
fn grad_completes_training_functions() {
    models("grad", After::Expand, After::Grad, |model| grad(model, optimizer_of));
}

#[test]
fn fuse_makes_kernels() {
    stage("fuse", |text| {
        let model: Model = text.parse().unwrap_or_else(|why| panic!("{why}"));
        verify(&model, After::Grad).unwrap_or_else(|why| panic!("{why:#?}"));
        (model.to_string(), all(&fuse(&model)))
    });
}

#[test]
fn schedule_fills_in_numbers() {
    stage("schedule", |text| {
        let programs = programs(text);
        (all(&programs), all(&schedule(programs)))
    });
}

#[test]
fn memory_places_buffers() {
    stage("memory", |text| {
        let (model, rest) = text.split_at(text.find("\nprogram ").unwrap() + 1);
        let model: Model = model.parse().unwrap_or_else(|why| panic!("{why}"));
        let programs = programs(rest);
        let input = format!("{model}\n{}", all(&programs));
        let plans = memory(&model, programs);
        verify_plans(&plans).unwrap_or_else(|why| panic!("{why:#?}"));
        (input, printed(&plans))
    });
}
