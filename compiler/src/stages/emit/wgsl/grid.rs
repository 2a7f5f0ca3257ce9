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

/// How a workgroup comes to run a kernel.
#[derive(Clone, Copy)]
pub(super) struct Run {
    /// The number of the workgroup among those of the kernel.
    pub(super) number: &'static str,
    /// Whether it does the same as all others, of which the first stores what they are not to keep.
    pub(super) is_repeated: bool,
    /// Whether it goes on with another kernel, which all of its invocations are to reach.
    pub(super) is_followed: bool,
}

impl Run {
    /// As all that an entry point does.
    pub(super) const ALONE: Run = Run { number: NUMBER, is_repeated: false, is_followed: false };
    /// As a part of that, where a variable has its number.
    pub(super) const PART: Run = Run { number: COUNTED, ..Run::ALONE };
    /// Before another part.
    pub(super) const FIRST: Run = Run { is_followed: true, ..Run::PART };
    /// The same in each workgroup.
    pub(super) const EACH: Run = Run { number: "0u", is_repeated: true, is_followed: true };
}

/// The variable of the number of a workgroup.
pub(super) const COUNTED: &str = "number";

/// An entry point around statements.
pub(super) fn entry(name: &str, threads: u32, body: &str) -> String {
    format!(
        "@compute @workgroup_size({threads})\n\
         fn {name}({BUILTINS}) {{\n{body}}}\n"
    )
}

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
        self.items.ceil_div(self.group.items().into())
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
