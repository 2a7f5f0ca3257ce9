//! Names of files: dimensions, arguments that are numbers, results that an operator does not give, and functions.

use super::*;
use precast_compiler::diag::Diags;
use precast_compiler::ir::{DType, Dim};
use precast_compiler::onnx::proto::FunctionProto;
use precast_compiler::stages::parse::{Texts, texts};

fn bound(model: &ModelProto, dims: &[(&str, Dim)]) -> Result<Imported, Vec<String>> {
    let dims = dims.iter().map(|(name, dim)| ((*name).to_owned(), dim.clone())).collect();
    let imported = import(
        &File::decode(model.encode_to_vec(), None).unwrap(),
        &Bound { dims, ..Bound::default() },
        Span::call_site(),
    );
    imported.map_err(|refusals| refusals.iter().map(ToString::to_string).collect())
}

fn two_rows(first: &str, second: &str) -> ModelProto {
    let inputs = [("x", first), ("z", second)].map(|(name, rows)| input(name, FLOAT, &[super::named(rows)]));
    model(vec![node("Neg", &["x"], &["y"], vec![])], inputs.to_vec(), &["y"], vec![])
}

#[test]
fn dimensions_are_as_many_as_the_file_has() {
    let text = |imported: Imported| imported.function.signature.text;
    let file = two_rows("a-b", "a_b");
    assert_eq!(text(bound(&file, &[]).unwrap()), "fn forward(&self, x: f32[a_b], z: f32[a_b_2]) -> f32[a_b]");
    let file = two_rows("past + 1", "B");
    let named = bound(&file, &[("past + 1", Dim::name("B"))]).unwrap();
    assert_eq!(text(named), "fn forward(&self, x: f32[B], z: f32[B_2]) -> f32[B]");
}

/// What PaddlePaddle's exporter writes for extents of which it knows nothing.
#[test]
fn question_marks_are_no_names() {
    let x = input("x", FLOAT, &[Extent::DimValue(-1), super::named("?"), super::named("?")]);
    let file = model(vec![node("Neg", &["x"], &["y"], vec![])], vec![x], &["y"], vec![]);
    let imported = bound(&file, &[("x_0", Dim::name("B")), ("x_2", Dim::from(48))]).unwrap();
    assert_eq!(imported.function.signature.text, "fn forward(&self, x: f32[B, x_1, 48]) -> f32[B, x_1, 48]");
}

#[test]
fn a_number_is_an_argument_of_one_element() {
    let extents = [Extent::DimValue(4)];
    let vector = model(vec![node("Neg", &["x"], &["y"], vec![])], vec![input("x", FLOAT, &extents)], &["y"], vec![]);
    let refused = bound(&vector, &[("x", Dim::from(3))]).unwrap_err();
    assert_eq!(refused, ["argument `x`: it is f32[4], and not one number as 3 is"]);
    let byte = model(vec![node("Neg", &["x"], &["y"], vec![])], vec![input("x", 3, &[])], &["y"], vec![]);
    assert_eq!(bound(&byte, &[("x", Dim::from(300))]).unwrap_err(), ["argument `x`: 300 is no i8"]);
    let refused = bound(&byte, &[("x", Dim::name("N"))]).unwrap_err();
    assert_eq!(refused, ["argument `x`: it can be a number, and is no dimension, as `N` would be"]);
    assert!(bound(&byte, &[("x", Dim::from(3))]).is_ok());
    assert!(bound(&two_rows("a", "b"), &[("a", Dim::from(5_000_000_000i64))]).is_err());
}

/// PyTorch's exporter leaves an extent of its example where a program computes with it as a number.
#[test]
fn a_dimension_that_the_file_has_a_number_for_is_told() {
    let x = input("x", FLOAT, &[super::named("batch"), super::named("length"), Extent::DimValue(8)]);
    let nodes = vec![
        node("Shape", &["x"], &["shape"], vec![]),
        node("Gather", &["shape", "zero"], &["batch"], vec![]),
        node("Mul", &["batch", "two"], &["heads"], vec![]),
        node("Concat", &["seven", "heads", "four"], &["wanted"], vec![int("axis", 0)]),
        node("Reshape", &["x", "wanted"], &["y"], vec![]),
    ];
    let known = [("zero", 0), ("two", 2), ("seven", 7), ("four", 4)].map(|(name, n)| integers(name, &[n])).to_vec();
    let file = model(nodes, vec![x], &["y"], known);
    let reason = "`y` (Reshape, opset 18): the shape asks for 56*B elements of 8*B*T: \
                  the file was made for `length = 7` alone";
    let batch = ("batch", Dim::name("B"));
    assert_eq!(bound(&file, &[batch.clone(), ("length", Dim::name("T"))]).unwrap_err(), [reason]);
    let text = bound(&file, &[batch, ("length", Dim::from(7))]).unwrap().function.signature.text;
    assert_eq!(text, "fn forward(&self, x: f32[B, 7, 8]) -> f32[7, 2*B, 4]");
}

#[test]
fn results_that_an_operator_does_not_give_are_refused() {
    let x = || vec![input("x", FLOAT, &[Extent::DimValue(3)])];
    let nodes = vec![node("Relu", &["x"], &["y", "z"], vec![])];
    assert!(read(&model(nodes.clone(), x(), &["y"], vec![])).is_ok());
    assert_eq!(reasons(&model(nodes.clone(), x(), &["y", "z"], vec![])), ["nothing gives the result `z`"]);
    let used = [nodes, vec![node("Neg", &["z"], &["w"], vec![])]].concat();
    assert_eq!(reasons(&model(used, x(), &["w"], vec![])), ["`w` (Neg, opset 18): nothing before it gives `z`"]);
}

fn function(name: &str, overload: &str, nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: name.into(),
        domain: "own".into(),
        overload: overload.into(),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: nodes,
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: 18 }],
        ..FunctionProto::default()
    }
}

fn calling(call: NodeProto, functions: Vec<FunctionProto>) -> ModelProto {
    let x = input("x", FLOAT, &[Extent::DimValue(2), Extent::DimValue(3)]);
    let call = NodeProto { domain: "own".into(), ..call };
    let file = model(vec![call], vec![x], &["y"], vec![integers("yes", &[1])]);
    ModelProto { functions, ..file }
}

#[test]
fn functions_of_one_name_are_told_apart() {
    let functions = vec![
        function("F", "first", vec![node("Neg", &["a"], &["b"], vec![])]),
        function("F", "second", vec![node("Abs", &["a"], &["b"], vec![])]),
    ];
    let call = NodeProto { overload: "second".into(), ..node("F", &["x"], &["y"], vec![]) };
    let made = result(&calling(call, functions), vec![Tensor::floats([2, 3], vec![-1.0; 6])]);
    assert_eq!(made, [1.0; 6]);
}

#[test]
fn attributes_of_functions_reach_into_branches() {
    let axis = AttributeProto { name: "axis".into(), ref_attr_name: "along".into(), ..AttributeProto::default() };
    let branch = |name: &str| AttributeProto {
        name: name.into(),
        g: Some(GraphProto {
            node: vec![node("Softmax", &["a"], &["c"], vec![axis.clone()])],
            output: vec![ValueInfoProto { name: "c".into(), r#type: None }],
            ..GraphProto::default()
        }),
        ..AttributeProto::default()
    };
    let choice = node("If", &["yes"], &["b"], vec![branch("then_branch"), branch("else_branch")]);
    let yes = AttributeProto { name: "value_int".into(), i: 1, ..AttributeProto::default() };
    let body = vec![node("Constant", &[], &["yes"], vec![yes]), choice];
    let call = node("F", &["x"], &["y"], vec![int("along", 0)]);
    let made = result(&calling(call, vec![function("F", "", body)]), vec![Tensor::floats([2, 3], vec![1.0; 6])]);
    assert_eq!(made, [0.5; 6]);
    let x = input("x", FLOAT, &[Extent::DimValue(3)]);
    let outside = model(vec![node("Softmax", &["x"], &["y"], vec![axis])], vec![x], &["y"], vec![]);
    assert!(reasons(&outside)[0].contains("`axis` is the attribute `along` of a function"));
}

/// What is said of the arguments of an import, before its file is looked for.
fn said(args: &str) -> String {
    let own = format!("pub struct Net = onnx(\"none.onnx\", {args});").parse().unwrap();
    let mut diags = Diags::default();
    texts(Texts { own, blocks: vec![] }, &mut diags);
    diags.list()[0].message.clone()
}

#[test]
fn arguments_of_an_import_do_not_contradict_each_other() {
    assert_eq!(said("b = B, \"b\" = 3"), "`b` is given twice");
    assert_eq!(said("b = B <= 3, c = B <= 4"), "the dimension of `b` has another bound here");
    assert_eq!(said("b = B <= 0"), "a dimension is from 1 to 2147483647");
    assert_eq!(said("b = B <= 5000000000"), "a dimension is from 1 to 2147483647");
    assert!(said("\"past + 1\" = B <= 4, c = B").contains("cannot be read"));
}

/// An initializer is the default of an argument of its name.
#[test]
fn an_argument_with_a_default_can_be_a_number() {
    let by = |given: &[(&str, Dim)]| {
        let known = TensorProto { dims: vec![1], ..integers("by", &[3]) };
        let args = vec![input("x", INT64, &[Extent::DimValue(2)]), input("by", INT64, &[Extent::DimValue(1)])];
        let file = model(vec![node("Mul", &["x", "by"], &["y"], vec![])], args, &["y"], vec![known]);
        let (model, _) = bound(&file, given).unwrap().model("Net");
        let x = Tensor::new(vec![2], Data::Int(DType::I64, vec![1, 10]));
        oracle::run(&model.functions[0], &model, &Env { args: vec![x], ..Env::default() }).unwrap().results.remove(0)
    };
    assert_eq!(by(&[]).data.numbers(), [3.0, 30.0]);
    assert_eq!(by(&[("by", Dim::from(5))]).data.numbers(), [5.0, 50.0]);
}
