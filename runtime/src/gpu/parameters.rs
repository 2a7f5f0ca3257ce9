//! A model's parameters on a device, with the last copy that the host has seen.
//!
//! Comes in: the parameter pool in the compiler's layout, the same on every back end. Goes out: sessions and trainers
//! that share the resident buffer. Always holds: the host copy is whole, also after the device was lost.

use super::arena::{Arena, create_storage};
use super::device::Gpu;
use super::error::{Result, wrong_length};
use super::pipelines::Pipelines;
use super::program::Program;
use super::session::Session;
use super::training::{Training, copy_out};
use std::sync::{Arc, Mutex, PoisonError};

/// The parameters of one model, resident on a device, and its compiled program.
#[derive(Debug)]
pub struct Parameters {
    gpu: Gpu,
    program: &'static Program,
    pipelines: Arc<Pipelines>,
    buffer: wgpu::Buffer,
    host: Mutex<Vec<f32>>,
}

impl Parameters {
    /// Uploads parameters and compiles the program; waits for the compiler of the device.
    ///
    /// # Errors
    /// [`Error::Device`] if the device is too small for the model, [`Error::Length`] if `words` has a wrong length, else
    /// what the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn new(gpu: &Gpu, program: &'static Program, words: &[f32]) -> Result<Self> {
        pollster::block_on(Self::new_async(gpu, program, words))
    }

    /// [`Parameters::new`] that never blocks on the device.
    ///
    /// # Errors
    /// As [`Parameters::new`].
    pub async fn new_async(gpu: &Gpu, program: &'static Program, words: &[f32]) -> Result<Self> {
        let bytes = (4 * program.weights).next_multiple_of(16).max(16);
        let pipelines = gpu.pipelines(program).await?;
        let buffer = create_storage(gpu, "parameters", bytes).await?;
        let new = Self { gpu: gpu.clone(), program, pipelines, buffer, host: Mutex::default() };
        new.write_async(words).await?;
        Ok(new)
    }

    /// The device that holds them.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Scratch memory and state for calls.
    pub fn session(&self) -> Session {
        Session::new(&self.gpu, self.arena())
    }

    /// Optimiser state and everything else that training steps need.
    ///
    /// # Errors
    /// What the device reports.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn training(&self) -> Result<Training> {
        pollster::block_on(self.training_async())
    }

    /// [`Parameters::training`] that never blocks.
    ///
    /// # Errors
    /// As [`Parameters::training`].
    pub async fn training_async(&self) -> Result<Training> {
        Training::new(&self.gpu, self.arena()).await
    }

    /// Reads the parameters back and keeps a copy; waits for the steps so far.
    ///
    /// # Errors
    /// [`Error::DeviceLost`]; [`Parameters::host`] still has the last copy.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self) -> Result<Vec<f32>> {
        let mapped = pollster::block_on(self.request())?.map(|request| request.wait()).transpose()?;
        self.keep(mapped)
    }

    /// [`Parameters::read`] that never blocks.
    ///
    /// # Errors
    /// As [`Parameters::read`].
    pub async fn read_async(&self) -> Result<Vec<f32>> {
        let mapped = match self.request().await? {
            Some(request) => Some(request.await?),
            None => None,
        };
        self.keep(mapped)
    }

    /// Replaces the parameters, on the device and in the host copy.
    ///
    /// # Errors
    /// [`Error::Length`] if `words` has a wrong length, else what the device reports; then nothing has changed.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn write(&self, words: &[f32]) -> Result<()> {
        pollster::block_on(self.write_async(words))
    }

    /// [`Parameters::write`] that never blocks.
    ///
    /// # Errors
    /// As [`Parameters::write`].
    pub async fn write_async(&self, words: &[f32]) -> Result<()> {
        let (expected, given) = (4 * self.program.weights, 4 * words.len() as u64);
        if expected != given {
            return Err(wrong_length("parameters", expected, given));
        }
        self.gpu.alive()?;
        if !words.is_empty() {
            let write = || self.gpu.queue().write_buffer(&self.buffer, 0, bytemuck::cast_slice(words));
            self.gpu.scoped(write).await?;
        }
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        host.clear();
        host.extend_from_slice(words);
        Ok(())
    }

    /// The last parameters that the host has written or read.
    pub fn host(&self) -> Vec<f32> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn arena(&self) -> Arena {
        Arena::new(&self.gpu, self.program, Arc::clone(&self.pipelines), &self.buffer)
    }

    async fn request(&self) -> Result<Option<super::mapping::Request>> {
        self.gpu.alive()?;
        match self.program.weights {
            0 => Ok(None),
            words => Ok(Some(copy_out(&self.gpu, &self.buffer, "parameters", words as usize).await?)),
        }
    }

    fn keep(&self, mapped: Option<super::mapping::Mapped>) -> Result<Vec<f32>> {
        let words: Vec<f32> = match mapped {
            Some(mapped) => mapped.with(|bytes| bytemuck::pod_collect_to_vec(bytes))?,
            None => Vec::new(),
        };
        self.host.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&words);
        Ok(words)
    }
}
