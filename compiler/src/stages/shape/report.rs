//! Reports of calls: an op's error in, a diagnostic in the user's words out, with where the guilty value
//! comes from and what to declare instead.

use super::bindings::shown;
use super::{Known, Shaper};
use crate::diag::{Code, Diagnostic};
use crate::ir::graph::Call;
use crate::ir::written::{Site, What};
use crate::ir::{Kind, Node, Type, Value};
use crate::ops::OpError;

/// The site of a node; made up where the user wrote none.
pub(super) fn site_of(node: &Node) -> Site {
    match &node.kind {
        Kind::Written(written) => written.site.clone(),
        kind => {
            let text = match kind {
                Kind::Op(call) => call.callee.clone(),
                _ => node.name.clone().unwrap_or_else(|| "this value".into()),
            };
            Site { text, place: node.span.into(), args: vec![], items: vec![], attrs: vec![], layer: None }
        }
    }
}

/// A type in the user's words.
pub(super) fn type_text(ty: &Type) -> String {
    let axes: Vec<String> = ty.shape.iter().map(shown).collect();
    if axes.is_empty() { ty.dtype.to_string() } else { format!("{}[{}]", ty.dtype, axes.join(", ")) }
}

impl Shaper<'_> {
    pub(super) fn report_call(&mut self, node: &Node, call: &Call, site: &Site, types: &[Type], error: OpError) {
        let texts: Vec<String> = site.args.iter().map(|(text, _)| text.clone()).collect();
        let subjects: Vec<String> =
            site.args.iter().zip(&node.args).map(|((text, _), &arg)| self.subject(arg, text)).collect();
        let (message, _) = error.render(&call.callee, &subjects);
        let (_, help) = error.render(&call.callee, &texts);
        let guilty = error.arg.filter(|&k| k < site.args.len());
        // The numbers of a layer stand in its declaration.
        let attrs = site.layer.as_ref().map_or(&site.attrs, |layer| &layer.places);
        let attr = attrs.iter().find(|(name, _)| Some(*name) == error.attr);
        let place = match (guilty, attr) {
            (Some(k), _) => site.args[k].1,
            (None, Some((_, place))) => *place,
            (None, None) => site.place,
        };
        let mut report = Diagnostic::new(error.code, place, message);
        report.help = help;
        self.mistaken(&mut report, (node, call, site), types, &error);
        let said: Vec<usize> = guilty.map_or((0..site.args.len()).collect(), |k| vec![k]);
        for k in said {
            report.notes.extend(self.origin(node.args[k], &subjects[k], &types[k]));
        }
        if report.help.is_none()
            && let (Some(layer), Code::WrongFeatures, Some(k)) = (&site.layer, report.code, guilty)
        {
            self.suggest(&mut report, (node, site, layer), call, k, &types[..site.args.len()]);
        }
        let mismatch = matches!(report.code, Code::ShapeMismatch | Code::BroadcastMismatch | Code::WrongRank);
        if report.help.is_none() && mismatch {
            match (guilty, &error.wanted) {
                (Some(k), Some(wanted)) => report.help = self.redeclared(node.args[k], wanted),
                _ if site.layer.is_none() => self.repair(&mut report, node, call, site, types),
                _ => {}
            }
        }
        let line = self.diags.line(site.place);
        if attr.is_some() && guilty.is_none() {
            let declared = site.layer.as_ref().map_or(site.place, |layer| layer.place);
            report = report.used(&site.text, site.place, &line).bare_outside(declared);
        }
        self.diags.push(report);
    }

    /// How to call a value in a message: the variable that it is, or that it keeps the shape of, or its text.
    pub(super) fn subject(&self, value: Value, text: &str) -> String {
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') {
            return text.to_owned();
        }
        let mut at = value;
        loop {
            let node = self.old.node(at);
            if let Some(name) = &node.name {
                return name.clone();
            }
            let keeps = matches!(&node.kind, Kind::Written(w) if matches!(w.what, What::Call(_)))
                && node.args.len() == 1
                && self.one_type(at).is_some()
                && self.one_type(at) == self.one_type(node.args[0]);
            if !keeps {
                return text.to_owned();
            }
            at = node.args[0];
        }
    }

    /// The type of a value that is one tensor.
    pub(super) fn one_type(&self, value: Value) -> Option<&Type> {
        match self.known(value) {
            Known::One(value) => Some(self.new.ty(*value)),
            Known::Many(..) | Known::Each(_) | Known::Literal(_) | Known::Unknown => None,
        }
    }

    /// Where a value comes from.
    pub(super) fn origin(&self, value: Value, subject: &str, ty: &Type) -> Option<String> {
        let mut at = value;
        // The variable behind calls that keep its shape.
        while self.old.node(at).name.as_deref() != Some(subject) {
            match self.old.node(at).args.as_slice() {
                [only] if self.old.node(at).name.is_none() && self.one_type(*only) == self.one_type(at) => at = *only,
                _ => break,
            }
        }
        let node = self.old.node(at);
        let ty = type_text(ty);
        if matches!(self.known(value), Known::Literal(_)) {
            return None;
        }
        if node.name.as_deref() != Some(subject) {
            return Some(format!("`{subject}` is {ty}"));
        }
        let line = self.diags.line(node.span.into());
        match &node.kind {
            Kind::Written(written) => match &written.what {
                What::Fit(_) if written.site.text == subject => {
                    Some(format!("`{subject}` is {ty} where it is used on {line}"))
                }
                _ => Some(format!("`{subject}: {ty}` comes from `{}` on {line}", written.site.text)),
            },
            Kind::Transform(transform) => {
                Some(format!("`{subject}: {ty}` comes from the {} on {line}", transform.how.name()))
            }
            Kind::Repeat(_) | Kind::Result(_) => Some(format!("`{subject}: {ty}` comes from the loop on {line}")),
            Kind::Foreign(_) => Some(format!("`{subject}: {ty}` comes from a foreign function on {line}")),
            Kind::Branch(_) => Some(format!("`{subject}: {ty}` comes from the branch on {line}")),
            Kind::Input(_) => Some(format!("`{subject}: {ty}` is declared on {line}")),
            Kind::Param(_)
            | Kind::State(_)
            | Kind::Source(_)
            | Kind::Op(_)
            | Kind::Prim(_)
            | Kind::Counter(_)
            | Kind::StopGradient => Some(format!("`{subject}` is {ty}")),
        }
    }
}
