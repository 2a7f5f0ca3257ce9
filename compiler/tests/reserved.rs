//! The names of emitted methods are those that functions of the user's cannot have.

use precast_compiler::diag::Code;
use precast_compiler::dump::Dumps;
use precast_compiler::pipeline::{check, compile};
use std::collections::BTreeSet;

/// A model with a state and a trained function of that name.
fn model(function: &str) -> String {
    format!(
        "pub struct Net {{ layer: Linear(4, 4), state last: f32[B, 4] }}
        impl Net {{
            #[train(Sgd)]
            pub fn {function}(&self, x: f32[B, 4]) -> f32 {{ mean(self.layer(x)) }}
            pub fn zz_next(&mut self, x: f32[B, 4]) -> f32[B, 4] {{ self.last = x; x }}
        }}"
    )
}

#[test]
fn every_emitted_method_has_a_reserved_name() {
    let text: proc_macro2::TokenStream = model("zz_loss").parse().expect("tokens");
    let emitted = compile(quote::quote!({ ::precast } #text), 0, &mut Dumps::default()).to_string();
    let words: Vec<&str> = emitted.split_whitespace().collect();
    let method = |w: &[&str]| match w {
        ["pub", "fn", name, ..] | ["pub", "async", "fn", name, ..] => Some(name.to_string()),
        _ => None,
    };
    let names: BTreeSet<String> = words.windows(4).filter_map(method).filter(|name| !name.starts_with("zz_")).collect();
    assert!(names.contains("init") && names.contains("reset"), "{names:?}");
    for name in names {
        let (_, diags) = check(model(&name).parse().expect("tokens"));
        let found = diags.list().iter().any(|report| report.code == Code::ReservedName);
        assert!(found, "a function may be called `{name}`");
    }
}
