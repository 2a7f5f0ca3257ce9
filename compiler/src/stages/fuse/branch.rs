//! Lowers branches: the cases of a branch in, one step that runs one of them out.
//!
//! Always: every case writes each result that something reads to the same place, and the selector is a buffer of its
//! own.

use super::lower::{Destination, Lowering};
use super::scope::{Home, Scope};
use crate::ir::index::Index;
use crate::ir::program::{BufferId, Role, Step};
use crate::ir::{Branch, Graph, Kind, Value};
use std::collections::BTreeMap;

impl Lowering {
    /// Appends the step of the branch `region`, whose results are to be written to the `stores`.
    pub(super) fn branch(
        &mut self,
        scope: &Scope<'_>,
        region: Value,
        branch: &Branch,
        stores: &BTreeMap<Value, Vec<Home>>,
        steps: &mut Vec<Step>,
    ) {
        let args = &scope.graph.node(region).args;
        let homes: Vec<&Home> = args[1..].iter().map(|&a| &scope.homes[&scope.canon(a)]).collect();
        let results: Vec<(usize, Value)> = scope
            .graph
            .values()
            .filter_map(|v| match scope.graph.node(v).kind {
                Kind::Result(k) if scope.graph.node(v).args == [region] => Some((k, v)),
                _ => None,
            })
            .filter(|(_, v)| stores.contains_key(v))
            .collect();
        let selector = self.selector(scope, args[0], steps);
        let mut cases = vec![];
        for case in &branch.cases {
            let mut inner: BTreeMap<Value, Home> = case.inputs().map(|(k, v)| (v, homes[k].clone())).collect();
            self.sources(case, &mut inner);
            let destination = |&(k, result): &(usize, Value)| {
                let Home { buffer, base } = stores[&result][0].clone();
                Destination { value: case.outputs[k], buffer, base }
            };
            let destinations: Vec<Destination> = results.iter().map(destination).collect();
            cases.push(self.region(case, inner, &destinations));
        }
        steps.push(Step::Branch { selector, cases });
        for (_, result) in results {
            let (home, others) = (&stores[&result][0], &stores[&result][1..]);
            let count = scope.graph.ty(result).count();
            steps.extend(others.iter().map(|other| self.copy(home, other, count.clone())));
        }
    }

    /// The buffer whose first word is the selector; a slice of a stack is copied.
    fn selector(&mut self, scope: &Scope<'_>, value: Value, steps: &mut Vec<Step>) -> BufferId {
        let home = &scope.homes[&scope.canon(value)];
        if home.base == Index::default() {
            return home.buffer;
        }
        let ty = scope.graph.ty(value);
        let buffer = self.buffer(Role::Scratch, ty.dtype, ty.count());
        steps.push(self.copy(home, &Home { buffer, base: Index::default() }, ty.count()));
        buffer
    }

    /// The homes of what the runtime supplies, where a body of a region reads it.
    fn sources(&mut self, body: &Graph, homes: &mut BTreeMap<Value, Home>) {
        for value in body.values() {
            if let Kind::Source(source) = body.node(value).kind {
                let ty = body.ty(value);
                let buffer = self.buffer(Role::Source(source), ty.dtype, ty.count());
                homes.insert(value, Home { buffer, base: Index::default() });
            }
        }
    }
}
