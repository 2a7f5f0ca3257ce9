//! `#[train(AdamW, only = [head, body.norm])]`: paths to fields in, the parameters that training leaves alone out.
//! Paths that lead to nothing that the function uses are reported.

use super::super::ast::*;
use super::super::instance::{FieldInstance, Instance};
use super::super::list::ItemInstance;
use super::super::words;
use crate::diag::{Code, Diagnostic, Diags, Place, closest};
use crate::ir::model::{Param, ParamId};
use crate::ir::{Graph, Kind};
use proc_macro2::Ident;
use std::collections::BTreeSet;
use std::rc::Rc;

/// What is trained where `only` names it.
#[derive(Default)]
pub(super) struct Only {
    /// The trained parameters that no path leads to, ascending.
    pub(super) frozen: Vec<ParamId>,
    /// Each path with the parameters that it leads to.
    paths: Vec<(String, Place, BTreeSet<ParamId>)>,
}

impl Only {
    /// Follows the paths; mistakes are reported.
    pub(super) fn of(chosen: &Chosen, this: &Rc<Instance>, params: &[Param], diags: &mut Diags) -> Only {
        let mut all = Only::default();
        if chosen.word != "only" {
            diags.push(left_out(chosen, this));
            return all;
        }
        for path in &chosen.fields {
            let Some(field) = field(path, this, diags) else { continue };
            if matches!(field, FieldInstance::State(_)) {
                let message = format!("`{}` is a state, which nothing trains", words::full(path));
                diags.push(Diagnostic::new(Code::BadExpression, path.place, message));
                continue;
            }
            let mut ids = BTreeSet::new();
            parameters(&field, &mut ids);
            all.paths.push((words::full(path), path.place, ids));
        }
        let kept = |id: &ParamId| all.paths.iter().any(|(.., ids)| ids.contains(id));
        let ids = (0..params.len() as u32).map(ParamId).filter(|id| params[id.0 as usize].trained && !kept(id));
        all.frozen = ids.collect();
        all
    }

    /// Reports paths to nothing that the function uses.
    pub(super) fn report_unused(&self, function: &Ident, graph: &Graph, diags: &mut Diags) {
        let used = |id: &ParamId| graph.nodes.iter().any(|node| matches!(node.kind, Kind::Param(p) if p == *id));
        for (text, place, ids) in self.paths.iter().filter(|(.., ids)| !ids.iter().any(used)) {
            let message = match ids.is_empty() {
                true => format!("`{text}` has no parameters to train"),
                false => format!("`{function}` does not use `{text}`, so that it cannot train it"),
            };
            diags.push(Diagnostic::new(Code::UnusedDerivative, *place, message));
        }
    }
}

/// The report of a word that leaves fields out: the others are what is trained.
fn left_out(chosen: &Chosen, this: &Instance) -> Diagnostic {
    let word = &chosen.word;
    let report =
        Diagnostic::new(Code::UnknownAttribute, word.span(), format!("`#[train(…)]` has no argument `{word}`"));
    let named: Vec<String> = chosen.fields.iter().map(plain).collect();
    let others = this.fields.iter().filter(|(_, field)| has_parameters(field)).map(|(name, _)| name);
    let others: Vec<&str> = others.filter(|name| !named.contains(name)).map(String::as_str).collect();
    let known = named.iter().all(|name| this.fields.contains_key(name));
    match known && !others.is_empty() {
        true => report.help(format!("name what is trained: `only = [{}]`", others.join(", "))),
        false => report.help("name what is trained behind `only = …`"),
    }
}

/// How all fields that can be trained are named.
fn named(this: &Instance) -> String {
    let fields = this.fields.iter().filter(|(_, field)| has_parameters(field)).map(|(name, _)| name.as_str());
    format!("name what is trained: `only = [{}]`", fields.collect::<Vec<_>>().join(", "))
}

/// A path without the quotes that other libraries need around it.
fn plain(path: &Expr) -> String {
    match &path.kind {
        ExprKind::Text(text) => text.trim_end_matches(".*").to_owned(),
        _ => words::full(path),
    }
}

/// Reports a path in quotes; gives what it leads to.
fn quoted(path: &Expr, this: &Rc<Instance>, diags: &mut Diags) -> Option<FieldInstance> {
    let meant = plain(path);
    let mut at = Some(FieldInstance::Block(this.clone()));
    for name in meant.split('.') {
        at = at.and_then(|of| found(&of, name));
    }
    let message = format!("`{}` is a text, but fields stand without quotes", words::full(path));
    let report = Diagnostic::new(Code::BadExpression, path.place, message);
    diags.push(match (&at, closest(&meant, this.fields.keys().map(String::as_str))) {
        (Some(_), _) => report.help(format!("write `{meant}`")),
        (None, Some(near)) => report.help(format!("write `{near}`")),
        (None, None) => report.help(named(this)),
    });
    at
}

/// What a path leads to; `None` after a report.
fn field(path: &Expr, this: &Rc<Instance>, diags: &mut Diags) -> Option<FieldInstance> {
    match &path.kind {
        ExprKind::SelfValue => Some(FieldInstance::Block(this.clone())),
        ExprKind::Name(name) => member(&FieldInstance::Block(this.clone()), name, "", diags),
        ExprKind::Field(of, name) => {
            let owner = field(of, this, diags)?;
            member(&owner, name, &format!("{}.", words::full(of)), diags)
        }
        ExprKind::Text(_) => quoted(path, this, diags),
        _ => {
            let message = format!("`{}` is not a field", words::brief(path));
            diags.push(Diagnostic::new(Code::BadExpression, path.place, message).help(named(this)));
            None
        }
    }
}

/// A field of a block or a parameter of a layer; of repeated blocks, that of each.
fn member(of: &FieldInstance, name: &Ident, before: &str, diags: &mut Diags) -> Option<FieldInstance> {
    let text = name.to_string();
    if let Some(field) = found(of, &text) {
        return Some(field);
    }
    let (owner, known): (String, Vec<String>) = match of {
        FieldInstance::Repeat(_, item) => return member(item, name, before, diags),
        FieldInstance::Block(instance) => (instance.name.clone(), instance.fields.keys().cloned().collect()),
        FieldInstance::Layer(layer) => {
            (layer.layer.name.to_owned(), layer.params.iter().map(|(param, _)| (*param).to_owned()).collect())
        }
        FieldInstance::Imported(imported) => (imported.model.name.to_string(), vec![]),
        FieldInstance::List(_) => ("a list".into(), vec![]),
        FieldInstance::Param(_) => ("a parameter".into(), vec![]),
        FieldInstance::State(_) => ("a state".into(), vec![]),
        FieldInstance::Unknown => return None,
    };
    let message = format!("`{owner}` has no field `{name}`, so there is nothing to train");
    let mut report = Diagnostic::new(Code::UnknownField, name.span(), message);
    report.help = match closest(&text, known.iter().map(String::as_str)) {
        Some(near) => Some(format!("write `{before}{near}`")),
        None if known.is_empty() => None,
        None => Some(format!("it has `{}`", known.join("`, `"))),
    };
    diags.push(report);
    None
}

/// The same where there is one.
fn found(of: &FieldInstance, name: &str) -> Option<FieldInstance> {
    match of {
        FieldInstance::Repeat(_, item) => found(item, name),
        FieldInstance::Block(instance) => instance.fields.get(name).cloned(),
        FieldInstance::Layer(layer) => {
            layer.params.iter().find(|(param, _)| name == *param).map(|(_, id)| FieldInstance::Param(*id))
        }
        FieldInstance::Imported(_)
        | FieldInstance::List(_)
        | FieldInstance::Param(_)
        | FieldInstance::State(_)
        | FieldInstance::Unknown => None,
    }
}

fn has_parameters(of: &FieldInstance) -> bool {
    let mut ids = BTreeSet::new();
    parameters(of, &mut ids);
    !ids.is_empty()
}

/// All parameters of a field.
fn parameters(of: &FieldInstance, into: &mut BTreeSet<ParamId>) {
    match of {
        FieldInstance::Layer(layer) => into.extend(layer.params.iter().map(|(_, id)| *id)),
        FieldInstance::Block(instance) => instance.fields.values().for_each(|field| parameters(field, into)),
        FieldInstance::Imported(imported) => into.extend(&imported.params),
        FieldInstance::Param(id) => _ = into.insert(*id),
        FieldInstance::Repeat(_, item) => parameters(item, into),
        FieldInstance::List(list) => list.items.iter().for_each(|item| match item {
            ItemInstance::Field(field) => parameters(field, into),
            ItemInstance::Function(_) => {}
        }),
        FieldInstance::State(_) | FieldInstance::Unknown => {}
    }
}
