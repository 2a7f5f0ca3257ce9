//! The row skeleton: maps, and rows that are reduced by one invocation or by a workgroup together.
//!
//! Comes in: a row kernel. Goes out: one entry point. Always holds: an element that a pass stores is stored by the
//! invocation that reads it in every pass, so that rows may be changed in place; barriers are reached by whole groups;
//! long sums of floats are cut into blocks, whose totals are added with compensation.

use super::grid::{BUILTINS, Grid, NUMBER};
use super::pairs;
use super::positions::{Positions, suffix};
use super::scalars::{Body, Scalars, literal};
use crate::ir::kernel::{Accumulator, AccumulatorOp, ExprId, Pass, Store};
use crate::ir::neighbours::{FOUR, NEIGHBOURS, is_packed};
use crate::ir::prim::{ArgOp, ReduceOp};
use crate::ir::ty::DType;
use std::ops::Range;

/// Prints a row kernel as the entry point `name`.
pub(super) fn row(
    scalars: &Scalars<'_>,
    name: &str,
    grid: &Grid,
    parallel: &[usize],
    reduced: &[usize],
    passes: &[Pass],
    stores: &[Store],
) -> String {
    let mut body = Body::new(scalars);
    let threads = grid.group.invocations;
    let rows = scalars.names.dim(&grid.items);
    if is_packed(scalars.kernel) {
        neighbours(&mut body, grid, &grid.order(parallel), stores);
        return entry(name, threads, &body.text);
    }
    let first = format!("({NUMBER}) * {threads}u + lane");
    body.line(match (grid.group.cooperative, &scalars.fours) {
        (true, _) => format!("let row = i32({NUMBER});"),
        (false, None) => format!("let row = i32({first});"),
        (false, Some(_)) => format!("let row = i32(({first}) * {FOUR}u);"),
    });
    body.line(format!("if row >= {rows} {{ return; }}"));
    body.split("row", &grid.order(parallel));
    if let Some(fours) = &scalars.fours {
        let differ = if grid.group.cooperative { reduced } else { &[fours.axis] };
        body.positions = Some(Positions::new(differ, fours.axis, !grid.group.cooperative));
    }
    for turn in 0..grid.turns() {
        let of = suffix(turn);
        body.line(format!("let at{of} = i32(lane + {}u) * {FOUR};", turn * threads as usize));
        body.split_turn(&format!("at{of}"), reduced, &of);
    }
    for (number, pass) in passes.iter().enumerate() {
        let mut printer = PassPrinter { body: &mut body, number, pass, reduced, grid };
        printer.print();
    }
    if grid.group.cooperative && !stores.is_empty() {
        body.open("if lane == 0u");
        body.stores(stores);
        body.close();
    } else if scalars.fours.is_some() {
        let wanted: Vec<ExprId> = stores.iter().map(|store| store.value).collect();
        body.load_fours(&wanted, 0);
        body.stores_of(stores, 0);
    } else {
        body.stores(stores);
    }
    entry(name, threads, &body.text)
}

fn entry(name: &str, threads: u32, body: &str) -> String {
    format!(
        "@compute @workgroup_size({threads})\n\
         fn {name}({BUILTINS}) {{\n{body}}}\n"
    )
}

/// Neighbouring elements one after the other, and then the words that they make.
fn neighbours(body: &mut Body<'_, '_>, grid: &Grid, order: &[usize], stores: &[Store]) {
    let (scalars, threads, most) = (body.scalars, grid.group.invocations, grid.group.neighbours);
    let rows = scalars.names.dim(&grid.items);
    body.line(format!("let first = i32((({NUMBER}) * {threads}u + lane) * {most}u);"));
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

struct PassPrinter<'b, 'a, 'k> {
    body: &'b mut Body<'a, 'k>,
    number: usize,
    pass: &'b Pass,
    reduced: &'b [usize],
    grid: &'b Grid,
}

impl PassPrinter<'_, '_, '_> {
    fn print(&mut self) {
        let wanted = self.wanted();
        for position in self.sums() {
            self.body.go_to(position);
            self.body.hoist(&wanted, self.reduced);
            for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
                self.begin(&self.partial(slot), accumulator);
            }
        }
        match (self.grid.group.cooperative, self.grid.turns()) {
            (true, 0) => self.share(),
            (true, turns) => self.take_turns(turns),
            (false, _) => self.run_alone(),
        }
        for position in self.sums() {
            self.body.go_to(position);
            for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
                self.finish(slot, accumulator);
            }
        }
    }

    /// What a position reduces and stores.
    fn wanted(&self) -> Vec<ExprId> {
        let reduced = self.pass.accumulators.iter().map(|accumulator| accumulator.value);
        reduced.chain(self.pass.stores.iter().map(|store| store.value)).collect()
    }

    /// The positions that have sums of their own.
    fn sums(&self) -> Range<usize> {
        let has_fours = self.body.scalars.fours.is_some();
        0..if has_fours && !self.grid.group.cooperative { NEIGHBOURS } else { 1 }
    }

    fn partial(&self, slot: usize) -> String {
        format!("p{}_{slot}{}", self.number, self.of_sum())
    }

    /// What names of sums end with.
    fn of_sum(&self) -> String {
        self.body.positions.as_ref().map_or_else(String::new, Positions::of_sum)
    }

    /// Declares an accumulator.
    fn begin(&mut self, partial: &str, accumulator: &Accumulator) {
        let dtype = self.body.scalars.dtype(accumulator.value);
        self.body.line(format!("var {partial} = {};", literal(accumulator.op.neutral(dtype))));
        if let AccumulatorOp::Arg(_) = accumulator.op {
            self.body.line(format!("var {partial}_at = 0u;"));
        }
        if self.is_blocked(accumulator) {
            self.body.line(format!("var {partial}_total = vec2<f32>();"));
        }
    }

    /// Whether an accumulator is a sum of floats in blocks.
    fn is_blocked(&self, accumulator: &Accumulator) -> bool {
        let float = self.body.scalars.dtype(accumulator.value).is_float();
        self.grid.group.block.is_some() && float && accumulator.op == AccumulatorOp::Reduce(ReduceOp::Sum)
    }

    /// The accumulators that are sums in blocks.
    fn blocked(&mut self) -> Vec<String> {
        let mut blocked = vec![];
        for position in self.sums() {
            self.body.go_to(position);
            let all = self.pass.accumulators.iter().enumerate();
            blocked.extend(all.filter(|(_, sum)| self.is_blocked(sum)).map(|(slot, _)| self.partial(slot)));
        }
        blocked
    }

    fn begin_block(&mut self) {
        self.blocked().iter().for_each(|partial| self.body.line(format!("{partial} = 0.0f;")));
    }

    fn end_block(&mut self) {
        for partial in self.blocked() {
            self.body.line(format!("{partial}_total = add_up({partial}_total, {partial}, no_bits());"));
        }
    }

    fn extent(&self, axis: usize) -> String {
        self.body.scalars.names.dim(&self.body.scalars.kernel.axes[axis])
    }

    /// Loops over the reduced axes, one after the other. The innermost ones with few positions are a block together;
    /// where the innermost one has many, it is cut into blocks.
    fn run_alone(&mut self) {
        let (mut outer, mut positions) = (self.reduced.len(), 1);
        let block = self.grid.group.block;
        while let Some(axis) = outer.checked_sub(1)
            && let Some(extent) = self.body.scalars.kernel.axes[self.reduced[axis]].as_const()
            && block.is_none_or(|block| extent.saturating_mul(positions) <= block.into())
        {
            (outer, positions) = (axis, extent.saturating_mul(positions));
        }
        let (mut outer, inner) = self.reduced.split_at(outer);
        let cut = block.filter(|_| inner.is_empty()).zip(outer.split_last());
        if let Some((_, (_, rest))) = cut {
            outer = rest;
        }
        for &axis in outer {
            self.body.open(format!("for (var i{axis} = 0; i{axis} < {}; i{axis}++)", self.extent(axis)));
        }
        if let Some((block, (axis, _))) = cut {
            self.blocks(*axis, block);
        } else {
            self.begin_block();
            for &axis in inner {
                self.body.open(format!("for (var i{axis} = 0; i{axis} < {}; i{axis}++)", self.extent(axis)));
            }
            self.element();
            inner.iter().for_each(|_| self.body.close());
            self.end_block();
        }
        outer.iter().for_each(|_| self.body.close());
    }

    /// Loops over an axis a block at a time, whose loads do not wait for each other, and over what is left.
    fn blocks(&mut self, axis: usize, block: u32) {
        let (extent, number) = (self.extent(axis), self.number);
        self.body.line(format!("let whole{number} = {extent} / {block} * {block};"));
        self.body.open(format!("for (var b{axis} = 0; b{axis} < whole{number}; b{axis} += {block})"));
        self.begin_block();
        self.body.open(format!("for (var u = 0; u < {block}; u++)"));
        self.body.line(format!("let i{axis} = b{axis} + u;"));
        self.element();
        self.body.close();
        self.end_block();
        self.body.close();
        self.begin_block();
        self.body.open(format!("for (var i{axis} = whole{number}; i{axis} < {extent}; i{axis}++)"));
        self.element();
        self.body.close();
        self.end_block();
    }

    /// Loops over the elements that fall to this invocation of the workgroup, a block of them at a time where there are
    /// many: loads then do not wait for each other, and no loop has more turns than software adapters let it.
    fn share(&mut self) {
        let (number, threads) = (self.number, self.grid.group.invocations);
        let count = self.body.scalars.names.dim(&self.grid.reduced);
        let (own, at_once) = match self.body.scalars.fours {
            Some(_) => (format!("i32(lane) * {FOUR}"), FOUR),
            None => ("i32(lane)".to_owned(), 1),
        };
        let stride = threads * at_once;
        let mut start = own.clone();
        if let Some(block) = self.grid.group.block {
            let step = i64::from(block) * i64::from(threads);
            self.body.line(format!("let whole{number} = {count} / {step} * {step};"));
            self.body.open(format!("for (var first = {own}; first < whole{number}; first += {step})"));
            self.begin_block();
            self.body.open(format!("for (var u = 0; u < {}; u++)", block / at_once));
            self.body.line(format!("let at = first + u * {stride};"));
            self.body.split("at", self.reduced);
            self.element();
            self.body.close();
            self.end_block();
            self.body.close();
            if self.grid.reduced.exact_div(&step.into()).is_some() {
                return;
            }
            start = format!("whole{number} + {own}");
        }
        self.begin_block();
        self.body.open(format!("for (var at = {start}; at < {count}; at += {stride})"));
        self.body.split("at", self.reduced);
        self.element();
        self.body.close();
        self.end_block();
    }

    /// A row of a known length: a few turns, whose loads do not wait for each other.
    fn take_turns(&mut self, turns: usize) {
        let wanted = self.wanted();
        (0..turns).for_each(|turn| self.body.load_fours(&wanted, turn));
        (0..turns).for_each(|turn| self.neighbours(turn));
    }

    /// What happens at one element, or at all neighbours of an invocation.
    fn element(&mut self) {
        if self.body.scalars.fours.is_some() {
            self.body.load_fours(&self.wanted(), 0);
            return self.neighbours(0);
        }
        self.accumulate_all();
        self.body.stores(&self.pass.stores);
    }

    /// What happens at the neighbours of a turn.
    fn neighbours(&mut self, turn: usize) {
        for neighbour in 0..NEIGHBOURS {
            self.body.go_to(turn * NEIGHBOURS + neighbour);
            self.accumulate_all();
        }
        self.body.stores_of(&self.pass.stores, turn);
    }

    fn accumulate_all(&mut self) {
        for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
            self.accumulate(slot, accumulator);
        }
    }

    fn accumulate(&mut self, slot: usize, accumulator: &Accumulator) {
        let value = self.body.value(accumulator.value);
        let partial = self.partial(slot);
        let dtype = self.body.scalars.dtype(accumulator.value);
        match accumulator.op {
            AccumulatorOp::Reduce(op) => {
                let sum = combine(op, dtype, &partial, &value);
                self.body.line(format!("{partial} = {sum};"));
            }
            AccumulatorOp::Arg(op) => {
                let position = self.position();
                let before = format!("{}_before_{dtype}", arg_name(op));
                self.body.open(format!("if {before}({value}, {position}, {partial}, {partial}_at)"));
                self.body.line(format!("{partial} = {value};"));
                self.body.line(format!("{partial}_at = {position};"));
                self.body.close();
            }
        }
    }

    /// The row-major position over the reduced axes.
    fn position(&self) -> String {
        if self.grid.group.cooperative {
            let at = self.body.positions.as_ref().map_or_else(|| "at".into(), Positions::position);
            return format!("u32({at})");
        }
        let axes = &self.body.scalars.kernel.axes;
        let fold = |text: String, &axis: &usize| match text.is_empty() {
            true => format!("i{axis}"),
            false => format!("({text}) * {} + i{axis}", self.body.scalars.names.dim(&axes[axis])),
        };
        format!("u32({})", self.reduced.iter().fold(String::new(), fold))
    }

    fn finish(&mut self, slot: usize, accumulator: &Accumulator) {
        let mut partial = self.partial(slot);
        if self.is_blocked(accumulator) {
            partial = format!("({partial}_total.x + {partial}_total.y)");
        }
        let (number, threads) = (self.number, self.grid.group.invocations);
        let dtype = self.body.scalars.dtype(accumulator.value);
        let finished = match (self.grid.group.cooperative, accumulator.op) {
            (false, AccumulatorOp::Reduce(_)) => partial,
            (false, AccumulatorOp::Arg(_)) => format!("{partial}_at"),
            (true, AccumulatorOp::Reduce(op)) => {
                let of = if dtype.is_wide() { pairs::suffix(op, dtype) } else { dtype.name() };
                format!("reduce_{}_{of}({partial}, lane, {threads}u)", op.name())
            }
            (true, AccumulatorOp::Arg(op)) => {
                format!("reduce_{}_{dtype}({partial}, {partial}_at, lane, {threads}u)", arg_name(op))
            }
        };
        let of_sum = self.of_sum();
        self.body.line(format!("let a{number}_{slot}{of_sum} = {finished};"));
    }
}

fn arg_name(op: ArgOp) -> &'static str {
    op.name()
}

fn combine(op: ReduceOp, dtype: DType, a: &str, b: &str) -> String {
    if dtype.is_wide() {
        return pairs::combine(op, dtype, a, b);
    }
    let nan = if dtype.is_float() { "_nan" } else { "" };
    match op {
        ReduceOp::Sum => format!("{a} + {b}"),
        ReduceOp::Prod => format!("{a} * {b}"),
        ReduceOp::Max => format!("max{nan}({a}, {b})"),
        ReduceOp::Min => format!("min{nan}({a}, {b})"),
    }
}
