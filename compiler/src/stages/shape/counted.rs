//! Indices that the model counts itself: reports those that leave what they index in some call that the signature
//! allows. Indices that a call gives may be anything, and are checked by nobody.

use super::Shaper;
use super::bindings::shown;
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::graph::Call;
use crate::ir::model::Binder;
use crate::ir::prim::Scalar;
use crate::ir::written::Site;
use crate::ir::{DType, Dim, Kind, Prim, Type, Value};

/// The largest value of an extent over all calls.
enum Most {
    Is(i64),
    /// No bound is declared.
    Unbounded,
}

impl Shaper<'_> {
    /// Checks the index of a call that looks something up.
    pub(super) fn check_lookup(&mut self, call: &Call, args: &[Value], types: &[Type], site: &Site) {
        let (index, table, axis) = match &*call.op {
            "embedding" => (0, 1, 0),
            "take" => (1, 0, call.attrs.known("axis")),
            _ => return,
        };
        let shape = &types[table].shape;
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        let extent = usize::try_from(axis).ok().and_then(|axis| shape.get(axis));
        if let (Some(extent), Some(written)) = (extent.cloned(), site.args.get(index)) {
            let of = site.args.get(table).map_or(&call.callee, |(text, _)| text);
            self.check_counted(args[index], written, of, &extent);
        }
    }

    /// Reports an index that is larger than the last of `extent` in some call.
    pub(super) fn check_counted(&mut self, index: Value, written: &(String, Place), of: &str, extent: &Dim) {
        let Some(last) = self.counted(index) else { return };
        let beyond = last.clone() - extent.clone();
        let most = match self.most_of(&beyond) {
            Some(Most::Is(most)) if most < 0 => return,
            Some(most) => most,
            None => return,
        };
        let (text, place) = written;
        let rows = format!("`{of}` has {}", shown(extent));
        let mut named = vec![];
        beyond.names(&mut |name| named.push(name.to_owned()));
        let bound = |name: &String| self.dims.iter().find(|dim| dim.name == *name).and_then(|dim| dim.bound);
        let message = match (most, named.as_slice()) {
            (Most::Unbounded, names) => {
                let open = names.iter().find(|&name| bound(name).is_none());
                let open = open.map_or_else(String::new, |name| format!("nothing bounds `{name}`, so that "));
                format!("{open}`{text}` may count to any number, but {rows}")
            }
            (Most::Is(_), []) => format!("`{text}` counts to {}, but {rows}", shown(&last)),
            (Most::Is(most), names) => {
                let largest = names.iter().filter_map(|name| Some(format!("`{name}` may be {}", bound(name)?)));
                let largest: Vec<String> = largest.collect();
                let to = extent.as_const().map_or_else(|| shown(&last), |rows| (rows + most).to_string());
                format!("{}, so that `{text}` counts to {to}, but {rows}", largest.join(" and "))
            }
        };
        let mut report = Diagnostic::new(Code::IndexOutOfRange, *place, message);
        if let ([name], Some(most)) = (named.as_slice(), largest(&beyond)) {
            report.help = Some(format!("declare `{name} <= {most}`"));
        }
        self.diags.push(report);
    }

    /// The largest element of a value that counts; `None` where it does not, or where a call has a say in it.
    fn counted(&self, value: Value) -> Option<Dim> {
        let node = self.new.node(value);
        let first = || self.counted(*node.args.first()?);
        if let Kind::Prim(Prim::Reshape(_) | Prim::Transpose(_) | Prim::Broadcast { .. }) = &node.kind {
            return first();
        }
        let Kind::Op(call) = &node.kind else { return None };
        match &*call.op {
            "iota" => {
                let (shape, axis) = (call.attrs.extents("shape"), call.attrs.known("axis"));
                let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
                Some(shape.get(usize::try_from(axis).ok()?)?.clone() - Dim::from(1))
            }
            // A single number is the end.
            "arange" if call.attrs.known("step") == 1 => {
                let end = call.attrs.dim("end").or_else(|| call.attrs.dim("start"))?;
                Some(end - Dim::from(1))
            }
            "add" => {
                let both = [node.args[0], node.args[1]];
                let number = |&value: &Value| self.number(value);
                let at = both.iter().position(|value| number(value).is_some())?;
                Some(self.counted(both[1 - at])? + Dim::from(number(&both[at])?))
            }
            "reshape" | "unsqueeze" | "squeeze" | "flatten" | "broadcast_to" | "transpose" | "flip" => first(),
            cast if DType::from_name(cast).is_some_and(DType::is_integer) => first(),
            "cast" if call.attrs.text("dtype").is_some_and(|to| to != "bool") => first(),
            _ => None,
        }
    }

    fn number(&self, value: Value) -> Option<i64> {
        let Kind::Prim(Prim::Const(number)) = self.new.node(value).kind else { return None };
        match number {
            Scalar::Int(_, n) => i64::try_from(n).ok(),
            Scalar::Float(_, x) => (x.fract() == 0.0 && x.abs() < 1e9).then_some(x as i64),
            Scalar::Bool(_) => None,
        }
    }

    /// The largest value of a sum of named dimensions, which are at least 1; `None` where it is no such sum, an argument
    /// gives a number in it, or an extent has been reported.
    fn most_of(&self, dim: &Dim) -> Option<Most> {
        let mut sum = Most::Is(0);
        for (atoms, coefficient) in dim.terms() {
            let most = match atoms.as_slice() {
                [] => Most::Is(*coefficient),
                [atom] => {
                    let name = atom.as_name()?;
                    let known = self.dims.iter().find(|one| one.name == name)?;
                    if matches!(known.binder, Binder::Argument(_)) || self.bindings.has_exceeded(name) {
                        return None;
                    }
                    match known.bound {
                        _ if *coefficient < 0 => Most::Is(*coefficient),
                        Some(bound) => Most::Is(bound.checked_mul(*coefficient)?),
                        None => Most::Unbounded,
                    }
                }
                _ => return None,
            };
            sum = match (sum, most) {
                (Most::Is(a), Most::Is(b)) => Most::Is(a.checked_add(b)?),
                (Most::Unbounded, _) | (_, Most::Unbounded) => Most::Unbounded,
            };
        }
        Some(sum)
    }
}

/// The largest value of the only name in it for which the dimension is negative.
fn largest(beyond: &Dim) -> Option<i64> {
    let at = |n: i64| beyond.eval(&|_| Some(n));
    let (base, slope) = (at(0)?, at(1)? - at(0)?);
    let most = (slope > 0).then(|| (-base - 1).div_euclid(slope))?;
    (most > 0).then_some(most)
}
