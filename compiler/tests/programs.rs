//! The derived test programs of all ops go through the whole pipeline.

use precast_compiler::dump::Dumps;
use precast_compiler::ops::programs;
use precast_compiler::pipeline::{check, compile, lower};

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
        // What a build without a feature says is no mistake of the program.
        let [mistakes, double, half] =
            ["compile_error", "unless_f64", "unless_half"].map(|word| tokens.matches(word).count());
        assert_eq!(mistakes, double + half, "{}: {tokens}", program.name);
    }
}

#[test]
fn epilogues_that_are_numbered_otherwise_are_one() {
    let text: proc_macro2::TokenStream =
        "pub struct Net { first: Linear(30, 50), second: Linear(50, 20), last: Linear(20, 7) }
        impl Net {
            pub fn out(&self, x: f32[B, 30]) -> f32[B, 7] {
                relu(self.last(relu(self.second(relu(self.first(x))))))
            }
            pub fn grown(&self, x: f32[B, 30], by: f32[50]) -> f32[B, 50] { self.first(x) * by }
        }"
        .parse()
        .unwrap();
    let emitted = compile(quote::quote!({ ::precast } #text), 0, &mut Dumps::default()).to_string();
    let count = |text: &str| emitted.matches(text).count();
    assert_eq!((count("rt :: contract ("), count("rt :: Epilogue for")), (4, 2), "{emitted}");
}
