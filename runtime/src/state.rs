//! The state of a session: in come the dimensions that the session is made with, out come words that functions with
//! `&mut self` change and others read. Always: a state starts with zeros, every stack of states starts on a 64-word
//! boundary, and a file that does not fit changes nothing.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use std::path::Path;

use precast_cpu::Words;

use crate::{
    bind::Dim,
    device::{Compiled, Device},
    error::{Error, Part, Result},
    float::Float,
    safetensors::{self, Reader, Tensor},
    spec::{CHUNK, ModelSpec},
    storage::{agree, differences},
};

/// An extent at dimensions of the session; `None` where it overflows.
pub(crate) type Extent = fn(&[usize]) -> Option<usize>;

/// A state, or the stack of all states that a repeated block makes of one declaration.
#[derive(Debug)]
pub struct StateSpec {
    /// The name, with a `*` for every index of a repeat: `blocks.*.attention.keys`.
    pub name: &'static str,
    /// The element type as safetensors writes it; truth values are the words 0 and 1 of `U32`.
    pub dtype: &'static str,
    /// The extents of one of them.
    pub shape: &'static [Extent],
    /// For every `*`, outermost first, how many there are.
    pub repeats: &'static [usize],
}

/// One state of a session.
struct Instance {
    name: String,
    dtype: &'static str,
    shape: Vec<usize>,
    offset: usize,
    len: usize,
}

impl StateSpec {
    fn extents(&self, dims: &[usize]) -> Option<Vec<usize>> {
        self.shape.iter().map(|extent| extent(dims)).collect()
    }

    /// The words of one element.
    fn element(&self) -> usize {
        safetensors::size(self.dtype).map_or(1, |bytes| bytes / size_of::<f32>())
    }

    /// The words of one state and of the whole stack.
    fn words(&self, dims: &[usize]) -> Option<(usize, usize)> {
        let product = |list: &[usize]| list.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let one = product(&self.extents(dims)?)?.checked_mul(self.element())?;
        Some((one, one.checked_mul(product(self.repeats)?)?))
    }

    /// The full name of the state of that number in the stack.
    fn instance(&self, index: usize) -> String {
        let mut below: usize = self.repeats.iter().product();
        let (mut name, mut rest) = (String::with_capacity(self.name.len() + 4), index);
        let mut repeats = self.repeats.iter();
        for part in self.name.split_inclusive('*') {
            let Some((prefix, &count)) = part.strip_suffix('*').zip(repeats.next()) else {
                name.push_str(part);
                continue;
            };
            below /= count.max(1);
            name.push_str(prefix);
            name.push_str(&(rest / below).to_string());
            rest %= below;
        }
        name
    }
}

/// The words of all states at dimensions of the session, `None` where their number overflows.
fn words(spec: &ModelSpec, dims: &[usize]) -> Option<usize> {
    spec.states.iter().try_fold(0usize, |sum, state| {
        let (_, stack) = state.words(dims)?;
        // Kernels count words in 32 bits.
        sum.checked_add(stack)?.checked_next_multiple_of(CHUNK).filter(|&words| words <= i32::MAX as usize)
    })
}

fn instances(spec: &ModelSpec, dims: &[usize]) -> Vec<Instance> {
    let (mut all, mut offset) = (Vec::new(), 0usize);
    for state in spec.states {
        let (Some(shape), Some((one, stack))) = (state.extents(dims), state.words(dims)) else {
            unreachable!("the words were counted when the session was made")
        };
        let count = state.repeats.iter().product();
        all.extend((0..count).map(|index| Instance {
            name: state.instance(index),
            dtype: state.dtype,
            shape: shape.clone(),
            offset: offset + index * one,
            len: one,
        }));
        offset += stack.next_multiple_of(CHUNK);
    }
    all
}

/// The state of one session on a device.
#[derive(Debug)]
pub(crate) struct State<D: Device> {
    spec: &'static ModelSpec,
    dims: Vec<usize>,
    words: usize,
    /// Nothing before the first use.
    pool: Option<D::Pool>,
}

impl<D: Device> State<D> {
    /// The state of a session that is made with these dimensions.
    pub(crate) fn new(spec: &'static ModelSpec, dims: &[usize]) -> Result<Self> {
        for (&Dim { name: dimension, bound }, &found) in spec.session.iter().zip(dims) {
            if found == 0 {
                return Err(Error::Empty { argument: "session", dimension });
            }
            if let Some(bound) = bound.filter(|&bound| found > bound) {
                return Err(Error::Bound { argument: "session", dimension, found, bound });
            }
        }
        let words = words(spec, dims).ok_or(Error::Overflow { function: "session" })?;
        Ok(State { spec, dims: dims.to_vec(), words, pool: None })
    }

    /// No state: that of models that have none.
    pub(crate) fn none(spec: &'static ModelSpec) -> Self {
        State { spec, dims: Vec::new(), words: words(spec, &[]).unwrap_or(0), pool: None }
    }

    pub(crate) fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The words on the device, which are zeros at first.
    pub(crate) async fn pool<C: Compiled>(&mut self, device: &D) -> Result<&mut D::Pool> {
        if self.pool.is_none() {
            self.pool = Some(device.pool::<C>(Words::zeroed(self.words)?.as_slice()).await?);
        }
        match &mut self.pool {
            Some(pool) => Ok(pool),
            None => unreachable!("it was made above"),
        }
    }

    /// Zeros again.
    pub(crate) async fn reset(&mut self, device: &D) -> Result<()> {
        match &mut self.pool {
            Some(pool) => device.clear(pool).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn save(&self, device: &D, path: &Path) -> Result<()> {
        let mut words = Words::zeroed(self.words)?;
        if let Some(pool) = &self.pool {
            device.read(pool, 0, words.as_mut_slice()).await?;
        }
        let all = instances(self.spec, &self.dims);
        let tensor = |one: &Instance| Tensor {
            name: one.name.clone(),
            dtype: one.dtype,
            shape: one.shape.clone().into(),
            words: words.as_slice()[one.offset..][..one.len].into(),
        };
        let mut tensors: Vec<Tensor<'_>> = all.iter().map(tensor).collect();
        safetensors::align(&mut tensors);
        safetensors::save(path, &[("precast.session", format!("{:?}", self.dims))], &tensors)
    }

    pub(crate) async fn load<C: Compiled>(&mut self, device: &D, path: &Path) -> Result<()> {
        let mut reader = Reader::open(path)?;
        let all = instances(self.spec, &self.dims);
        let expected = all.iter().map(|one| (one.name.clone(), one.dtype, one.shape.clone()));
        agree(self.spec, Part::State, &reader, differences(self.spec, expected, &reader))?;
        let mut words = Words::zeroed(self.words)?;
        for one in &all {
            let entry = reader.tensors[&one.name].clone();
            let words = &mut words.as_mut_slice()[one.offset..][..one.len];
            match one.dtype == f64::DTYPE {
                true => reader.read(&entry, f64::of_words_mut(words))?,
                false => reader.read(&entry, words)?,
            }
        }
        let pool = self.pool::<C>(device).await?;
        device.write(pool, 0, words.as_slice()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        device::{Blocking, Cpu},
        scene::Scene,
    };
    use alloc::vec;
    use std::fs;

    const STATE: StateSpec = StateSpec {
        name: "stages.*.blocks.*.keys",
        dtype: "F32",
        shape: &[|dims| dims[0].checked_mul(2), |_| Some(3)],
        repeats: &[2, 3],
    };

    #[test]
    fn stacks_are_named_outermost_first() {
        assert_eq!(STATE.instance(0), "stages.0.blocks.0.keys");
        assert_eq!(STATE.instance(5), "stages.1.blocks.2.keys");
        assert_eq!(STATE.extents(&[4]), Some(vec![8, 3]));
        assert_eq!(STATE.words(&[4]), Some((24, 144)));
        assert_eq!(STATE.words(&[usize::MAX / 2]), None);
    }

    #[test]
    fn stacks_start_on_boundaries() {
        static SPEC: ModelSpec =
            ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[COUNT, STATE, COUNT], session: &[] };
        let all = instances(&SPEC, &[4]);
        let offsets: Vec<usize> = all.iter().map(|one| one.offset).collect();
        assert_eq!(offsets, [0, 64, 88, 112, 136, 160, 184, 256]);
        assert_eq!(words(&SPEC, &[4]), Some(320));
    }

    const MEAN: StateSpec =
        StateSpec { name: "layers.*.mean", dtype: "F64", shape: &[|dims| Some(dims[0])], repeats: &[2] };
    const COUNT: StateSpec = StateSpec { name: "count", dtype: "U32", shape: &[], repeats: &[] };
    const LAST: StateSpec = StateSpec { name: "last", dtype: "F32", shape: &[], repeats: &[] };
    static MIXED: ModelSpec =
        ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[COUNT, MEAN, LAST], session: &[] };

    struct Mixed;

    impl Compiled for Mixed {
        const SPEC: &'static ModelSpec = &MIXED;
    }

    #[test]
    fn an_f64_is_two_words_on_boundaries_of_64_words() {
        let all = instances(&MIXED, &[20]);
        let places: Vec<(usize, usize)> = all.iter().map(|one| (one.offset, one.len)).collect();
        assert_eq!(places, [(0, 1), (64, 40), (104, 40), (192, 1)]);
        assert_eq!(words(&MIXED, &[20]), Some(256));
        // Of elements as many as the words that kernels count are too many.
        assert_eq!(words(&MIXED, &[i32::MAX as usize / 4]), None);
        assert_eq!(MEAN.words(&[usize::MAX / 2 + 1]), None);
    }

    #[test]
    fn states_of_every_type_survive_a_file() {
        let scene = Scene::new("state-f64");
        let path = scene.path("state.safetensors");
        let mut state = State::<Cpu>::new(&MIXED, &[3]).unwrap();
        let pool = Cpu.wait(state.pool::<Mixed>(&Cpu)).unwrap().as_mut_slice();
        f64::of_words_mut(&mut pool[64..76]).copy_from_slice(&[0.1, 0.2, 0.3, 0.4, 0.5, 1e300]);
        (pool[0], pool[128]) = (f32::from_bits(7), 0.5);
        let before = pool.to_vec();
        Cpu.wait(state.save(&Cpu, &path)).unwrap();
        let bytes = fs::read(&path).unwrap();
        let file = ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(file.tensor("layers.1.mean").unwrap().dtype(), ::safetensors::Dtype::F64);
        let mut other = State::<Cpu>::new(&MIXED, &[3]).unwrap();
        Cpu.wait(other.load::<Mixed>(&Cpu, &path)).unwrap();
        let bits = |words: &[f32]| words.iter().map(|word| word.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(Cpu.wait(other.pool::<Mixed>(&Cpu)).unwrap().as_slice()), bits(&before));
        let mut longer = State::<Cpu>::new(&MIXED, &[4]).unwrap();
        let error = Cpu.wait(longer.load::<Mixed>(&Cpu, &path)).unwrap_err().to_string();
        assert!(error.contains("`layers.0.mean` is [3], but should be [4]"), "{error}");
    }
}
