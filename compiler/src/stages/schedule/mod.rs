//! schedule: fills in the numbers of every kernel.
//!
//! In: programs of kernels as fuse left them. Out: the same work: products out of loops that need not wait for them, axes split
//! where indices divide them and neighbouring ones merged, the operands of products in the order in which results are
//! contiguous, values in the place of those that die with them; the vector axis, algorithms, precision, packing, loops and
//! workgroups chosen; steps fused that a CPU runs as one kernel; sums split that several workgroups of a GPU make; small
//! launches joined. Always: a kernel computes what it computed before, as precisely as the model asks for.

mod attend;
mod attend_tiles;
mod axes;
mod carry;
mod coalesce;
mod hoist;
mod join;
mod machine;
mod narrow;
mod neighbours;
mod pack_once;
mod product;
mod recurrent;
mod rows;
mod scatter;
mod split;
mod split_sums;
mod stream;
mod vector;
mod workgroups;

use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::program::{Program, for_each_launch};

/// The programs with scheduled kernels.
pub fn schedule(mut programs: Vec<Program>) -> Vec<Program> {
    for program in &mut programs {
        hoist::hoist(program);
        for_each_launch(&mut program.steps, &mut |kernel, _| numbers(kernel));
        coalesce::coalesce(program);
        carry::carry(program);
        coalesce::turns(program);
        coalesce::remove_idle(&mut program.steps);
        stream::choose(program);
        narrow::choose(program);
        rows::choose(program);
        attend::fuse(program);
        recurrent::fuse(program);
        pack_once::choose(program);
        split_sums::split(program);
        workgroups::choose(program);
        join::join(program);
    }
    programs
}

/// The numbers of a kernel that only a GPU runs.
fn numbers_of_gpu(kernel: &mut Kernel) {
    split::split(kernel);
    axes::merge(kernel);
    vector::choose(kernel);
    scatter::choose(kernel);
    kernel.schedule.rows.blocks = kernel.blocks();
}

fn numbers(kernel: &mut Kernel) {
    if let Skeleton::Contract { .. } = kernel.skeleton {
        product::orient(kernel);
    }
    split::split(kernel);
    axes::merge(kernel);
    match kernel.skeleton {
        Skeleton::Contract { .. } => {
            product::algorithms(kernel);
        }
        Skeleton::Row { .. } => {
            vector::choose(kernel);
            axes::merge_outermost(kernel);
        }
        Skeleton::Scatter { .. } => scatter::choose(kernel),
        // Drivers of a CPU choose tiles by the registers that they have.
        Skeleton::Attend(_) | Skeleton::Recur(_) => {}
    }
}
