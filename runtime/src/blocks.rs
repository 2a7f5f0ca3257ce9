//! Blocks that models import: `use precast::blocks::TransformerEncoder;` inside of `model!`.
//!
//! In: constructor parameters. Out: blocks of the model language. Always: parameters have PyTorch's names and layouts, so that
//! a `state_dict` of the module of the same name loads unchanged.

crate::model! {
    /// PyTorch's `nn.MultiheadAttention`, batch first: `heads` heads of `dim / heads` features. In training it drops
    /// weights of the softmax with probability `dropout`.
    ///
    /// Masks are those of `attend`: of truth values or added, broadcast to `[B, heads, T, S]`.
    pub struct MultiheadAttention(dim, heads, dropout = 0.0) {
        in_proj_weight: Parameter(3 * dim, dim, init = "xavier_uniform"),
        in_proj_bias: Parameter(3 * dim, init = "zeros"),
        out_proj: Linear(dim, dim, bias_init = "zeros"),
    }

    impl MultiheadAttention {
        /// Every position attends to all.
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(linear(x, self.in_proj_weight, self.in_proj_bias), 3);
            self.out_proj(merge_heads(attend(heads(q, heads), heads(k, heads), heads(v, heads), dropout = dropout)))
        }

        /// Every position attends to itself and those before.
        fn causal(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(linear(x, self.in_proj_weight, self.in_proj_bias), 3);
            let (q, k, v) = (heads(q, heads), heads(k, heads), heads(v, heads));
            self.out_proj(merge_heads(attend(q, k, v, causal = true, dropout = dropout)))
        }

        /// Every position attends as a mask says.
        fn masked(&self, x: f32[B, T, dim], mask: bool[..]) -> f32[B, T, dim] {
            let (q, k, v) = split(linear(x, self.in_proj_weight, self.in_proj_bias), 3);
            let (q, k, v) = (heads(q, heads), heads(k, heads), heads(v, heads));
            self.out_proj(merge_heads(attend(q, k, v, mask, dropout = dropout)))
        }

        /// Every position of `x` attends to all of `memory`.
        fn cross(&self, x: f32[B, T, dim], memory: f32[B, S, dim]) -> f32[B, T, dim] {
            let (w, b) = (self.in_proj_weight, self.in_proj_bias);
            let q = linear(x, w[..dim], b[..dim]);
            let (k, v) = split(linear(memory, w[dim..], b[dim..]), 2);
            self.out_proj(merge_heads(attend(heads(q, heads), heads(k, heads), heads(v, heads), dropout = dropout)))
        }

        /// Every position of `x` attends to `memory` as a mask says.
        fn cross_masked(&self, x: f32[B, T, dim], memory: f32[B, S, dim], mask: bool[..]) -> f32[B, T, dim] {
            let (w, b) = (self.in_proj_weight, self.in_proj_bias);
            let q = linear(x, w[..dim], b[..dim]);
            let (k, v) = split(linear(memory, w[dim..], b[dim..]), 2);
            let (q, k, v) = (heads(q, heads), heads(k, heads), heads(v, heads));
            self.out_proj(merge_heads(attend(q, k, v, mask, dropout = dropout)))
        }
    }

    /// PyTorch's `nn.TransformerEncoderLayer`, batch first; `activation` is `"relu"` or `"gelu"`.
    pub struct TransformerEncoderLayer(
        dim, heads, hidden = 2048, dropout = 0.1, activation = "relu", norm_first = false, eps = 1e-5,
    ) {
        self_attn: MultiheadAttention(dim, heads, dropout),
        linear1: Linear(dim, hidden),
        linear2: Linear(hidden, dim),
        norm1: LayerNorm(dim, eps = eps),
        norm2: LayerNorm(dim, eps = eps),
    }

    impl TransformerEncoderLayer {
        /// Every position sees all.
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            if norm_first {
                self.rest(x + dropout(self.self_attn(self.norm1(x)), dropout))
            } else {
                self.rest(self.norm1(x + dropout(self.self_attn(x), dropout)))
            }
        }

        /// Every position sees itself and those before.
        fn causal(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            if norm_first {
                self.rest(x + dropout(self.self_attn.causal(self.norm1(x)), dropout))
            } else {
                self.rest(self.norm1(x + dropout(self.self_attn.causal(x), dropout)))
            }
        }

        /// Every position sees what a mask says: one of `[B, 1, 1, T]` hides padding.
        fn masked(&self, x: f32[B, T, dim], mask: bool[..]) -> f32[B, T, dim] {
            if norm_first {
                self.rest(x + dropout(self.self_attn.masked(self.norm1(x), mask), dropout))
            } else {
                self.rest(self.norm1(x + dropout(self.self_attn.masked(x, mask), dropout)))
            }
        }

        /// What comes after the attention.
        fn rest(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            if norm_first { x + self.feed(self.norm2(x)) } else { self.norm2(x + self.feed(x)) }
        }

        fn feed(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = self.linear1(x);
            let x = if activation == "gelu" { gelu(x) } else { relu(x) };
            dropout(self.linear2(dropout(x, dropout)), dropout)
        }
    }

    /// PyTorch's `nn.TransformerEncoder` of such layers, without a norm at the end.
    pub struct TransformerEncoder(
        depth, dim, heads, hidden = 2048, dropout = 0.1, activation = "relu", norm_first = false, eps = 1e-5,
    ) {
        layers: [TransformerEncoderLayer(dim, heads, hidden, dropout, activation, norm_first, eps); depth],
    }

    impl TransformerEncoder {
        /// Every position sees all.
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let mut x = x;
            for layer in self.layers {
                x = layer(x);
            }
            x
        }

        /// Every position sees itself and those before.
        fn causal(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let mut x = x;
            for layer in self.layers {
                x = layer.causal(x);
            }
            x
        }

        /// Every position sees what a mask says.
        fn masked(&self, x: f32[B, T, dim], mask: bool[..]) -> f32[B, T, dim] {
            let mut x = x;
            for layer in self.layers {
                x = layer.masked(x, mask);
            }
            x
        }
    }

    /// PyTorch's `nn.TransformerDecoderLayer`, batch first, whose positions see themselves and those before, and all of a
    /// memory.
    pub struct TransformerDecoderLayer(
        dim, heads, hidden = 2048, dropout = 0.1, activation = "relu", norm_first = false, eps = 1e-5,
    ) {
        self_attn: MultiheadAttention(dim, heads, dropout),
        multihead_attn: MultiheadAttention(dim, heads, dropout),
        linear1: Linear(dim, hidden),
        linear2: Linear(hidden, dim),
        norm1: LayerNorm(dim, eps = eps),
        norm2: LayerNorm(dim, eps = eps),
        norm3: LayerNorm(dim, eps = eps),
    }

    impl TransformerDecoderLayer {
        fn forward(&self, x: f32[B, T, dim], memory: f32[B, S, dim]) -> f32[B, T, dim] {
            if norm_first {
                let x = x + dropout(self.self_attn.causal(self.norm1(x)), dropout);
                let x = x + dropout(self.multihead_attn.cross(self.norm2(x), memory), dropout);
                x + self.feed(self.norm3(x))
            } else {
                let x = self.norm1(x + dropout(self.self_attn.causal(x), dropout));
                let x = self.norm2(x + dropout(self.multihead_attn.cross(x, memory), dropout));
                self.norm3(x + self.feed(x))
            }
        }

        fn feed(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = self.linear1(x);
            let x = if activation == "gelu" { gelu(x) } else { relu(x) };
            dropout(self.linear2(dropout(x, dropout)), dropout)
        }
    }

    /// PyTorch's `nn.TransformerDecoder` of such layers, without a norm at the end.
    pub struct TransformerDecoder(
        depth, dim, heads, hidden = 2048, dropout = 0.1, activation = "relu", norm_first = false, eps = 1e-5,
    ) {
        layers: [TransformerDecoderLayer(dim, heads, hidden, dropout, activation, norm_first, eps); depth],
    }

    impl TransformerDecoder {
        fn forward(&self, x: f32[B, T, dim], memory: f32[B, S, dim]) -> f32[B, T, dim] {
            let mut x = x;
            for layer in self.layers {
                x = layer(x, memory);
            }
            x
        }
    }
}
