//! What an entry point is called, for those who read a module or the times of its dispatches.
//!
//! Comes in: a kernel. Goes out: its kind and the extents that make its work, such as `contract_64x128_of_784`, a softmax
//! `row_64_of_10`, a map of `64*B` elements `map_64B`. Always holds: letters, digits and single `_`, which is what a name in WGSL
//! may be; two kernels may have one title.

use crate::ir::dim::{Dim, product};
use crate::ir::kernel::{Kernel, Skeleton};
use crate::ir::tile::Way;
use crate::ir::workgroup::Sides;

/// What the name of an entry point ends with, which is one of several ways to make a contraction.
pub(super) fn suffix(nth: usize, way: Option<Way>) -> &'static str {
    match (way, nth) {
        (None, _) | (_, 0) => "",
        (Some(Way::Plain(_)), _) => "_larger",
        (Some(Way::Halves(tile)), _) if tile.is_large() => "_halves_larger",
        (Some(Way::Halves(_)), _) => "_halves",
    }
}

/// The title of a kernel.
pub(super) fn title(kernel: &Kernel) -> String {
    let extents = |axes: &[usize]| text(&product(axes.iter().map(|&axis| &kernel.axes[axis])));
    let of = |reduced: &[usize]| if reduced.is_empty() { String::new() } else { format!("_of_{}", extents(reduced)) };
    let name = &kernel.name;
    let title = match &kernel.skeleton {
        Skeleton::Row { parallel, reduced, .. } => format!("{name}_{}{}", extents(parallel), of(reduced)),
        Skeleton::Contract { k, .. } => match Sides::of(kernel) {
            Some(Sides { batch, rows, columns, .. }) if batch.is_empty() => {
                format!("{name}_{}x{}{}", extents(&rows), extents(&columns), of(k))
            }
            Some(Sides { batch, rows, columns, .. }) => {
                format!("{name}_{}x{}x{}{}", extents(&batch), extents(&rows), extents(&columns), of(k))
            }
            None => name.clone(),
        },
        Skeleton::Scatter { outer, target, source, inner, .. } => {
            let elements: Vec<usize> = outer.iter().chain([target]).chain(inner).copied().collect();
            format!("{name}_{}{}", extents(&elements), of(source))
        }
        Skeleton::Attend(attention) => {
            let [queries, keys] = [&attention.queries, &attention.keys].map(|axes| extents(axes));
            let part = format!("{:?}", attention.attend.part).to_lowercase();
            format!("{name}_{part}_{queries}x{keys}")
        }
        Skeleton::Recur(own) => {
            let columns = |times: usize| text(&(kernel.axes[own.columns].clone() * Dim::from(times)));
            let rows = own.rows.map_or("1".to_owned(), |rows| text(&kernel.axes[rows]));
            format!("{name}_{rows}x{}_of_{}", columns(own.groups), columns(own.parts))
        }
    };
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let title: String = title.chars().map(plain).collect();
    title.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

/// An extent: a factor and names, or `n` where it is no product of them.
fn text(extent: &Dim) -> String {
    let text = extent.to_string().replace('*', "");
    if text.chars().all(|c| c.is_ascii_alphanumeric()) { text } else { "n".into() }
}
