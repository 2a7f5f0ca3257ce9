//! Losses that are read late: a ring of results on the device and handles into it.
//!
//! Comes in: one record per training step, copied by the step's own submission. Goes out: handles. Always holds: a
//! record is overwritten only after its handle was dropped or has its value; steps wait for nobody otherwise.

use super::arena::{create_staging, create_storage};
use super::device::Gpu;
use super::mapping::{Mapped, Request};
use super::recording::Recording;
use crate::device::Outcome;
use crate::error::Result;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

/// Words of one record: the loss, and 1 where the update was made.
pub(super) const RECORD: usize = 2;
const SLOTS: usize = 1024;

/// The loss of one training step, still on the device until somebody reads it.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Loss {
    cell: Arc<Cell>,
    ring: Arc<Ring>,
}

impl Loss {
    /// What the step came to; waits for it the first time.
    pub(super) async fn outcome(&self) -> Result<Outcome> {
        if self.cell.record.get().is_none() {
            self.ring.read().await?;
        }
        // A handle exists only for a registered cell, and a read fills every registered cell.
        let [loss, updated] = self.cell.record.get().copied().unwrap_or([f32::NAN.to_bits(), 0]);
        Ok(Outcome { loss: f32::from_bits(loss).into(), updated: updated != 0 })
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
    pub(super) fn new(gpu: &Gpu) -> Result<Self> {
        let bytes = (4 * RECORD * SLOTS) as u64;
        let slots = create_storage(gpu, "losses", RECORD * SLOTS)?;
        let idle = Mutex::new(vec![create_staging(gpu, bytes)?]);
        Ok(Self { gpu: gpu.clone(), slots, idle, cells: Mutex::new((0..SLOTS).map(|_| Weak::new()).collect()) })
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

    /// Records the copy of the records of steps, the first of which is given, from where they are one after the other.
    pub(super) fn copy(&self, recording: &mut Recording, outcomes: &wgpu::Buffer, first: u64, steps: usize) {
        let slot = Self::slot(first);
        let before = steps.min(SLOTS - slot);
        for (at, slot, count) in [(0, slot, before), (before, 0, steps - before)] {
            if count > 0 {
                let [at, slot, count] = [at, slot, count].map(|steps| (RECORD * steps) as u64);
                recording.copy((outcomes, at), (&self.slots, slot), count);
            }
        }
    }

    /// The handle of a step that was submitted.
    pub(super) fn register(self: &Arc<Self>, slot: usize) -> Loss {
        let cell = Arc::new(Cell { slot, record: OnceLock::new() });
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)[slot] = Arc::downgrade(&cell);
        Loss { cell, ring: Arc::clone(self) }
    }

    /// Reads all records that somebody still wants.
    pub(super) async fn read(&self) -> Result<()> {
        let wanted = self.wanted();
        // Several readers at once each need a buffer of their own; a finished reader leaves its buffer to the next.
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let staging = match idle {
            Some(staging) => staging,
            None => create_staging(&self.gpu, self.slots.size())?,
        };
        self.gpu.scoped(|| {
            let mut encoder = self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            encoder.copy_buffer_to_buffer(&self.slots, 0, &staging, 0, staging.size());
            self.gpu.queue().submit([encoder.finish()]);
        })?;
        let mapped = Request::new(&self.gpu, &staging, staging.size())?.await?;
        self.fill(mapped, &wanted, staging)
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
