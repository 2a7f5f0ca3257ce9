//! A file and those beside it that hold elements of its tensors, its external data: bytes in, a message whose tensors have all their
//! elements out.
//!
//! Always: the bytes are one sequence, of the file itself and then of each other file in the order in which they are first named, so that
//! a tensor has one place wherever it lies. Other files are regular ones whose names lead nowhere but below the folder of the first. Places
//! of tensors that overlap may have twice the bytes of the files in all, so that a small file does not ask for much memory.

use super::Refusal;
use super::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;
use prost::bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};

/// How many bytes the places of tensors may have for each byte that their files have.
const SHARED: usize = 2;

/// A file that was read.
#[derive(Debug)]
pub struct File {
    /// What it says. Elements are in other files still where these are not what it says.
    pub(super) model: ModelProto,
    /// Why elements are not where tensors say.
    pub(super) refusals: Vec<Refusal>,
    /// Its bytes, and those of the others.
    bytes: Bytes,
    /// The names of the others from its folder, and how many bytes they have, in the order of the bytes.
    external: Vec<(String, usize)>,
    /// How many bytes the tensors in other files have.
    claimed: usize,
    /// What belongs to several tensors that are not the same: sorted places that are apart.
    overlaps: Vec<Range<usize>>,
}

impl File {
    /// The file of these bytes, with those that it names in `folder`, where it is in one.
    ///
    /// # Errors
    /// Where it is no ONNX file. What is wrong with the others, [`import`](super::import) says with all the rest.
    pub fn decode(bytes: Vec<u8>, folder: Option<&Path>) -> Result<File, Vec<Refusal>> {
        let bytes = Bytes::from(bytes);
        if bytes.starts_with(b"version https://git-lfs") {
            let reason = "this is a pointer of Git LFS to the file, which `git lfs pull` fetches";
            return Err(vec![Refusal::of_file(reason)]);
        }
        let no_file = |why| vec![Refusal::of_file(format!("this is no ONNX file: {why}"))];
        let mut model = ModelProto::decode(bytes.clone()).map_err(no_file)?;
        let mut claims = vec![];
        tensors(&mut model, &mut |name, tensor| claims.extend(tensor.is_external().then(|| Claim::of(name, tensor))));
        let mut file = File { model, refusals: vec![], bytes, external: vec![], claimed: 0, overlaps: vec![] };
        if !claims.is_empty() {
            file.model = ModelProto::default();
            file.join(&claims, folder).map_err(no_file)?;
        }
        Ok(file)
    }

    /// Reads the files in which tensors say that their elements are, and gives them these.
    fn join(&mut self, claims: &[Claim], folder: Option<&Path>) -> Result<(), prost::DecodeError> {
        let own = self.bytes.len();
        let bytes = std::mem::take(&mut self.bytes).into();
        let mut sequence = Sequence { bytes, names: BTreeMap::new(), files: BTreeMap::new(), external: vec![] };
        let mut places = vec![];
        for claim in claims {
            let place = sequence.place(claim, folder);
            let of = |why| Refusal::of_file(format!("elements of `{}` are in another file: {why}", claim.tensor));
            places.push(place.unwrap_or_else(|why| {
                self.refusals.push(of(why));
                None
            }));
        }
        (self.bytes, self.external) = (sequence.bytes.into(), sequence.external);
        let placed = claims.iter().zip(&places);
        let distinct: BTreeSet<_> = placed
            .filter_map(|(claim, place)| place.as_ref().map(|place| (place.start, place.end, &claim.what)))
            .collect();
        let distinct: Vec<Range<usize>> = distinct.into_iter().map(|(start, end, _)| start..end).collect();
        let held = self.bytes.len() - own;
        self.claimed = distinct.iter().map(Range::len).fold(0, usize::saturating_add);
        self.overlaps = overlaps(&distinct);
        if self.claimed > held.saturating_mul(SHARED) {
            let reason = format!("its tensors have {} bytes in other files, and these have only {held}", self.claimed);
            self.refusals.push(Refusal::of_file(reason));
            places.fill(None);
        }
        self.model = ModelProto::decode(self.bytes.slice(..own))?;
        let mut places = places.into_iter();
        tensors(&mut self.model, &mut |_, tensor| {
            if let Some(place) = tensor.is_external().then(|| places.next()).flatten().flatten() {
                let TensorProto { dims, data_type, name, .. } = std::mem::take(tensor);
                let raw_data = self.bytes.slice(place);
                *tensor = TensorProto { dims, data_type, name, raw_data, ..TensorProto::default() };
            }
        });
        Ok(())
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The other files: their names from the folder of this one, and their bytes.
    pub(super) fn external(&self) -> &[(String, usize)] {
        &self.external
    }

    /// The bytes of this file.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.external.iter().map(|(_, len)| len).sum::<usize>()
    }

    /// How many bytes it says something with: its own, and those of tensors in other files.
    pub(super) fn said(&self) -> usize {
        self.len().saturating_add(self.claimed)
    }

    /// Where elements are, if they are here, and belong to no other tensor.
    pub(super) fn place(&self, elements: &Bytes) -> Option<Range<usize>> {
        let start = elements.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        let end = start.checked_add(elements.len())?;
        let next = self.overlaps.partition_point(|other| other.end <= start);
        let is_own = self.overlaps.get(next).is_none_or(|other| end <= other.start);
        (!elements.is_empty() && end <= self.bytes.len() && is_own).then_some(start..end)
    }
}

impl TensorProto {
    /// Whether its elements are in another file.
    pub(super) fn is_external(&self) -> bool {
        self.data_location == 1
    }
}

/// What is done with tensors and what they are called: those of a node like its first result.
type Each<'e> = dyn FnMut(&str, &mut TensorProto) + 'e;

/// Every tensor of a file, in an order of its own.
fn tensors(model: &mut ModelProto, each: &mut Each<'_>) {
    model.graph.iter_mut().for_each(|graph| of_graph(graph, each));
    for function in &mut model.functions {
        of_nodes(&mut function.node, each);
        of_attributes(&function.name, &mut function.attribute_proto, each);
    }
}

/// Those of a graph, as deep as a decoder reads.
fn of_graph(graph: &mut GraphProto, each: &mut Each<'_>) {
    for tensor in &mut graph.initializer {
        let name = tensor.name.clone();
        each(&name, tensor);
    }
    of_nodes(&mut graph.node, each);
}

fn of_nodes(nodes: &mut [NodeProto], each: &mut Each<'_>) {
    for node in nodes {
        of_attributes(node.output.first().unwrap_or(&node.name), &mut node.attribute, each);
    }
}

fn of_attributes(name: &str, attributes: &mut [AttributeProto], each: &mut Each<'_>) {
    for AttributeProto { t, g, graphs, .. } in attributes {
        t.iter_mut().for_each(|tensor| each(name, tensor));
        g.iter_mut().chain(graphs).for_each(|graph| of_graph(graph, each));
    }
}

/// Where a tensor says that its elements are.
struct Claim {
    tensor: String,
    file: String,
    offset: Result<usize, String>,
    /// None where it does not say: as many as its type has.
    length: Result<Option<usize>, String>,
    /// Its element type and extents.
    what: (i32, Vec<i64>),
    /// The bytes of these, where they are a type.
    size: Option<usize>,
}

impl Claim {
    fn of(name: &str, tensor: &TensorProto) -> Claim {
        // Of several the last counts, as for ONNX's own reader.
        let entry = |key: &str| tensor.external_data.iter().rfind(|entry| entry.key == key).map(|entry| &entry.value);
        let number = |key: &str| {
            let no_number = |value: &String| format!("its `{key}` is `{value}`, which is no number of bytes");
            entry(key).map(|value| value.parse().map_err(|_| no_number(value))).transpose()
        };
        Claim {
            tensor: name.to_owned(),
            file: entry("location").cloned().unwrap_or_default(),
            offset: number("offset").map(Option::unwrap_or_default),
            length: number("length"),
            what: (tensor.data_type, tensor.dims.clone()),
            size: super::element::bytes(tensor),
        }
    }

    /// The place in a file that itself has that place.
    fn within(&self, file: &Range<usize>) -> Result<Range<usize>, String> {
        let (offset, length) = (self.offset.clone()?, self.length.clone()?);
        let length = length.or(self.size).unwrap_or_default();
        let end = offset.checked_add(length).filter(|end| *end <= file.len());
        let end = end.ok_or_else(|| {
            let (name, all) = (&self.file, file.len());
            format!("they are the {length} bytes from {offset} on of `{name}`, which has only {all}")
        })?;
        Ok(file.start + offset..file.start + end)
    }
}

/// What has been read.
struct Sequence {
    bytes: Vec<u8>,
    /// The places of files, by the names that tensors give; none of those that could not be read, which was said.
    names: BTreeMap<String, Option<Range<usize>>>,
    /// The same, by what the operating system calls them: a file has many names.
    files: BTreeMap<PathBuf, Range<usize>>,
    external: Vec<(String, usize)>,
}

impl Sequence {
    /// The place of a tensor. None where an error of its file has been said before.
    fn place(&mut self, claim: &Claim, folder: Option<&Path>) -> Result<Option<Range<usize>>, String> {
        let name = &claim.file;
        if let Some(known) = self.names.get(name) {
            return known.as_ref().map(|file| claim.within(file)).transpose();
        }
        let read = self.read(name, folder);
        self.names.insert(name.clone(), read.clone().ok());
        read.and_then(|file| claim.within(&file)).map(Some)
    }

    /// The place of a file, which is read if it has not been.
    fn read(&mut self, name: &str, folder: Option<&Path>) -> Result<Range<usize>, String> {
        let folder = folder.ok_or_else(|| format!("`{name}` is looked for in no folder"))?;
        let inside =
            below(name).ok_or_else(|| format!("`{name}` is no path of a file beside it, such as `weights.data`"))?;
        self.append(folder, inside).map_err(|why| format!("`{name}` cannot be read from its folder: {why}"))
    }

    fn append(&mut self, folder: &Path, inside: String) -> io::Result<Range<usize>> {
        let path = folder.join(&inside).canonicalize()?;
        if let Some(known) = self.files.get(&path) {
            return Ok(known.clone());
        }
        // Anything else may have no end.
        if !path.is_file() {
            return Err(io::Error::other("it is no file"));
        }
        let start = self.bytes.len();
        std::fs::File::open(&path)?.read_to_end(&mut self.bytes)?;
        let place = start..self.bytes.len();
        self.external.push((inside, place.len()));
        self.files.insert(path, place.clone());
        Ok(place)
    }
}

/// The path without what it does not need, if it leads to nothing outside of the folder that it starts in, on any system: one where a
/// program is built, or one where it runs.
fn below(name: &str) -> Option<String> {
    let mut parts = vec![];
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    let has_drive = name.as_bytes().get(1) == Some(&b':');
    (!parts.is_empty() && !name.contains('\\') && !has_drive).then(|| parts.join("/"))
}

/// Where sorted places lie on one another.
fn overlaps(places: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut found, mut end): (Vec<Range<usize>>, usize) = (vec![], 0);
    for place in places {
        let twice = place.start..place.end.min(end);
        match found.last_mut() {
            _ if twice.is_empty() => {}
            Some(last) if twice.start <= last.end => last.end = last.end.max(twice.end),
            _ => found.push(twice),
        }
        end = end.max(place.end);
    }
    found
}
