//! Sums of which several workgroups make parts: of lengths that are no multiples, where parts are empty, with an epilogue, and
//! of numbers that are not finite.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::View;
use precast::prelude::*;
use tests::{gpu, numbers, rows};

model! {
    /// One function for each kind of sum.
    pub struct Sums { conv: Conv2d(2, 5, kernel = 3, padding = 1, stride = 2), output: Linear(5, 3) }

    impl Sums {
        /// A gradient of filters: the terms are images, rows and columns.
        pub fn filters(&self, image: f32[B, 3, 27, 29], cotangent: f32[B, 8, 25, 27]) -> f32[8, 3, 3, 3] {
            grad(|w| sum(conv2d(image, w) * cotangent))(zeros([8, 3, 3, 3]))
        }

        /// A product whose epilogue reads other tensors.
        pub fn products(&self, x: f32[N, 200, 30], y: f32[N, 200, 20], bias: f32[20], rate: f32) -> f32[30, 20] {
            let sums = einsum("nki,nkj->ij", x, y);
            tanh(sums + bias) * rate
        }

        /// A gradient of an embedding: sums of the rows of a named number that have one index, and none beyond the last.
        pub fn entries(&self, index: u32[N], cotangent: f32[N, 44]) -> f32[37, 44] {
            grad(|table| sum(take(table, index) * cotangent))(zeros([37, 44]))
        }

        /// A known length that is a prime number.
        pub fn deep(&self, x: f32[7, 1283], y: f32[1283, 5]) -> f32[7, 5] { matmul(x, y) }

        /// As many results as tiles of the largest size need, none of which they fill.
        pub fn larger(&self, x: f32[N, 21], y: f32[511, 21]) -> f32[N, 511] { einsum("ni,ji->nj", x, y) }

        /// Long sums, which tiles of few results share out among many slices.
        pub fn sliced(&self, x: f32[N, 784], y: f32[128, 784]) -> f32[N, 128] { relu(einsum("ni,ji->nj", x, y)) }

        /// More terms than are added up plainly, of a length that is no multiple of a slab.
        pub fn deepest(&self, x: f32[N, 4133], y: f32[33, 4133]) -> f32[N, 33] { einsum("ni,ji->nj", x, y) }

        /// Images of which four neighbours are in one row, and of which they are not; strides that leave places out.
        pub fn images(&self, x: f32[N, 3920], y: f32[N, 315], w: f32[72, 45], v: f32[5, 648])
            -> (f32[N, 56448], f32[N, 1440], f32[N, 217800])
        {
            let (x, y) = (reshape(x, [N, 5, 28, 28]), reshape(y, [N, 5, 7, 9]));
            let (w, v) = (reshape(w, [72, 5, 3, 3]), reshape(v, [5, 72, 3, 3]));
            let transposed = conv_transpose2d(x, v, stride = 2, padding = 1);
            (flatten(conv2d(x, w, padding = 1)), flatten(conv2d(y, w, stride = 2, padding = 1)), flatten(transposed))
        }

        /// Images of so many channels that sums are made in parts, the more the fewer images there are.
        pub fn channels(&self, x: f32[N, 230, 9, 7], w: f32[16, 230, 3, 3]) -> f32[N, 16, 9, 7] {
            conv2d(x, w, padding = 1) / 20.0
        }

        /// All elements.
        pub fn total(&self, x: f32[R, C]) -> (f32, f32, f32, f32) {
            (mean(square(x)), sum(x), max(x, axis = [0, 1]), min(x, axis = [0, 1]))
        }

        /// Columns of a length that is a prime number.
        pub fn columns(&self, x: f32[1283, 70]) -> (f32[70], f32[70], f32[70]) {
            (sum(x, axis = 0) / 3, max(x, axis = 0), min(x, axis = 0))
        }

        /// As many columns as a call has, of a length that it knows too.
        pub fn any_columns(&self, x: f32[R, C]) -> (f32[C], f32[C]) { (sum(x, axis = 0), min(x, axis = 0)) }

        /// Columns that are many, and no multiple of what a workgroup has, with neighbours that are loaded together and without.
        pub fn wide_columns(x: f32[N, 516], y: f32[N, 517]) -> (f32[516], f32[516], f32[517], i32[517]) {
            (sum(x, axis = 0) * 0.5, max(x, axis = 0), sum(y * y, axis = 0), min((y * 1000.0).i32(), axis = 0))
        }

        /// All elements, of which four lie together, in parts that are no longer than others or empty.
        pub fn wide_total(x: f32[N, 516]) -> (f32, f32) { (sum(x), max(x, axis = [0, 1])) }

        /// Columns of a known length, of two axes, and with the place of an extreme.
        pub fn long_columns(x: f32[3, 1201, 520], y: f32[2100, 516]) -> (f32[520], f32[516], u32[516]) {
            (mean(x, axis = [0, 1]), sum(y, axis = 0), argmax(y, axis = 0))
        }

        /// More rows than a side of the grid has workgroups.
        pub fn many_rows(x: f32[R, 64]) -> (f32[R], f32[R, 64]) { (sum(x, axis = 1), softmax(x, axis = 1)) }

        /// Rows of lengths that are no multiples of what a workgroup takes at once.
        pub fn any_rows(x: f32[3, C]) -> (f32[3], f32[3], u32[3], f32[3, C]) {
            (mean(x, axis = 1), max(x, axis = 1), argmin(x, axis = 1), softmax(x, axis = 1))
        }

        /// Sums over what is padded, which end at different places in four rows beside each other, and within four columns.
        pub fn padded(x: f32[R, 1010], y: f32[R, 102]) -> (f32[R, 64], f32[R, 104]) {
            let (blocks, rows) = (pad(x * 2.0, 0, 14, axis = 1), pad(y * 2.0, 0, 2, axis = 1));
            (sum(reshape(blocks, [R, 64, 16]), axis = 2), rows - sum(rows, axis = 1, keepdims = true))
        }

        /// Columns of a length that a call knows.
        pub fn batches(&self, x: f32[N, 100, 9]) -> (f32[9], f32[9], i32[9]) {
            (sum(x, axis = [0, 1]), max(x, axis = [0, 1]), sum(x.i32(), axis = [0, 1]))
        }

        /// A network with gradients of both kinds.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 2, 33, 31], y: f32[B, 3]) -> f32 {
            mse_loss(self.output(mean(relu(self.conv(image)), axis = [2, 3])), y)
        }
    }
}

model! {
    /// Layers whose batches have a larger tile.
    pub struct Wide { hidden: Linear(40, 96), output: Linear(96, 72) }

    impl Wide {
        #[train(Sgd)]
        pub fn loss(&self, x: f32[B, 40], y: f32[B, 72]) -> f32 { mse_loss(self.output(relu(self.hidden(x))), y) }
    }
}

/// Whether numbers agree up to what two orders of additions of so many terms differ by; NaN and infinities are the same.
fn agree(what: &str, on_cpu: &[f32], on_gpu: &[f32], scale: f32) {
    assert_eq!(on_cpu.len(), on_gpu.len());
    for (at, (a, b)) in on_cpu.iter().zip(on_gpu).enumerate() {
        let same = a == b || a.is_nan() && b.is_nan();
        assert!(same || (a - b).abs() <= 2e-6 * scale, "{what}: element {at} is {a} on the CPU, {b} on the GPU");
    }
}

/// So many images of noise, of `H` times `W` in `C` channels.
fn images<const C: usize, const H: usize, const W: usize>(count: usize, seed: u32) -> Vec<[[[f32; W]; H]; C]> {
    let mut all = vec![[[[0.0; W]; H]; C]; count];
    let elements = all.as_flattened_mut().as_flattened_mut().as_flattened_mut();
    elements.copy_from_slice(&numbers(elements.len(), seed));
    all
}

/// So many matrices of noise, times a factor.
fn matrices<const M: usize, const N: usize>(count: usize, seed: u32, factor: f32) -> Vec<[[f32; N]; M]> {
    let mut all = vec![[[0.0; N]; M]; count];
    let elements = all.as_flattened_mut().as_flattened_mut();
    elements.iter_mut().zip(numbers(count * M * N, seed)).for_each(|(x, y)| *x = factor * y);
    all
}

#[test]
fn what_is_padded_ends_where_it_ends() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for count in [1, 5, 700] {
        let (x, y) = (rows::<1010>(count, 21), rows::<102>(count, 22));
        let ((a, b), (c, d)) = (host.padded(&x, &y).unwrap(), net.padded(&x, &y).unwrap());
        agree("blocks of padded rows", a.as_flattened(), c.as_flattened(), 16.0);
        agree("padded rows", b.as_flattened(), d.as_flattened(), 102.0);
    }
}

#[test]
fn images_of_many_channels_have_the_sums_of_f64() {
    let Some(gpu) = gpu() else { return };
    let net = Sums::init(3).on(&gpu).unwrap();
    let mut w = Box::new([[[[0.0; 3]; 3]; 230]; 16]);
    w.as_flattened_mut().as_flattened_mut().as_flattened_mut().copy_from_slice(&numbers(16 * 230 * 9, 24));
    // Of the last number of images there are so many results that sums are not cut.
    for count in [1, 3, 20, 1100] {
        let x = images::<230, 9, 7>(count, 25);
        let found = net.channels(&x, &w).unwrap();
        for at in (0..count * 16 * 63).step_by(1 + count * 16 * 63 / 2000) {
            let (image, filter, row, column) = (at / 63 / 16, at / 63 % 16, at / 7 % 9, at % 7);
            let taps = (0..230).flat_map(|c| (0..3).flat_map(move |i| (0..3).map(move |j| (c, i, j))));
            let inside = taps.filter(|&(_, i, j)| (1..=9).contains(&(row + i)) && (1..=7).contains(&(column + j)));
            let term = |(c, i, j): (usize, usize, usize)| {
                f64::from(w[filter][c][i][j]) * f64::from(x[image][c][row + i - 1][column + j - 1])
            };
            let right = inside.map(term).sum::<f64>() / 20.0;
            let found = f64::from(found[image][filter][row][column]);
            assert!((found - right).abs() < 4e-6, "{count} images, element {at}: {found} instead of {right}");
        }
    }
}

#[test]
fn entries_of_a_table_have_the_same_gradients() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for count in [1, 63, 64, 4099] {
        // Some entries have most of the rows, and some none.
        let index: Vec<u32> = (0..count).map(|n: usize| ((n * n + n / 7) % 31) as u32).collect();
        let cotangent = rows::<44>(count, 23);
        let (a, b) = (host.entries(&index, &cotangent).unwrap(), net.entries(&index, &cotangent).unwrap());
        agree("entries", a.as_flattened(), b.as_flattened(), count as f32);
    }
}

#[test]
fn filters_have_the_same_gradients() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for (batch, broken) in [(1, None), (2, Some(f32::INFINITY)), (5, None), (65, Some(f32::NAN)), (130, None)] {
        let (mut image, cotangent) = (images::<3, 27, 29>(batch, 1), images::<8, 25, 27>(batch, 2));
        if let Some(broken) = broken {
            // The last element of the last image, which some filters never meet.
            image[batch - 1][2][26][28] = broken;
        }
        let on_cpu = host.filters(&image, &cotangent).unwrap();
        let on_gpu = net.filters(&image, &cotangent).unwrap();
        let [a, b] = [&on_cpu, &on_gpu].map(|x| x.as_flattened().as_flattened().as_flattened().to_vec());
        agree(&format!("{batch} images"), &a, &b, (batch * 25 * 27) as f32);
        if broken.is_some() {
            assert!(b.iter().any(|x| x.is_finite()) && b.iter().any(|x| !x.is_finite()), "{b:?}");
        }
    }
}

#[test]
fn products_are_the_same_with_their_epilogue() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    let bias: [f32; 20] = std::array::from_fn(|k| k as f32 / 20.0 - 0.5);
    for batch in [1, 3, 64, 129] {
        let (mut x, y) = (matrices::<200, 30>(batch, 3, 1.0), matrices::<200, 20>(batch, 4, 0.005 / batch as f32));
        (x[0][0][7], x[0][0][8]) = (f32::INFINITY, f32::NAN);
        let on_cpu = host.products(&x, &y, &bias, 1.5).unwrap();
        let on_gpu = net.products(&x, &y, &bias, 1.5).unwrap();
        agree(&format!("{batch} products"), on_cpu.as_flattened(), on_gpu.as_flattened(), 1.0);
        assert!(on_gpu[8].iter().all(|x| x.is_nan()) && on_gpu[9].iter().all(|x| x.is_finite()));
    }
    let (rows, terms) = (matrices::<7, 1283>(1, 5, 1.0), matrices::<1283, 5>(1, 6, 1.0));
    let (on_cpu, on_gpu) = (host.deep(&rows[0], &terms[0]).unwrap(), net.deep(&rows[0], &terms[0]).unwrap());
    agree("a prime number of terms", on_cpu.as_flattened(), on_gpu.as_flattened(), 100.0);
}

#[test]
fn large_products_are_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    let y = matrices::<511, 21>(1, 15, 1.0);
    for count in [1, 8201] {
        let x = rows::<21>(count, 16);
        let (on_cpu, on_gpu) = (host.larger(&x, &y[0]).unwrap(), net.larger(&x, &y[0]).unwrap());
        agree(&format!("{count} rows"), on_cpu.as_flattened(), on_gpu.as_flattened(), 21.0);
    }
    let y = rows::<784>(128, 27);
    let y: &[[f32; 784]; 128] = y.as_slice().try_into().unwrap();
    for count in [1, 7, 32, 64, 129, 1100] {
        let x = rows::<784>(count, 28);
        let (on_cpu, on_gpu) = (host.sliced(&x, y).unwrap(), net.sliced(&x, y).unwrap());
        agree(&format!("{count} long rows"), on_cpu.as_flattened(), on_gpu.as_flattened(), 28.0);
    }
    let y = rows::<4133>(33, 17);
    let y: &[[f32; 4133]; 33] = y.as_slice().try_into().unwrap();
    for count in [1, 67, 2100] {
        let x = rows::<4133>(count, 18);
        let (on_cpu, on_gpu) = (host.deepest(&x, y).unwrap(), net.deepest(&x, y).unwrap());
        agree(&format!("{count} deep rows"), on_cpu.as_flattened(), on_gpu.as_flattened(), 64.0);
    }
}

#[test]
fn images_are_read_through_their_windows() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    let (w, v) = (matrices::<72, 45>(1, 21, 1.0), matrices::<5, 648>(1, 22, 1.0));
    for batch in [1, 3, 48] {
        let x = rows::<3920>(batch, 23);
        let y = rows::<315>(batch, 24);
        let (on_cpu, on_gpu) = (host.images(&x, &y, &w[0], &v[0]).unwrap(), net.images(&x, &y, &w[0], &v[0]).unwrap());
        agree("padding", on_cpu.0.as_flattened(), on_gpu.0.as_flattened(), 45.0);
        agree("strides", on_cpu.1.as_flattened(), on_gpu.1.as_flattened(), 45.0);
        agree("transposed", on_cpu.2.as_flattened(), on_gpu.2.as_flattened(), 72.0);
    }
}

#[test]
fn all_elements_are_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for (rows, columns, broken) in
        [(1, 1, None), (1, 1025, None), (3, 1000, Some(f32::NAN)), (257, 1, Some(f32::INFINITY)), (1031, 511, None)]
    {
        let count = rows * columns;
        // Without zeros, or numbers of one sign, which padding would change.
        let mut x: Vec<f32> = numbers(count, 7).iter().map(|x| x - 2.0).collect();
        if let Some(broken) = broken {
            x[count / 2] = broken;
        }
        let view = View::new(&x, [rows, columns]).unwrap();
        let (on_cpu, on_gpu) = (host.total(view).unwrap(), net.total(view).unwrap());
        let what = format!("{rows} × {columns}");
        agree(&what, &[on_cpu.0], &[on_gpu.0], 5.0);
        agree(&what, &[on_cpu.1], &[on_gpu.1], 2.0 * count as f32);
        agree(&what, &[on_cpu.2, on_cpu.3], &[on_gpu.2, on_gpu.3], 0.0);
        if broken.is_none() {
            let sum: f64 = x.iter().map(|&x| f64::from(x)).sum();
            assert!((f64::from(on_gpu.1) / sum - 1.0).abs() < 1e-6, "{what}: {sum}, not {}", on_gpu.1);
        }
    }
}

#[test]
fn columns_are_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    let x = &mut matrices::<1283, 70>(1, 8, 1.0)[0];
    x.as_flattened_mut().iter_mut().for_each(|x| *x -= 2.0);
    (x[1282][3], x[0][4], x[641][5]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
    let (on_cpu, on_gpu) = (host.columns(x).unwrap(), net.columns(x).unwrap());
    agree("sums of columns", &on_cpu.0, &on_gpu.0, 1283.0);
    agree("largest of columns", &on_cpu.1, &on_gpu.1, 0.0);
    agree("smallest of columns", &on_cpu.2, &on_gpu.2, 0.0);
    for batch in [1, 7, 64, 100] {
        let mut x = matrices::<100, 9>(batch, 9, 10.0);
        x.as_flattened_mut().as_flattened_mut().iter_mut().for_each(|x| *x -= 20.0);
        let (on_cpu, on_gpu) = (host.batches(&x).unwrap(), net.batches(&x).unwrap());
        agree("sums of a batch", &on_cpu.0, &on_gpu.0, 2000.0 * batch as f32);
        agree("largest of a batch", &on_cpu.1, &on_gpu.1, 0.0);
        assert_eq!(on_cpu.2, on_gpu.2, "sums of integers");
    }
}

#[test]
fn many_columns_are_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for batch in [1, 7, 8, 9, 65, 1000, 8195] {
        let (mut x, y) = (rows::<516>(batch, 41), rows::<517>(batch, 42));
        x.as_flattened_mut().iter_mut().for_each(|x| *x -= 2.0);
        (x[batch - 1][3], x[batch / 2][515], x[0][8]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY);
        let [a, b] = [host.wide_columns(&x, &y), net.wide_columns(&x, &y)].map(|r| r.unwrap());
        agree("sums of four", &a.0, &b.0, batch as f32);
        agree("largest of four", &a.1, &b.1, 0.0);
        agree("sums of squares", &a.2, &b.2, batch as f32);
        assert_eq!(a.3, b.3, "smallest of {batch}");
        (x[batch - 1][3], x[batch / 2][515], x[0][8]) = (0.5, 3.0, -2.5);
        let [a, b] = [host.wide_total(&x), net.wide_total(&x)].map(|r| r.unwrap());
        agree("sum and largest of all", &[a.0, a.1], &[b.0, b.1], 516.0 * batch as f32);
    }
    let (x, y) = (rows::<520>(3 * 1201, 43), rows::<516>(2100, 44));
    let x: &[[[f32; 520]; 1201]; 3] = x.as_chunks().0.try_into().unwrap();
    let y: &[[f32; 516]; 2100] = y.as_slice().try_into().unwrap();
    let [a, b] = [host.long_columns(x, y), net.long_columns(x, y)].map(|r| r.unwrap());
    agree("means of planes", &a.0, &b.0, 1.0);
    agree("sums of a known length", &a.1, &b.1, 100.0);
    assert_eq!(a.2, b.2);
}

#[test]
fn any_number_of_rows_is_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for count in [1, 65_535, 65_536, 70_001] {
        let x = rows::<64>(count, 45);
        let [a, b] = [host.many_rows(&x), net.many_rows(&x)].map(|r| r.unwrap());
        agree(&format!("{count} rows"), &a.0, &b.0, 16.0);
        agree(&format!("softmax of {count} rows"), a.1.as_flattened(), b.1.as_flattened(), 1.0);
    }
    for length in [1, 15, 255, 257, 4095, 4097, 12_289] {
        let x = numbers(3 * length, 46);
        let view = View::new(&x, [3, length]).unwrap();
        let [a, b] = [host.any_rows(view), net.any_rows(view)].map(|r| r.unwrap());
        agree(&format!("means of {length}"), &a.0, &b.0, 1.0);
        agree(&format!("largest of {length}"), &a.1, &b.1, 0.0);
        assert_eq!(a.2, b.2, "places in {length}");
        agree(&format!("softmax of {length}"), a.3.data(), b.3.data(), 1.0);
    }
}

#[test]
fn any_number_of_columns_is_reduced_to_the_same() {
    let Some(gpu) = gpu() else { return };
    let host = Sums::init(3);
    let net = host.on(&gpu).unwrap();
    for (rows, columns) in [(1, 1), (5, 1), (1, 70_001), (3, 4097), (1000, 3), (4099, 65), (100_003, 2)] {
        let x: Vec<f32> = numbers(rows * columns, 12).iter().map(|x| x + 2.0).collect();
        let view = View::new(&x, [rows, columns]).unwrap();
        let (on_cpu, on_gpu) = (host.any_columns(view).unwrap(), net.any_columns(view).unwrap());
        let what = format!("{rows} × {columns}");
        agree(&what, &on_cpu.0, &on_gpu.0, 2.0 * rows as f32);
        agree(&what, &on_cpu.1, &on_gpu.1, 0.0);
    }
    // Memory grows with the columns, so that fewer of them find room.
    let created = gpu.created();
    for columns in [70_000, 40_000, 4096, 100, 1] {
        let x = vec![1.0; columns];
        let view = View::new(&x, [1, columns]).unwrap();
        assert_eq!(net.any_columns(view).unwrap().0, x);
    }
    assert_eq!(gpu.created(), created, "a call with fewer columns created something on the device");
}

#[test]
fn steps_of_training_are_the_same() {
    let Some(gpu) = gpu() else { return };
    for batch in [1, 3, 70] {
        let mut host = Sums::init(3);
        let mut net = host.on(&gpu).unwrap();
        let (image, y) = (images::<2, 33, 31>(batch, 10), matrices::<1, 3>(batch, 11, 1.0));
        let y = y.as_flattened();
        let rate = Sgd { rate: 0.3, ..Sgd::default() };
        let (mut on_cpu, mut on_gpu) = (host.trainer(rate.clone()), net.trainer(rate));
        for step in 0..5 {
            let wanted = on_cpu.loss(&image, y).unwrap().value().unwrap();
            let found = on_gpu.loss(&image, y).unwrap().value().unwrap();
            assert!((wanted - found).abs() < 1e-5 * wanted, "{batch}, step {step}: {wanted} and {found} on the GPU");
        }
    }
}

#[test]
fn gradients_are_all_that_is_before_the_update() {
    let Some(gpu) = gpu() else { return };
    for batch in [1, 70, 700] {
        let mut host = Wide::init(4);
        let mut net = host.on(&gpu).unwrap();
        let (x, y) = (rows::<40>(batch, 31), rows::<72>(batch, 32));
        let rate = Sgd { rate: 0.3, ..Sgd::default() };
        let (mut on_cpu, mut on_gpu) = (host.trainer(rate.clone()), net.trainer(rate));
        let flat = |all: Vec<(String, Vec<f32>)>| all.into_iter().flat_map(|(_, values)| values).collect::<Vec<f32>>();
        let wanted = on_cpu.loss_gradients(&x, &y).unwrap();
        let wanted = flat(wanted.iter().map(|(name, _, values)| (name.clone(), values.to_vec())).collect());
        let found = on_gpu.loss_gradients(&x, &y).unwrap();
        let found = flat(found.iter().map(|(name, _, values)| (name.clone(), values.to_vec())).collect());
        assert!(wanted.iter().any(|gradient| gradient.abs() > 1e-4));
        agree(&format!("gradients of {batch}"), &wanted, &found, 1.0);
    }
}
