//! What operators compute where versions, types or large numbers make a difference.

use super::*;
use precast_compiler::ir::DType;

const FLOAT16: i32 = 10;

fn vector(name: &str, dtype: i32, count: i64) -> ValueInfoProto {
    input(name, dtype, &[Extent::DimValue(count)])
}

/// An operator of two vectors.
fn binary(operator: &str, types: [i32; 2], count: i64, attributes: Vec<AttributeProto>) -> ModelProto {
    let inputs = vec![vector("a", types[0], count), vector("b", types[1], count)];
    model(vec![node(operator, &["a", "b"], &["y"], attributes)], inputs, &["y"], vec![])
}

#[test]
fn results_have_the_type_of_the_first_argument() {
    for (types, wanted) in [([1, FLOAT16], DType::F32), ([6, 3], DType::I32), ([FLOAT16, 1], DType::F16)] {
        let imported = read(&binary("Pow", types, 2, vec![])).unwrap();
        assert_eq!(imported.function.graph.ty(imported.function.graph.outputs[0]).dtype, wanted);
    }
}

/// `trunc(a / b)` as a float is one too many for 1 and 0.1, and has too few bits for 10⁹ and 3.7.
#[test]
fn remainders_are_exact() {
    let imported = read(&binary("Mod", [1, 1], 2, vec![int("fmod", 1)])).unwrap();
    let is_rem = |kind: &Kind| matches!(kind, Kind::Prim(Prim::Map(precast_compiler::ir::prim::MapOp::Rem)));
    assert!(imported.function.graph.nodes.iter().any(|node| is_rem(&node.kind)));
    let args = [[1e9, 1.0], [f64::from(3.7f32), f64::INFINITY]].map(|all| Tensor::floats([2], all.to_vec()));
    let made = result(&binary("Mod", [1, 1], 2, vec![int("fmod", 1)]), args.to_vec());
    assert_eq!(made, [1e9 % f64::from(3.7f32), 1.0]);
}

#[test]
fn powers_of_integers_take_all_exponents() {
    let i64s = |numbers: &[i128]| Tensor::new([numbers.len()], Data::Int(DType::I64, numbers.to_vec()));
    let (base, exponents) = ([3, 0, 1, -1, -1, 2, 5], [64, 64, -3, -3, -4, -1, 3]);
    let made = results(&binary("Pow", [7, 7], 7, vec![]), vec![i64s(&base), i64s(&exponents)]).remove(0);
    let wanted = [3i64.wrapping_pow(64), 0, 1, -1, 1, 0, 125];
    assert_eq!(made.data, Data::Int(DType::I64, wanted.iter().map(|&n| n.into()).collect()));
    // Exponents that are known take as many steps as they have bits.
    let mut file = model(
        vec![node("Pow", &["a", "b"], &["y"], vec![])],
        vec![vector("a", 7, 2)],
        &["y"],
        vec![integers("b", &[3, 4])],
    );
    assert_eq!(result(&file, vec![i64s(&[2, 3])]), [8.0, 81.0]);
    let short = read(&file).unwrap().function.graph.nodes.len();
    file.graph.as_mut().unwrap().initializer[0] = integers("b", &[3, 1 << 40]);
    assert!(read(&file).unwrap().function.graph.nodes.len() > short);
}

#[test]
fn batches_are_normalised_by_their_own_statistics_where_the_version_says_so() {
    let known: Vec<TensorProto> = [("scale", 1.0), ("shift", 0.0), ("mean", 0.0), ("variance", 1.0)]
        .iter()
        .map(|(name, number)| floats(name, &[1], &[*number]))
        .collect();
    let names = ["x", "scale", "shift", "mean", "variance"];
    let x = input("x", FLOAT, &[Extent::DimValue(2), Extent::DimValue(1)]);
    let file = |version, outputs: &[&str], attributes| {
        let norm = node("BatchNormalization", &names, outputs, attributes);
        let mut file = model(vec![norm], vec![x.clone()], &["y"], known.clone());
        file.opset_import[0].version = version;
        file
    };
    let of_batch = |file: &ModelProto| result(file, vec![Tensor::floats([2, 1], vec![4.0, 8.0])])[0] < 0.0;
    assert!(of_batch(&file(6, &["y"], vec![])));
    assert!(!of_batch(&file(6, &["y"], vec![int("is_test", 1)])));
    assert!(!of_batch(&file(9, &["y"], vec![])));
    assert!(of_batch(&file(9, &["y", "m", "v", "sm", "sv"], vec![])));
    assert!(!of_batch(&file(15, &["y"], vec![])));
    assert!(read(&file(7, &["y"], vec![int("spatial", 0)])).is_err());
}

/// Sums of f32 are of integers as long as they stay below 2²⁴: 512 products of u8 and i8, 256 of u8 and u8.
#[test]
fn long_sums_of_integers_are_made_in_parts_that_are_exact() {
    let matrix = |name: &str, dtype, shape: [i64; 2]| input(name, dtype, &shape.map(Extent::DimValue));
    let parts = |terms: i64, known: Vec<TensorProto>| {
        let (dtype, zero) = known.first().map_or((2, ""), |zero| (zero.data_type, zero.name.as_str()));
        let inputs = vec![matrix("a", 2, [2, terms]), matrix("b", dtype, [terms, 3]), input("z", 2, &[])];
        let file = model(vec![node("MatMulInteger", &["a", "b", "z", zero], &["y"], vec![])], inputs, &["y"], known);
        let graph = read(&file).unwrap().function.graph;
        let kinds = |is: fn(&Prim) -> bool| {
            let found = graph.nodes.iter().filter(|node| matches!(&node.kind, Kind::Prim(prim) if is(prim)));
            found.map(|node| node.ty.as_ref().unwrap().to_string()).collect::<Vec<String>>()
        };
        let is_padded = !kinds(|prim| matches!(prim, Prim::Pad { .. })).is_empty();
        (kinds(|prim| matches!(prim, Prim::Contract { .. })).remove(0), is_padded)
    };
    let symmetric = || vec![raw("zero", 3, &[], vec![0])];
    assert_eq!(parts(512, symmetric()), ("f32[2, 3]".into(), false));
    assert_eq!(parts(1536, symmetric()), ("f32[3, 2, 3]".into(), false));
    assert_eq!(parts(512, vec![]), ("f32[2, 2, 3]".into(), false));
    assert_eq!(parts(384, vec![raw("zero", 3, &[], vec![1])]), ("f32[2, 2, 3]".into(), false));
    // A prime number of terms.
    assert_eq!(parts(521, symmetric()), ("f32[2, 2, 3]".into(), true));
}
