//! Contractions: matrix products in all forms, the convolutions of W3 and the small products of W1.
//!
//! In: sizes, fixed here. Out: GFLOP/s and the part of the peak, for each instruction set. Always: random numbers.

use crate::command::Part;
use crate::measure::{peak, seconds, seconds_in};
use precast::__rt::{self as rt, Axis, Contract, Isa, Operand, Output, Plain, Role, Simd};
use std::hint::black_box;

/// A contraction that owns its strides.
pub(super) struct Work {
    name: String,
    axes: Vec<Axis>,
    strides: [Vec<isize>; 3],
}

impl Work {
    /// From `(extent, role, stride in lhs, stride in rhs, stride in output)` per axis.
    fn new(name: impl Into<String>, axes: &[(usize, Role, usize, usize, usize)]) -> Self {
        let signed = |pick: fn(&(usize, Role, usize, usize, usize)) -> usize| {
            axes.iter().map(|axis| pick(axis) as isize).collect()
        };
        Work {
            name: name.into(),
            axes: axes.iter().map(|axis| Axis { extent: axis.0, role: axis.1 }).collect(),
            strides: [signed(|axis| axis.2), signed(|axis| axis.3), signed(|axis| axis.4)],
        }
    }

    fn words(&self, operand: usize) -> usize {
        1 + self
            .axes
            .iter()
            .zip(&self.strides[operand])
            .map(|(axis, stride)| (axis.extent - 1) * *stride as usize)
            .sum::<usize>()
    }

    pub(super) fn flops(&self) -> f64 {
        2.0 * self.axes.iter().map(|axis| axis.extent as f64).product::<f64>()
    }

    fn time(&self, isa: Isa, threads: usize) -> f64 {
        self.time_in(0.5, isa, threads)
    }

    /// Seconds per run, measured for about `budget` seconds.
    pub(super) fn time_in(&self, budget: f64, isa: Isa, threads: usize) -> f64 {
        self.time_of(budget, |work, outputs| {
            rt::contract(black_box(isa), threads, rt::Algorithm::ALL, work, outputs, &Plain)
        })
    }

    /// The same of another function of the runtime.
    pub(super) fn time_of(&self, budget: f64, mut run: impl FnMut(&Contract<'_>, &mut [Output<'_>])) -> f64 {
        let numbers = |n: usize| (0..n).map(|i| (i * 7919 % 1000) as f32 / 1000.0 - 0.5).collect::<Vec<f32>>();
        let (left, right, mut out) = (numbers(self.words(0)), numbers(self.words(1)), numbers(self.words(2)));
        seconds_in(budget, || {
            let work = Contract {
                axes: &self.axes,
                lhs: Operand { data: &left, base: 0, strides: &self.strides[0], windows: &[] },
                rhs: Operand { data: &right, base: 0, strides: &self.strides[1], windows: &[] },
            };
            run(&work, &mut [Output { data: &mut out, base: 0, strides: &self.strides[2] }]);
        })
    }
}

use Role::{Batch, K, M, N};

/// The product of matrices; `form` says whether each operand is as it is (`N`) or transposed (`T`).
pub(super) fn product(form: &str, m: usize, n: usize, k: usize) -> Work {
    let (left, right) = form.split_at(1);
    let (lm, lk) = if left == "N" { (k, 1) } else { (1, m) };
    let (rk, rn) = if right == "N" { (n, 1) } else { (1, k) };
    Work::new(format!("{form} {m}×{n}×{k}"), &[(m, M, lm, 0, n), (n, N, 0, rn, 1), (k, K, lk, rk, 0)])
}

/// The three contractions of a 3×3 convolution without padding: forward, by input, by weight.
fn convolution(b: usize, ci: usize, co: usize, size: usize) -> [Work; 2] {
    let (o, i) = (size - 2, size);
    [
        Work::new(
            format!("conv {ci}→{co} {size}² forward"),
            &[
                (b, Batch, 0, ci * i * i, co * o * o),
                (co, M, ci * 9, 0, o * o),
                (o, N, 0, i, o),
                (o, N, 0, 1, 1),
                (ci, K, 9, i * i, 0),
                (3, K, 3, i, 0),
                (3, K, 1, 1, 0),
            ],
        ),
        Work::new(
            format!("conv {ci}→{co} {size}² by weight"),
            &[
                (co, M, o * o, 0, ci * 9),
                (ci, N, 0, i * i, 9),
                (3, N, 0, i, 3),
                (3, N, 0, 1, 1),
                (b, K, co * o * o, ci * i * i, 0),
                (o, K, o, i, 0),
                (o, K, 1, 1, 0),
            ],
        ),
    ]
}

fn by_input(isa: Isa, threads: usize, b: usize, ci: usize, co: usize, size: usize) -> (f64, f64) {
    let (o, i) = (size - 2, size);
    let axes =
        [(b, Batch), (ci, M), (i, N), (i, N), (co, K), (3, K), (3, K)].map(|(extent, role)| Axis { extent, role });
    let s = |n: usize| n as isize;
    let left: Vec<f32> = vec![0.25; co * ci * 9];
    let right: Vec<f32> = vec![0.5; b * co * o * o];
    let mut out = vec![0.0; b * ci * i * i];
    let time = seconds(|| {
        let work = Contract {
            axes: &axes,
            lhs: Operand { data: &left, base: 0, strides: &[0, 9, 0, 0, s(ci * 9), 3, 1], windows: &[] },
            rhs: Operand {
                data: &right,
                base: 0,
                strides: &[s(co * o * o), 0, 0, 0, s(o * o), 0, 0],
                windows: &[
                    rt::Window { base: 0, strides: &[0, 0, 1, 0, 0, -1, 0], divisor: 1, extent: o, stride: s(o) },
                    rt::Window { base: 0, strides: &[0, 0, 0, 1, 0, 0, -1], divisor: 1, extent: o, stride: 1 },
                ],
            },
        };
        let outputs = &mut [Output { data: &mut out, base: 0, strides: &[s(ci * i * i), s(i * i), s(i), 1, 0, 0, 0] }];
        rt::contract(isa, threads, rt::Algorithm::ALL, &work, outputs, &Plain);
    });
    // Only as many products as the forward pass has are not with a zero.
    (time, 2.0 * (b * co * o * o * ci * 9) as f64)
}

/// A depthwise convolution that keeps the extents of its images, and its gradient by weight.
fn depthwise(isa: Isa, threads: usize, [b, channels, kernel, size]: [usize; 4]) -> [(&'static str, f64); 2] {
    let s = |n: usize| n as isize;
    let (image, plane, taps) = (channels * size * size, size * size, kernel * kernel);
    let padding = -s(kernel / 2);
    let numbers = |n: usize| (0..n).map(|i| (i * 7919 % 1000) as f32 / 1000.0 - 0.5).collect::<Vec<f32>>();
    let (filters, images) = (numbers(channels * taps), numbers(b * image));
    let (mut planes, mut sums) = (vec![0.0; b * image], vec![0.0; channels * taps]);
    let windows = |rows: &'static [isize], columns: &'static [isize]| {
        let window = |strides, stride| rt::Window { base: padding, strides, divisor: 1, extent: size, stride };
        [window(rows, s(size)), window(columns, 1)]
    };
    let axes = [(b, Batch), (channels, Batch), (size, N), (size, N), (kernel, K), (kernel, K)];
    let axes = axes.map(|(extent, role)| Axis { extent, role });
    let strides = &[0, s(taps), 0, 0, s(kernel), 1];
    let lhs = Operand { data: &filters, base: 0, strides, windows: &[] };
    let (strides, windowed) = (&[s(image), s(plane), 0, 0, 0, 0], windows(&[0, 0, 1, 0, 1, 0], &[0, 0, 0, 1, 0, 1]));
    let rhs = Operand { data: &images, base: 0, strides, windows: &windowed };
    let forward = seconds(|| {
        let strides = &[s(image), s(plane), s(size), 1, 0, 0];
        let outputs = &mut [Output { data: &mut planes, base: 0, strides }];
        rt::contract(isa, threads, rt::Algorithm::ALL, &Contract { axes: &axes, lhs, rhs }, outputs, &Plain);
    });
    let axes = [(channels, Batch), (kernel, N), (kernel, N), (b, K), (size, K), (size, K)];
    let axes = axes.map(|(extent, role)| Axis { extent, role });
    let strides = &[s(plane), 0, 0, s(image), s(size), 1];
    let lhs = Operand { data: &images, base: 0, strides, windows: &[] };
    let (strides, windowed) = (&[s(plane), 0, 0, s(image), 0, 0], windows(&[0, 1, 0, 0, 1, 0], &[0, 0, 1, 0, 0, 1]));
    let rhs = Operand { data: &planes, base: 0, strides, windows: &windowed };
    let by_weight = seconds(|| {
        let strides = &[s(taps), s(kernel), 1, 0, 0, 0];
        let outputs = &mut [Output { data: &mut sums, base: 0, strides }];
        rt::contract(isa, threads, rt::Algorithm::ALL, &Contract { axes: &axes, lhs, rhs }, outputs, &Plain);
    });
    [("forward", forward), ("by weight", by_weight)]
}

/// The instruction sets that are wanted.
pub(super) fn isas(part: &Part) -> impl Iterator<Item = Isa> {
    Isa::available().filter(|isa| format!("{isa:?}").contains(&part.isa))
}

fn show(name: &str, flops: f64, time: f64, peak: f64) {
    println!(
        "  {name:<28} {:>9.1} µs {:>7.1} GFLOP/s {:>5.1} %",
        time * 1e6,
        flops / time / 1e9,
        flops / time / 1e7 / peak
    );
}

/// Larger contractions.
pub(super) fn products(part: &Part) {
    let (threads, filter) = (part.threads, &part.only);
    for isa in isas(part) {
        let peak = peak(isa);
        println!("{isa:?}: peak {peak:.1} GFLOP/s of one core; {threads} threads");
        let mut works = vec![
            product("NN", 64, 64, 64),
            product("NN", 256, 256, 256),
            product("NT", 256, 256, 256),
            product("TN", 256, 256, 256),
            product("TT", 256, 256, 256),
            product("NN", 1024, 1024, 1024),
            product("NT", 64, 128, 784),
            product("NN", 64, 784, 128),
            product("TN", 128, 784, 64),
            product("NT", 64, 128, 9216),
            product("NN", 64, 9216, 128),
            product("TN", 128, 9216, 64),
            product("NT", 64, 10, 128),
            product("TN", 10, 128, 64),
            product("NT", 768, 512, 128),
            product("NT", 768, 128, 512),
            product("NN", 768, 512, 128),
            product("NN", 768, 128, 512),
            product("TN", 512, 128, 768),
            product("TN", 128, 512, 768),
            product("NT", 1, 1024, 1024),
            product("NN", 1, 1024, 1024),
        ];
        works.extend(convolution(16, 1, 32, 28));
        works.extend(convolution(16, 32, 64, 26));
        works.extend(convolution(16, 16, 32, 6));
        for work in works.iter().filter(|work| work.name.contains(filter)) {
            show(&work.name, work.flops(), work.time(isa, threads), peak);
        }
        for (ci, co, size) in [(32, 64, 26), (16, 32, 6)] {
            let name = format!("conv {ci}→{co} {size}² by input");
            if name.contains(filter) {
                let (time, flops) = by_input(isa, threads, 16, ci, co, size);
                show(&name, flops, time, peak);
            }
        }
    }
}

/// Depthwise convolutions of MobileNetV3, EfficientNet and ConvNeXt.
pub(super) fn planes(part: &Part) {
    for isa in isas(part) {
        let peak = peak(isa);
        println!("{isa:?}: peak {peak:.1} GFLOP/s of one core; {} threads", part.threads);
        for [channels, kernel, size] in [[72, 3, 56], [240, 5, 14], [48, 7, 14], [96, 7, 56], [576, 5, 7]] {
            for b in [1, 8] {
                let name = format!("{b}×{channels}×{size}² by {kernel}²");
                if name.contains(&part.only) {
                    let flops = (2 * b * channels * size * size * kernel * kernel) as f64;
                    for (which, time) in depthwise(isa, part.threads, [b, channels, kernel, size]) {
                        show(&format!("{name} {which}"), flops, time, peak);
                    }
                }
            }
        }
    }
}

/// The three products of a policy network, each alone.
pub(super) fn small(part: &Part) {
    for isa in isas(part) {
        println!("{isa:?}");
        for (n, k) in [(64, 4), (64, 64), (2, 64), (128, 784), (10, 128)] {
            for form in ["NT", "NN"] {
                let work = product(form, 1, n, k);
                if !work.name.contains(&part.only) {
                    continue;
                }
                println!("  {:<16} {:>8.1} ns", work.name, work.time(isa, 1) * 1e9);
            }
        }
    }
}

/// As many vectors at a time as the number says.
struct Turns<K, const TURNS: usize>(K);

impl<K: Sweep, const TURNS: usize> rt::Kernel for Turns<K, TURNS> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        match TURNS {
            1 => self.0.sweep(s),
            2 => self.0.sweep(rt::Twice::new(s)),
            _ => self.0.sweep(rt::Twice::new(rt::Twice::new(s))),
        }
    }
}

trait Sweep {
    fn sweep<S: Simd>(self, s: S);
}

macro_rules! functions {
    ($($name:ident)*) => {
        $(
            #[allow(non_camel_case_types)]
            struct $name<'a>(&'a [f32], &'a mut [f32]);
            impl Sweep for $name<'_> {
                #[inline(always)]
                fn sweep<S: Simd>(self, s: S) {
                    rt::sweep!(S, j, at, self.0.len(), {
                        s.store_f(self.1, j, at, rt::math::$name(s, s.load_f(self.0, j, at)));
                    });
                }
            }
        )*
        /// The elementary functions over 4096 elements, with one, two and four vectors at a time.
        pub(super) fn maths(part: &Part) {
            let x: Vec<f32> = (0..4096).map(|i| i as f32 / 1024.0 - 1.9).collect();
            let mut y = vec![0.0; 4096];
            for isa in isas(part) {
                println!("{isa:?}");
                $(
                    let times = [
                        seconds(|| rt::run(isa, Turns::<_, 1>($name(black_box(&x), &mut y)))),
                        seconds(|| rt::run(isa, Turns::<_, 2>($name(black_box(&x), &mut y)))),
                        seconds(|| rt::run(isa, Turns::<_, 4>($name(black_box(&x), &mut y)))),
                    ];
                    let [one, two, four] = times.map(|time| 4096e-9 / time);
                    println!("  {:<8} {one:>6.2} {two:>6.2} {four:>6.2} elements/ns", stringify!($name));
                )*
            }
        }
    };
}

functions!(exp expm1 log log1p sin cos tanh sigmoid rsqrt erf);
