//! Every primitive's derivative against finite differences on the oracle, at odd and named extents.

#![allow(
    unreachable_pub,
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "tests fail by panicking, and share a public module"
)]

mod support;

use precast_compiler::ir::prim::{ArgOp, Border, Cut, MapOp, Prim, ReduceOp, Scalar, Window};
use precast_compiler::ir::{DType, Dim};
use support::{Fill, check, dims};

const SHAPES: [&[&str]; 2] = [&["5", "7"], &["B", "3", "2"]];

#[test]
fn elementwise_operations() {
    for &op in MapOp::ALL {
        let floats = vec![DType::F32; op.arity()];
        if op.dtype(&floats) != Ok(DType::F32) {
            continue;
        }
        let positive = matches!(op, MapOp::Log | MapOp::Log1p | MapOp::Sqrt | MapOp::Rsqrt | MapOp::Pow | MapOp::Div);
        let fill = if positive { Fill::Positive } else { Fill::Any };
        for shape in SHAPES {
            let inputs = vec![(dims(shape), fill); op.arity()];
            check(op.name(), &inputs, 2, &|b, args| b.map(op, args));
        }
    }
}

#[test]
fn select_and_ties() {
    for shape in SHAPES {
        let inputs = vec![(dims(shape), Fill::Any); 3];
        check("select", &inputs, 2, &|b, args| {
            let less = b.map(MapOp::Lt, &[args[0], args[1]])?;
            let square = b.mul(args[1], args[1])?;
            b.select(less, args[2], square)
        });
    }
}

#[test]
fn reductions() {
    for shape in SHAPES {
        for &op in ReduceOp::ALL {
            for axes in [&[0][..], &[1], &[0, 1]] {
                check(op.name(), &[(dims(shape), Fill::Any)], 2, &|b, args| b.reduce(op, args[0], axes));
            }
        }
    }
}

#[test]
fn broadcast_reshape_transpose() {
    let inputs = [(dims(&["B", "1", "4"]), Fill::Any), (dims(&["5", "1"]), Fill::Any)];
    check("broadcast", &inputs, 2, &|b, args| {
        let product = b.mul(args[0], args[1])?;
        let turned = b.transpose(product, &[2, 0, 1])?;
        b.reshape(turned, &[Dim::from(2), Dim::name("B"), Dim::from(10)])
    });
}

#[test]
fn slice_flip_pad_concat() {
    let cut = |start: i64, len: i64, step: i64| Cut { start: start.into(), len: len.into(), step };
    let whole = Cut { start: 0.into(), len: Dim::name("B"), step: 1 };
    let inputs = [(dims(&["B", "9"]), Fill::Any), (dims(&["B", "3"]), Fill::Any)];
    check("set_slice", &inputs, 2, &|b, args| {
        let cut = |start: Dim, len: Dim, step| Cut { start, len, step };
        let cuts = vec![cut(0.into(), Dim::name("B"), 1), cut(2.into(), 3.into(), 2)];
        let set = b.prim(Prim::SetSlice(cuts), args)?;
        b.mul(set, args[0])
    });
    check("slice", &[(dims(&["B", "9"]), Fill::Any)], 2, &|b, args| {
        let x = b.prim(Prim::Slice(vec![whole.clone(), cut(1, 3, 3)]), args)?;
        b.mul(x, x)
    });
    let last = Cut { start: Dim::name("B") - Dim::from(1), len: 1.into(), step: 1 };
    check("last", &[(dims(&["B", "9"]), Fill::Any)], 1, &|b, args| {
        b.prim(Prim::Slice(vec![last.clone(), cut(0, 9, 1)]), args)
    });
    check("flip", &[(dims(&["B", "4"]), Fill::Any)], 1, &|b, args| b.prim(Prim::Flip(vec![0, 1]), args));
    let border = |low: i64, high: i64, interior| Border { low: low.into(), high: high.into(), interior };
    for borders in [[border(1, 2, 0), border(0, 1, 2)], [border(-1, 1, 0), border(2, -2, 1)]] {
        check("pad", &[(dims(&["B", "5"]), Fill::Any)], 2, &|b, args| {
            let x = b.mul(args[0], args[0])?;
            b.prim(Prim::Pad { borders: borders.to_vec(), value: Scalar::f32(1.5) }, &[x])
        });
    }
    let inputs = [(dims(&["2", "B"]), Fill::Any), (dims(&["2", "3"]), Fill::Any)];
    check("concat", &inputs, 2, &|b, args| {
        let both = b.prim(Prim::Concat { axis: 1 }, &[args[0], args[1], args[0]])?;
        b.mul(both, both)
    });
}

#[test]
fn contractions() {
    for (spec, lhs, rhs) in [
        ("ij,jk->ik", &["5", "7"][..], &["7", "3"][..]),
        ("bik,nk->bni", &["B", "2", "5"], &["7", "5"]),
        ("bhd,bhe->hde", &["B", "2", "3"], &["B", "2", "5"]),
        ("i,j->ji", &["B"], &["3"]),
        ("is,j->ij", &["3", "5"], &["2"]),
        ("ij,ij->", &["3", "B"], &["3", "B"]),
    ] {
        let inputs = [(dims(lhs), Fill::Any), (dims(rhs), Fill::Any)];
        check(spec, &inputs, 2, &|b, args| b.contract(spec, args[0], args[1]));
    }
}

#[test]
fn gather_and_scatter() {
    // Index 5 and 6 are outside: a gathered NaN is replaced before it counts.
    let inputs = [(dims(&["2", "5", "3"]), Fill::Any), (dims(&["B", "2"]), Fill::Index(7))];
    check("gather", &inputs, 2, &|b, args| {
        let taken = b.prim(Prim::Gather { axis: 1 }, args)?;
        let square = b.mul(taken, taken)?;
        let whole = b.map(MapOp::Eq, &[square, square])?;
        let zero = b.full(DType::F32, &[], 0.0)?;
        b.select(whole, square, zero)
    });
    let inputs = [(dims(&["2", "B", "2", "3"]), Fill::Any), (dims(&["B", "2"]), Fill::Index(7))];
    check("scatter", &inputs, 2, &|b, args| {
        let square = b.mul(args[0], args[0])?;
        b.prim(Prim::ScatterAdd { axis: 1, extent: 5.into() }, &[square, args[1]])
    });
}

#[test]
fn integers_carry_no_derivative() {
    check("arg", &[(dims(&["B", "5"]), Fill::Any)], 1, &|b, args| {
        let at = b.prim(Prim::ArgReduce { op: ArgOp::Max, axis: 1 }, args)?;
        let at = b.convert(at, DType::F32)?;
        let sum = b.sum(args[0], &[1])?;
        b.mul(at, sum)
    });
}

fn window(size: i64, stride: i64, dilation: i64, low: i64, high: i64, base: i64) -> Window {
    Window { size: size.into(), stride, dilation, low: low.into(), high: high.into(), base }
}

fn windows() -> Vec<Vec<Window>> {
    vec![
        vec![window(2, 2, 1, 0, 0, 1), window(3, 3, 1, 0, 0, 1)],
        vec![window(3, 1, 1, 1, 1, 1), window(2, 1, 1, 0, 0, 1)],
        vec![window(3, 2, 1, 1, 0, 1), window(2, 3, 2, 2, 1, 1)],
        vec![window(2, 1, 3, 0, 0, 1), window(3, 2, 2, 3, 2, 2)],
        vec![window(2, 1, 1, -1, 0, 1), window(2, 1, 1, 1, -1, 3)],
    ]
}

#[test]
fn window_reductions() {
    for windows in windows() {
        for &op in ReduceOp::ALL {
            // A window all in padding has no finite extreme; sums and products of nothing are constants.
            let prim = Prim::WindowReduce { op, windows: windows.clone() };
            check(op.name(), &[(dims(&["B", "4", "6"]), Fill::Any)], 2, &|b, args| {
                let y = b.prim(prim.clone(), args)?;
                let bound = b.with(MapOp::Min, y, 1e6)?;
                b.with(MapOp::Max, bound, -1e6)
            });
        }
    }
}

#[test]
fn window_take_and_put() {
    for windows in windows() {
        check("take", &[(dims(&["B", "4", "6"]), Fill::Any)], 2, &|b, args| {
            let at = b.prim(Prim::WindowArgMax { windows: windows.clone() }, args)?;
            let square = b.mul(args[0], args[0])?;
            let taken = b.prim(Prim::WindowTake { windows: windows.clone() }, &[square, at])?;
            let square = b.mul(taken, taken)?;
            let extents = vec![4.into(), 6.into()];
            b.prim(Prim::WindowPut { windows: windows.clone(), extents }, &[square, at])
        });
    }
}

#[test]
fn convolutions() {
    let with = |sizes: [i64; 2], w: [i64; 5], v: [i64; 5]| {
        vec![window(sizes[0], w[0], w[1], w[2], w[3], w[4]), window(sizes[1], v[0], v[1], v[2], v[3], v[4])]
    };
    for windows in [
        with([3, 3], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]),
        with([3, 2], [2, 1, 1, 0, 1], [3, 2, 2, 1, 1]),
        with([2, 3], [1, 3, 0, 0, 1], [2, 2, 3, 2, 2]),
        with([1, 4], [1, 1, -1, 0, 1], [2, 1, 2, 3, 1]),
    ] {
        let taps: Vec<String> = windows.iter().map(|w| w.size.to_string()).collect();
        let inputs =
            [(dims(&["B", "2", "3", "5", "6"]), Fill::Any), (dims(&["2", "2", "3", &taps[0], &taps[1]]), Fill::Any)];
        let order = if windows[0].stride == 2 { 2 } else { 1 };
        check("conv", &inputs, order, &|b, args| b.prim(Prim::Conv { windows: windows.clone() }, args));
    }
}

#[test]
fn a_named_spatial_axis() {
    let inputs = [(dims(&["2", "1", "2", "B"]), Fill::Any), (dims(&["1", "3", "2", "2"]), Fill::Any)];
    let windows = vec![window(2, 2, 1, 1, 1, 1)];
    check("conv over B", &inputs, 2, &|b, args| b.prim(Prim::Conv { windows: windows.clone() }, args));
}
