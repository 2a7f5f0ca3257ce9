//! Writing ONNX files: a function of a model in, the file without its parameters out.
//!
//! In is a function as grad leaves it: complete, in primitives, and still near the user's ops. Always: the names of parameters are
//! those of `state_dict`, and the runtime adds their values; what a file computes is what the function computes, in types that ONNX
//! Runtime has kernels for.

mod attention;
mod attributes;
mod dims;
mod elements;
mod index;
mod maps;
mod movement;
mod prims;
mod products;
mod prune;
mod reduce;
mod refusals;
mod regions;
mod value;
mod windows;
mod writer;

use super::element;
use super::proto::{
    DimensionProto, Extent, GraphProto, ModelProto, OperatorSetIdProto, TensorProto, TensorShapeProto, TensorTypeProto,
    TypeProto, ValueInfoProto,
};
use crate::ir::model::{ParamId, Results};
use crate::ir::{DType, Dim, Function, Model, Type};
use crate::oracle::{Data, Tensor};
use value::Made;
use writer::Writer;

/// The version of the operators: the first with operators on bits.
const OPSET: i64 = 18;

/// The version of the file format that belongs to it.
const FORMAT: i64 = 8;

/// Both for a model with elements of 8-bit floats.
const OF_SMALL_FLOATS: (i64, i64) = (19, 9);

/// A file that lacks the values of parameters.
#[derive(Clone, Debug)]
pub struct Exported {
    /// All but the initialisers of parameters.
    pub file: ModelProto,
    /// The parameters that it reads, each with all of its stack.
    pub params: Vec<ParamId>,
}

impl Exported {
    /// The whole file, with the values of the model's parameters in their order, as the runtime writes it for a model on any device.
    pub fn with_parameters(mut self, model: &Model, values: &[Tensor]) -> ModelProto {
        for id in self.params {
            let (param, all) = (model.param(id), &values[id.0 as usize].data);
            let names = param.instances();
            let count = all.len() / names.len().max(1);
            let dtype = model.stored_as(param);
            for (k, name) in names.into_iter().enumerate() {
                let raw_data = bytes(&all.part(k * count, count), dtype).into();
                let dims = param.ty.shape.iter().filter_map(Dim::as_const).collect();
                let tensor =
                    TensorProto { name, dims, data_type: element::number(dtype), raw_data, ..TensorProto::default() };
                self.file.graph.get_or_insert_default().initializer.push(tensor);
            }
        }
        self.file
    }
}

/// A tensor as files of data have it.
pub fn message(tensor: &Tensor) -> TensorProto {
    let (dtype, dims) = (tensor.data.dtype(), tensor.shape.iter().map(|&extent| extent as i64).collect());
    let raw_data = bytes(&tensor.data, dtype).into();
    TensorProto { dims, data_type: element::number(dtype), raw_data, ..TensorProto::default() }
}

/// Numbers as elements of a type, little endian.
fn bytes(data: &Data, dtype: DType) -> Vec<u8> {
    let size = if dtype == DType::Bool { 1 } else { dtype.bits() as usize / 8 };
    let of_float = |x: f64| match dtype {
        DType::F64 => x.to_bits(),
        DType::F32 => (x as f32).to_bits().into(),
        _ if dtype.is_float() => dtype.float_bits(dtype.nearest(x)),
        _ => (x as i64).cast_unsigned(),
    };
    let bits: Vec<u64> = match data {
        Data::Int(_, all) => all.iter().map(|&x| x as u64).collect(),
        Data::Float(..) | Data::Bool(_) => data.numbers().into_iter().map(of_float).collect(),
    };
    bits.into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(size)).collect()
}

/// The file of a function.
///
/// # Errors
/// Why ONNX cannot say what it computes, as a clause.
pub fn export(model: &Model, function: &Function) -> Result<Exported, &'static str> {
    if let Some(why) = refusals::refusal(function) {
        return Err(why);
    }
    let graph = attention::written_out(&function.graph);
    let mut writer = Writer::new(model, function);
    let results: Vec<String> = result_names(function).iter().map(|name| writer.fresh(name)).collect();
    let names = writer.inputs().to_vec();
    let args: Vec<Made> = function.args.iter().zip(&names).map(|(arg, name)| writer.argument(name, &arg.ty)).collect();
    let made = writer.graph(&graph, args);
    let types: Vec<&Type> = graph.outputs.iter().map(|&value| graph.ty(value)).collect();
    for ((made, ty), name) in made.into_iter().zip(&types).zip(&results) {
        writer.result(made, ty, name);
    }
    let is_small = |dtype: DType| dtype.is_float() && dtype.bits() == 8;
    let (opset, ir_version) = if model.uses(is_small) { OF_SMALL_FLOATS } else { (OPSET, FORMAT) };
    let input = function.args.iter().zip(&names).map(|(arg, name)| info(name, arg.ty.dtype, &arg.ty.shape)).collect();
    let output = types.iter().zip(&results).map(|(ty, name)| info(name, ty.dtype, &ty.shape)).collect();
    let (nodes, params) = writer.finish();
    let node = prune::pruned(nodes, &results);
    let graph = GraphProto { node, name: model.name.to_string(), input, output, ..GraphProto::default() };
    let file = ModelProto {
        ir_version,
        producer_name: "precast".into(),
        graph: Some(graph),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: opset }],
        functions: vec![],
    };
    Ok(Exported { file, params })
}

/// What the results are called.
fn result_names(function: &Function) -> Vec<String> {
    match &function.results {
        Results::One => vec!["result".into()],
        Results::Tuple => (0..function.graph.outputs.len()).map(|k| format!("result_{k}")).collect(),
        Results::Struct(_, fields) => fields.iter().map(|field| field.to_string().replace("r#", "")).collect(),
    }
}

/// The declaration of a value.
fn info(name: &str, dtype: DType, shape: &[Dim]) -> ValueInfoProto {
    let extent = |dim: &Dim| match dim.as_const() {
        Some(extent) => Extent::DimValue(extent),
        None => Extent::DimParam(dim.to_string()),
    };
    let dim = shape.iter().map(|dim| DimensionProto { value: Some(extent(dim)) }).collect();
    let tensor_type =
        Some(TensorTypeProto { elem_type: element::number(dtype), shape: Some(TensorShapeProto { dim }) });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}
