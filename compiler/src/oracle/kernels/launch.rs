//! One launch: a kernel, its slots bound to ranges of the pools, and the value of a scalar at a position.

use super::Word;
use super::number::{Factor, Formula, Numbers, Path, Put, Step, Test};
use super::race::{Moment, Touched};
use super::rows::{Buffers, Owned};
use crate::ir::kernel::{ExprId, Kernel, Skeleton};
use crate::ir::prim::Scalar;
use crate::ir::varying::Varying;
use crate::ir::{DType, Dim};
use crate::oracle::scalar::{convert_one, map_one};
use std::ops::Range;

/// A range of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    pub(super) pool: usize,
    pub(super) start: usize,
    /// Elements.
    pub(super) len: usize,
    /// Places from one element to the next. Only the first of an element holds it.
    pub(super) step: usize,
    pub(super) dtype: DType,
}

impl Region {
    /// Its places.
    pub(super) fn words(&self) -> Range<usize> {
        self.start..self.start + self.len * self.step
    }
}

/// A kernel that is running.
pub(super) struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) numbers: Numbers<'a>,
    /// The extents of the axes.
    pub(super) extents: Vec<i64>,
    formulas: Vec<Formula>,
    regions: &'a [Region],
    pools: &'a mut [Vec<Word>],
    /// Whether some slots overlap one that is written, so that reads have to be watched.
    watched: Vec<bool>,
    touched: Touched,
    /// The position; an axis that no loop is in has none.
    pub(super) at: Vec<Option<i64>>,
    pub(super) now: Moment,
    /// The scalars known at this position.
    known: Vec<Option<Scalar>>,
    /// What each scalar is said to vary with, and where and what it was last.
    varying: Varying,
    last: Vec<Option<(Vec<Option<i64>>, Scalar)>>,
    /// The finished accumulators of each pass.
    pub(super) finished: Vec<Vec<Scalar>>,
    /// What passes have stored for later ones.
    pub(super) buffers: Buffers,
    /// What this turn of a recurrence adds to the start of each slot.
    starts: Vec<i64>,
    /// The words that belong to each position of an axis that threads share.
    owned: Option<Owned>,
}

pub(super) type Tried<T> = Result<T, String>;

impl<'a> Launch<'a> {
    pub(super) fn new(
        kernel: &'a Kernel,
        regions: &'a [Region],
        pools: &'a mut [Vec<Word>],
        size: &'a dyn Fn(&Dim) -> i64,
        counters: &'a [i64],
    ) -> Tried<Launch<'a>> {
        if kernel.slots.len() != regions.len() {
            return Err(format!("{} slots on {} buffers", kernel.slots.len(), regions.len()));
        }
        for (k, (slot, region)) in kernel.slots.iter().zip(regions).enumerate() {
            if size(&slot.len) != region.len as i64 || slot.dtype != region.dtype {
                return Err(format!("slot {k} is {} of {}, not {region:?}", slot.len, slot.dtype));
            }
        }
        // What goes past the caches is written, and read by nobody.
        let passes = |slot: &usize| kernel.slots.get(*slot).is_some_and(|s| s.write && !s.read);
        if let Some(slot) = kernel.schedule.streamed.iter().find(|slot| !passes(slot)) {
            return Err(format!("slot {slot} is streamed"));
        }
        let meet = |a: &Region, b: &Region| a.pool == b.pool && a.start < b.words().end && b.start < a.words().end;
        let watch = |r: &Region| kernel.slots.iter().zip(regions).any(|(slot, other)| slot.write && meet(r, other));
        let numbers = Numbers { size, counters };
        Ok(Launch {
            extents: kernel.axes.iter().map(size).collect(),
            formulas: kernel.scalars.iter().map(|e| numbers.formula(e)).collect(),
            watched: regions.iter().map(watch).collect(),
            touched: Touched::default(),
            at: vec![None; kernel.axes.len()],
            now: Moment::default(),
            known: vec![None; kernel.scalars.len()],
            varying: Varying::of(kernel),
            last: vec![None; kernel.scalars.len()],
            finished: vec![],
            starts: match &kernel.skeleton {
                Skeleton::Recur(own) => own.starts.iter().map(|start| numbers.path(start).base).collect(),
                Skeleton::Row { .. } | Skeleton::Contract { .. } | Skeleton::Scatter { .. } | Skeleton::Attend(_) => {
                    vec![0; kernel.slots.len()]
                }
            },
            buffers: Buffers::default(),
            owned: Owned::of(kernel, &numbers),
            kernel,
            numbers,
            regions,
            pools,
        })
    }

    pub(super) fn run(mut self) -> Tried<()> {
        self.skeleton()?;
        self.touched.check()
    }

    /// Calls `visit` for every position of some axes, the last one fastest.
    pub(super) fn each(&mut self, axes: &[usize], visit: &mut dyn FnMut(&mut Self, usize) -> Tried<()>) -> Tried<()> {
        let count: i64 = axes.iter().map(|&a| self.extents[a]).product();
        for n in 0..count {
            self.place(axes, n as usize);
            visit(self, n as usize)?;
        }
        axes.iter().for_each(|&a| self.at[a] = None);
        self.known.fill(None);
        Ok(())
    }

    /// Goes to position number `n` of some axes.
    pub(super) fn place(&mut self, axes: &[usize], n: usize) {
        let mut rest = n as i64;
        for &axis in axes.iter().rev() {
            self.at[axis] = Some(rest % self.extents[axis]);
            rest /= self.extents[axis];
        }
        self.known.fill(None);
    }

    /// Forgets scalars, because accumulators have changed.
    pub(super) fn forget(&mut self) {
        self.known.fill(None);
    }

    /// The value of a scalar at this position.
    pub(super) fn value(&mut self, id: ExprId) -> Tried<Scalar> {
        if let Some(known) = self.known[id] {
            return Ok(known);
        }
        if let Some(stored) = self.buffers.read(self.kernel, id, self.now)? {
            return Ok(stored);
        }
        // Taken out while it is evaluated; scalars use earlier ones only.
        let formula = std::mem::replace(&mut self.formulas[id], Formula::Inside(vec![]));
        let value = self.formula(&formula, id);
        self.formulas[id] = formula;
        let value = value?;
        self.known[id] = Some(value);
        self.is_uniform(id, value)?;
        Ok(value)
    }

    /// Whether a scalar is what it was where it was last, if the position differs in axes only that it is said not to vary
    /// with.
    fn is_uniform(&mut self, id: ExprId, value: Scalar) -> Tried<()> {
        let here: Vec<Option<i64>> = self.varying.axes(id).iter().map(|&axis| self.at[axis]).collect();
        match self.last[id].replace((here.clone(), value)) {
            // `Scalar` compares bits.
            Some((there, before)) if there == here && before != value => Err(format!(
                "scalar {id} is {value} at {:?}, and was {before} at the same {:?}",
                self.at,
                self.varying.axes(id)
            )),
            _ => Ok(()),
        }
    }

    fn formula(&mut self, formula: &Formula, id: ExprId) -> Tried<Scalar> {
        Ok(match formula {
            Formula::Literal(x) => *x,
            Formula::Index(path) => Scalar::u32(self.path(path)? as u32),
            Formula::Inside(tests) => Scalar::Bool(self.hold(tests)?),
            Formula::Convert(dtype, arg) => convert_one(self.value(*arg)?, *dtype),
            Formula::Map(op, args) => {
                debug_assert!(args.iter().all(|a| *a < id), "operands come first");
                let args = args.iter().map(|&a| self.value(a)).collect::<Tried<Vec<_>>>()?;
                let dtypes: Vec<DType> = args.iter().map(|x| x.dtype()).collect();
                op.dtype(&dtypes)?;
                map_one(*op, &args)
            }
            Formula::Load { slot, path, tests, fill } => match self.hold(tests)? {
                true => {
                    let at = self.path(path)?;
                    self.load(*slot, at)?
                }
                false => *fill,
            },
            Formula::Accumulated { pass, slot } => {
                let found = self.finished.get(*pass).and_then(|p| p.get(*slot)).copied();
                found.ok_or_else(|| format!("accumulator {slot} of pass {pass} is not finished"))?
            }
        })
    }

    fn hold(&mut self, tests: &[Test]) -> Tried<bool> {
        let mut all = true;
        for test in tests {
            all &= match test {
                Test::Within(path, extent) => (0..*extent).contains(&self.path(path)?),
                Test::Multiple(path, by) => self.path(path)?.rem_euclid(*by) == 0,
            };
        }
        Ok(all)
    }

    pub(super) fn path(&mut self, path: &Path) -> Tried<i64> {
        let mut sum = path.base;
        for (step, factor) in &path.steps {
            sum += factor
                * match step {
                    Step::Axis(a) => self.at[*a].ok_or_else(|| format!("axis {a} is used outside of its loop"))?,
                    Step::Value(v) => match self.value(*v)? {
                        Scalar::Int(DType::U32, x) => x as i64,
                        other => return Err(format!("scalar {v} is {other}, and an index")),
                    },
                    Step::Div(inner, by) => self.path(inner)?.div_euclid(*by),
                    Step::Mod(inner, by) => self.path(inner)?.rem_euclid(*by),
                };
        }
        Ok(sum)
    }

    fn word(&self, slot: usize, at: i64) -> Tried<(usize, usize)> {
        let (region, at) = (self.regions[slot], at + self.starts[slot]);
        if let Some(owned) = &self.owned {
            owned.check(slot, at, &self.at)?;
        }
        if (0..region.len as i64).contains(&at) {
            return Ok((region.pool, region.start + at as usize * region.step));
        }
        Err(format!("element {at} of slot {slot}, which has {}, at {:?}", region.len, self.at))
    }

    /// The word of a slot, whoever may read it.
    pub(super) fn peek(&self, slot: usize, at: i64) -> Tried<Scalar> {
        let (pool, word) = self.word(slot, at)?;
        self.pools[pool][word].ok_or_else(|| format!("element {at} of slot {slot} is not written"))
    }

    fn load(&mut self, slot: usize, at: i64) -> Tried<Scalar> {
        let (pool, word) = self.word(slot, at)?;
        if !self.kernel.slots[slot].read {
            return Err(format!("slot {slot} is read"));
        }
        if self.watched[slot] {
            self.touched.read(pool, word, self.now);
        }
        match self.pools[pool][word] {
            Some(x) if x.dtype() == self.regions[slot].dtype => Ok(x),
            found => Err(format!("element {at} of slot {slot} is {found:?} at {:?}", self.at)),
        }
    }

    pub(super) fn put(&mut self, slot: usize, at: i64, value: Scalar, is_new: bool) -> Tried<()> {
        let (pool, word) = self.word(slot, at)?;
        if !self.kernel.slots[slot].write || value.dtype() != self.regions[slot].dtype {
            return Err(format!("{value:?} is stored to slot {slot}"));
        }
        if is_new {
            self.touched.write(pool, word, self.now)?;
        }
        self.pools[pool][word] = Some(value);
        Ok(())
    }

    /// Writes the scalars of a position. All of them are known before the first one is written.
    pub(super) fn store(&mut self, puts: &[Put]) -> Tried<()> {
        let known = puts.iter().map(|put| Ok((self.value(put.value)?, self.path(&put.path)?)));
        let known = known.collect::<Tried<Vec<_>>>()?;
        puts.iter().zip(known).try_for_each(|(put, (value, at))| self.put(put.slot, at, value, true))
    }

    /// Writes a zero.
    pub(super) fn clear(&mut self, put: &Put) -> Tried<()> {
        let at = self.path(&put.path)?;
        self.put(put.slot, at, Scalar::of(self.regions[put.slot].dtype, 0.0), true)
    }

    /// Adds a scalar to what is there.
    pub(super) fn add(&mut self, put: &Put) -> Tried<()> {
        let value = self.value(put.value)?;
        let at = self.path(&put.path)?;
        let (pool, word) = self.word(put.slot, at)?;
        let before = self.pools[pool][word].ok_or("an addition to nothing")?;
        self.put(put.slot, at, map_one(crate::ir::prim::MapOp::Add, &[before, value]), false)
    }

    /// Refuses an operand that the driver would refuse, which looks through no windows that are never left, and takes every
    /// coordinate of the others for possible at every position.
    pub(super) fn reaches(&self, factor: &Factor) -> Tried<()> {
        let mut walked = self.strides(&factor.path)?;
        let mut looked = (0, 0);
        for (path, divisor, extent, stride) in &factor.windows {
            let window = self.strides(path)?;
            let (first, last) = self.span(path.base, &window);
            if *divisor == 1 && first >= 0 && last < *extent {
                walked.iter_mut().zip(window).for_each(|(walked, step)| *walked += step * stride);
                looked = (looked.0 + path.base * stride, looked.1 + path.base * stride);
            } else {
                let reach = (extent - 1) * stride;
                looked = (looked.0 + reach.min(0), looked.1 + reach.max(0));
            }
        }
        let (first, last) = self.span(factor.path.base, &walked);
        let (low, high) = (first + looked.0, last + looked.1);
        match self.extents.contains(&0) || low >= 0 && high < self.regions[factor.slot].len as i64 {
            true => Ok(()),
            false => Err(format!("an operand reaches {low}..={high} of slot {}", factor.slot)),
        }
    }

    /// What each axis adds to an affine path.
    fn strides(&self, path: &Path) -> Tried<Vec<i64>> {
        let mut strides = vec![0; self.extents.len()];
        for (step, factor) in &path.steps {
            let Step::Axis(axis) = step else { return Err("an operand's index is not affine".into()) };
            strides[*axis] += factor;
        }
        Ok(strides)
    }

    /// The smallest and the largest value over all positions.
    fn span(&self, base: i64, strides: &[i64]) -> (i64, i64) {
        let reaches = strides.iter().zip(&self.extents).map(|(stride, extent)| stride * (extent - 1));
        reaches.fold((base, base), |(low, high), reach| (low + reach.min(0), high + reach.max(0)))
    }

    /// An operand of a product; zero where a window is left.
    pub(super) fn operand(&mut self, factor: &Factor) -> Tried<f64> {
        let mut at = self.path(&factor.path)?;
        let mut inside = true;
        for (path, divisor, extent, stride) in &factor.windows {
            let numerator = self.path(path)?;
            let coordinate = numerator.div_euclid(*divisor);
            inside &= numerator.rem_euclid(*divisor) == 0 && (0..*extent).contains(&coordinate);
            at += coordinate * stride;
        }
        match inside {
            false => Ok(0.0),
            true => match self.load(factor.slot, at)? {
                Scalar::Float(_, x) => Ok(x),
                Scalar::Int(dtype, code) if dtype.is_stored() => Ok(code as f64),
                other => Err(format!("a product with {other}")),
            },
        }
    }
}
