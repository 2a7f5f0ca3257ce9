//! Kernels and memory plans against the oracle: what fuse, schedule and memory make of every op's examples and
//! of whole models computes what the graphs say.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and share public modules"
)]

#[path = "support/call.rs"]
mod call;
#[path = "support/judge.rs"]
mod judge;
mod support;

use call::call;
use judge::{check_memory, compile, judge, model, params, plain};
use precast_compiler::ir::kernel::{Kernel, Skeleton};
use precast_compiler::ir::model::{Effect, place, scale};
use precast_compiler::ir::precision::Storage;
use precast_compiler::ir::prim::{MapOp, Prim};
use precast_compiler::ir::{DType, Dim, Graph, Kind, Mode, Model, ParamId, Type, Value};
use precast_compiler::ops::{Builder, Example, Item, OpError, Optimizer, items};
use precast_compiler::pipeline::{lower, lower_by};
use precast_compiler::stages::grad::differentiate;
use proc_macro2::Span;
use std::collections::BTreeMap;
use support::{Numbers, builder};

const EXTENTS: [i64; 3] = [1, 5, 17];

fn optimizers() -> Vec<&'static Optimizer> {
    let found = |item| match item {
        Item::Optimizer(optimizer) => Some(optimizer),
        Item::Op(_) | Item::Layer(_) => None,
    };
    items().filter_map(found).collect()
}

fn examples() -> impl Iterator<Item = &'static Example> {
    items().flat_map(|item| match item {
        Item::Op(op) => op.examples,
        Item::Layer(_) | Item::Optimizer(_) => &[],
    })
}

/// Every example at several batch sizes.
fn each_example(what: &str, mut make: impl FnMut(&Example) -> Option<(Graph, Vec<Vec<Dim>>, Mode)>) {
    let mut numbers = Numbers::new(1);
    for example in examples() {
        let Some((graph, shapes, mode)) = make(example) else { continue };
        let compiled = lower(model(graph, params(&shapes), mode));
        let name = format!("{what} of `{}`", example.call);
        check_memory(&name, &compiled, &mut numbers);
        for extent in EXTENTS {
            // Named dimensions of examples are B, and sometimes another one.
            let dims: Vec<(&str, i64)> =
                compiled.model.functions[0].dims.iter().map(|d| (d.name.as_str(), extent)).collect();
            judge(&name, &compiled, &dims, &|k, _, count, numbers| {
                let (.., domain) = example.inputs.get(k)?;
                Some(domain.sample(count, &mut || numbers.word()))
            });
            if dims.is_empty() {
                break;
            }
        }
    }
}

fn input(graph: &mut Graph, k: usize, ty: Type) -> Value {
    graph.push(Kind::Input(k), vec![], Some(ty), Span::call_site())
}

fn apply(graph: &mut Graph, example: &Example, inputs: &[Value]) -> Vec<Value> {
    let names: Vec<(&str, Value)> = example.inputs.iter().map(|(name, ..)| *name).zip(inputs.iter().copied()).collect();
    call(graph, example.call, &names).unwrap_or_else(|e| panic!("`{}`: {}", example.call, e.message))
}

#[test]
fn values_of_examples() {
    each_example("value", |example| {
        let mut graph = Graph::default();
        let types = example.input_types().unwrap();
        let inputs: Vec<Value> = types.into_iter().enumerate().map(|(k, ty)| input(&mut graph, k, ty)).collect();
        graph.outputs = apply(&mut graph, example, &inputs);
        Some((graph, vec![], Mode::Evaluate))
    });
}

/// Floats of constant extents are parameters, which are stored in fewer bits.
#[test]
fn values_of_examples_with_stored_parameters() {
    let mut numbers = Numbers::new(1);
    let each = Storage::ALL.into_iter().flat_map(|storage| examples().map(move |example| (storage, example)));
    for (storage, example) in each {
        let (mut graph, mut inputs, mut shapes, mut given) = (Graph::default(), vec![], vec![], vec![]);
        for (k, ty) in example.input_types().unwrap().into_iter().enumerate() {
            let stored = ty.dtype == DType::F32 && ty.shape.iter().all(|extent| extent.as_const().is_some());
            inputs.push(match stored {
                false => {
                    given.push(example.inputs[k].2);
                    input(&mut graph, given.len() - 1, ty)
                }
                true => {
                    shapes.push(ty.shape.clone());
                    let id = ParamId(shapes.len() as u32 - 1);
                    graph.push(Kind::Param(id), vec![], Some(ty), Span::call_site())
                }
            });
        }
        if shapes.is_empty() {
            continue;
        }
        graph.outputs = apply(&mut graph, example, &inputs);
        let mut all = params(&shapes);
        if storage == Storage::Int8 {
            scale(&mut all);
            place(&mut all);
        }
        let compiled = lower(Model { storage: Some(storage), ..model(graph, all, Mode::Evaluate) });
        let name = format!("{} of `{}`", storage.name(), example.call);
        check_memory(&name, &compiled, &mut numbers);
        let dims: Vec<(&str, i64)> = compiled.model.functions[0].dims.iter().map(|d| (d.name.as_str(), 5)).collect();
        judge(&name, &compiled, &dims, &|k, _, count, numbers| {
            Some(given.get(k)?.sample(count, &mut || numbers.word()))
        });
    }
}

/// The sum of all results, each times itself where that has a derivative.
fn squares(b: &mut Builder<'_>, results: &[Value]) -> Result<Value, OpError> {
    let mut total = b.full(DType::F32, &[], 0.0)?;
    for &result in results {
        let float = b.convert(result, DType::F32)?;
        let product = b.mul(float, float)?;
        let all: Vec<usize> = (0..b.rank(product)).collect();
        let sum = b.sum(product, &all)?;
        total = b.add(total, sum)?;
    }
    Ok(total)
}

#[test]
fn derivatives_of_examples() {
    each_example("derivative", |example| {
        let mut graph = Graph::default();
        let types = example.input_types().unwrap();
        let inputs: Vec<Value> = types.into_iter().enumerate().map(|(k, ty)| input(&mut graph, k, ty)).collect();
        graph.outputs = apply(&mut graph, example, &inputs);
        // Derivatives are of primitives.
        let expanded = precast_compiler::stages::expand::expand(model(graph, vec![], Mode::Evaluate));
        let mut graph = expanded.functions.into_iter().next()?.graph;
        let results = graph.outputs.clone();
        let loss = squares(&mut builder(&mut graph, &mut 0), &results).unwrap();
        let mut inputs: Vec<(usize, Value)> = graph.inputs().collect();
        inputs.sort_unstable();
        let floats: Vec<Value> = inputs.iter().map(|(_, v)| *v).filter(|v| graph.ty(*v).dtype.is_float()).collect();
        let gradients = differentiate(&mut graph, loss, &floats);
        graph.outputs = results.into_iter().chain([loss]).chain(gradients).collect();
        (inputs.len() == example.inputs.len()).then_some((graph, vec![], Mode::Evaluate))
    });
}

#[test]
fn training_steps_of_examples() {
    let optimizers = optimizers();
    let mut turn = 0;
    each_example("training", |example| {
        turn += 1;
        let mut graph = Graph::default();
        let (mut inputs, mut shapes) = (vec![], vec![]);
        for (k, ty) in example.input_types().unwrap().into_iter().enumerate() {
            let x = input(&mut graph, k, ty.clone());
            // A parameter is added to every float input; it repeats along the named axes.
            inputs.push(match ty.dtype.is_float() {
                false => x,
                true => {
                    let fixed = |d: &Dim| if d.as_const().is_some() { d.clone() } else { Dim::from(1) };
                    let shape: Vec<Dim> = ty.shape.iter().map(fixed).collect();
                    let kind = Kind::Param(ParamId(shapes.len() as u32));
                    let param = graph.push(kind, vec![], Some(Type::new(DType::F32, shape.clone())), Span::call_site());
                    shapes.push(shape);
                    let mut b = builder(&mut graph, &mut turn);
                    let square = b.mul(param, param).unwrap();
                    let square = b.convert(square, ty.dtype).unwrap();
                    b.add(x, square).unwrap()
                }
            });
        }
        let results = apply(&mut graph, example, &inputs);
        let loss = squares(&mut builder(&mut graph, &mut 0), &results).unwrap();
        graph.outputs = [loss].into_iter().chain(results).collect();
        (!shapes.is_empty()).then_some((
            graph,
            shapes,
            Mode::Train(optimizers[turn as usize % optimizers.len()].name.into()),
        ))
    });
}

/// Compiles a text and judges all its functions at several extents of its named dimensions.
fn judge_text(what: &str, text: &str, inputs: judge::Inputs<'_>) {
    let mut numbers = Numbers::new(2);
    for compiled in compile(text) {
        check_memory(what, &compiled, &mut numbers);
        for extent in EXTENTS {
            let mut dims = BTreeMap::new();
            for function in &compiled.model.functions {
                for (k, dim) in function.dims.iter().enumerate() {
                    // Several names get several numbers.
                    let wanted = [extent, extent / 2 + 1, 3][k.min(2)];
                    dims.entry(dim.name.clone()).or_insert(dim.bound.map_or(wanted, |most| wanted.min(most)));
                }
            }
            let dims: Vec<(&str, i64)> = dims.iter().map(|(name, n)| (name.as_str(), *n)).collect();
            judge(what, &compiled, &dims, inputs);
        }
    }
}

#[test]
fn a_perceptron_under_every_optimiser() {
    for optimizer in optimizers() {
        let text = "pub struct Net { a: Linear(3, 7), b: Linear(7, 7, bias = false), c: Linear(7, 5) }
            impl Net {
                pub fn scores(&self, x: f32[B, 3]) -> f32[B, 5] { self.c(tanh(self.b(relu(self.a(x))))) }
                #[train(Adam)]
                pub fn loss(&self, x: f32[B, 3], y: u32[B]) -> f32 { cross_entropy(self.scores(x), y) }
            }";
        judge_text(optimizer.name, &text.replace("Adam", optimizer.name), &plain);
    }
}

#[test]
fn digits() {
    let text = "pub struct Digits {
            conv1: Conv2d(1, 16, kernel = 3, padding = 1),
            conv2: Conv2d(16, 32, kernel = 3, padding = 1),
            hidden: Linear(32 * 2 * 2, 64),
            output: Linear(64, 10),
        }
        impl Digits {
            pub fn scores(&self, image: f32[B, 1, 8, 8]) -> f32[B, 10] {
                let x = max_pool2d(relu(self.conv1(image)), window = 2);
                let x = max_pool2d(relu(self.conv2(x)), window = 2);
                let x = relu(self.hidden(flatten(x)));
                self.output(dropout(x, 0.25))
            }
            #[train(AdamW)]
            pub fn loss(&self, image: f32[B, 1, 8, 8], label: u32[B]) -> f32 {
                cross_entropy(self.scores(image), label)
            }
        }";
    let compiled = compile(text).remove(0);
    check_memory("digits", &compiled, &mut Numbers::new(3));
    for extent in [1, 5] {
        judge("digits", &compiled, &[("B", extent)], &plain);
    }
}

/// Running statistics: of a layer, of one that is called twice, of repeated blocks, and of one block called by number.
#[test]
fn companions() {
    let text =
        "pub struct Net { stem: Conv2d(2, 4, kernel = 3, stride = 2), norm: BatchNorm2d(4), blocks: [Block(4); 3] }
        struct Block(dim) { mix: Conv2d(dim, dim, kernel = 3, padding = 1), norm: BatchNorm2d(dim, affine = false) }
        impl Block {
            fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] { silu(self.norm(self.mix(x))) + x }
        }
        impl Net {
            pub fn features(&self, x: f32[B, 2, 7, 5]) -> f32[B, 4] {
                let mut x = self.norm(self.stem(x));
                for block in self.blocks { x = self.norm(block(x)); }
                reshape(global_max_pool(self.blocks[1].norm(x)), [B, 4])
            }
            #[train(AdamW)]
            pub fn loss(&self, x: f32[B, 2, 7, 5], y: f32[B, 4]) -> f32 { mse_loss(self.features(x), y) }
            #[train(Sgd)]
            pub fn chosen(&self, x: f32[B, 2, 7, 5], whether: bool) -> f32 {
                let x = self.stem(x);
                mean(square(if whether { self.norm(x) } else { x }))
            }
        }";
    let compiled = compile(text).remove(0);
    let stepped = compiled.model.functions.iter().flat_map(|f| &f.effects);
    let changed = stepped.filter(|(effect, _)| matches!(effect, Effect::Companion(_))).count();
    assert_eq!(changed, 6);
    check_memory("companions", &compiled, &mut Numbers::new(3));
    for extent in [2, 5] {
        judge("companions", &compiled, &[("B", extent)], &plain);
    }
}

#[test]
fn repeated_blocks() {
    let text = "pub struct Net { blocks: [Block(6); 3], towers: [Tower(6); 2], head: Linear(6, 2) }
        struct Block(dim) { norm: LayerNorm(dim), up: Linear(dim, 2 * dim), down: Linear(2 * dim, dim) }
        struct Tower(dim) { inner: [Block(dim); 3], scale: Parameter(dim) }
        impl Block {
            fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
                x + dropout(self.down(gelu(self.up(self.norm(x)))), 0.3)
            }
        }
        impl Tower {
            fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
                let mut x = x * self.scale;
                for block in self.inner { x = block(x); }
                x
            }
        }
        impl Net {
            pub fn run(&self, x: f32[B, T, 6]) -> f32[B, T, 2] {
                let mut x = x;
                for block in self.blocks { x = block(x); }
                for tower in self.towers { x = tower(x) + x; }
                self.head(x)
            }
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, T, 6], y: f32[B, T, 2]) -> f32 { mse_loss(self.run(x), y) }
        }";
    judge_text("blocks", text, &plain);
}

#[test]
fn several_values_carried_through_blocks() {
    let text = "pub struct Net { blocks: [Block(4); 3] }
        struct Block(dim) { up: Linear(dim, dim), down: Linear(dim, dim), scale: Parameter(dim) }
        impl Net {
            pub fn two(&self, x: f32[B, 4]) -> (f32[B, 4], f32, f32[B, 4]) {
                let mut x = x;
                let mut y = x;
                let mut norm = 0.0;
                for block in self.blocks {
                    let z = block.down(relu(block.up(x)));
                    norm = norm + mean(square(z));
                    let old = x;
                    x = y + block.scale * z;
                    y = old;
                }
                (x, norm, y)
            }
            pub fn swap(&self, x: f32[B, 4], y: f32[B, 4]) -> (f32[B, 4], f32[B, 4]) {
                let mut x = x;
                let mut y = y;
                for block in self.blocks {
                    let old = x;
                    x = y;
                    y = old;
                }
                (x, y)
            }
            #[train(Adam)]
            pub fn loss(&self, x: f32[B, 4]) -> (f32, f32[B, 4]) {
                let (a, norm, b) = self.two(x);
                (mean(square(a - b)) + norm, a)
            }
        }";
    judge_text("carried", text, &plain);
}

#[test]
fn results_that_are_arguments_or_each_other() {
    let text = "pub struct Net { w: Parameter(4), v: Parameter(2, 3) }
        impl Net {
            pub fn same(&self, x: f32[B, 4]) -> (f32[B, 4], f32[B, 4], f32[4], f32[B * 4]) { (x, x, self.w, reshape(x, [B * 4])) }
            pub fn twice(&self, x: f32[B, 4]) -> (f32[B, 4], f32[B, 4], f32[B], f32[B, 2, 2]) {
                let y = x * self.w;
                (y, y, sum(y, axis = 1), reshape(y, [B, 2, 2]))
            }
            pub fn turned(&self, x: f32[B, 4]) -> (f32[4, B], f32[B, 4], f32[3, 2]) {
                (transpose(x), -x, transpose(self.v))
            }
            pub fn constant(&self, x: f32[B, 4]) -> (f32[3], f32, f32[B, 4]) { (ones([3]), 2.0, zeros([B, 4])) }
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 4]) -> (f32, f32[B, 4], f32[4], f32) {
                let y = x * self.w;
                let l = mean(square(y));
                (l, y, self.w, l)
            }
        }";
    judge_text("aliases", text, &plain);
}

#[test]
fn movement_of_every_kind() {
    let text = "pub struct Net { table: Embedding(11, 6), mix: Linear(6, 6), norm: LayerNorm(6), conv: Conv2d(2, 3, kernel = 3, padding = 1, stride = 2) }
        impl Net {
            pub fn pieces(&self, ids: u32[B, T]) -> f32[B, T, 6] {
                let x = self.table(ids);
                let (a, b, c) = split(x, 3, axis = 2);
                let y = concat(c, flip(a, axis = 1), b, axis = 2);
                let z = pad(y[_, _, 1..5], [0, 0, 1], [0, 0, 1]);
                softmax(self.mix(self.norm(z)) + x)
            }
            pub fn attend(&self, x: f32[B, T, 6]) -> f32[B, T, 6] {
                let q = transpose(reshape(self.mix(x), [B, T, 2, 3]), [0, 2, 1, 3]);
                let s = softmax(einsum(\"bhtd,bhsd->bhts\", q, q) / 1.7);
                reshape(transpose(einsum(\"bhts,bhsd->bhtd\", s, q), [0, 2, 1, 3]), [B, T, 6])
            }
            #[train(RmsProp)]
            pub fn loss(&self, ids: u32[B, T], next: u32[B, T]) -> f32 {
                cross_entropy(reshape(self.attend(self.pieces(ids)), [B * T, 6]), reshape(next, [B * T]))
            }
            pub fn image(&self, x: f32[B, 2, 7, 5]) -> f32[B, 3, 2, 2] {
                avg_pool2d(relu(self.conv(x)), window = 2, stride = 1)[_, _, 0..2, 0..2]
            }
            #[train(AdamW)]
            pub fn painted(&self, x: f32[B, 2, 7, 5]) -> f32 { mean(square(self.image(x))) }
        }";
    judge_text("movement", text, &plain);
}

/// The gradient of a transposed convolution reads its operand through windows; where a slice of the result is used, windows
/// of the slice share their axes. Together they stay within the operand, one by one they do not.
#[test]
fn windows_that_share_axes() {
    let text = "pub struct Net { p: Parameter([2, 3, 7]), k: Parameter([3, 5, 4]) }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[8, T]) -> f32 {
                let y = conv_transpose1d(self.p, self.k, stride = 2, padding = 1);
                let z = reshape(reshape(y, [140])[28..36], [8, 1]);
                sum(tanh(z * x))
            }
        }";
    judge_text("windows", text, &plain);
}

/// Update rules that read old values at other places than they write.
static ODD: [Optimizer; 4] = [
    odd("swap", |b, w, _, states, _| Ok((b.add(states[0], states[1])?, vec![w, states[0]]))),
    odd("turn", |b, w, g, states, _| {
        let turned = b.prim(Prim::Flip(vec![0, 1]), &[w])?;
        Ok((b.add(turned, g)?, vec![turned, states[0]]))
    }),
    odd("cross", |b, w, _, states, _| {
        let turned = [b.prim(Prim::Flip(vec![1]), &[w])?, b.prim(Prim::Flip(vec![0]), &[states[0]])?];
        Ok((turned[1], vec![turned[0], turned[0]]))
    }),
    odd("centre", |b, w, g, states, _| {
        let mean = b.mean(w, &[1])?;
        let wide = b.prim(Prim::Broadcast { shape: b.shape(w), axes: vec![0] }, &[mean])?;
        let centred = b.sub(w, wide)?;
        let square = b.mul(centred, centred)?;
        let spread = b.sum(square, &[1])?;
        let wide = b.prim(Prim::Broadcast { shape: b.shape(w), axes: vec![0] }, &[spread])?;
        let scaled = b.div(w, wide)?;
        Ok((b.sub(scaled, g)?, vec![centred, b.add(states[1], scaled)?]))
    }),
];

type Update = fn(&mut Builder<'_>, Value, Value, &[Value], &[Value]) -> Result<(Value, Vec<Value>), OpError>;

const fn odd(name: &'static str, update: Update) -> Optimizer {
    Optimizer { name, torch: name, states: &["a", "b"], numbers: &["rate"], fields: &[], update, doc: "" }
}

fn odd_of(name: &str) -> &'static Optimizer {
    ODD.iter().find(|odd| odd.name == name).unwrap()
}

#[test]
fn updates_that_cannot_be_made_in_place() {
    for optimizer in &ODD {
        let mut graph = Graph::default();
        let shapes = [vec![Dim::from(5), Dim::from(30)], vec![Dim::from(3)]];
        let mut param = |k: usize| {
            let ty = Type::new(DType::F32, shapes[k].clone());
            graph.push(Kind::Param(ParamId(k as u32)), vec![], Some(ty), Span::call_site())
        };
        let values = [param(0), param(1)];
        // The gradient of half the square of a parameter is the parameter itself.
        let mut sites = 0;
        let mut b = builder(&mut graph, &mut sites);
        let loss = squares(&mut b, &values).unwrap();
        let half = b.with(MapOp::Mul, loss, 0.5).unwrap();
        graph.outputs = vec![half, values[1]];
        let compiled = lower_by(model(graph, params(&shapes), Mode::Train(optimizer.name.into())), odd_of);
        check_memory(optimizer.name, &compiled, &mut Numbers::new(4));
        judge(optimizer.name, &compiled, &[], &plain);
    }
}

#[test]
fn a_parameter_that_fills_the_pool() {
    for optimizer in optimizers() {
        let text = "pub struct Net { w: Parameter(4, 64) }
            impl Net {
                #[train(Adam)]
                pub fn loss(&self, x: f32[4, 64]) -> f32 { sum(square(self.w) * x) }
                #[train(Adam)]
                pub fn rows(&self, x: f32[B, 64]) -> f32 { sum(tanh(einsum(\"bk,nk->bn\", x, self.w))) }
                #[train(Adam)]
                pub fn soft(&self, x: f32[4, 64]) -> (f32, f32[4, 64]) {
                    let p = softmax(self.w);
                    (sum(p * x), p)
                }
            }";
        judge_text(optimizer.name, &text.replace("Adam", optimizer.name), &plain);
    }
}

/// Around a mean nothing is left to be summed, and the gradients by scale and variance are multiples of one sum, so that a
/// kernel of a norm and its gradient has four passes: mean, variance, the sums of the gradient, and the gradient.
#[test]
fn norms_go_back_in_two_passes() {
    for (norm, shape, most) in [
        ("BatchNorm2d(3)", "6, 3, 5, 7", 4),
        ("BatchNorm2d(3, affine = false)", "6, 3, 5, 7", 4),
        // Its forward and its backward passes are two kernels.
        ("GroupNorm(1, 3)", "6, 3, 5, 7", 3),
        ("LayerNorm(70)", "6, 70", 4),
    ] {
        let text = format!(
            "pub struct Net {{ x: Parameter({shape}), norm: {norm} }}
            impl Net {{
                #[train(Sgd)]
                pub fn loss(&self, y: f32[{shape}]) -> f32 {{ sum(tanh(self.norm(self.x)) * y) }}
            }}"
        );
        judge_text(norm, &text, &plain);
        let plans = compile(&text).remove(0).plans;
        let passes = |kernel: &Kernel| match &kernel.skeleton {
            Skeleton::Row { passes, .. } => passes.len(),
            _ => 0,
        };
        assert_eq!(plans.kernels.iter().map(passes).max(), Some(most), "{norm}: {plans}");
    }
}
