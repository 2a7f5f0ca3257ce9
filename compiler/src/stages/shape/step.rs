//! A slice with a step, of which there is none: its report, with the reshape that takes the same elements.

use super::bindings::shown;
use super::report::type_text;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::written::Item;
use crate::ir::{Dim, Type};

/// The report of the k-th item of an index, which has a step along that axis of `text`.
pub(super) fn report(ty: &Type, axis: usize, (items, k): (&[Item], usize), (text, place): (&str, Place)) -> Diagnostic {
    let report = Diagnostic::new(Code::SliceSyntax, place, "slices have no steps");
    let report = report.note(format!("`{text}` is {}", type_text(ty)));
    let plain = items.iter().enumerate().all(|(j, item)| j == k || matches!(item, Item::Rest | Item::Whole));
    let Item::Step { start, end, step: Some(step) } = &items[k] else { return report };
    if !plain || text.contains('…') {
        return report;
    }
    let whole = end.as_ref().is_none_or(|end| *end == ty.shape[axis]);
    match (step, start) {
        (-1, None) if end.is_none() => report.help(format!("write `flip({text}, {axis})`")),
        (1, None) => report.help("a whole axis is `_`"),
        _ => match reshaped(ty, axis, start.as_ref(), *step).filter(|_| whole) {
            Some((shape, first)) => {
                let index = index(ty, axis, (items, k), first);
                report.help(format!(
                    "reshape to groups of {step} and take one of each: `reshape({text}, [{shape}])[{index}]`"
                ))
            }
            None => report,
        },
    }
}

/// The shape with the axis cut into groups as long as the step, and which of each group is taken; `None` where groups do
/// not come out even.
fn reshaped(ty: &Type, axis: usize, start: Option<&Dim>, step: i64) -> Option<(String, i64)> {
    let extent = ty.shape[axis].as_const()?;
    let first = start.map_or(Some(0), Dim::as_const)?;
    if step < 2 || extent % step != 0 || !(0..step).contains(&first) {
        return None;
    }
    let groups = [Dim::from(extent / step), Dim::from(step)];
    let shape = [&ty.shape[..axis], &groups, &ty.shape[axis + 1..]].concat();
    Some((shape.iter().map(shown).collect::<Vec<_>>().join(", "), first))
}

/// The index with the groups in the place of the axis.
fn index(ty: &Type, axis: usize, (items, k): (&[Item], usize), first: i64) -> String {
    if axis + 1 == ty.rank() {
        return format!(".., {first}");
    }
    let text = |(j, item): (usize, &Item)| match item {
        Item::Rest => "..".to_owned(),
        _ if j == k => format!("_, {first}"),
        _ => "_".to_owned(),
    };
    items.iter().enumerate().map(text).collect::<Vec<_>>().join(", ")
}
