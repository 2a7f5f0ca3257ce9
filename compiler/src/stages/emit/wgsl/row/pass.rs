//! One pass over a row: what it reduces, and what it stores at each position.
//!
//! Comes in: a pass, and how its rows are spread over invocations. Goes out: statements, behind which the sums of the pass are
//! known. Always holds: what is taken at once is loaded before any of it is computed with; loops end where a pass has nothing
//! more to do; a sum in blocks is that of whole blocks, and one of what is left.

use super::super::grid::Grid;
use super::super::names::Called;
use super::super::pairs;
use super::super::positions::{Positions, suffix};
use super::super::scalars::{Body, literal};
use crate::ir::kernel::{Accumulator, AccumulatorOp, Expr, ExprId, Pass};
use crate::ir::neighbours::{FOUR, NEIGHBOURS};
use crate::ir::prim::{MapOp, ReduceOp};
use crate::ir::rows::{End, Row};
use crate::ir::ty::DType;
use std::ops::Range;

/// Prints one pass.
pub(super) struct PassPrinter<'b, 'a, 'k> {
    body: &'b mut Body<'a, 'k>,
    number: usize,
    pass: &'b Pass,
    reduced: &'b [usize],
    grid: &'b Grid,
    end: Option<End>,
}

impl<'b, 'a, 'k> PassPrinter<'b, 'a, 'k> {
    /// That of a pass of a kernel.
    pub(super) fn new(
        body: &'b mut Body<'a, 'k>,
        number: usize,
        pass: &'b Pass,
        reduced: &'b [usize],
        grid: &'b Grid,
    ) -> PassPrinter<'b, 'a, 'k> {
        // The positions that a workgroup shares are those of all axes together, and turns are not told apart by where they end.
        let is_one = !grid.group.cooperative || reduced.len() == 1 && grid.turns() == 0;
        // Neighbours end at the same place, or at none of them.
        let is_common = |end: &End| match &body.scalars.fours {
            Some(fours) => fours.is_common(&end.guard),
            None => grid.group.neighbours == 1,
        };
        let end = Row::of(body.scalars.kernel).and_then(|row| row.end(number)).filter(|end| is_one && is_common(end));
        PassPrinter { body, number, pass, reduced, grid, end }
    }

    /// Prints it.
    pub(super) fn print(&mut self) {
        let wanted = self.wanted();
        for position in self.sums() {
            self.body.go_to(position);
            self.body.hoist(&wanted, self.reduced);
            for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
                self.begin(slot, accumulator);
            }
        }
        self.body.go_to(0);
        self.begin_end();
        match (self.grid.group.cooperative, self.grid.turns()) {
            (true, 0) => self.share(),
            (true, turns) => self.take_turns(turns, None),
            (false, _) => self.run_alone(),
        }
        self.body.known = None;
        for position in self.sums() {
            self.body.go_to(position);
            for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
                self.finish(slot, accumulator);
            }
        }
    }

    /// Says where the pass ends. Where that is, guards of positions before it hold.
    fn begin_end(&mut self) {
        let Some(End { axis, start, extent, guard }) = &self.end else { return };
        self.body.index_values(start);
        let (start, names) = (self.body.index(start), self.body.scalars.names);
        let (extent, all) = (names.dim(extent), names.dim(&self.body.scalars.kernel.axes[*axis]));
        self.body.line(format!("let end{} = clamp({extent} - ({start}), 0, {all});", self.number));
        self.body.known = Some(guard.clone());
    }

    /// What a position reduces and stores.
    fn wanted(&self) -> Vec<ExprId> {
        let reduced = self.pass.accumulators.iter().map(|accumulator| self.reduced_value(accumulator));
        reduced.chain(self.pass.stores.iter().map(|store| store.value)).collect()
    }

    /// What an accumulator reduces: before the end of a pass the value that counts there.
    fn reduced_value(&self, accumulator: &Accumulator) -> ExprId {
        match &self.body.scalars.kernel.scalars[accumulator.value] {
            Expr::Map(MapOp::Select, args) if self.end.is_some() => args[1],
            _ => accumulator.value,
        }
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

    /// The variables in which an invocation reduces what falls to it: neighbours of a shared row have one each, so that they do
    /// not wait for each other.
    fn variables(&self, slot: usize, accumulator: &Accumulator) -> Vec<String> {
        let partial = self.partial(slot);
        let has_fours = self.grid.group.cooperative && self.body.scalars.fours.is_some();
        match accumulator.op {
            AccumulatorOp::Reduce(_) if has_fours => {
                (0..NEIGHBOURS).map(|neighbour| format!("{partial}{}", suffix(neighbour))).collect()
            }
            AccumulatorOp::Reduce(_) | AccumulatorOp::Arg(_) => vec![partial],
        }
    }

    /// What these are together.
    fn together(&self, slot: usize, accumulator: &Accumulator) -> String {
        let mut parts = self.variables(slot, accumulator);
        let AccumulatorOp::Reduce(op) = accumulator.op else { return parts.swap_remove(0) };
        let dtype = self.body.scalars.dtype(accumulator.value);
        while let [_, _, ..] = parts.as_slice() {
            parts = parts.chunks(2).map(|pair| format!("({})", combine(op, dtype, &pair[0], &pair[1]))).collect();
        }
        parts.swap_remove(0)
    }

    /// Declares an accumulator.
    fn begin(&mut self, slot: usize, accumulator: &Accumulator) {
        let (dtype, partial) = (self.body.scalars.dtype(accumulator.value), self.partial(slot));
        for variable in self.variables(slot, accumulator) {
            self.body.line(format!("var {variable} = {};", literal(accumulator.op.neutral(dtype))));
        }
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

    /// The accumulators that are sums in blocks: their variables, what these are together, and the variable of the total.
    fn blocked(&mut self) -> Vec<(Vec<String>, String, String)> {
        let mut blocked = vec![];
        for position in self.sums() {
            self.body.go_to(position);
            let all = self.pass.accumulators.iter().enumerate();
            blocked.extend(all.filter(|(_, sum)| self.is_blocked(sum)).map(|(slot, sum)| {
                (self.variables(slot, sum), self.together(slot, sum), format!("{}_total", self.partial(slot)))
            }));
        }
        blocked
    }

    fn begin_block(&mut self) {
        for variable in self.blocked().into_iter().flat_map(|(variables, ..)| variables) {
            self.body.line(format!("{variable} = 0.0f;"));
        }
    }

    fn end_block(&mut self) {
        for (_, sum, total) in self.blocked() {
            self.body.line(format!("{total} = add_up({total}, {sum}, no_bits());"));
        }
    }

    /// Where a loop over an axis ends.
    fn extent(&self, axis: usize) -> String {
        if self.end.as_ref().is_some_and(|end| end.axis == axis) {
            return format!("end{}", self.number);
        }
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
            self.take_turns(1, None);
            inner.iter().for_each(|_| self.body.close());
            self.end_block();
        }
        outer.iter().for_each(|_| self.body.close());
    }

    /// Loops over an axis a block at a time, and over what is left, of which not all may be there that is taken at once.
    fn blocks(&mut self, axis: usize, block: u32) {
        let (extent, number, at_once) = (self.counted(self.extent(axis)), self.number, self.grid.group.at_once);
        self.body.line(format!("let whole{number} = {extent} / {block} * {block};"));
        self.body.open(format!("for (var b{axis} = 0; b{axis} < whole{number}; b{axis} += {block})"));
        self.begin_block();
        if at_once == block {
            self.take_of_axis(axis, &format!("b{axis}"), None);
        } else {
            self.body.open(format!("for (var u = 0; u < {block}; u += {at_once})"));
            self.take_of_axis(axis, &format!("b{axis} + u"), None);
            self.body.close();
        }
        self.end_block();
        self.body.close();
        self.begin_block();
        self.body.open(format!("for (var b{axis} = whole{number}; b{axis} < {extent}; b{axis} += {at_once})"));
        self.take_of_axis(axis, &format!("b{axis}"), Some(&extent));
        self.body.close();
        self.end_block();
    }

    /// Takes what is at once along an axis, without what is beyond an end.
    fn take_of_axis(&mut self, axis: usize, first: &str, end: Option<&str>) {
        let at_once = self.grid.group.at_once as usize;
        let names: Vec<String> = (0..at_once).map(|turn| format!("i{axis}{}", suffix(turn))).collect();
        for (turn, name) in names.iter().enumerate() {
            let from = if turn == 0 { first.to_owned() } else { format!("i{axis} + {turn}") };
            self.body.line(format!("let {name} = {from};"));
        }
        self.take(&names, end);
    }

    /// A number that is known before the loops, as a variable if it is not written in one word.
    fn counted(&mut self, count: String) -> String {
        if count.chars().all(|c| c.is_ascii_alphanumeric()) {
            return count;
        }
        let name = format!("count{}", self.number);
        self.body.line(format!("let {name} = {count};"));
        name
    }

    /// Takes what is at several places, or as much of that as is before an end.
    fn take(&mut self, places: &[String], end: Option<&str>) {
        let conditions = end.map(|end| places.iter().map(|place| format!("{place} < {end}")).collect::<Vec<_>>());
        self.take_turns(places.len(), conditions.as_deref());
    }

    /// Loops over the elements that fall to this invocation of the workgroup, a block of them at a time where there are
    /// many: no loop has more turns than software adapters let it.
    fn share(&mut self) {
        let (number, threads) = (self.number, self.grid.group.of_row());
        let count = match &self.end {
            Some(_) => format!("end{number}"),
            None => self.body.scalars.names.dim(&self.grid.reduced),
        };
        let own = match self.grid.group.rows {
            1 => "i32(lane)".to_owned(),
            rows => format!("i32(lane / {rows}u)"),
        };
        let (own, at_once) = match self.body.scalars.fours {
            Some(_) => (format!("{own} * {FOUR}"), FOUR),
            None => (own, 1),
        };
        let stride = threads * at_once;
        let Some(block) = self.grid.group.block else {
            self.begin_block();
            self.body.open(format!("for (var at = {own}; at < {count}; at += {stride})"));
            self.body.split("at", self.reduced);
            self.take_turns(1, None);
            self.body.close();
            return self.end_block();
        };
        let (step, count) = (i64::from(block) * i64::from(threads), self.counted(count));
        self.body.line(format!("let whole{number} = {count} / {step} * {step};"));
        let (takings, taken) = (block / at_once, self.grid.group.at_once);
        self.body.open(format!("for (var first = {own}; first < whole{number}; first += {step})"));
        self.begin_block();
        if taken == takings {
            self.take_of_share("first", stride, None);
        } else {
            self.body.open(format!("for (var u = 0; u < {takings}; u += {taken})"));
            self.take_of_share(&format!("first + u * {stride}"), stride, None);
            self.body.close();
        }
        self.end_block();
        self.body.close();
        if self.end.is_none() && self.grid.reduced.exact_div(&step.into()).is_some() {
            return;
        }
        self.begin_block();
        let further = stride * taken;
        self.body.open(format!("for (var first = whole{number} + {own}; first < {count}; first += {further})"));
        self.take_of_share("first", stride, Some(&count));
        self.body.close();
        self.end_block();
    }

    /// Takes what an invocation does at once of its share, so far apart, without what is beyond an end.
    fn take_of_share(&mut self, first: &str, stride: u32, end: Option<&str>) {
        let at_once = self.grid.group.at_once as usize;
        // Along a single axis, positions are places in the row.
        let has_args = self.pass.accumulators.iter().any(|own| matches!(own.op, AccumulatorOp::Arg(_)));
        let name = match self.reduced {
            [axis] if !has_args => format!("i{axis}"),
            _ => "at".to_owned(),
        };
        let names: Vec<String> = (0..at_once).map(|turn| format!("{name}{}", suffix(turn))).collect();
        for (turn, own) in names.iter().enumerate() {
            let from = if turn == 0 { first.to_owned() } else { format!("{name} + {}", turn * stride as usize) };
            self.body.line(format!("let {own} = {from};"));
            if name == "at" {
                self.body.split_turn(own, self.reduced, &suffix(turn));
            }
        }
        self.take(&names, end);
    }

    /// What happens in a few turns, whose loads do not wait for each other, each where its condition holds.
    fn take_turns(&mut self, turns: usize, conditions: Option<&[String]>) {
        let wanted = self.wanted();
        let condition = |turn: usize| conditions.map(|conditions| conditions[turn].clone());
        if self.body.positions.is_some() {
            for turn in 0..turns {
                self.body.condition = condition(turn);
                self.body.load_ahead(&wanted, turn);
            }
            self.body.condition = None;
        }
        for turn in 0..turns {
            let condition = condition(turn);
            condition.iter().for_each(|condition| self.body.open(format!("if {condition}")));
            for number in self.body.of_turn(turn) {
                self.body.go_to(number);
                self.accumulate_all();
            }
            self.body.stores_of(&self.pass.stores, turn);
            condition.iter().for_each(|_| self.body.close());
        }
    }

    fn accumulate_all(&mut self) {
        for (slot, accumulator) in self.pass.accumulators.iter().enumerate() {
            self.accumulate(slot, accumulator);
        }
    }

    fn accumulate(&mut self, slot: usize, accumulator: &Accumulator) {
        let value = self.body.value(self.reduced_value(accumulator));
        let mut partial = self.partial(slot);
        if self.variables(slot, accumulator).len() > 1 {
            partial += &self.body.positions.as_ref().map_or_else(String::new, Positions::of_neighbour);
        }
        let dtype = self.body.scalars.dtype(accumulator.value);
        match accumulator.op {
            AccumulatorOp::Reduce(op) => {
                let sum = combine(op, dtype, &partial, &value);
                self.body.line(format!("{partial} = {sum};"));
            }
            AccumulatorOp::Arg(op) => {
                let position = self.position();
                let before = format!("{}_before_{dtype}", op.name());
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
            true => self.body.axis(axis),
            false => format!("({text}) * {} + {}", self.body.scalars.names.dim(&axes[axis]), self.body.axis(axis)),
        };
        format!("u32({})", self.reduced.iter().fold(String::new(), fold))
    }

    fn finish(&mut self, slot: usize, accumulator: &Accumulator) {
        let mut sum = self.together(slot, accumulator);
        let partial = self.partial(slot);
        if self.is_blocked(accumulator) {
            sum = format!("({partial}_total.x + {partial}_total.y)");
        }
        let (number, threads, rows) = (self.number, self.grid.group.invocations, self.grid.group.rows);
        let dtype = self.body.scalars.dtype(accumulator.value);
        let finished = match (self.grid.group.cooperative, accumulator.op) {
            (false, AccumulatorOp::Reduce(_)) => sum,
            (false, AccumulatorOp::Arg(_)) => format!("{partial}_at"),
            (true, AccumulatorOp::Reduce(op)) => {
                let of = if dtype.is_wide() { pairs::suffix(op, dtype) } else { dtype.name() };
                format!("reduce_{}_{of}({sum}, lane, {threads}u, {rows}u)", op.name())
            }
            (true, AccumulatorOp::Arg(op)) => {
                format!("reduce_{}_{dtype}({partial}, {partial}_at, lane, {threads}u, {rows}u)", op.name())
            }
        };
        let of_sum = self.of_sum();
        self.body.line(format!("let a{number}_{slot}{of_sum} = {finished};"));
    }
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
