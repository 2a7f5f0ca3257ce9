use precast::prelude::*;

model! {
    pub struct Net {
        hidden: Linear(8, 8),
        output: Linear(8, 8),
        state seen: f32[1, 8],
    }

    impl Net {
        pub fn scores(&self, x: f32[B, 8]) -> f32[B, 8] {
            self.output(relu(self.hidden(x)))
        }

        pub fn listen(&mut self, x: f32[1, 8]) -> f32[1, 8] {
            self.seen = tanh(self.hidden(x) + self.seen);
            self.output(self.seen)
        }

        #[train(AdamW)]
        pub fn loss(&self, x: f32[B, 8]) -> f32 {
            mean(square(self.scores(x)))
        }
    }
}

fn main() -> precast::Result<()> {
    let mut net = Net::init(1);
    let x = [[0.5; 8]; 4];
    net.forward(&x)?;
    net.session().predict(&x)?;
    net.listen([[0.5; 8]])?;
    let mut trainer = net.trainer(AdamW::default());
    trainer.train(&x)?;
    trainer.backward(&x)?;
    Ok(())
}
