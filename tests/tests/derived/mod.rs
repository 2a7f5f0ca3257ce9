//! Runs a derived test program on a device and on the oracle and compares them.

use precast::__rt::{Compiled, Foreigns, Function, GROUPS, NUMBERS_AT, Step, StepCall, force_isa};
#[cfg(feature = "gpu")]
use precast::Gpu;
use precast::{Blocking, Cpu, Sgd};
use precast_compiler::ir::model::{Effect, Mode};
use precast_compiler::ir::{Dim, Model, Type};
use precast_compiler::ops::{Input, Program, programs};
use precast_compiler::oracle::{Data, Env, Outputs, Tensor};
use precast_compiler::pipeline::{check, lower};
use std::sync::Mutex;
use tests::{Aligned, words_of};
use whole::judge::{Verdict, oracles};

/// What `B` is bound to: an odd extent, and the smallest.
const BATCHES: [usize; 2] = [5, 1];

/// The random key of the tests.
const KEY: [u32; 2] = [17, 42];

/// The step of the update that is tested: a number of an optimiser, which is an f32.
const RATE: f64 = 0.1f32 as f64;

/// Instruction sets are forced for the whole process, so one test at a time.
static ISA: Mutex<()> = Mutex::new(());

/// The program on every instruction set of this machine.
pub(crate) fn on_the_cpu<C: Compiled, F: Function, S: Step<Optimizer = Sgd>, G: Step<Optimizer = Sgd>>(name: &str) {
    let _forced = ISA.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let case = Case::new(name);
    for (position, isa) in precast::__rt::Isa::available().enumerate() {
        force_isa(Some(position));
        case.run::<Cpu, C, F, S, G>(&Cpu, &format!("{isa:?}"));
    }
    force_isa(None);
}

/// The program on the GPU; without an adapter the test fails, unless the environment says that there is none.
#[cfg(feature = "gpu")]
pub(crate) fn on_the_gpu<C: Compiled, F: Function, S: Step<Optimizer = Sgd>, G: Step<Optimizer = Sgd>>(name: &str) {
    let Some(gpu) = tests::gpu() else { return };
    Case::new(name).run::<Gpu, C, F, S, G>(&gpu, &gpu.name());
}

/// A program, its calls, and what the oracles say of them.
struct Case {
    program: Program,
    model: Model,
    rounds: Vec<Round>,
}

/// A call of the function that evaluates, and of the one that trains.
struct Round {
    batch: usize,
    values: Arguments,
    weights: Arguments,
    /// The results, under each rounding.
    results: Vec<Outputs>,
    /// The loss and its gradients, under each rounding.
    loss: Vec<Outputs>,
}

/// The arguments of one call as the oracle and as a device takes them.
struct Arguments {
    tensors: Vec<Tensor>,
    words: Vec<Aligned>,
}

impl Case {
    fn new(name: &str) -> Case {
        let program = programs().into_iter().find(|p| p.name == name).expect("the list of programs is one");
        let (mut models, diags) = check(program.text.parse().expect("programs are tokens"));
        assert!(diags.is_empty(), "{name}: {:?}", diags.list());
        let mut case = Case { model: lower(models.remove(0)).model, program, rounds: vec![] };
        case.rounds = BATCHES.into_iter().enumerate().map(|(round, batch)| case.round(round, batch)).collect();
        case
    }

    fn round(&self, round: usize, batch: usize) -> Round {
        let mut random = Random(round as u64 + 1);
        let values = arguments(&self.program.inputs(), batch, &mut random);
        let weights = arguments(&self.program.weights(), batch, &mut random);
        let all = values.tensors.iter().chain(&weights.tensors).cloned().collect();
        let (results, loss) = (self.oracles("value", values.tensors.clone()), self.oracles("loss", all));
        Round { batch, values, weights, results, loss }
    }

    fn run<D, C, F, S, G>(&self, device: &D, what: &str)
    where
        D: Blocking,
        C: Compiled,
        F: Function,
        S: Step<Optimizer = Sgd>,
        G: Step<Optimizer = Sgd>,
    {
        for round in &self.rounds {
            let verdict = device.wait(self.compare::<D, C, F, S, G>(device, round));
            assert!(verdict.wrong.is_empty(), "on {what} with B = {}:\n{}", round.batch, verdict.wrong.join("\n"));
            assert!(
                verdict.skipped * 100 <= verdict.judged,
                "{} of {} are no evidence",
                verdict.skipped,
                verdict.judged
            );
        }
    }

    async fn compare<D, C, F, S, G>(&self, device: &D, round: &Round) -> Verdict
    where
        D: Blocking,
        C: Compiled,
        F: Function,
        S: Step<Optimizer = Sgd>,
        G: Step<Optimizer = Sgd>,
    {
        let mut verdict = Verdict::default();
        let Round { batch, values, weights, results, loss } = round;
        let float = self.model.float();
        let (elements, foreign) = (C::SPEC.pool_len, Foreigns::default());
        let len = elements * words_of(float);
        let mut pool = device.pool::<C>(vec![0.0; len].as_slice().into()).await.expect("a pool");
        let mut workspace = device.workspace(&pool);
        let inputs: Vec<&[f32]> = values.words.iter().map(Aligned::words).collect();
        let dims = self.dims("value", *batch);
        device.call::<F>(&pool, None, &mut workspace, &dims, &inputs, &foreign).await.expect("a call");
        let calls = self.program.examples.iter().flat_map(|e| {
            let count = e.result_types().expect("the item tests read every example").len();
            std::iter::repeat_n(e.call, count)
        });
        for (k, call) in (0..results[0].results.len()).zip(calls) {
            let said: Vec<&Tensor> = results.iter().map(|s| &s.results[k]).collect();
            verdict.compare(&format!("`{call}`"), &said, device.result::<F>(&workspace, &dims, k), 1.0);
        }

        let inputs: Vec<&[f32]> = values.words.iter().chain(&weights.words).map(Aligned::words).collect();
        let (numbers, groups) = (numbers(), vec![0; elements / 64]);
        let dims = self.dims("loss", *batch);
        let call = StepCall {
            dims: &dims,
            inputs: &inputs,
            numbers: &numbers,
            groups: &groups,
            groups_version: 0,
            foreign: &foreign,
        };
        let mut training = device.training(&pool, len, 1).await.expect("memory for training");
        let pending = device.step::<G>(&mut pool, &mut training, &mut workspace, &call).await.expect("a step");
        let outcome = device.outcome(&pending).await.expect("an outcome");
        let said: Vec<&Tensor> = loss.iter().map(|s| &s.results[0]).collect();
        verdict.compare("the loss", &said, &Data::of(float, vec![outcome.loss]).words(), 1.0);
        let mut gradients = vec![0.0; len];
        device.read_gradients(&training, &mut gradients).await.expect("gradients");
        self.gradients("gradient", loss, &gradients, 1.0, &mut verdict);

        let pending = device.step::<S>(&mut pool, &mut training, &mut workspace, &call).await.expect("a step");
        let outcome = device.outcome(&pending).await.expect("an outcome");
        assert!(outcome.updated || !outcome.loss.is_finite(), "a finite step makes its update");
        let mut parameters = vec![0.0; len];
        device.read(&pool, 0, &mut parameters).await.expect("parameters");
        self.gradients("update", loss, &parameters, -RATE, &mut verdict);
        verdict
    }

    /// The function of that name; `loss` is the one that trains, not the one that evaluates.
    fn function(&self, name: &str) -> &precast_compiler::ir::Function {
        let found = self.model.functions.iter().rfind(|f| f.name == name).expect("every program has it");
        assert_eq!(matches!(found.mode, Mode::Train(_)), name == "loss");
        found
    }

    /// The named dimensions of a function: `B`, where it has one.
    fn dims(&self, function: &str, batch: usize) -> Vec<usize> {
        vec![batch; self.function(function).dims.len()]
    }

    fn oracles(&self, function: &str, args: Vec<Tensor>) -> Vec<Outputs> {
        let function = self.function(function);
        let zeros = |p: &precast_compiler::ir::model::Param| Tensor::zeros(p.ty.dtype, extents(&p.stacked(), 1));
        let params = self.model.params.iter().map(zeros).collect();
        // Momentum 0, gain 1.
        let numbers = [RATE, 0.0, 1.0, 0.0, 0.0].map(|x| [x; GROUPS]).to_vec();
        let env = Env { args, params, key: KEY, numbers, ..Env::default() };
        oracles(function, &self.model, &env).expect("the arguments fit")
    }

    /// Compares the oracles' gradients times `scale` with a pool of that layout.
    fn gradients(&self, what: &str, said: &[Outputs], pool: &[f32], scale: f64, verdict: &mut Verdict) {
        for (k, (effect, _)) in said[0].effects.iter().enumerate() {
            let Effect::Gradient(id) = effect else { continue };
            let param = self.model.param(*id);
            let scaled = |s: &Outputs| {
                let tensor = &s.effects[k].1;
                let scaled = tensor.f64s().iter().map(|x| x * scale).collect();
                Tensor::new(tensor.shape.clone(), Data::Float(param.ty.dtype, scaled))
            };
            let scaled: Vec<Tensor> = said.iter().map(scaled).collect();
            let words = words_of(param.ty.dtype);
            let found = &pool[param.offset * words..][..scaled[0].data.len() * words];
            let name = format!("the {what} of `{}` ({})", param.name, self.user(&param.name));
            verdict.compare(&name, &scaled.iter().collect::<Vec<_>>(), found, 1.0);
        }
    }

    /// The example to which a parameter belongs: `p7` is that of input 7.
    fn user(&self, param: &str) -> &str {
        let input: usize = param[1..].parse().unwrap_or(0);
        let owners = self.program.examples.iter().flat_map(|e| std::iter::repeat_n(e.call, e.inputs.len()));
        owners.collect::<Vec<_>>().get(input).copied().unwrap_or("?")
    }
}

/// The numbers of a plain step of gradient descent without clipping.
fn numbers() -> Vec<f32> {
    let mut numbers = vec![0.0; NUMBERS_AT + 5 * GROUPS];
    numbers[0] = f32::from_bits(KEY[0]);
    numbers[1] = f32::from_bits(KEY[1]);
    numbers[2] = f32::INFINITY;
    numbers[NUMBERS_AT..NUMBERS_AT + GROUPS].fill(RATE as f32);
    numbers[NUMBERS_AT + 2 * GROUPS..NUMBERS_AT + 3 * GROUPS].fill(1.0);
    numbers
}

fn extents(ty: &Type, batch: usize) -> Vec<usize> {
    let value = |d: &Dim| d.eval(&|_| Some(batch as i64)).expect("B is the only name") as usize;
    ty.shape.iter().map(value).collect()
}

fn arguments(inputs: &[Input], batch: usize, random: &mut Random) -> Arguments {
    let mut arguments = Arguments { tensors: vec![], words: vec![] };
    for input in inputs {
        let shape = extents(&input.ty, batch);
        let numbers = input.domain.sample(shape.iter().product(), &mut || random.word());
        let data = Data::of(input.ty.dtype, numbers);
        arguments.words.push(Aligned::new(&data.words()));
        arguments.tensors.push(Tensor::new(shape, data));
    }
    arguments
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) >> 32) as u32
    }
}
