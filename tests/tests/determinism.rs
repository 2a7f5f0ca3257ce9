//! What `model!` expands to: the same bytes for the same input, on any thread, and no more of them for more blocks.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use precast_compiler::dump::Dumps;
use precast_compiler::pipeline::compile;
use proc_macro2::TokenStream;
use quote::quote;

/// A residual network of some depth, with its training.
fn program(depth: usize) -> String {
    format!(
        "const DEPTH: usize = {depth};

        /// A residual network.
        pub struct Net {{ input: Linear(12, 64), blocks: [Block(64, 256); DEPTH], output: Linear(64, 10) }}

        struct Block(dim, hidden) {{ norm: LayerNorm(dim), up: Linear(dim, hidden), down: Linear(hidden, dim) }}

        impl Block {{
            fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {{
                x + self.down(dropout(gelu(self.up(self.norm(x))), 0.1))
            }}
        }}

        impl Net {{
            /// Scores.
            pub fn scores(&self, x: f32[B, 12]) -> f32[B, 10] {{
                let mut x = self.input(x);
                for block in self.blocks {{ x = block(x); }}
                self.output(x)
            }}

            /// Mean cross-entropy.
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 12], label: u32[B]) -> f32 {{ cross_entropy(self.scores(x), label) }}
        }}"
    )
}

fn expand(text: &str) -> TokenStream {
    let text: TokenStream = text.parse().unwrap();
    compile(quote!({ ::precast } #text), 0, &mut Dumps::default())
}

/// The code as rustfmt would show it, with the shaders where they are emitted.
fn formatted(text: &str) -> String {
    let code = expand(text);
    assert!(!code.to_string().contains("compile_error"), "{code}");
    prettyplease::unparse(&syn::parse2(code).unwrap())
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let text = program(3);
    let first = expand(&text).to_string();
    assert_eq!(first, expand(&text).to_string());
    std::thread::scope(|scope| {
        let both = [0, 1].map(|_| scope.spawn(|| expand(&text).to_string()));
        for other in both {
            assert!(other.join().unwrap() == first);
        }
    });
}

#[test]
fn mistakes_are_reported_in_the_same_order() {
    let text = program(3).replace("Linear(12, 64)", "Linear(11, 64)").replace("gelu", "glue").replace("AdamW", "AdamV");
    assert_eq!(expand(&text).to_string(), expand(&text).to_string());
}

/// The code without the graph of an ONNX file, which is data: there each block of a repetition has nodes and names of its own.
fn code(text: &str) -> String {
    let formatted = formatted(text);
    formatted.lines().filter(|line| !line.trim_start().starts_with("graph: b\"")).collect::<Vec<_>>().join("\n")
}

#[test]
fn code_does_not_grow_with_depth() {
    let [few, many] = [2, 48].map(|depth| code(&program(depth)));
    println!("[Block; 2]: {} bytes, {} lines; [Block; 48]: {} bytes", few.len(), few.lines().count(), many.len());
    let difference = few.len().abs_diff(many.len()) as f64 / few.len() as f64;
    assert!(difference < 0.05, "{difference}");
    let kernels = |code: &str| code.matches("rt::Kernel for").count();
    assert_eq!(kernels(&few), kernels(&many));
}

#[test]
fn emitted_code_is_safe_and_names_the_runtime_alone() {
    let code = formatted(&program(2));
    assert!(!code.contains("unsafe"));
    for path in ["::std::", "::alloc::", "std::vec", "println!"] {
        assert!(!code.contains(path), "{path}");
    }
}
