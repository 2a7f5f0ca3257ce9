//! Narrow products against loops in f64 over rounded operands, on every unit of every instruction set, on one thread and two.

use super::*;
use crate::contract::Axis;
use crate::contract::{Keeping, Plain};
use crate::{Isa, Kept};

/// A small generator, so that failures repeat.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    fn vector(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() % 20001) as f32 / 10000.0 - 1.0).collect()
    }
}

/// A product of `rows` by `k` numbers with a parameter of `columns` by `k`, in some layout.
struct Case {
    axes: Vec<Axis>,
    narrow: Narrow,
    lhs: (Vec<f32>, Vec<isize>),
    rhs: (Vec<f32>, Vec<isize>),
    out: (usize, Vec<isize>),
}

/// Strides of axes that lie in the order of `order`, outermost first, and the words that they take.
fn layout(axes: &[Axis], order: &[usize]) -> (Vec<isize>, usize) {
    let (mut strides, mut words) = (vec![0; axes.len()], 1);
    for &axis in order.iter().rev() {
        strides[axis] = words as isize;
        words *= axes[axis].extent;
    }
    (strides, words)
}

impl Case {
    fn new(random: &mut Random, narrow: Narrow, [batch, m, n, k]: [usize; 4]) -> Case {
        // K is one axis or two, which may be apart in the operand that is no parameter.
        let cut = if k.is_multiple_of(3) && random.below(2) == 0 { 3 } else { 1 };
        let roles = [(batch, Role::Batch), (m, Role::M), (n, Role::N), (cut, Role::K), (k / cut, Role::K)];
        let axes: Vec<Axis> = roles.iter().map(|&(extent, role)| Axis { extent, role }).collect();
        let mut shuffled = |from: &[usize]| {
            let mut order = from.to_vec();
            if random.below(3) == 0 {
                for at in (1..order.len()).rev() {
                    order.swap(at, random.below(at + 1));
                }
            }
            order
        };
        let (left, right) = match narrow.parameter {
            Factor::Right => (shuffled(&[0, 1, 3, 4]), shuffled(&[2, 3, 4])),
            Factor::Left => (shuffled(&[1, 3, 4]), shuffled(&[0, 2, 3, 4])),
        };
        let out = shuffled(&[0, 1, 2]);
        let ((left, left_words), (right, right_words)) = (layout(&axes, &left), layout(&axes, &right));
        let (out, words) = layout(&axes, &out);
        let (lhs, rhs) = ((random.vector(left_words), left), (random.vector(right_words), right));
        Case { axes, narrow, lhs, rhs, out: (words, out) }
    }

    /// The index on each axis.
    fn index(&self, batch: usize, m: usize, n: usize, k: usize) -> [usize; 5] {
        let inner = self.axes[4].extent.max(1);
        [batch, m, n, k / inner, k % inner]
    }

    fn at(strides: &[isize], index: &[usize]) -> usize {
        strides.iter().zip(index).map(|(stride, index)| *stride as usize * index).sum()
    }

    /// Every sum in f64 of rounded elements, and of their magnitudes.
    fn expected(&self) -> Vec<(usize, f64, f64)> {
        let [batch, m, n] = [0, 1, 2].map(|axis| self.axes[axis].extent);
        let k = self.axes[3].extent * self.axes[4].extent;
        let row = |(data, strides): &(Vec<f32>, Vec<isize>), batch: usize, m: usize, n: usize| {
            let all: Vec<f32> = (0..k).map(|k| data[Case::at(strides, &self.index(batch, m, n, k))]).collect();
            rounded(self.narrow.precision, &all)
        };
        let mut all = vec![];
        for b in 0..batch {
            let lefts: Vec<_> = (0..m).map(|m| row(&self.lhs, b, m, 0)).collect();
            let rights: Vec<_> = (0..n).map(|n| row(&self.rhs, b, 0, n)).collect();
            for (m, left) in lefts.iter().enumerate() {
                for (n, right) in rights.iter().enumerate() {
                    let products = left.iter().zip(right).map(|(a, b)| a * b);
                    let at = Case::at(&self.out.1, &self.index(b, m, n, 0));
                    all.push((at, products.clone().sum(), products.map(f64::abs).sum()));
                }
            }
        }
        all
    }

    fn run(&self, isa: impl Family, threads: usize, unit: Option<Unit>, kept: Option<&mut Steady>) -> Vec<f32> {
        fn operand<'a>((data, strides): &'a (Vec<f32>, Vec<isize>)) -> Operand<'a> {
            Operand { data, base: 0, strides, windows: &[] }
        }
        let contract = Contract { axes: &self.axes, lhs: operand(&self.lhs), rhs: operand(&self.rhs) };
        let mut out = vec![7.0; self.out.0];
        let output = Output { data: &mut out, base: 0, strides: &self.out.1 };
        match unit {
            None => contract_narrow(isa, threads, self.narrow, &contract, &mut [output], &Plain, kept),
            Some(_) => {
                product(&drive::call(isa.set(), threads, None), self.narrow, unit, &contract, &mut [output], kept)
            }
        }
        out
    }

    fn parameters(&self) -> &[f32] {
        match self.narrow.parameter {
            Factor::Left => &self.lhs.0,
            Factor::Right => &self.rhs.0,
        }
    }
}

/// What rounding makes of the elements of a row or of a column, said another way than the code says it.
fn rounded(precision: Precision, all: &[f32]) -> Vec<f64> {
    match precision {
        Precision::Bf16 => all
            .iter()
            .map(|&x| {
                let below = f64::from(f32::from_bits(x.to_bits() & 0xffff_0000));
                let above = f64::from(f32::from_bits((x.to_bits() & 0xffff_0000).wrapping_add(0x1_0000)));
                let (down, up) = ((f64::from(x) - below).abs(), (above - f64::from(x)).abs());
                let is_even = x.to_bits() & 0x1_0000 == 0;
                if down < up || down == up && is_even { below } else { above }
            })
            .collect(),
        Precision::Int8 => {
            let largest = all.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            let factor = 127.0 / largest;
            all.iter().map(|x| f64::from((x * factor).round_ties_even()) * f64::from(largest / 127.0)).collect()
        }
    }
}

const PRECISIONS: [Precision; 2] = [Precision::Bf16, Precision::Int8];

fn check(case: &Case) {
    let expected = case.expected();
    let mut of_bytes: Option<Vec<f32>> = None;
    #[cfg(feature = "deterministic")]
    crate::isa::assert_same_bits(|isa| case.run(isa, 2, None, None), &case.axes);
    for isa in Isa::available() {
        for unit in Unit::available(isa.set(), case.narrow.precision) {
            let own = case.run(isa, 1, Some(unit), None);
            for &(at, sum, size) in &expected {
                let error = (f64::from(own[at]) - sum).abs();
                assert!(error <= 1e-6 * size + 1e-7, "{isa:?} {unit:?}: {} not {sum}; {:?}", own[at], case.axes);
            }
            assert_eq!(own, case.run(isa, 2, Some(unit), None), "{isa:?} {unit:?}: two threads sum differently");
            if case.narrow.precision == Precision::Int8 {
                assert_eq!(
                    of_bytes.get_or_insert_with(|| own.clone()),
                    &own,
                    "{isa:?} {unit:?}: other sums of integers"
                );
            }
        }
        let once = case.run(isa, 1, None, None);
        let mut keeping = Keeping::new(1);
        keeping.forget(0..1);
        for _ in 0..2 {
            assert_eq!(once, case.run(isa, 2, None, keeping.at(0)), "a loop keeps something else");
        }
        let mut kept = Kept::default();
        for _ in 0..2 {
            let again = kept.lend(case.parameters(), || case.run(isa, 2, None, None));
            assert_eq!(once, again, "a session keeps something else");
        }
    }
}

#[test]
fn odd_sizes() {
    const SIZES: [usize; 14] = [1, 2, 3, 5, 7, 15, 16, 17, 31, 33, 63, 65, 127, 130];
    let mut random = Random(1);
    for round in 0..160 {
        let mut size = || SIZES[random.below(SIZES.len())];
        let sizes = [1, size(), size(), size()];
        let batch = if round % 4 == 0 { 1 + random.below(3) } else { 1 };
        let parameter = if round % 3 == 0 { Factor::Left } else { Factor::Right };
        let narrow = Narrow { parameter, precision: PRECISIONS[round % 2] };
        check(&Case::new(&mut random, narrow, [batch, sizes[1], sizes[2], sizes[3]]));
    }
}

#[test]
fn large_sizes() {
    let mut random = Random(2);
    let sizes = [[1, 1, 1030, 517], [1, 3, 784, 1300], [1, 300, 150, 200], [2, 290, 70, 64], [1, 33, 48, 2100]];
    for sizes in sizes {
        for precision in PRECISIONS {
            for parameter in [Factor::Left, Factor::Right] {
                check(&Case::new(&mut random, Narrow { parameter, precision }, sizes));
            }
        }
    }
}

#[test]
fn sums_of_nothing_are_zeros() {
    let mut random = Random(4);
    for precision in PRECISIONS {
        check(&Case::new(&mut random, Narrow { parameter: Factor::Right, precision }, [1, 20, 48, 0]));
    }
}

#[test]
fn what_is_no_number_stays_so() {
    let mut random = Random(3);
    for precision in PRECISIONS {
        for strange in [f32::NAN, f32::INFINITY, f32::from_bits(0x7f80_0001), f32::from_bits(0xffff_ffff)] {
            let narrow = Narrow { parameter: Factor::Right, precision };
            let mut case = Case::new(&mut random, narrow, [1, 20, 40, 35]);
            let at = Case::at(&case.lhs.1, &case.index(0, 3, 0, 5));
            case.lhs.0[at] = strange;
            for isa in Isa::available() {
                for unit in Unit::available(isa.set(), precision) {
                    let out = case.run(isa, 1, Some(unit), None);
                    for (row, column) in (0..20).flat_map(|row| (0..40).map(move |column| (row, column))) {
                        let sum = out[Case::at(&case.out.1, &[0, row, column, 0, 0])];
                        assert_eq!(sum.is_finite(), row != 3, "{isa:?} {unit:?} {strange}: {sum} in row {row}");
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_zeros_and_of_tiny_numbers_are_zeros_in_bytes() {
    let largest = round::magnitude(1e-38);
    assert_eq!(round::scale(largest), (0.0, 0.0));
    assert_eq!(round::scale(0), (0.0, 0.0));
    let (scale, factor) = round::scale(round::magnitude(-2.0));
    assert_eq!((round::byte(-2.0, factor) as u8 as i8, round::byte(1.0, factor) as u8 as i8), (-127, 64));
    assert_eq!(scale, 2.0 / 127.0);
}

#[test]
fn the_longest_sums_of_bytes_are_exact() {
    let k = 1 << 17;
    let axes: Vec<Axis> =
        [(1, Role::M), (16, Role::N), (k, Role::K)].map(|(extent, role)| Axis { extent, role }).to_vec();
    let (left, right) = (vec![1.0; k], vec![-1.0; 16 * k]);
    for isa in Isa::available() {
        for unit in Unit::available(isa.set(), Precision::Int8) {
            let lhs = Operand { data: &left, base: 0, strides: &[0, 0, 1], windows: &[] };
            let rhs = Operand { data: &right, base: 0, strides: &[0, k as isize, 1], windows: &[] };
            let narrow = Narrow { parameter: Factor::Right, precision: Precision::Int8 };
            let mut out = vec![0.0; 16];
            let output = Output { data: &mut out, base: 0, strides: &[16, 1, 0] };
            let contract = Contract { axes: &axes, lhs, rhs };
            product(&drive::call(isa.set(), 1, None), narrow, Some(unit), &contract, &mut [output], None);
            let scale = (1.0f32 / 127.0) * (1.0 / 127.0);
            assert!(out.iter().all(|&x| x == -((127 * 127 * k) as f32) * scale), "{isa:?} {unit:?}: {out:?}");
        }
    }
}
