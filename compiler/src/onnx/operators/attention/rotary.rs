//! `RotaryEmbedding`: pairs of features that turn by angles of which the file has the sines and cosines.

use crate::ir::prim::Prim;
use crate::ir::{Dim, Value};
use crate::onnx::Failure;
use crate::onnx::node::{Made, Node};

pub(super) fn embedding(n: &mut Node<'_>) -> Made {
    let x = n.arg(0)?;
    let shape = n.b.shape(x);
    // The axis that heads have beside positions.
    let (split, head) = match shape.len() {
        4 => (x, 1),
        3 => {
            let count = n.int("num_heads", 0);
            let features = shape[2].exact_div(&count.into()).filter(|_| count > 0);
            let features = features.ok_or_else(|| Failure::new(format!("{count} heads of {} features", shape[2])))?;
            (n.b.reshape(x, &[&shape[..2], &[Dim::from(count), features]].concat())?, 2)
        }
        rank => return Err(Failure::new(format!("a tensor with {rank} axes, and not 3 or 4"))),
    };
    let all = n.b.shape(split)[3].clone();
    let turned = match n.int("rotary_embedding_dim", 0) {
        0 => all.clone(),
        count if count > 0 && all.as_const().is_none_or(|all| count <= all) => count.into(),
        count => return Err(Failure::new(format!("{count} of {all} features do not turn"))),
    };
    let half = turned.exact_div(&2.into());
    let half = half.ok_or_else(|| Failure::new(format!("{turned} features are not pairs")))?;
    let [cos, sin] = [cache(n, 1, head)?, cache(n, 2, head)?];
    let first = n.b.slice(split, 3, 0.into(), turned.clone())?;
    let mut made = rotated(n, first, [cos, sin], &half)?;
    if turned != all {
        let rest = n.b.slice(split, 3, turned.clone(), all - turned)?;
        made = n.b.prim(Prim::Concat { axis: 3 }, &[made, rest])?;
    }
    Ok(n.b.reshape(made, &shape)?)
}

/// Sines or cosines for each position, beside the axis of heads: of the positions that are asked for, if there are any.
fn cache(n: &mut Node<'_>, k: usize, head: usize) -> Made {
    let mut cache = n.arg(k)?;
    if n.has(3) {
        let positions = n.arg(3)?;
        if n.b.rank(cache) != 2 {
            return Err(Failure::new(format!("argument {} has no row for each position", k + 1)));
        }
        cache = n.gather(cache, positions, 0)?;
    }
    let mut shape = n.b.shape(cache);
    if shape.len() != 3 {
        return Err(Failure::new(format!("argument {} gives {} axes, and is to give 3", k + 1, shape.len())));
    }
    shape.insert(head, 1.into());
    Ok(n.b.reshape(cache, &shape)?)
}

/// `[.., d]` with each pair turned: neighbours where they are interleaved, otherwise one of each half.
fn rotated(n: &mut Node<'_>, x: Value, [cos, sin]: [Value; 2], half: &Dim) -> Made {
    let shape = n.b.shape(x);
    let (axis, ends) = match n.flag("interleaved") {
        true => (4, [half.clone(), 2.into()]),
        false => (3, [2.into(), half.clone()]),
    };
    let pairs = n.b.reshape(x, &[&shape[..3], &ends].concat())?;
    let mut parts = vec![];
    for k in 0..2 {
        let part = n.b.slice(pairs, axis, k.into(), 1.into())?;
        parts.push(n.b.reshape(part, &[&shape[..3], std::slice::from_ref(half)].concat())?);
    }
    let (x, y) = (parts[0], parts[1]);
    let [x_cos, y_sin, x_sin, y_cos] = [n.b.mul(x, cos)?, n.b.mul(y, sin)?, n.b.mul(x, sin)?, n.b.mul(y, cos)?];
    let mut turned = [n.b.sub(x_cos, y_sin)?, n.b.add(x_sin, y_cos)?];
    for part in &mut turned {
        let mut single = n.b.shape(*part);
        single.insert(axis, 1.into());
        *part = n.b.reshape(*part, &single)?;
    }
    let joined = n.b.prim(Prim::Concat { axis }, &turned)?;
    Ok(n.b.reshape(joined, &shape)?)
}
