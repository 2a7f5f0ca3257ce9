//! Products with a parameter in f32, bf16 and int8.
//!
//! In: sizes, fixed here. Out: microseconds, and how many times as fast as f32, for each instruction set. Always: the
//! parameter is rounded and packed before, as in a session.

use super::gemm::{isas, product};
use crate::command::Part;
use precast::__rt::{self as rt, Factor, Keeping, Narrow, Plain, Precision};
use std::hint::black_box;

/// Rows, columns and K.
const SIZES: [[usize; 3]; 8] = [
    [1, 128, 784],
    [1, 512, 128],
    [1, 1024, 1024],
    [4, 1024, 1024],
    [16, 1024, 1024],
    [128, 384, 384],
    [127, 383, 385],
    [1024, 1024, 1024],
];

/// Seconds of measuring for each number.
const SECONDS: f64 = 0.1;

pub(super) fn beside(part: &Part) {
    for isa in isas(part) {
        println!("{isa:?}, {} threads", part.threads);
        for [m, n, k] in SIZES {
            let name = format!("{m}×{n}×{k}");
            if !name.contains(&part.only) {
                continue;
            }
            let work = product("NT", m, n, k);
            let mut keeping = Keeping::new(3);
            keeping.forget(0..3);
            let exact = work.time_of(SECONDS, |work, outputs| {
                rt::contract_kept(
                    black_box(isa),
                    part.threads,
                    rt::Algorithm::ALL,
                    work,
                    outputs,
                    &Plain,
                    keeping.at(0),
                );
            });
            print!("  {name:<16} f32 {:>8.2} µs", exact * 1e6);
            for (number, precision) in [(1, Precision::Bf16), (2, Precision::Int8)] {
                let narrow = Narrow { parameter: Factor::Right, precision };
                let time = work.time_of(SECONDS, |work, outputs| {
                    let kept = keeping.at(number);
                    rt::contract_narrow(black_box(isa), part.threads, narrow, work, outputs, &Plain, kept);
                });
                print!("   {precision:?} {:>8.2} µs, {:>5.2} times", time * 1e6, exact / time);
            }
            println!();
        }
    }
}
