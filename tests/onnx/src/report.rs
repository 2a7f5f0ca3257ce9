//! What came of the tests: a table, a file, and the comparison with an earlier file.

use crate::case::Case;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// What came of a test.
#[derive(Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The test.
    name: String,
    /// The operators that it is about.
    #[serde(skip)]
    ops: Vec<String>,
    /// Why it fails; nothing where it passes.
    failure: Option<String>,
}

impl Outcome {
    /// That of a test.
    pub(crate) fn of(case: &Case, result: Result<(), String>) -> Outcome {
        Outcome { name: case.name.clone(), ops: case.ops.clone(), failure: result.err() }
    }
}

/// Prints the failures, how many tests of each operator pass, and how many of all.
pub(crate) fn print(outcomes: &[Outcome]) {
    let mut of_ops: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for outcome in outcomes {
        for op in &outcome.ops {
            let counts = of_ops.entry(op).or_default();
            counts[0] += usize::from(outcome.failure.is_none());
            counts[1] += 1;
        }
        if let Some(why) = &outcome.failure {
            println!("{}: {why}", outcome.name);
        }
    }
    println!("\n| operator | passed | of |\n|---|---|---|");
    of_ops.iter().for_each(|(op, [passed, of])| println!("| {op} | {passed} | {of} |"));
    let passed = outcomes.iter().filter(|outcome| outcome.failure.is_none()).count();
    println!("| **all** | {passed} | {} |", outcomes.len());
}

/// Writes what came of them as JSON.
pub(crate) fn write(path: &Path, outcomes: &[Outcome]) -> Result<(), String> {
    let text = serde_json::to_string_pretty(outcomes).map_err(|why| why.to_string())?;
    std::fs::write(path, text + "\n").map_err(|why| format!("{}: {why}", path.display()))
}

/// Whether everything passes that passed when the file was written.
pub(crate) fn is_as_expected(path: &Path, outcomes: &[Outcome]) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let expected: Vec<Outcome> = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    let passed = |outcomes: &[Outcome], name: &str| {
        outcomes.iter().any(|outcome| outcome.name == name && outcome.failure.is_none())
    };
    let is_worse = |outcome: &&Outcome| passed(&expected, &outcome.name) && outcome.failure.is_some();
    let worse: Vec<&str> = outcomes.iter().filter(is_worse).map(|outcome| outcome.name.as_str()).collect();
    if !worse.is_empty() {
        println!("these passed before: {}", worse.join(", "));
    }
    Ok(worse.is_empty())
}
