//! How rows or elements are spread over invocations, as schedule has chosen it.

use crate::ir::Dim;
use crate::ir::dim::product;
use crate::ir::kernel::Kernel;
use crate::ir::neighbours;
use crate::ir::workgroup::RowGroup;

/// What an entry point is told: which workgroup runs, of a grid of how many, and which of its invocations.
pub(super) const BUILTINS: &str = "@builtin(workgroup_id) group: vec3<u32>, \
    @builtin(num_workgroups) grid: vec3<u32>, @builtin(local_invocation_index) lane: u32";
/// The number of a workgroup. A side of the grid is as long as the runtime makes it.
pub(super) const NUMBER: &str = "group.y * grid.x + group.x";

/// A kernel of rows or elements.
pub(super) struct Grid {
    /// Of one workgroup.
    pub(super) group: RowGroup,
    /// Rows or elements.
    pub(super) items: Dim,
    /// Positions of the reduced axes.
    pub(super) reduced: Dim,
    vector: Option<usize>,
}

impl Grid {
    pub(super) fn new(kernel: &Kernel, group: RowGroup, items: &[usize], reduced: &[usize]) -> Grid {
        let extent = |axes: &[usize]| product(axes.iter().map(|&axis| &kernel.axes[axis]));
        let (items, reduced) = (extent(items), extent(reduced));
        Grid { group, items, reduced, vector: kernel.schedule.vector }
    }

    /// The workgroups.
    pub(super) fn groups(&self) -> Dim {
        match self.group.cooperative {
            true => self.items.ceil_div(self.group.rows.into()),
            false => self.items.ceil_div((self.group.invocations * self.group.neighbours).into()),
        }
    }

    /// The turns of an invocation that are printed one after the other; 0 where they are a loop.
    pub(super) fn turns(&self) -> usize {
        self.group.turns.unwrap_or(0) as usize
    }

    /// The parallel axes with that one last whose neighbours belong into neighbouring invocations.
    pub(super) fn order(&self, parallel: &[usize]) -> Vec<usize> {
        neighbours::order(self.vector, parallel)
    }
}
