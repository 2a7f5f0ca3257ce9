//! What plans ask for before they launch kernels: the instruction set, the number of threads, and disjoint parts of a
//! pool.

use precast_cpu::Isa;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 0 for the best, otherwise one more than the position in `Isa::available`.
static FORCED: AtomicUsize = AtomicUsize::new(0);

/// 0 for as many as the machine has cores.
static CAP: AtomicUsize = AtomicUsize::new(0);

/// The instruction set that kernels run on: the machine's best, unless a test forces another.
#[inline]
pub fn isa() -> Isa {
    match FORCED.load(Ordering::Relaxed) {
        0 => Isa::best(),
        n => Isa::available().nth(n - 1).unwrap_or_else(Isa::best),
    }
}

/// Makes kernels run on the instruction set at a position of `Isa::available`; `None` is the best again.
pub fn force_isa(position: Option<usize>) {
    FORCED.store(position.map_or(0, |p| p + 1), Ordering::Relaxed);
}

/// How many threads a kernel may use.
#[inline]
pub fn threads() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    match CAP.load(Ordering::Relaxed) {
        0 => *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from)),
        cap => cap,
    }
}

/// Lets kernels use at most `count` threads; 0 means as many as the machine has cores, which is the default, and more than
/// 65535 are as many.
///
/// Results do not depend on it.
pub fn set_threads(count: usize) {
    CAP.store(count.min(usize::from(u16::MAX)), Ordering::Relaxed);
}

/// Parts of a pool, each from a first word and a number of words. The memory plan keeps them apart.
#[inline]
pub fn parts<const N: usize>(pool: &mut [f32], ranges: [(usize, usize); N]) -> [&mut [f32]; N] {
    match pool.get_disjoint_mut(ranges.map(|(offset, len)| offset..offset + len)) {
        Ok(parts) => parts,
        Err(why) => unreachable!("the memory plan keeps what a kernel touches apart and inside: {why}"),
    }
}
