//! What drivers suppose of a CPU.
//!
//! In: nothing. Out: sizes of caches and prices of threads, from which each driver derives what it holds, copies, cuts and
//! shares. Always: one description for all machines, so what is chosen by it depends on shapes alone. It stands for the cores
//! of x86-64 servers and laptops. With the feature `search` a program may put other numbers in its place before it computes:
//! `benches search` finds those that are best on a machine.

#[cfg(feature = "search")]
use std::sync::OnceLock;

/// A CPU as one of its cores has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Words of the first cache for data.
    pub l1: usize,
    /// Words that come back soon enough: of the second cache, and of the part of the third one that is as good where the
    /// second is small.
    pub l2: usize,
    /// Words of the last cache that a core may take for itself.
    pub l3: usize,
    /// Cycles that a second thread costs, which waits for orders: it sees one, reads what the first has written, and is waited
    /// for. Of work that is shared it saves a half.
    pub thread: usize,
    /// Cycles for which threads that run wait for each other.
    pub barrier: usize,
    /// Cycles, in multiplications, for packing a word of an operand that other threads may have written.
    pub pack: usize,
    /// The same for reading one: a word of the third cache takes a quarter of a cycle.
    pub read: usize,
}

impl Machine {
    /// What is supposed: 32 KiB, 2 MiB and 8 MiB of caches, and some 3 µs for a thread.
    pub const SUPPOSED: Machine =
        Machine { l1: 1 << 13, l2: 1 << 19, l3: 1 << 21, thread: 1 << 13, barrier: 1 << 10, pack: 64, read: 16 };
}

/// The machine that drivers ask.
#[cfg(not(feature = "search"))]
#[inline(always)]
pub(crate) fn machine() -> &'static Machine {
    &Machine::SUPPOSED
}

/// The machine that drivers ask: the same for the whole life of a process.
#[cfg(feature = "search")]
pub(crate) fn machine() -> &'static Machine {
    CHOSEN.get_or_init(|| Machine::SUPPOSED)
}

#[cfg(feature = "search")]
static CHOSEN: OnceLock<Machine> = OnceLock::new();

/// Puts `machine` in the place of what is supposed, and says whether it could: it must be before anything is computed, and no
/// number may be so small that a vector does not fit, or so large that what is derived overflows.
#[cfg(feature = "search")]
#[must_use]
pub fn suppose(machine: Machine) -> bool {
    let Machine { l1, l2, l3, thread, barrier, pack, read } = machine;
    let sizes = [l1, l2, l3].iter().all(|words| (1 << 10..=1 << 26).contains(words));
    let prices = [thread, barrier, pack, read].iter().all(|cycles| (1..=1 << 20).contains(cycles));
    sizes && prices && CHOSEN.set(machine).is_ok()
}
