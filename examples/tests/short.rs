//! The examples run, in a short form, and say what they should; `mnist` and `vae` have tests of their own in their files.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::path::PathBuf;
use std::process::Command;

/// What an example prints, which `cargo test` has built beside this test.
fn run(example: &str, arguments: &[&str]) -> String {
    let mut program: PathBuf = std::env::current_exe().unwrap();
    program.pop();
    program.pop();
    program.push("examples");
    program.push(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    let output =
        Command::new(&program).args(arguments).output().unwrap_or_else(|e| panic!("{}: {e}", program.display()));
    let (text, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{example} ended with {}:\n{text}{errors}", output.status);
    text
}

/// The number behind the words.
fn number(text: &str, words: &str) -> f64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("no `{words}` in:\n{text}"));
    let end = rest.find(|c: char| !(c.is_ascii_digit() || "+-.e".contains(c))).unwrap_or(rest.len());
    rest[..end].trim_end_matches('.').parse().unwrap_or_else(|e| panic!("no number behind `{words}`: {e}\n{text}"))
}

#[test]
fn digits() {
    let save = std::env::temp_dir().join(format!("digits-{}.safetensors", std::process::id()));
    let text = run("digits", &["--epochs", "4", "--save", save.to_str().unwrap()]);
    std::fs::remove_file(save).unwrap();
    assert!(number(&text, "test accuracy: ") > 0.9, "{text}");
}

#[test]
fn gpt() {
    let text = run("gpt", &["--steps", "30", "--write", "80", "--test", "4"]);
    // 65 characters at random are ln 65 = 4.17.
    assert!(number(&text, "not seen: ") < 3.5, "{text}");
    assert!(text.contains("the most likely characters are the same"), "{text}");
}

#[test]
fn policy() {
    assert!(run("policy", &[]).contains("ns per call"));
}

#[test]
fn lstm() {
    let text = run("lstm", &["--steps", "150"]);
    let (error, repeated) = (number(&text, "on new signals: "), number(&text, "and "));
    assert!(error < repeated, "{text}");
    assert!(number(&text, "at most ") < 1e-4, "{text}");
}

#[test]
fn mixer() {
    assert!(number(&run("mixer", &[]), "test accuracy: ") > 0.9);
}

#[test]
fn pinn() {
    let text = run("pinn", &["--steps", "300"]);
    assert!(number(&text, "relative L2 error: ") < 0.3, "{text}");
}
