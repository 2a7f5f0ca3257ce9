//! Which keys a query of `Attention` sees, and what is added to its scores.

use super::{LENGTHS, MASK};
use crate::ir::prim::{Border, MapOp, Prim, Scalar};
use crate::ir::{DType, Dim, Value};
use crate::onnx::Failure;
use crate::onnx::node::{Made, Node};

/// How many queries and keys there are, and how many of the keys came before the first query.
pub(super) struct Places {
    pub(super) queries: Dim,
    pub(super) keys: Dim,
    pub(super) past: Dim,
}

/// A mask in two parts, both of which broadcast to the scores.
pub(super) struct Mask {
    /// Whether a key is seen; all are where it is absent.
    seen: Option<Value>,
    /// What is added to the scores.
    added: Option<Value>,
}

impl Mask {
    /// What the arguments and attributes of a node say; added are numbers of the type of `like`.
    pub(super) fn new(n: &mut Node<'_>, like: Value, places: &Places, is_causal: bool) -> Made<Mask> {
        let mut mask = Mask { seen: None, added: None };
        if n.has(MASK) {
            mask.given(n, like, &places.keys)?;
        }
        let [left, right] = [window(n, "left_window_size")?, window(n, "right_window_size")?];
        let right = if is_causal { Some(0.0) } else { right };
        if left.is_none() && right.is_none() && !n.has(LENGTHS) {
            return Ok(mask);
        }
        let key = n.b.iota(&[1.into(), places.keys.clone()], 1)?;
        let key = n.b.convert(key, DType::I32)?;
        if left.is_some() || right.is_some() {
            // How far a key lies after the query.
            let query = queries(n, places)?;
            let after = n.b.sub(key, query)?;
            if let Some(left) = left {
                let first = n.b.constant(after, -left)?;
                let seen = n.b.map(MapOp::Le, &[first, after])?;
                mask.see(n, seen)?;
            }
            if let Some(right) = right {
                let seen = n.b.with(MapOp::Le, after, right)?;
                mask.see(n, seen)?;
            }
        }
        if n.has(LENGTHS) {
            let lengths = lengths(n)?;
            let seen = n.b.map(MapOp::Lt, &[key, lengths])?;
            mask.see(n, seen)?;
        }
        Ok(mask)
    }

    /// The mask that is an argument; keys beyond its end are not seen.
    fn given(&mut self, n: &mut Node<'_>, like: Value, keys: &Dim) -> Made<()> {
        let mut mask = n.moved(MASK)?;
        let is_bool = n.b.dtype(mask) == DType::Bool;
        if !is_bool {
            mask = n.b.convert(mask, n.b.dtype(like))?;
        }
        let shape = n.b.shape(mask);
        let Some(own) = shape.last().filter(|_| shape.len() <= 4) else {
            return Err(Failure::new(format!("a mask has 1 to 4 axes, not {}", shape.len())));
        };
        if own != keys {
            let missing = keys.clone() - own.clone();
            if missing.as_const().is_some_and(|missing| missing < 0) {
                return Err(Failure::new(format!("a mask of {own} keys, of which there are {keys}")));
            }
            let none = Border { low: 0.into(), high: 0.into(), interior: 0 };
            let mut borders = vec![none; shape.len() - 1];
            borders.push(Border { low: 0.into(), high: missing, interior: 0 });
            let value = if is_bool { Scalar::Bool(false) } else { Scalar::of(n.b.dtype(mask), f64::NEG_INFINITY) };
            mask = n.b.prim(Prim::Pad { borders, value }, &[mask])?;
        }
        match is_bool {
            true => self.seen = Some(mask),
            false => self.added = Some(mask),
        }
        Ok(())
    }

    /// Sees only keys of which that holds as well.
    fn see(&mut self, n: &mut Node<'_>, also: Value) -> Made<()> {
        self.seen = Some(match self.seen {
            Some(seen) => n.b.map(MapOp::And, &[seen, also])?,
            None => also,
        });
        Ok(())
    }

    /// One mask for both parts: bool where nothing is added.
    pub(super) fn joined(&self, n: &mut Node<'_>) -> Made<Option<Value>> {
        match (self.seen, self.added) {
            (Some(seen), Some(added)) => hide(n, seen, added).map(Some),
            (seen, added) => Ok(seen.or(added)),
        }
    }

    /// The scores with the mask.
    pub(super) fn applied(&self, n: &mut Node<'_>, scores: Value) -> Made {
        let mut made = scores;
        if let Some(added) = self.added {
            made = n.b.add(made, added)?;
        }
        match self.seen {
            Some(seen) => hide(n, seen, made),
            None => Ok(made),
        }
    }
}

/// −∞ where a key is not seen.
fn hide(n: &mut Node<'_>, seen: Value, values: Value) -> Made {
    let never = n.b.constant(values, f64::NEG_INFINITY)?;
    Ok(n.b.select(seen, values, never)?)
}

/// How many keys on one side of a query it sees, if there is a bound.
fn window(n: &Node<'_>, name: &str) -> Made<Option<f64>> {
    match n.int(name, -1) {
        -1 => Ok(None),
        size if size < 0 => Err(Failure::new(format!("`{name}` is {size}"))),
        size => Ok(Some(size.min(i32::MAX.into()) as f64)),
    }
}

/// The positions of queries among the keys, i32: `[T, 1]`, or `[B, 1, T, 1]` where the number of keys is one of each sequence.
fn queries(n: &mut Node<'_>, places: &Places) -> Made {
    let query = n.b.iota(&[places.queries.clone(), 1.into()], 0)?;
    let query = n.b.convert(query, DType::I32)?;
    if !n.has(LENGTHS) {
        let first = n.b.extent(query, &places.past)?;
        return Ok(n.b.add(query, first)?);
    }
    let (end, count) = (lengths(n)?, n.b.extent(query, &places.queries)?);
    let first = n.b.sub(end, count)?;
    Ok(n.b.add(query, first)?)
}

/// How many keys of each sequence count, as `[B, 1, 1, 1]` of i32.
fn lengths(n: &mut Node<'_>) -> Made {
    let lengths = n.moved(LENGTHS)?;
    let lengths = n.b.convert(lengths, DType::I32)?;
    let count = crate::ir::dim::product(&n.b.shape(lengths));
    Ok(n.b.reshape(lengths, &[count, 1.into(), 1.into(), 1.into()])?)
}
