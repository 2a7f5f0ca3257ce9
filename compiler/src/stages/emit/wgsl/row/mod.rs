//! The row skeleton: maps, and rows that are reduced by one invocation or by a workgroup together.
//!
//! Comes in: a row kernel. Goes out: the statements of an entry point. Always holds: an element that a pass stores is stored by the
//! invocation that reads it in every pass, so that rows may be changed in place; barriers are reached by whole groups;
//! long sums of floats are cut into blocks, whose totals are added with compensation.

mod pass;

use super::grid::{Grid, Run};
use super::positions::{Positions, suffix};
use super::scalars::{Body, Scalars};
use crate::ir::kernel::{ExprId, Pass, Store};
use crate::ir::neighbours::{FOUR, is_packed};
use pass::PassPrinter;

/// Prints a row kernel.
pub(super) fn row(
    scalars: &Scalars<'_>,
    grid: &Grid,
    parallel: &[usize],
    reduced: &[usize],
    passes: &[Pass],
    stores: &[Store],
) -> String {
    let mut body = Body::new(scalars);
    let threads = grid.group.invocations;
    if is_packed(scalars.kernel) {
        neighbours(&mut body, grid, &grid.order(parallel), stores);
        return body.text;
    }
    begin(&mut body, grid, parallel);
    let (fours, cooperative) = (scalars.fours.as_ref(), grid.group.cooperative);
    if fours.is_some() || grid.group.at_once > 1 {
        let turned = if cooperative { reduced } else { reduced.split_at(reduced.len().saturating_sub(1)).1 };
        body.positions = Some(Positions::new(turned, fours.map(|fours| fours.axis), fours.is_some() && !cooperative));
    }
    for turn in 0..grid.turns() {
        let of = suffix(turn);
        body.line(format!("let at{of} = i32(lane + {}u) * {FOUR};", turn * threads as usize));
        body.split_turn(&format!("at{of}"), reduced, &of);
    }
    for (number, pass) in passes.iter().enumerate() {
        PassPrinter::new(&mut body, number, pass, reduced, grid).print();
    }
    if cooperative && !stores.is_empty() {
        let is_there = if grid.group.rows > 1 { " && is_row" } else { "" };
        body.open(format!("if lane < {}u{is_there}", grid.group.rows));
        body.stores(stores);
        body.close();
    } else if fours.is_some() {
        let wanted: Vec<ExprId> = stores.iter().map(|store| store.value).collect();
        body.load_ahead(&wanted, 0);
        body.stores_of(stores, 0);
    } else {
        body.stores(stores);
    }
    if is_open(&body, grid) {
        body.close();
    }
    body.text
}

/// The row of an invocation, and its positions along the axes of rows. All invocations of a workgroup that shares rows go on,
/// those beyond the last row with that row.
fn begin(body: &mut Body<'_, '_>, grid: &Grid, parallel: &[usize]) {
    let (threads, beside, rows) = (grid.group.invocations, grid.group.rows, body.scalars.names.dim(&grid.items));
    let Run { number, is_followed, .. } = body.scalars.run;
    let first = format!("({number}) * {threads}u + lane");
    match (grid.group.cooperative, &body.scalars.fours) {
        (true, _) if beside > 1 => {
            body.line(format!("let first_row = i32(({number}) * {beside}u);"));
            body.line(format!("if first_row >= {rows} {{ return; }}"));
            body.line(format!("let is_row = first_row + i32(lane % {beside}u) < {rows};"));
            body.line(format!("let row = select({rows} - 1, first_row + i32(lane % {beside}u), is_row);"));
            return body.split("row", &grid.order(parallel));
        }
        (true, _) => body.line(format!("let row = i32({number});")),
        (false, None) if beside > 1 => {
            body.line(format!("let row = i32(({number}) * {beside}u + lane);"));
            if !is_followed {
                body.line(format!("if lane >= {beside}u {{ return; }}"));
            }
        }
        (false, None) => body.line(format!("let row = i32({first});")),
        (false, Some(_)) => body.line(format!("let row = i32(({first}) * {FOUR}u);")),
    }
    match is_open(body, grid) {
        true => body.open(format!("if lane < {}u && row < {rows}", grid.group.items())),
        false => body.line(format!("if row >= {rows} {{ return; }}")),
    }
    body.split("row", &grid.order(parallel));
}

/// Whether invocations without a row go on, because another kernel follows that all of them run.
fn is_open(body: &Body<'_, '_>, grid: &Grid) -> bool {
    body.scalars.run.is_followed && !grid.group.cooperative
}

/// Neighbouring elements one after the other, and then the words that they make.
fn neighbours(body: &mut Body<'_, '_>, grid: &Grid, order: &[usize], stores: &[Store]) {
    let (scalars, threads, most) = (body.scalars, grid.group.invocations, grid.group.neighbours);
    let (rows, number) = (scalars.names.dim(&grid.items), scalars.run.number);
    body.line(format!("let first = i32((({number}) * {threads}u + lane) * {most}u);"));
    body.line(format!("if first >= {rows} {{ return; }}"));
    body.line(format!("let count = min({most}, {rows} - first);"));
    let packed: Vec<(usize, &Store)> =
        stores.iter().enumerate().filter(|(_, store)| scalars.dtype(store.value).is_stored()).collect();
    for (number, _) in &packed {
        body.line(format!("var word{number} = 0u;"));
        body.line(format!("var at{number} = 0;"));
    }
    body.open("for (var u = 0; u < count; u++)");
    body.line("let row = first + u;");
    body.split("row", order);
    for store in stores {
        _ = body.value(store.value);
    }
    for (number, store) in stores.iter().enumerate() {
        body.store_or_pack(number, store, most);
    }
    body.close();
    for (number, store) in packed {
        let statement = scalars.fill(store, &format!("at{number}"), "count", &format!("word{number}"));
        body.line(statement);
    }
}
