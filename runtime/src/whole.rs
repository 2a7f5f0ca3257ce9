//! Files that are written whole: in comes a path and what writes a file, out comes the file. Always: whoever opens the path
//! finds the old file or the new one; and what a killed process had begun is gone after the next call.

use alloc::{format, string::String};
use core::hash::{BuildHasher, Hasher};
use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    hash::RandomState,
    io,
    path::{Path, PathBuf},
};

/// Whether a file must still be whole when the machine has stopped, for which its writer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// It must.
    Yes,
    /// Who reads it finds out whether it is whole.
    #[cfg(feature = "gpu")]
    No,
}

/// Writes what `path` names, through symbolic links. A file is written beside and then put in the place of the old one, whose
/// owner and permissions it gets; anything else, such as a pipe or a device, is written to as it is.
pub(crate) fn save(path: &Path, write: impl FnOnce(&File) -> io::Result<()>) -> io::Result<()> {
    let target = followed(path)?;
    match OpenOptions::new().write(true).open(&target) {
        Ok(file) => match file.metadata()? {
            old if old.is_file() => replace(&target, Some(&old), Lasting::Yes, write),
            _ => write(&file),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(&target, None, Lasting::Yes, write),
        Err(error) => Err(error),
    }
}

/// The path that `path` stands for if it is a symbolic link, which may lead nowhere yet.
pub(crate) fn followed(path: &Path) -> io::Result<PathBuf> {
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
pub(crate) fn replace(
    target: &Path,
    old: Option<&Metadata>,
    lasting: Lasting,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let beside = Beside::of(target);
    beside.remove_abandoned();
    let (file, temporary) = beside.create(old)?;
    let write = || {
        write(&file)?;
        if lasting == Lasting::Yes {
            file.sync_all()?;
        }
        old.map_or(Ok(()), |old| resemble(&file, old))?;
        fs::rename(&temporary, target)
    };
    let written = write();
    if written.is_err() {
        // The error of writing is the one to report; a file that cannot be removed now is removed by the next call.
        let _ = fs::remove_file(&temporary);
    } else if cfg!(unix) && lasting == Lasting::Yes {
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

/// Removes the files of a directory in which processes that were killed prepared certain targets: those that are not locked. What
/// cannot be removed is let be.
pub(crate) fn remove_abandoned(directory: &Path, is_target: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if Beside::target(&entry.file_name().to_string_lossy()).is_some_and(&is_target)
            && let Ok(file) = OpenOptions::new().write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The files in which calls prepare what is to be `.../NAME`: `.../.NAME.RANDOM.tmp`, each locked as long as its call lives.
pub(crate) struct Beside {
    directory: PathBuf,
    /// What their names have of that of the target, which several targets may share.
    name: String,
}

impl Beside {
    const DIGITS: usize = 16;
    const SUFFIX: &str = ".tmp";
    /// Bytes of the target's name that are kept: no file system allows fewer than 143 in all.
    const MOST: usize = 96;

    pub(crate) fn of(target: &Path) -> Beside {
        let directory = target.parent().filter(|directory| !directory.as_os_str().is_empty());
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let name = &name[..name.floor_char_boundary(Self::MOST)];
        Beside { directory: directory.unwrap_or(Path::new(".")).into(), name: name.into() }
    }

    /// A new file, which only its owner can read if that holds of the old one.
    pub(crate) fn create(&self, old: Option<&Metadata>) -> io::Result<(File, PathBuf)> {
        loop {
            // Hashers of the standard library start with random keys.
            let random = RandomState::new().build_hasher().finish();
            let (name, digits, suffix) = (&self.name, Self::DIGITS, Self::SUFFIX);
            let path = self.directory.join(format!(".{name}.{random:0digits$x}{suffix}"));
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

    /// Removes those of processes that were killed.
    fn remove_abandoned(&self) {
        remove_abandoned(&self.directory, |target| target == self.name);
    }

    /// The name of the target of a file of this name, if it is one of them.
    fn target(name: &str) -> Option<&str> {
        let (target, digits) = name.strip_prefix('.')?.strip_suffix(Self::SUFFIX)?.rsplit_once('.')?;
        let is_one = digits.len() == Self::DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_one.then_some(target)
    }
}
