//! The order of the compiler's parts. Always: imports run one way, and the stages are one list wherever they are named.

use crate::source::{Source, files, is_word, root, sources};
use crate::{excused, findings, none, none_but};
use precast_compiler::pipeline::STAGES;
use std::collections::BTreeSet;
use std::fs;

/// The parts of the compiler; each may name those before it.
const ORDER: [&str; 6] = ["diag", "ir", "ops", "onnx", "stages", "pipeline"];

/// The part that computes at build time what a file knows, by the oracle.
const COMPUTES: &str = "onnx";

/// Stages whose tests are elsewhere, and where.
const TESTED_ELSEWHERE: &[(&str, &str)] = &[("emit", "tests/tests/ops.rs: emitted code is judged by what it computes")];

#[test]
fn imports_run_one_way() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let Some(inside) = source.path.strip_prefix("compiler/src/") else { return };
        let part = inside.split(['/', '.']).next().unwrap_or_default();
        let Some(rank) = ORDER.iter().position(|&name| name == part) else { return };
        for later in &ORDER[rank + 1..] {
            places.extend(paths(source, &format!("crate::{later}")));
        }
        if part != COMPUTES {
            places.extend(paths(source, "crate::oracle"));
        }
    };
    none("imports against the order diag | ir | ops | onnx | stages | pipeline", findings(rule));
}

#[test]
fn stages_do_not_import_each_other() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let Some(inside) = source.path.strip_prefix("compiler/src/stages/") else { return };
        let Some((stage, _)) = inside.split_once('/') else { return };
        places.extend(paths(source, "crate::stages").filter(|&at| {
            let rest = &source.code[at + "crate::stages".len()..];
            rest.strip_prefix(&format!("::{stage}")).is_none_or(|r| r.starts_with(is_word))
        }));
    };
    none("stages that import another stage", findings(rule));
}

/// Where a path stands in the code.
fn paths<'s>(source: &'s Source, path: &'s str) -> impl Iterator<Item = usize> + use<'s> {
    let path = path.to_string();
    let at: Vec<usize> = source.code.match_indices(&path).map(|(at, _)| at).collect();
    at.into_iter().filter(move |at| !source.code[at + path.len()..].starts_with(is_word))
}

/// The element types of fewer than 32 bits, and where one is named: the table, and what parameters are stored in.
const STORED: [&str; 7] = ["F16", "BF16", "F8E4M3", "I8", "U8", "I16", "U16"];
const NAMES_STORED: [&str; 6] = [
    "ir/ty.rs",
    "ir/model.rs",
    "ir/precision.rs",
    "onnx/element.rs",
    "onnx/operators/quantize.rs",
    "stages/emit/rust/product.rs",
];

/// What holds of a type follows from its row in the table, so that another row is another type.
#[test]
fn the_table_knows_the_element_types() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let Some(inside) = source.path.strip_prefix("compiler/src/") else { return };
        if !NAMES_STORED.contains(&inside) {
            for name in STORED {
                places.extend(paths(source, &format!("DType::{name}")));
            }
        }
    };
    none("element types of memory that are named", findings(rule));
}

/// What weighs a choice: prices of operations, lanes of vectors, and numbers with names.
const WEIGHED: [&str; 2] = [".cost()", "lanes::"];

#[test]
fn printers_choose_nothing() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let printers = ["compiler/src/stages/emit/rust/", "compiler/src/stages/emit/wgsl/"];
        if !printers.iter().any(|folder| source.path.starts_with(folder)) {
            return;
        }
        for word in WEIGHED {
            places.extend(source.code.match_indices(word).map(|(at, _)| at));
        }
        let numbers = [": i64 =", ": usize =", ": u32 ="];
        for (at, line) in
            source.code.match_indices("const ").filter_map(|(at, _)| Some((at, source.code[at..].lines().next()?)))
        {
            places.extend(numbers.iter().any(|number| line.contains(number)).then_some(at));
        }
    };
    none_but(excused::CHOICES, "choices that belong to schedule", findings(rule));
}

#[test]
fn sizes_of_caches_and_prices_of_threads_are_those_of_the_machine() {
    let drivers = ["attend/", "contract/", "recurrent/", "parallel.rs", "simd.rs"];
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let Some(inside) = source.path.strip_prefix("runtime/cpu/src/") else { return };
        if !drivers.iter().any(|part| inside.starts_with(part)) {
            return;
        }
        for (at, _) in source.code.match_indices("1 << ") {
            let shift: String =
                source.code[at..].chars().skip("1 << ".len()).take_while(char::is_ascii_digit).collect();
            if shift.parse().is_ok_and(|shift: u32| shift >= 12) {
                places.push(at);
            }
        }
    };
    none_but(excused::THRESHOLDS, "a threshold that is not derived from `machine()`", findings(rule));
}

#[test]
fn the_stages_are_one_list() {
    let line = STAGES.join(" · ");
    for path in ["README.md", "compiler/src/lib.rs"] {
        let text = fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"));
        assert!(text.contains(&line), "{path} does not say `{line}`");
    }
    assert_eq!(folders("compiler/src/stages"), STAGES.map(String::from).into(), "the folders of the stages");
    let elsewhere: BTreeSet<&str> = TESTED_ELSEWHERE.iter().map(|(stage, _)| *stage).collect();
    let tested = folders("compiler/tests/ir");
    let all: BTreeSet<&str> = tested.iter().map(String::as_str).chain(elsewhere.iter().copied()).collect();
    assert_eq!(all, STAGES.into(), "the folders of stage tests");
    assert!(elsewhere.iter().all(|stage| !tested.contains(*stage)), "a stage that has tests needs no excuse");
}

fn folders(path: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(root().join(path)).unwrap().map(|entry| entry.unwrap());
    entries.filter(|e| e.file_type().unwrap().is_dir()).map(|e| e.file_name().into_string().unwrap()).collect()
}

#[test]
fn every_stage_is_one_function() {
    let mut found = vec![];
    for source in sources() {
        let Some(inside) = source.path.strip_prefix("compiler/src/stages/") else { continue };
        let Some((stage, "mod.rs")) = inside.split_once('/') else { continue };
        if !source.code.contains(&format!("pub fn {stage}(")) {
            found.push(format!("{}: no `pub fn {stage}`", source.path));
        }
    }
    none("a stage is a verb", found);
}

#[test]
fn prose_is_in_few_files() {
    let kinds = ["README", "REFERENCE", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY", "benches/README"];
    let allowed = kinds.map(|kind| format!("{kind}.md"));
    let prose = files().into_iter().filter(|path| path.ends_with(".md") && !path.ends_with("LICENCE.md"));
    none(
        "prose besides the pages that a project has, the generated reference and the table of measurements",
        prose.filter(|path| !allowed.contains(path)).collect(),
    );
}
