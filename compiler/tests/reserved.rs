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

#[test]
fn types_of_emitted_code_have_reserved_names() {
    let function = "pub fn scores(&self, x: f32[B, 4]) -> f32[B, 4] { self.layer(x) }";
    let net = |name: &str, function: &str| {
        format!("pub struct {name}(n = 4) {{ layer: Linear(n, n) }} impl {name} {{ {function} }}")
    };
    let of_record = |name: &str| {
        let function =
            format!("pub fn scores(&self, x: f32[B, 4]) -> {name} {{ y: f32[B, 4] }} {{ {name} {{ y: x }} }}");
        net("Net", &function)
    };
    let block = format!(
        "pub struct E {{ layer: Linear(4, 4) }} impl E {{ fn forward(&self, x: f32[B, 4]) -> f32[B, 4] {{ self.layer(x) }} }} \
         pub struct Net {{ layer: E }} impl Net {{ {function} }}"
    );
    let cases = [
        (net("D", function), true),
        (net("O", function), true),
        (net("N", function), false),
        (format!("{} struct E = Net();", net("Net", function)), true),
        (of_record("D"), true),
        (of_record("E"), false),
        (block, false),
    ];
    for (text, is_taken) in cases {
        let (_, diags) = check(text.parse().expect("tokens"));
        let found = diags.list().iter().any(|report| report.code == Code::ReservedName);
        assert_eq!(found, is_taken, "{text}");
    }
}
