//! `pub struct Name = onnx("model.onnx", batch = B);`: the file and its arguments in, a model with types out, or what of it is not
//! supported, all in one report at the file's name.

use super::import::{Import, ImportValue};
use super::options::{self, Options};
use super::wgsl::beside;
use crate::diag::{Code, Diagnostic, Diags};
use crate::ir::precision::Precision;
use crate::ir::{Dim, Model};
use crate::onnx::{self, Bound, Refusal};
use quote::{ToTokens, quote};
use std::path::Path;

/// The most refusals that are told of one by one.
const TOLD: usize = 100;

/// The model of an import; none after a report.
pub(super) fn model(import: &Import, diags: &mut Diags) -> Option<Model> {
    let path = beside(&import.file);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(why) => {
            let message = format!("`{}` cannot be read: {why}", import.file.value());
            let report = Diagnostic::new(Code::Onnx, import.file.span(), message);
            diags.push(report.note("the path starts at the file that names it".to_owned()));
            return None;
        }
    };
    match read(import, bytes, path.parent(), diags) {
        Ok(model) => Some(model),
        Err(refusals) => {
            report(import, &refusals, diags);
            None
        }
    }
}

fn read(import: &Import, bytes: Vec<u8>, folder: Option<&Path>, diags: &mut Diags) -> Result<Model, Vec<Refusal>> {
    let mut bound = Bound::default();
    for arg in &import.args {
        let dim = match &arg.value {
            ImportValue::Number(number) => Dim::from(*number),
            ImportValue::Dim { scale, name, offset } => {
                bound.bounds.extend(arg.bound.map(|most| (name.to_string(), most)));
                Dim::from(*scale) * Dim::name(name.to_string()) + Dim::from(*offset)
            }
        };
        bound.dims.insert(arg.name.clone(), dim);
    }
    let file = onnx::File::decode(bytes, folder)?;
    let imported = onnx::import(&file, &bound, import.name.span())?;
    let (model, tensors) = imported.model(&import.name.to_string());
    let origin = onnx::origin(&model, &tensors, &file, import.file.token()).map_err(|why| vec![why])?;
    let Options { memory, precision, storage, deterministic } = options::options(&import.attrs, diags);
    if storage.is_some() || precision != Precision::default() {
        let message = format!("what `{}` computes in, and its parameters are, is what its file says", import.name);
        let report = Diagnostic::new(Code::WrongAttribute, import.name.span(), message);
        diags.push(report.help(format!("let it be a block of a model that has the option: `body: {}`", import.name)));
    }
    let own = import.attrs.iter().filter(|attr| !attr.path().is_ident("model")).map(ToTokens::to_token_stream);
    let doc = format!(" The model of the ONNX file `{}`.", import.file.value());
    let attrs = own.chain([quote!(#[doc = ""] #[doc = #doc])]);
    Ok(Model {
        name: import.name.clone(),
        vis: import.vis.to_token_stream(),
        attrs: attrs.collect(),
        memory,
        deterministic,
        origins: vec![origin],
        ..model
    })
}

/// One report of everything, because there is one place to show it at.
fn report(import: &Import, refusals: &[Refusal], diags: &mut Diags) {
    let file = import.file.value();
    let message = match refusals {
        [only] => format!("`{file}` cannot be imported: {only}"),
        all => format!("`{file}` cannot be imported, for {} reasons", all.len()),
    };
    let mut report = Diagnostic::new(Code::Onnx, import.file.span(), message);
    if refusals.len() > 1 {
        report = refusals.iter().take(TOLD).fold(report, |report, refusal| report.note(refusal.to_string()));
    }
    if refusals.len() > TOLD {
        report = report.note(format!("and {} more", refusals.len() - TOLD));
    }
    diags.push(report);
}
