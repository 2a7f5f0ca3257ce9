//! What drivers suppose of a CPU.
//!
//! In: nothing. Out: sizes of caches and prices of threads, from which each driver derives what it holds, copies, cuts and
//! shares. Always: one description for all machines, so what is chosen by it depends on shapes alone. It stands for the cores
//! of x86-64 servers and laptops, whose second caches have 1 or 2 MiB.

/// A CPU as one of its cores has it.
pub(crate) struct Machine {
    /// Words of the first cache for data.
    pub(crate) l1: usize,
    /// Words of the second cache.
    pub(crate) l2: usize,
    /// Words of the last cache that a core may take for itself.
    pub(crate) l3: usize,
    /// Cycles that a second thread costs, which waits for orders: it sees one, reads what the first has written, and is waited
    /// for. Of work that is shared it saves a half.
    pub(crate) thread: usize,
    /// Cycles for which threads that run wait for each other.
    pub(crate) barrier: usize,
}

/// All of them: 32 KiB, 2 MiB and 8 MiB of caches, and some 3 µs for a thread.
pub(crate) const MACHINE: Machine =
    Machine { l1: 1 << 13, l2: 1 << 19, l3: 1 << 21, thread: 1 << 13, barrier: 1 << 10 };
