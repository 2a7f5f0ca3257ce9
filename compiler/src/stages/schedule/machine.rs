//! What schedule supposes of the machines that a model runs on, from which it derives what it chooses. Limits that every GPU has
//! are those of [`crate::ir::workgroup`]. What the drivers of a CPU choose by a call's shapes asks `runtime/cpu/src/machine.rs`,
//! whose caches these are; its price of a thread is in cycles, of which each does 16 element operations.

/// A CPU.
pub(super) struct Cpu {
    /// Words of the first cache for data.
    pub(super) l1: i64,
    /// Words of the last cache that a core may take for itself.
    pub(super) l3: i64,
    /// Element operations of a vector's lane below which a second thread costs more than it saves.
    pub(super) thread: i64,
    /// The cost of an element operation from which on it is better to store a value in the first cache and read it back: that
    /// of an exponential.
    pub(super) stored: i64,
    /// Words ahead of a stream that hide the way from the last cache.
    pub(super) ahead: i64,
}

/// All of them: 32 KiB and 8 MiB of caches.
pub(super) const CPU: Cpu = Cpu { l1: 1 << 13, l3: 1 << 21, thread: 1 << 17, stored: 16, ahead: 1 << 10 };

/// A GPU.
pub(super) struct Gpu {
    /// Multiprocessors.
    pub(super) processors: i64,
    /// Invocations that keep it busy.
    pub(super) busy: i64,
    /// Invocations that it holds at once: as many hide the way to memory.
    pub(super) held: i64,
    /// Words that an invocation may ask for before it computes, of the registers that it has where so many are held.
    pub(super) ahead: usize,
    /// Words of a sector of memory, which is read as a whole.
    pub(super) sector: u32,
    /// Words that a multiprocessor reads from the last cache while two launches would begin.
    pub(super) turn: i64,
}

/// All of them, with what a large discrete one takes: the multiprocessors of an H100, of which 128 have a workgroup of 256 that
/// computes, or room for 2,048 invocations that wait.
pub(super) const GPU: Gpu =
    Gpu { processors: 132, busy: 128 * 256, held: 128 * 2048, ahead: 32, sector: 8, turn: 1 << 17 };
