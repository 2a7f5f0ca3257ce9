//! Parameters on a device, with the last copy of them that the host has seen.
//!
//! Comes in: the words of a parameter pool, laid out as on every device. Goes out: a resident buffer. Always holds: the
//! host's copy is whole, also after the device was lost.

use super::arena::{create_storage, read_back};
use super::device::Gpu;
use crate::Cpu;
use crate::error::Result;
use crate::weights::Weights;
use precast_cpu::Words;
use std::sync::{Mutex, PoisonError};

/// A model's parameters on a device.
#[doc(hidden)]
#[derive(Debug)]
pub struct Resident {
    pub(super) buffer: wgpu::Buffer,
    host: Mutex<Words>,
}

impl Resident {
    pub(super) fn new(gpu: &Gpu, words: Words) -> Result<Self> {
        let buffer = create_storage(gpu, "parameters", words.as_slice().len())?;
        upload(gpu, &buffer, 0, words.as_slice())?;
        Ok(Self { buffer, host: Mutex::new(words) })
    }

    pub(super) fn write(&mut self, gpu: &Gpu, offset: usize, words: &[f32]) -> Result<()> {
        upload(gpu, &self.buffer, offset, words)?;
        self.keep(offset, words);
        gpu.alive()
    }

    pub(super) async fn read(&self, gpu: &Gpu, offset: usize, words: &mut [f32]) -> Result<()> {
        read_back(gpu, &self.buffer, offset, words).await?;
        self.keep(offset, words);
        Ok(())
    }

    pub(super) fn clear(&mut self, gpu: &Gpu) -> Result<()> {
        gpu.scoped(|| {
            let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.clear_buffer(&self.buffer, 0, None);
            gpu.queue().submit([encoder.finish()]);
        })?;
        self.host.lock().unwrap_or_else(PoisonError::into_inner).as_mut_slice().fill(0.0);
        gpu.alive()
    }

    fn keep(&self, offset: usize, words: &[f32]) {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        host.as_mut_slice()[offset..][..words.len()].copy_from_slice(words);
    }
}

/// Writes words into a buffer before whatever is submitted next.
fn upload(gpu: &Gpu, buffer: &wgpu::Buffer, offset: usize, words: &[f32]) -> Result<()> {
    match words.is_empty() {
        true => gpu.alive(),
        false => gpu.scoped(|| gpu.queue().write_buffer(buffer, 4 * offset as u64, bytemuck::cast_slice(words))),
    }
}

impl Weights<Gpu> {
    /// The parameters as the host has last written or read them: what is left when the device is lost.
    pub fn last_copy(&self) -> Weights<Cpu> {
        let host = self.pool.host.lock().unwrap_or_else(PoisonError::into_inner);
        Weights::new(self.spec, Cpu, host.clone()).with_foreign(&self.foreign)
    }
}
