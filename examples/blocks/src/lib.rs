//! Blocks that other crates build models of: `use blocks::Residual;` inside their `model!`.

/// Blocks of images.
pub mod images;

precast::model! {
    /// How much wider a block is inside than outside.
    const WIDEN: usize = 4;

    /// A step of a residual network: normalise, widen, narrow, add (He et al. 2016).
    pub struct Residual(dim, hidden = WIDEN * dim) {
        norm: LayerNorm(dim),
        body: Mlp(dim, hidden, dim),
    }

    impl Residual {
        fn forward(&self, x: f32[.., dim]) -> f32[.., dim] {
            x + self.body(self.norm(x))
        }
    }

    /// Two layers.
    pub struct Mlp(input, hidden, output) {
        up: Linear(input, hidden),
        down: Linear(hidden, output),
    }

    impl Mlp {
        fn forward(&self, x: f32[.., input]) -> f32[.., output] {
            self.down(bend(self.up(x)))
        }
    }

    fn bend(x: f32[..]) -> f32[..] {
        gelu(x)
    }
}
