//! The example runs, in a short form, and says what it should.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::process::Command;

#[test]
fn the_equation_is_solved() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinn_f64"));
    let output = command.args(["--points", "200", "--adam", "50", "--bfgs", "60"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let (_, error) = text.split_once("relative L2 error: ").unwrap();
    let error: f64 = error.split_whitespace().next().unwrap().trim_end_matches([',', '.']).parse().unwrap();
    assert!(error < 0.1, "{text}");
}
