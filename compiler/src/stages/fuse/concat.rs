//! Concatenations of parts of one shape: a kernel that walks a part computes all of them and writes each where it belongs.
//!
//! In: a concatenation that has to be in memory. Out: its group, a map of its own or a kernel that walks positions of its
//! parts already. Always: every element of the whole is written once, and nothing chooses between parts.

use super::group::{Form, Grouping, positions};
use super::inline::{Body, Inliner, Stop};
use crate::ir::Value;
use crate::ir::index::Index;
use crate::ir::kernel::ExprId;

/// More parts than this are dearer to write at once than to choose from.
const MOST: usize = 8;

/// The position of each part's elements in the whole, and their scalar.
type Parts = Vec<(Vec<Index>, ExprId)>;

impl Grouping<'_> {
    /// Whether all parts of a concatenation have one shape.
    pub(super) fn is_even(&self, value: Value) -> bool {
        let args = &self.scope.graph.node(value).args;
        let shape = |v: Value| &self.scope.graph.ty(v).shape;
        args.len() > 1 && args.len() <= MOST && args.iter().all(|v| shape(*v) == shape(args[0]))
    }

    /// Starts a kernel that computes the parts, or adds them to one.
    pub(super) fn concat(&mut self, value: Value, axis: usize) {
        let parts = self.scope.graph.node(value).args.clone();
        let shape = self.scope.graph.ty(parts[0]).shape.clone();
        let at = positions(&shape);
        let all = |at: Vec<Index>| {
            let (parts, extent) = (parts.clone(), shape[axis].clone());
            move |inliner: &mut Inliner<'_>| -> Result<Parts, Stop> {
                let mut made = vec![];
                for (k, part) in parts.iter().enumerate() {
                    let mut whole = at.clone();
                    whole[axis] = whole[axis].offset(extent.clone() * (k as i64).into());
                    made.push((whole, inliner.value(*part, &at, &[])?));
                }
                Ok(made)
            }
        };
        let (body, own) = self.alone(shape.clone(), all(at.clone()));
        for group in self.candidates(&body, &shape) {
            let joins = matches!(&self.groups[group].form, Form::Row { reduced, .. } if reduced.is_empty());
            if !joins || self.groups[group].partial {
                continue;
            }
            for at in self.places(&parts, group, &shape) {
                let fits = |own: &Self, joined: &Body, _: &Parts| !own.cyclic(joined, group, value);
                if let Some(made) = self.within(group, all(at), fits) {
                    self.groups[group].parts.insert(value, made);
                    self.assign(value, group);
                    return;
                }
            }
        }
        let form =
            Form::Row { parallel: (0..shape.len()).collect(), reduced: vec![], windows: vec![], accumulators: vec![] };
        let group = self.push(form, body, vec![(shape, at)]);
        self.groups[group].parts.insert(value, own);
        self.assign(value, group);
    }
}
