//! Companions: the value that each running statistic has at a point of a training function's text.
//!
//! In: calls of layers that give new values. Out: the values that a step commits. Always: a later call sees what an
//! earlier one has made of a companion.

use super::super::instance::LayerInstance;
use super::{Elaborator, Module, Tensor, Val};
use crate::diag::{Diagnostic, Place};
use crate::ir::model::{Effect, ParamId};
use crate::ir::{Kind, Value};
use crate::ops::{Attr, Attrs};

impl Elaborator<'_, '_> {
    /// The companions among a layer's parameters, where the call is one of training.
    pub(super) fn companions(&self, layer: &LayerInstance) -> Vec<ParamId> {
        let changed = |id: &ParamId| self.training && !self.params[id.0 as usize].trained;
        layer.params.iter().map(|(_, id)| *id).filter(changed).collect()
    }

    /// The attributes of a layer's op in training.
    pub(super) fn in_training(mut attrs: Attrs) -> Attrs {
        attrs.0.iter_mut().filter(|(name, _)| *name == "training").for_each(|(_, value)| *value = Attr::Bool(true));
        attrs
    }

    /// Keeps the results of a call after the first as the new values of companions; gives the first.
    pub(super) fn keep_companions(&mut self, called: Val, ids: &[ParamId], module: &Module, place: Place) -> Val {
        let Val::Tensor(node) = called else { return called };
        let mut results: Vec<Tensor> = vec![];
        for k in 0..=ids.len() {
            results.push(self.push(Kind::Result(k), &[node], None, place));
        }
        if self.frames.len() > 1 || !module.picks.is_empty() {
            let message = format!("`{}` has running statistics and stands in repeated blocks", module.text);
            self.diags.push(Diagnostic::new("not-supported", place, message));
            return Val::Unknown;
        }
        for (&id, new) in ids.iter().zip(&results[1..]) {
            self.kept.retain(|(known, _)| *known != id);
            self.kept.push((id, new.value));
        }
        Val::Tensor(results[0])
    }

    /// The companions that the function changes.
    pub(super) fn committed(&self) -> Vec<(Effect, Value)> {
        self.kept.iter().map(|&(id, value)| (Effect::Companion(id), value)).collect()
    }
}
