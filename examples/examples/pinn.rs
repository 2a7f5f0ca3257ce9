//! Solves Burgers' equation with a network that knows nothing but the equation, and compares it with the
//! exact solution.
//!
//! ```text
//! cargo run --release -p examples --example pinn
//! cargo run --release -p examples --example pinn --features gpu -- --device gpu
//! ```

use std::{error::Error, time::Instant};

use examples::burgers::{error, grid, scattered};
use examples::progress::Progress;
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::prelude::*;

model! {
    const PI: f32 = 3.141592653589793;
    const VISCOSITY: f32 = 0.05;

    /// A solution of `u_t + u·u_x = ν·u_xx` for −1 ≤ x ≤ 1 and 0 ≤ t ≤ 1 that is −sin πx at first and 0 at both
    /// ends (Raissi, Perdikaris and Karniadakis 2019).
    pub struct Burgers {
        first: Linear(2, 32),
        second: Linear(32, 32),
        third: Linear(32, 32),
        last: Linear(32, 1),
    }

    impl Burgers {
        /// What holds at first and at the ends holds by construction.
        fn u(&self, x: f32, t: f32) -> f32 {
            let h = tanh(self.third(tanh(self.second(tanh(self.first(stack(x, t)))))));
            t * (1 - x * x) * self.last(h)[0] - sin(PI * x)
        }

        /// The solution at some points.
        pub fn at(&self, x: f32[N], t: f32[N]) -> f32[N] {
            map(self.u)(x, t)
        }

        /// How far the equation is from true at some points.
        #[train(Adam)]
        pub fn loss(&self, x: f32[N], t: f32[N]) -> f32 {
            let residual = map(|x, t| {
                let (u, (u_x, u_t)) = value_and_grad(self.u)(x, t);
                let u_xx = grad(grad(|x| self.u(x, t)))(x);
                u_t + u * u_x - VISCOSITY * u_xx
            })(x, t);
            mean(square(residual))
        }
    }
}

const POINTS: usize = 512;
const USAGE: &str = "usage: pinn [--seed N] [--steps N] [--device cpu|gpu]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seed, mut steps) = (1, 4000);
    let (mut device, mut parser) = (String::from("cpu"), Parser::from_env());
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("steps") => steps = parser.value()?.parse()?,
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
    let start = Instant::now();
    let mut burgers = Burgers::init(seed).on(device)?;
    train(&mut burgers, steps)?;
    println!("{steps} steps in {:.1} s", start.elapsed().as_secs_f32());

    let (x, t): (Vec<f32>, Vec<f32>) = grid().map(|(x, t)| (x as f32, t as f32)).unzip();
    println!("relative L2 error: {:.2e}", error(burgers.at(&x, &t)?.into_iter().map(f64::from)));
    Ok(())
}

fn train<D: Blocking>(burgers: &mut Burgers<D>, steps: u64) -> precast::Result<()> {
    let rate = 5e-3;
    let mut trainer = burgers.trainer(Adam { rate, ..default() });
    let mut progress = Progress::new(steps as usize);
    let (mut x, mut t) = (vec![0.0; POINTS], vec![0.0; POINTS]);
    for step in 0..steps {
        // Half a cosine from the full rate down to zero.
        let turn = step as f32 / steps as f32 * core::f32::consts::PI;
        trainer.optimizer.rate = rate * (1.0 + turn.cos()) / 2.0;
        for (k, (x, t)) in x.iter_mut().zip(&mut t).enumerate() {
            let (place, time) = scattered(step * POINTS as u64 + k as u64);
            (*x, *t) = (place as f32, time as f32);
        }
        let loss = trainer.loss(&x, &t)?;
        if step % 500 == 499 {
            println!("step {:>5}: loss {:.2e}", step + 1, loss.value()?);
        }
        progress.step(format_args!("step {step}"));
    }
    Ok(())
}
