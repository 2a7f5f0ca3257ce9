//! `precast-compiler FILE [STAGE…]`: compiles the text of a `model!` and prints what the stages make of it.

use precast_compiler::pipeline;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: precast-compiler FILE");
        return ExitCode::from(2);
    };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(why) => {
            eprintln!("{path}: {why}");
            return ExitCode::FAILURE;
        }
    };
    let tokens: proc_macro2::TokenStream = match text.parse() {
        Ok(tokens) => tokens,
        Err(why) => {
            eprintln!("{path}: {why}");
            return ExitCode::FAILURE;
        }
    };
    println!("{}", pipeline::compile(quote::quote!({ ::precast } #tokens)));
    ExitCode::SUCCESS
}
