//! Reading ONNX files: what shapes decide leaves nothing to run, all that is not supported is said at once, and no file, whatever is
//! in it, makes the compiler panic.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod external;
mod hostile;
mod layers;
mod mutations;
mod names;
mod numbers;
#[path = "operators.rs"]
mod operator_tests;
mod shapes;
mod weights;

use precast_compiler::ir::{Kind, Prim};
use precast_compiler::onnx::proto::{
    AttributeProto, DimensionProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TensorTypeProto, TypeProto, ValueInfoProto,
};
use precast_compiler::onnx::{Bound, File, Imported, Refusal, Weight, import, operators};
use precast_compiler::oracle::{self, Data, Env, Tensor};
use proc_macro2::Span;
use prost::Message;
use prost::bytes::Bytes;

const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn read(model: &ModelProto) -> Result<Imported, Vec<Refusal>> {
    import(&File::decode(model.encode_to_vec(), None)?, &Bound::default(), Span::call_site())
}

fn model(nodes: Vec<NodeProto>, inputs: Vec<ValueInfoProto>, outputs: &[&str], known: Vec<TensorProto>) -> ModelProto {
    let output = outputs.iter().map(|name| ValueInfoProto { name: (*name).into(), r#type: None }).collect();
    let graph = GraphProto { node: nodes, input: inputs, output, initializer: known, ..GraphProto::default() };
    let opset = OperatorSetIdProto { domain: String::new(), version: 18 };
    ModelProto { graph: Some(graph), opset_import: vec![opset], ..ModelProto::default() }
}

fn node(operator: &str, inputs: &[&str], outputs: &[&str], attribute: Vec<AttributeProto>) -> NodeProto {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    NodeProto {
        op_type: operator.into(),
        input: names(inputs),
        output: names(outputs),
        attribute,
        ..NodeProto::default()
    }
}

fn input(name: &str, elem_type: i32, dims: &[Extent]) -> ValueInfoProto {
    let dim = dims.iter().map(|extent| DimensionProto { value: Some(extent.clone()) }).collect();
    let tensor_type = Some(TensorTypeProto { elem_type, shape: Some(TensorShapeProto { dim }) });
    ValueInfoProto { name: name.into(), r#type: Some(TypeProto { tensor_type }) }
}

fn attribute_of(name: &str) -> AttributeProto {
    AttributeProto { name: name.into(), ..AttributeProto::default() }
}

fn named(name: &str) -> Extent {
    Extent::DimParam(name.into())
}

fn integers(name: &str, numbers: &[i64]) -> TensorProto {
    let dims = vec![numbers.len() as i64];
    TensorProto { name: name.into(), data_type: INT64, dims, int64_data: numbers.to_vec(), ..TensorProto::default() }
}

fn floats(name: &str, dims: &[i64], numbers: &[f32]) -> TensorProto {
    let (dims, float_data) = (dims.to_vec(), numbers.to_vec());
    TensorProto { name: name.into(), data_type: FLOAT, dims, float_data, ..TensorProto::default() }
}

/// What a model gives for these arguments, by the oracle.
fn results(model: &ModelProto, args: Vec<Tensor>) -> Vec<Tensor> {
    let (model, known) = read(model).unwrap().model("Model");
    let of_type = |(known, dtype): (&Weight, _)| {
        Tensor::new(known.elements().shape.clone(), Data::Float(dtype, known.elements().data.numbers()))
    };
    let params = known.iter().zip(&model.params).map(|(known, param)| of_type((known, param.ty.dtype))).collect();
    oracle::run(&model.functions[0], &model, &Env { args, params, ..Env::default() }).unwrap().results
}

/// The only result as numbers.
fn result(model: &ModelProto, args: Vec<Tensor>) -> Vec<f64> {
    let all = results(model, args);
    assert_eq!(all.len(), 1);
    all[0].data.numbers()
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i, ..AttributeProto::default() }
}

/// Elements as the bytes that they are.
fn raw(name: &str, data_type: i32, dims: &[i64], bytes: Vec<u8>) -> TensorProto {
    TensorProto { name: name.into(), data_type, dims: dims.to_vec(), raw_data: bytes.into(), ..TensorProto::default() }
}

fn reasons(model: &ModelProto) -> Vec<String> {
    read(model).unwrap_err().iter().map(ToString::to_string).collect()
}

/// What PyTorch's exporter writes for `x.view(x.shape[0] * x.shape[1], -1)`.
#[test]
fn arithmetic_of_shapes_leaves_one_reshape() {
    let nodes = vec![
        node("Shape", &["x"], &["shape"], vec![]),
        node("Gather", &["shape", "zero"], &["batch"], vec![]),
        node("Gather", &["shape", "one"], &["time"], vec![]),
        node("Mul", &["batch", "time"], &["rows"], vec![]),
        node(
            "Concat",
            &["rows", "rest"],
            &["wanted"],
            vec![AttributeProto { name: "axis".into(), ..AttributeProto::default() }],
        ),
        node("Reshape", &["x", "wanted"], &["y"], vec![]),
    ];
    let x = input("x", FLOAT, &[named("B"), named("T"), Extent::DimValue(6)]);
    let known = vec![integers("zero", &[0]), integers("one", &[1]), integers("rest", &[-1])];
    let imported = read(&model(nodes, vec![x], &["y"], known)).unwrap();
    let graph = &imported.function.graph;
    assert_eq!(graph.nodes.len(), 2, "{graph:?}");
    assert!(matches!(graph.nodes[1].kind, Kind::Prim(Prim::Reshape(_))));
    assert_eq!(imported.function.signature.text, "fn forward(&self, x: f32[B, T, 6]) -> f32[B*T, 6]");
}

#[test]
fn weights_are_parameters_whatever_they_are() {
    let nodes = vec![node("Mul", &["x", "scale"], &["y"], vec![])];
    let x = input("x", FLOAT, &[Extent::DimValue(3)]);
    let imported = read(&model(nodes, vec![x], &["y"], vec![floats("scale", &[3], &[1.0; 3])])).unwrap();
    assert_eq!(imported.params.len(), 1);
    assert!(imported.params[0].trained && imported.params[0].name == "scale");
}

#[test]
fn all_that_is_not_supported_is_said_at_once() {
    let named = |name: &str, node: NodeProto| NodeProto { name: name.into(), ..node };
    let nodes = vec![
        named("first", node("StringNormalizer", &["x"], &["a"], vec![])),
        node("Relu", &["a"], &["b"], vec![]),
        named("second", node("Reshape", &["x", "wanted"], &["c"], vec![])),
        node("Relu", &["nowhere"], &["d"], vec![]),
    ];
    let x = input("x", FLOAT, &[Extent::DimValue(3)]);
    let found = reasons(&model(nodes, vec![x], &["d"], vec![integers("wanted", &[2, 2])]));
    assert_eq!(found.len(), 3, "{found:#?}");
    assert_eq!(found[0], "`first` (StringNormalizer, opset 18): the operator is not supported");
    assert!(found[1].starts_with("`second` (Reshape, opset 18): "), "{}", found[1]);
    assert_eq!(found[2], "`d` (Relu, opset 18): nothing before it gives `nowhere`");
}

#[test]
fn attributes_that_nothing_reads_are_not_supported() {
    let x = input("x", FLOAT, &[Extent::DimValue(1), Extent::DimValue(1), Extent::DimValue(3)]);
    let w = floats("w", &[1, 1, 2], &[1.0; 2]);
    let found = |operator, args: &[&str], attribute| {
        reasons(&model(vec![node(operator, args, &["y"], vec![attribute])], vec![x.clone()], &["y"], vec![w.clone()]))
    };
    let steps = found("Relu", &["x"], int("steps", 2));
    assert_eq!(steps, ["`y` (Relu, opset 18): its attribute `steps` is not supported"]);
    let kernel = AttributeProto { ints: vec![3], ..attribute_of("kernel_shape") };
    let kernel = found("Conv", &["x", "w"], kernel);
    assert_eq!(kernel, ["`y` (Conv, opset 18): its `kernel_shape` is [3], and its argument has [2]"]);
}

#[test]
fn an_initializer_has_as_many_elements_as_its_shape_says() {
    let x = input("x", FLOAT, &[Extent::DimValue(3)]);
    let nodes = vec![node("Add", &["x", "w"], &["y"], vec![])];
    let found = reasons(&model(nodes, vec![x], &["y"], vec![floats("w", &[3], &[1.0; 2])]));
    assert_eq!(found, ["initializer `w`: `w` has 2 elements, but its shape [3] asks for 3"]);
}

#[test]
fn functions_that_call_themselves_end() {
    let body = node("F", &["x"], &["y"], vec![]);
    let mut file = model(vec![body.clone()], vec![input("x", FLOAT, &[Extent::DimValue(3)])], &["y"], vec![]);
    file.functions.push(precast_compiler::onnx::proto::FunctionProto {
        name: "F".into(),
        input: vec!["x".into()],
        output: vec!["y".into()],
        node: vec![body.clone(), body],
        ..Default::default()
    });
    assert!(!reasons(&file).is_empty());
}

/// Marsaglia's xorshift.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// Mostly a small number.
    fn number(&mut self) -> i64 {
        let near = self.below(9) as i64 - 3;
        if self.below(40) == 0 { self.pick(&[i64::MIN, i64::MAX, 1 << 40, -(1 << 31), 1 << 20]) } else { near }
    }

    fn numbers(&mut self) -> Vec<i64> {
        (0..self.below(6)).map(|_| self.number()).collect()
    }
}

/// Attributes of ONNX's operators.
const ATTRIBUTES: &[&str] = &[
    "axis",
    "axes",
    "perm",
    "pads",
    "strides",
    "dilations",
    "kernel_shape",
    "group",
    "ceil_mode",
    "count_include_pad",
    "auto_pad",
    "mode",
    "keepdims",
    "to",
    "value_ints",
    "hidden_size",
    "direction",
    "batch_dims",
    "blocksize",
    "num_groups",
    "k",
    "p",
    "size",
    "equation",
    "split",
    "num_outputs",
    "start",
    "end",
    "starts",
    "ends",
    "alpha",
    "output_shape",
    "output_padding",
    "block_size",
    "reduction",
    "num_heads",
    "kv_num_heads",
    "q_num_heads",
    "is_causal",
    "layout",
    "exclusive",
    "onesided",
    "output_height",
];

const WORDS: &[&str] = &[
    "",
    "same",
    "SAME_UPPER",
    "SAME_LOWER",
    "VALID",
    "reflect",
    "edge",
    "wrap",
    "bidirectional",
    "reverse",
    "ij,jk->ik",
    "...i->i",
    "linear",
    "cubic",
    "nearest",
    "add",
    "max",
    "none",
    "LEFT",
    "circular",
    "i->",
    "->",
];

fn attribute(random: &mut Random) -> AttributeProto {
    AttributeProto {
        name: random.pick(ATTRIBUTES).into(),
        i: random.number(),
        f: random.number() as f32,
        s: Bytes::from_static(random.pick(WORDS).as_bytes()),
        ints: random.numbers(),
        floats: random.numbers().into_iter().map(|n| n as f32).collect(),
        ..AttributeProto::default()
    }
}

/// A call of an operator with arguments and attributes that hardly ever belong together.
fn drawn(random: &mut Random, domain: &str, operator: &str) -> ModelProto {
    let (mut inputs, mut known, mut names) = (vec![], vec![], vec![]);
    for k in 0..random.below(7) {
        let name = format!("x{k}");
        let rank = random.below(5);
        let extents: Vec<i64> = (0..rank).map(|_| random.below(5) as i64).collect();
        match random.below(4) {
            0 => known.push(integers(&name, &random.numbers())),
            1 => {
                let count = extents.iter().product::<i64>();
                known.push(floats(&name, &extents, &vec![0.5; count as usize]));
            }
            _ => {
                let dtype = random.pick(&[1, 1, 1, 2, 3, 6, 7, 9, 10, 16]);
                let extent = |(axis, n): (usize, &i64)| match (axis, n % 3) {
                    (0, 0) => named("B"),
                    _ => Extent::DimValue(*n),
                };
                let dims: Vec<Extent> = extents.iter().enumerate().map(extent).collect();
                inputs.push(input(&name, dtype, &dims));
            }
        }
        names.push(if random.below(12) == 0 { String::new() } else { name });
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let attributes = (0..random.below(6)).map(|_| attribute(random)).collect();
    let outputs = &["y0", "y1", "y2"][..1 + random.below(3)];
    let node = NodeProto { domain: domain.into(), ..node(operator, &names, outputs, attributes) };
    let mut model = model(vec![node], inputs, outputs, known);
    model.opset_import[0].version = 6 + random.below(23) as i64;
    model
}

#[test]
fn no_call_of_an_operator_panics() {
    let count = std::env::var("PRECAST_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
    let (mut imported, mut panicked) = (0, vec![]);
    for (k, (domain, operator)) in operators().enumerate() {
        for seed in 0..count {
            let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ (k as u64) << 32 ^ (seed + 1));
            let model = drawn(&mut random, domain, operator);
            match std::panic::catch_unwind(|| read(&model).is_ok()) {
                Ok(made) => imported += usize::from(made),
                Err(_) => panicked.push(format!("{operator}, seed {seed}")),
            }
        }
    }
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(imported > 100, "{imported} were imported");
}
