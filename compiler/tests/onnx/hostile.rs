//! Files that ask for more than there is: each is an error that names its node, found before anything large is made.

use super::{FLOAT, INT64, attribute_of, floats, input, integers, model, named, node, read, reasons};
use precast_compiler::onnx::proto::{
    AttributeProto, Extent, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    ValueInfoProto,
};

const LARGEST: i64 = i32::MAX as i64;

fn fixed(name: &str, extents: &[i64]) -> ValueInfoProto {
    of_type(name, FLOAT, extents)
}

fn of_type(name: &str, elem_type: i32, extents: &[i64]) -> ValueInfoProto {
    let extents: Vec<Extent> = extents.iter().map(|&extent| Extent::DimValue(extent)).collect();
    input(name, elem_type, &extents)
}

fn scalar(name: &str, number: i64) -> TensorProto {
    TensorProto { dims: vec![], ..integers(name, &[number]) }
}

fn number(name: &str, number: f32) -> TensorProto {
    floats(name, &[], &[number])
}

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { i, ..attribute_of(name) }
}

fn text(name: &str, word: &'static str) -> AttributeProto {
    AttributeProto { s: word.as_bytes().into(), ..attribute_of(name) }
}

/// The node `culprit`, which gives `y` of `x` and constants.
fn culprit(
    operator: &str,
    attributes: Vec<AttributeProto>,
    x: &[ValueInfoProto],
    known: Vec<TensorProto>,
) -> ModelProto {
    let mut names: Vec<&str> = x.iter().map(|x| x.name.as_str()).collect();
    names.extend(known.iter().map(|known| known.name.as_str()));
    let node = NodeProto { name: "culprit".into(), ..node(operator, &names, &["y"], attributes) };
    model(vec![node], x.to_vec(), &["y"], known.clone())
}

fn is_refused(file: &ModelProto, what: &str) {
    let found = reasons(file);
    assert_eq!(found.len(), 1, "{what}: {found:#?}");
    assert!(found[0].starts_with("`culprit` ("), "{what}: {}", found[0]);
}

#[test]
fn loops_without_nodes_end() {
    let named = |name: &str| ValueInfoProto { name: name.into(), ..ValueInfoProto::default() };
    let body = GraphProto {
        input: ["turn", "goes", "carried"].map(named).to_vec(),
        output: ["goes", "carried"].map(named).to_vec(),
        ..GraphProto::default()
    };
    let body = AttributeProto { g: Some(body), ..attribute_of("body") };
    for (count, start) in [("", "x"), ("most", "zeros"), ("most", "x")] {
        let node = node("Loop", &[count, "", start], &["y"], vec![body.clone()]);
        let node = NodeProto { name: "culprit".into(), ..node };
        let known = vec![scalar("most", 1 << 50), floats("zeros", &[2], &[0.0, 0.0])];
        is_refused(&model(vec![node], vec![fixed("x", &[2])], &["y"], known), "a loop without nodes");
    }
}

#[test]
fn borders_are_no_longer_than_an_axis() {
    for mode in ["edge", "reflect", "wrap", "constant"] {
        for pads in
            [[0, 1 << 33], [i64::MIN, 0], [0, i64::MAX], [i64::MIN, i64::MAX], [0, -(1 << 40)], [0, LARGEST], [-2, -3]]
        {
            let file = culprit("Pad", vec![text("mode", mode)], &[fixed("x", &[4])], vec![integers("pads", &pads)]);
            is_refused(&file, &format!("{mode} {pads:?}"));
        }
    }
}

#[test]
fn borders_of_many_elements_are_few_nodes() {
    for pads in [[0, 1 << 16], [-4, 1], [-2, -2]] {
        for mode in ["reflect", "edge", "wrap"] {
            let file = culprit("Pad", vec![text("mode", mode)], &[fixed("x", &[4])], vec![integers("pads", &pads)]);
            let made = read(&file).unwrap();
            assert!(made.function.graph.nodes.len() < 20, "{mode} {pads:?}: {:?}", made.function.graph);
        }
    }
}

#[test]
fn parts_are_as_many_as_results() {
    for count in [2, 1 << 40, i64::MAX] {
        is_refused(&culprit("Split", vec![int("num_outputs", count)], &[fixed("x", &[4])], vec![]), "Split");
    }
    let known = vec![integers("parts", &[i64::MIN, i64::MAX])];
    is_refused(&culprit("Split", vec![], &[fixed("x", &[4])], known), "Split");
}

#[test]
fn numbers_at_build_time_are_counted_before_they_are_made() {
    let mel = |rate, bands, length, upper| {
        vec![scalar("a", bands), scalar("b", length), scalar("c", rate), number("d", 0.0), number("e", upper)]
    };
    read(&culprit("MelWeightMatrix", vec![], &[], mel(1, 1, 16, 1e18))).unwrap();
    is_refused(&culprit("MelWeightMatrix", vec![], &[], mel(1, 1 << 40, 16, 1e3)), "bands");
    is_refused(&culprit("MelWeightMatrix", vec![], &[], mel(1, 1 << 20, 1 << 20, 1e3)), "bins");
    is_refused(&culprit("HannWindow", vec![], &[], vec![scalar("size", 1 << 40)]), "HannWindow");
    let range = vec![number("a", 0.0), number("b", 1e12), number("c", 1.0)];
    is_refused(&culprit("Range", vec![], &[], range), "Range of floats");
    let cubic = vec![text("mode", "cubic"), int("antialias", 1)];
    let sizes = |x: &[i64], sizes: &[i64], attributes: Vec<AttributeProto>| {
        let names = ["x", "", "", "sizes"];
        let node = NodeProto { name: "culprit".into(), ..node("Resize", &names, &["y"], attributes) };
        model(vec![node], vec![fixed("x", x)], &["y"], vec![integers("sizes", sizes)])
    };
    is_refused(&sizes(&[1 << 26], &[1], cubic), "Resize to one");
    is_refused(&sizes(&[2, 2, 2], &[1 << 26; 3], vec![text("mode", "nearest")]), "Resize to many");
    is_refused(&sizes(&[1 << 14], &[1 << 13], vec![text("mode", "linear")]), "Resize of many");
    let length = NodeProto { name: "culprit".into(), ..node("DFT", &["x", "n"], &["y"], vec![]) };
    is_refused(&model(vec![length], vec![fixed("x", &[1, 1 << 14, 1])], &["y"], vec![scalar("n", 1 << 14)]), "DFT");
}

#[test]
fn extents_are_integers_of_32_bits() {
    let range =
        |a: i64, b: i64, c: i64| culprit("Range", vec![], &[], vec![scalar("a", a), scalar("b", b), scalar("c", c)]);
    is_refused(&range(0, 1 << 40, 1), "Range");
    is_refused(&range(i64::MIN, i64::MAX, 1), "Range");
    is_refused(&culprit("Flatten", vec![], &[fixed("x", &[2, 1 << 16, 1 << 16])], vec![]), "Flatten");
    is_refused(&culprit("Tile", vec![], &[fixed("x", &[2])], vec![integers("n", &[1 << 31])]), "Tile");
    is_refused(&culprit("ConstantOfShape", vec![], &[], vec![integers("n", &[1 << 40, 0])]), "ConstantOfShape");
}

#[test]
fn tensors_have_few_axes() {
    let axes: Vec<i64> = (0..100_000).collect();
    is_refused(&culprit("Unsqueeze", vec![], &[fixed("x", &[1])], vec![integers("axes", &axes)]), "Unsqueeze");
    is_refused(&culprit("Reshape", vec![], &[fixed("x", &[1])], vec![integers("shape", &vec![1; 100_000])]), "Reshape");
    let found = reasons(&model(vec![], vec![fixed("x", &vec![1; 50_000])], &["x"], vec![]));
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("argument `x`: "), "{}", found[0]);
}

#[test]
fn arguments_have_a_number_of_elements() {
    for extents in [vec![LARGEST; 4], vec![1 << 20, 1 << 21]] {
        let file = model(vec![node("Size", &["x"], &["y"], vec![])], vec![fixed("x", &extents)], &["y"], vec![]);
        let found = reasons(&file);
        assert!(found[0].starts_with("argument `x`: "), "{}", found[0]);
    }
}

#[test]
fn shapes_of_constants_are_multiplied_carefully() {
    for dims in [vec![LARGEST, LARGEST, LARGEST, 0], vec![0, LARGEST, LARGEST, LARGEST]] {
        let tensor = TensorProto { dims, data_type: FLOAT, name: "w".into(), ..TensorProto::default() };
        let found = reasons(&model(vec![node("Neg", &["w"], &["y"], vec![])], vec![], &["y"], vec![tensor.clone()]));
        assert!(found[0].starts_with("initializer `w`: "), "{}", found[0]);
        let value = AttributeProto { t: Some(tensor), ..attribute_of("value") };
        is_refused(&culprit("Constant", vec![value], &[], vec![]), "Constant");
    }
}

/// `A + B + C`, and what `more` makes of it.
fn of_shape(more: Vec<NodeProto>, output: &str) -> ModelProto {
    let mut nodes = vec![
        node("Shape", &["x"], &["s"], vec![]),
        node("Gather", &["s", "zero"], &["a"], vec![]),
        node("Gather", &["s", "one"], &["b"], vec![]),
        node("Gather", &["s", "two"], &["c"], vec![]),
        node("Add", &["a", "b"], &["ab"], vec![]),
        node("Add", &["ab", "c"], &["v0"], vec![]),
    ];
    nodes.extend(more.into_iter().map(|node| NodeProto { name: "culprit".into(), ..node }));
    let x = input("x", FLOAT, &[named("A"), named("B"), named("C")]);
    model(nodes, vec![x], &[output], vec![integers("zero", &[0]), integers("one", &[1]), integers("two", &[2])])
}

#[test]
fn polynomials_of_dimensions_stay_short() {
    let squares = (0..12).map(|k| {
        let (from, to) = (format!("v{k}"), format!("v{}", k + 1));
        node("Mul", &[&from, &from], &[&to], vec![])
    });
    // What becomes long is computed by the model.
    let nodes = |file: &ModelProto| read(file).unwrap().function.graph.nodes.len();
    assert!(nodes(&of_shape(squares.collect(), "v12")) < 200);
    let powers = (0..20).map(|k| {
        let (from, to) = (if k == 0 { "a".to_owned() } else { format!("p{k}") }, format!("p{}", k + 1));
        node("Mul", &[&from, &from], &[&to], vec![])
    });
    assert!(nodes(&of_shape(powers.collect(), "p20")) < 200);
    let nested = (0..20).flat_map(|k| {
        let of = |name: &str, k: usize| if k == 0 { name.to_owned() } else { format!("{name}{k}") };
        let [a, b, next, more] = [of("a", k), of("b", k), of("a", k + 1), of("b", k + 1)];
        [node("Max", &[&a, &b], &[&next], vec![]), node("Div", &[&next, &b], &[&more], vec![])]
    });
    assert!(nodes(&of_shape(nested.collect(), "a20")) < 100);
}

#[test]
fn lists_of_extents_stay_short() {
    let doubled = (0..40).map(|k| {
        let (from, to) = (if k == 0 { "s".to_owned() } else { format!("s{k}") }, format!("s{}", k + 1));
        node("Concat", &[&from, &from], &[&to], vec![int("axis", 0)])
    });
    is_refused(&of_shape(doubled.collect(), "s40"), "Concat");
}

#[test]
fn many_constants_are_left_to_the_model() {
    let nodes = (0..400).map(|k| node("ConstantOfShape", &["n"], &[&format!("c{k}")], vec![]));
    let file = model(nodes.collect(), vec![], &["c0", "c399"], vec![integers("n", &[(1 << 20) - 9])]);
    let made = read(&file).unwrap();
    assert_eq!(made.function.graph.outputs.len(), 2);
}

/// A function that calls itself twice at each of so many levels.
fn bomb(levels: usize, body: &[NodeProto]) -> ModelProto {
    let function = |k: usize| {
        let inner = format!("F{}", k + 1);
        let calls = if k == levels {
            vec![]
        } else {
            vec![node(&inner, &["x"], &["a"], vec![]), node(&inner, &["a"], &["y"], vec![])]
        };
        let node = if k == levels { vec![node("Neg", &["x"], &["y"], vec![])] } else { calls };
        FunctionProto {
            name: format!("F{k}"),
            input: vec!["x".into()],
            output: vec!["y".into()],
            node: [body, &node].concat(),
            ..FunctionProto::default()
        }
    };
    let mut file = model(vec![node("F0", &["x"], &["y"], vec![])], vec![fixed("x", &[3])], &["y"], vec![]);
    file.functions = (0..=levels).map(function).collect();
    file
}

#[test]
fn functions_that_call_each_other_end() {
    assert!(reasons(&bomb(24, &[])).len() < 10);
    let value = AttributeProto { ints: (0..50_000).collect(), ..attribute_of("value_ints") };
    let constant = node("Constant", &[], &["k"], vec![value]);
    assert!(reasons(&bomb(24, &[constant])).len() < 10);
    let of_call = AttributeProto { ref_attr_name: "there".into(), ..attribute_of("value_ints") };
    let spare = AttributeProto { ints: (0..50_000).collect(), ..attribute_of("spare") };
    assert!(reasons(&bomb(24, &[node("Neg", &["x"], &["k"], vec![of_call, spare])])).len() < 10);
}

#[test]
fn graphs_that_are_read_many_times_end() {
    let graph = GraphProto {
        initializer: vec![integers("w", &vec![1; 50_000])],
        output: vec![ValueInfoProto { name: "w".into(), r#type: None }],
        ..GraphProto::default()
    };
    let branch = |name: &str| AttributeProto { g: Some(graph.clone()), ..attribute_of(name) };
    let body = node("If", &["x"], &["k"], vec![branch("then_branch"), branch("else_branch")]);
    let mut file = bomb(24, &[body]);
    file.graph.as_mut().unwrap().input = vec![];
    file.graph.as_mut().unwrap().initializer = vec![integers("x", &[1])];
    assert!(reasons(&file).len() < 10);
}

#[test]
fn long_sums_of_integers_are_few_nodes() {
    for terms in [300, 1 << 24] {
        let [x, w] = [of_type("x", 2, &[1, terms]), of_type("w", 2, &[terms, 1])];
        let made = read(&culprit("MatMulInteger", vec![], &[x, w], vec![])).unwrap();
        assert!(made.function.graph.nodes.len() < 30);
        let [x, w] = [of_type("x", 2, &[1, terms, 4]), of_type("w", 2, &[6, terms / 2, 3])];
        let made = read(&culprit("ConvInteger", vec![int("group", 2)], &[x, w], vec![])).unwrap();
        assert!(made.function.graph.nodes.len() < 40);
    }
}

#[test]
fn results_are_as_many_as_a_file_says() {
    let file = model(vec![node("Neg", &["x"], &["y"], vec![])], vec![of_type("x", INT64, &[2])], &["y"; 3000], vec![]);
    assert_eq!(read(&file).unwrap().function.graph.outputs.len(), 3000);
}

#[test]
fn truth_values_are_not_ordered() {
    for operator in ["ArgMax", "Hardmax", "MaxPool", "ReduceSum"] {
        let attributes = vec![AttributeProto { ints: vec![1], ..attribute_of("kernel_shape") }];
        is_refused(&culprit(operator, attributes, &[of_type("x", 9, &[2, 3, 4])], vec![]), operator);
    }
}

#[test]
fn an_attribute_of_another_type_is_refused() {
    let x = input("x", FLOAT, &[Extent::DimValue(2), Extent::DimValue(3)]);
    let of_float = AttributeProto { r#type: 1, f: 1.0, ..attribute_of("axis") };
    let flatten = node("Flatten", &["x"], &["y"], vec![of_float]);
    let found = reasons(&model(vec![flatten], vec![x], &["y"], vec![]));
    assert_eq!(found, ["`y` (Flatten, opset 18): its attribute `axis` is not supported"]);
}

#[test]
fn a_name_is_given_once() {
    let x = || input("x", FLOAT, &[Extent::DimValue(2)]);
    let relu = |to: &str| node("Relu", &["x"], &[to], vec![]);
    let given = |nodes: &[&str], known| {
        let nodes = nodes.iter().map(|to| relu(to)).collect();
        reasons(&model(nodes, vec![x()], &["y"], known))
    };
    assert_eq!(given(&["y", "y"], vec![]), ["two nodes, arguments or initializers give `y`"]);
    assert_eq!(given(&["w", "y"], vec![number("w", 1.0)]), ["two nodes, arguments or initializers give `w`"]);
    assert_eq!(given(&["x", "y"], vec![]), ["two nodes, arguments or initializers give `x`"]);
}

#[test]
fn versions_that_are_not_known_are_refused() {
    let x = || input("x", FLOAT, &[Extent::DimValue(2)]);
    let found = |versions: &[i64]| {
        let opset = |version: &i64| OperatorSetIdProto { domain: String::new(), version: *version };
        let file = model(vec![node("Relu", &["x"], &["y"], vec![])], vec![x()], &["y"], vec![]);
        reasons(&ModelProto { opset_import: versions.iter().map(opset).collect(), ir_version: 8, ..file })
    };
    for version in [0, 99] {
        let reason = format!("it means version {version} of ONNX's operators, and those from 1 to 28 are known");
        assert_eq!(found(&[version]), [reason]);
    }
    assert_eq!(found(&[]), ["it does not say which version of ONNX's operators it means (`opset_import`)"]);
}
