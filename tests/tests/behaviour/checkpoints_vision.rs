//! Networks of timm and of torchvision, from the files that these packages write, and two steps of training.

use super::checkpoints::{agree, file, stored};
use precast::prelude::*;

model! {
    /// timm's `VisionTransformer`.
    pub struct Vit {
        cls_token: Parameter([1, 1, 24]),
        pos_embed: Parameter([1, 17, 24]),
        patch_embed: VitPatches,
        blocks: [VitBlock(24, 4); 2],
        norm: LayerNorm(24, eps = 1e-6),
        head: Linear(24, 5),
    }

    struct VitPatches { proj: Conv2d(3, 24, kernel = 4, stride = 4) }

    struct VitBlock(dim, heads) {
        norm1: LayerNorm(dim, eps = 1e-6),
        attn: VitAttention(dim, heads),
        norm2: LayerNorm(dim, eps = 1e-6),
        mlp: VitMlp(dim, 4 * dim),
    }

    struct VitAttention(dim, heads) { qkv: Linear(dim, 3 * dim), proj: Linear(dim, dim) }

    struct VitMlp(dim, hidden) { fc1: Linear(dim, hidden), fc2: Linear(hidden, dim) }

    impl VitAttention {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let (q, k, v) = split(self.qkv(x), 3, axis = -1);
            self.proj(merge_heads(attend(heads(q, heads), heads(k, heads), heads(v, heads))))
        }
    }

    impl VitMlp {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] { self.fc2(gelu(self.fc1(x))) }
    }

    impl VitBlock {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let x = x + self.attn(self.norm1(x));
            x + self.mlp(self.norm2(x))
        }
    }

    impl Vit {
        /// The scores of the classes.
        pub fn scores(&self, image: f32[B, 3, 16, 16]) -> f32[B, 5] {
            let patches = transpose(reshape(self.patch_embed.proj(image), [B, 24, 16]), 0, 2, 1);
            let first = broadcast_to(self.cls_token, [B, 1, 24]);
            let mut x = concat(first, patches, axis = 1) + self.pos_embed;
            for block in self.blocks {
                x = block(x);
            }
            self.head(self.norm(x)[_, 0])
        }
    }
}

model! {
    /// timm's `ConvNeXt`, whose first stage reduces nothing.
    pub struct ConvNext {
        stem: Sequential(Conv2d(3, 6, kernel = 4, stride = 4), LayerNorm2d(6)),
        stages: [First(6, 1), Stage(6, 8, 2), Stage(8, 12, 1), Stage(12, 16, 1)],
        head: Head(16, 5),
    }

    struct First(dim, depth) { blocks: [ConvNextBlock(dim); depth] }

    struct Stage(input, dim, depth) {
        downsample: Sequential(LayerNorm2d(input), Conv2d(input, dim, kernel = 2, stride = 2)),
        blocks: [ConvNextBlock(dim); depth],
    }

    struct ConvNextBlock(dim) {
        conv_dw: Conv2d(dim, dim, kernel = 7, padding = 3, groups = dim),
        norm: LayerNorm(dim, eps = 1e-6),
        mlp: Mlp(dim, 4 * dim),
        gamma: Parameter(dim),
    }

    struct Mlp(dim, hidden) { fc1: Linear(dim, hidden), fc2: Linear(hidden, dim) }

    struct Head(dim, classes) { norm: LayerNorm2d(dim), fc: Linear(dim, classes) }

    /// A layer norm over the channels of an image.
    struct LayerNorm2d(dim) { weight: Parameter(dim, init = ones), bias: Parameter(dim, init = zeros) }

    impl LayerNorm2d {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            transpose(layer_norm(transpose(x, 0, 2, 3, 1), self.weight, self.bias, eps = 1e-6), 0, 3, 1, 2)
        }
    }

    impl ConvNextBlock {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            let y = self.norm(transpose(self.conv_dw(x), 0, 2, 3, 1));
            let y = self.gamma * self.mlp.fc2(gelu(self.mlp.fc1(y)));
            x + transpose(y, 0, 3, 1, 2)
        }
    }

    impl First {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            let mut x = x;
            for block in self.blocks {
                x = block(x);
            }
            x
        }
    }

    impl Stage {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, dim, H / 2, W / 2] {
            let mut x = self.downsample(x);
            for block in self.blocks {
                x = block(x);
            }
            x
        }
    }

    impl ConvNext {
        /// The scores of the classes.
        pub fn scores(&self, image: f32[B, 3, 32, 32]) -> f32[B, 5] {
            let mut x = self.stem(image);
            for stage in self.stages {
                x = stage(x);
            }
            let pooled = mean(x, axes = [2, 3], keepdims = true);
            self.head.fc(reshape(self.head.norm(pooled), [B, 16]))
        }
    }
}

model! {
    /// torchvision's `ResNet` of basic blocks, with four channels in the place of 64.
    pub struct ResNet {
        conv1: Conv2d(3, 4, kernel = 7, stride = 2, padding = 3, bias = false),
        bn1: BatchNorm2d(4),
        layer1: [Basic(4); 2],
        layer2: [Down(4, 6), Basic(6)],
        layer3: [Down(6, 8), Basic(8)],
        layer4: [Down(8, 10), Basic(10)],
        fc: Linear(10, 5),
    }

    struct Basic(dim) {
        conv1: Conv2d(dim, dim, kernel = 3, padding = 1, bias = false),
        bn1: BatchNorm2d(dim),
        conv2: Conv2d(dim, dim, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(dim),
    }

    struct Down(input, dim) {
        conv1: Conv2d(input, dim, kernel = 3, stride = 2, padding = 1, bias = false),
        bn1: BatchNorm2d(dim),
        conv2: Conv2d(dim, dim, kernel = 3, padding = 1, bias = false),
        bn2: BatchNorm2d(dim),
        downsample: Sequential(Conv2d(input, dim, kernel = 1, stride = 2, bias = false), BatchNorm2d(dim)),
    }

    impl Basic {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))) + x)
        }
    }

    impl Down {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, dim, .., ..] {
            relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))) + self.downsample(x))
        }
    }

    impl ResNet {
        /// The scores of the classes.
        pub fn scores(&self, image: f32[B, 3, 40, 40]) -> f32[B, 5] {
            let x = relu(self.bn1(self.conv1(image)));
            let mut x = max_pool2d(x, window = 3, stride = 2, padding = 1);
            for block in self.layer1 {
                x = block(x);
            }
            for layer in (self.layer2, self.layer3, self.layer4) {
                for block in layer {
                    x = block(x);
                }
            }
            self.fc(flatten(adaptive_avg_pool2d(x, 1)))
        }
    }
}

model! {
    /// torchvision's `MobileNetV3`, with few layers and channels.
    pub struct MobileNet {
        features: [
            Hard(3, 8, kernel = 3, stride = 2),
            First(8),
            Inverted(8, 16, 8, stride = 2),
            Kept(8, 24, 8),
            Excited(8, 24, 16, stride = 2),
            KeptExcited(16, 32, 16),
            Hard(16, 96),
        ],
        classifier: Sequential(Linear(96, 24), hard_swish, |x| dropout(x, 0.0), Linear(24, 5)),
    }

    /// A convolution and its norm.
    struct Plain(input, output, kernel = 1, stride = 1, groups = 1) {
        #[name = "0"]
        conv: Conv2d(
            input, output, kernel = kernel, stride = stride, padding = (kernel - 1) / 2, groups = groups, bias = false
        ),
        #[name = "1"]
        norm: BatchNorm2d(output, eps = 0.001, momentum = 0.01),
    }

    struct Rectified(input, output, kernel = 1, stride = 1, groups = 1) {
        #[name = "0"]
        conv: Conv2d(
            input, output, kernel = kernel, stride = stride, padding = (kernel - 1) / 2, groups = groups, bias = false
        ),
        #[name = "1"]
        norm: BatchNorm2d(output, eps = 0.001, momentum = 0.01),
    }

    struct Hard(input, output, kernel = 1, stride = 1, groups = 1) {
        #[name = "0"]
        conv: Conv2d(
            input, output, kernel = kernel, stride = stride, padding = (kernel - 1) / 2, groups = groups, bias = false
        ),
        #[name = "1"]
        norm: BatchNorm2d(output, eps = 0.001, momentum = 0.01),
    }

    impl Plain {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.norm(self.conv(x)) }
    }

    impl Rectified {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { relu(self.norm(self.conv(x))) }
    }

    impl Hard {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { hard_swish(self.norm(self.conv(x))) }
    }

    struct Excitation(dim, squeezed) { fc1: Conv2d(dim, squeezed, kernel = 1), fc2: Conv2d(squeezed, dim, kernel = 1) }

    impl Excitation {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, H, W] {
            x * hard_sigmoid(self.fc2(relu(self.fc1(mean(x, axes = [2, 3], keepdims = true)))))
        }
    }

    struct First(dim) {
        block: Sequential(Rectified(dim, dim, kernel = 3, stride = 2, groups = dim), Excitation(dim, 8), Plain(dim, dim)),
    }

    struct Inverted(input, hidden, output, stride = 1) {
        block: Sequential(
            Rectified(input, hidden),
            Rectified(hidden, hidden, kernel = 3, stride = stride, groups = hidden),
            Plain(hidden, output),
        ),
    }

    struct Kept(input, hidden, output) {
        block: Sequential(
            Rectified(input, hidden), Rectified(hidden, hidden, kernel = 3, groups = hidden), Plain(hidden, output)
        ),
    }

    struct Excited(input, hidden, output, stride = 1) {
        block: Sequential(
            Hard(input, hidden),
            Hard(hidden, hidden, kernel = 5, stride = stride, groups = hidden),
            Excitation(hidden, 8),
            Plain(hidden, output),
        ),
    }

    struct KeptExcited(input, hidden, output) {
        block: Sequential(
            Hard(input, hidden),
            Hard(hidden, hidden, kernel = 5, groups = hidden),
            Excitation(hidden, 8),
            Plain(hidden, output),
        ),
    }

    impl First {
        fn forward(&self, x: f32[B, dim, H, W]) -> f32[B, dim, .., ..] { self.block(x) }
    }

    impl Inverted {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.block(x) }
    }

    impl Kept {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, H, W] { x + self.block(x) }
    }

    impl Excited {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, .., ..] { self.block(x) }
    }

    impl KeptExcited {
        fn forward(&self, x: f32[B, input, H, W]) -> f32[B, output, H, W] { x + self.block(x) }
    }

    impl MobileNet {
        /// The scores of the classes.
        pub fn scores(&self, image: f32[B, 3, 32, 32]) -> f32[B, 5] {
            let mut x = image;
            for layer in self.features {
                x = layer(x);
            }
            self.classifier(flatten(adaptive_avg_pool2d(x, 1)))
        }

        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 3, 32, 32], label: u32[B]) -> f32 { cross_entropy(self.scores(image), label) }
    }
}

#[test]
fn vit() {
    agree("vit y", Vit::open(file("vit")).unwrap().scores(&images("vit x")).unwrap().as_flattened());
}

#[test]
fn convnext() {
    agree(
        "convnext y",
        ConvNext::open(file("convnext")).unwrap().scores(&images("convnext x")).unwrap().as_flattened(),
    );
}

/// Pictures of rows of numbers.
fn images<const N: usize>(name: &str) -> Vec<[[[f32; N]; N]; 3]> {
    let numbers: Vec<f32> = stored(name);
    let rows: &[[f32; N]] = numbers.as_chunks().0;
    let planes: &[[[f32; N]; N]] = rows.as_chunks().0;
    planes.as_chunks().0.to_vec()
}

#[test]
fn resnet() {
    let scores = ResNet::open(file("resnet")).unwrap().scores(&images("resnet x")).unwrap();
    agree("resnet y", scores.as_flattened());
}

#[test]
fn mobilenet_and_two_steps_of_training() {
    let mut net = MobileNet::open(file("mobilenet")).unwrap();
    let images = images("mobilenet x");
    agree("mobilenet y", net.scores(&images).unwrap().as_flattened());
    let mut trainer = net.trainer(Sgd { rate: 0.05, ..Sgd::default() });
    let losses = [0; 2].map(|_| trainer.loss(&images, &[0, 3, 1, 4]).unwrap().value().unwrap());
    agree("mobilenet losses", &losses);
    drop(trainer);
    let trained = MobileNet::open(file("mobilenet-trained")).unwrap();
    for ((name, _, got), (_, _, want)) in net.parameters().zip(trained.parameters()) {
        let largest = want.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() <= 1e-4 * largest, "{name} has {got}, but PyTorch {want}");
        }
    }
}
