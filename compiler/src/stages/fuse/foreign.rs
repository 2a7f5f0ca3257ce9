//! Lowers foreign calls: a call in, one step out.
//!
//! Always: every argument and every result is the whole of a buffer, which holds nothing else.

use super::lower::Lowering;
use super::scope::{Home, Scope};
use crate::ir::index::Index;
use crate::ir::program::{BufferId, Role, Step};
use crate::ir::{Foreign, Kind, Type, Value};
use std::collections::BTreeMap;

impl Lowering {
    /// Appends the step of the foreign call `call`, whose results are to be written to the `stores`.
    pub(super) fn foreign(
        &mut self,
        scope: &Scope<'_>,
        call: Value,
        foreign: &Foreign,
        stores: &BTreeMap<Value, Vec<Home>>,
        steps: &mut Vec<Step>,
    ) {
        let mut args = vec![];
        for &arg in &scope.graph.node(call).args {
            let ty = scope.graph.ty(arg);
            let home = scope.homes[&scope.canon(arg)].clone();
            args.push((self.whole(&home, ty, Some(steps)), ty.clone()));
        }
        let result = |k: usize| {
            let is_result = |v: &Value| matches!(scope.graph.node(*v).kind, Kind::Result(n) if n == k);
            scope.graph.values().find(|v| is_result(v) && scope.graph.node(*v).args == [call])
        };
        let (mut results, mut copies) = (vec![], vec![]);
        for (k, ty) in foreign.results.iter().enumerate() {
            let places = result(k).and_then(|v| stores.get(&v)).map_or(&[][..], Vec::as_slice);
            let buffer = match places.first() {
                Some(home) => self.whole(home, ty, None),
                None => self.buffer(Role::Scratch, ty.dtype, ty.count()),
            };
            let from = Home { buffer, base: Index::default() };
            copies.extend(places.iter().filter(|to| **to != from).map(|to| self.copy(&from, to, ty.count())));
            results.push((buffer, ty.clone()));
        }
        steps.push(Step::Foreign { function: foreign.function, args, results });
        steps.extend(copies);
    }

    /// The buffer of a home that is all of its buffer; another one where it is a part. What is read is copied there.
    fn whole(&mut self, home: &Home, ty: &Type, read: Option<&mut Vec<Step>>) -> BufferId {
        let of = &self.buffers[home.buffer.0];
        if home.base == Index::default() && of.len == ty.count() {
            return home.buffer;
        }
        let buffer = self.buffer(Role::Scratch, ty.dtype, ty.count());
        if let Some(steps) = read {
            steps.push(self.copy(home, &Home { buffer, base: Index::default() }, ty.count()));
        }
        buffer
    }
}
