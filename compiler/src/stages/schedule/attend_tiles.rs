//! How attention runs on a GPU: as products of tiles, by rows in single invocations, or by keys of a single query.
//!
//! In: a kernel of attention. Out: its workgroups. Always: what they share is within the limits of every device; where heads
//! are too short for products of tiles, or too long for what a workgroup shares, an invocation has a row.

use super::machine::GPU;
use super::workgroups::{extent, power_of_two, typical};
use crate::ir::attend::{Attention, Part};
use crate::ir::kernel::Kernel;
use crate::ir::workgroup::{AttendGroup, AttendTile, PLAIN, SHARED};

/// Most columns that are in shared memory at once where each invocation has a row.
const BESIDE: u32 = 32;
/// Features from which on scores are products of tiles: of fewer, a row's fit the registers of an invocation several times.
const TILED: u32 = 16;
/// Rows of a tile, and columns of an invocation.
const ROWS: u32 = 64;
const COLUMNS: u32 = 4;
/// Features, or weighed columns, of a tile in shared memory.
const DEPTH: u32 = 16;
/// Most sums that an invocation holds: as many again are operands, numbers of rows and addresses, and with 128 registers of an
/// invocation a multiprocessor runs enough workgroups.
const HELD: u32 = 64;

/// Chooses for a kernel.
pub(super) fn attended(kernel: &Kernel, attention: &Attention) -> AttendGroup {
    if attention.is_single(&kernel.axes) {
        return AttendGroup::Single { invocations: PLAIN };
    }
    tiles(kernel, attention).map_or_else(
        || {
            let bytes = attention.shared_bytes(&kernel.axes).unwrap_or(SHARED).max(1);
            AttendGroup::Rows { invocations: PLAIN, columns: power_of_two((SHARED / bytes).clamp(1, BESIDE)) }
        },
        AttendGroup::Tiles,
    )
}

/// Tiles as high as the registers of invocations and the number of workgroups allow.
fn tiles(kernel: &Kernel, attention: &Attention) -> Option<AttendTile> {
    let vectors = attention.vectors(&kernel.axes)?;
    let widest = 4 * vectors[0].max(vectors[1]);
    if widest < TILED {
        return None;
    }
    // Invocations of a row share out a sum's features.
    let across = (widest / 4).next_power_of_two().min(DEPTH);
    let of = |rows: u32, high: u32| AttendTile {
        rows,
        columns: across * COLUMNS,
        depth: DEPTH,
        thread_tile: [high, COLUMNS],
    };
    let tiles = [of(ROWS, 8), of(ROWS, 4), of(ROWS / 2, 4)];
    let fits = |tile: &&AttendTile| 16 * tile.words(vectors) <= SHARED;
    let suits = |tile: &&AttendTile| is_busy(kernel, attention, tile) && held(attention, vectors, tile) <= HELD;
    // Kernels of the same heads have tiles all or none, so that a score is the same in each.
    tiles.iter().filter(fits).find(suits).or(tiles.last().filter(fits)).copied()
}

/// Sums that an invocation holds.
fn held(attention: &Attention, [features, values]: [u32; 2], tile: &AttendTile) -> u32 {
    let [features, values] = [features, values].map(|vectors| 4 * tile.share(vectors));
    let [high, wide] = tile.thread_tile;
    high * match attention.attend.part {
        Part::Output | Part::Max | Part::Reciprocal => wide + values,
        Part::Query => 2 * wide + features,
        Part::Key | Part::Value => 2 * wide + features + values,
    }
}

/// Whether such tiles keep a device busy.
fn is_busy(kernel: &Kernel, attention: &Attention, tile: &AttendTile) -> bool {
    let Attention { batch, shared, queries, keys, .. } = attention;
    let (rows, heads) = match attention.is_of_keys() {
        true => (keys, batch.clone()),
        false => (queries, [&batch[..], shared].concat()),
    };
    let along = extent(kernel, rows);
    let groups = typical(&along.ceil_div(tile.rows.into())).saturating_mul(typical(&extent(kernel, &heads)));
    let short = along.as_const().is_some_and(|rows| rows <= i64::from(tile.rows / 2));
    !short && groups.saturating_mul(tile.invocations().into()) >= GPU.busy
}
