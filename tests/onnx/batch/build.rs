//! Takes the modules that `onnx-conformance` wrote into the crate: the file that `PRECAST_ONNX_PROGRAMS` names, or none.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PRECAST_ONNX_PROGRAMS");
    let programs = match std::env::var("PRECAST_ONNX_PROGRAMS") {
        Ok(path) => {
            println!("cargo::rerun-if-changed={path}");
            std::fs::read_to_string(path).expect("onnx-conformance wrote the programs")
        }
        Err(_) => "const PROGRAMS: &[(&str, Run)] = &[];".to_owned(),
    };
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("programs.rs"), programs).expect("cargo made OUT_DIR");
}
