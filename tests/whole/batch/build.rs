//! Writes a module for each program of the batch: the seeds of `PRECAST_SEEDS`, or those of the short run.

use std::fmt::Write;
use std::path::Path;

/// The programs of the short run.
const SHORT: &str = "1,2,3,4,5,6,7,8";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PRECAST_SEEDS");
    let seeds = std::env::var("PRECAST_SEEDS").unwrap_or_else(|_| SHORT.to_owned());
    let (mut modules, mut table) = (String::new(), String::new());
    for seed in seeds.split(',').filter_map(|s| s.trim().parse::<u64>().ok()) {
        let program = whole::generate::program(seed);
        let Some(trains) = whole::accepted(&program) else { continue };
        let (text, optimizer) = (program.text(), program.optimizer);
        let _ = writeln!(modules, "mod p{seed} {{\n::precast::model! {{\n{text}}}\n");
        let _ = match trains {
            true => writeln!(
                modules,
                "pub(crate) fn run(p: &::whole::program::Program) -> Result<::whole::judge::Verdict, String> {{\n\
                 use __precast_net::{{Plan_, Value, Loss_{optimizer}, Loss_{optimizer}_Gradients}};\n\
                 ::whole::run::trained::<Plan_, Value, Loss_{optimizer}, Loss_{optimizer}_Gradients>(p) }}\n}}"
            ),
            false => writeln!(
                modules,
                "pub(crate) fn run(p: &::whole::program::Program) -> Result<::whole::judge::Verdict, String> {{\n\
                 use __precast_net::{{Plan_, Value}};\n::whole::run::evaluated::<Plan_, Value>(p) }}\n}}"
            ),
        };
        let _ = writeln!(table, "    ({seed}, p{seed}::run),");
    }
    let text = format!("{modules}\nconst PROGRAMS: &[(u64, Run)] = &[\n{table}];\n");
    let out = std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("programs.rs"), text).expect("cargo made OUT_DIR");
}
