//! Trains a recurrent network to say how a signal of two tones goes on, and follows one sample by sample.
//!
//! ```text
//! cargo run --release -p examples --example lstm
//! cargo run --release -p examples --example lstm --features gpu -- --device gpu
//! ```

use std::{error::Error, f32::consts::TAU, time::Instant};

use examples::progress::Progress;
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::{View, prelude::*};

model! {
    /// What comes next in a signal, from all that came before.
    pub struct Predictor(hidden = 48) {
        memory: Lstm(1, hidden),
        output: Linear(hidden, 1),
    }

    /// Long short-term memory (Hochreiter and Schmidhuber 1997).
    struct Lstm(input, hidden) {
        from_input: Linear(input, 4 * hidden),
        from_state: Linear(hidden, 4 * hidden, bias = false),
        state h: f32[B, hidden],
        state c: f32[B, hidden],
    }

    impl Lstm {
        fn cell(&self, (h, c): (f32[B, hidden], f32[B, hidden]), x: f32[B, input]) -> (f32[B, hidden], f32[B, hidden]) {
            let (i, f, g, o) = split(self.from_input(x) + self.from_state(h), 4);
            let c = sigmoid(f) * c + sigmoid(i) * tanh(g);
            (sigmoid(o) * tanh(c), c)
        }

        /// A whole sequence.
        fn forward(&self, x: f32[B, T, input]) -> f32[B, T, hidden] {
            scan(x, axis = 1, from = (zeros, zeros), |state, x| {
                let state = self.cell(state, x);
                (state, state.0)
            })
        }

        /// One sample, after those that the session has seen.
        fn step(&mut self, x: f32[B, input]) -> f32[B, hidden] {
            let (h, c) = self.cell((self.h, self.c), x);
            self.h = h;
            self.c = c;
            h
        }
    }

    impl Predictor {
        /// The next sample after each one.
        pub fn predict(&self, x: f32[B, T]) -> f32[B, T] {
            self.output(self.memory(reshape(x, [B, T, 1])))[_, _, 0]
        }

        /// The next sample after this one.
        pub fn follow(&mut self, x: f32[B]) -> f32[B] {
            self.output(self.memory.step(reshape(x, [B, 1])))[.., 0]
        }

        /// Mean squared error of all but the last prediction.
        #[train(Adam)]
        pub fn loss(&self, x: f32[B, T]) -> f32 {
            mse_loss(self.predict(x)[.., 0..T - 1], x[.., 1..])
        }
    }
}

const USAGE: &str = "usage: lstm [--steps N] [--seed N] [--device cpu|gpu]";

/// Signals in one step of training.
const BATCH: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut steps, mut seed) = (1000, 7);
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("steps") => steps = parser.value()?.parse()?,
            Long("seed") => seed = parser.value()?.parse()?,
            Long("device") => device = parser.value()?.string()?,
            _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
        }
    }
    match device.as_str() {
        "cpu" => run(&Cpu, seed, steps),
        #[cfg(feature = "gpu")]
        "gpu" => run(&Gpu::new()?, seed, steps),
        #[cfg(not(feature = "gpu"))]
        "gpu" => Err("build with `--features gpu`".into()),
        other => Err(format!("there is no device `{other}`\n{USAGE}").into()),
    }
}

fn run<D: Blocking>(device: &D, seed: u64, steps: u64) -> Result<(), Box<dyn Error>> {
    println!("{} parameters on {device:?}", Predictor::PARAMS);
    let mut model = Predictor::init(seed).on(device)?;
    let start = Instant::now();
    train(&mut model, seed, steps)?;
    println!("{steps} steps in {:.1} s", start.elapsed().as_secs_f32());
    // Ten times as long as any signal of the training.
    let test = signals(16, 1000, u64::MAX - seed);
    let loss = model.loss(View::new(&test, [16, 1000])?)?;
    println!(
        "mean squared error on new signals: {loss:.2e}, and {:.2e} where the last sample is repeated",
        repeated(&test)
    );
    follow(&model, &test[..1000])
}

fn train<D: Blocking>(model: &mut Predictor<D>, seed: u64, steps: u64) -> precast::Result<()> {
    let rate = 5e-3;
    let mut trainer = model.trainer(Adam { rate, clip: Some(1.0), ..default() });
    let mut progress = Progress::new(steps as usize);
    for step in 0..steps {
        // Half a cosine from the full rate down to zero.
        let turn = step as f32 / steps as f32 * core::f32::consts::PI;
        trainer.optimizer.rate = rate * (1.0 + turn.cos()) / 2.0;
        // The compiled network takes signals of every length.
        let length = 40 + (step % 7) as usize * 10;
        let loss = trainer.loss(View::new(&signals(BATCH, length, seed + step), [BATCH, length])?)?;
        if step % 100 == 99 {
            println!("step {:>5}: loss {:.2e}", step + 1, loss.value()?);
        }
        progress.step(format_args!("step {}", step + 1));
    }
    Ok(())
}

/// Feeds a session one sample after another, as they would come from a microphone.
fn follow<D: Blocking>(model: &Predictor<D>, signal: &[f32]) -> Result<(), Box<dyn Error>> {
    let whole = model.predict(View::new(signal, [1, signal.len()])?)?;
    let mut session = model.session(PredictorDims { B: 1 })?;
    let (mut apart, start) = (0.0f32, Instant::now());
    for (sample, expected) in signal.iter().zip(whole.data()) {
        apart = apart.max((session.follow(&[*sample])?[0] - expected).abs());
    }
    let each = start.elapsed().as_secs_f64() / signal.len() as f64;
    println!("{:.1} µs for a sample; at most {apart:.1e} from the whole signal at once", each * 1e6);
    Ok(())
}

/// Signals of two tones each, whose pitches and phases the network has to find out.
fn signals(count: usize, length: usize, seed: u64) -> Vec<f32> {
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut unit = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 40) as f32 / (1 << 24) as f32
    };
    // The first numbers of near seeds are alike.
    (0..20).for_each(|_| _ = unit());
    let mut all = Vec::with_capacity(count * length);
    for _ in 0..count {
        let tones = [0.0; 2].map(|_| (0.05 + 0.25 * unit(), unit() * TAU));
        all.extend(
            (0..length).map(|t| tones.map(|(pitch, phase)| (pitch * t as f32 + phase).sin() / 2.0).iter().sum::<f32>()),
        );
    }
    all
}

/// The mean squared error of saying that the next sample is this one.
fn repeated(signals: &[f32]) -> f32 {
    let squares = signals.chunks(1000).flat_map(|signal| signal.windows(2)).map(|pair| (pair[1] - pair[0]).powi(2));
    squares.clone().sum::<f32>() / squares.count() as f32
}
