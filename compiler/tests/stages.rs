//! Stage tests: each file of `ir/<stage>` holds a model in the text form and what the stage makes of it.
//!
//! `PRECAST_BLESS=1 cargo test --test stages` rewrites what the stages make.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::ir::Model;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::stages::{expand::expand, grad::grad};
use std::fs;
use std::path::Path;

/// What stands between the two models of a file.
const BECOMES: &str = "\nbecomes\n\n";

fn stage(name: &str, before: After, after: After, run: fn(Model) -> Model) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ir").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{name} has no tests");
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let (input, expected) = text.split_once(BECOMES).unwrap_or((&text, ""));
        let model: Model = input.parse().unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        verify(&model, before).unwrap_or_else(|e| panic!("{}: {e:#?}", file.display()));
        let input = model.to_string();
        let made = run(model);
        verify(&made, after).unwrap_or_else(|e| panic!("{}: {e:#?}", file.display()));
        let output = made.to_string();
        assert_eq!(output.parse::<Model>().unwrap().to_string(), output);
        if std::env::var_os("PRECAST_BLESS").is_some() {
            fs::write(&file, format!("{input}{BECOMES}{output}")).unwrap();
        } else {
            assert_eq!(output, expected, "{}", file.display());
        }
    }
}

#[test]
fn expand_replaces_ops_by_primitives() {
    stage("expand", After::Shape, After::Expand, expand);
}

#[test]
fn grad_completes_training_functions() {
    stage("grad", After::Expand, After::Grad, grad);
}
