//! A program at work: what its calls are given, what the oracle says of them, and the comparison with what a machine
//! gave. How a call runs is the machine's: `run` has those of the CPU, `adapter` that of the GPU.

use crate::dump::{self, Dump};
use crate::judge::{LOOSE, Verdict, extents, function, model, oracles};
use crate::program::{Given, Program};
use crate::random::Random;
use precast::__rt::{GROUPS, NUMBERS_AT, Optimizer};
use precast_compiler::ir::Model;
use precast_compiler::ir::model::{Effect, Param, StateId};
use precast_compiler::ops::Domain;
use precast_compiler::oracle::{Data, Env, Outputs, Tensor};

/// What `B` and `T` are, call after call.
pub(crate) const DIMS: [[i64; 2]; 3] = [[3, 2], [1, 4], [5, 1]];

/// The random key of the steps.
const KEY: [u32; 2] = [17, 42];

/// The arguments of a call, for the oracle and for a device.
pub(crate) struct Arguments {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) words: Vec<Vec<f32>>,
}

/// A program at work.
pub(crate) struct Case<'p> {
    pub(crate) program: &'p Program,
    pub(crate) model: Model,
    pub(crate) verdict: Verdict,
    pub(crate) dump: Option<Dump>,
    looser: f64,
}

/// What a machine is given for a call.
pub(crate) struct Call<'c> {
    /// Which of the calls with other dimensions it is.
    pub(crate) round: usize,
    /// The named dimensions of the function.
    pub(crate) dims: &'c [usize],
    /// The words of the arguments.
    pub(crate) inputs: &'c [&'c [f32]],
    /// How many results there are, besides the loss of a step.
    pub(crate) results: usize,
}

/// What a step reads and writes.
pub(crate) struct State {
    pub(crate) parameters: Vec<f32>,
    pub(crate) gradients: Vec<f32>,
    pub(crate) states: Vec<f32>,
}

/// A call's tensors as random numbers of their domains.
pub(crate) fn draw(program: &Program, given: &[Given], round: usize, random: &mut Random) -> Arguments {
    let mut made = Arguments { tensors: vec![], words: vec![] };
    for given in given {
        let ty = &program.types[given.local];
        let shape = extents(&ty.shape, &|name| DIMS[round][usize::from(name == "T")]);
        let numbers = given.domain.sample(shape.iter().product(), &mut || random.word());
        let data = Data::of(ty.dtype, numbers);
        made.words.push(data.words());
        made.tensors.push(Tensor::new(shape, data));
    }
    made
}

impl<'p> Case<'p> {
    /// A case whose numbers may be so many times farther from the oracle than those of the CPU.
    pub(crate) fn new(program: &'p Program, looser: f64) -> Result<Case<'p>, String> {
        let looser = if program.precision == "f32" { looser } else { LOOSE };
        // What a session keeps is not written.
        let dump = Dump::asked().filter(|_| program.states.is_empty());
        Ok(Case { program, model: model(&program.text())?, verdict: Verdict::default(), looser, dump })
    }

    /// What the comparison came to, after the dump is written.
    pub(crate) fn written(mut self) -> Result<Verdict, String> {
        self.write()?;
        Ok(self.verdict)
    }

    /// Writes the dump, where one is asked for and not yet written.
    pub(crate) fn write(&mut self) -> Result<(), String> {
        self.dump.take().map_or(Ok(()), |dump| dump.write(self.program, self.looser))
    }

    /// All parameters of the program at random, in the layout of the pool, which has so many elements of its type.
    pub(crate) fn parameters(&self, len: usize) -> Vec<f32> {
        let mut random = Random(self.program.seed ^ 0xfeed);
        let mut pool = vec![0.0; self.model.stored().words(&(len as i64).into()).as_const().unwrap_or(0) as usize];
        for param in &self.model.params {
            let count = param.stacked().count().as_const().unwrap_or(0) as usize;
            // Running variances and counts of batches are positive, and so are scales.
            let is_positive =
                ["running_var", "num_batches_tracked", "_scale"].iter().any(|name| param.name.ends_with(name));
            let domain = if is_positive { Domain::Positive } else { Domain::Normal };
            let numbers = domain.sample(count, &mut || random.word());
            let numbers: Vec<f64> = match param.scales {
                Some(_) => numbers.iter().map(|x| (30.0 * x).round().clamp(-127.0, 127.0)).collect(),
                None if param.name.ends_with("_scale") => numbers.iter().map(|x| 0.02 * x).collect(),
                None => numbers.iter().map(|&x| 0.5 * x).collect(),
            };
            let words = Data::of(self.model.stored_as(param), numbers).words();
            let first = self.first_word(param);
            pool[first..first + words.len()].copy_from_slice(&words);
        }
        pool
    }

    /// The first word of a parameter in the pool.
    fn first_word(&self, param: &Param) -> usize {
        self.model.stored().words(&(param.offset as i64).into()).as_const().unwrap_or(0) as usize
    }

    /// The parameters as the oracle has them.
    fn tensors(&self, pool: &[f32]) -> Vec<Tensor> {
        let stored = |param: &Param| {
            let count: usize = extents(&param.stacked().shape, &|_| 1).iter().product();
            Data::of_words(self.model.stored_as(param), &pool[self.first_word(param)..], count).numbers()
        };
        let one = |param: &Param| {
            let mut values = stored(param);
            if let Some(scales) = param.scales {
                let scales = stored(self.model.param(scales));
                let row = values.len() / scales.len().max(1);
                values.iter_mut().enumerate().for_each(|(at, value)| *value *= scales[at / row]);
            }
            Tensor::floats(extents(&param.stacked().shape, &|_| 1), values)
        };
        self.model.params.iter().map(one).collect()
    }

    pub(crate) fn env(&self, trains: bool, round: usize, tensors: Vec<Tensor>, pool: &[f32]) -> (Env, Vec<usize>) {
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
    pub(crate) fn called(&mut self, trains: bool, round: usize, env: &Env) {
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

    /// The first word of each state of a session and its extents, and the words of all.
    fn states(&self, round: usize) -> (Vec<(usize, Vec<usize>)>, usize) {
        let dims = |name: &str| DIMS[round][usize::from(name == "T")];
        let at = |k: usize| self.model.state_offset(StateId(k as u32)).eval(&|n| Some(dims(n))).unwrap_or(0) as usize;
        let states = self.model.states.iter().enumerate();
        let all = states.map(|(k, state)| (at(k), extents(&state.stacked().shape, &dims))).collect();
        (all, at(self.model.states.len()))
    }

    /// Evaluates at all dimensions, three times in one session where the program keeps something; `run` gives the words of
    /// each result, and changes those of the session.
    pub(crate) fn values(
        &mut self,
        what: &str,
        len: usize,
        mut run: impl FnMut(&Call<'_>, &[f32], &mut [f32]) -> Result<Vec<Vec<f32>>, String>,
    ) -> Result<(), String> {
        let parameters = self.parameters(len);
        for (round, [batch, _]) in DIMS.iter().enumerate() {
            let (states, words) = self.states(round);
            let mut session = vec![0.0; words];
            for turn in 0..if session.is_empty() { 1 } else { 3 } {
                let what = format!("{what}, B = {batch}, call {turn}");
                let seed = self.program.seed + (round + 100 * turn) as u64;
                let args = draw(self.program, &self.program.args, round, &mut Random(seed));
                let inputs: Vec<&[f32]> = args.words.iter().map(Vec::as_slice).collect();
                let (mut env, dims) = self.env(false, round, args.tensors, &parameters);
                let kept = |(at, shape): &(usize, Vec<usize>)| {
                    let words = &session[*at..][..shape.iter().product()];
                    Tensor::floats(shape.clone(), words.iter().map(|&x| f64::from(x)).collect())
                };
                env.session = states.iter().map(kept).collect();
                let said = oracles(function(&self.model, false).ok_or("no value")?, &self.model, &env)?;
                let call = Call { round, dims: &dims, inputs: &inputs, results: said[0].results.len() };
                let found = run(&call, &parameters, &mut session).map_err(|why| format!("{what}: {why}"))?;
                for (k, found) in found.iter().enumerate() {
                    let tensors: Vec<&Tensor> = said.iter().map(|s| &s.results[k]).collect();
                    self.compare(&what, &format!("result v{}", self.program.results[k]), &tensors, found);
                }
                self.kept(&what, &said, &states, &session);
                self.called(false, round, &env);
            }
        }
        Ok(())
    }

    /// Compares the states that a call wrote.
    fn kept(&mut self, what: &str, said: &[Outputs], states: &[(usize, Vec<usize>)], session: &[f32]) {
        for (k, (effect, tensor)) in said[0].effects.iter().enumerate() {
            if let Effect::Stored(id) = effect {
                let found = &session[states[id.0 as usize].0..][..tensor.data.len()];
                let name = format!("{what}: {}", self.model.state(*id).name);
                self.verdict.compare(&name, &effects(said, k), found, self.looser);
            }
        }
    }

    /// Makes a step at each of the dimensions, first for its gradients only; `run` gives the loss.
    pub(crate) fn steps<O: Optimizer>(
        &mut self,
        what: &str,
        len: usize,
        mut run: impl FnMut(bool, &Call<'_>, &[f32], &mut State) -> Result<f32, String>,
    ) -> Result<(), String> {
        let states = vec![0.0; len * O::STATES.len()];
        let mut state = State { parameters: self.parameters(len), gradients: vec![], states };
        for round in 0..DIMS.len() {
            let what = format!("{what}, step {round}");
            let args = self.weighed(round);
            let (mut env, dims) = self.env(true, round, args.tensors, &state.parameters);
            let numbers = numbers::<O>(round as u64 + 1, &mut env);
            env.states = state.states.chunks(len.max(1)).map(|s| s.iter().map(|&x| f64::from(x)).collect()).collect();
            let said = oracles(function(&self.model, true).ok_or("no loss")?, &self.model, &env)?;
            let losses: Vec<&Tensor> = said.iter().map(|s| &s.results[0]).collect();
            let inputs: Vec<&[f32]> = args.words.iter().map(Vec::as_slice).collect();
            let call = Call { round, dims: &dims, inputs: &inputs, results: 0 };
            state.gradients = self.unwritten(&said[0], len, round);
            let loss = run(true, &call, &numbers, &mut state).map_err(|why| format!("{what}: {why}"))?;
            self.compare(&what, "loss", &losses, &[loss]);
            self.gradients(&what, &said, &state.gradients);
            self.called(true, round, &env);
            let loss = run(false, &call, &numbers, &mut state).map_err(|why| format!("{what}: {why}"))?;
            self.verdict.compare(&format!("{what}: loss of an update"), &losses, &[loss], self.looser);
            self.updated(&format!("{what}: new"), &said, &state);
        }
        Ok(())
    }

    /// The arguments of the loss.
    pub(crate) fn weighed(&self, round: usize) -> Arguments {
        let given = |&(_, local): &(usize, usize)| Given { local, domain: Domain::Normal };
        let weights: Vec<Given> = self.program.weighed.iter().map(given).collect();
        let mut args = draw(self.program, &self.program.args, round, &mut Random(self.program.seed + round as u64));
        let more = draw(self.program, &weights, round, &mut Random(self.program.seed ^ 0xabcd));
        args.tensors.extend(more.tensors);
        args.words.extend(more.words);
        args
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
    fn updated(&mut self, what: &str, said: &[Outputs], found: &State) {
        for (k, (effect, tensor)) in said[0].effects.iter().enumerate() {
            let count = tensor.data.len();
            let (name, found) = match effect {
                Effect::Weights => ("weights".to_owned(), &found.parameters[..count]),
                Effect::State(s) => (format!("state {s}"), &found.states[s * found.parameters.len()..][..count]),
                Effect::Companion(id) => {
                    let param = self.model.param(*id);
                    (param.name.clone(), &found.parameters[param.offset..][..count])
                }
                Effect::Gradient(_) | Effect::Updated | Effect::Stored(_) => continue,
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
pub(crate) fn garbage(words: usize, round: usize) -> Vec<f32> {
    (0..words).map(|i| if (i + round).is_multiple_of(3) { 1e30 } else { f32::from_bits(0x7fc0_dead) }).collect()
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
