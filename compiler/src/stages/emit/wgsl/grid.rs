//! How rows or elements are spread over invocations, as schedule has chosen it.

use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::Kernel;
use crate::ir::workgroup;

/// A kernel of rows or elements.
pub(super) struct Grid {
    /// Invocations of a workgroup, sharing, and chains.
    pub(super) chosen: workgroup::Grid,
    /// Rows or elements.
    pub(super) items: Dim,
    /// Positions of the reduced axes.
    pub(super) reduced: Dim,
    vector: Option<usize>,
}

impl Grid {
    pub(super) fn new(kernel: &Kernel, chosen: workgroup::Grid, items: &[usize], reduced: &[usize]) -> Grid {
        let extent = |axes: &[usize]| product(axes.iter().map(|&axis| &kernel.axes[axis]));
        Grid { chosen, items: extent(items), reduced: extent(reduced), vector: kernel.schedule.vector }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        match self.chosen.cooperative {
            true => self.items.clone(),
            false => self.items.ceil_div(self.chosen.invocations.into()),
        }
    }

    /// The parallel axes with that one last whose neighbours belong into neighbouring invocations.
    pub(super) fn order(&self, parallel: &[usize]) -> Vec<usize> {
        let mut order = parallel.to_vec();
        if let Some(at) = self.vector.and_then(|axis| parallel.iter().position(|&other| other == axis)) {
            let axis = order.remove(at);
            order.push(axis);
        }
        order
    }
}
