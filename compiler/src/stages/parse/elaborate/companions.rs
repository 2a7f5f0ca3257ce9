//! Calls of layers with companions in training: a call of the layer's op in, its first result out; the others are the
//! companions' new values, which a later call sees and a step commits.

use super::super::instance::LayerInstance;
use super::graph::plain_site;
use super::state::Lasting;
use super::{Elaborator, Module, Tensor, Val};
use crate::diag::Place;
use crate::ir::Kind;
use crate::ir::attr::{Attr, Attrs};
use crate::ir::model::ParamId;
use crate::ir::written::Site;

impl Elaborator<'_, '_> {
    /// The companions among a layer's parameters, where the call is one of training.
    pub(super) fn companions(&self, layer: &LayerInstance) -> Vec<ParamId> {
        let changed = |id: &ParamId| self.training && !self.params[id.0 as usize].trained;
        layer.params.iter().map(|(_, id)| *id).filter(changed).collect()
    }

    /// Keeps the results of a call after the first as the new values of companions; gives the first.
    pub(super) fn keep_companions(&mut self, called: Val, ids: &[ParamId], module: &Module, place: Place) -> Val {
        let Val::Tensor(node) = called else { return called };
        let results: Vec<Tensor> = (0..=ids.len()).map(|k| self.push(Kind::Result(k), &[node], None, place)).collect();
        for (&id, &new) in ids.iter().zip(&results[1..]) {
            let name = &self.params[id.0 as usize].name;
            let site = Site { args: vec![(name.clone(), place); 2], ..plain_site(name, place) };
            self.assign_whole(Lasting::Companion(id), module, new, site);
        }
        Val::Tensor(results[0])
    }
}

/// The attributes of a layer's op in training.
pub(super) fn in_training(mut attrs: Attrs) -> Attrs {
    attrs.0.iter_mut().filter(|(name, _)| *name == "training").for_each(|(_, value)| *value = Attr::Bool(true));
    attrs
}
