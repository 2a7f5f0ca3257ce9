//! Contractions of f64 against a naive loop, on every instruction set, on one to three threads.

use crate::contract::tests::{Case, Owned, Random, indices, plain_case};
use crate::contract::*;
use crate::{Isa, Simd};

/// The same operand with numbers that only an f64 holds.
fn widened(of: &Owned) -> Owned<f64> {
    let data = of.data.iter().enumerate().map(|(at, x)| f64::from(*x) * (1.0 + (at % 97) as f64 * 1e-11)).collect();
    Owned { data, base: of.base, strides: of.strides.clone(), windows: of.windows.clone() }
}

fn wide(case: &Case) -> Case<f64> {
    Case {
        axes: case.axes.clone(),
        lhs: widened(&case.lhs),
        rhs: widened(&case.rhs),
        strides: case.strides.clone(),
        base: case.base,
        words: case.words,
    }
}

/// The sum and the row, and the doubled sum to a second output.
struct Both;

impl Epilogue<f64> for Both {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, tile: &mut Tile<'_, f64>) {
        for r in 0..tile.area().rows {
            let row = s.splat_d((tile.area().m + r) as f64 + tile.batch().iter().sum::<usize>() as f64);
            crate::sweep!(S, j, at, tile.area().cols, {
                let sum = tile.load_d(s, r, j, at);
                tile.store_d(s, 0, r, j, at, s.add_d(sum, row));
                tile.store_d(s, 1, r, j, at, s.add_d(sum, sum));
            });
        }
    }
}

/// What a case gives, where something is written.
struct Want {
    sums: Vec<f64>,
    /// The sums of the magnitudes of the products.
    sizes: Vec<f64>,
    /// What `Both` adds.
    rows: Vec<f64>,
    inside: Vec<bool>,
    /// Products of a sum.
    depth: f64,
}

fn want(case: &Case<f64>) -> Want {
    let (zeros, of) = (vec![0.0; case.words], |role: Role| case.axes.iter().filter(move |axis| axis.1 == role));
    let depth = of(Role::K).map(|axis| axis.0).product::<usize>() as f64;
    let mut want =
        Want { sums: zeros.clone(), sizes: zeros.clone(), rows: zeros, inside: vec![false; case.words], depth };
    for index in indices(&case.axes) {
        let at = case.base + case.strides.iter().zip(&index).map(|(s, i)| s * *i as isize).sum::<isize>();
        let (at, product) = (at as usize, case.lhs.element(&index) * case.rhs.element(&index));
        want.sums[at] += product;
        want.sizes[at] += product.abs();
        want.inside[at] = true;
        let along = |role: Role| index.iter().zip(&case.axes).filter(move |(_, axis)| axis.1 == role);
        let row = along(Role::M).fold(0, |at, (index, axis)| at * axis.0 + index);
        want.rows[at] = (row + along(Role::Batch).map(|(index, _)| index).sum::<usize>()) as f64;
    }
    want
}

fn output<'a>(case: &'a Case<f64>, data: &'a mut [f64]) -> Output<'a, f64> {
    Output { data, base: case.base, strides: &case.strides }
}

/// Checks a case of f32 as one of f64.
pub(in crate::contract) fn check(case: &Case) {
    let case = &wide(case);
    let (axes, left, right) = (case.axes(), case.lhs.view(), case.rhs.view());
    let work = Contract { axes: &axes, lhs: case.lhs.operand(&left), rhs: case.rhs.operand(&right) };
    let want = want(case);
    #[cfg(feature = "deterministic")]
    check_bits(case, &work);
    for isa in Isa::available() {
        let mut of_one_thread = Vec::new();
        for threads in [1, 2, 3] {
            let mut plain = vec![7.0; case.words];
            contract_wide(isa, threads, &work, &mut [output(case, &mut plain)], &Plain);
            let (mut first, mut second) = (vec![7.0; case.words], vec![7.0; case.words]);
            contract_wide(isa, threads, &work, &mut [output(case, &mut first), output(case, &mut second)], &Both);
            for at in 0..case.words {
                let all = [plain[at], first[at], second[at]];
                if !want.inside[at] {
                    assert_eq!(all, [7.0; 3], "{isa:?}: element {at} is between the outputs");
                    continue;
                }
                let bound = (want.depth + 2.0) * 2f64.powi(-52) * want.sizes[at] + f64::MIN_POSITIVE;
                let near = (plain[at] - want.sums[at]).abs() <= bound;
                let sum = want.sums[at];
                assert!(near, "{isa:?}, {threads} threads, {at}: {} not {sum}; {:?}", plain[at], case.axes);
                let [row, twice] = [plain[at] + want.rows[at], 2.0 * plain[at]];
                assert_eq!(all, [plain[at], row, twice], "{isa:?}, {threads} threads, {at} of {:?}", case.axes);
            }
            if threads == 1 {
                of_one_thread = plain;
            } else {
                assert_eq!(of_one_thread, plain, "{isa:?}: {threads} threads sum differently");
            }
        }
    }
}

/// All sets of deterministic models give the same bits.
#[cfg(feature = "deterministic")]
fn check_bits(case: &Case<f64>, work: &Contract<'_, f64>) {
    let numbers = |isa: Isa, threads| {
        let mut out = vec![7.0; case.words];
        contract_wide(crate::Deterministic::from(isa), threads, work, &mut [output(case, &mut out)], &Plain);
        out.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let first = numbers(Isa::best(), 1);
    for isa in Isa::available() {
        assert!([1, 3].iter().all(|threads| numbers(isa, *threads) == first), "{isa:?}: {:?}", case.axes);
    }
}

/// A product of two matrices, row-major unless `transposed`, whose operands are longer than a block, a group or a job.
fn product(random: &mut Random, [m, n, k]: [usize; 3], transposed: [bool; 2]) -> Case {
    let mut case = plain_case(random, vec![(m, Role::M), (n, Role::N), (k, Role::K)]);
    let [left, right] = transposed;
    (case.lhs.base, case.rhs.base, case.base, case.words) = (0, 0, 0, m * n);
    (case.lhs.data, case.rhs.data) = (random.vector(m * k), random.vector(k * n));
    case.lhs.strides = if left { vec![1, 0, m as isize] } else { vec![k as isize, 0, 1] };
    case.rhs.strides = if right { vec![0, k as isize, 1] } else { vec![0, 1, n as isize] };
    case.strides = vec![n as isize, 1, 0];
    case
}

#[test]
fn operands_of_many_blocks_and_jobs() {
    let mut random = Random(31);
    for (at, shape) in
        [[530, 40, 600], [13, 2200, 30], [70, 4200, 3], [520, 33, 300], [300, 150, 259]].into_iter().enumerate()
    {
        check(&product(&mut random, shape, [at % 2 == 1, at % 3 == 1]));
    }
}

#[test]
fn matrices_times_vectors() {
    let mut random = Random(32);
    for size in [1, 5, 64, 130, 1100] {
        for (shape, transposed) in
            [([1, size, 77], [false; 2]), ([1, size, 77], [false, true]), ([size, 1, 77], [true; 2])]
        {
            check(&product(&mut random, shape, transposed));
            check(&product(&mut random, [shape[0], shape[1], 601], [shape[0] != 1, false]));
        }
        check(&plain_case(&mut random, vec![(3, Role::Batch), (size, Role::N), (43, Role::K)]));
        check(&plain_case(&mut random, vec![(2, Role::Batch), (size, Role::M), (43, Role::K)]));
    }
}

#[test]
fn sums_of_nothing_go_through_the_epilogue() {
    let axes = [(3, Role::M), (20, Role::N), (0, Role::K)].map(|(extent, role)| Axis { extent, role });
    let empty = |strides| Operand { data: &[], base: 0, strides, windows: &[] };
    let work = Contract { axes: &axes, lhs: empty(&[0, 0, 1]), rhs: empty(&[0, 1, 0]) };
    for isa in Isa::available() {
        let (mut first, mut second) = (vec![7.0; 60], vec![7.0; 60]);
        let outputs = [&mut first, &mut second].map(|data| Output { data, base: 0, strides: &[20, 1, 0] });
        contract_wide(isa, 2, &work, &mut { outputs }, &Both);
        assert!(first.iter().enumerate().all(|(at, x)| *x == (at / 20) as f64) && second.iter().all(|x| *x == 0.0));
    }
}

#[test]
fn what_is_no_number_reaches_only_its_row_and_column() {
    for (shape, batch) in [([40, 70, 300], 1), ([1, 70, 300], 2), ([70, 1, 30], 1), ([7, 5, 3], 3)] {
        let [m, n, k] = shape;
        let axes = [(batch, Role::Batch), (m, Role::M), (n, Role::N), (k, Role::K)];
        let axes = axes.map(|(extent, role)| Axis { extent, role });
        let (mut left, right) = (vec![1.0; batch * m * k], vec![1.0; batch * k * n]);
        left[k / 2] = f64::NAN;
        let strides =
            [[m * k, k, 0, 1], [k * n, 0, 1, n], [m * n, n, 1, 0]].map(|strides| strides.map(usize::cast_signed));
        let operand = |data, strides| Operand { data, base: 0, strides, windows: &[] };
        let work = Contract { axes: &axes, lhs: operand(&left, &strides[0]), rhs: operand(&right, &strides[1]) };
        for isa in Isa::available() {
            let mut out = vec![0.0; batch * m * n];
            contract_wide(isa, 2, &work, &mut [Output { data: &mut out, base: 0, strides: &strides[2] }], &Plain);
            let right = |(at, x): (usize, &f64)| if at < n { x.is_nan() } else { *x == k as f64 };
            assert!(out.iter().enumerate().all(right), "{isa:?} {shape:?}");
        }
    }
}
