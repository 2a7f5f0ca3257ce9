//! What came of the tests: a table, a file, and the comparison with an earlier file.

use crate::case::Case;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// What came of a test.
#[derive(Serialize)]
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
pub(crate) fn write(path: &Path, what: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(what).map_err(|why| why.to_string())?;
    std::fs::write(path, text + "\n").map_err(|why| format!("{}: {why}", path.display()))
}

/// Why tests fail, by their names, for each back end.
type Expected = BTreeMap<String, BTreeMap<String, String>>;

/// Whether the tests that fail are those that the file names for the back end. With `bless` the file is written instead.
pub(crate) fn is_as_expected(path: &Path, backend: &str, outcomes: &[Outcome], bless: bool) -> Result<bool, String> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let mut expected: Expected = serde_json::from_str(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    let failures = expected.entry(backend.to_owned()).or_default();
    if bless {
        let fails = |outcome: &Outcome| Some((outcome.name.clone(), outcome.failure.clone()?));
        // What was not chosen stays as it is.
        failures.retain(|name, _| outcomes.iter().all(|outcome| outcome.name != *name));
        failures.extend(outcomes.iter().filter_map(fails));
        write(path, &expected)?;
        return Ok(true);
    }
    let (mut worse, mut better) = (vec![], vec![]);
    for Outcome { name, failure, .. } in outcomes {
        match (failures.contains_key(name), failure) {
            (false, Some(_)) => worse.push(name.as_str()),
            (true, None) => better.push(name.as_str()),
            _ => {}
        }
    }
    if !worse.is_empty() {
        println!("these passed before: {}", worse.join(", "));
    }
    if !better.is_empty() {
        println!("these pass now, which {} does not know: {}", path.display(), better.join(", "));
    }
    Ok(worse.is_empty() && better.is_empty())
}
