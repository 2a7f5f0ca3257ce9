//! Weights in files: in come weights and a path, out comes a safetensors file that PyTorch reads,
//! and back. Always: a file that does not fit changes nothing, and the error lists every difference.

use alloc::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    format,
    string::String,
    vec,
    vec::Vec,
};
use std::path::Path;

use precast_cpu::Words;

use crate::{
    device::{Blocking, Compiled, Cpu, Device},
    difference::Difference,
    error::{Error, Part, Result},
    file::{File, Unmatched},
    float::Float,
    safetensors::{self, Entry, Reader, Tensor},
    spec::{Instance, ModelSpec, Scales},
    weights::Weights,
};

/// The metadata that loaders of PyTorch expect.
pub(crate) const FORMAT: (&str, &str) = ("format", "pt");

impl<D: Device, T: Float> Weights<D, T> {
    /// Writes all parameters to a safetensors file, under the names of PyTorch's `state_dict`. The
    /// file is replaced as a whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written, its name ends in `.safetensors.index.json`, or the device is lost.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()>
    where
        D: Blocking,
    {
        self.device.wait(self.save_async(path))
    }

    /// As [`Weights::save`], without blocking on the device.
    ///
    /// # Errors
    /// As for [`Weights::save`].
    pub async fn save_async(&self, path: impl AsRef<Path>) -> Result<()> {
        let words = self.host().await?;
        let metadata = [(FORMAT.0, FORMAT.1.into())];
        safetensors::save(path.as_ref(), &metadata, &tensors::<T>(self.spec, "", words.as_slice()))
    }

    /// The bytes of the file that [`Weights::save`] would write.
    ///
    /// # Errors
    /// If the device is lost.
    pub async fn to_safetensors(&self) -> Result<Vec<u8>> {
        let words = self.host().await?;
        let metadata = [(FORMAT.0, FORMAT.1.into())];
        Ok(safetensors::encode(&metadata, &tensors::<T>(self.spec, "", words.as_slice())))
    }

    /// Overwrites parameters with those of a file.
    #[doc(hidden)]
    pub async fn load(&mut self, file: &File) -> Result<Unmatched> {
        let (mut reader, unmatched) = file.open::<T>(self.spec)?;
        let mut words = match unmatched.missing.as_slice() {
            [] => Words::zeroed(self.spec.words::<T>())?,
            _ => self.host().await?,
        };
        overwrite::<T>(self.spec, "", &mut reader, &mut words)?;
        self.device.write(&mut self.pool, 0, words.as_slice()).await?;
        Ok(unmatched)
    }
}

impl<T: Float> Weights<Cpu, T> {
    /// The parameters of a file.
    #[doc(hidden)]
    pub fn open<C: Compiled>(file: &File) -> Result<Self> {
        let mut reader = file.open_whole::<T>(C::SPEC)?;
        Ok(Weights::new(C::SPEC, Cpu, fill::<T>(C::SPEC, "", &mut reader)?))
    }

    /// The parameters of the bytes of a file.
    #[doc(hidden)]
    pub fn open_bytes<C: Compiled>(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::bytes(bytes.into())?;
        compare::<T>(C::SPEC, &[""], &reader)?;
        Ok(Weights::new(C::SPEC, Cpu, fill::<T>(C::SPEC, "", &mut reader)?))
    }
}

/// The parameters that a file has under `prefix`: all under none, and those with optimiser states under another.
fn stored(spec: &ModelSpec, prefix: &str) -> impl Iterator<Item = Instance> + use<> {
    let all = prefix.is_empty();
    spec.instances().filter(move |instance| all || instance.spec.trained)
}

/// The tensors of a pool, `prefix` before every name.
pub(crate) fn tensors<'a, T: Float>(spec: &ModelSpec, prefix: &str, words: &'a [f32]) -> Vec<Tensor<'a>> {
    let tensor = |instance: Instance| {
        let dtype = instance.spec.stored::<T>();
        let bytes = match instance.quantized(words) {
            Some(quantized) => bytemuck::cast_slice(quantized.codes).into(),
            None if dtype == T::DTYPE => bytemuck::cast_slice(instance.values::<T>(words)).into(),
            None => integers(instance.values::<T>(words)),
        };
        Tensor { name: format!("{prefix}{}", instance.name), dtype, shape: instance.spec.shape.into(), bytes }
    };
    let mut tensors: Vec<Tensor<'a>> = stored(spec, prefix).map(tensor).collect();
    safetensors::align(&mut tensors);
    tensors
}

/// The bytes of numbers as integers of 64 bits.
fn integers<T: Float>(values: &[T]) -> Cow<'static, [u8]> {
    let integers: Vec<i64> = values.iter().map(|value| value.to_f64() as i64).collect();
    bytemuck::cast_slice(&integers).to_vec().into()
}

/// The file has exactly the parameters of the model, once for every prefix.
pub(crate) fn compare<T: Float>(spec: &ModelSpec, prefixes: &[&str], reader: &Reader) -> Result<()> {
    agree(spec, Part::Parameters, reader, parameters::<T>(spec, prefixes, reader))
}

/// Where the tensors of a file are not all parameters, once for every prefix. Those that are stored as integers may be floats
/// in the file, which then has no scales.
pub(crate) fn parameters<T: Float>(spec: &ModelSpec, prefixes: &[&str], reader: &Reader) -> Vec<Difference> {
    let (mut expected, mut unscaled) = (vec![], vec![]);
    for prefix in prefixes {
        // Scales that the file need not have, or whose lack is a difference of its own, and those that it may have as a vector.
        let (mut made, mut flat): (BTreeSet<String>, BTreeSet<String>) = Default::default();
        for instance in stored(spec, prefix) {
            let rows = instance.rows();
            let Some(Scales { name: scales, .. }) = instance.scales else { continue };
            let [name, scaled] = [&instance.name, &scales].map(|name| format!("{prefix}{name}"));
            let has_codes = reader.tensors.get(&name).is_some_and(|entry| entry.dtype == "I8");
            match reader.tensors.get(&scaled).filter(|_| has_codes) {
                Some(found) if found.shape == [rows] => _ = flat.insert(scales),
                Some(_) => {}
                None => {
                    if has_codes {
                        unscaled.push(Difference::Unscaled { name, scales: scaled });
                    }
                    made.insert(scales);
                }
            }
        }
        let all = stored(spec, prefix).filter(|instance| !made.contains(&instance.name));
        expected.extend(all.map(|one| {
            let shape = if flat.contains(&one.name) { vec![one.rows()] } else { one.spec.shape.to_vec() };
            (format!("{prefix}{}", one.name), one.spec.stored::<T>(), shape)
        }));
    }
    unscaled.extend(differences(spec, expected.into_iter(), reader, Entry::gives));
    unscaled
}

/// Where the tensors of a file are not those of these names, element types and shapes. `fits` says from which tensor a type can
/// be read.
pub(crate) fn differences(
    spec: &ModelSpec,
    all: impl Iterator<Item = (String, &'static str, Vec<usize>)>,
    reader: &Reader,
    fits: fn(&Entry, &str) -> bool,
) -> Vec<Difference> {
    let mut rest: BTreeMap<&String, &Entry> = reader.tensors.iter().collect();
    let mut differences = vec![];
    for (name, dtype, shape) in all {
        let Some(entry) = rest.remove(&name) else {
            differences.push(Difference::Missing { name, shape });
            continue;
        };
        if !fits(entry, dtype) {
            let (name, found) = (entry.name.clone(), entry.dtype.clone());
            differences.push(Difference::Dtype { name, found, expected: dtype });
        }
        if entry.shape != shape {
            let (name, found) = (entry.name.clone(), entry.shape.clone());
            differences.push(Difference::Shape { name, found, expected: shape });
        }
    }
    // PyTorch counts the batches of each batch norm, which only a mean over all of them needs.
    rest.retain(|name, _| {
        let layer = name.strip_suffix("num_batches_tracked");
        layer.is_none_or(|layer| spec.find(&format!("{layer}running_mean")).is_err())
    });
    let unexpected = |entry: &&Entry| Difference::Unexpected { name: entry.name.clone(), shape: entry.shape.clone() };
    differences.extend(rest.values().map(unexpected));
    differences
}

/// There are no differences.
pub(crate) fn agree(spec: &ModelSpec, part: Part, reader: &Reader, differences: Vec<Difference>) -> Result<()> {
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::Tensors { path: reader.path.clone(), model: spec.name, part, differences })
}

/// A pool with the values under `prefix` of a file that has been compared.
pub(crate) fn fill<T: Float>(spec: &ModelSpec, prefix: &str, reader: &mut Reader) -> Result<Words> {
    let mut words = Words::zeroed(spec.words::<T>())?;
    overwrite::<T>(spec, prefix, reader, &mut words)?;
    Ok(words)
}

/// Overwrites the values of a pool with those that a file, which has been compared, has under `prefix`.
fn overwrite<T: Float>(spec: &ModelSpec, prefix: &str, reader: &mut Reader, words: &mut Words) -> Result<()> {
    let words = words.as_mut_slice();
    for instance in stored(spec, prefix) {
        let Some(entry) = reader.tensors.get(&format!("{prefix}{}", instance.name)).cloned() else { continue };
        match &instance.scales {
            None => reader.read(&entry, instance.values_mut::<T>(words))?,
            Some(_) if entry.dtype == "I8" => reader.read_bytes(&entry, instance.codes_mut(words))?,
            Some(scales) => {
                let mut values = vec![0f32; instance.spec.len()];
                reader.read(&entry, &mut values)?;
                quantize(&instance, scales, words, &values, (&reader.path, &entry.name))?;
            }
        }
    }
    Ok(())
}

/// Overwrites the integers of a parameter and their scales with what a file, of that path, has for it, under that name.
pub(crate) fn quantize(
    instance: &Instance,
    scales: &Scales,
    words: &mut [f32],
    values: &[f32],
    (path, name): (&Path, &str),
) -> Result<()> {
    instance.write(scales, words, values).map_err(|number| {
        let (path, name, number) = (path.into(), name.into(), number.into());
        Error::Range { path, name, number, dtype: "I8" }
    })
}
