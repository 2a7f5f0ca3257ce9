//! Derivative rules of primitives that move elements: each is the transpose of the movement.

use crate::ir::prim::{Border, Cut, MapOp, Prim, Scalar};
use crate::ir::{Dim, Value};
use crate::ops::{Builder, OpError};

/// Of a slice: the cotangent between zeros.
pub(super) fn slice(b: &mut Builder<'_>, cuts: &[Cut], x: Value, g: Value) -> Result<Value, OpError> {
    let one = Dim::from(1);
    let border = |(cut, extent): (&Cut, Dim)| {
        let end = cut.start.clone() + (cut.len.clone() - one.clone()) * Dim::from(cut.step) + one.clone();
        Border { low: cut.start.clone(), high: extent - end, interior: cut.step - 1 }
    };
    let borders = cuts.iter().zip(b.shape(x)).map(border).collect();
    let value = Scalar::of(b.dtype(g), 0.0);
    b.prim(Prim::Pad { borders, value }, &[g])
}

/// Of a part that is put in: the cotangent with zeros there, and the cotangent there.
pub(super) fn set_slice(
    b: &mut Builder<'_>,
    cuts: &[Cut],
    part: Value,
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let mut whole = None;
    if wanted[0] {
        let shape = b.shape(part);
        let zeros = b.full(b.dtype(g), &shape, 0.0)?;
        whole = Some(b.prim(Prim::SetSlice(cuts.to_vec()), &[g, zeros])?);
    }
    Ok(vec![whole, wanted[1].then(|| b.prim(Prim::Slice(cuts.to_vec()), &[g])).transpose()?])
}

/// Of padding: the part of the cotangent where the elements went; cropped elements have none.
pub(super) fn pad(b: &mut Builder<'_>, borders: &[Border], x: Value, g: Value) -> Result<Value, OpError> {
    let split = |d: &Dim| match d.as_const() {
        Some(n) if n < 0 => (Dim::from(0), Dim::from(-n)),
        Some(_) | None => (d.clone(), Dim::from(0)),
    };
    let cropped = |border: &Border| (split(&border.low).1, split(&border.high).1);
    let g = match borders.iter().map(cropped).collect::<Vec<_>>() {
        none if none.iter().all(|(low, high)| low.is(0) && high.is(0)) => g,
        some => b.pad(g, &some)?,
    };
    let cut = |(border, len): (&Border, Dim)| Cut { start: split(&border.low).0, len, step: border.interior + 1 };
    let cuts = borders.iter().zip(b.shape(x)).map(cut).collect();
    b.prim(Prim::Slice(cuts), &[g])
}

/// Of a concatenation: the parts of the cotangent.
pub(super) fn concat(
    b: &mut Builder<'_>,
    axis: usize,
    args: &[Value],
    g: Value,
    wanted: &[bool],
) -> Result<Vec<Option<Value>>, OpError> {
    let mut start = Dim::from(0);
    let mut parts = vec![];
    for (&arg, &wanted) in args.iter().zip(wanted) {
        let len = b.shape(arg)[axis].clone();
        parts.push(wanted.then(|| b.slice(g, axis, start.clone(), len.clone())).transpose()?);
        start = start + len;
    }
    Ok(parts)
}

/// Of a scattered sum: the cotangent where each update went; updates that were dropped have none.
pub(super) fn scatter_add(
    b: &mut Builder<'_>,
    axis: usize,
    extent: &Dim,
    index: Value,
    g: Value,
) -> Result<Value, OpError> {
    let taken = b.prim(Prim::Gather { axis }, &[g, index])?;
    let end = match extent.as_const() {
        Some(n) => b.prim(Prim::Const(Scalar::u32(n as u32)), &[])?,
        None => b.prim(Prim::Extent(extent.clone()), &[])?,
    };
    let inside = b.map(MapOp::Lt, &[index, end])?;
    let (shape, rank) = (b.shape(taken), b.rank(index));
    let inside = b.prim(Prim::Broadcast { shape: shape.clone(), axes: (axis..axis + rank).collect() }, &[inside])?;
    let zero = b.full(b.dtype(g), &shape, 0.0)?;
    b.select(inside, taken, zero)
}
