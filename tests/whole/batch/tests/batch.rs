//! Runs the programs of the batch one after the other and prints a line for each; one that is wrong or panics fails.

#![allow(missing_docs, reason = "the models are random")]

use std::panic::{AssertUnwindSafe, catch_unwind};

type Run = fn(&whole::program::Program) -> Result<whole::judge::Verdict, String>;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

fn main() {
    let mut failed = vec![];
    for (seed, run) in PROGRAMS {
        println!("program {seed} runs");
        let program = whole::generate::program(*seed);
        let line = match catch_unwind(AssertUnwindSafe(|| run(&program))) {
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                format!("program {seed} PANICKED: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("?"))
            }
            Ok(Err(why)) => format!("program {seed} FAILED: {why}"),
            Ok(Ok(v)) if !v.wrong.is_empty() => {
                format!(
                    "program {seed} WRONG in {} tensors: {}",
                    v.wrong.len(),
                    v.wrong[..v.wrong.len().min(2)].join("\n    ")
                )
            }
            Ok(Ok(v)) if v.judged < 9 * v.skipped => format!("program {seed} chaotic: {} of {}", v.skipped, v.judged),
            Ok(Ok(v)) => format!("program {seed} compared: {} numbers, {} not", v.judged, v.skipped),
        };
        println!("{line}");
        if !line.contains("compared") && !line.contains("chaotic") {
            failed.push(*seed);
        }
    }
    if !failed.is_empty() {
        println!("failed: {failed:?}");
        std::process::exit(1);
    }
}
