//! What a layer gives once it is declared for the features that it gets: after a report about their number, what uses
//! the layer is checked.

use super::call::results_of_layer;
use crate::diag::Code;
use crate::ir::attr::Attr;
use crate::ir::graph::Call;
use crate::ir::written::LayerSite;
use crate::ir::{Dim, Type};
use crate::ops::OpError;

/// The types of the results of a layer whose input, the first of `args`, has another number of features than declared.
///
/// `None` where something else may be meant, so that the result would be another one: the layer's numbers in another
/// order, the input's axes in another order, or an input that is not flattened yet.
pub(super) fn mended_results(layer: &LayerSite, call: &Call, args: &[Type], error: &OpError) -> Option<Vec<Type>> {
    if error.code != Code::WrongFeatures || error.arg != Some(0) {
        return None;
    }
    let shape = &args[0].shape;
    let numbers: Vec<(&str, i64)> =
        layer.attrs.0.iter().filter_map(|(name, attr)| Some((&**name, number(attr)?))).collect();
    let mut mended = vec![];
    for (name, declared) in &numbers {
        for found in shape.iter().filter_map(Dim::as_const).filter(|found| found != declared) {
            let given = results_of_layer(layer, &layer.attrs.with(name, found), call, args);
            mended.extend(given.map(|given| (*name, *declared, found, given)));
        }
    }
    let [(name, declared, found, given)] = <[_; 1]>::try_from(mended).ok()?;
    let swapped = numbers.iter().any(|(other, number)| *other != name && *number == found);
    let elsewhere = shape.iter().any(|extent| extent.is(declared));
    (!swapped && !elsewhere && !is_product(shape, declared)).then_some(given)
}

fn number(attr: &Attr) -> Option<i64> {
    match attr {
        Attr::Int(dim) => dim.as_const(),
        Attr::Absent | Attr::Float(_) | Attr::Bool(_) | Attr::Text(_) | Attr::List(_) => None,
    }
}

/// Whether the last extents, at least two, have that product.
fn is_product(shape: &[Dim], of: i64) -> bool {
    let mut product = Dim::from(1);
    shape.iter().rev().enumerate().any(|(k, extent)| {
        product = product.clone() * extent.clone();
        k > 0 && product.is(of)
    })
}
