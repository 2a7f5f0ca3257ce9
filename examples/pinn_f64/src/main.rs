//! Solves Burgers' equation as `pinn` does, but to six digits, which takes f64 and a quasi-Newton method: the error is
//! 4e-7 after 5,000 steps, and the steps are what limits it, for with `--points 2500 --bfgs 10000` it is 6e-8.
//!
//! ```text
//! cargo run --release -p pinn_f64
//! ```

use std::{error::Error, time::Instant};

use examples::burgers::{self, grid, scattered};
use examples::progress::Progress;
use lexopt::{Arg::Long, Parser, ValueExt};
use precast::prelude::*;

model! {
    const PI: f64 = 3.141592653589793;
    const VISCOSITY: f64 = 0.05;

    /// A solution of `u_t + u·u_x = ν·u_xx` for −1 ≤ x ≤ 1 and 0 ≤ t ≤ 1 that is −sin πx at first and 0 at both
    /// ends (Raissi, Perdikaris and Karniadakis 2019).
    #[model(precision = f64)]
    pub struct Burgers {
        first: Linear(2, 20),
        second: Linear(20, 20),
        third: Linear(20, 20),
        last: Linear(20, 1),
    }

    impl Burgers {
        /// What holds at first and at the ends holds by construction.
        fn u(&self, x: f64, t: f64) -> f64 {
            let h = tanh(self.third(tanh(self.second(tanh(self.first(stack(x, t)))))));
            t * (1 - x * x) * self.last(h)[0] - sin(PI * x)
        }

        /// The solution at some points.
        pub fn at(&self, x: f64[N], t: f64[N]) -> f64[N] {
            map(self.u)(x, t)
        }

        /// How far the equation is from true at some points.
        #[train(Adam)]
        pub fn loss(&self, x: f64[N], t: f64[N]) -> f64 {
            let residual = map(|x, t| {
                let (u, (u_x, u_t)) = value_and_grad(self.u)(x, t);
                let u_xx = grad(grad(|x| self.u(x, t)))(x);
                u_t + u * u_x - VISCOSITY * u_xx
            })(x, t);
            mean(square(residual))
        }
    }
}

const USAGE: &str = "usage: pinn_f64 [--seed N] [--points N] [--adam STEPS] [--bfgs STEPS]";

fn main() -> Result<(), Box<dyn Error>> {
    let (mut seed, mut points, mut adam, mut bfgs) = (1, 1500, 300, 5000);
    let mut parser = Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seed") => seed = parser.value()?.parse()?,
            Long("points") => points = parser.value()?.parse()?,
            Long("adam") => adam = parser.value()?.parse()?,
            Long("bfgs") => bfgs = parser.value()?.parse()?,
            _ => return Err(format!("{}\n{USAGE}", argument.unexpected()).into()),
        }
    }
    // A step takes a millisecond or two, in which threads would wait for each other many times.
    precast::set_threads(1);
    let start = Instant::now();
    let mut burgers = Burgers::init(seed);
    let (x, t): (Vec<f64>, Vec<f64>) = (0..points).map(scattered).unzip();
    descend(&mut burgers, &x, &t, adam)?;
    println!("relative L2 error after {adam} steps of Adam: {:.2e}", error(&burgers)?);
    let mut objective = Objective::new(&mut burgers, &x, &t);
    minimize(&mut objective, bfgs)?;
    println!("{} evaluations, {:.1} s in all", objective.evaluations, start.elapsed().as_secs_f64());
    println!("relative L2 error: {:.2e}", error(&burgers)?);
    Ok(())
}

/// Steps of Adam, with the whole rate at first and half a cosine down to zero.
fn descend(burgers: &mut Burgers, x: &[f64], t: &[f64], steps: usize) -> precast::Result<()> {
    let rate = 5e-3;
    let mut trainer = burgers.trainer(Adam { rate, ..default() });
    for step in 0..steps {
        let turn = step as f32 / steps as f32 * core::f32::consts::PI;
        trainer.optimizer.rate = rate * (1.0 + turn.cos()) / 2.0;
        let _ = trainer.loss(x, t)?;
    }
    Ok(())
}

/// The loss as a function of all parameters in one vector.
struct Objective<'a> {
    burgers: &'a mut Burgers,
    names: Vec<String>,
    points: (&'a [f64], &'a [f64]),
    evaluations: usize,
}

/// A place, and the loss and its gradient there.
#[derive(Clone)]
struct Point {
    at: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

impl<'a> Objective<'a> {
    fn new(burgers: &'a mut Burgers, x: &'a [f64], t: &'a [f64]) -> Self {
        let names = burgers.parameters().map(|(name, ..)| name).collect();
        Objective { burgers, names, points: (x, t), evaluations: 0 }
    }

    /// Where the model is.
    fn here(&mut self) -> precast::Result<Point> {
        let at = self.burgers.parameters().flat_map(|(_, _, values)| values.to_vec()).collect();
        self.evaluate(at)
    }

    /// Takes the model there. A trainer borrows its model, so each evaluation has one of its own.
    fn evaluate(&mut self, at: Vec<f64>) -> precast::Result<Point> {
        let mut rest = &at[..];
        for name in &self.names {
            let parameter = self.burgers.parameter_mut(name)?;
            let (values, others) = rest.split_at(parameter.len());
            parameter.copy_from_slice(values);
            rest = others;
        }
        let gradients = self.burgers.trainer(Adam::default()).loss_gradients(self.points.0, self.points.1)?;
        self.evaluations += 1;
        let gradient = gradients.iter().flat_map(|(_, _, values)| values.to_vec()).collect();
        Ok(Point { at, loss: gradients.loss, gradient })
    }

    /// The point at `start + step · direction`.
    fn along(&mut self, start: &Point, direction: &[f64], step: f64) -> precast::Result<Point> {
        self.evaluate(start.at.iter().zip(direction).map(|(x, d)| x + step * d).collect())
    }
}

/// The method of Broyden, Fletcher, Goldfarb and Shanno, whose inverse Hessian is scaled in each step (Al-Baali 1998). With some
/// hundreds of parameters the whole of it is affordable, and takes a quarter of the steps of one from the last hundred moves.
fn minimize(objective: &mut Objective<'_>, steps: usize) -> precast::Result<()> {
    let mut progress = Progress::new(steps);
    let mut here = objective.here()?;
    let n = here.at.len();
    let mut inverse = vec![0.0; n * n];
    (0..n).for_each(|i| inverse[i * n + i] = 1.0);
    for step in 0..steps {
        let direction: Vec<f64> = inverse.chunks_exact(n).map(|row| -dot(row, &here.gradient)).collect();
        let first = if step == 0 { 1e-3 / dot(&direction, &direction).sqrt() } else { 1.0 };
        let Some((length, next)) = search(objective, &here, &direction, first)? else {
            println!("no descent after {step} steps");
            break;
        };
        let moved: Vec<f64> = direction.iter().map(|d| length * d).collect();
        let turned: Vec<f64> = next.gradient.iter().zip(&here.gradient).map(|(a, b)| a - b).collect();
        update(&mut inverse, &moved, &turned, -length * dot(&here.gradient, &moved), step == 0);
        here = next;
        if step % 500 == 499 {
            println!("step {:>5}: loss {:.2e}", step + 1, here.loss);
        }
        progress.step(format_args!("step {step}"));
    }
    objective.evaluate(here.at)?;
    Ok(())
}

/// The inverse Hessian after a move by which the gradient turned; `curved` is what the old Hessian says of the move's curvature.
fn update(inverse: &mut [f64], moved: &[f64], turned: &[f64], curved: f64, first: bool) {
    let n = moved.len();
    let curvature = dot(moved, turned);
    if curvature <= 0.0 {
        return;
    }
    if first {
        let scale = curvature / dot(turned, turned);
        (0..n).for_each(|i| inverse[i * n + i] = scale);
    }
    let scale = if first { 1.0 } else { (curved / curvature).max(1.0) };
    let image: Vec<f64> = inverse.chunks_exact(n).map(|row| dot(row, turned)).collect();
    let (across, along) = (scale / curvature, (1.0 + scale * dot(turned, &image) / curvature) / curvature);
    for (row, (m, i)) in inverse.chunks_exact_mut(n).zip(moved.iter().zip(&image)) {
        let (by_move, by_image) = (along * m - across * i, across * m);
        for (h, (m, i)) in row.iter_mut().zip(moved.iter().zip(&image)) {
            *h = scale * *h + by_move * m - by_image * i;
        }
    }
}

/// A step along a direction after which the loss is smaller by enough, and its slope flatter (the strong conditions of Wolfe;
/// Nocedal and Wright, algorithms 3.5 and 3.6).
fn search(
    objective: &mut Objective<'_>,
    start: &Point,
    direction: &[f64],
    first: f64,
) -> precast::Result<Option<(f64, Point)>> {
    let slope = dot(&start.gradient, direction);
    if slope >= 0.0 {
        return Ok(None);
    }
    let slope_at = |point: &Point| dot(&point.gradient, direction);
    let enough = |step: f64, point: &Point| point.loss <= start.loss + 1e-4 * step * slope;
    let mut low = (0.0, start.clone());
    let mut high: Option<(f64, Point)> = None;
    let mut step = first;
    for _ in 0..25 {
        let point = objective.along(start, direction, step)?;
        let flat = slope_at(&point);
        if !enough(step, &point) || point.loss >= low.1.loss && low.0 > 0.0 {
            high = Some((step, point));
        } else if flat.abs() <= -0.9 * slope {
            return Ok(Some((step, point)));
        } else {
            let beyond = high.as_ref().map_or(1.0, |high| high.0 - low.0);
            if flat * beyond >= 0.0 {
                high = Some(std::mem::replace(&mut low, (step, point)));
            } else {
                low = (step, point);
            }
        }
        step = match &high {
            Some(high) => between((low.0, low.1.loss, slope_at(&low.1)), (high.0, high.1.loss, slope_at(&high.1))),
            None => 2.0 * step,
        };
    }
    Ok((low.0 > 0.0).then_some(low))
}

/// Where the cubic through two places with these losses and slopes is least, well between them.
fn between((a, at_a, slope_a): (f64, f64, f64), (b, at_b, slope_b): (f64, f64, f64)) -> f64 {
    let mean = slope_a + slope_b - 3.0 * (at_a - at_b) / (a - b);
    let root = (b - a).signum() * (mean * mean - slope_a * slope_b).sqrt();
    let least = b - (b - a) * (slope_b + root - mean) / (slope_b - slope_a + 2.0 * root);
    let (low, high) = (a.min(b), a.max(b));
    let margin = 0.1 * (high - low);
    if least.is_finite() { least.clamp(low + margin, high - margin) } else { (a + b) / 2.0 }
}

/// The sum of products, in several chains that do not wait for each other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks(8), b.chunks(8));
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum()
}

/// The error relative to the exact solution.
fn error(burgers: &Burgers) -> precast::Result<f64> {
    let (x, t): (Vec<f64>, Vec<f64>) = grid().unzip();
    Ok(burgers::error(burgers.at(&x, &t)?))
}
