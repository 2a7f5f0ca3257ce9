//! A call that a layer must not get as it is: what the value lacks before the declared layer takes it. The op that is
//! missing (`flatten`, `merge_heads`, `transpose`), or a declaration whose two numbers are turned round.

use super::Shaper;
use super::suggest::accepts;
use crate::ir::attr::Attr;
use crate::ir::graph::Call;
use crate::ir::written::{Fit, LayerSite, What};
use crate::ir::{Kind, Node, Type, Value};
use crate::ops;
use proc_macro2::Span;

/// An op that a value may lack.
struct Lacking {
    op: &'static str,
    /// The axes of a transposition; empty for what takes no attributes.
    axes: Vec<i64>,
}

/// How the op is applied to a value that is `text`, where the layer takes what it makes of the guilty argument; `given` is
/// whether that is an argument of the function.
pub(super) fn lacking(
    layer: &LayerSite,
    call: &Call,
    args: &[Type],
    (guilty, given): (usize, bool),
    text: &str,
) -> Option<(String, Option<String>)> {
    let ty = &args[guilty];
    let one = candidates(layer, ty, given).into_iter().find(|one| {
        let made = one.apply(ty);
        let mut types = args.to_vec();
        made.is_some_and(|made| {
            types[guilty] = made;
            accepts(layer, &layer.attrs, call, &types)
        })
    })?;
    let axes: String = one.axes.iter().map(|axis| format!(", {axis}")).collect();
    let order = match ty.rank() {
        3 => "[batch, channels, length]",
        _ => "[batch, channels, height, width]",
    };
    let note = (!one.axes.is_empty()).then(|| format!("channels are the second axis: {order}"));
    let help = match text.contains('…') {
        true => format!("give it to `{}` first", one.op),
        false => format!("write `{}({text}{axes})`", one.op),
    };
    Some((help, note))
}

/// What might be lacking, the likeliest first.
fn candidates(layer: &LayerSite, ty: &Type, given: bool) -> Vec<Lacking> {
    let plain = |op| Lacking { op, axes: vec![] };
    let mut all = vec![];
    if ty.rank() == 4 {
        all.push(plain("merge_heads"));
    }
    if ty.rank() > 2 {
        all.push(plain("flatten"));
    }
    // Images of other libraries have their channels last.
    if given && features_axis(layer, ty) == 1 && ty.rank() > 2 {
        let last = ty.rank() as i64 - 1;
        all.push(Lacking { op: "transpose", axes: [0, last].into_iter().chain(1..last).collect() });
    }
    all
}

/// The axis of the features that a layer takes: the second one of images and signals, else the last.
pub(super) fn features_axis(layer: &LayerSite, ty: &Type) -> usize {
    if takes_images(layer) { 1 } else { ty.rank().saturating_sub(1) }
}

fn takes_images(layer: &LayerSite) -> bool {
    ops::layer_of(layer).attrs.iter().any(|decl| decl.name == "kernel") || layer.layer.contains("Norm2d")
}

impl Lacking {
    /// The type of the op's result.
    fn apply(&self, ty: &Type) -> Option<Type> {
        let op = ops::op(self.op)?;
        let axes = self.axes.iter().map(|&axis| Attr::Int(axis.into())).collect();
        let given = if self.axes.is_empty() { vec![] } else { vec![Attr::List(axes)] };
        let attrs = ops::resolve(op.attrs, given, vec![]).ok()?;
        super::call::results(op, std::slice::from_ref(ty), &attrs, (false, ty.dtype), Span::call_site()).ok()?.pop()
    }
}

/// Numbers of a layer that are taken for each other.
const TURNED: [&str; 3] = ["input", "output", "kernel"];

/// The orders in which such numbers may have been given, two that are exchanged first.
const ORDERS: [[usize; 3]; 5] = [[1, 0, 2], [0, 2, 1], [2, 1, 0], [1, 2, 0], [2, 0, 1]];

impl Shaper<'_> {
    /// The declaration with its numbers in another order, where the layer then takes the argument, and what uses the
    /// result has asked for its features.
    pub(super) fn turned_round(&self, node: &Node, layer: &LayerSite, call: &Call, args: &[Type]) -> Option<String> {
        let asked = self.asked_behind(node, layer)?;
        let written = |attr: &str| layer.written.iter().position(|(name, ..)| *name == attr);
        let number = |attr: &&'static str| Some((*attr, layer.attrs.int(attr)?, written(attr)?));
        let numbers: Vec<(&str, i64, usize)> = TURNED.iter().filter_map(number).collect();
        let orders = ORDERS
            .iter()
            .filter(|order| order.iter().enumerate().all(|(k, from)| k == *from || k.max(*from) < numbers.len()));
        for order in orders {
            let (mut attrs, mut turned) = (layer.attrs.clone(), layer.clone());
            for ((attr, _, at), from) in numbers.iter().zip(order) {
                attrs = attrs.with(attr, numbers[*from].1);
                turned.written[*at].2 = layer.written[numbers[*from].2].2.clone();
            }
            let changes = numbers.iter().any(|(attr, number, _)| attrs.int(attr) != Some(*number));
            if changes && attrs.int("output") == Some(asked) && accepts(layer, &attrs, call, args) {
                return Some(turned.text());
            }
        }
        None
    }

    /// The features that are asked for behind a layer's call, through functions of it alone: by the next layer, or by a
    /// type that is declared.
    fn asked_behind(&self, node: &Node, layer: &LayerSite) -> Option<i64> {
        let mut at = self.old.nodes.iter().position(|other| std::ptr::eq(other, node))?;
        loop {
            let mut users =
                self.old.nodes.iter().enumerate().filter(|(_, user)| user.args.first() == Some(&Value(at as u32)));
            let (next, user) = users.next()?;
            let Kind::Written(written) = &user.kind else { return None };
            match (&written.what, &written.site.layer) {
                (What::Call(_), Some(layer)) if layer.attrs.int("input").is_some() => return layer.attrs.int("input"),
                (What::Call(_), _) => at = next,
                (What::Fit(fit), _) => return declared_features(layer, fit),
                _ => return None,
            }
        }
    }
}

/// The features of a declared type, where what a layer gives has them.
fn declared_features(layer: &LayerSite, fit: &Fit) -> Option<i64> {
    let axis = if takes_images(layer) { fit.axes.get(1) } else { fit.axes.last() };
    axis?.as_ref()?.dim.as_const()
}
