//! The suite again: each model that passes is exported, beside the same data.

use crate::case::{Case, Opened};
use precast_compiler::onnx::export;
use precast_compiler::ops;
use precast_compiler::stages::{expand, grad};
use prost::Message;
use std::path::Path;

/// Writes a test to a suite of the same form.
pub(crate) fn write(case: &Case, suite: &Path, to: &Path) -> Result<(), String> {
    let Opened { model, params, .. } = case.open(suite)?;
    let model = grad::grad(expand::expand(model), ops::optimizer_of);
    let exported = export(&model, &model.functions[0]).map_err(|why| format!("it cannot be exported: {why}"))?;
    let file = exported.with_parameters(&model, &params).encode_to_vec();
    let folder = to.join(case.folder()).join(&case.name);
    let data = folder.join("test_data_set_0");
    let failed = |why: std::io::Error| format!("{}: {why}", folder.display());
    std::fs::create_dir_all(&data).map_err(failed)?;
    std::fs::write(folder.join("model.onnx"), file).map_err(failed)?;
    let from = suite.join(case.folder()).join(&case.name).join("test_data_set_0");
    for (k, number) in case.arguments(suite)?.into_iter().enumerate() {
        std::fs::copy(from.join(format!("input_{number}.pb")), data.join(format!("input_{k}.pb"))).map_err(failed)?;
    }
    for k in 0..model.functions[0].graph.outputs.len() {
        let name = format!("output_{k}.pb");
        std::fs::copy(from.join(&name), data.join(&name)).map_err(failed)?;
    }
    Ok(())
}
