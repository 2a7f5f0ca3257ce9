//! Primitives and sources as names and fields, both ways.

use super::attend;
use super::datum::{Datum, Fields, Read};
use crate::ir::graph::Source;
use crate::ir::prim::{ArgOp, Border, Cut, MapOp, Prim, ReduceOp, Window};
use crate::ir::{DType, Dim};

fn fields<const N: usize>(pairs: [(&str, Datum); N]) -> Fields {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The name and fields of a primitive.
pub(super) fn print(prim: &Prim) -> (&'static str, Fields) {
    let index = |n: usize| Datum::number(n as i64);
    match prim {
        Prim::Const(x) => ("const", fields([("value", Datum::Scalar(*x))])),
        Prim::Extent(dim) => ("extent", fields([("dim", Datum::Dim(dim.clone()))])),
        Prim::Iota { shape, axis } => ("iota", fields([("shape", Datum::dims(shape)), ("axis", index(*axis))])),
        Prim::Map(op) => (op.name(), vec![]),
        Prim::Convert(dtype) => ("convert", fields([("dtype", Datum::word(dtype.name()))])),
        Prim::Reduce { op, axes } => {
            ("reduce", fields([("op", Datum::word(op.name())), ("axes", Datum::numbers(axes.iter().copied()))]))
        }
        Prim::ArgReduce { op, axis } => {
            ("arg_reduce", fields([("op", Datum::word(op.name())), ("axis", index(*axis))]))
        }
        Prim::WindowReduce { op, windows } => {
            ("window_reduce", fields([("op", Datum::word(op.name())), ("windows", print_windows(windows))]))
        }
        Prim::WindowArgMax { windows } => ("window_arg_max", fields([("windows", print_windows(windows))])),
        Prim::WindowTake { windows } => ("window_take", fields([("windows", print_windows(windows))])),
        Prim::WindowPut { windows, extents } => {
            ("window_put", fields([("windows", print_windows(windows)), ("extents", Datum::dims(extents))]))
        }
        Prim::Reshape(shape) => ("reshape", fields([("shape", Datum::dims(shape))])),
        Prim::Transpose(permutation) => {
            ("transpose", fields([("permutation", Datum::numbers(permutation.iter().copied()))]))
        }
        Prim::Broadcast { shape, axes } => {
            ("broadcast", fields([("shape", Datum::dims(shape)), ("axes", Datum::numbers(axes.iter().copied()))]))
        }
        Prim::Slice(cuts) => ("slice", fields([("cuts", Datum::List(cuts.iter().map(print_cut).collect()))])),
        Prim::SetSlice(cuts) => ("set_slice", fields([("cuts", Datum::List(cuts.iter().map(print_cut).collect()))])),
        Prim::Barrier => ("barrier", fields([])),
        Prim::Flip(axes) => ("flip", fields([("axes", Datum::numbers(axes.iter().copied()))])),
        Prim::Pad { borders, value } => {
            let borders = Datum::List(borders.iter().map(print_border).collect());
            ("pad", fields([("borders", borders), ("value", Datum::Scalar(*value))]))
        }
        Prim::Concat { axis } => ("concat", fields([("axis", index(*axis))])),
        Prim::Contract { lhs, rhs, out } => {
            ("contract", fields([("lhs", print_labels(lhs)), ("rhs", print_labels(rhs)), ("out", print_labels(out))]))
        }
        Prim::Conv { windows } => ("conv", fields([("windows", print_windows(windows))])),
        Prim::Gather { axis } => ("gather", fields([("axis", index(*axis))])),
        Prim::Attend(attend) => ("attend", attend::print(attend)),
        Prim::ScatterAdd { axis, extent } => {
            ("scatter_add", fields([("axis", index(*axis)), ("extent", Datum::Dim(extent.clone()))]))
        }
    }
}

/// The primitive of that name.
pub(super) fn parse(name: &str, fields: &Fields) -> Result<Prim, String> {
    let read = Read(fields);
    if let Some(op) = MapOp::from_name(name) {
        return Ok(Prim::Map(op));
    }
    let reduce = || {
        let word = read.word("op")?;
        ReduceOp::from_name(&word).ok_or_else(|| format!("no reduction `{word}`"))
    };
    let windows = || read.records("windows", parse_window);
    Ok(match name {
        "const" => Prim::Const(read.scalar("value")?),
        "extent" => Prim::Extent(read.dim("dim")?),
        "iota" => Prim::Iota { shape: read.dims("shape")?, axis: read.index("axis")? },
        "convert" => {
            let word = read.word("dtype")?;
            Prim::Convert(DType::from_name(&word).ok_or_else(|| format!("no type `{word}`"))?)
        }
        "reduce" => Prim::Reduce { op: reduce()?, axes: read.indices("axes")? },
        "arg_reduce" => {
            let word = read.word("op")?;
            let op = ArgOp::from_name(&word).ok_or_else(|| format!("no extreme `{word}`"))?;
            Prim::ArgReduce { op, axis: read.index("axis")? }
        }
        "window_reduce" => Prim::WindowReduce { op: reduce()?, windows: windows()? },
        "window_arg_max" => Prim::WindowArgMax { windows: windows()? },
        "window_take" => Prim::WindowTake { windows: windows()? },
        "window_put" => Prim::WindowPut { windows: windows()?, extents: read.dims("extents")? },
        "reshape" => Prim::Reshape(read.dims("shape")?),
        "transpose" => Prim::Transpose(read.indices("permutation")?),
        "broadcast" => Prim::Broadcast { shape: read.dims("shape")?, axes: read.indices("axes")? },
        "slice" => Prim::Slice(read.records("cuts", parse_cut)?),
        "set_slice" => Prim::SetSlice(read.records("cuts", parse_cut)?),
        "barrier" => Prim::Barrier,
        "flip" => Prim::Flip(read.indices("axes")?),
        "pad" => {
            let border =
                |r: Read<'_>| Ok(Border { low: r.dim("low")?, high: r.dim("high")?, interior: r.int("interior")? });
            Prim::Pad { borders: read.records("borders", border)?, value: read.scalar("value")? }
        }
        "concat" => Prim::Concat { axis: read.index("axis")? },
        "contract" => Prim::Contract {
            lhs: parse_labels(read.text("lhs")?)?,
            rhs: parse_labels(read.text("rhs")?)?,
            out: parse_labels(read.text("out")?)?,
        },
        "conv" => Prim::Conv { windows: windows()? },
        "gather" => Prim::Gather { axis: read.index("axis")? },
        "scatter_add" => Prim::ScatterAdd { axis: read.index("axis")?, extent: read.dim("extent")? },
        "attend" => Prim::Attend(attend::parse(&read)?),
        other => return Err(format!("no primitive `{other}`")),
    })
}

fn print_windows(windows: &[Window]) -> Datum {
    let number = Datum::number;
    let dim = |d: &Dim| Datum::Dim(d.clone());
    let one = |w: &Window| {
        Datum::Record(fields([
            ("size", dim(&w.size)),
            ("stride", number(w.stride)),
            ("dilation", number(w.dilation)),
            ("low", dim(&w.low)),
            ("high", dim(&w.high)),
            ("base", number(w.base)),
        ]))
    };
    Datum::List(windows.iter().map(one).collect())
}

fn parse_window(r: Read<'_>) -> Result<Window, String> {
    Ok(Window {
        size: r.dim("size")?,
        stride: r.int("stride")?,
        dilation: r.int("dilation")?,
        low: r.dim("low")?,
        high: r.dim("high")?,
        base: r.int("base")?,
    })
}

fn parse_cut(r: Read<'_>) -> Result<Cut, String> {
    Ok(Cut { start: r.dim("start")?, len: r.dim("len")?, step: r.int("step")? })
}

fn print_cut(cut: &Cut) -> Datum {
    let dim = |d: &Dim| Datum::Dim(d.clone());
    Datum::Record(fields([("start", dim(&cut.start)), ("len", dim(&cut.len)), ("step", Datum::number(cut.step))]))
}

fn print_border(b: &Border) -> Datum {
    let dim = |d: &Dim| Datum::Dim(d.clone());
    Datum::Record(fields([("low", dim(&b.low)), ("high", dim(&b.high)), ("interior", Datum::number(b.interior))]))
}

/// Labels are usually letters; others print as the characters of those numbers.
fn print_labels(labels: &[u8]) -> Datum {
    Datum::Text(labels.iter().map(|&l| char::from(l)).collect())
}

fn parse_labels(text: &str) -> Result<Vec<u8>, String> {
    text.chars().map(|c| u8::try_from(c).map_err(|_| format!("the label {c:?}"))).collect()
}

/// The name and fields of a source.
pub(super) fn print_source(source: Source) -> Fields {
    let (kind, index) = match source {
        Source::Key(k) => ("key", Some(k)),
        Source::Weights => ("weights", None),
        Source::Gradients => ("gradients", None),
        Source::State(k) => ("state", Some(k)),
        Source::Group => ("group", None),
        Source::Number(k) => ("number", Some(k)),
        Source::ClipNorm => ("clip_norm", None),
        Source::SkipNonfinite => ("skip_nonfinite", None),
    };
    let mut all = fields([("of", Datum::word(kind))]);
    all.extend(index.map(|k| ("index".to_owned(), Datum::number(k as i64))));
    all
}

/// The source of those fields.
pub(super) fn parse_source(fields: &Fields) -> Result<Source, String> {
    let read = Read(fields);
    Ok(match read.word("of")?.as_str() {
        "key" => Source::Key(read.index("index")?),
        "weights" => Source::Weights,
        "gradients" => Source::Gradients,
        "state" => Source::State(read.index("index")?),
        "group" => Source::Group,
        "number" => Source::Number(read.index("index")?),
        "clip_norm" => Source::ClipNorm,
        "skip_nonfinite" => Source::SkipNonfinite,
        other => return Err(format!("no source `{other}`")),
    })
}
