//! Gradients by name and by field against central differences of the loss.

use precast::prelude::*;

model! {
    /// Small images to four classes.
    pub struct Net {
        patch: Conv2d(1, 3, kernel = 3, padding = 1),
        blocks: [Block(12, 5); 3],
        norm: LayerNorm(12),
        output: Linear(12, 4),
    }

    struct Block(dim, hidden) {
        up: Linear(dim, hidden),
        down: Linear(hidden, dim),
    }

    impl Block {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.down(tanh(self.up(x)))
        }
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 1, 4, 4]) -> f32[B, 4] {
            let mut x = flatten(avg_pool2d(gelu(self.patch(image)), window = 2));
            for block in self.blocks {
                x = block(x);
            }
            self.output(self.norm(x))
        }

        /// Mean cross-entropy.
        #[train(Sgd)]
        pub fn loss(&self, image: f32[B, 1, 4, 4], label: u32[B]) -> f32 {
            cross_entropy(self.scores(image), label)
        }
    }
}

/// The step of the differences: the error of the formula is its square, that of the loss is divided by it.
const STEP: f32 = 1e-2;

/// The largest error, relative to the largest gradient of the parameter or to 0.01.
const BOUND: f32 = 1e-2;

/// One for each image.
const LABELS: [u32; 5] = [0, 3, 1, 1, 2];

fn images() -> Vec<[[[f32; 4]; 4]; 1]> {
    let pixels = crate::numbers(5 * 16, 9);
    pixels.chunks(16).map(|p| [core::array::from_fn(|i| core::array::from_fn(|j| p[4 * i + j]))]).collect()
}

#[test]
fn gradients_are_the_slopes_of_the_loss() {
    let (images, labels) = (images(), LABELS);
    let mut net = Net::init(4);
    let before = net.loss(&images, &labels).unwrap();
    let gradients = net.trainer(Sgd::default()).loss_gradients(&images, &labels).unwrap();
    assert!((gradients.loss - before).abs() < 1e-6);
    let all: Vec<(String, Vec<f32>)> = gradients.iter().map(|(name, _, values)| (name, values.to_vec())).collect();
    assert_eq!(all.len(), 2 + 3 * 4 + 2 + 2);
    for (name, values) in all {
        let largest = values.iter().fold(1e-2f32, |most, x| most.max(x.abs()));
        for (at, &found) in values.iter().enumerate() {
            let value = net.parameter(&name).unwrap()[at];
            let mut moved = |by: f32| {
                net.parameter_mut(&name).unwrap()[at] = value + by;
                net.loss(&images, &labels).unwrap()
            };
            let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
            moved(0.0);
            assert!((found - slope).abs() <= BOUND * largest, "{name}[{at}]: {found}, but the slope is {slope}");
        }
    }
    assert_eq!(net.loss(&images, &labels).unwrap(), before);
}

/// Compares the gradients of some fields with the slopes of the loss when the fields of the model are moved.
fn fields_are_slopes(gradients: &precast::Gradients<Net>) {
    let (images, mut net) = (images(), Net::init(4));
    let views = gradients.views();
    let up: &[[[f32; 12]; 5]; 3] = views.blocks.up.weight;
    let patch: &[[[[f32; 3]; 3]; 1]; 3] = views.patch.weight;
    let bias: &[f32; 4] = views.output.bias;
    let mut close = |found: f32, part: fn(&mut Net) -> &mut f32| {
        let value = *part(&mut net);
        let mut moved = |by: f32| {
            *part(&mut net) = value + by;
            net.loss(&images, &LABELS).unwrap()
        };
        let slope = (moved(STEP) - moved(-STEP)) / (2.0 * STEP);
        moved(0.0);
        assert!((found - slope).abs() <= BOUND * slope.abs().max(0.1), "{found}, but the slope is {slope}");
    };
    close(up[2][4][11], |net| &mut net.views_mut().blocks.up.weight[2][4][11]);
    close(up[1][0][3], |net| &mut net.views_mut().blocks.up.weight[1][0][3]);
    close(patch[2][0][1][2], |net| &mut net.views_mut().patch.weight[2][0][1][2]);
    close(bias[3], |net| &mut net.views_mut().output.bias[3]);
    assert_eq!(up[2].as_flattened(), gradients.get("blocks.2.up.weight").unwrap());
}

#[test]
fn fields_of_gradients_are_the_slopes_of_those_of_the_model() {
    let mut net = Net::init(4);
    fields_are_slopes(&net.trainer(Sgd::default()).loss_gradients(&images(), &LABELS).unwrap());
}

#[cfg(feature = "gpu")]
#[test]
fn gradients_of_a_gpu_have_the_same_fields() {
    let Some(gpu) = tests::gpu() else { return };
    let mut net = Net::init(4).on(&gpu).unwrap();
    fields_are_slopes(&net.trainer(Sgd::default()).loss_gradients(&images(), &LABELS).unwrap());
}

#[test]
fn a_step_of_plain_descent_goes_down_the_gradient() {
    let image = [[[[0.5; 4]; 4]; 1]; 2];
    let (mut net, copy) = (Net::init(4), Net::init(4));
    let mut trainer = net.trainer(Sgd { rate: 0.1, ..default() });
    let gradients = trainer.loss_gradients(&image, &[1, 2]).unwrap();
    trainer.loss(&image, &[1, 2]).unwrap().value().unwrap();
    for (name, _, before) in copy.parameters() {
        let (after, gradient) = (net.parameter(&name).unwrap(), gradients.get(&name).unwrap());
        for ((after, before), gradient) in after.iter().zip(before).zip(gradient) {
            assert!((after - (before - 0.1 * gradient)).abs() <= 1e-6, "{name}");
        }
    }
}
