//! The derived test programs of all ops go through the whole pipeline.

use precast_compiler::dump::Dumps;
use precast_compiler::ops::programs;
use precast_compiler::pipeline::{check, lower};

#[test]
fn derived_programs_have_no_mistakes() {
    let mut failed = vec![];
    for program in programs() {
        let (models, diags) = check(program.text.parse().unwrap());
        for diagnostic in diags.list() {
            failed.push(format!("{}: {}\n{}", program.name, diagnostic.text(), program.text));
        }
        assert!(!diags.is_empty() || models.len() == 1, "{}", program.name);
    }
    assert!(failed.is_empty(), "{} mistakes\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn derived_programs_become_kernels() {
    let mut failed = vec![];
    for program in programs() {
        let (mut models, diags) = check(program.text.parse().unwrap());
        if !diags.is_empty() {
            continue;
        }
        let model = models.remove(0);
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| lower(model)));
        if result.is_err() {
            failed.push(program.name);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn derived_programs_are_emitted() {
    for program in programs() {
        let text: proc_macro2::TokenStream = program.text.parse().unwrap();
        let tokens =
            precast_compiler::pipeline::compile(quote::quote!((::precast) #text), 0, &mut Dumps::default()).to_string();
        assert!(!tokens.contains("compile_error"), "{}: {tokens}", program.name);
    }
}
