//! Calls whose arguments tell the mistake better than the op that refuses them: a number for a key, a number that the
//! type beside it does not hold, two arguments or numbers in the wrong order.

use super::literal::suits;
use super::report::type_text;
use super::{Known, Shaper, call};
use crate::diag::{Code, Diagnostic, Place};
use crate::ir::attr::Attr;
use crate::ir::graph::Call;
use crate::ir::written::Site;
use crate::ir::{DType, Node, Type, Value};
use crate::ops::{self, OpError, Signature};

/// Whether the op takes a key there.
fn is_key(call: &Call, arg: usize) -> bool {
    Signature::of(ops::op_of(call)).args.get(arg).is_some_and(|slot| slot.name == "key")
}

impl Shaper<'_> {
    /// Changes the report of a call to what its arguments tell.
    pub(super) fn mistaken(
        &self,
        report: &mut Diagnostic,
        (node, call, site): (&Node, &Call, &Site),
        types: &[Type],
        error: &OpError,
    ) {
        let texts: Vec<String> = site.args.iter().map(|(text, _)| text.clone()).collect();
        if let Some(k) = error.arg.filter(|&k| k < site.args.len() && is_key(call, k)) {
            let (text, ty) = (&texts[k], type_text(&types[k]));
            report.code = Code::NotAKey;
            report.message = format!("`{}` takes a key, which is u32[2], but `{text}` is {ty}", call.callee);
            let name = if text.chars().all(|c| c.is_alphanumeric() || c == '_') { text } else { "key" };
            report.help = Some(format!("declare `{name}: u32[2]`; a program gives `&key(42)`"));
        }
        if call.callee == "^" && error.code == Code::WrongDtype {
            report.help =
                Some(format!("`^` is the exclusive or of bools; for a power write `pow({})`", texts.join(", ")));
        }
        if let (Some(layer), Code::KernelTooLarge) = (&site.layer, error.code)
            && let Some(declaration) = self.turned_round(node, layer, call, &types[..site.args.len()])
        {
            report.help = Some(format!("declare `{declaration}` on {}", layer.line));
        }
        if error.code == Code::MixedDtype
            && let Some((number, other, wider)) = self.out_of_range(node, types)
        {
            let dtype = types[other].dtype;
            (report.code, report.place) = (Code::LiteralOutOfRange, site.args[number].1);
            report.message = format!("`{}` is no {dtype}, which `{}` is", texts[number], texts[other]);
            report.notes = vec![format!("{dtype} holds {}", dtype.range())];
            let convert = OpError::new(error.code, "").help(format!("convert it: `{{0}}.{wider}()`"));
            report.help = convert.render("", &texts[other..=other]).1;
        }
        if let Some((message, place, help)) = self.exchanged(call, site, types, error) {
            (report.message, report.place, report.help) = (message, place, Some(help));
        }
    }

    /// A whole number, the argument beside it of an integer type that does not hold it, and a type that does.
    fn out_of_range(&self, node: &Node, types: &[Type]) -> Option<(usize, usize, DType)> {
        let whole = |arg: &Value| match self.known(*arg) {
            Known::Literal(attr @ Attr::Int(number)) => number.as_const().map(|_| attr),
            _ => None,
        };
        let (number, attr) = node.args.iter().enumerate().find_map(|(k, arg)| Some((k, whole(arg)?)))?;
        let misses = |(k, ty): (usize, &Type)| k != number && ty.dtype.is_integer() && !suits(attr, ty.dtype);
        let other = types.iter().enumerate().position(misses)?;
        let wider = [DType::I32, DType::I64, DType::U64].into_iter().find(|dtype| suits(attr, *dtype))?;
        Some((number, other, wider))
    }

    /// What is said of a call that is right with its first two arguments exchanged: only where their element types tell
    /// which is which.
    fn exchanged(&self, call: &Call, site: &Site, types: &[Type], error: &OpError) -> Option<(String, Place, String)> {
        let [(first, from), (second, to), ..] = &site.args[..] else { return None };
        if error.code != Code::WrongDtype || site.layer.is_some() {
            return None;
        }
        let mut types = types.to_vec();
        types.swap(0, 1);
        call::results_of_call(call, &types, &[], &self.bindings.attrs(&call.attrs)?)?;
        let signature = Signature::of(ops::op_of(call));
        let [a, b, ..] = &signature.args[..] else { return None };
        let message = format!("`{}` takes `{}` first and then `{}`", call.callee, a.name, b.name);
        // What is called as a method stands in front of the name.
        let is_method = from.first.start() == site.place.first.start();
        let (text, place) = match is_method {
            true => {
                let rest: String = site.args[2..].iter().map(|(text, _)| format!(", {text}")).collect();
                (format!("{}({second}, {first}{rest})", call.op), site.place)
            }
            false => (format!("{second}, {first}"), from.to(*to)),
        };
        let complete = !text.contains('…') && (!is_method || site.attrs.is_empty());
        let help = if complete { format!("write `{text}`") } else { "exchange the two".to_owned() };
        Some((message, place, help))
    }
}
