//! Writing: in come named tensors and free text, out comes a file. Always: whoever opens the path
//! finds the old file or the new one, whole, even if the machine stops in between; and what a killed process had begun is
//! gone after the next call.

use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::cmp::Reverse;
use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
};

use super::{METADATA, index, json::quote, size};
use crate::error::{Error, Result};
use crate::whole;

/// One tensor to be written.
pub(crate) struct Tensor<'a> {
    pub(crate) name: String,
    /// The element type as the format writes it.
    pub(crate) dtype: &'static str,
    pub(crate) shape: Cow<'a, [usize]>,
    /// The values as they are in memory.
    pub(crate) bytes: Cow<'a, [u8]>,
}

impl Tensor<'_> {
    /// Bytes of one element.
    fn size(&self) -> usize {
        size(self.dtype).unwrap_or(1)
    }

    /// The values as the format writes them.
    pub(crate) fn little_endian(&self) -> Cow<'_, [u8]> {
        if cfg!(target_endian = "little") {
            return Cow::Borrowed(&self.bytes);
        }
        Cow::Owned(self.bytes.chunks_exact(self.size()).flat_map(|element| element.iter().rev().copied()).collect())
    }
}

/// Puts tensors into an order in which each starts on a multiple of the size of its elements, and otherwise leaves theirs.
pub(crate) fn align(tensors: &mut [Tensor<'_>]) {
    tensors.sort_by_key(|tensor| Reverse(tensor.size()));
}

/// The bytes of a file.
pub(crate) fn encode(metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Vec<u8> {
    let mut bytes = header(metadata, tensors);
    for tensor in tensors {
        bytes.extend_from_slice(&tensor.little_endian());
    }
    bytes
}

/// Writes what `path` names, as [`whole::save`] does.
///
/// A path that reading would take for an index is refused.
pub(crate) fn save(path: &Path, metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Result<()> {
    if index::is(path) {
        return Err(Error::SaveToIndex { path: path.into() });
    }
    whole::save(path, |file| write(file, metadata, tensors)).map_err(Error::io(path))
}

fn write(file: &File, metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> io::Result<()> {
    let mut file = BufWriter::new(file);
    file.write_all(&header(metadata, tensors))?;
    for tensor in tensors {
        file.write_all(&tensor.little_endian())?;
    }
    file.flush()
}

fn header(metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Vec<u8> {
    let mut text = String::from("{");
    if !metadata.is_empty() {
        text.push_str(&format!("\"{METADATA}\":{{"));
        for (index, (key, value)) in metadata.iter().enumerate() {
            text.push_str(if index == 0 { "" } else { "," });
            quote(key, &mut text);
            text.push(':');
            quote(value, &mut text);
        }
        text.push('}');
    }
    let mut start = 0;
    for tensor in tensors {
        text.push_str(if text.len() == 1 { "" } else { "," });
        quote(&tensor.name, &mut text);
        let end = start + tensor.bytes.len();
        let (dtype, shape) = (tensor.dtype, &tensor.shape);
        text.push_str(&format!(":{{\"dtype\":\"{dtype}\",\"shape\":{shape:?},\"data_offsets\":[{start},{end}]}}"));
        start = end;
    }
    text.push('}');
    // Values start on a multiple of 8 bytes, as the reference implementation has it.
    while text.len() % 8 != 0 {
        text.push(' ');
    }
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.into_bytes());
    bytes
}

#[cfg(test)]
mod tests;
