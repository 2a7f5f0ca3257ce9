//! What a submission consists of: dispatches in passes, and copies.
//!
//! Comes in: prepared plans. Goes out: a command buffer. Always holds: dispatches that follow each other share a pass, because a
//! device takes longer to begin another one than for a small dispatch.

use super::arena::Arena;
use super::device::Gpu;

/// A submission that is being recorded.
pub(super) struct Recording {
    gpu: Gpu,
    /// The function that is called.
    #[cfg(feature = "profile")]
    name: &'static str,
    /// Before the encoder: a pass ends before its encoder does.
    pass: Option<wgpu::ComputePass<'static>>,
    encoder: wgpu::CommandEncoder,
}

impl Recording {
    /// Nothing yet of a call of a function.
    pub(super) fn new(gpu: &Gpu, name: &'static str) -> Self {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some(name) };
        Self {
            gpu: gpu.clone(),
            #[cfg(feature = "profile")]
            name,
            pass: None,
            encoder: gpu.device().create_command_encoder(&descriptor),
        }
    }

    /// Dispatches of a prepared plan, of one of its steps, from a number on up to another one.
    pub(super) fn dispatches(&mut self, arena: &Arena, step: usize, (first, end): (usize, Option<usize>)) {
        #[cfg(feature = "profile")]
        {
            self.pass = None;
            if super::profile::record(&self.gpu, &mut self.encoder, arena, self.name, (step, first, end)) {
                return;
            }
        }
        let begin = || self.encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime();
        arena.record(self.pass.get_or_insert_with(begin), step, first, end);
    }

    /// Words of a buffer to another one, behind all dispatches so far.
    pub(super) fn copy(&mut self, from: (&wgpu::Buffer, u64), to: (&wgpu::Buffer, u64), words: u64) {
        self.pass = None;
        let ((from, first), (to, at)) = (from, to);
        self.encoder.copy_buffer_to_buffer(from, 4 * first, to, 4 * at, 4 * words);
    }

    /// Submits everything.
    pub(super) fn submit(mut self) -> wgpu::SubmissionIndex {
        self.pass = None;
        self.gpu.queue().submit([self.encoder.finish()])
    }
}
