//! Other names, prefixes, what may be missing, and files in parts, read into a model of three parameters.

use super::*;
use crate::{
    device::{Blocking, Cpu},
    init::Init,
    safetensors::{self, Tensor},
    scene::Scene,
    spec::ParameterSpec,
    weights::Weights,
};
use alloc::{
    format,
    string::{String, ToString},
};
use precast_cpu::Words;
use std::fs;

const QUERY: ParameterSpec = ParameterSpec::new("blocks.*.query.weight", &[2], 0, &[(2, 2)], Init::Zeros);
const NORM: ParameterSpec = ParameterSpec { name: "norm.weight", offset: 64, repeats: &[], ..QUERY };
static SPEC: ModelSpec =
    ModelSpec { name: "Net", parameters: &[QUERY, NORM], pool_len: 128, states: &[], session: &[] };

fn net() -> Weights<Cpu> {
    Weights::new(&SPEC, Cpu, Words::zeroed(128).unwrap())
}

/// The parameters, one behind the other.
fn values(net: &Weights<Cpu>) -> Vec<f32> {
    net.parameters().flat_map(|(_, _, values)| values.to_vec()).collect()
}

/// Writes a file in which every tensor of these names holds its position from 1, twice.
fn write(path: &Path, names: &[&str]) {
    let all: Vec<[f32; 2]> = (1..=names.len()).map(|at| [at as f32; 2]).collect();
    let tensors = names.iter().zip(&all).map(|(name, values)| Tensor {
        name: (*name).into(),
        dtype: "F32",
        shape: [2][..].into(),
        bytes: bytemuck::cast_slice(values).into(),
    });
    fs::write(path, safetensors::encode(&[], &tensors.collect::<Vec<_>>())).unwrap();
}

/// What a model has after loading, and what was unmatched.
fn loaded(file: &File) -> Result<(Vec<f32>, Unmatched)> {
    let mut net = net();
    let unmatched = Cpu.wait(net.load(file));
    if unmatched.is_err() {
        assert!(values(&net).iter().all(|&value| value == 0.0), "an error has changed a parameter");
    }
    Ok((values(&net), unmatched?))
}

/// The lines of an error behind its first.
fn lines(file: &File) -> Vec<String> {
    let error = loaded(file).unwrap_err().to_string();
    error.lines().skip(1).map(|line| line.trim().into()).collect()
}

#[test]
fn a_pattern_is_a_name_or_its_beginning() {
    for (from, to, name, expected) in [
        ("gamma", "weight", "gamma", Some("weight")),
        ("gamma", "weight", "norm.gamma", None),
        ("norm", "last", "norm.gamma", Some("last.gamma")),
        ("norm", "last", "norm1.gamma", None),
        ("*.gamma", "*.weight", "a.b.gamma", Some("a.b.weight")),
        ("*.gamma", "*.weight", "a.gammas", None),
        ("*.gamma", "*.weight", "a.gammas.gamma", Some("a.gammas.weight")),
        ("layer.*.self.query", "blocks.*.query", "layer.10.self.query.bias", Some("blocks.10.query.bias")),
        ("layer.*.self.query", "blocks.*.query", "layer.10.self.query2.bias", None),
        ("layer.*", "blocks.*.inner", "layer.1.up.weight", Some("blocks.1.inner.up.weight")),
        ("h*", "blocks.*", "h12.up", Some("blocks.12.up")),
        ("layer.", "blocks.", "layer.1.up", Some("blocks.1.up")),
        ("*", "body.*", "up.weight", Some("body.up.weight")),
        ("stage.*.*.conv", "stages.*.blocks.*.conv", "stage.1.2.conv.bias", Some("stages.1.blocks.2.conv.bias")),
        ("head.*", "head", "head.3.bias", Some("head.bias")),
        ("a.a", "b", "a.a.a", Some("b.a")),
        ("*é.*ü", "*-*", "äé.öü.x", Some("ä-ö.x")),
        ("", "body", "weight", None),
    ] {
        assert_eq!(rename(from, to, name).as_deref(), expected, "{from} to {to} of {name}");
    }
}

#[test]
fn prefixes_are_taken_off_and_names_renamed() {
    let scene = Scene::new("file-names");
    let path = scene.path("net.safetensors");
    let names = ["bert.layer.0.self.query.weight", "bert.layer.1.self.query.weight", "bert.norm.gamma", "cls.weight"];
    write(&path, &names);
    let file = File::new(&path).prefix("bert.");
    let file = file.rename("layer.*.self.query", "blocks.*.query").rename("*.gamma", "*.weight");
    let (values, unmatched) = loaded(&file).unwrap();
    assert_eq!(values, [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    assert_eq!(unmatched, Unmatched::default());
    assert!(file.open_whole::<f32>(&SPEC).is_ok());
}

#[test]
fn the_first_rename_that_fits_counts() {
    let scene = Scene::new("file-first");
    let path = scene.path("net.safetensors");
    write(&path, &["blocks.0.query.weight", "blocks.1.query.weight", "layer.norm.gamma"]);
    let file = File::new(&path).rename("layer.norm.gamma", "norm.weight");
    assert!(loaded(&file.rename("layer.norm", "other")).is_ok());
}

#[test]
fn what_differs_is_called_what_the_file_calls_it() {
    let scene = Scene::new("file-differences");
    let path = scene.path("net.safetensors");
    let tensor = |name: &str, dtype, shape: &'static [usize]| Tensor {
        name: name.into(),
        dtype,
        shape: shape.into(),
        bytes: bytemuck::cast_slice(&[1.0f32, 2.0][..shape[0]]).to_vec().into(),
    };
    let tensors =
        [tensor("m.layer.0.query.weight", "I32", &[1]), tensor("m.norm.beta", "F32", &[2]), tensor("x", "F32", &[1])];
    fs::write(&path, safetensors::encode(&[], &tensors)).unwrap();
    let file = File::new(&path).prefix("m.").rename("layer", "blocks");
    let shared = [
        "`m.layer.0.query.weight` holds I32, but should hold F32",
        "`m.layer.0.query.weight` is [1], but should be [2]",
    ];
    let only =
        ["`blocks.1.query.weight` [2] is missing", "`norm.weight` [2] is missing", "`m.norm.beta` [2] is not expected"];
    assert_eq!(lines(&file), [&shared[..], &only[..]].concat());
    assert_eq!(lines(&file.strict(false)), shared);
}

#[test]
fn names_that_become_one_are_errors() {
    let scene = Scene::new("file-collisions");
    let path = scene.path("net.safetensors");
    write(&path, &["blocks.0.query.weight", "blocks.1.query.weight", "norm.gamma", "norm.weight"]);
    let file = File::new(&path).rename("*.gamma", "*.weight");
    let expected = ["`norm.gamma` and `norm.weight` both become `norm.weight`"];
    assert_eq!(lines(&file), expected);
    assert_eq!(lines(&file.strict(false)), expected);
}

#[test]
fn a_prefix_that_no_name_has_is_an_error() {
    let scene = Scene::new("file-prefix");
    let path = scene.path("net.safetensors");
    write(&path, &["blocks.0.query.weight"]);
    assert_eq!(lines(&File::new(&path).prefix("brt.").strict(false)), ["no name begins with `brt.`"]);
}

#[test]
fn a_rename_to_more_than_it_is_from_is_an_error() {
    let error = loaded(&File::new("nowhere").rename("layer.*", "blocks.*.*")).unwrap_err();
    assert!(matches!(error, Error::Rename { .. }));
    assert_eq!(error.to_string(), "`layer.*` cannot become `blocks.*.*`, in which `*` stands more often");
}

#[test]
fn what_only_one_has_is_passed_over_where_that_is_asked_for() {
    let scene = Scene::new("file-strict");
    let path = scene.path("net.safetensors");
    write(&path, &["blocks.1.query.weight", "head.weight", "norm.num_batches_tracked"]);
    let file = File::new(&path).strict(false);
    let mut net = net();
    net.parameter_mut("norm.weight").unwrap().fill(7.0);
    let unmatched = Cpu.wait(net.load(&file)).unwrap();
    assert_eq!(values(&net), [0.0, 0.0, 1.0, 1.0, 7.0, 7.0]);
    assert_eq!(unmatched.missing, ["blocks.0.query.weight", "norm.weight"]);
    assert_eq!(unmatched.unexpected, ["head.weight", "norm.num_batches_tracked"]);

    // A new model has no values to keep.
    let error = file.open_whole::<f32>(&SPEC).err().unwrap().to_string();
    let expected = ["  `blocks.0.query.weight` [2] is missing", "  `norm.weight` [2] is missing"];
    assert_eq!(error.lines().skip(1).collect::<Vec<_>>(), expected);
    write(&path, &["blocks.0.query.weight", "blocks.1.query.weight", "head.weight", "norm.weight"]);
    assert!(file.open_whole::<f32>(&SPEC).is_ok());
    assert!(file.strict(true).open_whole::<f32>(&SPEC).is_err());
}

#[test]
fn files_in_parts_are_one() {
    let scene = Scene::new("file-parts");
    write(&scene.path("net-1.safetensors"), &["unused", "m.blocks.0.query.weight"]);
    write(&scene.path("net-2.safetensors"), &["m.norm.weight", "m.blocks.1.query.weight"]);
    let index = scene.path("net.safetensors.index.json");
    let map = ["blocks.0.query.weight\": \"net-1", "blocks.1.query.weight\": \"net-2", "norm.weight\": \"net-2"];
    let map = map.map(|one| format!("\"m.{one}.safetensors\"")).join(", ");
    fs::write(&index, format!("{{\"metadata\": {{\"total_size\": 24}}, \"weight_map\": {{{map}}}}}")).unwrap();
    let (values, _) = loaded(&File::new(&index).prefix("m.")).unwrap();
    assert_eq!(values, [2.0, 2.0, 2.0, 2.0, 1.0, 1.0]);

    // Differences are those of the index, and what damages a part is told of the part.
    assert!(loaded(&File::new(&index)).unwrap_err().to_string().starts_with(&format!("{} does not", index.display())));
    fs::write(scene.path("net-2.safetensors"), "short").unwrap();
    let error = loaded(&File::new(&index)).unwrap_err();
    assert!(matches!(error, Error::Format { path, .. } if path.ends_with("net-2.safetensors")));
    fs::remove_file(scene.path("net-2.safetensors")).unwrap();
    let error = loaded(&File::new(&index)).unwrap_err();
    assert!(matches!(error, Error::Io { path, .. } if path.ends_with("net-2.safetensors")));
}
