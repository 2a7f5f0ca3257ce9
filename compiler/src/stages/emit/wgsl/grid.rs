//! How rows or elements are spread over invocations, as schedule has chosen it.

use super::packed;
use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::Kernel;
use crate::ir::workgroup::RowGroup;

/// A kernel of rows or elements.
pub(super) struct Grid {
    /// Of one workgroup.
    pub(super) group: RowGroup,
    /// Rows or elements.
    pub(super) items: Dim,
    /// Positions of the reduced axes.
    pub(super) reduced: Dim,
    /// Neighbouring elements of an invocation.
    pub(super) neighbours: u32,
    vector: Option<usize>,
}

impl Grid {
    pub(super) fn new(kernel: &Kernel, group: RowGroup, items: &[usize], reduced: &[usize]) -> Grid {
        let extent = |axes: &[usize]| product(axes.iter().map(|&axis| &kernel.axes[axis]));
        let (items, reduced) = (extent(items), extent(reduced));
        Grid { group, items, reduced, neighbours: packed::neighbours(kernel), vector: kernel.schedule.vector }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        match self.group.cooperative {
            true => self.items.clone(),
            false => self.items.ceil_div((self.group.invocations * self.neighbours).into()),
        }
    }

    /// The parallel axes with that one last whose neighbours belong into neighbouring invocations.
    pub(super) fn order(&self, parallel: &[usize]) -> Vec<usize> {
        packed::order(self.vector, parallel)
    }
}
