//! What parameters and states are called in files. In: the instances of a model's blocks. Always: those that have one name,
//! whose values a file could not tell apart, are reported.

use super::instance::Instances;
use crate::diag::{Code, Diagnostic, Diags, Place};
use crate::ir::model::Param;
use std::collections::BTreeMap;

impl Instances<'_, '_> {
    /// Reports parameters, and states, that have one name in files.
    pub(super) fn distinct(&self, diags: &mut Diags) {
        if self.report_scales(diags) || !self.renamed {
            return;
        }
        let params: Vec<_> = self
            .params
            .iter()
            .enumerate()
            .flat_map(|(k, param)| param.named().into_iter().map(move |named| (k, named)))
            .collect();
        let own: Vec<Stacked<'_>> = params.iter().map(|(_, (name, stack))| (name.as_str(), *stack)).collect();
        let states: Vec<_> = self.states.iter().map(|state| (state.name.as_str(), state.stack.as_slice())).collect();
        let mut report = |span, message| {
            let report = Diagnostic::new(Code::DuplicateName, Place::from(span), message);
            diags.push(report.help("give the field another `#[name = \"…\"]`"));
        };
        if let Some((first, second)) = alike(&own) {
            let ((first, _), (second, (name, _))) = (&params[first], &params[second]);
            let (first, second) = (&self.params[*first], &self.params[*second]);
            let fields = (first.fields.join("."), second.fields.join("."));
            report(second.span, format!("`{}` and `{}` are both `{name}` in files", fields.0, fields.1));
        }
        if let Some((_, second)) = alike(&states) {
            let second = &self.states[second];
            report(second.span, format!("another state is `{}` in files too", second.name));
        }
    }

    /// Reports fields that are called what the scales of a parameter are.
    fn report_scales(&self, diags: &mut Diags) -> bool {
        let mut found = false;
        for integers in &self.params {
            let Some(scales) = integers.scales.map(|id| &self.params[id.0 as usize]) else { continue };
            let same = |other: &&Param| other.fields.starts_with(&scales.fields) && !std::ptr::eq(*other, scales);
            if let Some(other) = self.params.iter().find(same) {
                let (field, of) = (scales.fields.join("."), integers.fields.join("."));
                let message = format!("`{field}` is what the scales of `{of}` are called, which is stored in int8");
                let report = Diagnostic::new(Code::DuplicateName, Place::from(other.span), message);
                diags.push(report.help(format!("give the field another name: `{}`", free(&self.params, &field))));
                found = true;
            }
        }
        found
    }
}

/// A name like that of a field, and of no parameter.
fn free(params: &[Param], field: &str) -> String {
    let own = field.rsplit('.').next().unwrap_or(field);
    let taken = |name: &String| params.iter().any(|param| param.fields.contains(name));
    (2..).map(|number| format!("{own}{number}")).find(|name| !taken(name)).unwrap_or_default()
}

/// A name in files, and the counts of the repeated blocks for each `*` in it.
type Stacked<'a> = (&'a str, &'a [i64]);

/// The first two that have one name for some indices of repeated blocks.
fn alike(all: &[Stacked<'_>]) -> Option<(usize, usize)> {
    // What a repeated block is called may be what an index spells out: `blocks.*` and `blocks.0`.
    let is_index = |part: &str| part == "*" || part.parse::<u32>().is_ok();
    let form = |name: &str| -> Vec<String> {
        name.split('.').map(|part| if is_index(part) { "*" } else { part }.to_owned()).collect()
    };
    let mut known: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (second, one) in all.iter().enumerate() {
        let before = known.entry(form(one.0)).or_default();
        if let Some(&first) = before.iter().find(|&&first| meet(all[first], *one)) {
            return Some((first, second));
        }
        before.push(second);
    }
    None
}

/// Whether two names, of which both have numbers at the same places, are one for some indices of repeated blocks.
fn meet((a, of_a): Stacked<'_>, (b, of_b): Stacked<'_>) -> bool {
    let (mut of_a, mut of_b) = (of_a.iter(), of_b.iter());
    a.split('.').zip(b.split('.')).all(|(a, b)| {
        let count_of_a = (a == "*").then(|| of_a.next()).flatten();
        let count_of_b = (b == "*").then(|| of_b.next()).flatten();
        let is_index = |part: &str, count: &i64| part.parse::<i64>().is_ok_and(|index| index < *count);
        match (count_of_a, count_of_b) {
            (None, None) => a == b,
            (Some(count), None) => is_index(b, count),
            (None, Some(count)) => is_index(a, count),
            (Some(_), Some(_)) => true,
        }
    })
}
