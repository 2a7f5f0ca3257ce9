//! Writes a module for each derived test program of the ops: the compiled model, and tests on the CPU and the GPU.

use precast_compiler::ops::{Program, programs};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let modules: Vec<String> = programs().iter().map(|program| module(program).to_string()).collect();
    std::fs::write(Path::new(&out).join("ops.rs"), modules.join("\n\n")).expect("cargo made OUT_DIR");
}

fn module(program: &Program) -> TokenStream {
    let text: TokenStream = program.text.parse().expect("programs are tokens");
    let name = &program.name;
    let (module, plans) = (format_ident!("{name}"), format_ident!("__precast_{name}"));
    quote! {
        mod #module {
            ::precast::model! { #text }
            use #plans::{Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients};

            #[test]
            fn cpu() {
                crate::derived::on_the_cpu::<Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients>(#name);
            }

            #[cfg(feature = "gpu")]
            #[test]
            fn gpu() {
                crate::derived::on_the_gpu::<Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients>(#name);
            }
        }
    }
}
