//! What operators make of shapes with named dimensions: formulas where they hold for every binding, and numbers of a call otherwise.

use super::*;
use precast_compiler::ir::DType;

/// A model of these nodes, which know the shape of `x: f32[B, 4]` as `shape` and its first extent as `rows`.
fn of_shape(mut nodes: Vec<NodeProto>, outputs: &[&str], mut known: Vec<TensorProto>) -> ModelProto {
    let first = [node("Shape", &["x"], &["shape"], vec![]), node("Gather", &["shape", "first"], &["rows"], vec![])];
    nodes.splice(0..0, first);
    known.push(integers("first", &[0]));
    model(nodes, vec![input("x", FLOAT, &[named("B"), Extent::DimValue(4)])], outputs, known)
}

fn signature(file: &ModelProto) -> String {
    read(file).unwrap().function.signature.text
}

/// The only result for three rows.
fn of_three_rows(file: &ModelProto) -> Tensor {
    let x = Tensor::floats([3, 4], (0..12).map(f64::from).collect());
    results(file, vec![x]).remove(0)
}

#[test]
fn extents_may_be_joined_with_nothing() {
    let nodes = vec![
        node("Concat", &["rows", "none"], &["list"], vec![int("axis", 0)]),
        node("Reshape", &["rows", "none"], &["number"], vec![]),
        node("Squeeze", &["rows", "none"], &["same"], vec![]),
        node("Concat", &["list", "same"], &["y"], vec![int("axis", 0)]),
    ];
    let file = of_shape(nodes, &["y", "number"], vec![integers("none", &[])]);
    assert_eq!(signature(&file), "fn forward(&self, x: f32[B, 4]) -> (i64[2], i64)");
    assert_eq!(of_three_rows(&file).data.numbers(), [3.0, 3.0]);
}

#[test]
fn products_of_extents_have_the_shape_that_is_asked_for() {
    for (attributes, shape, numbers) in [
        (vec![int("keepdims", 0)], vec![], vec![12.0]),
        (vec![], vec![1], vec![12.0]),
        (vec![int("noop_with_empty_axes", 1)], vec![2], vec![3.0, 4.0]),
    ] {
        let made = of_three_rows(&of_shape(vec![node("ReduceProd", &["shape"], &["y"], attributes)], &["y"], vec![]));
        assert_eq!(
            (made.shape, made.data),
            (shape, Data::Int(DType::I64, numbers.iter().map(|&n| n as i128).collect()))
        );
    }
}

#[test]
fn numbers_made_of_extents_may_be_negative_and_large() {
    let nodes = vec![
        node("Sub", &["rows", "four"], &["less"], vec![]),
        node("Neg", &["rows"], &["negative"], vec![]),
        node("Div", &["less", "two"], &["half"], vec![]),
        node("Mul", &["rows", "large"], &["more"], vec![]),
        node("Concat", &["less", "negative", "half", "more"], &["y"], vec![int("axis", 0)]),
    ];
    let known = vec![integers("four", &[4]), integers("two", &[2]), integers("large", &[1 << 33])];
    let made = of_three_rows(&of_shape(nodes, &["y"], known));
    assert_eq!(made.data, Data::Int(DType::I64, vec![-1, -3, 0, 3 << 33]));
}

/// TensorFlow's exporter computes with shapes of i32, and PyTorch's older one with floats.
#[test]
fn extents_are_converted() {
    let nodes = vec![
        node("Cast", &["rows"], &["narrow"], vec![int("to", 6)]),
        node("Cast", &["rows"], &["float"], vec![int("to", 1)]),
        node("Mul", &["float", "scale"], &["scaled"], vec![]),
        node("Floor", &["scaled"], &["whole"], vec![]),
        node("Cast", &["whole"], &["extent"], vec![int("to", 7)]),
        node("ConstantOfShape", &["extent"], &["zeros"], vec![]),
    ];
    for (scale, extent) in [(2.0, "2*B"), (0.5, "div(B, 2)"), (1.75, "div(7*B, 4)")] {
        let file = of_shape(nodes.clone(), &["zeros", "narrow"], vec![floats("scale", &[1], &[scale])]);
        let found = signature(&file);
        assert_eq!(found, format!("fn forward(&self, x: f32[B, 4]) -> (f32[{extent}], i32[1])"));
        assert_eq!(of_three_rows(&file).shape, [(3.0 * scale) as usize]);
    }
}

#[test]
fn the_smaller_and_the_larger_are_formulas() {
    let nodes = vec![
        node("Min", &["rows", "two", "five"], &["least"], vec![]),
        node("Max", &["rows", "two", "five"], &["most"], vec![]),
        node("Concat", &["least", "most"], &["both"], vec![int("axis", 0)]),
        node("ConstantOfShape", &["both"], &["y"], vec![]),
    ];
    let file = of_shape(nodes, &["y"], vec![integers("two", &[2]), integers("five", &[5])]);
    assert_eq!(of_three_rows(&file).shape, [2, 5]);
}

#[test]
fn shapes_are_cut_backwards_and_in_steps() {
    let known = || {
        let numbers = [("last", -1), ("before", i64::MIN), ("end", i64::MAX), ("axis", 0), ("back", -1), ("two", 2)];
        numbers.map(|(name, number)| integers(name, &[number])).to_vec()
    };
    let nodes = vec![
        node("Slice", &["shape", "last", "before", "axis", "back"], &["turned"], vec![]),
        node("Reshape", &["x", "turned"], &["y"], vec![]),
    ];
    assert_eq!(signature(&of_shape(nodes, &["y"], known())), "fn forward(&self, x: f32[B, 4]) -> f32[4, B]");
    for (cut, rows) in
        [(["last", "before", "axis", "back"], vec![2, 1, 0]), (["first", "end", "axis", "two"], vec![0, 2])]
    {
        let inputs = [&["x"][..], &cut].concat();
        let made = of_three_rows(&of_shape(vec![node("Slice", &inputs, &["y"], vec![])], &["y"], known()));
        let wanted: Vec<f64> = rows.iter().flat_map(|row| (0..4).map(move |k| f64::from(row * 4 + k))).collect();
        assert_eq!(made.data.numbers(), wanted);
    }
}

/// For the end of an axis exporters write the largest integers of their types, and TensorFlow's 10⁹.
#[test]
fn slices_go_to_the_end_of_named_axes() {
    for (number, end) in [("i64", i64::MAX), ("i32", i32::MAX.into()), ("TensorFlow", 1_000_000_000)] {
        let nodes = vec![node("Slice", &["x", "first", "end", "first"], &["y"], vec![])];
        let file = of_shape(nodes, &["y"], vec![integers("end", &[end])]);
        assert_eq!(signature(&file), "fn forward(&self, x: f32[B, 4]) -> f32[B, 4]", "{number}");
    }
}

#[test]
fn formulas_do_not_grow_without_end() {
    let mut nodes = vec![node("Add", &["shape", "one"], &["v0"], vec![])];
    let names: Vec<String> = (0..40).map(|k| format!("v{k}")).collect();
    nodes.extend(names.windows(2).map(|pair| node("Mul", &[&pair[0], &pair[0]], &[&pair[1]], vec![])));
    nodes.extend([node("Min", &["v39", "shape"], &["y"], vec![])]);
    assert!(read(&of_shape(nodes, &["y"], vec![integers("one", &[1])])).is_ok());
}
