//! The names that a node sees: those of its graph, and of the graphs around it.
//!
//! Always: a graph inside of another changes no name of it.

use super::super::operand::Operand;
use std::collections::BTreeMap;

/// The values of the names so far, the innermost graph last; `None` for what a refusal leaves unknown.
pub(super) struct Scope(Vec<BTreeMap<String, Option<Operand>>>);

impl Scope {
    /// Of one graph, without names.
    pub(super) fn new() -> Scope {
        Scope(vec![BTreeMap::new()])
    }

    /// What a name stands for; `None` where nothing has given it.
    pub(super) fn get(&self, name: &str) -> Option<&Option<Operand>> {
        self.0.iter().rev().find_map(|names| names.get(name))
    }

    /// Whether anything has given a name.
    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Gives a name of the innermost graph. Whether it did not have it.
    pub(super) fn insert(&mut self, name: String, operand: Option<Operand>) -> bool {
        self.0.last_mut().is_none_or(|names| names.insert(name, operand).is_none())
    }

    /// A graph inside.
    pub(super) fn enter(&mut self) {
        self.0.push(BTreeMap::new());
    }

    /// The end of the innermost graph.
    pub(super) fn leave(&mut self) {
        self.0.pop();
    }
}
