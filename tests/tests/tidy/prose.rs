//! What the prose promises of the tree. In: CONTRIBUTING and ARCHITECTURE. Always: a file that they show is a file of the
//! tree, and the paths, names and variables that they give in backticks are there.

use crate::none;
use crate::source::{block, files, is_word, root};
use std::fs;

/// The pages that name places in the tree.
const PAGES: [&str; 2] = ["CONTRIBUTING.md", "ARCHITECTURE.md"];

/// What a build makes.
const MADE: &[&str] = &["target/precast"];

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|why| panic!("{path}: {why}"))
}

/// The op of the walk-through is one of the list, so its examples are tested as those of the others.
#[test]
fn the_op_that_is_shown_is_one_of_the_ops() {
    let page = read("CONTRIBUTING.md");
    let (before, rest) = page.split_once("```rust,ignore\n").expect("CONTRIBUTING shows a file");
    let (shown, _) = rest.split_once("```").expect("a block ends");
    let name = before.trim_end().trim_end_matches("`:").rsplit('`').next().expect("the file has a name");
    assert_eq!(shown, read(&format!("compiler/src/ops/{name}")), "{name} is not what CONTRIBUTING shows");
    let list = read("compiler/src/ops/mod.rs");
    let open = list.find("list! {").expect("the list of ops") + "list! ".len();
    let module = name.trim_end_matches(".rs");
    assert!(list[block(&list, open)].lines().any(|line| line.trim() == module), "`{module}` is not in the list of ops");
}

#[test]
fn what_the_prose_names_exists() {
    let tree: Vec<String> = files().into_iter().chain([".ci/run".into()]).collect();
    let is_code = |path: &&String| [".rs", ".toml", ".ci/run"].iter().any(|end| path.ends_with(end));
    let code: Vec<String> = tree.iter().filter(is_code).map(|path| read(path)).collect();
    let mut missing = vec![];
    for page in PAGES {
        for name in spans(&read(page)).flat_map(|span| names(&span)) {
            let there = match name.contains(['/', '.']) {
                true => paths(&name).iter().all(|path| tree.iter().any(|file| lies(file, path))),
                false => {
                    code.iter().any(|text| has_word(text, &name))
                        || tree.iter().any(|file| lies(file, &format!("{name}.rs")))
                }
            };
            if !there && !MADE.contains(&name.as_str()) {
                missing.push(format!("{page}: `{name}`"));
            }
        }
    }
    none("prose that names what is not there", missing);
}

/// What stands in backticks outside of blocks.
fn spans(page: &str) -> impl Iterator<Item = String> {
    let prose: String = page.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(String::from).collect::<Vec<_>>().into_iter()
}

/// The paths and names that a span gives: itself, if it is one, and the variables, packages and tests of a command.
fn names(span: &str) -> Vec<String> {
    let words: Vec<&str> = span.split_whitespace().collect();
    let mut found = vec![];
    for (at, word) in words.iter().enumerate() {
        let named = at > 0 && ["-p", "--test"].contains(&words[at - 1]);
        let variable = word.split('=').next().filter(|name| name.ends_with(is_word) && name.starts_with("PRECAST_"));
        found.extend(variable.or(named.then_some(*word)).map(String::from));
    }
    let [word] = words.as_slice() else { return found };
    let plain = |c: char| is_word(c) || "/.{,}-".contains(c);
    match word.split('<').next() {
        Some(path) if path.contains(['/', '.']) && path.chars().all(plain) => found.push(path.into()),
        Some(path) => {
            let name = path.trim_end_matches('!').rsplit("::").next().unwrap_or_default();
            found.extend((!name.is_empty() && name.chars().all(is_word)).then(|| name.into()));
        }
        None => {}
    }
    found
}

/// The paths that one with alternatives in braces stands for.
fn paths(path: &str) -> Vec<String> {
    let parts =
        path.split_once('{').and_then(|(before, rest)| rest.split_once('}').map(|(list, after)| (before, list, after)));
    match parts {
        Some((before, list, after)) => list.split(',').map(|one| format!("{before}{one}{after}")).collect(),
        None => vec![path.into()],
    }
}

/// Whether a file is what a path names, or lies in the folder that it names, from the root or from where the page says.
fn lies(file: &str, path: &str) -> bool {
    format!("/{file}/").contains(&format!("/{}/", path.trim_end_matches('/')))
}

fn has_word(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_word) && !text[at + word.len()..].starts_with(is_word))
}
