//! Writing: in come named tensors and free text, out comes a file. Always: whoever opens the path
//! finds the old file or the new one, whole, even if the machine stops in between.

use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::sync::atomic::{AtomicU32, Ordering};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{METADATA, json::quote};
use crate::error::{Error, Result};

/// One tensor to be written.
pub(crate) struct Tensor<'a> {
    pub(crate) name: String,
    /// The element type as the format writes it, of 4 bytes.
    pub(crate) dtype: &'static str,
    pub(crate) shape: Cow<'a, [usize]>,
    pub(crate) values: &'a [f32],
}

/// The bytes of a file.
pub(crate) fn encode(metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Vec<u8> {
    let mut bytes = header(metadata, tensors);
    for tensor in tensors {
        bytes.extend_from_slice(&little_endian(tensor.values));
    }
    bytes
}

/// Writes a file beside `path`, then puts it in the place of `path`.
pub(crate) fn save(path: &Path, metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Result<()> {
    let temporary = beside(path);
    let written = write(&temporary, metadata, tensors).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The error of writing is the one to report; a file that was never made cannot be removed.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(Error::io(path))?;
    if let Some(directory) = path.parent().filter(|_| cfg!(unix)) {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        // The rename is durable once the directory is; some file systems cannot say so.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    Ok(())
}

fn write(path: &Path, metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> io::Result<()> {
    let mut file = BufWriter::new(File::create_new(path)?);
    file.write_all(&header(metadata, tensors))?;
    for tensor in tensors {
        file.write_all(&little_endian(tensor.values))?;
    }
    file.into_inner()?.sync_all()
}

/// A name in the same directory that no other call uses.
fn beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.{count}.tmp", std::process::id()))
}

fn little_endian(values: &[f32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(values))
    } else {
        Cow::Owned(values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }
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
        let end = start + size_of_val(tensor.values);
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
mod tests {
    use super::*;

    #[test]
    fn a_failed_save_leaves_nothing_beside() {
        let directory = std::env::temp_dir().join(format!("precast-save-{}", std::process::id()));
        let path = directory.join("taken");
        fs::create_dir_all(&path).unwrap();
        assert!(matches!(save(&path, &[], &[]), Err(Error::Io { .. })));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        fs::remove_dir_all(&directory).unwrap();
    }
}
