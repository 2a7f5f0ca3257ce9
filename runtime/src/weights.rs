//! A model's parameters: in comes a specification and a seed, a file, or another device, out come
//! named tensors and a pool that compiled functions read. Always: the pool is one row-major copy of
//! every parameter, and the words between parameters are zero.

use alloc::{string::String, vec, vec::Vec};
use core::{fmt, marker::PhantomData};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use precast_cpu::Words;

use crate::{
    device::{Blocking, Compiled, Cpu, Device, Function},
    error::{Error, Result},
    float::Float,
    foreign::{Foreigns, Supplied},
    init::Init,
    quantized::Quantized,
    spec::{Instance, ModelSpec},
    typed::{Read, Write},
};

/// Bytes of a word.
const WORD: usize = size_of::<f32>();

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

impl<D: Device, T: Float> fmt::Debug for Weights<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {:?}", self.spec.name, self.device)
    }
}

impl<T: Float> Weights<Cpu, T> {
    /// Draws every parameter by its own rule from `seed`.
    #[doc(hidden)]
    pub fn init<C: Compiled>(seed: u64) -> Self {
        let spec = C::SPEC;
        let mut pool = Words::of_model(spec.words::<T>());
        let words = pool.as_mut_slice();
        // The pool is zero already.
        let is_drawn = |instance: &Instance| instance.scales.is_none() && !matches!(instance.spec.init, Init::Zeros);
        for instance in spec.instances().filter(is_drawn) {
            instance.spec.init.fill(seed, &instance.name, instance.values_mut::<T>(words));
        }
        for instance in spec.instances() {
            let Some(scales) = &instance.scales else { continue };
            let mut drawn = vec![T::default(); instance.spec.len()];
            instance.spec.init.fill(seed, &instance.name, &mut drawn);
            // What is drawn is finite.
            let _ = instance.write(scales, words, &drawn);
        }
        Weights::new(spec, Cpu, pool)
    }

    /// Every parameter by its name in PyTorch's `state_dict`, with shape and values, row-major. Those that are stored as
    /// integers are among [`Weights::quantized_parameters`] instead.
    pub fn parameters(&self) -> impl Iterator<Item = (String, &'static [usize], &[T])> {
        let all = self.spec.instances().filter(|instance| instance.scales.is_none());
        all.map(|instance| {
            let values = instance.values(self.pool.as_slice());
            (instance.name, instance.spec.shape, values)
        })
    }

    /// Every parameter that is stored as integers, by its name in PyTorch's `state_dict`, with its shape: those with two axes or
    /// more, in a model with `#[model(parameters = int8)]`.
    pub fn quantized_parameters(&self) -> impl Iterator<Item = (String, &'static [usize], Quantized<'_>)> {
        self.spec.instances().filter_map(|instance| {
            let quantized = instance.quantized(self.pool.as_slice())?;
            Some((instance.name, instance.spec.shape, quantized))
        })
    }

    /// The values of one parameter, row-major.
    ///
    /// # Errors
    /// If no parameter has this name, or it is stored as integers.
    pub fn parameter(&self, name: &str) -> Result<&[T]> {
        Ok(self.spec.find_whole(name)?.values(self.pool.as_slice()))
    }

    /// The integers and scales of one parameter that is stored so.
    ///
    /// # Errors
    /// If no parameter has this name, or its values are floats.
    pub fn quantized_parameter(&self, name: &str) -> Result<Quantized<'_>> {
        let instance = self.spec.find(name)?;
        instance.quantized(self.pool.as_slice()).ok_or_else(|| Error::NotQuantized { name: name.into() })
    }

    /// All parameters, to be lent as arrays.
    #[doc(hidden)]
    #[inline]
    pub fn __emitted_code_only_read(&self) -> Read<'_> {
        Read::new(self.pool.as_slice())
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
        Ok(self.spec.find_whole(name)?.values_mut(self.pool.as_mut_slice()))
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
        let pool = device.pool::<C>(self.host().await?).await?;
        Ok(Weights::new(self.spec, device.clone(), pool).with_foreign(&self.foreign))
    }

    /// A copy on another device; each of the two devices is waited for while it works.
    #[doc(hidden)]
    pub fn __emitted_code_only_on_blocking<C: Compiled, E: Blocking>(&self, device: &E) -> Result<Weights<E, T>>
    where
        D: Blocking,
    {
        let words = self.device.wait(self.host())?;
        let pool = device.wait(device.pool::<C>(words))?;
        Ok(Weights::new(self.spec, device.clone(), pool).with_foreign(&self.foreign))
    }

    /// Overwrites one parameter with `values`, row-major, which are made integers where it is stored so.
    #[doc(hidden)]
    pub async fn write(&mut self, name: &str, values: &[T]) -> Result<()> {
        let instance = self.spec.find(name)?;
        let expected = instance.spec.len();
        if values.len() != expected {
            return Err(Error::ParameterLength { name: name.into(), found: values.len(), expected });
        }
        if let Some(scales) = &instance.scales {
            let (codes, factors) = instance
                .quantize(values)
                .map_err(|number| Error::NotFinite { name: name.into(), number: number.into() })?;
            self.overwrite(instance.offset, &codes).await?;
            return self.overwrite(scales.offset, &factors).await;
        }
        self.overwrite(instance.offset, values).await
    }

    /// Overwrites elements of a type of parameters from element `offset` of the pool on.
    async fn overwrite<E: Pod>(&mut self, offset: usize, values: &[E]) -> Result<()> {
        let (first, bytes): (usize, &[u8]) = (size_of::<E>() * offset, bytemuck::cast_slice(values));
        let words = first / WORD..(first + bytes.len()).div_ceil(WORD);
        // The first word and the last one may have elements of other parameters, too.
        let mut written = vec![0.0; words.len()];
        if bytes.len() < WORD * written.len() {
            self.device.read(&self.pool, words.start, &mut written).await?;
        }
        bytemuck::cast_slice_mut(&mut written)[first % WORD..][..bytes.len()].copy_from_slice(bytes);
        self.device.write(&mut self.pool, words.start, &written).await
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
