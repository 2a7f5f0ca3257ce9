//! What `model!` emits for a model in `f64`, as far as it is not what it emits for any other:
//!
//! ```text
//! #[model(precision = f64)]
//! pub struct Line { linear: Linear(2, 1), blocks: [Block; 2], seen: Seen }
//! impl Line {
//!     pub fn predict(&self, x: f64[B, 2]) -> f64[B] { … }
//!     #[train(Sgd)]
//!     pub fn loss(&self, x: f64[B, 2], y: f64[B]) -> f64 { mean(square(self.predict(x) - y)) }
//! }
//! ```
//! where a `Block` has a parameter that nothing trains, and `Seen` the number of batches, as a batch norm has.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
#![allow(dead_code, unreachable_pub)]

use ::precast::__rt as rt;

/// A plane through points.
pub struct Line<D: rt::Device = rt::Cpu> {
    weights: rt::Weights<D, f64>,
}

impl<D: rt::Device> Line<D> {
    /// The height of the plane.
    pub fn predict(&self, x: &[[f64; 2]]) -> rt::Result<rt::Vec<f64>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(self.weights.device(), self.predict_async(x))
    }

    /// As `predict`, without blocking.
    pub async fn predict_async(&self, x: &[[f64; 2]]) -> rt::Result<rt::Vec<f64>> {
        let dims = plan::Predict::bind([x.len()])?;
        let mut out = rt::zeros::<f64>(dims[0])?;
        let inputs = [rt::words(x)];
        self.weights.__emitted_code_only_call::<plan::Predict>(&dims, &inputs, &mut [rt::words_mut(&mut out)]).await?;
        core::result::Result::Ok(out)
    }
}

impl Line<rt::Cpu> {
    /// A model whose parameters are drawn from `seed`.
    pub fn init(seed: u64) -> Self {
        Line { weights: rt::Weights::init::<plan::Plan_>(seed) }
    }

    /// The model of a safetensors file.
    pub fn open(path: impl core::convert::AsRef<rt::Path>) -> rt::Result<Self> {
        core::result::Result::Ok(Line { weights: rt::Weights::open::<plan::Plan_>(&rt::File::new(path))? })
    }

    /// The model of the bytes of a safetensors file.
    pub fn open_bytes(bytes: &[u8]) -> rt::Result<Self> {
        core::result::Result::Ok(Line { weights: rt::Weights::open_bytes::<plan::Plan_>(bytes)? })
    }

    /// The values of one parameter, row-major, to be written.
    pub fn parameter_mut(&mut self, name: &str) -> rt::Result<&mut [f64]> {
        self.weights.parameter_mut(name)
    }
}

impl<D: rt::Device> Line<D> {
    /// A copy on another device.
    pub fn on<E: rt::Blocking>(&self, device: &E) -> rt::Result<Line<E>>
    where
        D: rt::Blocking,
    {
        let weights = self.weights.__emitted_code_only_on_blocking::<plan::Plan_, E>(device)?;
        core::result::Result::Ok(Line { weights })
    }

    /// Overwrites parameters with those of a file.
    pub fn load_from(&mut self, file: &rt::File) -> rt::Result<rt::Unmatched>
    where
        D: rt::Blocking,
    {
        let device = core::clone::Clone::clone(self.weights.device());
        rt::Blocking::wait(&device, self.weights.load(file))
    }

    /// Overwrites one parameter with `values`, row-major.
    pub fn write(&mut self, name: &str, values: &[f64]) -> rt::Result<()>
    where
        D: rt::Blocking,
    {
        let device = core::clone::Clone::clone(self.weights.device());
        rt::Blocking::wait(&device, self.weights.write(name, values))
    }

    /// A session: repeated calls without allocation.
    pub fn session(&self) -> LineSession<'_, D> {
        LineSession { session: rt::Session::new(rt::Shared::Borrowed(self)) }
    }

    /// A trainer, at step 0.
    pub fn trainer<O: rt::Optimizer>(&mut self, optimizer: O) -> LineTrainer<'_, O, D>
    where
        Self: rt::Trained<O>,
    {
        LineTrainer { trainer: rt::Trainer::new(self, optimizer) }
    }
}

impl core::clone::Clone for Line<rt::Cpu> {
    fn clone(&self) -> Self {
        Line { weights: core::clone::Clone::clone(&self.weights) }
    }
}

impl<D: rt::Device> core::fmt::Debug for Line<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(&self.weights, f)
    }
}

impl<D: rt::Device> core::ops::Deref for Line<D> {
    type Target = rt::Weights<D, f64>;

    fn deref(&self) -> &rt::Weights<D, f64> {
        &self.weights
    }
}

#[doc(hidden)]
impl<D: rt::Device> rt::Model for Line<D> {
    type Device = D;
    type Float = f64;

    fn weights(&self) -> &rt::Weights<D, f64> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut rt::Weights<D, f64> {
        &mut self.weights
    }
}

impl<D: rt::Device> rt::Trained<rt::Sgd> for Line<D> {}

/// Repeated calls of one `Line` without allocation.
#[derive(Debug)]
pub struct LineSession<'m, D: rt::Device = rt::Cpu> {
    session: rt::Session<'m, Line<D>>,
}

impl<D: rt::Device> LineSession<'_, D> {
    /// The height of the plane.
    pub fn predict(&mut self, x: &[[f64; 2]]) -> rt::Result<&[f64]>
    where
        D: rt::Blocking,
    {
        let dims = plan::Predict::bind([x.len()])?;
        let device = self.session.device();
        rt::Blocking::wait(&device, self.session.__emitted_code_only_call::<plan::Predict>(&dims, &[rt::words(x)]))?;
        core::result::Result::Ok(rt::values::<f64>(self.session.__emitted_code_only_result::<plan::Predict>(&dims, 0)))
    }
}

/// Trains a `Line`.
#[derive(Debug)]
pub struct LineTrainer<'m, O: rt::Optimizer, D: rt::Device = rt::Cpu> {
    trainer: rt::Trainer<'m, Line<D>, O>,
}

impl<D: rt::Device> LineTrainer<'_, rt::Sgd, D> {
    /// A step of training.
    pub fn loss(&mut self, x: &[[f64; 2]], y: &[f64]) -> rt::Result<rt::Loss<D, f64>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(&self.trainer.device(), self.loss_async(x, y))
    }

    /// As `loss`, without blocking.
    pub async fn loss_async(&mut self, x: &[[f64; 2]], y: &[f64]) -> rt::Result<rt::Loss<D, f64>> {
        let dims = plan::bind([x.len()], [y.len()])?;
        self.trainer.__emitted_code_only_step::<plan::LossSgd>(&dims, &[rt::words(x), rt::words(y)]).await
    }

    /// The gradient of `loss` that the next step would use.
    pub fn loss_gradients(&mut self, x: &[[f64; 2]], y: &[f64]) -> rt::Result<rt::Gradients<Line, f64>>
    where
        D: rt::Blocking,
    {
        let dims = plan::bind([x.len()], [y.len()])?;
        let inputs = [rt::words(x), rt::words(y)];
        let device = self.trainer.device();
        let made = self.trainer.__emitted_code_only_gradients::<plan::LossGradients, _>(&dims, &inputs);
        rt::Blocking::wait(&device, made)
    }
}

impl<'m, O: rt::Optimizer, D: rt::Device> core::ops::Deref for LineTrainer<'m, O, D> {
    type Target = rt::Trainer<'m, Line<D>, O>;

    fn deref(&self) -> &Self::Target {
        &self.trainer
    }
}

impl<O: rt::Optimizer, D: rt::Device> core::ops::DerefMut for LineTrainer<'_, O, D> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.trainer
    }
}

/// The parameters of a `Line` as arrays, or their gradients; those of a repeated block are stacked.
#[allow(clippy::type_complexity, missing_debug_implementations)]
pub struct LineViews<R: rt::Reach> {
    /// The parameters of `linear`.
    pub linear: plan::Fields0_<R::To<[[f64; 2]; 1]>, R::To<[f64; 1]>>,
    /// The parameters of `blocks`.
    pub blocks: plan::Fields1_<R::To<[[f64; 3]; 2]>>,
    /// The parameters of `seen`.
    pub seen: plan::Fields2_<R::To<f64>>,
}

impl Line<rt::Cpu> {
    /// The parameters as arrays.
    pub fn views(&self) -> LineViews<rt::Read<'_>> {
        <Self as rt::Viewed>::of(self.weights.__emitted_code_only_read())
    }

    /// The parameters as arrays to be written.
    pub fn views_mut(&mut self) -> LineViews<rt::Write<'_>> {
        <Self as rt::Viewed>::of(self.weights.__emitted_code_only_write_all())
    }
}

#[doc(hidden)]
impl rt::Viewed for Line<rt::Cpu> {
    type Views<R: rt::Reach> = LineViews<R>;

    fn of<R: rt::Reach>(mut pool: R) -> LineViews<R> {
        LineViews {
            linear: plan::Fields0_ { weight: pool.take(0), bias: pool.take(64) },
            blocks: plan::Fields1_ { gain: pool.take(128) },
            seen: plan::Fields2_ { num_batches_tracked: pool.take(192) },
        }
    }
}

/// What the stages after the face emit, with plain loops for kernels.
#[allow(missing_docs)]
mod plan {
    use super::rt;

    pub struct Fields0_<T0, T1> {
        pub weight: T0,
        pub bias: T1,
    }

    pub struct Fields1_<T0> {
        pub gain: T0,
    }

    pub struct Fields2_<T0> {
        pub num_batches_tracked: T0,
    }

    pub(super) struct Plan_;

    impl rt::Compiled for Plan_ {
        const SPEC: &'static rt::ModelSpec = &SPEC;
        const CPU_ONLY: Option<&'static str> = Some("`Line` has plain loops for kernels");
    }

    const fn parameter(
        name: &'static str,
        shape: &'static [usize],
        offset: usize,
        repeats: &'static [(usize, usize)],
        init: rt::Init,
    ) -> rt::ParameterSpec {
        let spec = rt::ParameterSpec::new(name, shape, offset, repeats, init);
        if offset < 192 { spec } else { spec.untrained() }
    }

    static SPEC: rt::ModelSpec = rt::ModelSpec {
        name: "Line",
        parameters: &[
            parameter("linear.weight", &[1, 2], 0, &[], rt::Init::Uniform { bound: 0.70710677f32 }),
            parameter("linear.bias", &[1], 64, &[], rt::Init::Uniform { bound: 0.70710677f32 }),
            parameter("blocks.*.gain", &[3], 128, &[(2, 3)], rt::Init::Constant(0.1f64)),
            parameter("seen.num_batches_tracked", &[], 192, &[], rt::Init::Zeros),
        ],
        pool_len: 256,
        states: &[],
        session: &[],
    };

    static DIMS: [rt::Dim; 1] = [rt::Dim { name: "B", bound: core::option::Option::None }];

    pub(super) struct Predict;

    impl Predict {
        pub(super) fn bind(x: [usize; 1]) -> rt::Result<[usize; 1]> {
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.name(0, "x", x[0])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    pub(super) fn bind(x: [usize; 1], y: [usize; 1]) -> rt::Result<[usize; 1]> {
        let mut bindings = rt::Bindings::new(&DIMS);
        bindings.name(0, "x", x[0])?;
        bindings.name(0, "y", y[0])?;
        core::result::Result::Ok(bindings.finish())
    }

    impl rt::Function for Predict {
        const NAME: &'static str = "predict";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("GPUs have no f64")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(2)
        }

        fn result(dims: &[usize], _index: usize) -> rt::Place {
            rt::Place { offset: 0, len: 2 * dims[0] }
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let rt::Memory { parameters, inputs, scratch, .. } = memory;
            predict(
                rt::values::<f64>(parameters),
                rt::values::<f64>(inputs[0]),
                &mut rt::values_mut::<f64>(scratch)[..dims[0]],
            );
            core::result::Result::Ok(())
        }
    }

    pub(super) struct LossGradients;

    impl rt::Step for LossGradients {
        const NAME: &'static str = "loss";
        type Optimizer = rt::Sgd;
        type Float = f64;
        const FROZEN: &'static [core::ops::Range<usize>] = &[128..131, 131..134];

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("GPUs have no f64")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            <LossSgd as rt::Step>::scratch(dims)
        }

        fn outcome(dims: &[usize]) -> [usize; 2] {
            <LossSgd as rt::Step>::outcome(dims)
        }

        fn cpu(memory: rt::StepMemory<'_>, dims: &[usize]) -> rt::Result<()> {
            step(memory, dims, false)
        }
    }

    pub(super) struct LossSgd;

    impl rt::Step for LossSgd {
        const NAME: &'static str = "loss";
        type Optimizer = rt::Sgd;
        type Float = f64;
        const FROZEN: &'static [core::ops::Range<usize>] = &[128..131, 131..134];

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("GPUs have no f64")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(2)?.checked_add(4)
        }

        fn outcome(_dims: &[usize]) -> [usize; 2] {
            [2, 0]
        }

        fn cpu(memory: rt::StepMemory<'_>, dims: &[usize]) -> rt::Result<()> {
            step(memory, dims, true)
        }
    }

    fn step(memory: rt::StepMemory<'_>, dims: &[usize], update: bool) -> rt::Result<()> {
        let rt::StepMemory { parameters, gradients, states, numbers, groups, inputs, scratch, .. } = memory;
        let (parameters, gradients) = (rt::values_mut::<f64>(parameters), rt::values_mut::<f64>(gradients));
        let [flag, loss, errors] = rt::parts(scratch, [(0, 1), (2, 2), (4, 2 * dims[0])]);
        let (x, errors) = (rt::values::<f64>(inputs[0]), rt::values_mut::<f64>(errors));
        predict(parameters, x, errors);
        errors.iter_mut().zip(rt::values::<f64>(inputs[1])).for_each(|(error, y)| *error -= y);
        let count = dims[0] as f64;
        let loss = &mut rt::values_mut::<f64>(loss)[0];
        *loss = errors.iter().map(|error| error * error).sum::<f64>() / count;
        let slope = |of: &dyn Fn(usize) -> f64| {
            errors.iter().enumerate().map(|(i, error)| 2.0 * error * of(i)).sum::<f64>() / count
        };
        (gradients[0], gradients[1], gradients[64]) = (slope(&|i| x[2 * i]), slope(&|i| x[2 * i + 1]), slope(&|_| 1.0));
        // As the step of another function may leave it.
        gradients[128..134].fill(7.0);
        flag[0] = 0.0;
        let norm = gradients[..65].iter().map(|g| g * g).sum::<f64>().sqrt();
        if !update || rt::values::<u32>(numbers)[3] != 0 && !(norm.is_finite() && loss.is_finite()) {
            return core::result::Result::Ok(());
        }
        flag[0] = f32::from_bits(1);
        parameters[192] += 1.0;
        let momentum_buffer = rt::values_mut::<f64>(states);
        for at in [0, 1, 64] {
            let group = groups[at / rt::CHUNK] as usize;
            let number = |k: usize| f64::from(numbers[rt::NUMBERS_AT + k * rt::GROUPS + group]);
            let buffer = &mut momentum_buffer[at];
            *buffer = number(1) * *buffer + number(2) * gradients[at];
            parameters[at] -= number(0) * *buffer;
        }
        core::result::Result::Ok(())
    }

    fn predict(parameters: &[f64], x: &[f64], out: &mut [f64]) {
        for (x, out) in x.chunks_exact(2).zip(out) {
            *out = parameters[0] * x[0] + parameters[1] * x[1] + parameters[64];
        }
    }
}
