//! Attention against its definition in binary64, on every instruction set and number of threads.

use super::{Attend, Attended, Mask, Strided, attend};
use crate::{Family, Isa, Output};

/// A case: all arrays are row-major, `[batch, shared, T or S, features]`.
#[derive(Clone, Copy, Debug)]
struct Case {
    batch: usize,
    shared: usize,
    queries: usize,
    keys: usize,
    features: usize,
    values: usize,
    causal: bool,
    /// 0: none, 1: added to every score, 2: of truth values, the same for all heads and queries.
    mask: u8,
}

const fn case(heads: [usize; 2], lengths: [usize; 2], widths: [usize; 2], causal: bool, mask: u8) -> Case {
    Case {
        batch: heads[0],
        shared: heads[1],
        queries: lengths[0],
        keys: lengths[1],
        features: widths[0],
        values: widths[1],
        causal,
        mask,
    }
}

const CASES: &[Case] = &[
    case([2, 1], [64, 64], [32, 32], true, 0),
    case([1, 2], [17, 33], [8, 5], false, 0),
    case([3, 2], [5, 300], [16, 48], false, 1),
    case([1, 1], [130, 131], [7, 19], true, 2),
    case([2, 3], [1, 700], [64, 64], false, 2),
    case([1, 1], [2, 1], [1, 1], true, 0),
    case([1, 2], [260, 5], [33, 16], true, 1),
    case([1, 1], [1, 3], [80, 100], false, 0),
    case([1, 1], [13, 9], [16, 16], false, 3),
    case([2, 2], [37, 53], [20, 24], true, 0),
    case([2, 1], [70, 64], [32, 16], false, 2),
    case([2, 3], [53, 37], [5, 7], true, 2),
    case([3, 1], [40, 40], [16, 32], false, 3),
    case([1, 2], [513, 30], [16, 9], true, 0),
    case([1, 1], [40, 513], [16, 8], true, 0),
];

/// Numbers about zero.
fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..count).map(|_| 1.5 * next()).collect()
}

struct Data {
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    g: Vec<f32>,
    added: Vec<f32>,
    seen: Vec<u32>,
}

impl Case {
    fn scale(&self) -> f32 {
        1.0 / (self.features as f32).sqrt()
    }

    fn heads(&self) -> usize {
        self.batch * self.shared
    }

    fn data(&self) -> Data {
        let (h, t, s) = (self.heads(), self.queries, self.keys);
        let mut seen: Vec<u32> = numbers(s, 7).iter().map(|x| u32::from(*x > -0.5)).collect();
        if self.mask == 3 {
            seen.fill(0);
        }
        Data {
            q: numbers(h * t * self.features, 1),
            k: numbers(self.batch * s * self.features, 2),
            v: numbers(self.batch * s * self.values, 3),
            g: numbers(h * t * self.values, 4),
            added: numbers(h * t * s, 5),
            seen,
        }
    }

    /// Output, largest score, reciprocal of the sum, and the cotangents of queries, keys and values.
    fn expected(&self, data: &Data) -> [Vec<f64>; 6] {
        let (t_all, s_all, d, e) = (self.queries, self.keys, self.features, self.values);
        let mut out = [t_all * e, t_all, t_all, t_all * d].map(|n| vec![0.0; self.heads() * n]);
        let mut of_keys = [s_all * d, s_all * e].map(|n| vec![0.0; self.batch * n]);
        let row = |x: &[f32], at: usize, width: usize| -> Vec<f64> {
            x[at * width..][..width].iter().map(|x| f64::from(*x)).collect()
        };
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        for h in 0..self.heads() {
            for t in 0..t_all {
                let at = h * t_all + t;
                let (q, g) = (row(&data.q, at, d), row(&data.g, at, e));
                let key = |s: usize| h / self.shared * s_all + s;
                let score = |s: usize| {
                    let own = dot(&q, &row(&data.k, key(s), d)) * f64::from(self.scale());
                    let hidden = self.causal && s > t || self.mask >= 2 && data.seen[s] == 0;
                    let added = if self.mask == 1 { f64::from(data.added[at * s_all + s]) } else { 0.0 };
                    if hidden { f64::NEG_INFINITY } else { own + added }
                };
                let scores: Vec<f64> = (0..s_all).map(score).collect();
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|s| (s - most).exp()).sum();
                (out[1][at], out[2][at]) = if most == f64::NEG_INFINITY { (0.0, 0.0) } else { (most, 1.0 / total) };
                let p: Vec<f64> = scores.iter().map(|s| (s - out[1][at]).exp() * out[2][at]).collect();
                let mut y = vec![0.0; e];
                for (s, p) in p.iter().enumerate() {
                    y.iter_mut().zip(row(&data.v, key(s), e)).for_each(|(y, v)| *y += p * v);
                }
                let delta = dot(&y, &g);
                out[0][at * e..][..e].copy_from_slice(&y);
                for s in 0..s_all {
                    let slope = p[s] * (dot(&g, &row(&data.v, key(s), e)) - delta) * f64::from(self.scale());
                    let add = |to: &mut [f64], from: Vec<f64>, by: f64| {
                        to.iter_mut().zip(from).for_each(|(to, x)| *to += by * x);
                    };
                    add(&mut out[3][at * d..][..d], row(&data.k, key(s), d), slope);
                    add(&mut of_keys[0][key(s) * d..][..d], q.clone(), slope);
                    add(&mut of_keys[1][key(s) * e..][..e], g.clone(), p[s]);
                }
            }
        }
        let ([y, m, r, dq], [dk, dv]) = (out, of_keys);
        [y, m, r, dq, dk, dv]
    }

    /// The same by the driver.
    fn computed(&self, data: &Data, isa: impl Family, threads: usize) -> [Vec<f32>; 6] {
        let (t, s, d, e) = (self.queries, self.keys, self.features, self.values);
        let sizes = |list: [usize; 6]| list.map(usize::cast_signed);
        let of_q = sizes([self.shared * t * d, t * d, d, 0, 1, 0]);
        let of_k = sizes([s * d, 0, 0, d, 1, 0]);
        let of_v = sizes([s * e, 0, 0, e, 0, 1]);
        let of_g = sizes([self.shared * t * e, t * e, e, 0, 0, 1]);
        let of_n = sizes([self.shared * t, t, 1, 0, 0, 0]);
        let of_mask = sizes([self.shared * t * s, t * s, s, 1, 0, 0]);
        let of_seen = sizes([0, 0, 0, 1, 0, 0]);
        let mask = match self.mask {
            0 => Mask::None,
            1 => Mask::Added(Strided { data: &data.added, base: 0, strides: &of_mask }),
            _ => Mask::Seen(Strided { data: &data.seen, base: 0, strides: &of_seen }),
        };
        let input = |data, strides| Strided { data, base: 0, strides };
        let inputs = [input(&data.q, &of_q), input(&data.k, &of_k), input(&data.v, &of_v)];
        let heads = [self.batch, self.shared];
        let whole = Attend {
            part: Attended::Output,
            heads: &heads,
            batch: 1,
            queries: t,
            keys: s,
            features: d,
            values: e,
            causal: self.causal,
            scale: self.scale(),
            inputs,
            derivative: None,
            mask,
        };
        let zeros = |n: usize| vec![f32::NAN; n];
        let [mut y, mut m, mut r] = [t * e, t, t].map(|n| zeros(self.heads() * n));
        fn out<'a>(data: &'a mut [f32], strides: &'a [isize]) -> [Output<'a>; 1] {
            [Output { data, base: 0, strides }]
        }
        attend(isa, threads, &whole, [&mut out(&mut y, &of_g), &mut out(&mut m, &of_n), &mut out(&mut r, &of_n)]);
        let g: Vec<f32> = data.g.chunks(e).zip(&r).flat_map(|(g, r)| g.iter().map(move |g| g * r)).collect();
        let rows = y.chunks(e).zip(g.chunks(e));
        let delta: Vec<f32> = rows.map(|(y, g)| y.iter().zip(g).map(|(y, g)| y * g).sum()).collect();
        let derivative = Some([input(&g, &of_g), input(&m, &of_n), input(&delta, &of_n)]);
        let (mut dq, mut dk, mut dv) = (zeros(data.q.len()), zeros(data.k.len()), zeros(data.v.len()));
        let of_queries = Attend { part: Attended::Query, derivative, ..whole };
        attend(isa, threads, &of_queries, [&mut out(&mut dq, &of_q), &mut [], &mut []]);
        let of_keys = Attend { part: Attended::Key, derivative, ..whole };
        attend(isa, threads, &of_keys, [&mut out(&mut dk, &of_k), &mut out(&mut dv, &of_v), &mut []]);
        let mut together = [dq.len(), dk.len(), dv.len()].map(zeros);
        let [q, k, v] = &mut together;
        attend(isa, threads, &of_keys, [&mut out(k, &of_k), &mut out(v, &of_v), &mut out(q, &of_q)]);
        for (alone, together) in [&dq, &dk, &dv].into_iter().zip(&together) {
            let same = |(x, y): (&f32, &f32)| x == y || x.is_nan() && y.is_nan();
            assert!(alone.iter().zip(together).all(same), "{self:?} {:?}: all cotangents at once", isa.set());
        }
        [y, m, r, dq, dk, dv]
    }
}

#[test]
fn it_is_what_is_defined() {
    for case in CASES {
        let data = case.data();
        let expected = case.expected(&data);
        #[cfg(feature = "deterministic")]
        crate::isa::assert_same_bits(|isa| case.computed(&data, isa, 2).concat(), &case);
        for isa in Isa::available() {
            let computed = case.computed(&data, isa, 1);
            for (k, (got, want)) in computed.iter().zip(&expected).enumerate() {
                let largest = want.iter().filter(|x| x.is_finite()).fold(1e-3f64, |most, x| most.max(x.abs()));
                for (at, (got, want)) in got.iter().zip(want).enumerate() {
                    let close = (f64::from(*got) - want).abs() <= 3e-6 * largest || f64::from(*got) == *want;
                    assert!(close, "{case:?} {isa:?}: element {at} of result {k} is {got}, not {want}");
                }
            }
        }
    }
}

/// However large scores are, the weights of a query's values add up to 1: of a single key there is one weight, 1, and of keys
/// that a mask drowns equal ones.
#[test]
fn weights_add_up_to_one_however_large_scores_are() {
    let cases = [[64, 64], [17, 1], [4, 1], [1, 1], [2, 40], [130, 257], [300, 20], [5, 9]];
    for (n, [queries, keys]) in cases.into_iter().enumerate() {
        for (factor, hidden) in [(20.0, 0.0), (64.0, 0.0), (6e3, 0.0), (6e5, 0.0), (1.0, -1e9), (1.0, -3e38)] {
            let case = case([1, 2], [queries, keys], [24 + n, 3], n % 2 == 1, u8::from(hidden != 0.0));
            let mut data = case.data();
            data.q.iter_mut().chain(&mut data.k).for_each(|x| *x *= factor);
            data.g.fill(1.0);
            data.added.fill(hidden);
            for isa in Isa::available() {
                let [.., dv] = case.computed(&data, isa, 1);
                for c in 0..3 {
                    let sum: f32 = dv.iter().skip(c).step_by(3).sum();
                    let all = (2 * queries) as f32;
                    assert!((sum - all).abs() <= 1e-5 * all, "{case:?} {isa:?}, scores times {factor}: {sum} of {all}");
                }
            }
        }
    }
}

#[test]
fn threads_change_nothing() {
    let case = case([3, 2], [200, 190], [16, 32], true, 0);
    let data = case.data();
    for isa in Isa::available() {
        let alone = case.computed(&data, isa, 1);
        for threads in [2, 3, 5] {
            assert!(case.computed(&data, isa, threads) == alone, "{isa:?} {threads}");
        }
    }
}

#[test]
fn nan_reaches_the_results_of_its_row_only() {
    let case = case([1, 1], [20, 20], [8, 8], true, 0);
    let mut data = case.data();
    data.q[5 * 8] = f32::NAN;
    for isa in Isa::available() {
        let [y, _, r, ..] = case.computed(&data, isa, 1);
        for t in 0..20 {
            assert_eq!(y[t * 8].is_nan(), t == 5, "{isa:?} {t}");
            assert_eq!(r[t].is_nan(), t == 5, "{isa:?} {t}");
        }
    }
}

/// Eight queries of 2⁶¹ words are none.
#[test]
fn strides_whose_products_overflow_are_refused() {
    const FAR: isize = 1 << (isize::BITS - 3);
    let data = vec![1.0; 9 * 9];
    let plain: [[isize; 5]; 4] = [[0, 9, 0, 1, 0], [0, 0, 9, 1, 0], [0, 0, 9, 0, 1], [0, 9, 0, 0, 1]];
    for (array, axis) in [(0, 1), (0, 3), (1, 2), (2, 2), (2, 4), (3, 1), (3, 4)] {
        let (mut out, mut norms, mut strides) = (vec![0.0; 81], vec![0.0; 9], plain);
        strides[array][axis] = FAR;
        let [q, k, v] = [0, 1, 2].map(|at| Strided { data: &data, base: 0, strides: &strides[at] });
        let work = Attend {
            part: Attended::Output,
            heads: &[1],
            batch: 1,
            queries: 9,
            keys: 9,
            features: 9,
            values: 9,
            causal: false,
            scale: 1.0,
            inputs: [q, k, v],
            derivative: None,
            mask: Mask::None,
        };
        let run = std::panic::AssertUnwindSafe(|| {
            let out = &mut [Output { data: &mut out, base: 0, strides: &strides[3] }];
            let norms = &mut [Output { data: &mut norms, base: 0, strides: &[0, 1, 0, 0, 0] }];
            attend(Isa::best(), 1, &work, [out, norms, &mut []]);
        });
        assert!(std::panic::catch_unwind(run).is_err(), "array {array} along axis {axis}");
    }
}
