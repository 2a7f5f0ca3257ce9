//! A directory of a test by itself.

use alloc::{format, string::String, vec::Vec};
use std::{fs, path::PathBuf};

/// A directory, removed with what is in it.
pub(crate) struct Scene(PathBuf);

impl Scene {
    pub(crate) fn new(name: &str) -> Scene {
        let directory = std::env::temp_dir().join(format!("precast-{name}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        Scene(directory)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
