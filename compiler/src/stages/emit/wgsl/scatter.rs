//! The scatter skeleton: one invocation per element of the result, which adds what belongs there.
//!
//! Comes in: a scatter kernel. Goes out: one entry point. Always holds: sources are added in their order, so that
//! results repeat; nothing needs floating-point atomics.

use super::elements::scalar;
use super::grid::{Grid, NUMBER};
use super::scalars::{Body, Scalars};
use crate::ir::kernel::{ExprId, Store};

/// The axes of a scatter kernel.
pub(super) struct Axes<'a> {
    pub(super) outer: &'a [usize],
    pub(super) target: usize,
    pub(super) source: &'a [usize],
    pub(super) inner: &'a [usize],
}

impl Axes<'_> {
    /// Those of the result's elements.
    pub(super) fn elements(&self) -> Vec<usize> {
        self.outer.iter().chain([&self.target]).chain(self.inner).copied().collect()
    }
}

/// Prints a scatter kernel.
pub(super) fn scatter(scalars: &Scalars<'_>, grid: &Grid, axes: &Axes<'_>, index: ExprId, store: &Store) -> String {
    let mut body = Body::new(scalars);
    let threads = grid.group.invocations;
    body.line(format!("let at = i32(({NUMBER}) * {threads}u + lane);"));
    body.line(format!("if at >= {} {{ return; }}", scalars.names.dim(&grid.items)));
    body.split("at", &axes.elements());
    let dtype = scalars.dtype(store.value);
    body.line(format!("var sum = {}(0);", scalar(dtype)));
    if dtype.is_float() {
        body.line("var total = vec2<f32>();");
    }
    body.hoist(&[index, store.value], axes.source);
    for &axis in axes.source {
        let extent = scalars.names.dim(&scalars.kernel.axes[axis]);
        body.open(format!("for (var i{axis} = 0; i{axis} < {extent}; i{axis}++)"));
    }
    let position = body.value(index);
    body.open(format!("if {position} == u32(i{})", axes.target));
    let value = body.value(store.value);
    // One element may get any number of sources, so roundings are added up beside them.
    let add = if dtype.is_float() {
        format!("total = add_up(total, {value}, no_bits());")
    } else if dtype.is_wide() {
        format!("sum = add_64(sum, {value});")
    } else {
        format!("sum += {value};")
    };
    body.line(add);
    body.close();
    axes.source.iter().for_each(|_| body.close());
    if dtype.is_float() {
        body.line("sum = total.x + total.y;");
    }
    body.line(scalars.store(store, "sum"));
    body.text
}
