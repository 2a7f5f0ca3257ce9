//! Writing: in come named tensors and free text, out comes a file. Always: whoever opens the path
//! finds the old file or the new one, whole, even if the machine stops in between; and what a killed process had begun is
//! gone after the next call.

use alloc::{borrow::Cow, format, string::String, vec::Vec};
use core::{
    cmp::Reverse,
    hash::{BuildHasher, Hasher},
};
use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    hash::RandomState,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use super::{METADATA, index, json::quote, size};
use crate::error::{Error, Result};

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
    fn little_endian(&self) -> Cow<'_, [u8]> {
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

/// Writes what `path` names, through symbolic links. A file is written beside and then put in the place of the old one, whose
/// owner and permissions it gets; anything else, such as a pipe or a device, is written to as it is.
///
/// A path that reading would take for an index is refused.
pub(crate) fn save(path: &Path, metadata: &[(&str, String)], tensors: &[Tensor<'_>]) -> Result<()> {
    if index::is(path) {
        return Err(Error::SaveToIndex { path: path.into() });
    }
    let save = || {
        let target = followed(path)?;
        match OpenOptions::new().write(true).open(&target) {
            Ok(file) => match file.metadata()? {
                old if old.is_file() => replace(&target, Some(&old), metadata, tensors),
                _ => write(&file, metadata, tensors),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => replace(&target, None, metadata, tensors),
            Err(error) => Err(error),
        }
    };
    save().map_err(Error::io(path))
}

/// The path that `path` stands for if it is a symbolic link, which may lead nowhere yet.
fn followed(path: &Path) -> io::Result<PathBuf> {
    /// As many links as Linux follows.
    const LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            // No link, or nothing at all.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Puts a new file in the place of `target`, whose metadata are `old`.
fn replace(
    target: &Path,
    old: Option<&Metadata>,
    metadata: &[(&str, String)],
    tensors: &[Tensor<'_>],
) -> io::Result<()> {
    let beside = Beside::of(target);
    beside.remove_abandoned();
    let (file, temporary) = beside.create(old)?;
    let write = || {
        write(&file, metadata, tensors)?;
        file.sync_all()?;
        old.map_or(Ok(()), |old| resemble(&file, old))?;
        fs::rename(&temporary, target)
    };
    let written = write();
    if written.is_err() {
        // The error of writing is the one to report; a file that cannot be removed now is removed by the next call.
        let _ = fs::remove_file(&temporary);
    } else if cfg!(unix) {
        // The rename is durable once the directory is; some file systems cannot say so.
        let _ = File::open(&beside.directory).and_then(|directory| directory.sync_all());
    }
    written
}

/// Gives a file the owner and the permissions of another.
fn resemble(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
            // Only a privileged user can give a file away; to others it belongs, as any file that they make.
            let _ = fchown(file, Some(old.uid()), Some(old.gid()));
        }
    }
    file.set_permissions(old.permissions())
}

/// The files in which calls prepare what is to be `.../NAME`: `.../.NAME.RANDOM.tmp`, each locked as long as its call lives.
struct Beside {
    directory: PathBuf,
    /// What their names begin with. Names that share it may be those of several targets.
    prefix: String,
}

impl Beside {
    const DIGITS: usize = 16;
    const SUFFIX: &str = ".tmp";
    /// Bytes of the target's name that are kept: no file system allows fewer than 143 in all.
    const MOST: usize = 96;

    fn of(target: &Path) -> Beside {
        let directory = target.parent().filter(|directory| !directory.as_os_str().is_empty());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let name = &name[..name.floor_char_boundary(Self::MOST)];
        Beside { directory: directory.unwrap_or(Path::new(".")).into(), prefix: format!(".{name}.") }
    }

    /// A new file, which only its owner can read if that holds of the old one.
    fn create(&self, old: Option<&Metadata>) -> io::Result<(File, PathBuf)> {
        loop {
            // Hashers of the standard library start with random keys.
            let random = RandomState::new().build_hasher().finish();
            let (prefix, digits, suffix) = (&self.prefix, Self::DIGITS, Self::SUFFIX);
            let path = self.directory.join(format!("{prefix}{random:0digits$x}{suffix}"));
            let mut options = OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            if let Some(old) = old {
                use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
                options.mode(old.permissions().mode() & 0o600);
            }
            #[cfg(not(unix))]
            let _ = old;
            let file = options.open(&path)?;
            // Another call may have taken the file for an abandoned one before it was locked. Where nothing can be locked,
            // nothing is taken for abandoned.
            let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
            if !is_taken && fs::exists(&path)? {
                return Ok((file, path));
            }
        }
    }

    /// Removes the files of processes that were killed: those that are not locked. What cannot be removed is let be.
    fn remove_abandoned(&self) {
        for entry in fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            if self.has(&entry.file_name().to_string_lossy())
                && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
                && file.try_lock().is_ok()
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Whether a file of this name is one of them.
    fn has(&self, name: &str) -> bool {
        let digits = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_suffix(Self::SUFFIX));
        digits.is_some_and(|digits| digits.len() == Self::DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
    }
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
