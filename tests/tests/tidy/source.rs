//! Source files as the checks read them. In: the tree of the workspace. Out: every source file, with what is no code
//! blanked. Always: a blank stands where a character stood, so lines keep their numbers.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A source file.
pub(crate) struct Source {
    /// The path from the root, with slashes.
    pub(crate) path: String,
    /// The file as it is.
    pub(crate) text: String,
    /// The same without comments, the insides of literals, and tests.
    pub(crate) code: String,
}

impl Source {
    /// The number of the line of a byte, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.code[..at].matches('\n').count() + 1
    }

    /// Where each occurrence of a word stands in the code.
    pub(crate) fn words<'s>(&'s self, word: &'s str) -> impl Iterator<Item = usize> + 's {
        self.code.match_indices(word).map(|(at, _)| at).filter(move |&at| {
            let before = self.code[..at].chars().next_back();
            let after = self.code[at + word.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word)
        })
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every file of the tree, but none that a build or git made.
pub(crate) fn files() -> Vec<String> {
    let mut found = vec![];
    walk(&root(), "", &mut found);
    found.sort();
    found
}

fn walk(folder: &Path, prefix: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{prefix}{name}");
        if name.starts_with('.') || name == "target" || name == "wip" || name == "Cargo.lock" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            walk(&entry.path(), &format!("{path}/"), found);
        } else {
            found.push(path);
        }
    }
}

/// Every Rust file that is no test; where a module is tests alone, its files are not among them.
pub(crate) fn sources() -> &'static [Source] {
    static ALL: OnceLock<Vec<Source>> = OnceLock::new();
    ALL.get_or_init(|| {
        let all: Vec<Source> = rust().into_iter().filter(|path| !is_test(path)).map(read).collect();
        let tests: Vec<String> = all.iter().flat_map(test_modules).collect();
        let tested =
            |s: &Source| tests.iter().any(|t| s.path == format!("{t}.rs") || s.path.starts_with(&format!("{t}/")));
        all.into_iter().filter(|source| !tested(source)).collect()
    })
}

/// Every Rust file.
pub(crate) fn rust() -> Vec<String> {
    files().into_iter().filter(|path| path.ends_with(".rs")).collect()
}

/// Whether a file holds tests alone.
fn is_test(path: &str) -> bool {
    path.starts_with("tests/") || path.contains("/tests/")
}

/// Reads one file.
pub(crate) fn read(path: String) -> Source {
    let text = fs::read_to_string(root().join(&path)).unwrap();
    let code = without_tests(without_literals(&text));
    Source { path, text, code }
}

/// The modules that a file declares for tests, as paths without an ending.
fn test_modules(source: &Source) -> Vec<String> {
    let blank = without_literals(&source.text);
    let folder = match source.path.rsplit_once('/') {
        Some((folder, "mod.rs" | "lib.rs" | "main.rs")) => folder.to_string(),
        Some(_) | None => source.path.trim_end_matches(".rs").to_string(),
    };
    let declared = blank.split("#[cfg(test)]").skip(1).filter_map(|rest| {
        let name = rest.trim_start().strip_prefix("mod ")?.split_once(';')?.0;
        name.chars().all(is_word).then(|| format!("{folder}/{name}"))
    });
    declared.collect()
}

/// Blanks every item under `#[cfg(test)]`.
fn without_tests(mut code: String) -> String {
    let mut from = 0;
    while let Some(at) = code[from..].find("#[cfg(test)]").map(|at| at + from) {
        let end = match code[at..].find(['{', ';']).map(|open| open + at) {
            Some(open) if code.as_bytes()[open] == b'{' => block(&code, open).end,
            Some(semicolon) => semicolon + 1,
            None => code.len(),
        };
        let blank: String = code[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect();
        code.replace_range(at..end, &blank);
        from = at;
    }
    code
}

/// What stands between a bracket and the one that closes it, both included.
pub(crate) fn block(code: &str, open: usize) -> Range<usize> {
    let mut depth = 0;
    for (at, c) in code[open..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return open..open + at + c.len_utf8();
        }
    }
    open..code.len()
}

/// Blanks comments and the insides of strings and characters. Every blank is one byte for one byte.
fn without_literals(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let prior = code.chars().next_back();
        let len = match literal(rest, prior) {
            Some(len) => len,
            None => {
                code.push(if c.is_ascii() { c } else { '\u{3f}' });
                (1..c.len_utf8()).for_each(|_| code.push('?'));
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        code.extend(rest.as_bytes()[..len].iter().map(|&b| if b == b'\n' { '\n' } else { ' ' }));
        rest = &rest[len..];
    }
    code
}

/// The length of the comment, string or character at the start of a text.
fn literal(text: &str, prior: Option<char>) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    if text.starts_with('"') {
        return Some(closed(text, '"'));
    }
    if text.starts_with('r') && !prior.is_some_and(is_word) {
        let hashes = text[1..].len() - text[1..].trim_start_matches('#').len();
        if text[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = 2 + hashes;
            return Some(text[from..].find(&end).map_or(text.len(), |at| from + at + end.len()));
        }
    }
    // A character, not a lifetime: closed after one, or escaped.
    let inside = text.strip_prefix('\'')?.chars().next()?;
    if inside == '\\' {
        return Some(closed(text, '\''));
    }
    text[1 + inside.len_utf8()..].starts_with('\'').then_some(2 + inside.len_utf8())
}

/// The length of a literal that ends with the sign it starts with, escapes aside.
fn closed(text: &str, sign: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == sign && !escaped {
            return at + 1;
        }
        escaped = c == '\\' && !escaped;
    }
    text.len()
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[test]
fn what_is_no_code_is_blanked() {
    let text = "let a = \"x // y\\\"\"; // unsafe\nlet b = 'u'; let c: &'static str = r#\"\"panic!\"\"#;";
    let code = without_literals(text);
    assert_eq!(code.len(), text.len());
    assert!(!code.contains("unsafe") && !code.contains("panic") && code.contains("'static"));
    let tested = without_tests("fn a() {}\n#[cfg(test)]\nmod tests {\n fn b() { {} }\n}\nfn c() {}".into());
    assert!(tested.contains("fn a") && !tested.contains("fn b") && tested.contains("\nfn c() {}"));
}
