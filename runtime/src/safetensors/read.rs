//! Reading: in comes a file, or the index of several, out come the names, types, shapes and values of
//! its tensors. Always: once a reader exists, every tensor lies inside its file and has the size that
//! its shape says.

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec, vec::Vec};
use std::{
    fs::File,
    io::{BufReader, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::{METADATA, half, index, json::Json, size};
use crate::{
    error::{Error, Result},
    float::Float,
    origin::Held,
};

trait Source: Read + Seek + Send {}
impl<T: Read + Seek + Send> Source for T {}

/// One tensor of a file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// What the file calls it.
    pub(crate) name: String,
    /// The element type as the file writes it.
    pub(crate) dtype: String,
    pub(crate) shape: Vec<usize>,
    /// The position of its file among those of the reader.
    pub(super) shard: usize,
    /// Bytes from the start of the values.
    start: usize,
    end: usize,
}

impl Entry {
    /// Whether numbers of type `dtype` can be read from it: floats from shorter ones too, all of which they have.
    pub(crate) fn holds(&self, dtype: &str) -> bool {
        let shorter: &[&str] = match dtype {
            "F32" => &["F16", "BF16"],
            "F64" => &["F32", "F16", "BF16"],
            _ => &[],
        };
        self.dtype == dtype || shorter.contains(&self.dtype.as_str())
    }

    /// Whether parameters of type `dtype` can be read from it: those of 16 bits and integers also from floats of up to 32 bits,
    /// which are rounded.
    pub(crate) fn gives(&self, dtype: &str) -> bool {
        let rounded = matches!(dtype, "F16" | "BF16" | "I8") && matches!(self.dtype.as_str(), "F32" | "F16" | "BF16");
        self.holds(dtype) || rounded
    }
}

impl Entry {
    /// A tensor at a known place of a file, or of constants, if that has as many bytes.
    pub(crate) fn of_place(name: String, shape: &[usize], held: &Held, (start, end): (usize, usize)) -> Option<Self> {
        let Held { dtype, in_program, .. } = *held;
        let bytes = shape.iter().try_fold(size(dtype)?, |bytes, &extent| bytes.checked_mul(extent))?;
        let (dtype, shape, shard) = (dtype.into(), shape.to_vec(), usize::from(in_program));
        (end.checked_sub(start) == Some(bytes)).then_some(Entry { name, dtype, shape, shard, start, end })
    }
}

/// Bytes that are converted at a time.
const CHUNK: usize = 4096;

/// An open file, or several with an index, whose headers have been checked.
pub(crate) struct Reader {
    pub(crate) path: PathBuf,
    pub(crate) metadata: BTreeMap<String, String>,
    pub(crate) tensors: BTreeMap<String, Entry>,
    pub(super) shards: Vec<Values>,
}

/// The values of one file.
pub(super) struct Values {
    path: PathBuf,
    source: Box<dyn Source>,
    /// Where they start.
    start: u64,
}

impl Reader {
    /// Reads tensors at known places of a file, or of constants, which have no header.
    pub(crate) fn of_places(path: &Path, file: impl Read + Seek + Send + 'static, constants: &'static [u8]) -> Self {
        let shard = |source: Box<dyn Source>| Values { path: path.into(), source, start: 0 };
        let shards = vec![shard(Box::new(file)), shard(Box::new(Cursor::new(constants)))];
        Reader { path: path.into(), metadata: BTreeMap::new(), tensors: BTreeMap::new(), shards }
    }

    /// Opens a file, or all files that an index names.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if index::is(path) { index::open(path) } else { Reader::file(path) }
    }

    /// Opens a file that is no index.
    pub(super) fn file(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path))?;
        Reader::new(path.into(), Box::new(BufReader::new(file)))
    }

    /// Takes the bytes of a file.
    pub(crate) fn bytes(bytes: Vec<u8>) -> Result<Self> {
        Reader::new("the bytes given".into(), Box::new(Cursor::new(bytes)))
    }

    fn new(path: PathBuf, mut source: Box<dyn Source>) -> Result<Self> {
        let total = source.seek(SeekFrom::End(0)).map_err(Error::io(&path))?;
        source.rewind().map_err(Error::io(&path))?;
        let invalid = |reason| Err(Error::Format { path: path.clone(), reason });
        if total < 8 {
            return invalid(format!("truncated: a safetensors file has at least 8 bytes, this one {total}"));
        }
        let mut length = [0; 8];
        source.read_exact(&mut length).map_err(Error::io(&path))?;
        let length = u64::from_le_bytes(length);
        if length > total - 8 {
            let left = total - 8;
            return invalid(format!("truncated: the header takes {length} bytes, but {left} follow"));
        }
        let mut header = Vec::new();
        source.by_ref().take(length).read_to_end(&mut header).map_err(Error::io(&path))?;
        let parsed = match core::str::from_utf8(&header) {
            Ok(header) => parse(header)
                .and_then(|(metadata, tensors)| check(&tensors, total - 8 - length).map(|()| (metadata, tensors))),
            Err(_) => Err("the header is not UTF-8".into()),
        };
        match parsed {
            Ok((metadata, tensors)) => {
                let shards = vec![Values { path: path.clone(), source, start: 8 + length }];
                Ok(Reader { path, metadata, tensors, shards })
            }
            Err(reason) => invalid(reason),
        }
    }

    /// Reads a tensor of `values.len()` numbers, of a type that [`Entry::holds`] theirs, or of integers of 64 bits;
    /// integers of 32 bits are read as the words that they are.
    pub(crate) fn read<T: Float>(&mut self, entry: &Entry, values: &mut [T]) -> Result<()> {
        self.shards[entry.shard].read(entry, values)
    }

    /// Reads a tensor of numbers of any type as floats: integers that these do not hold exactly are an error.
    pub(crate) fn read_numbers<T: Float>(&mut self, entry: &Entry, values: &mut [T]) -> Result<()> {
        self.shards[entry.shard].read_numbers(entry, values)
    }

    /// Reads the values of a tensor as they are, into as many bytes as it has.
    pub(crate) fn read_bytes(&mut self, entry: &Entry, bytes: &mut [u8]) -> Result<()> {
        self.shards[entry.shard].read_bytes(entry, bytes)
    }
}

impl Values {
    fn read<T: Float>(&mut self, entry: &Entry, values: &mut [T]) -> Result<()> {
        self.seek(entry)?;
        match entry.dtype.as_str() {
            dtype if dtype == T::DTYPE => self.read_whole(size_of::<T>(), bytemuck::cast_slice_mut(values)),
            "F16" => self.convert(entry, values, |bytes| half::from_f16(u16::from_le_bytes(bytes)).into()),
            "BF16" => self.convert(entry, values, |bytes| half::from_bf16(u16::from_le_bytes(bytes)).into()),
            "I64" => self.convert(entry, values, |bytes| i64::from_le_bytes(bytes) as f64),
            "F32" => self.convert(entry, values, |bytes| f32::from_le_bytes(bytes).into()),
            _ => self.read_whole(size_of::<T>(), bytemuck::cast_slice_mut(values)),
        }
    }

    fn read_numbers<T: Float>(&mut self, entry: &Entry, values: &mut [T]) -> Result<()> {
        self.seek(entry)?;
        match entry.dtype.as_str() {
            "F32" | "F16" | "BF16" => self.read(entry, values),
            dtype if dtype == T::DTYPE => self.read(entry, values),
            "F8_E4M3" => self.convert(entry, values, |[byte]| half::from_f8_e4m3(byte).into()),
            "BOOL" => self.convert(entry, values, |[byte]| (byte != 0).into()),
            "U8" => self.integers(entry, values, |bytes| u8::from_le_bytes(bytes).into()),
            "I8" => self.integers(entry, values, |bytes| i8::from_le_bytes(bytes).into()),
            "U16" => self.integers(entry, values, |bytes| u16::from_le_bytes(bytes).into()),
            "I16" => self.integers(entry, values, |bytes| i16::from_le_bytes(bytes).into()),
            "U32" => self.integers(entry, values, |bytes| u32::from_le_bytes(bytes).into()),
            "I32" => self.integers(entry, values, |bytes| i32::from_le_bytes(bytes).into()),
            "U64" => self.integers(entry, values, |bytes| u64::from_le_bytes(bytes) as f64),
            "I64" => self.integers(entry, values, |bytes| i64::from_le_bytes(bytes) as f64),
            dtype => {
                let reason = format!("`{}` has elements of type {dtype}, which {} does not hold", entry.name, T::DTYPE);
                Err(Error::Format { path: self.path.clone(), reason })
            }
        }
    }

    /// Reads integers of `N` bytes, of which each is a float exactly.
    fn integers<T: Float, const N: usize>(
        &mut self,
        entry: &Entry,
        values: &mut [T],
        number: impl Fn([u8; N]) -> f64,
    ) -> Result<()> {
        // From here on an f64 may be another integer than that which it was made of.
        const INEXACT: f64 = (1u64 << f64::MANTISSA_DIGITS) as f64;
        self.convert_if(entry, values, number, |number, value| number == value && number.abs() < INEXACT)
    }

    fn read_bytes(&mut self, entry: &Entry, bytes: &mut [u8]) -> Result<()> {
        self.seek(entry)?;
        self.read_whole(size(&entry.dtype).unwrap_or(1), bytes)
    }

    /// Goes to where a tensor starts.
    fn seek(&mut self, entry: &Entry) -> Result<()> {
        let at = SeekFrom::Start(self.start + entry.start as u64);
        self.source.seek(at).map_err(Error::io(&self.path)).map(drop)
    }

    /// Reads numbers of `N` bytes. One that would become infinite is an error.
    fn convert<T: Float, const N: usize>(
        &mut self,
        entry: &Entry,
        values: &mut [T],
        number: impl Fn([u8; N]) -> f64,
    ) -> Result<()> {
        self.convert_if(entry, values, number, |number, value| value.is_finite() || !number.is_finite())
    }

    /// Reads numbers of `N` bytes, some at a time. One that is not held by what it becomes is an error.
    fn convert_if<T: Float, const N: usize>(
        &mut self,
        entry: &Entry,
        values: &mut [T],
        number: impl Fn([u8; N]) -> f64,
        is_held: impl Fn(f64, f64) -> bool,
    ) -> Result<()> {
        let mut bytes = [0; CHUNK];
        for values in values.chunks_mut(CHUNK / N) {
            let bytes = &mut bytes[..N * values.len()];
            self.source.read_exact(bytes).map_err(Error::io(&self.path))?;
            for (value, &bytes) in values.iter_mut().zip(bytes.as_chunks().0) {
                let number = number(bytes);
                *value = T::from_f64(number);
                if !is_held(number, value.to_f64()) {
                    let (path, name) = (self.path.clone(), entry.name.clone());
                    return Err(Error::Range { path, name, number, dtype: T::DTYPE });
                }
            }
        }
        Ok(())
    }

    /// Reads elements of so many bytes as they are.
    fn read_whole(&mut self, size: usize, bytes: &mut [u8]) -> Result<()> {
        self.source.read_exact(bytes).map_err(Error::io(&self.path))?;
        if cfg!(target_endian = "big") {
            bytes.chunks_exact_mut(size.max(1)).for_each(<[u8]>::reverse);
        }
        Ok(())
    }
}

type Header = (BTreeMap<String, String>, BTreeMap<String, Entry>);

fn parse(text: &str) -> Result<Header, String> {
    let mut metadata = BTreeMap::new();
    let mut tensors = BTreeMap::new();
    let mut json = Json::new("header", text);
    json.object(|json, name| {
        if name == METADATA {
            return json.object(|json, key| {
                metadata.insert(key, json.string()?);
                Ok(())
            });
        }
        let entry = tensor(json, &name)?;
        match tensors.insert(name.clone(), entry) {
            None => Ok(()),
            Some(_) => Err(format!("`{name}` stands twice in the header")),
        }
    })?;
    json.end()?;
    Ok((metadata, tensors))
}

fn tensor(json: &mut Json<'_>, name: &str) -> Result<Entry, String> {
    let (mut dtype, mut shape, mut offsets) = (None, None, None);
    json.object(|json, key| {
        match key.as_str() {
            "dtype" => dtype = Some(json.string()?),
            "shape" => shape = Some(json.numbers()?),
            "data_offsets" => offsets = Some(json.numbers()?),
            _ => return Err(format!("`{name}` has an unknown key `{key}`")),
        }
        Ok(())
    })?;
    let missing = |key: &str| format!("`{name}` has no {key}");
    let offsets = offsets.ok_or_else(|| missing("data_offsets"))?;
    let &[start, end] = offsets.as_slice() else {
        return Err(format!("`{name}` has {} data_offsets, not 2", offsets.len()));
    };
    Ok(Entry {
        name: name.into(),
        dtype: dtype.ok_or_else(|| missing("dtype"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
        shard: 0,
        start,
        end,
    })
}

/// Tensors follow each other without holes, fill `available` bytes, and are as long as their
/// shapes.
fn check(tensors: &BTreeMap<String, Entry>, available: u64) -> Result<(), String> {
    let mut sorted: Vec<_> = tensors.iter().collect();
    sorted.sort_by_key(|(_, entry)| (entry.start, entry.end));
    let mut before = 0;
    for (name, Entry { dtype, shape, start, end, .. }) in sorted {
        if *start != before || end < start {
            return Err(format!(
                "`{name}` starts at byte {start} of the values, but the tensor before ends at {before}"
            ));
        }
        let bytes =
            size(dtype).and_then(|size| shape.iter().try_fold(size, |bytes, &extent| bytes.checked_mul(extent)));
        match bytes {
            Some(bytes) if bytes == end - start => {}
            None if size(dtype).is_none() => {}
            None => {
                return Err(format!("`{name}` is {dtype} {shape:?}, which no memory holds"));
            }
            Some(bytes) => {
                let found = end - start;
                return Err(format!("`{name}` is {dtype} {shape:?}, which takes {bytes} bytes, but has {found}"));
            }
        }
        before = *end;
    }
    match available.checked_sub(before as u64) {
        Some(0) => Ok(()),
        Some(more) => Err(format!("{more} bytes follow the last tensor")),
        None => Err(format!("truncated: the tensors take {before} bytes, but {available} follow the header")),
    }
}
