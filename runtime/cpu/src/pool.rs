//! The threads of the process.
//!
//! In: a task over a range of indices, and the most threads that it may use. Out: the task has run over the whole range, every
//! index once. Always: the cut into ranges is static; while the pool is busy, and in calls from within a task, the caller
//! does all the work itself, so nobody waits for a thread that waits; a call allocates nothing once the threads exist.

use core::cell::UnsafeCell;
use core::hint::spin_loop;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use core::time::Duration;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::Instant;

/// The stack of a worker: as much as a program's main thread has. Kernels that rustc does not optimise have large frames, and
/// of what is not touched nothing is in memory.
const STACK: usize = 8 << 20;

/// Work that can be cut anywhere.
pub(super) trait Task: Sync {
    /// Does the work of some of the indices.
    fn work(&self, range: Range<usize>);
}

/// How long a thread looks for work, or for the end of it, before it sleeps: being woken takes a tenth of this, and where others
/// share the machine, which then give a core back late, several times as long. Between two orders of a training step there may be
/// some 100 µs of work for one thread.
const PATIENCE: Duration = Duration::from_millis(1);
/// Looks between two looks at the clock.
const LOOKS: usize = 64;

/// Runs `task` over `0..count` on at most `threads` threads.
pub(super) fn parallel(threads: usize, count: usize, task: &dyn Task) {
    if threads <= 1 || count <= 1 {
        task.work(0..count);
        return;
    }
    Pool::get().run(threads, count, task);
}

/// How many threads `parallel` uses of `threads` where none is busy.
pub(super) fn members(threads: usize) -> usize {
    if threads <= 1 { 1 } else { threads.min(Pool::get().workers.len() + 1) }
}

struct Pool {
    workers: Vec<&'static Worker>,
    busy: Mutex<()>,
    caller: &'static Caller,
}

/// What workers know of the thread that holds `Pool::busy`.
#[derive(Default)]
struct Caller {
    asleep: AtomicBool,
    /// Set before it sleeps.
    thread: Mutex<Option<Thread>>,
    /// Whether a part of its task has panicked.
    failed: AtomicBool,
}

/// A thread. What a caller writes for each order is one cache line, and what the thread answers is another one: to move a line
/// from core to core takes as long as a small order.
#[derive(Default)]
struct Worker {
    letter: Letter,
    answer: Answer,
    thread: OnceLock<Thread>,
}

/// Written by the holder of `Pool::busy`.
#[derive(Default)]
#[repr(align(128))]
struct Letter {
    /// The number of the last order.
    number: AtomicUsize,
    order: UnsafeCell<Option<Order>>,
}

/// Written by the worker.
#[derive(Default)]
#[repr(align(128))]
struct Answer {
    /// The number of the last order that is done.
    done: AtomicUsize,
    asleep: AtomicBool,
}

/// What a worker is asked to do. The task lives until the order is done.
struct Order {
    task: *const dyn Task,
    range: Range<usize>,
}

// SAFETY: `order` is written by the holder of `Pool::busy` alone, and only while the worker has done its last order;
// the worker reads it only between a new number, which is stored after it, and its answer. The task that it points to
// is `Sync`.
unsafe impl Sync for Letter {}

impl Pool {
    fn get() -> &'static Self {
        static POOL: OnceLock<Pool> = OnceLock::new();
        POOL.get_or_init(Pool::new)
    }

    /// Starts a thread for each core but one, as far as the system lets it.
    fn new() -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let caller: &'static Caller = Box::leak(Box::default());
        let mut workers = Vec::new();
        for _ in 1..cores {
            let worker: &'static Worker = Box::leak(Box::default());
            let builder = thread::Builder::new().name("precast".into()).stack_size(STACK);
            let Ok(handle) = builder.spawn(move || worker.serve(caller)) else { break };
            worker.thread.get_or_init(|| handle.thread().clone());
            workers.push(worker);
        }
        Pool { workers, busy: Mutex::new(()), caller }
    }

    fn run(&self, threads: usize, count: usize, task: &dyn Task) {
        let parts = threads.min(count).min(self.workers.len() + 1);
        let guard = match self.busy.try_lock() {
            Ok(guard) if parts > 1 => guard,
            Err(TryLockError::Poisoned(poisoned)) if parts > 1 => poisoned.into_inner(),
            Ok(_) | Err(_) => {
                task.work(0..count);
                return;
            }
        };
        // SAFETY: only the lifetime is extended. Workers use the task until they have answered, and this call awaits
        // all answers before it ends: a panic in the part of this thread is caught until then.
        let lasting = unsafe { core::mem::transmute::<*const (dyn Task + '_), *const (dyn Task + 'static)>(task) };
        let workers = &self.workers[..parts - 1];
        for (number, worker) in workers.iter().enumerate() {
            worker.give(Order { task: lasting, range: part(count, parts, number + 1) });
        }
        let own = catch_unwind(AssertUnwindSafe(|| task.work(part(count, parts, 0))));
        self.caller.wait(workers);
        let failed = self.caller.failed.swap(false, Ordering::Relaxed);
        drop(guard);
        match own {
            Ok(()) if failed => std::panic::resume_unwind(Box::new("a task of the thread pool panicked")),
            Ok(()) => {}
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Caller {
    /// Waits until all orders are done.
    fn wait(&self, workers: &[&'static Worker]) {
        // Either a worker that went to sleep has seen its order, or it is seen asleep here.
        fence(Ordering::SeqCst);
        workers.iter().filter(|worker| !worker.is_done()).for_each(|worker| worker.wake());
        if patiently(|| workers.iter().all(|worker| worker.is_done())) {
            return;
        }
        *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        self.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while !workers.iter().all(|worker| worker.is_done()) {
            thread::park();
        }
        self.asleep.store(false, Ordering::Relaxed);
    }

    /// Wakes the caller if it sleeps, after an order has been done.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed)
            && let Some(thread) = &*self.thread.lock().unwrap_or_else(PoisonError::into_inner)
        {
            thread.unpark();
        }
    }
}

impl Worker {
    /// The number of the last order.
    fn number(&self) -> usize {
        self.letter.number.load(Ordering::Acquire)
    }

    fn is_done(&self) -> bool {
        self.answer.done.load(Ordering::Acquire) == self.number()
    }

    fn give(&self, order: Order) {
        // SAFETY: `Pool::run` holds `busy` and has awaited the last answer, so nobody else writes the order, and the
        // worker does not read it before it sees the next number.
        unsafe { *self.letter.order.get() = Some(order) };
        self.letter.number.store(self.number().wrapping_add(1), Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if self.answer.asleep.load(Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn serve(&self, caller: &'static Caller) {
        let mut last = 0;
        loop {
            self.sleep(last);
            last = self.number();
            // SAFETY: `number` is stored after the order is written, so the order is complete; the next one is written
            // only after the answer to this one, when this reference is no longer used.
            if let Some(Order { task, range }) = unsafe { (*self.letter.order.get()).as_ref() } {
                // SAFETY: `Pool::run` borrows the task until this order is answered, which happens below.
                let task = unsafe { &**task };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task.work(range.clone()))) {
                    // To drop it may panic again, and then nobody would say that the order is done.
                    core::mem::forget(panic);
                    caller.failed.store(true, Ordering::Relaxed);
                }
            }
            self.answer.done.store(last, Ordering::Release);
            caller.wake();
        }
    }

    /// Waits for an order after the one of number `last`, at first awake.
    fn sleep(&self, last: usize) {
        let is_next = || self.number() != last;
        if patiently(is_next) {
            return;
        }
        self.answer.asleep.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while !is_next() {
            thread::park();
        }
        self.answer.asleep.store(false, Ordering::Relaxed);
    }
}

/// Waits awake until `is_ready`; whether it was in time.
fn patiently(is_ready: impl Fn() -> bool) -> bool {
    let mut since = None;
    loop {
        for _ in 0..LOOKS {
            if is_ready() {
                return true;
            }
            spin_loop();
        }
        // The clock is asked late, because most orders come at once.
        if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            return false;
        }
    }
}

/// Part `number` of `parts` equal parts of `0..count`.
pub(super) fn part(count: usize, parts: usize, number: usize) -> Range<usize> {
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
