//! What `model!` emits for
//!
//! ```text
//! pub struct Net { hidden: Linear(2, 16), output: Linear(16, 2) }
//! impl Net {
//!     pub fn scores(&self, point: f32[B, 2]) -> f32[B, 2] {
//!         self.output(dropout(tanh(self.hidden(point)), 0.1))
//!     }
//!     #[train(AdamW)]
//!     pub fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32 { cross_entropy(self.scores(point), class) }
//! }
//! ```
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
#![allow(dead_code, unreachable_pub)]

use ::precast::__rt as rt;

/// Two classes of points of the plane.
pub struct Net<D: rt::Device = rt::Cpu> {
    weights: rt::Weights<D>,
}

impl<D: rt::Device> Net<D> {
    /// Unnormalised class scores.
    ///
    /// ```text
    /// fn scores(&self, point: f32[B, 2]) -> f32[B, 2]
    /// ```
    /// `B` is at least 1.
    pub fn scores(&self, point: &[[f32; 2]]) -> rt::Result<rt::Vec<[f32; 2]>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(self.weights.device(), self.scores_async(point))
    }

    /// As `scores`, without blocking.
    pub async fn scores_async(&self, point: &[[f32; 2]]) -> rt::Result<rt::Vec<[f32; 2]>> {
        let dims = plan::Scores::bind([point.len()])?;
        let mut out = rt::zeros(dims[0])?;
        self.weights
            .__emitted_code_only_call::<plan::Scores>(&dims, &[rt::words(point)], &mut [rt::words_mut(&mut out)])
            .await?;
        core::result::Result::Ok(out)
    }

    /// As `scores`, into `out`.
    pub fn scores_into(&self, point: &[[f32; 2]], out: &mut [[f32; 2]]) -> rt::Result<()>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(self.weights.device(), self.scores_into_async(point, out))
    }

    /// As `scores`, into `out` and without blocking.
    pub async fn scores_into_async(&self, point: &[[f32; 2]], out: &mut [[f32; 2]]) -> rt::Result<()> {
        let dims = plan::Scores::bind([point.len()])?;
        rt::room("out", out.len(), dims[0])?;
        self.weights
            .__emitted_code_only_call::<plan::Scores>(&dims, &[rt::words(point)], &mut [rt::words_mut(out)])
            .await
    }

    /// Mean cross-entropy over the batch.
    ///
    /// ```text
    /// fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32
    /// ```
    /// `B` is at least 1.
    pub fn loss(&self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<f32>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(self.weights.device(), self.loss_async(point, class))
    }

    /// As `loss`, without blocking.
    pub async fn loss_async(&self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<f32> {
        let dims = plan::Loss::bind([point.len()], [class.len()])?;
        let mut out = [0f32];
        let inputs = [rt::words(point), rt::words(class)];
        self.weights.__emitted_code_only_call::<plan::Loss>(&dims, &inputs, &mut [rt::words_mut(&mut out)]).await?;
        core::result::Result::Ok(out[0])
    }
}

impl Net<rt::Cpu> {
    /// The number of parameters.
    pub const PARAMS: usize = 82;

    /// A model whose parameters are drawn from `seed`.
    pub fn init(seed: u64) -> Self {
        Net { weights: rt::Weights::init::<plan::Net>(seed) }
    }

    /// The model of a safetensors file, or of several with an index.
    ///
    /// # Errors
    /// If the file cannot be read or has other parameters.
    pub fn open(path: impl core::convert::AsRef<rt::Path>) -> rt::Result<Self> {
        Self::open_from(&rt::File::new(path))
    }

    /// The model of a file whose names are other ones.
    ///
    /// # Errors
    /// If the file cannot be read, or lacks parameters or has others, even with its names changed.
    pub fn open_from(file: &rt::File) -> rt::Result<Self> {
        core::result::Result::Ok(Net { weights: rt::Weights::open::<plan::Net>(file)? })
    }

    /// The model of the bytes of a safetensors file.
    ///
    /// # Errors
    /// If the bytes are no such file or have other parameters.
    pub fn open_bytes(bytes: &[u8]) -> rt::Result<Self> {
        core::result::Result::Ok(Net { weights: rt::Weights::open_bytes::<plan::Net>(bytes)? })
    }

    /// The values of one parameter, row-major, to be written.
    ///
    /// # Errors
    /// If no parameter has this name.
    pub fn parameter_mut(&mut self, name: &str) -> rt::Result<&mut [f32]> {
        self.weights.parameter_mut(name)
    }
}

impl<D: rt::Device> Net<D> {
    /// A copy on another device.
    ///
    /// # Errors
    /// If one of the devices is lost or has no memory left.
    pub fn on<E: rt::Device>(&self, device: &E) -> rt::Result<Net<E>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(self.weights.device(), self.on_async(device))
    }

    /// As `on`, without blocking.
    ///
    /// # Errors
    /// As for `on`.
    pub async fn on_async<E: rt::Device>(&self, device: &E) -> rt::Result<Net<E>> {
        core::result::Result::Ok(Net { weights: self.weights.on::<plan::Net, E>(device).await? })
    }

    /// Overwrites all parameters with those of a safetensors file, or of several with an index.
    ///
    /// # Errors
    /// If the file cannot be read or has other parameters; then nothing has changed.
    pub fn load(&mut self, path: impl core::convert::AsRef<rt::Path>) -> rt::Result<()>
    where
        D: rt::Blocking,
    {
        let device = core::clone::Clone::clone(self.weights.device());
        rt::Blocking::wait(&device, self.load_async(path))
    }

    /// As `load`, without blocking.
    ///
    /// # Errors
    /// As for `load`.
    pub async fn load_async(&mut self, path: impl core::convert::AsRef<rt::Path>) -> rt::Result<()> {
        self.load_from_async(&rt::File::new(path)).await.map(core::mem::drop)
    }

    /// Overwrites parameters with those of a file whose names are other ones, or which is not strict, and tells what
    /// only one of the two has.
    ///
    /// # Errors
    /// If the file cannot be read or differs in what it must not; then nothing has changed.
    pub fn load_from(&mut self, file: &rt::File) -> rt::Result<rt::Unmatched>
    where
        D: rt::Blocking,
    {
        let device = core::clone::Clone::clone(self.weights.device());
        rt::Blocking::wait(&device, self.load_from_async(file))
    }

    /// As `load_from`, without blocking.
    ///
    /// # Errors
    /// As for `load_from`.
    pub async fn load_from_async(&mut self, file: &rt::File) -> rt::Result<rt::Unmatched> {
        self.weights.load(file).await
    }

    /// Overwrites one parameter with `values`, row-major.
    ///
    /// # Errors
    /// If no parameter has this name, or it has another number of values.
    pub fn write(&mut self, name: &str, values: &[f32]) -> rt::Result<()>
    where
        D: rt::Blocking,
    {
        let device = core::clone::Clone::clone(self.weights.device());
        rt::Blocking::wait(&device, self.write_async(name, values))
    }

    /// As `write`, without blocking.
    ///
    /// # Errors
    /// As for `write`.
    pub async fn write_async(&mut self, name: &str, values: &[f32]) -> rt::Result<()> {
        self.weights.write(name, values).await
    }

    /// A session: repeated calls without allocation.
    pub fn session(&self) -> NetSession<'_, D> {
        NetSession { session: rt::Session::new(rt::Shared::Borrowed(self)) }
    }

    /// A session that keeps the model alive.
    pub fn shared_session(model: &rt::Arc<Self>) -> NetSession<'static, D> {
        NetSession { session: rt::Session::new(rt::Shared::Counted(core::clone::Clone::clone(model))) }
    }

    /// A trainer, at step 0.
    pub fn trainer<O: rt::Optimizer>(&mut self, optimizer: O) -> NetTrainer<'_, O, D>
    where
        Self: rt::Trained<O>,
    {
        NetTrainer { trainer: rt::Trainer::new(self, optimizer) }
    }
}

impl core::clone::Clone for Net<rt::Cpu> {
    fn clone(&self) -> Self {
        Net { weights: core::clone::Clone::clone(&self.weights) }
    }
}

impl<D: rt::Device> core::fmt::Debug for Net<D> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(&self.weights, f)
    }
}

impl<D: rt::Device> core::ops::Deref for Net<D> {
    type Target = rt::Weights<D>;

    fn deref(&self) -> &rt::Weights<D> {
        &self.weights
    }
}

#[doc(hidden)]
impl<D: rt::Device> rt::Model for Net<D> {
    type Device = D;
    type Float = f32;

    fn weights(&self) -> &rt::Weights<D> {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut rt::Weights<D> {
        &mut self.weights
    }
}

impl<D: rt::Device> rt::Trained<rt::AdamW> for Net<D> {}

/// Repeated calls of one `Net` without allocation.
#[derive(Debug)]
pub struct NetSession<'m, D: rt::Device = rt::Cpu> {
    session: rt::Session<'m, Net<D>>,
}

impl<D: rt::Device> NetSession<'_, D> {
    /// Unnormalised class scores.
    ///
    /// ```text
    /// fn scores(&self, point: f32[B, 2]) -> f32[B, 2]
    /// ```
    /// `B` is at least 1.
    pub fn scores(&mut self, point: &[[f32; 2]]) -> rt::Result<&[[f32; 2]]>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(&self.session.device(), self.scores_async(point))
    }

    /// As `scores`, without blocking.
    pub async fn scores_async(&mut self, point: &[[f32; 2]]) -> rt::Result<&[[f32; 2]]> {
        let dims = plan::Scores::bind([point.len()])?;
        self.session.__emitted_code_only_call::<plan::Scores>(&dims, &[rt::words(point)]).await?;
        core::result::Result::Ok(rt::values(self.session.__emitted_code_only_result::<plan::Scores>(&dims, 0)))
    }

    /// Mean cross-entropy over the batch.
    ///
    /// ```text
    /// fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32
    /// ```
    /// `B` is at least 1.
    pub fn loss(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<f32>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(&self.session.device(), self.loss_async(point, class))
    }

    /// As `loss`, without blocking.
    pub async fn loss_async(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<f32> {
        let dims = plan::Loss::bind([point.len()], [class.len()])?;
        self.session.__emitted_code_only_call::<plan::Loss>(&dims, &[rt::words(point), rt::words(class)]).await?;
        core::result::Result::Ok(rt::scalar(self.session.__emitted_code_only_result::<plan::Loss>(&dims, 0)))
    }
}

impl<'m, D: rt::Device> core::ops::Deref for NetSession<'m, D> {
    type Target = rt::Session<'m, Net<D>>;

    fn deref(&self) -> &Self::Target {
        &self.session
    }
}

/// Trains a `Net`.
#[derive(Debug)]
pub struct NetTrainer<'m, O: rt::Optimizer, D: rt::Device = rt::Cpu> {
    trainer: rt::Trainer<'m, Net<D>, O>,
}

impl<D: rt::Device> NetTrainer<'_, rt::AdamW, D> {
    /// Mean cross-entropy over the batch.
    ///
    /// ```text
    /// fn loss(&self, point: f32[B, 2], class: u32[B]) -> f32
    /// ```
    /// `B` is at least 1.
    pub fn loss(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<rt::Loss<D>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(&self.trainer.device(), self.loss_async(point, class))
    }

    /// As `loss`, without blocking.
    pub async fn loss_async(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<rt::Loss<D>> {
        let dims = plan::Loss::bind([point.len()], [class.len()])?;
        self.trainer.__emitted_code_only_step::<plan::LossAdamW>(&dims, &[rt::words(point), rt::words(class)]).await
    }

    /// The gradient of `loss` that the next step would use.
    pub fn loss_gradients(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<rt::Gradients<Net>>
    where
        D: rt::Blocking,
    {
        rt::Blocking::wait(&self.trainer.device(), self.loss_gradients_async(point, class))
    }

    /// As `loss_gradients`, without blocking.
    pub async fn loss_gradients_async(&mut self, point: &[[f32; 2]], class: &[u32]) -> rt::Result<rt::Gradients<Net>> {
        let dims = plan::Loss::bind([point.len()], [class.len()])?;
        self.trainer
            .__emitted_code_only_gradients::<plan::LossGradients, _>(&dims, &[rt::words(point), rt::words(class)])
            .await
    }
}

impl<'m, O: rt::Optimizer, D: rt::Device> core::ops::Deref for NetTrainer<'m, O, D> {
    type Target = rt::Trainer<'m, Net<D>, O>;

    fn deref(&self) -> &Self::Target {
        &self.trainer
    }
}

impl<O: rt::Optimizer, D: rt::Device> core::ops::DerefMut for NetTrainer<'_, O, D> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.trainer
    }
}

/// The parameters of a `Net` as arrays, or their gradients; those of a repeated block are stacked.
#[allow(clippy::type_complexity, missing_debug_implementations)]
pub struct NetViews<R: rt::Reach> {
    /// The parameters of `hidden`.
    pub hidden: plan::Fields0_<R::To<[[f32; 2]; 16]>, R::To<[f32; 16]>>,
    /// The parameters of `output`.
    pub output: plan::Fields0_<R::To<[[f32; 16]; 2]>, R::To<[f32; 2]>>,
}

impl Net<rt::Cpu> {
    /// The parameters as arrays.
    pub fn views(&self) -> NetViews<rt::Read<'_>> {
        <Self as rt::Viewed>::of(self.weights.__emitted_code_only_read())
    }

    /// The parameters as arrays to be written.
    pub fn views_mut(&mut self) -> NetViews<rt::Write<'_>> {
        <Self as rt::Viewed>::of(self.weights.__emitted_code_only_write_all())
    }
}

#[doc(hidden)]
impl rt::Viewed for Net<rt::Cpu> {
    type Views<R: rt::Reach> = NetViews<R>;

    fn of<R: rt::Reach>(mut pool: R) -> NetViews<R> {
        NetViews {
            hidden: plan::Fields0_ { weight: pool.take(0), bias: pool.take(64) },
            output: plan::Fields0_ { weight: pool.take(128), bias: pool.take(192) },
        }
    }
}

/// What the stages after the face emit. The kernels here are plain loops that keep the shapes of real
/// ones: they read parameters, arguments and scratch memory and write scratch memory.
#[allow(missing_docs)]
mod plan {
    use super::rt;

    pub struct Fields0_<T0, T1> {
        pub weight: T0,
        pub bias: T1,
    }

    pub(super) struct Net;

    impl rt::Compiled for Net {
        const SPEC: &'static rt::ModelSpec = &SPEC;
    }

    static SPEC: rt::ModelSpec = rt::ModelSpec {
        name: "Net",
        parameters: &[
            rt::ParameterSpec::new("hidden.weight", &[16, 2], 0, &[], rt::Init::Uniform { bound: 0.70710677f32 }),
            rt::ParameterSpec::new("hidden.bias", &[16], 64, &[], rt::Init::Uniform { bound: 0.70710677f32 }),
            rt::ParameterSpec::new("output.weight", &[2, 16], 128, &[], rt::Init::Uniform { bound: 0.25f32 }),
            rt::ParameterSpec::new("output.bias", &[2], 192, &[], rt::Init::Uniform { bound: 0.25f32 }),
        ],
        pool_len: 256,
        states: &[],
        session: &[],
    };

    static DIMS: [rt::Dim; 1] = [rt::Dim { name: "B", bound: core::option::Option::None }];

    pub(super) struct Scores;

    impl Scores {
        #[inline]
        pub(super) fn bind(point: [usize; 1]) -> rt::Result<[usize; 1]> {
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.name(0, "point", point[0])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    impl rt::Function for Scores {
        const NAME: &'static str = "scores";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this network was written for the CPU")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(18)
        }

        fn result(dims: &[usize], _index: usize) -> rt::Place {
            rt::Place { offset: 16 * dims[0], len: 2 * dims[0] }
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let rt::Memory { parameters, inputs, scratch, .. } = memory;
            let (hidden, scores) = scratch.split_at_mut(16 * dims[0]);
            forward(parameters, inputs[0], core::option::Option::None, hidden, scores, dims[0]);
            core::result::Result::Ok(())
        }
    }

    pub(super) struct Loss;

    impl Loss {
        #[inline]
        pub(super) fn bind(point: [usize; 1], class: [usize; 1]) -> rt::Result<[usize; 1]> {
            let mut bindings = rt::Bindings::new(&DIMS);
            bindings.name(0, "point", point[0])?;
            bindings.name(0, "class", class[0])?;
            core::result::Result::Ok(bindings.finish())
        }
    }

    impl rt::Function for Loss {
        const NAME: &'static str = "loss";

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this network was written for the CPU")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(18)?.checked_add(1)
        }

        fn result(_dims: &[usize], _index: usize) -> rt::Place {
            rt::Place { offset: 0, len: 1 }
        }

        fn cpu(memory: rt::Memory<'_>, dims: &[usize]) -> rt::Result<()> {
            let rt::Memory { parameters, inputs, scratch, .. } = memory;
            let (loss, rest) = scratch.split_at_mut(1);
            let (hidden, scores) = rest.split_at_mut(16 * dims[0]);
            forward(parameters, inputs[0], core::option::Option::None, hidden, scores, dims[0]);
            loss[0] = cross_entropy(&mut scores[..2 * dims[0]], rt::values::<u32>(inputs[1]));
            core::result::Result::Ok(())
        }
    }

    pub(super) struct LossGradients;

    impl rt::Step for LossGradients {
        const NAME: &'static str = "loss";
        type Optimizer = rt::AdamW;
        type Float = f32;

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this network was written for the CPU")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(18)?.checked_add(2)
        }

        fn outcome(_dims: &[usize]) -> [usize; 2] {
            [0, 1]
        }

        fn cpu(memory: rt::StepMemory<'_>, dims: &[usize]) -> rt::Result<()> {
            let rt::StepMemory { parameters, gradients, numbers, inputs, scratch, .. } = memory;
            backward(parameters, gradients, numbers, inputs, scratch, dims[0]);
            core::result::Result::Ok(())
        }
    }

    pub(super) struct LossAdamW;

    impl rt::Step for LossAdamW {
        const NAME: &'static str = "loss";
        type Optimizer = rt::AdamW;
        type Float = f32;

        rt::if_gpu! {
            fn gpu() -> (&'static rt::gpu::Program, &'static rt::gpu::Plan) {
                unreachable!("this network was written for the CPU")
            }
        }

        fn scratch(dims: &[usize]) -> core::option::Option<usize> {
            dims[0].checked_mul(18)?.checked_add(2)
        }

        fn outcome(_dims: &[usize]) -> [usize; 2] {
            [0, 1]
        }

        fn cpu(memory: rt::StepMemory<'_>, dims: &[usize]) -> rt::Result<()> {
            let rt::StepMemory { parameters, gradients, states, numbers, groups, inputs, scratch, .. } = memory;
            backward(parameters, gradients, numbers, inputs, scratch, dims[0]);
            let norm = gradients.iter().map(|g| g * g).sum::<f32>().sqrt();
            if rt::values::<u32>(numbers)[3] != 0 && !(norm.is_finite() && scratch[0].is_finite()) {
                return core::result::Result::Ok(());
            }
            scratch[1] = f32::from_bits(1);
            let scale = f32::min(1.0, numbers[2] / (norm + 1e-6));
            let (first, second) = states.split_at_mut(parameters.len());
            for at in 0..parameters.len() {
                let number = |k: usize| numbers[rt::NUMBERS_AT + k * rt::GROUPS + groups[at / rt::CHUNK] as usize];
                let gradient = gradients[at] * scale;
                first[at] = number(1) * first[at] + (1.0 - number(1)) * gradient;
                second[at] = number(2) * second[at] + (1.0 - number(2)) * gradient * gradient;
                let root = (second[at] / number(6)).sqrt() + number(3);
                parameters[at] -= number(0) * (number(4) * parameters[at] + first[at] / number(5) / root);
            }
            core::result::Result::Ok(())
        }
    }

    /// One or zero over the share that is kept, from the key of the step.
    fn kept(key: core::option::Option<[u32; 2]>, at: usize) -> f32 {
        let core::option::Option::Some([key0, key1]) = key else { return 1.0 };
        let mixed = (key0 ^ key1.wrapping_mul(0x9e37_79b9) ^ at as u32).wrapping_mul(0x85eb_ca6b);
        if (mixed >> 16).is_multiple_of(10) { 0.0 } else { 1.0 / 0.9 }
    }

    fn forward(
        parameters: &[f32],
        point: &[f32],
        key: core::option::Option<[u32; 2]>,
        hidden: &mut [f32],
        scores: &mut [f32],
        b: usize,
    ) {
        for i in 0..b {
            for j in 0..16 {
                let sum: f32 = (0..2).map(|k| parameters[j * 2 + k] * point[i * 2 + k]).sum();
                hidden[i * 16 + j] = (sum + parameters[64 + j]).tanh();
            }
            for j in 0..2 {
                let term = |k: usize| parameters[128 + j * 16 + k] * hidden[i * 16 + k] * kept(key, i * 16 + k);
                scores[i * 2 + j] = (0..16).map(term).sum::<f32>() + parameters[192 + j];
            }
        }
    }

    /// The loss; `scores` become its gradient.
    fn cross_entropy(scores: &mut [f32], class: &[u32]) -> f32 {
        let mut loss = 0.0;
        let b = class.len() as f32;
        for (row, &class) in scores.chunks_exact_mut(2).zip(class) {
            let largest = f32::max(row[0], row[1]);
            let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
            loss += (sum.ln() + largest - row[class as usize % 2]) / b;
            for (j, x) in row.iter_mut().enumerate() {
                *x = ((*x - largest).exp() / sum - f32::from(u8::from(j == class as usize))) / b;
            }
        }
        loss
    }

    fn backward(
        parameters: &[f32],
        gradients: &mut [f32],
        numbers: &[f32],
        inputs: &[&[f32]],
        scratch: &mut [f32],
        b: usize,
    ) {
        let key = core::option::Option::Some([rt::values::<u32>(numbers)[0], rt::values::<u32>(numbers)[1]]);
        let (outcome, rest) = scratch.split_at_mut(2);
        let (hidden, scores) = rest.split_at_mut(16 * b);
        forward(parameters, inputs[0], key, hidden, scores, b);
        outcome[0] = cross_entropy(&mut scores[..2 * b], rt::values::<u32>(inputs[1]));
        outcome[1] = 0.0;
        gradients.fill(0.0);
        for i in 0..b {
            for k in 0..16 {
                let (value, kept) = (hidden[i * 16 + k], kept(key, i * 16 + k));
                let mut cotangent = 0.0;
                for j in 0..2 {
                    gradients[128 + j * 16 + k] += scores[i * 2 + j] * value * kept;
                    cotangent += scores[i * 2 + j] * parameters[128 + j * 16 + k] * kept;
                }
                cotangent *= 1.0 - value * value;
                gradients[64 + k] += cotangent;
                gradients[k * 2] += cotangent * inputs[0][i * 2];
                gradients[k * 2 + 1] += cotangent * inputs[0][i * 2 + 1];
            }
            for j in 0..2 {
                gradients[192 + j] += scores[i * 2 + j];
            }
        }
    }
}
