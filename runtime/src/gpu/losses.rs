//! Losses that are read late: a ring of results on the device and handles into it.
//!
//! Comes in: one record per training step, copied by the step's own submit. Goes out: [`Loss`] handles. Always holds: a
//! record is overwritten only after its handle was dropped or has its value; steps wait for nobody otherwise.

use super::arena::{create_staging, create_storage};
use super::device::Gpu;
use super::error::Result;
use super::mapping::{Mapped, Request};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Words of one record: the loss, and 1 where the update was made.
pub(super) const RECORD: usize = 2;
const SLOTS: usize = 1024;

/// The loss of one training step, still on the device until somebody reads it.
#[derive(Clone, Debug)]
pub struct Loss {
    cell: Arc<Cell>,
    ring: Arc<Ring>,
}

impl Loss {
    /// The loss; waits for the step the first time.
    ///
    /// # Errors
    /// [`DeviceLost`](super::Error::DeviceLost) if the device was lost before the value was read.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn value(&self) -> Result<f32> {
        Ok(f32::from_bits(self.record()?[0]))
    }

    /// [`Loss::value`] that never blocks.
    ///
    /// # Errors
    /// As [`Loss::value`].
    pub async fn value_async(&self) -> Result<f32> {
        Ok(f32::from_bits(self.record_async().await?[0]))
    }

    /// All words that the step recorded; waits for the step the first time.
    ///
    /// # Errors
    /// As [`Loss::value`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn record(&self) -> Result<[u32; 2]> {
        if self.cell.record.get().is_none() {
            self.ring.read()?;
        }
        Ok(self.filled())
    }

    /// [`Loss::record`] that never blocks.
    ///
    /// # Errors
    /// As [`Loss::value`].
    pub async fn record_async(&self) -> Result<[u32; 2]> {
        if self.cell.record.get().is_none() {
            self.ring.read_async().await?;
        }
        Ok(self.filled())
    }

    fn filled(&self) -> [u32; RECORD] {
        // A handle exists only for a registered cell, and a read fills every registered cell.
        self.cell.record.get().copied().unwrap_or([f32::NAN.to_bits(), 0])
    }
}

#[derive(Debug)]
struct Cell {
    slot: usize,
    record: OnceLock<[u32; RECORD]>,
}

/// The records of the latest steps.
#[derive(Debug)]
pub(super) struct Ring {
    gpu: Gpu,
    slots: wgpu::Buffer,
    idle: Mutex<Vec<wgpu::Buffer>>,
    cells: Mutex<Vec<Weak<Cell>>>,
}

impl Ring {
    pub(super) async fn new(gpu: &Gpu) -> Result<Self> {
        let bytes = (4 * RECORD * SLOTS) as u64;
        let slots = create_storage(gpu, "losses", bytes).await?;
        let idle = Mutex::new(vec![create_staging(gpu, bytes).await?]);
        Ok(Self { gpu: gpu.clone(), slots, idle, cells: Mutex::new(vec![Weak::new(); SLOTS]) })
    }

    /// The slot of a step.
    pub(super) fn slot(step: u64) -> usize {
        (step % SLOTS as u64) as usize
    }

    /// Whether the slot's present record is still wanted and was not read.
    pub(super) fn is_wanted(&self, slot: usize) -> bool {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells[slot].upgrade().is_some_and(|cell| cell.record.get().is_none())
    }

    /// Records the copy of a step's words, by their places in scratch memory, into its slot.
    pub(super) fn copy(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        scratch: &wgpu::Buffer,
        record: &[Option<u64>; RECORD],
        slot: usize,
    ) {
        for (at, word) in record.iter().enumerate() {
            if let Some(word) = word {
                encoder.copy_buffer_to_buffer(scratch, 4 * word, &self.slots, 4 * (RECORD * slot + at) as u64, 4);
            }
        }
    }

    /// The handle of a step that was submitted.
    pub(super) fn register(self: &Arc<Self>, slot: usize) -> Loss {
        let cell = Arc::new(Cell { slot, record: OnceLock::new() });
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)[slot] = Arc::downgrade(&cell);
        Loss { cell, ring: Arc::clone(self) }
    }

    /// Reads all records that somebody still wants; blocks.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn read(&self) -> Result<()> {
        let (wanted, staging) = pollster::block_on(self.request())?;
        let mapped = Request::new(&self.gpu, &staging, staging.size())?.wait()?;
        self.fill(mapped, &wanted, staging)
    }

    /// [`Ring::read`] that never blocks.
    pub(super) async fn read_async(&self) -> Result<()> {
        let (wanted, staging) = self.request().await?;
        let mapped = Request::new(&self.gpu, &staging, staging.size())?.await?;
        self.fill(mapped, &wanted, staging)
    }

    async fn request(&self) -> Result<(Vec<Arc<Cell>>, wgpu::Buffer)> {
        self.gpu.alive()?;
        let wanted = self.wanted();
        // Several readers at once each need a buffer of their own; a finished reader leaves its buffer to the next.
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let staging = match idle {
            Some(staging) => staging,
            None => create_staging(&self.gpu, self.slots.size()).await?,
        };
        let work = || {
            let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(&self.slots, 0, &staging, 0, staging.size());
            self.gpu.queue().submit([encoder.finish()]);
        };
        self.gpu.scoped(work).await?;
        Ok((wanted, staging))
    }

    fn wanted(&self) -> Vec<Arc<Cell>> {
        let cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        cells.iter().filter_map(Weak::upgrade).filter(|cell| cell.record.get().is_none()).collect()
    }

    fn fill(&self, mapped: Mapped, wanted: &[Arc<Cell>], staging: wgpu::Buffer) -> Result<()> {
        mapped.with(|bytes| {
            for cell in wanted {
                let start = 4 * RECORD * cell.slot;
                let word = |n: usize| bytemuck::pod_read_unaligned(&bytes[start + 4 * n..start + 4 * n + 4]);
                // A reader that started before the slot was reused comes second here, and its value is not taken.
                let _ = cell.record.set(core::array::from_fn(word));
            }
        })?;
        drop(mapped);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(staging);
        Ok(())
    }
}
