//! Running a kernel on several threads.
//!
//! In: a kernel that can be cut along its outer axis. Out: the kernel has run over the whole axis. Always: the parts own
//! disjoint borrows, so safe code can cut them; nothing is allocated; little work stays on the calling thread; what a kernel
//! has written past the caches is in order with everything that its thread does afterwards.

use core::cell::{Cell, UnsafeCell};

use super::{Family, Kernel, Simd, pool, queue, run};
use crate::machine::machine;

/// A kernel whose outer axis can be cut.
pub trait Split: Kernel + Sized + Send {
    /// Indices of the outer axis.
    fn len(&self) -> usize;

    /// Whether there is nothing to do.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first `at` indices, and the rest.
    fn split(self, at: usize) -> (Self, Self);

    /// How much there is to do, in element operations: about what one lane does in a cycle.
    fn work(&self) -> usize;
}

/// Element operations below which a second thread costs more than it saves: 16 in a cycle.
fn worth() -> usize {
    16 * machine().thread
}
/// The most parts.
const MOST: usize = 32;
/// The most parts of a thread, of which others do some where it is late (of more than half of [`MOST`] threads each has one), and
/// the element operations of a part.
const PARTS: usize = 4;
fn part() -> usize {
    2 * worth()
}

struct Parts<I, K> {
    isa: I,
    parts: [UnsafeCell<Option<K>>; MOST],
}

// SAFETY: part `n` is taken only by the thread that does job `n`, and every job is done by one thread.
// What is taken moves to that thread, as `Send` allows.
unsafe impl<I: Sync, K: Send> Sync for Parts<I, K> {}

impl<I: Family, K: Kernel + Send> queue::Work for Parts<I, K> {
    fn work(&self, jobs: queue::Jobs<'_>) {
        for job in jobs {
            // SAFETY: every job is taken by one thread, and this thread has taken this one, so no other reaches this part.
            if let Some(kernel) = unsafe { (*self.parts[job].get()).take() } {
                run(self.isa, Settling { kernel, streams: true });
            }
        }
    }
}

thread_local! {
    static STREAMS: Cell<bool> = const { Cell::new(false) };
}

/// Whether the kernel of this thread may write past the caches, because stores are ordered where it ends.
#[inline(always)]
pub(super) fn streams() -> bool {
    STREAMS.get()
}

/// A kernel, and a fence behind it, also where it panics, if it may write past the caches.
struct Settling<K> {
    kernel: K,
    streams: bool,
}

impl<K: Kernel> Kernel for Settling<K> {
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let _settle = Settle { s, streams: self.streams, before: STREAMS.replace(self.streams) };
        self.kernel.run(s);
    }
}

struct Settle<S: Simd> {
    s: S,
    streams: bool,
    before: bool,
}

impl<S: Simd> Drop for Settle<S> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.streams {
            self.s.settle();
        }
        STREAMS.set(self.before);
    }
}

/// Runs `kernel`, which cannot be cut and may write past the caches, on `isa`.
pub fn run_streaming<I: Family, K: Kernel>(isa: I, kernel: K) {
    run(isa, Settling { kernel, streams: true });
}

/// Runs `kernel` on `isa`, on at most `threads` threads.
pub fn parallel<I: Family, K: Split>(isa: I, threads: usize, kernel: K) {
    let work = kernel.work();
    let is_large = work >= worth();
    if threads.min(kernel.len()) <= 1 || !is_large {
        run(isa, Settling { kernel, streams: is_large });
        return;
    }
    // As many for each thread, as parts cannot be cut further.
    let members = pool::members(threads).min(MOST);
    let each = (work / members / part()).clamp(1, PARTS.min(MOST / members));
    let count = (members * each).min(kernel.len());
    let task = Parts { isa, parts: [const { UnsafeCell::new(None) }; MOST] };
    let length = kernel.len();
    let mut rest = kernel;
    for number in 1..count {
        let (first, others) = rest.split(length * number / count - length * (number - 1) / count);
        // SAFETY: `task` is known to this thread only until `queue::balanced` shares it below.
        unsafe { *task.parts[number - 1].get() = Some(first) };
        rest = others;
    }
    // SAFETY: `task` is not shared yet: `queue::balanced` is the first to show it to other threads.
    unsafe { *task.parts[count - 1].get() = Some(rest) };
    queue::balanced(threads, count, &task);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Isa, Simd};

    struct Square<'a> {
        from: &'a [f32],
        to: &'a mut [f32],
    }

    impl Kernel for Square<'_> {
        #[inline(always)]
        fn run<S: Simd>(self, s: S) {
            let Self { from, to } = self;
            crate::sweep!(S, j, at, from.len(), {
                let v = s.load_f(from, j, at);
                s.store_f(to, j, at, s.mul_f(v, v));
            });
        }
    }

    impl Split for Square<'_> {
        fn len(&self) -> usize {
            self.from.len()
        }
        fn split(self, at: usize) -> (Self, Self) {
            let (from, from_rest) = self.from.split_at(at);
            let (to, to_rest) = self.to.split_at_mut(at);
            (Square { from, to }, Square { from: from_rest, to: to_rest })
        }
        fn work(&self) -> usize {
            self.from.len()
        }
    }

    #[test]
    fn a_split_kernel_covers_its_axis() {
        for length in [0, 1, 5, 100_000, 1 << 18] {
            let from: Vec<f32> = (0..length).map(|n| n as f32).collect();
            for isa in Isa::available() {
                let mut to = vec![0.0; length];
                parallel(isa, 3, Square { from: &from, to: &mut to });
                assert!(from.iter().zip(&to).all(|(from, to)| from * from == *to), "{isa:?} {length}");
            }
        }
    }
}
