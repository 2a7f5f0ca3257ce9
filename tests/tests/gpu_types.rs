//! Element types of other than 32 bits on a GPU: every bit pattern is moved and converted as on the CPU, integers of 64 bits are
//! those of Rust, and elements that share a word stay apart, whoever writes them.
#![cfg(all(feature = "gpu", feature = "half"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use core::fmt::Debug;
use precast::__rt::half::{bf16, f16};
use precast::prelude::*;
use tests::{gpu, numbers};

/// A model that moves numbers of each type and converts them.
macro_rules! moves {
    ($($T:ident $same:ident $turned:ident $of_floats:ident $of_integers:ident $to_floats:ident $to_integers:ident;)*) => {
        model! {
            /// Moves and conversions.
            pub struct Moves {}

            impl Moves {
                $(
                    /// The argument.
                    pub fn $same(&self, x: $T[N]) -> $T[N] { x }

                    /// From the end to the front between two more of them, and what is the same there or from the front.
                    pub fn $turned(&self, x: $T[N]) -> ($T[N + 2], $T[N]) {
                        let turned = flip(x, axis = 0);
                        (concat([x[0..1], turned, x[0..1]], axis = 0), where(x == turned, x, turned))
                    }

                    /// Of numbers with a fraction.
                    pub fn $of_floats(&self, x: f32[N], y: f16[M], z: bf16[M]) -> ($T[N], $T[M], $T[M]) {
                        (x.$T(), y.$T(), z.$T())
                    }

                    /// Of numbers without.
                    pub fn $of_integers(&self, x: i32[N], y: u32[N], z: i64[N], w: u64[N], b: bool[N])
                        -> ($T[N], $T[N], $T[N], $T[N], $T[N])
                    {
                        (x.$T(), y.$T(), z.$T(), w.$T(), b.$T())
                    }

                    /// To those with a fraction.
                    pub fn $to_floats(&self, x: $T[N]) -> (f32[N], f16[N], bf16[N]) { (x.f32(), x.f16(), x.bf16()) }

                    /// To others.
                    pub fn $to_integers(&self, x: $T[N])
                        -> (bool[N], i8[N], u8[N], i16[N], u16[N], i32[N], u32[N], i64[N], u64[N])
                    {
                        (x.bool(), x.i8(), x.u8(), x.i16(), x.u16(), x.i32(), x.u32(), x.i64(), x.u64())
                    }
                )*
            }
        }

        /// The same functions of a model on the CPU and on a GPU give the same bits.
        trait Agrees: Sized {
            fn agrees(host: &Moves, net: &Moves<Gpu>, values: &[Self]);
        }

        $(
            impl Agrees for $T {
                fn agrees(host: &Moves, net: &Moves<Gpu>, values: &[$T]) {
                    let name = stringify!($T);
                    same(name, &host.$same(values).unwrap(), &net.$same(values).unwrap());
                    let (wanted, found) = (host.$turned(values).unwrap(), net.$turned(values).unwrap());
                    same(name, &wanted.0, &found.0);
                    same(name, &wanted.1, &found.1);
                    let (wanted, found) = (host.$to_floats(values).unwrap(), net.$to_floats(values).unwrap());
                    same(name, &wanted.0, &found.0);
                    same(name, &wanted.1, &found.1);
                    same(name, &wanted.2, &found.2);
                    let (wanted, found) = (host.$to_integers(values).unwrap(), net.$to_integers(values).unwrap());
                    assert_eq!(wanted, found, "{name}");
                    let (x, y, z) = floats();
                    let (wanted, found) = (host.$of_floats(&x, &y, &z).unwrap(), net.$of_floats(&x, &y, &z).unwrap());
                    same(name, &wanted.0, &found.0);
                    same(name, &wanted.1, &found.1);
                    same(name, &wanted.2, &found.2);
                    let (x, y, z, w, b) = integers();
                    let wanted = host.$of_integers(&x, &y, &z, &w, &b).unwrap();
                    let found = net.$of_integers(&x, &y, &z, &w, &b).unwrap();
                    same(name, &wanted.0, &found.0);
                    same(name, &wanted.1, &found.1);
                    same(name, &wanted.2, &found.2);
                    same(name, &wanted.3, &found.3);
                    same(name, &wanted.4, &found.4);
                }
            }
        )*
    };
}

moves! {
    f16 same_f16 turned_f16 floats_to_f16 integers_to_f16 f16_to_floats f16_to_integers;
    bf16 same_bf16 turned_bf16 floats_to_bf16 integers_to_bf16 bf16_to_floats bf16_to_integers;
    i8 same_i8 turned_i8 floats_to_i8 integers_to_i8 i8_to_floats i8_to_integers;
    u8 same_u8 turned_u8 floats_to_u8 integers_to_u8 u8_to_floats u8_to_integers;
    i16 same_i16 turned_i16 floats_to_i16 integers_to_i16 i16_to_floats i16_to_integers;
    u16 same_u16 turned_u16 floats_to_u16 integers_to_u16 u16_to_floats u16_to_integers;
    i64 same_i64 turned_i64 floats_to_i64 integers_to_i64 i64_to_floats i64_to_integers;
    u64 same_u64 turned_u64 floats_to_u64 integers_to_u64 u64_to_floats u64_to_integers;
}

/// The bits of a number. A NaN that a CPU makes quiet when it moves it stays as it is on a GPU: both are taken as quiet.
trait Bits: Copy + Debug {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($float:ty: $quiet:literal,)*; $($integer:ty)*) => {
        $(impl Bits for $float {
            fn bits(self) -> u64 {
                u64::from(if self.is_nan() { self.to_bits() | $quiet } else { self.to_bits() })
            }
        })*
        $(impl Bits for $integer {
            fn bits(self) -> u64 { self as u64 }
        })*
    };
}

bits! { f32: 0x40_0000, f16: 0x200, bf16: 0x40,; i8 u8 i16 u16 i64 u64 }

fn same<T: Bits>(name: &str, wanted: &[T], found: &[T]) {
    assert_eq!(wanted.len(), found.len(), "{name}");
    for (k, (wanted, found)) in wanted.iter().zip(found).enumerate() {
        assert_eq!(wanted.bits(), found.bits(), "{name}: {wanted:?} on the CPU, {found:?} on the GPU at {k}");
    }
}

/// Ends of all ranges, what lies between two numbers of fewer bits, and all that 16 bits are.
fn floats() -> (Vec<f32>, Vec<f16>, Vec<bf16>) {
    let ends = [7, 8, 15, 16, 31, 32, 63, 64].map(|n| 2f32.powi(n));
    let near = |x: f32| [x.next_down(), x, x.next_up(), -x.next_down(), -x, -x.next_up()];
    let mut x: Vec<f32> = ends.into_iter().flat_map(near).collect();
    x.extend([0.0, -0.0, 0.5, -0.5, 1.9, -1.9, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN]);
    x.extend([65504.0, 65519.99, 65520.0, 65536.0, 1e-40, -1e-45, 3.4e38].iter().flat_map(|&x| near(x)));
    let all: Vec<u16> = (0..=u16::MAX).collect();
    // The middle between neighbours, and what is beside it.
    x.extend(all.iter().step_by(7).flat_map(|&bits| near(f16::from_bits(bits).to_f32())));
    let middle = |&bits: &u16| (f16::from_bits(bits).to_f32() + f16::from_bits(bits + 1).to_f32()) / 2.0;
    x.extend(all.iter().step_by(5).filter(|&&bits| bits & 0x7fff < 0x7bff).map(middle).flat_map(near));
    x.extend(all.iter().step_by(5).map(|&bits| f32::from_bits(u32::from(bits) << 16 | 0x8000)).flat_map(near));
    (x, all.iter().map(|&bits| f16::from_bits(bits)).collect(), all.iter().map(|&bits| bf16::from_bits(bits)).collect())
}

/// Integers of each type, and truth values.
type Integers = (Vec<i32>, Vec<u32>, Vec<i64>, Vec<u64>, Vec<bool>);

/// Powers of two, what is beside them, and what lies between two floats.
fn integers() -> Integers {
    let mut all: Vec<u64> = vec![0, 1, 2, 3, 5, 0xffff_ffff_0000_0000, 0x1_0000_0001, 0x8000_0080_0000_0001];
    for n in 0..64 {
        let power = 1u64 << n;
        all.extend([power, power - 1, power + 1, power.wrapping_neg(), power | power >> 24, (power | power >> 24) + 1]);
        all.extend([power | power >> 24 | power >> 25, power | power >> 8, power | power >> 12 | 1]);
    }
    (
        all.iter().map(|&x| x as i32).collect(),
        all.iter().map(|&x| x as u32).collect(),
        all.iter().map(|&x| x as i64).collect(),
        all.clone(),
        all.iter().map(|x| x % 3 == 0).collect(),
    )
}

#[test]
fn every_number_of_16_bits_is_moved_and_converted_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let host = Moves::init(0);
    let net = host.on(&gpu).unwrap();
    let (_, halves, brains) = floats();
    f16::agrees(&host, &net, &halves);
    bf16::agrees(&host, &net, &brains);
    i16::agrees(&host, &net, &(i16::MIN..=i16::MAX).collect::<Vec<_>>());
    u16::agrees(&host, &net, &(0..=u16::MAX).collect::<Vec<_>>());
}

#[test]
fn every_number_of_8_bits_and_many_of_64_are_moved_and_converted_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let host = Moves::init(0);
    let net = host.on(&gpu).unwrap();
    i8::agrees(&host, &net, &(i8::MIN..=i8::MAX).collect::<Vec<_>>());
    u8::agrees(&host, &net, &(0..=u8::MAX).collect::<Vec<_>>());
    let (_, _, signed, unsigned, _) = integers();
    i64::agrees(&host, &net, &signed);
    u64::agrees(&host, &net, &unsigned);
}

#[test]
fn tensors_of_any_length_are_arguments_and_results() {
    let Some(gpu) = gpu() else { return };
    let net = Moves::init(0).on(&gpu).unwrap();
    for len in [1, 2, 3, 4, 5, 7, 63, 64, 65, 129, 1001] {
        let bytes: Vec<i8> = (0..len).map(|k| (k * 37) as i8).collect();
        let shorts: Vec<u16> = (0..len).map(|k| (k * 997) as u16).collect();
        let longs: Vec<i64> = (0..len).map(|k| i64::from(k) << 33 | 5).collect();
        assert_eq!(net.same_i8(&bytes).unwrap(), bytes);
        assert_eq!(net.same_u16(&shorts).unwrap(), shorts);
        assert_eq!(net.same_i64(&longs).unwrap(), longs);
        let mut turned: Vec<u16> = shorts.iter().rev().copied().collect();
        turned.insert(0, shorts[0]);
        turned.push(shorts[0]);
        assert_eq!(net.turned_u16(&shorts).unwrap().0, turned);
        // Three results one after the other, of words, halves of them, and pairs.
        let found = net.f16_to_integers(&[f16::from_f32(-1.5)].repeat(len as usize)).unwrap();
        assert_eq!(found.1, vec![-1; len as usize]);
        assert_eq!(found.4, vec![0; len as usize]);
        assert_eq!(found.7, vec![-1; len as usize]);
    }
}

model! {
    /// Arithmetic of 64 bits.
    pub struct Wide {}

    impl Wide {
        /// What numbers with a sign make.
        pub fn signed(&self, a: i64[N], b: i64[N]) -> (i64[N], i64[N], i64[N], i64[N], i64[N], i64[N], i64[N]) {
            (a + b, a - b, a * b, a / b, a % b, maximum(a, b), minimum(a, b))
        }

        /// What one of them makes.
        pub fn one(&self, a: i64[N]) -> (i64[N], i64[N], i64[N]) { (-a, abs(a), sign(a)) }

        /// How they compare.
        pub fn compared(&self, a: i64[N], b: i64[N], c: u64[N], d: u64[N])
            -> (bool[N], bool[N], bool[N], bool[N], bool[N], bool[N])
        {
            (a < b, a <= b, a == b, a != b, c < d, c >= d)
        }

        /// What numbers without a sign make.
        pub fn unsigned(&self, a: u64[N], b: u64[N]) -> (u64[N], u64[N], u64[N], u64[N], u64[N], u64[N], u64[N]) {
            (a + b, a - b, a * b, a / b, a % b, maximum(a, b), minimum(a, b))
        }

        /// Rows of any length.
        pub fn rows(&self, x: i64[B, N], y: u64[B, N]) -> (i64[B], i64[B], i64[B], u32[B], u32[B], u64[B], u64[B], u32[B]) {
            (sum(x, axis = 1), max(x, axis = 1), min(x, axis = 1), argmax(x, axis = 1), argmin(x, axis = 1),
             prod(y, axis = 1), max(y, axis = 1), argmin(y, axis = 1))
        }

        /// Elements at positions, and many addends into few elements.
        pub fn at(&self, x: i64[M], i: i64[N], u: i64[N]) -> (i64[N], i64[M]) { (take(x, i), index_add(x, i, u)) }
    }
}

#[test]
fn integers_of_64_bits_are_those_of_rust() {
    let Some(gpu) = gpu() else { return };
    let net = Wide::init(0).on(&gpu).unwrap();
    let (_, _, ends, _, _) = integers();
    let ends: Vec<i64> = ends.into_iter().step_by(5).chain([0, -1, i64::MIN, i64::MAX, 10, -3]).collect();
    let (a, b): (Vec<i64>, Vec<i64>) = ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b))).unzip();
    let (c, d): (Vec<u64>, Vec<u64>) = a.iter().zip(&b).map(|(&a, &b)| (a as u64, b as u64)).unzip();
    let (signed, unsigned) = (net.signed(&a, &b).unwrap(), net.unsigned(&c, &d).unwrap());
    let (one, compared) = (net.one(&a).unwrap(), net.compared(&a, &b, &c, &d).unwrap());
    for (k, (a, b)) in a.into_iter().zip(b).enumerate() {
        let found = (signed.0[k], signed.1[k], signed.2[k], signed.3[k], signed.4[k], signed.5[k], signed.6[k]);
        let (quotient, rest) = if b == 0 { (0, 0) } else { (a.wrapping_div(b), a.wrapping_rem(b)) };
        let wanted = (a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b), quotient, rest, a.max(b), a.min(b));
        assert_eq!(found, wanted, "{a} and {b}");
        assert_eq!((one.0[k], one.1[k], one.2[k]), (a.wrapping_neg(), a.wrapping_abs(), a.signum()), "{a}");
        let (c, d) = (a as u64, b as u64);
        let found =
            (unsigned.0[k], unsigned.1[k], unsigned.2[k], unsigned.3[k], unsigned.4[k], unsigned.5[k], unsigned.6[k]);
        let (quotient, rest) = (c.checked_div(d).unwrap_or(0), c.checked_rem(d).unwrap_or(0));
        let wanted = (c.wrapping_add(d), c.wrapping_sub(d), c.wrapping_mul(d), quotient, rest, c.max(d), c.min(d));
        assert_eq!(found, wanted, "{c} and {d}");
        let found = (compared.0[k], compared.1[k], compared.2[k], compared.3[k], compared.4[k], compared.5[k]);
        assert_eq!(found, (a < b, a <= b, a == b, a != b, c < d, c >= d), "{a} and {b}");
    }
}

#[test]
fn rows_of_integers_of_64_bits_are_reduced() {
    let Some(gpu) = gpu() else { return };
    let net = Wide::init(0).on(&gpu).unwrap();
    for (rows, columns) in [(1, 1), (3, 7), (40, 65), (2, 5000)] {
        let noise = numbers(rows * columns, 5);
        let x: Vec<i64> = noise.iter().map(|x| (x * 1e18) as i64 & !7 | i64::from(x.to_bits() & 7)).collect();
        let y: Vec<u64> = x.iter().map(|&x| x as u64 | 1).collect();
        let shape = [rows, columns];
        let (x_view, y_view) = (View::new(&x, shape).unwrap(), View::new(&y, shape).unwrap());
        let found = net.rows(x_view, y_view).unwrap();
        for (row, x) in x.chunks(columns).enumerate() {
            let (most, least) = (x.iter().max().unwrap(), x.iter().min().unwrap());
            let first = |of: &i64| x.iter().position(|x| x == of).unwrap() as u32;
            let found = (found.0[row], found.1[row], found.2[row], found.3[row], found.4[row]);
            let total = x.iter().fold(0i64, |sum, &x| sum.wrapping_add(x));
            assert_eq!(found, (total, *most, *least, first(most), first(least)), "row {row} of {shape:?}");
        }
        for (row, y) in y.chunks(columns).enumerate() {
            let found = (found.5[row], found.6[row], found.7[row] as usize);
            let (most, least) = (y.iter().max().unwrap(), y.iter().min().unwrap());
            let product = y.iter().fold(1u64, |product, &y| product.wrapping_mul(y));
            assert_eq!(found, (product, *most, y.iter().position(|y| y == least).unwrap()), "row {row} of {shape:?}");
        }
    }
    let (x, i) = (vec![1 << 40, -5, 7], vec![2, 0, 1, 1, -1, 3, 1 << 33, 2]);
    let u = vec![1, i64::MAX, 10, 20, 99, 99, 99, -8];
    let (wanted, found) = (Wide::init(0).at(&x, &i, &u).unwrap(), net.at(&x, &i, &u).unwrap());
    assert_eq!(found, wanted);
    assert_eq!(found.1, [(1i64 << 40).wrapping_add(i64::MAX), 25, 0]);
}

model! {
    /// States whose elements share words.
    pub struct Kept {
        state bytes: i8[B, 3],
        state halves: bf16[5],
        state seen: u8[7],
        state total: i64,
    }

    impl Kept {
        /// Adds to each of them.
        pub fn add(&mut self, x: i8[B, 3], h: bf16[5]) -> i64 {
            self.bytes = self.bytes + x;
            self.halves = self.halves + h;
            self.total += 3000000000;
            self.total
        }

        /// Assigns a row.
        pub fn row(&mut self, at: u32, x: i8[3]) -> i8[3] {
            self.bytes[at, _] = x;
            self.bytes[0, _]
        }

        /// Assigns a column, which has one element of a word here and there.
        pub fn column(&mut self, x: i8[B]) -> u8 {
            self.bytes[_, 1] = x;
            self.seen[3] += 1;
            self.halves[2] = 0.5;
            self.seen[3]
        }

        /// Assigns elements that begin with a word and end within one, and such that do neither.
        pub fn parts(&mut self, x: bf16[3], y: u8[3]) {
            self.halves[2..] = x;
            self.seen[2..5] = y;
        }

        /// All that is kept.
        pub fn all(&self) -> (i8[B, 3], bf16[5], u8[7], i64) { (self.bytes, self.halves, self.seen, self.total) }
    }
}

#[test]
fn functions_share_states_whose_elements_share_words() {
    let Some(gpu) = gpu() else { return };
    for len in [1, 2, 3, 5, 43] {
        let host = Kept::init(0);
        let net = host.on(&gpu).unwrap();
        let (mut cpu, mut session) =
            (host.session(KeptDims { B: len }).unwrap(), net.session(KeptDims { B: len }).unwrap());
        let path = std::env::temp_dir().join(format!("precast-gpu-types-{}-{len}.safetensors", std::process::id()));
        let h = [0.1, -0.25, 3.0, 1e20, -7.5].map(bf16::from_f32);
        for turn in 0..4 {
            let x: Vec<[i8; 3]> = (0..len).map(|k| [k as i8, -100, (turn * 50) as i8]).collect();
            assert_eq!(session.add(&x, &h).unwrap(), cpu.add(&x, &h).unwrap());
            let at = turn as u32 % len as u32;
            let row = *cpu.row(at, &[turn as i8, 77, -1]).unwrap();
            assert_eq!(*session.row(at, &[turn as i8, 77, -1]).unwrap(), row);
            let column: Vec<i8> = (0..len).map(|k| (k * 3) as i8 - 9).collect();
            assert_eq!(session.column(&column).unwrap(), cpu.column(&column).unwrap());
            let (x, y) = ([turn as f32, 0.5, -1.0].map(bf16::from_f32), [250, turn as u8, 9]);
            session.parts(&x, &y).unwrap();
            cpu.parts(&x, &y).unwrap();
            if turn == 2 {
                session.save(&path).unwrap();
            }
            assert_eq!(session.all().unwrap(), cpu.all().unwrap(), "turn {turn} of {len} rows");
        }
        let mut other = host.session(KeptDims { B: len }).unwrap();
        other.load(&path).unwrap();
        session.load(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(session.all().unwrap(), other.all().unwrap());
        assert_eq!(session.all().unwrap().3, 9_000_000_000);
        session.reset().unwrap();
        assert_eq!(session.all().unwrap().2, &[0; 7]);
    }
}

model! {
    /// Images in bytes, tables in 16 bits, and what is trained of them.
    pub struct Mixed {
        conv: Conv2d(3, 8, kernel = 3, padding = 1),
        output: Linear(8, 5),
    }

    impl Mixed {
        /// Features of images, in 16 bits.
        pub fn features(&self, image: u8[B, 3, 7, 7]) -> f16[B, 8] {
            let x = relu(self.conv(image.f32() / 255));
            mean(x, axis = [2, 3]).f16()
        }

        /// Scores of words in a table.
        pub fn looked_up(&self, table: bf16[V, 8], ids: u16[B, T]) -> (bf16[B, T, 8], f32[B, 5]) {
            let x = embedding(ids, table);
            (x, self.output(mean(x.f32(), axis = 1)))
        }

        /// Attention of numbers in 16 bits.
        pub fn attended(&self, q: f16[B, T, 8], k: f16[B, T, 8], v: bf16[B, T, 8]) -> bf16[B, T, 8] {
            attend(q.f32(), k.f32(), v.f32(), causal = true).bf16()
        }

        /// Rows of numbers in 16 bits, computed whole and rounded once.
        pub fn rows(&self, x: bf16[B, N], y: i8[B, N]) -> (bf16[B, N], i32[B], i8[B], bf16[B, B], i8[B, N]) {
            (softmax(x), sum(y, axis = 1), max(y, axis = 1), matmul(x, transpose(x)), sort(y, axis = 1))
        }

        /// Cross-entropy of images and labels in bytes.
        #[train(Sgd)]
        pub fn loss(&self, image: u8[B, 3, 7, 7], label: u8[B]) -> f32 {
            let x = relu(self.conv(image.f32() / 255));
            cross_entropy(self.output(mean(x, axis = [2, 3]).bf16().f32()), label)
        }
    }
}

/// Images of noise.
fn images(count: usize) -> Vec<[[[u8; 7]; 7]; 3]> {
    let noise: Vec<u8> = numbers(count * 3 * 49, 2).iter().map(|x| (x * 127.0 + 128.0) as u8).collect();
    noise.as_chunks::<7>().0.as_chunks::<7>().0.as_chunks::<3>().0.to_vec()
}

#[test]
fn networks_take_numbers_of_few_bits() {
    let Some(gpu) = gpu() else { return };
    let mut host = Mixed::init(5);
    let mut net = host.on(&gpu).unwrap();
    let near = |wanted: f32, found: f32, bound: f32| {
        assert!((wanted - found).abs() <= bound * wanted.abs().max(1.0), "{wanted} on the CPU, {found} on the GPU");
    };
    for count in [1, 3, 10] {
        let (wanted, found) = (host.features(&images(count)).unwrap(), net.features(&images(count)).unwrap());
        wanted.as_flattened().iter().zip(found.as_flattened()).for_each(|(a, b)| near(a.to_f32(), b.to_f32(), 2e-3));
        let table: Vec<[bf16; 8]> = (0..300).map(|k| [bf16::from_f32(k as f32 / 7.0 - 20.0); 8]).collect();
        let ids: Vec<u16> = (0..count * 9).map(|k| (k * 31 % 300) as u16).collect();
        let ids = View::new(&ids, [count, 9]).unwrap();
        let (wanted, found) = (host.looked_up(&table, ids).unwrap(), net.looked_up(&table, ids).unwrap());
        assert_eq!(wanted.0.data(), found.0.data());
        wanted.1.as_flattened().iter().zip(found.1.as_flattened()).for_each(|(a, b)| near(*a, *b, 1e-5));
        let halves: Vec<f16> = numbers(count * 9 * 8, 3).into_iter().map(f16::from_f32).collect();
        let brains: Vec<bf16> = numbers(count * 9 * 8, 4).into_iter().map(bf16::from_f32).collect();
        let (q, v) = (halves.as_chunks::<8>().0, brains.as_chunks::<8>().0);
        let (q, v) = (View::new(q, [count, 9]).unwrap(), View::new(v, [count, 9]).unwrap());
        let (wanted, found) = (host.attended(q, q, v).unwrap(), net.attended(q, q, v).unwrap());
        for (a, b) in wanted.data().iter().zip(found.data()) {
            a.iter().zip(b).for_each(|(a, b)| near(a.to_f32(), b.to_f32(), 1e-2));
        }
        let x = View::new(&brains, [count, 72]).unwrap();
        let bytes: Vec<i8> = halves.iter().map(|x| (x.to_f32() * 127.0) as i8).collect();
        let y = View::new(&bytes, [count, 72]).unwrap();
        let (wanted, found) = (host.rows(x, y).unwrap(), net.rows(x, y).unwrap());
        wanted.0.data().iter().zip(found.0.data()).for_each(|(a, b)| near(a.to_f32(), b.to_f32(), 1e-2));
        assert_eq!((wanted.1, wanted.2, wanted.4.data()), (found.1, found.2, found.4.data()));
        wanted.3.data().iter().zip(found.3.data()).for_each(|(a, b)| near(a.to_f32(), b.to_f32(), 1e-2));
    }
    let (images, labels) = (images(12), [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]);
    let (mut cpu, mut trainer) = (host.trainer(Sgd::default()), net.trainer(Sgd::default()));
    for _ in 0..4 {
        let wanted = cpu.loss(&images, &labels).unwrap().value().unwrap();
        near(wanted, trainer.loss(&images, &labels).unwrap().value().unwrap(), 1e-3);
    }
}
