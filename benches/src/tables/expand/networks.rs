//! Networks as somebody writes or imports them: a field for every layer, a line for every call.
//!
//! In: what papers say of them. Out: texts of `model!`, each trained. Always: no block is repeated but in the looped
//! transformer, which is what the written-out one is compared with.

use std::fmt::Write;

/// Names and texts.
pub(super) fn all() -> Vec<(String, String)> {
    let chains = [50, 100, 200, 400, 800].map(|layers| (format!("chain of {layers}"), chain(layers)));
    let others = [
        ("MobileNetV3-small", mobilenet_v3_small()),
        ("ResNet-50", resnet50()),
        ("EfficientNet-B0", efficientnet_b0()),
        ("transformer, written out", transformer(false)),
        ("transformer, looped", transformer(true)),
    ];
    chains.into_iter().chain(others.map(|(name, text)| (name.to_string(), text))).collect()
}

/// Different layers, one behind the other.
fn chain(layers: usize) -> String {
    const ACTIVATIONS: [&str; 5] = ["relu", "tanh", "gelu", "sigmoid", "silu"];
    let (mut net, width) = (Net::default(), |layer: usize| 32 + layer % 7);
    for (layer, activation) in (0..layers).zip(ACTIVATIONS.into_iter().cycle()) {
        let linear = net.layer(format!("Linear({}, {})", width(layer), width(layer + 1)));
        net.line(format!("let x = {activation}(self.{linear}(x));"));
    }
    net.model("x: f32[B, 32]", &format!("f32[B, {}]", width(layers)))
}

/// Fields and lines.
#[derive(Default)]
struct Net {
    fields: String,
    lines: String,
    layers: usize,
}

impl Net {
    /// The name of a new layer.
    fn layer(&mut self, layer: String) -> String {
        let name = format!("layer{}", self.layers);
        self.layers += 1;
        _ = writeln!(self.fields, "{name}: {layer},");
        name
    }

    fn line(&mut self, line: String) {
        _ = writeln!(self.lines, "{line}");
    }

    /// A convolution, its norm and an activation, of `x`.
    fn conv(&mut self, [input, output]: [usize; 2], [kernel, stride, groups]: [usize; 3], activation: &str) {
        let padding = kernel / 2;
        let conv = self.layer(format!(
            "Conv2d({input}, {output}, kernel = {kernel}, stride = {stride}, padding = {padding}, groups = {groups}, bias = false)"
        ));
        let norm = self.layer(format!("BatchNorm2d({output})"));
        self.line(format!("let x = {activation}(self.{norm}(self.{conv}(x)));"));
    }

    /// Squeeze and excitation of `x`.
    fn squeeze(&mut self, [channels, squeezed]: [usize; 2], [activation, gate]: [&str; 2]) {
        let down = self.layer(format!("Conv2d({channels}, {squeezed}, kernel = 1)"));
        let up = self.layer(format!("Conv2d({squeezed}, {channels}, kernel = 1)"));
        self.line(format!("let s = {activation}(self.{down}(adaptive_avg_pool2d(x, 1)));"));
        self.line(format!("let x = x * {gate}(self.{up}(s));"));
    }

    /// An inverted residual of MobileNets and EfficientNets.
    fn inverted(&mut self, block: &Inverted) {
        let Inverted { kernel, stride, input, expanded, output, squeezed, activation, gates } = *block;
        self.line("let before = x;".into());
        if expanded != input {
            self.conv([input, expanded], [1, 1, 1], activation);
        }
        self.conv([expanded; 2], [kernel, stride, expanded], activation);
        if let Some(squeezed) = squeezed {
            self.squeeze([expanded, squeezed], gates);
        }
        self.conv([expanded, output], [1, 1, 1], "");
        if stride == 1 && input == output {
            self.line("let x = x + before;".into());
        }
    }

    /// The model, whose loss is the mean square of what it gives.
    fn model(&self, argument: &str, result: &str) -> String {
        let Net { fields, lines, .. } = self;
        format!(
            "pub struct Net {{ {fields} }}
            impl Net {{
                pub fn out(&self, {argument}) -> {result} {{ {lines} x }}
                #[train(AdamW)]
                pub fn loss(&self, {argument}) -> f32 {{ mean(square(self.out(x))) }}
            }}"
        )
    }

    /// The model of images, behind a head that classifies.
    fn classifier(mut self, features: usize, hidden: Option<usize>) -> String {
        self.line("let x = flatten(adaptive_avg_pool2d(x, 1));".into());
        if let Some(hidden) = hidden {
            let linear = self.layer(format!("Linear({features}, {hidden})"));
            self.line(format!("let x = hard_swish(self.{linear}(x));"));
        }
        let linear = self.layer(format!("Linear({}, 1000)", hidden.unwrap_or(features)));
        self.line(format!("let x = self.{linear}(x);"));
        self.model("x: f32[B, 3, 224, 224]", "f32[B, 1000]")
    }
}

/// An inverted residual.
struct Inverted {
    kernel: usize,
    stride: usize,
    input: usize,
    expanded: usize,
    output: usize,
    squeezed: Option<usize>,
    activation: &'static str,
    /// The activation within squeeze and excitation, and its gate.
    gates: [&'static str; 2],
}

/// Howard et al. 2019, table 2.
fn mobilenet_v3_small() -> String {
    const BLOCKS: [(usize, usize, usize, bool, &str, usize); 11] = [
        (3, 16, 16, true, "relu", 2),
        (3, 72, 24, false, "relu", 2),
        (3, 88, 24, false, "relu", 1),
        (5, 96, 40, true, "hard_swish", 2),
        (5, 240, 40, true, "hard_swish", 1),
        (5, 240, 40, true, "hard_swish", 1),
        (5, 120, 48, true, "hard_swish", 1),
        (5, 144, 48, true, "hard_swish", 1),
        (5, 288, 96, true, "hard_swish", 2),
        (5, 576, 96, true, "hard_swish", 1),
        (5, 576, 96, true, "hard_swish", 1),
    ];
    let (mut net, mut input) = (Net::default(), 16);
    net.conv([3, 16], [3, 2, 1], "hard_swish");
    for (kernel, expanded, output, squeezes, activation, stride) in BLOCKS {
        // A quarter, to the next multiple of eight.
        let squeezed = squeezes.then(|| (expanded / 4).next_multiple_of(8));
        let gates = ["relu", "hard_sigmoid"];
        net.inverted(&Inverted { kernel, stride, input, expanded, output, squeezed, activation, gates });
        input = output;
    }
    net.conv([96, 576], [1, 1, 1], "hard_swish");
    net.classifier(576, Some(1024))
}

/// Tan and Le 2019, table 1.
fn efficientnet_b0() -> String {
    const STAGES: [[usize; 5]; 7] = [
        [1, 3, 1, 16, 1],
        [6, 3, 2, 24, 2],
        [6, 5, 2, 40, 2],
        [6, 3, 2, 80, 3],
        [6, 5, 1, 112, 3],
        [6, 5, 2, 192, 4],
        [6, 3, 1, 320, 1],
    ];
    let (mut net, mut input) = (Net::default(), 32);
    net.conv([3, 32], [3, 2, 1], "silu");
    for [factor, kernel, first, output, layers] in STAGES {
        for layer in 0..layers {
            let stride = if layer == 0 { first } else { 1 };
            let (expanded, squeezed) = (factor * input, Some(input / 4));
            let (activation, gates) = ("silu", ["silu", "sigmoid"]);
            net.inverted(&Inverted { kernel, stride, input, expanded, output, squeezed, activation, gates });
            input = output;
        }
    }
    net.conv([320, 1280], [1, 1, 1], "silu");
    net.classifier(1280, None)
}

/// He et al. 2015, table 1.
fn resnet50() -> String {
    let (mut net, mut input) = (Net::default(), 64);
    net.conv([3, 64], [7, 2, 1], "relu");
    net.line("let x = max_pool2d(x, window = 3, stride = 2, padding = 1);".into());
    for (width, layers, first) in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)] {
        for layer in 0..layers {
            let (output, stride) = (4 * width, if layer == 0 { first } else { 1 });
            net.line("let before = x;".into());
            net.conv([input, width], [1, 1, 1], "relu");
            net.conv([width, width], [3, stride, 1], "relu");
            net.conv([width, output], [1, 1, 1], "");
            if layer == 0 {
                net.line("let after = x;".into());
                net.line("let x = before;".into());
                net.conv([input, output], [1, stride, 1], "");
                net.line("let x = relu(after + x);".into());
            } else {
                net.line("let x = relu(x + before);".into());
            }
            input = output;
        }
    }
    net.classifier(2048, None)
}

/// Radford et al. 2019, the smallest: twelve blocks.
fn transformer(looped: bool) -> String {
    const LAYERS: usize = 12;
    let blocks: String = (0..LAYERS).map(|layer| format!("block{layer}: Block(dim, heads), ")).collect();
    let calls: String = (0..LAYERS).map(|layer| format!("let x = self.block{layer}(x); ")).collect();
    let (blocks, calls) = match looped {
        true => {
            (format!("blocks: [Block(dim, heads); {LAYERS}],"), "for block in self.blocks { x = block(x); }".into())
        }
        false => (blocks, calls),
    };
    format!(
        "pub struct Gpt(heads = 12, dim = 768, context = 1024, vocab = 50257) {{
            token: Embedding(vocab, dim),
            position: Embedding(context, dim),
            {blocks}
            norm: LayerNorm(dim),
        }}
        struct Block(dim, heads) {{
            norm1: LayerNorm(dim),
            qkv: Linear(dim, 3 * dim),
            out: Linear(dim, dim),
            norm2: LayerNorm(dim),
            up: Linear(dim, 4 * dim),
            down: Linear(4 * dim, dim),
        }}
        impl Block {{
            fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {{
                let (q, k, v) = split(self.qkv(self.norm1(x)), 3);
                let y = merge_heads(attend(heads(q, heads), heads(k, heads), heads(v, heads), causal = true));
                let x = x + dropout(self.out(y), 0.1);
                x + dropout(self.down(gelu(self.up(self.norm2(x)))), 0.1)
            }}
        }}
        impl Gpt {{
            pub fn logits(&self, id: u32[B, T <= context]) -> f32[B, T, vocab] {{
                let mut x = self.token(id) + self.position(iota(T));
                {calls}
                matmul(self.norm(x), transpose(self.token.weight))
            }}
            #[train(AdamW)]
            pub fn loss(&self, id: u32[B, T <= context], next: u32[B, T]) -> f32 {{ cross_entropy(self.logits(id), next) }}
        }}"
    )
}
