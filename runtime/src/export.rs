//! Files of ONNX: what the compiler wrote of a function and the values of parameters in, a file out. Always: parameters have the names
//! of `state_dict`; whoever opens the path finds the old file or the new one.
//!
//! A file is a message of Protocol Buffers, of which each field is a tag, a length and bytes. So the graph that the compiler wrote
//! is continued by its initialisers, and nothing here knows what a node is.

use alloc::{format, string::String, vec::Vec};
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use crate::{
    device::{Blocking, Device},
    error::{Error, Result},
    float::Float,
    safetensors::Tensor,
    spec::ModelSpec,
    weights::Weights,
    whole,
};

/// What the compiler says of a function's file.
#[derive(Debug)]
pub struct Exported {
    /// The message of the model, without its graph.
    pub head: &'static [u8],
    /// The message of the graph, without the initialisers of parameters.
    pub graph: &'static [u8],
    /// The numbers of the parameters that it reads.
    pub parameters: &'static [usize],
}

/// The most bytes of a message: its readers count them in 31 bits.
const MOST: u64 = i32::MAX as u64;

/// Where a tensor may start in a file of its own, so that it can be mapped: a page.
const PAGE: u64 = 4096;

/// The numbers of the fields of the schema, `onnx.proto3` of ONNX 1.23.
mod field {
    pub(super) const GRAPH_OF_MODEL: u8 = 7;
    pub(super) const INITIALIZER_OF_GRAPH: u8 = 5;
    pub(super) const DIMS: u8 = 1;
    pub(super) const DATA_TYPE: u8 = 2;
    pub(super) const NAME: u8 = 8;
    pub(super) const RAW_DATA: u8 = 9;
    pub(super) const EXTERNAL_DATA: u8 = 13;
    pub(super) const DATA_LOCATION: u8 = 14;
    pub(super) const KEY: u8 = 1;
    pub(super) const VALUE: u8 = 2;
}

/// That the elements of a tensor are in another file.
const EXTERNAL: u64 = 1;

impl<D: Device, T: Float> Weights<D, T> {
    /// Writes the file of a function, where asked with external data.
    #[doc(hidden)]
    pub fn __emitted_code_only_to_onnx(&self, path: &Path, exported: &Exported, external: bool) -> Result<()>
    where
        D: Blocking,
    {
        self.device.wait(self.__emitted_code_only_to_onnx_async(path, exported, external))
    }

    /// The same, without blocking on the device.
    #[doc(hidden)]
    pub async fn __emitted_code_only_to_onnx_async(
        &self,
        path: &Path,
        exported: &Exported,
        external: bool,
    ) -> Result<()> {
        let words = self.host().await?;
        let most = if external { 0 } else { MOST };
        save(path, exported, &tensors::<T>(self.spec, exported, words.as_slice()), most)
    }
}

/// The parameters that a function reads.
fn tensors<'a, T: Float>(spec: &ModelSpec, exported: &Exported, words: &'a [f32]) -> Vec<Tensor<'a>> {
    let instances = exported.parameters.iter().flat_map(|&number| spec.instances_of(number));
    let tensor = |instance: crate::spec::Instance| {
        let (dtype, bytes): (_, &[u8]) = match instance.quantized(words) {
            Some(quantized) => ("I8", bytemuck::cast_slice(quantized.codes)),
            None => (T::DTYPE, bytemuck::cast_slice(instance.values::<T>(words))),
        };
        Tensor { name: instance.name, dtype, shape: instance.spec.shape.into(), bytes: bytes.into() }
    };
    instances.map(tensor).collect()
}

/// The message of a tensor: its beginning, and what follows of the file's own bytes.
struct Initializer<'t> {
    start: Vec<u8>,
    elements: Option<&'t Tensor<'t>>,
}

impl<'t> Initializer<'t> {
    /// With the elements.
    fn inside(tensor: &'t Tensor<'t>) -> Initializer<'t> {
        let mut start = described(tensor);
        start.extend(message(field::RAW_DATA, tensor.bytes.len() as u64));
        Initializer { start, elements: Some(tensor) }
    }

    /// With the place of the elements in another file.
    fn outside(tensor: &'t Tensor<'t>, file: &str, offset: u64) -> Initializer<'t> {
        let mut start = described(tensor);
        let (offset, length): (String, String) = (format!("{offset}"), format!("{}", tensor.bytes.len()));
        for (key, value) in [("location", file), ("offset", &offset), ("length", &length)] {
            let mut entry = Vec::new();
            text(&mut entry, field::KEY, key);
            text(&mut entry, field::VALUE, value);
            start.extend(message(field::EXTERNAL_DATA, entry.len() as u64));
            start.extend(entry);
        }
        number(&mut start, field::DATA_LOCATION, EXTERNAL);
        Initializer { start, elements: None }
    }

    /// The beginning of its field in the graph, and the bytes of the whole field.
    fn field(&self) -> (Vec<u8>, u64) {
        let length = self.start.len() as u64 + self.elements.map_or(0, |tensor| tensor.bytes.len() as u64);
        let begin = message(field::INITIALIZER_OF_GRAPH, length);
        let all = begin.len() as u64 + length;
        (begin, all)
    }
}

/// Writes a file, and beside it another with the elements of tensors where there are more bytes than a message may have.
fn save(path: &Path, exported: &Exported, tensors: &[Tensor<'_>], most: u64) -> Result<()> {
    let inside: Vec<Initializer<'_>> = tensors.iter().map(Initializer::inside).collect();
    let (begin, graph) = graph(exported, &inside);
    if tensors.is_empty() || (exported.head.len() + begin.len()) as u64 + graph <= most {
        return write(path, exported, &inside);
    }
    let path = &whole::followed(path).map_err(Error::io(path))?;
    let data = beside(path);
    let name = data.file_name().unwrap_or_default().to_string_lossy();
    let (mut offset, mut outside) = (0, Vec::new());
    for tensor in tensors {
        outside.push(Initializer::outside(tensor, &name, offset));
        offset += (tensor.bytes.len() as u64).next_multiple_of(PAGE);
    }
    whole::save(&data, |file| write_elements(file, tensors)).map_err(Error::io(&data))?;
    write(path, exported, &outside)
}

/// The file of the elements that belongs to one.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".data");
    path.with_file_name(name)
}

/// Writes the elements of tensors, each from a page on.
fn write_elements(file: &File, tensors: &[Tensor<'_>]) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    for tensor in tensors {
        let bytes = tensor.little_endian();
        file.write_all(&bytes)?;
        let gap = (bytes.len() as u64).next_multiple_of(PAGE) - bytes.len() as u64;
        io::copy(&mut io::Read::take(io::repeat(0), gap), &mut file)?;
    }
    file.flush()
}

/// The beginning of the field of the graph, and its bytes.
fn graph(exported: &Exported, initializers: &[Initializer<'_>]) -> (Vec<u8>, u64) {
    let all: u64 = initializers.iter().map(|initializer| initializer.field().1).sum();
    let all = exported.graph.len() as u64 + all;
    (message(field::GRAPH_OF_MODEL, all), all)
}

fn write(path: &Path, exported: &Exported, initializers: &[Initializer<'_>]) -> Result<()> {
    let written = |file: &File| {
        let mut file = BufWriter::new(file);
        file.write_all(exported.head)?;
        file.write_all(&graph(exported, initializers).0)?;
        file.write_all(exported.graph)?;
        for initializer in initializers {
            file.write_all(&initializer.field().0)?;
            file.write_all(&initializer.start)?;
            if let Some(tensor) = initializer.elements {
                file.write_all(&tensor.little_endian())?;
            }
        }
        file.flush()
    };
    whole::save(path, written).map_err(Error::io(path))
}

/// What is said of a tensor besides its elements.
fn described(tensor: &Tensor<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &extent in tensor.shape.iter() {
        number(&mut bytes, field::DIMS, extent as u64);
    }
    number(&mut bytes, field::DATA_TYPE, data_type(tensor.dtype));
    text(&mut bytes, field::NAME, &tensor.name);
    bytes
}

/// ONNX's number of an element type of parameters.
fn data_type(dtype: &str) -> u64 {
    match dtype {
        "I8" => 3,
        "F16" => 10,
        "F64" => 11,
        "BF16" => 16,
        _ => 1,
    }
}

/// The beginning of a field of so many bytes.
fn message(field: u8, length: u64) -> Vec<u8> {
    let mut bytes = [field << 3 | 2].to_vec();
    varint(&mut bytes, length);
    bytes
}

fn text(bytes: &mut Vec<u8>, field: u8, text: &str) {
    bytes.extend(message(field, text.len() as u64));
    bytes.extend(text.as_bytes());
}

fn number(bytes: &mut Vec<u8>, field: u8, number: u64) {
    bytes.push(field << 3);
    varint(bytes, number);
}

/// Seven bits to a byte, the lowest first; the highest bit says that more follow.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, vec};

    /// The fields of a message: their numbers, and of those with a length the bytes.
    fn fields(mut bytes: &[u8]) -> Vec<(u8, u64, &[u8])> {
        let mut all = vec![];
        while let [tag, ..] = *bytes {
            let (mut at, mut number, mut shift) = (1, 0u64, 0);
            loop {
                let byte = bytes[at];
                number |= u64::from(byte & 0x7f) << shift;
                (at, shift) = (at + 1, shift + 7);
                if byte < 0x80 {
                    break;
                }
            }
            let held = if tag & 7 == 2 { number as usize } else { 0 };
            all.push((tag >> 3, number, &bytes[at..][..held]));
            bytes = &bytes[at + held..];
        }
        all
    }

    const FILE: Exported = Exported { head: &[8, 8], graph: b"\x12\x03net", parameters: &[] };

    fn saved(name: &str, most: u64, values: &[f32]) -> (Vec<u8>, Option<Vec<u8>>) {
        let path = std::env::temp_dir().join(format!("precast-export-{}-{name}.onnx", std::process::id()));
        let tensor = |name: &str, shape: &[usize], values: &[f32]| Tensor {
            name: name.into(),
            dtype: "F32",
            shape: shape.to_vec().into(),
            bytes: bytemuck::cast_slice(values).to_vec().into(),
        };
        let tensors = [tensor("weight", &[2, values.len() / 2], values), tensor("bias", &[1], &values[..1])];
        save(&path, &FILE, &tensors, most).unwrap();
        let (file, data) = (fs::read(&path).unwrap(), fs::read(beside(&path)).ok());
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(beside(&path));
        (file, data)
    }

    #[test]
    fn a_file_has_one_graph_with_all_parameters() {
        // Lengths of one byte and of several.
        for count in [2, 20, 20_000] {
            let values: Vec<f32> = (0..count).map(|k| k as f32 - 1.5).collect();
            let (file, data) = saved("inside", MOST, &values);
            assert!(data.is_none());
            let [(1, 8, _), (7, _, graph)] = fields(&file)[..] else { unreachable!("{:?}", fields(&file).len()) };
            let [(2, _, b"net"), (5, _, weight), (5, _, bias)] = fields(graph)[..] else { unreachable!("a graph") };
            let rows = count as u64 / 2;
            let [(1, 2, _), (1, columns, _), (2, 1, _), (8, _, b"weight"), (9, _, raw)] = fields(weight)[..] else {
                unreachable!("a tensor")
            };
            assert_eq!((columns, raw), (rows, bytemuck::cast_slice(&values)));
            assert_eq!(fields(bias)[2], (8, 4, &b"bias"[..]));
        }
    }

    #[test]
    fn many_bytes_are_beside_the_file() {
        let values: Vec<f32> = (0..2_000).map(|k| k as f32).collect();
        let (file, data) = saved("beside", 1_000, &values);
        let data = data.unwrap();
        let graph = fields(&file)[1].2;
        let entries = |tensor: &[u8]| -> Vec<(String, String)> {
            let of = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
            let entry = |entry: &[u8]| (of(fields(entry)[0].2), of(fields(entry)[1].2));
            fields(tensor).into_iter().filter(|field| field.0 == 13).map(|field| entry(field.2)).collect()
        };
        let tensors: Vec<&[u8]> = fields(graph).into_iter().filter(|field| field.0 == 5).map(|field| field.2).collect();
        assert!(tensors.iter().all(|tensor| fields(tensor).last() == Some(&(14, 1, &[][..]))));
        let bias = entries(tensors[1]);
        assert!(bias[0].1.ends_with("-beside.onnx.data"), "{bias:?}");
        assert_eq!((&*bias[1].1, &*bias[2].1), ("8192", "4"));
        assert_eq!(data[..8_000], *bytemuck::cast_slice::<f32, u8>(&values));
        assert_eq!((data.len(), &data[8_192..8_196]), (2 * 8_192 - 4_096, &0f32.to_le_bytes()[..]));
    }

    #[test]
    fn what_cannot_be_written_is_an_error() {
        let path = Path::new("/nowhere/at/all.onnx");
        assert!(matches!(save(path, &FILE, &[], MOST), Err(Error::Io { .. })));
    }
}
