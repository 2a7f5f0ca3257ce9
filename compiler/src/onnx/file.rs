//! A file and those beside it that hold elements of its tensors, its external data: bytes in, a message whose tensors have all their
//! elements out.
//!
//! Always: the bytes of all are one sequence, those of the file itself first, so that a tensor has one place wherever it lies; the
//! others are regular files in the folder of the first, or below it; tensors that lie on one another have few bytes more than there are.

use super::Refusal;
use super::proto::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use prost::Message;
use prost::bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Component, Path};

/// That the elements of a tensor are in another file: a number of `DataLocation`.
pub(super) const EXTERNAL: i32 = 1;

/// How many bytes tensors may have for each that their files have. Tensors that are shared are two of one place.
const SHARED: usize = 2;

/// A file that was read.
#[derive(Debug)]
pub struct File {
    /// What it says. The elements of all tensors are in it.
    pub(super) model: ModelProto,
    /// Its bytes, and those of the others.
    bytes: Bytes,
    /// The names of the others from its folder, and the bytes that they have, in their order.
    external: Vec<(String, usize)>,
    /// Places that belong to several tensors which are not the same.
    overlaps: Vec<Range<usize>>,
}

impl File {
    /// The file of these bytes, with those that it names in `folder`, where it is in one.
    ///
    /// # Errors
    /// Where it is no ONNX file, and of each tensor whose elements are not where it says.
    pub fn decode(bytes: Vec<u8>, folder: Option<&Path>) -> Result<File, Vec<Refusal>> {
        let bytes = Bytes::from(bytes);
        let decoded = |bytes: Bytes| {
            ModelProto::decode(bytes).map_err(|why| vec![Refusal::of_file(format!("this is no ONNX file: {why}"))])
        };
        let mut model = decoded(bytes.clone())?;
        let mut claims = vec![];
        tensors(&mut model, &mut |tensor| claims.extend(is_external(tensor).then(|| Claim::of(tensor))));
        if claims.is_empty() {
            return Ok(File { model, bytes, external: vec![], overlaps: vec![] });
        }
        drop(model);
        let own = bytes.len();
        let mut sequence = Sequence { bytes: bytes.into(), files: BTreeMap::new(), external: vec![] };
        let places = sequence.places(claims, folder)?;
        let bytes = Bytes::from(sequence.bytes);
        let mut model = decoded(bytes.slice(..own))?;
        let mut next = places.iter();
        let mut distinct = BTreeSet::new();
        tensors(&mut model, &mut |tensor| {
            if let Some(place) = is_external(tensor).then(|| next.next()).flatten() {
                let TensorProto { dims, data_type, name, .. } = std::mem::take(tensor);
                distinct.insert((place.start, place.end, data_type, dims.clone()));
                let raw_data = bytes.slice(place.clone());
                *tensor = TensorProto { dims, data_type, name, raw_data, ..TensorProto::default() };
            }
        });
        let distinct: Vec<Range<usize>> = distinct.into_iter().map(|(start, end, ..)| start..end).collect();
        let (claimed, held) = (distinct.iter().map(Range::len).fold(0, usize::saturating_add), bytes.len() - own);
        if claimed > held.saturating_mul(SHARED) {
            let reason = format!("its tensors have {claimed} bytes in other files, and these have only {held}");
            return Err(vec![Refusal::of_file(reason)]);
        }
        Ok(File { model, bytes, external: sequence.external, overlaps: overlaps(&distinct) })
    }

    /// All bytes.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The other files: their names from the folder of this one, and their bytes.
    pub(super) fn external(&self) -> &[(String, usize)] {
        &self.external
    }

    /// Where elements are, if they are here, and belong to no tensor besides.
    pub(super) fn place(&self, elements: &Bytes) -> Option<Range<usize>> {
        let start = elements.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        let end = start.checked_add(elements.len())?;
        let is_own = self.overlaps.iter().all(|other| other.end <= start || end <= other.start);
        (!elements.is_empty() && end <= self.bytes.len() && is_own).then_some(start..end)
    }
}

fn is_external(tensor: &TensorProto) -> bool {
    tensor.data_location == EXTERNAL
}

/// Calls a function with every tensor of a file.
fn tensors(model: &mut ModelProto, each: &mut dyn FnMut(&mut TensorProto)) {
    if let Some(graph) = &mut model.graph {
        of_graph(graph, each);
    }
    for function in &mut model.functions {
        of_nodes(&mut function.node, each);
        of_attributes(&mut function.attribute_proto, each);
    }
}

/// The same for a graph, as deep as a decoder reads.
fn of_graph(graph: &mut GraphProto, each: &mut dyn FnMut(&mut TensorProto)) {
    graph.initializer.iter_mut().for_each(&mut *each);
    of_nodes(&mut graph.node, each);
}

fn of_nodes(nodes: &mut [NodeProto], each: &mut dyn FnMut(&mut TensorProto)) {
    nodes.iter_mut().for_each(|node| of_attributes(&mut node.attribute, each));
}

fn of_attributes(attributes: &mut [AttributeProto], each: &mut dyn FnMut(&mut TensorProto)) {
    for AttributeProto { t, g, graphs, .. } in attributes {
        t.iter_mut().for_each(&mut *each);
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
    /// The bytes of its type, where that is one.
    size: Option<usize>,
}

impl Claim {
    fn of(tensor: &TensorProto) -> Claim {
        let entry = |key: &str| tensor.external_data.iter().find(|entry| entry.key == key).map(|entry| &entry.value);
        let number = |key: &str| {
            let no_number = |value: &String| format!("its `{key}` is `{value}`, which is no number of bytes");
            entry(key).map(|value| value.parse().map_err(|_| no_number(value))).transpose()
        };
        Claim {
            tensor: tensor.name.clone(),
            file: entry("location").cloned().unwrap_or_default(),
            offset: number("offset").map(Option::unwrap_or_default),
            length: number("length"),
            size: super::element::bytes(tensor),
        }
    }

    /// The place in a file that itself has that place.
    fn within(self, file: &Range<usize>) -> Result<Range<usize>, String> {
        let (offset, length) = (self.offset?, self.length?);
        let length = length.or(self.size).unwrap_or_default();
        let end = offset.checked_add(length).filter(|end| *end <= file.len());
        let end = end.ok_or_else(|| {
            let (name, all) = (self.file, file.len());
            format!("they are the {length} bytes from {offset} on of `{name}`, which has only {all}")
        })?;
        Ok(file.start + offset..file.start + end)
    }
}

/// What has been read.
struct Sequence {
    bytes: Vec<u8>,
    /// The places of files, by the names that tensors give; none of those that could not be read, which was said.
    files: BTreeMap<String, Option<Range<usize>>>,
    external: Vec<(String, usize)>,
}

impl Sequence {
    /// The places of tensors, for which the files are read that they name.
    fn places(&mut self, claims: Vec<Claim>, folder: Option<&Path>) -> Result<Vec<Range<usize>>, Vec<Refusal>> {
        let (mut places, mut refusals) = (vec![], vec![]);
        for claim in claims {
            let tensor = claim.tensor.clone();
            let place = match self.file(&claim.file, folder) {
                Ok(Some(file)) => claim.within(&file).map(Some),
                Ok(None) => Ok(None),
                Err(why) => Err(why),
            };
            match place {
                Ok(place) => places.extend(place),
                Err(why) => {
                    refusals.push(Refusal::of_file(format!("elements of `{tensor}` are in another file: {why}")))
                }
            }
        }
        if refusals.is_empty() { Ok(places) } else { Err(refusals) }
    }

    /// The place of a file. None where an error of it has been said before.
    fn file(&mut self, name: &str, folder: Option<&Path>) -> Result<Option<Range<usize>>, String> {
        if let Some(known) = self.files.get(name) {
            return Ok(known.clone());
        }
        let read = self.read(name, folder);
        self.files.insert(name.to_owned(), read.as_ref().ok().cloned());
        read.map(Some)
    }

    fn read(&mut self, name: &str, folder: Option<&Path>) -> Result<Range<usize>, String> {
        let folder = folder.ok_or_else(|| format!("`{name}` is looked for in no folder"))?;
        let path =
            below(name).ok_or_else(|| format!("`{name}` is no path of a file beside it, such as `weights.data`"))?;
        let start = self.bytes.len();
        append(&folder.join(&path), &mut self.bytes)
            .map_err(|why| format!("`{name}` cannot be read from its folder: {why}"))?;
        self.external.push((path, self.bytes.len() - start));
        Ok(start..self.bytes.len())
    }
}

/// The path without what it does not need, if it leads to nothing outside of the folder that it starts in, on any system.
fn below(name: &str) -> Option<String> {
    let mut parts = vec![];
    for component in Path::new(name).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::Prefix(_) | Component::RootDir | Component::ParentDir => return None,
        }
    }
    (!parts.is_empty() && !name.contains('\\')).then(|| parts.join("/"))
}

/// Puts what is in a file behind other bytes.
fn append(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    // Anything else may have no end.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    std::fs::File::open(path)?.read_to_end(bytes).map(drop)
}

/// Where places, which are sorted, lie on one another.
fn overlaps(places: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut found, mut end) = (vec![], 0);
    for place in places {
        let last = place.end.min(end);
        found.extend((place.start < last).then_some(place.start..last));
        end = end.max(place.end);
    }
    found
}
