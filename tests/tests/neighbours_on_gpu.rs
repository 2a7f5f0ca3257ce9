//! Elements beside each other that one invocation has: rows of lengths that are taken in a few turns, in a loop, or in blocks,
//! and elements whose neighbours are loaded together beside some that are not.
#![cfg(all(feature = "gpu", feature = "half"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::__rt::half::bf16;
use precast::View;
use precast::prelude::*;
use tests::{gpu, numbers, rows};

model! {
    /// Rows and maps.
    pub struct Rows { norm: LayerNorm(768), table: Parameter([50, 96]) }

    impl Rows {
        /// Three turns of 64 invocations, between arguments of lengths that are no multiples of anything.
        pub fn turns(&self, before: f32[3], x: f32[B, 768], behind: f32[5], y: f32[B, 768]) -> (f32[B, 768], f32[B]) {
            (self.norm(x + sum(before)) * y + sum(behind), max(x, axis = 1))
        }

        /// A loop.
        pub fn loops(x: f32[B, 1100]) -> (f32[B, 1100], u32[B], u32[B]) {
            (softmax(x, axis = 1), argmax(x, axis = 1), argmin(x, axis = 1))
        }

        /// Blocks.
        pub fn blocks(x: f32[B, 10000]) -> (f32[B, 10000], f32[B]) { (softmax(x, axis = 1), mean(x, axis = 1)) }

        /// Two axes at once.
        pub fn planes(x: f32[B, 16, 3, 32]) -> (f32[B, 3], u32[B, 3]) {
            (mean(square(x), axis = [1, 3]), argmax(reshape(transpose(x, [0, 2, 1, 3]), [B, 3, 512]), axis = 2))
        }

        /// Columns.
        pub fn columns(x: f32[B, 1024]) -> (f32[1024], f32[1024], u32[1024]) {
            (sum(x, axis = 0), sum(square(x), axis = 0) * 0.5, argmax(x, axis = 0))
        }

        /// Elements of several types, of which some share words.
        pub fn types(x: f32[B, 96], i: i32[B, 96], m: bool[B, 96], h: bf16[B, 96], l: i64[B, 96], o: f32[96])
            -> (f32[B, 96], i32[B, 96], bool[B, 96], i64[B, 96])
        {
            let sum = where(m, x * i.f32(), h.f32() + o);
            (sum + l.f32(), i + 1, x < sum, l + i.i64())
        }

        /// Rows of a table, elements from one on that is no multiple of four, every second one, and columns.
        pub fn moved(&self, at: u32[B], x: f32[B, 194], y: f32[96, B]) -> f32[B, 96] {
            self.table[at] + x[.., 2..98] * 0.5 + reshape(x[.., 0..192], [B, 96, 2])[.., 1] - transpose(y, [1, 0])
        }
    }
}

/// Whether numbers agree up to what two orders of additions differ by.
fn agree(what: &str, on_cpu: &[f32], on_gpu: &[f32], scale: f32) {
    assert_eq!(on_cpu.len(), on_gpu.len());
    for (at, (a, b)) in on_cpu.iter().zip(on_gpu).enumerate() {
        assert!((a - b).abs() <= 4e-6 * scale, "{what}: element {at} is {a} on the CPU, {b} on the GPU");
    }
}

#[test]
fn rows_of_any_length_are_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Rows::init(3);
    let net = host.on(&gpu).unwrap();
    for batch in [1, 5, 70] {
        let (x, y) = (rows::<768>(batch, 1), rows::<768>(batch, 2));
        let (before, behind) = ([0.25, 0.5, -0.125], [1.0, 2.0, 3.0, 4.0, 0.5]);
        let [a, b] = [host.turns(&before, &x, &behind, &y), net.turns(&before, &x, &behind, &y)].map(|r| r.unwrap());
        agree("turns", a.0.as_flattened(), b.0.as_flattened(), 16.0);
        assert_eq!(a.1, b.1);
        let mut x = rows::<1100>(batch, 3);
        // The first of equal ones, in neighbouring invocations and in one.
        (x[0][515], x[0][516], x[0][517], x[0][90]) = (9.0, 9.0, 9.0, -9.0);
        let [a, b] = [host.loops(&x), net.loops(&x)].map(|r| r.unwrap());
        agree("loops", a.0.as_flattened(), b.0.as_flattened(), 1.0);
        assert_eq!((&a.1, &a.2), (&b.1, &b.2));
        assert_eq!((b.1[0], b.2[0]), (515, 90));
        let x = rows::<10000>(batch, 4);
        let [a, b] = [host.blocks(&x), net.blocks(&x)].map(|r| r.unwrap());
        agree("blocks", a.0.as_flattened(), b.0.as_flattened(), 1.0);
        agree("means", &a.1, &b.1, 1.0);
    }
}

#[test]
fn columns_and_planes_are_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Rows::init(3);
    let net = host.on(&gpu).unwrap();
    for batch in [1, 2, 63, 65, 1500] {
        let x = rows::<1024>(batch, 5);
        let [a, b] = [host.columns(&x), net.columns(&x)].map(|r| r.unwrap());
        agree("sums", &a.0, &b.0, batch as f32);
        agree("squares", &a.1, &b.1, batch as f32);
        assert_eq!(a.2, b.2);
    }
    let mut x = vec![[[[0.0; 32]; 3]; 16]; 7];
    let elements = x.as_flattened_mut().as_flattened_mut().as_flattened_mut();
    elements.copy_from_slice(&numbers(elements.len(), 6));
    let [a, b] = [host.planes(&x), net.planes(&x)].map(|r| r.unwrap());
    agree("planes", a.0.as_flattened(), b.0.as_flattened(), 1.0);
    assert_eq!(a.1, b.1);
}

#[test]
fn neighbours_are_loaded_as_they_lie() {
    let Some(gpu) = gpu() else { return };
    let host = Rows::init(3);
    let net = host.on(&gpu).unwrap();
    for batch in [1, 3, 66] {
        let (x, h) = (rows::<96>(batch, 7), rows::<96>(batch, 8));
        let i: Vec<[i32; 96]> = x.iter().map(|row| row.map(|x| (x * 100.0) as i32)).collect();
        let m: Vec<[bool; 96]> = h.iter().map(|row| row.map(|x| x > 0.1)).collect();
        let h: Vec<[bf16; 96]> = h.iter().map(|row| row.map(bf16::from_f32)).collect();
        let l: Vec<[i64; 96]> = i.iter().map(|row| row.map(|i| (i64::from(i) << 33) - 5)).collect();
        let o = rows::<96>(1, 9)[0];
        let [a, b] = [host.types(&x, &i, &m, &h, &l, &o), net.types(&x, &i, &m, &h, &l, &o)].map(|r| r.unwrap());
        assert_eq!(a, b);
        let at: Vec<u32> = (0..batch as u32).map(|n| n * 7 % 50).collect();
        let (x, y) = (rows::<194>(batch, 10), numbers(96 * batch, 11));
        let y = View::new(&y, [96, batch]).unwrap();
        let [a, b] = [host.moved(&at, &x, y), net.moved(&at, &x, y)].map(|r| r.unwrap());
        agree("moved", a.as_flattened(), b.as_flattened(), 1.0);
    }
}
