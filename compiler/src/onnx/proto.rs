//! The messages of ONNX's protobuf schema (`onnx.proto3` of ONNX 1.23), as far as an import reads them.
//!
//! Fields that nothing here reads are left out; a decoder skips them. Bytes are shared with the file, not copied.

use prost::bytes::Bytes;

/// A file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ModelProto {
    /// The version of the file format.
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    /// What wrote it.
    #[prost(string, tag = "2")]
    pub producer_name: String,
    /// The computation.
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    /// Which version of which operators it means.
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Functions that nodes may call.
    #[prost(message, repeated, tag = "25")]
    pub functions: Vec<FunctionProto>,
}

/// A version of the operators of a domain; the domain of ONNX itself has no name.
#[derive(Clone, PartialEq, prost::Message)]
pub struct OperatorSetIdProto {
    /// The domain.
    #[prost(string, tag = "1")]
    pub domain: String,
    /// The version.
    #[prost(int64, tag = "2")]
    pub version: i64,
}

/// A computation.
#[derive(Clone, PartialEq, prost::Message)]
pub struct GraphProto {
    /// In an order in which arguments come first.
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    /// Its name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Values that the file knows.
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    /// Arguments; before version 4 of the format with the initialisers.
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    /// Results.
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
    /// Initialisers with few elements that are not zero.
    #[prost(message, repeated, tag = "15")]
    pub sparse_initializer: Vec<SparseTensorProto>,
}

/// A call of an operator or function.
#[derive(Clone, PartialEq, prost::Message)]
pub struct NodeProto {
    /// The names of the arguments; an empty one is absent.
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    /// The names of the results; an empty one is not wanted.
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    /// Its name, often empty.
    #[prost(string, tag = "3")]
    pub name: String,
    /// The operator.
    #[prost(string, tag = "4")]
    pub op_type: String,
    /// What is known at build time.
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
    /// The operator's domain.
    #[prost(string, tag = "7")]
    pub domain: String,
    /// Which of several functions of that name it calls.
    #[prost(string, tag = "8")]
    pub overload: String,
}

/// An attribute. Which field holds the value, `type` says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct AttributeProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// A float.
    #[prost(float, tag = "2")]
    pub f: f32,
    /// An integer.
    #[prost(int64, tag = "3")]
    pub i: i64,
    /// A text.
    #[prost(bytes = "bytes", tag = "4")]
    pub s: Bytes,
    /// A tensor.
    #[prost(message, optional, tag = "5")]
    pub t: Option<TensorProto>,
    /// A graph.
    #[prost(message, optional, tag = "6")]
    pub g: Option<GraphProto>,
    /// Floats.
    #[prost(float, repeated, tag = "7")]
    pub floats: Vec<f32>,
    /// Integers.
    #[prost(int64, repeated, tag = "8")]
    pub ints: Vec<i64>,
    /// Texts.
    #[prost(bytes = "bytes", repeated, tag = "9")]
    pub strings: Vec<Bytes>,
    /// Graphs.
    #[prost(message, repeated, tag = "11")]
    pub graphs: Vec<GraphProto>,
    /// Which of these it is: a number of `AttributeType`.
    #[prost(int32, tag = "20")]
    pub r#type: i32,
    /// In a function the attribute of the call that it stands for.
    #[prost(string, tag = "21")]
    pub ref_attr_name: String,
    /// A tensor with few elements that are not zero.
    #[prost(message, optional, tag = "22")]
    pub sparse_tensor: Option<SparseTensorProto>,
}

/// A tensor that the file holds, or whose place in another file it names.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorProto {
    /// The extents.
    #[prost(int64, repeated, tag = "1")]
    pub dims: Vec<i64>,
    /// The element type: a number of `DataType`.
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    /// Elements of f32.
    #[prost(float, repeated, tag = "4")]
    pub float_data: Vec<f32>,
    /// Elements of types of at most 32 bits, as their bits.
    #[prost(int32, repeated, tag = "5")]
    pub int32_data: Vec<i32>,
    /// Elements of i64.
    #[prost(int64, repeated, tag = "7")]
    pub int64_data: Vec<i64>,
    /// Its name.
    #[prost(string, tag = "8")]
    pub name: String,
    /// The elements in memory order, little endian.
    #[prost(bytes = "bytes", tag = "9")]
    pub raw_data: Bytes,
    /// Elements of f64.
    #[prost(double, repeated, tag = "10")]
    pub double_data: Vec<f64>,
    /// Elements of u32 and u64.
    #[prost(uint64, repeated, tag = "11")]
    pub uint64_data: Vec<u64>,
    /// Where the elements are, if in another file.
    #[prost(message, repeated, tag = "13")]
    pub external_data: Vec<StringStringEntryProto>,
    /// 1 where they are in another file.
    #[prost(int32, tag = "14")]
    pub data_location: i32,
}

/// A tensor as those of its elements that are not zero.
#[derive(Clone, PartialEq, prost::Message)]
pub struct SparseTensorProto {
    /// The elements.
    #[prost(message, optional, tag = "1")]
    pub values: Option<TensorProto>,
    /// Their positions, row-major, or their indices.
    #[prost(message, optional, tag = "2")]
    pub indices: Option<TensorProto>,
    /// The extents.
    #[prost(int64, repeated, tag = "3")]
    pub dims: Vec<i64>,
}

/// A word and what it says.
#[derive(Clone, PartialEq, prost::Message)]
pub struct StringStringEntryProto {
    /// The word.
    #[prost(string, tag = "1")]
    pub key: String,
    /// What it says.
    #[prost(string, tag = "2")]
    pub value: String,
}

/// An argument or a result.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ValueInfoProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// Its type.
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
}

/// The type of a value: that of a tensor, or one that an import does not know.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TypeProto {
    /// That of a tensor.
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorTypeProto>,
}

/// The type of a tensor.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorTypeProto {
    /// The element type: a number of `DataType`.
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    /// The shape, where it is known.
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

/// A shape.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TensorShapeProto {
    /// The extents.
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<DimensionProto>,
}

/// An extent: a number, a name, or neither where it is unknown.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DimensionProto {
    /// Which.
    #[prost(oneof = "Extent", tags = "1, 2")]
    pub value: Option<Extent>,
}

/// What is known of an extent.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Extent {
    /// All.
    #[prost(int64, tag = "1")]
    DimValue(i64),
    /// What it is called.
    #[prost(string, tag = "2")]
    DimParam(String),
}

/// A function of the file.
#[derive(Clone, PartialEq, prost::Message)]
pub struct FunctionProto {
    /// Its name.
    #[prost(string, tag = "1")]
    pub name: String,
    /// The names of its arguments.
    #[prost(string, repeated, tag = "4")]
    pub input: Vec<String>,
    /// The names of its results.
    #[prost(string, repeated, tag = "5")]
    pub output: Vec<String>,
    /// Its body.
    #[prost(message, repeated, tag = "7")]
    pub node: Vec<NodeProto>,
    /// Which operators its body means.
    #[prost(message, repeated, tag = "9")]
    pub opset_import: Vec<OperatorSetIdProto>,
    /// Its domain.
    #[prost(string, tag = "10")]
    pub domain: String,
    /// Attributes that calls may leave out.
    #[prost(message, repeated, tag = "11")]
    pub attribute_proto: Vec<AttributeProto>,
    /// What tells it from others of its name.
    #[prost(string, tag = "13")]
    pub overload: String,
}

/// Numbers of attribute types.
pub mod attribute_type {
    /// A float.
    pub const FLOAT: i32 = 1;
    /// An integer.
    pub const INT: i32 = 2;
    /// A text.
    pub const STRING: i32 = 3;
    /// A tensor.
    pub const TENSOR: i32 = 4;
    /// A graph.
    pub const GRAPH: i32 = 5;
    /// Floats.
    pub const FLOATS: i32 = 6;
    /// Integers.
    pub const INTS: i32 = 7;
    /// Texts.
    pub const STRINGS: i32 = 8;
}
