use precast::prelude::*;

model! {
    pub struct Net {
        hidden: Linear(8, 8),
    }

    impl Net {
        fn cell(&self, x: f32[B, 8]) -> f32[B, 8] {
            self.hidden(x)
        }

        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 8]) -> f32 {
            mean(square(self.cell(x)))
        }
    }
}

fn main() -> precast::Result<()> {
    let mut net = Net::init(1);
    let x = [[0.5; 8]; 4];
    net.cell(&x)?;
    net.trainer(AdamW::default()).gradients(&x)?;
    Ok(())
}
