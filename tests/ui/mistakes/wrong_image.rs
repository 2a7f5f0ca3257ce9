//! Constant dimensions are Rust's types, so an image of another size is rustc's own error.

use precast::prelude::*;

model! {
    /// Classes of images.
    pub struct Net {
        output: Linear(28 * 28, 10),
    }

    impl Net {
        /// Unnormalised class scores.
        pub fn scores(&self, image: f32[B, 28, 28]) -> f32[B, 10] {
            self.output(flatten(image))
        }
    }
}

fn main() -> precast::Result<()> {
    let images = vec![[[0.0; 28]; 27]; 4];
    Net::init(1).scores(&images)?;
    Ok(())
}
