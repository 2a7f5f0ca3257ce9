//! `#[remat]`: a call of which the backward pass keeps only what goes in.
//!
//! The call becomes a region that runs once. What a region computes is known to its own backward region only, and
//! that computes all of it again.

use super::super::ast::Fn;
use super::graph::plain_site;
use super::loops::{leaves, replace};
use super::{Elaborator, Frame, Tensor, Val};
use crate::diag::Place;
use crate::ir::written::{Item, Site, What};
use crate::ir::{Memory, Value};

impl<'p> Elaborator<'_, 'p> {
    /// The result of a function whose scope is open, computed in a region of its own.
    pub(super) fn rematerialised(&mut self, function: &'p Fn, place: Place) -> Val {
        self.frames.push(Frame::default());
        let mut result = self.body(function);
        let mut outputs = vec![];
        leaves(&result, &mut outputs);
        let outputs: Vec<Value> = outputs.into_iter().map(|t| self.reach(t)).collect();
        if outputs.is_empty() {
            self.frames.pop();
            return result;
        }
        let results = self.finish_region(vec![], outputs, (1.into(), false, Memory::Minimize), place);
        // The only slice of each stacked result.
        let text = function.name.to_string();
        let each: Vec<Tensor> = results
            .into_iter()
            .map(|stack| {
                let site = Site { args: vec![(text.clone(), place)], ..plain_site(&text, place) };
                self.write(What::Index(vec![Item::At(0.into()), Item::Rest]), site, &[stack])
            })
            .collect();
        replace(&mut result, &mut each.into_iter());
        result
    }
}
