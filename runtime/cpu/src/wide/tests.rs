//! 64-bit lanes on every instruction set against scalar Rust, on values at which operations differ.

use crate::operations::binary;
use crate::{Family, Full, Isa, Kernel, Part, Simd, run};

const N: usize = 16 * 40;

fn doubles() -> [f64; 40] {
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.3,
        -0.3,
        0.5,
        -0.5,
        0.7,
        -0.7,
        1.5,
        -1.5,
        2.5,
        -2.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2_147_483_647.5,
        2_147_483_648.0,
        -2_147_483_648.0,
        -2_147_483_649.0,
        4_294_967_295.5,
        4_294_967_296.0,
        9_223_372_036_854_775_807.0,
        -9_223_372_036_854_775_808.0,
        18_446_744_073_709_551_615.0,
        1e300,
        4_503_599_627_370_496.0,
        4_503_599_627_370_495.5,
        -2_251_799_813_685_248.5,
        9_007_199_254_740_993.0,
        5e-324,
        -1e-310,
        f64::MIN_POSITIVE,
        -3.7,
        123.25,
        1e30,
        16_777_217.0,
        1.000_000_059_604_644_8,
        f64::MAX,
    ]
}

fn pairs<T: Copy>(edges: &[T]) -> ([T; N], [T; N]) {
    let n = edges.len();
    (core::array::from_fn(|i| edges[i % n]), core::array::from_fn(|i| edges[(i / n + i * 7) % n]))
}

fn floats() -> ([f64; N], [f64; N]) {
    pairs(&doubles())
}

fn words() -> ([u64; N], [u64; N]) {
    let edges = [
        0,
        1,
        2,
        3,
        63,
        64,
        65,
        !0,
        !0 - 1,
        1 << 63,
        (1 << 63) - 1,
        (1 << 63) + 1,
        1 << 32,
        (1 << 32) - 1,
        1 << 31,
        (1 << 53) + 1,
        12_345,
        0xffff_ffff_8000_0000,
        0xffff_0000_0000_0001,
    ];
    pairs(&edges)
}

fn integers() -> ([i64; N], [i64; N]) {
    let (a, b) = words();
    (a.map(u64::cast_signed), b.map(u64::cast_signed))
}

fn same(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan() || got == 0.0 && want == 0.0
}

/// One test for each operation on one vector, from one type of lane to another.
macro_rules! unary {
    ($($name:ident: $load:ident $from:ty => $store:ident $to:ty, $values:expr, $same:expr, $x:ident = $want:expr;)*) => {$(
        #[test]
        fn $name() {
            struct One<'a>(&'a [$from], &'a mut [$to]);
            impl Kernel for One<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    for at in (0..self.0.len()).step_by(S::LANES) {
                        s.$store(self.1, at, Full, s.$name(s.$load(self.0, at, Full)));
                    }
                }
            }
            let mut values: Vec<$from> = $values.to_vec();
            values.resize(values.len().next_multiple_of(16), <$from>::default());
            for isa in Isa::available() {
                let mut out = vec![<$to>::default(); values.len()];
                run(isa, One(&values, &mut out));
                for ($x, got) in values.iter().copied().zip(out) {
                    let want: $to = $want;
                    assert!($same(got, want), "{isa:?}: {:?} gives {got:?}, not {want:?}", $x);
                }
            }
        }
    )*};
}

mod of_doubles {
    use super::*;
    binary! { load_d store_d floats f64, same;
        add_d(a, b) = a + b;
        sub_d(a, b) = a - b;
        mul_d(a, b) = a * b;
        div_d(a, b) = a / b;
        max_d(a, b) = if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
        min_d(a, b) = if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) };
    }

    fn exactly(got: f64, want: f64) -> bool {
        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
    }

    unary! {
        neg_d: load_d f64 => store_d f64, doubles(), exactly, x = -x;
        abs_d: load_d f64 => store_d f64, doubles(), exactly, x = x.abs();
        sqrt_d: load_d f64 => store_d f64, doubles(), exactly, x = x.sqrt();
        floor_d: load_d f64 => store_d f64, doubles(), exactly, x = x.floor();
        ceil_d: load_d f64 => store_d f64, doubles(), exactly, x = x.ceil();
        round_d: load_d f64 => store_d f64, doubles(), exactly, x = x.round_ties_even();
        trunc_d: load_d f64 => store_d f64, doubles(), exactly, x = x.trunc();
        bits_d: load_d f64 => store_q u64, doubles(), |a, b| a == b, x = x.to_bits();
        d_of_bits: load_q u64 => store_d f64, doubles().map(f64::to_bits), exactly, x = f64::from_bits(x);
    }
}

mod of_words {
    use super::*;
    binary! { load_q store_q words u64, |a, b| a == b;
        add_q(a, b) = a.wrapping_add(b);
        sub_q(a, b) = a.wrapping_sub(b);
        mul_q(a, b) = a.wrapping_mul(b);
        div_q(a, b) = a.checked_div(b).unwrap_or(0);
        rem_q(a, b) = a.checked_rem(b).unwrap_or(0);
        max_q(a, b) = a.max(b);
        min_q(a, b) = a.min(b);
        and_q(a, b) = a & b;
        or_q(a, b) = a | b;
        xor_q(a, b) = a ^ b;
        shl_q(a, b) = a << (b & 63);
        shr_q(a, b) = a >> (b & 63);
    }
    unary! {
        not_q: load_q u64 => store_q u64, words().0, |a, b| a == b, x = !x;
    }
}

mod of_integers {
    use super::*;
    binary! { load_l store_l integers i64, |a, b| a == b;
        add_l(a, b) = a.wrapping_add(b);
        sub_l(a, b) = a.wrapping_sub(b);
        mul_l(a, b) = a.wrapping_mul(b);
        div_l(a, b) = if b == 0 { 0 } else { a.wrapping_div(b) };
        rem_l(a, b) = if b == 0 { 0 } else { a.wrapping_rem(b) };
        max_l(a, b) = a.max(b);
        min_l(a, b) = a.min(b);
        and_l(a, b) = a & b;
        or_l(a, b) = a | b;
        xor_l(a, b) = a ^ b;
        shl_l(a, b) = a << (b & 63);
        shr_l(a, b) = a >> (b & 63);
    }
    unary! {
        not_l: load_l i64 => store_l i64, integers().0, |a, b| a == b, x = !x;
        neg_l: load_l i64 => store_l i64, integers().0, |a, b| a == b, x = x.wrapping_neg();
        abs_l: load_l i64 => store_l i64, integers().0, |a, b| a == b, x = x.wrapping_abs();
    }
}

mod conversions {
    use super::*;

    fn same_f(got: f32, want: f32) -> bool {
        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
    }
    fn same_d(got: f64, want: f64) -> bool {
        got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
    }
    fn singles() -> [f32; 40] {
        doubles().map(|x| x as f32)
    }
    fn small() -> [u32; N] {
        let edges = [0, 1, 2, !0, !0 - 1, 1 << 31, (1 << 31) - 1, (1 << 24) + 1, 77, 0xffff_0001];
        core::array::from_fn(|i| edges[i % edges.len()])
    }
    fn equal<T: PartialEq>(a: T, b: T) -> bool {
        a == b
    }

    unary! {
        d_from_f: load_f f32 => store_d f64, singles(), same_d, x = x as f64;
        d_from_i: load_i i32 => store_d f64, small().map(u32::cast_signed), same_d, x = x as f64;
        d_from_u: load_u u32 => store_d f64, small(), same_d, x = x as f64;
        d_from_l: load_l i64 => store_d f64, integers().0, same_d, x = x as f64;
        d_from_q: load_q u64 => store_d f64, words().0, same_d, x = x as f64;
        f_from_d: load_d f64 => store_f f32, doubles(), same_f, x = x as f32;
        f_from_l: load_l i64 => store_f f32, integers().0, same_f, x = x as f32;
        f_from_q: load_q u64 => store_f f32, words().0, same_f, x = x as f32;
        i_from_d: load_d f64 => store_i i32, doubles(), equal, x = x as i32;
        i_from_l: load_l i64 => store_i i32, integers().0, equal, x = x as i32;
        i_from_q: load_q u64 => store_i i32, words().0, equal, x = x as i32;
        u_from_d: load_d f64 => store_u u32, doubles(), equal, x = x as u32;
        u_from_l: load_l i64 => store_u u32, integers().0, equal, x = x as u32;
        u_from_q: load_q u64 => store_u u32, words().0, equal, x = x as u32;
        l_from_f: load_f f32 => store_l i64, singles(), equal, x = x as i64;
        l_from_d: load_d f64 => store_l i64, doubles(), equal, x = x as i64;
        l_from_i: load_i i32 => store_l i64, small().map(u32::cast_signed), equal, x = x as i64;
        l_from_u: load_u u32 => store_l i64, small(), equal, x = x as i64;
        l_from_q: load_q u64 => store_l i64, words().0, equal, x = x as i64;
        q_from_f: load_f f32 => store_q u64, singles(), equal, x = x as u64;
        q_from_d: load_d f64 => store_q u64, doubles(), equal, x = x as u64;
        q_from_i: load_i i32 => store_q u64, small().map(u32::cast_signed), equal, x = x as u64;
        q_from_u: load_u u32 => store_q u64, small(), equal, x = x as u64;
        q_from_l: load_l i64 => store_q u64, integers().0, equal, x = x as u64;
    }
}

/// Comparisons, selections and masks: rows of 0 and 1, or of what was chosen.
struct Compare<'a>(&'a [f64], &'a [f64], &'a [u64], &'a [u64], &'a mut [[u64; N]; 18]);

impl Kernel for Compare<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for at in (0..N).step_by(S::LANES) {
            let (f, g) = (s.load_d(self.0, at, Full), s.load_d(self.1, at, Full));
            let (u, v) = (s.load_q(self.2, at, Full), s.load_q(self.3, at, Full));
            let (i, j) = (s.l_from_q(u), s.l_from_q(v));
            let rows = [
                s.q_from_m(s.eq_d(f, g)),
                s.q_from_m(s.lt_d(f, g)),
                s.q_from_m(s.le_d(f, g)),
                s.q_from_l(s.l_from_m(s.eq_l(i, j))),
                s.q_from_m(s.lt_l(i, j)),
                s.q_from_m(s.le_l(i, j)),
                s.q_from_m(s.eq_q(u, v)),
                s.q_from_m(s.lt_q(u, v)),
                s.q_from_m(s.le_q(u, v)),
                s.q_from_m(s.m_from_d(f)),
                s.q_from_m(s.m_from_l(i)),
                s.q_from_m(s.m_from_q(u)),
                s.bits_d(s.select_d(s.lt_q(u, v), f, g)),
                s.select_q(s.lt_d(f, g), u, v),
                s.q_from_l(s.select_l(s.lt_d(f, g), i, j)),
                s.bits_d(s.d_from_m(s.lt_l(i, j))),
                s.xor_q(s.shr_const_q::<9>(u), s.shl_const_q::<9>(v)),
                s.q_from_l(s.xor_l(s.shr_const_l::<9>(i), s.shl_const_l::<9>(j))),
            ];
            for (row, out) in rows.into_iter().zip(self.4.iter_mut()) {
                s.store_q(out, at, Full, row);
            }
        }
    }
}

#[test]
fn comparisons_and_selections() {
    let ((f, g), (u, v)) = (floats(), words());
    for isa in Isa::available() {
        let mut rows = [[9; N]; 18];
        run(isa, Compare(&f, &g, &u, &v, &mut rows));
        for n in 0..N {
            let (f, g, u, v) = (f[n], g[n], u[n], v[n]);
            let (i, j) = (u.cast_signed(), v.cast_signed());
            let want = [
                (f == g).into(),
                (f < g).into(),
                (f <= g).into(),
                (i == j).into(),
                (i < j).into(),
                (i <= j).into(),
                (u == v).into(),
                (u < v).into(),
                (u <= v).into(),
                (f != 0.0).into(),
                (i != 0).into(),
                (u != 0).into(),
                if u < v { f.to_bits() } else { g.to_bits() },
                if f < g { u } else { v },
                if f < g { u } else { v },
                f64::from(u8::from(i < j)).to_bits(),
                u >> 9 ^ v << 9,
                ((i >> 9) ^ (j << 9)).cast_unsigned(),
            ];
            for (row, want) in want.into_iter().enumerate() {
                assert_eq!(rows[row][n], want, "{isa:?}: row {row} of {f} {g} {u} {v}");
            }
        }
    }
}

struct Powers<'a>(&'a [f64], &'a [f64], &'a mut [[f64; N]; 4]);

impl Kernel for Powers<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for at in (0..N).step_by(S::LANES) {
            let (x, n) = (s.load_d(self.0, at, Full), s.load_d(self.1, at, Full));
            s.store_d(&mut self.2[0], at, Full, s.scale_d(x, n));
            s.store_d(&mut self.2[1], at, Full, s.at_most_d(x, s.splat_d(1.5)));
            s.store_d(&mut self.2[2], at, Full, s.at_least_d(x, s.splat_d(1.5)));
            s.store_d(&mut self.2[3], at, Full, s.mul_add_d(x, x, n));
            let fused = s.mul_add_d(s.splat_d(1.0 + 1e-9), s.splat_d(1.0 + 1e-9), s.splat_d(-1.0 - 2e-9));
            let split = s.add_d(s.mul_d(s.splat_d(1.0 + 1e-9), s.splat_d(1.0 + 1e-9)), s.splat_d(-1.0 - 2e-9));
            assert_eq!(s.reduce_max_d(fused) != s.reduce_max_d(split), S::FUSED);
        }
    }
}

#[test]
fn scaling_bounds_and_products() {
    let x = pairs(&doubles()).0;
    let n: [f64; N] = core::array::from_fn(|i| (i as f64 * 6.4).floor() - 2044.0);
    for isa in Isa::available() {
        let mut out = [[0.0; N]; 4];
        run(isa, Powers(&x, &n, &mut out));
        for at in 0..N {
            let (x, n) = (x[at], n[at]);
            // Two steps of one sign: the first is exact unless the second cannot show it.
            let half = (n * 0.5).floor();
            let want = x * 2f64.powi(half as i32) * 2f64.powi((n - half) as i32);
            let close = |a: f64, b: f64| same(a, b) || a.to_bits().abs_diff(b.to_bits()) <= 1 && a.abs() < 1e-307;
            assert!(close(out[0][at], want), "{isa:?}: {x} · 2^{n} is {:e}, not {want:e}", out[0][at]);
            let bounded = if x.is_nan() { [x; 2] } else { [x.min(1.5), x.max(1.5)] };
            assert!(same(out[1][at], bounded[0]) && same(out[2][at], bounded[1]), "{isa:?}: {x}");
            let sums = [x * x + n, x.mul_add(x, n)];
            assert!(sums.into_iter().any(|sum| same(sum, out[3][at])), "{isa:?}: {x} {n}: {}", out[3][at]);
        }
    }
}

struct Folds<'a>(&'a [f64], &'a [i64], &'a mut Vec<f64>, &'a mut Vec<i64>, &'a mut Vec<u64>);

impl Kernel for Folds<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (d, l) = (s.load_d(self.0, 0, Full), s.load_l(self.1, 0, Full));
        let q = s.q_from_l(l);
        self.2.extend([s.reduce_add_d(d), s.reduce_mul_d(d), s.reduce_max_d(d), s.reduce_min_d(d)]);
        self.3.extend([s.reduce_add_l(l), s.reduce_mul_l(l), s.reduce_max_l(l), s.reduce_min_l(l)]);
        self.4.extend([s.reduce_add_q(q), s.reduce_mul_q(q), s.reduce_max_q(q), s.reduce_min_q(q)]);
    }
}

#[test]
fn reductions() {
    for isa in Isa::available() {
        let lanes = isa.set().lanes();
        for first in 0..20 {
            let d: Vec<f64> = (0..16).map(|n| f64::from((n * 7 + first) % 16 - 5)).collect();
            let l = &integers().1[first as usize..][..16];
            let (mut of_d, mut of_l, mut of_q) = (vec![], vec![], vec![]);
            run(isa, Folds(&d, l, &mut of_d, &mut of_l, &mut of_q));
            let (d, l) = (&d[..lanes], &l[..lanes]);
            let of = |op: fn(f64, f64) -> f64| d.iter().copied().reduce(op).unwrap();
            assert_eq!(of_d, [of(|a, b| a + b), of(|a, b| a * b), of(f64::max), of(f64::min)], "{isa:?}");
            let of = |op: fn(i64, i64) -> i64| l.iter().copied().reduce(op).unwrap();
            let want = [of(i64::wrapping_add), of(i64::wrapping_mul), of(i64::max), of(i64::min)];
            assert_eq!(of_l, want, "{isa:?}");
            let of = |op: fn(u64, u64) -> u64| l.iter().map(|x| x.cast_unsigned()).reduce(op).unwrap();
            let want = [of(u64::wrapping_add), of(u64::wrapping_mul), of(u64::max), of(u64::min)];
            assert_eq!(of_q, want, "{isa:?}");
        }
        for at in 0..lanes {
            let mut d = [1.0; 16];
            d[at] = f64::NAN;
            let (mut of_d, mut of_l, mut of_q) = (vec![], vec![], vec![]);
            run(isa, Folds(&d, &[0; 16], &mut of_d, &mut of_l, &mut of_q));
            assert!(of_d.iter().all(|x| x.is_nan()), "{isa:?}: {of_d:?}");
        }
    }
}

/// One test for each type of lane: what is read and written by whole vectors, by parts and by indices.
macro_rules! memory {
    ($($test:ident: $e:ty, $load:ident $store:ident $gather:ident $scatter:ident $select_at:ident
        $splat:ident $add:ident $reduce_add:ident $reduce_max:ident;)*) => {$(
        #[test]
        fn $test() {
            struct Memory<'a>(&'a [$e], &'a mut [$e], usize);
            impl Kernel for Memory<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    let Memory(data, out, n) = self;
                    let mut total = s.$splat(0 as $e);
                    crate::sweep!(S, j, at, n, {
                        let v = s.$load(data, j, at);
                        total = s.$select_at(at, s.$add(total, v), total);
                        s.$store(out, j, at, s.$add(v, v));
                    });
                    out[n] = s.$reduce_add(total);
                    // Every other lane from the end of the slice, one of them outside.
                    let idx = s.sub_i(s.splat_i(data.len() as i32), s.add_i(s.iota_i(), s.iota_i()));
                    let odd = s.m_from_u(s.and_u(s.iota_u(), s.splat_u(3)));
                    let got = s.$gather(data, idx, odd);
                    out[n + 1] = s.$reduce_add(got);
                    out[n + 2] = s.$reduce_max(got);
                    s.$scatter(&mut out[n + 3..], idx, s.splat_m(true), s.$splat(7 as $e));
                    s.$scatter(&mut out[n + 3..], s.splat_i(-1), s.splat_m(true), s.$splat(8 as $e));
                    let none = s.$gather(data, s.splat_i(data.len() as i32), s.splat_m(true));
                    s.$scatter(&mut out[n + 3..], s.splat_i(0), s.mask_at(Part::new(3)), none);
                    let none = s.$gather(data, s.splat_i(i32::MIN), s.splat_m(true));
                    assert_eq!(s.$reduce_add(none), 0 as $e);
                }
            }
            let data: Vec<$e> = (1..40u8).map(<$e>::from).collect();
            for isa in Isa::available() {
                let lanes = isa.set().lanes();
                for n in 0..39 {
                    let mut out = [0 as $e; 100];
                    run(isa, Memory(&data, &mut out, n));
                    for (at, word) in out[..n].iter().enumerate() {
                        assert_eq!(*word, 2 as $e * data[at], "{isa:?} {n}");
                    }
                    assert_eq!(out[n], data[..n].iter().sum::<$e>());
                    let gathered = (0..lanes).filter(|lane| lane % 4 != 0).map(|lane| data[39 - 2 * lane]);
                    assert_eq!(out[n + 1], gathered.clone().sum::<$e>());
                    assert_eq!(out[n + 2], gathered.fold(0 as $e, <$e>::max));
                    assert_eq!(out[n + 3], 0 as $e);
                    for (at, word) in out[n + 3..].iter().enumerate().skip(1) {
                        let hit = at % 2 == 1 && at <= 39 && at > 39 - 2 * lanes;
                        assert_eq!(*word, if hit { 7 as $e } else { 0 as $e }, "{isa:?} {n} {at}");
                    }
                }
            }
        }
    )*};
}

memory! {
    doubles_in_memory: f64, load_d store_d gather_d scatter_d select_at_d splat_d add_d reduce_add_d reduce_max_d;
    integers_in_memory: i64, load_l store_l gather_l scatter_l select_at_l splat_l add_l reduce_add_l reduce_max_l;
    words_in_memory: u64, load_q store_q gather_q scatter_q select_at_q splat_q add_q reduce_add_q reduce_max_q;
}

struct Lanes<'a>(&'a mut [f64], &'a mut [f64]);

impl Kernel for Lanes<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let x = s.d_from_i(s.iota_i());
        s.store_d(self.0, 0, Full, s.lanes2_d(s.lanes_d(x, |x| x + 0.5), x, |x, y| x * 2.0 - y));
        s.scatter_add_d(self.1, s.splat_i(1), s.mask_at(Part::new(3)), x);
        s.scatter_add_d(self.1, s.splat_i(2), s.splat_m(true), x);
        s.scatter_add_d(self.1, s.splat_i(-3), s.splat_m(true), x);
    }
}

#[test]
fn lanes_one_by_one() {
    for isa in Isa::available() {
        let (mut out, mut sums) = ([0.0; 16], [10.0; 2]);
        run(isa, Lanes(&mut out, &mut sums));
        for (lane, got) in out.into_iter().enumerate().take(isa.set().lanes()) {
            assert_eq!(got, lane as f64 + 1.0, "{isa:?}");
        }
        assert_eq!(sums, [10.0, 13.0], "{isa:?}");
    }
}

struct Stream<'a>(&'a [f64], &'a mut [f64], usize);

impl Kernel for Stream<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let s = crate::Twice::new(s);
        let skip = s.skip(self.2);
        crate::sweep!(crate::Twice<S>, j, at, self.0.len(), {
            s.fetch(self.0, j + 1000);
            s.stream_d(self.1, j, at, s.load_d(self.0, j, at), skip);
        });
    }
}

#[test]
fn what_goes_past_the_caches_arrives() {
    let from: Vec<f64> = (0..150).map(f64::from).collect();
    for isa in Isa::available() {
        for (start, size) in (0..10).flat_map(|start| [(start, 0), (start, crate::machine::machine().l3)]) {
            let mut to = vec![-1.0; 150 + 40];
            crate::run_streaming(isa, Stream(&from, &mut to[start..start + 150], size));
            assert_eq!(to[start..start + 150], from, "{isa:?} {start} {size}");
            assert!(to[..start].iter().chain(&to[start + 150..]).all(|x| *x == -1.0), "{isa:?} {start} {size}");
        }
    }
}

/// Sets of one result add up in one order, and none fuses.
#[cfg(feature = "deterministic")]
#[test]
fn deterministic_sets_agree() {
    struct All<'a>(&'a [f64], &'a mut Vec<f32>);
    impl Kernel for All<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            for at in (0..N).step_by(S::LANES) {
                let x = s.load_d(self.0, at, Full);
                let y = s.div_d(s.mul_add_d(x, s.splat_d(1.1), x), s.splat_d(3.0));
                let mut words = [0; 16];
                s.store_q(&mut words, 0, Full, s.bits_d(y));
                let sum = s.reduce_add_d(s.select_d(s.lt_d(s.abs_d(y), s.splat_d(1e9)), y, s.splat_d(0.1)));
                for bits in words.into_iter().chain([sum.to_bits()]) {
                    let bits = if f64::from_bits(bits).is_nan() { 0 } else { bits };
                    self.1.extend([f32::from_bits(bits as u32 & 0x7f7f_ffff), f32::from_bits((bits >> 32) as u32)]);
                }
            }
        }
    }
    let numbers = |isa| {
        let mut found = vec![];
        run(isa, All(&floats().0, &mut found));
        found
    };
    crate::isa::assert_same_bits(numbers, &"arithmetic on 64-bit lanes");
}
