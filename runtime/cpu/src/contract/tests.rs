//! Contractions against a naive loop in f64, on every instruction set, on one to three threads, with operands that are kept
//! and without. Every case is one of f64 and one of stored operands as well, where there are such.

use super::*;
use crate::{Isa, Kernel, Simd, run};

/// A small generator, so that failures repeat.
pub(super) struct Random(pub(super) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(super) fn vector(&mut self, n: usize) -> Vec<f32> {
        (0..n).map(|_| (self.next() % 2001) as f32 / 1000.0 - 1.0).collect()
    }
}

/// An operand that owns its numbers.
#[derive(Debug, Clone)]
pub(super) struct Owned<T = f32> {
    pub(super) data: Vec<T>,
    pub(super) base: isize,
    pub(super) strides: Vec<isize>,
    pub(super) windows: Vec<(isize, Vec<isize>, usize, usize, isize)>,
}

impl<T: Copy + Into<f64>> Owned<T> {
    pub(super) fn element(&self, index: &[usize]) -> f64 {
        let linear = |base: isize, strides: &[isize]| {
            base + strides.iter().zip(index).map(|(s, i)| s * *i as isize).sum::<isize>()
        };
        let mut at = linear(self.base, &self.strides);
        for (base, strides, divisor, extent, stride) in &self.windows {
            let c = linear(*base, strides);
            if c % *divisor as isize != 0 || c < 0 || c / *divisor as isize >= *extent as isize {
                return 0.0;
            }
            at += c / *divisor as isize * stride;
        }
        self.data[at as usize].into()
    }

    /// The windows as the runtime takes them.
    pub(super) fn view(&self) -> Vec<Window<'_>> {
        let windows = self.windows.iter();
        windows
            .map(|(base, strides, divisor, extent, stride)| Window {
                base: *base,
                strides,
                divisor: *divisor,
                extent: *extent,
                stride: *stride,
            })
            .collect()
    }

    pub(super) fn operand<'a>(&'a self, windows: &'a [Window<'a>]) -> Operand<'a, T> {
        Operand { data: &self.data, base: self.base, strides: &self.strides, windows }
    }
}

/// A whole case; `strides` are the output's.
#[derive(Debug)]
pub(super) struct Case<T = f32> {
    pub(super) axes: Vec<(usize, Role)>,
    pub(super) lhs: Owned<T>,
    pub(super) rhs: Owned<T>,
    pub(super) strides: Vec<isize>,
    pub(super) base: isize,
    pub(super) words: usize,
}

impl<T> Case<T> {
    pub(super) fn axes(&self) -> Vec<Axis> {
        self.axes.iter().map(|&(extent, role)| Axis { extent, role }).collect()
    }
}

pub(super) fn indices(axes: &[(usize, Role)]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..axes.iter().map(|axis| axis.0).product()).map(move |mut rest: usize| {
        let mut index = vec![0; axes.len()];
        for (index, axis) in index.iter_mut().zip(axes).rev() {
            *index = rest % axis.0;
            rest /= axis.0;
        }
        index
    })
}

/// `sum + 0.5 · column`, and the doubled sum to a second output in bits.
pub(super) struct Both;

impl Epilogue for Both {
    #[inline(always)]
    fn apply<S: Simd>(&self, s: S, tile: &mut Tile<'_>) {
        for r in 0..tile.area().rows {
            crate::sweep!(S, j, at, tile.area().cols, {
                let sum = tile.load(s, r, j, at);
                let column = s.add_f(s.f_from_u(s.iota_u()), s.splat_f((tile.area().n + j) as f32));
                let row = s.splat_f((tile.area().m + r) as f32 + tile.batch().iter().sum::<usize>() as f32);
                tile.store(s, 0, r, j, at, s.add_f(s.mul_add_f(column, s.splat_f(0.5), row), sum));
                tile.store_u(s, 1, r, j, at, s.bits_f(s.add_f(sum, sum)));
            });
        }
    }
}

fn check(case: &Case) {
    check_within(case, |size, _| 1e-6 * size + 1e-6);
}

/// Checks a case whose errors are below what `bound` says of the sum of an element's products, without signs, and of the
/// largest such sum.
fn check_within(case: &Case, bound: impl Fn(f64, f64) -> f64) {
    #[cfg(feature = "f64")]
    super::wide::tests::check(case);
    #[cfg(feature = "stored")]
    super::stored::tests::check(case, &bound);
    let mut want = vec![0.0; case.words];
    let mut size = vec![0.0; case.words];
    let mut extra = vec![0.0; case.words];
    let mut inside = vec![false; case.words];
    let merged = |index: &[usize], role: Role| {
        let mut at = 0;
        for (index, axis) in index.iter().zip(&case.axes).filter(|(_, axis)| axis.1 == role) {
            at = at * axis.0 + index;
        }
        at as f64
    };
    for index in indices(&case.axes) {
        let at = (case.base + case.strides.iter().zip(&index).map(|(s, i)| s * *i as isize).sum::<isize>()) as usize;
        let product = case.lhs.element(&index) * case.rhs.element(&index);
        want[at] += product;
        inside[at] = true;
        size[at] += product.abs();
        let batch: usize = index.iter().zip(&case.axes).filter(|(_, axis)| axis.1 == Role::Batch).map(|(i, _)| i).sum();
        extra[at] = 0.5 * merged(&index, Role::N) + merged(&index, Role::M) + batch as f64;
    }
    let largest = size.iter().fold(0.0f64, |most, size| most.max(*size));
    let axes = case.axes();
    let (left, right) = (case.lhs.view(), case.rhs.view());
    let work = Contract { axes: &axes, lhs: case.lhs.operand(&left), rhs: case.rhs.operand(&right) };
    #[cfg(feature = "deterministic")]
    for threads in [1, 3] {
        let numbers = |isa| {
            let mut out = vec![7.0; case.words];
            let output = Output { data: &mut out, base: case.base, strides: &case.strides };
            contract(isa, threads, Algorithm::ALL, &work, &mut [output], &Plain);
            out
        };
        crate::isa::assert_same_bits(numbers, &case.axes);
    }
    for isa in Isa::available() {
        let mut of_one_thread = Vec::new();
        for threads in [1, 2, 3] {
            let mut plain = vec![7.0; case.words];
            let out = Output { data: &mut plain, base: case.base, strides: &case.strides };
            contract(isa, threads, Algorithm::ALL, &work, &mut [out], &Plain);
            let mut keeping = Keeping::new(1);
            keeping.forget(0..1);
            for _ in 0..2 {
                let mut again = vec![7.0; case.words];
                let out = Output { data: &mut again, base: case.base, strides: &case.strides };
                contract_kept(isa, threads, Algorithm::ALL, &work, &mut [out], &Plain, keeping.at(0));
                assert_eq!(again, plain, "an operand that is kept changes nothing");
            }
            for parameters in [&case.lhs.data, &case.rhs.data] {
                let mut kept = crate::Kept::default();
                for _ in 0..2 {
                    let mut again = vec![7.0; case.words];
                    let out = Output { data: &mut again, base: case.base, strides: &case.strides };
                    kept.lend(parameters, || contract(isa, threads, Algorithm::ALL, &work, &mut [out], &Plain));
                    assert_eq!(again, plain, "parameters that a session keeps change nothing");
                }
            }
            let (mut first, mut second) = (vec![7.0; case.words], vec![7.0; case.words]);
            let outs = &mut [
                Output { data: &mut first, base: case.base, strides: &case.strides },
                Output { data: &mut second, base: case.base, strides: &case.strides },
            ];
            contract(isa, threads, Algorithm::ALL, &work, outs, &Both);
            for at in 0..case.words {
                if !inside[at] {
                    assert_eq!(
                        [plain[at], first[at], second[at]],
                        [7.0; 3],
                        "{isa:?}: word {at} is between the outputs"
                    );
                    continue;
                }
                let bound = bound(size[at], largest);
                let error = (f64::from(plain[at]) - want[at]).abs();
                assert!(
                    error <= bound,
                    "{isa:?}, {threads} threads, word {at}: {} not {}; {:?}",
                    plain[at],
                    want[at],
                    case.axes
                );
                assert_eq!(second[at], 2.0 * plain[at], "{isa:?} second output of {:?}", case.axes);
                let error = (f64::from(first[at]) - want[at] - extra[at]).abs();
                assert!(
                    error <= bound + 1e-4 + 1e-6 * extra[at],
                    "{isa:?}, {threads} threads, word {at}: {} not {}",
                    first[at],
                    want[at] + extra[at]
                );
            }
            if threads == 1 {
                of_one_thread = plain;
            } else {
                assert_eq!(of_one_thread, plain, "{isa:?}: {threads} threads sum differently");
            }
        }
    }
}

const SIZES: [usize; 11] = [1, 2, 3, 5, 7, 13, 17, 31, 65, 127, 130];

/// Lays `axes` out in a random order, some of them backwards, with a gap now and then.
fn layout(random: &mut Random, axes: &[(usize, Role)], without: &[Role]) -> (Vec<isize>, isize, usize) {
    let mut order: Vec<usize> = (0..axes.len()).filter(|axis| !without.contains(&axes[*axis].1)).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at + 1));
    }
    let mut strides = vec![0; axes.len()];
    let (mut base, mut stride) = (0, if random.below(5) == 0 { 2 } else { 1 });
    for axis in order {
        let backwards = random.below(8) == 0;
        strides[axis] = if backwards { -stride } else { stride };
        if backwards {
            base += stride * (axes[axis].0 as isize - 1);
        }
        stride = stride * axes[axis].0 as isize + if random.below(8) == 0 { 3 } else { 0 };
    }
    (strides, base, stride as usize + 1)
}

pub(super) fn plain_case(random: &mut Random, axes: Vec<(usize, Role)>) -> Case {
    let mut operand = |without: Role| {
        let (strides, base, words) = layout(random, &axes, &[without]);
        Owned { data: random.vector(words), base, strides, windows: Vec::new() }
    };
    let (lhs, rhs) = (operand(Role::N), operand(Role::M));
    // M axes merge, and N axes merge: they are laid out as two axes.
    let total = |role: Role| axes.iter().filter(|axis| axis.1 == role).map(|axis| axis.0).product::<usize>();
    let mut groups: Vec<(usize, Role)> = axes.iter().filter(|axis| axis.1 == Role::Batch).copied().collect();
    groups.extend([(total(Role::M), Role::M), (total(Role::N), Role::N)]);
    let (outer, base, words) = layout(random, &groups, &[]);
    let batches = groups.len() - 2;
    let mut strides = vec![0; axes.len()];
    let mut inner = [outer[batches], outer[batches + 1]];
    let mut batch = batches;
    for (at, axis) in axes.iter().enumerate().rev() {
        match axis.1 {
            Role::Batch => {
                batch -= 1;
                strides[at] = outer[batch];
            }
            Role::M => {
                strides[at] = inner[0];
                inner[0] *= axis.0 as isize;
            }
            Role::N => {
                strides[at] = inner[1];
                inner[1] *= axis.0 as isize;
            }
            Role::K => {}
        }
    }
    Case { axes, lhs, rhs, strides, base, words }
}

#[test]
fn matrix_products_in_every_layout() {
    let mut random = Random(1);
    for (m_rows, n_rows, k_rows) in
        [([0, 1], [1, 0], [0, 1]), ([1, 0], [0, 1], [0, 1]), ([0, 1], [0, 1], [1, 0]), ([1, 0], [1, 0], [1, 0])]
    {
        for _ in 0..if cfg!(debug_assertions) { 6 } else { 60 } {
            let (m, n, k) = (random.pick(&SIZES), random.pick(&SIZES), random.pick(&SIZES));
            let axes = vec![(m, Role::M), (n, Role::N), (k, Role::K)];
            let strides = |order: [usize; 2], rows: usize, cols: usize| {
                if order == [0, 1] { [cols as isize, 1] } else { [1, rows as isize] }
            };
            let (l, r, o) = (strides(m_rows, m, k), strides(n_rows, k, n), strides(k_rows, m, n));
            check(&Case {
                lhs: Owned { data: random.vector(m * k), base: 0, strides: vec![l[0], 0, l[1]], windows: vec![] },
                rhs: Owned { data: random.vector(k * n), base: 0, strides: vec![0, r[1], r[0]], windows: vec![] },
                strides: vec![o[0], o[1], 0],
                base: 0,
                words: m * n,
                axes,
            });
        }
    }
}

#[test]
fn every_mix_of_roles_and_strides() {
    let mut random = Random(2);
    for _ in 0..if cfg!(debug_assertions) { 20 } else { 400 } {
        let mut axes = Vec::new();
        let mut size = 1;
        for _ in 0..random.below(7) {
            let extent = random.pick(&SIZES);
            if size * extent <= 60_000 {
                size *= extent;
                axes.push((extent, random.pick(&[Role::Batch, Role::M, Role::N, Role::K])));
            }
        }
        let case = plain_case(&mut random, axes);
        check(&case);
    }
}

/// Windows that any axes of an operand move, forwards and backwards, several of them the same one.
fn windowed(random: &mut Random, axes: &[(usize, Role)], without: Role) -> Owned {
    let (mut strides, mut base, mut words) = layout(random, axes, &[without]);
    let own = |axis: usize| axes[axis].1 != without;
    let mut windows = Vec::new();
    for _ in 0..1 + random.below(3) {
        let moved: Vec<isize> = (0..axes.len())
            .map(|axis| if own(axis) && random.below(2) == 0 { random.pick(&[-2, -1, 1, 1, 2, 3]) } else { 0 })
            .collect();
        // An axis that moves a window mostly moves nothing else.
        for axis in (0..axes.len()).filter(|axis| moved[*axis] != 0 && random.below(4) > 0) {
            base -= if strides[axis] < 0 { -strides[axis] * (axes[axis].0 as isize - 1) } else { 0 };
            strides[axis] = 0;
        }
        let (extent, stride) = (1 + random.below(20), if windows.is_empty() { 1 } else { words as isize });
        windows.push((random.pick(&[-4isize, -1, 0, 3, 9]), moved, random.pick(&[1, 1, 1, 2, 3]), extent, stride));
        words += (extent - 1) * stride as usize;
    }
    Owned { data: random.vector(words), base, strides, windows }
}

#[test]
fn windows_over_any_axes_of_either_operand() {
    let mut random = Random(14);
    for _ in 0..if cfg!(debug_assertions) { 40 } else { 600 } {
        let mut axes = Vec::new();
        let mut size = 1;
        for _ in 0..2 + random.below(6) {
            let extent = random.pick(&[1, 2, 3, 5, 8, 17, 37]);
            if size * extent <= 30_000 {
                size *= extent;
                axes.push((extent, random.pick(&[Role::Batch, Role::M, Role::N, Role::N, Role::K, Role::K])));
            }
        }
        let mut case = plain_case(&mut random, axes);
        if random.below(3) > 0 {
            case.rhs = windowed(&mut random, &case.axes, Role::M);
        }
        if random.below(3) == 0 {
            case.lhs = windowed(&mut random, &case.axes, Role::N);
        }
        check(&case);
    }
}

#[test]
fn operands_whose_elements_are_read_at_several_indices() {
    let mut random = Random(15);
    for _ in 0..if cfg!(debug_assertions) { 20 } else { 300 } {
        let (m, n, k) = (random.pick(&SIZES), random.pick(&SIZES), random.pick(&SIZES));
        let axes = vec![(random.pick(&[1, 3]), Role::Batch), (m, Role::M), (n, Role::N), (k, Role::K)];
        let mut case = plain_case(&mut random, axes);
        for (operand, own) in [(&mut case.lhs, [0, 1, 3]), (&mut case.rhs, [0, 2, 3])] {
            // A broadcast, an element for each sum of two indices, or both.
            let [a, b] = [random.pick(&own), random.pick(&own)];
            match random.below(3) {
                0 if operand.strides[a] > 0 => operand.strides[a] = 0,
                1 if operand.strides[a] > 0 && operand.strides[b] > 0 => {
                    operand.strides[a] = operand.strides[a].min(operand.strides[b]);
                }
                _ => {}
            }
        }
        check(&case);
    }
}

/// Columns that end in the middle of a vector, and of a panel, of an operand that is read where it lies.
#[test]
fn few_rows_by_any_number_of_columns() {
    let mut random = Random(16);
    for _ in 0..if cfg!(debug_assertions) { 20 } else { 200 } {
        let (m, n, k) = (1 + random.below(13), 1 + random.below(300), random.pick(&[1, 7, 64, 90, 600]));
        check(&Case {
            lhs: Owned { data: random.vector(m * k), base: 0, strides: vec![k as isize, 0, 1], windows: vec![] },
            rhs: Owned { data: random.vector(k * n), base: 0, strides: vec![0, 1, n as isize], windows: vec![] },
            strides: vec![n as isize, 1, 0],
            base: 0,
            words: m * n,
            axes: vec![(m, Role::M), (n, Role::N), (k, Role::K)],
        });
    }
}

#[test]
fn neighbouring_rows_that_lie_far_apart_from_k_to_k() {
    let mut random = Random(9);
    for (m, n, k) in
        [(64, 64, 30), (131, 70, 90), (65, 97, 530)].into_iter().take(if cfg!(debug_assertions) { 2 } else { 3 })
    {
        check(&Case {
            lhs: Owned { data: random.vector(k * 333 + m), base: 0, strides: vec![1, 0, 333], windows: vec![] },
            rhs: Owned { data: random.vector(k * n), base: 0, strides: vec![0, 1, n as isize], windows: vec![] },
            strides: vec![n as isize, 1, 0],
            base: 0,
            words: m * n,
            axes: vec![(m, Role::M), (n, Role::N), (k, Role::K)],
        });
    }
}

#[test]
fn long_sums_of_small_tiles() {
    let mut random = Random(3);
    for (m, n, k) in [
        (3, 2, 5000),
        (1, 1, 10_001),
        (17, 33, 1537),
        (27, 203, 601),
        (30, 9, 2049),
        (64, 40, 700),
        (1, 130, 1025),
        (600, 3, 513),
    ]
    .into_iter()
    .take(if cfg!(debug_assertions) { 4 } else { 8 })
    {
        for _ in 0..2 {
            check(&plain_case(&mut random, vec![(m, Role::M), (n, Role::N), (k, Role::K)]));
            check(&plain_case(&mut random, vec![(k / 100, Role::K), (m, Role::M), (100, Role::K), (n, Role::N)]));
        }
    }
}

#[test]
fn empty_axes_give_zeros_or_nothing() {
    let mut random = Random(4);
    for zero in [Role::Batch, Role::M, Role::N, Role::K] {
        let axes: Vec<(usize, Role)> = [(2, Role::Batch), (5, Role::M), (6, Role::N), (4, Role::K), (3, Role::K)]
            .into_iter()
            .map(|(extent, role)| (if role == zero { 0 } else { extent }, role))
            .collect();
        let case = plain_case(&mut random, axes);
        let outputs = if zero == Role::K { case.words - 1 } else { 0 };
        let axes = case.axes();
        let work = Contract {
            axes: &axes,
            lhs: Operand { data: &[], base: 0, strides: &case.lhs.strides, windows: &[] },
            rhs: Operand { data: &[], base: 0, strides: &case.rhs.strides, windows: &[] },
        };
        for isa in Isa::available() {
            let mut out = vec![7.0; case.words];
            contract(
                isa,
                2,
                Algorithm::ALL,
                &work,
                &mut [Output { data: &mut out, base: case.base, strides: &case.strides }],
                &Plain,
            );
            assert!(out.iter().filter(|word| **word == 0.0).count() >= outputs / 3, "{zero:?}");
            assert!(zero == Role::K || out.iter().all(|word| *word == 7.0), "{zero:?}");
        }
    }
}

/// The numbers of a 2-D convolution; `[height, width]` throughout.
#[derive(Clone, Copy, Debug)]
struct Convolution {
    batch: usize,
    channels: [usize; 2],
    image: [usize; 2],
    kernel: [usize; 2],
    stride: isize,
    padding: isize,
    dilation: isize,
}

impl Convolution {
    fn fits(&self) -> bool {
        let reach = |dim: usize| self.dilation as usize * (self.kernel[dim] - 1) + 1;
        (0..2).all(|dim| reach(dim) <= self.image[dim] + 2 * self.padding as usize)
    }

    fn out(&self, dim: usize) -> usize {
        let reach = self.dilation as usize * (self.kernel[dim] - 1) + 1;
        (self.image[dim] + 2 * self.padding as usize - reach) / self.stride as usize + 1
    }

    /// out[b, o, y, x] = Σ weight[o, c, i, j] · image[b, c, y·stride + i·dilation - padding, …].
    fn forward(&self, random: &mut Random) -> Case {
        let ([ci, co], [h, w], [kh, kw], (oh, ow)) =
            (self.channels, self.image, self.kernel, (self.out(0), self.out(1)));
        let signed = |n: usize| n as isize;
        Case {
            axes: vec![
                (self.batch, Role::Batch),
                (co, Role::M),
                (oh, Role::N),
                (ow, Role::N),
                (ci, Role::K),
                (kh, Role::K),
                (kw, Role::K),
            ],
            lhs: Owned {
                data: random.vector(co * ci * kh * kw),
                base: 0,
                strides: vec![0, signed(ci * kh * kw), 0, 0, signed(kh * kw), signed(kw), 1],
                windows: vec![],
            },
            rhs: Owned {
                data: random.vector(self.batch * ci * h * w),
                base: 0,
                strides: vec![signed(ci * h * w), 0, 0, 0, signed(h * w), 0, 0],
                windows: vec![
                    (-self.padding, vec![0, 0, self.stride, 0, 0, self.dilation, 0], 1, h, signed(w)),
                    (-self.padding, vec![0, 0, 0, self.stride, 0, 0, self.dilation], 1, w, 1),
                ],
            },
            strides: vec![signed(co * oh * ow), signed(oh * ow), signed(ow), 1, 0, 0, 0],
            base: 0,
            words: self.batch * co * oh * ow,
        }
    }

    /// image'[b, c, y, x] = Σ weight[o, c, i, j] · out'[b, o, (y + padding - i·dilation) / stride, …].
    fn input_gradient(&self, random: &mut Random) -> Case {
        let ([ci, co], [h, w], [kh, kw], (oh, ow)) =
            (self.channels, self.image, self.kernel, (self.out(0), self.out(1)));
        let signed = |n: usize| n as isize;
        let divisor = self.stride as usize;
        Case {
            axes: vec![
                (self.batch, Role::Batch),
                (ci, Role::M),
                (h, Role::N),
                (w, Role::N),
                (co, Role::K),
                (kh, Role::K),
                (kw, Role::K),
            ],
            lhs: Owned {
                data: random.vector(co * ci * kh * kw),
                base: 0,
                strides: vec![0, signed(kh * kw), 0, 0, signed(ci * kh * kw), signed(kw), 1],
                windows: vec![],
            },
            rhs: Owned {
                data: random.vector(self.batch * co * oh * ow),
                base: 0,
                strides: vec![signed(co * oh * ow), 0, 0, 0, signed(oh * ow), 0, 0],
                windows: vec![
                    (self.padding, vec![0, 0, 1, 0, 0, -self.dilation, 0], divisor, oh, signed(ow)),
                    (self.padding, vec![0, 0, 0, 1, 0, 0, -self.dilation], divisor, ow, 1),
                ],
            },
            strides: vec![signed(ci * h * w), signed(h * w), signed(w), 1, 0, 0, 0],
            base: 0,
            words: self.batch * ci * h * w,
        }
    }

    /// The same with the taps in the other order.
    fn input_gradient_of_flipped_filters(&self, random: &mut Random) -> Case {
        let mut case = self.input_gradient(random);
        for (kernel, (axis, window)) in self.kernel.iter().zip([(5, 0), (6, 1)]) {
            let last = *kernel as isize - 1;
            let (base, strides, ..) = &mut case.rhs.windows[window];
            *base += last * strides[axis];
            strides[axis] = -strides[axis];
            case.lhs.base += last * case.lhs.strides[axis];
            case.lhs.strides[axis] = -case.lhs.strides[axis];
        }
        case
    }

    /// weight'[o, c, i, j] = Σ out'[b, o, y, x] · image[b, c, y·stride + i·dilation - padding, …].
    fn weight_gradient(&self, random: &mut Random) -> Case {
        let ([ci, co], [h, w], [kh, kw], (oh, ow)) =
            (self.channels, self.image, self.kernel, (self.out(0), self.out(1)));
        let signed = |n: usize| n as isize;
        Case {
            axes: vec![
                (co, Role::M),
                (ci, Role::N),
                (kh, Role::N),
                (kw, Role::N),
                (self.batch, Role::K),
                (oh, Role::K),
                (ow, Role::K),
            ],
            lhs: Owned {
                data: random.vector(self.batch * co * oh * ow),
                base: 0,
                strides: vec![signed(oh * ow), 0, 0, 0, signed(co * oh * ow), signed(ow), 1],
                windows: vec![],
            },
            rhs: Owned {
                data: random.vector(self.batch * ci * h * w),
                base: 0,
                strides: vec![0, signed(h * w), 0, 0, signed(ci * h * w), 0, 0],
                windows: vec![
                    (-self.padding, vec![0, 0, self.dilation, 0, 0, self.stride, 0], 1, h, signed(w)),
                    (-self.padding, vec![0, 0, 0, self.dilation, 0, 0, self.stride], 1, w, 1),
                ],
            },
            strides: vec![signed(ci * kh * kw), signed(kh * kw), signed(kw), 1, 0, 0, 0],
            base: 0,
            words: co * ci * kh * kw,
        }
    }
}

#[test]
fn convolutions_and_their_gradients() {
    let mut random = Random(5);
    for round in 0..if cfg!(debug_assertions) { 12 } else { 150 } {
        let c = Convolution {
            batch: random.pick(&[1, 2, 3]),
            channels: [random.pick(&[1, 2, 3, 5]), random.pick(&[1, 3, 7, 16])],
            image: [random.pick(&[5, 6, 7, 13]), random.pick(&[5, 7, 8, 17, 37, 71])],
            kernel: [random.pick(&[1, 2, 3, 5]), random.pick(&[1, 2, 3, 5])],
            stride: random.pick(&[1, 1, 2, 3]),
            padding: random.pick(&[0, 1, 2, 4]),
            dilation: random.pick(&[1, 1, 1, 2]),
        };
        if !c.fits() {
            continue;
        }
        println!("{round}: {c:?}");
        check(&c.forward(&mut random));
        check(&c.input_gradient(&mut random));
        check(&c.input_gradient_of_flipped_filters(&mut random));
        check(&c.weight_gradient(&mut random));
    }
}

/// A convolution as one of `groups` groups, each of which has filters and channels of its own.
fn grouped(mut case: Case, groups: usize, random: &mut Random) -> Case {
    let [filters, image, words] = [case.lhs.data.len(), case.rhs.data.len(), case.words];
    let batch = case.axes[0].0;
    (case.lhs.data, case.rhs.data) = (random.vector(filters * groups), random.vector(image * groups));
    case.axes.insert(1, (groups, Role::Batch));
    case.lhs.strides.insert(1, filters as isize);
    for (strides, of_batch) in [(&mut case.rhs.strides, image / batch), (&mut case.strides, words / batch)] {
        strides[0] *= groups as isize;
        strides.insert(1, of_batch as isize);
    }
    case.rhs.windows.iter_mut().for_each(|window| window.1.insert(1, 0));
    case.words *= groups;
    case
}

#[test]
fn grouped_convolutions_and_their_gradients() {
    let mut random = Random(23);
    for round in 0..if cfg!(debug_assertions) { 12 } else { 150 } {
        let c = Convolution {
            batch: random.pick(&[1, 2, 3]),
            channels: [random.pick(&[1, 2, 3, 70]), random.pick(&[1, 3, 7, 16])],
            image: [random.pick(&[5, 6, 7, 13]), random.pick(&[5, 7, 8, 17, 37])],
            kernel: [random.pick(&[1, 2, 3]), random.pick(&[1, 2, 3])],
            stride: random.pick(&[1, 1, 2, 3]),
            padding: random.pick(&[0, 1, 2, 4]),
            dilation: random.pick(&[1, 1, 2, 3]),
        };
        let groups = random.pick(&[2, 3, 5]);
        if !c.fits() {
            continue;
        }
        println!("{round}: {groups} groups of {c:?}");
        let cases =
            [c.forward(&mut random), c.input_gradient(&mut random), c.input_gradient_of_flipped_filters(&mut random)];
        for mut case in cases {
            if random.below(2) == 1 {
                case.rhs.windows.reverse();
            }
            check(&grouped(case, groups, &mut random));
        }
    }
}

/// Filters of each channel's own: what was summed over channels, or a row for each, is another batch index.
#[test]
fn depthwise_convolutions_and_their_gradients() {
    let mut random = Random(21);
    for round in 0..if cfg!(debug_assertions) { 16 } else { 200 } {
        let wide = round % 8 == 7;
        let c = Convolution {
            batch: random.pick(&[1, 2, 3]),
            channels: [random.pick(&[2, 3, 5]), random.pick(&[1, 1, 2, 3])],
            image: if wide { [90, 101] } else { [random.pick(&[1, 5, 7, 14]), random.pick(&[5, 7, 8, 14, 17, 56])] },
            kernel: [random.pick(&[1, 3, 5]), random.pick(&[1, 2, 3, 5, 7])],
            stride: random.pick(&[1, 1, 2, 3]),
            padding: random.pick(&[0, 1, 2, 4]),
            dilation: random.pick(&[1, 1, 1, 2]),
        };
        if !c.fits() {
            continue;
        }
        println!("{round}: {c:?}");
        let [channels, multiplier] = c.channels;
        check(&c.by_planes(c.forward(&mut random), c.out(0) * c.out(1)));
        let swapped = Convolution { channels: [multiplier, channels], ..c };
        let image = swapped.image[0] * swapped.image[1];
        check(&c.by_planes(swapped.input_gradient(&mut random), image));
        check(&c.by_planes(swapped.input_gradient_of_flipped_filters(&mut random), image));
        // Each channel of the image goes with one of the gradient.
        let mut case = Convolution { channels: [1, channels], ..c }.weight_gradient(&mut random);
        let image = c.image[0] * c.image[1];
        case.axes[0].1 = Role::Batch;
        case.rhs.data = random.vector(c.batch * channels * image);
        case.rhs.strides[0] = image as isize;
        case.rhs.strides[4] = (channels * image) as isize;
        check(&case);
    }
}

impl Convolution {
    /// A case of this convolution whose channels are planes of `words` words, each with filters of its own.
    fn by_planes(&self, mut case: Case, words: usize) -> Case {
        let [channels, multiplier] = self.channels;
        case.axes[4].1 = Role::Batch;
        case.strides[4] = (multiplier * words) as isize;
        case.strides[0] = (channels * multiplier * words) as isize;
        case.words = self.batch * channels * multiplier * words;
        case
    }
}

/// Planes of at least as many rows as are summed at a time, and filters of several heights, which move by one or by two: rows and
/// columns are left over.
#[test]
fn depthwise_filters_of_several_rows_at_a_time() {
    let mut random = Random(23);
    for round in 0..if cfg!(debug_assertions) { 12 } else { 120 } {
        let c = Convolution {
            batch: random.pick(&[1, 2]),
            channels: [random.pick(&[1, 3]), random.pick(&[1, 2])],
            image: [random.pick(&[15, 19, 26, 33]), random.pick(&[7, 14, 15, 29, 40])],
            kernel: [random.pick(&[2, 3, 4, 5, 7]), random.pick(&[1, 2, 3, 5, 7])],
            stride: 1 + round % 2,
            padding: random.pick(&[0, 1, 2, 3]),
            dilation: 1,
        };
        println!("{round}: {c:?}");
        check(&c.by_planes(c.forward(&mut random), c.out(0) * c.out(1)));
    }
}

/// Filters of three rows that move by two, at all edges of planes of even and odd sizes, narrower than a vector and wider.
#[test]
fn depthwise_filters_of_three_rows_that_move_by_two() {
    let mut random = Random(31);
    for round in 0..if cfg!(debug_assertions) { 16 } else { 200 } {
        let c = Convolution {
            batch: random.pick(&[1, 2]),
            channels: [random.pick(&[1, 2, 5]), random.pick(&[1, 2])],
            image: [random.pick(&[13, 14, 15, 28, 33, 57]), random.pick(&[5, 6, 14, 15, 31, 33, 66, 70])],
            kernel: [3, random.pick(&[1, 2, 3, 4, 5])],
            stride: 2,
            padding: random.pick(&[1, 1, 2, 4]),
            dilation: 1,
        };
        println!("{round}: {c:?}");
        check(&c.by_planes(c.forward(&mut random), c.out(0) * c.out(1)));
    }
}

/// Planes so large that their rows are shared among threads, which end between blocks of rows; padding at two edges, and at one.
#[test]
fn rows_of_large_planes_are_shared() {
    let mut random = Random(41);
    for (channels, width) in [(3, 3), (5, 3), (3, 4)] {
        let (image, stride, padding, dilation) = ([150, 200], 2, 1, 1);
        let c = Convolution { batch: 1, channels: [channels, 1], image, kernel: [3, width], stride, padding, dilation };
        check(&c.by_planes(c.forward(&mut random), c.out(0) * c.out(1)));
    }
}

/// As many planes as a vector has lanes, and some that are left over, of all widths.
#[test]
fn depthwise_filters_with_channels_in_the_lanes() {
    let mut random = Random(29);
    for round in 0..if cfg!(debug_assertions) { 12 } else { 120 } {
        let c = Convolution {
            batch: random.pick(&[1, 2, 3]),
            channels: [random.pick(&[8, 9, 16, 21, 40]), 1],
            image: [random.pick(&[3, 7, 14, 19]), random.pick(&[7, 8, 14, 15, 17, 33])],
            kernel: [random.pick(&[2, 3, 5]), random.pick(&[2, 3, 4, 5])],
            stride: 1 + round % 2,
            padding: random.pick(&[1, 2, 3, 5]),
            dilation: random.pick(&[1, 1, 2]),
        };
        if !c.fits() {
            continue;
        }
        println!("{round}: {c:?}");
        check(&c.by_planes(c.forward(&mut random), c.out(0) * c.out(1)));
    }
}

/// Images so large that strips of their rows are copied, and not the whole.
#[test]
fn strips_of_large_images() {
    let mut random = Random(37);
    for (image, stride, kernel, padding) in [([150, 151], 2, [3, 3], 1), ([190, 140], 1, [5, 2], 2)] {
        let (channels, batch) = ([2, 3], 1);
        let c = Convolution { batch, channels, image, kernel, stride, padding, dilation: 1 };
        check(&c.forward(&mut random));
    }
}

/// A few columns, which leave much of their last vector empty, and a left operand that a session keeps: with an epilogue, too,
/// nothing is other than without.
#[test]
fn columns_that_change_places_with_rows() {
    let mut random = Random(31);
    for _ in 0..if cfg!(debug_assertions) { 12 } else { 60 } {
        let (m, n) = (random.pick(&[32, 40, 64, 65, 96, 130]), random.pick(&[9, 17, 19, 33, 49, 50, 65]));
        let (k, b) = (random.pick(&[16, 33, 96, 300, 600, 1100]), random.pick(&[1, 1, 2, 3]));
        let (row, words) = (random.pick(&[k, k + 3]), n + random.pick(&[0, 0, 5]));
        let strides = |all: [usize; 4]| all.map(|stride| stride as isize).to_vec();
        let owned = |data, strides| Owned { data, base: 0, strides, windows: Vec::new() };
        let case = Case {
            axes: vec![(b, Role::Batch), (m, Role::M), (n, Role::N), (k, Role::K)],
            lhs: owned(random.vector(m * row), strides([0, row, 0, 1])),
            rhs: owned(random.vector(b * k * words), strides([k * words, 0, 1, words])),
            strides: strides([m * n, n, 1, 0]),
            base: 0,
            words: b * m * n,
        };
        check(&case);
        let axes = case.axes();
        let work = Contract { axes: &axes, lhs: case.lhs.operand(&[]), rhs: case.rhs.operand(&[]) };
        for (isa, threads) in Isa::available().flat_map(|isa| [1, 2, 3].map(|threads| (isa, threads))) {
            let run = || {
                let [mut first, mut second] = [0; 2].map(|_| vec![7.0; case.words]);
                let outs = &mut [&mut first, &mut second].map(|data| Output {
                    data: data.as_mut_slice(),
                    base: 0,
                    strides: &case.strides,
                });
                contract(isa, threads, Algorithm::ALL, &work, outs, &Both);
                (first, second)
            };
            assert!(crate::Kept::default().lend(&case.lhs.data, run) == run(), "{isa:?}: {:?}", case.axes);
        }
    }
}

/// Images of so many rows that a long row of one is summed in several blocks.
#[test]
fn filters_of_large_images() {
    let mut random = Random(11);
    let c =
        Convolution { batch: 2, channels: [2, 3], image: [61, 37], kernel: [3, 3], stride: 1, padding: 0, dilation: 1 };
    check(&c.weight_gradient(&mut random));
    check(&Convolution { batch: 1, padding: 1, ..c }.weight_gradient(&mut random));
}

/// Sums of equal products, whose rounding errors all have one sign: the error is that of a block of K, however many there are.
#[test]
fn the_error_of_long_sums_does_not_grow() {
    let mut random = Random(10);
    let images = Convolution {
        batch: 300,
        channels: [1, 3],
        image: [13, 37],
        kernel: [3, 3],
        stride: 1,
        padding: 0,
        dilation: 1,
    };
    // Rows of both operands one after the other, as the gradient by a weight has them.
    let product = |m: usize, n: usize, k: usize| Case {
        axes: vec![(m, Role::M), (n, Role::N), (k, Role::K)],
        lhs: Owned { data: vec![0.0; m * k], base: 0, strides: vec![1, 0, m as isize], windows: vec![] },
        rhs: Owned { data: vec![0.0; n * k], base: 0, strides: vec![0, 1, n as isize], windows: vec![] },
        strides: vec![n as isize, 1, 0],
        base: 0,
        words: m * n,
    };
    let images = images.weight_gradient(&mut random);
    for mut case in [product(7, 40, 300_000), product(40, 64, 100_000), product(1, 300, 70_000), images] {
        case.lhs.data.fill(0.3);
        case.rhs.data.fill(0.3);
        let axes = case.axes();
        let count: usize = axes.iter().filter(|axis| axis.role == Role::K).map(|axis| axis.extent).product();
        let (left, right) = (case.lhs.view(), case.rhs.view());
        let work = Contract { axes: &axes, lhs: case.lhs.operand(&left), rhs: case.rhs.operand(&right) };
        for isa in Isa::available() {
            let mut found = vec![0.0; case.words];
            let out = Output { data: &mut found, base: case.base, strides: &case.strides };
            contract(isa, 2, Algorithm::ALL, &work, &mut [out], &Plain);
            let exact = f64::from(0.3f32).powi(2) * count as f64;
            for sum in found.into_iter().filter(|sum| *sum != 0.0) {
                let relative = f64::from(sum) / exact - 1.0;
                assert!(relative.abs() < 8e-6, "{isa:?}: {relative:e} of {:?}", case.axes);
            }
        }
    }
}

/// Every `step`th word of a slice that ends with the last of them.
struct Spaced<'a>(&'a [f32], usize, &'a mut [f32]);

impl Kernel for Spaced<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Spaced(from, step, to) = self;
        // SAFETY: the test makes the slices so long.
        unsafe { super::pack::copy(s, from.as_ptr(), step as isize, to.len(), to.as_mut_ptr()) }
    }
}

#[test]
fn copies_of_words_that_are_apart() {
    let words: Vec<f32> = (0..400u16).map(f32::from).collect();
    for isa in Isa::available() {
        for (count, step) in (1..70).flat_map(|count| (1..=5).map(move |step| (count, step))) {
            let mut to = vec![0.0; count];
            run(isa, Spaced(&words[..(count - 1) * step + 1], step, &mut to));
            assert!(to.iter().enumerate().all(|(at, word)| *word == words[at * step]), "{isa:?} {count} {step}");
        }
    }
}

/// Enough channels of 3 × 3 filters for minimal filtering; of the widest ones the patches are transformed first, and are
/// small, because there are few of them; of many small images several are multiplied at once.
#[test]
fn convolutions_of_many_channels() {
    let mut random = Random(8);
    for round in 0..if cfg!(debug_assertions) { 3 } else { 30 } {
        let channels = [random.pick(&[16, 19, 33]), random.pick(&[16, 25, 31])];
        let (batch, channels, image) = match round % 3 {
            0 => (random.pick(&[1, 2, 3]), channels, [random.pick(&[8, 11, 26]), random.pick(&[7, 10, 15, 29])]),
            1 => (random.pick(&[4, 7, 13, 50]), channels, [random.pick(&[3, 4, 5, 9]), random.pick(&[3, 4, 6, 7])]),
            _ => (1, [83, 97], [7, 9]),
        };
        let c = Convolution {
            batch,
            channels,
            image,
            kernel: [3, 3],
            stride: 1,
            padding: random.pick(&[0, 1, 2]),
            dilation: 1,
        };
        println!("{round}: {c:?}");
        check_within(&c.forward(&mut random), |_, largest| 2e-6 * largest);
        check_within(&c.input_gradient(&mut random), |_, largest| 2e-6 * largest);
        check_within(&c.input_gradient_of_flipped_filters(&mut random), |_, largest| 2e-6 * largest);
    }
}

#[test]
fn windows_on_the_left_operand_and_sums_over_backward_axes() {
    let mut random = Random(6);
    for _ in 0..if cfg!(debug_assertions) { 5 } else { 40 } {
        let (m, n, k) = (random.pick(&SIZES), random.pick(&SIZES), random.pick(&SIZES));
        let (m2, pace, divisor) =
            (random.pick(&[2, 3, 5]), random.pick(&[1isize, -1, 2, -3]), random.pick(&[1usize, 1, 2, 3]));
        let extent = random.pick(&[4usize, 9, 40]);
        let base = random.pick(&[-3isize, 0, 5, 20]);
        // Several axes share one window, K among them.
        check(&Case {
            axes: vec![(m, Role::M), (m2, Role::M), (n, Role::N), (k, Role::K)],
            lhs: Owned {
                data: random.vector(m2 * extent),
                base: 0,
                strides: vec![0, extent as isize, 0, 0],
                windows: vec![(base, vec![pace, 0, 0, -1], divisor, extent, 1)],
            },
            rhs: Owned {
                data: random.vector(k * n),
                base: (k as isize - 1) * n as isize,
                strides: vec![0, 0, 1, -(n as isize)],
                windows: vec![],
            },
            strides: vec![(m2 * n) as isize, n as isize, 1, 0],
            base: 0,
            words: m * m2 * n,
        });
    }
}

#[test]
fn an_operand_outside_its_slice_is_refused() {
    let axes =
        [Axis { extent: 4, role: Role::M }, Axis { extent: 4, role: Role::N }, Axis { extent: 4, role: Role::K }];
    let data = [1.0; 16];
    let good = |data| Operand { data, base: 0, strides: &[4, 0, 1], windows: &[] };
    let right = Operand { data: &data, base: 0, strides: &[0, 1, 4], windows: &[] };
    for (lhs, words) in [(good(&data[..15]), 16), (Operand { base: 1, ..good(&data) }, 16), (good(&data), 15)] {
        let outcome = std::panic::catch_unwind(|| {
            let mut out = vec![0.0; words];
            let outputs = &mut [Output { data: &mut out, base: 0, strides: &[4, 1, 0] }];
            contract(Isa::best(), 1, Algorithm::ALL, &Contract { axes: &axes, lhs, rhs: right }, outputs, &Plain);
        });
        assert!(outcome.is_err());
    }
}

/// `m` × `n` × `k`, each operand as it is (`N`) or transposed (`T`).
fn product(isa: Isa, threads: usize, form: [bool; 2], [m, n, k]: [usize; 3], left: &[f32], right: &[f32]) -> Vec<f32> {
    let axes = [(m, Role::M), (n, Role::N), (k, Role::K)].map(|(extent, role)| Axis { extent, role });
    let s = |x: usize| x as isize;
    let lhs = if form[0] { [1, 0, s(m)] } else { [s(k), 0, 1] };
    let rhs = if form[1] { [0, s(k), 1] } else { [0, 1, s(n)] };
    let mut out = vec![0.0; 2 * m * n];
    let work = Contract {
        axes: &axes,
        lhs: Operand { data: left, base: 0, strides: &lhs, windows: &[] },
        rhs: Operand { data: right, base: 0, strides: &rhs, windows: &[] },
    };
    let (first, second) = out.split_at_mut(m * n);
    let strides = [s(n), 1, 0];
    let outputs =
        &mut [Output { data: first, base: 0, strides: &strides }, Output { data: second, base: 0, strides: &strides }];
    contract(isa, threads, Algorithm::ALL, &work, outputs, &Both);
    out
}

#[test]
fn kept_parameters_change_no_bit() {
    let mut random = Random(11);
    for _ in 0..300 {
        let sizes = [random.pick(&[1, 2, 3, 5, 13, 40]), 1 + random.below(150), 1 + random.below(90)];
        let form = [random.below(2) == 1, random.below(3) > 0];
        let [m, n, k] = sizes;
        let (left, right) = (random.vector(m * k), random.vector(n * k));
        for isa in Isa::available() {
            let want = product(isa, 1, form, sizes, &left, &right);
            for parameters in [&left, &right] {
                let mut kept = crate::Kept::default();
                for threads in [1, 2, 1] {
                    let got = kept.lend(parameters, || product(isa, threads, form, sizes, &left, &right));
                    let same = want.iter().zip(&got).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{isa:?} {form:?} {sizes:?} {threads}");
                }
            }
        }
    }
}

#[test]
fn long_kept_parameters_change_no_bit() {
    let mut random = Random(12);
    for (form, sizes) in
        [([false, true], [40, 70, 1300]), ([true, true], [30, 33, 700]), ([false, false], [130, 40, 600])]
    {
        let [m, n, k] = sizes;
        let (left, right) = (random.vector(m * k), random.vector(n * k));
        for isa in Isa::available() {
            let want = product(isa, 2, form, sizes, &left, &right);
            for parameters in [&left, &right] {
                let mut kept = crate::Kept::default();
                for _ in 0..2 {
                    let got = kept.lend(parameters, || product(isa, 2, form, sizes, &left, &right));
                    assert_eq!(got, want, "{isa:?} {form:?} {sizes:?}");
                }
            }
        }
    }
}

/// Large left operands, whose rows a thread packs for all of K and meets with several parts of the columns.
#[test]
fn rows_that_a_thread_keeps_change_no_bit() {
    let mut random = Random(15);
    for (form, sizes) in
        [([false, false], [300, 500, 900]), ([true, false], [440, 310, 601]), ([false, true], [260, 520, 1031])]
    {
        let [m, n, k] = sizes;
        let (left, right) = (random.vector(m * k), random.vector(n * k));
        for isa in Isa::available() {
            let want = product(isa, 1, form, sizes, &left, &right);
            for threads in [2, 5] {
                assert_eq!(product(isa, threads, form, sizes, &left, &right), want, "{isa:?} {form:?} {sizes:?}");
            }
            for parameters in [&left, &right] {
                let got = crate::Kept::default().lend(parameters, || product(isa, 2, form, sizes, &left, &right));
                assert_eq!(got, want, "{isa:?} {form:?} {sizes:?}");
            }
            for (row, column) in [(0, 0), (m / 2, n - 1), (m - 1, n / 2), (m - 1, n - 1)] {
                let at = |transposed: bool, rows: usize, row: usize, k0: usize| {
                    if transposed { k0 * rows + row } else { row * k + k0 }
                };
                let term = |k0: usize| {
                    f64::from(left[at(form[0], m, row, k0)]) * f64::from(right[at(!form[1], n, column, k0)])
                };
                let exact: f64 = (0..k).map(term).sum();
                // The second output is the doubled sum.
                let sum = f64::from(want[m * n + row * n + column]) / 2.0;
                assert!((sum - exact).abs() < 1e-6 * k as f64, "{isa:?} {form:?} {sizes:?} {sum} {exact}");
            }
        }
    }
}

#[test]
fn sums_over_many_rows_have_the_same_bits_on_any_number_of_threads() {
    let mut random = Random(14);
    for sizes in [[100, 90, 530], [43, 129, 1100], [131, 64, 1601]] {
        let [m, n, k] = sizes;
        let (left, right) = (random.vector(m * k), random.vector(n * k));
        for isa in Isa::available() {
            let want = product(isa, 1, [true, false], sizes, &left, &right);
            for threads in [2, 3, 5] {
                assert_eq!(product(isa, threads, [true, false], sizes, &left, &right), want, "{isa:?} {sizes:?}");
            }
            for (row, column) in [(0, 0), (m / 2, n - 1), (m - 1, n / 2), (m - 1, n - 1)] {
                let term = |at: usize| f64::from(left[at * m + row]) * f64::from(right[at * n + column]);
                let exact: f64 = (0..k).map(term).sum();
                // The second output is the doubled sum.
                let sum = f64::from(want[m * n + row * n + column]) / 2.0;
                assert!((sum - exact).abs() < 1e-6 * k as f64, "{isa:?} {sizes:?} {sum} {exact}");
            }
        }
    }
}

#[test]
fn one_row_times_a_large_matrix() {
    let mut random = Random(13);
    for _ in 0..12 {
        let (n, k) = (200 + random.below(3000), 1 + random.below(130));
        let transposed = random.below(2) == 1;
        let (left, right) = (random.vector(k), random.vector(n * k));
        for isa in Isa::available() {
            let want = product(isa, 1, [transposed, false], [1, n, k], &left, &right);
            assert_eq!(product(isa, 2, [transposed, false], [1, n, k], &left, &right), want);
            for column in [0, n / 2, n - 1] {
                let exact: f64 = (0..k).map(|k| f64::from(left[k]) * f64::from(right[k * n + column])).sum();
                // The second output is the doubled sum.
                let sum = f64::from(want[n + column]) / 2.0;
                assert!((sum - exact).abs() < 1e-6 * k as f64, "{isa:?} 1×{n}×{k} {sum} {exact}");
            }
        }
    }
}

/// Two at a time they are planned, one by one they are not.
#[test]
fn small_products_have_the_same_bits_alone_and_in_a_batch() {
    let mut random = Random(17);
    for _ in 0..if cfg!(debug_assertions) { 40 } else { 300 } {
        let [m, n, k] = [2 + random.below(65), 2 + random.below(95), 1 + random.below(70)];
        let (left, right) = (random.vector(2 * m * k), random.vector(2 * n * k));
        let s = |x: usize| x as isize;
        let rows = if random.below(2) == 1 { [1, s(m)] } else { [s(k), 1] };
        let columns = if random.below(4) == 1 { [1, s(m)] } else { [s(n), 1] };
        let product = |isa: Isa, from: usize, count: usize| {
            let axes = [(count, Role::Batch), (m, Role::M), (n, Role::N), (k, Role::K)];
            let mut out = vec![0.0; count * m * n];
            let work = Contract {
                axes: &axes.map(|(extent, role)| Axis { extent, role }),
                lhs: Operand {
                    data: &left,
                    base: s(from * m * k),
                    strides: &[s(m * k), rows[0], 0, rows[1]],
                    windows: &[],
                },
                rhs: Operand { data: &right, base: s(from * n * k), strides: &[s(n * k), 0, 1, s(n)], windows: &[] },
            };
            let strides = [s(m * n), columns[0], columns[1], 0];
            contract(
                isa,
                1,
                Algorithm::ALL,
                &work,
                &mut [Output { data: &mut out, base: 0, strides: &strides }],
                &Plain,
            );
            out
        };
        for isa in Isa::available() {
            let both = product(isa, 0, 2);
            let apart = [product(isa, 0, 1), product(isa, 1, 1)].concat();
            let same = both.iter().zip(&apart).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{isa:?} {m}×{n}×{k} {rows:?} {columns:?}");
        }
    }
}

/// Operands of one word that is read everywhere: their extents say more than memory holds.
#[test]
fn extents_whose_product_is_no_number_are_refused() {
    let big = 1 << 32;
    let axis = |extent, role| Axis { extent, role };
    let axes = [axis(big, Role::M), axis(2, Role::N), axis(big, Role::K)];
    let word = [1.0];
    let operand = Operand { data: &word, base: 0, strides: &[0; 3], windows: &[] };
    let contract = Contract { axes: &axes, lhs: operand, rhs: operand };
    for precision in [None, Some(Precision::Bf16)] {
        let call = std::panic::AssertUnwindSafe(|| {
            let mut out = [0.0; 2];
            let mut outputs = [Output { data: &mut out, base: 0, strides: &[0, 1, 0] }];
            match precision {
                None => super::contract(Isa::best(), 1, Algorithm::ALL, &contract, &mut outputs, &Plain),
                Some(precision) => {
                    let narrow = Narrow { precision, parameter: Factor::Right };
                    contract_narrow(Isa::best(), 1, narrow, &contract, &mut outputs, &Plain, None);
                }
            }
        });
        let panic = std::panic::catch_unwind(call).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"contract: more multiplications than can be counted"));
    }
}

/// Threads of other programs may have small stacks: on Linux the smallest that a system gives is 16 KiB.
#[test]
fn products_need_little_stack() {
    let thread = std::thread::Builder::new().stack_size(32 << 10).spawn(|| {
        let mut random = Random(23);
        for (m, n, k) in [(1, 10, 64), (32, 10, 64), (4, 7, 500), (64, 64, 300), (9, 3, 3000), (200, 33, 70)] {
            check(&plain_case(&mut random, vec![(m, Role::M), (n, Role::N), (k, Role::K)]));
        }
    });
    thread.unwrap().join().unwrap();
}
