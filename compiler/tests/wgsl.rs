//! WGSL in declarations of foreign functions: what naga or the signature finds wrong is reported at the literal, and what is
//! right becomes a dispatch that ends no submission.
#![cfg(feature = "gpu")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use precast_compiler::diag::Code;
use precast_compiler::dump::Dumps;
use precast_compiler::ir::{DType, Dim, Model, Type};
use precast_compiler::ops::{Item, items};
use precast_compiler::pipeline::{check, compile};
use proc_macro2::TokenStream;
use quote::quote;

fn model(wgsl: &str) -> TokenStream {
    quote! {
        extern fn scaled(x: f32[N, D], by: u32) -> f32[N, D] with wgsl = #wgsl;
        pub struct Net { layer: Linear(4, 4) }
        impl Net {
            pub fn out(&self, x: f32[B, 4], by: u32) -> f32[B, 4] { scaled(self.layer(x), by) }
        }
    }
}

/// The only mistake that is found in a text.
fn mistake(wgsl: &str) -> String {
    let text = format!(
        "extern fn scaled(x: f32[N, D], by: u32) -> f32[N, D] with wgsl = {wgsl:?};
        pub struct Net {{ layer: Linear(4, 4) }}
        impl Net {{ pub fn out(&self, x: f32[B, 4], by: u32) -> f32[B, 4] {{ scaled(self.layer(x), by) }} }}"
    );
    let (_, diags) = check(text.parse().unwrap());
    let [one] = diags.list() else { panic!("{:?}", diags.list()) };
    assert_eq!((one.code, one.place.line()), (Code::ForeignWgsl, 1));
    one.text()
}

#[test]
fn mistakes_are_those_of_naga_with_the_line() {
    let found = mistake("fn scaled(n: u32, d: u32) -> f32 {\n  let f = by() * 2.0;\n  return f * x(n, d);\n}");
    assert!(found.starts_with("the WGSL of `scaled` is not valid: "), "{found}");
    assert!(found.contains("note: line 2 of it: `let f = by() * 2.0;`"), "{found}");
    let found = mistake("fn scaled(n: u32, d: u32) -> f32 { return y(n, d); }");
    assert!(found.contains("`y`") && found.contains("line 1 of it"), "{found}");
    let found = mistake("fn scaled(n: u32, d: u32) -> f32 {\n  return x(n, d)\n}");
    assert!(found.contains("`;`") || found.contains("';'"), "{found}");
    let found = mistake("fn scaled(n: u32, d: u32) -> f32 {\n  workgroupBarrier();\n  return 1.0;\n}");
    assert!(found.contains("calls `workgroupBarrier`"), "{found}");
}

#[test]
fn the_function_gives_one_element() {
    let wanted = "= help: declare `fn scaled(i0: u32, i1: u32) -> f32 { … }`";
    for wrong in [
        "fn scale(n: u32, d: u32) -> f32 { return x(n, d); }",
        "fn scaled(n: u32) -> f32 { return x(n, 0u); }",
        "fn scaled(n: u32, d: i32) -> f32 { return x(n, 0u); }",
        "fn scaled(n: u32, d: u32) -> u32 { return n; }",
        "fn scaled(n: u32, d: u32) { }",
    ] {
        let found = mistake(wrong);
        assert!(found.ends_with(wanted), "{found}");
    }
}

#[test]
fn entry_points_and_bindings_are_not_the_users() {
    for wrong in [
        "@compute @workgroup_size(1) fn scaled() { }",
        "@group(0) @binding(7) var<storage> y: array<f32>;\nfn scaled(n: u32, d: u32) -> f32 { return y[n]; }",
    ] {
        let found = mistake(wrong);
        assert!(found.contains("declares an entry point or a binding"), "{found}");
    }
}

#[test]
fn directives_are_refused() {
    assert!(mistake("enable f16;\nfn scaled(n: u32, d: u32) -> f32 { return x(n, d); }").contains("directive"));
}

#[test]
fn names_of_ours_and_of_wgsl_do_not_collide() {
    // The names of the emitted module, and those of arguments, as names of the user.
    let wgsl = "
        struct Call { x: f32, slot0: u32 }
        const THREADS = 64u;
        var<private> scratch_w: f32;
        fn slot0() -> i32 { return 3; }
        fn floor_div(x: f32) -> f32 { let D = x * 2.0; return D; }
        fn scaled(n: u32, d: u32) -> f32 {
            let call = Call(x(n, d), by());
            scratch_w = floor_div(call.x) + f32(slot0()) + f32(N * D) + f32(THREADS);
            return scratch_w * f32(call.slot0);
        }";
    let text = model(wgsl);
    let emitted = compile(quote!((::precast) #text), 0, &mut Dumps::default()).to_string();
    assert!(!emitted.contains("compile_error"), "{emitted}");
    assert!(emitted.contains("fn foreign0_scaled") && !emitted.contains("Command :: Foreign"), "{emitted}");
}

/// What a program becomes; a module that naga refuses would have ended in a panic.
fn compiled(text: &str) -> String {
    let text: TokenStream = text.parse().unwrap();
    compile(quote!((::precast) #text), 0, &mut Dumps::default()).to_string()
}

/// The same of one that has no mistake and needs no feature.
fn emitted(text: &str) -> String {
    let emitted = compiled(text);
    assert!(!emitted.contains("compile_error"), "{emitted}");
    emitted
}

#[test]
fn guards_of_constant_positions_are_valid() {
    for body in [
        "fwd(&self, x: f32[B, 1], y: f32[B, 1]) -> f32[B] { concat([x, y], axis = 1)[.., 0] }",
        "fwd(&self, x: f32[B, 1], y: f32[B, 1]) -> f32[B] { concat([x, y], axis = 1)[.., 1] }",
        "fwd(&self, x: f32[B, 5]) -> f32[B] { roll(x, 1, axis = 1)[.., 0] }",
        "fwd(&self, key: u32[2], x: f32[N]) -> f32[N] { let (a, _) = split_key(key, 2); x + uniform(a, [N]) }",
    ] {
        let _ = emitted(&format!("pub struct Net {{}} impl Net {{ pub fn {body} }}"));
    }
    let _ = emitted(
        "pub struct Net { l: Linear(5, 5) }
        impl Net {
            #[train(Sgd)]
            pub fn loss(&self, x: f32[B, 5]) -> f32 { let v = self.l(x); mean(sin(stack(v, v, axis = 1))) }
        }",
    );
}

#[test]
fn sums_over_nothing_are_loops() {
    let text = "pub struct Net {} impl Net { pub fn none(x: f32[0, B, T]) -> f32[B] { sum(x, axis = [0, 2]) } }";
    let emitted = emitted(text);
    assert!(emitted.contains("var p0_0 = 0.0f;") && !emitted.contains("9223372036854775807"), "{emitted}");
}

#[test]
fn constants_that_are_not_finite_are_computed_at_run_time() {
    for value in [
        "zeros([B, 5]) / zeros([B, 5])",
        "ones([B, 5]) / zeros([B, 5])",
        "ones([B, 5]) * 3e38 * 10.0",
        "sqrt(0.0 - 1.0)",
        "exp(1000.0)",
    ] {
        let _ = emitted(&format!(
            "pub struct Net {{}} impl Net {{ pub fn fwd(&self, x: f32[B, 5]) -> f32[B, 5] {{ x + {value} }} }}"
        ));
    }
}

#[test]
fn loops_nest_as_deep_as_the_model_does() {
    let block = |name: &str, inner: &str| {
        format!(
            "struct {name} {{ b: [{inner}; 2] }}
            impl {name} {{ fn forward(&self, x: f32[.., 3]) -> f32[.., 3] {{
                let mut x = x; for b in self.b {{ x = b(x); }} x
            }} }}"
        )
    };
    let text = format!(
        "struct D6 {{ p: Parameter([3]) }}
        impl D6 {{ fn forward(&self, x: f32[.., 3]) -> f32[.., 3] {{ x + 0.1 * sin(x * self.p) }} }}
        {}{}{}{}{}
        pub struct Net {{ b: [D1; 2] }}
        impl Net {{ pub fn fwd(&self, x: f32[B, 3]) -> f32[B, 3] {{
            let mut y = x; for b in self.b {{ y = b(y); }} y
        }} }}",
        block("D5", "D6"),
        block("D4", "D5"),
        block("D3", "D4"),
        block("D2", "D3"),
        block("D1", "D2"),
    );
    let emitted = emitted(&text);
    assert!(emitted.contains("fn loop5()") && emitted.contains("loops : 6usize"), "{emitted}");
}

/// The examples of all ops at the extents of their inputs that `extent` gives for those that are numbers, and in the types that
/// `dtype` gives for theirs.
fn sweep(extent: impl Fn(i64) -> i64, dtype: impl Fn(DType) -> DType) -> usize {
    let mut count = 0;
    for example in
        items().filter_map(|item| if let Item::Op(op) = item { Some(op) } else { None }).flat_map(|op| op.examples)
    {
        let arg = |(ty, (name, ..)): (Type, &(&str, &str, _))| {
            let shape: Vec<Dim> =
                ty.shape.iter().map(|dim| dim.as_const().map_or(dim.clone(), |n| Dim::from(extent(n)))).collect();
            format!("{name}: {}", Type::new(dtype(ty.dtype), shape))
        };
        let args: Vec<String> = example.input_types().unwrap().into_iter().zip(example.inputs).map(arg).collect();
        let text = format!(
            "pub struct Net {{}} impl Net {{ pub fn all(&self, {}) -> f32 {{ let y = {}; sum(y.f32()) }} }}",
            args.join(", "),
            example.call
        );
        // Where other extents or several results do not fit, the check says so.
        let (models, mistakes) = check(text.parse().unwrap());
        if mistakes.is_empty() && models.iter().all(Model::runs_on_gpus) {
            let _ = compiled(&text);
            count += 1;
        }
    }
    count
}

/// A model with f64 has no WGSL, and says where it has one; one with any other type has.
#[test]
fn f64_is_what_gpus_do_not_have() {
    for (attribute, field, function, why) in [
        (
            "#[model(precision = f64)]",
            "l: Linear(3, 3)",
            "f(&self, x: f64[B, 3]) -> f64[B, 3] { self.l(x) }",
            "its parameters are f64",
        ),
        ("", "state h: f64[3]", "f(&mut self) { self.h = self.h }", "its state `h` is f64"),
        ("", "", "f(&self, a: i64[B], x: f64[B]) -> f64[B] { x }", "the argument `x` of `f` is f64"),
        ("", "", "f(&self, x: f32[B]) -> f32[B] { sin(x.f64()).f32() }", "`f` computes in f64"),
    ] {
        let emitted = compiled(&format!("{attribute} pub struct Net {{ {field} }} impl Net {{ pub fn {function} }}"));
        let reason = format!("`Net` does not run on a GPU, where there is no f64: {why}; run it on `Cpu`, or take f32");
        assert!(emitted.contains(&reason) && !emitted.contains("@compute"), "{reason}: {emitted}");
    }
    let types = ["f16", "bf16", "i8", "u8", "i16", "u16", "i64", "u64"];
    let body = types.map(|ty| format!("let x = x.{ty}();")).concat();
    let emitted = compiled(&format!("pub struct Net {{}} impl Net {{ pub fn f(x: f32[B]) -> u64[B] {{ {body} x }} }}"));
    assert!(emitted.contains("@compute") && !emitted.contains("CPU_ONLY"), "{emitted}");
}

/// A function of a model with a state.
fn with_state(function: &str) -> String {
    emitted(&format!(
        "pub struct Net {{ state h: i8[6, 3] }} impl Net {{ pub fn all(&mut self) -> i8[6, 3] {{ self.h = -self.h; self.h }} pub fn {function} }}"
    ))
}

/// Words are atomic where invocations share them, and nowhere else: not where elements fill words, and not where an
/// invocation has all that do.
#[test]
fn words_are_atomic_where_invocations_share_them() {
    for whole in [
        "f(x: i32[B, 3]) -> i32[B, 3] { -x }",
        "f(x: u64[B, 3]) -> u64[3, B] { transpose(x) }",
        "f(x: i8[B, 3]) -> i8[B, 3] { -x }",
        "f(x: u8[B, 3]) -> u8[3, B] { transpose(x) }",
        "f(x: f32[B, 5, 7]) -> (i16[B, 5, 7], f32[B, 5, 7]) { (x.i16(), -x) }",
        "f(&mut self, x: i8[6, 3]) { self.h = x }",
        "f(&mut self, x: i8[2, 3]) { self.h[4.., _] = x }",
    ] {
        let emitted = with_state(whole);
        assert!(emitted.contains("_w") && !emitted.contains("atomic"), "{whole}: {emitted}");
    }
    for shared in [
        "f(&mut self, x: i8[6]) { self.h[_, 1] = x }",
        "f(&mut self, at: u32, x: i8[3]) { self.h[at, _] = x }",
        "f(&mut self, x: i8[2, 3]) { self.h[1..3, _] = x }",
        "f(x: i8[B, 200]) -> (i8[B, 200], f32[B]) { let x = softmax(x.f32(), axis = 1); (x.i8(), sum(x, axis = 1)) }",
    ] {
        let emitted = with_state(shared);
        assert!(emitted.contains("atomicXor(&"), "{shared}: {emitted}");
    }
}

#[test]
fn every_op_is_valid_at_extents_of_one() {
    let (own, ones) = (sweep(|n| n, |dtype| dtype), sweep(|_| 1, |dtype| dtype));
    println!("{own} examples at their own extents, {ones} at extents of one");
    assert!(own > 100 && ones > 60, "{own} {ones}");
}

#[test]
fn every_op_is_valid_in_other_types() {
    use DType::{BF16, F16, F32, I16, I32, I64, U8, U32, U64};
    for others in [[BF16, I64, U8], [F16, I16, U64]] {
        let dtype = |dtype| match dtype {
            F32 => others[0],
            I32 => others[1],
            U32 => others[2],
            other => other,
        };
        let count = sweep(|n| n, dtype);
        println!("{count} examples in {others:?}");
        assert!(count > 100, "{count} in {others:?}");
    }
}

/// A model whose products may be of halves has entry points with cooperative matrices, of every kind of contraction that is long
/// enough; all else, and every other model, has none.
#[test]
fn products_of_halves_have_entry_points_of_their_own() {
    let functions = [
        "f(x: f32[B, 100], y: f32[100, 90]) -> f32[B, 90] { relu(matmul(x, y)) }",
        "f(x: f32[B, 100], y: f32[90, 100]) -> f32[B, 90] { matmul(x, transpose(y)) + 1.0 }",
        "f(x: f32[100, B], y: f32[100, 90]) -> f32[B, 90] { matmul(transpose(x), y) }",
        "f(x: f32[3, 256, 300], y: f32[3, 300, 512]) -> f32[3, 256, 512] { matmul(x, y) }",
        "f(x: f32[K, 70], y: f32[K, 66]) -> f32[70, 66] { matmul(transpose(x), y) }",
        "f(x: f32[B, 8, 30, 30], w: f32[66, 8, 3, 3]) -> f32[B, 66, 15, 15] { conv2d(x, w, stride = 2, padding = 1) }",
        "f(x: f32[B, 64, 9], w: f32[64, 32, 4]) -> f32[B, 32, 20] { conv_transpose1d(x, w, stride = 2) }",
    ];
    for function in functions {
        let text = |attribute: &str| format!("{attribute} pub struct Net {{}} impl Net {{ pub fn {function} }}");
        let plain = compiled(&text(""));
        for precision in ["split", "mixed"] {
            let halves = compiled(&text(&format!("#[model(precision = {precision})]")));
            assert!(halves.contains("coopMultiplyAdd") && halves.contains("wgpu_cooperative_matrix"), "{function}");
        }
        assert!(!plain.contains("coopMultiplyAdd") && !plain.contains("wgpu_cooperative_matrix"), "{function}");
    }
    let short = "pub struct Net {} impl Net { pub fn f(x: f32[B, 9], y: f32[9, 90]) -> f32[B, 90] { matmul(x, y) } }";
    assert!(!compiled(&format!("#[model(precision = split)] {short}")).contains("coopMultiplyAdd"));
}
