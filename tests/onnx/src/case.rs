//! One test: a model, its arguments, and what it is to give.

use precast_compiler::ir::{Function, Model, Param};
use precast_compiler::onnx::proto::{ModelProto, TensorProto};
use precast_compiler::onnx::{Bound, File, Weight, import, tensor};
use precast_compiler::oracle::{self, Tensor};
use proc_macro2::Span;
use prost::Message;
use prost::bytes::Bytes;
use serde::Deserialize;
use std::path::Path;

/// A line of the list.
#[derive(Deserialize)]
pub(crate) struct Case {
    /// Its name and that of its folder.
    pub(crate) name: String,
    /// The folder that it is in.
    folder: String,
    /// The operators that it is about.
    #[serde(default)]
    pub(crate) ops: Vec<String>,
    /// Arguments that are constants.
    #[serde(default)]
    const_bind: Vec<String>,
}

/// Arguments by name, and results.
struct Data {
    inputs: Vec<(String, Tensor)>,
    outputs: Vec<Tensor>,
}

/// A test that was read, whose model was imported.
pub(crate) struct Opened {
    /// The model, whose first function is the test's.
    pub(crate) model: Model,
    /// Its parameters.
    pub(crate) params: Vec<Tensor>,
    /// The arguments.
    pub(crate) args: Vec<Tensor>,
    /// What the named dimensions are in these.
    pub(crate) dims: Vec<(String, i64)>,
    /// What it is to give.
    pub(crate) wanted: Vec<Tensor>,
}

impl Case {
    /// The folder that it is in.
    pub(crate) fn folder(&self) -> &str {
        &self.folder
    }

    /// The numbers of the arguments that are no constants, as the data has them.
    pub(crate) fn arguments(&self, suite: &Path) -> Result<Vec<usize>, String> {
        let bytes = read(&suite.join(&self.folder).join(&self.name).join("model.onnx"))?;
        let file = ModelProto::decode(Bytes::from(bytes)).map_err(|why| why.to_string())?;
        let names = Data::names(&file)?;
        Ok((0..names.len()).filter(|&k| !self.const_bind.contains(&names[k])).collect())
    }

    /// Reads the test and imports its model.
    pub(crate) fn open(&self, suite: &Path) -> Result<Opened, String> {
        let folder = suite.join(&self.folder).join(&self.name);
        let bytes = read(&folder.join("model.onnx"))?;
        let names = ModelProto::decode(bytes.as_slice()).map_err(|why| why.to_string())?;
        let Data { inputs, outputs: wanted } = Data::read(&folder.join("test_data_set_0"), &names)?;
        let (constants, args): (Vec<_>, Vec<_>) =
            inputs.into_iter().partition(|(name, _)| self.const_bind.contains(name));
        let bound = Bound { args: constants.into_iter().collect(), ..Bound::default() };
        let imported = File::decode(bytes, Some(&folder)).and_then(|file| import(&file, &bound, Span::call_site()));
        let imported = imported.map_err(|refusals| {
            let all: Vec<String> = refusals.iter().map(ToString::to_string).collect();
            all.join("; ")
        })?;
        let (model, known) = imported.model("Model");
        let params = known.iter().zip(&model.params).map(|(known, param)| of_type(known, param)).collect();
        let args: Vec<Tensor> = args.into_iter().map(|(_, tensor)| tensor).collect();
        let dims = dims(&model.functions[0], &args);
        Ok(Opened { model, params, args, dims, wanted })
    }
}

/// The values of a function's named dimensions, each where it is the whole extent of an argument.
fn dims(function: &Function, args: &[Tensor]) -> Vec<(String, i64)> {
    let extents = || {
        let types = function.args.iter().map(|arg| &arg.ty.shape).zip(args);
        types.flat_map(|(shape, tensor)| shape.iter().zip(&tensor.shape))
    };
    let value =
        |name: &str| extents().find(|(dim, _)| dim.as_name() == Some(name)).map_or(0, |(_, extent)| *extent as i64);
    function.dims.iter().map(|dim| (dim.name.clone(), value(&dim.name))).collect()
}

/// What a parameter is, as numbers of the parameters' type.
fn of_type(weight: &Weight, param: &Param) -> Tensor {
    let (tensor, dtype) = (weight.elements(), param.ty.dtype);
    let numbers = tensor.data.numbers().into_iter().map(|number| dtype.nearest(number)).collect();
    Tensor::new(tensor.shape.clone(), oracle::Data::Float(dtype, numbers))
}

impl Data {
    /// The names of the arguments.
    fn names(file: &ModelProto) -> Result<Vec<String>, String> {
        let graph = file.graph.as_ref().ok_or("the file has no graph")?;
        let known = |name: &str| graph.initializer.iter().any(|tensor| tensor.name == name);
        Ok(graph.input.iter().map(|input| input.name.clone()).filter(|name| !known(name)).collect())
    }

    fn read(folder: &Path, file: &ModelProto) -> Result<Data, String> {
        let graph = file.graph.as_ref().ok_or("the file has no graph")?;
        let mut inputs = vec![];
        for (k, name) in Data::names(file)?.into_iter().enumerate() {
            let tensor = read_tensor(&folder.join(format!("input_{k}.pb")))?;
            inputs.push((name, tensor));
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
