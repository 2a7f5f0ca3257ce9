//! Jobs that threads take one by one.
//!
//! In: work that is cut into jobs, and the most threads that it may use. Out: each job is done once. Always: a thread begins with
//! the jobs that are its own in every call, whose data it may find in its cache, and then takes those of others that are
//! late, because their core is slower or does something else too; which thread does a job changes nothing in its result.

use core::array;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::pool;

/// Work that is done in jobs.
pub(super) trait Work: Sync {
    /// Does those jobs that this thread comes to.
    fn work(&self, jobs: Jobs<'_>);
}

/// Does `count` jobs on at most `threads` threads.
pub(super) fn balanced(threads: usize, count: usize, work: &dyn Work) {
    let members = if count <= 1 { 1 } else { pool::members(threads) };
    if members <= 1 || count <= members {
        return pool::parallel(threads, count, &Fixed(work));
    }
    let many = members.min(MOST);
    let shares: [Share; MOST] = array::from_fn(|number| match number < many {
        true => Share::new(pool::part(count, many, number)),
        false => Share::new(0..0),
    });
    pool::parallel(members, members, &Threads { work, shares: &shares[..many] });
}

/// Most shares; of more threads, some begin with the same one.
const MOST: usize = 32;

/// The jobs with which a thread begins. Each is a cache line that others touch only when they have done their own.
#[repr(align(128))]
struct Share {
    next: AtomicUsize,
    end: usize,
}

impl Share {
    fn new(jobs: Range<usize>) -> Share {
        Share { next: AtomicUsize::new(jobs.start), end: jobs.end }
    }

    fn take(&self) -> Option<usize> {
        // What is seen to be at its end is not touched, so that its owner keeps the line.
        let is_left = self.next.load(Ordering::Relaxed) < self.end;
        let job = is_left.then(|| self.next.fetch_add(1, Ordering::Relaxed));
        job.filter(|job| *job < self.end)
    }
}

/// The jobs that a thread comes to: its own, and what others have left.
pub(super) struct Jobs<'a> {
    shares: &'a [Share],
    first: usize,
    /// Shares that have no more jobs.
    passed: usize,
}

impl Iterator for Jobs<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.passed < self.shares.len() {
            let job = self.shares[(self.first + self.passed) % self.shares.len()].take();
            if job.is_some() {
                return job;
            }
            self.passed += 1;
        }
        None
    }
}

/// Work whose jobs are given to threads once and for all.
struct Fixed<'a>(&'a dyn Work);

impl pool::Task for Fixed<'_> {
    fn work(&self, jobs: Range<usize>) {
        self.0.work(Jobs { shares: &[Share::new(jobs)], first: 0, passed: 0 });
    }
}

/// Work whose jobs threads take.
struct Threads<'a> {
    work: &'a dyn Work,
    shares: &'a [Share],
}

impl pool::Task for Threads<'_> {
    fn work(&self, threads: Range<usize>) {
        // A thread that does the work of several goes through the jobs of all of them anyway.
        let first = threads.start % self.shares.len();
        self.work.work(Jobs { shares: self.shares, first, passed: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count<'a> {
        hits: &'a [AtomicUsize],
        fails: Option<usize>,
    }

    impl Work for Count<'_> {
        fn work(&self, jobs: Jobs<'_>) {
            for job in jobs {
                assert!(self.fails != Some(job), "job {job} fails");
                self.hits[job].fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    #[test]
    fn every_job_is_done_once() {
        for (threads, count) in [(1, 5), (2, 0), (2, 1), (2, 2), (3, 100), (100, 7)] {
            let hits: Vec<_> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            for _ in 0..50 {
                balanced(threads, count, &Count { hits: &hits, fails: None });
            }
            assert!(hits.iter().all(|hit| hit.load(Ordering::Relaxed) == 50), "{count} jobs on {threads} threads");
        }
    }

    #[test]
    fn what_one_thread_leaves_another_takes() {
        // As when the other thread is late: one goes through its own jobs and then through all others.
        let shares = [0..3, 3..5, 5..9].map(Share::new);
        let jobs: Vec<_> = Jobs { shares: &shares, first: 1, passed: 0 }.collect();
        assert_eq!(jobs, [3, 4, 5, 6, 7, 8, 0, 1, 2]);
        assert_eq!(Jobs { shares: &shares, first: 0, passed: 0 }.next(), None);
    }

    #[test]
    fn a_panic_in_a_job_reaches_the_caller_and_the_next_call_works() {
        let hits: Vec<_> = (0..8).map(|_| AtomicUsize::new(0)).collect();
        let failed = std::panic::catch_unwind(|| balanced(2, 8, &Count { hits: &hits, fails: Some(5) }));
        assert!(failed.is_err());
        every_job_is_done_once();
    }
}
