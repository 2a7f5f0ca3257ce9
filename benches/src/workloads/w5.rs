//! W5: an encoder of 6 blocks, 384 wide, 12 heads, post-norm, 128 places, one sequence forward.

use super::checked::owned;
use super::{Argument, Checked, Measure, Noise};
use precast::View;
use precast::prelude::*;
use std::error::Error;

model! {
    /// W5.
    pub struct W5 { l: [Layer(384, 12, 1536); 6] }

    struct Layer(dim, heads, inner) {
        q: Linear(dim, dim), k: Linear(dim, dim), v: Linear(dim, dim), o: Linear(dim, dim),
        n1: LayerNorm(dim, eps = 1e-12), n2: LayerNorm(dim, eps = 1e-12),
        f1: Linear(dim, inner), f2: Linear(inner, dim),
    }

    impl Layer {
        fn forward(&self, x: f32[B, T, dim]) -> f32[B, T, dim] {
            let a = attend(heads(self.q(x), heads), heads(self.k(x), heads), heads(self.v(x), heads));
            let x = self.n1(x + self.o(merge_heads(a)));
            self.n2(x + self.f2(gelu(self.f1(x))))
        }
    }

    impl W5 {
        /// A vector for each place.
        pub fn encode(&self, x: f32[B, T, 384]) -> f32[B, T, 384] {
            let mut x = x;
            for block in self.l {
                x = block(x);
            }
            x
        }
    }
}

pub(super) fn forward(measure: Measure<'_>) -> Result<(), Box<dyn Error>> {
    let model = W5::init(0);
    let mut session = model.session();
    let mut x = vec![[0.0; 384]; 128];
    Noise::new(1).fill(x.as_flattened_mut());
    session.encode(View::new(&x, [1, 128])?)?;
    measure("W5", 1, &mut || {
        let y = View::new(&x, [1, 128]).and_then(|x| session.encode(x).map(|y| y.data()[0][0]));
        x[0][0] = y.unwrap_or(f32::NAN) * 0.1;
        x[0][0]
    });
    Ok(())
}

pub(super) fn checked() -> Result<Checked, Box<dyn Error>> {
    let model = W5::init(0);
    let mut x = vec![0.0; 128 * 384];
    Noise::new(1).fill(&mut x);
    Ok(Checked {
        source: include_str!("w5.rs"),
        function: "encode",
        parameters: owned(model.parameters()),
        result: model.encode(View::new(x.as_chunks().0, [1, 128])?)?.data().as_flattened().to_vec(),
        arguments: vec![Argument::Floats(vec![1, 128, 384], x)],
        gradients: vec![],
    })
}
