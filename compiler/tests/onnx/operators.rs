//! What operators give, by the oracle, and by the kernels that a model becomes.

use super::{FLOAT, INT64, attribute_of, floats, input, integers, model, node, read, reasons};
use precast_compiler::onnx::proto::{AttributeProto, Extent, GraphProto, ModelProto, NodeProto, OperatorSetIdProto};
use precast_compiler::onnx::proto::{TensorProto, ValueInfoProto};
use precast_compiler::oracle::{self, Data, Env, Tensor, kernels};
use precast_compiler::pipeline::lower;

fn int(name: &str, i: i64) -> AttributeProto {
    AttributeProto { i, ..attribute_of(name) }
}

fn ints(name: &str, ints: &[i64]) -> AttributeProto {
    AttributeProto { ints: ints.to_vec(), ..attribute_of(name) }
}

fn text(name: &str, word: &'static str) -> AttributeProto {
    AttributeProto { s: word.as_bytes().into(), ..attribute_of(name) }
}

fn graph(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(graph), ..attribute_of(name) }
}

/// A graph inside of a node.
fn body(nodes: Vec<NodeProto>, inputs: &[&str], outputs: &[&str]) -> GraphProto {
    let values =
        |names: &[&str]| names.iter().map(|name| ValueInfoProto { name: (*name).into(), r#type: None }).collect();
    GraphProto { node: nodes, input: values(inputs), output: values(outputs), ..GraphProto::default() }
}

fn f32s(shape: &[usize], numbers: &[f64]) -> Tensor {
    Tensor::new(shape.to_vec(), Data::Float(precast_compiler::ir::DType::F32, numbers.to_vec()))
}

fn i64s(shape: &[usize], numbers: &[i128]) -> Tensor {
    Tensor::new(shape.to_vec(), Data::Int(precast_compiler::ir::DType::I64, numbers.to_vec()))
}

fn argument(name: &str, tensor: &Tensor) -> ValueInfoProto {
    let extents: Vec<Extent> = tensor.shape.iter().map(|&extent| Extent::DimValue(extent as i64)).collect();
    input(name, if tensor.data.dtype().is_float() { FLOAT } else { INT64 }, &extents)
}

/// What a file gives for these arguments.
pub(super) fn run(file: &ModelProto, args: &[Tensor]) -> Vec<Tensor> {
    let (model, known) = read(file).unwrap().model("Net");
    let params = known.iter().zip(&model.params).map(|(known, param)| {
        let data = Data::Float(param.ty.dtype, known.elements().data.numbers());
        Tensor::new(known.elements().shape.clone(), data)
    });
    let env = Env { args: args.to_vec(), params: params.collect(), ..Env::default() };
    let compiled = lower(model);
    let results = oracle::run(&compiled.model.functions[0], &compiled.model, &env).unwrap().results;
    let by_kernels = kernels::run(&compiled.plans, 0, &compiled.model, &env).unwrap().results;
    for (result, own) in results.iter().zip(&by_kernels) {
        is_near(result, own);
    }
    results
}

fn is_near(made: &Tensor, wanted: &Tensor) {
    assert_eq!((&made.shape, made.data.dtype()), (&wanted.shape, wanted.data.dtype()));
    let pairs = made.data.numbers().into_iter().zip(wanted.data.numbers());
    let is_same = |(a, b): (f64, f64)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
    assert!(pairs.clone().all(is_same), "{made:?} is not {wanted:?}");
}

/// The results of a node of these arguments and constants.
fn of(
    operator: &str,
    attributes: Vec<AttributeProto>,
    args: &[Tensor],
    known: Vec<TensorProto>,
    results: &[&str],
) -> Vec<Tensor> {
    let names: Vec<String> = (0..args.len()).map(|k| format!("x{k}")).collect();
    let inputs = names.iter().zip(args).map(|(name, tensor)| argument(name, tensor)).collect();
    let all: Vec<&str> =
        names.iter().map(String::as_str).chain(known.iter().map(|known| known.name.as_str())).collect();
    let node = node(operator, &all, results, attributes);
    run(&model(vec![node], inputs, results, known), args)
}

fn one(operator: &str, attributes: Vec<AttributeProto>, args: &[Tensor], known: Vec<TensorProto>) -> Tensor {
    of(operator, attributes, args, known, &["y"]).remove(0)
}

#[test]
fn einsum_reads_all_of_the_notation() {
    let (x, y) = (f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0]), f32s(&[2], &[10.0, 100.0]));
    let einsum =
        |equation: &'static str, args: &[Tensor]| one("Einsum", vec![text("equation", equation)], args, vec![]);
    let matrix = std::slice::from_ref(&x);
    is_near(&einsum("ii->i", matrix), &f32s(&[2], &[1.0, 4.0]));
    is_near(&einsum("ii", matrix), &f32s(&[], &[5.0]));
    is_near(&einsum("...i->...", matrix), &f32s(&[2], &[3.0, 7.0]));
    is_near(&einsum("...i,...i->...", &[x.clone(), y.clone()]), &f32s(&[2], &[210.0, 430.0]));
    is_near(&einsum("i...,...->i", &[x.clone(), f32s(&[1], &[2.0])]), &f32s(&[2], &[6.0, 14.0]));
    is_near(&einsum(",ij->ji", &[f32s(&[], &[2.0]), x]), &f32s(&[2, 2], &[2.0, 6.0, 4.0, 8.0]));
    is_near(
        &einsum("i,j->ij", &[i64s(&[2], &[1, 2]), i64s(&[2], &[3, 1 << 40])]),
        &i64s(&[2, 2], &[3, 1 << 40, 6, 1 << 41]),
    );
}

#[test]
fn blocks_become_channels_in_either_order() {
    let x = f32s(&[1, 2, 2, 2], &[0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]);
    let made =
        |mode| one("SpaceToDepth", vec![int("blocksize", 2), text("mode", mode)], std::slice::from_ref(&x), vec![]);
    is_near(&made("DCR"), &f32s(&[1, 8, 1, 1], &[0.0, 10.0, 1.0, 11.0, 2.0, 12.0, 3.0, 13.0]));
    is_near(&made("CRD"), &f32s(&[1, 8, 1, 1], &[0.0, 1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0]));
}

/// Exporters write attributes that are what they would be without, and that matter to other results or arguments alone.
#[test]
fn defaults_may_be_written() {
    let x = f32s(&[1, 1, 4], &[1.0, 3.0, 2.0, 0.0]);
    let one = |operator, attributes, known| one(operator, attributes, std::slice::from_ref(&x), known);
    let kernel = ints("kernel_shape", &[2]);
    let pooled = one("MaxPool", vec![kernel, int("storage_order", 0)], vec![]);
    is_near(&pooled, &f32s(&[1, 1, 3], &[3.0, 3.0, 2.0]));
    let twice = vec![floats("", &[0], &[]), floats("scales", &[3], &[1.0, 1.0, 2.0])];
    let resized = one("Resize", vec![text("keep_aspect_ratio_policy", "stretch")], twice);
    is_near(&resized, &f32s(&[1, 1, 8], &[1.0, 1.0, 3.0, 3.0, 2.0, 2.0, 0.0, 0.0]));
    let zero =
        TensorProto { data_type: 3, dims: vec![], int32_data: vec![1], name: "zero".into(), ..Default::default() };
    let scale = || floats("scale", &[], &[0.5]);
    let quantized = |dtype| one("QuantizeLinear", vec![int("output_dtype", dtype)], vec![scale(), zero.clone()]);
    is_near(&quantized(0), &quantized(3));
    is_near(&quantized(0), &Tensor::new(vec![1, 1, 4], Data::Int(precast_compiler::ir::DType::I8, vec![3, 7, 5, 1])));
    let known = |name: &str, dims: &[i64]| floats(name, dims, &vec![0.5; dims.iter().product::<i64>() as usize]);
    let recurrent = |names: &[&'static [u8]]| {
        let strings = names.iter().map(|name| (*name).into()).collect();
        let names = AttributeProto { strings, ..attribute_of("activations") };
        one("RNN", vec![int("hidden_size", 1), names], vec![known("w", &[1, 1, 4]), known("r", &[1, 1, 1])])
    };
    is_near(&recurrent(&[b"Tanh", b"Tanh"]), &recurrent(&[b"Tanh"]));
}

/// One scale is that of all elements, whichever axis is named.
#[test]
fn one_scale_has_no_axis() {
    let x = f32s(&[2, 2], &[1.0, 2.5, -1.0, 100.0]);
    for shape in [&[][..], &[1]] {
        for axis in [0, 1] {
            let nodes = vec![
                node("QuantizeLinear", &["x", "scale"], &["words"], vec![int("axis", axis)]),
                node("DequantizeLinear", &["words", "scale"], &["y"], vec![int("axis", axis)]),
            ];
            let scale = vec![floats("scale", shape, &[0.5])];
            let made = run(&model(nodes, vec![argument("x", &x)], &["y"], scale), std::slice::from_ref(&x));
            is_near(&made[0], &f32s(&[2, 2], &[1.0, 2.5, 0.0, 100.0]));
        }
    }
}

/// Exporters write the type of statistics where it is the usual one, too.
#[test]
fn statistics_are_of_the_type_that_an_attribute_says() {
    let x = f32s(&[2, 2], &[1.0, 3.0, -4.0, 0.0]);
    let weights = || vec![floats("scale", &[2], &[1.0, 2.0])];
    let stash = |dtype: i64| vec![int("stash_type", dtype), int("axis", -1)];
    let wanted = f32s(&[2, 2], &[-1.0, 2.0, -1.0, 2.0]);
    let layer = |results: &[&str]| of("LayerNormalization", stash(1), std::slice::from_ref(&x), weights(), results);
    is_near(&layer(&["y"])[0], &wanted);
    is_near(&layer(&["y", "mean"])[1], &f32s(&[2, 1], &[2.0, -2.0]));
    is_near(&one("RMSNormalization", stash(1), &[f32s(&[1, 2], &[3.0, 3.0])], weights()), &f32s(&[1, 2], &[1.0, 2.0]));
    let node = node("LayerNormalization", &["x0", "scale"], &["y", "mean"], stash(16));
    let found = reasons(&model(vec![node], vec![argument("x0", &x)], &["y", "mean"], weights()));
    assert!(found[0].contains("statistics of another type than its argument"), "{found:?}");
}

#[test]
fn determinants_have_any_number_of_rows() {
    // A permutation of an odd number of exchanges, scaled; then one row twice.
    let mut rows = vec![0.0; 25];
    [1, 0, 3, 4, 2].iter().enumerate().for_each(|(row, column)| rows[row * 5 + column] = (row + 1) as f64);
    let mut twice = rows.clone();
    twice.copy_within(0..5, 20);
    let both = [rows, twice].concat();
    is_near(&one("Det", vec![], &[f32s(&[2, 5, 5], &both)], vec![]), &f32s(&[2], &[-120.0, 0.0]));
}

#[test]
fn integers_are_reduced_as_integers() {
    let x = i64s(&[2, 2], &[3, 4, (1 << 30) - 1, 1 << 29]);
    let axes = || vec![integers("axes", &[1])];
    is_near(&one("ReduceL2", vec![], &[x], axes()), &i64s(&[2, 1], &[5, 1_200_479_853]));
    is_near(&one("ReduceLogSum", vec![], &[i64s(&[1, 2], &[20, 1])], axes()), &i64s(&[1, 1], &[3]));
    is_near(&one("Relu", vec![], &[i64s(&[2], &[-3, 4])], vec![]), &i64s(&[2], &[0, 4]));
}

#[test]
fn nothing_is_a_number_of_elements() {
    let made = of("TopK", vec![], &[f32s(&[3], &[1.0, 2.0, 3.0])], vec![integers("k", &[0])], &["values", "index"]);
    assert_eq!([&made[0].shape, &made[1].shape], [&vec![0], &vec![0]]);
}

#[test]
fn last_parts_have_what_is_left() {
    let made = of("Split", vec![], &[f32s(&[5], &[1.0, 2.0, 3.0, 4.0, 5.0])], vec![], &["a", "b", "c", "d"]);
    let extents: Vec<usize> = made.iter().map(|part| part.shape[0]).collect();
    assert_eq!(extents, [2, 2, 1, 0]);
}

#[test]
fn known_conditions_select() {
    let x = f32s(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let condition =
        TensorProto { name: "c".into(), data_type: 9, dims: vec![3], int32_data: vec![1, 0, 1], ..Default::default() };
    let made = one("Compress", vec![int("axis", 1)], std::slice::from_ref(&x), vec![condition.clone()]);
    is_near(&made, &f32s(&[2, 2], &[1.0, 3.0, 4.0, 6.0]));
    is_near(&one("Compress", vec![], &[x], vec![condition]), &f32s(&[2], &[1.0, 3.0]));
    is_near(
        &one("NonZero", vec![], &[], vec![floats("x", &[2, 2], &[0.0, 1.0, 2.0, 0.0])]),
        &i64s(&[2, 2], &[0, 1, 1, 0]),
    );
}

#[test]
fn regions_are_pooled_by_their_largest_elements() {
    let x: Vec<f64> = (0..16).map(f64::from).collect();
    let regions = floats("regions", &[2, 5], &[0.0, 0.0, 0.0, 3.0, 3.0, 0.0, 1.0, 2.0, 2.0, 2.0]);
    let made = one("MaxRoiPool", vec![ints("pooled_shape", &[2, 2])], &[f32s(&[1, 1, 4, 4], &x)], vec![regions]);
    is_near(&made, &f32s(&[2, 1, 2, 2], &[5.0, 7.0, 13.0, 15.0, 9.0, 10.0, 9.0, 10.0]));
}

#[test]
fn optional_tensors_are_there() {
    let x = f32s(&[1], &[3.0]);
    is_near(&one("OptionalGetElement", vec![], std::slice::from_ref(&x), vec![]), &x);
    assert_eq!(one("OptionalHasElement", vec![], &[x], vec![]).data, Data::Bool(vec![true]));
    assert_eq!(one("OptionalHasElement", vec![], &[], vec![]).data, Data::Bool(vec![false]));
}

#[test]
fn first_versions_say_types_and_axes_in_other_ways() {
    let first = |file: ModelProto| {
        let opset_import = vec![OperatorSetIdProto { domain: String::new(), version: 1 }];
        ModelProto { opset_import, ..file }
    };
    let x = f32s(&[2], &[1.5, 2.5]);
    let cast = node("Cast", &["x"], &["y"], vec![text("to", "INT64")]);
    let file = first(model(vec![cast], vec![argument("x", &x)], &["y"], vec![]));
    is_near(&run(&file, std::slice::from_ref(&x))[0], &i64s(&[2], &[1, 2]));
    let tile = node("Tile", &["x", "n", "axis"], &["y"], vec![]);
    let known = vec![integers("n", &[2]), integers("axis", &[0])];
    let file = first(model(vec![tile], vec![argument("x", &x)], &["y"], known));
    is_near(&run(&file, &[x])[0], &f32s(&[4], &[1.5, 2.5, 1.5, 2.5]));
}

#[test]
fn optimisers_step() {
    let domain = "ai.onnx.preview.training";
    let step = |operator: &str, attributes: Vec<AttributeProto>, states: usize| {
        let args: Vec<Tensor> =
            [0.5, 2.0].into_iter().chain([0.25; 2]).take(2 + states).map(|x| f32s(&[1], &[x])).collect();
        let names: Vec<String> = (0..args.len()).map(|k| format!("x{k}")).collect();
        let inputs: Vec<&str> = ["rate", "count"].into_iter().chain(names.iter().map(String::as_str)).collect();
        let results = ["a", "b", "c"];
        let node = NodeProto { domain: domain.into(), ..node(operator, &inputs, &results[..=states], attributes) };
        let values = names.iter().zip(&args).map(|(name, tensor)| argument(name, tensor)).collect();
        let known = vec![floats("rate", &[], &[0.1]), integers("count", &[1])];
        run(&model(vec![node], values, &results[..=states], known), &args)
    };
    let real = |name: &str, f: f32| AttributeProto { f, ..attribute_of(name) };
    // h = 0.25 + 2², x = 0.5 − 0.1 · 2 / √h
    is_near(&step("Adagrad", vec![], 1)[0], &f32s(&[1], &[0.5 - 0.2 / 4.25f64.sqrt()]));
    // v = 0.5 · 0.25 + 0.75 · 2, x = 0.5 − 0.1 · v
    let attributes = vec![real("alpha", 0.5), real("beta", 0.75), text("mode", "standard")];
    is_near(&step("Momentum", attributes, 1)[0], &f32s(&[1], &[0.5 - 0.1 * 1.625]));
    // v = 0.9 · 0.25 + 0.1 · 2, h = 0.999 · 0.25 + 0.001 · 4, both corrected by one step
    let (v, h) = (0.425f64, 0.25375f64);
    let rate = 0.1 * 0.001f64.sqrt() / 0.1;
    is_near(&step("Adam", vec![], 2)[0], &f32s(&[1], &[0.5 - rate * v / (h.sqrt() + 1e-6)]));
}

/// `s ← s + x`, and `−s` of each turn.
fn sums() -> GraphProto {
    let nodes = vec![node("Add", &["s", "x"], &["next"], vec![]), node("Neg", &["next"], &["o"], vec![])];
    body(nodes, &["s", "x"], &["next", "o"])
}

#[test]
fn scans_are_regions() {
    let args = [f32s(&[2], &[1.0, 2.0]), f32s(&[3, 2], &[1.0, 10.0, 2.0, 20.0, 3.0, 30.0])];
    let scan = |args: &[Tensor], more: Vec<AttributeProto>| {
        let attributes = [vec![int("num_scan_inputs", 1), graph("body", sums())], more].concat();
        of("Scan", attributes, args, vec![], &["s", "y"])
    };
    let made = scan(&args, vec![]);
    is_near(&made[0], &f32s(&[2], &[7.0, 62.0]));
    is_near(&made[1], &f32s(&[3, 2], &[-2.0, -12.0, -4.0, -32.0, -7.0, -62.0]));
    let across = f32s(&[2, 3], &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    let names = ["scan_input_axes", "scan_input_directions", "scan_output_axes", "scan_output_directions"];
    let made = scan(&[args[0].clone(), across], names.map(|name| ints(name, &[1])).to_vec());
    is_near(&made[1], &f32s(&[2, 3], &[-7.0, -6.0, -4.0, -62.0, -52.0, -32.0]));
}

#[test]
fn scans_have_as_many_turns_as_a_named_dimension() {
    let scan = node("Scan", &["s", "x"], &["t", "y"], vec![int("num_scan_inputs", 1), graph("body", sums())]);
    let inputs = vec![input("s", FLOAT, &[]), input("x", FLOAT, &[super::named("T")])];
    let file = model(vec![scan], inputs, &["t", "y"], vec![]);
    assert_eq!(read(&file).unwrap().function.signature.text, "fn forward(&self, s: f32, x: f32[T]) -> (f32, f32[T])");
    is_near(&run(&file, &[f32s(&[], &[1.0]), f32s(&[2], &[2.0, 3.0])])[0], &f32s(&[], &[6.0]));
}

/// A loop of so many turns, with `s` carried.
fn turning(nodes: Vec<NodeProto>, results: &[&str], count: Option<i64>) -> Result<ModelProto, Vec<String>> {
    let body = body(nodes, &["i", "c", "s"], results);
    let outputs = &["s", "y"][..results.len() - 1];
    let node = node("Loop", &[count.map_or("", |_| "count"), "", "s0"], outputs, vec![graph("body", body)]);
    let known = vec![integers("count", &[count.unwrap_or(0)]), floats("w", &[2], &[1.0, 10.0]), integers("zero", &[0])];
    let known = [known, vec![integers("four", &[4]), integers("one", &[1])]].concat();
    let file = model(vec![node], vec![argument("s0", &f32s(&[2], &[0.0; 2]))], outputs, known);
    if read(&file).is_ok() { Ok(file) } else { Err(reasons(&file)) }
}

#[test]
fn loops_of_known_turns_are_regions() {
    let nodes = vec![
        node("Identity", &["c"], &["d"], vec![]),
        node("Cast", &["i"], &["k"], vec![int("to", 1)]),
        node("Mul", &["w", "k"], &["step"], vec![]),
        node("Add", &["s", "step"], &["t"], vec![]),
        node("Neg", &["t"], &["o"], vec![]),
    ];
    let file = turning(nodes, &["d", "t", "o"], Some(3)).unwrap();
    assert_eq!(read(&file).unwrap().params[0].name, "w");
    let made = run(&file, &[f32s(&[2], &[0.0; 2])]);
    is_near(&made[0], &f32s(&[2], &[3.0, 30.0]));
    is_near(&made[1], &f32s(&[3, 2], &[0.0, 0.0, -1.0, -10.0, -3.0, -30.0]));
}

#[test]
fn loops_that_change_shapes_are_written_out() {
    let nodes =
        vec![node("Identity", &["c"], &["d"], vec![]), node("Concat", &["s", "w"], &["t"], vec![int("axis", 0)])];
    let made = run(&turning(nodes, &["d", "t"], Some(2)).unwrap(), &[f32s(&[2], &[5.0, 6.0])]);
    is_near(&made[0], &f32s(&[6], &[5.0, 6.0, 1.0, 10.0, 1.0, 10.0]));
    // Slices at the number of the turn.
    let nodes = vec![
        node("Identity", &["c"], &["d"], vec![]),
        node("Unsqueeze", &["i", "zero"], &["from"], vec![]),
        node("Add", &["from", "one"], &["to"], vec![]),
        node("Slice", &["w", "from", "to"], &["part"], vec![]),
        node("Add", &["s", "part"], &["t"], vec![]),
    ];
    let made = run(&turning(nodes.clone(), &["d", "t"], Some(2)).unwrap(), &[f32s(&[2], &[5.0, 6.0])]);
    is_near(&made[0], &f32s(&[2], &[16.0, 17.0]));
    // With what each turn leaves.
    let made = run(&turning(nodes, &["d", "t", "part"], Some(2)).unwrap(), &[f32s(&[2], &[5.0, 6.0])]);
    is_near(&made[0], &f32s(&[2], &[16.0, 17.0]));
    is_near(&made[1], &f32s(&[2, 1], &[1.0, 10.0]));
}

#[test]
fn loops_end_by_known_conditions() {
    let nodes = vec![node("Less", &["i", "four"], &["d"], vec![]), node("Add", &["s", "w"], &["t"], vec![])];
    let made = run(&turning(nodes, &["d", "t"], None).unwrap(), &[f32s(&[2], &[0.0; 2])]);
    is_near(&made[0], &f32s(&[2], &[5.0, 50.0]));
    let endless = vec![node("Identity", &["c"], &["d"], vec![]), node("Add", &["s", "w"], &["t"], vec![])];
    let found = turning(endless, &["d", "t"], None).unwrap_err();
    assert!(found.iter().any(|reason| reason.contains("nodes")), "{found:#?}");
}

#[test]
fn features_and_labels_are_numbers() {
    let run = |operator: &str, attributes: Vec<AttributeProto>, x: Tensor, known: Vec<TensorProto>| {
        let names: Vec<&str> = ["x"].into_iter().chain(known.iter().map(|known| known.name.as_str())).collect();
        let node = NodeProto { domain: "ai.onnx.ml".into(), ..node(operator, &names, &["y"], attributes) };
        self::run(&model(vec![node], vec![argument("x", &x)], &["y"], known), &[x]).remove(0)
    };
    let real = |name: &str, all: &[f32]| AttributeProto { floats: all.to_vec(), ..attribute_of(name) };
    let x = f32s(&[1, 3], &[3.0, -4.0, 0.0]);
    let picked = run("ArrayFeatureExtractor", vec![], x.clone(), vec![integers("at", &[2, 0])]);
    is_near(&picked, &f32s(&[1, 2], &[0.0, 3.0]));
    is_near(&run("Binarizer", vec![], x.clone(), vec![]), &f32s(&[1, 3], &[1.0, 0.0, 0.0]));
    let scaled = run("Scaler", vec![real("offset", &[1.0]), real("scale", &[1.0, 2.0, 3.0])], x.clone(), vec![]);
    is_near(&scaled, &f32s(&[1, 3], &[2.0, -10.0, -3.0]));
    let imputed = run("Imputer", vec![real("imputed_value_floats", &[7.0])], x.clone(), vec![]);
    is_near(&imputed, &f32s(&[1, 3], &[3.0, -4.0, 7.0]));
    is_near(&run("Normalizer", vec![text("norm", "L2")], x.clone(), vec![]), &f32s(&[1, 3], &[0.6, -0.8, 0.0]));
    let weights = vec![
        real("coefficients", &[1.0, 1.0, 1.0, 2.0, 1.0, 0.0]),
        real("intercepts", &[0.5, 0.25]),
        int("targets", 2),
    ];
    is_near(&run("LinearRegressor", weights, x.clone(), vec![]), &f32s(&[1, 2], &[-0.5, 2.25]));
    let table = vec![real("keys_floats", &[3.0, f32::NAN, 3.0]), ints("values_int64s", &[1, 2, 5])];
    is_near(&run("LabelEncoder", table, f32s(&[3], &[3.0, f64::NAN, 1.0]), vec![]), &i64s(&[3], &[5, 2, -1]));
}

#[test]
fn empty_tensors_become_kernels() {
    for shape in [[3, 0, 4], [0, 3, 4], [3, 4, 0]] {
        let x = f32s(&shape, &[]);
        let nodes = vec![
            node("Neg", &["x"], &["a"], vec![]),
            node("Reshape", &["a", "flat"], &["b"], vec![int("allowzero", 1)]),
            node("Abs", &["b"], &["y"], vec![]),
        ];
        let file = model(nodes, vec![argument("x", &x)], &["y"], vec![integers("flat", &[2, 0, 5])]);
        assert_eq!(run(&file, &[x])[0].shape, [2, 0, 5]);
    }
}

/// Weighted neighbours of an axis of any extent, beside those of the same extent as a number.
#[test]
fn images_of_any_extent_are_resized_smoothly() {
    let numbers: Vec<f64> = (0..10).map(|k| f64::from(k * k % 7)).collect();
    for (mode, transform, factor) in [
        ("linear", "half_pixel", 2.0),
        ("linear", "asymmetric", 3.0),
        ("cubic", "pytorch_half_pixel", 2.0),
        ("cubic", "half_pixel_symmetric", 4.0),
    ] {
        let nodes = || {
            let how = vec![text("mode", mode), text("coordinate_transformation_mode", transform)];
            vec![node("Resize", &["x", "", "scales"], &["y"], how)]
        };
        let scales = || vec![floats("scales", &[3], &[1.0, factor, 1.0])];
        for extent in [1, 2, 5] {
            let x = f32s(&[1, extent, 2], &numbers[..2 * extent]);
            let free = [Extent::DimValue(1), Extent::DimParam("H".into()), Extent::DimValue(2)];
            let free = model(nodes(), vec![input("x", FLOAT, &free)], &["y"], scales());
            let known = model(nodes(), vec![argument("x", &x)], &["y"], scales());
            let args = std::slice::from_ref(&x);
            is_near(&run(&free, args)[0], &run(&known, args)[0]);
        }
    }
    let none = node("Resize", &["x", "", "", "sizes"], &["y"], vec![text("mode", "linear"), int("antialias", 1)]);
    let x = input("x", FLOAT, &[Extent::DimParam("H".into())]);
    let found = reasons(&model(vec![none], vec![x], &["y"], vec![integers("sizes", &[0])]));
    assert_eq!(found, ["`y` (Resize, opset 18): H elements are not resized to 0"]);
}
