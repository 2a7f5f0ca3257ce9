//! `rotary(x, position)`: rotary position embedding.

use crate::diag::Code;
use super::{AttrDecl, AttrKind, Builder, Domain, Example, Item, Op, OpError};
use crate::ir::prim::MapOp;
use crate::ir::{Dim, Value};

pub(super) const ITEMS: &[Item] = &[Item::Op(&ROTARY)];

static ROTARY: Op = Op {
    name: "rotary",
    signature: "(x: float[.., D], position: int[...]?) -> float[.., D]",
    attrs: &[
        AttrDecl::optional("base", AttrKind::Float, "10000.0", "pair `i` of `d/2` turns by `position / base^(2i/d)`"),
        AttrDecl::optional("interleaved", AttrKind::Bool, "false", "whether pairs are neighbours: `(2i, 2i + 1)`"),
    ],
    doc: "Rotary position embedding (Su et al. 2021): each pair of features turns by an angle that grows with the position. \
          Pairs are `(i, i + d/2)`, as in GPT-NeoX and Llama, or neighbours. `position` broadcasts to the axes before the \
          features: a scalar for one token, `at + iota(T)` for several; without it, it counts along the axis before the \
          features.",
    torch: None,
    onnx: Some("RotaryEmbedding"),
    body: |b, args, attrs| {
        let shape = b.shape(args[0]);
        let lead = shape.len() - 1;
        let Some(half) = shape[lead].exact_div(&Dim::from(2)) else {
            let message = format!("`rotary` turns pairs of features, but {{0}} has {}", shape[lead]);
            return Err(OpError::new(Code::NonDivisible, message).arg(0));
        };
        let position = match args.get(1) {
            Some(&position) => {
                let given = b.ty(position).clone();
                b.broadcast_to(position, &shape[..lead]).map_err(|_| {
                    let message = format!(
                        "positions broadcast to the axes before the features of {}, but {{1}} is {given}",
                        b.ty(args[0])
                    );
                    OpError::new(Code::BroadcastMismatch, message).arg(1)
                })?
            }
            None if lead > 0 => b.iota(&shape[..lead], lead - 1)?,
            None => {
                let message = format!("`rotary` takes [.., T, d], but {{0}} is {}", b.ty(args[0]));
                return Err(OpError::new(Code::WrongRank, message).arg(0).help("give the position: `rotary({0}, at)`"));
            }
        };
        let angle = angle(b, args[0], position, &half, attrs.number("base"))?;
        // Pairs as `[.., 2, d/2]` or `[.., d/2, 2]`.
        let interleaved = attrs.flag("interleaved");
        let axis = if interleaved { lead + 1 } else { lead };
        let mut pairs = shape[..lead].to_vec();
        pairs.extend(if interleaved { [half.clone(), 2.into()] } else { [2.into(), half.clone()] });
        let x = b.reshape(args[0], &pairs)?;
        let part = |b: &mut Builder<'_>, k: i64| {
            let part = b.slice(x, axis, k.into(), 1.into())?;
            b.reshape(part, &[&shape[..lead], std::slice::from_ref(&half)].concat())
        };
        let (x, y) = (part(b, 0)?, part(b, 1)?);
        let (cos, sin) = (b.unary(MapOp::Cos, angle)?, b.unary(MapOp::Sin, angle)?);
        let turned = [combine(b, [x, cos], [y, sin], MapOp::Sub)?, combine(b, [x, sin], [y, cos], MapOp::Add)?];
        pairs[axis] = 1.into();
        let turned = [b.reshape(turned[0], &pairs)?, b.reshape(turned[1], &pairs)?];
        let joined = b.prim(crate::ir::Prim::Concat { axis }, &turned)?;
        Ok(vec![b.reshape(joined, &shape)?])
    },
    examples: &[
        Example { inputs: &[("x", "f32[2, 5, 8]", Domain::Normal)], call: "rotary(x)", result: "f32[2, 5, 8]" },
        Example {
            inputs: &[("x", "f32[B, 3, 6]", Domain::Normal), ("at", "u32[B, 1]", Domain::Below(17))],
            call: "rotary(x, at, base = 100.0, interleaved = true)",
            result: "f32[B, 3, 6]",
        },
    ],
};

/// `position / base^(2i/d)` for each pair, of the type of `like`.
fn angle(b: &mut Builder<'_>, like: Value, position: Value, half: &Dim, base: f64) -> Result<Value, OpError> {
    let index = b.iota(std::slice::from_ref(half), 0)?;
    let (index, count) = (b.convert(index, b.dtype(like))?, b.extent(like, half)?);
    let share = b.div(index, count)?;
    let power = b.with(MapOp::Mul, share, -base.ln())?;
    let frequency = b.unary(MapOp::Exp, power)?;
    let position = b.convert(position, b.dtype(like))?;
    let column: Vec<Dim> = b.shape(position).into_iter().chain([1.into()]).collect();
    let position = b.reshape(position, &column)?;
    b.mul(position, frequency)
}

/// `a · b ± c · d`
fn combine(b: &mut Builder<'_>, left: [Value; 2], right: [Value; 2], op: MapOp) -> Result<Value, OpError> {
    let (left, right) = (b.mul(left[0], left[1])?, b.mul(right[0], right[1])?);
    b.map(op, &[left, right])
}
