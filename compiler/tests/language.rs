//! What programs of the model language mean: each is typed, expanded and run by the oracle.

use precast_compiler::diag::Diags;
use precast_compiler::ir::DType;
use precast_compiler::ir::model::{Init, Model, Results};
use precast_compiler::ir::verify::{After, verify};
use precast_compiler::oracle::{Data, Env, Tensor, run};
use precast_compiler::stages::{expand::expand, parse::parse, shape::shape};

/// The models of a program without mistakes, expanded.
fn models(source: &str) -> Vec<Model> {
    let mut diags = Diags::default();
    let mut models = parse(source.parse().expect("balanced brackets"), &mut diags);
    shape(&mut models, &mut diags);
    let texts: Vec<String> = diags.list().iter().map(|d| format!("{} on line {}", d.text(), d.place.line())).collect();
    assert!(texts.is_empty(), "{}", texts.join("\n"));
    models.iter().for_each(|model| verify(model, After::Shape).expect("sound graphs"));
    let models: Vec<Model> = models.into_iter().map(expand).collect();
    models.iter().for_each(|model| verify(model, After::Expand).expect("sound graphs"));
    models
}

/// Parameters in which each number differs: the k-th of the model is `((7·k) mod 23) / 8 − 1`.
fn params(model: &Model) -> Vec<Tensor> {
    let mut k = 0;
    let mut number = || {
        k += 7;
        f64::from(k % 23) / 8.0 - 1.0
    };
    let tensor = |ty: precast_compiler::ir::Type| {
        let shape: Vec<usize> = ty.shape.iter().map(|d| d.as_const().expect("constant") as usize).collect();
        let count = shape.iter().product();
        Tensor::floats(shape, (0..count).map(|_| number()).collect())
    };
    model.params.iter().map(|p| p.stacked()).map(tensor).collect()
}

fn call(model: &Model, function: &str, args: Vec<Tensor>) -> Vec<Tensor> {
    let function = model.functions.iter().find(|f| f.name == function).expect("the function");
    let env = Env { args, params: params(model), ..Env::default() };
    run(function, model, &env).expect("fitting arguments").results
}

/// The results of the only function of a program in which it is the body of `f`.
fn eval(signature: &str, body: &str, args: Vec<Tensor>) -> Vec<Tensor> {
    let source = format!("pub struct M {{}} impl M {{ pub fn f(&self, {signature} {{ {body} }} }}");
    call(&models(&source)[0], "f", args)
}

fn count(shape: &[usize]) -> Tensor {
    Tensor::floats(shape, (0..shape.iter().product::<usize>()).map(|x| x as f64).collect())
}

#[test]
fn indices_and_slices_select() {
    let x = || vec![count(&[3, 4])];
    assert_eq!(eval("x: f32[A, 4]) -> f32[A]", "x[.., 1]", x())[0].f64s(), [1.0, 5.0, 9.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[A]", "x[.., -1]", x())[0].f64s(), [3.0, 7.0, 11.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[4]", "x[A - 1]", x())[0].f64s(), [8.0, 9.0, 10.0, 11.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[A - 1, 2]", "x[1.., 1..3]", x())[0].f64s(), [5.0, 6.0, 9.0, 10.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[A, 1]", "x[.., ..=0]", x())[0].f64s(), [0.0, 4.0, 8.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[A, 3]", "x[.., ..-1]", x())[0].shape, [3, 3]);
    assert_eq!(eval("x: f32[A, 4]) -> f32", "x[1, 2]", x())[0].f64s(), [6.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[2]", "x[1, (1..).step_by(2)]", x())[0].f64s(), [5.0, 7.0]);
    assert_eq!(eval("x: f32[A, 4]) -> f32[A, 2]", "x[_, (..=2).step_by(2)]", x())[0].shape, [3, 2]);
    let halves = eval("x: f32[A, 4]) -> f32[(A + 1) / 2, 1]", "x[(..).step_by(2), (1..-1).step_by(7)]", x());
    assert_eq!((halves[0].f64s(), &halves[0].shape[..]), (&[1.0, 9.0][..], &[2, 1][..]));
    assert_eq!(
        eval("x: f32[A, 4]) -> f32[(A + 1) / 3, 4]", "x[(1..).step_by(3)]", x())[0].f64s(),
        [4.0, 5.0, 6.0, 7.0]
    );
    let y = || vec![count(&[2, 3, 2])];
    assert_eq!(eval("x: f32[2, 3, 2]) -> f32[2, 3]", "x[.., 1]", y())[0].f64s(), [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]);
}

#[test]
fn an_underscore_is_one_whole_axis() {
    let x = || vec![count(&[2, 3, 2])];
    let middle = [2.0, 3.0, 8.0, 9.0];
    for index in ["_, 1, _", "_, 1", "_, 1, ..", ".., 1, _", "_, .., 1, _"] {
        let found = eval("x: f32[2, 3, 2]) -> f32[2, 2]", &format!("x[{index}]"), x());
        assert_eq!(found[0].f64s(), middle, "x[{index}]");
    }
    for index in ["_, _, 1..", ".., 1..", "_, .., 1.."] {
        let found = eval("x: f32[2, 3, 2]) -> f32[2, 3, 1]", &format!("x[{index}]"), x());
        assert_eq!(found[0].f64s(), [1.0, 3.0, 5.0, 7.0, 9.0, 11.0], "x[{index}]");
    }
    assert_eq!(eval("x: f32[2, 3, 2]) -> f32[2, 3, 2]", "x[_]", x())[0], x()[0]);
    let args = vec![count(&[3, 2]), Tensor::words([4], vec![1, 0, 0, 1])];
    let columns = eval("x: f32[N, 2], at: u32[B]) -> f32[N, B]", "x[_, at]", args);
    assert_eq!(columns[0].f64s(), [1.0, 0.0, 0.0, 1.0, 3.0, 2.0, 2.0, 3.0, 5.0, 4.0, 4.0, 5.0]);
}

#[test]
fn an_index_may_be_data() {
    let args = vec![count(&[3, 2]), Tensor::words([4], vec![2, 0, 0, 1])];
    let rows = eval("x: f32[N, 2], at: u32[B]) -> f32[B, 2]", "x[at, ..]", args);
    assert_eq!(rows[0].f64s(), [4.0, 5.0, 0.0, 1.0, 0.0, 1.0, 2.0, 3.0]);
}

#[test]
fn numbers_take_the_type_of_the_other_side() {
    let x = || vec![count(&[3])];
    assert_eq!(eval("x: f32[A]) -> f32[A]", "1 - 2 * x / 4", x())[0].f64s(), [1.0, 0.5, 0.0]);
    assert_eq!(eval("x: f32[A]) -> f32[A]", "x * A", x())[0].f64s(), [0.0, 3.0, 6.0]);
    assert_eq!(eval("x: f32[A]) -> f32[A]", "where(x > 1, x, 0)", x())[0].f64s(), [0.0, 0.0, 2.0]);
    assert_eq!(eval("x: f32[A]) -> f32[A]", "where(!(x > 1) & (x > 0), -x, 7.0)", x())[0].f64s(), [7.0, -1.0, 7.0]);
    assert_eq!(eval("x: f32[A]) -> f32[A]", "if A > 2 { x } else { -x }", x())[0].f64s(), [0.0, 1.0, 2.0]);
    assert_eq!(eval("x: f32[A]) -> f32[A]", "if 4 <= A { x } else { -x }", x())[0].f64s(), [0.0, -1.0, -2.0]);
    let words = eval("x: u32[A]) -> u32[A]", "(x + 5) % 4", vec![Tensor::words([3], vec![0, 1, 7])]);
    assert_eq!(words[0].u32s(), [1, 2, 0]);
}

#[test]
fn bindings_shadow_and_blocks_nest() {
    let body = "let x = x + 1; let y = { let x = x * 10; x + 1 }; let (a, (b, _)) = (x, (y, x)); a + b";
    assert_eq!(eval("x: f32[A]) -> f32[A]", body, vec![count(&[2])])[0].f64s(), [12.0, 23.0]);
}

#[test]
fn a_pattern_of_variables_is_assigned_at_once() {
    let body =
        "let (mut a, mut b) = (x, x * 10); (a, b) = (b, a); (b, (_, a)) = (a + 1, (b, b)); _ = a; (a) = a + b; (a, b)";
    // a, b = 10x, x; then b, a = 10x + 1, x; then a = x + (10x + 1).
    let found = eval("x: f32[A]) -> (f32[A], f32[A])", body, vec![count(&[2])]);
    assert_eq!(found[0].f64s(), [1.0, 12.0]);
    assert_eq!(found[1].f64s(), [1.0, 11.0]);
}

#[test]
fn a_pattern_is_assigned_in_loops_and_branches() {
    let source = "
        pub struct Net { blocks: [Linear(2, 2); 3] }
        impl Net {
            pub fn at_once(&self, x: f32[B, 2], n: u32) -> (f32[B, 2], f32[B, 2]) {
                let (mut a, mut b) = (x, x * 2.0);
                for block in self.blocks { (a, b) = (b, block(a)); }
                if n > 1 { (a, b) = (b, a); }
                for i in 0..3 { (a, _) = (b * i, a); }
                (a, b)
            }
            pub fn one_by_one(&self, x: f32[B, 2], n: u32) -> (f32[B, 2], f32[B, 2]) {
                let mut a = x;
                let mut b = x * 2.0;
                for block in self.blocks { let c = a; a = b; b = block(c); }
                if n > 1 { let c = a; a = b; b = c; }
                for i in 0..3 { a = b * i; }
                (a, b)
            }
        }";
    let net = &models(source)[0];
    for n in [0, 2] {
        let args = || vec![count(&[4, 2]), Tensor::words([], vec![n])];
        let (at_once, one_by_one) = (call(net, "at_once", args()), call(net, "one_by_one", args()));
        assert_eq!(at_once[0].f64s(), one_by_one[0].f64s());
        assert_eq!(at_once[1].f64s(), one_by_one[1].f64s());
    }
}

#[test]
fn static_loops_and_conditions_are_written_out() {
    let body = "let mut x = x; for i in 0..4 { if i % 2 == 0 { x += i; } else { x = x * 2; } } x";
    // ((x + 0) · 2 + 2) · 2
    assert_eq!(eval("x: f32[A]) -> f32[A]", body, vec![count(&[2])])[0].f64s(), [4.0, 8.0]);
}

const TOWER: &str = "
    const LAYERS: usize = 3;
    pub struct Tower(dim = 4) { blocks: [Residual(dim, hidden = 2 * dim); LAYERS], shift: Parameter(dim, init = \"ones\") }
    struct Residual(dim, hidden) { up: Linear(dim, hidden), down: Linear(hidden, dim), scale: Parameter(dim) }
    impl Residual {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { x + self.scale * self.down(relu(self.up(x))) }
    }
    impl Tower {
        pub fn looped(&self, x: f32[B, dim]) -> f32[B, dim] {
            let mut x = x;
            for block in self.blocks { x = block(x) + self.shift; }
            x
        }
        pub fn unrolled(&self, x: f32[B, dim]) -> f32[B, dim] {
            let mut x = x;
            for i in 0..LAYERS { x = self.blocks[i](x) + self.shift; }
            x
        }
        pub fn two(&self, x: f32[B, dim]) -> (f32[B, dim], f32) {
            let mut x = x;
            let mut norm = 0.0;
            for block in self.blocks {
                let y = block.down(relu(block.up(x)));
                norm = norm + mean(square(y));
                x = x + block.scale * y + self.shift;
            }
            (x, norm)
        }
    }";

#[test]
fn a_loop_over_blocks_is_the_blocks_one_after_the_other() {
    let models = models(TOWER);
    let model = &models[0];
    let names: Vec<&str> = model.params.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "blocks.*.up.weight",
            "blocks.*.up.bias",
            "blocks.*.down.weight",
            "blocks.*.down.bias",
            "blocks.*.scale",
            "shift"
        ]
    );
    assert!(model.params.iter().all(|p| p.offset % 64 == 0));
    assert_eq!(model.params[0].stacked().to_string(), "f32[3, 8, 4]");
    assert_eq!(model.params[5].init, Init::Ones);
    let looped = call(model, "looped", vec![count(&[2, 4])]);
    assert_eq!(looped[0].f64s(), call(model, "unrolled", vec![count(&[2, 4])])[0].f64s());
    let two = call(model, "two", vec![count(&[2, 4])]);
    let close = two[0].f64s().iter().zip(looped[0].f64s()).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0));
    assert!(close && two[1].shape.is_empty());
}

#[test]
fn parameters_start_as_they_say() {
    let source = "
        const STD: f32 = 0.01;
        pub struct Net(dim = 4) {
            plain: Linear(dim, 12),
            a: Linear(dim, 12, init = kaiming_normal, bias_init = zeros),
            b: Linear(dim, 12, init = normal(2 * STD), bias = false),
            c: Linear(dim, 12, init = xavier_uniform(gain = 2)),
            d: Conv2d(2, 6, kernel = 3, init = kaiming_uniform(a = 1, mode = \"fan_out\")),
            e: Embedding(9, dim, init = trunc_normal(0.02)),
            f: Linear(dim, 12, init = orthogonal(0.5)),
            g: Parameter(dim, init = constant(-1)),
            h: Parameter(dim, dim, init = uniform(0.25)),
        }
        impl Net {
            pub fn out(&self, x: f32[B, dim], image: f32[B, 2, 8, 8], id: u32[B]) -> (f32[B, 12], f32[B, 6, 6, 6], f32[B, dim]) {
                let x = matmul(x * self.g, self.h);
                (self.plain(x) + self.a(x) + self.b(x) + self.c(x) + self.f(x), self.d(image), self.e(id))
            }
        }";
    let model = models(source).remove(0);
    let starts: Vec<Init> = model.params.iter().map(|p| p.init.clone()).collect();
    let uniform = |bound: f64| Init::Uniform { bound };
    let expected = [
        uniform(0.5),
        uniform(0.5),
        Init::Normal { std: 0.5_f64.sqrt() },
        Init::Zeros,
        Init::Normal { std: 0.02 },
        uniform(2.0 * (6.0 / 16.0_f64).sqrt()),
        uniform(0.5),
        uniform(3_f64.sqrt() * (1.0 / 54.0_f64).sqrt()),
        uniform(1.0 / 18_f64.sqrt()),
        Init::TruncNormal { std: 0.02 },
        Init::Orthogonal { gain: 0.5 },
        uniform(0.5),
        Init::Constant(-1.0),
        uniform(0.25),
    ];
    assert_eq!(starts, expected);
}

#[test]
fn repeats_nest() {
    let source = "
        pub struct Nest { groups: [Group(2); 2], last: Linear(3, 3) }
        struct Group(n) { layers: [Linear(3, 3); n], gain: Parameter(3) }
        impl Nest {
            pub fn looped(&self, x: f32[B, 3]) -> f32[B, 3] {
                let mut x = x;
                for group in self.groups {
                    for layer in group.layers { x = tanh(layer(x)) * group.gain; }
                }
                self.last(x)
            }
            pub fn unrolled(&self, x: f32[B, 3]) -> f32[B, 3] {
                let mut x = x;
                for i in 0..2 {
                    let group = self.groups[i];
                    for j in 0..2 { x = tanh(group.layers[j](x)) * group.gain; }
                }
                self.last(x)
            }
            pub fn mixed(&self, x: f32[B, 3]) -> f32[B, 3] {
                let mut x = x;
                for i in 0..2 {
                    for layer in self.groups[i].layers { x = tanh(layer(x)) * self.groups[i].gain; }
                }
                self.last(x)
            }
        }";
    let models = models(source);
    assert_eq!(models[0].params[0].name, "groups.*.layers.*.weight");
    assert_eq!(models[0].params[0].stacked().to_string(), "f32[2, 2, 3, 3]");
    let [looped, unrolled, mixed] =
        ["looped", "unrolled", "mixed"].map(|f| call(&models[0], f, vec![count(&[2, 3])])[0].f64s().to_vec());
    assert_eq!(looped, unrolled);
    assert_eq!(looped, mixed);
}

#[test]
fn functions_are_generic_over_shape() {
    let source = "
        fn centred(x: f32[.., D]) -> f32[.., D] { x - reshape(sum(x, axis = -1), [.., 1]) / D }
        fn pair(x: f32[.., 2 * H]) -> (f32[.., H], f32[.., H]) { (x[.., ..H], x[.., H..]) }
        pub struct M { table: Embedding(5, 4) }
        impl M {
            pub fn f(&self, x: f32[B, T, 4], id: u32[B]) -> Named { first: f32[B, T, 2], row: f32[B, 4] } {
                let (first, _) = pair(centred(x));
                Named { first, row: centred(self.table(id)) }
            }
            pub fn g(&self, x: f32[B, T, 4], id: u32[B]) -> f32[B, 4] { self.f(id = id, x = x).row }
        }";
    let models = models(source);
    let function = &models[0].functions[0];
    let Results::Struct(name, fields) = &function.results else { panic!("a struct") };
    assert_eq!((name.to_string(), fields.len()), ("Named".into(), 2));
    let args = || vec![count(&[1, 2, 4]), Tensor::words([1], vec![2])];
    let found = call(&models[0], "f", args());
    assert_eq!(found[0].f64s(), [-1.5, -0.5, -1.5, -0.5]);
    assert_eq!(found[1].f64s(), call(&models[0], "g", args())[0].f64s());
}

#[test]
fn a_struct_with_other_numbers_is_another_model() {
    let source = "
        /// Big.
        pub struct Net(dim = 8, bias = true) { output: Linear(dim, 2, bias = bias) }
        pub struct Small = Net(dim = 4, bias = false);
        impl Net { pub fn f(&self, x: f32[B, dim]) -> f32[B, 2] { if dim > 4 { relu(self.output(x)) } else { self.output(x) } } }";
    let models = models(source);
    assert_eq!((models[0].name.to_string(), models[1].name.to_string()), ("Net".into(), "Small".into()));
    assert_eq!((models[0].params.len(), models[1].params.len()), (2, 1));
    assert_eq!(models[0].attrs.len(), 1);
    assert_eq!(models[1].functions[0].args[0].ty.to_string(), "f32[B, 4]");
}

#[test]
fn bounds_reach_the_model() {
    let source = "
        const MOST: usize = 16;
        pub struct M { place: Embedding(MOST, 2) }
        impl M { pub fn f(&self, x: f32[B, T <= MOST, 2], y: f32[B, T - 1]) -> f32[B, T, 2] { x + self.place(iota(T)) + mean(y) } }";
    let models = models(source);
    let dims: Vec<_> = models[0].functions[0].dims.iter().map(|d| (d.name.as_str(), d.bound)).collect();
    assert_eq!(dims, [("B", None), ("T", Some(16))]);
}

#[test]
fn running_extremes_of_integers_start_at_the_ends() {
    let (x, y) =
        (Tensor::new([2], Data::Int(DType::I32, vec![-7, -9])), Tensor::words([2], vec![4_000_000_000, u32::MAX]));
    let extremes = "(cummax(x, exclusive = true), cummin(x, exclusive = true), cummax(y, exclusive = true), cummin(y, exclusive = true))";
    let found = eval("x: i32[2], y: u32[2]) -> (i32[2], i32[2], u32[2], u32[2])", extremes, vec![x, y]);
    assert_eq!(found[0].data, Data::Int(DType::I32, vec![i32::MIN.into(), -7]));
    assert_eq!(found[1].data, Data::Int(DType::I32, vec![i32::MAX.into(), -7]));
    assert_eq!(found[2].u32s(), [0, 4_000_000_000]);
    assert_eq!(found[3].u32s(), [u32::MAX, 4_000_000_000]);
}

#[test]
fn a_certain_mistake_costs_a_hundred() {
    let args = || vec![Tensor::floats([4], vec![0.0, 1.0, 0.0, 1.0]), Tensor::floats([4], vec![1.0, 0.0, 0.0, 1.0])];
    let body = "binary_cross_entropy(x, y, reduction = \"none\")";
    assert_eq!(eval("x: f32[4], y: f32[4]) -> f32[4]", body, args())[0].f64s(), [100.0, 100.0, 0.0, 0.0]);
}

#[test]
fn what_dropout_keeps_makes_up_for_the_rest() {
    let args = vec![Tensor::floats([64], vec![3.0; 64]), Tensor::words([2], vec![5, 7])];
    let found = eval("x: f32[64], key: u32[2]) -> f32[64]", "dropout(x, 0.25, key = key)", args);
    let kept = found[0].f64s().iter().filter(|x| **x == 4.0).count();
    let dropped = found[0].f64s().iter().filter(|x| **x == 0.0).count();
    assert!(kept + dropped == 64 && (40..57).contains(&kept), "{kept} kept, {dropped} dropped");
}

/// Mean and standard deviation.
fn moments(x: &[f64]) -> (f64, f64) {
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    (mean, (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt())
}

#[test]
fn draws_have_their_moments_and_bounds() {
    let body = "let (a, b, c) = split_key(key, 3); (normal(a, [20000]), uniform(b, [20000]), bernoulli(c, [20000], p = 0.3).f32())";
    let args = vec![Tensor::words([2], vec![11, 12])];
    let found = eval("key: u32[2]) -> (f32[20000], f32[20000], f32[20000])", body, args);
    let wanted = [(0.0, 1.0), (0.5, 1.0 / 12_f64.sqrt()), (0.3, 0.21_f64.sqrt())];
    for (draws, (mean, std)) in found.iter().zip(wanted) {
        let found = moments(draws.f64s());
        // Three standard deviations of 20000 draws, whose own is at most 1.
        assert!((found.0 - mean).abs() < 0.0213 * std && (found.1 / std - 1.0).abs() < 0.015, "{found:?}");
    }
    assert!(found[1].f64s().iter().all(|x| (0.0..1.0).contains(x)));
}

#[test]
fn classes_are_drawn_by_their_probabilities() {
    let body = "categorical(broadcast_to(x, [20000, 4]), key = key)";
    // One class has no probability.
    let logits = [0.1f64, 0.6, 0.0, 0.3].map(f64::ln).to_vec();
    let args = vec![Tensor::floats([4], logits), Tensor::words([2], vec![5, 6])];
    let found = eval("x: f32[4], key: u32[2]) -> u32[20000]", body, args);
    let ids = found[0].u32s();
    for (class, share) in [0.1, 0.6, 0.0, 0.3].into_iter().enumerate() {
        let found = ids.iter().filter(|id| **id == class as u32).count() as f64 / 20000.0;
        assert!((found - share).abs() < 0.011, "class {class}: {found}");
    }
}

#[test]
fn a_path_is_dropped_for_whole_samples() {
    let body = "drop_path(x, 0.25, key = key)";
    let args = vec![Tensor::floats([4000, 2], vec![3.0; 8000]), Tensor::words([2], vec![5, 6])];
    let found = eval("x: f32[4000, 2], key: u32[2]) -> f32[4000, 2]", body, args);
    let rows: Vec<&[f64]> = found[0].f64s().chunks(2).collect();
    assert!(rows.iter().all(|row| row[0] == row[1] && (row[0] == 0.0 || row[0] == 4.0)));
    let kept = rows.iter().filter(|row| row[0] > 0.0).count() as f64 / 4000.0;
    assert!((kept - 0.75).abs() < 0.021, "{kept}");
}

/// Otherwise numbers that were drawn from a key would be words of the keys that are derived from it.
#[test]
fn draws_and_derived_keys_have_nothing_in_common() {
    let body = "let (a, b) = split_key(key, 2); (a, b, fold_in(key, 0), fold_in(key, 1), uniform(key, [4]))";
    let results = "(u32[2], u32[2], u32[2], u32[2], f32[4])";
    let found = eval(&format!("key: u32[2]) -> {results}"), body, vec![Tensor::words([2], vec![1, 2])]);
    let words = |k: usize| found[k].u32s();
    let (split, folded) = ([words(0), words(1)].concat(), [words(2), words(3)].concat());
    for drawn in found[4].f64s().iter().map(|x| (x * 16_777_216.0) as u32) {
        assert!(split.iter().chain(&folded).all(|word| word >> 8 != drawn), "{drawn}");
    }
    assert!(split.iter().all(|word| !folded.contains(word)), "{split:?} and {folded:?}");
}

#[test]
fn a_batch_of_one_spoils_no_running_statistics() {
    let args = vec![count(&[1, 2]), Tensor::floats([2], vec![2.0, 3.0]), Tensor::floats([2], vec![1.0, 4.0])];
    let body = "batch_norm(x, mean, var, momentum = 0.25, training = true)";
    let found = eval("x: f32[B, 2], mean: f32[2], var: f32[2]) -> (f32[B, 2], f32[2], f32[2])", body, args);
    let numbers: Vec<&[f64]> = found.iter().map(Tensor::f64s).collect();
    assert_eq!(numbers, [[0.0, 0.0], [1.5, 2.5], [0.75, 3.0]]);
}

#[test]
fn recurrent_layers_start_by_the_size_of_their_state() {
    let source =
        "pub struct M { gru: GRU(9, 4) } impl M { pub fn f(&self, x: f32[B, T, 9]) -> f32[B, T, 4] { self.gru(x).0 } }";
    let model = &models(source)[0];
    assert_eq!(model.params.len(), 4);
    assert!(model.params.iter().all(|p| p.init == Init::Uniform { bound: 0.5 }));
}
