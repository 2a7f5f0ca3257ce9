//! Runs a compiled program on every instruction set: forward, gradients and three steps, each call at other dimensions
//! and on memory that held garbage, and judges each by the oracle from the same parameters and states.

use crate::dump::{self, Dump};
use crate::judge::{Verdict, extents, function, model, oracles};
use crate::program::{Given, Program};
use crate::random::Random;
use precast::__rt::{Compiled, Foreigns, Function, GROUPS, Memory, NUMBERS_AT, Optimizer, Step, StepMemory, force_isa};
use precast_compiler::ir::model::Effect;
use precast_compiler::ir::{DType, Model};
use precast_compiler::oracle::{Data, Env, Outputs, Tensor};

/// What `B` and `T` are, call after call.
const DIMS: [[i64; 2]; 3] = [[3, 2], [1, 4], [5, 1]];

/// The random key of the steps.
const KEY: [u32; 2] = [17, 42];

/// The arguments of a call, for the oracle and for a device.
struct Arguments {
    tensors: Vec<Tensor>,
    words: Vec<Vec<f32>>,
}

/// A program at work.
struct Case<'p> {
    program: &'p Program,
    model: Model,
    verdict: Verdict,
    looser: f64,
    dump: Option<Dump>,
}

/// A call's tensors as random numbers of their domains.
fn draw(program: &Program, given: &[Given], round: usize, random: &mut Random) -> Arguments {
    let mut made = Arguments { tensors: vec![], words: vec![] };
    for given in given {
        let ty = &program.types[given.local];
        let shape = extents(&ty.shape, &|name| DIMS[round][usize::from(name == "T")]);
        let numbers = given.domain.sample(shape.iter().product(), &mut || random.word());
        let (data, words): (Data, Vec<f32>) = match ty.dtype {
            DType::F32 => (Data::F32(numbers.clone()), numbers.iter().map(|&x| x as f32).collect()),
            DType::I32 => {
                let x: Vec<i32> = numbers.iter().map(|&x| x as i32).collect();
                (Data::I32(x.clone()), x.iter().map(|&x| f32::from_bits(x as u32)).collect())
            }
            DType::U32 => {
                let x: Vec<u32> = numbers.iter().map(|&x| x as u32).collect();
                (Data::U32(x.clone()), x.iter().map(|&x| f32::from_bits(x)).collect())
            }
            DType::Bool => {
                let x: Vec<bool> = numbers.iter().map(|&x| x != 0.0).collect();
                (Data::Bool(x.clone()), x.iter().map(|&x| f32::from_bits(u32::from(x))).collect())
            }
        };
        made.tensors.push(Tensor::new(shape, data));
        made.words.push(words);
    }
    made
}

impl<'p> Case<'p> {
    fn new(program: &'p Program) -> Result<Case<'p>, String> {
        let looser = if program.precision == "f32" { 1.0 } else { 1e4 };
        Ok(Case { program, model: model(&program.text())?, verdict: Verdict::default(), looser, dump: Dump::asked() })
    }

    /// All parameters of the program at random, in the layout of the pool.
    fn parameters(&self, len: usize) -> Vec<f32> {
        let mut random = Random(self.program.seed ^ 0xfeed);
        let mut pool = vec![0.0; len];
        for param in &self.model.params {
            let count = param.stacked().count().as_const().unwrap_or(0) as usize;
            let numbers = precast_compiler::ops::Domain::Normal.sample(count, &mut || random.word());
            pool[param.offset..param.offset + count].iter_mut().zip(&numbers).for_each(|(p, &x)| *p = 0.5 * x as f32);
        }
        pool
    }

    /// The parameters as the oracle has them.
    fn tensors(&self, pool: &[f32]) -> Vec<Tensor> {
        let one = |param: &precast_compiler::ir::model::Param| {
            let shape = extents(&param.stacked().shape, &|_| 1);
            let count: usize = shape.iter().product();
            let words = &pool[param.offset..param.offset + count];
            Tensor::floats(shape, words.iter().map(|&x| f64::from(x)).collect())
        };
        self.model.params.iter().map(one).collect()
    }

    fn env(&self, trains: bool, round: usize, tensors: Vec<Tensor>, pool: &[f32]) -> (Env, Vec<usize>) {
        let dims = [("B", DIMS[round][0]), ("T", DIMS[round][1])];
        let names = function(&self.model, trains).map(|f| f.dims.as_slice()).unwrap_or_default();
        let values = names.iter().map(|d| DIMS[round][usize::from(d.name == "T")] as usize).collect();
        let env = Env {
            args: tensors,
            dims: dims.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect(),
            params: self.tensors(pool),
            key: KEY,
            ..Env::default()
        };
        (env, values)
    }

    /// Compares a tensor of a device with what the oracles say, and notes it where a dump is asked for.
    fn compare(&mut self, what: &str, name: &str, said: &[&Tensor], found: &[f32]) {
        self.verdict.compare(&format!("{what}: {name}"), said, found, self.looser);
        if let Some(dump) = self.dump.as_mut().filter(|_| found.len() == said[0].data.len()) {
            dump.tensor(name, said, found);
        }
    }

    /// Ends a call, whose tensors have been compared.
    fn called(&mut self, trains: bool, round: usize, env: &Env) {
        let Some(mut dump) = self.dump.take() else { return };
        let weights = self.program.weighed.iter().map(|&(_, local)| local);
        let locals = self.program.args.iter().map(|given| given.local).chain(weights);
        dump.call(&dump::Given {
            trains,
            dims: DIMS[round],
            key: KEY,
            args: locals.zip(&env.args).collect(),
            params: self.model.params.iter().map(|p| p.name.as_str()).zip(&env.params).collect(),
        });
        self.dump = Some(dump);
    }

    fn value<C: Compiled, F: Function>(&mut self, round: usize, what: &str) -> Result<(), String> {
        let pool = self.parameters(C::SPEC.pool_len);
        let args = draw(self.program, &self.program.args, round, &mut Random(self.program.seed + round as u64));
        let inputs: Vec<&[f32]> = args.words.iter().map(Vec::as_slice).collect();
        let (env, dims) = self.env(false, round, args.tensors.clone(), &pool);
        let said = oracles(function(&self.model, false).ok_or("no value")?, &self.model, &env)?;
        let mut scratch = garbage(F::scratch(&dims).ok_or("too large")?, round);
        let foreign = Foreigns::default();
        let memory =
            Memory { parameters: &pool, session: &mut [], inputs: &inputs, foreign: &foreign, scratch: &mut scratch };
        F::cpu(memory, &dims).map_err(|why| format!("{what}: {why}"))?;
        for k in 0..said[0].results.len() {
            let place = F::result(&dims, k);
            let found = &scratch[place.offset..][..place.len];
            let tensors: Vec<&Tensor> = said.iter().map(|s| &s.results[k]).collect();
            self.compare(what, &format!("result v{}", self.program.results[k]), &tensors, found);
        }
        self.called(false, round, &env);
        Ok(())
    }

    fn values<C: Compiled, F: Function>(&mut self, isa: &str) -> Result<(), String> {
        (0..DIMS.len()).try_for_each(|round| self.value::<C, F>(round, &format!("{isa}, B = {}", DIMS[round][0])))
    }

    fn steps<C: Compiled, S: Step, G: Step>(&mut self, what: &str) -> Result<(), String> {
        let len = C::SPEC.pool_len;
        let count = <S::Optimizer as Optimizer>::STATES.len();
        let mut pool = self.parameters(len);
        let mut states = vec![0.0; len * count];
        let weights: Vec<Given> = self
            .program
            .weighed
            .iter()
            .map(|&(_, local)| Given { local, domain: precast_compiler::ops::Domain::Normal })
            .collect();
        for round in 0..DIMS.len() {
            let mut args = draw(self.program, &self.program.args, round, &mut Random(self.program.seed + round as u64));
            let more = draw(self.program, &weights, round, &mut Random(self.program.seed ^ 0xabcd));
            args.tensors.extend(more.tensors);
            args.words.extend(more.words);
            let (mut env, dims) = self.env(true, round, args.tensors.clone(), &pool);
            let numbers = numbers::<S::Optimizer>(round as u64 + 1, &mut env);
            env.states = states.chunks(len.max(1)).map(|s| s.iter().map(|&x| f64::from(x)).collect()).collect();
            let said = oracles(function(&self.model, true).ok_or("no loss")?, &self.model, &env)?;
            let inputs: Vec<&[f32]> = args.words.iter().map(Vec::as_slice).collect();
            let mut gradients = self.unwritten(&said[0], len, round);
            for only in [true, false] {
                let words = if only { G::scratch(&dims) } else { S::scratch(&dims) };
                let mut scratch = garbage(words.ok_or("too large")?, round);
                let foreign = Foreigns::default();
                let memory = StepMemory {
                    parameters: &mut pool,
                    gradients: &mut gradients,
                    states: &mut states,
                    numbers: &numbers,
                    groups: &vec![0; len / 64],
                    inputs: &inputs,
                    foreign: &foreign,
                    scratch: &mut scratch,
                };
                let ran = if only { G::cpu(memory, &dims) } else { S::cpu(memory, &dims) };
                ran.map_err(|why| format!("{what}: {why}"))?;
                let [at, _] = if only { G::outcome(&dims) } else { S::outcome(&dims) };
                let losses: Vec<&Tensor> = said.iter().map(|s| &s.results[0]).collect();
                if only {
                    self.compare(what, "loss", &losses, &scratch[at..=at]);
                    self.gradients(&format!("{what}, step {round}"), &said, &gradients);
                    self.called(true, round, &env);
                } else {
                    self.verdict.compare(&format!("{what}: loss"), &losses, &scratch[at..=at], self.looser);
                }
            }
            self.updated(&format!("{what}, step {round}: new"), &said, &pool, &states);
        }
        Ok(())
    }

    /// A pool of gradients as a step finds it: garbage where it writes, and the zeros of the start between parameters.
    fn unwritten(&self, said: &Outputs, len: usize, round: usize) -> Vec<f32> {
        let (mut pool, garbage) = (vec![0.0; len], garbage(len, round));
        for (effect, tensor) in &said.effects {
            if let Effect::Gradient(id) = effect {
                let at = self.model.param(*id).offset;
                pool[at..at + tensor.data.len()].copy_from_slice(&garbage[at..at + tensor.data.len()]);
            }
        }
        pool
    }

    /// Compares the gradients that a step wrote.
    fn gradients(&mut self, what: &str, said: &[Outputs], pool: &[f32]) {
        for (k, (effect, tensor)) in said[0].effects.iter().enumerate() {
            if let Effect::Gradient(id) = effect {
                let param = self.model.param(*id);
                let found = &pool[param.offset..param.offset + tensor.data.len()];
                let name = format!("gradient of {}", param.name);
                self.compare(what, &name, &effects(said, k), found);
            }
        }
    }

    /// Compares the parameters and states that an update wrote.
    fn updated(&mut self, what: &str, said: &[Outputs], pool: &[f32], states: &[f32]) {
        for (k, (effect, tensor)) in said[0].effects.iter().enumerate() {
            let count = tensor.data.len();
            let (name, found) = match effect {
                Effect::Weights => ("weights".to_owned(), &pool[..count]),
                Effect::State(s) => (format!("state {s}"), &states[s * pool.len()..][..count]),
                Effect::Gradient(_) | Effect::Companion(_) | Effect::Updated | Effect::Stored(_) => continue,
            };
            self.verdict.compare(&format!("{what} {name}"), &effects(said, k), found, self.looser);
        }
    }
}

/// What every oracle says of an effect.
fn effects(said: &[Outputs], k: usize) -> Vec<&Tensor> {
    said.iter().map(|outputs| &outputs.effects[k].1).collect()
}

/// Memory that no program may read before it wrote: NaN and numbers.
fn garbage(words: usize, round: usize) -> Vec<f32> {
    (0..words).map(|i| if (i + round) % 3 == 0 { 1e30 } else { f32::from_bits(0x7fc0_dead) }).collect()
}

/// The numbers of a step, for the device and for the oracle.
fn numbers<O: Optimizer>(step: u64, env: &mut Env) -> Vec<f32> {
    let mut row = vec![0.0; O::NUMBERS.len()];
    O::default().row(step, &mut row);
    let mut all = vec![0.0; NUMBERS_AT + row.len() * GROUPS];
    (all[0], all[1], all[2]) = (f32::from_bits(KEY[0]), f32::from_bits(KEY[1]), f32::INFINITY);
    for (k, &x) in row.iter().enumerate() {
        all[NUMBERS_AT + k * GROUPS..][..GROUPS].fill(x);
    }
    env.numbers = row.iter().map(|&x| [f64::from(x); GROUPS]).collect();
    all
}

/// Runs one that trains.
///
/// # Errors
/// What could not run.
pub fn trained<C: Compiled, F: Function, S: Step, G: Step>(program: &Program) -> Result<Verdict, String> {
    on_every_isa(program, |case, isa| {
        case.values::<C, F>(isa)?;
        case.steps::<C, S, G>(isa)
    })
}

/// Runs one that has nothing to train.
///
/// # Errors
/// What could not run.
pub fn evaluated<C: Compiled, F: Function>(program: &Program) -> Result<Verdict, String> {
    on_every_isa(program, |case, isa| case.values::<C, F>(isa))
}

fn on_every_isa<'p>(
    program: &'p Program,
    run: impl Fn(&mut Case<'p>, &str) -> Result<(), String>,
) -> Result<Verdict, String> {
    let mut case = Case::new(program)?;
    for (position, isa) in precast::__rt::Isa::available().enumerate() {
        force_isa(Some(position));
        run(&mut case, &format!("{isa:?}"))?;
        if let Some(dump) = case.dump.take() {
            dump.write(program)?;
        }
    }
    Ok(case.verdict)
}
