//! Names that emitted code has for itself. In: the public functions of a text, and the names of structs that become types of Rust. Out:
//! reports of functions that would meet a method of every model, session or trainer, or one that another function brings along, and of
//! structs that are called as a type parameter of every model.

use super::ast::{AxisExpr, Fn, Program, TypeExpr};
use crate::diag::{Code, Diagnostic, Diags};
use proc_macro2::Ident;
use std::collections::BTreeSet;

/// Methods of every model.
const MODEL: [&str; 29] = [
    "device",
    "init",
    "load",
    "load_async",
    "load_from",
    "load_from_async",
    "on",
    "on_async",
    "open",
    "open_async",
    "open_bytes",
    "open_from",
    "parameter",
    "parameter_mut",
    "parameters",
    "save",
    "save_async",
    "session",
    "shared_session",
    "to_cpu",
    "to_onnx",
    "to_onnx_async",
    "to_onnx_with_external_data",
    "to_onnx_with_external_data_async",
    "trainer",
    "views",
    "views_mut",
    "write",
    "write_async",
];

/// Further methods of every session.
const SESSION: [&str; 6] = ["load", "load_async", "model", "reset", "reset_async", "save"];

/// Further methods of every trainer.
const TRAINER: [&str; 9] =
    ["group", "load", "load_async", "model", "save", "save_async", "steps", "steps_on", "steps_on_async"];

/// Type parameters in the code of a model: its device, another device, and the optimizer of a trainer.
pub(super) const OF_MODELS: &[&str] = &["D", "E", "O"];
/// Those where results stand.
pub(super) const OF_RESULTS: &[&str] = &["D"];

/// Reports a model, or a struct that one of its functions gives, whose name is that of a type parameter.
pub(super) fn report_type(name: &Ident, parameters: &[&str], diags: &mut Diags) {
    if parameters.iter().any(|parameter| name == parameter) {
        let report =
            Diagnostic::new(Code::ReservedName, name.span(), format!("every model has a type parameter `{name}`"));
        diags.push(report.help(format!("rename the struct, for example to `{name}Net`")));
    }
}

/// Reports every public function whose name is taken, and gives them: the struct and the function.
pub(super) fn report(program: &Program, diags: &mut Diags) -> BTreeSet<(String, String)> {
    let mut taken = BTreeSet::new();
    let mut owners: Vec<String> = program.impls.iter().map(|block| block.name.to_string()).collect();
    owners.sort();
    owners.dedup();
    for owner in owners {
        let blocks = program.impls.iter().filter(|block| block.name == owner);
        let public: Vec<&Fn> = blocks.flat_map(|block| &block.fns).filter(|one| one.is_pub()).collect();
        for one in &public {
            let name = one.name.to_string();
            let has = |methods: &[&str]| methods.contains(&name.as_str());
            let message = if has(&MODEL) {
                format!("every model has a method `{name}` of its own")
            } else if has(&SESSION) {
                format!("every session has a method `{name}` of its own")
            } else if has(&TRAINER) && !one.train.is_empty() {
                format!("every trainer has a method `{name}` of its own")
            } else if let Some(other) = public.iter().find(|other| brings(other, one)) {
                format!("`{}` brings a method `{name}` along", other.name)
            } else {
                continue;
            };
            let report = Diagnostic::new(Code::ReservedName, one.name.span(), message);
            diags.push(report.help(format!("rename this one, for example to `{name}_of`")));
            taken.insert((owner.clone(), name));
        }
    }
    taken
}

/// The private ones among the functions of a struct whose names meet no method.
pub(super) fn private(functions: &[&Fn]) -> Vec<Ident> {
    let mut all: Vec<Ident> = vec![];
    for one in functions.iter().filter(|one| !one.is_pub()) {
        let methods = MODEL.iter().chain(&SESSION).chain(&TRAINER);
        let taken = methods.into_iter().any(|method| one.name == method)
            || one.name.to_string().starts_with("with_")
            || functions.iter().any(|other| other.is_pub() && (other.name == one.name || brings(other, one)));
        if !taken && !all.contains(&one.name) {
            all.push(one.name.clone());
        }
    }
    all
}

/// Whether a function of the user's has beside it an emitted method of the name of another one.
fn brings(of: &Fn, other: &Fn) -> bool {
    let (name, other_name) = (of.name.to_string(), other.name.to_string());
    let Some(suffix) = other_name.strip_prefix(&name) else { return false };
    match suffix {
        "_async" | "_arena_bytes" | "_encode" | "_flops" | "_to_onnx" | "_to_onnx_async" => true,
        "_to_onnx_with_external_data" | "_to_onnx_with_external_data_async" => true,
        "_into" | "_into_async" => has_tensor(&of.result),
        "_batch" | "_batch_async" | "_gradients" | "_gradients_async" => {
            !of.train.is_empty() && (!other.train.is_empty() || !other.is_pub())
        }
        _ => false,
    }
}

/// Whether a result is more than numbers, so that callers may give memory for it.
fn has_tensor(ty: &TypeExpr) -> bool {
    match ty {
        TypeExpr::Tensor { axes, .. } => axes.iter().any(|axis| matches!(axis, AxisExpr::Rest | AxisExpr::Dim { .. })),
        TypeExpr::Tuple(items, _) => items.iter().any(has_tensor),
        TypeExpr::Struct(_, fields) => fields.iter().any(|(_, ty)| has_tensor(ty)),
        TypeExpr::Error => false,
    }
}
