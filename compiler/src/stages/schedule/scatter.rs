//! Scatters: which axis runs through the lanes, and how many sources are added plainly.

use crate::ir::kernel::{Kernel, Skeleton};

/// Chooses both.
pub(super) fn choose(kernel: &mut Kernel) {
    if let Skeleton::Scatter { inner, .. } = &kernel.skeleton {
        kernel.schedule.vector = inner.last().copied();
        kernel.schedule.plain_sources = kernel.plain_sources();
    }
}
