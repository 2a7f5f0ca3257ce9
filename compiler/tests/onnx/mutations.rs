//! Files with random damage are imported or refused, and what is imported is a sound graph.
//!
//! `PRECAST_FUZZ` is how many there are; `PRECAST_FUZZ_FILES` a folder of further files to damage, as ONNX's backend tests are.

use super::{Random, WORDS, attribute_of};
use precast_compiler::ir::verify::{After, verify, verify_plans};
use precast_compiler::onnx::proto::{
    AttributeProto, DimensionProto, Extent, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto,
};
use precast_compiler::onnx::{Bound, File, import, operators};
use precast_compiler::pipeline::lower;
use proc_macro2::Span;
use prost::Message;
use prost::bytes::Bytes;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

/// The largest file that is damaged.
const BYTES: u64 = 1 << 16;

/// The largest graph that is compiled.
const NODES: usize = 200;

/// Whether a file, which was in a folder, is imported. Panics where what it becomes is not sound.
fn is_imported(bytes: Vec<u8>, folder: Option<&Path>) -> bool {
    let Ok(file) = File::decode(bytes, folder) else { return false };
    let Ok(imported) = import(&file, &Bound::default(), Span::call_site()) else { return false };
    let (model, _) = imported.model("Net");
    verify(&model, After::Expand).unwrap();
    if model.functions[0].graph.nodes.len() < NODES {
        verify_plans(&lower(model).plans).unwrap();
    }
    true
}

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|end| end == "onnx") && path.metadata().unwrap().len() < BYTES)
        .collect();
    found.sort();
    found
}

fn count() -> Option<u64> {
    std::env::var("PRECAST_FUZZ").ok()?.parse().ok()
}

/// Damages each file in turn, and collects which made the importer panic.
fn damaged(cases: u64, damage: fn(&mut Random, &[u8]) -> Vec<u8>) {
    let mut all = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/references/onnx"));
    all.extend(std::env::var("PRECAST_FUZZ_FILES").map(|folder| files(Path::new(&folder))).unwrap_or_default());
    let whole: Vec<Vec<u8>> = all.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let (mut imported, mut panicked) = (0, vec![]);
    for seed in 1..=cases {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let at = random.below(whole.len());
        let bytes = damage(&mut random, &whole[at]);
        match catch_unwind(|| is_imported(bytes, all[at].parent())) {
            Ok(made) => imported += u64::from(made),
            Err(_) => panicked.push(format!("{}, seed {seed}", all[at].display())),
        }
    }
    assert!(panicked.is_empty(), "{panicked:#?}");
    assert!(imported > cases / 20, "{imported} of {cases} were imported");
}

#[test]
fn damaged_bytes_are_errors() {
    damaged(count().unwrap_or(1200), |random, whole| {
        let mut bytes = whole.to_vec();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at + 1),
                1 => bytes[at] ^= 1 << random.below(8),
                2 => bytes[at] = random.next() as u8,
                _ => drop(bytes.remove(at)),
            }
            if bytes.is_empty() {
                break;
            }
        }
        bytes
    });
    let text = File::decode(b"# not a model".to_vec(), None).unwrap_err();
    assert!(text[0].to_string().starts_with("this is no ONNX file: "), "{}", text[0]);
    let pointer = File::decode(b"version https://git-lfs.github.com/spec/v1\n".to_vec(), None).unwrap_err();
    assert!(pointer[0].to_string().contains("`git lfs pull`"), "{}", pointer[0]);
}

/// What libFuzzer kept, as each of these files reaches a part of the importer that the others do not.
#[test]
fn files_of_the_fuzzer_are_imported_or_refused() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/onnx");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    let imported = files.filter(|bytes| is_imported(bytes.clone(), None)).count();
    assert!(imported > 0);
}

#[test]
fn damaged_structures_are_errors() {
    damaged(count().unwrap_or(2000), |random, whole| {
        let mut file = ModelProto::decode(Bytes::copy_from_slice(whole)).unwrap();
        for _ in 0..1 + random.below(4) {
            damage(random, &mut file);
        }
        file.encode_to_vec()
    });
}

fn damage(random: &mut Random, file: &mut ModelProto) {
    match random.below(12) {
        0 => file.opset_import.iter_mut().for_each(|opset| opset.version = 1 + random.below(30) as i64),
        1 => wrap(random, file),
        kind => {
            let Some(graph) = &mut file.graph else { return };
            match kind {
                2 | 3 => order(random, &mut graph.node),
                4 | 5 => names(random, graph),
                6 | 7 => constants(random, graph),
                8 | 9 => arguments(random, graph),
                _ => attributes(random, &mut graph.node),
            }
        }
    }
}

/// Makes a part of the graph a function, or a branch.
fn wrap(random: &mut Random, file: &mut ModelProto) {
    let Some(graph) = &mut file.graph else { return };
    if graph.node.is_empty() {
        return;
    }
    let at = random.below(graph.node.len());
    let inner = graph.node[at].clone();
    let call = NodeProto { op_type: "F".into(), attribute: vec![], domain: String::new(), ..inner.clone() };
    if random.below(2) == 0 {
        let (input, output) = (inner.input.clone(), inner.output.clone());
        let node = if random.below(4) == 0 { vec![call.clone(), inner] } else { vec![inner] };
        let opset_import = file.opset_import.clone();
        file.functions.push(FunctionProto {
            name: "F".into(),
            input,
            output,
            node,
            opset_import,
            ..Default::default()
        });
        graph.node[at] = call;
        return;
    }
    let value = |name: &String| ValueInfoProto { name: name.clone(), r#type: None };
    let output = inner.output.iter().map(value).collect();
    let body = GraphProto { node: vec![inner.clone()], output, ..GraphProto::default() };
    let attribute = ["then_branch", "else_branch", "body"];
    let attribute = attribute.map(|name| AttributeProto { g: Some(body.clone()), ..attribute_of(name) }).to_vec();
    let operator = random.pick(&["If", "Loop", "Scan", "FlexAttention"]);
    graph.node[at] = NodeProto { op_type: operator.into(), attribute, ..inner };
}

fn order(random: &mut Random, nodes: &mut Vec<NodeProto>) {
    if nodes.is_empty() {
        return;
    }
    let (a, b) = (random.below(nodes.len()), random.below(nodes.len()));
    match random.below(4) {
        0 => nodes.swap(a, b),
        1 => drop(nodes.remove(a)),
        2 => nodes.insert(b, nodes[a].clone()),
        _ => {
            let (domain, operator) = random.pick(&operators().collect::<Vec<_>>());
            (nodes[a].domain, nodes[a].op_type) = (domain.into(), operator.into());
        }
    }
}

fn names(random: &mut Random, graph: &mut GraphProto) {
    let mut known = vec![String::new(), "nowhere".into()];
    known.extend(graph.node.iter().flat_map(|node| node.input.iter().chain(&node.output).cloned()));
    let name = random.pick(&known);
    let at = random.below(graph.node.len());
    let Some(node) = graph.node.get_mut(at) else { return };
    let list = if random.below(3) == 0 { &mut node.output } else { &mut node.input };
    let at = random.below(list.len());
    match (random.below(3), list.get_mut(at)) {
        (0, _) | (_, None) => list.push(name),
        (1, Some(_)) => drop(list.remove(at)),
        (_, Some(own)) => *own = name,
    }
}

fn constants(random: &mut Random, graph: &mut GraphProto) {
    let inside =
        graph.node.iter_mut().flat_map(|node| &mut node.attribute).filter_map(|attribute| attribute.t.as_mut());
    let mut all: Vec<_> = graph.initializer.iter_mut().chain(inside).collect();
    let at = random.below(all.len());
    let Some(tensor) = all.get_mut(at) else { return };
    let number = random.number();
    let place = random.below(tensor.dims.len());
    match random.below(5) {
        0 => tensor.data_type = random.below(18) as i32,
        1 => tensor.dims.push(random.number()),
        2 => tensor.dims.iter_mut().skip(place).take(1).for_each(|extent| *extent = number),
        // Other numbers of the type that shapes have.
        3 if tensor.data_type == super::INT64 => {
            tensor.raw_data = (0..tensor.raw_data.len() / 8).flat_map(|_| random.number().to_le_bytes()).collect();
            tensor.int64_data.iter_mut().for_each(|own| *own = random.number());
        }
        _ => tensor.name = "other".into(),
    }
}

fn arguments(random: &mut Random, graph: &mut GraphProto) {
    let count = graph.input.len();
    let Some(input) = graph.input.get_mut(random.below(count)) else { return };
    let Some(ty) = input.r#type.as_mut().and_then(|ty| ty.tensor_type.as_mut()) else { return };
    if random.below(3) == 0 {
        ty.elem_type = random.below(18) as i32;
        return;
    }
    let Some(shape) = &mut ty.shape else { return };
    let extent = match random.below(3) {
        0 => Some(Extent::DimParam(random.pick(&["B", "T", "", "a b"]).into())),
        1 => Some(Extent::DimValue(random.number())),
        _ => Some(Extent::DimValue(random.below(9) as i64)),
    };
    let (extent, at) = (DimensionProto { value: extent }, random.below(shape.dim.len()));
    match (random.below(4), shape.dim.get_mut(at)) {
        (0, _) | (_, None) => shape.dim.push(extent),
        (1, Some(_)) => drop(shape.dim.remove(at)),
        (_, Some(own)) => *own = extent,
    }
}

fn attributes(random: &mut Random, nodes: &mut [NodeProto]) {
    let at = random.below(nodes.len());
    let Some(node) = nodes.get_mut(at) else { return };
    let at = random.below(node.attribute.len());
    let own = super::attribute(random);
    match (random.below(6), node.attribute.get_mut(at)) {
        (0, _) | (_, None) => node.attribute.push(own),
        (1, Some(_)) => drop(node.attribute.remove(at)),
        (2, Some(attribute)) => attribute.i = random.number(),
        (3, Some(attribute)) => attribute.ints.iter_mut().for_each(|int| *int = random.number()),
        (4, Some(attribute)) => attribute.s = Bytes::from_static(random.pick(WORDS).as_bytes()),
        (_, Some(attribute)) => attribute.ints = own.ints,
    }
}
