//! Recurrences that a GPU runs as one launch, in which a workgroup has all turns of some rows.
//!
//! In: the kernel of a recurrence. Out: the steps of a GPU. Always: neighbouring columns of the product's matrix lie beside each other,
//! because each turn of each workgroup reads all of it; it is copied so where it lies otherwise.

use super::super::{machine, numbers_of_gpu};
use crate::ir::index::Index;
use crate::ir::kernel::{Expr, Kernel, Skeleton, Slot, Store};
use crate::ir::neighbours::FOUR;
use crate::ir::prim::Scalar;
use crate::ir::program::{Buffer, BufferId, Role, Step};
use crate::ir::recurrence::{Recurrence, Recurrent};
use crate::ir::schedule::Schedule;
use crate::ir::workgroup::{INVOCATIONS, RecurGroup, SHARED, Workgroup};
use crate::ir::{DType, Dim};

/// The steps, and the buffer that they have for themselves, if it is to be one launch; `new` is the number of that buffer.
pub(super) fn steps(kernel: &Kernel, buffers: &[BufferId], new: BufferId) -> Option<(Vec<Step>, Option<Buffer>)> {
    let Recurrent { own, .. } = Recurrent::of(kernel)?;
    let group = group(kernel)?;
    let scheduled = |kernel: Kernel| Kernel {
        schedule: Schedule { workgroup: Some(Workgroup::Recur(group)), ..kernel.schedule.clone() },
        ..kernel
    };
    if RecurGroup::reads_fours(own) {
        let launch = Step::Launch { kernel: scheduled(kernel.clone()), buffers: buffers.to_vec() };
        return Some((vec![launch], None));
    }
    let [depth, width] = [own.parts, own.groups].map(|times| kernel.axes[own.columns].clone() * Dim::from(times));
    let len = depth.clone() * width.clone();
    let copy = copy(kernel, own, [depth, width.clone()]);
    let (mut kernel, mut bound) = (kernel.clone(), buffers.to_vec());
    let from = std::mem::replace(&mut bound[own.matrix], new);
    kernel.slots[own.matrix].len = len.clone();
    if let Skeleton::Recur(own) = &mut kernel.skeleton {
        (own.start, own.strides) = (Index::default(), [1.into(), width]);
    }
    let launches = [(copy, vec![from, new]), (scheduled(kernel), bound)];
    let launches = launches.map(|(kernel, buffers)| Step::Launch { kernel, buffers });
    Some((launches.into(), Some(Buffer { role: Role::Scratch, dtype: DType::F32, len })))
}

/// The workgroup, if its extents are known, it has room for them, and a turn takes no longer than two dispatches.
fn group(kernel: &Kernel) -> Option<RecurGroup> {
    let Recurrent { own, .. } = Recurrent::of(kernel)?;
    let [columns, depth, width] = [1, own.parts, own.groups].map(|times| RecurGroup::width(kernel, own, times));
    let quads = width / FOUR;
    let is_small = i64::from(depth) * i64::from(width) <= machine::GPU.turn && quads <= INVOCATIONS;
    // Two rows read all of the matrix, where a tile of a product reads it for many.
    let is_few = own.rows.is_none_or(|rows| kernel.axes[rows].as_const().is_none_or(|rows| rows <= MOST_ROWS));
    let is_whole = columns > 0 && columns.is_multiple_of(FOUR) && kernel.slots[own.matrix].dtype == DType::F32;
    if !(is_small && is_few && is_whole) {
        return None;
    }
    // As many slices of terms as there are invocations for, each with whole fours of them.
    let mut slices = 1;
    while quads * 2 * slices <= INVOCATIONS && depth.is_multiple_of(2 * slices * FOUR) {
        slices *= 2;
    }
    let most = if own.rows.is_some() { ROWS } else { 1 };
    let of = |rows: u32| {
        let invocations = (quads * slices).max(rows * columns).next_power_of_two().min(INVOCATIONS);
        RecurGroup { rows, slices, invocations }
    };
    (1..=most).rev().map(of).find(|group| group.bytes(own, columns) <= SHARED)
}

/// The most rows of a workgroup: those for which it reads the matrix once.
const ROWS: u32 = 2;
/// The most rows, where these are known, whose turns are not products of tiles.
const MOST_ROWS: i64 = 512;

/// A copy of the matrix in which neighbouring columns lie beside each other.
fn copy(kernel: &Kernel, own: &Recurrence, [depth, width]: [Dim; 2]) -> Kernel {
    let [column, term] = own.strides.each_ref();
    let start = Recurrence::outside(&own.start);
    let index = start.plus(&Index::axis(0).times(term)).plus(&Index::axis(1).times(column));
    let to = Index::row_major(&[0, 1], &[depth.clone(), width.clone()]);
    let len = depth.clone() * width.clone();
    let mut copy = Kernel {
        name: "copy".to_owned(),
        slots: vec![
            Slot { read: true, write: false, ..kernel.slots[own.matrix].clone() },
            Slot { dtype: DType::F32, len, read: false, write: true },
        ],
        axes: vec![depth, width],
        scalars: vec![Expr::Load { slot: 0, index, guards: vec![], fill: Scalar::of(DType::F32, 0.0) }],
        skeleton: Skeleton::Row {
            parallel: vec![0, 1],
            reduced: vec![],
            passes: vec![],
            stores: vec![Store { slot: 1, index: to, value: 0 }],
        },
        schedule: Schedule::default(),
    };
    numbers_of_gpu(&mut copy);
    copy
}
