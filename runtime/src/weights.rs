//! A model's parameters: in comes a specification and a seed, a file, or another device, out come
//! named tensors and a pool that compiled functions read. Always: the pool is one row-major copy of
//! every parameter, and the words between parameters are zero.

use alloc::{string::String, vec::Vec};
use core::{fmt, marker::PhantomData};
use std::sync::{Mutex, PoisonError};

use precast_cpu::Words;

use crate::{
    device::{Blocking, Compiled, Cpu, Device, Function},
    error::{Error, Result},
    float::Float,
    foreign::{Foreigns, Supplied},
    spec::ModelSpec,
    typed::{Read, Write},
    view,
};

/// What [`crate::__rt`] needs to know of the struct that `model!` emits.
pub trait Model {
    /// Where it runs.
    type Device: Device;

    /// The type of its parameters, gradients and optimiser states.
    type Float: Float;

    /// Its parameters.
    fn weights(&self) -> &Weights<Self::Device, Self::Float>;

    /// Its parameters, to be trained.
    fn weights_mut(&mut self) -> &mut Weights<Self::Device, Self::Float>;
}

/// The parameters of a model on a device, numbers of type `T`. Every model dereferences to its weights.
pub struct Weights<D: Device = Cpu, T: Float = f32> {
    pub(crate) spec: &'static ModelSpec,
    pub(crate) device: D,
    pub(crate) pool: D::Pool,
    /// Workspaces of calls that are over, for the calls to come.
    idle: Mutex<Vec<D::Workspace>>,
    pub(crate) foreign: Foreigns,
    float: PhantomData<fn() -> T>,
}

impl<T: Float> Weights<Cpu, T> {
    /// Draws every parameter by its own rule from `seed`.
    #[doc(hidden)]
    pub fn init<C: Compiled>(seed: u64) -> Self {
        let spec = C::SPEC;
        let mut pool = Words::of_model(spec.words::<T>());
        let all = T::of_words_mut(pool.as_mut_slice());
        for (name, parameter, offset) in spec.instances() {
            parameter.init.fill(seed, &name, &mut all[offset..][..parameter.len()]);
        }
        Weights::new(spec, Cpu, pool)
    }

    /// Every parameter by its name in PyTorch's `state_dict`, with shape and values, row-major.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &'static [usize], &[T])> {
        let all = T::of_words(self.pool.as_slice());
        self.spec
            .instances()
            .map(move |(name, parameter, offset)| (name, parameter.shape, &all[offset..][..parameter.len()]))
    }

    /// The values of one parameter, row-major.
    ///
    /// # Errors
    /// If no parameter has this name.
    pub fn parameter(&self, name: &str) -> Result<&[T]> {
        let (parameter, offset) = self.spec.find(name)?;
        Ok(&T::of_words(self.pool.as_slice())[offset..][..parameter.len()])
    }

    /// All parameters, to be lent as arrays.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_read(&self) -> Read<'_> {
        Read(self.pool.as_slice())
    }

    /// All parameters, to be lent as arrays and written.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_write_all(&mut self) -> Write<'_> {
        Write::new(self.pool.as_mut_slice())
    }

    /// The values of one parameter, to be written.
    #[doc(hidden)]
    pub fn parameter_mut(&mut self, name: &str) -> Result<&mut [T]> {
        let (parameter, offset) = self.spec.find(name)?;
        Ok(&mut T::of_words_mut(self.pool.as_mut_slice())[offset..][..parameter.len()])
    }
}

impl<D: Device, T: Float> Weights<D, T> {
    pub(crate) fn new(spec: &'static ModelSpec, device: D, pool: D::Pool) -> Self {
        let (idle, foreign) = (Mutex::new(Vec::new()), Foreigns::default());
        Weights { spec, device, pool, idle, foreign, float: PhantomData }
    }

    /// Supplies a foreign function.
    #[doc(hidden)]
    pub fn __emitted_code_only_supply(&mut self, number: usize, function: Supplied) {
        self.foreign.supply(number, function);
    }

    /// The same with the foreign functions of another model.
    pub(crate) fn with_foreign(self, foreign: &Foreigns) -> Self {
        Weights { foreign: foreign.clone(), ..self }
    }

    /// The device that holds the parameters.
    pub fn device(&self) -> &D {
        &self.device
    }

    /// A copy on another device.
    #[doc(hidden)]
    pub async fn on<C: Compiled, E: Device>(&self, device: &E) -> Result<Weights<E, T>> {
        let pool = device.pool::<C>(self.host().await?.as_slice()).await?;
        Ok(Weights::new(self.spec, device.clone(), pool).with_foreign(&self.foreign))
    }

    /// A copy on another device; each of the two devices is waited for while it works.
    #[doc(hidden)]
    pub fn __emitted_code_only_on_blocking<C: Compiled, E: Blocking>(&self, device: &E) -> Result<Weights<E, T>>
    where
        D: Blocking,
    {
        let words = self.device.wait(self.host())?;
        let pool = device.wait(device.pool::<C>(words.as_slice()))?;
        Ok(Weights::new(self.spec, device.clone(), pool).with_foreign(&self.foreign))
    }

    /// Overwrites one parameter with `values`, row-major.
    #[doc(hidden)]
    pub async fn write(&mut self, name: &str, values: &[T]) -> Result<()> {
        let (parameter, offset) = self.spec.find(name)?;
        if values.len() != parameter.len() {
            let (found, expected) = (values.len(), parameter.len());
            return Err(Error::ParameterLength { name: name.into(), found, expected });
        }
        self.device.write(&mut self.pool, T::WORDS * offset, view::words(values)).await
    }

    /// A copy of the pool.
    pub(crate) async fn host(&self) -> Result<Words> {
        let mut words = Words::zeroed(self.spec.words::<T>())?;
        self.device.read(&self.pool, 0, words.as_mut_slice()).await?;
        Ok(words)
    }

    /// Runs a function in a recycled workspace and copies its results.
    #[doc(hidden)]
    #[inline]
    pub async fn __emitted_code_only_call<F: Function>(
        &self,
        dims: &[usize],
        inputs: &[&[f32]],
        results: &mut [&mut [f32]],
    ) -> Result<()> {
        let mut workspace = self.idle().pop().unwrap_or_else(|| self.device.workspace(&self.pool));
        let called = self.device.call::<F>(&self.pool, None, &mut workspace, dims, inputs, &self.foreign).await;
        if called.is_ok() {
            for (index, result) in results.iter_mut().enumerate() {
                result.copy_from_slice(self.device.result::<F>(&workspace, dims, index));
            }
        }
        self.idle().push(workspace);
        called
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<D::Workspace>> {
        // A panic elsewhere cannot leave the list half changed.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Float> Clone for Weights<Cpu, T> {
    fn clone(&self) -> Self {
        Weights::new(self.spec, Cpu, self.pool.clone()).with_foreign(&self.foreign)
    }
}

impl<D: Device, T: Float> fmt::Debug for Weights<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {:?}", self.spec.name, self.device)
    }
}
