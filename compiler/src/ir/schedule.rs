//! What schedule chooses for a kernel: how its loops run. A better schedule is other numbers, not another structure.
//!
//! Always: what a kernel computes does not depend on it, but for the order in which floats are added. It prints, parses back
//! and is verified; the interpreter of kernels (`oracle/kernels`) runs rows in the order that it says, and printers decide
//! nothing of it.

use super::algorithm::Algorithm;
use super::dim::{Dim, product};
use super::kernel::{ExprId, Kernel, Skeleton};
use super::precision::{Factor, Precision};
use super::ty::DType;
use super::workgroup::Workgroup;

/// How a kernel runs.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Schedule {
    /// The axis whose neighbours share a vector (CPU) or a group of invocations (GPU).
    pub vector: Option<usize>,
    /// How the work is spread over workgroups, and what their invocations share (GPU).
    pub workgroup: Option<Workgroup>,
    /// Slots that are written past the caches where they are large (CPU).
    pub streamed: Vec<usize>,
    /// The algorithms that a call of a contraction asks in order, up to the first that suits (CPU); none for fewer bits.
    pub algorithms: Vec<Algorithm>,
    /// Which operand of a contraction is a parameter that is read in fewer bits, and in which (CPU).
    pub narrow: Option<(Factor, Precision)>,
    /// Whether the packed operand of a contraction, the right one or the parameter, is the same in every turn of the loop around
    /// it: it is packed in the first turn (CPU).
    pub packed_once: bool,
    /// How many sources of a scatter of floats may lose what additions lose (CPU): where there are more, what each addition
    /// loses is kept, and the next one makes up for it. `None` where there never are more.
    pub plain_sources: Option<usize>,
    /// The loops of a row kernel (CPU).
    pub rows: Rows,
}

/// How the loops of a row kernel run on a CPU.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Rows {
    /// How threads share the outermost axis, where it is worth a second one.
    pub threads: Option<Threads>,
    /// How many vectors go along the vector axis together.
    pub unroll: Unroll,
    /// Where the sums of floats of passes are cut, at most one for each pass.
    pub blocks: Vec<Block>,
    /// Scalars that a pass stores for later ones, by number.
    pub buffers: Vec<Buffered>,
    /// Whether the first pass over a row runs in one loop with the last one over the row before (software pipelining).
    pub pipelined: bool,
    /// Loads that are asked for before they are needed.
    pub prefetches: Vec<Prefetch>,
}

impl Rows {
    /// Calls `see` with every dimension, to change it.
    pub(super) fn for_each_dim(&mut self, see: &mut dyn FnMut(&mut Dim)) {
        if let Some(threads) = &mut self.threads {
            threads.slots.iter_mut().for_each(|(_, words)| see(words));
            see(&mut threads.work);
        }
        self.prefetches.iter_mut().for_each(|prefetch| see(&mut prefetch.distance));
    }

    /// Calls `see` with every number of a scalar, to change it.
    pub(super) fn for_each_scalar(&mut self, see: &mut dyn FnMut(&mut ExprId)) {
        self.buffers.iter_mut().map(|buffered| &mut buffered.scalar).for_each(&mut *see);
        self.prefetches.iter_mut().map(|prefetch| &mut prefetch.load).for_each(see);
    }
}

/// An axis whose positions are shared out among threads: each writes words of its own.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Threads {
    /// The outermost parallel axis.
    pub axis: usize,
    /// Every written slot with its words for each position of the axis.
    pub slots: Vec<(usize, Dim)>,
    /// Rough element operations for each position, by which the runtime tells how many threads are worth their start.
    pub work: Dim,
}

/// Vectors at a time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Unroll {
    /// One.
    #[default]
    One,
    /// Two, where instructions would wait for each other.
    Two,
    /// Four, where rows that may lie far apart are summed up to one.
    Four,
}

impl Unroll {
    /// How many vectors.
    pub fn vectors(self) -> usize {
        match self {
            Unroll::One => 1,
            Unroll::Two => 2,
            Unroll::Four => 4,
        }
    }

    /// The same from how many vectors.
    pub fn of(vectors: usize) -> Option<Unroll> {
        [Unroll::One, Unroll::Two, Unroll::Four].into_iter().find(|unroll| unroll.vectors() == vectors)
    }
}

/// Where the sums of a pass are cut: what a block adds up is added to the total with compensation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Block {
    /// The pass.
    pub pass: usize,
    /// The reduced axis.
    pub axis: usize,
    /// Turns of its loop in a block: vectors where it is the vector axis, positions elsewhere.
    pub turns: usize,
}

/// A scalar that is computed once for several passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Buffered {
    /// Which.
    pub scalar: ExprId,
    /// The pass that computes it; later ones read it back.
    pub pass: usize,
}

/// A load that is asked for before it is needed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Prefetch {
    /// The scalar that loads.
    pub load: ExprId,
    /// How many words beyond the one that is read now.
    pub distance: Dim,
}

/// The longest chain of additions of floats that schedule leaves without blocks. Equal numbers, the worst there is, then lose
/// 32 · 2⁻²⁶ ≈ 5·10⁻⁷, and the additions that wait for each other are short enough for several chains to run at once.
pub const CHAIN: i64 = 32;
/// The most sources of a scatter that may lose what additions lose: as many terms as a plain sum has.
pub const PLAIN_SOURCES: usize = 512;
/// The longest row whose sums are one chain for each lane where passes are pipelined: 64 additions at 16 lanes.
pub const PIPELINED_CHAIN: i64 = 1024;

impl Kernel {
    /// How many sources of a scatter of floats may be added plainly, if there may be more.
    pub fn plain_sources(&self) -> Option<usize> {
        let Skeleton::Scatter { source, store, .. } = &self.skeleton else { return None };
        let sources = product(source.iter().map(|&axis| &self.axes[axis])).as_const();
        let few = sources.is_some_and(|sources| sources <= PLAIN_SOURCES as i64);
        (self.slots[store.slot].dtype == DType::F32 && !few).then_some(PLAIN_SOURCES)
    }
}
