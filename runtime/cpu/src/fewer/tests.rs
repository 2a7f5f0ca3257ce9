//! Elements of fewer bits on every instruction set.
//!
//! In: slices of every length up to some vectors, at every offset. Out: whether exactly what was asked for is read and written.
//! Always: the slices that are read end where their memory does, so that a sanitizer sees what a test cannot.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::isa::Set;
use crate::{Full, Isa, Kernel, Part, Simd, Twice, run};

/// Every set of this machine, of every family, with the lanes of its vectors.
fn sets() -> Vec<(Set, usize)> {
    let sets = Isa::available().map(Set::Native);
    #[cfg(feature = "deterministic")]
    let sets = sets.chain(Isa::available().map(|isa| Set::Deterministic(isa.into())));
    sets.map(|set| (set, set.lanes())).collect()
}

/// One module of tests for each type of element.
macro_rules! memory {
    ($($name:ident: $e:ty, $load:ident $store:ident $gather:ident $scatter:ident;)*) => {$(
        mod $name {
            use super::*;

            /// Copies elements with 3 added, and what is read as words.
            struct Copy<'a>(&'a [$e], &'a mut [$e], &'a mut [u32], usize, bool);

            impl Copy<'_> {
                #[inline(always)]
                fn all<S: Simd>(self, s: S) {
                    let Copy(from, to, words, start, _) = self;
                    crate::sweep!(S, j, at, from.len() - start, {
                        s.fetch(from, start + j);
                        let v = s.$load(from, start + j, at);
                        s.store_u(words, j, Full, v);
                        // The upper bits are left out.
                        s.$store(to, start + j, at, s.add_u(v, s.splat_u(0xabcd_0003)));
                    });
                }
            }

            impl Kernel for Copy<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    if self.4 { self.all(Twice::new(s)) } else { self.all(s) }
                }
            }

            #[test]
            fn slices() {
                let data: Vec<$e> = (0..80u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 7) as $e).collect();
                for (set, twice) in sets().into_iter().flat_map(|set| [(set, false), (set, true)]) {
                    let lanes = set.1 * if twice { 2 } else { 1 };
                    for (start, count) in (0..5).flat_map(|start| (0..70).map(move |count| (start, count))) {
                        let (from, mut to) = (data[..start + count].to_vec(), [0xe7; 90]);
                        let mut words = [9; 110];
                        run(set.0, Copy(&from, &mut to, &mut words, start, twice));
                        for (at, got) in to.into_iter().enumerate() {
                            let inside = at >= start && at < start + count;
                            let want = if inside { data[at].wrapping_add(3) } else { 0xe7 };
                            assert_eq!(got, want, "{set:?}, {twice}: {at} of {start} and {count}");
                        }
                        let read = count.div_ceil(lanes) * lanes;
                        for (at, got) in words[..read].iter().enumerate() {
                            let want = from.get(start + at).copied().map_or(0, u32::from);
                            assert_eq!(*got, want, "{set:?}, {twice}: {at} of {start} and {count}");
                        }
                    }
                }
            }

            /// Reads and writes at `(at · step + first) mod 64 - 8`, where the lane's number less one is no multiple of three.
            struct Indices<'a>(&'a [$e], &'a mut [$e], &'a mut Vec<u32>, [i32; 2], bool);

            impl Indices<'_> {
                #[inline(always)]
                fn all<S: Simd>(self, s: S) {
                    let [first, step] = self.3;
                    let idx = s.add_i(s.mul_i(s.iota_i(), s.splat_i(step)), s.splat_i(first));
                    let idx = s.sub_i(s.and_i(idx, s.splat_i(63)), s.splat_i(8));
                    let m = s.m_from_u(s.rem_u(s.add_u(s.iota_u(), s.splat_u(2)), s.splat_u(3)));
                    let mut words = [9; 32];
                    s.store_u(&mut words, 0, Full, s.$gather(self.0, idx, m));
                    self.2.extend(&words[..S::LANES]);
                    s.$scatter(self.1, idx, m, s.add_u(s.iota_u(), s.splat_u(0xabcd_0064)));
                    for none in [-1, i32::MIN, i32::MAX, self.0.len() as i32] {
                        s.store_u(&mut words, 0, Full, s.$gather(self.0, s.splat_i(none), s.splat_m(true)));
                        assert!(words[..S::LANES].iter().all(|word| *word == 0));
                    }
                    for none in [-1, i32::MIN, i32::MAX, self.1.len() as i32] {
                        s.$scatter(self.1, s.splat_i(none), s.splat_m(true), s.splat_u(1));
                    }
                    s.$scatter(self.1, s.splat_i(0), s.splat_m(false), s.splat_u(1));
                    s.$scatter(&mut [], s.splat_i(0), s.splat_m(true), s.splat_u(1));
                }
            }

            impl Kernel for Indices<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    if self.4 { self.all(Twice::new(s)) } else { self.all(s) }
                }
            }

            #[test]
            fn indices() {
                let data: Vec<$e> = (0..40u32).map(|n| (n * 6551) as $e).collect();
                for (set, twice) in sets().into_iter().flat_map(|set| [(set, false), (set, true)]) {
                    let lanes = set.1 * if twice { 2 } else { 1 };
                    // Steps of 16 give equal indices, of which the last lane wins.
                    for (first, step) in (0..64).flat_map(|first| [0, 1, 3, 16, 21, 63].map(|step| (first, step))) {
                        let (mut out, mut words) = ([0xe7; 43], vec![]);
                        run(set.0, Indices(&data, &mut out, &mut words, [first, step], twice));
                        let mut want = [0xe7; 43];
                        assert_eq!(words.len(), lanes);
                        for (lane, word) in words.into_iter().enumerate() {
                            let at = (lane as i32 * step + first) % 64 - 8;
                            let at = usize::try_from(at).ok().filter(|_| lane % 3 != 1);
                            let read = at.and_then(|at| data.get(at)).copied().map_or(0, u32::from);
                            assert_eq!(word, read, "{set:?}, {twice}: {lane} of {first} and {step}");
                            if let Some(place) = at.and_then(|at| want.get_mut(at)) {
                                *place = 0x64 + lane as $e;
                            }
                        }
                        assert_eq!(out, want, "{set:?}, {twice}: {first} and {step}");
                    }
                }
            }

            struct Beyond<'a>(&'a mut [$e], usize, Option<usize>, bool);

            impl Kernel for Beyond<'_> {
                #[inline(always)]
                fn run<S: Simd>(self, s: S) {
                    let v = s.splat_u(1);
                    match (self.2, self.3) {
                        (None, false) => drop(s.$load(self.0, self.1, Full)),
                        (None, true) => s.$store(self.0, self.1, Full, v),
                        (Some(count), false) => drop(s.$load(self.0, self.1, Part::new(count))),
                        (Some(count), true) => s.$store(self.0, self.1, Part::new(count), v),
                    }
                }
            }

            #[test]
            fn an_access_outside_its_slice_is_stopped() {
                for (set, lanes) in sets() {
                    let indices = [1, 16, 17, usize::MAX, usize::MAX - 15];
                    for (index, stores) in indices.into_iter().flat_map(|n| [(n, false), (n, true)]) {
                        for count in [None, Some(lanes), Some(lanes + 9)] {
                            let mut data = [7; 16];
                            let kernel = Beyond(&mut data[..lanes], index, count, stores);
                            assert!(catch_unwind(AssertUnwindSafe(|| run(set, kernel))).is_err(), "{set:?} {index}");
                            assert_eq!(data, [7; 16], "{set:?} {index}");
                        }
                    }
                    let mut data = [7; 16];
                    let kernel = Beyond(&mut data[..1], 0, Some(2), true);
                    assert!(catch_unwind(AssertUnwindSafe(|| run(set, kernel))).is_err(), "{set:?}");
                    run(set, Beyond(&mut data[..3], 1, Some(2), true));
                    run(set, Beyond(&mut data[..3], 3, Some(0), true));
                    assert_eq!(data[..4], [7, 1, 1, 7], "{set:?}");
                }
            }
        }
    )*};
}

memory! {
    bytes: u8, load_b store_b gather_b scatter_b;
    halves: u16, load_h store_h gather_h scatter_h;
}
