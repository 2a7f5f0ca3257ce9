//! Functions as ONNX files: what a file computes when it is read again is what the function computes, and what has no file says why.
//!
//! With `PRECAST_ONNX_SUITE=DIR` the files are written with arguments and results, as a suite for `tests/onnx/round_trip.py`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::ir::model::{Argument, NamedDim};
use precast_compiler::ir::{DType, Dim, Function, Mode, Model, Param, Type};
use precast_compiler::onnx::proto::{DimensionProto, Extent, GraphProto, ModelProto, ValueInfoProto};
use precast_compiler::onnx::{self, Bound, File, Imported};
use precast_compiler::ops::{optimizer_of, programs};
use precast_compiler::oracle::{Data, Env, Rounding, Tensor, run};
use precast_compiler::pipeline::check;
use precast_compiler::stages::{expand::expand, grad::grad};
use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use prost::Message;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }

    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        f64::from(self.word()) / f64::from(u32::MAX)
    }

    fn tensor(
        &mut self,
        ty: &Type,
        dims: &BTreeMap<String, i64>,
        number: &mut dyn FnMut(&mut Random) -> f64,
    ) -> Tensor {
        let extent = |dim: &Dim| dim.eval(&|name| dims.get(name).copied()).unwrap() as usize;
        let shape: Vec<usize> = ty.shape.iter().map(extent).collect();
        let numbers = (0..shape.iter().product()).map(|_| number(self)).collect();
        Tensor::new(shape, Data::of(ty.dtype, numbers))
    }
}

/// The models of a text, as they are behind grad.
fn models(text: TokenStream) -> Vec<Model> {
    let (models, diags) = check(text);
    if diags.is_empty() { models.into_iter().map(|model| grad(expand(model), optimizer_of)).collect() } else { vec![] }
}

fn model(text: &str) -> Model {
    let (_, diags) = check(text.parse().unwrap());
    assert!(diags.is_empty(), "{:?}", diags.list().iter().map(|report| report.text()).collect::<Vec<_>>());
    models(text.parse().unwrap()).remove(0)
}

/// Random parameters: as files have them, and as they are computed with.
fn parameters(model: &Model, random: &mut Random) -> (Vec<Tensor>, Vec<Tensor>) {
    let none = BTreeMap::new();
    let mut draw = |param: &Param| {
        let dtype = model.stored_as(param);
        let is_scale =
            model.params.iter().any(|other| other.scales.is_some_and(|id| std::ptr::eq(model.param(id), param)));
        let number = &mut |random: &mut Random| match param {
            _ if dtype.is_integer() => f64::from(random.word() % 255) - 127.0,
            _ if is_scale => 0.001 + random.unit() * 0.002,
            _ if !param.trained => 0.5 + random.unit(),
            _ => dtype.nearest(random.unit() * 0.6 - 0.3),
        };
        random.tensor(&Type { dtype, ..param.stacked() }, &none, number)
    };
    let stored: Vec<Tensor> = model.params.iter().map(&mut draw).collect();
    let computed = |(param, own): (&Param, &Tensor)| {
        let mut numbers = own.data.numbers();
        if let Some(scales) = param.scales {
            let scales = stored[scales.0 as usize].f64s();
            let row = numbers.len() / scales.len();
            numbers
                .iter_mut()
                .enumerate()
                .for_each(|(k, number)| *number = param.ty.dtype.nearest(*number * scales[k / row]));
        }
        Tensor::new(own.shape.clone(), Data::of(param.ty.dtype, numbers))
    };
    let all = model.params.iter().zip(&stored).map(computed).collect();
    (stored, all)
}

/// Arguments for a function, with small extents.
fn arguments(function: &Function, extent: i64, random: &mut Random) -> (Vec<Tensor>, BTreeMap<String, i64>) {
    let value = |dim: &NamedDim| (dim.name.clone(), dim.bound.map_or(extent, |most| most.min(extent)));
    let dims: BTreeMap<String, i64> = function.dims.iter().map(value).collect();
    let draw = |arg: &Argument| {
        let number: &mut dyn FnMut(&mut Random) -> f64 = match arg.ty.dtype {
            dtype if dtype.is_float() => &mut |random| arg.ty.dtype.nearest(random.unit() * 2.0 - 1.0),
            DType::Bool => &mut |random| f64::from(random.word() % 2),
            _ if arg.ty.shape.is_empty() => &mut |_| 1.0,
            _ => &mut |random| f64::from(random.word() % 4),
        };
        random.tensor(&arg.ty, &dims, number)
    };
    (function.args.iter().map(draw).collect(), dims)
}

/// Writes a test of a suite, if the environment asks for it.
fn write(name: &str, file: &ModelProto, args: &[Tensor], results: &[Tensor]) {
    let Some(suite) = std::env::var_os("PRECAST_ONNX_SUITE") else { return };
    let folder = PathBuf::from(suite).join("node").join(name);
    let data = folder.join("test_data_set_0");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(folder.join("model.onnx"), file.encode_to_vec()).unwrap();
    for (kind, tensors) in [("input", args), ("output", results)] {
        for (k, tensor) in tensors.iter().enumerate() {
            std::fs::write(data.join(format!("{kind}_{k}.pb")), onnx::export::message(tensor).encode_to_vec()).unwrap();
        }
    }
}

/// What a file computes when it is read again; nothing where it is not read yet, as with loops and what only a call decides.
fn read_again(file: &ModelProto, args: &[Tensor]) -> Option<Vec<Tensor>> {
    let imported: Imported =
        onnx::import(&File::decode(file.encode_to_vec(), None).ok()?, &Bound::default(), Span::call_site()).ok()?;
    let (model, known) = imported.model("Again");
    let params = known.iter().zip(&model.params).map(|(known, param)| {
        let tensor = known.elements();
        Tensor::new(tensor.shape.clone(), Data::Float(param.ty.dtype, tensor.data.numbers()))
    });
    let env = Env { args: args.to_vec(), params: params.collect(), rounding: Rounding::Nearest, ..Env::default() };
    Some(run(&model.functions[0], &model, &env).unwrap().results)
}

/// Nothing, or where two tensors differ.
fn difference(wanted: &Tensor, made: &Tensor) -> Option<String> {
    let dtype = wanted.data.dtype();
    if (&wanted.shape, dtype) != (&made.shape, made.data.dtype()) {
        return Some(format!("{}{:?} instead of {dtype}{:?}", made.data.dtype(), made.shape, wanted.shape));
    }
    let relative = if dtype.is_float() { (4.0 * dtype.epsilon()).max(1e-4) } else { 0.0 };
    let is_near = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= relative * a.abs().max(1.0);
    let (a, b) = (wanted.data.numbers(), made.data.numbers());
    let at = (0..a.len()).find(|&k| !is_near(a[k], b[k]))?;
    Some(format!("element {at} is {}, not {}", b[at], a[at]))
}

/// What came of an export that is not wrong.
#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    /// The file gives what the function does.
    Equal,
    /// The file is not read.
    NotRead,
    /// There is no file.
    Refused,
}

/// What came of many.
#[derive(Default)]
struct Tally {
    equal: usize,
    not_read: usize,
    failed: Vec<String>,
}

impl Tally {
    fn count(&mut self, name: &str, judge: impl FnOnce() -> Result<Outcome, String>) {
        match catch_unwind(AssertUnwindSafe(judge)).unwrap_or_else(|_| Err(format!("{name} panicked"))) {
            Ok(Outcome::Equal) => self.equal += 1,
            Ok(Outcome::NotRead) => self.not_read += 1,
            Ok(Outcome::Refused) => {}
            Err(why) => self.failed.push(why),
        }
    }

    /// Nothing is wrong, and most files are read.
    fn assert(self, least: usize) {
        let Tally { equal, not_read, failed } = self;
        assert!(failed.is_empty(), "{}", failed.join("\n"));
        assert!(equal >= least, "{equal} are equal, {not_read} are not read");
    }
}

/// Exports a function, and compares what the file gives with what the oracle does.
fn judge(
    name: &str,
    model: &Model,
    function: &Function,
    args: Vec<Tensor>,
    random: &mut Random,
) -> Result<Outcome, String> {
    let Ok(exported) = onnx::export(model, function) else { return Ok(Outcome::Refused) };
    let (stored, params) = parameters(model, random);
    let file = exported.with_parameters(model, &stored);
    let env = Env { args: args.clone(), params, rounding: Rounding::Nearest, ..Env::default() };
    // Extents that are too small for a function stop the oracle.
    let Ok(run) = catch_unwind(AssertUnwindSafe(|| run(function, model, &env))) else { return Ok(Outcome::Refused) };
    let wanted = run.map_err(|why| format!("{name}: {why}"))?.results;
    write(name, &file, &args, &wanted);
    let Some(made) = read_again(&file, &args) else { return Ok(Outcome::NotRead) };
    let found = wanted.iter().zip(&made).enumerate().find_map(|(k, (a, b))| Some((k, difference(a, b)?)));
    found.map_or(Ok(Outcome::Equal), |(k, why)| Err(format!("{name}: result {k}: {why}")))
}

#[test]
fn files_of_all_ops_compute_what_the_ops_do() {
    let mut tally = Tally::default();
    for program in programs() {
        let Some(model) = models(program.text.parse().unwrap()).pop() else { continue };
        let random = &mut Random(7);
        for (round, batch) in [5usize, 1].into_iter().enumerate() {
            let dims = BTreeMap::from([("B".to_owned(), batch as i64)]);
            let mut draw = |input: &precast_compiler::ops::Input| {
                let extent = |dim: &Dim| dim.eval(&|name| dims.get(name).copied()).unwrap() as usize;
                let shape: Vec<usize> = input.ty.shape.iter().map(extent).collect();
                let numbers = input.domain.sample(shape.iter().product(), &mut || random.word());
                Tensor::new(shape, Data::of(input.ty.dtype, numbers))
            };
            let args: Vec<Tensor> = program.inputs().iter().map(&mut draw).collect();
            let Some(function) = model.functions.iter().find(|own| own.name == "value") else { continue };
            let name = format!("{}_{round}", program.name);
            tally.count(&name, || judge(&name, &model, function, args, random));
        }
    }
    tally.assert(1);
}

/// The texts of `model!` in a file.
fn texts(tokens: TokenStream, found: &mut Vec<TokenStream>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let is_macro = at >= 2
            && group.delimiter() == Delimiter::Brace
            && matches!(&tokens[at - 1], TokenTree::Punct(mark) if mark.as_char() == '!')
            && matches!(&tokens[at - 2], TokenTree::Ident(name) if name == "model");
        if is_macro { found.push(group.stream()) } else { texts(group.stream(), found) }
    }
}

/// The files of a folder and of those in it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
}

/// More elements than these in parameters or values take the oracle too long.
const MOST: i64 = 1 << 16;

fn is_small(model: &Model, function: &Function) -> bool {
    let count = |ty: &Type| ty.count().eval(&|_| Some(3)).unwrap_or(0);
    let types = function.graph.nodes.iter().filter_map(|node| node.ty.as_ref());
    model.params.iter().map(|param| count(&param.stacked())).chain(types.map(count)).all(|count| count <= MOST)
}

#[test]
fn files_of_the_models_of_this_tree_compute_what_the_models_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut all = vec![];
    for folder in ["examples", "tests/tests/behaviour", "tests/tests/machine", "tests/hygiene"] {
        files(&root.join(folder), &mut all);
    }
    let mut tally = Tally::default();
    for path in all {
        let Ok(tokens) = std::fs::read_to_string(&path).unwrap().parse::<TokenStream>() else { continue };
        let mut found = vec![];
        texts(tokens, &mut found);
        for (number, text) in found.into_iter().enumerate() {
            for model in models(text) {
                for function in &model.functions {
                    if !is_small(&model, function) {
                        continue;
                    }
                    let random = &mut Random(7);
                    let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
                    let name = format!("{stem}_{number}_{}_{}", model.name, function.name);
                    let (args, _) = arguments(function, 3, random);
                    tally.count(&name, || judge(&name, &model, function, args, random));
                }
            }
        }
    }
    tally.assert(150);
}

/// Numbers at the ends of types, and what is no number.
#[test]
fn files_compute_with_numbers_at_the_ends_of_types() {
    let mut tally = Tally::default();
    for dtype in [DType::I32, DType::U32, DType::I64, DType::U64] {
        let text = "pub struct Net {} impl Net {
                pub fn run(&self, a: T[N], b: T[N]) -> (T[N], T[N], T[N], T[N], T[N], T[N], T[N], T[N], T[N], bool[N], bool[N], bool[N], f32[N], f16[N], i8[N], u16[N], i32[N], u32[N], i64[N], u64[N]) {
                    (a / b, a % b, a + b, a - b, a * b, maximum(a, b), minimum(a, b), a / 3, 1 / b, a < b, a <= b, a == b,
                     a.f32(), a.f16(), a.i8(), a.u16(), a.i32(), a.u32(), a.i64(), a.u64())
                }
            }"
        .replace("T[", &format!("{dtype}["));
        let (least, greatest) = dtype.integers();
        let ends = [least, least + 1, greatest, greatest - 1, 0, 1, 2, 33, dtype.wrapped(-1), dtype.wrapped(-7), 1000];
        let pairs = ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b)));
        let (a, b): (Vec<i128>, Vec<i128>) = pairs.unzip();
        let args = [a, b].map(|all| Tensor::new([all.len()], Data::Int(dtype, all))).to_vec();
        let model = model(&text);
        let name = format!("ends_of_{dtype}");
        tally.count(&name, || judge(&name, &model, &model.functions[0], args, &mut Random(7)));
    }
    for dtype in [DType::F32, DType::F64] {
        let text = "pub struct Net {} impl Net {
                pub fn run(&self, a: T[N], b: T[N]) -> (T[N], T[N], T[N], T[N], T[N], T[N], T[N], i32[N], u32[N], i64[N], u64[N], i8[N], u8[N], i16[N], u16[N], f16[N], bool[N], bool[N]) {
                    (maximum(a, b), minimum(a, b), sign(a), round(a), expm1(a), log1p(a), relu(a),
                     a.i32(), a.u32(), a.i64(), a.u64(), a.i8(), a.u8(), a.i16(), a.u16(),
                     a.f16(), a < b, a != b)
                }
            }"
            .replace("T[", &format!("{dtype}["));
        let ends = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            1e-3,
            -1e-4,
            3.7,
            -3.7,
            127.6,
            128.0,
            255.9,
            256.5,
            32_767.5,
            65_519.0,
            65_520.0,
            2_147_483_520.0,
            2_147_483_648.0,
            4_294_967_296.0,
            9.3e18,
            -9.3e18,
            2e19,
            3.3e38,
            -2.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        let ends = ends.map(|x| dtype.nearest(x));
        let (a, b): (Vec<f64>, Vec<f64>) = ends.iter().flat_map(|&a| ends.iter().map(move |&b| (a, b))).unzip();
        let args = [a, b].map(|all| Tensor::new([all.len()], Data::Float(dtype, all))).to_vec();
        let model = model(&text);
        let name = format!("ends_of_{dtype}");
        tally.count(&name, || judge(&name, &model, &model.functions[0], args, &mut Random(7)));
    }
    tally.assert(5);
}

#[test]
fn positions_outside_read_nothing_and_add_nothing() {
    let model = model(
        "pub struct Net { table: Embedding(5, 3) } impl Net {
            pub fn run(&self, x: f32[B, 4, 3], n: i64[B, 4], t: bool[4], at: u32[6])
                -> (f32[6, 3], f32[B, 6, 3], i64[B, 6], bool[6], f32[B, 4, 3])
            {
                let read = take(x, at, axis = 1);
                (self.table(at), read, take(n, at, axis = 1), take(t, at), index_add(x, at, read, axis = 1))
            }
        }",
    );
    let random = &mut Random(7);
    let (mut args, _) = arguments(&model.functions[0], 2, random);
    args[3] = Tensor::words([6], vec![0, 3, 4, 1, u32::MAX, 3]);
    let mut tally = Tally::default();
    tally.count("outside", || judge("outside", &model, &model.functions[0], args, random));
    tally.assert(1);
}

fn refusal(text: &str) -> &'static str {
    let model = model(text);
    let Err(why) = onnx::export(&model, &model.functions[0]) else { panic!("there is a file for {text}") };
    why
}

#[test]
fn what_has_no_file_says_why() {
    let draws = "pub struct Net {} impl Net { pub fn run(&self, x: f32[B], key: u32[2]) -> f32[B] { dropout(x, 0.5, key = key) } }";
    assert_eq!(refusal(draws), "it draws random numbers");
    let state = "pub struct Net { state last: f32[4] } impl Net {
        pub fn run(&mut self, x: f32[4]) -> f32[4] { let y = self.last; self.last = x; y } }";
    assert_eq!(refusal(state), "it reads or changes the state of a session");
    let foreign = "extern fn other(x: f32[B]) -> f32[B]; pub struct Net {} impl Net { pub fn run(&self, x: f32[B]) -> f32[B] { other(x) } }";
    assert_eq!(refusal(foreign), "it calls a foreign function");
    let trained = "pub struct Net { layer: Linear(2, 1) } impl Net {
        #[train(Sgd)] pub fn run(&self, x: f32[B, 2]) -> f32 { mean(self.layer(x)) } }";
    let model = model(trained);
    let step = model.functions.iter().find(|own| matches!(own.mode, Mode::Train(_))).unwrap();
    assert_eq!(onnx::export(&model, step).unwrap_err(), "it is a step of training");
}

fn graph(text: &str, function: &str) -> GraphProto {
    let model = model(text);
    let function = model.functions.iter().find(|own| own.name == function).unwrap();
    onnx::export(&model, function).unwrap().file.graph.unwrap()
}

fn operators(graph: &GraphProto) -> Vec<&str> {
    graph.node.iter().map(|node| node.op_type.as_str()).filter(|name| *name != "Constant").collect()
}

#[test]
fn layers_are_their_operators() {
    let text = "pub struct Net { conv: Conv2d(3, 8, kernel = 3, padding = 1), hidden: Linear(8 * 4 * 4, 16), output: Linear(16, 4) }
        impl Net { pub fn scores(&self, image: f32[B, 3, 8, 8]) -> f32[B, 4] {
            let x = max_pool2d(relu(self.conv(image)), window = 2);
            self.output(relu(self.hidden(flatten(x)))) } }";
    let graph = graph(text, "scores");
    let expected = ["Conv", "Unsqueeze", "Add", "Relu", "MaxPool", "Reshape", "Gemm", "Add", "Relu", "Gemm", "Add"];
    assert_eq!(operators(&graph), expected);
    let inputs: Vec<&str> = graph.node.iter().flat_map(|node| &node.input).map(String::as_str).collect();
    for name in ["image", "conv.weight", "conv.bias", "hidden.weight", "output.bias"] {
        assert!(inputs.contains(&name), "{name} of {inputs:?}");
    }
}

const STACK: &str = "
    struct Layer { up: Linear(4, 4) }
    impl Layer { fn forward(&self, x: f32[B, T, 4]) -> f32[B, T, 4] { x + tanh(self.up(x)) } }
    pub struct Net { layers: [Layer; 3] }
    impl Net {
        pub fn run(&self, x: f32[B, T, 4]) -> (f32[B * T, 4], f32[B, 4]) {
            let mut y = x;
            for layer in self.layers { y = layer(y); }
            let last = fold(transpose(y, [1, 0, 2]), axis = 0, from = zeros([B, 4]), |state, row| state * 0.5 + row);
            (reshape(y, [B * T, 4]), last)
        }
    }";

#[test]
fn repeated_blocks_are_written_out_and_scans_are_loops() {
    let graph = graph(STACK, "run");
    let count = |name: &str| operators(&graph).iter().filter(|own| **own == name).count();
    assert_eq!((count("Tanh"), count("Loop")), (3, 1), "{:?}", operators(&graph));
    let reads = |name: &str| graph.node.iter().any(|node| node.input.iter().any(|own| own == name));
    assert!((0..3).all(|k| reads(&format!("layers.{k}.up.weight")) && reads(&format!("layers.{k}.up.bias"))));
}

#[test]
fn arguments_results_and_dimensions_keep_their_names() {
    let dims = |info: &ValueInfoProto| -> Vec<String> {
        let shape = info.r#type.as_ref().unwrap().tensor_type.as_ref().unwrap().shape.as_ref().unwrap();
        let extent = |dim: &DimensionProto| match dim.value.as_ref().unwrap() {
            Extent::DimValue(number) => number.to_string(),
            Extent::DimParam(name) => name.clone(),
        };
        shape.dim.iter().map(extent).collect()
    };
    let named =
        |all: &[ValueInfoProto]| all.iter().map(|info| (info.name.clone(), dims(info).join(", "))).collect::<Vec<_>>();
    let pair = |name: &str, dims: &str| (name.to_owned(), dims.to_owned());
    let graph_of = graph(STACK, "run");
    assert_eq!(named(&graph_of.input), [pair("x", "B, T, 4")]);
    assert_eq!(named(&graph_of.output), [pair("result_0", "B*T, 4"), pair("result_1", "B, 4")]);
    // A parameter's name is its own; what would share it has a number.
    let text = "pub struct Net { weight: Parameter([4]) } impl Net {
        pub fn run(&self, weight: f32[B, 4], result: f32[4]) -> Parts { sum: f32[B, 4], r#type: f32[4] } {
            Parts { sum: weight + self.weight, r#type: result } } }";
    let graph_of = graph(text, "run");
    assert_eq!(named(&graph_of.input), [pair("weight_1", "B, 4"), pair("result", "4")]);
    assert_eq!(named(&graph_of.output), [pair("sum", "B, 4"), pair("type", "4")]);
}
