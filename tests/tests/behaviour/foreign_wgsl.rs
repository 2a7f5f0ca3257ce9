//! Foreign functions with WGSL: on a GPU it runs instead of the closures, which are not even supplied, and says what they
//! say; gradients are functions of the language.

use precast::prelude::*;

model! {
    extern fn swish(x: f32[N, D], beta: f32) -> f32[N, D]
        with wgsl = "
            const one = 1.0;
            fn logistic(x: f32) -> f32 { return one / (one + exp(-x)); }
            fn swish(n: u32, d: u32) -> f32 { return x(n, d) * logistic(beta() * x(n, d)); }
        ", grad = swish_grad;

    fn swish_grad(x: f32[N, D], beta: f32, pull: f32[N, D]) -> (f32[N, D], f32) {
        let s = sigmoid(x * beta);
        let slope = s * (1 - s);
        (pull * (s + x * beta * slope), sum(pull * square(x) * slope))
    }

    extern fn transposed(ids: u32[B, T], by: i32) -> u32[T, B] with wgsl = include_str!("transposed.wgsl");

    extern fn norm(x: f32[2 * N]) -> f32
        with wgsl = "fn norm() -> f32 { var s = 0.0; for (var i = 0u; i < 6u; i++) { s += x(i) * x(i); } return sqrt(s); }";

    extern fn beyond(x: f32[N, 3]) -> f32[N]
        with wgsl = "
            fn beyond(n: u32) -> f32 {
                var lanes = array(1.0, 2.0, 4.0);
                return x(n, 1000000u) + 10.0 * x(4000000000u, 1u) + 0.0 * lanes[n * 1000000u + u32(x(0u, 0u))];
            }
        ";

    struct Block { layer: Linear(5, 5), beta: Parameter([], init = "ones") }
    impl Block {
        fn forward(&self, x: f32[B, 5]) -> f32[B, 5] { x + swish(self.layer(x), self.beta) }
    }

    /// A network with an activation of its own.
    pub struct Swishes { blocks: [Block; 3] }
    impl Swishes {
        pub fn out(&self, x: f32[B, 5], wide: bool) -> f32[B, 5] {
            let mut y = x;
            for block in self.blocks { y = block(y); }
            if wide { y = swish(y, 0.5); }
            y
        }
        pub fn turned(&self, ids: u32[B, T], by: i32) -> u32[T, B] { transposed(ids, by) + transposed(ids + 1, by) }
        pub fn length(&self, x: f32[6]) -> f32 { norm(x) }
        pub fn far(&self, x: f32[B, 3]) -> f32[B] { beyond(x) }
        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 5], wanted: f32[B, 5]) -> f32 {
            let mut y = x;
            for block in self.blocks { y = block(y); }
            mse_loss(y, wanted)
        }
    }
}

fn swish(x: View<'_, f32, 2>, beta: f32, out: &mut [f32]) {
    out.iter_mut().zip(x.data()).for_each(|(out, x)| *out = x / (1.0 + (-beta * x).exp()));
}

fn transposed(ids: View<'_, u32, 2>, by: i32, out: &mut [u32]) {
    let [rows, columns] = ids.dims();
    for b in 0..rows {
        let mut sum = ((rows * columns) as u32).wrapping_add_signed(by);
        for t in 0..columns {
            sum += ids.data()[b * columns + t];
            out[t * rows + b] = sum;
        }
    }
}

fn supplied() -> Swishes {
    let norm = |x: &[f32], out: &mut f32| *out = x.iter().map(|x| x * x).sum::<f32>().sqrt();
    Swishes::init(7).with_swish(swish).with_transposed(transposed).with_norm(norm)
}

fn rows(count: usize, seed: u32) -> Vec<[f32; 5]> {
    crate::numbers(5 * count, seed).as_chunks().0.to_vec()
}

#[test]
fn gradients_in_the_language_are_those_of_the_function() {
    let (mut net, x, wanted) = (supplied(), rows(7, 1), rows(7, 2));
    let mut trainer = net.trainer(AdamW::default());
    let gradients = trainer.loss_gradients(&x, &wanted).unwrap();
    let names = ["blocks.0.layer.weight", "blocks.2.layer.bias", "blocks.1.beta"];
    let found: Vec<Vec<f32>> = names.iter().map(|name| gradients.get(name).unwrap().to_vec()).collect();
    for (name, found) in names.iter().zip(found) {
        for k in [0, found.len() - 1] {
            let at = |step: f32| {
                let mut net = supplied();
                net.parameter_mut(name).unwrap()[k] += step;
                net.loss(&x, &wanted).unwrap()
            };
            let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
            assert!((slope - found[k]).abs() < 2e-3 + 1e-2 * slope.abs(), "{name}[{k}]: {slope} against {}", found[k]);
        }
    }
}

#[test]
fn a_cpu_calls_the_closures() {
    let ids = [3, 1, 4, 1, 5, 9];
    let turned = supplied().turned(View::new(&ids, [2, 3]).unwrap(), -2).unwrap();
    assert_eq!(turned.dims(), [3, 2]);
    let error = Swishes::init(7).length(&[1.0; 6]).unwrap_err().to_string();
    assert_eq!(error, "the foreign function `norm` was not supplied: call `with_norm(…)` first");
    assert_eq!(supplied().length(&[0.0, 3.0, 0.0, 0.0, 4.0, 0.0]).unwrap(), 5.0);
}

#[cfg(feature = "gpu")]
#[test]
fn a_gpu_runs_the_wgsl() {
    let Some(gpu) = tests::gpu() else { return };
    let mut on_cpu = supplied();
    // Without closures: calling one would be an error.
    let mut on_gpu = Swishes::init(7).on(&gpu).unwrap();
    for count in [1, 5, 67] {
        let x = rows(count, 3);
        for wide in [false, true] {
            let pairs = on_cpu.out(&x, wide).unwrap().into_iter().zip(on_gpu.out(&x, wide).unwrap());
            pairs.for_each(|(a, b)| {
                a.iter().zip(b).for_each(|(a, b)| assert!((a - b).abs() < 1e-5, "{a} on the CPU, {b} on the GPU"));
            });
        }
    }
    for [b, t] in [[1, 1], [2, 3], [5, 71]] {
        let ids: Vec<u32> = (0..b * t).map(|n| (n * n % 17) as u32).collect();
        let ids = || View::new(&ids, [b, t]).unwrap();
        assert_eq!(on_cpu.turned(ids(), 4).unwrap().data(), on_gpu.turned(ids(), 4).unwrap().data());
    }
    assert!((on_gpu.length(&[0.0, 3.0, 0.0, 0.0, 4.0, 0.0]).unwrap() - 5.0).abs() < 1e-5);
    let (x, wanted) = (rows(9, 5), rows(9, 6));
    let (mut cpu, mut trainer) = (on_cpu.trainer(AdamW::default()), on_gpu.trainer(AdamW::default()));
    for step in 0..5 {
        let expected = cpu.loss(&x, &wanted).unwrap().value().unwrap();
        let found = trainer.loss(&x, &wanted).unwrap().value().unwrap();
        assert!((expected - found).abs() < 1e-4 * expected, "step {step}: {expected} on the CPU, {found} on the GPU");
    }
}

#[cfg(feature = "gpu")]
#[test]
fn on_a_gpu_positions_end_where_arguments_end() {
    let Some(gpu) = tests::gpu() else { return };
    let model = Swishes::init(7).on(&gpu).unwrap();
    let x = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(model.far(&x).unwrap(), [53.0, 56.0]);
}
