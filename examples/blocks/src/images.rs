//! Blocks of images: patches to rows of features.

precast::model! {
    // Blocks import blocks, of this crate and of others.
    use crate::Mlp;

    /// Cuts an image into square patches and embeds each of them (Dosovitskiy et al. 2021).
    pub struct Patches(channels, side, dim) {
        cut: Conv2d(channels, dim, kernel = side, stride = side),
        mix: Mlp(dim, 2 * dim, dim),
    }

    impl Patches {
        fn forward(&self, image: f32[B, channels, H, W]) -> f32[B, H / side * (W / side), dim] {
            self.mix(transpose(reshape(self.cut(image), [B, dim, H / side * (W / side)])))
        }
    }
}
