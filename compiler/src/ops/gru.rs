//! `GRU(input, hidden, layers = 1, bidirectional = false)` and `gru(x, …)`.

use super::recurrent::{Cell, LAYER_ATTRS, OP_ATTRS, gate, op_attrs, params, run};
use super::{Domain, Example, Item, Layer, LayerExample, Op};
use crate::ir::prim::MapOp;

pub(super) const ITEMS: &[Item] = &[Item::Op(&GRU), Item::Layer(&LAYER)];

static CELL: Cell = Cell {
    gates: 3,
    states: 1,
    step: |b, of_input, of_state, state| {
        let h = state[0];
        let mut gates = vec![];
        for k in 0..2 {
            let (x, h) = (gate(b, of_input, k, h)?, gate(b, of_state, k, h)?);
            let sum = b.add(x, h)?;
            gates.push(b.unary(MapOp::Sigmoid, sum)?);
        }
        let (x, old) = (gate(b, of_input, 2, h)?, gate(b, of_state, 2, h)?);
        let reset = b.mul(gates[0], old)?;
        let sum = b.add(x, reset)?;
        let new = b.unary(MapOp::Tanh, sum)?;
        // (1 − z)·n + z·h = n + z·(h − n)
        let change = b.sub(h, new)?;
        let change = b.mul(gates[1], change)?;
        Ok(vec![b.add(new, change)?])
    },
};

static GRU: Op = Op {
    name: "gru",
    signature: "(x: float[Batch, Steps, Features], h_0: each[...]?, lengths: each[...]!, weight_ih_l0: each[...]*) -> float*",
    attrs: OP_ATTRS,
    doc: "Gated recurrent units over the middle axis: `h = (1 − σ(z))·n + σ(z)·h`, `n = tanh(x_n + σ(r)·h_n)`, where `r, z, n` \
          are the parts of `x·weight_ihᵀ + bias_ih` and `h·weight_hhᵀ + bias_hh`, the first two summed (Cho et al. 2014, with \
          the reset after the product as in cuDNN and PyTorch). Gives the output of every step \
          `[Batch, Steps, directions·hidden]`, and the last `h`, `[layers·directions, Batch, hidden]`, as which a first \
          state may be given; otherwise it is zero. With `lengths = n`, a \
          `u32[Batch]`, sequence `b` ends after `n[b]` steps: later outputs are zero, and last states are those at its end. \
          Between layers, `dropout` of the elements are zero in training.",
    torch: Some("torch.nn.GRU"),
    onnx: None,
    body: |b, args, attrs| run(b, args, attrs, &CELL),
    examples: &[
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[9, 2]", Domain::Unit),
                ("w", "f32[9, 3]", Domain::Unit),
                ("c", "f32[9]", Domain::Normal),
                ("d", "f32[9]", Domain::Normal),
            ],
            call: "gru(x, v, w, c, d)",
            result: "(f32[B, 3, 3], f32[1, B, 3])",
        },
        Example {
            inputs: &[
                ("x", "f32[B, 3, 2]", Domain::Normal),
                ("v", "f32[9, 2]", Domain::Unit),
                ("w", "f32[9, 3]", Domain::Unit),
                ("c", "f32[9]", Domain::Normal),
                ("d", "f32[9]", Domain::Normal),
                ("n", "u32[B]", Domain::Below(4)),
            ],
            call: "gru(x, v, w, c, d, lengths = n)",
            result: "(f32[B, 3, 3], f32[1, B, 3])",
        },
        Example {
            inputs: &[
                ("x", "f32[2, B, 3]", Domain::Normal),
                ("h", "f32[2, 2, 2]", Domain::Normal),
                ("v", "f32[6, 3]", Domain::Unit),
                ("w", "f32[6, 2]", Domain::Unit),
                ("p", "f32[6, 2]", Domain::Unit),
                ("q", "f32[6, 2]", Domain::Unit),
            ],
            call: "gru(x, h, v, w, p, q, layers = 2, bias = false)",
            result: "(f32[2, B, 2], f32[2, 2, 2])",
        },
    ],
};

static LAYER: Layer = Layer {
    name: "GRU",
    torch: "torch.nn.GRU",
    attrs: LAYER_ATTRS,
    params: |attrs| params(attrs, CELL.gates),
    op: &GRU,
    op_attrs,
    doc: "Gated recurrent units: `let (y, h) = self.gru(x)`, or `self.gru(x, h)` from a state. Parameters have PyTorch's \
          names, order of gates and initial values.",
    example: LayerExample {
        declared: "GRU(4, 8)",
        inputs: &[("x", "f32[B, T, 4]")],
        call: "self.layer(x)",
        result: "(f32[B, T, 8], f32[1, B, 8])",
    },
};
