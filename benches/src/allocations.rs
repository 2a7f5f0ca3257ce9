//! How often memory was asked for.
//!
//! In: every allocation of the process. Out: their number. Always: it counts all threads.

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations since the process began.
pub(crate) fn count() -> usize {
    let stats = COUNTING.stats();
    stats.allocations + stats.reallocations
}
