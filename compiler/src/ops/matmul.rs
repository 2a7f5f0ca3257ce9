//! `matmul(a, b)`, with batches and vectors.

use crate::diag::Code;
use super::{Domain, Example, Item, Op, OpError};
use crate::ir::Dim;
use crate::ir::prim::Prim;

pub(super) const ITEMS: &[Item] = &[Item::Op(&MATMUL)];

/// The labels of the inner axis, the rows and the columns; leading axes take letters from `a`.
const INNER: u8 = b'z';
const ROWS: u8 = b'x';
const COLUMNS: u8 = b'y';

static MATMUL: Op = Op {
    name: "matmul",
    signature: "(a: float[...], b: float[...]) -> float[...]",
    attrs: &[],
    doc: "The matrix product `Σₖ a[.., i, k] · b[.., k, j]`. Leading axes broadcast; a vector is a row on the left and a \
          column on the right, and its axis is dropped.",
    torch: Some("torch.matmul"),
    onnx: Some("MatMul"),
    body: |b, args, _| {
        let (lhs, rhs) = (b.shape(args[0]), b.shape(args[1]));
        if let Some(scalar) = args.iter().position(|&a| b.rank(a) == 0) {
            let message = format!("`matmul` takes matrices or vectors, but {{{scalar}}} is a scalar");
            return Err(OpError::new(Code::WrongRank, message).arg(scalar).help("write `a * b` for a product with a scalar"));
        }
        let (inner, other) = (&lhs[lhs.len() - 1], &rhs[rhs.len().saturating_sub(2)]);
        if inner != other {
            let message = format!(
                "`matmul` needs equal inner dimensions: {{0}} is {} and {{1}} is {}, {inner} against {other}",
                b.ty(args[0]),
                b.ty(args[1])
            );
            let error = OpError::new(Code::InnerDimension, message).arg(1);
            return Err(match rhs.last() {
                Some(last) if rhs.len() >= 2 && last == inner => error.help("write `transpose({1})`"),
                _ => error,
            });
        }
        let (lead_l, lead_r) = (&lhs[..lhs.len().saturating_sub(2)], &rhs[..rhs.len().saturating_sub(2)]);
        let lead = match_leading(lead_l, lead_r).ok_or_else(|| {
            let message = format!("the leading axes of {{0}} and {{1}} do not broadcast: {} and {}", b.ty(args[0]), b.ty(args[1]));
            OpError::new(Code::BroadcastMismatch, message).arg(1)
        })?;
        let mut labels = [lead.lhs, lead.rhs, lead.out];
        // Axes of extent 1 that the other side repeats over are dropped: they need no label.
        let mut kept = [lead.kept_lhs, lead.kept_rhs];
        for (side, shape) in [&lhs, &rhs].into_iter().enumerate() {
            let matrix = &shape[shape.len().saturating_sub(2)..];
            kept[side].extend(matrix.iter().cloned());
            let own = if side == 0 { [ROWS, INNER] } else { [INNER, COLUMNS] };
            match (matrix.len(), side) {
                (1, _) => labels[side].push(INNER),
                _ => labels[side].extend(own),
            }
        }
        labels[2].extend([ROWS].iter().filter(|_| lhs.len() > 1).chain([COLUMNS].iter().filter(|_| rhs.len() > 1)));
        let [lhs, rhs, out] = labels;
        let operands = [b.reshape(args[0], &kept[0])?, b.reshape(args[1], &kept[1])?];
        Ok(vec![b.prim(Prim::Contract { lhs, rhs, out }, &operands)?])
    },
    examples: &[
        Example {
            inputs: &[("x", "f32[5, 7]", Domain::Normal), ("y", "f32[7, 17]", Domain::Normal)],
            call: "matmul(x, y)",
            result: "f32[5, 17]",
        },
        Example {
            inputs: &[("x", "f32[B, 2, 5, 7]", Domain::Normal), ("y", "f32[2, 7, 3]", Domain::Normal)],
            call: "matmul(x, y)",
            result: "f32[B, 2, 5, 3]",
        },
        Example {
            inputs: &[("x", "f32[3, 1, 5, 7]", Domain::Normal), ("y", "f32[2, 7, 3]", Domain::Normal)],
            call: "matmul(x, y)",
            result: "f32[3, 2, 5, 3]",
        },
        Example {
            inputs: &[("x", "f32[17]", Domain::Normal), ("y", "f32[B, 17, 5]", Domain::Normal)],
            call: "matmul(x, y)",
            result: "f32[B, 5]",
        },
        Example {
            inputs: &[("x", "bf16[B, 9]", Domain::Normal), ("y", "bf16[9, 7]", Domain::Normal)],
            call: "matmul(x, y)",
            result: "bf16[B, 7]",
        },
    ],
};

/// How the leading axes of both sides meet.
#[derive(Default)]
struct Leading {
    lhs: Vec<u8>,
    rhs: Vec<u8>,
    out: Vec<u8>,
    kept_lhs: Vec<Dim>,
    kept_rhs: Vec<Dim>,
}

fn match_leading(lhs: &[Dim], rhs: &[Dim]) -> Option<Leading> {
    let rank = lhs.len().max(rhs.len());
    let at = |shape: &[Dim], i: usize| (i + shape.len()).checked_sub(rank).map(|j| shape[j].clone());
    let mut met = Leading::default();
    for i in 0..rank {
        let label = b'a' + i as u8;
        let (x, y) = (at(lhs, i), at(rhs, i));
        let one = |d: &Option<Dim>| d.as_ref().is_none_or(|d| d.is(1));
        if x != y && !one(&x) && !one(&y) {
            return None;
        }
        met.out.push(label);
        // An axis stays where it has the common extent; of two, both do.
        let (keep_x, keep_y) = (x.is_some() && (x == y || one(&y)), y.is_some() && (x == y || one(&x)));
        let keep_y = keep_y && !(keep_x && x != y);
        if let Some(x) = x.filter(|_| keep_x) {
            met.lhs.push(label);
            met.kept_lhs.push(x);
        }
        if let Some(y) = y.filter(|_| keep_y) {
            met.rhs.push(label);
            met.kept_rhs.push(y);
        }
    }
    Some(met)
}
