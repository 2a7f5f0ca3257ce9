//! The file in which the compiled pipelines of a program stay from process to process.
//!
//! Comes in: a directory, an adapter and a program; what the driver made of its pipelines. Goes out: the same to the next
//! process. Always holds: what is read was written whole for this adapter, driver and program, and has its checksum;
//! whatever cannot be read or written, a caller gets pipelines all the same; the directory does not grow without end.

use super::program::Program;
use crate::whole::{self, Lasting};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// What files begin with: a name and the number of their form.
const MAGIC: [u8; 12] = *b"precast\0\x01\0\0\0";

/// How names of files end.
const EXTENSION: &str = "pipelines";

/// Most bytes of a file that is read, and of all files in a directory: those that were used last stay.
const MOST: u64 = 256 << 20;

/// The file of a program on an adapter.
#[derive(Debug)]
pub(super) struct CacheFile {
    path: PathBuf,
    /// Adapter, driver and program in words, which stand in the file as well.
    identity: String,
    /// The checksum of what the file holds.
    held: Mutex<Option<u64>>,
}

/// What a driver gave, as a file has kept it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Kept(Vec<u8>);

impl Kept {
    /// The bytes that the driver gave.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl CacheFile {
    /// The file in this directory; `None` where the API of the adapter has no such caches.
    pub(super) fn new(directory: &Path, adapter: &wgpu::AdapterInfo, program: &Program) -> Option<Self> {
        let key = wgpu::util::pipeline_cache_key(adapter)?;
        let wgpu::AdapterInfo { name, driver, driver_info, .. } = adapter;
        let (version, texts) = (env!("CARGO_PKG_VERSION"), texts(program));
        let identity = format!("precast {version}\n{key}\n{name}\n{driver}\n{driver_info}\n{texts:016x}");
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        let path = directory.join(format!("{key}-{:016x}.{EXTENSION}", checksum(0, identity.as_bytes())));
        Some(Self { path, identity, held: Mutex::default() })
    }

    /// What the file holds, if it is whole and of this adapter, driver and program.
    pub(super) fn read(&self) -> Option<Kept> {
        let file = File::open(&self.path).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MOST {
            return None;
        }
        let mut whole = Vec::with_capacity(metadata.len() as usize);
        (&file).take(MOST).read_to_end(&mut whole).ok()?;
        let kept = decode(&whole, &self.identity)?;
        *self.held() = Some(checksum(0, kept));
        // Which files were used last is of those alone that can be written.
        let _ = file.set_modified(SystemTime::now());
        Some(Kept(kept.to_vec()))
    }

    /// Lets the file hold what a driver has given, unless it does already.
    pub(super) fn write(&self, bytes: &[u8]) {
        let sum = checksum(0, bytes);
        let mut held = self.held();
        // What is too much to be read back would have all others removed.
        if *held == Some(sum) || bytes.len() as u64 > MOST / 2 {
            return;
        }
        let directory = self.path.parent().unwrap_or(Path::new(""));
        let written = create_private(directory).and_then(|()| {
            whole::replace(&self.path, None, Lasting::No, |mut file| {
                file.write_all(&head(&self.identity, bytes.len(), sum))?;
                file.write_all(bytes)
            })
        });
        // A directory that cannot be written is no mistake: the next process compiles again.
        if written.is_ok() {
            *held = Some(sum);
            trim(directory, MOST);
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Option<u64>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What stands before the bytes of a driver.
fn head(identity: &str, len: usize, sum: u64) -> Vec<u8> {
    let mut head = MAGIC.to_vec();
    for number in [identity.len() as u64, len as u64, sum] {
        head.extend(number.to_le_bytes());
    }
    head.extend(identity.as_bytes());
    head
}

/// The bytes of a driver in a whole file of this identity.
fn decode<'f>(file: &'f [u8], identity: &str) -> Option<&'f [u8]> {
    let (magic, rest) = file.split_first_chunk()?;
    let (head, rest) = rest.split_first_chunk::<24>()?;
    let number = |n: usize| head[8 * n..].first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (found, bytes) = rest.split_at_checked(usize::try_from(number(0)?).ok()?)?;
    let is_whole = *magic == MAGIC
        && found == identity.as_bytes()
        && bytes.len() as u64 == number(1)?
        && checksum(0, bytes) == number(2)?;
    is_whole.then_some(bytes)
}

/// A number of the texts of a program. Of programs that share it the pipelines would share a file, in which a driver finds each
/// by its text.
fn texts(program: &Program) -> u64 {
    let all =
        program.entries.iter().flat_map(|entry| [entry.shared, entry.wgsl]).chain([program.wgsl, program.foreign.wgsl]);
    all.fold(0, |sum, text| checksum(sum, text.as_bytes()))
}

/// A checksum of bytes behind others of this sum. Each step is a bijection of the sum and of the word, so that no change of a
/// single word is lost.
fn checksum(sum: u64, bytes: &[u8]) -> u64 {
    /// 2⁶⁴ over the golden ratio, rounded to an odd number.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let step = |sum: u64, word: u64| (sum.rotate_left(29) ^ word).wrapping_mul(ODD);
    let (words, rest) = bytes.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let sum = words.iter().fold(step(sum, bytes.len() as u64), |sum, word| step(sum, u64::from_le_bytes(*word)));
    step(sum, u64::from_le_bytes(last))
}

/// Makes a directory in which others write nothing, if there is none.
fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Removes the files that were used longest ago while all have more bytes than `most`. Others in the directory stay.
fn trim(directory: &Path, most: u64) {
    let is_ours = |path: &Path| path.extension().is_some_and(|extension| extension == EXTENSION);
    whole::remove_abandoned(directory, |target| is_ours(Path::new(target)));
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .filter(|entry| is_ours(&entry.path()))
        .filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, len, _)| len).sum();
    for (_, len, path) in files {
        if bytes <= most {
            return;
        }
        bytes -= len;
        // Another process may have removed it, or may use it.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests;
