//! The file that a model was imported from: its bytes in, the parameters out. Always: a file with other bytes than those of the build,
//! but for the parameters, is an error before any parameter is read, and each parameter is read, or an error.

use alloc::{format, string::String, vec::Vec};
use std::{
    fs::File,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    path::Path,
};

use crate::{
    device::{Compiled, Cpu},
    error::{Error, Result},
    float::Float,
    safetensors::{Entry, Reader},
    spec::Instance,
    weights::Weights,
};
use precast_cpu::Words;

/// What the compiler says about a file that a model was imported from.
#[derive(Debug)]
pub struct Origin {
    /// Its bytes.
    pub len: u64,
    /// FNV-1a of 64 bits over all of it but the parameters.
    pub hash: u64,
    /// The places of the parameters, in the order of the specification.
    pub tensors: &'static [Held],
    /// Those that the file does not hold as they are.
    pub constants: &'static [u8],
}

/// Where a parameter is.
#[derive(Debug)]
pub struct Held {
    /// The type of its elements there, as safetensors files have it.
    pub dtype: &'static str,
    /// Whether it is among the constants rather than in the file.
    pub in_program: bool,
    /// Its first byte.
    pub start: usize,
    /// The one behind its last.
    pub end: usize,
}

impl<T: Float> Weights<Cpu, T> {
    /// The parameters of the bytes of a file, which are those of the build.
    #[doc(hidden)]
    pub fn of_origin<C: Compiled>(bytes: &'static [u8], origin: &Origin) -> Result<Self> {
        read::<T, C>("the bytes of the program".as_ref(), Cursor::new(bytes), origin)
    }

    /// The parameters of a file.
    #[doc(hidden)]
    pub fn open_origin<C: Compiled>(path: &Path, origin: &Origin) -> Result<Self> {
        let mut file = BufReader::new(File::open(path).map_err(Error::io(path))?);
        let found = file.seek(SeekFrom::End(0)).map_err(Error::io(path))?;
        if found != origin.len || hash(&mut file, origin).map_err(Error::io(path))? != origin.hash {
            let reason = format!("it is not the file that `{}` was built from", C::SPEC.name);
            return Err(Error::Format { path: path.into(), reason });
        }
        read::<T, C>(path, file, origin)
    }
}

fn read<T: Float, C: Compiled>(
    path: &Path,
    file: impl Read + Seek + Send + 'static,
    origin: &Origin,
) -> Result<Weights<Cpu, T>> {
    let mut reader = Reader::of_places(path, file, origin.constants);
    let mut words = Words::zeroed(C::SPEC.words::<T>())?;
    let instances: Vec<Instance> = C::SPEC.instances().collect();
    let format = |reason: String| Error::Format { path: path.into(), reason };
    if instances.len() != origin.tensors.len() {
        let (model, wanted, found) = (C::SPEC.name, instances.len(), origin.tensors.len());
        return Err(format(format!("`{model}` has {wanted} parameters, and {found} are known")));
    }
    for (instance, held) in instances.iter().zip(origin.tensors) {
        let (name, shape) = (instance.name.clone(), instance.spec.shape);
        let entry = Entry::of_place(name, shape, held);
        let entry = entry.ok_or_else(|| format(format!("`{}` is not where it is looked for", instance.name)))?;
        reader.read_numbers(&entry, instance.values_mut::<T>(words.as_mut_slice()))?;
    }
    Ok(Weights::new(C::SPEC, Cpu, words))
}

/// FNV-1a of all that stands between the parameters.
fn hash(file: &mut (impl Read + Seek), origin: &Origin) -> std::io::Result<u64> {
    let held = origin.tensors.iter().filter(|held| !held.in_program);
    let mut places: Vec<(u64, u64)> = held.map(|held| (held.start as u64, held.end as u64)).collect();
    places.sort_unstable();
    places.push((origin.len, origin.len));
    let (mut hash, mut at, mut bytes) = (0xcbf2_9ce4_8422_2325u64, 0, Vec::new());
    for (start, end) in places {
        if start > at {
            file.seek(SeekFrom::Start(at))?;
            bytes.clear();
            file.by_ref().take(start - at).read_to_end(&mut bytes)?;
            hash = bytes.iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        }
        at = at.max(end);
    }
    Ok(hash)
}
