//! Any bytes are a file that is imported, as a sound graph, or refused. The files beside it are those of this package.
//!
//! `cargo +nightly fuzz run --sanitizer none onnx -- -rss_limit_mb=1024 -timeout=20`, or any toolchain with `RUSTC_BOOTSTRAP=1`. No
//! sanitizer is needed, as the importer has no `unsafe`, and without one memory is counted as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::onnx::{Bound, File, import};
use proc_macro2::Span;
use std::path::Path;

fuzz_target!(|bytes: &[u8]| {
    let Ok(file) = File::decode(bytes.to_vec(), Some(Path::new(env!("CARGO_MANIFEST_DIR")))) else { return };
    let Ok(imported) = import(&file, &Bound::default(), Span::call_site()) else { return };
    let (model, _) = imported.model("Net");
    verify(&model, After::Expand).expect("what is imported is sound");
});
