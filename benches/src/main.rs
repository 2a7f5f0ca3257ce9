//! Benchmarks: `cargo run --release -p benches -- <name>`.
//!
//! In: the name of a benchmark, and numbers that it takes. Out: a table on standard output. Always: the least of many
//! repetitions is shown, because everything else on a machine only adds time.

mod gemm;
mod measure;

/// The benchmarks, by name.
const TABLE: &[(&str, &str, fn())] = &[
    ("gemm", "matrix products and convolutions against the peak of one core", gemm::products),
    ("small", "products of one row, in nanoseconds", gemm::small),
    ("maths", "elementary functions, in elements per nanosecond", gemm::maths),
];

fn main() {
    let name = std::env::args().nth(1);
    match TABLE.iter().find(|entry| Some(entry.0) == name.as_deref()) {
        Some((_, _, benchmark)) => benchmark(),
        None => {
            for (name, what, _) in TABLE {
                println!("{name:<8} {what}");
            }
        }
    }
}
