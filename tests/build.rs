//! Writes a module for each derived test program of the ops, and for each program of the stored references: the
//! compiled model, and tests on the CPU and the GPU.

#[allow(dead_code, unreachable_pub, reason = "the tests read the numbers, this program the names")]
#[path = "src/reference.rs"]
mod reference;

use precast_compiler::ops::{Program, programs};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |file: &str, modules: Vec<TokenStream>| {
        let text: Vec<String> = modules.iter().map(TokenStream::to_string).collect();
        std::fs::write(Path::new(&out).join(file), text.join("\n\n")).expect("cargo made OUT_DIR");
    };
    println!("cargo::rerun-if-changed=src/reference.rs");
    println!("cargo::rerun-if-changed=references/pytorch.txt");
    for text in ["pytorch_f64.txt", "pytorch_bf16.txt", "pytorch_f16.txt"] {
        println!("cargo::rerun-if-changed=references/{text}");
    }
    let (on_gpus, wide): (Vec<Program>, _) = programs().into_iter().partition(Program::runs_on_gpus);
    let (words, others): (Vec<Program>, _) = on_gpus.into_iter().partition(Program::is_of_words);
    write("ops.rs", words.iter().map(module).collect());
    write("ops_other_types.rs", others.iter().map(module).collect());
    write("ops_wide.rs", wide.iter().map(module).collect());
    write("references.rs", reference::programs().iter().map(stored).collect());
}

fn stored(program: &reference::Program) -> TokenStream {
    let text: TokenStream = program.text.parse().expect("programs are tokens");
    let name = &program.name;
    let (module, plans) = (format_ident!("{name}"), format_ident!("__precast_{name}"));
    let gpu = (program.float == "f32").then(|| {
        quote! {
            #[cfg(feature = "gpu")]
            #[test]
            fn gpu() {
                crate::on_the_gpu::<Plan_, Value, Loss_Sgd_Gradients>(#name);
            }
        }
    });
    quote! {
        mod #module {
            ::precast::model! { #text }
            use #plans::{Plan_, Value, Loss_Sgd_Gradients};

            #[test]
            fn cpu() {
                crate::on_the_cpu::<Plan_, Value, Loss_Sgd_Gradients>(#name);
            }

            #gpu
        }
    }
}

fn module(program: &Program) -> TokenStream {
    let text: TokenStream = program.text.parse().expect("programs are tokens");
    let name = &program.name;
    let (module, plans) = (format_ident!("{name}"), format_ident!("__precast_{name}"));
    let gpu = program.runs_on_gpus().then(|| {
        quote! {
            #[cfg(feature = "gpu")]
            #[test]
            fn gpu() {
                crate::derived::on_the_gpu::<Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients>(#name);
            }
        }
    });
    quote! {
        mod #module {
            ::precast::model! { #text }
            use #plans::{Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients};

            #[test]
            fn cpu() {
                crate::derived::on_the_cpu::<Plan_, Value, Loss_Sgd, Loss_Sgd_Gradients>(#name);
            }

            #gpu
        }
    }
}
