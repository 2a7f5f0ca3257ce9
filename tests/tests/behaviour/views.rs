//! Parameters as typed fields: what is read and written there is what their names in files mean.

use precast::prelude::*;

model! {
    /// Nested and repeated blocks, a parameter of its own, and fields with names that emitted code may have.
    pub struct Net {
        input: Linear(3, 4),
        blocks: [Block(4, 6); 3],
        pool: Parameter(5, init = "ones"),
        lent: Linear(4, 2, bias = false),
    }

    struct Block(dim, hidden) {
        norm: LayerNorm(dim),
        up: Linear(dim, hidden),
        inner: [Inner(hidden, dim); 2],
    }

    impl Block {
        fn forward(&self, x: f32[B, dim]) -> f32[B, dim] {
            let mut y = x;
            for inner in self.inner {
                y = y + inner(self.up(self.norm(x)));
            }
            y
        }
    }

    struct Inner(dim, out) { layer: Linear(dim, out) }

    impl Inner {
        fn forward(&self, x: f32[B, dim]) -> f32[B, out] { self.layer(x) }
    }

    impl Net {
        /// Two numbers for each row.
        pub fn out(&self, x: f32[B, 3]) -> f32[B, 2] {
            let mut x = self.input(x);
            for block in self.blocks {
                x = block(x);
            }
            self.lent(x) * sum(self.pool)
        }
    }
}

model! {
    /// No parameters.
    pub struct Bare {}

    impl Bare {
        /// Squares.
        pub fn squared(&self, x: f32[B]) -> f32[B] { x * x }
    }
}

#[test]
fn fields_are_the_parameters_of_their_names() -> precast::Result<()> {
    let net = Net::init(7);
    let views = net.views();
    let weight: &[[f32; 3]; 4] = views.input.weight;
    assert_eq!(weight.as_flattened(), net.parameter("input.weight")?);
    assert_eq!(views.pool, &[1.0; 5]);
    assert_eq!(views.lent.weight.as_flattened(), net.parameter("lent.weight")?);
    for block in 0..3 {
        let up: &[[f32; 4]; 6] = &views.blocks.up.weight[block];
        assert_eq!(up.as_flattened(), net.parameter(&format!("blocks.{block}.up.weight"))?);
        for inner in 0..2 {
            let bias: &[f32; 4] = &views.blocks.inner.layer.bias[block][inner];
            assert_eq!(bias, net.parameter(&format!("blocks.{block}.inner.{inner}.layer.bias"))?);
        }
    }
    Bare::init(0).views();
    Ok(())
}

#[test]
fn what_is_written_is_what_calls_read() -> precast::Result<()> {
    let mut net = Net::init(7);
    let views = net.views_mut();
    // Two at once, because they do not overlap.
    let (weight, pool) = (views.lent.weight, views.pool);
    weight.fill([0.0; 4]);
    pool[4] = 3.0;
    *views.blocks.norm.weight = [[2.0; 4]; 3];
    assert_eq!(net.out(&[[1.0, 2.0, 3.0]])?, [[0.0; 2]]);
    assert_eq!(net.parameter("pool")?, [1.0, 1.0, 1.0, 1.0, 3.0]);
    assert_eq!(net.parameter("blocks.1.norm.weight")?, [2.0; 4]);
    assert_ne!(net.parameter("blocks.1.norm.bias")?, [2.0; 4]);
    Ok(())
}
