//! Ops and layers against PyTorch: the oracle computes the stored results and gradients, and each device what the oracle does.

#![allow(
    dead_code,
    missing_docs,
    clippy::all,
    clippy::panic,
    reason = "the models are generated, and only their plans are run"
)]

use precast::__rt::{Compiled, Foreigns, Function, GROUPS, NUMBERS_AT, Step, StepCall};
#[cfg(feature = "gpu")]
use precast::Gpu;
use precast::{Blocking, Cpu, Sgd};
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::{DType, Model};
use precast_compiler::oracle::{Data, Env, Outputs, Tensor};
use precast_compiler::pipeline::{check, lower};
use std::collections::BTreeSet;
use tests::reference::{Case, Program, Stored, programs, weight};
use tests::{Aligned, narrow, words_of};
use whole::judge::{Verdict, oracles};

include!(concat!(env!("OUT_DIR"), "/references.rs"));

/// How far a number may be from the stored one.
struct Bound {
    /// In parts of itself.
    relative: f64,
    /// In parts of the largest number of its tensor, because some cancel.
    of_largest: f64,
}

/// Of the oracle, which computes in binary64 as PyTorch did, but for some constants that PyTorch rounds to binary32, where numbers
/// are stored with nine digits.
const NINE_DIGITS: Bound = Bound { relative: 6e-8, of_largest: 1e-9 };

/// Of the oracle and of a device where models compute in binary64, too, and numbers are stored with seventeen.
const SEVENTEEN_DIGITS: Bound = Bound { relative: 0.0, of_largest: 1e-12 };

fn on_the_cpu<C: Compiled, F: Function, G: Step<Optimizer = Sgd>>(name: &str) {
    Judged::new(name).run::<Cpu, C, F, G>(&Cpu);
}

/// The program on the GPU; without an adapter the test fails, unless the environment says that there is none.
#[cfg(feature = "gpu")]
fn on_the_gpu<C: Compiled, F: Function, G: Step<Optimizer = Sgd>>(name: &str) {
    let Some(gpu) = tests::gpu() else { return };
    Judged::new(name).run::<Gpu, C, F, G>(&gpu);
}

/// A program with its model and what it is called with.
struct Judged {
    program: Program,
    model: Model,
    /// The stored inputs, and for the loss the weights after them.
    inputs: Vec<Stored>,
    weights: Vec<Stored>,
    bound: Bound,
}

impl Judged {
    fn new(name: &str) -> Judged {
        let program = programs().into_iter().find(|p| p.name == name).expect("the list of programs is one");
        let (mut models, diags) = check(program.text.parse().expect("programs are tokens"));
        assert!(diags.is_empty(), "{name}: {:?}", diags.list());
        let inputs = program.cases.iter().flat_map(|case| case.inputs.clone()).collect();
        let dtype = if program.float == "f64" { "f64" } else { "f32" };
        let weights = program.cases.iter().flat_map(|case| case.weighed());
        let weights = weights.map(|r| Stored {
            dtype: dtype.into(),
            numbers: (0..r.numbers.len()).map(weight).collect(),
            ..r.clone()
        });
        let bound = if program.float == "f64" { SEVENTEEN_DIGITS } else { NINE_DIGITS };
        Judged { weights: weights.collect(), inputs, model: lower(models.remove(0)).model, program, bound }
    }

    fn run<D, C, F, G>(&self, device: &D)
    where
        D: Blocking,
        C: Compiled,
        F: Function,
        G: Step<Optimizer = Sgd>,
    {
        let (value, loss) = (self.oracles("value", false), self.oracles("loss", true));
        let mut wrong = self.wrong(&value[0], &loss[0]);
        let (verdict, found) = device.wait(self.on_device::<D, C, F, G>(device, &value, &loss));
        if self.program.float != "f32" {
            wrong.extend(self.wrong(&found, &found));
        }
        if let Some(dtype) = self.narrow() {
            let cases = self.program.cases.iter();
            let calls: Vec<&str> = cases.flat_map(|case| case.results.iter().map(|_| &*case.call)).collect();
            wrong.extend(narrow::against_oracle(dtype, &calls, &value[0].results, &found.results));
        }
        assert!(verdict.skipped * 100 <= verdict.judged, "{} of {} are no evidence", verdict.skipped, verdict.judged);
        wrong.extend(verdict.wrong);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// What differs between a device and the oracles, and the device's results and gradients.
    async fn on_device<D, C, F, G>(&self, device: &D, value: &[Outputs], loss: &[Outputs]) -> (Verdict, Outputs)
    where
        D: Blocking,
        C: Compiled,
        F: Function,
        G: Step<Optimizer = Sgd>,
    {
        let mut verdict = Verdict::default();
        let mut outputs = Outputs { results: vec![], effects: vec![] };
        let (elements, foreign) = (C::SPEC.pool_len, Foreigns::default());
        let size = words_of(self.model.float());
        let len = elements * size;
        let mut start = vec![0.0; len];
        for (name, stored) in self.parameters() {
            let values = tensor(stored).data.words();
            start[self.offset(&name) * size..][..values.len()].copy_from_slice(&values);
        }
        let mut pool = device.pool::<C>(start.as_slice().into()).await.expect("a pool");
        let mut workspace = device.workspace(&pool);
        let mut words: Vec<Aligned> = self.inputs.iter().map(words).collect();
        let inputs: Vec<&[f32]> = words.iter().map(Aligned::words).collect();
        device.call::<F>(&pool, None, &mut workspace, &[], &inputs, &foreign).await.expect("a call");
        let calls = self.program.cases.iter().flat_map(|case| case.results.iter().map(|_| &case.call));
        for (k, call) in calls.enumerate() {
            let said: Vec<&Tensor> = value.iter().map(|s| &s.results[k]).collect();
            let found = device.result::<F>(&workspace, &[], k);
            verdict.compare(&format!("`{call}`"), &said, found, 1.0);
            outputs.results.push(like(said[0], found));
        }

        words.extend(self.weights.iter().map(self::words));
        let inputs: Vec<&[f32]> = words.iter().map(Aligned::words).collect();
        let (mut row, groups) = (vec![0.0; NUMBERS_AT + 5 * GROUPS], vec![0; elements / 64]);
        row[2] = f32::INFINITY;
        let call = StepCall {
            dims: &[],
            inputs: &inputs,
            numbers: &row,
            groups: &groups,
            groups_version: 0,
            foreign: &foreign,
        };
        let mut training = device.training(&pool, len, 1).await.expect("memory for training");
        let pending = device.step::<G>(&mut pool, &mut training, &mut workspace, &call).await.expect("a step");
        device.outcome(&pending).await.expect("an outcome");
        let mut gradients = vec![0.0; len];
        device.read_gradients(&training, &mut gradients).await.expect("gradients");
        for (k, (effect, tensor)) in loss[0].effects.iter().enumerate() {
            let Effect::Gradient(id) = effect else { continue };
            let param = self.model.param(*id);
            let said: Vec<&Tensor> = loss.iter().map(|s| &s.effects[k].1).collect();
            let found = &gradients[param.offset * size..][..tensor.data.len() * size];
            // Two bytes round so much that PyTorch's numbers judge the device.
            if self.narrow().is_none() {
                verdict.compare(&format!("the gradient of {}", param.name), &said, found, 1.0);
            }
            outputs.effects.push((*effect, like(tensor, found)));
        }
        (verdict, outputs)
    }

    /// The type of the floats, where it is of two bytes.
    fn narrow(&self) -> Option<DType> {
        DType::from_name(self.program.float).filter(|dtype| dtype.is_stored())
    }

    /// The parameters of layers by their names in the model.
    fn parameters(&self) -> Vec<(String, &Stored)> {
        let cases = self.program.cases.iter().enumerate();
        cases.flat_map(|(k, case)| case.parameters.iter().map(move |p| (named(k, &p.name), p))).collect()
    }

    fn offset(&self, name: &str) -> usize {
        self.model.params.iter().find(|p| p.name == name).expect("the model has the parameter").offset
    }

    fn oracles(&self, function: &str, weighed: bool) -> Vec<Outputs> {
        let function = self.model.functions.iter().rfind(|f| f.name == function).expect("every program has it");
        let weights: &[Stored] = if weighed { &self.weights } else { &[] };
        let args = self.inputs.iter().chain(weights).map(tensor).collect();
        let own = self.parameters();
        let start = |p: &precast_compiler::ir::model::Param| match own.iter().find(|(name, _)| *name == p.name) {
            Some((_, stored)) => tensor(stored),
            None => {
                let extents = p.ty.shape.iter().map(|d| d.as_const().expect("extents are constants") as usize);
                Tensor::zeros(p.ty.dtype, extents.collect::<Vec<_>>())
            }
        };
        let params = self.model.params.iter().map(start).collect();
        let env = Env { args, params, numbers: vec![[0.0; GROUPS]; 5], ..Env::default() };
        oracles(function, &self.model, &env).expect("the arguments fit")
    }

    /// What differs between numbers and PyTorch's.
    fn wrong(&self, value: &Outputs, loss: &Outputs) -> Vec<String> {
        [self.results(value), self.gradients(loss)].concat()
    }

    /// What differs between results and PyTorch's.
    fn results(&self, found: &Outputs) -> Vec<String> {
        let stored = self.program.cases.iter().flat_map(|case| case.results.iter().map(|r| (&case.call, r)));
        if stored.clone().count() != found.results.len() {
            return vec![format!("{} results instead of {}", found.results.len(), stored.count())];
        }
        let one = |((call, stored), found): ((&String, &Stored), &Tensor)| {
            let found = found.data.numbers();
            let why = match self.narrow() {
                Some(dtype) => narrow::result(call).difference(dtype, &stored.numbers, &found),
                None => self.bound.difference(stored, &found),
            };
            why.map(|why| format!("`{call}`: {why}"))
        };
        stored.zip(&found.results).filter_map(one).collect()
    }

    /// What differs between gradients and PyTorch's.
    fn gradients(&self, found: &Outputs) -> Vec<String> {
        let mut wrong = vec![];
        for (k, case) in self.program.cases.iter().enumerate() {
            for stored in &case.gradients {
                let name = named(k, &stored.name);
                let id = self.model.params.iter().position(|p| p.name == name).expect("each input has a parameter");
                let is_its = |effect: &Effect| matches!(effect, Effect::Gradient(p) if p.0 == id as u32);
                let of = found.effects.iter().find(|(effect, _)| is_its(effect));
                // A parameter through which no derivative flows has no gradient: it is zero.
                let found = of.map_or_else(|| vec![0.0; stored.numbers.len()], |(_, gradient)| gradient.data.numbers());
                let why = match self.narrow() {
                    Some(dtype) => narrow::gradient(&case.call).difference(dtype, &stored.numbers, &found),
                    None => self.bound.difference(stored, &found),
                };
                wrong.extend(why.map(|why| format!("`{}`: the gradient of {}: {why}", case.call, stored.name)));
            }
        }
        wrong
    }
}

/// The parameter of case `k` in the model: `self.layer.weight` is `c3_layer.weight`, and the input `x` has `c3_x`.
fn named(k: usize, name: &str) -> String {
    format!("c{k}_{}", name.trim_start_matches("self."))
}

fn tensor(stored: &Stored) -> Tensor {
    let dtype = DType::from_name(&stored.dtype).unwrap_or_else(|| panic!("there is no {}", stored.dtype));
    Tensor::new(stored.shape.clone(), Data::of(dtype, stored.numbers.clone()))
}

/// A tensor of that shape and type with the words of a device.
fn like(tensor: &Tensor, words: &[f32]) -> Tensor {
    Tensor::new(tensor.shape.clone(), Data::of_words(tensor.data.dtype(), words, tensor.data.len()))
}

/// The numbers as pools hold them.
fn words(stored: &Stored) -> Aligned {
    Aligned::new(&tensor(stored).data.words())
}

impl Bound {
    /// How numbers differ from stored ones, where they do.
    fn difference(&self, stored: &Stored, found: &[f64]) -> Option<String> {
        if found.len() != stored.numbers.len() {
            return Some(format!("{} elements instead of {}", found.len(), stored.numbers.len()));
        }
        let finite = stored.numbers.iter().filter(|x| x.is_finite());
        let scale = finite.fold(f64::MIN_POSITIVE, |m: f64, x| m.max(x.abs()));
        let far = |(a, b): (&f64, &f64)| {
            !(a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= self.relative * a.abs() + self.of_largest * scale)
        };
        let at = stored.numbers.iter().zip(found).position(far)?;
        Some(format!("element {at} is {} instead of {}, of at most {scale}", found[at], stored.numbers[at]))
    }
}

#[test]
fn sixty_functions_of_each_type_are_compared() {
    for float in ["f32", "f64", "bf16", "f16"] {
        let cases: Vec<_> = programs().into_iter().filter(|p| p.float == float).flat_map(|p| p.cases).collect();
        let of = |cases: &mut dyn Iterator<Item = &Case>| {
            cases.map(|case| narrow::function(&case.call)).collect::<BTreeSet<&str>>().len()
        };
        let all = of(&mut cases.iter());
        let derived = of(&mut cases.iter().filter(|case| !case.gradients.is_empty()));
        println!("{float}: {} calls of {all} functions, {derived} with gradients", cases.len());
        assert!(all >= 60 && derived >= 60, "{float}: {all} and {derived}");
    }
}
