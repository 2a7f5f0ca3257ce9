//! Random tensors and finite differences for the tests of derivatives.

pub mod lanes;

use precast_compiler::ir::simplify::simplify;
use precast_compiler::ir::verify::verify_graph;
use precast_compiler::ir::{DType, Dim, Graph, Kind, Type, Value};
use precast_compiler::ops::{Builder, OpError};
use precast_compiler::oracle::{Data, Tensor, run_graph, threefry};
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;

/// What the tests bind `B` to.
pub const BATCH: i64 = 3;

/// A generator of test numbers.
pub struct Numbers(u32);

impl Numbers {
    pub fn new(seed: u32) -> Numbers {
        Numbers(seed << 16)
    }

    pub fn word(&mut self) -> u32 {
        self.0 += 1;
        threefry([7, 11], [self.0, 0])[0]
    }

    /// Between -2 and 2, all distinct in practice and away from zero.
    pub fn float(&mut self) -> f64 {
        let x = f64::from(self.word()) / f64::from(u32::MAX) * 4.0 - 2.0;
        if x.abs() < 0.05 { self.float() } else { x }
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.word() % n
    }
}

/// What numbers an input has.
#[derive(Clone, Copy)]
pub enum Fill {
    Any,
    /// Between 0.3 and 2.
    Positive,
    /// u32 below the number.
    Index(u32),
}

pub fn dims(shape: &[&str]) -> Vec<Dim> {
    shape.iter().map(|s| s.parse::<i64>().map_or_else(|_| Dim::name(*s), Dim::from)).collect()
}

pub fn extents(shape: &[Dim]) -> Vec<usize> {
    shape.iter().map(|d| d.eval(&|_| Some(BATCH)).unwrap() as usize).collect()
}

pub fn random(shape: &[Dim], fill: Fill, numbers: &mut Numbers) -> Tensor {
    let shape = extents(shape);
    let count: usize = shape.iter().product();
    match fill {
        Fill::Any => Tensor::floats(shape, (0..count).map(|_| numbers.float()).collect()),
        Fill::Positive => Tensor::floats(shape, (0..count).map(|_| 0.3 + (numbers.float() + 2.0) * 0.425).collect()),
        Fill::Index(n) => Tensor::words(shape, (0..count).map(|_| numbers.below(n)).collect()),
    }
}

pub fn builder<'g>(graph: &'g mut Graph, sites: &'g mut u32) -> Builder<'g> {
    Builder { graph, span: Span::call_site(), training: true, float: DType::F32, sites, loops: vec![] }
}

/// Every graph of the tests keeps the invariants, and prints and parses back.
pub fn sound(graph: &Graph) {
    verify_graph(graph).unwrap();
    let text = graph.to_string();
    let parsed: Graph = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(parsed.to_string(), text);
}

pub type Body<'f> = &'f dyn Fn(&mut Builder<'_>, &[Value]) -> Result<Value, OpError>;

/// A graph whose output is the sum of `body`'s float result weighted by a last input; gives its input nodes.
pub fn weighted(inputs: &[(Vec<Dim>, Fill)], body: Body<'_>) -> (Graph, Vec<Value>, Vec<Dim>) {
    let mut graph = Graph::default();
    let mut nodes = vec![];
    for (k, (shape, fill)) in inputs.iter().enumerate() {
        let dtype = if matches!(fill, Fill::Index(_)) { DType::U32 } else { DType::F32 };
        nodes.push(graph.push(Kind::Input(k), vec![], Some(Type::new(dtype, shape.clone())), Span::call_site()));
    }
    let result = body(&mut builder(&mut graph, &mut 0), &nodes).unwrap();
    let ty = graph.ty(result).clone();
    let weights = graph.push(Kind::Input(nodes.len()), vec![], Some(ty.clone()), Span::call_site());
    let mut sites = 0;
    let mut b = builder(&mut graph, &mut sites);
    let product = b.mul(result, weights).unwrap();
    let sum = b.sum(product, &(0..ty.rank()).collect::<Vec<_>>()).unwrap();
    graph.outputs = vec![sum];
    (graph, nodes, ty.shape)
}

fn scalar(graph: &Graph, inputs: &[Tensor]) -> f64 {
    run_graph(graph, inputs, &[("B", BATCH)])[0].f64s()[0]
}

/// Compares derivatives of the graph's first output with central differences; `order` times, each time of
/// a weighted sum of the gradients before.
pub fn compare(what: &str, graph: Graph, inputs: Vec<Tensor>, wrt: &[Value], order: usize) {
    let graph = check_once(what, graph, &inputs, wrt);
    if order < 2 {
        return;
    }
    let (mut graph, mut inputs) = (graph, inputs);
    let gradients = graph.outputs[1..].to_vec();
    let mut numbers = Numbers::new(99);
    let mut sum = None;
    for gradient in gradients {
        let ty = graph.ty(gradient).clone();
        let weights = graph.push(Kind::Input(inputs.len()), vec![], Some(ty.clone()), Span::call_site());
        inputs.push(random(&ty.shape, Fill::Any, &mut numbers));
        let mut sites = 0;
        let mut b = builder(&mut graph, &mut sites);
        let product = b.mul(gradient, weights).unwrap();
        let term = b.sum(product, &(0..ty.rank()).collect::<Vec<_>>()).unwrap();
        sum = Some(match sum {
            None => term,
            Some(sum) => b.add(sum, term).unwrap(),
        });
    }
    graph.outputs = vec![sum.unwrap()];
    let places: Vec<usize> = wrt.iter().map(|v| v.0 as usize).collect();
    let nodes: Vec<Value> =
        places.iter().filter_map(|p| graph.inputs().find(|(k, _)| k == p)).map(|(_, v)| v).collect();
    compare(&format!("{what}, order two"), graph, inputs, &nodes, order - 1);
}

fn check_once(what: &str, mut graph: Graph, inputs: &[Tensor], wrt: &[Value]) -> Graph {
    let places: Vec<usize> = wrt
        .iter()
        .map(|v| match graph.node(*v).kind {
            Kind::Input(k) => k,
            _ => panic!("derivatives are taken of inputs"),
        })
        .collect();
    let plain = graph.clone();
    let gradients = differentiate(&mut graph, plain.outputs[0], wrt);
    graph.outputs.extend(gradients);
    sound(&graph);
    let graph = simplify(graph, &mut []);
    sound(&graph);
    let results = run_graph(&graph, inputs, &[("B", BATCH)]);
    assert_eq!(results[0].f64s()[0], scalar(&plain, inputs), "{what}: the value changed");
    for (&place, gradient) in places.iter().zip(&results[1..]) {
        probe(what, &plain, inputs, place, gradient, &|_| 0.0).unwrap_or_else(|why| panic!("{why}\n{graph}"));
    }
    graph
}

/// Compares the gradient of the input at a place with central differences of a graph's first output; `rounding` says how
/// much more an element may differ.
pub fn probe(
    what: &str,
    graph: &Graph,
    inputs: &[Tensor],
    place: usize,
    gradient: &Tensor,
    rounding: &dyn Fn(f64) -> f64,
) -> Result<(), String> {
    assert_eq!(gradient.shape, inputs[place].shape, "{what}: shape of the gradient of input {place}");
    let value = scalar(graph, inputs);
    // Large tensors are probed at some forty elements.
    let stride = gradient.data.len().div_ceil(40).max(1);
    for (i, &exact) in gradient.f64s().iter().enumerate().step_by(stride) {
        let at = |h: f64| {
            let mut moved = inputs.to_vec();
            match &mut moved[place].data {
                Data::Float(_, x) => x[i] += h,
                _ => panic!("derivatives are of floats"),
            }
            scalar(graph, &moved)
        };
        let scale = (1.0 + exact.abs()).max(value.abs());
        // Fourth order, where the error is that of f64; a bend within the step needs a smaller one.
        let close = [(1e-4, 4e-8), (1e-6, 2e-6)].into_iter().any(|(h, bound)| {
            let estimate = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
            (exact - estimate).abs() < bound * scale + rounding(estimate)
        });
        let rough = (at(1e-5) - at(-1e-5)) / 2e-5;
        if !close {
            return Err(format!("{what}: input {place}[{i}]: {exact} against about {rough}"));
        }
    }
    Ok(())
}

/// Checks `body`'s derivatives with respect to every float input, backwards and forwards, and `body` mapped.
pub fn check(what: &str, inputs: &[(Vec<Dim>, Fill)], order: usize, body: Body<'_>) {
    let (graph, nodes, shape) = weighted(inputs, body);
    let mut numbers = Numbers::new(what.bytes().map(u32::from).sum());
    let mut tensors: Vec<Tensor> = inputs.iter().map(|(s, fill)| random(s, *fill, &mut numbers)).collect();
    tensors.push(random(&shape, Fill::Any, &mut numbers));
    let floats: Vec<Value> = nodes.into_iter().filter(|v| graph.ty(*v).dtype == DType::F32).collect();
    compare(what, graph, tensors, &floats, order);
    lanes::pushes(what, inputs, body);
    lanes::maps(what, inputs, body);
}
