//! A slice with a step as NumPy writes it, or with one below 1: its report, with what takes the same elements.

use super::bindings::shown;
use super::report::type_text;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::written::Item;
use crate::ir::{Dim, Type};

/// The report of the k-th item of an index, which has a step along that axis of `text`.
pub(super) fn report(ty: &Type, axis: usize, (items, k): (&[Item], usize), (text, place): (&str, Place)) -> Diagnostic {
    let (start, end, step, message) = match &items[k] {
        Item::Step { start, end, step } => (start, end, *step, "a step is written as `step_by`"),
        Item::Range { start, end, step } => (start, end, Some(*step), "a step is at least 1"),
        Item::Rest | Item::Whole | Item::At(_) | Item::Gather => unreachable!("this item has a step"),
    };
    let report = Diagnostic::new(Code::SliceSyntax, place, message);
    let report = report.note(format!("`{text}` is {}", type_text(ty)));
    let plain = items.iter().enumerate().all(|(j, item)| j == k || matches!(item, Item::Rest | Item::Whole));
    let side = |side: &Option<Dim>| side.as_ref().map_or(String::new(), shown);
    let range = format!("{}..{}", side(start), side(end));
    let whole = start.is_none() && end.is_none();
    match step {
        None => report.note("it is a number that is known at build time"),
        Some(1) if whole => report.help("a whole axis is `_`"),
        Some(1) => report.help(format!("write `{range}`")),
        Some(step @ 2..) => report.help(format!("write `({range}).step_by({step})`")),
        // From the last element on backwards is from the first on where the axis is reversed.
        Some(-1) if whole && plain && !text.contains('…') => report.help(format!("write `flip({text}, {axis})`")),
        Some(step @ ..=-2) if whole && plain && !text.contains('…') => {
            let index = items.iter().enumerate().map(|(j, item)| match item {
                _ if j == k => format!("(..).step_by({})", step.unsigned_abs()),
                Item::Rest => "..".to_owned(),
                _ => "_".to_owned(),
            });
            let index: Vec<String> = index.collect();
            report.help(format!("reverse the axis first: `flip({text}, {axis})[{}]`", index.join(", ")))
        }
        Some(_) => report.note(format!("`flip` along axis {axis} reverses it")),
    }
}
