//! `LSTM(input, hidden, layers = 1, bidirectional = false)` and `lstm(x, …)`.

use super::recurrent::{Cell, LAYER_ATTRS, OP_ATTRS, gate, op_attrs, params, run};
use super::{Domain, Example, Item, Layer, LayerExample, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&LSTM), Item::Layer(&LAYER)];

static CELL: Cell = Cell {
    gates: 4,
    states: 2,
    step: |b, of_input, of_state, state| {
        let gates = b.add(of_input, of_state)?;
        let (i, f) = (gate(b, gates, 0, state[0])?, gate(b, gates, 1, state[0])?);
        let (g, o) = (gate(b, gates, 2, state[0])?, gate(b, gates, 3, state[0])?);
        let (i, f, o) = (b.unary(MapOp::Sigmoid, i)?, b.unary(MapOp::Sigmoid, f)?, b.unary(MapOp::Sigmoid, o)?);
        let g = b.unary(MapOp::Tanh, g)?;
        let (kept, new) = (b.mul(f, state[1])?, b.mul(i, g)?);
        let c = b.add(kept, new)?;
        let shown = b.unary(MapOp::Tanh, c)?;
        Ok(vec![b.mul(o, shown)?, c])
    },
};

static LSTM: Op = Op {
    name: "lstm",
    signature: "(x: float[Batch, Steps, Features], h_0: each[...]?, c_0: each[...]?, lengths: each[...]!, \
                weight_ih_l0: each[...]*) -> float*",
    attrs: OP_ATTRS,
    doc: "Long short-term memory over the middle axis: `c = σ(f)·c + σ(i)·tanh(g)`, `h = σ(o)·tanh(c)`, where `i, f, g, o` \
          are the parts of `x·weight_ihᵀ + bias_ih + h·weight_hhᵀ + bias_hh` (Hochreiter and Schmidhuber 1997; Gers et al. \
          2000). Gives the output of every step `[Batch, Steps, directions·hidden]`, and the last `h` and `c`, \
          `[layers·directions, Batch, hidden]`, as which a first state may be given; otherwise it is zero. With `lengths = n`, a \
          `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. \
          Between layers, `dropout` of the elements are zero in training.",
    torch: Some("torch.nn.LSTM"),
    onnx: None,
    body: |b, args, attrs| run(b, args, attrs, &CELL),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[12, 2]", Domain::Unit),
                ("w", "f32[12, 3]", Domain::Unit),
                ("c", "f32[12]", Domain::Normal),
                ("d", "f32[12]", Domain::Normal),
            ],
            call: "lstm(x, v, w, c, d)",
            result: "(f32[B, 3, 3], f32[1, B, 3], f32[1, B, 3])",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[12, 2]", Domain::Unit),
                ("w", "f32[12, 3]", Domain::Unit),
                ("c", "f32[12]", Domain::Normal),
                ("d", "f32[12]", Domain::Normal),
                ("n", "u32[B]", Domain::Below(4)),
            ],
            call: "lstm(x, v, w, c, d, lengths = n)",
            result: "(f32[B, 3, 3], f32[1, B, 3], f32[1, B, 3])",
        },
        Example {
            inputs: &[
                ("x", "f32[2, B, 3]", Domain::Normal),
                ("h", "f32[2, 2, 2]", Domain::Normal),
                ("s", "f32[2, 2, 2]", Domain::Normal),
                ("v", "f32[8, 3]", Domain::Unit),
                ("w", "f32[8, 2]", Domain::Unit),
                ("p", "f32[8, 3]", Domain::Unit),
                ("q", "f32[8, 2]", Domain::Unit),
            ],
            call: "lstm(x, h, s, v, w, p, q, bidirectional = true, bias = false)",
            result: "(f32[2, B, 4], f32[2, 2, 2], f32[2, 2, 2])",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "LSTM",
    torch: "torch.nn.LSTM",
    attrs: LAYER_ATTRS,
    params: |attrs| params(attrs, CELL.gates),
    op: &LSTM,
    op_attrs,
    doc: "Long short-term memory: `let (y, h, c) = self.lstm(x)`, or `self.lstm(x, h, c)` from a state. Parameters have \
          PyTorch's names, order of gates and initial values.",
    example: LayerExample {
        declared: "LSTM(4, 8, layers = 2)",
        inputs: &[("x", "f32[B, T, 4]")],
        call: "self.layer(x)",
        result: "(f32[B, T, 8], f32[2, B, 8], f32[2, B, 8])",
    },
};
