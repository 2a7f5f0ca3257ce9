//! What a program is does not depend on weights, and each of them keeps its name, its type in the file and whether it is trained.

use super::*;
use precast_compiler::ir::DType;
use precast_compiler::ir::model::Origin;
use precast_compiler::onnx::origin;
use proc_macro2::Literal;

const INT8: i32 = 3;
const FLOAT16: i32 = 10;
const DOUBLE: i32 = 11;
const FLOAT8: i32 = 17;

fn x(dims: &[i64]) -> ValueInfoProto {
    input("x", FLOAT, &dims.iter().map(|&extent| Extent::DimValue(extent)).collect::<Vec<_>>())
}

fn zeros(name: &str, data_type: i32, dims: &[i64], size: usize) -> TensorProto {
    raw(name, data_type, dims, vec![0; dims.iter().product::<i64>() as usize * size])
}

/// Where the parameters are, beside their names and whether they are trained.
fn placed(model: &ModelProto) -> (Vec<(String, bool)>, Result<Origin, Refusal>) {
    let file = File::decode(model.encode_to_vec(), None).unwrap();
    let imported = import(&file, &Bound::default(), Span::call_site()).unwrap();
    let names = imported.params.iter().map(|param| (param.name.clone(), param.trained)).collect();
    let (model, known) = imported.model("Model");
    (names, origin(&model, &known, &file, Literal::string("model.onnx")))
}

fn names(model: &ModelProto) -> Vec<(String, bool)> {
    read(model).unwrap().params.into_iter().map(|param| (param.name, param.trained)).collect()
}

fn named(names: &[(&str, bool)]) -> Vec<(String, bool)> {
    names.iter().map(|(name, trained)| ((*name).to_owned(), *trained)).collect()
}

/// More than a program holds, so that each is a place in the file or an error.
const SIDE: i64 = 600;

#[test]
fn what_weights_are_computed_to_stays_in_the_graph() {
    let square = [SIDE, SIDE];
    let scale = floats("scale", &[], &[0.5]);
    let cases = [
        (node("Transpose", &["w"], &["v"], vec![]), zeros("w", FLOAT, &square, 4), DType::F32, true),
        (node("Cast", &["w"], &["v"], vec![int("to", 1)]), zeros("w", FLOAT16, &square, 2), DType::F16, true),
        (node("Cast", &["w"], &["v"], vec![int("to", 1)]), zeros("w", FLOAT8, &square, 1), DType::F8E4M3, true),
        (node("DequantizeLinear", &["w", "scale"], &["v"], vec![]), zeros("w", INT8, &square, 1), DType::I8, false),
    ];
    for (first, weight, dtype, trained) in cases {
        let nodes = vec![first, node("MatMul", &["x", "v"], &["y"], vec![])];
        let (names, origin) = placed(&model(nodes, vec![x(&[2, SIDE])], &["y"], vec![weight, scale.clone()]));
        let origin = origin.unwrap();
        assert_eq!(names, named(&[("w", trained)]), "{dtype}");
        assert!(origin.constants.is_empty() && !origin.tensors[0].1[0].in_program);
        assert_eq!(origin.tensors[0].1[0].dtype, dtype);
        assert_eq!(
            origin.tensors[0].1[0].end - origin.tensors[0].1[0].start,
            (SIDE * SIDE) as usize * dtype.bits() as usize / 8
        );
    }
}

#[test]
fn large_tensors_of_constant_nodes_are_weights() {
    let value = |t| vec![AttributeProto { name: "value".into(), t: Some(t), ..AttributeProto::default() }];
    let nodes = vec![
        node("Constant", &[], &["layer.weight"], value(zeros("", FLOAT, &[SIDE, SIDE], 4))),
        node("Constant", &[], &["half"], value(floats("", &[1], &[0.5]))),
        node("MatMul", &["x", "layer.weight"], &["z"], vec![]),
        node("Mul", &["z", "half"], &["y"], vec![]),
    ];
    let (names, origin) = placed(&model(nodes, vec![x(&[2, SIDE])], &["y"], vec![]));
    assert_eq!(names, named(&[("layer.weight", true)]));
    assert!(!origin.unwrap().tensors[0].1[0].in_program);
}

/// TensorFlow's exporter writes scales of an image as a vector.
#[test]
fn weights_are_known_to_who_must_know_them() {
    let attribute = vec![int("to", INT64.into())];
    let nodes = vec![
        node("Mul", &["extents", "scale"], &["scaled"], vec![]),
        node("Cast", &["scaled"], &["wanted"], attribute),
        node("Reshape", &["x", "wanted"], &["y"], vec![]),
    ];
    let known = vec![floats("extents", &[2], &[1.0, 3.0]), floats("scale", &[2], &[3.0, 2.0])];
    let imported = read(&model(nodes, vec![x(&[18])], &["y"], known)).unwrap();
    assert_eq!(imported.function.signature.text, "fn forward(&self, x: f32[18]) -> f32[3, 6]");
    assert!(imported.params.is_empty());
}

/// The program depends on what decided a shape, so that it is no place that another file may fill.
#[test]
fn what_decides_a_shape_is_part_of_the_program() {
    let bytes = [2.0f32, 9.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let nodes = vec![
        node("Cast", &["w"], &["wanted"], vec![int("to", INT64.into())]),
        node("Expand", &["x", "wanted"], &["z"], vec![]),
        node("Unsqueeze", &["w", "one"], &["column"], vec![]),
        node("Mul", &["z", "column"], &["y"], vec![]),
    ];
    let known = vec![raw("w", FLOAT, &[2], bytes), integers("one", &[1])];
    let (names, origin) = placed(&model(nodes, vec![x(&[2, 9])], &["y"], known));
    assert_eq!(names, named(&[("w", true)]));
    assert!(origin.unwrap().tensors[0].1[0].in_program);
}

/// Positions that the program computes with cannot be other ones in another file, where they are read as well.
#[test]
fn what_was_computed_with_is_part_of_the_program() {
    let picks = || raw("picks", INT64, &[2], [2i64, 1].iter().flat_map(|n| n.to_le_bytes()).collect());
    let first = node("Gather", &["x", "picks"], &["y"], vec![]);
    let others = [node("Add", &["picks", "picks"], &["far"], vec![]), node("Gather", &["x", "far"], &["z"], vec![])];
    let alone = placed(&model(vec![first.clone()], vec![x(&[5])], &["y"], vec![picks()])).1.unwrap();
    let both = model([vec![first], others.to_vec()].concat(), vec![x(&[5])], &["y", "z"], vec![picks()]);
    let both = placed(&both).1.unwrap();
    assert_eq!(alone.tensors.iter().map(|(_, held)| held[0].in_program).collect::<Vec<_>>(), [false]);
    assert_eq!(both.tensors.iter().map(|(_, held)| held[0].in_program).collect::<Vec<_>>(), [true, true]);
}

#[test]
fn what_does_not_fit_into_a_program_is_refused() {
    let big = floats("w", &[SIDE, SIDE], &vec![0.5; (SIDE * SIDE) as usize]);
    let nodes = vec![node("MatMul", &["x", "w"], &["y"], vec![])];
    let (_, origin) = placed(&model(nodes, vec![x(&[2, SIDE])], &["y"], vec![big]));
    let reason = origin.unwrap_err().to_string();
    assert!(reason.starts_with("the elements of `w` are no raw data"), "{reason}");
}

#[test]
fn weights_are_computed_with_in_chains_of_any_length() {
    let names: Vec<String> = (0..50_000).map(|k| format!("v{k:05}")).collect();
    let mut nodes = vec![node("Neg", &["w"], &["v00000"], vec![])];
    nodes.extend(names.windows(2).map(|pair| node("Neg", &[&pair[0]], &[&pair[1]], vec![])));
    nodes.push(node("Add", &["x", "v49999"], &["y"], vec![]));
    assert!(read(&model(nodes, vec![x(&[2])], &["y"], vec![floats("w", &[2], &[0.5, 1.0])])).is_ok());
}

#[test]
fn no_two_parameters_have_one_name() {
    let numbers = [0.5, 1.0, 1.5];
    let branch = |name: &str, number: f32| AttributeProto {
        name: name.into(),
        g: Some(GraphProto {
            node: vec![node("Add", &["x", "w"], &["z"], vec![])],
            output: vec![ValueInfoProto { name: "z".into(), r#type: None }],
            initializer: vec![floats("w", &[3], &[number; 3])],
            ..GraphProto::default()
        }),
        ..AttributeProto::default()
    };
    let both = || vec![branch("then_branch", 1.0), branch("else_branch", 2.0)];
    let nodes = vec![
        node("If", &["yes"], &["a"], both()),
        node("If", &["no"], &["b"], both()),
        node("Mul", &["x", "w*"], &["c"], vec![]),
        node("Mul", &["c", "w_"], &["d"], vec![]),
        node("Mul", &["d", "constant_0"], &["e"], vec![]),
        node("Gather", &["e", "picks"], &["f"], vec![]),
        node("Sum", &["a", "b", "f"], &["y"], vec![]),
    ];
    let known = vec![
        integers("yes", &[1]),
        integers("no", &[0]),
        floats("w*", &[3], &numbers),
        floats("w_", &[3], &numbers),
        floats("constant_0", &[3], &numbers),
        integers("picks", &[2, 1, 0]),
    ];
    let file = model(nodes, vec![x(&[3])], &["y"], known);
    let names: Vec<String> = names(&file).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["w", "w_2", "w__2", "w_", "constant_0", "picks"]);
    let made = result(&file, vec![Tensor::floats([3], vec![1.0; 3])]);
    assert_eq!(made, [2.0 + 3.0 + 3.375, 2.0 + 3.0 + 1.0, 2.0 + 3.0 + 0.125]);
}

#[test]
fn parts_of_integers_have_names_of_their_own() {
    let nodes = vec![
        node("Gather", &["table", "x"], &["far"], vec![]),
        node("Gather", &["table.0", "x"], &["near"], vec![]),
        node("Cast", &["near"], &["whole"], vec![int("to", INT64.into())]),
        node("Add", &["far", "whole"], &["y"], vec![]),
    ];
    let x = input("x", INT64, &[Extent::DimValue(1)]);
    let known = vec![integers("table", &[1 << 40, 3]), floats("table.0", &[2], &[1.0, 2.0])];
    let file = model(nodes, vec![x], &["y"], known);
    let names: Vec<String> = names(&file).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["table.0_2", "table.24", "table.48", "table.0"]);
    let made = result(&file, vec![Tensor::new([1], Data::Int(DType::I64, vec![0]))]);
    assert_eq!(made, [((1i64 << 40) + 1) as f64]);
}

#[test]
fn statistics_are_not_trained_whoever_reads_them_first() {
    let norm = node("BatchNormalization", &["x", "scale", "shift", "shared", "variance"], &["y"], vec![]);
    let other = node("Mul", &["x", "shared"], &["z"], vec![]);
    let known: Vec<TensorProto> =
        ["scale", "shift", "shared", "variance"].iter().map(|name| floats(name, &[3], &[0.5, 1.0, 1.5])).collect();
    for nodes in [[norm.clone(), other.clone()], [other, norm]] {
        let mut found = names(&model(nodes.to_vec(), vec![x(&[2, 3])], &["y", "z"], known.clone()));
        found.sort();
        assert_eq!(found, named(&[("scale", true), ("shared", false), ("shift", true), ("variance", false)]));
    }
}

#[test]
fn doubles_of_constant_nodes_and_branches_are_not_cut() {
    let thirds: Vec<u8> = [1.0 / 3.0, 2.0 / 3.0f64].iter().flat_map(|x| x.to_le_bytes()).collect();
    let value = AttributeProto { name: "value".into(), t: Some(raw("", DOUBLE, &[2], thirds)), ..Default::default() };
    let nodes = vec![node("Constant", &[], &["k"], vec![value]), node("Add", &["x", "k"], &["y"], vec![])];
    let file = model(nodes, vec![input("x", DOUBLE, &[Extent::DimValue(2)])], &["y"], vec![]);
    let imported = read(&file).unwrap();
    assert_eq!((imported.float, imported.params[0].ty.dtype), (DType::F64, DType::F64));
}

#[test]
fn what_no_result_needs_is_no_parameter() {
    let nodes = vec![node("Mul", &["x", "dead"], &["z"], vec![]), node("Add", &["x", "w"], &["y"], vec![])];
    let known = ["dead", "w"].map(|name| floats(name, &[3], &[0.5, 1.0, 1.5]));
    assert_eq!(names(&model(nodes, vec![x(&[3])], &["y"], known.to_vec())), named(&[("w", true)]));
}
