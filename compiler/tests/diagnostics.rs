//! One mistake per file in `diagnostics/`, and whole wrong programs in `panel/`: the model, then what is reported about it,
//! then how it is mended.
//!
//! A file has three parts between lines of four dashes. The second lists each report with its code, the
//! guilty text and line, message, notes and help; `BLESS=1 cargo test` rewrites it. The third holds
//! replacements: the new text of `replace` stands in the report's help, so that pasting the help is what
//! mends the model; that of `edit` is what the message asks for. The mended model has no mistake.
//! What stands before a line of four equality signs is the text of another macro, from which the model imports.

use precast_compiler::diag::{Code, Diagnostic, Diags, Place};
use precast_compiler::stages::parse::{Texts, imports, texts};
use precast_compiler::stages::shape::shape;
use proc_macro2::TokenStream;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The files of one of the folders of mistakes.
fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(folder).expect("the folder of mistakes");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    let name = file.file_name().expect("a name").to_string_lossy();
    name.split('.').next().unwrap_or_default().to_owned()
}

/// The text of the library and that of the model.
fn parts(source: &str) -> (&str, &str) {
    source.split_once("====\n").unwrap_or(("", source))
}

/// All reports about a model.
fn check(source: &str) -> Vec<Diagnostic> {
    let (library, source) = parts(source);
    let own: TokenStream = source.parse().expect("balanced brackets");
    let mut diags = Diags::default();
    let library = Texts { own: library.parse().expect("balanced brackets"), blocks: vec![] };
    let library = texts(library, &mut diags).blocks;
    assert!(diags.is_empty(), "a mistake in the library: {:?}", diags.list());
    let found = |path: TokenStream| {
        let name = path.into_iter().last().map(|name| name.to_string());
        let block = library.iter().find(|block| Some(block.name.to_string()) == name);
        block.map_or_else(TokenStream::new, |block| block.text.clone())
    };
    let blocks = imports(&own).into_iter().map(found).collect();
    let mut models = texts(Texts { own, blocks }, &mut diags).models;
    shape(&mut models, &mut diags);
    diags.list().to_vec()
}

/// The user's text at a place.
fn text_at(source: &str, place: Place) -> String {
    let offset = |line: usize, column: usize| {
        let before: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let rest = source[before..].char_indices().nth(column).map_or(source.len() - before, |(at, _)| at);
        before + rest
    };
    let (start, end) = (place.first.start(), place.last.end());
    source[offset(start.line, start.column)..offset(end.line, end.column)].to_owned()
}

fn describe(source: &str, reports: &[Diagnostic]) -> String {
    let source = parts(source).1;
    let mut out = String::new();
    for report in reports {
        let line = report.place.line();
        writeln!(out, "{} at `{}` on line {line}", report.code, text_at(source, report.place)).expect("a string");
        writeln!(out, "  {}", report.message).expect("a string");
        report.notes.iter().for_each(|note| writeln!(out, "  note: {note}").expect("a string"));
        report.help.iter().for_each(|help| writeln!(out, "  help: {help}").expect("a string"));
    }
    out
}

/// Applies the replacements; says what does not fit.
fn mend(source: &str, reports: &[Diagnostic], edits: &str) -> Result<String, String> {
    let mut mended = source.to_owned();
    for edit in edits.lines().filter(|line| !line.trim().is_empty()) {
        let mut parts = edit.split('`');
        let verb = parts.next().unwrap_or_default().trim();
        let (Some(old), Some(_), Some(new)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(format!("`{edit}` is not `replace … by …`"));
        };
        let (old, new) = (&old.replace("\\n", "\n"), &new.replace("\\n", "\n"));
        if verb == "replace" && !reports.iter().any(|r| r.help.as_ref().is_some_and(|h| h.contains(new.as_str()))) {
            return Err(format!("no help says `{new}`"));
        }
        if mended.matches(old.as_str()).count() != 1 {
            return Err(format!("`{old}` stands {} times", mended.matches(old.as_str()).count()));
        }
        mended = mended.replace(old, new);
    }
    Ok(mended)
}

/// What is wrong with a file: other reports than it lists, or edits that leave mistakes.
fn judge(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let parts: Vec<&str> = text.split("----\n").collect();
    let [source, expected, edits] = <[&str; 3]>::try_from(parts).expect("three parts");
    let (reports, mut wrong) = (check(source), String::new());
    let found = describe(source, &reports);
    if std::env::var_os("BLESS").is_some() && found != expected {
        std::fs::write(file, format!("{source}----\n{found}----\n{edits}")).expect("a writable file");
    } else if found != expected {
        write!(wrong, "\n{}:\n{found}", file.display()).expect("a string");
    }
    match mend(source, &reports, edits).map(|mended| (check(&mended), mended)) {
        Ok((left, _)) if left.is_empty() => {}
        Ok((left, mended)) => {
            write!(wrong, "\n{}: mended, but\n{}", file.display(), describe(&mended, &left)).expect("a string");
        }
        Err(why) => write!(wrong, "\n{}: {why}", file.display()).expect("a string"),
    }
    wrong
}

#[test]
fn every_mistake_is_reported_and_mended() {
    let wrong: String = files("diagnostics").iter().map(|file| judge(file)).collect();
    assert!(wrong.is_empty(), "{wrong}");
}

/// Programs as people write them in their first weeks, with one to three mistakes each.
#[test]
fn the_panel_is_answered_as_it_was_judged() {
    let wrong: String = files("panel").iter().map(|file| judge(file)).collect();
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn files_are_named_after_what_is_reported_first() {
    let code = |file: &Path| {
        let text = std::fs::read_to_string(file).expect("a readable file");
        let (_, reports) = text.split_once("----\n").expect("three parts");
        reports.split(' ').next().unwrap_or_default().to_owned()
    };
    let misnamed: Vec<PathBuf> = files("diagnostics").into_iter().filter(|file| code(file) != stem(file)).collect();
    assert!(misnamed.is_empty(), "{misnamed:?}");
}

#[test]
fn every_code_has_a_file() {
    let files: Vec<String> = files("diagnostics").iter().map(|file| stem(file)).collect();
    // What the other checks of the compiler catch first; kept for imported graphs.
    let shown = |code: &&Code| **code == Code::Op || files.iter().any(|file| file == code.name());
    let missing: Vec<&Code> = Code::ALL.iter().filter(|code| !shown(code)).collect();
    assert!(missing.is_empty(), "no file shows {missing:?}");
}

#[test]
fn three_mistakes_are_three_reports() {
    let source = "
        pub struct Mlp { hidden: Liner(4, 8), middle: Linear(8, 8), output: Linear(16, 2) }
        impl Mlp {
            pub fn act(&self, x: f32[B, 4]) -> f32[B, 2] {
                let y = self.hidden(x);
                let z = rleu(self.middle(y));
                self.output(concat(z, y, axis = 1))
            }
            pub fn other(&self, x: f32[B, 8]) -> f32[B, 8] { self.output(self.middle(x)) }
        }";
    let codes: Vec<Code> = check(source).iter().map(|report| report.code).collect();
    assert_eq!(codes, [Code::UnknownLayer, Code::UnknownFunction, Code::WrongFeatures]);
}
