//! Several positions that are printed one after the other: neighbours of an invocation, in one turn or a few.
//!
//! Comes in: scalars and stores that are wanted at all of them. Goes out: statements, in which what differs between positions
//! is named for them. Always holds: a load or a store of four neighbours that is one access is printed as one; all scalars that
//! the stores of a turn need are known before the first one is made.

use super::elements::scalar;
use super::scalars::{Body, Scalars, literal};
use crate::ir::index::Index;
use crate::ir::kernel::{ExprId, Guard, Store};
use crate::ir::neighbours::NEIGHBOURS;
use crate::ir::prim::Scalar;

/// Which position is printed.
pub(super) struct Positions {
    /// The axes in which turns differ.
    turned: Vec<usize>,
    /// That of neighbours, where an invocation has several.
    inner: Option<usize>,
    /// Whether each neighbour has sums of its own.
    own_sums: bool,
    /// The number of the one that is printed: neighbours follow each other, and turns, as if each had four neighbours.
    number: usize,
}

impl Positions {
    /// Neighbours along the axis `inner`, in turns that differ in some axes.
    pub(super) fn new(turned: &[usize], inner: Option<usize>, own_sums: bool) -> Positions {
        Positions { turned: turned.to_vec(), inner, own_sums, number: 0 }
    }

    /// At which one a scalar is first what it is at the one that is printed, if it is not the same at all of them.
    pub(super) fn of(&self, scalars: &Scalars<'_>, id: ExprId) -> Option<usize> {
        let along = self.inner.is_some_and(|axis| scalars.varies(id, &[axis]));
        let neighbour = if along { self.number % NEIGHBOURS } else { 0 };
        match scalars.varies(id, &self.turned) {
            true => Some(self.number - self.number % NEIGHBOURS + neighbour),
            false => along.then_some(neighbour),
        }
    }

    /// What names of sums end with.
    pub(super) fn of_sum(&self) -> String {
        if self.own_sums { self.of_neighbour() } else { String::new() }
    }

    /// What names of what each neighbour has for itself end with.
    pub(super) fn of_neighbour(&self) -> String {
        suffix(self.number % NEIGHBOURS)
    }

    /// The numbers of a turn.
    fn of_turn(&self, turn: usize) -> Vec<usize> {
        let count = if self.inner.is_some() { NEIGHBOURS } else { 1 };
        (turn * NEIGHBOURS..).take(count).collect()
    }

    /// What an axis is called.
    pub(super) fn axis(&self, axis: usize) -> String {
        let turn = if self.turned.contains(&axis) { suffix(self.number / NEIGHBOURS) } else { String::new() };
        match self.number % NEIGHBOURS {
            neighbour @ 1.. if Some(axis) == self.inner => format!("i{axis}{turn} + {neighbour}"),
            _ => format!("i{axis}{turn}"),
        }
    }

    /// The row-major position over all reduced axes that begins as `at`.
    pub(super) fn position(&self) -> String {
        let at = format!("at{}", suffix(self.number / NEIGHBOURS));
        if self.inner.is_some() { format!("{at} + {}", self.number % NEIGHBOURS) } else { at }
    }
}

/// What names of the `number`-th of several end with.
pub(super) fn suffix(number: usize) -> String {
    if number == 0 { String::new() } else { format!("_{number}") }
}

impl Body<'_, '_> {
    /// Goes to a position.
    pub(super) fn go_to(&mut self, number: usize) {
        if let Some(positions) = &mut self.positions {
            positions.number = number;
        }
    }

    /// The numbers of the positions of a turn.
    pub(super) fn of_turn(&self, turn: usize) -> Vec<usize> {
        self.positions.as_ref().map_or_else(|| vec![0], |positions| positions.of_turn(turn))
    }

    /// Makes, at a turn, the loads that `wanted` needs and that are not made yet: those of four neighbours, or all where there
    /// are no neighbours.
    pub(super) fn load_ahead(&mut self, wanted: &[ExprId], turn: usize) {
        self.go_to(turn * NEIGHBOURS);
        let has_fours = self.positions.as_ref().is_some_and(|positions| positions.inner.is_some());
        let scalars = &self.scalars.kernel.scalars;
        let mut needed = vec![false; scalars.len()];
        wanted.iter().for_each(|&id| needed[id] = true);
        for id in (0..scalars.len()).rev() {
            needed[id] &= !self.is_defined(id);
            if needed[id] {
                scalars[id].operands(&mut |operand| needed[operand] = true);
            }
        }
        let is_ahead = |id: ExprId| if has_fours { self.is_four(id) } else { scalars[id].load().is_some() };
        needed.iter_mut().enumerate().for_each(|(id, needed)| *needed &= is_ahead(id));
        for id in (0..needed.len()).filter(|&id| needed[id]) {
            _ = self.value(id);
        }
    }

    /// Makes a load at the four neighbours of a turn; gives the value at the position that is printed.
    pub(super) fn load_four(
        &mut self,
        id: ExprId,
        slot: usize,
        (index, guards, fill): (&Index, &[Guard], Scalar),
    ) -> String {
        let number = self.positions.as_ref().map_or(0, |positions| positions.number);
        let turn = number / NEIGHBOURS;
        self.go_to(turn * NEIGHBOURS);
        self.index_values(index);
        let dtype = self.scalars.kernel.slots[slot].dtype;
        let (value, four) = (self.scalars.load_four(slot, &self.index(index)), format!("w{id}{}", suffix(turn)));
        if self.is_always(guards) {
            self.line(format!("let {four} = {value};"));
        } else {
            let inside = self.of_load(guards);
            self.line(format!("var {four} = vec4<{}>({});", scalar(dtype), literal(fill)));
            self.line(format!("if {inside} {{ {four} = {value}; }}"));
        }
        for (neighbour, component) in ["x", "y", "z", "w"].into_iter().enumerate() {
            self.go_to(turn * NEIGHBOURS + neighbour);
            self.define(id, format!("{four}.{component}"));
        }
        self.go_to(number);
        self.value(id)
    }

    /// Writes the stores of a turn.
    pub(super) fn stores_of(&mut self, stores: &[Store], turn: usize) {
        let numbers = self.of_turn(turn);
        for &number in &numbers {
            self.go_to(number);
            stores.iter().for_each(|store| _ = self.value(store.value));
        }
        for store in stores {
            if !self.scalars.fours.as_ref().is_some_and(|fours| fours.is_store(store)) {
                for &number in &numbers {
                    self.go_to(number);
                    self.store(store);
                }
                continue;
            }
            let values = [0, 1, 2, 3].map(|neighbour| {
                self.go_to(numbers[0] + neighbour);
                self.value(store.value)
            });
            self.go_to(numbers[0]);
            self.index_values(&store.index);
            let statement = self.scalars.store_four(store, &self.index(&store.index), &values);
            self.line(statement);
        }
    }
}
