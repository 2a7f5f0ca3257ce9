//! A place where threads of one task wait for each other.
//!
//! In: the parts of a task, each of which runs on some thread. Out: nobody goes on before all parts have arrived. Always: a
//! thread that panics lets the others go, and says so; a thread that waits for long lets others run.

use core::hint::spin_loop;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Most parts that meet at a barrier.
pub(super) const MOST: usize = 8;
/// Looks before a thread lets others run.
const LOOKS: usize = 1 << 12;

/// How often each part has arrived, in cache lines of their own.
#[derive(Default)]
pub(super) struct Barrier {
    arrived: [Arrived; MOST],
    broken: AtomicBool,
}

#[derive(Default)]
#[repr(align(128))]
struct Arrived(AtomicUsize);

/// A part has panicked and will not arrive.
pub(super) struct Broken;

impl Barrier {
    /// Arrives with the parts `own` for the `time`-th time.
    pub(super) fn arrive(&self, own: Range<usize>, time: usize) {
        self.arrived[own].iter().for_each(|part| part.0.store(time, Ordering::Release));
    }

    /// Waits until each of `parts` parts has arrived for the `time`-th time.
    pub(super) fn wait(&self, parts: usize, time: usize) -> Result<(), Broken> {
        let mut looks = 0;
        for part in &self.arrived[..parts] {
            while part.0.load(Ordering::Acquire) < time {
                if self.broken.load(Ordering::Relaxed) {
                    return Err(Broken);
                }
                looks += 1;
                if looks < LOOKS {
                    spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        }
        Ok(())
    }

    /// Breaks the barrier if the thread panics before the guard is dropped.
    pub(super) fn guard(&self) -> Guard<'_> {
        Guard(self)
    }
}

pub(super) struct Guard<'a>(&'a Barrier);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::Relaxed);
        }
    }
}
