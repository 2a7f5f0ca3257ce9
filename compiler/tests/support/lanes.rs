//! Functions mapped and differentiated forwards, against the same one slice at a time and backwards.

use super::{BATCH, Body, Fill, Numbers, builder, random, sound};
use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::{DType, Dim, Graph, How, Kind, Transform, Type, Value};
use precast_compiler::oracle::{Data, Tensor, run_graph};
use precast_compiler::stages::grad::{differentiate, resolve};
use proc_macro2::Span;

pub fn declare(graph: &mut Graph, ty: Type) -> Value {
    let k = graph.inputs().count();
    graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site())
}

fn types(inputs: &[(Vec<Dim>, Fill)]) -> Vec<Type> {
    let dtype = |fill: &Fill| if matches!(fill, Fill::Index(_)) { DType::U32 } else { DType::F32 };
    inputs.iter().map(|(shape, fill)| Type::new(dtype(fill), shape.clone())).collect()
}

/// The function as a graph; `order[k]` is which input the k-th argument is.
fn function(types: &[Type], order: &[usize], body: Body<'_>) -> Graph {
    let mut graph = Graph::default();
    let mut args = vec![Value(0); types.len()];
    for &k in order {
        args[k] = declare(&mut graph, types[k].clone());
    }
    let result = body(&mut builder(&mut graph, &mut 0), &args).unwrap();
    graph.outputs = vec![result];
    graph
}

pub fn close(what: &str, found: &Tensor, wanted: &Tensor) {
    assert_eq!(found.shape, wanted.shape, "{what}");
    let (Data::Float(_, x), Data::Float(_, y)) = (&found.data, &wanted.data) else {
        assert_eq!(format!("{:?}", found.data), format!("{:?}", wanted.data), "{what}");
        return;
    };
    let scale = y.iter().fold(1.0, |m: f64, y| if y.is_finite() { m.max(y.abs()) } else { m });
    for (i, (x, y)) in x.iter().zip(y).enumerate() {
        assert!(x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() < 1e-9 * scale, "{what}: [{i}] is {x}, not {y}");
    }
}

fn run(graph: &Graph, inputs: &[Tensor]) -> Vec<Tensor> {
    run_graph(graph, inputs, &[("B", BATCH)])
}

/// Resolves the transforms of a graph, which stays sound.
pub fn resolved(graph: &Graph) -> Graph {
    sound(graph);
    let made = simplify(resolve(graph), &mut []);
    sound(&made);
    assert!(!made.to_string().contains("transform"), "{made}");
    made
}

/// `body` mapped over each argument alone and over all, against a loop over the slices.
pub fn maps(what: &str, inputs: &[(Vec<Dim>, Fill)], body: Body<'_>) {
    let types = types(inputs);
    let alone = (0..inputs.len()).map(|k| vec![k]);
    for mapped in alone.chain([(0..inputs.len()).collect()]) {
        let order: Vec<usize> =
            mapped.iter().copied().chain((0..inputs.len()).filter(|k| !mapped.contains(k))).collect();
        let inner = function(&types, &order, body);
        let mut graph = Graph::default();
        let mut numbers = Numbers::new(5);
        let (mut args, mut tensors) = (vec![], vec![]);
        for (at, &k) in order.iter().enumerate() {
            let lanes = [Dim::name("B")].into_iter().filter(|_| at < mapped.len());
            let shape: Vec<Dim> = lanes.chain(types[k].shape.iter().cloned()).collect();
            args.push(declare(&mut graph, Type::new(types[k].dtype, shape.clone())));
            tensors.push(random(&shape, inputs[k].1, &mut numbers));
        }
        let how = How::Map { mapped: mapped.len() };
        graph.outputs = graph.transform(Transform { how, body: inner }, args, Span::call_site());
        let made = resolved(&graph);
        close(&format!("{what}, mapped over {mapped:?}"), &run(&made, &tensors)[0], &run(&graph, &tensors)[0]);
    }
}

/// The derivative of `body` in a direction, weighted, against its weighted gradient in that direction.
pub fn pushes(what: &str, inputs: &[(Vec<Dim>, Fill)], body: Body<'_>) {
    let types = types(inputs);
    let floats: Vec<usize> = (0..types.len()).filter(|&k| types[k].dtype == DType::F32).collect();
    let order: Vec<usize> = floats.iter().copied().chain((0..types.len()).filter(|k| !floats.contains(k))).collect();
    let inner = function(&types, &order, body);
    let result = inner.ty(inner.outputs[0]).clone();
    if result.dtype != DType::F32 {
        return;
    }
    let mut numbers = Numbers::new(6);
    let mut graph = Graph::default();
    let mut tensors: Vec<Tensor> = order.iter().map(|&k| random(&inputs[k].0, inputs[k].1, &mut numbers)).collect();
    let mut args: Vec<Value> = order.iter().map(|&k| declare(&mut graph, types[k].clone())).collect();
    let values = args.clone();
    for &k in &floats {
        args.push(declare(&mut graph, types[k].clone()));
        tensors.push(random(&inputs[k].0, Fill::Any, &mut numbers));
    }
    let weights = declare(&mut graph, result.clone());
    tensors.push(random(&result.shape, Fill::Any, &mut numbers));
    let how = How::Jvp { wrt: floats.len() };
    let pushed = graph.transform(Transform { how, body: inner.clone() }, args, Span::call_site());
    let plain = graph.append(&inner, &values)[0];
    let dot = |graph: &mut Graph, a: Value, b: Value| {
        let mut sites = 0;
        let mut builder = builder(graph, &mut sites);
        let product = builder.mul(a, b).unwrap();
        let axes: Vec<usize> = (0..builder.rank(product)).collect();
        builder.sum(product, &axes).unwrap()
    };
    let forwards = dot(&mut graph, pushed[1], weights);
    graph.outputs = vec![pushed[0], plain, forwards];
    let mut graph = resolved(&graph);
    let plain = graph.outputs[1];
    let weights = graph.inputs().find(|(k, _)| *k == tensors.len() - 1).map(|(_, v)| v);
    let inputs = |k: usize, graph: &Graph| graph.inputs().find(|(at, _)| *at == k).map(|(_, v)| v);
    let loss = match weights {
        Some(weights) => dot(&mut graph, plain, weights),
        None => return,
    };
    for k in 0..floats.len() {
        let Some(x) = inputs(k, &graph) else { continue };
        let gradient = differentiate(&mut graph, loss, &[x])[0];
        let tangent = inputs(values.len() + k, &graph);
        let along = tangent.map(|t| dot(&mut graph, gradient, t));
        graph.outputs.extend(along);
    }
    let found = run(&graph, &tensors);
    close(&format!("{what}: value beside the tangent"), &found[0], &found[1]);
    let backwards: f64 = found[3..].iter().map(|t| t.f64s()[0]).sum();
    close(&format!("{what}: tangent"), &found[2], &Tensor::floats([], vec![backwards]));
}
