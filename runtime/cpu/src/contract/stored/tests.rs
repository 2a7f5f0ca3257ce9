//! Contractions of stored operands against a naive loop in f64, on every instruction set, on one to three threads, in whole and in
//! small strips.

use super::*;
use crate::Isa;
use crate::contract::tests::{Both, Case, Owned, Random, indices, plain_case};
use crate::contract::{Axis, Operand, Output, Plain, Role};
use crate::isa::Set;

/// An encoding, as a test writes and reads it.
trait Known: Encoding + Stream<Bits = <Self as Encoding>::Bits> {
    /// A number near `x`.
    fn near(x: f32) -> Of<Self>;
    fn number(bits: Of<Self>) -> f32;
}

/// An element of an encoding.
type Of<W> = <W as Encoding>::Bits;

impl Known for Bf16 {
    fn near(x: f32) -> u16 {
        (x.to_bits() >> 16) as u16
    }
    fn number(bits: u16) -> f32 {
        f32::from_bits(u32::from(bits) << 16)
    }
}

impl Known for I8 {
    fn near(x: f32) -> u8 {
        (x * 50.0) as i8 as u8
    }
    fn number(bits: u8) -> f32 {
        f32::from(bits as i8)
    }
}

impl Known for F16 {
    fn near(x: f32) -> u16 {
        let (sign, size) = (x.to_bits() >> 16 & 0x8000, x.abs().to_bits());
        let found = if size < 113 << 23 { (x.abs() * 16_777_216.0) as u32 } else { (size >> 13) - (112 << 10) };
        (sign | found) as u16
    }
    fn number(bits: u16) -> f32 {
        let (size, fraction) = (u32::from(bits & 0x7fff), f32::from(bits & 0x3ff));
        let x = match size >> 10 {
            0 => fraction / 16_777_216.0,
            0x1f => {
                if fraction == 0.0 {
                    f32::INFINITY
                } else {
                    f32::NAN
                }
            }
            _ => f32::from_bits((size << 13) + (112 << 23)),
        };
        if bits & 0x8000 == 0 { x } else { -x }
    }
}

/// What an operand stores, and what that is.
fn encoded<W: Known>(of: &Owned) -> (Vec<Of<W>>, Owned) {
    let bits: Vec<Of<W>> = of.data.iter().map(|x| W::near(*x)).collect();
    let data = bits.iter().map(|bits| W::number(*bits)).collect();
    (bits, Owned { data, base: of.base, strides: of.strides.clone(), windows: Vec::new() })
}

/// Checks a case with each of its operands stored that has no windows. `bound` is as for cases of f32.
pub(in crate::contract) fn check(case: &Case, bound: &dyn Fn(f64, f64) -> f64) {
    for (at, parameter) in [Factor::Left, Factor::Right].into_iter().enumerate() {
        match (case.words + at) % 3 {
            0 => check_stored::<Bf16>(case, parameter, bound),
            1 => check_stored::<I8>(case, parameter, bound),
            _ => check_stored::<F16>(case, parameter, bound),
        }
    }
}

fn check_stored<W: Known>(case: &Case, parameter: Factor, bound: &dyn Fn(f64, f64) -> f64) {
    let (other, of) = match parameter {
        Factor::Left => (&case.rhs, &case.lhs),
        Factor::Right => (&case.lhs, &case.rhs),
    };
    if !of.windows.is_empty() {
        return;
    }
    let (bits, stored) = encoded::<W>(of);
    let (mut want, mut size) = (vec![0.0; case.words], vec![0.0; case.words]);
    for index in indices(&case.axes) {
        let at = (case.base + case.strides.iter().zip(&index).map(|(s, i)| s * *i as isize).sum::<isize>()) as usize;
        let product = stored.element(&index) * other.element(&index);
        want[at] += product;
        size[at] += product.abs();
    }
    let largest = size.iter().fold(0.0f64, |most, size| most.max(*size));
    let (axes, windows) = (case.axes(), other.view());
    let operand = Operand { data: &bits[..], base: of.base, strides: &of.strides, windows: &[] };
    let work = Stored::<W> { axes: &axes, parameter, data: other.operand(&windows), stored: operand };
    let near = |found: &[f32], what: &dyn core::fmt::Debug| {
        for at in 0..case.words {
            let error = (f64::from(found[at]) - want[at]).abs();
            let (is, not) = (found[at], want[at]);
            assert!(size[at] == 0.0 || error <= bound(size[at], largest), "{what:?}, {at}: {is} not {not}; {case:?}");
        }
    };
    #[cfg(feature = "deterministic")]
    for words in [None, Some(40)] {
        let numbers = |isa: crate::Deterministic| product(case, &work, isa.set(), 2, words)[0].clone();
        crate::isa::assert_same_bits(numbers, &case.axes);
    }
    for isa in Isa::available() {
        for words in [None, Some(1), Some(700)] {
            let [plain, first, second] = product(case, &work, isa.set(), 1, words);
            near(&plain, &(isa, parameter, words));
            check_epilogue(case, [&plain, &first, &second]);
            for threads in [2, 3] {
                let again = product(case, &work, isa.set(), threads, words);
                assert!(again == [plain.clone(), first.clone(), second.clone()], "{isa:?}, {threads}, {:?}", case.axes);
            }
        }
    }
}

/// The sums, and the two results of `Both`: of the call, or of strips of so many words.
fn product<W: Known>(
    case: &Case,
    work: &Stored<'_, W>,
    set: Set,
    threads: usize,
    words: Option<usize>,
) -> [Vec<f32>; 3] {
    let mut all = [const { Vec::new() }; 3].map(|_: Vec<f32>| vec![7.0; case.words]);
    let [plain, first, second] = &mut all;
    fn output<'a>(case: &'a Case, data: &'a mut [f32]) -> Output<'a> {
        Output { data, base: case.base, strides: &case.strides }
    }
    let (one, both) = (&mut [output(case, plain)], &mut [output(case, first), output(case, second)]);
    if let Some(words) = words {
        let finish = epilogue::Finish(set, &Both);
        strips::strips(&drive::call(set, threads, None), Algorithm::ALL, work, one, words);
        strips::strips(&drive::call(set, threads, Some(&finish)), Algorithm::ALL, work, both, words);
    } else {
        contract_stored(set, threads, Algorithm::ALL, work, one, &Plain);
        contract_stored(set, threads, Algorithm::ALL, work, both, &Both);
    }
    all
}

/// Checks what `Both` makes of the sums.
fn check_epilogue(case: &Case, [plain, first, second]: [&[f32]; 3]) {
    let mut inside = vec![false; case.words];
    let merged = |index: &[usize], role: Role| {
        let of = index.iter().zip(&case.axes).filter(|(_, axis)| axis.1 == role);
        of.fold(0, |at, (index, axis)| at * axis.0 + index) as f64
    };
    let outer: Vec<_> =
        case.axes.iter().map(|&(extent, role)| (if role == Role::K { 1 } else { extent }, role)).collect();
    for index in indices(&outer) {
        let at = (case.base + case.strides.iter().zip(&index).map(|(s, i)| s * *i as isize).sum::<isize>()) as usize;
        let batch: usize = index.iter().zip(&outer).filter(|(_, axis)| axis.1 == Role::Batch).map(|(i, _)| i).sum();
        let extra = 0.5 * merged(&index, Role::N) + merged(&index, Role::M) + batch as f64;
        let error = (f64::from(first[at]) - f64::from(plain[at]) - extra).abs();
        assert!(error <= 1e-4 + 1e-6 * (extra + f64::from(plain[at].abs())), "{at} of {:?}", case.axes);
        assert_eq!(second[at], 2.0 * plain[at], "{at} of {:?}", case.axes);
        inside[at] = true;
    }
    let between = (0..case.words).filter(|at| !inside[*at]);
    between.for_each(|at| assert_eq!([plain[at], first[at], second[at]], [7.0; 3], "{at} of {:?}", case.axes));
}

/// A product of matrices, row-major unless `transposed`.
fn matrices(random: &mut Random, [m, n, k]: [usize; 3], [left, right]: [bool; 2]) -> Case {
    let mut case = plain_case(random, vec![(m, Role::M), (n, Role::N), (k, Role::K)]);
    (case.lhs.base, case.rhs.base, case.base, case.words) = (0, 0, 0, m * n);
    (case.lhs.data, case.rhs.data) = (random.vector(m * k), random.vector(k * n));
    case.lhs.strides = if left { vec![1, 0, m as isize] } else { vec![k as isize, 0, 1] };
    case.rhs.strides = if right { vec![0, k as isize, 1] } else { vec![0, 1, n as isize] };
    case.strides = vec![n as isize, 1, 0];
    case
}

const BOUND: &dyn Fn(f64, f64) -> f64 = &|size, _| 1e-6 * size + 1e-6;

#[test]
fn few_rows_and_columns_by_any_number() {
    let mut random = Random(41);
    for few in 1..9 {
        for _ in 0..if cfg!(debug_assertions) { 1 } else { 10 } {
            let (many, k) = (1 + random.below(300), random.pick(&[1, 2, 7, 16, 33, 90, 600, 1100]));
            check(&matrices(&mut random, [few, many, k], [false, true]), BOUND);
            check(&matrices(&mut random, [many, few, k], [false, true]), BOUND);
            check(&matrices(&mut random, [few, many, k], [false, false]), BOUND);
        }
    }
}

#[test]
fn parameters_of_several_strips() {
    let mut random = Random(42);
    check(&matrices(&mut random, [9, 700, 900], [false, true]), BOUND);
    check(&matrices(&mut random, [40, 900, 700], [true, false]), BOUND);
    check(&matrices(&mut random, [3, 900, 700], [false, false]), BOUND);
}

#[test]
fn long_sums_do_not_lose_more() {
    let mut random = Random(43);
    for [m, n] in [[1, 5], [3, 9], [5, 1], [13, 3]] {
        check(&matrices(&mut random, [m, n, 100_001], [false, true]), &|size, _| 2e-7 * size + 1e-6);
    }
}

/// A product of one row, of two columns in each of two K, with all elements stored but 1.
fn row<W: Known>(isa: Isa, bits: [Of<W>; 2], n: usize, k: usize) -> Vec<f32> {
    let axes = [(1, Role::M), (n, Role::N), (k, Role::K)].map(|(extent, role)| Axis { extent, role });
    let (data, mut stored, mut out) = (vec![1.0; k], vec![W::near(1.0); n * k], vec![7.0; n]);
    stored[..2].copy_from_slice(&bits);
    let strides = [0, k as isize, 1];
    let data = Operand { data: &data[..], base: 0, strides: &[0, 0, 1], windows: &[] };
    let stored = Operand { data: &stored[..], base: 0, strides: &strides, windows: &[] };
    let work = Stored::<W> { axes: &axes, parameter: Factor::Right, data, stored };
    let output = Output { data: &mut out, base: 0, strides: &[0, 1, 0] };
    contract_stored(isa, 2, Algorithm::ALL, &work, &mut [output], &Plain);
    out
}

#[test]
fn what_is_infinite_or_no_number_stays_so_in_its_column() {
    fn check<W: Known + Encoding<Bits = u16>>(infinite: u16, nan: u16, smallest: u16) {
        for (isa, k) in Isa::available().flat_map(|isa| [3, 16, 37, 5000].map(|k| (isa, k))) {
            let one = W::near(1.0);
            assert_eq!(row::<W>(isa, [infinite, one], 3, k), [f32::INFINITY, k as f32, k as f32]);
            for bits in [[nan, one], [infinite, infinite | 0x8000], [nan - 1, infinite]] {
                let found = row::<W>(isa, bits, 3, k);
                assert!(found[0].is_nan() && found[1..] == [k as f32; 2], "{isa:?} {bits:?} {found:?}");
            }
            let found = row::<W>(isa, [smallest, one ^ 0x8000], 1, 2);
            assert_eq!(found, [W::number(smallest) - 1.0]);
        }
    }
    check::<Bf16>(0x7f80, 0x7fc1, 1);
    check::<F16>(0x7c00, 0x7e01, 1);
}

#[test]
fn sums_of_nothing_go_through_the_epilogue_and_no_sums_are_none() {
    for (extents, parameter) in [[3, 20, 0], [0, 20, 5], [3, 0, 5], [1, 20, 0]]
        .into_iter()
        .flat_map(|extents| [Factor::Left, Factor::Right].map(|parameter| (extents, parameter)))
    {
        let [m, n, k] = extents;
        let axes = [(m, Role::M), (n, Role::N), (k, Role::K)].map(|(extent, role)| Axis { extent, role });
        let (lhs, rhs) = ([k as isize, 0, 1], [0, k as isize, 1]);
        let (of_data, of_stored) = if parameter == Factor::Left { (&rhs, &lhs) } else { (&lhs, &rhs) };
        let data = Operand { data: &[][..], base: 0, strides: of_data, windows: &[] };
        let stored = Operand { data: &[][..], base: 0, strides: of_stored, windows: &[] };
        let work = Stored::<F16> { axes: &axes, parameter, data, stored };
        for isa in Isa::available() {
            let (mut first, mut second) = (vec![7.0; 60], vec![7.0; 60]);
            let outputs = [&mut first, &mut second].map(|data| Output { data, base: 0, strides: &[20, 1, 0] });
            contract_stored(isa, 2, Algorithm::ALL, &work, &mut { outputs }, &Both);
            let sums = if k == 0 { m * n } else { 0 };
            let right =
                |(at, x): (usize, &f32)| *x == if at < sums { (at / 20) as f32 + 0.5 * (at % 20) as f32 } else { 7.0 };
            assert!(first.iter().enumerate().all(right), "{isa:?} {extents:?} {first:?}");
            assert!(second.iter().enumerate().all(|(at, x)| *x == if at < sums { 0.0 } else { 7.0 }));
        }
    }
}

/// A session that lends other parameters keeps no copy of what is widened for a moment.
#[test]
fn widened_strips_are_no_parameters() {
    let (m, n, k) = (20, 40, 30);
    let axes = [(m, Role::M), (n, Role::N), (k, Role::K)].map(|(extent, role)| Axis { extent, role });
    let (data, parameters) = (vec![1.0; m * k], vec![1.0; 5000]);
    let strides = [[k as isize, 0, 1], [0, k as isize, 1], [n as isize, 1, 0]];
    let mut kept = crate::Kept::default();
    for value in [1.0, 2.0, 3.0] {
        let stored = vec![Bf16::near(value); n * k];
        let data = Operand { data: &data[..], base: 0, strides: &strides[0], windows: &[] };
        let stored = Operand { data: &stored[..], base: 0, strides: &strides[1], windows: &[] };
        let work = Stored::<Bf16> { axes: &axes, parameter: Factor::Right, data, stored };
        let mut out = vec![0.0; m * n];
        let output = Output { data: &mut out, base: 0, strides: &strides[2] };
        kept.lend(&parameters, || contract_stored(Isa::best(), 1, Algorithm::ALL, &work, &mut [output], &Plain));
        assert!(out.iter().all(|x| *x == value * k as f32));
    }
}
