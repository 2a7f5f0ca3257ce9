//! Models in several files: in comes the index that Hugging Face writes beside them, out comes one
//! reader of them all. Always: what the index names lies in its own folder, and what it says of a
//! file is true of that file.

use alloc::{collections::BTreeMap, format, string::String, vec, vec::Vec};
use std::path::{Component, Path};

use super::{Reader, json::Json};
use crate::error::{Error, Result};

/// How the name of an index ends.
const ENDING: &[u8] = b".safetensors.index.json";

/// The tensors of every file.
type Shards = BTreeMap<String, Vec<String>>;

/// Whether a path is that of an index.
pub(super) fn is(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(ENDING)
}

/// Opens all files that an index names.
pub(super) fn open(path: &Path) -> Result<Reader> {
    let invalid = |reason| Error::Format { path: path.into(), reason };
    let text = std::fs::read(path).map_err(Error::io(path))?;
    let text = String::from_utf8(text).map_err(|_| invalid("the index is not UTF-8".into()))?;
    let mut reader = Reader { path: path.into(), metadata: BTreeMap::new(), tensors: BTreeMap::new(), shards: vec![] };
    for (shard, (file, names)) in parse(&text).map_err(invalid)?.into_iter().enumerate() {
        let mut opened = Reader::file(&path.with_file_name(&file))?;
        for name in names {
            let Some(mut entry) = opened.tensors.remove(&name) else {
                return Err(invalid(format!("`{name}` should be in {file}, which does not have it")));
            };
            entry.shard = shard;
            reader.tensors.insert(name, entry);
        }
        reader.shards.append(&mut opened.shards);
    }
    Ok(reader)
}

fn parse(text: &str) -> Result<Shards, String> {
    let mut map = None;
    let mut json = Json::new("index", text);
    json.object(|json, key| match key.as_str() {
        "weight_map" if map.is_some() => Err("`weight_map` stands twice in the index".into()),
        "weight_map" => {
            map = Some(weight_map(json)?);
            Ok(())
        }
        _ => json.skip(),
    })?;
    json.end()?;
    map.ok_or_else(|| "the index has no `weight_map`".into())
}

fn weight_map(json: &mut Json<'_>) -> Result<Shards, String> {
    let mut files = BTreeMap::new();
    json.object(|json, name| {
        let file = json.string()?;
        if !lies_beside(&file) {
            return Err(format!("`{name}` should be in `{file}`, which is not the name of a file beside the index"));
        }
        match files.insert(name.clone(), file) {
            None => Ok(()),
            Some(_) => Err(format!("`{name}` stands twice in the index")),
        }
    })?;
    let mut shards = Shards::new();
    for (name, file) in files {
        shards.entry(file).or_default().push(name);
    }
    Ok(shards)
}

/// Whether a name is that of a file in the folder of the index, on every system: an index that came with
/// other files must not have files read from elsewhere.
fn lies_beside(file: &str) -> bool {
    let mut components = Path::new(file).components();
    let normal = matches!((components.next(), components.next()), (Some(Component::Normal(_)), None));
    normal && !file.contains(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        safetensors::{Tensor, encode},
        scene::Scene,
    };
    use std::fs;

    /// What is wrong with an index of this text.
    fn reason(scene: &Scene, text: &[u8]) -> String {
        let path = scene.path("net.safetensors.index.json");
        fs::write(&path, text).unwrap();
        match Reader::open(&path) {
            Err(Error::Format { path: file, reason }) if file == path => reason,
            other => unreachable!("expected an error of the index, not {:?}", other.err()),
        }
    }

    #[test]
    fn what_is_no_index_is_an_error() {
        let scene = Scene::new("index-form");
        let deep = format!(r#"{{"metadata": {}"#, "[".repeat(100_000));
        for (text, expected) in [
            ("", "expected `{` at byte 0 of the index"),
            ("[]", "expected `{` at byte 0 of the index"),
            ("{}", "the index has no `weight_map`"),
            (r#"{"weight_map": []}"#, "expected `{` at byte 15 of the index"),
            (r#"{"weight_map": {"w": 1}}"#, "expected `\"` at byte 21 of the index"),
            (r#"{"weight_map": {}} {}"#, "expected the end at byte 19 of the index"),
            (r#"{"weight_map": {}, "weight_map": {}}"#, "`weight_map` stands twice in the index"),
            (r#"{"weight_map": {"w": "a", "w": "b"}}"#, "`w` stands twice in the index"),
            (deep.as_str(), "expected a value that is nested less deeply at byte 77 of the index"),
        ] {
            assert_eq!(reason(&scene, text.as_bytes()), expected, "{:.40}", text);
        }
        assert_eq!(reason(&scene, b"{\xff}"), "the index is not UTF-8");
        let whole = r#"{"metadata": {"total_size": 4}, "weight_map": {"w": "net.safetensors"}}"#;
        for len in 0..whole.len() {
            assert!(reason(&scene, &whole.as_bytes()[..len]).starts_with("expected"), "{len}");
        }
    }

    #[test]
    fn an_index_names_nothing_outside_of_its_folder() {
        let scene = Scene::new("index-outside");
        for file in ["", ".", "..", "../net", "/net", "a/net", "net/", "./net", "..\\\\net", "a\\\\net", "\\u002e./net"]
        {
            let text = format!(r#"{{"weight_map": {{"w": "{file}"}}}}"#);
            let reason = reason(&scene, text.as_bytes());
            assert!(reason.ends_with("which is not the name of a file beside the index"), "{file}: {reason}");
        }
    }

    #[test]
    fn a_file_has_what_the_index_says() {
        let scene = Scene::new("index-lacks");
        let tensor = Tensor { name: "w".into(), dtype: "F32", shape: [1][..].into(), bytes: [0; 4][..].into() };
        fs::write(scene.path("net-1.safetensors"), encode(&[], &[tensor])).unwrap();
        let text = br#"{"weight_map": {"v": "net-1.safetensors", "w": "net-1.safetensors"}}"#;
        assert_eq!(reason(&scene, text), "`v` should be in net-1.safetensors, which does not have it");
    }

    #[test]
    fn a_missing_file_is_named() {
        let scene = Scene::new("index-missing");
        let path = scene.path("net.safetensors.index.json");
        for file in ["net-1.safetensors", "net\\u0000"] {
            fs::write(&path, format!(r#"{{"weight_map": {{"w": "{file}"}}}}"#)).unwrap();
            let error = Reader::open(&path).err().unwrap();
            assert!(matches!(error, Error::Io { path, .. } if path.to_string_lossy().contains("net")));
        }
        assert!(matches!(Reader::open(&scene.path("no.safetensors.index.json")), Err(Error::Io { .. })));
    }
}
