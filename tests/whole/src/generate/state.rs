//! States of sessions: values that the program may read from call to call, and assignments of others to them.

use super::Growing;
use crate::program::{Local, Step};
use precast_compiler::ir::{Dim, Type};

impl Growing {
    /// A state and its value as the function finds it.
    pub(super) fn keep(&mut self) {
        let ty = self.fresh_type();
        let local = self.local(ty);
        self.program.states.push(local);
        self.pool.push(local);
    }

    /// Assigns to a state, or to a part of it.
    pub(super) fn store(&mut self) -> Option<()> {
        let states = self.program.states.clone();
        let state = if states.is_empty() { return None } else { self.random.pick(&states) };
        let mut ty = self.ty(state);
        let part = if self.random.percent(40) { self.part(&mut ty) } else { String::new() };
        self.assign(state, part, &ty)
    }

    /// Assigns to every state, so that each is used.
    pub(super) fn store_all(&mut self) {
        for state in self.program.states.clone() {
            let ty = self.ty(state);
            if self.assign(state, String::new(), &ty).is_none() {
                self.push(Step::Store { state, part: String::new(), operator: "=", value: state, read: None });
            }
        }
    }

    fn assign(&mut self, state: Local, part: String, ty: &Type) -> Option<()> {
        let value = self.float(ty)?;
        // States stay small, however often they are added to.
        let value = self.one("tanh", &[value], &[])?;
        let operator = self.random.pick(&["=", "=", "=", "+=", "-=", "*="]);
        let read = if self.random.percent(60) {
            let ty = self.ty(state);
            let read = self.local(ty);
            self.pool.push(read);
            Some(read)
        } else {
            None
        };
        self.push(Step::Store { state, part, operator, value, read });
        Some(())
    }

    /// A part along an axis that is known: one place, or some.
    fn part(&mut self, ty: &mut Type) -> String {
        let known: Vec<usize> = (0..ty.rank()).filter(|&a| ty.shape[a].as_const().is_some()).collect();
        if known.is_empty() {
            return String::new();
        }
        let axis = self.random.pick(&known);
        let after = if axis + 1 < ty.rank() { ", .." } else { "" };
        let n = ty.shape[axis].as_const().unwrap_or(1) as usize;
        let from = self.random.below(n);
        let index = if self.random.percent(50) {
            ty.shape.remove(axis);
            from.to_string()
        } else {
            let to = from + 1 + self.random.below(n - from);
            ty.shape[axis] = Dim::from((to - from) as i64);
            format!("{from}..{to}")
        };
        format!("[{}{index}{after}]", "_, ".repeat(axis))
    }
}
