//! The interpreter of plans: kernels on pools of words, as memory has laid them out.
//!
//! In: the plans of a model and what a call is given. Out: what the oracle gives for the function, so that the
//! two can be compared. Every pool is one array, so that sharing that is wrong shows; a word that nothing has
//! written cannot be read, and no position of a kernel may touch what another position writes.

mod attend;
mod launch;
mod number;
mod race;
mod recur;
mod rows;
mod skeleton;

use super::{Env, Foreigns, Outputs, Tensor, bind};
use crate::ir::graph::{CHUNK, GROUPS, Source};
use crate::ir::kernel::Skeleton;
use crate::ir::model::{Effect, Model, ParamId, StateId};
use crate::ir::plan::{Plan, Plans, Pool, number_offset};
use crate::ir::prim::Scalar;
use crate::ir::program::{BufferId, KernelId, Role, Step, written};
use crate::ir::recurrence::Half;
use crate::ir::{DType, Dim, Type};
use launch::{Launch, Region};
use std::collections::{BTreeMap, BTreeSet};

/// Bits of a word of a pool.
const WORD: u32 = 32;

/// What a place of a pool holds; absent until something is written.
pub(super) type Word = Option<Scalar>;

/// Runs the plan of the function of that number.
///
/// # Errors
/// Says which argument does not fit, or what the plan does wrong.
pub fn run(plans: &Plans, function: usize, model: &Model, env: &Env) -> Result<Outputs, String> {
    let (plan, function) = (&plans.plans[function], &model.functions[function]);
    let dims = bind(function, model, env)?;
    let bits = plan.program.buffers.iter().map(|buffer| buffer.dtype.bits());
    let grain = bits.chain([WORD]).min().unwrap_or(WORD);
    let mut machine = Machine { plans, plan, dims, foreign: &env.foreign, names: vec![], grain, pools: vec![] };
    machine.fill(model, &function.frozen, env)?;
    machine.steps(&plan.program.steps, &mut vec![])?;
    let result = |k: usize| machine.tensor(Role::Result(k), function.graph.ty(function.graph.outputs[k]));
    let effect = |&(effect, value): &(Effect, _)| {
        Ok((effect, machine.tensor(Role::Effect(effect).shared(), function.graph.ty(value))?))
    };
    Ok(Outputs {
        results: (0..function.graph.outputs.len()).map(result).collect::<Result<_, String>>()?,
        effects: function.effects.iter().map(effect).collect::<Result<_, String>>()?,
    })
}

/// The value of an index of axes at a position.
///
/// # Errors
/// Says what the index uses that has no value there.
#[cfg(test)]
pub(crate) fn position(index: &crate::ir::index::Index, at: &[i64], size: &dyn Fn(&Dim) -> i64) -> Result<i64, String> {
    use crate::ir::kernel::{Kernel, Skeleton};
    use crate::ir::schedule::Schedule;
    let kernel = Kernel {
        name: String::new(),
        slots: vec![],
        axes: vec![Dim::from(1); at.len()],
        scalars: vec![],
        skeleton: Skeleton::Row { parallel: vec![], reduced: vec![], passes: vec![], stores: vec![] },
        schedule: Schedule::default(),
    };
    let mut launch = Launch::new(&kernel, &[], &mut [], size, &[])?;
    launch.at = at.iter().copied().map(Some).collect();
    let path = launch.numbers.path(index);
    launch.path(&path)
}

struct Machine<'a> {
    plans: &'a Plans,
    plan: &'a Plan,
    dims: BTreeMap<String, i64>,
    foreign: &'a Foreigns,
    names: Vec<Pool>,
    /// Bits of a place of a pool: those of the smallest type of the plan, or of a word.
    grain: u32,
    pools: Vec<Vec<Word>>,
}

impl Machine<'_> {
    fn size(&self, dim: &Dim) -> i64 {
        match dim.eval(&|name| self.dims.get(name).copied()) {
            Some(n) => n,
            None => unreachable!("the arguments bind every name of `{dim}`"),
        }
    }

    /// Places of so many words.
    fn places(&self, words: i64) -> usize {
        words as usize * (WORD / self.grain) as usize
    }

    /// Places of an element.
    fn step(&self, dtype: DType) -> usize {
        (dtype.bits() / self.grain) as usize
    }

    /// The places of a tensor.
    fn contained(&self, tensor: &Tensor) -> Vec<Word> {
        spread((0..tensor.data.len()).map(|i| Some(tensor.data.element(i))), self.step(tensor.data.dtype()))
    }

    /// The integers that, times a scale for each row, are these numbers.
    fn codes(&self, dtype: DType, values: &[f64], scales: &[f64]) -> Vec<Word> {
        let row = values.len() / scales.len().max(1);
        let code = |(at, &x): (usize, &f64)| match scales[at / row] {
            0.0 => Scalar::Int(dtype, 0),
            scale => Scalar::Int(dtype, (x / scale).round() as i128),
        };
        spread(values.iter().enumerate().map(code).map(Some), self.step(dtype))
    }

    /// The pools of parameters and of gradients before the first launch.
    fn parameters(&self, model: &Model, frozen: &[ParamId], env: &Env) -> (Vec<Word>, Vec<Word>) {
        let (float, step) = (model.stored(), self.step(model.stored()));
        let floats = |data: &[f64]| spread(data.iter().map(|&x| Some(Scalar::Float(float, x))), step);
        let mut weights = floats(&vec![0.0; model.pool_len()]);
        let mut gradients = weights.clone();
        for (k, (param, tensor)) in model.params.iter().zip(&env.params).enumerate() {
            let range = param.offset * step..(param.offset + param.elements()) * step;
            match param.scales {
                None => weights[range.clone()].copy_from_slice(&floats(tensor.f64s())),
                Some(scales) => {
                    let codes = self.codes(model.stored_as(param), tensor.f64s(), env.params[scales.0 as usize].f64s());
                    weights[range.start..][..codes.len()].copy_from_slice(&codes);
                }
            }
            // Every gradient has to be written before the pool of gradients is read; where there is none, lies what
            // another function left.
            if frozen.contains(&ParamId(k as u32)) {
                gradients[range].fill(Some(Scalar::Float(float, f64::NAN)));
            } else if param.trained {
                gradients[range].fill(None);
            }
        }
        (weights, gradients)
    }

    /// What the runtime puts into the pools before the first launch.
    fn fill(&mut self, model: &Model, frozen: &[ParamId], env: &Env) -> Result<(), String> {
        let (elements, float) = (model.pool_len(), model.stored());
        let (step, word) = (self.step(float), self.places(1));
        let floats = |data: &[f64]| spread(data.iter().map(|&x| Some(Scalar::Float(float, x))), step);
        let mut pools: BTreeMap<Pool, Vec<Word>> = BTreeMap::new();
        for (k, tensor) in env.args.iter().enumerate() {
            pools.insert(Pool::Argument(k), self.contained(tensor));
        }
        let (weights, gradients) = self.parameters(model, frozen, env);
        pools.insert(Pool::Weights, weights);
        pools.insert(Pool::Gradients, gradients);
        for buffer in &self.plan.program.buffers {
            if let Role::Source(Source::State(k)) = buffer.role {
                let zeros = vec![0.0; elements];
                pools.insert(Pool::State(k), floats(env.states.get(k).unwrap_or(&zeros)));
            }
        }
        let mut session: Vec<Word> = vec![];
        for (k, tensor) in env.session.iter().enumerate() {
            session.resize(self.places(self.size(&model.state_offset(StateId(k as u32)))), None);
            session.extend(self.contained(tensor));
        }
        pools.insert(Pool::Session, session);
        let mut numbers = vec![None; number_offset(env.numbers.len())];
        numbers[..2].copy_from_slice(&env.key.map(|word| Some(Scalar::u32(word))));
        numbers[2] = Some(Scalar::f32(env.clip_norm.unwrap_or(f64::INFINITY)));
        numbers[3] = Some(Scalar::u32(u32::from(env.skip_nonfinite)));
        for (k, of_groups) in env.numbers.iter().enumerate() {
            let row = of_groups.map(|x| Some(Scalar::f32(x)));
            numbers[number_offset(k)..number_offset(k) + GROUPS].copy_from_slice(&row);
        }
        pools.insert(Pool::Numbers, spread(numbers.into_iter(), word));
        let mut groups: Vec<Word> = env.groups.iter().map(|&g| Some(Scalar::u32(g))).collect();
        groups.resize(elements / CHUNK, Some(Scalar::u32(0)));
        pools.insert(Pool::Groups, spread(groups.into_iter(), word));
        let banks = self.plan.banks.iter().enumerate().map(|(k, words)| (Pool::Bank(k), words));
        for (pool, words) in banks.chain([(Pool::Scratch, &self.plan.scratch)]) {
            pools.insert(pool, vec![None; self.places(self.size(words))]);
        }
        (self.names, self.pools) = pools.into_iter().unzip();
        for index in 0..self.plan.places.len() {
            let region = self.region(BufferId(index))?;
            if region.words().end > self.pools[region.pool].len() {
                return Err(format!("buffer {index} ends after {:?}", self.names[region.pool]));
            }
        }
        Ok(())
    }

    /// Where a buffer lies.
    fn region(&self, buffer: BufferId) -> Result<Region, String> {
        if buffer.0 >= self.plan.places.len() {
            return Err(format!("{buffer:?} has no place"));
        }
        let place = self.plan.place(buffer);
        let Some(pool) = self.names.iter().position(|p| *p == place.pool) else {
            return Err(format!("nobody supplies {:?}", place.pool));
        };
        let dtype = self.plan.program.buffers[buffer.0].dtype;
        let (start, len) = (self.places(self.size(&place.offset)), self.size(&place.len) as usize);
        Ok(Region { pool, start, len, step: self.step(dtype), dtype })
    }

    fn steps(&mut self, steps: &[Step<KernelId>], counters: &mut Vec<i64>) -> Result<(), String> {
        for step in steps {
            match step {
                Step::Launch { kernel, buffers } => self.launch(*kernel, buffers, counters)?,
                Step::Fused { kernel, buffers, steps } => self.fused(*kernel, buffers, steps, counters)?,
                Step::Joined { joint: _, steps } => self.steps(steps, counters)?,
                Step::Foreign { function, args, results } => {
                    let read = |(buffer, ty): &(BufferId, Type)| self.contents(*buffer, ty);
                    let given = args.iter().map(read).collect::<Result<Vec<Tensor>, _>>()?;
                    let made = self.foreign.call(*function, &given.iter().collect::<Vec<_>>());
                    for ((buffer, _), tensor) in results.iter().zip(made) {
                        let region = self.region(*buffer)?;
                        if tensor.data.len() != region.len {
                            return Err(format!("foreign function {function} gives {} words", tensor.data.len()));
                        }
                        for i in 0..region.len {
                            self.pools[region.pool][region.start + i * region.step] = Some(tensor.data.element(i));
                        }
                    }
                }
                Step::Branch { selector, cases } => {
                    let region = self.region(*selector)?;
                    let Some(word) = self.pools[region.pool].get(region.start).copied().flatten() else {
                        return Err(format!("the selector {} is not written", selector.0));
                    };
                    self.steps(&cases[(word.as_f64() as usize).min(cases.len() - 1)], counters)?;
                }
                Step::Loop { count, reverse, body } => {
                    for turn in turns(self.size(count), *reverse) {
                        counters.push(turn);
                        self.steps(body, counters)?;
                        counters.pop();
                    }
                }
            }
        }
        Ok(())
    }

    fn launch(&mut self, kernel: KernelId, buffers: &[BufferId], counters: &[i64]) -> Result<(), String> {
        let what = &self.plans.kernels[kernel.0];
        let regions = buffers.iter().map(|b| self.region(*b)).collect::<Result<Vec<_>, _>>()?;
        let dims = self.dims.clone();
        let size = |dim: &Dim| dim.eval(&|name| dims.get(name).copied()).unwrap_or(i64::MIN / 4);
        let mut run = |counters: &[i64]| {
            let ran = Launch::new(what, &regions, &mut self.pools, &size, counters).and_then(|l| l.run());
            ran.map_err(|why| format!("kernel {} ({}): {why}", kernel.0, what.name))
        };
        let Skeleton::Recur(own) = &what.skeleton else { return run(counters) };
        turns(size(&own.count), own.reverse).try_for_each(|turn| run(&[counters, &[turn]].concat()))
    }

    /// Runs steps, and what stands for all of them on what was there before: both write the same.
    fn fused(
        &mut self,
        kernel: KernelId,
        buffers: &[BufferId],
        steps: &[Step<KernelId>],
        counters: &mut Vec<i64>,
    ) -> Result<(), String> {
        let before = self.pools.clone();
        self.steps(steps, counters)?;
        let apart = std::mem::replace(&mut self.pools, before);
        self.launch(kernel, buffers, counters)?;
        let what = &self.plans.kernels[kernel.0];
        // What the steps alone have written is not there for those that follow.
        let mut alone = BTreeSet::new();
        steps.iter().for_each(|step| written(step, &|id| &self.plans.kernels[id.0], &mut alone));
        for buffer in alone {
            let is_written = |(slot, other): (usize, &BufferId)| *other == buffer && what.slots[slot].write;
            if !buffers.iter().enumerate().any(is_written) {
                let region = self.region(buffer)?;
                self.pools[region.pool][region.words()].fill(None);
            }
        }
        // Sums that are not carried are memory for another state.
        let spare = match &what.skeleton {
            Skeleton::Recur(own) if own.first == Half::Product => Some(own.sums),
            _ => None,
        };
        let compared = |slot: usize| what.slots[slot].write && spare != Some(slot);
        for (slot, buffer) in buffers.iter().enumerate().filter(|(slot, _)| compared(*slot)) {
            let region = self.region(*buffer)?;
            let [one, all] = [&self.pools, &apart].map(|pools| &pools[region.pool][region.words()]);
            if let Some(at) = (0..one.len()).find(|&at| !close(one[at], all[at])) {
                let (one, all) = (one[at], all[at]);
                return Err(format!("kernel {} writes {one:?} to slot {slot}, its steps {all:?}", what.name));
            }
        }
        Ok(())
    }

    /// The contents of the buffer of a role.
    fn tensor(&self, role: Role, ty: &Type) -> Result<Tensor, String> {
        let Some(buffer) = self.plan.program.buffers.iter().position(|b| b.role == role) else {
            return Err(format!("there is no buffer for {role:?}"));
        };
        self.contents(BufferId(buffer), ty).map_err(|why| format!("{role:?} {why}"))
    }

    /// The contents of a buffer that holds a value of that type.
    fn contents(&self, buffer: BufferId, ty: &Type) -> Result<Tensor, String> {
        let region = self.region(buffer)?;
        let words: Vec<Word> = self.pools[region.pool][region.words()].iter().step_by(region.step).copied().collect();
        let shape: Vec<usize> = ty.shape.iter().map(|d| self.size(d) as usize).collect();
        let values = words.iter().copied().collect::<Option<Vec<Scalar>>>();
        let Some(values) = values.filter(|v| v.iter().all(|x| x.dtype() == ty.dtype)) else {
            return Err(format!("is not written whole: {words:?}"));
        };
        let mut tensor = Tensor::zeros(ty.dtype, shape);
        if tensor.data.len() != values.len() {
            return Err(format!("has {} words for {ty}", values.len()));
        }
        tensor.data = super::Data::collect(ty.dtype, &values);
        Ok(tensor)
    }
}

/// Elements so many places apart.
fn spread(elements: impl Iterator<Item = Word>, step: usize) -> Vec<Word> {
    elements.flat_map(|x| std::iter::once(x).chain(std::iter::repeat_n(None, step - 1))).collect()
}

/// The turns of a loop, in order.
fn turns(count: i64, reverse: bool) -> impl Iterator<Item = i64> {
    (0..count).map(move |step| if reverse { count - 1 - step } else { step })
}

/// Whether two words are the same, but for what another order of additions in binary64 changes.
fn close(a: Word, b: Word) -> bool {
    match (a, b) {
        (Some(Scalar::Float(_, a)), Some(Scalar::Float(_, b))) => {
            a == b || (a - b).abs() <= 1e-9 * (1.0 + a.abs()) || (a.is_nan() && b.is_nan())
        }
        (a, b) => a == b,
    }
}
