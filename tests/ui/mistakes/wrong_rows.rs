//! Rows are arrays of what the slice holds: bytes of other numbers are none.

use precast::prelude::*;

model! {
    /// A layer.
    pub struct Net {
        output: Linear(2, 1),
    }

    impl Net {
        /// Scores.
        pub fn scores(&self, x: f32[B, 2]) -> f32[B, 1] {
            self.output(x)
        }
    }
}

fn main() -> precast::Result<()> {
    let data: Vec<f64> = vec![0.5; 8];
    Net::init(1).scores(precast::rows(&data)?)?;
    Ok(())
}
