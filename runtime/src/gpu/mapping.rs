//! Reading a buffer back: one map request, waited for by blocking or by polling, as the caller waits.
//!
//! Comes in: a buffer with `MAP_READ`. Goes out: its bytes, for as long as the guard lives. Always holds: the buffer is
//! unmapped when the request or the guard is dropped, so that an abandoned future leaves it usable.

use super::device::Gpu;
use crate::error::{Error, Result};
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;

#[derive(Default)]
struct State {
    answer: Option<core::result::Result<(), wgpu::BufferAsyncError>>,
    waker: Option<Waker>,
}

/// A map request on its way. As a future it resolves to the mapped bytes and never blocks.
pub(super) struct Request {
    gpu: Gpu,
    buffer: wgpu::Buffer,
    bytes: u64,
    state: Arc<Mutex<State>>,
    handed_over: bool,
}

impl Request {
    /// Asks for the first `bytes` bytes of `buffer`.
    pub(super) fn new(gpu: &Gpu, buffer: &wgpu::Buffer, bytes: u64) -> Result<Self> {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = Arc::clone(&state);
        gpu.scoped(|| {
            buffer.slice(..bytes).map_async(wgpu::MapMode::Read, move |answer| {
                let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
                state.answer = Some(answer);
                if let Some(waker) = state.waker.take() {
                    waker.wake();
                }
            });
        })?;
        Ok(Self { gpu: gpu.clone(), buffer: buffer.clone(), bytes, state, handed_over: false })
    }

    fn finish(&mut self) -> Option<Result<Mapped>> {
        let answer = self.state.lock().unwrap_or_else(PoisonError::into_inner).answer.take()?;
        Some(match answer {
            Ok(()) => {
                self.handed_over = true;
                Ok(Mapped { gpu: self.gpu.clone(), buffer: self.buffer.clone(), bytes: self.bytes })
            }
            // A buffer of ours that is not mapped already can only fail to map because the device is gone.
            Err(_) => Err(self.gpu.mark_lost()),
        })
    }
}

impl Future for Request {
    type Output = Result<Mapped>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        this.state.lock().unwrap_or_else(PoisonError::into_inner).waker = Some(context.waker().clone());
        if let Some(mapped) = this.finish() {
            return Poll::Ready(mapped);
        }
        if !cfg!(target_arch = "wasm32") {
            if let Err(lost) = this.gpu.poll(blocking()) {
                return Poll::Ready(Err(lost));
            }
            if let Some(mapped) = this.finish() {
                return Poll::Ready(mapped);
            }
            // Nobody else drives the device on native targets: ask to be polled again after the other tasks.
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        if !self.handed_over {
            drop(self.gpu.scoped(|| self.buffer.unmap()));
        }
    }
}

thread_local! {
    static BLOCKING: core::cell::Cell<bool> = const { core::cell::Cell::new(false) };
}

/// Whether the thread has nothing else to do than to wait.
pub(super) fn blocking() -> bool {
    BLOCKING.get()
}

/// Runs a future to its end; requests in it block instead of polling.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            BLOCKING.set(self.0);
        }
    }
    let _restore = Restore(BLOCKING.replace(true));
    pollster::block_on(future)
}

/// The bytes of a mapped buffer.
pub(super) struct Mapped {
    gpu: Gpu,
    buffer: wgpu::Buffer,
    bytes: u64,
}

impl Mapped {
    /// Lets `read` see the bytes.
    pub(super) fn with<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let view = self.buffer.slice(..self.bytes).get_mapped_range();
        view.map(|view| read(&view)).map_err(|error| match self.gpu.is_lost() {
            true => self.gpu.mark_lost(),
            false => Error::Device { reason: error.to_string() },
        })
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        drop(self.gpu.scoped(|| self.buffer.unmap()));
    }
}
