//! Arrays on a GPU: calls that are recorded into an encoder read and write buffers of the program's own, and give what calls give.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast::Error;
use precast::gpu::GpuArray;
use precast::prelude::*;
use tests::{gpu, limited, rows};
use wgpu::BufferUsages;

model! {
    /// Scores, with what else functions may have.
    pub struct Net {
        hidden: Linear(32, 24),
        output: Linear(24, 5),
        state total: f32[5],
    }

    impl Net {
        pub fn scores(&self, x: f32[B, 32]) -> f32[B, 5] { self.output(relu(self.hidden(x))) }

        /// Several arguments, of several shapes and types.
        pub fn mixed(
            &self,
            image: u8[B, T, 3],
            keep: bool[B],
            weights: f32[3],
            scale: f32,
            offset: i32[T],
        ) -> (f32[B, T], bool[B], i32[T]) {
            let grey = sum(cast(image, f32) * weights, axis = -1) * scale;
            (where(unsqueeze(keep, 1), grey, zeros([B, T])), !keep, offset + 1)
        }

        /// More results than have pools of their own.
        pub fn many(&self, x: f32[N]) -> (f32[N], f32[N], f32[N], f32[N], f32[N], f32) {
            (x + 1.0, x * 2.0, x - 3.0, x * x, -x, sum(x))
        }

        /// More arguments than a kernel can bind.
        pub fn sum_of_ten(
            &self, a: f32[N], b: f32[N], c: f32[N], d: f32[N], e: f32[N],
            f: f32[N], g: f32[N], h: f32[N], i: f32[N], j: f32[N],
        ) -> f32[N] {
            a + 2.0 * b + 3.0 * c + 4.0 * d + 5.0 * e + 6.0 * f + 7.0 * g + 8.0 * h + 9.0 * i + 10.0 * j
        }

        pub fn add(&mut self, x: f32[B, 32]) -> f32[5] {
            self.total += sum(self.scores(x), axis = 0);
            self.total
        }

        /// An argument that is empty where `N` is 1.
        pub fn less(&self, x: f32[N, 2], y: f32[N - 1]) -> f32[N] { sum(x, axis = 1) + sum(y) }

        /// One of two kernels, whose workgroups a choice on the device tells.
        pub fn chosen(&self, x: f32[N]) -> f32[N] { if sum(x) > 0.0 { x * 2.0 } else { exp(x) } }

        pub fn rest(&self, x: f32[N, 2], y: f32[2 * N]) -> f32[N] { x[_, 0] + y[..N] }
    }
}

fn near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-5), "{found:?} instead of {expected:?}");
}

/// A buffer of the program's own.
fn buffer(gpu: &Gpu, usage: BufferUsages, size: u64) -> wgpu::Buffer {
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    gpu.device().create_buffer(&descriptor)
}

/// What a device says of a call that it does not record.
fn refused(result: precast::Result<()>) -> String {
    match result {
        Err(Error::Array { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_recorded_call_gives_what_a_call_gives() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    // Two shapes in one encoder, the second one of which needs other tables and more memory than the first.
    let (few, many) = (rows::<32>(3, 1), rows::<32>(700, 2));
    let [x, y] = [&few, &many].map(|rows| GpuArray::from_slice(&gpu, rows).unwrap());
    let [p, q] = [3, 700].map(|count| GpuArray::<[f32; 5]>::new(&gpu, [count]).unwrap());
    gpu.submit(|encoder| {
        session.scores_encode(encoder, &x, &p)?;
        session.scores_encode(encoder, &y, &q)
    })
    .unwrap();
    for (rows, scores) in [(&few, &p), (&many, &q)] {
        near(scores.read().unwrap().as_flattened(), session.scores(rows).unwrap().as_flattened());
    }
    // A call between the recording and the submission, of another shape, changes nothing of what is recorded.
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    q.write(&[[7.0; 5]; 700]).unwrap();
    session.scores_encode(&mut encoder, &y, &q).unwrap();
    let expected = session.scores(&few).unwrap().to_vec();
    x.write(&many[..3]).unwrap();
    session.scores_encode(&mut encoder, &x, &p).unwrap();
    gpu.queue().submit([encoder.finish()]);
    near(q.read().unwrap().as_flattened(), session.scores(&many).unwrap().as_flattened());
    near(p.read().unwrap().as_flattened(), &q.read().unwrap().as_flattened()[..15]);
    near(session.scores(&few).unwrap().as_flattened(), expected.as_flattened());
}

#[test]
fn arrays_are_of_all_types_and_shapes() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let (b, t) = (5, 7);
    let image: Vec<[u8; 3]> = (0..b * t).map(|n| [n as u8, (3 * n) as u8, (7 * n) as u8]).collect();
    let keep = [true, false, true, true, false];
    let (weights, scale, offset) = ([0.3, 0.6, 0.1], 0.5, [-3, -2, -1, 0, 1, 2, 3]);
    let (grey, not, next) = {
        let view = View::new(&image, [b, t]).unwrap();
        let (grey, not, next) = session.mixed(view, &keep, &weights, scale, &offset).unwrap();
        (grey.data().to_vec(), not.to_vec(), next.to_vec())
    };
    let on_gpu = GpuArray::<[u8; 3], 2>::new(&gpu, [b, t]).unwrap();
    on_gpu.write(&image).unwrap();
    let one = GpuArray::<f32, 0>::new(&gpu, []).unwrap();
    one.write(&[scale]).unwrap();
    let three = GpuArray::<[f32; 3], 0>::new(&gpu, []).unwrap();
    three.write(&[weights]).unwrap();
    let keep = GpuArray::from_slice(&gpu, &keep).unwrap();
    let offset = GpuArray::from_slice(&gpu, &offset).unwrap();
    let out0 = GpuArray::<f32, 2>::new(&gpu, [b, t]).unwrap();
    let (out1, out2) = (GpuArray::<bool>::new(&gpu, [b]).unwrap(), GpuArray::<i32>::new(&gpu, [t]).unwrap());
    gpu.submit(|encoder| session.mixed_encode(encoder, &on_gpu, &keep, &three, &one, &offset, &out0, &out1, &out2))
        .unwrap();
    near(&out0.read().unwrap(), &grey);
    assert_eq!((out1.read().unwrap(), out2.read().unwrap()), (not, next));
    assert_eq!((out0.dims(), on_gpu.dims(), one.dims()), ([b, t], [b, t], []));
}

#[test]
fn more_arrays_than_a_kernel_binds_are_copied() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let x: Vec<f32> = rows::<1>(77, 3).concat();
    let arrays: Vec<GpuArray<f32>> = (0..10).map(|_| GpuArray::from_slice(&gpu, &x).unwrap()).collect();
    let [a, b, c, d, e, f, g, h, i, j] = &arrays[..] else { panic!("there are ten") };
    let sum = GpuArray::new(&gpu, [77]).unwrap();
    gpu.submit(|encoder| session.sum_of_ten_encode(encoder, a, b, c, d, e, f, g, h, i, j, &sum)).unwrap();
    near(&sum.read().unwrap(), &x.iter().map(|x| 55.0 * x).collect::<Vec<_>>());
    // The call after it reads its arguments where they lie.
    let total = GpuArray::<f32, 0>::new(&gpu, []).unwrap();
    gpu.submit(|encoder| session.many_encode(encoder, a, b, c, d, e, f, &total)).unwrap();
    let of = |f: fn(f32) -> f32| x.iter().map(|&x| f(x)).collect::<Vec<_>>();
    near(&b.read().unwrap(), &of(|x| x + 1.0));
    near(&c.read().unwrap(), &of(|x| x * 2.0));
    near(&d.read().unwrap(), &of(|x| x - 3.0));
    near(&e.read().unwrap(), &of(|x| x * x));
    near(&f.read().unwrap(), &of(|x| -x));
    near(&total.read().unwrap(), &[x.iter().sum()]);
}

#[test]
fn states_follow_the_order_of_submissions() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let (mut session, mut other) = (net.session(), net.session());
    let rows = rows::<32>(9, 4);
    let x = GpuArray::from_slice(&gpu, &rows).unwrap();
    let total = GpuArray::<[f32; 5], 0>::new(&gpu, []).unwrap();
    for _ in 0..3 {
        gpu.submit(|encoder| {
            session.add_encode(encoder, &x, &total)?;
            session.add_encode(encoder, &x, &total)
        })
        .unwrap();
        other.add(&rows).unwrap();
        let expected = *other.add(&rows).unwrap();
        near(total.read().unwrap().as_flattened(), &expected);
    }
    near(session.add(&rows).unwrap(), other.add(&rows).unwrap());
}

#[test]
fn buffers_of_the_program_are_read_and_written_in_its_own_frame() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let rows = rows::<32>(6, 5);
    let (device, queue) = (gpu.device(), gpu.queue());
    let alignment = device.limits().min_storage_buffer_offset_alignment as u64;
    let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
    let create = |usage| buffer(&gpu, usage, 4096);
    let (source, own, result) =
        (create(usage | BufferUsages::COPY_SRC), create(usage), create(usage | BufferUsages::COPY_SRC));
    let bytes: Vec<u8> = rows.as_flattened().iter().flat_map(|x| x.to_ne_bytes()).collect();
    queue.write_buffer(&source, 0, &bytes);
    let x = GpuArray::<[f32; 32]>::from_buffer(&gpu, &own, 4 * alignment, [6]).unwrap();
    let p = GpuArray::<[f32; 5]>::from_buffer(&gpu, &result, 2 * alignment, [6]).unwrap();
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(&source, 0, &own, x.offset(), 768);
    session.scores_encode(&mut encoder, &x, &p).unwrap();
    encoder.copy_buffer_to_buffer(&result, p.offset(), &source, 0, 120);
    queue.submit([encoder.finish()]);
    let copied = GpuArray::<[f32; 5]>::from_buffer(&gpu, &source, 0, [6]).unwrap();
    let expected = net.scores(&rows).unwrap();
    near(copied.read().unwrap().as_flattened(), expected.as_flattened());
    // What lies before the result is as it was.
    let before = GpuArray::<u32>::from_buffer(&gpu, &result, 0, [alignment as usize / 2]).unwrap();
    assert!(before.read().unwrap().iter().all(|&word| word == 0));
}

#[test]
fn nothing_is_created_for_arrays_that_were_seen() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let x = GpuArray::from_slice(&gpu, &rows::<32>(8, 6)).unwrap();
    let (p, total) = (GpuArray::new(&gpu, [8]).unwrap(), GpuArray::<[f32; 5], 0>::new(&gpu, []).unwrap());
    let mut created = None;
    for _ in 0..3 {
        gpu.submit(|encoder| {
            session.scores_encode(encoder, &x, &p)?;
            session.add_encode(encoder, &x, &total)
        })
        .unwrap();
        session.many(&[1.0, 2.0]).unwrap();
        assert!(created.is_none_or(|created| created == gpu.created()));
        created = Some(gpu.created());
    }
}

#[test]
fn mistakes_are_errors() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let storage = buffer(&gpu, BufferUsages::STORAGE, 2048);
    let array = |buffer: &wgpu::Buffer, offset, count| {
        GpuArray::<[f32; 32]>::from_buffer(&gpu, buffer, offset, [count]).map(|_| ())
    };
    assert!(
        refused(array(&buffer(&gpu, BufferUsages::COPY_DST, 2048), 0, 1))
            .contains("needs the usage STORAGE, but it was made with BufferUsages(COPY_DST)")
    );
    assert!(
        refused(array(&storage, 4, 1))
            .contains("begins at byte 4 of its buffer, but the device asks for a multiple of")
    );
    assert!(refused(array(&storage, 0, 17)).contains("takes 2176 bytes from byte 0 on, and its buffer has 2048"));
    assert!(matches!(array(&storage, 0, usize::MAX / 4), Err(Error::Memory { .. })));
    assert!(matches!(GpuArray::<u8, 2>::new(&gpu, [usize::MAX, 2]), Err(Error::Memory { .. })));
    assert!(matches!(GpuArray::<[f32; 0], 2>::new(&gpu, [usize::MAX, 2]), Err(Error::Memory { .. })));
    let x = GpuArray::<[f32; 32]>::from_buffer(&gpu, &storage, 0, [2]).unwrap();
    let same = GpuArray::<[f32; 5]>::from_buffer(&gpu, &storage, 1024, [2]).unwrap();
    let (p, three) = (GpuArray::<[f32; 5]>::new(&gpu, [2]).unwrap(), GpuArray::<[f32; 5]>::new(&gpu, [3]).unwrap());
    let mut record = |x: &GpuArray<[f32; 32]>, p: &GpuArray<[f32; 5]>| {
        refused(gpu.submit(|encoder| session.scores_encode(encoder, x, p)))
    };
    assert_eq!(record(&x, &three), "the result `out` has the extents [2], and its array [3]");
    assert_eq!(
        record(&x, &same),
        "result 0 of `scores` is written to the buffer of argument 0 of `scores`: it needs one of its own"
    );
    assert!(refused(x.write(&[])).contains("an array of 2 elements was given 0"));
    if let Some(other) = limited(|_| {}) {
        let elsewhere = GpuArray::new(&other, [2]).unwrap();
        assert!(
            record(&x, &elsewhere)
                .contains("the array for result 0 of `scores` was made with a `Gpu` that is neither the model's")
        );
    }
    let none = GpuArray::<[f32; 32]>::new(&gpu, [0]).unwrap();
    let result = gpu.submit(|encoder| session.scores_encode(encoder, &none, &p));
    assert!(matches!(result, Err(Error::Empty { .. } | Error::Dimension { .. })), "{result:?}");
    let (x, y) = (GpuArray::<[f32; 2]>::new(&gpu, [3]).unwrap(), GpuArray::<f32>::new(&gpu, [5]).unwrap());
    let out = GpuArray::new(&gpu, [3]).unwrap();
    let result = gpu.submit(|encoder| session.rest_encode(encoder, &x, &y, &out));
    assert!(matches!(result, Err(Error::Extent { .. })), "{result:?}");
}

#[test]
fn what_the_program_does_wrong_is_told_before_a_call() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let (mut session, x) = (net.session(), rows::<32>(2, 1));
    let once = *session.add(&x).unwrap();
    // The queue may not write this buffer.
    gpu.queue().write_buffer(&buffer(&gpu, BufferUsages::COPY_SRC, 64), 0, &[0; 4]);
    let result = session.add(&x);
    assert!(matches!(&result, Err(Error::Device { reason }) if reason.starts_with("before this call: ")), "{result:?}");
    near(session.add(&x).unwrap(), &once.map(|total| 2.0 * total));
    // An encoder in which a pass is open.
    let open = || {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime();
        (encoder, pass)
    };
    let (mut encoder, _pass) = open();
    let (x, p) = (GpuArray::from_slice(&gpu, &x).unwrap(), GpuArray::new(&gpu, [2]).unwrap());
    let result = session.scores_encode(&mut encoder, &x, &p);
    assert!(matches!(result, Err(Error::Device { .. })), "{result:?}");
    let ten: [GpuArray<f32>; 10] = core::array::from_fn(|_| GpuArray::new(&gpu, [3]).unwrap());
    let [a, b, c, d, e, f, g, h, i, j] = &ten;
    let sum = GpuArray::new(&gpu, [3]).unwrap();
    let (mut encoder, _other) = open();
    let result = session.sum_of_ten_encode(&mut encoder, a, b, c, d, e, f, g, h, i, j, &sum);
    assert!(matches!(result, Err(Error::Device { .. })), "{result:?}");
    // Neither leaves anything behind.
    gpu.submit(|encoder| session.scores_encode(encoder, &x, &p)).unwrap();
    near(p.read().unwrap().as_flattened(), session.scores(&x.read().unwrap()).unwrap().as_flattened());
    // A submission that is refused is told before its results are read.
    let stray = buffer(&gpu, BufferUsages::COPY_DST, 64);
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(&stray, 0, &stray, 0, 64);
    gpu.queue().submit([encoder.finish()]);
    assert!(matches!(p.read(), Err(Error::Device { .. })));
    p.read().unwrap();
}

#[test]
fn what_is_recorded_outlasts_other_calls() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let x = GpuArray::from_slice(&gpu, &[1.5f32; 40_000]).unwrap();
    let y = GpuArray::new(&gpu, [40_000]).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    session.chosen_encode(&mut encoder, &x, &y).unwrap();
    session.scores(&rows::<32>(2, 1)).unwrap();
    near(session.chosen(&[-1.0]).unwrap(), &[(-1f32).exp()]);
    // Another encoder of the same function, of another length, is submitted first.
    let (few, out) = (GpuArray::from_slice(&gpu, &[-2.0f32]).unwrap(), GpuArray::new(&gpu, [1]).unwrap());
    gpu.submit(|encoder| session.chosen_encode(encoder, &few, &out)).unwrap();
    gpu.queue().submit([encoder.finish()]);
    near(&out.read().unwrap(), &[(-2f32).exp()]);
    assert!(y.read().unwrap().iter().all(|&y| y == 3.0));
}

#[test]
fn an_argument_may_be_empty() {
    let Some(gpu) = gpu() else { return };
    let net = Net::init(1).on(&gpu).unwrap();
    let mut session = net.session();
    let x = GpuArray::<[f32; 2]>::from_slice(&gpu, &[[3.0, 4.0]]).unwrap();
    let (y, out) = (GpuArray::<f32>::new(&gpu, [0]).unwrap(), GpuArray::new(&gpu, [1]).unwrap());
    gpu.submit(|encoder| session.less_encode(encoder, &x, &y, &out)).unwrap();
    near(&out.read().unwrap(), &[7.0]);
}
