//! What to declare instead of a layer that gets another number of features: the declaration with the one attribute changed
//! that makes the call right, unless it was the right number that went astray before the call.

use super::{Known, Shaper, call, prepare};
use crate::diag::Diagnostic;
use crate::ir::attr::Attrs;
use crate::ir::graph::Call;
use crate::ir::written::{LayerSite, Site, What, Written};
use crate::ir::{Kind, Node, Type, Value};
use crate::ops::{self, AttrKind};

/// A layer with one attribute changed.
struct Changed {
    attr: &'static str,
    declared: i64,
    asked: i64,
}

impl Shaper<'_> {
    /// Adds a declaration to the report, or where the declared features were those of an earlier value, that value.
    pub(super) fn suggest(
        &self,
        report: &mut Diagnostic,
        (node, site, layer): (&Node, &Site, &LayerSite),
        call: &Call,
        k: usize,
        types: &[Type],
    ) {
        let (guilty, ty) = (node.args[k], &types[k]);
        if let Some((help, note)) = prepare::lacking(layer, call, types, (k, self.is_given(guilty)), &site.args[k].0) {
            report.notes.extend(note);
            report.help = Some(help);
            return;
        }
        if let Some(declaration) = self.turned_round(node, layer, call, types) {
            report.help = Some(format!("declare `{declaration}` on {}", layer.line));
            return;
        }
        let Some(changed) = changed(layer, call, ty, types) else { return };
        match self.astray(guilty, changed.declared, prepare::features_axis(layer, ty)) {
            Some((value, text)) => {
                let origin = self.one_type(value).and_then(|ty| self.origin(value, &text, ty));
                report.notes.extend(origin.map(|origin| format!("{origin}, with an axis of {}", changed.declared)));
            }
            None => {
                let declaration = layer.declaration(changed.attr, &changed.asked.to_string());
                report.help = Some(format!("declare `{declaration}` on {}", layer.line));
            }
        }
    }

    /// Whether a value is an argument of the function.
    fn is_given(&self, value: Value) -> bool {
        match &self.old.node(value).kind {
            Kind::Written(written) if matches!(written.what, What::Fit(_)) => {
                self.is_given(self.old.node(value).args[0])
            }
            kind => matches!(kind, Kind::Input(_)),
        }
    }

    /// The value that had an axis of that extent before an index, a transposition or another function of it alone took
    /// the axis from its place, and how the user writes it. What layers and parameters make is no such function.
    fn astray(&self, value: Value, extent: i64, axis: usize) -> Option<(Value, String)> {
        let (mut at, mut after) = (value, self.one_type(value));
        while let Some((before, text)) = self.alone(self.old.node(at), after) {
            if let Some(ty) = self.one_type(before) {
                // What keeps the features where they are has not taken them away.
                let kept =
                    after.is_some_and(|after| after.rank() == ty.rank() && after.shape.get(axis) == ty.shape.get(axis));
                if after.is_some_and(|after| after != ty) && !kept && ty.shape.iter().any(|dim| dim.is(extent)) {
                    return Some((before, text));
                }
                after = Some(ty);
            }
            at = before;
        }
        None
    }

    /// The one value from which a node is computed, and its text; none for a layer's call, or where there are several, of
    /// which the first does not have the type of the result.
    fn alone(&self, node: &Node, result: Option<&Type>) -> Option<(Value, String)> {
        let Kind::Written(written) = &node.kind else { return None };
        let Written { what, site: Site { args, layer, .. }, .. } = &**written;
        let first = *node.args.first()?;
        let text = args.first().map_or_else(String::new, |(text, _)| text.clone());
        let single = node.args[1..].iter().all(|&arg| matches!(self.known(arg), Known::Literal(_)));
        match what {
            What::Call(_) if layer.is_some() => None,
            What::Call(_) => (single || self.one_type(first) == result).then_some((first, text)),
            What::Index(_) | What::Part { .. } | What::Fit(_) => Some((first, text)),
            What::Literal(_)
            | What::SetIndex(_)
            | What::Transform(_)
            | What::Unstack { .. }
            | What::Restack { .. }
            | What::Zeros
            | What::Condition
            | What::Choice(_)
            | What::Outcome
            | What::Ellipses(_)
            | What::Unknown
            | What::Foreign(_)
            | What::Imported(_) => None,
        }
    }
}

/// The change that makes the call right: only extents of the guilty argument are tried.
fn changed(layer: &LayerSite, call: &Call, guilty: &Type, args: &[Type]) -> Option<Changed> {
    let extents: Vec<i64> = guilty.shape.iter().rev().filter_map(|d| d.as_const()).collect();
    for decl in ops::layer_of(layer).attrs.iter().filter(|decl| decl.kind == AttrKind::Int) {
        let Some(declared) = layer.attrs.int(decl.name) else { continue };
        for &asked in &extents {
            if accepts(layer, &layer.attrs.with(decl.name, asked), call, args) {
                return Some(Changed { attr: decl.name, declared, asked });
            }
        }
    }
    None
}

pub(super) fn accepts(layer: &LayerSite, attrs: &Attrs, call: &Call, args: &[Type]) -> bool {
    call::results_of_layer(layer, attrs, call, args).is_some()
}
