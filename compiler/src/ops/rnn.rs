//! `RNN(input, hidden, layers = 1, bidirectional = false)` and `rnn(x, …)`.

use super::recurrent::{Cell, LAYER_ATTRS, OP_ATTRS, op_attrs, params, run};
use super::{Domain, Example, Item, Layer, LayerExample, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&RNN), Item::Layer(&LAYER)];

static CELL: Cell = Cell {
    gates: 1,
    states: 1,
    step: |b, of_input, of_state, _| {
        let sum = b.add(of_input, of_state)?;
        Ok(vec![b.unary(MapOp::Tanh, sum)?])
    },
};

static RNN: Op = Op {
    name: "rnn",
    signature: "(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*",
    attrs: OP_ATTRS,
    doc: "The recurrence `h = tanh(x·weight_ihᵀ + bias_ih + h·weight_hhᵀ + bias_hh)` over the middle axis (Elman 1990). Gives \
          the output of every step `[Batch, Steps, directions·hidden]`, and the last `h`, \
          `[layers·directions, Batch, hidden]`, as which a first state may be given; otherwise it is zero. With `lengths = n`, a \
          `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. \
          Between layers, `dropout` of the elements are zero in training.",
    torch: Some("torch.nn.RNN"),
    onnx: None,
    body: |b, args, attrs| run(b, args, attrs, &CELL),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[5, 2]", Domain::Unit),
                ("w", "f32[5, 5]", Domain::Unit),
                ("c", "f32[5]", Domain::Normal),
                ("d", "f32[5]", Domain::Normal),
            ],
            call: "rnn(x, v, w, c, d)",
            result: "(f32[B, 3, 5], f32[1, B, 5])",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[5, 2]", Domain::Unit),
                ("w", "f32[5, 5]", Domain::Unit),
                ("c", "f32[5]", Domain::Normal),
                ("d", "f32[5]", Domain::Normal),
                ("n", "u32[B]", Domain::Below(4)),
            ],
            call: "rnn(x, v, w, c, d, lengths = n)",
            result: "(f32[B, 3, 5], f32[1, B, 5])",
        },
        Example {
            inputs: &[
                ("x", "f32[2, B, 3]", Domain::Normal),
                ("h", "f32[1, 2, 5]", Domain::Normal),
                ("v", "f32[5, 3]", Domain::Unit),
                ("w", "f32[5, 5]", Domain::Unit),
            ],
            call: "rnn(x, h, v, w, bias = false)",
            result: "(f32[2, B, 5], f32[1, 2, 5])",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "RNN",
    torch: "torch.nn.RNN",
    attrs: LAYER_ATTRS,
    params: |attrs| params(attrs, CELL.gates),
    op: &RNN,
    op_attrs,
    doc: "A recurrent layer: `let (y, h) = self.rnn(x)`, or `self.rnn(x, h)` from a state. Parameters have PyTorch's names and \
          initial values.",
    example: LayerExample {
        declared: "RNN(4, 8)",
        inputs: &[("x", "f32[B, T, 4]")],
        call: "self.layer(x)",
        result: "(f32[B, T, 8], f32[1, B, 8])",
    },
};
