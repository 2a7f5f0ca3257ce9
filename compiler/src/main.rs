//! `precast-compiler FILE [STAGES]`: compiles the text of a `model!` and prints what the stages make of it.

use precast_compiler::dump::Dumps;
use precast_compiler::{diag, pipeline};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run() {
        // Who reads may stop reading.
        Ok(text) => match writeln!(std::io::stdout(), "{text}") {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<String, String> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: precast-compiler FILE [STAGES], such as `model.txt grad,emit`")?;
    let wish = arguments.next().unwrap_or_else(|| "emit".into());
    let mut dumps = Dumps::of(&wish).map_err(|word| {
        let known: Vec<&str> = pipeline::STAGES.into_iter().collect();
        let near = diag::closest(&word, known.iter().copied()).map(|n| format!("; did you mean `{n}`?"));
        format!("`{word}` is no stage; they are {}{}", known.join(", "), near.unwrap_or_default())
    })?;
    let text = std::fs::read_to_string(&path).map_err(|why| format!("{path}: {why}"))?;
    let tokens: proc_macro2::TokenStream = text.parse().map_err(|why| format!("{path}: {why}"))?;
    let (_, diags) = pipeline::check(tokens.clone());
    if !diags.is_empty() {
        let mistakes = diags.list().iter().map(|d| format!("{path}:{}: [{}] {}", d.place.line(), d.code, d.text()));
        return Err(mistakes.collect::<Vec<_>>().join("\n"));
    }
    pipeline::compile(quote::quote!({ ::precast } #tokens), 0, &mut dumps);
    let files = dumps.files.iter().map(|f| format!("// {}\n{}\n", f.name, f.text));
    Ok(files.collect())
}
