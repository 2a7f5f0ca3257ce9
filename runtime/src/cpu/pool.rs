//! The threads of the process.
//!
//! In: a task over a range of indices, and the most threads that it may use. Out: the task has run over the whole range, every
//! index once. Always: the cut into ranges is static; while the pool is busy, and in calls from within a task, the caller
//! does all the work itself, so nobody waits for a thread that waits; a call allocates nothing once the threads exist.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock};
use std::thread::{self, Thread};

/// Work that can be cut anywhere.
pub(super) trait Task: Sync {
    /// Does the work of some of the indices.
    fn work(&self, range: Range<usize>);
}

/// Turns of the loop in which a thread looks for work, or for the end of it, before it sleeps: some 70 µs.
const SPINS: usize = 1500;

/// Runs `task` over `0..count` on at most `threads` threads.
pub(super) fn parallel(threads: usize, count: usize, task: &dyn Task) {
    if threads <= 1 || count <= 1 {
        task.work(0..count);
        return;
    }
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(Pool::new).run(threads, count, task);
}

struct Pool {
    workers: Vec<&'static Worker>,
    busy: Mutex<()>,
    /// Workers that have not finished.
    left: AtomicUsize,
    failed: AtomicBool,
}

/// A thread and its letter box.
struct Worker {
    state: AtomicU8,
    order: UnsafeCell<Option<Order>>,
    thread: OnceLock<Thread>,
}

/// What a worker is asked to do. The pointers live until `Pool::left` is 0.
struct Order {
    task: *const dyn Task,
    range: Range<usize>,
    pool: *const Pool,
    caller: Thread,
}

// SAFETY: `order` is written by the holder of `Pool::busy` while the state is not `READY`, and read by the worker while it is.
unsafe impl Sync for Worker {}

const IDLE: u8 = 0;
const ASLEEP: u8 = 1;
const READY: u8 = 2;

impl Pool {
    /// Starts a thread for each core but one, as far as the system lets it.
    fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let mut workers = Vec::new();
        for _ in 1..cores {
            let worker: &'static Worker = Box::leak(Box::new(Worker {
                state: AtomicU8::new(IDLE),
                order: UnsafeCell::new(None),
                thread: OnceLock::new(),
            }));
            let Ok(handle) = thread::Builder::new().name("precast".into()).spawn(move || worker.serve()) else {
                break;
            };
            worker.thread.get_or_init(|| handle.thread().clone());
            workers.push(worker);
        }
        Pool { workers, busy: Mutex::new(()), left: AtomicUsize::new(0), failed: AtomicBool::new(false) }
    }

    fn run(&self, threads: usize, count: usize, task: &dyn Task) {
        let parts = threads.min(count).min(self.workers.len() + 1);
        let guard = match self.busy.try_lock() {
            Ok(guard) if parts > 1 => guard,
            Err(std::sync::TryLockError::Poisoned(poisoned)) if parts > 1 => poisoned.into_inner(),
            Ok(_) | Err(_) => {
                task.work(0..count);
                return;
            }
        };
        self.left.store(parts - 1, Ordering::Relaxed);
        // SAFETY: only the lifetime is extended, and nobody uses the reference once `left` is 0, which this call awaits.
        let order: *const dyn Task =
            unsafe { core::mem::transmute::<*const (dyn Task + '_), *const (dyn Task + 'static)>(task) };
        let caller = thread::current();
        for (number, worker) in self.workers[..parts - 1].iter().enumerate() {
            let range = part(count, parts, number + 1);
            worker.give(Order { task: order, range, pool: self, caller: caller.clone() });
        }
        let own = catch_unwind(AssertUnwindSafe(|| task.work(part(count, parts, 0))));
        self.wait();
        let failed = self.failed.swap(false, Ordering::Relaxed);
        drop(guard);
        match own {
            Ok(()) if failed => std::panic::resume_unwind(Box::new("a task of the thread pool panicked")),
            Ok(()) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn wait(&self) {
        for _ in 0..SPINS {
            if self.left.load(Ordering::Acquire) == 0 {
                return;
            }
            spin_loop();
        }
        while self.left.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

impl Worker {
    fn give(&self, order: Order) {
        // SAFETY: the worker has finished its last order and touches the box only once the state is `READY`.
        unsafe { *self.order.get() = Some(order) };
        if self.state.swap(READY, Ordering::AcqRel) == ASLEEP
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn serve(&self) {
        loop {
            self.sleep();
            self.state.store(IDLE, Ordering::Relaxed);
            // SAFETY: the state was `READY`, so the order is complete, and the next one is given only after `left` is 0.
            let Some(Order { task, range, pool, caller }) = (unsafe { (*self.order.get()).take() }) else {
                continue;
            };
            // SAFETY: both live until `left` is 0, which happens below.
            let (task, pool) = unsafe { (&*task, &*pool) };
            if catch_unwind(AssertUnwindSafe(|| task.work(range))).is_err() {
                pool.failed.store(true, Ordering::Relaxed);
            }
            if pool.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                caller.unpark();
            }
        }
    }

    /// Waits for an order, at first awake.
    fn sleep(&self) {
        for _ in 0..SPINS {
            if self.state.load(Ordering::Acquire) == READY {
                return;
            }
            spin_loop();
        }
        let idle = self.state.compare_exchange(IDLE, ASLEEP, Ordering::AcqRel, Ordering::Acquire).is_ok();
        while idle && self.state.load(Ordering::Acquire) != READY {
            thread::park();
        }
    }
}

/// Part `number` of `parts` equal parts of `0..count`.
fn part(count: usize, parts: usize, number: usize) -> Range<usize> {
    count * number / parts..count * (number + 1) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count<'a> {
        hits: &'a [AtomicUsize],
        nested: bool,
    }

    impl Task for Count<'_> {
        fn work(&self, range: Range<usize>) {
            for index in range {
                self.hits[index].fetch_add(1, Ordering::Relaxed);
                if self.nested {
                    parallel(4, self.hits.len(), &Count { hits: self.hits, nested: false });
                }
            }
        }
    }

    fn hits(count: usize) -> Vec<AtomicUsize> {
        (0..count).map(|_| AtomicUsize::new(0)).collect()
    }

    #[test]
    fn every_index_runs_once() {
        for count in [0, 1, 2, 3, 7, 100] {
            let hits = hits(count);
            for _ in 0..50 {
                parallel(3, count, &Count { hits: &hits, nested: false });
            }
            assert!(hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 50));
        }
    }

    #[test]
    fn many_callers_and_nested_calls_end() {
        let hits = hits(10);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        parallel(2, 10, &Count { hits: &hits, nested: true });
                    }
                });
            }
        });
        assert!(hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 800 * 11));
    }

    struct Fail;

    impl Task for Fail {
        fn work(&self, range: Range<usize>) {
            assert!(!range.contains(&99), "the last index fails");
        }
    }

    #[test]
    fn a_panic_in_a_task_reaches_the_caller_and_leaves_the_pool_usable() {
        for _ in 0..3 {
            assert!(catch_unwind(|| parallel(2, 100, &Fail)).is_err());
        }
        every_index_runs_once();
    }
}
