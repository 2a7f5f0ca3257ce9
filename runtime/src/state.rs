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

    /// The words of one state and of the whole stack.
    fn words(&self, dims: &[usize]) -> Option<(usize, usize)> {
        let product = |list: &[usize]| list.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
        let one = product(&self.extents(dims)?)?;
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
            values: &words.as_slice()[one.offset..][..one.len],
        };
        let metadata = [("precast.session", format!("{:?}", self.dims))];
        safetensors::save(path, &metadata, &all.iter().map(tensor).collect::<Vec<_>>())
    }

    pub(crate) async fn load<C: Compiled>(&mut self, device: &D, path: &Path) -> Result<()> {
        let mut reader = Reader::open(path)?;
        let all = instances(self.spec, &self.dims);
        let expected = all.iter().map(|one| (one.name.clone(), one.dtype, one.shape.clone()));
        agree(self.spec, Part::State, &reader, differences(self.spec, expected, &reader))?;
        let mut words = Words::zeroed(self.words)?;
        for one in &all {
            let entry = reader.tensors[&one.name].clone();
            reader.read(&entry, &mut words.as_mut_slice()[one.offset..][..one.len])?;
        }
        let pool = self.pool::<C>(device).await?;
        device.write(pool, 0, words.as_slice()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

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
        const COUNT: StateSpec = StateSpec { name: "count", dtype: "U32", shape: &[], repeats: &[] };
        static SPEC: ModelSpec =
            ModelSpec { name: "Net", parameters: &[], pool_len: 0, states: &[COUNT, STATE, COUNT], session: &[] };
        let all = instances(&SPEC, &[4]);
        let offsets: Vec<usize> = all.iter().map(|one| one.offset).collect();
        assert_eq!(offsets, [0, 64, 88, 112, 136, 160, 184, 256]);
        assert_eq!(words(&SPEC, &[4]), Some(320));
    }
}
