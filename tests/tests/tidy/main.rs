//! The house rules, as far as a program can judge them. Each check lists every place that breaks it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod excused;
mod prose;
mod source;
mod structure;

use excused::Excuses;
use source::{Source, block, files, is_word, root, rust, sources};
use std::process::Command;

/// The most lines of a file, tests aside.
const LINES: usize = 500;

/// The most lines of a function's body.
const FUNCTION: usize = 60;

/// The modules whose work needs `unsafe`: instructions of one machine, words of an arena, threads, calls of drivers.
const UNSAFE: &[&str] = &["runtime/cpu/src/", "runtime/src/gpu/pipelines.rs"];

/// How a reason begins that sends its reader to another place.
const ELSEWHERE: [&str; 4] = ["as above", "as below", "the same", "the caller"];
/// Lines above a block with `unsafe` in which its reason may stand.
const REASON: usize = 6;

/// The closed sets whose members every match names.
const CLOSED: &[&str] = &["Prim", "MapOp", "Skeleton", "Expr", "Kind"];

/// Fails with one line for each finding.
pub(crate) fn none(rule: &str, findings: Vec<String>) {
    none_but(&[], rule, findings);
}

/// The same where places may be excused.
pub(crate) fn none_but(excuses: Excuses, rule: &str, findings: Vec<String>) {
    let excused = |line: &String| excuses.iter().any(|(path, part, _)| line.starts_with(path) && line.contains(part));
    let left: Vec<String> = findings.into_iter().filter(|line| !excused(line)).collect();
    assert!(left.is_empty(), "{rule}:\n{}", left.join("\n"));
}

/// What a check of each source file finds.
pub(crate) fn findings(check: impl Fn(&Source, &mut Vec<usize>)) -> Vec<String> {
    let one = |source: &Source| {
        let mut places = vec![];
        check(source, &mut places);
        let place = |at| {
            let line = source.line(at);
            format!("{}:{line}: {}", source.path, source.text.lines().nth(line - 1).unwrap_or_default().trim())
        };
        places.into_iter().map(place).collect::<Vec<_>>()
    };
    sources().iter().flat_map(one).collect()
}

#[test]
fn code_is_formatted() {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let run = Command::new(cargo).args(["fmt", "--all", "--check"]).current_dir(root()).output().unwrap();
    let shown = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "run `cargo fmt --all`:\n{shown}{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn files_are_short() {
    let long = sources().iter().filter_map(|source| {
        let lines = source.text.lines().count() - tests(source);
        (lines > LINES).then(|| format!("{}: {lines}", source.path))
    });
    none_but(excused::LONG, "files of more than 500 lines", long.collect());
}

/// The number of lines from the first test module to the end, where it is the last item, as is the custom.
fn tests(source: &Source) -> usize {
    match source.text.find("\n#[cfg(test)]\nmod ") {
        Some(at) => source.text[at..].lines().count(),
        None => 0,
    }
}

#[test]
fn functions_are_short() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        for at in source.words("fn") {
            let Some(open) = body(&source.code, at) else { continue };
            if source.code[block(&source.code, open)].lines().count() > FUNCTION {
                places.push(at);
            }
        }
    };
    none_but(excused::TALL, "functions of more than 60 lines", findings(rule));
}

#[test]
fn modules_are_named_for_what_they_answer() {
    let vague = ["util", "utils", "helper", "helpers", "common", "manager", "misc"];
    let named = |path: &String| path.split(['/', '.']).any(|part| vague.contains(&part));
    none("modules named for nothing", rust().into_iter().filter(named).collect());
}

#[test]
fn nothing_is_left_to_do() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        for word in ["TODO", "FIXME", "XXX", "HACK"] {
            places.extend(source.text.match_indices(word).map(|(at, _)| at));
        }
    };
    none("notes of work that is not done", findings(rule));
}

#[test]
fn files_say_what_they_answer() {
    let silent = rust().into_iter().filter(|path| {
        let text = std::fs::read_to_string(root().join(path)).unwrap();
        // Programs for trybuild start with the program.
        !text.starts_with("//!") && !path.contains("/mistakes/") && !path.contains("/ui/")
    });
    none("files that do not start with `//!`", silent.collect());
}

#[test]
fn nothing_panics() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        for word in ["unwrap", "unwrap_err"] {
            places.extend(source.words(word).filter(|&at| source.code[..at].ends_with('.')));
        }
        for word in ["panic", "todo", "unimplemented", "dbg"] {
            places.extend(source.words(word).filter(|&at| source.code[at + word.len()..].starts_with('!')));
        }
    };
    none_but(excused::PANICS, "`unwrap` or `panic!` outside tests; `unreachable!` names the invariant", findings(rule));
}

#[test]
fn closed_sets_have_no_catch_all() {
    let rule = |source: &Source, places: &mut Vec<usize>| {
        let judged = ["compiler/src/stages/", "compiler/src/oracle/", "compiler/src/ir/"];
        if !judged.iter().any(|folder| source.path.starts_with(folder)) {
            return;
        }
        for at in source.words("match") {
            let Some(open) = body(&source.code, at) else { continue };
            let arms = arms(&source.code, open);
            // With two arms it is `if let` in other words: a question about one kind.
            let closed = arms.len() > 2 && arms.iter().any(|&(from, to)| is_closed(&source.code[from..to]));
            places.extend(arms.iter().filter(|&&(from, to)| closed && is_any(&source.code[from..to])).map(|arm| arm.0));
        }
    };
    none_but(excused::CATCH_ALL, "catch-all arms on primitives or kernel nodes", findings(rule));
}

/// Where the arms of a match open: the first brace that is not inside other brackets.
fn body(code: &str, at: usize) -> Option<usize> {
    let mut from = at;
    loop {
        let open = code[from..].find(['(', '[', '{', ';'])? + from;
        match code.as_bytes()[open] {
            b'{' => return Some(open),
            b';' => return None,
            _ => from = block(code, open).end,
        }
    }
}

/// The patterns of the arms of a match, as ranges of the code.
fn arms(code: &str, open: usize) -> Vec<(usize, usize)> {
    let end = block(code, open).end - 1;
    let (mut found, mut from) = (vec![], open + 1);
    while let Some(arrow) = next(code, from, end, "=>") {
        let first = from + (code[from..arrow].len() - code[from..arrow].trim_start().len());
        found.push((first, arrow));
        let value = arrow + 2 + (code[arrow + 2..].len() - code[arrow + 2..].trim_start().len());
        from = if code[value..].starts_with('{') { block(code, value).end } else { value };
        let rest = code[from..end].trim_start();
        if !code[value..].starts_with('{') || rest.starts_with(',') || rest.starts_with('.') || rest.starts_with('?') {
            from = next(code, from, end, ",").map_or(end, |comma| comma + 1);
        }
    }
    found
}

/// The next occurrence of a sign that is not inside brackets.
fn next(code: &str, mut from: usize, end: usize, sign: &str) -> Option<usize> {
    while from < end {
        if code[from..end].starts_with(sign) {
            return Some(from);
        }
        from = match code.as_bytes()[from] {
            b'(' | b'[' | b'{' => block(code, from).end,
            _ => from + 1,
        };
    }
    None
}

/// Whether a pattern or a part of it is one of a closed set.
fn is_closed(pattern: &str) -> bool {
    CLOSED.iter().any(|set| {
        let mut found = pattern.match_indices(set).map(|(at, _)| (&pattern[..at], &pattern[at + set.len()..]));
        found.any(|(before, after)| !before.ends_with(|c| is_word(c) || c == ':') && after.starts_with("::"))
    })
}

/// Whether a pattern takes everything: a name, or a pair of names.
fn is_any(pattern: &str) -> bool {
    let pattern = pattern.trim();
    let parts = pattern.strip_prefix('(').and_then(|inside| inside.strip_suffix(')')).unwrap_or(pattern);
    parts
        .split(',')
        .map(str::trim)
        .all(|name| name == "_" || (name.chars().all(is_word) && name.starts_with(|c: char| c.is_lowercase())))
}

#[test]
fn unsafe_stays_where_it_must_be_and_has_reasons() {
    let elsewhere = |source: &Source, places: &mut Vec<usize>| {
        if !UNSAFE.iter().any(|allowed| source.path.starts_with(allowed)) {
            places.extend(source.words("unsafe"));
        }
    };
    none("`unsafe` in modules that need none", findings(elsewhere));
    let unexplained = |source: &Source, places: &mut Vec<usize>| {
        for at in source.words("unsafe") {
            let after = source.code[at + "unsafe".len()..].trim_start();
            if !after.starts_with('{') && !after.starts_with("impl") {
                continue;
            }
            let line = source.line(at);
            let above = source.text.lines().skip(line.saturating_sub(REASON + 1)).take(REASON + 1);
            if !above.into_iter().any(|l| l.contains("SAFETY:")) {
                places.push(at);
            }
        }
    };
    none("`unsafe` without `// SAFETY:`", findings(unexplained));
    let elsewhere = |source: &Source, places: &mut Vec<usize>| {
        let reasons = ELSEWHERE.map(|reason| format!("// SAFETY: {reason}"));
        places.extend(reasons.iter().flat_map(|reason| source.text.match_indices(reason.as_str()).map(|(at, _)| at)));
    };
    none("a reason that stands elsewhere", findings(elsewhere));
}

#[test]
fn nothing_names_one_machine() {
    let folders = ["home", "root", "work", "Users", "tmp"].map(|folder| format!("/{folder}/"));
    let mut found = vec![];
    for path in files() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            // A path from the root, not a folder in the middle of one.
            let starts = |folder: &String| {
                line.match_indices(folder.as_str()).any(|(at, _)| {
                    !line[..at].ends_with(|c: char| is_word(c) || ".})*/-".contains(c)) && !line.contains("folders =")
                })
            };
            if folders.iter().any(starts) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    none("paths of one machine", found);
}
