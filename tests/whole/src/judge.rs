//! Judges numbers: the oracle under several roundings in, what of a device's words no rounding explains out.

use precast_compiler::ir::model::{Function, Mode};
use precast_compiler::ir::prim::Scalar;
use precast_compiler::ir::{DType, Dim, Model};
use precast_compiler::ops::optimizer_of;
use precast_compiler::oracle::{self, Data, Env, Outputs, Rounding, Tensor};
use precast_compiler::pipeline::check;
use precast_compiler::stages::{expand::expand, grad::grad};

/// The exact oracle first, then the one that rounds once, then the ones that show the conditioning.
const ROUNDINGS: [Rounding; 6] = [
    Rounding::Exact,
    Rounding::Nearest,
    Rounding::Random(1),
    Rounding::Random(2),
    Rounding::Random(3),
    Rounding::Random(4),
];

/// How far beyond what the roundings span a number may be, in spans.
pub(crate) const SPANS: f64 = 24.0;

/// The relative error of a well-conditioned number: chains of approximated functions, each of a few units in the last
/// place.
pub(crate) const RELATIVE: f64 = 4e-6;

/// The error relative to the largest number of the tensor.
pub(crate) const OF_LARGEST: f64 = 2e-7;

/// How much wider the bounds are where products are made of fewer bits, so that choices may fall differently.
pub(crate) const LOOSE: f64 = 1e4;

/// What a comparison came to.
#[derive(Clone, Default, Debug)]
pub struct Verdict {
    /// Elements that were judged.
    pub judged: usize,
    /// Elements at which the oracles disagree too much to judge.
    pub skipped: usize,
    /// What is wrong.
    pub wrong: Vec<String>,
}

/// The model of a text.
///
/// # Errors
/// The diagnostics.
pub fn checked(text: &str) -> Result<Model, String> {
    let tokens = text.parse().map_err(|why| format!("no tokens: {why}"))?;
    let (mut models, diags) = check(tokens);
    if !diags.is_empty() {
        return Err(format!("{:?}", diags.list()));
    }
    models.pop().ok_or("no model".into())
}

/// The model of a text as the oracle runs it.
///
/// # Errors
/// The diagnostics.
pub fn model(text: &str) -> Result<Model, String> {
    Ok(grad(expand(checked(text)?), optimizer_of))
}

/// The function that evaluates, or the one that trains.
pub fn function(model: &Model, trains: bool) -> Option<&Function> {
    let name = if trains { "loss" } else { "value" };
    model.functions.iter().find(|f| f.name == name && matches!(f.mode, Mode::Train(_)) == trains)
}

/// What every oracle says of a call.
pub fn oracles(function: &Function, model: &Model, env: &Env) -> Result<Vec<Outputs>, String> {
    let one = |rounding| oracle::run(function, model, &Env { rounding, ..env.clone() });
    ROUNDINGS.into_iter().map(one).collect()
}

impl Verdict {
    /// Compares a tensor with the words of a device; `looser` widens the bounds.
    pub fn compare(&mut self, what: &str, said: &[&Tensor], words: &[f32], looser: f64) {
        let found = Data::of_words(said[0].data.dtype(), words, said[0].data.len());
        let expected = said[0].data.words().len();
        if words.len() != expected {
            self.wrong.push(format!("{what}: {} words instead of {expected}", words.len()));
            return;
        }
        let mut wrong = vec![];
        let finite = said[0].f64s().iter().filter(|x| x.is_finite());
        let largest = finite.fold(0.0, |m: f64, x| m.max(x.abs()));
        for at in 0..found.len() {
            match self.element(said, at, found.element(at), largest, looser) {
                None => self.skipped += 1,
                Some(Ok(())) => self.judged += 1,
                Some(Err(why)) => wrong.push(format!("element {at} is {why}")),
            }
        }
        self.judged += wrong.len();
        if let Some(first) = wrong.first() {
            self.wrong.push(format!("{what} {:?}: {} of {} wrong: {first}", said[0].shape, wrong.len(), found.len()));
        }
    }

    /// `None` where the oracles disagree and none is met.
    fn element(
        &self,
        said: &[&Tensor],
        at: usize,
        element: Scalar,
        largest: f64,
        looser: f64,
    ) -> Option<Result<(), String>> {
        let Scalar::Float(dtype, found) = element else {
            let whole = |t: &Tensor| t.data.element(at);
            let met = said.iter().any(|t| whole(t) == element);
            let agree = said.iter().all(|t| whole(t) == whole(said[0]));
            return match (met, agree && looser < LOOSE) {
                (true, _) => Some(Ok(())),
                (false, true) => Some(Err(format!("{element} instead of {}", whole(said[0])))),
                (false, false) => None,
            };
        };
        let numbers: Vec<f64> = said.iter().map(|t| t.f64s()[at]).collect();
        if numbers.iter().any(|x| *x == found || x.is_nan() && found.is_nan()) {
            return Some(Ok(()));
        }
        let nearest: Vec<f64> = numbers.iter().map(|&x| dtype.nearest(x)).collect();
        if nearest.iter().any(|x| !x.is_finite()) {
            let first = nearest[0];
            let agree = nearest.iter().all(|x| x.is_nan() == first.is_nan() && x.is_finite() == first.is_finite());
            let met = nearest.contains(&found);
            // WGSL lets a compiler assume that there is neither NaN nor infinity.
            return if met {
                Some(Ok(()))
            } else if agree && looser <= 1.0 {
                Some(Err(format!("{found} instead of {}", numbers[0])))
            } else {
                None
            };
        }
        let (low, high) = numbers.iter().fold((f64::MAX, f64::MIN), |(l, h), &x| (l.min(x), h.max(x)));
        // Bounds are those of an f32.
        let unit = dtype.epsilon() / DType::F32.epsilon();
        let of_size = (RELATIVE * numbers[0].abs() + OF_LARGEST * largest) * unit;
        let bound = (SPANS * (high - low) + of_size + 1e-37) * looser;
        if found >= low - bound && found <= high + bound {
            return Some(Ok(()));
        }
        // A span of a hundredth of the tensor is a choice that fell differently, not an error of rounding.
        if high - low > 1e-2 * (largest + 1e-30) || looser >= LOOSE && !found.is_nan() && bound > 1e-2 * largest {
            return None;
        }
        Some(Err(format!(
            "{found} instead of {}, where the oracles span {:e} and the largest is {largest}",
            numbers[0],
            high - low
        )))
    }
}

/// The extents of a shape.
pub fn extents(shape: &[Dim], dims: &dyn Fn(&str) -> i64) -> Vec<usize> {
    let value = |d: &Dim| d.eval(&|name| Some(dims(name))).map_or(0, |n| n as usize);
    shape.iter().map(value).collect()
}
