//! Odd shapes beside round ones.
//!
//! In: a family of calls, each with round shapes of its own. Out: for each round shape its rate, and for the shapes beside it,
//! one extent at a time or all of them less one, how many times as long a unit of work takes there: a unit is a
//! multiply-add of products, a word that is read or written of everything else. Always: more than twice is marked and counted;
//! what seems to be more is measured again first.

mod images;
mod layers;
mod products;
mod rows;
mod sequences;

use super::gemm::isas;
use crate::command::Part;
use crate::measure::seconds_in;
use precast::__rt::{Isa, force_isa};
use std::hint::black_box;

/// Seconds of measuring for each shape.
const BUDGET: f64 = 0.02;

/// Extents that round ones stand beside.
const ODD: &[usize] =
    &[1, 2, 3, 5, 7, 9, 10, 13, 14, 15, 17, 24, 27, 29, 31, 33, 37, 57, 63, 65, 80, 100, 127, 129, 257, 1000, 1023];

/// Calls of one kind at several shapes.
pub(super) struct Family<'f> {
    name: &'f str,
    /// The names of the extents.
    axes: &'f [&'f str],
    round: &'f [&'f [usize]],
    /// What a call at a shape does, in units.
    work: fn(&[usize]) -> f64,
    /// What measures a call.
    time: &'f dyn Fn(&Meter, &[usize]) -> Option<f64>,
}

/// What calls are measured with.
pub(super) struct Meter {
    threads: usize,
    isa: Isa,
}

impl Meter {
    /// Seconds of a call; nothing, and a word on standard error, if it fails.
    fn of(mut call: impl FnMut() -> precast::Result<()>) -> Option<f64> {
        if let Err(why) = call() {
            eprintln!("# FAIL {why}");
            return None;
        }
        Some(seconds_in(BUDGET, || _ = black_box(call())))
    }
}

/// Prints the tables.
pub(super) fn beside(part: &Part) {
    precast::set_threads(part.threads);
    for isa in isas(part) {
        println!("{isa:?}; {} threads", part.threads);
        force_isa(Isa::available().position(|other| format!("{other:?}") == format!("{isa:?}")));
        let meter = Meter { threads: part.threads, isa };
        let mut found = 0;
        let print = &mut |family: &Family<'_>| found += table(&meter, part, family);
        products::all(print);
        layers::all(print);
        images::all(print);
        sequences::all(print);
        rows::all(print);
        println!("{found} more than twice");
    }
    force_isa(None);
}

/// Prints the lines of a family that are wanted, and gives the number of marks.
fn table(meter: &Meter, part: &Part, family: &Family<'_>) -> usize {
    let mut found = 0;
    for &round in family.round {
        let extents: Vec<String> = round.iter().map(usize::to_string).collect();
        let name = format!("{} {}", family.name, extents.join("×"));
        if !name.contains(&part.only) {
            continue;
        }
        let unit = |shape: &[usize]| Some((family.time)(meter, shape)? / (family.work)(shape));
        let Some(mut base) = unit(round) else {
            println!("  {name:<32} is not there");
            continue;
        };
        print!("  {name:<32} {:>6.1} G/s;", 1e-9 / base);
        for (label, shape) in shapes(family.axes, round) {
            let Some(mut time) = unit(&shape) else { continue };
            if time > 1.8 * base {
                base = unit(round).map_or(base, |again| again.max(base));
                time = unit(&shape).map_or(time, |again| again.min(time));
            }
            let ratio = time / base;
            let mark = if ratio > 2.0 { "!" } else { "" };
            found += usize::from(ratio > 2.0);
            print!(" {label} {ratio:.2}{mark}");
        }
        println!();
    }
    found
}

/// The shapes beside a round one, with what is odd about them.
fn shapes(axes: &[&str], round: &[usize]) -> Vec<(String, Vec<usize>)> {
    let mut all = vec![];
    for (axis, &extent) in round.iter().enumerate() {
        let near = |odd: &usize| 5 * extent <= 8 * *odd && 5 * *odd <= 8 * extent;
        let mut beside: Vec<usize> = ODD.iter().copied().filter(near).collect();
        beside.extend([extent - 1, extent + 1]);
        beside.sort_unstable();
        beside.dedup();
        for odd in beside.into_iter().filter(|odd| *odd > 0 && *odd != extent && extent > 1) {
            let mut shape = round.to_vec();
            shape[axis] = odd;
            all.push((format!("{}{odd}", axes[axis]), shape));
        }
    }
    all.push(("all−1".into(), round.iter().map(|extent| (extent - 1).max(1)).collect()));
    all
}

/// Numbers from -½ to ½.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 7919 % 1000) as f32 / 1000.0 - 0.5).collect()
}
