//! Files whose names are not quite the model's: in comes a path and what to make of the names behind it, out comes a
//! reader whose tensors have the model's names. Always: what still differs is one error with every difference, before
//! anything is changed.

use alloc::{
    collections::{BTreeMap, btree_map},
    string::String,
    vec,
    vec::Vec,
};
use std::path::{Path, PathBuf};

use crate::{
    difference::Difference,
    error::{Error, Part, Result},
    float::Float,
    safetensors::{Entry, Reader},
    spec::ModelSpec,
    storage::{agree, parameters},
};

/// A safetensors file, or the index of several, and how its names become those of a model: what `load_from` and
/// `open_from` of a model take.
///
/// # Examples
/// ```
/// use precast::prelude::*;
///
/// model! {
///     pub struct Net { hidden: Linear(2, 16), norm: LayerNorm(16) }
///     impl Net {
///         pub fn run(&self, x: f32[B, 2]) -> f32[B, 16] { self.norm(self.hidden(x)) }
///     }
/// }
///
/// # fn main() -> precast::Result<()> {
/// # let path = std::env::temp_dir().join(format!("precast-file-example-{}.safetensors", std::process::id()));
/// # Net::init(0).save(&path)?;
/// let mut net = Net::init(42);
/// // Of a file with `LayerNorm.gamma` and `LayerNorm.beta`, and with more layers than are wanted here.
/// let file = precast::File::new(&path)
///     .rename("LayerNorm.gamma", "norm.weight")
///     .rename("LayerNorm.beta", "norm.bias")
///     .strict(false);
/// let unmatched = net.load_from(&file)?;
/// println!("not in the file: {:?}", unmatched.missing);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct File {
    path: PathBuf,
    prefix: String,
    renames: Vec<(String, String)>,
    strict: bool,
}

/// What a file that was read and a model do not have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unmatched {
    /// Parameters of the model that the file lacks, which have kept their values.
    pub missing: Vec<String>,
    /// Tensors of the file that the model lacks, as the file calls them.
    pub unexpected: Vec<String>,
}

impl File {
    /// The file at `path`, whose names are the model's. A path that ends in `.safetensors.index.json` is Hugging Face's
    /// index of files beside it.
    ///
    /// # Examples
    /// ```
    /// let file = precast::File::new("model.safetensors.index.json");
    /// ```
    pub fn new(path: impl AsRef<Path>) -> Self {
        File { path: path.as_ref().into(), prefix: String::new(), renames: vec![], strict: true }
    }

    /// Reads only tensors whose names begin with `prefix`, and takes it off: the others are not the model's.
    ///
    /// # Examples
    /// A whole BERT, of which a model is the encoder:
    /// ```
    /// let file = precast::File::new("model.safetensors").prefix("bert.encoder.");
    /// ```
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        File { prefix: prefix.into(), ..self }
    }

    /// Renames a parameter of the file, or all that are inside of a layer: `from` is a name without the prefix, or its
    /// beginning as far as a dot, in which `*` stands for any characters, as few as possible. Each `*` of `to` stands for what
    /// the `*` at the same place in the order of `from` does. Of several renames the first that fits a name counts.
    ///
    /// # Examples
    /// ```
    /// let file = precast::File::new("model.safetensors")
    ///     .rename("encoder.layer.*.attention.self.query", "blocks.*.query") // its weight and its bias
    ///     .rename("*.gamma", "*.weight");
    /// ```
    pub fn rename(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.renames.push((from.into(), to.into()));
        self
    }

    /// Whether the file must have exactly the parameters of the model, as it must if nothing is said. Otherwise tensors
    /// that only the file has are passed over, and parameters that it lacks keep their values; a model that is opened
    /// has none to keep, and needs them all. What both have must have the same shape in any case.
    ///
    /// # Examples
    /// ```
    /// let file = precast::File::new("model.safetensors").strict(false);
    /// ```
    pub fn strict(self, strict: bool) -> Self {
        File { strict, ..self }
    }

    /// The tensors by the names of the model, and what one of the two lacks if that may be.
    pub(crate) fn open<T: Float>(&self, spec: &ModelSpec) -> Result<(Reader, Unmatched)> {
        let (reader, passed) = self.compared::<T>(spec)?;
        let mut unmatched = Unmatched::default();
        for difference in passed {
            match difference {
                Difference::Missing { name, .. } => unmatched.missing.push(name),
                Difference::Unexpected { name, .. } => unmatched.unexpected.push(name),
                _ => unreachable!("only these are passed over"),
            }
        }
        Ok((reader, unmatched))
    }

    /// The tensors by the names of the model, all of which are there.
    pub(crate) fn open_whole<T: Float>(&self, spec: &ModelSpec) -> Result<Reader> {
        let (reader, mut passed) = self.compared::<T>(spec)?;
        passed.retain(|difference| matches!(difference, Difference::Missing { .. }));
        agree(spec, Part::Parameters, &reader, passed)?;
        Ok(reader)
    }

    /// The tensors by the names of the model, and the differences that are passed over.
    fn compared<T: Float>(&self, spec: &ModelSpec) -> Result<(Reader, Vec<Difference>)> {
        let stars = |pattern: &str| pattern.matches('*').count();
        if let Some((from, to)) = self.renames.iter().find(|(from, to)| stars(to) > stars(from)) {
            return Err(Error::Rename { from: from.clone(), to: to.clone() });
        }
        let mut reader = Reader::open(&self.path)?;
        let mut all = self.name(&mut reader.tensors);
        all.extend(parameters::<T>(spec, &[""], &reader));
        let pass = |difference: &Difference| {
            !self.strict && matches!(difference, Difference::Missing { .. } | Difference::Unexpected { .. })
        };
        let (passed, all) = all.into_iter().partition(pass);
        agree(spec, Part::Parameters, &reader, all)?;
        Ok((reader, passed))
    }

    /// Gives the tensors of a file the names of the model.
    fn name(&self, tensors: &mut BTreeMap<String, Entry>) -> Vec<Difference> {
        let (mut differences, mut named) = (vec![], BTreeMap::new());
        for (full, entry) in core::mem::take(tensors) {
            let Some(name) = full.strip_prefix(&self.prefix) else { continue };
            match named.entry(self.renamed(name)) {
                btree_map::Entry::Vacant(place) => {
                    place.insert(entry);
                }
                btree_map::Entry::Occupied(place) => {
                    let both = [place.get().name.clone(), full];
                    differences.push(Difference::Collision { name: place.key().clone(), both });
                }
            }
        }
        if named.is_empty() && !self.prefix.is_empty() {
            differences.push(Difference::Prefix { prefix: self.prefix.clone() });
        }
        *tensors = named;
        differences
    }

    /// What a name becomes that has lost its prefix.
    fn renamed(&self, name: &str) -> String {
        self.renames.iter().find_map(|(from, to)| rename(from, to, name)).unwrap_or_else(|| name.into())
    }
}

/// What `name` becomes, if it is or begins with what `from` stands for.
fn rename(from: &str, to: &str, name: &str) -> Option<String> {
    let (runs, rest) = split(from, name)?;
    let mut runs = runs.into_iter();
    let mut renamed = String::with_capacity(name.len() + to.len());
    for part in to.split_inclusive('*') {
        match part.strip_suffix('*') {
            Some(part) => renamed.extend([part, runs.next()?]),
            None => renamed.push_str(part),
        }
    }
    renamed.push_str(rest);
    Some(renamed)
}

/// What every `*` of `from` stands for in `name`, and what follows.
fn split<'n>(from: &str, name: &'n str) -> Option<(Vec<&'n str>, &'n str)> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with('.') || from.ends_with('.');
    let mut parts = from.split('*').peekable();
    let mut rest = name.strip_prefix(parts.next()?)?;
    let mut runs = vec![];
    // A part that is found as early as it can be leaves the most for those behind it, so none needs to be tried again.
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let found = |at: usize| {
            let after = rest.get(at..)?.strip_prefix(part)?;
            (!last || ends(after)).then_some((&rest[..at], after))
        };
        let (run, after) = (0..=rest.len()).find_map(found)?;
        runs.push(run);
        rest = after;
    }
    ends(rest).then_some((runs, rest))
}

#[cfg(test)]
mod tests;
