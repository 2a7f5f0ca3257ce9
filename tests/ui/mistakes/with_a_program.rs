use precast::prelude::*;

model! {
    pub struct Net {
        hidden: Linear(8, 8),
        output: Linear(8, 8),
    }

    impl Net {
        pub fn scores(&self, x: f32[B 8]) -> f32[B, 8] {
            self.output(relu(self.hidden(x)))
        }

        pub fn hidden_units(&self, x f32[B, 8]) f32[B, 8] {
            self.hidden(x)
        }

        pub fn hidden_units(&self, x: f32[B, 8]) -> f32[B, 8] {
            relu(self.hidden(x))
        }

        #[train(AdamW(rate = 0.1))]
        pub fn loss(&self, x: f32[B, 8]) -> f32 {
            mean(square(self.scores(x)))
        }
    }
}

fn main() -> precast::Result<()> {
    let mut net = Net::init(1);
    let x = [[0.5; 8]; 4];
    for row in net.scores(&x)? {
        println!("{:?}", row[0]);
    }
    net.session().hidden_units(&x)?;
    let mut trainer = net.trainer(AdamW::default());
    println!("{}", trainer.loss(&x)?.value()?);
    trainer.loss_gradients(&x)?;
    Ok(())
}
