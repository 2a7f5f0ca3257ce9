//! Products of odd shapes, beside those of round ones.
//!
//! In: round shapes, fixed here. Out: for each the time of a multiplication, and for the shapes beside it (an extent one
//! less, one more, or 37 or 61 of them) how many times as long one takes. Always: more than twice is marked.

use super::gemm::{isas, product};
use crate::command::Part;

/// The form and the round shape.
const ROUND: &[(&str, [usize; 3])] = &[
    ("NT", [1, 64, 64]),
    ("NT", [1, 1024, 1024]),
    ("NN", [1, 1024, 1024]),
    ("NT", [4, 128, 784]),
    ("NN", [64, 64, 64]),
    ("NT", [64, 128, 784]),
    ("NT", [64, 16, 128]),
    ("TN", [128, 784, 64]),
    ("NN", [64, 128, 16]),
    ("NN", [256, 256, 256]),
    ("NT", [768, 512, 128]),
    ("TN", [512, 128, 768]),
];

/// Seconds for each shape.
const BUDGET: f64 = 0.03;

/// Prints the table.
pub(super) fn beside(part: &Part) {
    for isa in isas(part) {
        println!("{isa:?}; {} threads", part.threads);
        for &(form, round) in ROUND {
            let per_product = |[m, n, k]: [usize; 3]| {
                let work = product(form, m, n, k);
                work.time_in(BUDGET, isa, part.threads) / work.flops()
            };
            let [m, n, k] = round;
            let name = format!("{form} {m}×{n}×{k}");
            if !name.contains(&part.only) {
                continue;
            }
            let base = per_product(round);
            print!("  {name:<16} {:>6.1} GFLOP/s;", 1e-9 / base);
            for axis in 0..3 {
                for extent in [round[axis] - 1, round[axis] + 1, 37, 61] {
                    let mut shape = round;
                    shape[axis] = extent;
                    // An extent of 1 makes another kind of product.
                    if extent > 0 && (extent < 37 || round[axis] >= 64) {
                        let ratio = per_product(shape) / base;
                        let mark = if ratio > 2.0 { " !" } else { "" };
                        print!("  {}{extent} {ratio:.2}{mark}", ["M", "N", "K"][axis]);
                    }
                }
            }
            println!();
        }
    }
}
