//! Values that must fit a type of the user's: arguments of inlined functions, annotations, results.

use super::bindings::{Misfit, shown};
use super::report::type_text;
use super::{Known, Shaper, literal};
use crate::diag::{Code, Diagnostic};
use crate::ir::attr::Attr;
use crate::ir::written::{Fit, Role, Site, What};
use crate::ir::{Dim, Kind, Node, Type, Value};

impl Shaper<'_> {
    pub(super) fn fit(&mut self, node: &Node, fit: &Fit, site: &Site) -> Known {
        let value = match self.known(node.args[0]).clone() {
            Known::Literal(attr) if literal::suits(&attr, fit.dtype) => self.literal(&attr, fit.dtype, node.span),
            Known::Literal(attr) => return self.report_literal(fit, site, &attr),
            _ => match self.one(node.args[0]) {
                Some(value) => value,
                None => return self.declared(node, fit),
            },
        };
        let ty = self.new.ty(value).clone();
        let shape = self.bindings.shape(fit);
        // Of a declaration that two others contradict, one of which is wrong already, nothing is sure.
        if matches!(fit.role, Role::Result(_))
            && shape.is_some_and(|shape| shape != ty.shape)
            && self.is_supposed(value)
        {
            return self.declared(node, fit);
        }
        if ty.dtype != fit.dtype {
            self.report_fit(node, fit, site, &ty, Code::WrongDtype, None);
            return Known::Unknown;
        }
        if let Err(misfit) = self.bindings.fit(fit, &ty.shape) {
            self.report_misfit(node, fit, site, &ty, misfit);
            return Known::Unknown;
        }
        self.check_bounds(fit, site, &ty);
        Known::One(value)
    }

    fn report_literal(&mut self, fit: &Fit, site: &Site, attr: &Attr) -> Known {
        let message = format!("{attr} is not a {}, which {} asks for", fit.dtype, asker(&fit.role));
        self.diags.push(Diagnostic::new(Code::WrongDtype, site.place, message));
        Known::Unknown
    }

    fn report_misfit(&mut self, node: &Node, fit: &Fit, site: &Site, ty: &Type, misfit: Misfit) {
        match misfit {
            Misfit::Rank => self.report_fit(node, fit, site, ty, Code::WrongRank, None),
            Misfit::Rest => {
                let note = "`..` stands for other axes in an earlier argument".to_owned();
                self.report_fit(node, fit, site, ty, Code::ConflictingDimension, Some(note));
            }
            Misfit::Extent { text, named, wanted, found } => {
                let code = if named { Code::ConflictingDimension } else { Code::WrongDimension };
                let (wanted, found) = (shown(&wanted), shown(&found));
                let note = match named {
                    true => Some(format!("`{text}` is {wanted} from an earlier argument, but {found} here")),
                    false if text == wanted => None,
                    false => Some(format!("`{text}` is {wanted}, not {found}")),
                };
                self.report_fit(node, fit, site, ty, code, note);
            }
            Misfit::Unbound(name) => {
                let message = format!("nothing binds `{name}` before `{}`", fit.text);
                let report = Diagnostic::new(Code::UnboundDimension, fit.place, message);
                self.diags.push(report.help(format!("let an argument have the extent `{name}` alone")));
            }
        }
    }

    fn report_fit(&mut self, node: &Node, fit: &Fit, site: &Site, ty: &Type, code: Code, note: Option<String>) {
        let (text, place) = &site.args[0];
        let subject = self.subject(node.args[0], text);
        let found = type_text(ty);
        let line = self.diags.line(fit.place);
        let report = match &fit.role {
            Role::Argument { callee, name } => {
                let message = format!("`{callee}` takes `{name}: {}`, but `{subject}` is {found}", fit.text);
                let mut report = Diagnostic::new(code, *place, message);
                let origin = self.origin(node.args[0], &subject, ty);
                report.notes.extend(origin.filter(|note| note.contains("comes from")));
                let suits = |shape: &Vec<Dim>| ty.dtype == fit.dtype && shape.len() == ty.rank();
                let wanted = self.bindings.shape(fit).filter(suits);
                report.help = wanted.and_then(|shape| self.redeclared(node.args[0], &Type::new(fit.dtype, shape)));
                let slices = fit.axes.iter().all(Option::is_some) && fit.axes.len() + 1 == ty.rank();
                if slices && self.inputs.is_none() && !callee.starts_with('|') && self.is_alone(fit) {
                    report.help = Some(format!("call it for each slice of the first axis: `map({callee})({text})`"));
                    self.sliced.push(fit.scope);
                }
                report.note(format!("`{callee}` declares `{name}` on {line}"))
            }
            Role::Annotation(name) => {
                let message = format!("`{name}` is declared as {}, but `{text}` is {found}", fit.text);
                Diagnostic::new(Code::AnnotationContradicts, *place, message).help(format!("declare `{name}: {found}`"))
            }
            Role::State(name) => {
                let message = format!("`{name}` is {}, but `{text}` is {found}", fit.text);
                let mut report = Diagnostic::new(code, *place, message);
                report.notes.extend(self.origin(node.args[0], &subject, ty).filter(|note| note.contains("comes from")));
                match name.strip_prefix("self.").filter(|field| !field.contains('.')) {
                    Some(field) => report.help(format!("declare `state {field}: {found}` on {line}")),
                    None => report.note(format!("`{name}` is declared on {line}")),
                }
            }
            Role::Result(name) => {
                let message = format!("`{name}` returns {}, but `{text}` is {found}", fit.text);
                let mut report = Diagnostic::new(Code::WrongResult, *place, message);
                report.notes.extend(self.origin(node.args[0], &subject, ty).filter(|_| subject != *text));
                let scalar = fit.axes.is_empty() && ty.dtype == fit.dtype;
                match self.lost(node.args[0], fit) {
                    Some(note) => report.note(note),
                    None if scalar => report.help(format!("give the mean: `mean({text})`")),
                    None => report.help(format!("declare `-> {found}` on {line}")),
                }
            }
        };
        let report = note.into_iter().fold(report, Diagnostic::note);
        self.diags.push(report);
    }

    /// Whether the inlined function has no other argument.
    fn is_alone(&self, fit: &Fit) -> bool {
        let same = |node: &&Node| {
            let Kind::Written(written) = &node.kind else { return false };
            let What::Fit(other) = &written.what else { return false };
            other.scope == fit.scope && matches!(other.role, Role::Argument { .. })
        };
        self.old.nodes.iter().filter(same).count() == 1
    }

    /// Where a named dimension went that a result declares and does not have: into which expression.
    fn lost(&self, value: Value, fit: &Fit) -> Option<String> {
        let has = |value: Value, name: &str| {
            self.one_type(value).is_some_and(|ty| ty.shape.iter().any(|dim| dim.as_name() == Some(name)))
        };
        let declared = fit.axes.iter().flatten().filter_map(|axis| axis.dim.as_name());
        declared.filter(|name| !has(value, name)).find_map(|name| {
            let mut at = value;
            while let Kind::Written(written) = &self.old.node(at).kind {
                let before = *self.old.node(at).args.first()?;
                if has(before, name) {
                    let line = self.diags.line(written.site.place);
                    return Some(format!("`{}` on {line} leaves no `{name}`", written.site.text));
                }
                at = before;
            }
            None
        })
    }

    /// An extent may not exceed the bound that the pattern declares.
    fn check_bounds(&mut self, fit: &Fit, site: &Site, ty: &Type) {
        if !matches!(fit.role, Role::Argument { .. }) {
            return;
        }
        let rest = fit.axes.iter().position(Option::is_none).unwrap_or(fit.axes.len());
        let after = fit.axes.len() - rest;
        for (k, axis) in fit.axes.iter().enumerate() {
            let Some(bound) = axis.as_ref().and_then(|a| a.bound) else { continue };
            let at = if k < rest { k } else { ty.rank() - after + (k - rest) };
            let found = &ty.shape[at];
            let most = self.most(found);
            if most.is_some_and(|most| most <= bound) {
                continue;
            }
            self.bindings.exceeds(found);
            let (text, place) = &site.args[0];
            let may = if found.as_const().is_some() { "is" } else { "may be" };
            let message = format!(
                "`{}` of `{text}` {may} larger than {bound}, the most that {} takes",
                shown(found),
                asker(&fit.role)
            );
            let mut report = Diagnostic::new(Code::BoundExceeded, *place, message);
            report = report.note(format!("`{}` is declared on {}", fit.text, self.diags.line(fit.place)));
            if let Some(name) = found.as_name() {
                report = report.help(format!("declare `{name} <= {bound}`"));
            }
            self.diags.push(report);
        }
    }

    /// The largest value of an extent, where it is known.
    fn most(&self, dim: &Dim) -> Option<i64> {
        let bound = |name: &str| self.dims.iter().find(|d| d.name == name).and_then(|d| d.bound);
        dim.eval(&bound)
    }
}

/// Who asks for a type.
fn asker(role: &Role) -> String {
    match role {
        Role::Argument { callee, .. } => format!("`{callee}`"),
        Role::Annotation(name) | Role::Result(name) | Role::State(name) => format!("`{name}`"),
    }
}
