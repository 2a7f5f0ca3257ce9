//! Element types: what values of each are, when they are rounded, and which type a number has that nothing says one of.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests fail by panicking, and share public modules"
)]

use precast_compiler::diag::Diags;
use precast_compiler::ir::{Category, DType, Model};
use precast_compiler::oracle::{Data, Env, Tensor, run};
use precast_compiler::stages::{expand::expand, parse::parse, shape::shape};

/// The model of a program in which it is the body of `f`, and what is wrong.
fn model(attribute: &str, signature: &str, body: &str) -> (Model, Vec<String>) {
    let source = format!("{attribute} pub struct M {{}} impl M {{ pub fn f(&self, {signature} {{ {body} }} }}");
    let mut diags = Diags::default();
    let mut models = parse(source.parse().unwrap(), &mut diags);
    shape(&mut models, &mut diags);
    (models.remove(0), diags.list().iter().map(|report| format!("{} {:?}", report.text(), report.help)).collect())
}

fn eval_in(attribute: &str, signature: &str, body: &str, args: Vec<Tensor>) -> Vec<Tensor> {
    let (model, wrong) = model(attribute, signature, body);
    assert!(wrong.is_empty(), "{wrong:?}");
    let model = expand(model);
    run(&model.functions[0], &model, &Env { args, ..Env::default() }).unwrap().results
}

fn eval(signature: &str, body: &str, args: Vec<Tensor>) -> Vec<Tensor> {
    eval_in("", signature, body, args)
}

fn tensor(dtype: DType, shape: &[usize], numbers: &[f64]) -> Tensor {
    Tensor::new(shape, Data::of(dtype, numbers.to_vec()))
}

#[test]
fn every_type_packs_into_words_and_back() {
    for &dtype in DType::ALL {
        let numbers: Vec<f64> = match dtype.category() {
            Category::Float => {
                vec![0.0, -0.0, 1.5, -0.1, 3.0e-5, 60000.0, f64::INFINITY, dtype.smallest_normal() / 2.0]
            }
            Category::Signed => vec![0.0, -1.0, 127.0, -128.0, 5.0],
            Category::Unsigned | Category::Bool => vec![0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0],
        };
        for count in 0..=numbers.len() {
            let data = Data::of(dtype, numbers[..count].to_vec());
            let words = data.words();
            assert_eq!(words.len(), (count * dtype.bits() as usize).div_ceil(32), "{dtype}");
            // What computes in f32 is exact in the oracle, and rounded in memory.
            let rounded = |x: &f64| if dtype.is_float() { dtype.nearest(*x) } else { *x };
            let found = Data::of_words(dtype, &words, count).numbers();
            let wanted: Vec<f64> = data.numbers().iter().map(rounded).collect();
            assert_eq!(found.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), bits(&wanted), "{dtype} {found:?}");
        }
    }
}

fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn half_precision_rounds_to_nearest_even() {
    // Published values: the largest, the least normal and the least number of binary16, and a tie.
    let (largest, normal, least) = (65504.0, 2f64.powi(-14), 2f64.powi(-24));
    assert_eq!((DType::F16.largest(), DType::F16.smallest_normal()), (largest, normal));
    assert_eq!((DType::F16.nearest(65519.0), DType::F16.nearest(65520.0)), (largest, f64::INFINITY));
    assert_eq!((DType::F16.nearest(2049.0), DType::F16.nearest(2051.0)), (2048.0, 2052.0));
    assert_eq!((DType::F16.nearest(0.6 * least), DType::F16.nearest(0.5 * least)), (least, 0.0));
    assert_eq!((DType::F16.float_bits(1.5), DType::BF16.float_bits(-1.5)), (0x3e00, 0xbfc0));
    assert_eq!(DType::BF16.nearest(1.0 + 2f64.powi(-8)), 1.0);
    for dtype in [DType::F16, DType::BF16] {
        for bits in 0..=u64::from(u16::MAX) {
            let x = dtype.of_float_bits(bits);
            assert!(x.is_nan() || dtype.float_bits(dtype.nearest(x)) == bits, "{dtype}: {bits:#x} is {x}");
        }
    }
}

#[test]
fn a_call_of_small_types_is_rounded_once() {
    // Every term rounds to even by itself, and the sum would stay where it is.
    let x = tensor(DType::BF16, &[300], &[1.0; 300]);
    assert_eq!(eval("x: bf16[300]) -> bf16", "sum(x)", vec![x.clone()])[0].f64s(), [300.0]);
    assert_eq!(eval("x: bf16[300]) -> bf16", "mean(x)", vec![x])[0].f64s(), [1.0]);
    let scores = tensor(DType::F32, &[1, 2], &[1.0, 3.0]);
    let target = tensor(DType::BF16, &[1, 2], &[0.25, 0.75]);
    let body = "(cross_entropy(x, t), cross_entropy(x, t.f32()))";
    let found = eval("x: f32[1, 2], t: bf16[1, 2]) -> (f32, f32)", body, vec![scores, target]);
    assert_eq!(found[0], found[1]);
}

#[test]
fn sums_of_small_integers_are_wide_and_elements_wrap() {
    let x = || tensor(DType::U8, &[3], &[200.0, 100.0, 7.0]);
    assert_eq!(eval("x: u8[3]) -> u32", "sum(x)", vec![x()])[0].u32s(), [307]);
    assert_eq!(eval("x: u8[3]) -> u32[3]", "cumsum(x, axis = 0)", vec![x()])[0].u32s(), [200, 300, 307]);
    assert_eq!(eval("x: u8[3]) -> u8[3]", "x + x", vec![x()])[0].u32s(), [144, 200, 14]);
    assert_eq!(eval("x: u8[3]) -> u8", "max(x)", vec![x()])[0].u32s(), [200]);
    let square = tensor(DType::U8, &[2, 2], &[200.0, 0.0, 0.0, 100.0]);
    assert_eq!(eval("x: u8[2, 2]) -> u32", "trace(x)", vec![square])[0].u32s(), [300]);
}

#[test]
fn small_indices_decide_nothing_about_results() {
    let (x, s) = (Tensor::words([3], vec![300, 400, 5]), tensor(DType::U8, &[3], &[0.0, 0.0, 1.0]));
    let found = eval("x: u32[3], s: u8[3]) -> u32[2]", "segment_sum(x, s, count = 2)", vec![x, s.clone()]);
    assert_eq!(found[0].u32s(), [700, 5]);
    let hot = eval("s: u8[3]) -> u32[3, 2]", "one_hot(s, 2, dtype = \"u32\")", vec![s]);
    assert_eq!(hot[0].u32s(), [1, 0, 1, 0, 0, 1]);
    let ids = Tensor::new([3], Data::Int(DType::I64, vec![1, -1, 1 << 32]));
    let found = eval("x: u32[2], i: i64[3]) -> u32[3]", "x[i]", vec![Tensor::words([2], vec![8, 9]), ids]);
    assert_eq!(found[0].u32s(), [9, 0, 0]);
}

#[test]
fn floats_that_nothing_decides_have_the_type_of_the_parameters() {
    let attribute = "#[model(precision = f64)]";
    let x = || vec![tensor(DType::F64, &[2], &[0.3, -0.3])];
    let choose = eval_in(attribute, "x: f64[2]) -> f64[2]", "where(x > 0.0, 0.1, 0.2) * x", x());
    assert_eq!(choose[0].f64s(), [0.1 * 0.3, 0.2 * -0.3]);
    let (_, wrong) = model(attribute, "x: f64[B]) -> f64[B]", "x / sqrt(B) + zeros([B]) + clamp(x, -1e300, 1e300)");
    assert!(wrong.is_empty(), "{wrong:?}");
    let (_, wrong) = model("", "x: f32[B]) -> f32[B]", "clamp(x, -1.0, 1e300)");
    assert!(wrong.len() == 1 && wrong[0].contains("is no f32"), "{wrong:?}");
}

#[test]
fn types_are_not_mixed() {
    let cases = [
        ("x: f32[B], y: f64[B]) -> f64[B]", "x + y", "x.f64()"),
        ("x: f32[B], y: bf16[B]) -> f32[B]", "x * y", "y.f32()"),
        ("x: u8[B], y: i32[B]) -> i32[B]", "x + y", "()"),
    ];
    for (signature, body, help) in cases {
        let (_, wrong) = model("", signature, body);
        assert!(wrong.len() == 1 && wrong[0].contains(help), "{wrong:?}");
    }
}

#[test]
fn helps_give_the_type_of_the_parameters() {
    let cases = [
        ("x: i64[B]) -> f64[B]", "exp(x)", "`exp` takes f64", "`x.f64()`"),
        ("x: f64[B], y: u32[B]) -> f64", "cross_entropy(x, y)", "", "`binary_cross_entropy_with_logits(x, y.f64())`"),
        ("x: f64[B]) -> f64[B]", "x * (1 / B)", "rounds down", "`1.0 / B.f64()`"),
        ("x: f64[B]) -> f64[B]", "grad(|y| sum(argmax(y, axis = 0)))(x)", "gives floats", "`.f64()`"),
    ];
    for (signature, body, message, help) in cases {
        let (_, wrong) = model("#[model(precision = f64)]", signature, body);
        assert!(wrong.len() == 1 && wrong[0].contains(message) && wrong[0].contains(help), "{body}: {wrong:?}");
    }
}

#[test]
fn numbers_and_ops_that_a_type_lacks_are_reported() {
    let cases = [
        ("x: u8[B]) -> u8[B]", "x + 300", "`300` is no u8, which `x` is", "u8 holds 0 to 255", "`x.i32()`"),
        ("x: i8[B]) -> i8[B]", "x * -129", "`-129` is no i8, which `x` is", "i8 holds -128 to 127", "`x.i32()`"),
        ("x: u32[B]) -> u32[B]", "x + 5_000_000_000", "is no u32, which `x` is", "u32 holds", "`x.i64()`"),
        ("x: u8[B]) -> u8[B]", "-x", "`-` takes floats and signed integers, but `x` is u8[B]", "", "`x.i32()`"),
        ("x: u64[B]) -> u64[B]", "abs(x)", "`abs` takes floats and signed integers, but `x` is u64", "", "`x.i64()`"),
    ];
    for (signature, body, message, note, help) in cases {
        let (_, wrong) = model("", signature, body);
        assert!(
            wrong.len() == 1 && [message, note, help].iter().all(|text| wrong[0].contains(text)),
            "{body}: {wrong:?}"
        );
    }
}

#[test]
fn a_choice_by_a_small_integer_is_one_of_its_values() {
    let body = "match k { 0 => x, 1 => -x, _ => x * 2.0 }";
    for (k, found) in [(0.0, 3.0), (1.0, -3.0), (200.0, 6.0)] {
        let args = vec![tensor(DType::U8, &[], &[k]), Tensor::floats([1], vec![3.0])];
        assert_eq!(eval("k: u8, x: f32[1]) -> f32[1]", body, args)[0].f64s(), [found]);
    }
}
