//! What a layer gives once it is declared for the features that it gets: after a report about their number, what uses
//! the layer is checked.

use super::call::{check, results};
use crate::diag::Code;
use crate::ir::graph::Call;
use crate::ir::written::LayerSite;
use crate::ir::{DType, Dim, Type};
use crate::ops::{Attr, Attrs, OpError};
use proc_macro2::Span;

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
        layer.attrs.0.iter().filter_map(|(name, attr)| Some((*name, number(attr)?))).collect();
    let mut mended = vec![];
    for (name, declared) in &numbers {
        for found in shape.iter().filter_map(Dim::as_const).filter(|found| found != declared) {
            let mut attrs = layer.attrs.clone();
            let slot = attrs.0.iter_mut().find(|(other, _)| other == name);
            slot.into_iter().for_each(|(_, attr)| *attr = Attr::Int(found.into()));
            let given = given(layer, &attrs, call, args);
            mended.extend(given.map(|given| (*name, *declared, found, given)));
        }
    }
    let [(name, declared, found, given)] = <[_; 1]>::try_from(mended).ok()?;
    let swapped = numbers.iter().any(|(other, number)| *other != name && *number == found);
    let elsewhere = shape.iter().any(|extent| extent.is(declared));
    (!swapped && !elsewhere && !is_product(shape, declared)).then_some(given)
}

/// What the layer gives with these attributes.
fn given(layer: &LayerSite, attrs: &Attrs, call: &Call, args: &[Type]) -> Option<Vec<Type>> {
    let params = (layer.layer.params)(attrs).ok()?;
    let own: Vec<&str> = params.iter().map(|param| param.name).collect();
    let params = params.iter().map(|param| Type::new(DType::F32, param.shape.clone()));
    let types: Vec<Type> = args.iter().cloned().chain(params).collect();
    check(call.op, &types, &own).ok()?;
    let attrs = (layer.layer.op_attrs)(attrs);
    results(call.op, &types, &attrs, call.training, Span::call_site()).ok()
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
