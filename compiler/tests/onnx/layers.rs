//! Layers that are alike as turns of a region: which of them are, and that they give the same numbers as one after the other.

use super::*;
use precast_compiler::ir::Repeat;

/// A layer: how its value is changed behind a product, and what it reads besides.
#[derive(Clone, Copy)]
struct Layer<'a> {
    activation: &'a str,
    gate: &'a str,
    weight: Option<&'a str>,
    /// Whether it computes its gate itself, from what all have.
    makes_gate: bool,
}

const PLAIN: Layer<'_> = Layer { activation: "Sigmoid", gate: "gate", weight: None, makes_gate: false };

/// How wide a value is.
const WIDE: usize = 3;

/// How many steps of the same kind a layer has, so that there is something to save.
const STEPS: usize = 12;

/// The nodes of a layer.
fn nodes(number: usize, layer: Layer<'_>, before: &str, after: &str) -> Vec<NodeProto> {
    let own = |name: &str| format!("{number}.{name}");
    let weight = layer.weight.map_or(own("weight"), str::to_owned);
    let mut all = vec![];
    let gate = if layer.makes_gate { own("gate") } else { layer.gate.to_owned() };
    if layer.makes_gate {
        all.push(node("Tanh", &[layer.gate], &[&gate], vec![]));
    }
    all.push(node("MatMul", &[before, &weight], &[&own("0")], vec![]));
    for step in 0..STEPS {
        let [from, active, to] = [own(&step.to_string()), own(&format!("active.{step}")), own(&(step + 1).to_string())];
        all.push(node(layer.activation, &[&from], &[&active], vec![]));
        all.push(node("Mul", &[&active, &gate], &[&to], vec![]));
    }
    all.push(node("Add", &[&own(&STEPS.to_string()), &own("bias")], &[&own("sum")], vec![]));
    all.push(node("Add", &[&own("sum"), before], &[after], vec![]));
    all
}

fn numbers(seed: usize, count: usize) -> Vec<f32> {
    (0..count).map(|k| ((seed * 29 + k * 17) % 23) as f32 / 11.5 - 1.0).collect()
}

/// A file of layers, and what it gives besides the last layer's value.
fn file(layers: &[Layer<'_>], outputs: &[String]) -> ModelProto {
    let mut all = vec![node("Sigmoid", &["x"], &["gate"], vec![])];
    let wide = WIDE as i64;
    let mut weights = vec![floats("tied", &[wide, wide], &numbers(7, WIDE * WIDE))];
    for (number, &layer) in layers.iter().enumerate() {
        let before = if number == 0 { "x".to_owned() } else { format!("y{number}") };
        all.extend(nodes(number, layer, &before, &format!("y{}", number + 1)));
        weights.push(floats(&format!("{number}.weight"), &[wide, wide], &numbers(number, WIDE * WIDE)));
        weights.push(floats(&format!("{number}.bias"), &[wide], &numbers(number + 40, WIDE)));
    }
    let x = input("x", FLOAT, &[named("B"), Extent::DimValue(wide)]);
    let last = [format!("y{}", layers.len())];
    let outputs: Vec<&str> = last.iter().chain(outputs).map(String::as_str).collect();
    model(all, vec![x], &outputs, weights)
}

/// The regions of a file: how many turns each has, what goes from turn to turn, and of how many parameters there are stacks.
fn regions(model: &ModelProto) -> Vec<(i64, usize, usize)> {
    let graph = read(model).unwrap().function.graph;
    let region = |node: &precast_compiler::ir::Node| match &node.kind {
        Kind::Repeat(repeat) => {
            let Repeat { count, carried, stacked, .. } = &**repeat;
            Some((count.as_const().unwrap(), *carried, *stacked))
        }
        _ => None,
    };
    graph.nodes.iter().filter_map(region).collect()
}

/// That a file gives the same as one in which everything is a result, so that nothing is a turn.
fn gives_the_same(layers: &[Layer<'_>], outputs: &[String]) {
    is_the_same(&file(layers, outputs));
}

/// The same of a file.
fn is_the_same(file: &ModelProto) {
    let mut written_out = file.clone();
    let graph = written_out.graph.as_mut().unwrap();
    let sums = graph.node.iter().flat_map(|node| &node.output).filter(|name| name.ends_with(".sum"));
    graph.output.extend(sums.map(|name| ValueInfoProto { name: name.clone(), r#type: None }));
    assert!(regions(&written_out).is_empty());
    let x = || vec![Tensor::floats([2, WIDE], numbers(3, 2 * WIDE).into_iter().map(f64::from).collect::<Vec<f64>>())];
    let (made, wanted) = (results(file, x()), results(&written_out, x()));
    for (made, wanted) in made.iter().zip(&wanted) {
        assert_eq!(made.f64s(), wanted.f64s());
    }
    let by_kernels = operator_tests::run(file, &x());
    let of_wanted = operator_tests::run(&written_out, &x());
    for (made, wanted) in by_kernels.iter().zip(&of_wanted) {
        assert_eq!(made.f64s(), wanted.f64s());
    }
}

#[test]
fn alike_layers_are_turns() {
    for count in [2, 3, 6] {
        let layers = vec![PLAIN; count];
        assert_eq!(regions(&file(&layers, &[])), [(count as i64, 1, 2)]);
        gives_the_same(&layers, &[]);
    }
}

#[test]
fn another_layer_ends_a_run() {
    let mut layers = vec![PLAIN; 7];
    layers[3].activation = "Tanh";
    assert_eq!(regions(&file(&layers, &[])), [(3, 1, 2), (3, 1, 2)]);
    gives_the_same(&layers, &[]);
    layers[0].activation = "Softplus";
    assert_eq!(regions(&file(&layers, &[])), [(2, 1, 2), (3, 1, 2)]);
    gives_the_same(&layers, &[]);
}

#[test]
fn what_is_read_outside_ends_a_run() {
    let layers = vec![PLAIN; 6];
    let outputs = ["y2".to_owned()];
    assert_eq!(regions(&file(&layers, &outputs)), [(2, 1, 2), (4, 1, 2)]);
    gives_the_same(&layers, &outputs);
    // What is inside of a layer leaves the whole layer out.
    let outputs = ["3.3".to_owned()];
    assert_eq!(regions(&file(&layers, &outputs)), [(3, 1, 2), (2, 1, 2)]);
    gives_the_same(&layers, &outputs);
}

#[test]
fn tied_weights_are_read_by_all_turns() {
    let layers = [Layer { weight: Some("tied"), ..PLAIN }; 4];
    assert_eq!(regions(&file(&layers, &[])), [(4, 1, 1)]);
    gives_the_same(&layers, &[]);
    let imported = read(&file(&layers, &[])).unwrap();
    assert_eq!(imported.params.iter().filter(|param| param.name == "tied" && param.stack.is_empty()).count(), 1);
    // A weight that the last layer has of the first is in no stack.
    let mut layers = [PLAIN; 5];
    layers[4].weight = Some("0.weight");
    assert_eq!(regions(&file(&layers, &[])), [(3, 1, 2)]);
    gives_the_same(&layers, &[]);
}

#[test]
fn what_all_turns_compute_alike_is_computed_before() {
    let layers = [Layer { makes_gate: true, ..PLAIN }; 4];
    let imported = read(&file(&layers, &[])).unwrap();
    let is_tanh = |node: &precast_compiler::ir::Node| matches!(&node.kind, Kind::Prim(Prim::Map(op)) if format!("{op:?}") == "Tanh");
    let graph = &imported.function.graph;
    let bodies = graph.nodes.iter().flat_map(|node| node.kind.bodies());
    assert_eq!(graph.nodes.iter().filter(|node| is_tanh(node)).count(), 1);
    assert_eq!(bodies.flat_map(|body| &body.nodes).filter(|node| is_tanh(node)).count(), 0);
    assert_eq!(regions(&file(&layers, &[])), [(4, 1, 2)]);
    gives_the_same(&layers, &[]);
}

/// What a layer computes for the next one without anything of its own is not carried by it.
#[test]
fn what_is_made_for_the_next_layer_alone_is_no_result_of_a_turn() {
    let name = |number| if number == 0 { "gate".to_owned() } else { format!("gate{number}") };
    let gates: Vec<String> = (0..6).map(name).collect();
    let layers: Vec<Layer<'_>> = gates.iter().map(|gate| Layer { gate, ..PLAIN }).collect();
    let mut file = file(&layers, &[]);
    let nodes = &mut file.graph.as_mut().unwrap().node;
    for (number, gate) in gates.iter().enumerate().skip(1) {
        let product = format!("{}.0", number - 1);
        let at = nodes.iter().position(|node| node.output[0] == product).unwrap();
        nodes.insert(at, node("Sin", &["x"], &[gate], vec![]));
    }
    is_the_same(&file);
}

/// Two chains, of which the second one begins with what the first one has in its middle, and which end as if they were one.
#[test]
fn a_run_that_would_wait_for_itself_is_none() {
    let (apart, together) = (6, 9);
    let (mut all, mut weights, mut outputs) = (vec![node("Sigmoid", &["x"], &["gate"], vec![])], vec![], vec![]);
    let layer = |chain: &str, number: usize, all: &mut Vec<NodeProto>| {
        let (place, layer) = match chain {
            "first" => (number, PLAIN),
            _ => (100 + number, Layer { activation: "Tanh", ..PLAIN }),
        };
        let before = if number == 0 && chain == "first" { "x".to_owned() } else { format!("{chain}{number}") };
        all.extend(nodes(place, layer, &before, &format!("{chain}{}", number + 1)));
    };
    for chain in ["first", "second"] {
        for number in 0..apart {
            layer(chain, number, &mut all);
            // Something else in between, so that this is no stretch.
            let other = format!("{chain} other {number}");
            let copies = vec!["x"; 2 + number + if chain == "first" { 0 } else { apart }];
            all.push(node("Concat", &copies, &[&other], vec![int("axis", 1)]));
            outputs.push(other);
        }
        if chain == "first" {
            all.push(node("Exp", &[&format!("first{apart}")], &["second0"], vec![]));
        }
    }
    for number in apart..together {
        ["first", "second"].into_iter().for_each(|chain| layer(chain, number, &mut all));
    }
    all.push(node("Add", &[&format!("first{together}"), &format!("second{together}")], &["y"], vec![]));
    let wide = WIDE as i64;
    for place in (0..together).flat_map(|number| [number, 100 + number]) {
        weights.push(floats(&format!("{place}.weight"), &[wide, wide], &numbers(place, WIDE * WIDE)));
        weights.push(floats(&format!("{place}.bias"), &[wide], &numbers(place + 40, WIDE)));
    }
    let x = input("x", FLOAT, &[named("B"), Extent::DimValue(wide)]);
    let outputs: Vec<&str> = ["y"].into_iter().chain(outputs.iter().map(String::as_str)).collect();
    is_the_same(&model(all, vec![x], &outputs, weights));
}

#[test]
fn parameters_of_turns_keep_their_names_and_values() {
    let layers = [PLAIN; 3];
    let (model, weights) = read(&file(&layers, &[])).unwrap().model("Model");
    let names: Vec<String> = model.params.iter().flat_map(|param| param.instances()).collect();
    assert_eq!(names, ["0.weight", "1.weight", "2.weight", "0.bias", "1.bias", "2.bias"]);
    let wanted = (0..3).flat_map(|number| numbers(number, WIDE * WIDE)).map(f64::from);
    assert!(weights[0].elements().data.numbers().into_iter().eq(wanted));
}

/// The order of a file's nodes does not matter, as long as arguments come first.
#[test]
fn layers_may_be_interleaved() {
    let mut file = file(&[PLAIN; 4], &[]);
    let graph = file.graph.as_mut().unwrap();
    let (mut done, mut sorted) = (vec!["x".to_owned()], vec![]);
    let mut rest: Vec<NodeProto> = graph.node.drain(..).collect();
    while !rest.is_empty() {
        let made = |name: &String| done.contains(name) || graph.initializer.iter().any(|known| known.name == *name);
        let at = rest.iter().rposition(|node| node.input.iter().all(made)).unwrap();
        let node = rest.remove(at);
        done.extend(node.output.iter().cloned());
        sorted.push(node);
    }
    graph.node = sorted;
    assert_eq!(regions(&file), [(4, 1, 2)]);
}

/// A stack has an axis more than its parameters, which may have as many as a tensor can have.
#[test]
fn parameters_of_all_axes_are_not_stacked() {
    let file = |axes: usize| {
        let shape = vec![1; axes];
        let mut all = vec![];
        let mut weights = vec![];
        for layer in 0..3 {
            let own = |step: usize| format!("y{}", layer * (STEPS + 1) + step);
            let weight = format!("{layer}.weight");
            all.push(node("Add", &[&own(0), &weight], &[&own(1)], vec![]));
            all.extend((1..=STEPS).map(|step| node("Sigmoid", &[&own(step)], &[&own(step + 1)], vec![])));
            weights.push(floats(&weight, &shape, &numbers(layer, 1)));
        }
        let x = input("y0", FLOAT, &vec![Extent::DimValue(1); axes]);
        model(all, vec![x], &[&format!("y{}", 3 * (STEPS + 1))], weights)
    };
    assert_eq!(regions(&file(63)), [(3, 1, 1)]);
    assert_eq!(regions(&file(64)), []);
}
