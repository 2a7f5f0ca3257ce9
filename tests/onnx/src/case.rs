//! One test: a model, its arguments, and what it is to give.

use crate::compare::compare;
use precast_compiler::ir::Param;
use precast_compiler::onnx::proto::{ModelProto, TensorProto};
use precast_compiler::onnx::{Bound, Known, import, tensor};
use precast_compiler::oracle::{self, Env, Rounding, Tensor};
use proc_macro2::Span;
use prost::Message;
use prost::bytes::Bytes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// A line of the list.
#[derive(Deserialize)]
pub(crate) struct Case {
    /// Its name and that of its folder.
    pub(crate) name: String,
    /// The folder that it is in.
    pub(crate) folder: String,
    /// The operators that it is about.
    #[serde(default)]
    pub(crate) ops: Vec<String>,
    /// Arguments that are constants.
    #[serde(default)]
    const_bind: Vec<String>,
}

/// What is asked of a model.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Backend {
    /// That it is imported.
    Import,
    /// That the oracle gives the results.
    #[default]
    Oracle,
}

impl Backend {
    /// The one of that name.
    pub(crate) fn named(name: &str) -> Result<Backend, String> {
        match name {
            "import" => Ok(Backend::Import),
            "oracle" => Ok(Backend::Oracle),
            other => Err(format!("the back ends are import and oracle, not `{other}`")),
        }
    }
}

/// Arguments and results by name.
struct Data {
    inputs: Vec<(String, Tensor)>,
    outputs: Vec<Tensor>,
}

impl Case {
    /// Nothing, or why it fails.
    pub(crate) fn run(&self, suite: &Path, backend: Backend) -> Result<(), String> {
        let attempt = catch_unwind(AssertUnwindSafe(|| self.attempt(suite, backend)));
        attempt.unwrap_or_else(|_| Err("it panicked".into()))
    }

    fn attempt(&self, suite: &Path, backend: Backend) -> Result<(), String> {
        let folder = suite.join(&self.folder).join(&self.name);
        let bytes = Bytes::from(read(&folder.join("model.onnx"))?);
        let file = ModelProto::decode(bytes.clone()).map_err(|why| why.to_string())?;
        let data = Data::read(&folder.join("test_data_set_0"), &file)?;
        let is_constant = |name: &String| self.const_bind.contains(name);
        let args: BTreeMap<_, _> = data.inputs.iter().filter(|(name, _)| is_constant(name)).cloned().collect();
        let bound = Bound { args, ..Bound::default() };
        let imported = import(bytes, &bound, Span::call_site()).map_err(|refusals| {
            let all: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            all.join("; ")
        })?;
        if backend == Backend::Import {
            return Ok(());
        }
        let (model, known) = imported.model("Model");
        let params = known.iter().zip(&model.params).map(|(known, param)| of_type(known, param)).collect();
        let function = &model.functions[0];
        let args = data.inputs.into_iter().filter(|(name, _)| !is_constant(name)).map(|(_, tensor)| tensor).collect();
        let env = Env { args, params, rounding: Rounding::Nearest, ..Env::default() };
        let results = oracle::run(function, &model, &env)?.results;
        if results.len() != data.outputs.len() {
            return Err(format!("{} results, not {}", results.len(), data.outputs.len()));
        }
        results
            .iter()
            .zip(&data.outputs)
            .enumerate()
            .try_for_each(|(k, (made, wanted))| compare(made, wanted).map_err(|why| format!("result {k}: {why}")))
    }
}

/// What a parameter is, as numbers of the parameters' type.
fn of_type(known: &Known, param: &Param) -> Tensor {
    let tensor = known.tensor();
    Tensor::new(tensor.shape.clone(), oracle::Data::Float(param.ty.dtype, tensor.data.numbers()))
}

impl Data {
    fn read(folder: &Path, file: &ModelProto) -> Result<Data, String> {
        let graph = file.graph.as_ref().ok_or("the file has no graph")?;
        let known = |name: &str| graph.initializer.iter().any(|tensor| tensor.name == name);
        let names: Vec<&String> = graph.input.iter().map(|input| &input.name).filter(|name| !known(name)).collect();
        let mut inputs = vec![];
        for (k, name) in names.into_iter().enumerate() {
            inputs.push((name.clone(), read_tensor(&folder.join(format!("input_{k}.pb")))?));
        }
        let outputs = (0..graph.output.len()).map(|k| read_tensor(&folder.join(format!("output_{k}.pb"))));
        Ok(Data { inputs, outputs: outputs.collect::<Result<_, _>>()? })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|why| format!("{}: {why}", path.display()))
}

fn read_tensor(path: &Path) -> Result<Tensor, String> {
    let proto = TensorProto::decode(Bytes::from(read(path)?)).map_err(|why| format!("{}: {why}", path.display()))?;
    tensor(&proto).map_err(|why| format!("{}: {why}", path.display()))
}
