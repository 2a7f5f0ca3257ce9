//! Runs models that `onnx-conformance` compiled: `onnx-batch cpu|gpu DIR [FIRST]`.
//!
//! In `DIR` each model has a folder with its named dimensions, `dims`, 8 bytes each, and the words of its arguments, `parameters`
//! and `input_0`, `input_1`, …. There it
//! writes those of its results, `result_RUN_K`, where a run is one instruction set of the CPU or the GPU, or the text
//! `failure`. Before each model it prints its number, so that whoever reads knows which one ended the process.

use onnx_batch::{Call, Run};
use std::path::Path;
use std::process::ExitCode;

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [device, dir, rest @ ..] = args.as_slice() else {
        eprintln!("onnx-batch cpu|gpu DIR [FIRST]");
        return ExitCode::from(2);
    };
    let first = rest.first().and_then(|first| first.parse().ok()).unwrap_or(0);
    for (number, (name, run)) in PROGRAMS.iter().enumerate().skip(first) {
        println!("{number}");
        let folder = Path::new(dir).join(name);
        if let Err(why) = Call::read(device, folder.clone()).and_then(|call| run(&call))
            && let Err(why) = std::fs::write(folder.join("failure"), why)
        {
            eprintln!("{}: {why}", folder.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
