//! The files that a model or blocks of it were imported from: their bytes in, the parameters out. Always: a file with other bytes than those of the build,
//! but for the parameters, is an error before any parameter is read, and each parameter is read, or an error.

use alloc::{format, vec, vec::Vec};
use std::{
    io::{self, BufReader, Read, Seek, SeekFrom, Write},
    iter,
    path::{Path, PathBuf},
};

use crate::{
    device::{Compiled, Cpu},
    error::{Error, Result},
    float::Float,
    safetensors::{Entry, Reader},
    storage::quantize,
    weights::Weights,
};
use joined::Joined;

mod joined;

/// What the compiler says about a file that a model was imported from.
#[derive(Debug)]
pub struct Origin {
    /// What the program calls the model of the file.
    pub name: &'static str,
    /// Its bytes.
    pub len: u64,
    /// The files that hold elements of its tensors, too: their names from its folder, and how many bytes they have. In this order their
    /// bytes follow those of the file itself.
    pub external: &'static [(&'static str, u64)],
    /// FNV-1a of 64 bits over all of them but the parameters.
    pub hash: u64,
    /// The numbers of the parameters that are in them, and their places: one, or one for each turn of a run of layers.
    pub tensors: &'static [(u32, &'static [Held])],
    /// Those that the files do not hold as they are.
    pub constants: &'static [u8],
}

/// Where a parameter is.
#[derive(Debug)]
pub struct Held {
    /// The type of its elements there, as safetensors files have it.
    pub dtype: &'static str,
    /// Whether it is among the constants rather than in the files.
    pub in_program: bool,
    /// Its first byte, counted from that of the first file.
    pub start: usize,
    /// The one behind its last.
    pub end: usize,
    /// How many parameters of a run are so far apart: their number, and the bytes from each first one to the next.
    pub run: (usize, usize),
}

impl Held {
    /// In the files.
    pub const fn in_file(dtype: &'static str, start: usize, end: usize) -> Self {
        Held { dtype, in_program: false, start, end, run: (1, 0) }
    }

    /// Among the constants.
    pub const fn in_program(dtype: &'static str, start: usize, end: usize) -> Self {
        Held { dtype, in_program: true, start, end, run: (1, 0) }
    }

    /// So many, `step` bytes apart.
    pub const fn repeated(self, count: usize, step: usize) -> Self {
        Held { run: (count, step), ..self }
    }

    /// The first and the end of each.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, usize)> + Clone {
        let Held { start, end, run: (count, step), .. } = *self;
        (0..count).map(move |number| (start + number * step, end + number * step))
    }
}

impl<T: Float> Weights<Cpu, T> {
    /// The parameters of the bytes of files, which are those of the build; all others are drawn from `seed`.
    #[doc(hidden)]
    pub fn of_origins<C: Compiled>(seed: u64, files: &[&[&'static [u8]]], origins: &[Origin]) -> Result<Self> {
        let mut weights = Self::init::<C>(seed);
        for (&parts, origin) in files.iter().zip(origins) {
            let parts = parts.iter().map(|&part| (part, part.len() as u64));
            weights.read_origin("the bytes of the program".as_ref(), Joined::new(parts), origin)?;
        }
        Ok(weights)
    }

    /// The parameters of files, each with those beside it; all others are drawn from `seed`.
    #[doc(hidden)]
    pub fn open_origins<C: Compiled>(seed: u64, paths: &[&Path], origins: &[Origin]) -> Result<Self> {
        let mut weights = Self::init::<C>(seed);
        for (&path, origin) in paths.iter().zip(origins) {
            let mut file = BufReader::new(origin.open(path)?);
            if hash(&mut file, origin).map_err(Error::io(path))? != origin.hash {
                let beside = if origin.external.is_empty() { "" } else { ", or its external data do" };
                let own = format!("that which `{}` was built from", origin.name);
                let reason = format!("it differs from {own} in more than the parameters{beside}");
                return Err(Error::Format { path: path.into(), reason });
            }
            weights.read_origin(path, file, origin)?;
        }
        Ok(weights)
    }

    fn read_origin(&mut self, path: &Path, file: impl Read + Seek + Send + 'static, origin: &Origin) -> Result<()> {
        let mut reader = Reader::of_places(path, file, origin.constants);
        for (parameter, held) in origin.tensors {
            let number = *parameter as usize;
            let spec = &self.spec.parameters[number];
            let places = held.iter().flat_map(|held| held.places().map(move |place| (held, place)));
            for (instance, (held, place)) in self.spec.instances_of(number).zip(places.cycle()) {
                let entry =
                    Entry::of_place(instance.name.as_str().into(), spec.shape, held, place).ok_or_else(|| {
                        let reason = format!("`{}` is not where it is looked for", instance.name);
                        Error::Format { path: path.into(), reason }
                    })?;
                let words = self.pool.as_mut_slice();
                let Some(scales) = &instance.scales else {
                    reader.read_numbers(&entry, instance.values_mut::<T>(words))?;
                    continue;
                };
                let mut values = vec![0f32; spec.len()];
                reader.read_numbers(&entry, &mut values)?;
                quantize(&instance, scales, words, &values, (path, &instance.name))?;
            }
        }
        Ok(())
    }
}

impl Origin {
    /// A file and those beside it, if they are as long as those of the build.
    fn open(&self, path: &Path) -> Result<Joined<PathBuf>> {
        let beside = self.external.iter().map(|&(name, len)| (path.with_file_name(name), len));
        let parts: Vec<(PathBuf, u64)> = iter::once((path.to_owned(), self.len)).chain(beside).collect();
        for (path, len) in &parts {
            let found = path.metadata().map_err(Error::io(path))?;
            let (name, bytes) = (self.name, found.len());
            if !found.is_file() {
                return Err(Error::Format { path: path.clone(), reason: "it is no file".into() });
            }
            if bytes != *len {
                let reason = format!("it has {bytes} bytes, and that which `{name}` was built from has {len}");
                return Err(Error::Format { path: path.clone(), reason });
            }
        }
        Ok(Joined::new(parts))
    }
}

/// FNV-1a of all that stands between the parameters.
fn hash(file: &mut (impl Read + Seek), origin: &Origin) -> io::Result<u64> {
    let held = origin.tensors.iter().flat_map(|(_, held)| *held).filter(|held| !held.in_program);
    let mut places: Vec<(u64, u64)> =
        held.flat_map(Held::places).map(|(start, end)| (start as u64, end as u64)).collect();
    places.sort_unstable();
    let end = file.seek(SeekFrom::End(0))?;
    places.push((end, end));
    let (mut hash, mut at) = (Fnv(0xcbf2_9ce4_8422_2325), 0);
    for (start, end) in places {
        if start > at {
            file.seek(SeekFrom::Start(at))?;
            io::copy(&mut file.by_ref().take(start - at), &mut hash)?;
        }
        at = at.max(end);
    }
    Ok(hash.0)
}

/// FNV-1a of 64 bits of what is written.
struct Fnv(u64);

impl Write for Fnv {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
