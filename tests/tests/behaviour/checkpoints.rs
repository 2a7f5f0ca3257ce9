//! Networks of Hugging Face's Transformers, from the files that these packages write: what is needed stands in the
//! declaration, and `open` gives the outputs of PyTorch.

use precast::prelude::*;
use std::fmt::Debug;
use std::str::FromStr;

model! {
    /// `GPT2LMHeadModel`, whose linear layers lie transposed, and whose head is the embedding.
    pub struct Gpt2 { transformer: Gpt2Body }

    struct Gpt2Body {
        wte: Embedding(50, 24),
        wpe: Embedding(16, 24),
        h: [Gpt2Block(24, 4); 2],
        ln_f: LayerNorm(24),
    }

    struct Gpt2Block(dim, heads) {
        ln_1: LayerNorm(dim),
        attn: Gpt2Attention(dim, heads),
        ln_2: LayerNorm(dim),
        mlp: Gpt2Mlp(dim),
    }

    struct Gpt2Attention(dim, heads) { c_attn: TransposedLinear(dim, 3 * dim), c_proj: TransposedLinear(dim, dim) }

    struct Gpt2Mlp(dim) { c_fc: TransposedLinear(dim, 4 * dim), c_proj: TransposedLinear(4 * dim, dim) }

    impl Gpt2Attention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.c_attn(x), 3, axis = -1);
            let seen = attend(heads(q, heads), heads(k, heads), heads(v, heads), causal = true);
            self.c_proj(merge_heads(seen))
        }
    }

    impl Gpt2Mlp {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            self.c_proj(gelu(self.c_fc(x), approximate = "tanh"))
        }
    }

    impl Gpt2Block {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.attn(self.ln_1(x));
            x + self.mlp(self.ln_2(x))
        }
    }

    impl Gpt2 {
        /// The scores of each next token.
        pub fn logits(&self, ids: u32[B, T <= 16]) -> f32[B, T, 50] {
            let body = self.transformer;
            let mut x = body.wte(ids) + body.wpe(arange(T).u32());
            for block in body.h {
                x = block(x);
            }
            linear(body.ln_f(x), body.wte.weight)
        }
    }
}

model! {
    /// `BertModel`.
    pub struct Bert { embeddings: BertEmbeddings, encoder: BertEncoder, pooler: BertDense(24, 24) }

    struct BertEmbeddings {
        word_embeddings: Embedding(50, 24),
        position_embeddings: Embedding(16, 24),
        token_type_embeddings: Embedding(2, 24),
        #[name = "LayerNorm"]
        norm: LayerNorm(24, eps = 1e-12),
    }

    struct BertEncoder { layer: [BertLayer(24, 40, 4); 2] }

    struct BertLayer(dim, hidden, heads) {
        attention: BertAttention(dim, heads),
        intermediate: BertDense(dim, hidden),
        output: BertOutput(hidden, dim),
    }

    struct BertAttention(dim, heads) {
        #[name = "self"]
        scores: BertSelf(dim, heads),
        output: BertOutput(dim, dim),
    }

    struct BertSelf(dim, heads) { query: Linear(dim, dim), key: Linear(dim, dim), value: Linear(dim, dim) }

    struct BertDense(input, output) { dense: Linear(input, output) }

    struct BertOutput(input, dim) {
        dense: Linear(input, dim),
        #[name = "LayerNorm"]
        norm: LayerNorm(dim, eps = 1e-12),
    }

    impl BertSelf {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = (heads(self.query(x), heads), heads(self.key(x), heads), heads(self.value(x), heads));
            merge_heads(attend(q, k, v))
        }
    }

    impl BertOutput {
        fn forward(&self, x: f32[B, T, input], residual: f32[B, T, dim]) -> f32[B, T, dim] {
            self.norm(self.dense(x) + residual)
        }
    }

    impl BertLayer {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = self.attention.output(self.attention.scores(x), x);
            self.output(gelu(self.intermediate.dense(x)), x)
        }
    }

    impl Bert {
        /// What stands for each text.
        pub fn pooled(&self, ids: u32[B, T <= 16]) -> f32[B, 24] {
            let of = self.embeddings;
            let mut x = of.norm(of.word_embeddings(ids) + of.token_type_embeddings.weight[0] + of.position_embeddings(arange(T).u32()));
            for layer in self.encoder.layer {
                x = layer(x);
            }
            tanh(self.pooler.dense(x[_, 0]))
        }
    }
}

model! {
    /// `LlamaForCausalLM`, with two heads of queries to each of keys.
    pub struct Llama { model: LlamaModel, lm_head: Linear(24, 50, bias = false) }

    struct LlamaModel {
        embed_tokens: Embedding(50, 24),
        layers: [LlamaLayer(24, 40, 4, 2); 2],
        norm: RMSNorm(24, eps = 1e-6),
    }

    struct LlamaLayer(dim, hidden, heads, groups) {
        self_attn: LlamaAttention(dim, heads, groups),
        mlp: LlamaMlp(dim, hidden),
        input_layernorm: RMSNorm(dim, eps = 1e-6),
        post_attention_layernorm: RMSNorm(dim, eps = 1e-6),
    }

    struct LlamaAttention(dim, heads, groups) {
        q_proj: Linear(dim, dim, bias = false),
        k_proj: Linear(dim, dim / heads * groups, bias = false),
        v_proj: Linear(dim, dim / heads * groups, bias = false),
        o_proj: Linear(dim, dim, bias = false),
    }

    struct LlamaMlp(dim, hidden) {
        gate_proj: Linear(dim, hidden, bias = false),
        up_proj: Linear(dim, hidden, bias = false),
        down_proj: Linear(hidden, dim, bias = false),
    }

    impl LlamaAttention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let q = rotary(heads(self.q_proj(x), heads));
            let k = rotary(heads(self.k_proj(x), groups));
            self.o_proj(merge_heads(attend(q, k, heads(self.v_proj(x), groups), causal = true)))
        }
    }

    impl LlamaMlp {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            self.down_proj(silu(self.gate_proj(x)) * self.up_proj(x))
        }
    }

    impl LlamaLayer {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.self_attn(self.input_layernorm(x));
            x + self.mlp(self.post_attention_layernorm(x))
        }
    }

    impl Llama {
        /// The scores of each next token.
        pub fn logits(&self, ids: u32[B, T <= 16]) -> f32[B, T, 50] {
            let mut x = self.model.embed_tokens(ids);
            for layer in self.model.layers {
                x = layer(x);
            }
            self.lm_head(self.model.norm(x))
        }
    }
}

/// The numbers of a line of `checkpoints.txt`.
pub(super) fn stored<T: FromStr<Err: Debug>>(name: &str) -> Vec<T> {
    let text = include_str!("../../references/checkpoints/checkpoints.txt");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    line.unwrap().split(' ').map(|x| x.parse().unwrap()).collect()
}

pub(super) fn file(name: &str) -> String {
    format!("{}/references/checkpoints/{name}.safetensors", env!("CARGO_MANIFEST_DIR"))
}

/// The index of a checkpoint in several files.
fn index(name: &str) -> String {
    format!("{}/references/checkpoints/{name}/model.safetensors.index.json", env!("CARGO_MANIFEST_DIR"))
}

/// Numbers that may differ by 10⁻⁴ of the largest.
pub(super) fn agree(name: &str, got: &[f32]) {
    let want: Vec<f32> = stored(name);
    assert_eq!(got.len(), want.len(), "{name}");
    let largest = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= 1e-4 * largest, "{name}[{at}] is {got}, but PyTorch has {want}");
    }
}

#[test]
fn gpt2_in_one_file_and_in_several() {
    let ids: Vec<u32> = stored("gpt2 x");
    for path in [file("gpt2"), index("gpt2")] {
        let logits = Gpt2::open(path).unwrap().logits(View::new(&ids, [2, 7]).unwrap()).unwrap();
        agree("gpt2 y", logits.data().as_flattened());
    }
}

#[test]
fn bert_in_few_bits_in_one_file_and_in_several() {
    let cases = [("bert", file("bert")), ("bert-bf16", file("bert-bf16")), ("bert-bf16", index("bert-bf16"))];
    for (name, path) in cases {
        let ids: Vec<u32> = stored(&format!("{name} x"));
        let pooled = Bert::open(path).unwrap().pooled(View::new(&ids, [2, 7]).unwrap()).unwrap();
        agree(&format!("{name} y"), pooled.as_flattened());
    }
}

#[test]
fn llama_in_few_bits_in_one_file_and_in_several() {
    let cases = [("llama", file("llama")), ("llama", index("llama")), ("llama-f16", file("llama-f16"))];
    for (name, path) in cases {
        let ids: Vec<u32> = stored(&format!("{name} x"));
        let logits = Llama::open(path).unwrap().logits(View::new(&ids, [2, 7]).unwrap()).unwrap();
        agree(&format!("{name} y"), logits.data().as_flattened());
    }
}
