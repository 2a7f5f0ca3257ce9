//! The state of a session: in come the dimensions that the session is made with, out come words that functions with
//! `&mut self` change and others read. Always: a state starts with zeros, every stack of states starts on a 64-word
//! boundary, and a file that does not fit changes nothing.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};
use core::ops::Range;
use std::path::Path;

use precast_cpu::Words;

use crate::{
    bind::Dim,
    device::{Compiled, Device},
    error::{Error, Part, Result},
    float::Float,
    safetensors::{self, Entry, Reader, Tensor},
    spec::{CHUNK, ModelSpec},
    storage::{agree, differences},
};

/// Bytes of a word.
const WORD: usize = size_of::<f32>();

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
    /// Where it is in the pool, in bytes: one that is not the first of its stack may begin inside of a word.
    bytes: Range<usize>,
}

impl StateSpec {
    fn extents(&self, dims: &[usize]) -> Option<Vec<usize>> {
        self.shape.iter().map(|extent| extent(dims)).collect()
    }

    /// The bytes of one state and the words of the whole stack.
    fn sizes(&self, dims: &[usize]) -> Option<(usize, usize)> {
        let product = |list: &[usize]| list.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let one = product(&self.extents(dims)?)?.checked_mul(safetensors::size(self.dtype)?)?;
        Some((one, one.checked_mul(product(self.repeats)?)?.div_ceil(WORD)))
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
        let (_, stack) = state.sizes(dims)?;
        // Kernels count words in 32 bits.
        sum.checked_add(stack)?.checked_next_multiple_of(CHUNK).filter(|&words| words <= i32::MAX as usize)
    })
}

fn instances(spec: &ModelSpec, dims: &[usize]) -> Vec<Instance> {
    let (mut all, mut offset) = (Vec::new(), 0usize);
    for state in spec.states {
        let (Some(shape), Some((one, stack))) = (state.extents(dims), state.sizes(dims)) else {
            unreachable!("the words were counted when the session was made")
        };
        let count = state.repeats.iter().product();
        all.extend((0..count).map(|index| Instance {
            name: state.instance(index),
            dtype: state.dtype,
            shape: shape.clone(),
            bytes: offset * WORD + index * one..offset * WORD + (index + 1) * one,
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
            self.pool = Some(device.pool::<C>(Words::zeroed(self.words)?).await?);
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
        let bytes: &[u8] = bytemuck::cast_slice(words.as_slice());
        let tensor = |one: &Instance| Tensor {
            name: one.name.clone(),
            dtype: one.dtype,
            shape: one.shape.clone().into(),
            bytes: bytes[one.bytes.clone()].into(),
        };
        let mut tensors: Vec<Tensor<'_>> = all.iter().map(tensor).collect();
        safetensors::align(&mut tensors);
        safetensors::save(path, &[("precast.session", format!("{:?}", self.dims))], &tensors)
    }

    pub(crate) async fn load<C: Compiled>(&mut self, device: &D, path: &Path) -> Result<()> {
        let mut reader = Reader::open(path)?;
        let all = instances(self.spec, &self.dims);
        let expected = all.iter().map(|one| (one.name.clone(), one.dtype, one.shape.clone()));
        agree(self.spec, Part::State, &reader, differences(self.spec, expected, &reader, Entry::holds))?;
        let mut words = Words::zeroed(self.words)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(words.as_mut_slice());
        for one in &all {
            let entry = reader.tensors[&one.name].clone();
            let bytes = &mut bytes[one.bytes.clone()];
            // Floats may be shorter in the file. No state of theirs begins inside of a word.
            match one.dtype {
                f32::DTYPE => reader.read::<f32>(&entry, bytemuck::cast_slice_mut(bytes))?,
                f64::DTYPE => reader.read::<f64>(&entry, bytemuck::cast_slice_mut(bytes))?,
                _ => reader.read_bytes(&entry, bytes)?,
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
        assert_eq!(STATE.sizes(&[4]), Some((96, 144)));
        assert_eq!(STATE.sizes(&[usize::MAX / 2]), None);
    }

    #[test]
    fn stacks_start_on_boundaries() {
        static SPEC: ModelSpec =
            ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[COUNT, STATE, COUNT], session: &[] };
        let all = instances(&SPEC, &[4]);
        let offsets: Vec<usize> = all.iter().map(|one| one.bytes.start / WORD).collect();
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
        let places: Vec<(usize, usize)> =
            all.iter().map(|one| (one.bytes.start / WORD, one.bytes.len() / WORD)).collect();
        assert_eq!(places, [(0, 1), (64, 40), (104, 40), (192, 1)]);
        assert_eq!(words(&MIXED, &[20]), Some(256));
        // Of elements as many as the words that kernels count are too many.
        assert_eq!(words(&MIXED, &[i32::MAX as usize / 4]), None);
        assert_eq!(MEAN.sizes(&[usize::MAX / 2 + 1]), None);
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

    const fn five(name: &'static str, dtype: &'static str) -> StateSpec {
        StateSpec { name, dtype, shape: &[|dims| Some(dims[0])], repeats: &[3] }
    }

    /// Stacks of three states, of which those with an odd number of elements do not fill words.
    static NARROW: ModelSpec = ModelSpec {
        name: "Net",
        parameters: &[],
        pool_len: 0,
        states: &[
            five("a.*", "I8"),
            five("b.*", "BF16"),
            five("c.*", "F16"),
            five("d.*", "U8"),
            five("e.*", "I16"),
            five("f.*", "U16"),
            five("g.*", "U64"),
            five("h.*", "I64"),
            COUNT,
        ],
        session: &[],
    };

    struct Narrow;

    impl Compiled for Narrow {
        const SPEC: &'static ModelSpec = &NARROW;
    }

    #[test]
    fn states_of_fewer_bits_lie_one_behind_the_other() {
        let all = instances(&NARROW, &[5]);
        let places: Vec<Range<usize>> = all[..6].iter().map(|one| one.bytes.clone()).collect();
        assert_eq!(places, [0..5, 5..10, 10..15, 256..266, 266..276, 276..286]);
        let stacks: Vec<usize> = NARROW.states.iter().map(|state| state.sizes(&[5]).unwrap().1).collect();
        assert_eq!(stacks, [4, 8, 8, 4, 8, 8, 30, 30, 1]);
        assert_eq!(words(&NARROW, &[5]), Some(9 * 64));
        assert_eq!(words(&NARROW, &[usize::MAX / 2]), None);
    }

    #[test]
    fn states_of_odd_sizes_survive_a_file() {
        let scene = Scene::new("state-narrow");
        let path = scene.path("state.safetensors");
        for len in [1, 2, 3, 5, 8] {
            let mut state = State::<Cpu>::new(&NARROW, &[len]).unwrap();
            let pool = Cpu.wait(state.pool::<Narrow>(&Cpu)).unwrap().as_mut_slice();
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(pool);
            for (k, at) in instances(&NARROW, &[len]).into_iter().flat_map(|one| one.bytes).enumerate() {
                bytes[at] = k as u8 | 1;
            }
            let before = bytes.to_vec();
            Cpu.wait(state.save(&Cpu, &path)).unwrap();
            let file = fs::read(&path).unwrap();
            let file = ::safetensors::SafeTensors::deserialize(&file).unwrap();
            for one in instances(&NARROW, &[len]) {
                let found = file.tensor(&one.name).unwrap();
                assert_eq!((found.dtype().to_string(), found.shape()), (one.dtype.to_string(), &one.shape[..]));
                assert_eq!(found.data(), &before[one.bytes]);
            }
            let mut other = State::<Cpu>::new(&NARROW, &[len]).unwrap();
            Cpu.wait(other.load::<Narrow>(&Cpu, &path)).unwrap();
            let found: &[u8] = bytemuck::cast_slice(Cpu.wait(other.pool::<Narrow>(&Cpu)).unwrap().as_slice());
            assert_eq!(found, before);
            let mut longer = State::<Cpu>::new(&NARROW, &[len + 1]).unwrap();
            assert!(Cpu.wait(longer.load::<Narrow>(&Cpu, &path)).is_err());
        }
    }

    #[test]
    fn states_of_other_types_do_not_fit() {
        let scene = Scene::new("state-types");
        let path = scene.path("state.safetensors");
        static BYTES: ModelSpec =
            ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[five("a.*", "U8")], session: &[] };
        Cpu.wait(State::<Cpu>::new(&BYTES, &[5]).unwrap().save(&Cpu, &path)).unwrap();
        static SHORTS: ModelSpec =
            ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[five("a.*", "F16")], session: &[] };
        let mut state = State::<Cpu>::new(&SHORTS, &[5]).unwrap();
        let error = Cpu.wait(state.load::<Narrow>(&Cpu, &path)).unwrap_err().to_string();
        assert!(error.contains("`a.0` holds U8, but should hold F16"), "{error}");
    }
}
